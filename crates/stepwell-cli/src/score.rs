//! How good predictions are.

use std::borrow::Cow;

use anyhow::Result;
use ndarray::{Array2, ArrayView2, Axis};
use serde::Serialize;
use serde_json::{Map, Value, json};
use stepwell::config::Metric;
use stepwell::model::{Predictions, TrainedModel};
use stepwell::readout::Threshold;
use stepwell::targets::{Encoded, Labels, Targets, Task};
use stepwell_data::{Dataset, Known};
use stepwell_lab::metrics::{Quality, Values};

/// How good predictions are where targets are known.
#[derive(Default)]
pub struct Score {
    targets: Targets,
    decisions: Vec<f64>,
    /// Graphs of a class that the model does not know.
    pub strange: usize,
    /// Graphs whose target is unknown, or not of the model's kind.
    pub without: usize,
    /// Graphs that were not looked at, since there are too many.
    pub beyond: usize,
    /// Targets of the model that the data does not have under their names.
    pub missing: Vec<String>,
}

/// Decision values that are kept for metrics.
const MOST: usize = 1 << 24;

fn is_binary(model: &TrainedModel) -> bool {
    matches!(model.readout.task(), Task::Binary { .. })
}

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
        .expect("a metric is written as its name")
}

impl Score {
    /// Takes predictions in, and what is known of the same graphs, or of these of their vertices.
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

    /// The targets of graphs in the order of the model's. Several targets are matched by name,
    /// if both sides have names; those that the data does not have are unknown.
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
            // Numbers among other columns do not keep these from being 0 and 1.
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
