//! The product of inputs (or of the states below) with `V`.

use super::pack::Panels;
use super::tile::{Tiles, multiply, with_rows};
use super::vector::Vector;
use super::{Projection, Real};

/// One product to be added to what the target holds.
pub(crate) struct Projecting<'a, T> {
    left: *const T,
    left_stride: usize,
    count: usize,
    panels: &'a Panels<T>,
    target: *mut T,
    stride: usize,
}

/// Adds `left · V` to the rows of `target`. The rows of `left` are
/// `left_stride` numbers apart, those of `target` as far as states are.
///
/// # Panics
/// When `left` or `target` is shorter than `count` rows.
pub(crate) fn project<T: Real>(
    projection: &Projection<T>,
    left: &[T],
    left_stride: usize,
    count: usize,
    target: &mut [T],
) {
    let stride = projection.stride;
    assert!(projection.inputs <= left_stride && left.len() >= count * left_stride, "left side too short");
    assert!(target.len() >= count * stride, "target too short");
    let mut first = 0;
    for panels in &projection.slices {
        let task = Projecting {
            left: left[first..].as_ptr(),
            left_stride,
            count,
            panels,
            target: target.as_mut_ptr(),
            stride,
        };
        first += panels.depth;
        // SAFETY: the lengths were checked above, the panels are `stride`
        // columns wide, and an `Isa` exists only where the processor has it.
        unsafe { T::project_rows(projection.isa, &task) }
    }
}

/// # Safety
/// As for [`Vector`]; the pointers of the task must be valid for its rows.
#[inline(always)]
pub(super) unsafe fn rows<V: Vector>(task: &Projecting<'_, V::Scalar>) {
    let tiles = Tiles::new(0..task.count);
    for tile in 0..tiles.count {
        let (first, end) = (tiles.start(tile), tiles.start(tile + 1));
        let mut column = 0;
        while column < task.stride {
            let narrow = column + 2 * V::LANES > task.stride;
            // SAFETY: the caller's promise; rows and columns stay below their numbers.
            unsafe {
                if narrow {
                    with_rows!(end - first, R => add::<V, R, 1>(task, first, column))
                } else {
                    with_rows!(end - first, R => add::<V, R, 2>(task, first, column))
                }
            }
            column += 2 * V::LANES;
        }
    }
}

/// # Safety
/// As for [`rows`]; `R` rows from `first` and `P` vectors from `column` on must exist.
#[inline(always)]
unsafe fn add<V: Vector, const R: usize, const P: usize>(
    task: &Projecting<'_, V::Scalar>,
    first: usize,
    column: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::splat(V::Scalar::default()); P]; R];
        let at = |r: usize, p: usize| task.target.add((first + r) * task.stride + column + p * V::LANES);
        for (r, row) in sums.iter_mut().enumerate() {
            for (p, sum) in row.iter_mut().enumerate() {
                *sum = V::load(at(r, p));
            }
        }
        let depth = task.panels.depth;
        let left = task.left.add(first * task.left_stride);
        multiply(&mut sums, left, task.left_stride, depth, task.panels.data.as_ptr().add(column * depth));
        for (r, row) in sums.iter().enumerate() {
            for (p, sum) in row.iter().enumerate() {
                sum.store(at(r, p));
            }
        }
    }
}
