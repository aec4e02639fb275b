//! Reduces a symmetric matrix to a narrow band, `M = Q B Qᵀ`.
//!
//! Computing `xᵀ (M + alpha)⁻¹ x` for many rows and several alphas does not need the
//! eigenvectors of `M`. A band is enough: with `z = Qᵀ x` and the Cholesky factor `L`
//! of `B + alpha`, which costs next to nothing, the value is `|L⁻¹ z|²`. Blocks of
//! reflections reduce the matrix to the band with matrix products alone (Bischof, Lang
//! and Sun, 2000). Eigenvectors would take several times as long.
//!
//! The work is cut into stripes of fixed height, so that the bits do not depend on the
//! number of threads.

use std::sync::OnceLock;

use super::matmul;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{qr, triangular_solve};
use faer::{Accum, Mat, MatMut, MatRef, Par};
use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;

use crate::kernel::{ABREAST, Banded, Matrix, Real, Sum, add_product, leave_wide_registers};

/// Number of entries beside the diagonal.
const WIDTH: usize = 32;
/// Rows that one thread processes at a time.
const STRIPE: usize = 128;
/// Blocks of reflections that are merged before they rotate rows: products with wide blocks read the
/// rows less often.
const MERGED: usize = 6;
/// Rows that one thread rotates at a time.
const ROTATED: usize = 256;

/// The band and the reflections that produce it.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    /// The lower part of the band, by row: row i holds columns `i - WIDTH` to i.
    rows: Vec<[f64; WIDTH + 1]>,
    rotations: Vec<Rotation<f64>>,
    /// Computed on first use.
    rounded: OnceLock<Vec<Rotation<f32>>>,
}

/// A block of reflections, `I - V T⁻¹ Vᵀ`. The last of them ends at the last column.
struct Reflections {
    basis: Mat<f64>,
    factor: Mat<f64>,
}

/// Several blocks of reflections, `I - V Uᵀ`, which change the last columns.
#[derive(Clone, Debug)]
struct Rotation<T> {
    width: usize,
    /// `Vᵀ` and `Uᵀ`, stored by row.
    v: Vec<T>,
    u: Vec<T>,
}

impl Band {
    /// The band of a symmetric matrix. Reads only the lower triangle.
    pub fn of(mut matrix: Array2<f64>) -> Self {
        let n = matrix.nrows();
        if !matrix.is_standard_layout() {
            matrix = matrix.as_standard_layout().into_owned();
        }
        let entries = matrix.as_slice_mut().expect("made to lie row after row");
        // Stripes need complete blocks on the diagonal: copy the lower triangle up within each.
        for i in 0..n {
            for j in i + 1..(i - i % STRIPE + STRIPE).min(n) {
                entries[i * n + j] = entries[j * n + i];
            }
        }
        let mut reflections = Vec::new();
        for first in (WIDTH..n).step_by(WIDTH) {
            let found = Reflections::of_panel(entries, n, first);
            found.apply_on_both_sides(entries, n, first);
            reflections.push(found);
        }
        let row = |i: usize| {
            let entry = |at: usize| (i + at).checked_sub(WIDTH).map_or(0.0, |j| entries[i * n + j]);
            std::array::from_fn(entry)
        };
        let rows = (0..n).map(row).collect();
        drop(matrix);
        let rotations = reflections.par_chunks(MERGED).map(Rotation::of).collect();
        Self { rows, rotations, rounded: OnceLock::new() }
    }

    /// Replaces the rows `X` by `X Q`.
    pub fn rotate(&self, x: &mut Array2<f64>) {
        rotate(&self.rotations, x);
    }

    /// The same in single precision, which takes half the time. The error is about 1e-6
    /// of a row's length.
    pub fn rotate_roughly(&self, x: &mut Array2<f32>) {
        if self.rounded.get().is_none() {
            // Not within the lock, which must not wait for other threads.
            let rounded = self.rotations.par_iter().map(Rotation::rounded).collect();
            self.rounded.get_or_init(|| rounded);
        }
        rotate(self.rounded.get().expect("just computed"), x);
    }

    /// The factor of `B + alpha`. `None` if that is not positive definite.
    pub fn factorise(&self, alpha: f64) -> Option<BandFactor> {
        let n = self.rows.len();
        let mut rows = self.rows.clone();
        for i in 0..n {
            let (above, below) = rows.split_at_mut(i);
            let row = &mut below[0];
            row[WIDTH] += alpha;
            for at in WIDTH.saturating_sub(i)..=WIDTH {
                let j = i + at - WIDTH;
                // The columns that both rows have, starting with the first of row i.
                let shared: f64 = if j < i {
                    let other = &above[j];
                    (0..at).map(|k| row[k] * other[WIDTH - at + k]).sum()
                } else {
                    row[..WIDTH].iter().map(|x| x * x).sum()
                };
                row[at] -= shared;
                if j < i {
                    row[at] /= above[j][WIDTH];
                }
            }
            let pivot = row[WIDTH];
            if !pivot.is_finite() || pivot <= 0.0 {
                return None;
            }
            row[WIDTH] = pivot.sqrt();
        }
        rows.iter_mut().for_each(|row| row[WIDTH] = 1.0 / row[WIDTH]);
        Some(BandFactor { rows })
    }

    /// For each alpha, the factor `L` of `B + alpha`, and `L⁻¹ Qᵀ R` with one row per column of
    /// `R`. `None` if `B + alpha` is not positive definite.
    pub fn factorise_for(
        &self,
        right: ArrayView2<'_, f64>,
        alphas: &[f64],
    ) -> Vec<Option<(BandFactor, Array2<f64>)>> {
        let mut aligned = right.t().as_standard_layout().into_owned();
        self.rotate(&mut aligned);
        let factors = alphas.par_iter().map(|&alpha| {
            let factor = self.factorise(alpha)?;
            let aligned = factor.forward(aligned.view());
            Some((factor, aligned))
        });
        factors.collect()
    }

    /// A bound on the modulus of all eigenvalues: the largest sum of moduli in a row.
    pub fn norm(&self) -> f64 {
        let n = self.rows.len();
        let row = |i: usize| {
            let below = (i + 1..n.min(i + WIDTH + 1)).map(|k| self.rows[k][WIDTH + i - k].abs());
            self.rows[i].iter().map(|x| x.abs()).sum::<f64>() + below.sum::<f64>()
        };
        (0..n).map(row).fold(0.0, f64::max)
    }
}

impl Rotation<f64> {
    /// Merges blocks of reflections. With `V = [V₁ V₂]`, the matrix `T` has `V₁ᵀ V₂` beside `T₁`
    /// and `T₂`, because `T + Tᵀ = VᵀV`.
    fn of(blocks: &[Reflections]) -> Self {
        let height = blocks.first().map_or(0, |block| block.basis.nrows());
        let width = blocks.iter().map(|block| block.basis.ncols()).sum();
        let (mut v, mut factor) = (Mat::<f64>::zeros(height, width), Mat::<f64>::zeros(width, width));
        let mut left = 0;
        for Reflections { basis, factor: own } in blocks {
            let (rows, columns) = (basis.nrows(), basis.ncols());
            v.as_mut().submatrix_mut(height - rows, left, rows, columns).copy_from(basis);
            let before = v.as_ref().submatrix(height - rows, 0, rows, left);
            let beside = factor.as_mut().submatrix_mut(0, left, left, columns);
            matmul(beside, Accum::Replace, before.transpose(), basis.as_ref(), 1.0);
            for j in 0..columns {
                (0..=j).for_each(|i| factor[(left + i, left + j)] = own[(i, j)]);
            }
            left += columns;
        }
        let numbers = |matrix: &Mat<f64>| (0..width).flat_map(|j| matrix.col(j).iter().copied()).collect();
        let own = numbers(&v);
        // Uᵀ = T⁻¹ Vᵀ.
        let turned = v.as_mut().transpose_mut();
        triangular_solve::solve_upper_triangular_in_place(factor.as_ref(), turned, Par::Seq);
        leave_wide_registers();
        Self { width, v: own, u: numbers(&v) }
    }

    fn rounded(&self) -> Rotation<f32> {
        let rounded = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect();
        Rotation { width: self.width, v: rounded(&self.v), u: rounded(&self.u) }
    }
}

impl Reflections {
    /// The reflections that clear the panel left of column `first` except for its band.
    fn of_panel(entries: &mut [f64], n: usize, first: usize) -> Self {
        let height = n - first;
        let width = WIDTH.min(height);
        let mut panel = Mat::from_fn(height, WIDTH, |i, j| entries[(first + i) * n + first - WIDTH + j]);
        let mut factor = Mat::zeros(width, width);
        let scratch = qr::no_pivoting::factor::qr_in_place_scratch::<f64>(
            height,
            WIDTH,
            width,
            Par::Seq,
            Default::default(),
        );
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        qr::no_pivoting::factor::qr_in_place(
            panel.as_mut(),
            factor.as_mut(),
            Par::Seq,
            stack,
            Default::default(),
        );
        for i in 0..height.min(WIDTH) {
            for j in 0..WIDTH {
                entries[(first + i) * n + first - WIDTH + j] = if j >= i { panel[(i, j)] } else { 0.0 };
            }
        }
        let basis = Mat::from_fn(height, width, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => panel[(i, j)],
        });
        Self { basis, factor }
    }

    /// Replaces the rest `B` of the matrix, from row and column `first` on, by
    /// `Qᵀ B Q`: with `X = B V T⁻¹` and `W = X - V T⁻ᵀ VᵀX / 2` it is
    /// `B - V Wᵀ - W Vᵀ`.
    fn apply_on_both_sides(&self, entries: &mut [f64], n: usize, first: usize) {
        let Self { basis, factor } = self;
        let (height, width) = (basis.nrows(), basis.ncols());
        // Stripes begin at the same rows as in the whole matrix.
        let start = first / STRIPE * STRIPE;
        let whole = Matrix::by_row(&*entries, (n, n), n);
        let by_column: Vec<f64> = (0..width).flat_map(|j| basis.col(j).iter().copied()).collect();
        let turned = Matrix::by_row(&by_column, (width, height), height);
        let stripes: Vec<usize> = (start..n).step_by(STRIPE).collect();
        // (B V)ᵀ, of which every stripe has some columns.
        let parts = stripes.into_par_iter().map(|top| {
            let (top, end) = (top.max(first), (top + STRIPE).min(n));
            let mut part = vec![0.0; width * (end - top)];
            let left = whole.part(top..end, first..end).transposed();
            add_product(&mut part, end - top, 1.0, turned.part(0..width, 0..end - first), left);
            let below = whole.part(end..n, top..end);
            add_product(&mut part, end - top, 1.0, turned.part(0..width, end - first..height), below);
            part
        });
        let parts: Vec<Vec<f64>> = parts.collect();
        let mut x = Mat::<f64>::zeros(height, width);
        let mut top = 0;
        for part in parts {
            let count = part.len() / width;
            let part = MatRef::from_row_major_slice(&part, width, count);
            x.as_mut().subrows_mut(top, count).copy_from(part.transpose());
            top += count;
        }
        // X T = B V, that is Tᵀ Xᵀ = (B V)ᵀ.
        let lower = factor.transpose();
        triangular_solve::solve_lower_triangular_in_place(lower, x.as_mut().transpose_mut(), Par::Seq);
        let mut half = Mat::<f64>::zeros(width, width);
        matmul(half.as_mut(), Accum::Replace, basis.transpose(), x.as_ref(), 0.5);
        triangular_solve::solve_lower_triangular_in_place(lower, half.as_mut(), Par::Seq);
        matmul(x.as_mut(), Accum::Add, basis.as_ref(), half.as_ref(), -1.0);
        let by_column: Vec<f64> =
            by_column.into_iter().chain((0..width).flat_map(|j| x.col(j).iter().copied())).collect();
        let pair = Matrix::by_row(&by_column, (2 * width, height), height);
        let swapped = [&by_column[width * height..], &by_column[..width * height]].concat();
        let swapped = Matrix::by_row(&swapped, (2 * width, height), height);
        each_stripe(&mut entries[start * n..], n, |index, rows| {
            let end = start + index * STRIPE + rows.len() / n;
            let top = (start + index * STRIPE).max(first);
            let skipped = rows.len() / n - (end - top);
            let left = pair.part(0..2 * width, top - first..end - first).transposed();
            let right = swapped.part(0..2 * width, 0..end - first);
            add_product(&mut rows[skipped * n + first..], n, -1.0, left, right);
        });
    }
}

/// `L` with `L Lᵀ = B + alpha`. The diagonal holds the reciprocals.
#[derive(Clone, Debug)]
pub(crate) struct BandFactor {
    rows: Vec<[f64; WIDTH + 1]>,
}

impl BandFactor {
    /// `L⁻¹ z` for every row `z`.
    pub fn forward(&self, rows: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut solved = Array2::zeros(rows.dim());
        let groups = rows.axis_chunks_iter(Axis(0), ABREAST);
        for (rows, mut solved) in groups.zip(solved.axis_chunks_iter_mut(Axis(0), ABREAST)) {
            let z = abreast(rows);
            let mut u = vec![0.0; z.len()];
            self.banded().solve(&z, &mut u);
            solved.indexed_iter_mut().for_each(|((row, i), x)| *x = u[i * ABREAST + row]);
        }
        solved
    }

    /// The lower triangle, by row, for the kernel.
    pub fn banded(&self) -> Banded<'_> {
        Banded { rows: self.rows.as_flattened(), width: WIDTH }
    }

    /// Replaces one column `u` by `L⁻ᵀ u`.
    pub fn backward(&self, u: &mut [f64]) {
        for i in (0..u.len()).rev() {
            let row = &self.rows[i];
            u[i] *= row[WIDTH];
            let (known, solved) = (u[i], i.min(WIDTH));
            for (x, entry) in u[i - solved..i].iter_mut().zip(&row[WIDTH - solved..]) {
                *x -= known * entry;
            }
        }
    }
}

fn rotate<T: Real + Sum<T>>(rotations: &[Rotation<T>], x: &mut Array2<T>) {
    let n = x.ncols();
    let entries = x.as_slice_mut().expect("rows lie one after the other");
    entries.par_chunks_mut(ROTATED * n.max(1)).for_each(|rows| {
        let count = rows.len() / n;
        let mut along = Vec::new();
        for Rotation { width, v, u } in rotations {
            let (width, height) = (*width, v.len() / width);
            let [v, u] = [v, u].map(|numbers| Matrix::by_row(numbers, (width, height), height));
            along.clear();
            along.resize(count * width, T::default());
            let changed = Matrix::by_row(&*rows, (count, n), n).part(0..count, n - height..n);
            add_product(&mut along, width, T::from_f64(1.0), changed, v.transposed());
            let along = Matrix::by_row(&along, (count, width), width);
            add_product(&mut rows[n - height..], n, T::from_f64(-1.0), along, u);
        }
    });
}

/// Up to [`ABREAST`] rows as adjacent columns. Missing rows are 0.
pub(crate) fn abreast<T: Copy + Into<f64>>(rows: ArrayView2<'_, T>) -> Vec<f64> {
    let mut columns = vec![0.0; rows.ncols() * ABREAST];
    for (at, row) in rows.outer_iter().enumerate().take(ABREAST) {
        columns.chunks_exact_mut(ABREAST).zip(row).for_each(|(columns, x)| columns[at] = (*x).into());
    }
    columns
}

/// `A U`, where `U` has [`ABREAST`] columns and is stored by row.
pub(crate) fn multiply_abreast(a: ArrayView2<'_, f64>, u: &[f64]) -> Array2<f64> {
    let mut product = Array2::zeros((a.nrows(), ABREAST));
    let entries = product.as_slice_mut().expect("just made, row after row");
    let target = MatMut::from_row_major_slice_mut(entries, a.nrows(), ABREAST);
    let a = a.as_standard_layout();
    let left = MatRef::from_row_major_slice(a.as_slice().expect("in standard layout"), a.nrows(), a.ncols());
    let right = MatRef::from_row_major_slice(u, a.ncols(), ABREAST);
    matmul(target, Accum::Replace, left, right, 1.0);
    product
}

/// Calls `compute` with the index and the entries of every stripe of rows.
fn each_stripe(entries: &mut [f64], width: usize, compute: impl Fn(usize, &mut [f64]) + Sync) {
    if width > 0 {
        entries.par_chunks_mut(STRIPE * width).enumerate().for_each(|(index, rows)| compute(index, rows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::solve_positive;
    use crate::rng::Stream;

    #[test]
    fn the_band_says_the_same_of_every_row() {
        for (n, count) in [(1, 3), (5, 9), (32, 40), (33, 40), (64, 70), (100, 300), (300, 200), (300, 301)] {
            let mut stream = Stream::new(1, "band", [n as u64, count as u64]);
            let rows = Array2::from_shape_simple_fn((count, n), || stream.normal());
            let matrix = rows.t().dot(&rows);
            let band = Band::of(matrix.clone());
            assert!(band.norm() >= matrix.diag().iter().copied().fold(0.0, f64::max));
            let mut rotated = rows.clone();
            band.rotate(&mut rotated);
            for alpha in [1e-3, 1.0, 1e3] {
                let factor = band.factorise(alpha).unwrap();
                let mut shifted = matrix.clone();
                shifted.diag_mut().map_inplace(|x| *x += alpha);
                let solved = solve_positive(shifted, rows.t()).unwrap();
                let half = factor.forward(rotated.view());
                for i in 0..count {
                    let (row, solved) = (rows.row(i), solved.column(i));
                    let scale = row.dot(&row) / alpha;
                    assert!((half.row(i).dot(&half.row(i)) - row.dot(&solved)).abs() < 1e-11 * scale);
                    let mut whole = half.row(i).to_vec();
                    factor.backward(&mut whole);
                    let square: f64 = whole.iter().map(|x| x * x).sum();
                    assert!((square - solved.dot(&solved)).abs() < 1e-11 * scale / alpha);
                }
            }
        }
    }

    #[test]
    fn what_is_not_positive_has_no_factor_and_nothing_is_a_band_too() {
        assert!(Band::of(-Array2::<f64>::eye(40)).factorise(0.5).is_none());
        assert!(Band::of(Array2::from_elem((3, 3), f64::NAN)).factorise(0.5).is_none());
        let zeros = Band::of(Array2::zeros((70, 70)));
        let mut rows = Array2::ones((2, 70));
        zeros.rotate(&mut rows);
        assert!(
            (zeros.factorise(4.0).unwrap().forward(rows.view()).mapv(|x| x * x).sum() - 35.0).abs() < 1e-12
        );
        Band::of(Array2::zeros((0, 0))).rotate(&mut Array2::zeros((0, 0)));
    }

    #[test]
    #[ignore = "times only"]
    fn time() {
        let (n, count) = (2000, 4096);
        let mut stream = Stream::new(1, "band", [n as u64, count as u64]);
        let mut rows = Array2::from_shape_simple_fn((count, n), || stream.normal());
        let clock =
            |what: &str, start: std::time::Instant| println!("{what} {:.3}", start.elapsed().as_secs_f64());
        let start = std::time::Instant::now();
        let mut matrix = Array2::zeros((n, n));
        crate::linalg::add_gram(rows.as_slice().unwrap(), n, matrix.as_slice_mut().unwrap());
        clock("gram", start);
        let start = std::time::Instant::now();
        let other = crate::linalg::multiply(rows.view(), matrix.view());
        clock("product", start);
        let start = std::time::Instant::now();
        let band = Band::of(matrix.clone());
        clock("band", start);
        let start = std::time::Instant::now();
        band.rotate(&mut rows);
        clock("rotate", start);
        let start = std::time::Instant::now();
        let factor = band.factorise(1.0).unwrap();
        clock("factor", start);
        let start = std::time::Instant::now();
        let solved = factor.forward(rows.view());
        clock("forward", start);
        let start = std::time::Instant::now();
        crate::linalg::spectrum::symmetric(matrix.view()).unwrap();
        clock("eigen", start);
        println!("{} {}", solved[(0, 0)], other[(0, 0)]);
    }
}
