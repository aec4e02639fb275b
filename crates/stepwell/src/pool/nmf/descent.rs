//! Coordinate descent for `min ‖A - QF‖²` over non-negative factors.
//!
//! With F fixed, the rows of Q are independent. A row q has the gradient
//! `g = q FFᵀ - a Fᵀ`, where a is the row of A; one coordinate t after the other
//! moves to its minimum, `max(q_t - g_t / (FFᵀ)_tt, 0)`, and F follows in the
//! same way, A being symmetric. The order and the stopping rule are those of
//! scikit-learn's solver "cd" without shuffling, so that the same start gives
//! the same factors; the work is not: a coordinate that is 0 adds nothing to a
//! gradient, and after the first sweep most are.

use pulp::Arch;
use rayon::prelude::*;

use super::factor::{Factor, Gram, Rows};
use super::kernel::UpdateRow;
use crate::graph::GraphRef;

/// Rows that are updated in one piece; sums over pieces do not depend on threads.
const PIECE: usize = 64;
/// A graph with more vertices than this is worth several threads.
const PARALLEL: usize = 512;

/// Alternates between the factors until the violation of the optimality
/// conditions is `tolerance` times the first one's, at most `max_iterations`
/// times. Returns how many it took.
pub fn descend(
    graph: GraphRef<'_>,
    q: &mut Factor,
    f: &mut Factor,
    num_components: usize,
    max_iterations: usize,
    tolerance: f64,
) -> usize {
    let mut sweep =
        Sweep { graph, num_components, gram: Gram::default(), arch: Arch::new(), spare: Rows::default() };
    let mut first = 0.0;
    for iteration in 1..=max_iterations {
        let violation = sweep.update(q, f) + sweep.update(f, q);
        if iteration == 1 {
            first = violation;
        }
        if violation <= tolerance * first {
            return iteration;
        }
    }
    max_iterations
}

struct Sweep<'a> {
    graph: GraphRef<'a>,
    num_components: usize,
    gram: Gram,
    arch: Arch,
    /// Buffers of the factor before.
    spare: Rows,
}

impl Sweep<'_> {
    /// Moves every coordinate of `factor` once; returns how much they violated
    /// the optimality conditions: the sum of the gradients' projections.
    fn update(&mut self, factor: &mut Factor, other: &Factor) -> f64 {
        self.gram.of(other, self.num_components);
        let mut rows = std::mem::take(&mut self.spare);
        rows.clear();
        let n = self.graph.num_vertices();
        let mut violation = 0.0;
        if n <= PARALLEL {
            let mut targets = vec![0.0; self.num_components];
            for first in (0..n).step_by(PIECE) {
                violation += self.update_piece(first, factor, other, &mut targets, &mut rows);
            }
        } else {
            let pieces: Vec<(f64, Rows)> = (0..n.div_ceil(PIECE))
                .into_par_iter()
                .map(|piece| {
                    let mut rows = Rows::default();
                    let mut targets = vec![0.0; self.num_components];
                    (self.update_piece(piece * PIECE, factor, other, &mut targets, &mut rows), rows)
                })
                .collect();
            for (part, piece) in pieces {
                violation += part;
                rows.append(&piece);
            }
        }
        if let Factor::Sparse(spare) = std::mem::replace(factor, Factor::Sparse(rows)) {
            self.spare = spare;
        }
        violation
    }

    fn update_piece(
        &self,
        first: usize,
        factor: &Factor,
        other: &Factor,
        targets: &mut [f64],
        rows: &mut Rows,
    ) -> f64 {
        let mut violation = 0.0;
        for vertex in first..self.graph.num_vertices().min(first + PIECE) {
            targets.fill(0.0);
            let weights = self.graph.weights_of(vertex);
            for (at, &neighbour) in self.graph.neighbours(vertex).iter().enumerate() {
                other.add_row(neighbour as usize, weights.map_or(1.0, |w| w[at]), targets);
            }
            let old = factor.row(vertex);
            violation += self.arch.dispatch(UpdateRow { old, gram: &self.gram, targets, rows });
        }
        violation
    }
}
