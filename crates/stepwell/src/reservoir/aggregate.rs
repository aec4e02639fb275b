//! Aggregates the states of all vertices to one vector.

use crate::config::Aggregate;
use crate::kernel::{Real, Rows};

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
    let lines = || state.chunks_exact(stride).take(rows.len()).map(|line| &line[..units]).enumerate();
    let count = rows.num_vertices();
    let sum = |out: &mut [f64]| {
        out.fill(0.0);
        for (row, line) in lines() {
            let size = rows.size(row);
            out.iter_mut().zip(line).for_each(|(sum, x)| *sum += size * x.to_f64());
        }
    };
    let mean = |out: &mut [f64]| {
        sum(out);
        out.iter_mut().for_each(|sum| *sum /= count);
    };
    for (kind, out) in kinds.iter().zip(out.chunks_exact_mut(units)) {
        if rows.len() == 0 {
            out.fill(0.0);
            continue;
        }
        match kind {
            Aggregate::Sum => sum(out),
            Aggregate::Mean => mean(out),
            Aggregate::Max => {
                out.fill(f64::NEG_INFINITY);
                for (_, line) in lines() {
                    out.iter_mut().zip(line).for_each(|(max, x)| *max = max.max(x.to_f64()));
                }
            }
            Aggregate::Std => {
                let mut means = vec![0.0; units];
                mean(&mut means);
                out.fill(0.0);
                for (row, line) in lines() {
                    let size = rows.size(row);
                    for (square, (x, mean)) in out.iter_mut().zip(line.iter().zip(&means)) {
                        *square += size * (x.to_f64() - mean) * (x.to_f64() - mean);
                    }
                }
                out.iter_mut().for_each(|square| *square = (*square / count).sqrt());
            }
        }
    }
}
