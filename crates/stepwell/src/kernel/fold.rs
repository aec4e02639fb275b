//! Sums and maxima over the rows of states.

use super::{Isa, Real, Rows};

/// What to compute for every column.
#[derive(Clone, Copy)]
pub(crate) enum Fold<'a> {
    /// The sum. Every row counts as many times as it stands for vertices.
    Sum,
    /// The sum of squared differences from these numbers, counted in the same way.
    Squares(&'a [f64]),
    /// The maximum.
    Max,
}

pub(crate) struct Folding<'a, T> {
    fold: Fold<'a>,
    rows: Rows<'a, T>,
    state: &'a [T],
    stride: usize,
    out: &'a mut [f64],
}

/// Folds the first columns of all rows, which are `stride` apart, as many as `out` has entries.
pub(crate) fn fold<T: Real>(fold: Fold<'_>, rows: Rows<'_, T>, state: &[T], stride: usize, out: &mut [f64]) {
    let mut task = Folding { fold, rows, state, stride, out };
    // SAFETY: an `Isa` exists only if the processor has the instructions.
    unsafe { T::fold_rows(Isa::in_use(), &mut task) }
}

impl<T: Real> Folding<'_, T> {
    /// The compiler vectorises these loops for every instruction set. It neither fuses nor reorders
    /// operations, so all sets give the same bits.
    #[inline(always)]
    pub fn run(&mut self) {
        let &mut Self { fold, rows, state, stride, ref mut out } = self;
        let lines = state.chunks_exact(stride).take(rows.len()).enumerate();
        out.fill(if let Fold::Max = fold { f64::NEG_INFINITY } else { 0.0 });
        for (row, line) in lines {
            let size = rows.size(row);
            match fold {
                Fold::Sum => out.iter_mut().zip(line).for_each(|(sum, x)| *sum += size * x.to_f64()),
                Fold::Squares(means) => {
                    for (square, (x, mean)) in out.iter_mut().zip(line.iter().zip(means)) {
                        let apart = x.to_f64() - mean;
                        *square += size * apart * apart;
                    }
                }
                Fold::Max => out.iter_mut().zip(line).for_each(|(max, x)| *max = max.max(x.to_f64())),
            }
        }
    }
}
