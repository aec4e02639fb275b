//! The product of inputs (or of the states of the block below) with `V`.

use super::tile::{GROUP_ROWS, Product, SLAB, Spread, TILE};
use super::{Aligned, Projection, Real};

/// Adds `left · V` to the rows of `target`. The rows of `left` are `left_stride`
/// numbers apart; those of `target` have the stride of states.
///
/// # Panics
/// If `left` or `target` is shorter than `count` rows.
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
    let mut slab = Aligned::<T>::zeros(GROUP_ROWS * SLAB);
    let groups = Spread::new(0..count, GROUP_ROWS);
    for group in 0..groups.count {
        let (row, end) = (groups.start(group), groups.start(group + 1));
        let target = &mut target[row * stride..end * stride];
        let mut column = 0;
        for panels in &projection.slices {
            for (row, numbers) in (row..end).zip(slab.chunks_exact_mut(SLAB)) {
                let from = &left[row * left_stride + column..][..panels.depth];
                numbers[..panels.depth].copy_from_slice(from);
            }
            column += panels.depth;
            let tiles = Spread::new(0..end - row, TILE);
            let (left, target) = (slab.as_ptr(), target.as_mut_ptr());
            // SAFETY: the slab has a row for each of the group, the target was
            // cut to them, the panels are at most as deep as the slab is wide
            // and have columns for `stride`, and an `Isa` exists only where
            // the processor has it.
            unsafe { T::add_product(projection.isa, &Product { left, panels, target, stride, tiles }) }
        }
    }
}
