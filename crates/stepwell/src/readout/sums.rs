//! What is added up of rows for a regression.

use std::sync::OnceLock;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::binary;
use super::leave_one_out::LeaveOneOut;
use super::moments::Moments;
use super::ridge::{Coefficients, RidgePath};
use super::rows;
use crate::error::Result;

/// Whether all rows so far were equal, and to what.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Alike {
    first: Option<Vec<f64>>,
    pub differ: bool,
}

impl Alike {
    pub fn observe(&mut self, x: ArrayView2<'_, f64>) {
        for row in x.outer_iter().take(if self.differ { 0 } else { usize::MAX }) {
            let first = self.first.get_or_insert_with(|| row.to_vec());
            self.differ |= row.iter().zip(first).any(|(a, b)| a != b);
        }
    }

    pub fn merge(&mut self, other: Self) {
        self.differ |= other.differ;
        match (&self.first, other.first) {
            (Some(mine), Some(theirs)) => self.differ |= *mine != theirs,
            (None, theirs) => self.first = theirs,
            _ => {}
        }
    }
}

/// Moments, and the rows themselves while they are fewer than their columns:
/// then they are better decomposed themselves, and few in any case.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Sums {
    pub moments: Moments,
    few: Option<Few>,
    /// Made of them when it is first asked for.
    #[serde(skip)]
    path: OnceLock<RidgePath>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Few {
    #[serde(with = "binary::list")]
    x: Vec<f64>,
    #[serde(with = "binary::list")]
    y: Vec<f64>,
    #[serde(with = "binary::list")]
    weights: Vec<f64>,
}

impl Sums {
    pub fn new(inputs: usize, targets: usize) -> Result<Self> {
        Ok(Self { moments: Moments::new(inputs, targets)?, few: Some(Few::default()), path: OnceLock::new() })
    }

    pub fn observe(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        self.moments.observe(x, y, weights)?;
        self.keep_few();
        if let Some(few) = &mut self.few {
            few.x.extend(x.iter());
            few.y.extend(y.iter());
            few.weights.extend((0..x.nrows()).map(|row| weights.map_or(1.0, |weights| weights[row])));
        }
        Ok(())
    }

    /// The same with every row weighted by a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        let mut few = self.few.clone();
        few.iter_mut().for_each(|few| few.weights.iter_mut().for_each(|weight| *weight *= factor));
        Self { moments: self.moments.scaled(factor), few, path: OnceLock::new() }
    }

    fn keep_few(&mut self) {
        let fewer = self.moments.num_rows() < self.moments.num_inputs() as u64;
        self.few = self.few.take().filter(|_| fewer);
    }

    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.moments.merge(&other.moments)?;
        self.few = match (self.few.take(), other.few) {
            (Some(mut mine), Some(theirs)) => {
                mine.x.extend(theirs.x);
                mine.y.extend(theirs.y);
                mine.weights.extend(theirs.weights);
                Some(mine)
            }
            _ => None,
        };
        self.keep_few();
        Ok(())
    }

    /// The path of rows that are few.
    fn path(&self, few: &Few, standardize: bool) -> Result<&RidgePath> {
        if let Some(path) = self.path.get() {
            return Ok(path);
        }
        let Few { x, y, weights } = few;
        let x = rows::shaped(x.clone(), (weights.len(), self.moments.num_inputs()))?;
        let y = rows::shaped(y.clone(), (weights.len(), self.moments.num_targets()))?;
        let path = RidgePath::from_rows(x.view(), y.view(), Some(weights), standardize)?;
        Ok(self.path.get_or_init(|| path))
    }

    pub fn leave_one_out(&self, alphas: &[f64], standardize: bool) -> Result<LeaveOneOut<'_>> {
        match &self.few {
            Some(few) => LeaveOneOut::new(self.path(few, standardize)?, alphas),
            None => LeaveOneOut::of_moments(&self.moments, alphas, standardize),
        }
    }

    pub fn solve(&self, alpha: f64, standardize: bool) -> Result<Coefficients> {
        match &self.few {
            Some(few) => self.path(few, standardize)?.solve(alpha),
            None => Coefficients::of_moments(&self.moments, alpha, standardize),
        }
    }
}
