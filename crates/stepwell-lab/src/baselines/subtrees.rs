//! Weisfeiler–Lehman subtrees: how often each occurs in a graph.
//!
//! A vertex' first colour is its labels, or the column of its one-hot attributes
//! (without either all are alike); in each round it becomes that of the pair of its
//! colour and the sorted colours around it, each with the labels of the edge that leads
//! there. Colours are 64-bit sums of what they stand for: graphs need not know of each
//! other.

use std::collections::HashMap;

use ndarray::Array2;
use rayon::prelude::*;
use stepwell::features::Inputs;
use stepwell::graph::GraphBatch;

/// Sparse rows: colours and how often each occurs, by colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    rows: Vec<Vec<(u64, f64)>>,
}

/// The colours of all rounds up to `rounds`, counted; of unit length, if asked for.
pub fn count(
    graphs: &GraphBatch,
    inputs: &Inputs,
    chosen: &[usize],
    rounds: usize,
    unit_length: bool,
) -> Counts {
    let row = |&graph: &usize| {
        let mut row = subtrees(graphs, graph, inputs, rounds);
        if unit_length {
            let length = row.iter().map(|(_, count)| count * count).sum::<f64>().sqrt();
            row.iter_mut().for_each(|(_, count)| *count /= length);
        }
        row
    };
    Counts { rows: chosen.par_iter().map(row).collect() }
}

fn subtrees(graphs: &GraphBatch, graph: usize, inputs: &Inputs, rounds: usize) -> Vec<(u64, f64)> {
    let begin = graphs.vertex_offsets()[graph];
    let graph = graphs.graph(graph);
    let sum_of = |labels: &[u32]| labels.iter().fold(0, |sum, &label| mixed(u64::from(label), sum));
    let first = |vertex: usize| match inputs.one_hot_row(begin + vertex) {
        [] => mixed(0, 0),
        labels => sum_of(labels),
    };
    let mut colours: Vec<u64> = (0..graph.num_vertices()).map(first).collect();
    let edges = inputs.edges();
    let kinds: Vec<u64> = edges.kinds().map(sum_of).collect();
    let mut met = colours.clone();
    let mut around = Vec::new();
    for round in 1..=rounds as u64 {
        let next = (0..colours.len())
            .map(|vertex| {
                around.clear();
                around.extend(graph.neighbours(vertex).iter().map(|&other| colours[other as usize]));
                if !edges.kind_of().is_empty() {
                    let entries =
                        graphs.row_offsets()[begin + vertex]..graphs.row_offsets()[begin + vertex + 1];
                    let labels = edges.kind_of()[entries].iter().map(|&kind| kinds[kind as usize]);
                    around.iter_mut().zip(labels).for_each(|(colour, label)| *colour = mixed(label, *colour));
                }
                around.sort_unstable();
                // The round makes colours of different depths different.
                around.iter().fold(mixed(colours[vertex], round), |sum, &colour| mixed(colour, sum))
            })
            .collect();
        colours = next;
        met.extend_from_slice(&colours);
    }
    met.sort_unstable();
    met.chunk_by(|a, b| a == b).map(|alike| (alike[0], alike.len() as f64)).collect()
}

/// One more word into a sum: a multiplication folded onto itself, as in wyhash.
fn mixed(word: u64, sum: u64) -> u64 {
    let product = u128::from(word ^ 0x9e37_79b9_7f4a_7c15) * u128::from(sum ^ 0xd1b5_4a32_d192_ed03);
    ((product as u64) ^ ((product >> 64) as u64)).rotate_left(23).wrapping_add(word)
}

impl Counts {
    /// Each of these rows times each of others.
    pub fn products(&self, others: &Self) -> Array2<f64> {
        let mut holders: HashMap<u64, Vec<(usize, f64)>> = HashMap::new();
        for (row, counts) in others.rows.iter().enumerate() {
            for &(colour, count) in counts {
                holders.entry(colour).or_default().push((row, count));
            }
        }
        let row = |counts: &Vec<(u64, f64)>| {
            let mut products = vec![0.0; others.rows.len()];
            for (colour, count) in counts {
                for &(row, other) in holders.get(colour).into_iter().flatten() {
                    products[row] += count * other;
                }
            }
            products
        };
        let rows: Vec<Vec<f64>> = self.rows.par_iter().map(row).collect();
        Array2::from_shape_fn((self.rows.len(), others.rows.len()), |(i, j)| rows[i][j])
    }
}

#[cfg(test)]
mod tests {
    use stepwell::features::{FeatureMap, FeatureOptions};
    use stepwell::graph::{EdgeList, Graph};

    use super::*;

    fn colours(graph: &Graph, rounds: usize) -> Vec<(u64, f64)> {
        let options = FeatureOptions { edges: true, ..Default::default() };
        let inputs = FeatureMap::fit(graph.as_batch(), &options).unwrap().apply(graph.as_batch()).unwrap();
        subtrees(graph.as_batch(), 0, &inputs, rounds)
    }

    #[test]
    fn subtrees_of_a_path_are_counted() {
        let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3])).unwrap();
        let row = colours(&path, 2);
        let mut counts: Vec<f64> = row.iter().map(|(_, count)| *count).collect();
        counts.sort_by(f64::total_cmp);
        // All alike; then two ends and two inner vertices; the same two pairs again.
        assert_eq!(counts, [2.0, 2.0, 2.0, 2.0, 4.0]);
    }

    #[test]
    fn two_triangles_are_a_hexagon_to_it_and_a_path_is_not() {
        let graph = |from: &[u32], to: &[u32]| Graph::new(&EdgeList::new(6, from, to)).unwrap();
        let hexagon = graph(&[0, 1, 2, 3, 4, 5], &[1, 2, 3, 4, 5, 0]);
        let triangles = graph(&[0, 1, 2, 3, 4, 5], &[1, 2, 0, 4, 5, 3]);
        let path = graph(&[0, 1, 2, 3, 4], &[1, 2, 3, 4, 5]);
        assert_eq!(colours(&hexagon, 4), colours(&triangles, 4));
        assert_ne!(colours(&hexagon, 1), colours(&path, 1));
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
    fn products_are_those_of_written_out_rows() {
        let counts = |rows: &[&[(u64, f64)]]| Counts { rows: rows.iter().map(|row| row.to_vec()).collect() };
        let (a, b) = (counts(&[&[(1, 2.0), (7, 1.0)], &[]]), counts(&[&[(7, 3.0)], &[(1, 1.0), (7, 2.0)]]));
        assert_eq!(a.products(&b), ndarray::array![[3.0, 4.0], [0.0, 0.0]]);
    }
}
