//! Ridge regression for all penalties at once.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::moments::{Moments, Scatter, deviations};
use super::rows;
use crate::config::check_alpha;
use crate::error::{Error, Result, no_rows};
use crate::linalg;
use crate::linalg::spectrum::{self, Singular, Spectrum};

/// A linear map with an intercept, `y = x W + b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Coefficients {
    /// `W`, inputs x targets.
    pub weights: Array2<f64>,
    /// `b`, one per target.
    pub intercept: Array1<f64>,
}

impl Coefficients {
    /// The coefficients for a single alpha: those of [`RidgePath::solve`], some twenty times
    /// faster, because the equations `(Sxx + alpha) W = Sxy` are solved once instead of being
    /// decomposed for all alphas.
    pub fn of_moments(moments: &Moments, alpha: f64, standardize: bool) -> Result<Self> {
        check_alpha(alpha, true)?;
        let mut equations = Equations::new(moments, standardize)?;
        // With a negligible penalty, nearly collinear columns need the more careful solution of the
        // path.
        if alpha <= NEARLY_SINGULAR * equations.xx.diag().sum() {
            return RidgePath::from_equations(equations)?.solve(alpha);
        }
        equations.xx.diag_mut().map_inplace(|entry| *entry += alpha);
        let Equations { centre, xx, xy } = equations;
        match linalg::solve_positive(xx, xy.view()) {
            Some(weights) => centre.coefficients(weights),
            None => RidgePath::new(moments, standardize)?.solve(alpha),
        }
    }
}

/// The weight and the means of rows, and the divisors of their inputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Centre {
    /// The sum of the rows' weights.
    pub weight: f64,
    pub x_mean: Array1<f64>,
    pub y_mean: Array1<f64>,
    /// 1, or the standard deviations of the inputs.
    pub scales: Array1<f64>,
}

impl Centre {
    /// Converts weights for inputs divided by their scales.
    pub fn coefficients(&self, weights: Array2<f64>) -> Result<Coefficients> {
        let weights = weights / self.scales.view().insert_axis(Axis(1));
        let intercept = &self.y_mean - &self.x_mean.dot(&weights);
        if weights.iter().chain(&intercept).all(|x| x.is_finite()) {
            Ok(Coefficients { weights, intercept })
        } else {
            Err(Error::NoDecomposition { what: "ridge regression", size: self.scales.len() })
        }
    }
}

/// A penalty below this fraction of the trace of `Sxx` leaves the equations nearly singular.
const NEARLY_SINGULAR: f64 = 1e-12;

/// The equations `(Sxx + alpha) W = Sxy` for inputs divided by their scales.
pub(super) struct Equations {
    pub centre: Centre,
    pub xx: Array2<f64>,
    pub xy: Array2<f64>,
}

impl Equations {
    pub fn new(moments: &Moments, standardize: bool) -> Result<Self> {
        let scatter = moments.scatter();
        if scatter.weight.is_nan() || scatter.weight <= 0.0 {
            return Err(no_rows("rows with a positive weight"));
        }
        let scales = if standardize { scatter.deviations() } else { Array1::ones(scatter.x_mean.len()) };
        let Scatter { weight, x_mean, y_mean, mut xx, mut xy, .. } = scatter;
        if standardize {
            let by_row = scales.view().insert_axis(Axis(1));
            xx /= &scales;
            xx /= &by_row;
            xy /= &by_row;
        }
        Ok(Self { centre: Centre { weight, x_mean, y_mean, scales }, xx, xy })
    }
}

/// The rows with a positive weight as they enter the equations: minus the mean, inputs divided by
/// their scales, inputs and targets multiplied by the square roots of the rows' weights.
#[derive(Clone, Debug)]
pub(super) struct Centred {
    /// The positions of the rows with a positive weight.
    pub chosen: Vec<usize>,
    /// Their weights.
    pub weights: Array1<f64>,
    pub centre: Centre,
    pub x: Array2<f64>,
    pub y: Array2<f64>,
}

impl Centred {
    /// Returns `None` if no row has a positive weight.
    pub fn new(
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
        standardize: bool,
    ) -> Option<Self> {
        let weight_of = |row: usize| weights.and_then(|weights| weights.get(row)).copied().unwrap_or(1.0);
        let chosen: Vec<usize> = (0..x.nrows()).filter(|&row| weight_of(row) > 0.0).collect();
        if chosen.is_empty() {
            return None;
        }
        let weights: Array1<f64> = chosen.iter().map(|&row| weight_of(row)).collect();
        let weight = weights.sum();
        let roots = weights.mapv(f64::sqrt).insert_axis(Axis(1));
        let centred = |matrix: ArrayView2<'_, f64>| {
            let mut matrix = matrix.select(Axis(0), &chosen);
            let mean = weights.dot(&matrix) / weight;
            matrix -= &mean;
            matrix *= &roots;
            (matrix, mean)
        };
        let ((mut x, x_mean), (y, y_mean)) = (centred(x), centred(y));
        let scales = if standardize {
            let squares = x.columns().into_iter().map(|column| column.dot(&column));
            deviations(squares, &x_mean, weight, chosen.len() as f64, 1.0)
        } else {
            Array1::ones(x.ncols())
        };
        x /= &scales;
        Some(Self { chosen, weights, centre: Centre { weight, x_mean, y_mean, scales }, x, y })
    }
}

/// The minimum of `Σ w |y - x W - b|² + alpha |W|²` for every `alpha`.
///
/// Decomposes the scatter of the inputs once, `Sxx = Q L Qᵀ`. The solution is
/// `W = Q (L + alpha)⁻¹ Qᵀ Sxy` and costs one product per alpha. The intercept is not penalised.
#[derive(Clone, Debug, PartialEq)]
pub struct RidgePath {
    pub(super) centre: Centre,
    /// The eigenvalues L, not negative.
    pub(super) values: Array1<f64>,
    /// The columns of Q, as rows.
    pub(super) directions: Array2<f64>,
    /// `Qᵀ Sxy`.
    pub(super) alignment: Array2<f64>,
    /// `Sxx` and `Sxy`, if the path was made from them.
    equations: Option<(Array2<f64>, Array2<f64>)>,
    /// Eigenvalues below this are indistinguishable from 0.
    negligible: f64,
    /// The number of leading eigenvalues that span the centred rows, if the rows are few and
    /// independent. Without a penalty every row is then fitted exactly.
    pub(super) span: Option<usize>,
}

impl RidgePath {
    /// The path for the rows behind these moments. With `standardize`, the penalty applies to
    /// inputs divided by their standard deviations. The coefficients always apply to the inputs as
    /// they are.
    pub fn new(moments: &Moments, standardize: bool) -> Result<Self> {
        Self::from_equations(Equations::new(moments, standardize)?)
    }

    pub(super) fn from_equations(equations: Equations) -> Result<Self> {
        let Equations { centre, xx, xy } = equations;
        let Spectrum { values, vectors: directions } = spectrum::symmetric(xx.view())?;
        let values = values.mapv(|value| value.max(0.0));
        // The sums behind the scatter have rounding errors in the last place of its largest
        // entries.
        let negligible = f64::EPSILON * xx.nrows() as f64 * largest(&values);
        let alignment = linalg::multiply(directions.view(), xy.view());
        let (equations, span) = (Some((xx, xy)), None);
        Ok(Self { centre, values, directions, alignment, equations, negligible, span })
    }

    /// The path for rows in memory. If there are fewer rows than columns, the rows themselves are
    /// decomposed: this keeps more digits than their scatter and, if they are far fewer, is faster.
    pub fn from_rows(
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<&[f64]>,
        standardize: bool,
    ) -> Result<Self> {
        let (inputs, targets) = (x.ncols(), y.ncols());
        rows::check(x, y, weights, (inputs, targets))?;
        match Centred::new(x, y, weights, standardize) {
            Some(rows) if rows.chosen.len() < inputs => Self::of_centred(&rows),
            _ => {
                let mut moments = Moments::new(inputs, targets)?;
                moments.observe(x, y, weights)?;
                Self::new(&moments, standardize)
            }
        }
    }

    /// The path for fewer rows than columns.
    pub(super) fn of_centred(rows: &Centred) -> Result<Self> {
        let inputs = rows.x.ncols();
        let Singular { values, left, right: directions } = spectrum::of_few_rows(rows.x.view())?;
        let alignment = linalg::multiply(left.t(), rows.y.view()) * values.view().insert_axis(Axis(1));
        let negligible = (f64::EPSILON * inputs as f64 * largest(&values)).powi(2);
        // Centring removes one dimension. Values are sorted, and vectors of values this far above
        // rounding are accurate to ten digits.
        let independent = values.iter().take_while(|value| **value > 1e-6 * largest(&values)).count();
        let span = (independent + 1 == rows.chosen.len()).then_some(independent);
        let (centre, values) = (rows.centre.clone(), values.mapv(|value| value * value));
        Ok(Self { centre, values, directions, alignment, equations: None, negligible, span })
    }

    /// Columns of the inputs.
    pub fn num_inputs(&self) -> usize {
        self.centre.x_mean.len()
    }

    /// Columns of the targets.
    pub fn num_targets(&self) -> usize {
        self.centre.y_mean.len()
    }

    /// The coefficients for one alpha, which must not be negative.
    ///
    /// Without a penalty and with collinear inputs, several solutions are equally good. This
    /// returns the shortest: directions in which the inputs do not vary beyond rounding get no
    /// weight.
    pub fn solve(&self, alpha: f64) -> Result<Coefficients> {
        check_alpha(alpha, true)?;
        self.centre.coefficients(self.scaled_weights(alpha))
    }

    /// `W` for inputs divided by their scales.
    pub(super) fn scaled_weights(&self, alpha: f64) -> Array2<f64> {
        let inverse = self.inverse(alpha).insert_axis(Axis(1));
        let apply =
            |aligned: &Array2<f64>| linalg::multiply(self.directions.t(), (aligned * &inverse).view());
        let weights = apply(&self.alignment);
        let Some((xx, xy)) = &self.equations else { return weights };
        // The decomposition is accurate to the last place of the largest columns. One step of
        // iterative refinement with the equations themselves makes small columns accurate, too.
        let left = xy - linalg::multiply(xx.view(), weights.view()) - alpha * &weights;
        let correction = apply(&linalg::multiply(self.directions.view(), left.view()));
        weights + correction
    }

    /// The diagonal of `(L + alpha)⁻¹`; 0 for negligible eigenvalues if alpha is 0.
    pub(super) fn inverse(&self, alpha: f64) -> Array1<f64> {
        self.values.mapv(
            |value| {
                if value > self.negligible || alpha > 0.0 { 1.0 / (value + alpha) } else { 0.0 }
            },
        )
    }
}

fn largest(values: &Array1<f64>) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
