//! Projections: map vectors of any length to the few numbers that a picture can show.
//!
//! [`pca`] finds the directions in which rows vary most. [`lda`] finds those in which
//! classes differ most, relative to the spread of each class (paper §6.4). Both follow
//! scikit-learn, up to signs: here the first entry of an axis with the largest modulus
//! is positive.
//!
//! ```
//! use ndarray::array;
//! use stepwell::projection::{ProjectionOptions, lda, pca};
//!
//! let rows = array![[0.0, 0.1], [1.0, 0.0], [5.0, 0.2], [0.0, 3.1], [4.0, 3.0], [5.0, 2.9]];
//! let widest = pca(rows.view(), &ProjectionOptions::default())?;
//! assert!(widest.axes[(0, 0)] > 0.9, "rows vary most along the first column");
//! let apart = lda(rows.view(), &[0, 0, 0, 1, 1, 1], &ProjectionOptions::default())?;
//! let points = apart.apply(rows.view())?;
//! assert!(points[(2, 0)] < points[(3, 0)], "classes lie apart along the second one");
//! # Ok::<(), stepwell::Error>(())
//! ```

mod lda;
mod pca;
#[cfg(test)]
mod tests;

pub use lda::lda;
pub use pca::pca;

use ndarray::{Array1, Array2, ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::linalg;

/// The options of a projection.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectionOptions {
    /// Number of components per row.
    pub components: usize,
}

impl Default for ProjectionOptions {
    fn default() -> Self {
        Self { components: 2 }
    }
}

/// More components than a picture, or the columns of any dataset, can have.
const MAX_COMPONENTS: usize = 1 << 16;

impl ProjectionOptions {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        if (1..=MAX_COMPONENTS).contains(&self.components) {
            Ok(())
        } else {
            Err(Error::BadOption {
                name: "components",
                expected: format!("1 to {MAX_COMPONENTS}"),
                found: self.components.to_string(),
            })
        }
    }
}

/// The meaning of an axis.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AxisKind {
    /// A discriminant: the distance between classes; rows of one class have variance 1.
    Discriminant,
    /// A principal component: the direction of largest variance orthogonal to the
    /// earlier axes.
    Principal,
    /// Empty: rows have no variance orthogonal to the earlier axes.
    Nothing,
}

/// A linear map from rows to points.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The point that is mapped to the origin.
    pub mean: Array1<f64>,
    /// Columns of the rows by components. An empty axis is zero.
    pub axes: Array2<f64>,
    /// The meaning of each axis.
    pub kinds: Vec<AxisKind>,
    /// The share of each axis: for a discriminant, of the variance between classes; for
    /// other axes, of the total variance.
    pub explained: Vec<f64>,
}

impl Projection {
    /// Projects rows to points.
    pub fn apply(&self, rows: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        check(rows)?;
        if rows.ncols() != self.mean.len() {
            let (expected, found) = (self.mean.len(), rows.ncols());
            return Err(Error::Length { what: "columns to project", expected, found });
        }
        Ok(linalg::multiply((&rows - &self.mean).view(), self.axes.view()))
    }
}

fn check(rows: ArrayView2<'_, f64>) -> Result<()> {
    match rows.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((index, _), &value)) => Err(Error::BadValue { what: "a column", item: "row", index, value }),
        None => Ok(()),
    }
}

fn mean(rows: ArrayView2<'_, f64>) -> Array1<f64> {
    rows.sum_axis(Axis(0)) / rows.nrows().max(1) as f64
}

/// The sum of squares.
fn energy(rows: ArrayView2<'_, f64>) -> f64 {
    rows.iter().map(|x| x * x).sum()
}

/// Flips an axis so that its largest entry is positive.
fn fix_sign(axis: &mut [f64]) {
    let mut largest = 0.0f64;
    for &entry in axis.iter() {
        if entry.abs() > largest.abs() {
            largest = entry;
        }
    }
    if largest < 0.0 {
        axis.iter_mut().for_each(|entry| *entry = -*entry);
    }
}
