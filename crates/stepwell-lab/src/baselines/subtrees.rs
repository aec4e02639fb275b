//! Weisfeiler–Lehman subtrees: how often each occurs in a graph.
//!
//! A vertex' first colour is its label, or the column of its one-hot attributes
//! (without either all are alike); in each round it becomes that of the pair of its colour and the sorted colours around
//! it. Colours are 64-bit sums of what they stand for: graphs need not know of
//! each other.

use std::collections::HashMap;

use ndarray::Array2;
use rayon::prelude::*;
use stepwell::features::Inputs;
use stepwell::graph::{GraphBatch, GraphRef};

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
        let begin = graphs.vertex_offsets()[graph];
        let labels = inputs.one_hot().get(begin..).unwrap_or_default();
        let mut row = subtrees(graphs.graph(graph), labels, rounds);
        if unit_length {
            let length = row.iter().map(|(_, count)| count * count).sum::<f64>().sqrt();
            row.iter_mut().for_each(|(_, count)| *count /= length);
        }
        row
    };
    Counts { rows: chosen.par_iter().map(row).collect() }
}

fn subtrees(graph: GraphRef<'_>, labels: &[u32], rounds: usize) -> Vec<(u64, f64)> {
    let first = |vertex: usize| labels.get(vertex).copied().map_or(0, u64::from);
    let mut colours: Vec<u64> = (0..graph.num_vertices()).map(|v| mixed(first(v), 0)).collect();
    let mut met = colours.clone();
    let mut around = Vec::new();
    for round in 1..=rounds as u64 {
        let next = (0..colours.len())
            .map(|vertex| {
                around.clear();
                around.extend(graph.neighbours(vertex).iter().map(|&other| colours[other as usize]));
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
    use stepwell::graph::{EdgeList, Graph};

    use super::*;

    #[test]
    fn subtrees_of_a_path_are_counted() {
        let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3])).unwrap();
        let row = subtrees(path.view(), &[], 2);
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
        assert_eq!(subtrees(hexagon.view(), &[], 4), subtrees(triangles.view(), &[], 4));
        assert_ne!(subtrees(hexagon.view(), &[], 1), subtrees(path.view(), &[], 1));
    }

    #[test]
    fn labels_are_first_colours() {
        let edge = Graph::new(&EdgeList::new(2, &[0], &[1])).unwrap();
        let labelled = |labels: &[u32; 2]| subtrees(edge.view(), labels, 1);
        assert_eq!(labelled(&[3, 1]), labelled(&[1, 3]));
        assert_ne!(labelled(&[3, 1]), labelled(&[3, 3]));
    }

    #[test]
    fn products_are_those_of_written_out_rows() {
        let counts = |rows: &[&[(u64, f64)]]| Counts { rows: rows.iter().map(|row| row.to_vec()).collect() };
        let (a, b) = (counts(&[&[(1, 2.0), (7, 1.0)], &[]]), counts(&[&[(7, 3.0)], &[(1, 1.0), (7, 2.0)]]));
        assert_eq!(a.products(&b), ndarray::array![[3.0, 4.0], [0.0, 0.0]]);
    }
}
