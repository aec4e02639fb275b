//! Matrix products on several threads. The bits of an entry depend neither on the number of threads
//! nor on the other rows.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use crate::kernel::{Matrix, add_lower_product, add_product};

/// Below this number of multiplications, waking other threads costs more than it saves.
const WORTH_SHARING: usize = 1 << 19;

/// Rows of a product that one thread computes at a time. Fixed, so that not even the contents above
/// the diagonal of a triangle depend on the number of threads.
const STRIPE: usize = 132;

/// Adds `RᵀR` to the lower triangle of a `width` by `width` matrix, both stored by row.
/// The contents above the diagonal have no meaning.
pub(crate) fn add_gram(rows: &[f64], width: usize, lower: &mut [f64]) {
    if width == 0 || rows.is_empty() {
        return;
    }
    let count = rows.len() / width;
    let rows = Matrix::by_row(rows, (count, width), width);
    each_stripe(lower, width, count * width * width, |first, height, stripe| {
        let (left, right) =
            (rows.part(0..count, first..first + height), rows.part(0..count, 0..first + height));
        add_lower_product(stripe, width, 1.0, (left.transposed(), right), first);
    });
}

/// The lower triangle of `A Aᵀ`: the products of all pairs of rows.
pub(crate) fn products(a: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, inner) = a.dim();
    let mut lower = Array2::zeros((rows, rows));
    with_matrix(a, |a| {
        let entries = lower.as_slice_mut().expect("just made, row after row");
        each_stripe(entries, rows, rows * rows * inner, |first, height, stripe| {
            let end = first + height;
            let (left, right) = (a.part(first..end, 0..inner), a.part(0..end, 0..inner).transposed());
            add_lower_product(stripe, rows, 1.0, (left, right), first);
        });
    });
    lower
}

/// `A B`.
pub(crate) fn multiply(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let (rows, inner, columns) = (a.nrows(), a.ncols(), b.ncols());
    let mut product = Array2::zeros((rows, columns));
    with_matrix(a, |a| {
        with_matrix(b, |b| {
            let entries = product.as_slice_mut().expect("just made, row after row");
            each_stripe(entries, columns, rows * inner * columns, |first, height, stripe| {
                add_product(stripe, columns, 1.0, a.part(first..first + height, 0..inner), b);
            });
        });
    });
    product
}

/// Calls `compute` with the first row, the height and the entries of stripes of rows.
fn each_stripe(
    entries: &mut [f64],
    width: usize,
    multiplications: usize,
    compute: impl Fn(usize, usize, &mut [f64]) + Sync,
) {
    if entries.is_empty() {
        return;
    }
    if multiplications < WORTH_SHARING {
        return compute(0, entries.len() / width, entries);
    }
    let stripes = entries.par_chunks_mut(STRIPE * width).enumerate();
    stripes.for_each(|(index, entries)| compute(index * STRIPE, entries.len() / width, entries));
}

/// Calls `then` with a matrix in place if its entries are stored by row or by column, otherwise with
/// a copy.
fn with_matrix(matrix: ArrayView2<'_, f64>, then: impl FnOnce(Matrix<'_, f64>)) {
    let (rows, columns) = matrix.dim();
    if let Some(entries) = matrix.to_slice() {
        then(Matrix::by_row(entries, (rows, columns), columns));
    } else if let Some(entries) = matrix.reversed_axes().to_slice() {
        then(Matrix::by_row(entries, (columns, rows), rows).transposed());
    } else {
        let copy: Vec<f64> = matrix.iter().copied().collect();
        then(Matrix::by_row(&copy, (rows, columns), columns));
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
