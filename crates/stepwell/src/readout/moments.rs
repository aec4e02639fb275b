//! Sufficient statistics of weighted rows, accumulated piece by piece and merged.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::binary;
use super::rows::{self, BLOCK, Pending};
use crate::error::{Error, Result, same_length};
use crate::linalg;

/// No machine has memory for the square of more columns.
const MAX_COLUMNS: usize = 1 << 16;

/// Side of the squares in which a matrix is mirrored.
const SQUARE: usize = 32;

/// Columns whose means a thread computes at a time, and rows that it centres at a time.
const COLUMNS: usize = 256;
const ROWS: usize = 32;

/// The statistics that a ridge regression needs of inputs `x` and targets `y`: their weight, means
/// and centred sums of products.
///
/// Rows are added in pieces, and the bits do not depend on the pieces. [`merge`](Self::merge)
/// combines moments of different rows, from one machine or many, up to rounding: the training rows
/// of a fold are the merged moments of the other folds. Nothing is ever subtracted, and everything
/// is centred from the start, so columns far from 0 lose no digits.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Packed", into = "Packed")]
pub struct Moments {
    inputs: usize,
    targets: usize,
    rows: u64,
    weight: f64,
    /// Means of inputs and targets, side by side.
    mean: Vec<f64>,
    /// Products of inputs and targets with each other. The contents above the diagonal have no
    /// meaning.
    scatter: Vec<f64>,
    pending: Pending,
}

impl Moments {
    /// Moments without rows, for `inputs` columns of `x` and `targets` columns of `y`.
    pub fn new(inputs: usize, targets: usize) -> Result<Self> {
        let width = Self::width(inputs, targets)?;
        let (mean, scatter) = (vec![0.0; width], vec![0.0; width * width]);
        Ok(Self { inputs, targets, rows: 0, weight: 0.0, mean, scatter, pending: Pending::default() })
    }

    /// The number of input and target columns; an error if their square cannot fit into memory.
    pub(super) fn width(inputs: usize, targets: usize) -> Result<usize> {
        let width = inputs.saturating_add(targets);
        if width > MAX_COLUMNS {
            let (limit, found) = (MAX_COLUMNS as u64, width as u64);
            return Err(Error::TooLarge { what: "columns of inputs and targets", limit, found });
        }
        Ok(width)
    }

    /// Columns of `x`.
    pub fn num_inputs(&self) -> usize {
        self.inputs
    }

    /// Columns of `y`.
    pub fn num_targets(&self) -> usize {
        self.targets
    }

    /// Number of rows so far, including those of weight 0.
    pub fn num_rows(&self) -> u64 {
        self.rows + self.pending.weights.len() as u64
    }

    /// Adds rows, each with weight 1 or its own. After an error the moments are unchanged.
    pub fn observe(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        rows::check(x, y, weights, (self.inputs, self.targets))?;
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend(x, y, weights, |block| self.fold(block));
        self.pending = pending;
        Ok(())
    }

    /// Adds the moments of other rows (Chan's rule).
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same_length("columns of the inputs", self.inputs, other.inputs)?;
        same_length("columns of the targets", self.targets, other.targets)?;
        self.settle();
        let settled;
        let other = if other.pending.is_empty() {
            other
        } else {
            settled = other.clone().settled();
            &settled
        };
        self.rows += other.rows;
        if other.weight > 0.0 {
            let apart = self.join(other.weight, &other.mean);
            self.scatter.iter_mut().zip(&other.scatter).for_each(|(mine, theirs)| *mine += theirs);
            linalg::add_gram(&apart, self.mean.len(), &mut self.scatter);
        }
        Ok(())
    }

    /// The same moments with all row weights multiplied by a non-negative factor.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        let mut scaled = self.clone().settled();
        scaled.weight *= factor;
        scaled.scatter.iter_mut().for_each(|entry| *entry *= factor);
        scaled
    }

    /// Returns the statistics.
    pub fn scatter(&self) -> Scatter {
        let settled;
        let Self { inputs, targets, rows, weight, mean, scatter, .. } = if self.pending.is_empty() {
            self
        } else {
            settled = self.clone().settled();
            &settled
        };
        let (inputs, width) = (*inputs, mean.len());
        let at = |i: usize, j: usize| scatter[i.max(j) * width + i.min(j)];
        let mut xx = Array2::zeros((inputs, inputs));
        let entries = xx.as_slice_mut().expect("just made, row after row");
        let stripes = entries.par_chunks_mut((SQUARE * inputs).max(1)).enumerate();
        stripes.for_each(|(index, stripe)| {
            let top = index * SQUARE;
            let height = stripe.len() / inputs;
            for (row, i) in (0..height).zip(top..) {
                stripe[row * inputs..][..=i].copy_from_slice(&scatter[i * width..=i * width + i]);
            }
            // Mirror in small squares, which stay in the cache.
            for left in (top..inputs).step_by(SQUARE) {
                for (row, i) in (0..height).zip(top..) {
                    for j in left.max(i + 1)..inputs.min(left + SQUARE) {
                        stripe[row * inputs + j] = scatter[j * width + i];
                    }
                }
            }
        });
        Scatter {
            rows: *rows,
            weight: *weight,
            x_mean: Array1::from_iter(mean[..inputs].iter().copied()),
            y_mean: Array1::from_iter(mean[inputs..].iter().copied()),
            xx,
            xy: Array2::from_shape_fn((inputs, *targets), |(i, j)| at(i, inputs + j)),
            yy: Array1::from_shape_fn(*targets, |j| at(inputs + j, inputs + j)),
        }
    }

    fn settled(mut self) -> Self {
        self.settle();
        self
    }

    /// Adds the rows that wait for a full block.
    pub(super) fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        self.fold(&mut pending);
    }

    /// Adds a block, overwriting its rows.
    fn fold(&mut self, block: &mut Pending) {
        let Pending { rows, weights } = block;
        let width = self.mean.len();
        self.rows += weights.len() as u64;
        let weight: f64 = weights.iter().sum();
        if weight <= 0.0 || width == 0 {
            self.weight += weight;
            return;
        }
        let mut mean = vec![0.0; width];
        mean.par_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, mean)| {
            for (row, weight) in rows.chunks_exact(width).zip(&*weights) {
                linalg::symmetric::axpy(mean, *weight, &row[chunk * COLUMNS..][..mean.len()]);
            }
            mean.iter_mut().for_each(|x| *x /= weight);
        });
        rows.par_chunks_exact_mut(width).zip(&*weights).with_min_len(ROWS).for_each(|(row, weight)| {
            let root = weight.sqrt();
            row.iter_mut().zip(&mean).for_each(|(x, mean)| *x = root * (*x - mean));
        });
        // The term of Chan's rule is one more row of the same product.
        rows.extend(self.join(weight, &mean));
        linalg::add_gram(rows, width, &mut self.scatter);
    }

    /// Updates the mean for new rows of this `weight` and `mean`. Returns the row whose products
    /// with itself the scatter gains.
    fn join(&mut self, weight: f64, mean: &[f64]) -> Vec<f64> {
        let total = self.weight + weight;
        let share = weight / total;
        let root = (self.weight * share).sqrt();
        self.weight = total;
        let apart = |(mine, theirs): (&mut f64, &f64)| {
            let distance = theirs - *mine;
            *mine += share * distance;
            root * distance
        };
        self.mean.iter_mut().zip(mean).map(apart).collect()
    }
}

/// Means and centred sums of products of weighted rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// Number of rows, including those of weight 0.
    pub rows: u64,
    /// The sum of their weights.
    pub weight: f64,
    /// Mean of the inputs.
    pub x_mean: Array1<f64>,
    /// Mean of the targets.
    pub y_mean: Array1<f64>,
    /// `Σ w (x - x̄)(x - x̄)ᵀ`.
    pub xx: Array2<f64>,
    /// `Σ w (x - x̄)(y - ȳ)ᵀ`.
    pub xy: Array2<f64>,
    /// `Σ w (y - ȳ)²` of every target.
    pub yy: Array1<f64>,
}

impl Scatter {
    /// The standard deviation (ddof 0) of every input; 1 if it is constant.
    pub fn deviations(&self) -> Array1<f64> {
        let (squares, rows) = (self.xx.diag(), self.rows as f64);
        deviations(squares.iter().copied(), &self.x_mean, self.weight, rows, 1.0)
    }
}

/// Standard deviations from sums of squares. A column that is constant up to the rounding of its
/// mean gets `constant` instead: dividing by its deviation would amplify noise.
pub(super) fn deviations(
    squares: impl Iterator<Item = f64>,
    mean: &Array1<f64>,
    weight: f64,
    rows: f64,
    constant: f64,
) -> Array1<f64> {
    squares
        .zip(mean)
        .map(|(squares, &mean)| varying((squares / weight).sqrt(), mean, rows, constant))
        .collect()
}

/// The deviation of a column, or `constant` if the deviation is only rounding.
pub(super) fn varying(deviation: f64, mean: f64, rows: f64, constant: f64) -> f64 {
    if deviation > rows * f64::EPSILON * mean.abs() { deviation } else { constant }
}

/// The serialised form: only the meaningful half of the scatter.
#[derive(Deserialize, Serialize)]
struct Packed {
    inputs: usize,
    targets: usize,
    rows: u64,
    weight: f64,
    #[serde(with = "binary::list")]
    mean: Vec<f64>,
    #[serde(with = "binary::list")]
    lower: Vec<f64>,
    pending: Pending,
}

impl From<Moments> for Packed {
    fn from(moments: Moments) -> Self {
        let Moments { inputs, targets, rows, weight, mean, scatter, pending } = moments;
        let width = mean.len();
        let lower = (0..width).flat_map(|i| scatter[i * width..=i * width + i].iter().copied()).collect();
        Self { inputs, targets, rows, weight, mean, lower, pending }
    }
}

impl TryFrom<Packed> for Moments {
    type Error = Error;

    fn try_from(packed: Packed) -> Result<Self> {
        let Packed { inputs, targets, rows, weight, mean, lower, pending } = packed;
        // Compare before allocating: the sizes come from another machine or a file.
        let width = inputs.saturating_add(targets);
        same_length("means of the moments", width, mean.len())?;
        same_length("products of the moments", width.saturating_mul(width + 1) / 2, lower.len())?;
        let count = pending.weights.len();
        same_length("numbers in rows of the moments", count.saturating_mul(width), pending.rows.len())?;
        let numbers = [weight].into_iter().chain(pending.weights.iter().copied());
        let numbers = numbers.chain(mean.iter().chain(&lower).chain(&pending.rows).copied());
        for (index, value) in numbers.enumerate() {
            if !value.is_finite() || (value < 0.0 && index <= count) {
                return Err(Error::BadValue { what: "moment", item: "number", index, value });
            }
        }
        if count >= BLOCK {
            return Err(Error::TooLarge {
                what: "pending rows of the moments",
                limit: BLOCK as u64 - 1,
                found: count as u64,
            });
        }
        let mut moments = Self::new(inputs, targets)?;
        let mut lower = lower.into_iter();
        for (i, row) in moments.scatter.chunks_exact_mut(width.max(1)).enumerate() {
            row[..=i].iter_mut().zip(&mut lower).for_each(|(entry, value)| *entry = value);
        }
        (moments.rows, moments.weight, moments.mean, moments.pending) = (rows, weight, mean, pending);
        Ok(moments)
    }
}
