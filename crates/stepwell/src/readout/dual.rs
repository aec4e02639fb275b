//! Ridge regression on inner products of rows.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use rayon::prelude::*;

use super::leave_one_out::AlphaErrors;
use super::rows;
use crate::config::check_alpha;
use crate::error::{Error, Result, no_rows, same_length};
use crate::kernel::ABREAST;
use crate::linalg::{self, Band};
use crate::memory;

/// The minimum of `Σ |y - x W - b|² + alpha |W|²` for rows `x` with more columns than there are
/// rows: `W = Xᵀ C` with `(X Xᵀ + alpha) C + 1 b = Y` and `1ᵀ C = 0`. Any positive semidefinite
/// kernel can replace `X Xᵀ`.
///
/// ```
/// use ndarray::array;
/// use stepwell::readout::DualRidge;
/// let x = array![[0.0], [1.0], [2.0], [3.0]];
/// let ridge = DualRidge::new(x.dot(&x.t()), 2.0 * &x + 1.0)?;
/// let found = ridge.solve(1e-9)?;
/// let at_ten = array![[10.0]].dot(&x.t()).dot(&found.weights) + &found.intercept;
/// assert!((at_ten[(0, 0)] - 21.0).abs() < 1e-6);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DualRidge {
    products: Array2<f64>,
    y: Array2<f64>,
}

/// The coefficients of the inner products with the training rows.
#[derive(Clone, Debug, PartialEq)]
pub struct DualCoefficients {
    /// `C`, rows x targets.
    pub weights: Array2<f64>,
    /// `b`, one per target.
    pub intercept: Array1<f64>,
}

impl DualRidge {
    /// Takes the matrix of inner products of all pairs of rows, and the targets.
    pub fn new(products: Array2<f64>, y: Array2<f64>) -> Result<Self> {
        same_length("columns of inner products", products.nrows(), products.ncols())?;
        same_length("rows of targets", products.nrows(), y.nrows())?;
        if y.nrows() == 0 {
            return Err(no_rows("training rows"));
        }
        rows::finite("inner product", products.view())?;
        rows::finite("target", y.view())?;
        Ok(Self { products, y })
    }

    /// The coefficients for one alpha, which must be above 0.
    pub fn solve(&self, alpha: f64) -> Result<DualCoefficients> {
        check_alpha(alpha, false)?;
        let mut right = Array2::ones((self.y.nrows(), self.y.ncols() + 1));
        right.slice_mut(ndarray::s![.., 1..]).assign(&self.y);
        Ok(self.coefficients(self.divided(alpha, right)?))
    }

    /// The leave-one-out errors of all rows, for every alpha.
    pub fn leave_one_out(&self, alphas: &[f64]) -> Result<AlphaErrors> {
        let (count, targets) = self.y.dim();
        let mut errors = AlphaErrors::new(alphas, targets)?;
        memory::ask_array("the regression", &[count, 4 * count], size_of::<f64>())?;
        let mut products = self.products.clone();
        let means = self.products.sum_axis(Axis(0)) / count as f64;
        products -= &means;
        products -= &means.view().insert_axis(Axis(1));
        products += means.sum() / count as f64;
        let direction = Array1::from_elem(count, 1.0 / (count as f64).sqrt());
        let y = &self.y - &(self.y.sum_axis(Axis(0)) / count as f64);
        let missed = missed(&Constrained::new(products, direction), y.view(), alphas);
        errors.rows = count as u64;
        for (sum, missed) in errors.sums.iter_mut().zip(missed.columns()) {
            *sum = Some(missed.iter().map(|x| x * x).sum::<f64>()).filter(|sum| sum.is_finite());
        }
        Ok(errors)
    }

    /// `(X Xᵀ + alpha)⁻¹ B`.
    fn divided(&self, alpha: f64, right: Array2<f64>) -> Result<Array2<f64>> {
        let (rows, columns) = right.dim();
        memory::ask_array("the regression", &[rows, rows + 2 * columns], size_of::<f64>())?;
        let mut matrix = self.products.clone();
        matrix.diag_mut().map_inplace(|entry| *entry += alpha);
        let size = matrix.nrows();
        linalg::solve_positive(matrix, right.view())
            .ok_or(Error::NoDecomposition { what: "ridge regression", size })
    }

    /// The coefficients, given `M⁻¹ 1` in the first column and `M⁻¹ Y` in the others.
    fn coefficients(&self, divided: Array2<f64>) -> DualCoefficients {
        let (ones, rest) = divided.view().split_at(Axis(1), 1);
        let intercept = rest.sum_axis(Axis(0)) / ones.sum();
        let weights = &rest - &ones * &intercept;
        DualCoefficients { weights, intercept }
    }
}

/// Inner products `K` of centred rows. Centring makes `K` singular: it vanishes in one direction
/// `u`, which only the intercept determines. `M = K + s uuᵀ` fills that direction with the mean
/// diagonal entry `s`, so that `M` is well conditioned there.
#[derive(Clone, Debug)]
pub(super) struct Constrained {
    /// The lower triangle of `M`.
    products: Array2<f64>,
    direction: Array1<f64>,
    /// `s`
    there: f64,
    trace: f64,
}

impl Constrained {
    /// Takes the lower triangle of `K`, and the unit vector `u`.
    pub fn new(mut products: Array2<f64>, direction: Array1<f64>) -> Self {
        let trace = products.diag().sum();
        let there = trace / products.nrows().max(1) as f64;
        for (i, mut row) in products.rows_mut().into_iter().enumerate() {
            row.iter_mut().zip(&direction).take(i + 1).for_each(|(x, u)| *x += there * direction[i] * u);
        }
        Self { products, direction, there, trace }
    }

    /// The trace of `K`.
    pub fn trace(&self) -> f64 {
        self.trace
    }

    /// `(K + alpha)⁻¹ B` for centred columns; `None` if the matrix is not positive definite.
    pub fn solve(&self, alpha: f64, right: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        let mut matrix = self.products.clone();
        matrix.diag_mut().map_inplace(|entry| *entry += alpha);
        linalg::solve_positive(matrix, right)
    }
}

/// The leave-one-out errors: one row per row, with one column per alpha and target, ordered by
/// alpha. Infinite where the error is unknown. `y` holds centred targets times the square roots of
/// the rows' weights; the errors have the same factor.
///
/// With `P = (M + alpha)⁻¹`, the error of row i is `(P y)ᵢ / (Pᵢᵢ - uᵢ²/(s + alpha))`. Neither term
/// is a small difference of large numbers, however small alpha is.
pub(super) fn missed(products: &Constrained, y: ArrayView2<'_, f64>, alphas: &[f64]) -> Array2<f64> {
    let (count, targets) = y.dim();
    let width = alphas.len() * targets;
    let mut missed = Array2::from_elem((count, width), f64::INFINITY);
    let band = Band::of(products.products.clone());
    let factors = band.factorise_for(y, alphas);
    // The rows of Q.
    let mut rotated = Array2::eye(count);
    band.rotate(&mut rotated);
    let results = missed.as_slice_mut().expect("just made").par_chunks_mut((ABREAST * width).max(1));
    let groups: Vec<_> = rotated.axis_chunks_iter(Axis(0), ABREAST).collect();
    groups.into_par_iter().zip(results).enumerate().for_each(|(group, (rows, missed))| {
        let z = linalg::abreast(rows);
        let mut u = vec![0.0; z.len()];
        for (column, factor) in factors.iter().enumerate() {
            let Some((factor, aligned)) = factor else { continue };
            let shares = factor.banded().solve(&z, &mut u);
            let mapped = linalg::multiply_abreast(aligned.view(), &u);
            for (row, missed) in missed.chunks_exact_mut(width).enumerate() {
                let along = products.direction[group * ABREAST + row];
                let free = shares[row] - along * along / (products.there + alphas[column]);
                // A row that alone determines the intercept has no known error.
                if free > ALONE * shares[row] {
                    for (target, missed) in missed[column * targets..][..targets].iter_mut().enumerate() {
                        *missed = mapped[(target, row)] / free;
                    }
                }
            }
        }
    });
    missed
}

/// Below this fraction of its diagonal entry, the rest of a row is rounding error.
const ALONE: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readout::{LeaveOneOut, Moments, RidgePath};
    use crate::rng::Stream;

    #[test]
    fn both_forms_say_the_same_and_leave_one_out_alike() {
        let mut stream = Stream::new(3, "dual", [0, 0]);
        for (n, d) in [(30, 7), (12, 40)] {
            let x = Array2::from_shape_simple_fn((n, d), || stream.normal() + 1.0);
            let y = Array2::from_shape_simple_fn((n, 2), || stream.normal() - 2.0);
            let new = Array2::from_shape_simple_fn((5, d), || stream.normal());
            let mut moments = Moments::new(d, 2).unwrap();
            moments.observe(x.view(), y.view(), None).unwrap();
            let path = RidgePath::new(&moments, false).unwrap();
            let dual = DualRidge::new(x.dot(&x.t()), y.clone()).unwrap();
            let alphas = [0.1, 1.0, 30.0];
            let mut errors = LeaveOneOut::new(&path, &alphas).unwrap();
            errors.observe(x.view(), y.view(), None).unwrap();
            let (expected, found) = (errors.finish().means(), dual.leave_one_out(&alphas).unwrap().means());
            for (expected, found) in expected.iter().zip(&found) {
                assert!((expected - found).abs() < 1e-9 * expected, "{expected} {found}");
            }
            for alpha in alphas {
                let (primal, dual) = (path.solve(alpha).unwrap(), dual.solve(alpha).unwrap());
                let expected = new.dot(&primal.weights) + &primal.intercept;
                let found = new.dot(&x.t()).dot(&dual.weights) + &dual.intercept;
                assert!((expected - found).iter().all(|x| x.abs() < 1e-9));
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let refused = |products, y| DualRidge::new(products, y).unwrap_err().to_string();
        let square = Array2::<f64>::eye(2);
        assert!(refused(Array2::zeros((2, 3)), Array2::zeros((2, 1))).contains("columns of inner products"));
        assert!(refused(square.clone(), Array2::zeros((3, 1))).contains("rows of targets"));
        assert!(
            refused(Array2::zeros((0, 0)), Array2::zeros((0, 1)))
                .contains("training rows: expected at least one")
        );
        assert!(refused(square.clone() / 0.0, Array2::zeros((2, 1))).contains("inner product"));
        let indefinite = DualRidge::new(-square, Array2::zeros((2, 1))).unwrap();
        assert!(indefinite.solve(0.5).is_err());
        assert!(indefinite.solve(0.0).is_err());
    }
}
