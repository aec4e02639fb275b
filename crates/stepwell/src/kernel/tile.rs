//! The innermost loop: a few rows times one panel of a packed matrix, all
//! sums held in registers.

use super::vector::Vector;

/// Most rows of a tile: with panels of two vectors, 12 sums, which together
/// with two vectors of the panel and one of the left side fill 16 registers.
pub(super) const TILE: usize = 6;

/// Calls `$body` with the constant `$rows` equal to `$count`, 1 to [`TILE`].
macro_rules! with_rows {
    ($count:expr, $rows:ident => $body:expr) => {
        match $count {
            1 => {
                const $rows: usize = 1;
                $body
            }
            2 => {
                const $rows: usize = 2;
                $body
            }
            3 => {
                const $rows: usize = 3;
                $body
            }
            4 => {
                const $rows: usize = 4;
                $body
            }
            5 => {
                const $rows: usize = 5;
                $body
            }
            _ => {
                const $rows: usize = 6;
                $body
            }
        }
    };
}
pub(super) use with_rows;

/// Spreads rows evenly over as few tiles as there must be.
#[derive(Clone, Copy)]
pub(super) struct Tiles {
    first: usize,
    pub count: usize,
    base: usize,
    /// So many tiles, the first ones, have one row more than `base`.
    longer: usize,
}

impl Tiles {
    pub fn new(rows: std::ops::Range<usize>) -> Self {
        let count = rows.len().div_ceil(TILE);
        let base = rows.len().checked_div(count).unwrap_or(0);
        Self { first: rows.start, count, base, longer: rows.len() - base * count }
    }

    /// Where a tile begins.
    #[inline(always)]
    pub fn start(&self, tile: usize) -> usize {
        self.first + tile * self.base + tile.min(self.longer)
    }
}

/// Adds `left · panel` to `sums`. A panel of one vector would leave the
/// multipliers waiting for their own results, so that its even and odd rows
/// have sums of their own.
///
/// # Safety
/// As for [`Vector`]; `left` must be valid for reading `depth` numbers at `R`
/// rows `left_stride` apart, `panel` for `depth` rows of `P` vectors.
#[inline(always)]
pub(super) unsafe fn multiply<V: Vector, const R: usize, const P: usize>(
    sums: &mut [[V; P]; R],
    left: *const V::Scalar,
    left_stride: usize,
    depth: usize,
    panel: *const V::Scalar,
) {
    // SAFETY: the caller's promise; `k` and, where it is used, `k + 1` are below `depth`.
    unsafe {
        if P == 2 {
            for k in 0..depth {
                multiply_row(sums, left.add(k), left_stride, panel.add(k * P * V::LANES));
            }
            return;
        }
        let mut odd = [[V::splat(V::Scalar::default()); P]; R];
        let mut k = 0;
        while k + 1 < depth {
            multiply_row(sums, left.add(k), left_stride, panel.add(k * P * V::LANES));
            multiply_row(&mut odd, left.add(k + 1), left_stride, panel.add((k + 1) * P * V::LANES));
            k += 2;
        }
        if k < depth {
            multiply_row(sums, left.add(k), left_stride, panel.add(k * P * V::LANES));
        }
        for (sums, odd) in sums.iter_mut().zip(odd) {
            for (sum, odd) in sums.iter_mut().zip(odd) {
                *sum = sum.add(odd);
            }
        }
    }
}

/// # Safety
/// As for [`multiply`], for a depth of 1.
#[inline(always)]
unsafe fn multiply_row<V: Vector, const R: usize, const P: usize>(
    sums: &mut [[V; P]; R],
    left: *const V::Scalar,
    left_stride: usize,
    panel: *const V::Scalar,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut line = [V::splat(V::Scalar::default()); P];
        for (p, vector) in line.iter_mut().enumerate() {
            *vector = V::load(panel.add(p * V::LANES));
        }
        for (r, row) in sums.iter_mut().enumerate() {
            let factor = V::splat(*left.add(r * left_stride));
            for (sum, vector) in row.iter_mut().zip(line) {
                *sum = factor.mul_add(vector, *sum);
            }
        }
    }
}
