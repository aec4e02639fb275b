//! Who gathers from a vertex: the columns of `A`, for graphs whose columns are
//! not simply their rows.

use super::refine::spin;
use crate::graph::GraphRef;

/// The columns of one graph's `A`; empty where they are its rows.
#[derive(Debug, Default)]
pub(super) struct Columns {
    starts: Vec<usize>,
    rows: Vec<u32>,
    weights: Vec<f64>,
    /// What a weight multiplies its column's colour with in a signature.
    factors: Vec<u64>,
    /// Column sums of a directed graph, equal to the bit for equal weights.
    pub in_degrees: Vec<f64>,
}

impl Columns {
    /// Takes the place of what was read before.
    pub fn read(&mut self, graph: GraphRef<'_>) {
        self.starts.clear();
        self.rows.clear();
        self.weights.clear();
        self.factors.clear();
        self.in_degrees.clear();
        // Undirected weights may differ in their last bits between the directions.
        if graph.is_directed() || graph.weights().is_some() {
            self.transpose(graph);
        }
        if graph.is_directed() {
            let weighted = graph.weights().is_some();
            self.in_degrees.extend(self.starts.windows(2).map(|ends| {
                if weighted {
                    let weights = &mut self.weights[ends[0]..ends[1]];
                    weights.sort_unstable_by(f64::total_cmp);
                    weights.iter().sum()
                } else {
                    (ends[1] - ends[0]) as f64
                }
            }));
        }
    }

    fn transpose(&mut self, graph: GraphRef<'_>) {
        let (n, entries) = (graph.num_vertices(), graph.num_entries());
        // Counted two places on, summed, and moved along while placing, starts end up in place.
        self.starts.resize(n + 2, 0);
        graph.all_neighbours().iter().for_each(|&column| self.starts[column as usize + 2] += 1);
        (1..n + 2).for_each(|v| self.starts[v] += self.starts[v - 1]);
        self.rows.resize(entries, 0);
        if graph.weights().is_some() {
            self.weights.resize(entries, 0.0);
            self.factors.resize(entries, 0);
        }
        for row in 0..n {
            let weights = graph.weights_of(row);
            for (k, &column) in graph.neighbours(row).iter().enumerate() {
                let slot = &mut self.starts[column as usize + 1];
                self.rows[*slot] = row as u32;
                if let Some(weights) = weights {
                    self.weights[*slot] = weights[k];
                    self.factors[*slot] = factor(weights[k]);
                }
                *slot += 1;
            }
        }
        self.starts.truncate(n + 1);
    }

    /// The rows with an entry in `column`.
    pub fn rows_with<'a>(&'a self, graph: GraphRef<'a>, column: usize) -> &'a [u32] {
        if self.starts.is_empty() {
            graph.neighbours(column)
        } else {
            &self.rows[self.starts[column]..self.starts[column + 1]]
        }
    }

    /// These entries' factors, where edges have weights.
    pub fn factors_of(&self, column: usize) -> Option<&[u64]> {
        if self.factors.is_empty() {
            None
        } else {
            Some(&self.factors[self.starts[column]..self.starts[column + 1]])
        }
    }
}

/// What a weight multiplies colours with: odd, so that no bit of a colour is
/// lost, and 1 for weight 1, so that edges of weight 1 are edges without weight.
pub(super) fn factor(weight: f64) -> u64 {
    spin(weight.to_bits() ^ 1f64.to_bits()) | 1
}
