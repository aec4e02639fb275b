//! The inner loop of coordinate descent, with whatever vector instructions the
//! machine has.

use pulp::{Simd, WithSimd};

use super::factor::{Gram, PANEL, Rows};

/// Moves the coordinates of one row to their minima, one after the other, and
/// adds the row to `rows`. Gives how much it violated the optimality conditions.
pub struct UpdateRow<'a> {
    /// Columns and values of the row as it was.
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
            let gram = gram.panel(panel);
            let mut gradient = [0.0; PANEL];
            gradient.iter_mut().zip(targets).for_each(|(slope, target)| *slope = -target);
            // Left of the panel the new entries, from it on the old ones.
            accumulate(simd, &mut gradient, &rows.columns[begin..], &rows.values[begin..], gram);
            accumulate(simd, &mut gradient, columns, values, gram);
            for lane in 0..targets.len() {
                let column = (first + lane) as u32;
                let slope = gradient[lane];
                let mut old = 0.0;
                if columns.first() == Some(&column) {
                    old = values[0];
                    (columns, values) = (&columns[1..], &values[1..]);
                }
                if old == 0.0 && slope >= 0.0 {
                    continue;
                }
                violation += slope.abs();
                let curvature = gram[column as usize][lane];
                let new = if curvature == 0.0 { old } else { (old - slope / curvature).max(0.0) };
                if new != 0.0 {
                    rows.columns.push(column);
                    rows.values.push(new);
                }
                if new != old {
                    accumulate(simd, &mut gradient, &[column], &[new - old], gram);
                }
            }
        }
        rows.starts.push(rows.columns.len());
        violation
    }
}

/// `gradient += Σ value · gram[column]`.
///
/// Products are rounded before they are added, though machines with vectors
/// could do without. Where A is met exactly, gradients are then more often
/// exactly 0, and fewer entries of `S` are rounding errors; and all machines
/// give the same bits.
#[inline(always)]
fn accumulate<S: Simd>(
    simd: S,
    gradient: &mut [f64; PANEL],
    columns: &[u32],
    values: &[f64],
    gram: &[[f64; PANEL]],
) {
    let (gradient, _) = S::as_mut_simd_f64s(gradient);
    // As many of these vectors are used as a panel needs.
    let mut sums = [simd.splat_f64s(0.0); PANEL];
    sums.iter_mut().zip(&*gradient).for_each(|(sum, slope)| *sum = *slope);
    for (&column, &value) in columns.iter().zip(values) {
        let value = simd.splat_f64s(value);
        let (row, _) = S::as_simd_f64s(&gram[column as usize]);
        for (sum, &entry) in sums.iter_mut().zip(row) {
            *sum = simd.add_f64s(*sum, simd.mul_f64s(value, entry));
        }
    }
    gradient.iter_mut().zip(&sums).for_each(|(slope, sum)| *slope = *sum);
}
