//! The sums that a regression accumulates over rows.

use std::sync::OnceLock;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::binary;
use super::few::FewRidge;
use super::leave_one_out::LeaveOneOut;
use super::moments::Moments;
use super::ridge::Coefficients;
use super::rows;
use crate::error::{Result, same_length};

/// Whether all rows so far were equal, and the first row.
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

/// Stores rows while they are fewer than their columns, because inner products are then more
/// accurate; later, their moments.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Sums {
    inputs: usize,
    targets: usize,
    kind: Kind,
    /// Computed from few rows on first use.
    #[serde(skip)]
    ridge: OnceLock<FewRidge>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
enum Kind {
    Few(Few),
    Many(Moments),
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

impl Few {
    /// The rows as matrices with `inputs` and `targets` columns.
    fn shaped(&self, inputs: usize, targets: usize) -> Result<(ArrayView2<'_, f64>, ArrayView2<'_, f64>)> {
        let count = self.weights.len();
        same_length("inputs of few rows", count * inputs, self.x.len())?;
        same_length("targets of few rows", count * targets, self.y.len())?;
        let matrix = |numbers, width| {
            ArrayView2::from_shape((count, width), numbers).expect("the length was compared")
        };
        Ok((matrix(&self.x, inputs), matrix(&self.y, targets)))
    }
}

impl Sums {
    /// Starts without rows. `rows` is the expected number of rows.
    pub fn new(inputs: usize, targets: usize, rows: u64) -> Result<Self> {
        let kind = if rows < inputs as u64 {
            Moments::width(inputs, targets)?;
            Kind::Few(Few::default())
        } else {
            Kind::Many(Moments::new(inputs, targets)?)
        };
        Ok(Self { inputs, targets, kind, ridge: OnceLock::new() })
    }

    pub fn observe(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        match &mut self.kind {
            Kind::Many(moments) => moments.observe(x, y, weights),
            Kind::Few(few) => {
                rows::check(x, y, weights, (self.inputs, self.targets))?;
                few.x.extend(x.iter());
                few.y.extend(y.iter());
                few.weights.extend((0..x.nrows()).map(|row| weights.map_or(1.0, |weights| weights[row])));
                self.add_up_many()
            }
        }
    }

    /// Replaces the rows by their moments once there are many.
    fn add_up_many(&mut self) -> Result<()> {
        if let Kind::Few(few) = &self.kind
            && few.weights.len() >= self.inputs
        {
            self.kind = Kind::Many(self.moments(few)?);
        }
        Ok(())
    }

    fn moments(&self, few: &Few) -> Result<Moments> {
        let mut moments = Moments::new(self.inputs, self.targets)?;
        let (x, y) = few.shaped(self.inputs, self.targets)?;
        moments.observe(x, y, Some(&few.weights))?;
        Ok(moments)
    }

    /// Adds the rows that wait for a full block.
    pub fn settle(&mut self) {
        if let Kind::Many(moments) = &mut self.kind {
            moments.settle();
        }
    }

    /// The same with all row weights multiplied by a factor.
    pub fn scaled(&self, factor: f64) -> Self {
        let kind = match &self.kind {
            Kind::Many(moments) => Kind::Many(moments.scaled(factor)),
            Kind::Few(few) => {
                let mut few = few.clone();
                few.weights.iter_mut().for_each(|weight| *weight *= factor);
                Kind::Few(few)
            }
        };
        Self { kind, ridge: OnceLock::new(), ..*self }
    }

    pub fn merge(&mut self, other: Self) -> Result<()> {
        same_length("columns of the inputs", self.inputs, other.inputs)?;
        same_length("columns of the targets", self.targets, other.targets)?;
        self.ridge = OnceLock::new();
        match (&mut self.kind, &other.kind) {
            (Kind::Many(mine), Kind::Many(theirs)) => mine.merge(theirs),
            (Kind::Many(mine), Kind::Few(theirs)) => mine.merge(&other.moments(theirs)?),
            (Kind::Few(mine), Kind::Many(theirs)) => {
                let mut moments = other.moments(mine)?;
                moments.merge(theirs)?;
                self.kind = Kind::Many(moments);
                Ok(())
            }
            (Kind::Few(mine), Kind::Few(theirs)) => {
                mine.x.extend(&theirs.x);
                mine.y.extend(&theirs.y);
                mine.weights.extend(&theirs.weights);
                self.add_up_many()
            }
        }
    }

    /// The regression of few rows.
    fn ridge(&self, few: &Few, standardize: bool) -> Result<&FewRidge> {
        if let Some(ridge) = self.ridge.get() {
            return Ok(ridge);
        }
        let (x, y) = few.shaped(self.inputs, self.targets)?;
        let ridge = FewRidge::new(x, y, &few.weights, standardize)?;
        Ok(self.ridge.get_or_init(|| ridge))
    }

    pub fn leave_one_out(&self, alphas: &[f64], standardize: bool) -> Result<LeaveOneOut<'_>> {
        match &self.kind {
            Kind::Few(few) => LeaveOneOut::of_few(self.ridge(few, standardize)?, alphas),
            Kind::Many(moments) => LeaveOneOut::of_moments(moments, alphas, standardize),
        }
    }

    pub fn solve(&self, alpha: f64, standardize: bool) -> Result<Coefficients> {
        match &self.kind {
            Kind::Few(few) => self.ridge(few, standardize)?.solve(alpha),
            Kind::Many(moments) => Coefficients::of_moments(moments, alpha, standardize),
        }
    }
}
