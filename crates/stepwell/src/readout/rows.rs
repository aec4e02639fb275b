//! Checks incoming rows and collects them into blocks of a fixed size.
//!
//! Sums are computed block by block. Where a block ends depends only on the number of earlier rows,
//! not on how many rows the caller passes at a time. So the last bits of a result do not depend on
//! that either.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::binary;
use crate::colours::ColourRows;
use crate::error::{Error, Result, same_length};
use crate::reservoir::Embedding;

/// Number of rows of a block.
pub(super) const BLOCK: usize = 512;

/// The input of the readout, one row per graph: vectors and, if landmarks compare them, the colours
/// of the vertices.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// A row per graph.
    pub vectors: ArrayView2<'a, f64>,
    /// The colours of the same graphs.
    pub colours: Option<ColourRows<'a>>,
}

impl<'a> From<ArrayView2<'a, f64>> for Rows<'a> {
    fn from(vectors: ArrayView2<'a, f64>) -> Self {
        Self { vectors, colours: None }
    }
}

impl<'a> From<&'a Embedding> for Rows<'a> {
    fn from(embedding: &'a Embedding) -> Self {
        let colours = embedding.colours.as_ref().map(|colours| colours.view());
        Self { vectors: embedding.vectors.view(), colours }
    }
}

impl<'a> Rows<'a> {
    /// Number of rows.
    pub fn len(self) -> usize {
        self.vectors.nrows()
    }

    /// Whether there are no rows.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// A range of rows.
    pub fn of(&self, rows: Range<usize>) -> Rows<'_> {
        let vectors = self.vectors.slice(s![rows.clone(), ..]);
        Rows { vectors, colours: self.colours.map(|colours| colours.of(rows)) }
    }

    /// The rows in pieces of `size` rows.
    pub(super) fn pieces(&self, size: usize) -> impl Iterator<Item = Rows<'_>> {
        (0..self.len()).step_by(size).map(move |first| self.of(first..self.len().min(first + size)))
    }

    /// Checks that there are colours for every row.
    pub(super) fn check(self) -> Result<()> {
        self.colours.map_or(Ok(()), |colours| same_length("rows of colours", self.len(), colours.len()))
    }
}

/// Weights and keys of rows: for all rows, or for none.
///
/// ```
/// use stepwell::readout::Sample;
/// let weighted = Sample { weights: Some(&[1.0, 2.0]), ..Sample::default() };
/// assert_eq!(weighted.keys, None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// The weight of each row; 1 if absent.
    pub weights: Option<&'a [f64]>,
    /// The [keys](crate::graph::GraphBatch::keys) of the graphs, by which landmarks are sampled. If
    /// absent, the bits of the rows decide, which differ in the last place between kinds of
    /// processors.
    pub keys: Option<&'a [u64]>,
}

impl<'a> Sample<'a> {
    /// Graphs with these keys and equal weights.
    pub fn with_keys(keys: &'a [u64]) -> Self {
        Self { weights: None, keys: Some(keys) }
    }

    /// The weights and keys of a range of rows.
    pub(super) fn of(self, rows: Range<usize>) -> Self {
        let Self { weights, keys } = self;
        Self { weights: weights.map(|all| &all[rows.clone()]), keys: keys.map(|all| &all[rows]) }
    }

    /// Checks that there are weights and keys for `rows` rows.
    pub(crate) fn check(self, rows: usize) -> Result<()> {
        self.keys.map_or(Ok(()), |keys| same_length("keys", rows, keys.len()))?;
        weights(self.weights, rows)
    }
}

/// Rejects rows of the wrong length or with infinite or NaN values, and negative weights.
pub(super) fn check(
    x: ArrayView2<'_, f64>,
    y: ArrayView2<'_, f64>,
    weights: Option<&[f64]>,
    (inputs, targets): (usize, usize),
) -> Result<()> {
    same_length("columns of the inputs", inputs, x.ncols())?;
    same_length("columns of the targets", targets, y.ncols())?;
    same_length("rows of the targets", x.nrows(), y.nrows())?;
    finite("input", x)?;
    finite("target", y)?;
    self::weights(weights, x.nrows())
}

/// Rejects a wrong number of weights, and negative weights.
pub(super) fn weights(weights: Option<&[f64]>, rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    same_length("weights", rows, weights.len())?;
    match weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        Some(row) => Err(Error::BadRowWeight { row, weight: weights[row] }),
        None => Ok(()),
    }
}

/// Reshapes a list into a matrix.
pub(super) fn shaped(numbers: Vec<f64>, shape: (usize, usize)) -> Result<Array2<f64>> {
    let found = numbers.len();
    Array2::from_shape_vec(shape, numbers).map_err(|_| Error::Length {
        what: "numbers in the rows",
        expected: shape.0.saturating_mul(shape.1),
        found,
    })
}

pub(super) fn finite(what: &'static str, matrix: ArrayView2<'_, f64>) -> Result<()> {
    // Usually all are finite, and a loop without an exit can be vectorised.
    if matrix.iter().fold(true, |all, x| all & x.is_finite()) {
        return Ok(());
    }
    match matrix.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((index, _), &value)) => Err(Error::BadValue { what, item: "row", index, value }),
        None => Ok(()),
    }
}

/// The rows of an incomplete block: inputs and targets side by side.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Pending {
    #[serde(with = "binary::list")]
    pub rows: Vec<f64>,
    #[serde(with = "binary::list")]
    pub weights: Vec<f64>,
}

impl Pending {
    /// Adds rows. Calls `full` with every block that becomes complete.
    pub fn extend(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
        mut full: impl FnMut(&mut Self),
    ) {
        for (row, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate() {
            for part in [x, y] {
                match part.as_slice() {
                    Some(values) => self.rows.extend_from_slice(values),
                    None => self.rows.extend(part),
                }
            }
            self.weights.push(weights.and_then(|weights| weights.get(row)).copied().unwrap_or(1.0));
            if self.weights.len() == BLOCK {
                full(self);
                self.clear();
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    pub fn clear(&mut self) {
        self.rows.clear();
        self.weights.clear();
    }
}
