//! Equations with a symmetric, positive definite matrix.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve;
use faer::{Mat, MatMut, Par};
use ndarray::{Array2, ArrayView2};

/// `M⁻¹ B`, where the lower triangle of `M` is read; `None` where `M` is not
/// positive definite.
pub(crate) fn solve_positive(matrix: Array2<f64>, b: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
    let (n, columns) = b.dim();
    if n == 0 || columns == 0 {
        return Some(Array2::zeros((n, columns)));
    }
    if matrix.dim() != (n, n) {
        return None;
    }
    // Products of narrow matrices may come column after column.
    let mut matrix =
        if matrix.is_standard_layout() { matrix } else { matrix.as_standard_layout().into_owned() };
    let entries = matrix.as_slice_mut().expect("made to lie row after row");
    // What the factorisation calls lower it finds in columns, and these are rows:
    // it gets the transpose, which is the same matrix.
    for i in 0..n {
        for j in 0..i {
            entries[j * n + i] = entries[i * n + j];
        }
    }
    let mut factor = MatMut::from_column_major_slice_mut(entries, n, n);
    factorise(factor.as_mut())?;
    let mut solution = Mat::from_fn(n, columns, |i, j| b[(i, j)]);
    let scratch = llt::solve::solve_in_place_scratch::<f64>(n, columns, Par::Seq);
    let mut memory = MemBuffer::new(scratch);
    llt::solve::solve_in_place(factor.as_ref(), solution.as_mut(), Par::Seq, MemStack::new(&mut memory));
    let solution = Array2::from_shape_fn((n, columns), |(i, j)| solution[(i, j)]);
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

/// `L` in place of the lower triangle of `L Lᵀ`; `None` where that is not positive definite.
fn factorise(matrix: MatMut<'_, f64>) -> Option<()> {
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(matrix.nrows(), Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    llt::factor::cholesky_in_place(matrix, Default::default(), Par::Seq, stack, Default::default()).ok()?;
    Some(())
}

/// `L⁻ᵀ` with `L Lᵀ = M`, where the lower triangle of `M` is read; `None` where
/// `M` is not positive definite.
pub(crate) fn inverse_root(matrix: Array2<f64>) -> Option<Array2<f64>> {
    let n = matrix.nrows();
    if n == 0 {
        return Some(matrix);
    }
    let mut factor = Mat::from_fn(n, n, |i, j| if j <= i { matrix[(i, j)] } else { 0.0 });
    drop(matrix);
    factorise(factor.as_mut())?;
    let mut inverse = Mat::<f64>::identity(n, n);
    triangular_solve::solve_lower_triangular_in_place(factor.as_ref(), inverse.as_mut(), Par::Seq);
    let transposed = Array2::from_shape_fn((n, n), |(i, j)| if i <= j { inverse[(j, i)] } else { 0.0 });
    transposed.iter().all(|x| x.is_finite()).then_some(transposed)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::rng::Stream;

    #[test]
    fn the_solution_meets_the_equations() {
        for n in [1, 2, 5, 150] {
            let mut stream = Stream::new(1, "cholesky", [n as u64, 0]);
            let rows = Array2::from_shape_simple_fn((2 * n, n), || stream.normal());
            let matrix = rows.t().dot(&rows);
            let expected = Array2::from_shape_simple_fn((n, 3), || stream.normal());
            let b = matrix.dot(&expected);
            let found = solve_positive(matrix.clone(), b.view()).unwrap();
            assert!((&found - &expected).iter().all(|x| x.abs() < 1e-9));
            let by_column = solve_positive(matrix.reversed_axes(), b.view()).unwrap();
            assert!((by_column - expected).iter().all(|x| x.abs() < 1e-9));
        }
    }

    #[test]
    fn the_inverse_root_turns_the_matrix_into_one() {
        for n in [1, 2, 70] {
            let mut stream = Stream::new(2, "cholesky", [n as u64, 0]);
            let rows = Array2::from_shape_simple_fn((2 * n, n), || stream.normal());
            let matrix = rows.t().dot(&rows);
            let root = inverse_root(matrix.clone()).unwrap();
            let one = root.t().dot(&matrix).dot(&root) - Array2::<f64>::eye(n);
            assert!(one.iter().all(|x| x.abs() < 1e-9));
        }
        assert_eq!(inverse_root(array![[1.0, 0.0], [2.0, 1.0]]), None);
    }

    #[test]
    fn what_is_not_positive_definite_has_no_solution() {
        let b = array![[1.0], [1.0]];
        assert_eq!(solve_positive(array![[1.0, 0.0], [2.0, 1.0]], b.view()), None);
        assert_eq!(solve_positive(array![[f64::NAN, 0.0], [2.0, 1.0]], b.view()), None);
        assert_eq!(solve_positive(Array2::zeros((3, 3)), b.view()), None);
        assert_eq!(
            solve_positive(Array2::zeros((0, 0)), Array2::zeros((0, 2)).view()).unwrap().dim(),
            (0, 2)
        );
    }
}
