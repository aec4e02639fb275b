//! Hashes of a graph's content, and of a vertex's surroundings.

use std::borrow::Cow;

use rayon::prelude::*;

use super::{GraphBatch, GraphRef, VertexAttributes};

impl GraphBatch {
    /// [`GraphRef::key`] of all graphs, in order.
    pub fn keys(&self) -> Vec<u64> {
        (0..self.len()).into_par_iter().map(|index| self.graph(index).key()).collect()
    }

    /// A hash for every vertex of the labels, attributes and edges within three steps. It does not
    /// depend on the position of the vertex in its graph or of the graph in its batch. Vertices
    /// with equal surroundings have equal hashes.
    pub fn vertex_keys(&self) -> Vec<u64> {
        let own = |vertex: usize| {
            let labels = self.vertex_labels.as_ref().map(|labels| labels.rows(vertex..vertex + 1));
            let key = mixed(0, labels.unwrap_or_default().iter().map(|&label| label as u64));
            let attributes = self.vertex_attributes.as_ref().map(|all| all.row(vertex));
            mixed(key, attributes.iter().flat_map(|row| row.iter()).map(|number| number.to_bits()))
        };
        let mut keys: Vec<u64> = (0..self.num_vertices()).into_par_iter().map(own).collect();
        for _ in 0..STEPS {
            let graphs: Vec<Vec<u64>> =
                (0..self.len()).into_par_iter().map(|graph| self.one_step_further(graph, &keys)).collect();
            keys = graphs.concat();
        }
        keys
    }

    /// Mixes the keys of its neighbours, in any order, into each vertex's key.
    fn one_step_further(&self, graph: usize, keys: &[u64]) -> Vec<u64> {
        let (first, end) = (self.vertex_offsets[graph], self.vertex_offsets[graph + 1]);
        let along = |entry: usize| {
            let neighbour = keys[first + self.neighbours[entry] as usize];
            let weight = self.weights.as_ref().map(|weights| weights[entry].to_bits());
            let labels = self.edge_labels.as_ref().map(|labels| labels.rows(entry..entry + 1));
            let attributes = self.edge_attributes.as_ref().map(|all| all.rows(entry..entry + 1));
            let labels = labels.unwrap_or_default().iter().map(|&label| label as u64);
            let attributes = attributes.unwrap_or_default().iter().map(|number| number.to_bits());
            mixed(neighbour, weight.into_iter().chain(labels).chain(attributes))
        };
        let of = |vertex: usize| {
            let entries = self.row_offsets[vertex]..self.row_offsets[vertex + 1];
            let sum = entries.clone().map(along).fold(0, u64::wrapping_add);
            mixed(keys[vertex], [sum, entries.len() as u64].into_iter())
        };
        (first..end).into_par_iter().map(of).collect()
    }
}

/// The radius of a vertex's surroundings, for its key.
pub const STEPS: usize = 3;

impl GraphRef<'_> {
    /// A number that is equal for equal graphs on every machine, and differs for others
    /// except by chance. It depends on the vertices in this order, edges, weights,
    /// labels and attributes, but not on the names of columns.
    pub fn key(&self) -> u64 {
        let batch = self.batch;
        let (vertices, entries) = (self.first..self.end, self.entry_range());
        let rows =
            batch.row_offsets[vertices.start..=vertices.end].iter().map(|at| (at - entries.start) as u64);
        let mut key = mixed(u64::from(self.is_directed()), rows);
        key = mixed(key, batch.neighbours[entries.clone()].iter().map(|&vertex| u64::from(vertex)));
        if let Some(weights) = &batch.weights {
            key = mixed(key, weights[entries.clone()].iter().map(|weight| weight.to_bits()));
        }
        for (labels, range) in [(&batch.vertex_labels, &vertices), (&batch.edge_labels, &entries)] {
            if let Some(labels) = labels {
                key = mixed(key, labels.rows(range.clone()).iter().map(|&label| label as u64));
            }
        }
        key = match &batch.vertex_attributes {
            None => key,
            Some(VertexAttributes::Dense(rows)) => {
                mixed(key, rows.rows(vertices).iter().map(|x| x.to_bits()))
            }
            Some(rows) => {
                let bits = |row: Cow<'_, [f64]>| row.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
                mixed(key, vertices.flat_map(|vertex| bits(rows.row(vertex))))
            }
        };
        if let Some(attributes) = &batch.edge_attributes {
            key = mixed(key, attributes.rows(entries).iter().map(|number| number.to_bits()));
        }
        key
    }
}

/// Hashes words, each by an invertible multiplication and a shift, and their number.
pub(crate) fn mixed(key: u64, words: impl Iterator<Item = u64>) -> u64 {
    let mix = |key: u64, word: u64| {
        let product = (key ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        product ^ (product >> 32)
    };
    let mut count = 0;
    let key = words.inspect(|_| count += 1).fold(key, mix);
    mix(key, count)
}

#[cfg(test)]
mod tests {
    use crate::graph::{Attributes, EdgeList, Graph, GraphBatch};

    #[test]
    fn equal_graphs_have_equal_keys_wherever_they_stand_and_others_do_not() {
        let path = Graph::new(&EdgeList::new(3, &[0, 1], &[1, 2])).unwrap();
        let other_way = Graph::new(&EdgeList::new(3, &[2, 1, 1], &[1, 2, 0])).unwrap();
        let larger = Graph::new(&EdgeList::new(4, &[0, 1], &[1, 2])).unwrap();
        let weighted =
            Graph::new(&EdgeList { weights: Some(&[1.0, 2.0]), ..EdgeList::new(3, &[0, 1], &[1, 2]) });
        let directed = Graph::new(&EdgeList { directed: true, ..EdgeList::new(3, &[0, 1], &[1, 2]) });
        let attributes = |value| Attributes { width: 1, values: vec![0.0, 1.0, value], names: None };
        let with =
            |value| path.as_batch().clone().with_vertex_attributes(attributes(value)).unwrap().keys()[0];
        let mut all = GraphBatch::default();
        for graph in [&larger, &path, &other_way] {
            all.append(graph.as_batch()).unwrap();
        }
        let key = path.view().key();
        assert_eq!(all.keys(), [larger.view().key(), key, key]);
        let mut keys = vec![key, larger.view().key(), with(2.0), with(3.0)];
        keys.extend([weighted.unwrap().view().key(), directed.unwrap().view().key()]);
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
        assert_eq!(with(2.0), with(2.0));
    }
}
