//! Coordinate descent for `min ‖A - QF‖²` over non-negative factors.
//!
//! With F fixed, the rows of Q are independent. A row q has the gradient
//! `g = q FFᵀ - a Fᵀ`, where a is the row of A; one coordinate t after the other
//! moves to its minimum, `max(q_t - g_t / (FFᵀ)_tt, 0)`, and F follows in the
//! same way, A being symmetric. The order and the stopping rule are those of
//! scikit-learn's solver "cd" without shuffling, so that the same start gives
//! the same factors; the work is not: a coordinate that is 0 adds nothing to a
//! gradient, and after the first sweep most are. Only where scikit-learn divides
//! rounding errors by rounding errors do the factors differ.

use pulp::Arch;
use rayon::prelude::*;

use super::factor::{Factor, Gram, Rows};
use super::kernel::{ABREAST, BLOCK, Entries, MultiplyBlock, UpdateAbreast, UpdateRow};
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
    let mut sweep = Sweep {
        graph,
        matrix: dense_matrix(graph),
        num_components,
        gram: Gram::default(),
        arch: Arch::new(),
        spare: Rows::default(),
    };
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
    /// A with its zeros, where it has few.
    matrix: Option<Dense>,
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
            let mut buffers = self.buffers();
            for first in (0..n).step_by(PIECE) {
                violation += self.update_piece(first, factor, other, &mut buffers, &mut rows);
            }
        } else {
            let pieces: Vec<(f64, Rows)> = (0..n.div_ceil(PIECE))
                .into_par_iter()
                .map_init(
                    || self.buffers(),
                    |buffers, piece| {
                        let mut rows = Rows::default();
                        (self.update_piece(piece * PIECE, factor, other, buffers, &mut rows), rows)
                    },
                )
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

    fn buffers(&self) -> Buffers {
        let k = self.num_components;
        let blocks = |wanted| vec![Default::default(); if wanted { k } else { 0 }];
        let abreast = || vec![[0.0; ABREAST]; k];
        Buffers {
            targets: vec![0.0; k],
            products: blocks(self.matrix.is_some()),
            abreast: [abreast(), abreast()],
        }
    }

    /// Updates the rows from `first` on and adds them to `rows`.
    fn update_piece(
        &self,
        first: usize,
        factor: &Factor,
        other: &Factor,
        buffers: &mut Buffers,
        rows: &mut Rows,
    ) -> f64 {
        let vertices = first..self.graph.num_vertices().min(first + PIECE);
        if !factor.has_few_zeros(self.num_components) {
            let update = |vertex| {
                self.gather(vertex, other, buffers);
                let Buffers { targets, .. } = buffers;
                self.arch.dispatch(UpdateRow { old: factor.row(vertex), gram: &self.gram, targets, rows })
            };
            return vertices.map(update).sum();
        }
        let mut violation = 0.0;
        for first in vertices.clone().step_by(ABREAST) {
            let group = first..vertices.end.min(first + ABREAST);
            for block in &mut buffers.abreast {
                block.fill([0.0; ABREAST]);
            }
            for (lane, vertex) in group.clone().enumerate() {
                self.gather(vertex, other, buffers);
                let Buffers { targets, abreast: [entries, all_targets], .. } = buffers;
                let (columns, values) = factor.row(vertex);
                columns
                    .iter()
                    .zip(values)
                    .for_each(|(&column, &value)| entries[column as usize][lane] = value);
                all_targets.iter_mut().zip(&*targets).for_each(|(all, target)| all[lane] = *target);
            }
            let [entries, targets] = &mut buffers.abreast;
            let violations = self.arch.dispatch(UpdateAbreast { rows: entries, gram: &self.gram, targets });
            violation += violations.iter().sum::<f64>();
            for lane in 0..group.len() {
                let row = (0..).zip(entries.iter().map(|entries| entries[lane]));
                for (column, value) in row.filter(|(_, value)| *value != 0.0) {
                    rows.columns.push(column);
                    rows.values.push(value);
                }
                rows.starts.push(rows.columns.len());
            }
        }
        violation
    }

    /// Puts the vertex's row of A times the other factor into the targets.
    fn gather(&self, vertex: usize, other: &Factor, Buffers { targets, products, .. }: &mut Buffers) {
        if let (Some(Dense { stride, values: matrix }), Factor::Sparse(factor)) = (&self.matrix, other) {
            let lane = vertex % BLOCK;
            if lane == 0 {
                products.fill([0.0; BLOCK]);
                let (stride, first, sums) = (*stride, vertex, &mut products[..]);
                self.arch.dispatch(MultiplyBlock { matrix, stride, first, factor, sums });
            }
            targets.iter_mut().zip(products).for_each(|(target, sums)| *target = sums[lane]);
        } else {
            targets.fill(0.0);
            let weights = self.graph.weights_of(vertex);
            for (at, &neighbour) in self.graph.neighbours(vertex).iter().enumerate() {
                other.add_row(neighbour as usize, weights.map_or(1.0, |w| w[at]), targets);
            }
        }
    }
}

struct Buffers {
    /// A row of A times the other factor.
    targets: Vec<f64>,
    /// That of several rows side by side, where A has few zeros.
    products: Vec<[f64; BLOCK]>,
    /// Rows and targets of several vertices side by side.
    abreast: [Vec<Entries>; 2],
}

/// A matrix with its zeros; rows are padded to whole blocks.
struct Dense {
    stride: usize,
    values: Vec<f64>,
}

/// A in full, unless most of it is 0.
fn dense_matrix(graph: GraphRef<'_>) -> Option<Dense> {
    let n = graph.num_vertices();
    if graph.num_entries() < n * n / 4 {
        return None;
    }
    let stride = n.next_multiple_of(BLOCK);
    let mut values = vec![0.0; n * stride];
    graph.entries().for_each(|(row, column, weight)| values[row * stride + column] = weight);
    Some(Dense { stride, values })
}
