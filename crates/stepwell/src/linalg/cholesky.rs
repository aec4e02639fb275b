//! Solves equations with a symmetric, positive definite matrix.

use std::ops::Range;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::triangular_solve;
use faer::reborrow::ReborrowMut;
use faer::{Mat, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::kernel::{Matrix, add_lower_product, add_product, leave_wide_registers};

/// `M⁻¹ B`. Reads only the lower triangle of `M`. `None` if `M` is not positive
/// definite.
pub(crate) fn solve_positive(matrix: Array2<f64>, b: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
    let (n, columns) = b.dim();
    if n == 0 || columns == 0 {
        return Some(Array2::zeros((n, columns)));
    }
    if matrix.dim() != (n, n) {
        return None;
    }
    let matrix = root(matrix)?;
    let factor = MatRef::from_row_major_slice(matrix.as_slice().expect("a root lies row after row"), n, n);
    let mut solution = Mat::from_fn(n, columns, |i, j| b[(i, j)]);
    let scratch = llt::solve::solve_in_place_scratch::<f64>(n, columns, Par::Seq);
    let mut memory = MemBuffer::new(scratch);
    llt::solve::solve_in_place(factor, solution.as_mut(), Par::Seq, MemStack::new(&mut memory));
    let solution = Array2::from_shape_fn((n, columns), |(i, j)| solution[(i, j)]);
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

/// `L` with `L Lᵀ = M` in the lower triangle. Reads only the lower triangle of `M`.
/// `None` if `M` is not positive definite.
pub(crate) fn root(matrix: Array2<f64>) -> Option<Array2<f64>> {
    let n = matrix.nrows();
    // Products of narrow matrices may be stored by column.
    let mut root =
        if matrix.is_standard_layout() { matrix } else { matrix.as_standard_layout().into_owned() };
    let entries = root.as_slice_mut().expect("made to lie row after row");
    for first in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - first);
        let (above, below) = entries.split_at_mut((first + width) * n);
        let mut block =
            MatMut::from_row_major_slice_mut(&mut above[first * n..], width, n).subcols_mut(first, width);
        let scratch = llt::factor::cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        let done = llt::factor::cholesky_in_place(
            block.rb_mut(),
            Default::default(),
            Par::Seq,
            stack,
            Default::default(),
        );
        leave_wide_registers();
        done.ok()?;
        let factor = block.as_ref();
        // The columns of this block in all rows below, also as a copy: stripes read those of others.
        let mut panel = vec![0.0; below.len() / n * width];
        let stripes = below.par_chunks_mut(SOLVED * n).zip(panel.par_chunks_mut(SOLVED * width));
        stripes.for_each(|(rows, copy)| {
            let count = rows.len() / n;
            let rows = MatMut::from_row_major_slice_mut(rows, count, n).subcols_mut(first, width);
            let mut columns = rows.transpose_mut();
            triangular_solve::solve_lower_triangular_in_place(factor, columns.rb_mut(), Par::Seq);
            leave_wide_registers();
            MatMut::from_row_major_slice_mut(copy, count, width).copy_from(columns.transpose());
        });
        let panel = Matrix::by_row(&panel, (below.len() / n, width), width);
        below.par_chunks_mut(SOLVED * n).enumerate().for_each(|(index, rows)| {
            let (top, end) = (index * SOLVED, index * SOLVED + rows.len() / n);
            let (left, right) = (panel.part(top..end, 0..width), panel.part(0..end, 0..width));
            add_lower_product(&mut rows[first + width..], n, -1.0, (left, right.transposed()), top);
        });
    }
    (0..n).all(|i| entries[i * n..=i * n + i].iter().all(|x| x.is_finite())).then_some(root)
}

/// Columns of a root that are computed at a time. Stripes of the rows below are shared by threads, and
/// their bits do not depend on how many there are.
const PANEL: usize = 128;

/// Replaces the first numbers of every row by `L⁻¹ x`. Rows are `stride` apart.
pub(crate) fn solve_rows(rows: &mut [f64], stride: usize, root: ArrayView2<'_, f64>) {
    let n = root.nrows();
    if n == 0 || rows.is_empty() {
        return;
    }
    let root = root.as_standard_layout();
    let root = root.as_slice().expect("in standard layout");
    rows.par_chunks_mut(SOLVED * stride).for_each(|rows| solve_part(rows, stride, (root, n), 0..n));
}

/// Solves for some of the numbers, given that those of the numbers before were subtracted: the first
/// half of them, then the second. Most of the work are products.
fn solve_part(rows: &mut [f64], stride: usize, (root, n): (&[f64], usize), part: Range<usize>) {
    let count = rows.len() / stride;
    if part.len() <= SMALL {
        let factor = MatRef::from_row_major_slice(root, n, n);
        let factor = factor.submatrix(part.start, part.start, part.len(), part.len());
        let rows = &mut rows[part.start..];
        let columns = MatMut::from_column_major_slice_with_stride_mut(rows, part.len(), count, stride);
        triangular_solve::solve_lower_triangular_in_place(factor, columns, Par::Seq);
        leave_wide_registers();
        return;
    }
    let middle = part.start + (part.len() / 2).next_multiple_of(SMALL);
    let (first, second) = (part.start..middle, middle..part.end);
    solve_part(rows, stride, (root, n), first.clone());
    // A copy, because the product changes the same rows.
    let solved: Vec<f64> = rows.chunks(stride).flat_map(|row| &row[first.clone()]).copied().collect();
    let solved = Matrix::by_row(&solved, (count, first.len()), first.len());
    let factor = Matrix::by_row(root, (n, n), n).part(second.clone(), first);
    add_product(&mut rows[middle..], stride, -1.0, solved, factor.transposed());
    solve_part(rows, stride, (root, n), second);
}

/// Rows that one thread solves at a time.
const SOLVED: usize = 128;

/// Numbers that are solved for without products.
const SMALL: usize = 64;

/// `L⁻ᵀ B`.
pub(crate) fn solve_transposed(root: ArrayView2<'_, f64>, b: Array2<f64>) -> Array2<f64> {
    let (n, columns) = b.dim();
    let root = root.as_standard_layout();
    let factor = MatRef::from_row_major_slice(root.as_slice().expect("in standard layout"), n, n);
    let mut solution = Mat::from_fn(n, columns, |i, j| b[(i, j)]);
    triangular_solve::solve_upper_triangular_in_place(factor.transpose(), solution.as_mut(), Par::Seq);
    leave_wide_registers();
    Array2::from_shape_fn((n, columns), |(i, j)| solution[(i, j)])
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;
    use crate::rng::Stream;

    #[test]
    fn the_solution_meets_the_equations() {
        for n in [1, 2, 5, 150, 400] {
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
    fn the_root_turns_the_matrix_into_one() {
        for n in [1, 2, 70, 128, 129, 300] {
            let mut stream = Stream::new(2, "cholesky", [n as u64, 0]);
            let rows = Array2::from_shape_simple_fn((2 * n, n), || stream.normal());
            let matrix = rows.t().dot(&rows);
            let mut root = root(matrix.clone()).unwrap();
            (0..n).for_each(|i| root.slice_mut(s![i, i + 1..]).fill(0.0));
            assert!((root.dot(&root.t()) - &matrix).iter().all(|x| x.abs() < 1e-9));
            // Rows with trailing numbers, which must stay as they are.
            let mut padded = Array2::from_elem((n, n + 3), 7.0);
            padded.slice_mut(s![.., ..n]).assign(&matrix);
            solve_rows(padded.as_slice_mut().unwrap(), n + 3, root.view());
            let (solved, rest) = padded.view().split_at(ndarray::Axis(1), n);
            assert!((solved.dot(&root.t()) - &matrix).iter().all(|x| x.abs() < 1e-9));
            assert!(rest.iter().all(|x| *x == 7.0));
            let whole = solve_transposed(root.view(), solved.t().to_owned());
            assert!((whole - Array2::<f64>::eye(n)).iter().all(|x| x.abs() < 1e-9));
        }
        assert_eq!(root(array![[1.0, 0.0], [2.0, 1.0]]), None);
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
