//! Principal components: the singular vectors of the centred rows.

use ndarray::{Array2, ArrayView2};

use super::{AxisKind, Projection, ProjectionOptions, check, energy, fix_sign, mean};
use crate::error::Result;
use crate::linalg::spectrum;
use crate::memory;

/// Singular values below this share of the largest are rounding error.
const ROUNDING: f64 = 1e-13;

/// The directions in which rows vary most, orthogonal to each other, as scikit-learn's
/// `PCA` computes them. Components beyond the rank of the rows are zero.
pub fn pca(rows: ArrayView2<'_, f64>, options: &ProjectionOptions) -> Result<Projection> {
    options.validate()?;
    check(rows)?;
    memory::ask_array("principal components", &[3, rows.nrows(), rows.ncols()], size_of::<f64>())?;
    let mean = mean(rows);
    let centred = &rows - &mean;
    let (vectors, squares) = principal(centred.view(), options.components, reach(rows))?;
    let total = energy(centred.view()).max(f64::MIN_POSITIVE);
    let mut projection = Projection {
        mean,
        axes: Array2::zeros((rows.ncols(), options.components)),
        kinds: vec![AxisKind::Nothing; options.components],
        explained: vec![0.0; options.components],
    };
    for (k, (vector, square)) in vectors.iter().zip(&squares).enumerate() {
        projection.axes.column_mut(k).iter_mut().zip(vector).for_each(|(to, from)| *to = *from);
        projection.kinds[k] = AxisKind::Principal;
        projection.explained[k] = square / total;
    }
    Ok(projection)
}

/// The size below which differences between rows are rounding error: centring does not
/// always turn constant nonzero columns into exact zeros.
pub(super) fn reach(rows: ArrayView2<'_, f64>) -> f64 {
    let largest = rows.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    ROUNDING * largest * (rows.nrows() as f64).sqrt()
}

/// At most `count` unit vectors along which centred rows vary most, with the sums of
/// squares along them. Skips those not above `reach`.
pub(super) fn principal(
    centred: ArrayView2<'_, f64>,
    count: usize,
    reach: f64,
) -> Result<(Vec<Vec<f64>>, Vec<f64>)> {
    let singular = spectrum::of_few_rows(centred)?;
    let largest = singular.values.iter().fold(0.0, |largest: f64, x| largest.max(*x));
    let least = reach.max(ROUNDING * largest);
    let kept = singular.values.iter().enumerate().filter(|(_, value)| **value > least).take(count);
    Ok(kept
        .map(|(k, value)| {
            let mut vector = singular.right.row(k).to_vec();
            fix_sign(&mut vector);
            (vector, value * value)
        })
        .unzip())
}
