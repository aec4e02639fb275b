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
    /// What an entry multiplies its column's colour with in a signature.
    factors: Vec<u64>,
    /// Column sums of a directed graph, equal to the bit for equal weights.
    pub in_degrees: Vec<f64>,
}

impl Columns {
    /// Takes the place of what was read before. `kinds` are what entries carry beside
    /// weights.
    pub fn read(&mut self, graph: GraphRef<'_>, kinds: Option<&[u32]>) {
        self.starts.clear();
        self.rows.clear();
        self.weights.clear();
        self.factors.clear();
        self.in_degrees.clear();
        // Undirected weights may differ in their last bits between the directions.
        if graph.is_directed() || graph.weights().is_some() || kinds.is_some() {
            self.transpose(graph, kinds);
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

    fn transpose(&mut self, graph: GraphRef<'_>, kinds: Option<&[u32]>) {
        let (n, entries) = (graph.num_vertices(), graph.num_entries());
        // Counted two places on, summed, and moved along while placing, starts end up in place.
        self.starts.resize(n + 2, 0);
        graph.all_neighbours().iter().for_each(|&column| self.starts[column as usize + 2] += 1);
        (1..n + 2).for_each(|v| self.starts[v] += self.starts[v - 1]);
        self.rows.resize(entries, 0);
        let weights = graph.weights();
        if weights.is_some() {
            self.weights.resize(entries, 0.0);
        }
        if weights.is_some() || kinds.is_some() {
            self.factors.resize(entries, 0);
        }
        let mut entry = 0;
        for row in 0..n {
            for &column in graph.neighbours(row) {
                let slot = &mut self.starts[column as usize + 1];
                self.rows[*slot] = row as u32;
                if let Some(weights) = weights {
                    self.weights[*slot] = weights[entry];
                }
                if let Some(found) = self.factors.get_mut(*slot) {
                    *found = factor(weights.map(|w| w[entry]), kinds.map(|kinds| kinds[entry]));
                }
                *slot += 1;
                entry += 1;
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

    /// These entries' factors, where edges have weights or carry something.
    pub fn factors_of(&self, column: usize) -> Option<&[u64]> {
        if self.factors.is_empty() {
            None
        } else {
            Some(&self.factors[self.starts[column]..self.starts[column + 1]])
        }
    }
}

/// What an entry multiplies its column's colour with: odd, so that no bit of a colour
/// is lost, and 1 for weight 1, so that edges of weight 1 are edges without weight.
pub(super) fn factor(weight: Option<f64>, kind: Option<u32>) -> u64 {
    let weight = weight.map_or(0, |weight| weight.to_bits() ^ 1f64.to_bits());
    let kind = kind.map_or(0, |kind| spin(u64::from(kind) + 1));
    spin(weight ^ kind) | 1
}
