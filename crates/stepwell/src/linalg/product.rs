//! Fast matrix products whose bits do not depend on the number of threads: the output
//! is cut into stripes of a fixed height, and one thread computes each stripe.

use super::matmul;
use faer::reborrow::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef};
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

/// Rows of the output that one thread computes at a time. Wide matrices have higher
/// stripes, because each stripe reads much of the other factor.
fn stripe(width: usize) -> usize {
    if width < 1024 { STRIPE } else { 256 }
}
const STRIPE: usize = 64;

/// Rows and columns computed at a time if a row's bits must not depend on the other
/// rows.
const TILE: usize = 16;
const TILE_COLUMNS: usize = 128;

/// Below this number of multiplications, waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 19;

/// Adds `RᵀR` to the lower triangle of a `width` by `width` matrix, both stored by row.
/// The contents above the diagonal have no meaning.
pub(crate) fn add_gram(rows: &[f64], width: usize, lower: &mut [f64]) {
    if width == 0 || rows.is_empty() {
        return;
    }
    let count = rows.len() / width;
    let rows = MatRef::from_row_major_slice(rows, count, width);
    each_stripe(lower, width, count * width * width, |first, height, stripe| {
        let end = first + height;
        let stripe = MatMut::from_row_major_slice_mut(stripe, height, width).subcols_mut(0, end);
        let (left, right) = (rows.subcols(first, height).transpose(), rows.subcols(0, end));
        matmul(stripe, Accum::Add, left, right, 1.0);
    });
}

/// The lower triangle of `A Aᵀ`: the products of all pairs of rows.
pub(crate) fn products(a: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, inner) = a.dim();
    let mut lower = Array2::zeros((rows, rows));
    let a = Operand::new(a);
    let a = a.view();
    let entries = lower.as_slice_mut().expect("just made, row after row");
    if rows > 0 && inner > 0 {
        each_stripe(entries, rows, rows * rows * inner, |first, height, stripe| {
            let end = first + height;
            let stripe = MatMut::from_row_major_slice_mut(stripe, height, rows).subcols_mut(0, end);
            let (left, right) = (a.subrows(first, height), a.subrows(0, end).transpose());
            matmul(stripe, Accum::Replace, left, right, 1.0);
        });
    }
    lower
}

/// `A B`.
pub(crate) fn multiply(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, inner, columns) = (a.nrows(), a.ncols(), b.ncols());
    let mut product = Array2::zeros((rows, columns));
    if rows == 0 || inner == 0 || columns == 0 {
        return product;
    }
    let (a, b) = (Operand::new(a), Operand::new(b));
    let (a, b) = (a.view(), b.view());
    let entries = product.as_slice_mut().expect("just made, row after row");
    each_stripe(entries, columns, rows * inner * columns, |first, height, stripe| {
        let stripe = MatMut::from_row_major_slice_mut(stripe, height, columns);
        matmul(stripe, Accum::Replace, a.subrows(first, height), b, 1.0);
    });
    product
}

/// `A B`, where a row's bits do not depend on the number of rows. Rows are always
/// processed in tiles, and zeros pad the last tile. Tiles are low, so that a single row
/// does not cost as much as many, and process some columns at a time, so that these are
/// still in the cache for the next tile.
pub(crate) fn multiply_rows(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, inner, columns) = (a.nrows(), a.ncols(), b.ncols());
    let mut product = Array2::zeros((rows, columns));
    if rows == 0 || inner == 0 || columns == 0 {
        return product;
    }
    let b = Operand::new(b);
    let b = b.view();
    let entries = product.as_slice_mut().expect("just made, row after row");
    entries.par_chunks_mut(STRIPE * columns).enumerate().for_each(|(index, entries)| {
        let (first, height) = (index * STRIPE, entries.len() / columns);
        let filled = height.next_multiple_of(TILE);
        let mut stripe = vec![0.0; filled * inner];
        for (row, copy) in a.rows().into_iter().skip(first).take(height).zip(stripe.chunks_mut(inner)) {
            copy.iter_mut().zip(row).for_each(|(copy, value)| *copy = *value);
        }
        let mut whole = vec![0.0; filled * columns];
        let mut into = MatMut::from_row_major_slice_mut(&mut whole, filled, columns);
        let stripe = MatRef::from_row_major_slice(&stripe, filled, inner);
        for left in (0..columns).step_by(TILE_COLUMNS) {
            let width = TILE_COLUMNS.min(columns - left);
            for top in (0..filled).step_by(TILE) {
                let tile = into.rb_mut().submatrix_mut(top, left, TILE, width);
                let (rows, some) = (stripe.subrows(top, TILE), b.subcols(left, width));
                matmul(tile, Accum::Replace, rows, some, 1.0);
            }
        }
        entries.copy_from_slice(&whole[..entries.len()]);
    });
    product
}

/// Calls `compute` with the first row, the height and the entries of every stripe.
fn each_stripe(
    entries: &mut [f64],
    width: usize,
    multiplications: usize,
    compute: impl Fn(usize, usize, &mut [f64]) + Sync,
) {
    let high = stripe(width);
    let each = |(index, entries): (usize, &mut [f64])| compute(index * high, entries.len() / width, entries);
    if multiplications < WORTH_SHARING {
        entries.chunks_mut(high * width).enumerate().for_each(each);
    } else {
        entries.par_chunks_mut(high * width).enumerate().for_each(each);
    }
}

/// A matrix as faer sees it: in place if its entries are stored by row or by column,
/// otherwise a copy.
enum Operand<'a> {
    InPlace(MatRef<'a, f64>),
    Copy(Mat<f64>),
}

impl<'a> Operand<'a> {
    fn new(matrix: ArrayView2<'a, f64>) -> Self {
        let (rows, columns) = matrix.dim();
        if let Some(entries) = matrix.to_slice() {
            return Self::InPlace(MatRef::from_row_major_slice(entries, rows, columns));
        }
        if let Some(entries) = matrix.reversed_axes().to_slice() {
            return Self::InPlace(MatRef::from_column_major_slice(entries, rows, columns));
        }
        Self::Copy(Mat::from_fn(rows, columns, |i, j| matrix[(i, j)]))
    }

    fn view(&self) -> MatRef<'_, f64> {
        match self {
            Self::InPlace(matrix) => *matrix,
            Self::Copy(matrix) => matrix.as_ref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::s;

    use super::*;
    use crate::rng::Stream;

    fn random(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
        let mut stream = Stream::new(seed, "product", [rows as u64, columns as u64]);
        Array2::from_shape_simple_fn((rows, columns), || stream.normal())
    }

    fn largest_difference(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
        a.iter().zip(b).fold(0.0, |worst, (a, b)| (a - b).abs().max(worst))
    }

    #[test]
    fn products_are_sums_of_products_however_the_factors_are_stored() {
        for (rows, inner, columns) in
            [(1, 1, 1), (3, 5, 2), (130, 70, 9), (65, 200, 140), (0, 3, 2), (3, 0, 2)]
        {
            let (a, b) = (random(rows, inner, 1), random(inner, columns, 2));
            let expected = a.dot(&b);
            let b_by_columns = b.t().as_standard_layout().into_owned();
            let wide = random(rows, 2 * inner, 3);
            let every_second = wide.slice(s![.., ..;2]);
            assert!(largest_difference(&multiply(a.view(), b.view()), &expected) < 1e-12);
            assert!(largest_difference(&multiply(a.view(), b_by_columns.t()), &expected) < 1e-12);
            assert!(largest_difference(&multiply(every_second, b.view()), &every_second.dot(&b)) < 1e-12);
        }
    }

    #[test]
    fn gram_matrices_add_up_below_the_diagonal() {
        for (rows, width) in [(1, 1), (7, 3), (300, 150), (0, 4), (4, 0)] {
            let x = random(rows, width, 4);
            let mut lower = Array2::ones((width, width));
            add_gram(x.as_slice().unwrap(), width, lower.as_slice_mut().unwrap());
            let expected = x.t().dot(&x);
            let by_rows = products(x.t());
            for (i, j) in (0..width).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                assert!((lower[(i, j)] - 1.0 - expected[(i, j)]).abs() < 1e-11);
                assert!((by_rows[(i, j)] - expected[(i, j)]).abs() < 1e-11);
            }
        }
    }
}
