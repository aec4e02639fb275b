//! Scores predictions.

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

/// Compares predictions with known targets.
#[derive(Default)]
pub struct Score {
    targets: Targets,
    decisions: Vec<f64>,
    /// Graphs of a class that the model does not know.
    pub strange: usize,
    /// Graphs whose target is unknown, or not of the model's kind.
    pub without: usize,
    /// Graphs that were not scored because there are too many.
    pub beyond: usize,
    /// Targets of the model that the data does not have under these names.
    pub missing: Vec<String>,
}

/// The most decision values kept for metrics.
const MOST: usize = 1 << 24;

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
                known.into_iter().filter(|&row| has_prediction(row)).collect()
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
        self.targets.len() + self.strange
    }

    /// All available metrics of predictions with these thresholds.
    pub fn finish(self, model: &TrainedModel, thresholds: &[Threshold]) -> Result<Metrics> {
        if self.targets.is_empty() {
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
        // Values above 0 are the second class.
        for (mut column, found) in decisions.columns_mut().into_iter().zip(thresholds) {
            column -= if found.class == 0 { found.threshold } else { found.threshold.next_down() };
        }
        let all: Vec<usize> = (0..encoded.len()).collect();
        let probabilities = probabilities.as_ref().map(|probabilities| probabilities.view());
        let Quality { values, per_target } = Quality::of(&encoded, &all, decisions.view(), probabilities);
        let object = |values: &Values| -> Map<String, Value> {
            values.iter().map(|(metric, value)| (key(metric), json!(value))).collect()
        };
        let mut metrics = object(&values);
        // A class that the model does not know counts as a wrong prediction.
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
