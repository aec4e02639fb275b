//! All eigenvalues of a symmetric matrix with their vectors, and the same for
//! `RᵀR` from the rows of `R` when they are few.
//!
//! Like every decomposition here they run on one thread, so that no result can
//! depend on how many there are.

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, svd};
use faer::{Mat, MatRef, Par};
use ndarray::{Array1, Array2, ArrayView2};

use crate::error::{Error, Result};

/// Eigenvalues and orthonormal eigenvectors.
pub(crate) struct Spectrum {
    /// The eigenvalues.
    pub values: Array1<f64>,
    /// Their vectors, as rows.
    pub vectors: Array2<f64>,
}

/// The spectrum of a symmetric matrix, of which the lower triangle is read.
pub(crate) fn symmetric(matrix: ArrayView2<'_, f64>) -> Result<Spectrum> {
    let n = matrix.nrows();
    let failed = || Error::NoDecomposition { what: "eigenvectors", size: n };
    let contiguous = matrix.as_standard_layout();
    let entries = contiguous.as_slice().filter(|entries| is_usable(entries) && matrix.ncols() == n);
    let matrix = MatRef::from_row_major_slice(entries.ok_or_else(failed)?, n, n);
    let (mut values, mut vectors) = (Diag::zeros(n), Mat::zeros(n, n));
    let yes = evd::ComputeEigenvectors::Yes;
    let scratch = evd::self_adjoint_evd_scratch::<f64>(n, yes, Par::Seq, Default::default());
    evd::self_adjoint_evd::<f64>(
        matrix,
        values.as_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| failed())?;
    let spectrum = Spectrum {
        values: values.column_vector().iter().copied().collect(),
        vectors: Array2::from_shape_fn((n, n), |(k, i)| vectors[(i, k)]),
    };
    spectrum.vectors.iter().all(|x| x.is_finite()).then_some(spectrum).ok_or_else(failed)
}

/// The part of the spectrum of `RᵀR` that is not bound to be 0, for `R` with
/// fewer rows than columns. Its size is the smaller of the two, and since
/// nothing is squared before it is decomposed, small eigenvalues are good to
/// twice as many digits.
pub(crate) fn of_few_rows(rows: ArrayView2<'_, f64>) -> Result<Spectrum> {
    let (count, width) = rows.dim();
    let size = count.min(width);
    let failed = || Error::NoDecomposition { what: "singular vectors", size };
    let contiguous = rows.as_standard_layout();
    let entries = contiguous.as_slice().filter(|entries| is_usable(entries)).ok_or_else(failed)?;
    let transposed = MatRef::from_column_major_slice(entries, width, count);
    let (mut values, mut vectors) = (Diag::zeros(size), Mat::zeros(width, size));
    let (thin, none) = (svd::ComputeSvdVectors::Thin, svd::ComputeSvdVectors::No);
    let scratch = svd::svd_scratch::<f64>(width, count, thin, none, Par::Seq, Default::default());
    svd::svd::<f64>(
        transposed,
        values.as_mut(),
        Some(vectors.as_mut()),
        None,
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| failed())?;
    let spectrum = Spectrum {
        values: values.column_vector().iter().map(|value| value * value).collect(),
        vectors: Array2::from_shape_fn((size, width), |(k, i)| vectors[(i, k)]),
    };
    spectrum.vectors.iter().all(|x| x.is_finite()).then_some(spectrum).ok_or_else(failed)
}

/// Numbers whose squares can still be added up.
fn is_usable(entries: &[f64]) -> bool {
    entries.iter().all(|x| x.abs() < 1e150)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::jacobi;
    use crate::rng::Stream;

    fn check(spectrum: &Spectrum, matrix: &Array2<f64>) {
        let Spectrum { values, vectors } = spectrum;
        let n = matrix.nrows();
        let scale = matrix.iter().fold(1e-300, |s: f64, x| s.max(x.abs())) * n as f64;
        let gram = vectors.dot(&vectors.t()) - Array2::<f64>::eye(values.len());
        assert!(gram.iter().all(|x| x.abs() < 1e-12), "not orthonormal");
        let rebuilt = (&vectors.t() * values).dot(vectors) - matrix;
        assert!(rebuilt.iter().all(|x| x.abs() < 1e-13 * scale), "not the matrix");
    }

    proptest! {
        #[test]
        fn the_spectrum_is_that_of_jacobi_and_rebuilds_the_matrix(
            n in 1usize..24, count in 1usize..24, seed: u64, repeated: bool,
        ) {
            let mut stream = Stream::new(seed, "spectrum", [0, 0]);
            let mut rows = Array2::from_shape_simple_fn((count, n), || stream.normal());
            if repeated && n > 2 {
                let column = rows.column(0).to_owned();
                rows.column_mut(1).assign(&column);
                rows.column_mut(2).fill(0.0);
            }
            let matrix = rows.t().dot(&rows);
            let spectrum = symmetric(matrix.view()).unwrap();
            check(&spectrum, &matrix);
            check(&of_few_rows(rows.view()).unwrap(), &matrix);
            let (expected, _) = jacobi(matrix.as_slice().unwrap(), n);
            let scale = expected[n - 1];
            prop_assert!(spectrum.values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * scale));
        }
    }

    #[test]
    fn empty_and_degenerate_matrices_have_a_spectrum() {
        assert_eq!(symmetric(Array2::zeros((0, 0)).view()).unwrap().values.len(), 0);
        assert_eq!(of_few_rows(Array2::zeros((0, 5)).view()).unwrap().vectors.dim(), (0, 5));
        for n in [1, 3, 70] {
            check(&symmetric(Array2::zeros((n, n)).view()).unwrap(), &Array2::zeros((n, n)));
            check(&symmetric(Array2::eye(n).view()).unwrap(), &Array2::eye(n));
            check(&of_few_rows(Array2::zeros((n, n + 2)).view()).unwrap(), &Array2::zeros((n + 2, n + 2)));
        }
        assert!(symmetric(Array2::from_elem((2, 2), f64::NAN).view()).is_err());
        assert!(symmetric(Array2::from_elem((2, 2), 1e200).view()).is_err());
        assert!(of_few_rows(Array2::from_elem((2, 3), f64::INFINITY).view()).is_err());
    }
}
