//! Leave-one-out errors of single rows, of which metrics are made.

use std::ops::Range;

use ndarray::{Array2, ArrayView1};
use serde::{Deserialize, Serialize};

use super::binary;
use crate::error::{Result, same_length};
use crate::graph::mixed;

/// How far each row was missed with every alpha when it was left out.
///
/// Of very many rows some are kept, those to which the lot falls. It is drawn for
/// the bits of a row, so that neither order nor pieces matter.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct LeftOut {
    alphas: usize,
    columns: usize,
    #[serde(with = "binary::list")]
    lots: Vec<u64>,
    /// For each row its weight, its targets, and its errors: those of an alpha next to each other.
    #[serde(with = "binary::list")]
    numbers: Vec<f64>,
    /// How many numbers are kept.
    most: usize,
}

/// Numbers that are kept of all regressions of a pass: a quarter of a gigabyte.
const MOST: usize = 1 << 25;

/// Some rows with one alpha: what is true, and what was predicted without them.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub weights: Vec<f64>,
    pub truth: Array2<f64>,
    pub decisions: Array2<f64>,
}

impl LeftOut {
    /// Of no rows yet, of one of so many regressions that share the memory.
    pub fn new(alphas: usize, columns: usize, regressions: usize) -> Self {
        let most = MOST / regressions.max(1);
        Self { alphas, columns, lots: Vec::new(), numbers: Vec::new(), most }
    }

    fn stride(&self) -> usize {
        1 + self.columns * (1 + self.alphas)
    }

    /// Adds a row, its errors those of an alpha next to each other.
    pub fn push(&mut self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64, missed: &[f64]) {
        self.lots.push(mixed(0, x.iter().chain(&y).map(|value| value.to_bits())));
        self.numbers.push(weight);
        self.numbers.extend(y);
        self.numbers.extend(missed);
        if self.numbers.len() >= 2 * self.most {
            self.settle();
        }
    }

    /// Adds those of other rows.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        same_length("alphas", self.alphas, other.alphas)?;
        same_length("columns of the targets", self.columns, other.columns)?;
        same_length("numbers of rows left out", other.lots.len() * self.stride(), other.numbers.len())?;
        self.lots.extend(other.lots);
        self.numbers.extend(other.numbers);
        if self.numbers.len() >= 2 * self.most {
            self.settle();
        }
        Ok(())
    }

    /// Sorts rows by lot and keeps no more than there should be.
    pub fn settle(&mut self) {
        let stride = self.stride();
        let row = |at: usize| &self.numbers[at * stride..(at + 1) * stride];
        let mut order: Vec<usize> = (0..self.lots.len()).collect();
        // Rows of one lot have the same bits, up to their weights.
        order.sort_by(|&a, &b| self.lots[a].cmp(&self.lots[b]).then(row(a)[0].total_cmp(&row(b)[0])));
        order.truncate((self.most / stride).max(1));
        self.numbers = order.iter().flat_map(|&at| row(at).iter().copied()).collect();
        self.lots = order.iter().map(|&at| self.lots[at]).collect();
    }

    /// Whether anything is known with an alpha of some columns.
    pub fn is_known(&self, alpha: usize, columns: &Range<usize>) -> bool {
        let first = 1 + self.columns * (1 + alpha);
        let rows = self.numbers.chunks_exact(self.stride());
        !self.lots.is_empty()
            && rows.into_iter().all(|row| row[first..][columns.clone()].iter().all(|value| value.is_finite()))
    }

    /// What was predicted of some columns with an alpha. `own` says how much of a
    /// row's weight is its own, given its targets.
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
    /// The share of the variance that is explained; nothing where there is none.
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

    /// What a blend predicts that has this share of another readout, of the same rows.
    pub fn blended(&self, other: &Self, share: f64) -> Self {
        let decisions = (1.0 - share) * &self.decisions + share * &other.decisions;
        Self { weights: self.weights.clone(), truth: self.truth.clone(), decisions }
    }
}
