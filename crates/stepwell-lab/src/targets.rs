//! What is to be predicted, and how good predictions of it are.

use ndarray::{Array2, ArrayView2};
use stepwell::readout::{decode_classes, encode_classes};
use stepwell_data::Dataset;

use crate::error::{Error, Result};

/// What is to be predicted of every graph.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Classes, counted from 0, and their names.
    Classes(Vec<usize>, Vec<String>),
    /// Numbers.
    Values(Vec<f64>),
}

impl Targets {
    /// Those of a dataset, which must have some.
    pub fn of(dataset: &Dataset) -> Result<Self> {
        if let Some((classes, names)) = dataset.targets.classes() {
            return Ok(Self::Classes(classes, names));
        }
        match &dataset.targets {
            stepwell_data::Targets::Real(values) => Ok(Self::Values(values.clone())),
            _ => {
                let (expected, found) = ("a target for every graph".into(), "none".into());
                Err(Error::BadOption { name: "dataset", expected, found })
            }
        }
    }

    /// How many graphs there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes(classes, _) => classes.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One class per graph to stratify by; numbers are one class.
    pub fn strata(&self) -> Vec<usize> {
        match self {
            Self::Classes(classes, _) => classes.clone(),
            Self::Values(values) => vec![0; values.len()],
        }
    }

    /// The columns the readout is trained on.
    pub fn encoded(&self) -> Result<Array2<f64>> {
        Ok(match self {
            Self::Classes(classes, names) => encode_classes(classes, names.len())?,
            Self::Values(values) => Array2::from_shape_fn((values.len(), 1), |(row, _)| values[row]),
        })
    }

    /// The score of predictions for some graphs; see [`Unit`](crate::protocol::Unit).
    pub fn score(&self, graphs: &[usize], decisions: ArrayView2<'_, f64>) -> f64 {
        match self {
            Self::Classes(classes, _) => {
                let found = decode_classes(decisions);
                found.iter().zip(graphs).filter(|&(&found, &graph)| found == classes[graph]).count() as f64
            }
            Self::Values(values) => {
                let errors = decisions.column(0).into_iter().zip(graphs);
                -errors.map(|(found, &graph)| (found - values[graph]).powi(2)).sum::<f64>()
            }
        }
    }
}
