//! Rows on their way in: checked, then gathered into blocks of one size.
//!
//! Sums are made block by block, and where a block ends depends on how many
//! rows came before, not on how many the caller handed over at a time. So the
//! last bits of a result do not depend on that either.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::binary;
use crate::colours::ColourRows;
use crate::error::{Error, Result, same_length};
use crate::reservoir::Embedding;

/// Rows of a block.
pub(super) const BLOCK: usize = 512;

/// What is read of graphs, a row each: their vectors, and the colours of their vertices where
/// landmarks are compared by them.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// A row per graph.
    pub vectors: ArrayView2<'a, f64>,
    /// The colours of as many graphs.
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
    /// How many there are.
    pub fn len(self) -> usize {
        self.vectors.nrows()
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Some of them.
    pub fn of(&self, rows: Range<usize>) -> Rows<'_> {
        let vectors = self.vectors.slice(s![rows.clone(), ..]);
        Rows { vectors, colours: self.colours.map(|colours| colours.of(rows)) }
    }

    /// The rows in pieces of so many.
    pub(super) fn pieces(&self, size: usize) -> impl Iterator<Item = Rows<'_>> {
        (0..self.len()).step_by(size).map(move |first| self.of(first..self.len().min(first + size)))
    }

    /// Refuses colours of other graphs.
    pub(super) fn check(self) -> Result<()> {
        self.colours.map_or(Ok(()), |colours| same_length("rows of colours", self.len(), colours.len()))
    }
}

/// What is known of rows beside inputs and targets: of all, or of none.
///
/// ```
/// use stepwell::readout::Sample;
/// let weighted = Sample { weights: Some(&[1.0, 2.0]), ..Sample::default() };
/// assert_eq!(weighted.keys, None);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample<'a> {
    /// How much each row counts; 1 where this is not given.
    pub weights: Option<&'a [f64]>,
    /// What landmarks are drawn by: the [keys](crate::graph::GraphBatch::keys) of
    /// the graphs. Where this is not given, the bits of the rows decide, which
    /// differ in the last place from one kind of processor to the next.
    pub keys: Option<&'a [u64]>,
}

impl<'a> Sample<'a> {
    /// Of graphs with these keys, which count alike.
    pub fn with_keys(keys: &'a [u64]) -> Self {
        Self { weights: None, keys: Some(keys) }
    }

    /// What is known of some of the rows.
    pub(super) fn of(self, rows: Range<usize>) -> Self {
        let Self { weights, keys } = self;
        Self { weights: weights.map(|all| &all[rows.clone()]), keys: keys.map(|all| &all[rows]) }
    }

    /// Refuses what does not fit so many rows.
    pub(crate) fn check(self, rows: usize) -> Result<()> {
        self.keys.map_or(Ok(()), |keys| same_length("keys", rows, keys.len()))?;
        weights(self.weights, rows)
    }
}

/// Refuses rows that do not fit or are not finite, and weights that are negative.
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

/// Refuses weights that are too few or too many, or negative.
pub(super) fn weights(weights: Option<&[f64]>, rows: usize) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    same_length("weights", rows, weights.len())?;
    match weights.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        Some(row) => Err(Error::BadRowWeight { row, weight: weights[row] }),
        None => Ok(()),
    }
}

/// Numbers as a matrix.
pub(super) fn shaped(numbers: Vec<f64>, shape: (usize, usize)) -> Result<Array2<f64>> {
    let found = numbers.len();
    Array2::from_shape_vec(shape, numbers).map_err(|_| Error::Length {
        what: "numbers in the rows",
        expected: shape.0.saturating_mul(shape.1),
        found,
    })
}

pub(super) fn finite(what: &'static str, matrix: ArrayView2<'_, f64>) -> Result<()> {
    // Most are, and a loop without an exit takes several at a time.
    if matrix.iter().fold(true, |all, x| all & x.is_finite()) {
        return Ok(());
    }
    match matrix.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((index, _), &value)) => Err(Error::BadValue { what, item: "row", index, value }),
        None => Ok(()),
    }
}

/// The rows of a block that is not full yet: inputs and targets side by side.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Pending {
    #[serde(with = "binary::list")]
    pub rows: Vec<f64>,
    #[serde(with = "binary::list")]
    pub weights: Vec<f64>,
}

impl Pending {
    /// Adds rows; `full` gets every block that becomes complete.
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
