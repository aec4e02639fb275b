//! Products of matrices, `C + x A B`.
//!
//! A tile of `C` stays in registers while a block of up to [`DEPTH`] columns of `A` and rows of
//! `B` is multiplied. Both are first packed, so that the innermost loop reads contiguous memory: a
//! panel of `B` stays in the innermost cache while all rows of a block of `A` use it.
//!
//! Every entry of `C` sums its terms in order within a block, then adds the blocks in order. So its
//! bits depend neither on the number of rows and columns nor on where it lies: a row alone gets the
//! bits that it gets among others, and callers may split a product between threads in any way.

use std::ops::Range;

use super::vector::Vector;
use super::{Aligned, Isa, Real};

/// Terms that are summed in registers. A panel of `B` and the packed rows of a tile fill the
/// innermost cache.
const DEPTH: usize = 192;
/// Rows of `A` that are packed at a time: they fill about half of the second-level cache.
pub(crate) const BLOCK: usize = 264;
/// Vectors of a panel of `B`.
const PANEL: usize = 2;
/// Rows of the tiles for what is left over of a block.
const FEW: usize = 4;
/// The largest tile: 12 rows of two vectors with 16 lanes.
const EDGE: usize = 12 * PANEL * 16;

/// A view of a matrix: entry (i, j) is number `i * steps.0 + j * steps.1`. One of the steps is 1.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T> {
    numbers: &'a [T],
    size: (usize, usize),
    steps: (usize, usize),
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// A matrix stored by row, with rows `stride` apart.
    ///
    /// # Panics
    /// If there are too few numbers.
    pub fn by_row(numbers: &'a [T], (rows, columns): (usize, usize), stride: usize) -> Self {
        let needed = if rows == 0 || columns == 0 { 0 } else { (rows - 1) * stride + columns };
        assert!(columns <= stride.max(1) && needed <= numbers.len(), "too few numbers for the matrix");
        Self { numbers, size: (rows, columns), steps: (stride, 1) }
    }

    pub fn transposed(self) -> Self {
        let swapped = |(a, b): (usize, usize)| (b, a);
        Self { size: swapped(self.size), steps: swapped(self.steps), ..self }
    }

    /// Some rows and columns.
    ///
    /// # Panics
    /// If they are not in the matrix.
    pub fn part(self, rows: Range<usize>, columns: Range<usize>) -> Self {
        assert!(rows.end <= self.size.0 && columns.end <= self.size.1, "outside of the matrix");
        let first = rows.start * self.steps.0 + columns.start * self.steps.1;
        let numbers = self.numbers.get(first..).unwrap_or(&[]);
        Self { numbers, size: (rows.len(), columns.len()), steps: self.steps }
    }
}

/// The kind of the numbers in `C`.
pub(crate) trait Sum<T: Real>: Copy + Default {
    /// # Safety
    /// As for [`multiply`], apart from the instruction set.
    unsafe fn multiply(isa: Isa, task: &mut Multiplying<'_, T, Self>);
}

/// A product whose sizes fit each other.
pub(crate) struct Multiplying<'a, T, C> {
    a: Matrix<'a, T>,
    b: Matrix<'a, T>,
    factor: T,
    target: &'a mut [C],
    stride: usize,
    /// The column of the diagonal in the first row. Entries to the right of the diagonal may be
    /// left out.
    diagonal: usize,
}

/// A diagonal that is right of all columns.
const WHOLE: usize = usize::MAX / 2;

/// Adds `factor · A B` to a matrix that is stored by row, with rows `stride` apart.
///
/// # Panics
/// If the sizes do not fit each other.
pub(crate) fn add_product<T: Real, C: Sum<T>>(
    target: &mut [C],
    stride: usize,
    factor: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
) {
    add_lower_product(target, stride, factor, (a, b), WHOLE);
}

/// Like [`add_product`], for a stripe of rows of a symmetric matrix: `diagonal` is the column of
/// the diagonal in the first row. Entries to its right are computed in part; they have no meaning.
///
/// # Panics
/// If the sizes do not fit each other.
pub(crate) fn add_lower_product<T: Real, C: Sum<T>>(
    target: &mut [C],
    stride: usize,
    factor: T,
    (a, b): (Matrix<'_, T>, Matrix<'_, T>),
    diagonal: usize,
) {
    let ((rows, depth), (inner, columns)) = (a.size, b.size);
    assert_eq!(depth, inner, "factors of different depths");
    if rows == 0 || depth == 0 || columns == 0 {
        return;
    }
    assert!(columns <= stride && (rows - 1) * stride + columns <= target.len(), "too small a target");
    let mut task = Multiplying { a, b, factor, target, stride, diagonal };
    // SAFETY: the sizes were checked above, and views lie within their numbers.
    unsafe { C::multiply(Isa::in_use(), &mut task) }
}

/// How sums leave the registers.
pub(super) trait Sink<V: Vector> {
    type Number: Copy + Default;

    /// Adds the lanes to the numbers at `to`.
    ///
    /// # Safety
    /// As for [`Vector`]; `to` must be valid for reading and writing `LANES` numbers.
    unsafe fn add(lanes: V, to: *mut Self::Number);

    fn sum(a: Self::Number, b: Self::Number) -> Self::Number;
}

/// `C` has numbers of the same precision.
pub(super) struct Same;

impl<V: Vector> Sink<V> for Same {
    type Number = V::Scalar;

    #[inline(always)]
    unsafe fn add(lanes: V, to: *mut V::Scalar) {
        // SAFETY: the caller's promise.
        unsafe { V::load(to).add(lanes).store(to) }
    }

    #[inline(always)]
    fn sum(a: V::Scalar, b: V::Scalar) -> V::Scalar {
        a + b
    }
}

/// `C` has numbers of double precision.
pub(super) struct Double;

impl<V: Vector<Scalar = f32>> Sink<V> for Double {
    type Number = f64;

    #[inline(always)]
    unsafe fn add(lanes: V, to: *mut f64) {
        // SAFETY: the caller's promise.
        unsafe { lanes.add_to_doubles(to) }
    }

    #[inline(always)]
    fn sum(a: f64, b: f64) -> f64 {
        a + b
    }
}

/// The height of the next tile if `left` rows are left.
#[inline(always)]
fn height<const ROWS: usize>(left: usize) -> usize {
    if left >= ROWS {
        ROWS
    } else if left >= FEW {
        FEW
    } else {
        1
    }
}

/// Memory for packed blocks, which a thread keeps from product to product.
#[derive(Default)]
pub(super) struct Room<T> {
    left: Aligned<T>,
    right: Aligned<T>,
}

/// Computes a product in tiles of up to `ROWS` rows.
///
/// # Safety
/// As for [`Vector`]; the sizes of the task must fit each other, and its views must lie within
/// their numbers.
#[inline(always)]
pub(super) unsafe fn multiply<V: Vector, S: Sink<V>, const ROWS: usize>(
    task: &mut Multiplying<'_, V::Scalar, S::Number>,
    room: &mut Room<V::Scalar>,
) {
    let width = PANEL * V::LANES;
    let ((rows, depth), (_, columns), stride) = (task.a.size, task.b.size, task.stride);
    let Room { left, right } = room;
    left.reserve(rows.min(BLOCK) * depth.min(DEPTH));
    right.reserve(width * depth.min(DEPTH));
    let mut edge = [S::Number::default(); EDGE];
    let edge = &mut edge[..ROWS * width];
    for top in (0..rows).step_by(BLOCK) {
        let end = rows.min(top + BLOCK);
        let columns = columns.min(task.diagonal + end);
        for from in (0..depth).step_by(DEPTH) {
            let terms = from..depth.min(from + DEPTH);
            let depth = terms.len();
            // SAFETY: the caller's promise; rows, columns and terms stay below their numbers, and
            // the buffers hold a block of rows and a panel.
            unsafe {
                let mut row = top;
                while row < end {
                    let height = height::<ROWS>(end - row);
                    let to = left.as_mut_ptr().add((row - top) * depth);
                    pack_rows(task.a.part(row..row + height, terms.clone()), task.factor, to);
                    row += height;
                }
                for column in (0..columns).step_by(width) {
                    let whole = columns.min(column + width) - column;
                    pack_panel::<V>(task.b.part(terms.clone(), column..column + whole), right);
                    let mut row = top;
                    while row < end {
                        let height = height::<ROWS>(end - row);
                        if column >= task.diagonal + row + height {
                            row += height;
                            continue;
                        }
                        let a = left.as_ptr().add((row - top) * depth);
                        let target = task.target.as_mut_ptr().add(row * stride + column);
                        let (to, step) = if whole == width {
                            (target, stride)
                        } else {
                            edge.fill(S::Number::default());
                            (edge.as_mut_ptr(), width)
                        };
                        if height == ROWS {
                            tile::<V, S, ROWS>(depth, a, right.as_ptr(), to, step);
                        } else if height == FEW {
                            tile::<V, S, FEW>(depth, a, right.as_ptr(), to, step);
                        } else {
                            tile::<V, S, 1>(depth, a, right.as_ptr(), to, step);
                        }
                        if whole < width {
                            for (i, edge) in edge.chunks_exact(width).take(height).enumerate() {
                                for (j, &sum) in edge[..whole].iter().enumerate() {
                                    let to = target.add(i * stride + j);
                                    *to = S::sum(*to, sum);
                                }
                            }
                        }
                        row += height;
                    }
                }
            }
        }
    }
}

/// Copies the rows of a tile, multiplied by `factor`, one column after the other.
///
/// # Safety
/// The view must lie within its numbers, and `to` must be valid for writing all of them.
#[inline(always)]
unsafe fn pack_rows<T: Real>(rows: Matrix<'_, T>, factor: T, to: *mut T) {
    let (height, depth) = rows.size;
    // SAFETY: the caller's promise.
    unsafe {
        let from = rows.numbers.as_ptr();
        if rows.steps.1 == 1 {
            for i in 0..height {
                let row = from.add(i * rows.steps.0);
                (0..depth).for_each(|k| *to.add(k * height + i) = factor * *row.add(k));
            }
        } else {
            for k in 0..depth {
                let column = from.add(k * rows.steps.1);
                (0..height).for_each(|i| *to.add(k * height + i) = factor * *column.add(i * rows.steps.0));
            }
        }
    }
}

/// Copies a panel of `B` row by row. Zeros pad a narrow one.
///
/// # Safety
/// As for [`Vector`]; the view must lie within its numbers, and `to` must hold the rows of a whole
/// panel.
#[inline(always)]
unsafe fn pack_panel<V: Vector>(panel: Matrix<'_, V::Scalar>, to: &mut [V::Scalar]) {
    let width = PANEL * V::LANES;
    let ((depth, columns), (down, right)) = (panel.size, panel.steps);
    // SAFETY: the caller's promise; vectors are read and written only where the view and the panel
    // have as many numbers.
    unsafe {
        let (from, to) = (panel.numbers.as_ptr(), to.as_mut_ptr());
        let whole = if columns < width {
            0
        } else if right == 1 {
            for k in 0..depth {
                for v in (0..width).step_by(V::LANES) {
                    V::load(from.add(k * down + v)).store(to.add(k * width + v));
                }
            }
            depth
        } else {
            let mut k = 0;
            while k < depth && depth >= V::LANES {
                // The last squares overlap those before.
                k = k.min(depth - V::LANES);
                for v in (0..width).step_by(V::LANES) {
                    V::transpose(from.add(v * right + k), right, to.add(k * width + v), width);
                }
                k += V::LANES;
            }
            k
        };
        for k in whole..depth {
            for j in 0..width {
                *to.add(k * width + j) =
                    if j < columns { *from.add(k * down + j * right) } else { V::Scalar::default() };
            }
        }
    }
}

/// Adds the product of packed rows and a panel to a tile of `C`.
///
/// # Safety
/// As for [`Vector`]; `a` must be valid for reading `depth` columns of `R` rows, `b` as many rows of
/// a panel, and `to` for reading and writing `R` rows of a panel's width that are `stride` apart.
#[inline(always)]
unsafe fn tile<V: Vector, S: Sink<V>, const R: usize>(
    depth: usize,
    a: *const V::Scalar,
    b: *const V::Scalar,
    to: *mut S::Number,
    stride: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::splat(V::Scalar::default()); PANEL]; R];
        for k in 0..depth {
            let b = b.add(k * PANEL * V::LANES);
            let mut row = [V::splat(V::Scalar::default()); PANEL];
            for (v, entry) in row.iter_mut().enumerate() {
                *entry = V::load(b.add(v * V::LANES));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                let factor = V::splat(*a.add(k * R + r));
                for (sum, entry) in sums.iter_mut().zip(row) {
                    *sum = factor.mul_add(entry, *sum);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            for (v, sum) in sums.iter().enumerate() {
                S::add(*sum, to.add(r * stride + v * V::LANES));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn random<T: Real>(count: usize, seed: u64) -> Vec<T> {
        let mut stream = Stream::new(seed, "matmul", [count as u64, 0]);
        (0..count).map(|_| T::from_f64(stream.normal())).collect()
    }

    /// Compares products with sums of products, and with the product of single rows.
    fn check<T: Real, C: Sum<T> + Into<f64> + PartialEq + std::fmt::Debug>(accuracy: f64) {
        Isa::all().for_each(|isa| check_on::<T, C>(isa, accuracy));
    }

    fn check_on<T: Real, C: Sum<T> + Into<f64> + PartialEq + std::fmt::Debug>(isa: Isa, accuracy: f64) {
        let add_product = |target: &mut [C], stride: usize, factor: T, a: Matrix<'_, T>, b: Matrix<'_, T>| {
            let mut task = Multiplying { a, b, factor, target, stride, diagonal: WHOLE };
            // SAFETY: the sizes below fit, and the set is one of the processor's.
            unsafe { C::multiply(isa, &mut task) }
        };
        for (rows, depth, columns) in
            [(1, 1, 1), (5, 3, 7), (12, 16, 32), (13, 40, 33), (30, 200, 50), (260, 20, 70), (17, 401, 65)]
        {
            let (a, b): (Vec<T>, Vec<T>) = (random(rows * depth, 1), random(depth * columns, 2));
            for (turned, crossed) in [(false, false), (true, false), (false, true), (true, true)] {
                let a = if turned {
                    Matrix::by_row(&a, (depth, rows), rows).transposed()
                } else {
                    Matrix::by_row(&a, (rows, depth), depth)
                };
                let b = if crossed {
                    Matrix::by_row(&b, (columns, depth), depth).transposed()
                } else {
                    Matrix::by_row(&b, (depth, columns), columns)
                };
                let stride = columns + 3;
                let mut found = vec![C::default(); rows * stride];
                add_product(&mut found, stride, T::from_f64(-2.0), a, b);
                let entry =
                    |m: Matrix<'_, T>, i: usize, j: usize| m.numbers[i * m.steps.0 + j * m.steps.1].to_f64();
                for i in 0..rows {
                    let mut alone = vec![C::default(); columns];
                    add_product(&mut alone, columns, T::from_f64(-2.0), a.part(i..i + 1, 0..depth), b);
                    assert_eq!(alone[..], found[i * stride..][..columns]);
                    for j in 0..columns {
                        let terms = (0..depth).map(|k| -2.0 * entry(a, i, k) * entry(b, k, j));
                        let (sum, size) =
                            terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + f64::abs(term)));
                        let error = (found[i * stride + j].into() - sum).abs();
                        assert!(error <= accuracy * size, "{rows} {depth} {columns}: {error}");
                    }
                    assert!(found[i * stride + columns..(i + 1) * stride].iter().all(|x| *x == C::default()));
                }
            }
        }
    }

    #[test]
    fn entries_are_sums_of_products_and_do_not_depend_on_other_rows() {
        check::<f64, f64>(1e-15);
        check::<f32, f32>(5e-7);
        check::<f32, f64>(5e-7);
    }

    #[test]
    fn all_instruction_sets_agree() {
        let (rows, depth, columns) = (29, 230, 47);
        let (a, b): (Vec<f32>, Vec<f32>) = (random(rows * depth, 3), random(depth * columns, 4));
        let mut results = Isa::all().map(|isa| {
            let mut target = vec![0.0f64; rows * columns];
            let mut task = Multiplying {
                a: Matrix::by_row(&a, (rows, depth), depth),
                b: Matrix::by_row(&b, (columns, depth), depth).transposed(),
                factor: 1.0,
                target: &mut target,
                stride: columns,
                diagonal: WHOLE,
            };
            // SAFETY: the sizes fit, and the set is one of the processor's.
            unsafe { f64::multiply(isa, &mut task) }
            target
        });
        let first = results.next().unwrap();
        for other in results {
            assert!(first.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-4));
        }
    }
}
