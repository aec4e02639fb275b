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

use ndarray::{Array2, ArrayView2, Axis};
use serde_json::{Value, json};
use stepwell::colours::Colours;
use stepwell::config::Level;
use stepwell::model::{Predictions, TrainedModel};
use stepwell::readout::{Threshold, Wanted};
use stepwell::reservoir::Embedding;
use stepwell::targets::{Labels, Task};
use stepwell::{Error, Result};

use crate::vectors::{Key, Shape};

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
    (0..model.readout.task().num_targets()).map(|target| model.threshold(target, wanted)).collect()
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Integers.
    Whole(Vec<i64>),
    /// Floats.
    Real(Vec<f64>),
    /// Strings.
    Text(Vec<String>),
    /// Booleans and lists, each as the text that it is in JSON.
    Json(Vec<String>),
}

/// Columns of a table with their names; behind them, in the classic layout, the scores of classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    named: Vec<(String, Column)>,
    scores: Array2<f64>,
}

impl Columns {
    /// All that is said of some graphs, or vertices.
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
            Task::Classification { .. } => {
                model.classes.names().iter().map(|class| format!("score_{class}")).collect()
            }
            _ => Vec::new(),
        };
        Ok(Shape { keys, vector: "scores", columns, double: true })
    }

    /// The columns behind those that say what a row is of.
    pub fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        self.named.iter().map(|(_, column)| match column {
            Column::Whole(values) => Key::Whole(values),
            Column::Real(values) => Key::Real(values),
            Column::Text(values) | Column::Json(values) => Key::Text(values),
        })
    }

    /// The same with their names.
    pub fn named(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.named.iter().map(|(name, column)| (name.as_str(), column))
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
        Labels::Bool(_) => Column::Json(labels.names()),
        Labels::Text(names) => Column::Text(names.clone()),
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
            Value::Array(held.collect()).to_string()
        };
        (named(model, "set", target), Column::Json(columns.outer_iter().map(set).collect()))
    };
    Ok((0..task.num_targets()).map(of).collect())
}
