//! Dense matrices that need not be symmetric.
//!
//! Every decomposition runs on one thread, so that no result depends on the number of
//! threads.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, svd};
use faer::{Mat, Par};
use ndarray::ArrayView2;

use super::radius;
use crate::error::{Error, Result};

fn to_faer(matrix: ArrayView2<'_, f64>) -> Mat<f64> {
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
}

fn is_finite(matrix: ArrayView2<'_, f64>) -> bool {
    matrix.iter().all(|x| x.is_finite())
}

/// The largest modulus among the eigenvalues of a square matrix, which need not be
/// symmetric. 0 for an empty matrix.
pub(crate) fn spectral_radius(matrix: ArrayView2<'_, f64>) -> Result<f64> {
    let n = matrix.nrows();
    let failed = Error::NoDecomposition { what: "eigenvalues", size: n };
    if n == 0 {
        return Ok(0.0);
    }
    if matrix.ncols() != n || !is_finite(matrix) {
        return Err(failed);
    }
    if matrix.iter().any(|&x| x == 0.0) {
        return Ok(radius::of_sparse(matrix));
    }
    let (mut real, mut imaginary) = (Diag::zeros(n), Diag::zeros(n));
    let no = evd::ComputeEigenvectors::No;
    let scratch = evd::evd_scratch::<f64>(n, no, no, Par::Seq, Default::default());
    let (re, im, stack) = (real.as_mut(), imaginary.as_mut(), &mut MemBuffer::new(scratch));
    let matrix = to_faer(matrix);
    evd::evd_real(matrix.as_ref(), re, im, None, None, Par::Seq, MemStack::new(stack), Default::default())
        .map_err(|_| failed)?;
    let parts = real.column_vector().iter().zip(imaginary.column_vector().iter());
    Ok(parts.map(|(re, im)| re.hypot(*im)).fold(0.0, f64::max))
}

/// The 2-norm: the largest singular value. 0 for an empty matrix.
pub(crate) fn spectral_norm(matrix: ArrayView2<'_, f64>) -> Result<f64> {
    let (rows, columns) = matrix.dim();
    let failed = Error::NoDecomposition { what: "singular values", size: rows };
    if rows == 0 || columns == 0 {
        return Ok(0.0);
    }
    if !is_finite(matrix) {
        return Err(failed);
    }
    let mut values = Diag::zeros(rows.min(columns));
    let no = svd::ComputeSvdVectors::No;
    let scratch = svd::svd_scratch::<f64>(rows, columns, no, no, Par::Seq, Default::default());
    let stack = &mut MemBuffer::new(scratch);
    let (matrix, singular) = (to_faer(matrix), values.as_mut());
    svd::svd(matrix.as_ref(), singular, None, None, Par::Seq, MemStack::new(stack), Default::default())
        .map_err(|_| failed)?;
    Ok(values.column_vector().iter().copied().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn radius_and_norm_of_matrices_known_by_formula() {
        // A rotation by 90 degrees, doubled: eigenvalues ±2i.
        let turn = array![[0.0, -2.0], [2.0, 0.0]];
        assert!((spectral_radius(turn.view()).unwrap() - 2.0).abs() < 1e-14);
        assert!((spectral_norm(turn.view()).unwrap() - 2.0).abs() < 1e-14);
        // A Jordan block: radius and norm differ.
        let jordan = array![[0.5, 1.0], [0.0, 0.5]];
        let norm = (0.75f64 + 0.5f64.sqrt()).sqrt(); // sqrt of the larger eigenvalue of JᵀJ
        assert!((spectral_radius(jordan.view()).unwrap() - 0.5).abs() < 1e-7);
        assert!((spectral_norm(jordan.view()).unwrap() - norm).abs() < 1e-12);
        // A companion matrix of (x-3)(x+1)(x-2) = x³ - 4x² + x + 6.
        let companion = array![[0.0, 0.0, -6.0], [1.0, 0.0, -1.0], [0.0, 1.0, 4.0]];
        assert!((spectral_radius(companion.view()).unwrap() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn odd_matrices_have_an_answer() {
        assert_eq!(spectral_radius(Array2::zeros((0, 0)).view()).unwrap(), 0.0);
        assert_eq!(spectral_norm(Array2::zeros((0, 3)).view()).unwrap(), 0.0);
        assert_eq!(spectral_radius(Array2::zeros((3, 3)).view()).unwrap(), 0.0);
        assert_eq!(spectral_radius(array![[-4.0]].view()).unwrap(), 4.0);
        assert!(spectral_radius(array![[f64::NAN]].view()).is_err());
        assert!(spectral_norm(array![[f64::INFINITY, 1.0]].view()).is_err());
    }
}
