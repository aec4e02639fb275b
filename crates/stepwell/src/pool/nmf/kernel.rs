//! The inner loops of coordinate descent, with the vector instructions that the machine
//! has.
//!
//! Products are rounded before they are added, although some machines could fuse the
//! two. If A is factorised exactly, gradients are then exactly 0 more often, and fewer
//! entries of `S` are rounding errors. All machines give the same bits.

use std::ops::{Deref, DerefMut};

use pulp::{Simd, WithSimd, bytemuck};

use super::factor::{Gram, Rows};

/// Columns of the Gram matrix processed together: a row of a panel fits in registers.
pub const PANEL: usize = 16;
/// Vertices whose rows are updated side by side.
pub const ABREAST: usize = 16;

/// Numbers processed together, aligned to cache lines. Unaligned vectors can straddle
/// two lines and take a quarter more time.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Lanes([f64; PANEL]);

impl Deref for Lanes {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl DerefMut for Lanes {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.0
    }
}

/// Moves the coordinates of one row to their minima, one after the other, and adds the
/// row to `rows`. Returns the violation of the optimality conditions.
pub struct UpdateRow<'a> {
    /// Columns and values of the old row, without zeros.
    pub old: (&'a [u32], &'a [f64]),
    pub gram: &'a Gram,
    /// The part of the gradient that does not depend on the row, negated.
    pub targets: &'a [f64],
    pub rows: &'a mut Rows,
}

impl WithSimd for UpdateRow<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { old: (mut columns, mut values), gram, targets, rows } = self;
        let begin = rows.columns.len();
        let mut violation = 0.0;
        for (panel, targets) in targets.chunks(PANEL).enumerate() {
            let first = panel * PANEL;
            let (whole, gram) = (gram, gram.panel(panel));
            // Lanes beyond the last column keep a gradient of 0, which moves nothing.
            let mut gradient = Lanes::default();
            gradient.iter_mut().zip(targets).for_each(|(slope, target)| *slope = -target);
            // The gradient uses new entries left of the panel, and old entries from the panel
            // on.
            let new = rows.columns[begin..].iter().zip(&rows.values[begin..]);
            accumulate(simd, &mut gradient, new, gram);
            accumulate(simd, &mut gradient, columns.iter().zip(values), gram);

            let here = columns.iter().take_while(|&&column| (column as usize) < first + PANEL).count();
            let mut done = 0;
            for at in 0..=here {
                let stop = if at < here { columns[at] as usize - first } else { PANEL };
                // A coordinate at 0 stays there unless its gradient is negative. Few are
                // negative, so branch prediction continues with the next entry before the
                // result is known.
                loop {
                    let falling = negative(simd, &gradient) & lanes(done, stop);
                    if falling == 0 {
                        break;
                    }
                    let lane = falling.trailing_zeros() as usize % PANEL;
                    violation += step(simd, lane, 0.0, &mut gradient, panel, whole, rows);
                    done = lane + 1;
                }
                if at < here {
                    violation += step(simd, stop % PANEL, values[at], &mut gradient, panel, whole, rows);
                    done = stop + 1;
                }
            }
            (columns, values) = (&columns[here..], &values[here..]);
        }
        rows.starts.push(rows.columns.len());
        violation
    }
}

/// Moves one coordinate, updates the gradient, and returns the violation.
#[inline(always)]
fn step<S: Simd>(
    simd: S,
    lane: usize,
    old: f64,
    gradient: &mut Lanes,
    panel: usize,
    gram: &Gram,
    rows: &mut Rows,
) -> f64 {
    let column = panel * PANEL + lane;
    let (slope, curvature) = (gradient[lane], gram.curvature(column));
    let new = if curvature == 0.0 { old } else { (old - slope / curvature).max(0.0) };
    let column = column as u32;
    if new != 0.0 {
        rows.columns.push(column);
        rows.values.push(new);
    }
    accumulate(simd, gradient, [(&column, &(new - old))].into_iter(), gram.panel(panel));
    slope.abs()
}

/// `gradient += Σ value · gram[column]`.
#[inline(always)]
fn accumulate<'a, S: Simd>(
    simd: S,
    gradient: &mut Lanes,
    entries: impl Iterator<Item = (&'a u32, &'a f64)>,
    gram: &[Lanes],
) {
    let (gradient, _) = S::as_mut_simd_f64s(gradient);
    // Only as many of these vectors are used as a panel needs.
    let mut sums = [simd.splat_f64s(0.0); PANEL];
    sums.iter_mut().zip(&*gradient).for_each(|(sum, slope)| *sum = *slope);
    for (&column, &value) in entries {
        let value = simd.splat_f64s(value);
        let (row, _) = S::as_simd_f64s(&gram[column as usize]);
        for (sum, &entry) in sums.iter_mut().zip(row) {
            *sum = simd.add_f64s(*sum, simd.mul_f64s(value, entry));
        }
    }
    gradient.iter_mut().zip(&sums).for_each(|(slope, sum)| *slope = *sum);
}

/// The lanes `from..to`, as a bit mask.
#[inline(always)]
fn lanes(from: usize, to: usize) -> u64 {
    (1 << to) - (1 << from.min(to))
}

/// The negative lanes, as a bit mask.
#[inline(always)]
fn negative<S: Simd>(simd: S, gradient: &Lanes) -> u64 {
    const BITS: [u64; PANEL] = {
        let mut bits = [1; PANEL];
        let mut lane = 0;
        while lane < PANEL {
            bits[lane] = 1 << lane;
            lane += 1;
        }
        bits
    };
    let (zero, none) = (simd.splat_f64s(0.0), simd.splat_u64s(0));
    let mut found = [none];
    for (&slope, &bits) in S::as_simd_f64s(gradient).0.iter().zip(S::as_simd_u64s(&BITS).0) {
        let bits = simd.select_u64s(simd.less_than_f64s(slope, zero), bits, none);
        found[0] = simd.or_u64s(found[0], bits);
    }
    bytemuck::cast_slice::<_, u64>(&found).iter().fold(0, |bits, more| bits | more)
}

/// Does the work of [`UpdateRow`] for [`ABREAST`] rows with few zeros at once: updates
/// the columns of `rows` in place. Returns each row's violation.
pub struct UpdateAbreast<'a> {
    /// One entry of each row per column.
    pub rows: &'a mut [Lanes],
    pub gram: &'a Gram,
    /// As in [`UpdateRow`], one entry of each row per column.
    pub targets: &'a [Lanes],
}

impl WithSimd for UpdateAbreast<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Lanes {
        let Self { rows, gram, targets } = self;
        let zero = simd.splat_f64s(0.0);
        let mut violations = Lanes::default();
        for (column, targets) in targets.iter().enumerate() {
            // Only as many of these vectors are used as there are rows.
            let mut slopes = [zero; ABREAST];
            for (slope, &target) in slopes.iter_mut().zip(S::as_simd_f64s(targets).0) {
                *slope = simd.neg_f64s(target);
            }
            for (panel, rows) in rows.chunks(PANEL).enumerate() {
                for (entries, &scale) in rows.iter().zip(gram.panel(panel)[column].iter()) {
                    let scale = simd.splat_f64s(scale);
                    for (slope, &entry) in slopes.iter_mut().zip(S::as_simd_f64s(entries).0) {
                        *slope = simd.add_f64s(*slope, simd.mul_f64s(scale, entry));
                    }
                }
            }
            let curvature = gram.curvature(column);
            let divisor = simd.splat_f64s(curvature);
            let entries = S::as_mut_simd_f64s(&mut rows[column]).0;
            let sums = S::as_mut_simd_f64s(&mut violations).0;
            for ((entry, sum), &slope) in entries.iter_mut().zip(sums).zip(&slopes) {
                let at_zero = simd.equal_f64s(*entry, zero);
                let counted = simd.select_f64s(at_zero, simd.min_f64s(slope, zero), slope);
                *sum = simd.add_f64s(*sum, simd.abs_f64s(counted));
                if curvature != 0.0 {
                    let moved = simd.sub_f64s(*entry, simd.div_f64s(slope, divisor));
                    *entry = simd.max_f64s(moved, zero);
                }
            }
        }
        violations
    }
}

/// Adds to one panel of a Gram matrix: `sums[r] += Σ rows[k][r] · rows[k][lane]`
/// over four rows, for every r from the panel's first column on.
pub struct AddFour<'a> {
    /// The rows from the panel's first column on.
    pub rows: [&'a [f64]; 4],
    pub sums: &'a mut [Lanes],
}

impl WithSimd for AddFour<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, sums } = self;
        let mut own = [Lanes::default(); 4];
        for (own, row) in own.iter_mut().zip(rows) {
            let width = PANEL.min(row.len());
            own[..width].copy_from_slice(&row[..width]);
        }
        let own = own.each_ref().map(|own| S::as_simd_f64s(own).0);
        let [a, b, c, d] = rows;
        for ((((sums, a), b), c), d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let scales = [a, b, c, d].map(|&value| simd.splat_f64s(value));
            for (at, sum) in S::as_mut_simd_f64s(sums).0.iter_mut().enumerate() {
                for (scale, own) in scales.iter().zip(own) {
                    *sum = simd.add_f64s(*sum, simd.mul_f64s(*scale, own[at]));
                }
            }
        }
    }
}

/// `sums[r] += Σ_j A_j · F_jr` for [`ABREAST`] columns of A that lie side by side
/// in each of its rows j.
pub struct Multiply<'a> {
    /// A, symmetric, by row; each row has `blocks` blocks.
    pub matrix: &'a [Lanes],
    pub blocks: usize,
    /// The block of columns.
    pub block: usize,
    pub factor: &'a Rows,
    pub sums: &'a mut [Lanes],
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { matrix, blocks, block, factor, sums } = self;
        for (row, entries) in matrix.chunks_exact(blocks).zip(factor.starts.windows(2)) {
            let weights = S::as_simd_f64s(&row[block]).0;
            let columns = &factor.columns[entries[0]..entries[1]];
            for (&column, &value) in columns.iter().zip(&factor.values[entries[0]..entries[1]]) {
                let value = simd.splat_f64s(value);
                let sums = S::as_mut_simd_f64s(&mut sums[column as usize]).0;
                for (sum, &weight) in sums.iter_mut().zip(weights) {
                    *sum = simd.add_f64s(*sum, simd.mul_f64s(value, weight));
                }
            }
        }
    }
}
