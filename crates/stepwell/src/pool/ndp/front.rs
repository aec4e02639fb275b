//! Eliminates vertices of a small graph stored densely.
//!
//! Eliminating vertex d from a network of conductances joins its neighbours pairwise:
//! `a_ij += a_id a_dj / s`, where `s` is the sum of d's weights. (This is one step of
//! Gaussian elimination on the Laplacian. The diagonal is never stored, because it is
//! always the row sum. So nothing is ever subtracted: weights stay positive and keep
//! all their digits.)
//!
//! The weights of m vertices form the upper triangle of a matrix without its diagonal,
//! stored by row: row a holds the pairs `(a, a+1), …, (a, m-1)`. The vertices to
//! eliminate come first.

/// Number of pivots eliminated before the rest of the matrix is updated, once for all of
/// them.
const PANEL: usize = 16;

/// Where row `a` of a triangle of `m` vertices begins.
#[inline]
pub(super) fn row_start(m: usize, a: usize) -> usize {
    // a (2m - a - 1) is even.
    a * (2 * m - a).saturating_sub(1) / 2
}

/// Number of pairs among `m` vertices.
pub(super) fn pairs(m: usize) -> usize {
    m * m.saturating_sub(1) / 2
}

/// Eliminates the first `pivots` of `m` vertices. The triangle of the others is
/// the end of `values`, from `row_start(m, pivots)`.
pub(super) fn eliminate(values: &mut [f64], m: usize, pivots: usize) {
    for first in (0..pivots).step_by(PANEL) {
        let end = pivots.min(first + PANEL);
        let mut totals = [0.0; PANEL];
        for a in first..end {
            let (head, tail) = values.split_at_mut(row_start(m, a + 1));
            let row = &head[row_start(m, a)..];
            let total: f64 = row.iter().sum();
            totals[a - first] = total;
            // Update only the panel's own rows now. The other rows follow once per panel, below.
            for b in a + 1..end {
                let weight = row[b - a - 1];
                if weight > 0.0 {
                    let factor = weight / total;
                    let start = row_start(m, b) - row_start(m, a + 1);
                    add(&mut tail[start..][..m - b - 1], factor, &row[b - a..]);
                }
            }
        }
        let (panel, rest) = values.split_at_mut(row_start(m, end));
        let mut start = 0;
        for b in end..m {
            let target = &mut rest[start..start + m - b - 1];
            start += target.len();
            add_panel(target, panel, m, (first..end).zip(totals), b);
        }
    }
}

/// Adds the contributions of the panel's pivots to the row of `b`, four pivots at a
/// time.
fn add_panel(
    target: &mut [f64],
    panel: &[f64],
    m: usize,
    pivots: impl Iterator<Item = (usize, f64)>,
    b: usize,
) {
    let mut waiting: [(f64, &[f64]); 4] = [(0.0, &[]); 4];
    let mut count = 0;
    for (a, total) in pivots {
        let row = &panel[row_start(m, a)..][..m - a - 1];
        let weight = row[b - a - 1];
        if weight > 0.0 {
            waiting[count] = (weight / total, &row[b - a..]);
            count += 1;
        }
        if count == waiting.len() {
            count = 0;
            let [(p, w), (q, x), (r, y), (s, z)] = waiting;
            for ((((t, w), x), y), z) in target.iter_mut().zip(w).zip(x).zip(y).zip(z) {
                *t += (p * w + q * x) + (r * y + s * z);
            }
        }
    }
    for &(factor, row) in &waiting[..count] {
        add(target, factor, row);
    }
}

#[inline]
fn add(target: &mut [f64], factor: f64, row: &[f64]) {
    target.iter_mut().zip(row).for_each(|(t, x)| *t += factor * x);
}
