//! A graph as the reduction sees it: symmetric, self loops set aside.

use crate::error::{Error, Result};
use crate::graph::GraphRef;

/// Rows of a symmetric matrix of weights without its diagonal.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub weights: Vec<f64>,
    /// The diagonal: weights of self loops, 0 for most vertices.
    pub loops: Vec<f64>,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.loops.len()
    }

    #[inline]
    pub fn row(&self, vertex: usize) -> (&[u32], &[f64]) {
        let range = self.starts[vertex]..self.starts[vertex + 1];
        (&self.columns[range.clone()], &self.weights[range])
    }

    #[inline]
    pub fn entries(&self, vertex: usize) -> impl DoubleEndedIterator<Item = (usize, f64)> + '_ {
        let (columns, weights) = self.row(vertex);
        columns.iter().zip(weights).map(|(&column, &weight)| (column as usize, weight))
    }

    /// Row sum with the self loop, as in `D`.
    pub fn degree(&self, vertex: usize) -> f64 {
        self.row(vertex).1.iter().sum::<f64>() + self.loops[vertex]
    }

    /// Copies a graph; `(A + Aᵀ) / 2` if it is directed.
    pub fn load(&mut self, graph: GraphRef<'_>) -> Result<()> {
        let n = graph.num_vertices();
        self.starts.clear();
        self.columns.clear();
        self.weights.clear();
        self.loops.clear();
        self.starts.push(0);
        self.loops.resize(n, 0.0);
        if graph.is_directed() {
            self.load_directed(graph);
        } else {
            for v in 0..n {
                let columns = graph.neighbours(v);
                let weights = graph.weights_of(v);
                let weight = |k: usize| weights.map_or(1.0, |w| w[k]);
                match columns.binary_search(&(v as u32)) {
                    Ok(at) => {
                        self.loops[v] = weight(at);
                        for k in (0..columns.len()).filter(|&k| k != at) {
                            self.columns.push(columns[k]);
                            self.weights.push(weight(k));
                        }
                    }
                    Err(_) => {
                        self.columns.extend_from_slice(columns);
                        match weights {
                            Some(weights) => self.weights.extend_from_slice(weights),
                            None => self.weights.resize(self.columns.len(), 1.0),
                        }
                    }
                }
                self.starts.push(self.columns.len());
            }
        }
        // Every number of the reduction is bounded by this sum.
        let total: f64 = self.weights.iter().chain(&self.loops).sum();
        match total.is_finite() {
            true => Ok(()),
            false => Err(Error::BadValue {
                what: "sum of weights",
                item: "graph",
                index: graph.index(),
                value: total,
            }),
        }
    }

    fn load_directed(&mut self, graph: GraphRef<'_>) {
        let n = graph.num_vertices();
        // Sources and weights of the edges that arrive at each vertex, sources ascending.
        let mut next = vec![0; n + 1];
        graph.all_neighbours().iter().for_each(|&to| next[to as usize + 1] += 1);
        (0..n).for_each(|v| next[v + 1] += next[v]);
        let arrivals = next.clone();
        let mut incoming = vec![(0u32, 0.0); graph.num_entries()];
        for (from, to, weight) in graph.entries() {
            incoming[next[to]] = (from as u32, weight);
            next[to] += 1;
        }
        let mut merged = Vec::new();
        for v in 0..n {
            let leaving = graph.neighbours(v).iter().enumerate();
            let leaving = leaving.map(|(k, &to)| (to, graph.weights_of(v).map_or(1.0, |w| w[k])));
            merged.clear();
            merged.extend(leaving.chain(incoming[arrivals[v]..arrivals[v + 1]].iter().copied()));
            merged.sort_by_key(|&(other, _)| other);
            for pair in merged.chunk_by(|a, b| a.0 == b.0) {
                // Halves first: the sum of two huge weights may overflow.
                let weight = pair.iter().map(|(_, weight)| 0.5 * weight).sum::<f64>();
                if pair[0].0 as usize == v {
                    self.loops[v] = weight;
                } else if weight > 0.0 {
                    self.columns.push(pair[0].0);
                    self.weights.push(weight);
                }
            }
            self.starts.push(self.columns.len());
        }
    }
}
