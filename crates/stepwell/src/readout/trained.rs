//! A trained readout: from vectors to classes or numbers.

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
use crate::targets::{Task, check_num_classes};

/// What is put in place of the inputs before they are read.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a time")]
pub enum Expansion {
    /// Random tanh units.
    Random(RandomFeatures),
    /// Similarities to some of the rows.
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

    pub(super) fn apply(&self, rows: Rows<'_>) -> Result<Array2<f64>> {
        match self {
            Self::Random(random) => random.apply(rows.vectors),
            Self::Landmarks(landmarks) => landmarks.apply(rows),
        }
    }
}

/// A linear map, possibly behind an [`Expansion`], that tells classes apart or
/// predicts numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Readout {
    task: Task,
    alphas: Vec<f64>,
    expansion: Option<Expansion>,
    coefficients: Coefficients,
    /// Of every target, or none where nothing is known.
    pub(super) assessments: Vec<Assessment>,
    /// Whether all rows it was trained on were one and the same.
    pub(super) blind: bool,
}

/// Rows that are expanded at a time: similarities are many numbers.
pub(super) const PIECE: usize = 512;

impl Readout {
    /// Puts a readout together: one trained elsewhere, or one that was saved. Of
    /// alphas there is one for all targets, or one for each.
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
        Ok(Self { task, alphas, expansion, coefficients, assessments: Vec::new(), blind: false })
    }

    /// What it predicts.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The strength of the penalty that every target was trained with.
    pub fn alphas(&self) -> &[f64] {
        &self.alphas
    }

    /// What leave-one-out says of every target; nothing where it is not known, as
    /// for models that were saved by older versions.
    pub fn assessments(&self) -> Option<&[Assessment]> {
        (!self.assessments.is_empty()).then_some(&*self.assessments)
    }

    /// The same readout with what leave-one-out says of it.
    pub fn assessed(self, assessments: Vec<Assessment>) -> Result<Self> {
        same_length("assessments", self.task.num_targets(), assessments.len())?;
        for Assessment { calibration, operating, .. } in &assessments {
            let columns = self.task.columns_of(0).len();
            let found = calibration.as_ref().map_or(columns, |calibration| calibration.bias().len());
            same_length("biases of probabilities", columns, found)?;
            if (calibration.is_some() && self.task.num_classes() == 0)
                || (operating.is_some() && self.task.num_classes() != 2)
            {
                let (expected, found) = ("none for this kind of target".into(), "some".into());
                return Err(Error::BadOption { name: "calibration", expected, found });
            }
        }
        Ok(Self { assessments, ..self })
    }

    /// The mean over targets of the leave-one-out value of the metric the readout was chosen
    /// by, if it is known.
    pub fn estimate(&self) -> Option<(Metric, f64)> {
        let metric = self.assessments.first()?.metric;
        Some((metric, metrics::mean(self.assessments.iter().map(|found| found.value))?))
    }

    /// The mean over targets of the share of variance that is explained of graphs left out, if
    /// it is known.
    pub fn explained(&self) -> Option<f64> {
        metrics::mean(self.assessments.iter().map(|found| found.explained))
    }

    /// What stands in front of the linear map, if anything does.
    pub fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_ref()
    }

    /// The linear map.
    pub fn coefficients(&self) -> &Coefficients {
        &self.coefficients
    }

    /// Whether all rows it was trained on were equal, so that it says the same of
    /// every graph. Known after training; a file does not keep it.
    pub fn is_blind(&self) -> bool {
        self.blind
    }

    /// Columns of the inputs.
    pub fn num_inputs(&self) -> usize {
        self.expansion.as_ref().map_or(self.coefficients.weights.nrows(), Expansion::num_inputs)
    }

    /// What the linear map gives for every row: predicted numbers, or decision
    /// values of the classes (of two, one value, above 0 for the second).
    /// A row's bits do not depend on the other rows.
    pub fn predict<'a>(&self, graphs: impl Into<Rows<'a>>) -> Result<Array2<f64>> {
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
        for piece in graphs.pieces(PIECE) {
            let expanded = self.expansion.as_ref().map(|expansion| expansion.apply(piece)).transpose()?;
            let piece = expanded.as_ref().map_or(piece.vectors, |expanded| expanded.view());
            let rows = (0..piece.nrows()).into_par_iter().with_min_len(256).map(|i| row(piece.row(i)));
            values.extend(rows.collect::<Vec<_>>().into_iter().flatten());
        }
        rows::shaped(values, (graphs.len(), intercept.len()))
    }
}
