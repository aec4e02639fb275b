//! Ridge regression for all strengths of the penalty at once.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::moments::{Moments, Scatter, deviations};
use super::rows;
use crate::error::{Error, Result};
use crate::linalg::{self, spectrum};

/// A linear map with an intercept, `y = x W + b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// `W`, inputs x targets.
    pub weights: Array2<f64>,
    /// `b`, one per target.
    pub intercept: Array1<f64>,
}

/// The minimum of `Σ w |y - x W - b|² + alpha |W|²` for every `alpha`.
///
/// With the scatter of the inputs decomposed once, `Sxx = Q L Qᵀ`, the answer
/// is `W = Q (L + alpha)⁻¹ Qᵀ Sxy` and costs a product for each alpha. The
/// intercept is not penalised.
#[derive(Clone, Debug, PartialEq)]
pub struct RidgePath {
    pub(super) weight: f64,
    pub(super) x_mean: Array1<f64>,
    pub(super) y_mean: Array1<f64>,
    /// L, not negative.
    pub(super) values: Array1<f64>,
    /// Columns of Q, as rows; those of standardised inputs divided by the deviations.
    pub(super) directions: Array2<f64>,
    /// `Qᵀ Sxy`.
    pub(super) alignment: Array2<f64>,
    /// Below it an eigenvalue cannot be told from 0.
    negligible: f64,
}

impl RidgePath {
    /// The path for the rows behind these moments. With `standardize` the
    /// penalty is that for inputs divided by their standard deviations; the
    /// coefficients are for the inputs as they are in any case.
    pub fn new(moments: &Moments, standardize: bool) -> Result<Self> {
        let Scatter { rows, weight, x_mean, y_mean, mut xx, mut xy, .. } = weighty(moments.scatter())?;
        let scales = standardize.then(|| deviations(xx.diag().iter().copied(), &x_mean, weight, rows as f64));
        if let Some(scales) = &scales {
            xx /= scales;
            xx /= &scales.view().insert_axis(Axis(1));
            xy /= &scales.view().insert_axis(Axis(1));
        }
        let spectrum = spectrum::symmetric(xx.view())?;
        // The sums behind the scatter are rounded in the last place of its largest entries.
        let precision = f64::EPSILON * xx.nrows() as f64;
        Ok(Self::assemble(weight, x_mean, y_mean, spectrum, &xy, scales, precision))
    }

    /// The path for rows at hand. Fewer rows than columns are decomposed
    /// themselves, which is faster than their scatter and keeps more digits.
    pub fn from_rows(
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
        standardize: bool,
    ) -> Result<Self> {
        let (inputs, targets) = (x.ncols(), y.ncols());
        rows::check(x, y, weights, (inputs, targets))?;
        let weight_of = |row: usize| weights.and_then(|weights| weights.get(row)).copied().unwrap_or(1.0);
        let chosen: Vec<usize> = (0..x.nrows()).filter(|&row| weight_of(row) > 0.0).collect();
        if chosen.is_empty() || chosen.len() >= inputs {
            let mut moments = Moments::new(inputs, targets)?;
            moments.observe(x, y, weights)?;
            return Self::new(&moments, standardize);
        }
        let chosen_weights: Array1<f64> = chosen.iter().map(|&row| weight_of(row)).collect();
        let weight = chosen_weights.sum();
        let centred = |matrix: ArrayView2<'_, f64>| {
            let mut matrix = matrix.select(Axis(0), &chosen);
            let mean = chosen_weights.dot(&matrix) / weight;
            matrix -= &mean;
            matrix *= &chosen_weights.mapv(f64::sqrt).insert_axis(Axis(1));
            (matrix, mean)
        };
        let ((mut x, x_mean), (y, y_mean)) = (centred(x), centred(y));
        let scales = standardize.then(|| {
            let squares = x.columns().into_iter().map(|column| column.dot(&column));
            deviations(squares, &x_mean, weight, chosen.len() as f64)
        });
        if let Some(scales) = &scales {
            x /= scales;
        }
        let spectrum = spectrum::of_few_rows(x.view())?;
        let xy = linalg::multiply(x.t(), y.view());
        // Singular values are good to the last place of the largest; these are their squares.
        let precision = (f64::EPSILON * inputs as f64).powi(2);
        Ok(Self::assemble(weight, x_mean, y_mean, spectrum, &xy, scales, precision))
    }

    fn assemble(
        weight: f64,
        x_mean: Array1<f64>,
        y_mean: Array1<f64>,
        spectrum: spectrum::Spectrum,
        xy: &Array2<f64>,
        scales: Option<Array1<f64>>,
        precision: f64,
    ) -> Self {
        let spectrum::Spectrum { values, vectors: mut directions } = spectrum;
        let alignment = linalg::multiply(directions.view(), xy.view());
        if let Some(scales) = scales {
            directions /= &scales;
        }
        let values = values.mapv(|value| value.max(0.0));
        let negligible = precision * values.iter().copied().fold(0.0, f64::max);
        Self { weight, x_mean, y_mean, values, directions, alignment, negligible }
    }

    /// Columns of the inputs.
    pub fn num_inputs(&self) -> usize {
        self.x_mean.len()
    }

    /// Columns of the targets.
    pub fn num_targets(&self) -> usize {
        self.y_mean.len()
    }

    /// The coefficients for one strength of the penalty, which is not negative.
    ///
    /// Without a penalty, several solutions are equally good when inputs are
    /// collinear. The shortest is returned: directions in which the inputs do
    /// not vary beyond rounding get no weight.
    pub fn solve(&self, alpha: f64) -> Result<Coefficients> {
        check_alpha(alpha, true)?;
        let inverse = self.inverse(alpha).insert_axis(Axis(1));
        let weights = linalg::multiply(self.directions.t(), (&self.alignment * &inverse).view());
        let intercept = &self.y_mean - &self.x_mean.dot(&weights);
        match weights.iter().chain(&intercept).all(|x| x.is_finite()) {
            true => Ok(Coefficients { weights, intercept }),
            false => Err(Error::NoDecomposition { what: "ridge regression", size: self.num_inputs() }),
        }
    }

    /// The diagonal of `(L + alpha)⁻¹`; where that says nothing, 0.
    pub(super) fn inverse(&self, alpha: f64) -> Array1<f64> {
        self.values.mapv(|value| match value > self.negligible || alpha > 0.0 {
            true => 1.0 / (value + alpha),
            false => 0.0,
        })
    }
}

/// Refuses penalties that are negative or not finite, and 0 unless that is allowed.
pub(super) fn check_alpha(alpha: f64, zero_allowed: bool) -> Result<()> {
    let (good, expected) = match zero_allowed {
        true => (alpha >= 0.0, "a finite number that is not negative"),
        false => (alpha > 0.0, "a finite number above 0, since it is compared by leave-one-out"),
    };
    match good && alpha.is_finite() {
        true => Ok(()),
        false => {
            Err(Error::BadOption { name: "alpha", expected: expected.to_string(), found: alpha.to_string() })
        }
    }
}

/// Without any weight there is nothing to fit.
fn weighty(scatter: Scatter) -> Result<Scatter> {
    match scatter.weight > 0.0 {
        true => Ok(scatter),
        false => Err(Error::Length { what: "rows with a positive weight", expected: 1, found: 0 }),
    }
}
