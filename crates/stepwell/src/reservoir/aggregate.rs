//! Aggregates the states of all vertices to one vector.

use crate::config::Aggregate;
use crate::kernel::{Fold, Real, Rows, fold};

/// Writes the aggregates, each `units` long, one after the other. Sums are computed in f64, and
/// every row counts as many times as it stands for vertices.
pub(super) fn aggregate<T: Real>(
    kinds: &[Aggregate],
    rows: Rows<'_, T>,
    state: &[T],
    stride: usize,
    units: usize,
    out: &mut [f64],
) {
    let count = rows.num_vertices();
    let mean = |out: &mut [f64]| {
        fold(Fold::Sum, rows, state, stride, out);
        out.iter_mut().for_each(|sum| *sum /= count);
    };
    for (kind, out) in kinds.iter().zip(out.chunks_exact_mut(units)) {
        if rows.len() == 0 {
            out.fill(0.0);
            continue;
        }
        match kind {
            Aggregate::Sum => fold(Fold::Sum, rows, state, stride, out),
            Aggregate::Mean => mean(out),
            Aggregate::Max => fold(Fold::Max, rows, state, stride, out),
            Aggregate::Std => {
                let mut means = vec![0.0; units];
                mean(&mut means);
                fold(Fold::Squares(&means), rows, state, stride, out);
                out.iter_mut().for_each(|square| *square = (*square / count).sqrt());
            }
        }
    }
}
