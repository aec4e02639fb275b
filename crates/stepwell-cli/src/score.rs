//! Scores predictions.
//!
//! A class that the model does not know is a class that it never predicts: accuracy, balanced
//! accuracy and macro F1 count its graphs as wrong, as scikit-learn does. The other metrics compare
//! scores or probabilities of classes. An unknown class has none, so they ignore its graphs.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::Result;
use ndarray::{Array2, ArrayView2, Axis, concatenate};
use serde::Serialize;
use serde_json::{Map, Value, json};
use stepwell::config::Metric;
use stepwell::metrics::{Judged, Truth};
use stepwell::model::{Predictions, TrainedModel};
use stepwell::readout::Threshold;
use stepwell::targets::{Encoded, Labels, Targets, Task};
use stepwell_data::{Dataset, Known};
use stepwell_lab::metrics::{Quality, Values};

/// Compares predictions with known targets.
#[derive(Default)]
pub struct Score {
    targets: Targets,
    decisions: Vec<f64>,
    strangers: Strangers,
    /// Graphs whose target is unknown, or not of the model's kind.
    pub without: usize,
    /// Graphs that were not scored because there are too many.
    pub beyond: usize,
    /// Targets of the model that the data does not have under these names.
    pub missing: Vec<String>,
}

/// Predictions for graphs of classes that the model does not know.
#[derive(Default)]
struct Strangers {
    /// The classes, numbered.
    classes: HashMap<String, usize>,
    /// The number of each graph's class.
    codes: Vec<usize>,
    decisions: Vec<f64>,
}

/// The most decision values kept for metrics.
const MOST: usize = 1 << 24;

/// The metrics of predicted classes, which count unknown classes as wrong.
const OF_PREDICTED: [Metric; 3] = [Metric::Accuracy, Metric::BalancedAccuracy, Metric::MacroF1];

fn is_binary(model: &TrainedModel) -> bool {
    matches!(model.readout.task(), Task::Binary { .. })
}

/// Metrics by name.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Metrics {
    /// The metric that the model was chosen by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// All metrics, averaged over targets.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub metrics: Map<String, Value>,
    /// The metrics of every target, if there are several.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub targets: Map<String, Value>,
}

impl Metrics {
    /// The value of one metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.metrics.get(&key(metric))?.as_f64()
    }
}

/// The JSON name of a metric: its option name with underscores.
pub fn key(metric: Metric) -> String {
    metric.name().replace('-', "_")
}

impl Score {
    /// Adds predictions for a piece: for its graphs, or for these vertices of them.
    pub fn add(
        &mut self,
        model: &TrainedModel,
        predictions: &Predictions,
        piece: &Dataset,
        vertices: Option<&[usize]>,
    ) -> Result<()> {
        if let Some(vertices) = vertices {
            let known = piece.vertices.as_ref().map(|all| all.known.among(vertices)).unwrap_or_default();
            self.without += vertices.len() - known.rows.len();
            let decisions = predictions.decisions.select(Axis(0), &known.rows);
            return self.compare(model, decisions.view(), &known.targets);
        }
        match &piece.some_classes {
            None => {
                let targets = self.by_name(model, piece);
                self.compare(model, predictions.decisions.view(), &targets)
            }
            Some(Known { targets, rows: graphs }) => {
                self.without += piece.len() - graphs.len();
                self.compare(model, predictions.decisions.select(Axis(0), graphs).view(), targets)
            }
        }
    }

    /// The targets of graphs in the model's order. Several targets are matched by name if both
    /// sides have names; targets missing from the data are unknown.
    fn by_name<'d>(&mut self, model: &TrainedModel, piece: &'d Dataset) -> Cow<'d, Targets> {
        let (names, own) = (&model.targets, &piece.target_names);
        let (Targets::Numbers(values) | Targets::Binary(values)) = &piece.targets else {
            return Cow::Borrowed(&piece.targets);
        };
        if names.len() < 2 || own.len() != values.ncols() || names == own {
            return Cow::Borrowed(&piece.targets);
        }
        let places: Vec<Option<usize>> =
            names.iter().map(|name| own.iter().position(|other| other == name)).collect();
        let missing = names.iter().zip(&places).filter(|(_, place)| place.is_none());
        self.missing = missing.map(|(name, _)| name.clone()).collect();
        let value = |(row, target): (usize, usize)| places[target].map_or(f64::NAN, |at| values[(row, at)]);
        let matched = Array2::from_shape_fn((values.nrows(), names.len()), value);
        Cow::Owned(match &piece.targets {
            Targets::Binary(_) => Targets::Binary(matched),
            // Numbers in other columns do not prevent these from being binary.
            _ if is_binary(model) && matched.iter().all(|v| v.is_nan() || *v == 0.0 || *v == 1.0) => {
                Targets::Binary(matched)
            }
            _ => Targets::Numbers(matched),
        })
    }

    fn compare(
        &mut self,
        model: &TrainedModel,
        decisions: ArrayView2<'_, f64>,
        targets: &Targets,
    ) -> Result<()> {
        let rows = decisions.nrows();
        let has_prediction = |row: usize| decisions.row(row).iter().any(|value| !value.is_nan());
        if self.decisions.len() + self.strangers.decisions.len() >= MOST {
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
                let (names, mut known) = (model.classes.names(), Vec::new());
                for row in 0..rows {
                    let name = labels.name(row);
                    match labels {
                        Labels::Float(values) if values[row].is_nan() => self.without += 1,
                        _ if !has_prediction(row) => {}
                        _ if names.contains(&name) => known.push(row),
                        _ => self.strangers.add(name, decisions.row(row).iter()),
                    }
                }
                known
            }
            Targets::Numbers(values) | Targets::Binary(values) => {
                let known: Vec<usize> =
                    (0..rows).filter(|&row| values.row(row).iter().any(|value| !value.is_nan())).collect();
                self.without += rows - known.len();
                known.into_iter().filter(|&row| has_prediction(row)).collect::<Vec<usize>>()
            }
            Targets::None => {
                self.without += rows;
                return Ok(());
            }
        };
        self.decisions.extend(decisions.select(Axis(0), &known));
        Ok(self.targets.append(targets.select(&known))?)
    }

    /// The number of scored graphs.
    pub fn known(&self) -> usize {
        self.targets.len() + self.strange()
    }

    /// The number of graphs of a class that the model does not know.
    pub fn strange(&self) -> usize {
        self.strangers.codes.len()
    }

    /// All available metrics of predictions with these thresholds.
    pub fn finish(self, model: &TrainedModel, thresholds: &[Threshold]) -> Result<Metrics> {
        if self.known() == 0 {
            return Ok(Metrics::default());
        }
        let task = model.readout.task();
        let encoded = Encoded::with_classes(&self.targets, model.classes.clone())?;
        let mut decisions = Array2::from_shape_vec((encoded.len(), task.num_columns()), self.decisions)?;
        // Models of older versions and regressions have no probabilities.
        let probabilities = match task.num_classes() {
            0 => None,
            _ => model.probabilities(decisions.view()).ok(),
        };
        shift(&mut decisions, thresholds);
        let all: Vec<usize> = (0..encoded.len()).collect();
        let probabilities = probabilities.as_ref().map(|probabilities| probabilities.view());
        let Quality { values, per_target } = Quality::of(&encoded, &all, decisions.view(), probabilities);
        let object = |values: &Values| -> Map<String, Value> {
            values.iter().map(|(metric, value)| (key(metric), json!(value))).collect()
        };
        let mut metrics = object(&values);
        if let Some(codes) = encoded.codes().filter(|_| !self.strangers.codes.is_empty()) {
            let Strangers { classes, codes: strange, decisions: theirs } = self.strangers;
            let mut theirs = Array2::from_shape_vec((strange.len(), task.num_columns()), theirs)?;
            shift(&mut theirs, thresholds);
            let (all, known) = (concatenate![Axis(0), decisions, theirs], model.classes.len());
            let codes: Vec<usize> =
                codes.iter().copied().chain(strange.iter().map(|code| known + code)).collect();
            let judged = Judged {
                truth: Truth::Classes(&codes, known + classes.len()),
                decisions: all.view(),
                probabilities: None,
                weights: None,
            };
            let values = OF_PREDICTED.into_iter().filter_map(|metric| Some((metric, judged.metric(metric)?)));
            metrics.extend(values.map(|(metric, value)| (key(metric), json!(value))));
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

impl Strangers {
    fn add<'d>(&mut self, name: String, decisions: impl Iterator<Item = &'d f64>) {
        let next = self.classes.len();
        self.codes.push(*self.classes.entry(name).or_insert(next));
        self.decisions.extend(decisions);
    }
}

/// Moves the thresholds to 0: values above 0 are the second class.
fn shift(decisions: &mut Array2<f64>, thresholds: &[Threshold]) {
    for (mut column, found) in decisions.columns_mut().into_iter().zip(thresholds) {
        column -= if found.class == 0 { found.threshold } else { found.threshold.next_down() };
    }
}
