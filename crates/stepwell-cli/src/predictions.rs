//! Predictions as columns of a table, and how good they are.

use anyhow::{Result, bail};
use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;
use serde_json::{Map, Value, json};
use stepwell::config::Metric;
use stepwell::model::{Predictions, TrainedModel};
use stepwell::readout::{Threshold, Wanted};
use stepwell::reservoir::Embedding;
use stepwell::targets::{Encoded, Labels, Targets, Task};
use stepwell_data::vectors::{Key, Shape};
use stepwell_data::{Dataset, Known};
use stepwell_lab::metrics::{Quality, Values};

/// What predictions come with.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Probabilities of classes.
    pub proba: bool,
    /// Sets or intervals that hold the truth this often.
    pub coverage: Option<f64>,
    /// Where the second of two classes begins, for every target; none for 0.
    pub thresholds: Vec<Threshold>,
}

/// Thresholds of all targets for what is wanted.
pub fn thresholds(model: &TrainedModel, wanted: Wanted) -> Result<Vec<Threshold>> {
    let all = 0..model.readout.task().num_targets();
    Ok(all.map(|target| model.threshold(target, wanted)).collect::<Result<_, _>>()?)
}

/// A column of a table.
enum Column {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<String>),
}

/// Columns of a table with their names; behind them, in the classic layout, the scores of classes.
pub struct Columns {
    named: Vec<(String, Column)>,
    scores: Array2<f64>,
}

impl Columns {
    /// All that is said of some graphs.
    pub fn new(model: &TrainedModel, predictions: &Predictions, asked: &Asked) -> Result<Self> {
        let task = model.readout.task();
        let decisions = predictions.decisions.view();
        let mut named = Vec::new();
        let mut scores = Array2::zeros((decisions.nrows(), 0));
        match task {
            Task::Classification { .. } => {
                let classes = match asked.thresholds.first() {
                    Some(Threshold { threshold, .. }) => {
                        decisions.column(0).iter().map(|value| usize::from(value >= threshold)).collect()
                    }
                    None => predictions.classes.clone(),
                };
                named.push(("prediction".to_owned(), of_labels(&model.classes.select(&classes))));
                scores = predictions.scores.clone();
            }
            Task::Regression { .. } | Task::Binary { .. } => {
                for target in 0..task.num_targets() {
                    let values = decisions.column(target);
                    if let Task::Regression { .. } = task {
                        named.push((self::named(model, "prediction", target), Column::Real(values.to_vec())));
                        continue;
                    }
                    let least = asked.thresholds.get(target);
                    let is = |value: &f64| least.map_or(*value > 0.0, |least| *value >= least.threshold);
                    let classes = values.iter().map(|value| i64::from(is(value))).collect();
                    named.push((self::named(model, "prediction", target), Column::Whole(classes)));
                    named.push((self::named(model, "score", target), Column::Real(values.to_vec())));
                }
            }
        }
        if asked.proba {
            let probabilities = model.probabilities(decisions)?;
            for (column, values) in probabilities.columns().into_iter().enumerate() {
                let name = match task {
                    Task::Classification { .. } => format!("probability_{}", model.classes.name(column)),
                    _ => self::named(model, "probability", column),
                };
                named.push((name, Column::Real(values.to_vec())));
            }
        }
        if let Some(coverage) = asked.coverage {
            named.extend(covering(model, decisions, coverage)?);
        }
        Ok(Self { named, scores })
    }

    /// The layout of the table.
    pub fn shape(model: &TrainedModel, asked: &Asked) -> Result<Shape> {
        let vectors = Array2::zeros((0, model.model.width()));
        let nothing = model.read(Embedding { vectors, runs: Array2::default((0, 0)) })?;
        let Self { named, .. } = Self::new(model, &nothing, asked)?;
        let mut keys = vec!["id".to_owned()];
        keys.extend(named.into_iter().map(|(name, _)| name));
        let repeated = keys.iter().enumerate().find(|(at, name)| keys[..*at].contains(name));
        if let Some((_, name)) = repeated {
            bail!("two columns would be called '{name}'; rename a target");
        }
        let columns = match model.readout.task() {
            Task::Classification { .. } => {
                model.classes.names().iter().map(|class| format!("score_{class}")).collect()
            }
            _ => Vec::new(),
        };
        Ok(Shape { keys, vector: "scores", columns, double: true })
    }

    /// The columns behind the ids.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        self.named.iter().map(|(_, column)| match column {
            Column::Whole(values) => Key::Whole(values),
            Column::Real(values) => Key::Real(values),
            Column::Text(values) => Key::Text(values),
        })
    }

    /// The scores of classes.
    pub fn scores(&self) -> ArrayView2<'_, f64> {
        self.scores.view()
    }
}

/// What a column about a target is called. The only target needs no name.
fn named(model: &TrainedModel, what: &str, target: usize) -> String {
    match model.readout.task().num_targets() {
        1 => what.to_owned(),
        _ => format!("{what}_{}", model.target(target)),
    }
}

fn of_labels(labels: &Labels) -> Column {
    match labels {
        Labels::Int(names) => Column::Whole(names.clone()),
        Labels::Float(names) => Column::Real(names.clone()),
        names => Column::Text(names.names()),
    }
}

/// Sets, as lists in JSON, or ends of intervals.
fn covering(
    model: &TrainedModel,
    decisions: ArrayView2<'_, f64>,
    coverage: f64,
) -> Result<Vec<(String, Column)>> {
    let task = model.readout.task();
    if let Task::Regression { targets } = task {
        let ends = model.intervals(decisions, coverage)?;
        let end = |at: usize| {
            let name = named(model, ["lower", "upper"][at % 2], at / 2);
            (name, Column::Real(ends.column(at).to_vec()))
        };
        return Ok((0..2 * targets).map(end).collect());
    }
    let sets = model.sets(decisions, coverage)?;
    let classes: Vec<Value> = match task {
        Task::Classification { .. } => {
            serde_json::to_value(&model.classes)?.as_array().cloned().unwrap_or_default()
        }
        _ => vec![json!(0), json!(1)],
    };
    let of = |target: usize| {
        let columns = sets.slice_axis(Axis(1), (target * classes.len()..(target + 1) * classes.len()).into());
        let set = |row: ndarray::ArrayView1<'_, bool>| {
            let held = row.iter().zip(&classes).filter(|(is, _)| **is).map(|(_, class)| class.clone());
            Value::Array(held.collect()).to_string()
        };
        (named(model, "set", target), Column::Text(columns.outer_iter().map(set).collect()))
    };
    Ok((0..task.num_targets()).map(of).collect())
}

/// How good predictions are where targets are known.
#[derive(Default)]
pub struct Score {
    targets: Targets,
    decisions: Vec<f64>,
    /// Graphs of a class that the model does not know.
    pub strange: usize,
    /// Graphs whose target is not known, or not of the model's kind.
    pub without: usize,
    /// Graphs that were not looked at, since there are too many.
    pub beyond: usize,
}

/// Decision values that are kept for metrics.
const MOST: usize = 1 << 24;

/// Metrics by name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Metrics {
    /// The one the model was chosen by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// All of them, means over targets.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metrics: Map<String, Value>,
    /// Those of every target, if there are several.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub targets: Map<String, Value>,
}

impl Metrics {
    /// One of them.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.metrics.get(&key(metric))?.as_f64()
    }
}

/// What JSON calls a metric: its name as an option, with underscores.
pub fn key(metric: Metric) -> String {
    serde_json::to_value(metric)
        .ok()
        .and_then(|name| name.as_str().map(|name| name.replace('-', "_")))
        .unwrap_or_default()
}

impl Score {
    /// Takes predictions in, and what is known of the same graphs.
    pub fn add(&mut self, model: &TrainedModel, predictions: &Predictions, piece: &Dataset) -> Result<()> {
        match &piece.some_classes {
            None => self.compare(model, predictions.decisions.view(), &piece.targets),
            Some(Known { targets, graphs }) => {
                self.without += piece.len() - graphs.len();
                self.compare(model, predictions.decisions.select(Axis(0), graphs).view(), targets)
            }
        }
    }

    fn compare(
        &mut self,
        model: &TrainedModel,
        decisions: ArrayView2<'_, f64>,
        targets: &Targets,
    ) -> Result<()> {
        let rows = decisions.nrows();
        if self.decisions.len() >= MOST {
            self.beyond += rows;
            return Ok(());
        }
        let task = model.readout.task();
        let targets = match (task, targets) {
            (Task::Classification { .. }, Targets::Classes(labels)) => Targets::Classes(labels.clone()),
            (Task::Classification { .. }, _) if matches!(model.classes, Labels::Float(_)) => {
                targets.column().map_or(Targets::None, |values| Targets::Classes(Labels::Float(values)))
            }
            (Task::Regression { targets: 1 }, _) => targets.clone().into_numbers().unwrap_or_default(),
            (Task::Regression { targets: width }, Targets::Numbers(values) | Targets::Binary(values))
                if values.ncols() == width =>
            {
                Targets::Numbers(values.clone())
            }
            (Task::Binary { targets: width }, Targets::Binary(values)) if values.ncols() == width => {
                targets.clone()
            }
            _ => Targets::None,
        };
        let known = match &targets {
            Targets::Classes(labels) => {
                let names = model.classes.names();
                let known: Vec<usize> = (0..rows).filter(|&row| names.contains(&labels.name(row))).collect();
                self.strange += rows - known.len();
                known
            }
            Targets::Numbers(values) | Targets::Binary(values) => {
                let known: Vec<usize> =
                    (0..rows).filter(|&row| values.row(row).iter().any(|value| !value.is_nan())).collect();
                self.without += rows - known.len();
                known
            }
            Targets::None => {
                self.without += rows;
                return Ok(());
            }
        };
        self.decisions.extend(decisions.select(Axis(0), &known));
        Ok(self.targets.append(targets.select(&known))?)
    }

    /// Graphs that were compared.
    pub fn known(&self) -> usize {
        self.targets.len() + self.strange
    }

    /// All metrics there are, of predictions with these thresholds.
    pub fn finish(self, model: &TrainedModel, thresholds: &[Threshold]) -> Result<Metrics> {
        if self.targets.is_empty() {
            return Ok(Metrics::default());
        }
        let task = model.readout.task();
        let encoded = Encoded::with_classes(&self.targets, model.classes.clone())?;
        let mut decisions = Array2::from_shape_vec((encoded.len(), task.num_columns()), self.decisions)?;
        // Models of older versions have no probabilities, nor have numbers.
        let probabilities = match task.num_classes() {
            0 => None,
            _ => model.probabilities(decisions.view()).ok(),
        };
        // What is above 0 is taken for the second class.
        for (mut column, found) in decisions.columns_mut().into_iter().zip(thresholds) {
            column -= found.threshold.next_down();
        }
        let all: Vec<usize> = (0..encoded.len()).collect();
        let probabilities = probabilities.as_ref().map(|probabilities| probabilities.view());
        let Quality { values, per_target } = Quality::of(&encoded, &all, decisions.view(), probabilities);
        let object = |values: &Values| -> Map<String, Value> {
            values.iter().map(|(metric, value)| (key(metric), json!(value))).collect()
        };
        let mut metrics = object(&values);
        // A class that the model does not know is predicted wrongly.
        if let Some(accuracy) = values.get(Metric::Accuracy).filter(|_| self.strange > 0) {
            let share = encoded.len() as f64 / (encoded.len() + self.strange) as f64;
            metrics.insert(key(Metric::Accuracy), json!(accuracy * share));
        }
        let metric = model.readout.estimate().map(|(metric, _)| metric);
        let metric =
            metric.unwrap_or_else(|| model.model.config.metric.or_default(task, encoded.census().counts(0)));
        let each = per_target.iter().enumerate();
        let targets =
            each.map(|(target, values)| (model.target(target), Value::Object(object(values)))).collect();
        Ok(Metrics { metric: Some(metric), metrics, targets })
    }
}
