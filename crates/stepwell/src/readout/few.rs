//! Ridge regression on fewer rows than columns, by their inner products.

use std::collections::HashMap;
use std::sync::OnceLock;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::dual::{Constrained, missed};
use super::ridge::{Centre, Centred, Coefficients, RidgePath};
use crate::config::check_alpha;
use crate::error::{Result, no_rows};
use crate::graph::mixed;
use crate::linalg;
use crate::memory;

/// An alpha above this fraction of the trace of the inner products is large compared with the
/// rounding errors of the eigenvalues.
const SAFE: f64 = 1e-12;

/// The minimum of `Σ w |y - x W - b|² + alpha |W|²` for any `alpha`, from the inner products `K` of
/// [`Centred`] rows: `W = Xᵀ (K + alpha)⁻¹ Y`. This takes a fraction of the time of the singular
/// vectors of the rows, which are needed only for the smallest alphas.
#[derive(Clone, Debug)]
pub(super) struct FewRidge {
    rows: Centred,
    products: Constrained,
    /// The position of each row, by a hash of its bits.
    positions: HashMap<u64, usize>,
    /// Computed on first use.
    path: OnceLock<RidgePath>,
}

impl FewRidge {
    pub fn new(
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: &[f64],
        standardize: bool,
    ) -> Result<Self> {
        let Some(rows) = Centred::new(x, y, Some(weights), standardize) else {
            return Err(no_rows("rows with a positive weight"));
        };
        let count = rows.chosen.len();
        memory::ask_array("the regression", &[count, 4 * count], size_of::<f64>())?;
        let position = |(at, &row): (usize, &usize)| (key(x.row(row), y.row(row), weights[row]), at);
        let positions = rows.chosen.iter().enumerate().map(position).collect();
        // Centred rows, weighted by the square roots of the weights `w`, are orthogonal to
        // `sqrt(w)`.
        let direction = rows.weights.mapv(|weight| (weight / rows.centre.weight).sqrt());
        let products = Constrained::new(linalg::products(rows.x.view()), direction);
        Ok(Self { rows, products, positions, path: OnceLock::new() })
    }

    /// The path of the same rows.
    pub fn path(&self) -> Result<&RidgePath> {
        if let Some(path) = self.path.get() {
            return Ok(path);
        }
        let path = RidgePath::of_centred(&self.rows)?;
        Ok(self.path.get_or_init(|| path))
    }

    /// Whether inner products are accurate enough for an alpha.
    pub fn is_safe(&self, alpha: f64) -> bool {
        let trace = self.products.trace();
        trace.is_finite() && alpha > SAFE * trace
    }

    pub fn solve(&self, alpha: f64) -> Result<Coefficients> {
        check_alpha(alpha, true)?;
        let Centred { x, y, centre, .. } = &self.rows;
        let dual = if self.is_safe(alpha) { self.products.solve(alpha, y.view()) } else { None };
        match dual {
            Some(dual) => centre.coefficients(linalg::multiply(x.t(), dual.view())),
            None => self.path()?.solve(alpha),
        }
    }

    /// The leave-one-out errors of the rows with a positive weight, one column per alpha and
    /// target.
    pub fn missed(&self, alphas: &[f64]) -> Array2<f64> {
        let mut missed = missed(&self.products, self.rows.y.view(), alphas);
        for (mut row, weight) in missed.rows_mut().into_iter().zip(&self.rows.weights) {
            row /= weight.sqrt();
        }
        missed
    }

    /// The position of a row among those with a positive weight, if it is one of them.
    pub fn position(&self, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64) -> Option<usize> {
        self.positions.get(&key(x, y, weight)).copied()
    }

    pub fn centre(&self) -> &Centre {
        &self.rows.centre
    }
}

/// A hash of a row. Rows with equal bits have equal errors.
fn key(x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>, weight: f64) -> u64 {
    mixed(0, x.iter().chain(&y).chain([&weight]).map(|value| value.to_bits()))
}

#[cfg(test)]
mod tests {
    use ndarray::Axis;

    use super::*;
    use crate::readout::leave_one_out::LeaveOneOut;
    use crate::readout::{Coefficients, Moments};
    use crate::rng::Stream;

    const ALPHAS: [f64; 3] = [0.01, 1.0, 300.0];

    fn drawn(n: usize, d: usize) -> (Array2<f64>, Array2<f64>, Vec<f64>) {
        let mut stream = Stream::new(5, "few", [n as u64, d as u64]);
        let mut x = Array2::from_shape_simple_fn((n, d), || 3.0 * stream.normal() + 1.0);
        // Two rows are equal, and one has weight 0.
        let first = x.row(0).to_owned();
        x.row_mut(1).assign(&first);
        let y = Array2::from_shape_simple_fn((n, 2), || stream.normal() - 2.0);
        let weights = (0..n).map(|row| if row == 2 { 0.0 } else { 0.5 + stream.uniform_in(0.0, 2.0) });
        (x, y, weights.collect())
    }

    fn fitted(
        (x, y, weights): (&Array2<f64>, &Array2<f64>, &[f64]),
        alpha: f64,
        standardize: bool,
    ) -> Coefficients {
        let mut moments = Moments::new(x.ncols(), y.ncols()).unwrap();
        moments.observe(x.view(), y.view(), Some(weights)).unwrap();
        Coefficients::of_moments(&moments, alpha, standardize).unwrap()
    }

    #[test]
    fn few_rows_have_the_coefficients_of_the_normal_equations() {
        for (n, d) in [(12, 20), (40, 90)] {
            let (x, y, weights) = drawn(n, d);
            for standardize in [false, true] {
                let few = FewRidge::new(x.view(), y.view(), &weights, standardize).unwrap();
                for alpha in ALPHAS {
                    let (found, expected) =
                        (few.solve(alpha).unwrap(), fitted((&x, &y, &weights), alpha, standardize));
                    let apart = (&found.weights - &expected.weights).mapv(f64::abs);
                    assert!(apart.iter().all(|x| *x < 1e-9), "{n} {d} {alpha}: {apart}");
                    assert!((&found.intercept - &expected.intercept).iter().all(|x| x.abs() < 1e-9));
                }
            }
        }
    }

    #[test]
    fn every_row_is_missed_as_the_loop_says_also_in_other_last_bits() {
        let (x, y, weights) = drawn(14, 30);
        let few = FewRidge::new(x.view(), y.view(), &weights, false).unwrap();
        let mut sums = vec![0.0; ALPHAS.len() * 2];
        for (at, &alpha) in ALPHAS.iter().enumerate() {
            for row in (0..14).filter(|&row| weights[row] > 0.0) {
                let mut others = weights.clone();
                others[row] = 0.0;
                let Coefficients { weights: w, intercept } = fitted((&x, &y, &others), alpha, false);
                let missed = &y.row(row) - &(x.row(row).dot(&w) + intercept);
                for target in 0..2 {
                    sums[2 * at + target] += weights[row] * missed[target].powi(2);
                }
            }
        }
        let found = |x: &Array2<f64>| {
            let mut errors = LeaveOneOut::of_few(&few, &ALPHAS).unwrap();
            // Observe in pieces, the last piece first.
            for rows in [7..14, 0..7] {
                let rows = ndarray::Slice::from(rows);
                let own: Vec<f64> = weights[rows.start as usize..rows.end.unwrap() as usize].to_vec();
                let (x, y) = (x.slice_axis(Axis(0), rows), y.slice_axis(Axis(0), rows));
                errors.observe(x, y, Some(&own)).unwrap();
            }
            errors.finish().means()
        };
        let expected: Vec<f64> = sums.chunks(2).map(|sums| sums.iter().sum::<f64>() / 28.0).collect();
        for (found, expected) in found(&x).iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
        }
        // The same row as another processor might compute it, different in the last bit.
        let mut other = x.clone();
        other[(3, 4)] *= 1.0 + f64::EPSILON;
        assert!(few.position(other.row(3), y.row(3), weights[3]).is_none());
        for (found, expected) in found(&other).iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-7 * expected, "{found} {expected}");
        }
    }

    #[test]
    fn tiny_alphas_and_rows_that_do_not_count_are_looked_at_otherwise() {
        let (x, y, _) = drawn(6, 9);
        let few = FewRidge::new(x.view(), y.view(), &[1.0; 6], false).unwrap();
        assert!(few.is_safe(1e-9) && !few.is_safe(1e-12));
        // Without a penalty, distinct rows are fitted exactly.
        let rows = x.slice(ndarray::s![1.., ..]);
        let few = FewRidge::new(rows, y.slice(ndarray::s![1.., ..]), &[1.0; 5], false).unwrap();
        let Coefficients { weights, intercept } = few.solve(0.0).unwrap();
        let apart = rows.dot(&weights) + &intercept - y.slice(ndarray::s![1.., ..]);
        assert!(apart.iter().all(|x| x.abs() < 1e-9), "{apart}");
        assert!(FewRidge::new(x.view(), y.view(), &[0.0; 6], false).is_err());
    }
}
