//! A trained readout: turns vectors into classes or numbers.

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::assessment::Assessment;
use super::landmarks::Landmarks;
use super::random_features::RandomFeatures;
use super::ridge::Coefficients;
use super::rows::{self, Rows};
use crate::config::{Metric, check_alpha};
use crate::error::{Error, Result, same_length};
use crate::linalg::symmetric::dot;
use crate::metrics;
use crate::reservoir::Device;
use crate::targets::{Task, check_num_classes};

/// A nonlinear expansion of the inputs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a time")]
pub enum Expansion {
    /// Random tanh units.
    Random(RandomFeatures),
    /// Similarities to landmarks.
    Landmarks(Landmarks),
}

impl Expansion {
    pub(super) fn num_inputs(&self) -> usize {
        match self {
            Self::Random(random) => random.weights().nrows(),
            Self::Landmarks(landmarks) => landmarks.mean().len(),
        }
    }

    pub(super) fn num_outputs(&self) -> usize {
        match self {
            Self::Random(random) => random.bias().len(),
            Self::Landmarks(landmarks) => landmarks.rows().nrows(),
        }
    }

    pub(super) fn apply(&self, rows: Rows<'_>, device: &Device) -> Result<Array2<f64>> {
        match self {
            Self::Random(random) => random.apply(rows.vectors),
            Self::Landmarks(landmarks) => landmarks.apply_on(rows, device),
        }
    }
}

/// A linear map, possibly after an [`Expansion`], that separates classes or predicts numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Readout {
    task: Task,
    alphas: Vec<f64>,
    expansion: Option<Expansion>,
    coefficients: Coefficients,
    /// One per target, or empty if unknown.
    pub(super) assessments: Vec<Assessment>,
    /// The number of training rows, if it is known.
    rows: Option<u64>,
    /// Whether all training rows were equal.
    pub(super) blind: bool,
}

/// Number of rows expanded at a time, because similarities take much memory.
const PIECE: usize = 512;

/// The same on a device: a GPU needs more rows at a time.
pub(super) fn piece_on(device: &Device) -> usize {
    if device.is_processor() { PIECE } else { 8 * PIECE }
}

impl Readout {
    /// Assembles a readout that was trained elsewhere or saved. `alphas` has one value for all
    /// targets, or one per target.
    pub fn from_parts(
        task: Task,
        alphas: Vec<f64>,
        expansion: Option<Expansion>,
        coefficients: Coefficients,
    ) -> Result<Self> {
        match task {
            Task::Classification { num_classes } => check_num_classes(num_classes)?,
            Task::Regression { targets } | Task::Binary { targets } => {
                same_length("targets", targets.max(1), targets)?
            }
        }
        alphas.iter().try_for_each(|&alpha| check_alpha(alpha, true))?;
        let alphas = if alphas.len() == 1 { vec![alphas[0]; task.num_targets()] } else { alphas };
        same_length("alphas", task.num_targets(), alphas.len())?;
        let Coefficients { weights, intercept } = &coefficients;
        same_length("columns of the coefficients", task.num_columns(), weights.ncols())?;
        same_length("intercepts", task.num_columns(), intercept.len())?;
        if let Some(expansion) = &expansion {
            same_length("rows of the coefficients", expansion.num_outputs(), weights.nrows())?;
        }
        rows::finite("coefficient", weights.view())?;
        rows::finite("intercept", intercept.view().insert_axis(Axis(1)))?;
        Ok(Self { task, alphas, expansion, coefficients, assessments: Vec::new(), rows: None, blind: false })
    }

    /// The task of the readout.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The alpha of every target.
    pub fn alphas(&self) -> &[f64] {
        &self.alphas
    }

    /// The leave-one-out assessment of every target. `None` if unknown, as for models saved by
    /// older versions.
    pub fn assessments(&self) -> Option<&[Assessment]> {
        (!self.assessments.is_empty()).then_some(&*self.assessments)
    }

    /// The number of rows with a known target that it was trained on. `None` if unknown, as for
    /// models saved by older versions.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// The same readout with this number of training rows.
    pub fn trained_on(self, rows: Option<u64>) -> Self {
        Self { rows, ..self }
    }

    /// The same readout with these assessments.
    pub fn assessed(self, assessments: Vec<Assessment>) -> Result<Self> {
        same_length("assessments", self.task.num_targets(), assessments.len())?;
        for Assessment { calibration, per_class, operating, .. } in &assessments {
            if !per_class.is_empty() {
                same_length("conformal scores of classes", self.task.num_classes(), per_class.len())?;
            }
            let columns = self.task.columns_of(0).len();
            let found = calibration.as_ref().map_or(columns, |calibration| calibration.bias().len());
            same_length("biases of probabilities", columns, found)?;
            if (calibration.is_some() && self.task.num_classes() == 0)
                || (operating.is_some() && self.task.num_classes() != 2)
            {
                let (expected, found) = ("none for targets of this kind".into(), "one".into());
                return Err(Error::BadOption { name: "calibration", expected, found });
            }
        }
        Ok(Self { assessments, ..self })
    }

    /// The mean over targets of the leave-one-out value of the metric that the readout was chosen
    /// by, if it is known.
    pub fn estimate(&self) -> Option<(Metric, f64)> {
        let metric = self.assessments.first()?.metric;
        Some((metric, metrics::mean(self.assessments.iter().map(|found| found.value))?))
    }

    /// The mean over targets of the fraction of variance that is explained on left-out graphs, if
    /// it is known.
    pub fn explained(&self) -> Option<f64> {
        metrics::mean(self.assessments.iter().map(|found| found.explained))
    }

    /// The expansion before the linear map, if there is one.
    pub fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_ref()
    }

    /// The linear map.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// Whether all training rows were equal, so that the predictions are the same for every graph.
    /// Known only after training; a file does not store it.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// Number of input columns.
    pub fn num_inputs(&self) -> usize {
        self.expansion.as_ref().map_or(self.coefficients.weights.nrows(), Expansion::num_inputs)
    }

    /// The output of the linear map for every row: predicted numbers, or decision values of the
    /// classes (with two classes, one value, above 0 for the second). A row's bits do not depend on
    /// the other rows.
    pub fn predict<'a>(&self, graphs: impl Into<Rows<'a>>) -> Result<Array2<f64>> {
        self.predict_on(graphs, &Device::processor())
    }

    /// The same on a device that may compare rows with landmarks.
    pub fn predict_on<'a>(&self, graphs: impl Into<Rows<'a>>, device: &Device) -> Result<Array2<f64>> {
        let graphs = graphs.into();
        same_length("columns of the inputs", self.num_inputs(), graphs.vectors.ncols())?;
        rows::finite("input", graphs.vectors)?;
        let Coefficients { weights, intercept } = &self.coefficients;
        let columns: Vec<Vec<f64>> = weights.columns().into_iter().map(|column| column.to_vec()).collect();
        let row = |x: ndarray::ArrayView1<'_, f64>| {
            let x = x.as_standard_layout();
            let x = x.as_slice().expect("in standard layout");
            columns.iter().zip(intercept).map(|(column, b)| dot(x, column) + b).collect::<Vec<f64>>()
        };
        let mut values = Vec::with_capacity(graphs.len() * intercept.len());
        for piece in graphs.pieces(piece_on(device)) {
            let expanded =
                self.expansion.as_ref().map(|expansion| expansion.apply(piece, device)).transpose()?;
            let piece = expanded.as_ref().map_or(piece.vectors, |expanded| expanded.view());
            let rows = (0..piece.nrows()).into_par_iter().with_min_len(256).map(|i| row(piece.row(i)));
            values.extend(rows.collect::<Vec<_>>().into_iter().flatten());
        }
        rows::shaped(values, (graphs.len(), intercept.len()))
    }
}
