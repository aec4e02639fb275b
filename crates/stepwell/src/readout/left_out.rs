//! Leave-one-out errors of individual rows, from which metrics are computed.

use std::ops::Range;

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::binary;
use crate::error::{Result, same_length};
use crate::graph::mixed;

/// The leave-one-out error of each row, for every alpha.
///
/// If there are too many rows, a random sample is kept: those with the smallest random keys. The
/// random key is a hash of the row's bits, so neither the order of rows nor their split into pieces
/// matters.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct LeftOut {
    alphas: usize,
    columns: usize,
    #[serde(with = "binary::list")]
    lots: Vec<u64>,
    /// For each row: its weight, its targets, and its errors, with the columns of one alpha
    /// adjacent.
    #[serde(with = "binary::list")]
    numbers: Vec<f64>,
    /// Maximum number of values kept.
    most: usize,
}

/// Maximum number of values kept for all regressions of a pass: a quarter of a gigabyte.
const MOST: usize = 1 << 25;

/// The true targets and the leave-one-out predictions of some rows, for one alpha.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub weights: Vec<f64>,
    pub truth: Array2<f64>,
    pub decisions: Array2<f64>,
}

impl LeftOut {
    /// Starts without rows, for one of `regressions` regressions that share the memory.
    pub fn new(alphas: usize, columns: usize, regressions: usize) -> Self {
        let most = MOST / regressions.max(1);
        Self { alphas, columns, lots: Vec::new(), numbers: Vec::new(), most }
    }

    fn stride(&self) -> usize {
        1 + self.columns * (1 + self.alphas)
    }

    /// Adds a row. `missed` holds its errors, with the columns of one alpha adjacent.
    pub fn push(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64, missed: &[f64]) {
        self.lots.push(mixed(0, x.iter().chain(&y).map(|value| value.to_bits())));
        self.numbers.push(weight);
        self.numbers.extend(y);
        self.numbers.extend(missed);
        if self.numbers.len() >= 2 * self.most {
            self.settle();
        }
    }

    /// Adds the errors of other rows.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        same_length("alphas", self.alphas, other.alphas)?;
        same_length("columns of the targets", self.columns, other.columns)?;
        same_length("values of the left-out rows", other.lots.len() * self.stride(), other.numbers.len())?;
        self.lots.extend(other.lots);
        self.numbers.extend(other.numbers);
        if self.numbers.len() >= 2 * self.most {
            self.settle();
        }
        Ok(())
    }

    /// Sorts rows by random key and drops those beyond the limit.
    pub fn settle(&mut self) {
        let stride = self.stride();
        let row = |at: usize| &self.numbers[at * stride..(at + 1) * stride];
        let mut order: Vec<usize> = (0..self.lots.len()).collect();
        // Rows with equal random keys have the same bits, except for their weights.
        order.sort_by(|&a, &b| self.lots[a].cmp(&self.lots[b]).then(row(a)[0].total_cmp(&row(b)[0])));
        order.truncate((self.most / stride).max(1));
        let mut numbers = Vec::with_capacity(order.len() * stride);
        order.iter().for_each(|&at| numbers.extend_from_slice(row(at)));
        self.numbers = numbers;
        self.lots = order.iter().map(|&at| self.lots[at]).collect();
    }

    /// Whether all errors of some columns are known, for one alpha.
    pub fn is_known(&self, alpha: usize, columns: &Range<usize>) -> bool {
        let first = 1 + self.columns * (1 + alpha);
        let rows = self.numbers.chunks_exact(self.stride());
        !self.lots.is_empty()
            && rows.into_iter().all(|row| row[first..][columns.clone()].iter().all(|value| value.is_finite()))
    }

    /// The leave-one-out predictions of some columns, for one alpha. `own` returns the factor that
    /// removes the class weight from a row's weight, given its targets.
    pub fn held(
        &self,
        alpha: usize,
        columns: Range<usize>,
        own: impl Fn(ArrayView1<'_, f64>) -> f64,
    ) -> Held {
        let (count, first) = (self.lots.len(), 1 + self.columns * (1 + alpha));
        let mut truth = Array2::zeros((count, columns.len()));
        let mut decisions = Array2::zeros((count, columns.len()));
        let mut weights = Vec::with_capacity(count);
        for (index, row) in self.numbers.chunks_exact(self.stride()).enumerate() {
            for (at, column) in columns.clone().enumerate() {
                truth[(index, at)] = row[1 + column];
                decisions[(index, at)] = row[1 + column] - row[first + column];
            }
            weights.push(row[0] * own(truth.row(index)));
        }
        Held { weights, truth, decisions }
    }
}

impl Held {
    /// The fraction of the variance that is explained; `None` if there is no variance.
    pub fn explained(&self) -> Option<f64> {
        let (mut unexplained, mut all) = (0.0, 0.0);
        let total: f64 = self.weights.iter().sum();
        for (truth, found) in self.truth.columns().into_iter().zip(self.decisions.columns()) {
            let rows = || self.weights.iter().zip(truth).zip(found);
            let mean = rows().map(|((weight, truth), _)| weight * truth).sum::<f64>() / total;
            all += rows().map(|((weight, truth), _)| weight * (truth - mean).powi(2)).sum::<f64>();
            unexplained +=
                rows().map(|((weight, truth), found)| weight * (truth - found).powi(2)).sum::<f64>();
        }
        (all > 0.0).then_some(1.0 - unexplained / all)
    }

    /// The predictions of a blend with another readout of the same rows, which has the weight
    /// `share`.
    pub fn blended(&self, other: &Self, share: f64) -> Self {
        let decisions = (1.0 - share) * &self.decisions + share * &other.decisions;
        Self { weights: self.weights.clone(), truth: self.truth.clone(), decisions }
    }
}
