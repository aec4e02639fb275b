//! Lists the rows that read a vertex: the columns of `A`, for graphs whose columns
//! differ from their rows.

use super::refine::spin;
use crate::graph::GraphRef;

/// The columns of one graph's `A`; empty if they equal its rows.
#[derive(Debug, Default)]
pub(super) struct Columns {
    starts: Vec<usize>,
    rows: Vec<u32>,
    weights: Vec<f64>,
    /// The factor of each entry: it multiplies the column's colour in a signature.
    factors: Vec<u64>,
    /// Column sums of a directed graph, bit-identical for equal multisets of weights.
    pub in_degrees: Vec<f64>,
}

impl Columns {
    /// Reads a graph, replacing the previous one. `kinds` identify the labels and
    /// attributes of entries.
    pub fn read(&mut self, graph: GraphRef<'_>, kinds: Option<&[u32]>) {
        self.starts.clear();
        self.rows.clear();
        self.weights.clear();
        self.factors.clear();
        self.in_degrees.clear();
        // Weights of undirected edges may differ in their last bits between the two directions.
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
        // Counts are stored two positions ahead, so that after summing, `starts[v + 1]` is the
        // start of column v. Placing its entries moves that to the start of column v + 1.
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

    /// The factors of these entries, if edges have weights, labels or attributes.
    pub fn factors_of(&self, column: usize) -> Option<&[u64]> {
        if self.factors.is_empty() {
            None
        } else {
            Some(&self.factors[self.starts[column]..self.starts[column + 1]])
        }
    }
}

/// The factor that multiplies the colour of an entry's column. It is odd, so that no
/// bit of the colour is lost, and 1 for weight 1, so that edges of weight 1 equal edges
/// without weights.
pub(super) fn factor(weight: Option<f64>, kind: Option<u32>) -> u64 {
    let weight = weight.map_or(0, |weight| weight.to_bits() ^ 1f64.to_bits());
    let kind = kind.map_or(0, |kind| spin(u64::from(kind) + 1));
    spin(weight ^ kind) | 1
}
