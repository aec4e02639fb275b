//! Weisfeiler–Lehman colours of vertices, counted graph by graph.
//!
//! The first colour of a vertex encodes its labels, or the column of its one-hot
//! attributes. Without either, all vertices start with the same colour. Every round
//! replaces the colour by that of the pair of the old colour and the colours of all
//! neighbours, each with the labels of the edge that leads there. A colour is a 64-bit
//! hash of what it encodes, so graphs can be coloured independently.
//!
//! ```
//! use stepwell::colours::Colours;
//! use stepwell::features::{FeatureMap, FeatureOptions};
//! use stepwell::graph::{EdgeList, Graph};
//!
//! let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]))?;
//! let inputs = FeatureMap::fit(path.as_batch(), &FeatureOptions::default())?.apply(path.as_batch())?;
//! let colours = Colours::of(path.as_batch(), &inputs, 1);
//! // All alike at first; then two ends and two inner vertices.
//! let mut counts = colours.view().counts(0).to_vec();
//! counts.sort();
//! assert_eq!(counts, [2, 2, 4]);
//! # Ok::<(), stepwell::Error>(())
//! ```

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::features::Inputs;
use crate::graph::{GraphBatch, GraphRef};

/// The count of each colour in each of some graphs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Colours {
    /// Where each graph's colours begin, followed by their total number.
    starts: Vec<usize>,
    /// Ascending within a graph.
    colours: Vec<u64>,
    counts: Vec<u32>,
}

impl Default for Colours {
    fn default() -> Self {
        Self { starts: vec![0], colours: Vec::new(), counts: Vec::new() }
    }
}

/// The colours of some consecutive graphs.
#[derive(Clone, Copy, Debug)]
pub struct ColourRows<'a> {
    starts: &'a [usize],
    colours: &'a [u64],
    counts: &'a [u32],
}

impl Colours {
    /// Counts the colours of all rounds up to `rounds` in every graph.
    ///
    /// # Panics
    /// If the inputs do not belong to the graphs.
    pub fn of(graphs: &GraphBatch, inputs: &Inputs, rounds: usize) -> Self {
        let edges = inputs.edges();
        let kinds: Vec<u64> = edges.kinds().map(|labels| hashed(KIND, labels)).collect();
        let row = |graph| counted(met(graphs, graph, inputs, &kinds, rounds));
        let rows: Vec<(Vec<u64>, Vec<u32>)> =
            (0..graphs.len()).into_par_iter().map(|graph| row(graphs.graph(graph))).collect();
        let mut all = Self::default();
        for (colours, counts) in rows {
            all.push(&colours, &counts);
        }
        all
    }

    /// The colours of the vertices of one graph after every round, from 0 to `rounds`.
    /// The vertices of each round follow those of the previous round.
    ///
    /// # Panics
    /// If the inputs do not belong to the graphs.
    pub fn of_vertices(graphs: &GraphBatch, graph: usize, inputs: &Inputs, rounds: usize) -> Vec<u64> {
        let edges = inputs.edges();
        let kinds: Vec<u64> = edges.kinds().map(|labels| hashed(KIND, labels)).collect();
        met(graphs, graphs.graph(graph), inputs, &kinds, rounds)
    }

    /// Adds a graph. Its colours must ascend.
    ///
    /// # Panics
    /// If the number of counts differs from that of colours.
    pub fn push(&mut self, colours: &[u64], counts: &[u32]) {
        assert_eq!(colours.len(), counts.len(), "one count per colour");
        self.colours.extend_from_slice(colours);
        self.counts.extend_from_slice(counts);
        self.starts.push(self.colours.len());
    }

    /// Adds the colours of more graphs.
    pub fn append(&mut self, more: ColourRows<'_>) {
        (0..more.len()).for_each(|graph| self.push(more.colours(graph), more.counts(graph)));
    }

    /// The colours of the graphs at these positions.
    pub fn select(&self, graphs: &[usize]) -> Self {
        let (all, mut some) = (self.view(), Self::default());
        graphs.iter().for_each(|&graph| some.push(all.colours(graph), all.counts(graph)));
        some
    }

    /// A view of all graphs.
    pub fn view(&self) -> ColourRows<'_> {
        ColourRows { starts: &self.starts, colours: &self.colours, counts: &self.counts }
    }
}

impl<'a> ColourRows<'a> {
    /// Number of graphs.
    pub fn len(self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no graphs.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Number of distinct colours of each graph, summed over the graphs.
    pub fn num_colours(self) -> usize {
        self.starts[self.starts.len() - 1] - self.starts[0]
    }

    /// A view of a range of graphs.
    pub fn of(self, graphs: Range<usize>) -> Self {
        Self { starts: &self.starts[graphs.start..=graphs.end], ..self }
    }

    /// The distinct colours of a graph, ascending.
    pub fn colours(self, graph: usize) -> &'a [u64] {
        &self.colours[self.starts[graph]..self.starts[graph + 1]]
    }

    /// The count of each of its distinct colours.
    pub fn counts(self, graph: usize) -> &'a [u32] {
        &self.counts[self.starts[graph]..self.starts[graph + 1]]
    }

    /// Colours and counts of a graph.
    pub fn iter(self, graph: usize) -> impl Iterator<Item = (u64, u32)> + 'a {
        self.colours(graph).iter().copied().zip(self.counts(graph).iter().copied())
    }
}

/// The colours of all vertices after every round, given the colours of the edge labels.
fn met(graphs: &GraphBatch, graph: GraphRef<'_>, inputs: &Inputs, kinds: &[u64], rounds: usize) -> Vec<u64> {
    let vertex = graphs.vertex_offsets()[graph.index()];
    let vertices = vertex..vertex + graph.num_vertices();
    let entries = graphs.row_offsets()[vertices.start]..graphs.row_offsets()[vertices.end];
    let first = vertices.map(|vertex| hashed(LABELS, inputs.one_hot_row(vertex))).collect();
    let kind_of = inputs.edges().kind_of().get(entries).unwrap_or_default();
    refined(graph, first, rounds, (kind_of, kinds))
}

/// Refines given first colours.
fn refined(
    graph: GraphRef<'_>,
    first: Vec<u64>,
    rounds: usize,
    (kind_of, kinds): (&[u32], &[u64]),
) -> Vec<u64> {
    let (mut met, mut colours) = (first.clone(), first);
    let mut next = Vec::with_capacity(colours.len());
    for round in 1..=rounds as u64 {
        next.clear();
        let mut entry = 0;
        for (vertex, &own) in colours.iter().enumerate() {
            let neighbours = graph.neighbours(vertex);
            let seen = neighbours.iter().map(|&other| colours[other as usize]);
            // A sum of hashes represents the multiset, because it does not depend on the order.
            let around = match kind_of.get(entry..entry + neighbours.len()) {
                Some(row) if !kind_of.is_empty() => {
                    let with_kinds = seen.zip(row).map(|(colour, &kind)| mix(colour, kinds[kind as usize]));
                    with_kinds.fold(0, u64::wrapping_add)
                }
                _ => seen.map(|colour| mix(colour, KIND)).fold(0, u64::wrapping_add),
            };
            entry += neighbours.len();
            // Hash the round, so that colours of different rounds differ.
            next.push(mix(mix(own, round), around));
        }
        std::mem::swap(&mut colours, &mut next);
        met.extend_from_slice(&colours);
    }
    met
}

fn counted(mut met: Vec<u64>) -> (Vec<u64>, Vec<u32>) {
    met.sort_unstable();
    met.chunk_by(|a, b| a == b).map(|alike| (alike[0], alike.len() as u32)).unzip()
}

/// Initial values: 64 random bits each.
const LABELS: u64 = 0x51ed_270b_9f1c_4a63;
const KIND: u64 = 0xa24b_aed4_963e_e407;

fn hashed(start: u64, labels: &[u32]) -> u64 {
    labels.iter().fold(start, |sum, &label| mix(sum, u64::from(label)))
}

/// Combines two words into one: a multiplication folded onto itself, as in wyhash.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0x9e37_79b9_7f4a_7c15) * u128::from(b ^ 0xd1b5_4a32_d192_ed03);
    ((product as u64) ^ ((product >> 64) as u64)).rotate_left(23).wrapping_add(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{FeatureMap, FeatureOptions};
    use crate::graph::{EdgeList, Graph};

    fn colours(graph: &Graph, rounds: usize) -> Colours {
        let options = FeatureOptions { edges: true, ..Default::default() };
        let inputs = FeatureMap::fit(graph.as_batch(), &options).unwrap().apply(graph.as_batch()).unwrap();
        Colours::of(graph.as_batch(), &inputs, rounds)
    }

    #[test]
    fn two_triangles_are_a_hexagon_to_it_and_a_path_is_not() {
        let graph = |from: &[u32], to: &[u32]| Graph::new(&EdgeList::new(6, from, to)).unwrap();
        let hexagon = graph(&[0, 1, 2, 3, 4, 5], &[1, 2, 3, 4, 5, 0]);
        let triangles = graph(&[0, 1, 2, 3, 4, 5], &[1, 2, 0, 4, 5, 3]);
        let path = graph(&[0, 1, 2, 3, 4], &[1, 2, 3, 4, 5]);
        assert_eq!(colours(&hexagon, 4), colours(&triangles, 4));
        assert_ne!(colours(&hexagon, 1), colours(&path, 1));
        assert_eq!(colours(&hexagon, 0), colours(&path, 0));
    }

    #[test]
    fn labels_are_first_colours_and_those_of_edges_are_seen() {
        let labelled = |labels: &[i32], width: usize, bonds: &[i32]| {
            let edges = EdgeList {
                vertex_labels: Some((labels, width)),
                edge_labels: Some((bonds, 1)),
                ..EdgeList::new(3, &[0, 1], &[1, 2])
            };
            colours(&Graph::new(&edges).unwrap(), 1)
        };
        assert_eq!(labelled(&[3, 1, 3], 1, &[1, 2]), labelled(&[3, 1, 3], 1, &[2, 1]));
        assert_ne!(labelled(&[3, 1, 3], 1, &[1, 2]), labelled(&[1, 3, 1], 1, &[1, 2]));
        assert_ne!(labelled(&[3, 1, 3], 1, &[1, 2]), labelled(&[3, 1, 3], 1, &[1, 1]));
        assert_ne!(labelled(&[3, 1, 1, 1, 3, 1], 2, &[1, 1]), labelled(&[3, 1, 1, 1, 3, 2], 2, &[1, 1]));
    }

    #[test]
    fn graphs_are_counted_alone_and_taken_apart_again() {
        let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3])).unwrap();
        let star = Graph::new(&EdgeList::new(4, &[0, 0, 0], &[1, 2, 3])).unwrap();
        let mut both = colours(&path, 2);
        both.append(colours(&star, 2).view());
        assert_eq!(both.view().len(), 2);
        assert_eq!(both.select(&[1]), colours(&star, 2));
        let second = both.view().of(1..2);
        assert_eq!(second.colours(0), colours(&star, 2).view().colours(0));
        assert_eq!(second.counts(0).iter().sum::<u32>(), 12);
    }
}
