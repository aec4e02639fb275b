//! How well a row is predicted from all others, without leaving any out.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use serde::{Deserialize, Serialize};

use super::ridge::RidgePath;
use super::rows::{self, Pending};
use crate::config::check_alpha;
use crate::error::{Error, Result, same_length};
use crate::linalg;

/// The squared error of predicting every row from the others, for several
/// alphas at once: one more pass over the rows a [`RidgePath`] was made of.
///
/// A row that takes part in its own prediction with the share h, its leverage,
/// would be missed by `(y - ŷ)/(1 - h)` without it. The leverage is
/// `w (1/Σw + zᵀ (L + alpha)⁻¹ z)` with `z = Qᵀ(x - x̄)`, the intercept's part
/// included, so this is exact. Where `1 - h` is lost in rounding (the row is
/// met exactly, whatever its target) the error cannot be known and counts as
/// infinite: such an alpha is not chosen.
///
/// Rows fewer than their columns are all met but for the penalty. If the path
/// was made of the rows themselves, both differences are computed without
/// subtracting: with `u = L^-1/2 z` and `g = L^-1/2 Qᵀ Sxy` they are alpha times
/// `uᵀ (L + alpha)⁻¹ g` and `w uᵀ (L + alpha)⁻¹ u`. Then any alpha will do.
#[derive(Clone, Debug)]
pub struct LeaveOneOut<'path> {
    path: &'path RidgePath,
    /// What makes z, or u, of a centred row.
    directions: Cow<'path, Array2<f64>>,
    /// `(L + alpha)⁻¹`, a column for each alpha.
    inverses: Array2<f64>,
    /// `W`, or `(L + alpha)⁻¹ g`, for all alphas, the targets of each next to each other.
    weights: Array2<f64>,
    pending: Pending,
    errors: AlphaErrors,
}

/// Below this, `1 - h` is looked at more closely.
const SUSPICIOUS: f64 = 1e-4;

impl<'path> LeaveOneOut<'path> {
    /// Before any row. The alphas must be above 0.
    pub fn new(path: &'path RidgePath, alphas: &[f64]) -> Result<Self> {
        let errors = AlphaErrors::new(alphas)?;
        let rank = path.span.unwrap_or(path.values.len());
        let mut inverses = Array2::zeros((rank, alphas.len()));
        for (mut column, &alpha) in inverses.columns_mut().into_iter().zip(alphas) {
            column.assign(&path.inverse(alpha).slice(s![..rank]));
        }
        let (directions, weights) = match path.span {
            None => {
                let weights: Vec<Array2<f64>> =
                    alphas.iter().map(|&alpha| path.scaled_weights(alpha)).collect();
                (Cow::Borrowed(&path.directions), weights)
            }
            Some(rank) => {
                let roots = path.values.slice(s![..rank]).mapv(f64::sqrt).insert_axis(Axis(1));
                let g = &path.alignment.slice(s![..rank, ..]) / &roots;
                let weights = inverses.axis_iter(Axis(1)).map(|inverse| &g * &inverse.insert_axis(Axis(1)));
                let weights = weights.collect();
                (Cow::Owned(&path.directions.slice(s![..rank, ..]) / &roots), weights)
            }
        };
        let weights: Vec<ArrayView2<'_, f64>> = weights.iter().map(|weights| weights.view()).collect();
        let weights = concatenate(Axis(1), &weights).expect("there is an alpha, and all have one height");
        Ok(Self { path, directions, inverses, weights, pending: Pending::default(), errors })
    }

    /// Takes rows in: those the path was made of, each once, with the same weights.
    pub fn observe(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        rows::check(x, y, weights, (self.path.num_inputs(), self.path.num_targets()))?;
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend(x, y, weights, |block| self.add(block));
        self.pending = pending;
        Ok(())
    }

    /// The errors of the rows seen.
    pub fn finish(mut self) -> AlphaErrors {
        let pending = std::mem::take(&mut self.pending);
        self.add(&pending);
        self.errors
    }

    fn add(&mut self, block: &Pending) {
        let Self { path, directions, inverses, weights, errors, .. } = self;
        let (inputs, targets) = (path.num_inputs(), path.num_targets());
        let count = block.weights.len();
        errors.terms += (count * targets) as u64;
        let row = |i: usize| &block.rows[i * (inputs + targets)..(i + 1) * (inputs + targets)];
        let (mean, scales) = (&path.x_mean, &path.scales);
        let centred = Array2::from_shape_fn((count, inputs), |(i, j)| (row(i)[j] - mean[j]) / scales[j]);
        let mut squares = linalg::multiply(centred.view(), directions.t());
        let met = path.span.is_some();
        let mapped = linalg::multiply(if met { squares.view() } else { centred.view() }, weights.view());
        squares.mapv_inplace(|z| z * z);
        let shares = linalg::multiply(squares.view(), inverses.view());
        for (i, &weight) in block.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let centred_target = |target: usize| row(i)[inputs + target] - path.y_mean[target];
            for (column, sum) in errors.sums.iter_mut().enumerate() {
                let share = weight * shares[(i, column)];
                let (free, lost) = if met {
                    (share, 0.0)
                } else {
                    let free = 1.0 - weight / path.weight - share;
                    let suspicious = free < SUSPICIOUS;
                    let lost = || rounding(path, weight, squares.row(i), inverses.column(column));
                    (free, if suspicious { lost() } else { 0.0 })
                };
                let error = |target: usize| {
                    let mapped = mapped[(i, column * targets + target)];
                    let missed = if met { mapped } else { centred_target(target) - mapped };
                    (missed / free).powi(2)
                };
                let error = weight * (0..targets).map(error).sum::<f64>();
                *sum = sum.filter(|_| free > lost && error.is_finite()).map(|sum| sum + error);
            }
        }
    }
}

/// How far a row's leverage may be off: to first order, what changing the
/// scatter in the last place of its largest eigenvalue makes of it.
fn rounding(
    path: &RidgePath,
    weight: f64,
    squares: ArrayView1<'_, f64>,
    inverse: ArrayView1<'_, f64>,
) -> f64 {
    let largest = path.values.iter().copied().fold(0.0, f64::max);
    let slope: f64 = squares.iter().zip(inverse).map(|(square, inverse)| square * inverse * inverse).sum();
    8.0 * f64::EPSILON * (1.0 + weight * slope * largest)
}

/// Summed leave-one-out errors of several alphas. Those of different rows
/// [`merge`](Self::merge).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written")]
pub struct AlphaErrors {
    alphas: Vec<f64>,
    /// None once the error of a row is not known.
    pub(super) sums: Vec<Option<f64>>,
    /// Rows times targets.
    pub(super) terms: u64,
}

/// Errors as they come from elsewhere, where they need not fit each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    alphas: Vec<f64>,
    sums: Vec<Option<f64>>,
    terms: u64,
}

impl TryFrom<Written> for AlphaErrors {
    type Error = Error;

    fn try_from(Written { alphas, sums, terms }: Written) -> Result<Self> {
        same_length("alphas", alphas.len().max(1), alphas.len())?;
        same_length("sums of errors", alphas.len(), sums.len())?;
        alphas.iter().try_for_each(|&alpha| check_alpha(alpha, false))?;
        Ok(Self { alphas, sums, terms })
    }
}

impl AlphaErrors {
    /// Before any row. The alphas must be above 0.
    pub(super) fn new(alphas: &[f64]) -> Result<Self> {
        same_length("alphas", alphas.len().max(1), alphas.len())?;
        alphas.iter().try_for_each(|&alpha| check_alpha(alpha, false))?;
        Ok(Self { alphas: alphas.to_vec(), sums: vec![Some(0.0); alphas.len()], terms: 0 })
    }

    /// Adds the errors of other rows, for the same alphas.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.alphas != other.alphas || self.sums.len() != other.sums.len() {
            return Err(Error::BadOption {
                name: "alphas",
                expected: format!("{:?}, as in the errors to add to", self.alphas),
                found: format!("{:?}", other.alphas),
            });
        }
        self.terms = self.terms.saturating_add(other.terms);
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine = mine.zip(*theirs).map(|(mine, theirs)| mine + theirs);
        }
        Ok(())
    }

    /// The mean over rows and targets of the weighted squared error, for every
    /// alpha; infinite where it is not known.
    pub fn means(&self) -> Vec<f64> {
        let mean = |sum: &Option<f64>| sum.map_or(f64::INFINITY, |sum| sum / self.terms.max(1) as f64);
        self.sums.iter().map(mean).collect()
    }

    /// The alpha of the smallest error, of equal ones the first. If no error is
    /// known, the largest alpha, with which coefficients are smallest.
    pub fn best(&self) -> f64 {
        let known = self.alphas.iter().zip(&self.sums).filter_map(|(alpha, sum)| Some((alpha, (*sum)?)));
        let best = known.reduce(|best, next| if next.1 < best.1 { next } else { best });
        let largest = || self.alphas.iter().copied().fold(0.0, f64::max);
        best.map_or_else(largest, |(alpha, _)| *alpha)
    }
}
