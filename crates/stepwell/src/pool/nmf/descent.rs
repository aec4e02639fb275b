//! Coordinate descent for `min ‖A - QF‖²` over non-negative factors.
//!
//! With F fixed, the rows of Q are independent. A row q has the gradient
//! `g = q FFᵀ - a Fᵀ`, where a is the row of A. The coordinates t move one after the
//! other to their minimum, `max(q_t - g_t / (FFᵀ)_tt, 0)`. F follows in the same way,
//! because A is symmetric. The order and the stopping rule are those of scikit-learn's
//! solver "cd" without shuffling, so the same start gives the same factors. The work
//! differs: a coordinate that is 0 adds nothing to a gradient, and most are 0 after the
//! first sweep. The factors differ only where scikit-learn divides rounding errors by
//! rounding errors.

use pulp::Arch;
use rayon::prelude::*;

use super::factor::{Factor, Gram, Rows};
use super::kernel::{ABREAST, Lanes, Multiply, UpdateAbreast, UpdateRow};
use crate::error::Result;
use crate::graph::GraphRef;
use crate::pool::{Going, Pooling, still};

/// Rows updated as one piece. Sums over pieces do not depend on threads.
const PIECE: usize = 64;
/// Graphs with more vertices than this use several threads.
const PARALLEL: usize = 512;

/// Alternates between the factors until the violation of the optimality conditions is
/// `tolerance` times that of the first iteration, at most `max_iterations` times, unless
/// `going` breaks. Returns the number of iterations.
pub fn descend(
    graph: GraphRef<'_>,
    (q, f): (&mut Factor, &mut Factor),
    num_components: usize,
    options: &Pooling,
    going: &Going<'_>,
) -> Result<usize> {
    let &Pooling { max_iterations, tolerance, .. } = options;
    let mut sweep = Sweep {
        graph,
        going,
        matrix: dense_matrix(graph),
        num_components,
        gram: Gram::default(),
        arch: Arch::new(),
        spare: Rows::default(),
    };
    let mut first = 0.0;
    for iteration in 1..=max_iterations {
        let violation = sweep.update(q, f)? + sweep.update(f, q)?;
        if iteration == 1 {
            first = violation;
        }
        if violation <= tolerance * first {
            return Ok(iteration);
        }
    }
    Ok(max_iterations)
}

struct Sweep<'a> {
    graph: GraphRef<'a>,
    going: &'a Going<'a>,
    /// A including its zeros, if it has few.
    matrix: Option<Dense>,
    num_components: usize,
    gram: Gram,
    arch: Arch,
    /// Buffers of the previous factor.
    spare: Rows,
}

impl Sweep<'_> {
    /// Moves every coordinate of `factor` once. Returns the violation of the optimality
    /// conditions: the sum of the projected gradients.
    fn update(&mut self, factor: &mut Factor, other: &Factor) -> Result<f64> {
        self.gram.of(other, self.num_components, self.going)?;
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
                        if (self.going)().is_break() {
                            return (0.0, rows);
                        }
                        (self.update_piece(piece * PIECE, factor, other, buffers, &mut rows), rows)
                    },
                )
                .collect();
            still(self.going)?;
            for (part, piece) in pieces {
                violation += part;
                rows.append(&piece);
            }
        }
        if let Factor::Sparse(spare) = std::mem::replace(factor, Factor::Sparse(rows)) {
            self.spare = spare;
        }
        Ok(violation)
    }

    fn buffers(&self) -> Buffers {
        let abreast = || vec![Lanes::default(); self.num_components];
        Buffers {
            targets: vec![0.0; self.num_components],
            rows_abreast: abreast(),
            targets_abreast: abreast(),
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
        let end = self.graph.num_vertices().min(first + PIECE);
        let few_zeros = factor.has_few_zeros(self.num_components);
        let mut violation = 0.0;
        for first in (first..end).step_by(ABREAST) {
            let vertices = first..end.min(first + ABREAST);
            let multiplied = self.multiply(first, other, buffers);
            for (lane, vertex) in vertices.clone().enumerate() {
                let Buffers { targets, rows_abreast, targets_abreast } = &mut *buffers;
                if multiplied && !few_zeros {
                    targets.iter_mut().zip(targets_abreast).for_each(|(target, all)| *target = all[lane]);
                } else if !multiplied {
                    self.gather(vertex, other, targets);
                    if few_zeros {
                        targets_abreast
                            .iter_mut()
                            .zip(&*targets)
                            .for_each(|(all, target)| all[lane] = *target);
                    }
                }
                let old = factor.row(vertex);
                if few_zeros {
                    old.0
                        .iter()
                        .zip(old.1)
                        .for_each(|(&column, &value)| rows_abreast[column as usize][lane] = value);
                } else {
                    violation += self.arch.dispatch(UpdateRow { old, gram: &self.gram, targets, rows });
                }
            }
            if few_zeros {
                violation += self.update_abreast(vertices.len(), buffers, rows);
            }
        }
        violation
    }

    /// Updates adjacent rows together, adds them to `rows` and leaves zeros.
    fn update_abreast(&self, count: usize, buffers: &mut Buffers, rows: &mut Rows) -> f64 {
        let Buffers { rows_abreast, targets_abreast: targets, .. } = buffers;
        let violations = self.arch.dispatch(UpdateAbreast { rows: rows_abreast, gram: &self.gram, targets });
        for lane in 0..count {
            let row = (0..).zip(rows_abreast.iter().map(|entries| entries[lane]));
            for (column, value) in row.filter(|(_, value)| *value != 0.0) {
                rows.columns.push(column);
                rows.values.push(value);
            }
            rows.starts.push(rows.columns.len());
        }
        rows_abreast.fill(Lanes::default());
        targets.fill(Lanes::default());
        violations.iter().sum()
    }

    /// Rows of A times the other factor, side by side, if A has few zeros.
    fn multiply(&self, first: usize, other: &Factor, Buffers { targets_abreast, .. }: &mut Buffers) -> bool {
        let (Some(Dense { blocks, values: matrix }), Factor::Sparse(factor)) = (&self.matrix, other) else {
            return false;
        };
        targets_abreast.fill(Lanes::default());
        let (blocks, block, sums) = (*blocks, first / ABREAST, &mut targets_abreast[..]);
        self.arch.dispatch(Multiply { matrix, blocks, block, factor, sums });
        true
    }

    /// The vertex's row of A times the other factor.
    fn gather(&self, vertex: usize, other: &Factor, targets: &mut [f64]) {
        targets.fill(0.0);
        let weights = self.graph.weights_of(vertex);
        for (at, &neighbour) in self.graph.neighbours(vertex).iter().enumerate() {
            other.add_row(neighbour as usize, weights.map_or(1.0, |w| w[at]), targets);
        }
    }
}

struct Buffers {
    /// A row of A times the other factor.
    targets: Vec<f64>,
    /// Rows and targets of several vertices side by side.
    rows_abreast: Vec<Lanes>,
    targets_abreast: Vec<Lanes>,
}

/// A matrix including its zeros. Rows are padded to whole blocks.
struct Dense {
    /// Blocks per row.
    blocks: usize,
    values: Vec<Lanes>,
}

/// The full matrix A, unless most of it is 0.
fn dense_matrix(graph: GraphRef<'_>) -> Option<Dense> {
    let n = graph.num_vertices();
    if graph.num_entries() < n * n / 4 {
        return None;
    }
    let blocks = n.div_ceil(ABREAST);
    let mut values = vec![Lanes::default(); n * blocks];
    for (row, column, weight) in graph.entries() {
        values[row * blocks + column / ABREAST][column % ABREAST] = weight;
    }
    Some(Dense { blocks, values })
}
