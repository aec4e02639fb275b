//! All eigenvalues and eigenvectors of a symmetric matrix, and all singular values of a
//! matrix with few rows.
//!
//! Every decomposition runs on one thread, so that no result depends on the number of
//! threads.

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
    /// The eigenvectors, as rows.
    pub vectors: Array2<f64>,
}

/// The spectrum of a symmetric matrix. Reads only the lower triangle.
pub(crate) fn symmetric(matrix: ArrayView2<'_, f64>) -> Result<Spectrum> {
    // Zero rows, which come from constant columns, are eigenvectors by themselves.
    // Remove them first: many of them cost time and have made the decomposition fail.
    let n = matrix.nrows();
    let is_zero = |i: usize| (0..n).all(|j| matrix[(i.max(j), i.min(j))] == 0.0);
    let (zeros, rest): (Vec<usize>, Vec<usize>) = (0..n).partition(|&i| is_zero(i));
    if zeros.is_empty() || matrix.ncols() != n {
        return decomposed(matrix);
    }
    let part = Array2::from_shape_fn((rest.len(), rest.len()), |(i, j)| matrix[(rest[i], rest[j])]);
    let found = decomposed(part.view())?;
    let mut spectrum = Spectrum { values: Array1::zeros(n), vectors: Array2::zeros((n, n)) };
    // Eigenvalues ascend, and those of a scatter matrix are not negative, so the zeros
    // come first.
    for (k, &i) in zeros.iter().enumerate() {
        spectrum.vectors[(k, i)] = 1.0;
    }
    for k in 0..rest.len() {
        spectrum.values[zeros.len() + k] = found.values[k];
        for (j, &i) in rest.iter().enumerate() {
            spectrum.vectors[(zeros.len() + k, i)] = found.vectors[(k, j)];
        }
    }
    Ok(spectrum)
}

fn decomposed(matrix: ArrayView2<'_, f64>) -> Result<Spectrum> {
    let n = matrix.nrows();
    let failed = || Error::NoDecomposition { what: "eigenvectors", size: n };
    let contiguous = matrix.as_standard_layout();
    let entries = contiguous.as_slice().filter(|entries| is_usable(entries) && matrix.ncols() == n);
    let matrix = MatRef::from_row_major_slice(entries.ok_or_else(failed)?, n, n);
    let (mut values, mut vectors) = (Diag::zeros(n), Mat::zeros(n, n));
    let yes = evd::ComputeEigenvectors::Yes;
    let scratch = evd::self_adjoint_evd_scratch::<f64>(n, yes, Par::Seq, Default::default());
    let (u, stack) = (Some(vectors.as_mut()), &mut MemBuffer::new(scratch));
    evd::self_adjoint_evd(matrix, values.as_mut(), u, Par::Seq, MemStack::new(stack), Default::default())
        .map_err(|_| failed())?;
    let spectrum = Spectrum {
        values: values.column_vector().iter().copied().collect(),
        vectors: Array2::from_shape_fn((n, n), |(k, i)| vectors[(i, k)]),
    };
    if spectrum.vectors.iter().all(|x| x.is_finite()) { Ok(spectrum) } else { Err(failed()) }
}

/// Singular values, with orthonormal vectors on both sides.
pub(crate) struct Singular {
    /// The singular values.
    pub values: Array1<f64>,
    /// Combinations of rows, as columns: rows x values.
    pub left: Array2<f64>,
    /// Their directions, as rows: values x columns.
    pub right: Array2<f64>,
}

/// The singular values of a matrix with fewer rows than columns. Their squares are the
/// spectrum of `RᵀR`, with twice as many correct digits, because nothing is squared
/// before the decomposition.
pub(crate) fn of_few_rows(rows: ArrayView2<'_, f64>) -> Result<Singular> {
    let (count, width) = rows.dim();
    let size = count.min(width);
    let failed = || Error::NoDecomposition { what: "singular vectors", size };
    let contiguous = rows.as_standard_layout();
    let entries = contiguous.as_slice().filter(|entries| is_usable(entries)).ok_or_else(failed)?;
    let transposed = MatRef::from_column_major_slice(entries, width, count);
    let mut values = Diag::zeros(size);
    let (mut right, mut left) = (Mat::zeros(width, size), Mat::zeros(count, size));
    let thin = svd::ComputeSvdVectors::Thin;
    let scratch = svd::svd_scratch::<f64>(width, count, thin, thin, Par::Seq, Default::default());
    let (u, v, stack) = (Some(right.as_mut()), Some(left.as_mut()), &mut MemBuffer::new(scratch));
    svd::svd(transposed, values.as_mut(), u, v, Par::Seq, MemStack::new(stack), Default::default())
        .map_err(|_| failed())?;
    let singular = Singular {
        values: values.column_vector().iter().copied().collect(),
        left: Array2::from_shape_fn((count, size), |(i, k)| left[(i, k)]),
        right: Array2::from_shape_fn((size, width), |(k, i)| right[(i, k)]),
    };
    let vectors = singular.left.iter().chain(&singular.right);
    if vectors.into_iter().all(|x| x.is_finite()) { Ok(singular) } else { Err(failed()) }
}

/// Whether the squares of all numbers can be summed without overflow.
fn is_usable(entries: &[f64]) -> bool {
    entries.iter().all(|x| x.abs() < 1e150)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::jacobi;
    use crate::rng::Stream;

    /// Counts in few of many columns, as in histograms: most columns are constant,
    /// others are equal, and their scatter matrix has very low rank.
    #[test]
    fn scatters_of_histograms_are_decomposed() {
        for (n, d, used) in [(60, 80, 9), (200, 300, 40), (160, 640, 40), (100, 640, 300)] {
            let mut stream = Stream::new(1, "histograms", [d as u64, used as u64]);
            let mut rows = Array2::<f64>::zeros((n, d));
            for mut row in rows.rows_mut() {
                for _ in 0..50 {
                    // Five histograms side by side; each uses only its first bins.
                    for histogram in 0..5 {
                        let bin = (stream.uniform_in(0.0, 1.0).powi(3) * used as f64 / 5.0) as usize;
                        row[histogram * d / 5 + bin] += 1.0;
                    }
                }
            }
            let centred = &rows - &rows.mean_axis(ndarray::Axis(0)).unwrap();
            let matrix = centred.t().dot(&centred);
            let found = symmetric(matrix.view()).unwrap_or_else(|error| panic!("{n} {d} {used}: {error}"));
            assert!(orthonormal(found.vectors.view()));
            let again = (&found.vectors.t() * &found.values).dot(&found.vectors);
            let scale = matrix.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!((again - &matrix).iter().all(|x| x.abs() < 1e-11 * scale), "{n} {d} {used}");
        }
    }

    /// Whether the rows are orthonormal.
    fn orthonormal(rows: ArrayView2<'_, f64>) -> bool {
        let off = rows.dot(&rows.t()) - Array2::<f64>::eye(rows.nrows());
        off.iter().all(|x| x.abs() < 1e-12)
    }

    fn rebuilds(found: &Array2<f64>, matrix: &Array2<f64>) -> bool {
        let scale = matrix.iter().fold(1e-300, |s: f64, x| s.max(x.abs())) * matrix.len() as f64;
        (found - matrix).iter().all(|x| x.abs() < 1e-14 * scale)
    }

    fn check(matrix: &Array2<f64>) -> Array1<f64> {
        let Spectrum { values, vectors } = symmetric(matrix.view()).unwrap();
        assert!(orthonormal(vectors.view()));
        assert!(rebuilds(&(&vectors.t() * &values).dot(&vectors), matrix));
        values
    }

    fn check_rows(rows: &Array2<f64>) {
        let Singular { values, left, right } = of_few_rows(rows.view()).unwrap();
        assert!(orthonormal(left.t()) && orthonormal(right.view()));
        assert!(rebuilds(&(&left * &values).dot(&right), rows));
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
            let values = check(&matrix);
            check_rows(&rows);
            let (expected, _) = jacobi(matrix.as_slice().unwrap(), n);
            let scale = expected[n - 1];
            prop_assert!(values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12 * scale));
        }
    }

    #[test]
    fn empty_and_degenerate_matrices_have_a_spectrum() {
        assert_eq!(symmetric(Array2::zeros((0, 0)).view()).unwrap().values.len(), 0);
        assert_eq!(of_few_rows(Array2::zeros((0, 5)).view()).unwrap().right.dim(), (0, 5));
        for n in [1, 3, 70] {
            check(&Array2::zeros((n, n)));
            check(&Array2::eye(n));
            check_rows(&Array2::zeros((n, n + 2)));
        }
        assert!(symmetric(Array2::from_elem((2, 2), f64::NAN).view()).is_err());
        assert!(symmetric(Array2::from_elem((2, 2), 1e200).view()).is_err());
        assert!(of_few_rows(Array2::from_elem((2, 3), f64::INFINITY).view()).is_err());
    }
}
