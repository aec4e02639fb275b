//! A graph as the reduction sees it: symmetric, with self loops separate.

use crate::error::{Error, Result};
use crate::graph::{Graph, GraphRef};
use crate::pool::undirected;

/// Rows of a symmetric weight matrix without its diagonal.
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

    /// Row sum including the self loop, as in `D`.
    pub fn degree(&self, vertex: usize) -> f64 {
        self.row(vertex).1.iter().sum::<f64>() + self.loops[vertex]
    }

    /// Copies a graph, or `(A + Aᵀ) / 2` if it is directed.
    pub fn new(graph: GraphRef<'_>) -> Result<Self> {
        let (index, made) = (graph.index(), undirected(graph)?);
        let graph = made.as_ref().map_or(graph, Graph::view);
        let n = graph.num_vertices();
        let mut rows = Self { starts: vec![0], loops: vec![0.0; n], ..Self::default() };
        for v in 0..n {
            let weights = graph.weights_of(v);
            for (k, &u) in graph.neighbours(v).iter().enumerate() {
                let weight = weights.map_or(1.0, |weights| weights[k]);
                if u as usize == v {
                    rows.loops[v] = weight;
                } else {
                    rows.columns.push(u);
                    rows.weights.push(weight);
                }
            }
            rows.starts.push(rows.columns.len());
        }
        // This sum bounds every number of the reduction.
        let value: f64 = rows.weights.iter().chain(&rows.loops).sum();
        if value.is_finite() {
            return Ok(rows);
        }
        Err(Error::BadValue { what: "sum of weights", item: "graph", index, value })
    }
}
