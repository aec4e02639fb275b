//! Predictions as columns of a table.
//!
//! ```
//! use std::ops::ControlFlow::Continue;
//! # use stepwell::config::ModelConfig;
//! # use stepwell::graph::{BatchBuilder, EdgeList};
//! # use stepwell::model::{Model, TrainedModel};
//! # use stepwell::targets::Targets;
//! use stepwell_data::predictions::{Asked, Columns};
//! # let mut builder = BatchBuilder::default();
//! # builder.push(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]))?;
//! # builder.push(&EdgeList::new(4, &[0, 1, 2, 3], &[1, 2, 3, 0]))?;
//! # let graphs = builder.finish();
//! # let model = Model::fit(ModelConfig::default(), &graphs)?;
//! # let vectors = model.embed(&graphs, |_| Continue(()))?.vectors;
//! # let targets = Targets::Classes(["path", "ring"].into_iter().collect());
//! # let trained = TrainedModel::fit(model, vectors.view(), &targets, Default::default())?;
//! let asked = Asked { proba: true, ..Asked::default() };
//! let columns = Columns::new(&trained, &trained.predict(&graphs, |_| Continue(()))?, &asked)?;
//! let names: Vec<&str> = columns.named().map(|(name, _)| name).collect();
//! assert_eq!(names, ["prediction", "probability_path", "probability_ring"]);
//! # Ok::<(), stepwell::Error>(())
//! ```

use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde_json::{Value, json};
use stepwell::colours::Colours;
use stepwell::config::Level;
use stepwell::model::{Predictions, TrainedModel};
use stepwell::readout::{Threshold, Wanted};
use stepwell::reservoir::Embedding;
use stepwell::targets::{Labels, Task};
use stepwell::{Error, Result};

use crate::vectors::{Key, Shape};

/// The options of a prediction table.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Whether to add class probabilities.
    pub proba: bool,
    /// Adds prediction sets or intervals that hold the truth with this probability.
    pub coverage: Option<f64>,
    /// Whether sets hold the truth with that probability for the graphs of each class, not only on
    /// average.
    pub per_class: bool,
    /// The decision threshold between two classes, for every target; empty for 0.
    pub thresholds: Vec<Threshold>,
}

impl Asked {
    /// A note about the sets, if the user should know more: a class that they cover too seldom, or
    /// scores that the model lacks.
    pub fn note(&self, model: &TrainedModel) -> Result<Option<String>> {
        let task = model.readout.task();
        let (Some(coverage), true) = (self.coverage, task.num_classes() > 0) else { return Ok(None) };
        if self.per_class {
            let note = "the model was written by an older version, without scores of each class: sets cover all classes together; train it again";
            return Ok((!model.knows_classes()).then(|| note.to_owned()));
        }
        let Some((target, class, share)) = model.least_covered(coverage)? else { return Ok(None) };
        if coverage - share <= TOLERATED {
            return Ok(None);
        }
        let class = match task.num_targets() {
            1 => format!("class {}", class_name(model, class)),
            _ => format!("class {} of {}", class_name(model, class), model.target(target)),
        };
        Ok(Some(format!(
            "sets contain the truth for {} % of all graphs, but for only {:.0} % of the graphs of {class} (leave-one-out)",
            (100.0 * coverage * 1e6).round() / 1e6,
            100.0 * share
        )))
    }
}

/// A class may be covered this much less than asked for before a note mentions it.
const TOLERATED: f64 = 0.1;

/// The name of a class: 0 or 1 for a target of 0 and 1.
pub fn class_name(model: &TrainedModel, class: usize) -> String {
    if model.classes.is_empty() { class.to_string() } else { model.classes.name(class) }
}

/// The position of a class by its name, which is 0 or 1 for targets of 0 and 1.
pub fn class_of(model: &TrainedModel, name: &str) -> Result<usize> {
    let classes = 0..model.readout.task().num_classes();
    let names: Vec<String> = classes.map(|class| class_name(model, class)).collect();
    names.iter().position(|known| known == name).ok_or_else(|| {
        let expected = format!("one of {}", names.join(", "));
        Error::BadOption { name: "class", expected, found: format!("'{}'", name.escape_debug()) }
    })
}

/// The thresholds of all targets for the `wanted` criterion of a class, named by its position
/// among the two classes.
pub fn thresholds(model: &TrainedModel, class: usize, wanted: Wanted) -> Result<Vec<Threshold>> {
    let of = |target: usize| model.threshold_of(target, class, wanted);
    (0..model.readout.task().num_targets()).map(of).collect()
}

/// A column of a table. Values of graphs without vertices are missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    Whole(Vec<Option<i64>>),
    /// Floats; NaN if missing.
    Real(Vec<f64>),
    /// Strings.
    Text(Vec<Option<String>>),
    /// Booleans and lists, each as JSON text.
    Json(Vec<Option<String>>),
}

impl Column {
    /// The same column, but without the values of some rows.
    fn without(self, blank: &[bool]) -> Self {
        fn only<T>(values: Vec<Option<T>>, blank: &[bool]) -> Vec<Option<T>> {
            values.into_iter().zip(blank).map(|(value, blank)| value.filter(|_| !blank)).collect()
        }
        match self {
            Self::Whole(values) => Self::Whole(only(values, blank)),
            Self::Text(values) => Self::Text(only(values, blank)),
            Self::Json(values) => Self::Json(only(values, blank)),
            Self::Real(values) => {
                let value = |(value, blank): (f64, &bool)| if *blank { f64::NAN } else { value };
                Self::Real(values.into_iter().zip(blank).map(value).collect())
            }
        }
    }
}

/// Named columns of a table, followed in the classic layout by the scores of classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    named: Vec<(String, Column)>,
    scores: Array2<f64>,
}

impl Columns {
    /// Arranges the predictions for graphs or vertices in columns. Rows whose decision values are
    /// NaN are [blank](Predictions::blank_empty). A single target of 0 and 1 has the columns of
    /// two classes.
    pub fn new(model: &TrainedModel, predictions: &Predictions, asked: &Asked) -> Result<Self> {
        let task = model.readout.task();
        let decisions = predictions.decisions.view();
        let mut named = Vec::new();
        let mut scores = Array2::zeros((decisions.nrows(), 0));
        // The classes of a target, with a threshold other than 0 if asked for.
        let of_target = |target: usize| {
            let threshold = asked.thresholds.get(target);
            let class = |&value: &f64| {
                threshold.map_or(usize::from(value > 0.0), |threshold| threshold.decide(value))
            };
            decisions.column(target).iter().map(class).collect::<Vec<usize>>()
        };
        match task {
            Task::Classification { .. } => {
                let classes = match &asked.thresholds[..] {
                    [] => predictions.classes.clone(),
                    _ => of_target(0),
                };
                named.push(("prediction".to_owned(), of_labels(&model.classes.select(&classes))));
                scores = predictions.scores.clone();
            }
            Task::Binary { targets: 1 } => {
                let classes = of_target(0).into_iter().map(|class| Some(class as i64)).collect();
                named.push(("prediction".to_owned(), Column::Whole(classes)));
                scores = concatenate![Axis(1), -&decisions, decisions];
            }
            Task::Regression { .. } | Task::Binary { .. } => {
                for target in 0..task.num_targets() {
                    let values = decisions.column(target);
                    if let Task::Regression { .. } = task {
                        named.push((self::named(model, "prediction", target), Column::Real(values.to_vec())));
                        continue;
                    }
                    let classes = of_target(target).into_iter().map(|class| Some(class as i64)).collect();
                    named.push((self::named(model, "prediction", target), Column::Whole(classes)));
                    named.push((self::named(model, "score", target), Column::Real(values.to_vec())));
                }
            }
        }
        if asked.proba {
            let mut probabilities = model.probabilities(decisions)?;
            if task == (Task::Binary { targets: 1 }) {
                probabilities = concatenate![Axis(1), probabilities.mapv(|p| 1.0 - p), probabilities];
            }
            for (column, values) in probabilities.columns().into_iter().enumerate() {
                let name = match task {
                    Task::Classification { .. } | Task::Binary { targets: 1 } => {
                        format!("probability_{}", class_name(model, column))
                    }
                    _ => self::named(model, "probability", column),
                };
                named.push((name, Column::Real(values.to_vec())));
            }
        }
        if let Some(coverage) = asked.coverage {
            named.extend(covering(model, decisions, coverage, asked.per_class)?);
        }
        let blank: Vec<bool> =
            decisions.outer_iter().map(|row| row.iter().all(|value| value.is_nan())).collect();
        if blank.contains(&true) {
            named = named.into_iter().map(|(name, column)| (name, column.without(&blank))).collect();
        }
        Ok(Self { named, scores })
    }

    /// The shape of the table.
    pub fn shape(model: &TrainedModel, asked: &Asked) -> Result<Shape> {
        let vectors = Array2::zeros((0, model.model.width()));
        let nothing = model.read(Embedding {
            vectors,
            runs: Array2::default((0, 0)),
            colours: Some(Colours::default()),
        })?;
        let Self { named, .. } = Self::new(model, &nothing, asked)?;
        let mut keys: Vec<String> = match model.model.config.level {
            Level::Graph => vec!["id".into()],
            Level::Vertex => vec!["graph".into(), "vertex".into()],
        };
        keys.extend(named.into_iter().map(|(name, _)| name));
        let repeated = keys.iter().enumerate().find(|(at, name)| keys[..*at].contains(name));
        if let Some((_, name)) = repeated {
            let expected = "class and target names that make distinct column names".into();
            return Err(Error::BadOption { name: "target", expected, found: format!("'{name}' twice") });
        }
        let columns = match model.readout.task() {
            task @ (Task::Classification { .. } | Task::Binary { targets: 1 }) => {
                let classes = 0..task.num_classes();
                classes.map(|class| format!("score_{}", class_name(model, class))).collect()
            }
            _ => Vec::new(),
        };
        Ok(Shape { keys, vector: "scores", columns, double: true, gaps: true })
    }

    /// The prediction columns, without those that identify the row.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        self.named.iter().map(|(_, column)| match column {
            Column::Whole(values) => Key::SomeWhole(values),
            Column::Real(values) => Key::SomeReal(values),
            Column::Text(values) | Column::Json(values) => Key::SomeText(values),
        })
    }

    /// The prediction columns with their names.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.named.iter().map(|(name, column)| (name.as_str(), column))
    }

    /// The scores of classes.
    pub fn scores(&self) -> ArrayView2<'_, f64> {
        self.scores.view()
    }
}

/// The name of a column about a target; a single target needs no name.
fn named(model: &TrainedModel, what: &str, target: usize) -> String {
    match model.readout.task().num_targets() {
        1 => what.to_owned(),
        _ => format!("{what}_{}", model.target(target)),
    }
}

fn of_labels(labels: &Labels) -> Column {
    match labels {
        Labels::Int(names) => Column::Whole(names.iter().copied().map(Some).collect()),
        Labels::Float(names) => Column::Real(names.clone()),
        Labels::Bool(_) => Column::Json(labels.names().into_iter().map(Some).collect()),
        Labels::Text(names) => Column::Text(names.iter().cloned().map(Some).collect()),
    }
}

/// Prediction sets, as JSON lists, or the bounds of intervals.
fn covering(
    model: &TrainedModel,
    decisions: ArrayView2<'_, f64>,
    coverage: f64,
    per_class: bool,
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
    let sets = match per_class {
        true => model.sets_per_class(decisions, coverage)?,
        false => model.sets(decisions, coverage)?,
    };
    let classes: Vec<Value> = match task {
        Task::Classification { .. } => serde_json::to_value(&model.classes)
            .ok()
            .and_then(|all| all.as_array().cloned())
            .expect("classes are written as a list"),
        _ => vec![json!(0), json!(1)],
    };
    let of = |target: usize| {
        let columns = sets.slice_axis(Axis(1), (target * classes.len()..(target + 1) * classes.len()).into());
        let set = |row: ndarray::ArrayView1<'_, bool>| {
            let held = row.iter().zip(&classes).filter(|(is, _)| **is).map(|(_, class)| class.clone());
            Some(Value::Array(held.collect()).to_string())
        };
        (named(model, "set", target), Column::Json(columns.outer_iter().map(set).collect()))
    };
    Ok((0..task.num_targets()).map(of).collect())
}
