//! The innermost loop: a few rows times one panel of a packed matrix, with all sums in
//! registers.

use std::ops::Range;

use super::pack::{Panels, SLICE};
use super::vector::Vector;

/// Maximum rows of a tile, for every instruction set. With panels of two vectors, 12
/// sums, two vectors of the panel and one factor fill 16 registers. With panels of
/// four, 24 of 32 registers are sums.
pub(super) const TILE: usize = 6;
/// Maximum number of tiles, and of rows, that use a panel while it is in the cache.
pub(super) const GROUP: usize = 4;
pub(super) const GROUP_ROWS: usize = GROUP * TILE;

/// Divides a range evenly into as few portions as possible.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    first: usize,
    pub count: usize,
    base: usize,
    /// The first `longer` portions have one item more than `base`.
    longer: usize,
}

impl Spread {
    /// Creates portions of at most `most` items.
    pub fn new(things: Range<usize>, most: usize) -> Self {
        let count = things.len().div_ceil(most);
        let base = things.len().checked_div(count).unwrap_or(0);
        Self { first: things.start, count, base, longer: things.len() - base * count }
    }

    /// The start of a portion.
    #[inline(always)]
    pub fn start(&self, portion: usize) -> usize {
        self.first + portion * self.base + portion.min(self.longer)
    }

    /// Some of the portions, with items counted from the first of them.
    #[inline(always)]
    pub fn some(&self, portions: Range<usize>) -> Self {
        let longer = self.longer.saturating_sub(portions.start).min(portions.len());
        Self { first: 0, count: portions.len(), base: self.base, longer }
    }
}

/// Distance between rows of the left side. It is a constant so that the compiler can
/// use it in addresses.
pub(super) const SLAB: usize = SLICE;

/// Rows to multiply, [`SLAB`] numbers apart, and rows to add the products to, `stride`
/// apart.
#[derive(Clone, Copy)]
pub(crate) struct Product<'a, T> {
    pub left: *const T,
    pub panels: &'a Panels<T>,
    pub target: *mut T,
    pub stride: usize,
    pub tiles: Spread,
}

/// Adds `left · panels` to the rows of the target. Applies each panel to all tiles
/// while the panel is in the cache.
///
/// # Safety
/// As for [`Vector`]; `left` must be valid for reading as many numbers as the
/// panels are deep, `target` for reading and writing `stride`, at every row.
#[inline(always)]
pub(super) unsafe fn add_product<V: Vector>(product: &Product<'_, V::Scalar>) {
    let &Product { left, panels, target, stride, tiles } = product;
    let vectors = Spread::new(0..stride.div_ceil(V::LANES), V::PANEL);
    for panel in 0..vectors.count {
        let (column, end) = (vectors.start(panel) * V::LANES, vectors.start(panel + 1) * V::LANES);
        let tail = V::HAS_TAIL && end > stride;
        let whole = (end - column) / V::LANES - usize::from(tail);
        for tile in 0..tiles.count {
            let (row, rows) = (tiles.start(tile), tiles.start(tile + 1) - tiles.start(tile));
            // SAFETY: the caller's promise; the panel of `column` is `whole`
            // vectors wide, and half a one where there is a tail.
            unsafe {
                let (left, target) = (left.add(row * SLAB), target.add(row * stride + column));
                let (depth, panel) = (panels.depth, panels.data.as_ptr().add(column * panels.depth));
                macro_rules! rows {
                    ($P:literal, $TAIL:literal) => {
                        match rows {
                            1 => add_tile::<V, 1, $P, $TAIL>(left, depth, panel, target, stride),
                            2 => add_tile::<V, 2, $P, $TAIL>(left, depth, panel, target, stride),
                            3 => add_tile::<V, 3, $P, $TAIL>(left, depth, panel, target, stride),
                            4 => add_tile::<V, 4, $P, $TAIL>(left, depth, panel, target, stride),
                            5 => add_tile::<V, 5, $P, $TAIL>(left, depth, panel, target, stride),
                            _ => add_tile::<V, 6, $P, $TAIL>(left, depth, panel, target, stride),
                        }
                    };
                }
                match (whole, tail) {
                    (1, false) => rows!(1, false),
                    (2, false) => rows!(2, false),
                    (3, false) if V::PANEL >= 3 => rows!(3, false),
                    (4, false) if V::PANEL >= 4 => rows!(4, false),
                    (0, true) if V::HAS_TAIL => rows!(0, true),
                    (1, true) if V::HAS_TAIL => rows!(1, true),
                    (2, true) if V::HAS_TAIL => rows!(2, true),
                    (3, true) if V::HAS_TAIL => rows!(3, true),
                    _ => unreachable!("no panel is wider"),
                }
            }
        }
    }
}

/// Adds the product of `R` rows and a panel of `P` vectors and perhaps a tail. With a
/// panel of one vector each multiply-add would wait for the previous one, so even and
/// odd rows of the panel have separate sums.
///
/// # Safety
/// As for [`add_product`].
#[inline(always)]
unsafe fn add_tile<V: Vector, const R: usize, const P: usize, const TAIL: bool>(
    left: *const V::Scalar,
    depth: usize,
    mut panel: *const V::Scalar,
    target: *mut V::Scalar,
    stride: usize,
) {
    let width = P * V::LANES;
    // SAFETY: the caller's promise; `k` and, where it is used, `k + 1` are below `depth`.
    unsafe {
        let zero = V::splat(V::Scalar::default());
        let mut sums = [[zero; P]; R];
        for (r, row) in sums.iter_mut().enumerate() {
            for (p, sum) in row.iter_mut().enumerate() {
                *sum = V::load(target.add(r * stride + p * V::LANES));
            }
        }
        let mut k = 0;
        if TAIL {
            let mut tails = [zero; R];
            while k + 1 < depth {
                add_row(&mut sums, left.add(k), panel);
                add_row(&mut sums, left.add(k + 1), panel.add(width));
                let line = V::load(panel.add(2 * width));
                for (r, tail) in tails.iter_mut().enumerate() {
                    *tail = V::splat_pair(left.add(r * SLAB + k)).mul_add(line, *tail);
                }
                panel = panel.add(2 * width + V::LANES);
                k += 2;
            }
            if k < depth {
                add_row(&mut sums, left.add(k), panel);
            }
            for (r, tail) in tails.into_iter().enumerate() {
                let target = target.add(r * stride + width);
                let mut tail = tail.add_pairs().add(V::Half::load(target));
                if k < depth {
                    tail = V::Half::splat(*left.add(r * SLAB + k))
                        .mul_add(V::Half::load(panel.add(width)), tail);
                }
                tail.store(target);
            }
        } else if P == 1 {
            let mut odd = [[zero; P]; R];
            while k + 1 < depth {
                add_row(&mut sums, left.add(k), panel);
                add_row(&mut odd, left.add(k + 1), panel.add(width));
                panel = panel.add(2 * width);
                k += 2;
            }
            if k < depth {
                add_row(&mut sums, left.add(k), panel);
            }
            for (sums, odd) in sums.iter_mut().zip(odd) {
                for (sum, odd) in sums.iter_mut().zip(odd) {
                    *sum = sum.add(odd);
                }
            }
        } else {
            while k < depth {
                add_row(&mut sums, left.add(k), panel);
                panel = panel.add(width);
                k += 1;
            }
        }
        for (r, row) in sums.iter().enumerate() {
            for (p, sum) in row.iter().enumerate() {
                sum.store(target.add(r * stride + p * V::LANES));
            }
        }
    }
}

/// # Safety
/// As for [`add_tile`], for one row of the panel without its tail.
#[inline(always)]
unsafe fn add_row<V: Vector, const R: usize, const P: usize>(
    sums: &mut [[V; P]; R],
    left: *const V::Scalar,
    panel: *const V::Scalar,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut line = [V::splat(V::Scalar::default()); P];
        for (p, vector) in line.iter_mut().enumerate() {
            *vector = V::load(panel.add(p * V::LANES));
        }
        for (r, row) in sums.iter_mut().enumerate() {
            let factor = V::splat(*left.add(r * SLAB));
            for (sum, vector) in row.iter_mut().zip(line) {
                *sum = factor.mul_add(vector, *sum);
            }
        }
    }
}
