//! Exact leave-one-out errors, without training once per row.

use std::borrow::Cow;
use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::few::FewRidge;
use super::left_out::LeftOut;
use super::moments::Moments;
use super::ridge::{Centre, Equations, RidgePath};
use super::rows::{self, Pending};
use crate::config::check_alpha;
use crate::error::{Error, Result, same_length};
use crate::kernel::ABREAST;
use crate::linalg::{self, Band, BandFactor};

/// The leave-one-out errors of all rows, for several alphas at once. Computing them takes one more
/// pass over the rows behind the moments or the [`RidgePath`]. Squared errors are summed; a fit
/// also keeps the individual errors.
///
/// If a row has the share h in its own prediction (its leverage), its error without itself is
/// `(y - ŷ)/(1 - h)`. The leverage is `w (1/Σw + zᵀ (L + alpha)⁻¹ z)` with `z = Qᵀ(x - x̄)`. It
/// includes the share of the intercept, so the error is exact. If `1 - h` is lost in rounding (the
/// row is fitted exactly, whatever its target), the error is unknown and counts as infinite: such
/// an alpha is not chosen.
///
/// `L` need not be diagonal. Unless alphas are tiny, the scatter of the inputs is reduced to a
/// band, which takes a fraction of the time of its eigenvectors.
///
/// With fewer rows than columns and no penalty, every row would be fitted exactly: both `y - ŷ` and
/// `1 - h` would be 0. If the path was made from the rows themselves, neither is computed as a
/// difference: with `u = L^-1/2 z` and `g = L^-1/2 Qᵀ Sxy` they are alpha times `uᵀ (L + alpha)⁻¹ g`
/// and alpha times `w uᵀ (L + alpha)⁻¹ u`. So any alpha works. Unless alphas are tiny, a fit uses the
/// inner products of such rows instead.
#[derive(Clone, Debug)]
pub struct LeaveOneOut<'path> {
    centre: Centre,
    basis: Basis<'path>,
    /// Whether to try single precision: it is faster, and was accurate enough for most rows so far.
    rough: bool,
    pending: Pending,
    errors: AlphaErrors,
    kept: Option<LeftOut>,
}

/// The coordinates in which leverages are computed.
#[derive(Clone, Debug)]
enum Basis<'path> {
    Eigenvectors {
        path: Box<Cow<'path, RidgePath>>,
        /// Maps a centred row to `u`, if there are fewer rows than columns.
        directions: Option<Array2<f64>>,
        /// `(L + alpha)⁻¹`, one column per alpha.
        inverses: Array2<f64>,
        /// `W`, or `(L + alpha)⁻¹ g`, for all alphas, with the targets of one alpha adjacent.
        weights: Array2<f64>,
    },
    Band {
        band: Band,
        /// For each alpha, `C` with `C Cᵀ = L + alpha`, and `C⁻¹ Qᵀ Sxy` with one row per target.
        factors: Vec<Option<(BandFactor, Array2<f64>)>>,
    },
    /// No coordinates: with few rows, all errors are computed in advance and looked up by row.
    Few { few: &'path FewRidge, missed: Array2<f64> },
}

impl<'path> Basis<'path> {
    fn of_path(path: Cow<'path, RidgePath>, alphas: &[f64]) -> Self {
        let rank = path.span.unwrap_or(path.values.len());
        let mut inverses = Array2::zeros((rank, alphas.len()));
        for (mut column, &alpha) in inverses.columns_mut().into_iter().zip(alphas) {
            column.assign(&path.inverse(alpha).slice(s![..rank]));
        }
        let (directions, weights) = match path.span {
            None => {
                let weights: Vec<Array2<f64>> =
                    alphas.iter().map(|&alpha| path.scaled_weights(alpha)).collect();
                (None, weights)
            }
            Some(rank) => {
                let roots = path.values.slice(s![..rank]).mapv(f64::sqrt).insert_axis(Axis(1));
                let g = &path.alignment.slice(s![..rank, ..]) / &roots;
                let weights = inverses.axis_iter(Axis(1)).map(|inverse| &g * &inverse.insert_axis(Axis(1)));
                (Some(&path.directions.slice(s![..rank, ..]) / &roots), weights.collect())
            }
        };
        let weights: Vec<ArrayView2<'_, f64>> = weights.iter().map(|weights| weights.view()).collect();
        let weights = concatenate(Axis(1), &weights).expect("there is an alpha, and all have one height");
        Self::Eigenvectors { path: Box::new(path), directions, inverses, weights }
    }
}

/// If `1 - h` is below this, its rounding error is estimated.
const SUSPICIOUS: f64 = 1e-4;

/// If `1 - h` of a row is above this, single precision gives its errors to three digits for the
/// smallest alphas, and to five digits for usual ones.
const ROUGH: f64 = 5e-3;

/// If more than one row in this many of a block needs double precision, the next blocks use it from
/// the start.
const MOST_POOR: usize = 3;

/// Number of columns from which on single precision is noticeably faster.
const WORTH_ROUNDING: usize = 512;

/// An alpha above this fraction of the trace of the scatter is large compared with the rounding
/// errors of the eigenvalues.
const SAFE: f64 = 1e-12;

impl<'path> LeaveOneOut<'path> {
    /// Starts without rows. The alphas must be above 0.
    pub fn new(path: &'path RidgePath, alphas: &[f64]) -> Result<Self> {
        Self::of_path(Cow::Borrowed(path), alphas)
    }

    fn of_path(path: Cow<'path, RidgePath>, alphas: &[f64]) -> Result<Self> {
        let errors = AlphaErrors::new(alphas, path.num_targets())?;
        Ok(Self::without_rows(path.centre.clone(), Basis::of_path(path, alphas), errors))
    }

    fn without_rows(centre: Centre, basis: Basis<'path>, errors: AlphaErrors) -> Self {
        let rough = centre.scales.len() >= WORTH_ROUNDING;
        Self { centre, basis, rough, pending: Pending::default(), errors, kept: None }
    }

    /// Errors of few rows, from their inner products if all alphas are safe.
    pub(super) fn of_few(few: &'path FewRidge, alphas: &[f64]) -> Result<Self> {
        if !alphas.iter().all(|&alpha| few.is_safe(alpha)) {
            return Self::of_path(Cow::Borrowed(few.path()?), alphas);
        }
        let errors = AlphaErrors::new(alphas, few.centre().y_mean.len())?;
        let basis = Basis::Few { few, missed: few.missed(alphas) };
        Ok(Self::without_rows(few.centre().clone(), basis, errors))
    }

    /// Adds rows: each of those behind the path must be added once, with the same weight.
    pub fn observe(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
    ) -> Result<()> {
        rows::check(x, y, weights, (self.centre.x_mean.len(), self.centre.y_mean.len()))?;
        let mut pending = std::mem::take(&mut self.pending);
        pending.extend(x, y, weights, |block| self.add(block));
        self.pending = pending;
        Ok(())
    }

    /// Also keeps the individual errors, or a sample of them if there are too many rows.
    /// `regressions` regressions share the memory.
    pub(super) fn keeping(mut self, regressions: usize) -> Self {
        self.kept = Some(LeftOut::new(self.errors.alphas.len(), self.centre.y_mean.len(), regressions));
        self
    }

    /// Returns the summed errors of all rows added.
    pub fn finish(self) -> AlphaErrors {
        self.finish_kept().0
    }

    /// Also returns the individual errors that were kept.
    pub(super) fn finish_kept(mut self) -> (AlphaErrors, Option<LeftOut>) {
        let pending = std::mem::take(&mut self.pending);
        self.add(&pending);
        (self.errors, self.kept)
    }

    fn add(&mut self, block: &Pending) {
        let (inputs, targets) = (self.centre.x_mean.len(), self.centre.y_mean.len());
        let count = block.weights.len();
        if count == 0 {
            return;
        }
        self.errors.rows += count as u64;
        let rows = ArrayView2::from_shape((count, inputs + targets), &block.rows)
            .expect("a block's rows hold inputs and targets");
        let (x, y) = rows.split_at(Axis(1), inputs);
        let missed = self.missed(x, y, &block.weights);
        for (i, &weight) in block.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            for (sum, missed) in self.errors.sums.iter_mut().zip(missed.row(i)) {
                *sum = sum.filter(|_| missed.is_finite()).map(|sum| sum + weight * missed * missed);
            }
            if let Some(kept) = &mut self.kept {
                let missed = missed.row(i);
                kept.push(x.row(i), y.row(i), weight, missed.as_slice().expect("just made"));
            }
        }
    }

    /// The error of every row and target, with the targets of one alpha adjacent. Not finite if
    /// unknown.
    fn missed(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, row_weights: &[f64]) -> Array2<f64> {
        if let Basis::Few { few, missed } = &self.basis {
            let counted = (0..x.nrows()).filter(|&i| row_weights[i] > 0.0);
            let found = counted.map(|i| Some((i, few.position(x.row(i), y.row(i), row_weights[i])?)));
            if let Some(found) = found.collect::<Option<Vec<_>>>() {
                let mut all = Array2::from_elem((x.nrows(), missed.ncols()), f64::INFINITY);
                found.into_iter().for_each(|(i, at)| all.row_mut(i).assign(&missed.row(at)));
                return all;
            }
            // Not found by its bits: another kind of processor may have computed the row, with
            // other last bits. Compute the errors instead.
            match few.path() {
                Ok(path) => self.basis = Basis::of_path(Cow::Borrowed(path), &self.errors.alphas),
                Err(_) => return Array2::from_elem((x.nrows(), missed.ncols()), f64::INFINITY),
            }
        }
        let around = &y - &self.centre.y_mean;
        match &self.basis {
            Basis::Eigenvectors { path, directions, inverses, weights } => self.missed_by_eigenvectors(
                &self.centred(x, |x| x),
                &around,
                row_weights,
                (path, directions, inverses, weights),
            ),
            Basis::Band { band, factors } => {
                let (missed, rough) = self.missed_by_band(x, &around, row_weights, band, factors);
                self.rough = rough;
                missed
            }
            Basis::Few { .. } => unreachable!("replaced above"),
        }
    }

    /// Rows minus the mean, divided by the scales.
    fn centred<T: Clone + Default + Send>(
        &self,
        x: ArrayView2<'_, f64>,
        round: impl Fn(f64) -> T + Sync,
    ) -> Array2<T> {
        let (width, Centre { x_mean, scales, .. }) = (x.ncols(), &self.centre);
        let mut centred = vec![T::default(); x.len()];
        let rows = centred.par_chunks_mut(width.max(1)).enumerate().with_min_len(ABREAST);
        rows.for_each(|(row, centred)| {
            let numbers = centred.iter_mut().zip(x.row(row)).zip(x_mean).zip(scales);
            numbers.for_each(|(((to, x), mean), scale)| *to = round((x - mean) / scale));
        });
        Array2::from_shape_vec(x.dim(), centred).expect("one number for each of the rows'")
    }

    /// The errors in the coordinates of the eigenvectors.
    fn missed_by_eigenvectors(
        &self,
        centred: &Array2<f64>,
        y: &Array2<f64>,
        row_weights: &[f64],
        (path, directions, inverses, weights): (&RidgePath, &Option<Array2<f64>>, &Array2<f64>, &Array2<f64>),
    ) -> Array2<f64> {
        let met = directions.is_some();
        let mut squares =
            linalg::multiply(centred.view(), directions.as_ref().unwrap_or(&path.directions).t());
        let mapped = linalg::multiply(if met { squares.view() } else { centred.view() }, weights.view());
        squares.mapv_inplace(|z| z * z);
        let shares = linalg::multiply(squares.view(), inverses.view());
        let largest = path.values.iter().copied().fold(0.0, f64::max);
        let targets = y.ncols();
        let mut missed = Array2::from_elem((y.nrows(), inverses.ncols() * targets), f64::INFINITY);
        for ((i, column), share) in shares.indexed_iter() {
            let weight = row_weights[i];
            let share = weight * share;
            // With `u` instead of `z`, alpha cancels: both the residual and `1 - h` have it as a
            // factor.
            let free = if met { share } else { 1.0 - weight / self.centre.weight - share };
            let slope = || slope(squares.row(i), inverses.column(column));
            if !met && free < SUSPICIOUS && free <= rounding(weight, slope(), largest) {
                continue;
            }
            for (target, at) in (column * targets..(column + 1) * targets).enumerate() {
                let rest = if met { mapped[(i, at)] } else { y[(i, target)] - mapped[(i, at)] };
                missed[(i, at)] = rest / free;
            }
        }
        missed
    }

    /// The errors of rows, and whether to try single precision again.
    fn missed_by_band(
        &self,
        x: ArrayView2<'_, f64>,
        y: &Array2<f64>,
        row_weights: &[f64],
        band: &Band,
        factors: &[Option<(BandFactor, Array2<f64>)>],
    ) -> (Array2<f64>, bool) {
        if y.ncols() == 0 {
            return (Array2::zeros((x.nrows(), 0)), self.rough);
        }
        let exactly = |x: ArrayView2<'_, f64>, y: &Array2<f64>, weights: &[f64]| {
            let mut centred = self.centred(x, |x| x);
            band.rotate(&mut centred);
            self.missed_in_band(centred.view(), y, weights, band, factors).0
        };
        if !self.rough {
            return (exactly(x, y, row_weights), false);
        }
        // If the other rows determine a row well, single precision is accurate enough.
        let mut rough = self.centred(x, |x| x as f32);
        band.rotate_roughly(&mut rough);
        let (mut missed, least) = self.missed_in_band(rough.view(), y, row_weights, band, factors);
        let poor: Vec<usize> = (0..x.nrows()).filter(|&row| least[row] <= ROUGH).collect();
        if !poor.is_empty() {
            let weights: Vec<f64> = poor.iter().map(|&row| row_weights[row]).collect();
            let found = exactly(x.select(Axis(0), &poor).view(), &y.select(Axis(0), &poor), &weights);
            poor.iter().zip(found.outer_iter()).for_each(|(&row, found)| missed.row_mut(row).assign(&found));
        }
        (missed, poor.len() <= x.nrows() / MOST_POOR)
    }

    /// The errors of rotated rows, and the smallest `1 - h` of each.
    fn missed_in_band<T: Copy + Into<f64> + Sync>(
        &self,
        rotated: ArrayView2<'_, T>,
        y: &Array2<f64>,
        row_weights: &[f64],
        band: &Band,
        factors: &[Option<(BandFactor, Array2<f64>)>],
    ) -> (Array2<f64>, Vec<f64>) {
        let (largest, targets) = (band.norm(), y.ncols());
        let width = factors.len() * targets;
        let mut missed = Array2::from_elem((rotated.nrows(), width), f64::INFINITY);
        let results = missed.as_slice_mut().expect("just made").par_chunks_mut((ABREAST * width).max(1));
        let groups: Vec<_> = rotated.axis_chunks_iter(Axis(0), ABREAST).collect();
        let group = |(group, (rows, missed)): (usize, (ArrayView2<'_, T>, &mut [f64]))| {
            let mut least = vec![f64::INFINITY; rows.nrows()];
            let z = linalg::abreast(rows);
            let mut u = vec![0.0; z.len()];
            for (column, factor) in factors.iter().enumerate() {
                let Some((factor, aligned)) = factor else { continue };
                let shares = factor.banded().solve(&z, &mut u);
                let mapped = linalg::multiply_abreast(aligned.view(), &u);
                for (row, missed) in missed.chunks_exact_mut(width).enumerate() {
                    let i = group * ABREAST + row;
                    let weight = row_weights[i];
                    let free = 1.0 - weight / self.centre.weight - weight * shares[row];
                    // Overflow in single precision gives NaN.
                    least[row] = if free.is_nan() { f64::NEG_INFINITY } else { least[row].min(free) };
                    // `|(L + alpha)⁻¹ z|²` from `u = C⁻¹ z`, one back substitution for the few
                    // suspicious rows.
                    let slope = || {
                        let mut own: Vec<f64> = u.iter().skip(row).step_by(ABREAST).copied().collect();
                        factor.backward(&mut own);
                        own.iter().map(|x| x * x).sum()
                    };
                    if free < SUSPICIOUS && free <= rounding(weight, slope(), largest) {
                        continue;
                    }
                    for (target, missed) in missed[column * targets..][..targets].iter_mut().enumerate() {
                        *missed = (y[(i, target)] - mapped[(target, row)]) / free;
                    }
                }
            }
            least
        };
        let leasts: Vec<Vec<f64>> = groups.into_par_iter().zip(results).enumerate().map(group).collect();
        (missed, leasts.concat())
    }
}

impl LeaveOneOut<'static> {
    /// For the rows behind these moments; `standardize` is that of [`RidgePath::new`].
    pub fn of_moments(moments: &Moments, alphas: &[f64], standardize: bool) -> Result<Self> {
        let errors = AlphaErrors::new(alphas, moments.num_targets())?;
        let equations = Equations::new(moments, standardize)?;
        let smallest = alphas.iter().copied().fold(f64::INFINITY, f64::min);
        let trace = equations.xx.diag().sum();
        // With a tiny alpha, rounding errors would dominate the factor of the band, so use
        // eigenvectors.
        if !(trace.is_finite() && smallest > SAFE * trace) {
            return Self::of_path(Cow::Owned(RidgePath::from_equations(equations)?), alphas);
        }
        let Equations { centre, xx, xy } = equations;
        let band = Band::of(xx);
        let basis = Basis::Band { factors: band.factorise_for(xy.view(), alphas), band };
        Ok(Self::without_rows(centre, basis, errors))
    }
}

fn slope(squares: ArrayView1<'_, f64>, inverse: ArrayView1<'_, f64>) -> f64 {
    squares.iter().zip(inverse).map(|(square, inverse)| square * inverse * inverse).sum()
}

/// The rounding error of a row's leverage: to first order, its change if the scatter changes in the
/// last place of its largest eigenvalue. `slope` is `|(L + alpha)⁻¹ z|²`.
fn rounding(weight: f64, slope: f64, largest: f64) -> f64 {
    8.0 * f64::EPSILON * (1.0 + weight * slope * largest)
}

/// Summed leave-one-out errors for several alphas. Sums of different rows can be
/// [merged](Self::merge).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written")]
pub struct AlphaErrors {
    alphas: Vec<f64>,
    /// The sums for every target with the first alpha, then with the second, and so on. `None` once
    /// the error of a row is unknown.
    pub(super) sums: Vec<Option<f64>>,
    pub(super) rows: u64,
}

/// Errors as deserialised, before their lengths are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    alphas: Vec<f64>,
    sums: Vec<Option<f64>>,
    rows: u64,
}

impl TryFrom<Written> for AlphaErrors {
    type Error = Error;

    fn try_from(Written { alphas, sums, rows }: Written) -> Result<Self> {
        let targets = sums.len() / alphas.len().max(1);
        same_length("sums of errors", alphas.len() * targets, sums.len())?;
        Ok(Self { sums, rows, ..Self::new(&alphas, targets)? })
    }
}

impl AlphaErrors {
    /// Starts without rows. The alphas must be above 0.
    pub(super) fn new(alphas: &[f64], targets: usize) -> Result<Self> {
        same_length("alphas", alphas.len().max(1), alphas.len())?;
        alphas.iter().try_for_each(|&alpha| check_alpha(alpha, false))?;
        Ok(Self { alphas: alphas.to_vec(), sums: vec![Some(0.0); alphas.len() * targets], rows: 0 })
    }

    /// Adds the errors of other rows, for the same alphas.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        if self.alphas != other.alphas || self.sums.len() != other.sums.len() {
            return Err(Error::BadOption {
                name: "alphas",
                expected: format!("{:?}, as in the errors before", self.alphas),
                found: format!("{:?}", other.alphas),
            });
        }
        self.rows = self.rows.saturating_add(other.rows);
        for (mine, theirs) in self.sums.iter_mut().zip(&other.sums) {
            *mine = mine.zip(*theirs).map(|(mine, theirs)| mine + theirs);
        }
        Ok(())
    }

    /// The mean weighted squared error over rows and targets, for every alpha; infinite if unknown.
    pub fn means(&self) -> Vec<f64> {
        let targets = self.sums.len() / self.alphas.len();
        self.means_of(0..targets)
    }

    /// The same for some of the targets.
    pub(super) fn means_of(&self, targets: Range<usize>) -> Vec<f64> {
        let all = self.sums.len() / self.alphas.len();
        let terms = self.rows.max(1) as f64 * targets.len().max(1) as f64;
        let mean = |sums: &[Option<f64>]| {
            sums[targets.clone()]
                .iter()
                .copied()
                .sum::<Option<f64>>()
                .map_or(f64::INFINITY, |sum| sum / terms)
        };
        if all == 0 { vec![0.0; self.alphas.len()] } else { self.sums.chunks_exact(all).map(mean).collect() }
    }

    /// The alpha with the smallest error; of equal ones, the largest. If no error is known, the
    /// largest alpha, which gives the smallest coefficients.
    pub fn best(&self) -> f64 {
        self.alphas[smallest(&self.alphas, &self.means())]
    }

    /// The position of the best alpha for some of the targets.
    pub(super) fn best_of(&self, targets: Range<usize>) -> usize {
        smallest(&self.alphas, &self.means_of(targets))
    }
}

/// The position of the smallest loss; of equal ones, that of the largest alpha.
pub(super) fn smallest<L: PartialOrd>(alphas: &[f64], losses: &[L]) -> usize {
    let better =
        |a: usize, b: usize| losses[a] < losses[b] || (losses[a] == losses[b] && alphas[a] > alphas[b]);
    (0..alphas.len()).reduce(|best, next| if better(next, best) { next } else { best }).unwrap_or(0)
}
