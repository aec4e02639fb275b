//! Ridge regression on rows that are known by their inner products alone.

use ndarray::{Array1, Array2, Axis};

use super::leave_one_out::AlphaErrors;
use super::rows;
use crate::config::check_alpha;
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::memory;

/// The minimum of `Σ |y - x W - b|² + alpha |W|²` where rows `x` are fewer than
/// their columns: `W = Xᵀ C` with `(X Xᵀ + alpha) C + 1 b = Y` and `1ᵀ C = 0`.
/// Any positive semidefinite kernel does for `X Xᵀ`.
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

/// A readout of inner products with the rows that were learnt from.
#[derive(Clone, Debug, PartialEq)]
pub struct DualCoefficients {
    /// `C`, rows x targets.
    pub weights: Array2<f64>,
    /// `b`, one per target.
    pub intercept: Array1<f64>,
}

impl DualRidge {
    /// Takes each row times each row, and the targets.
    pub fn new(products: Array2<f64>, y: Array2<f64>) -> Result<Self> {
        same_length("columns of inner products", products.nrows(), products.ncols())?;
        same_length("rows of targets", products.nrows(), y.nrows())?;
        same_length("rows to learn from", y.nrows().max(1), y.nrows())?;
        rows::finite("inner product", products.view())?;
        rows::finite("target", y.view())?;
        Ok(Self { products, y })
    }

    /// The coefficients for one strength of the penalty, above 0.
    pub fn solve(&self, alpha: f64) -> Result<DualCoefficients> {
        check_alpha(alpha, false)?;
        let mut right = Array2::ones((self.y.nrows(), self.y.ncols() + 1));
        right.slice_mut(ndarray::s![.., 1..]).assign(&self.y);
        Ok(self.coefficients(self.divided(alpha, right)?))
    }

    /// The errors of each row predicted from all the others, for every alpha.
    ///
    /// With `P = M⁻¹ - M⁻¹ 1 1ᵀ M⁻¹ / (1ᵀ M⁻¹ 1)`, where `M = X Xᵀ + alpha`,
    /// that of row i is `C_i / P_ii`.
    pub fn leave_one_out(&self, alphas: &[f64]) -> Result<AlphaErrors> {
        let mut errors = AlphaErrors::new(alphas, self.y.ncols())?;
        errors.rows = self.y.nrows() as u64;
        for (&alpha, sums) in alphas.iter().zip(errors.sums.chunks_exact_mut(self.y.ncols())) {
            let inverse = self.divided(alpha, Array2::eye(self.y.nrows()))?;
            let ones = inverse.sum_axis(Axis(1));
            let whole = ones.sum();
            let divided = linalg::multiply(inverse.view(), self.y.view());
            let found = self.coefficients(ndarray::concatenate![
                Axis(1),
                ones.view().insert_axis(Axis(1)),
                divided.view()
            ]);
            let free: Array1<f64> =
                inverse.diag().iter().zip(&ones).map(|(own, one)| own - one * one / whole).collect();
            for (sum, weights) in sums.iter_mut().zip(found.weights.columns()) {
                let missed = weights.iter().zip(&free).map(|(c, free)| (c / free).powi(2));
                *sum = Some(missed.sum::<f64>()).filter(|sum| sum.is_finite());
            }
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

    /// From `M⁻¹ 1` and, behind it, `M⁻¹ Y`.
    fn coefficients(&self, divided: Array2<f64>) -> DualCoefficients {
        let (ones, rest) = divided.view().split_at(Axis(1), 1);
        let intercept = rest.sum_axis(Axis(0)) / ones.sum();
        let weights = &rest - &ones * &intercept;
        DualCoefficients { weights, intercept }
    }
}

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
        assert!(refused(Array2::zeros((0, 0)), Array2::zeros((0, 1))).contains("rows to learn from"));
        assert!(refused(square.clone() / 0.0, Array2::zeros((2, 1))).contains("inner product"));
        let indefinite = DualRidge::new(-square, Array2::zeros((2, 1))).unwrap();
        assert!(indefinite.solve(0.5).is_err());
        assert!(indefinite.solve(0.0).is_err());
    }
}
