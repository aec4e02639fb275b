//! Histograms of degrees and of the degrees around.

use ndarray::Array2;
use stepwell::features::StructuralFeature;
use stepwell::graph::GraphBatch;

/// Doublings that have bins of their own; larger values go into the last bin.
const DOUBLINGS: usize = 16;

/// How many vertices of a graph fall into each bin, for each column of the
/// profile. Bins are equal on a logarithmic scale and the same for all
/// datasets: nothing is fitted.
pub fn histograms(graphs: &GraphBatch, chosen: &[usize], per_doubling: usize) -> Array2<f64> {
    let feature = StructuralFeature::LocalDegreeProfile;
    let (columns, bins) = (feature.width(), DOUBLINGS * per_doubling);
    let mut found = Array2::zeros((chosen.len(), columns * bins));
    for (mut row, &graph) in found.rows_mut().into_iter().zip(chosen) {
        for profile in feature.columns(graphs.graph(graph)).chunks_exact(columns) {
            for (column, value) in profile.iter().enumerate() {
                // Weighted degrees may be below 0: what has no logarithm goes into the first bin.
                let at = (value.max(0.0) + 1.0).log2() * per_doubling as f64;
                row[column * bins + (at as usize).min(bins - 1)] += 1.0;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use stepwell::graph::{EdgeList, Graph};

    use super::*;

    #[test]
    fn a_star_has_a_hub_and_leaves() {
        let star = Graph::new(&EdgeList::new(4, &[0, 0, 0], &[1, 2, 3])).unwrap();
        let row = histograms(star.as_batch(), &[0], 1);
        // Degrees 3, 1, 1, 1: log2 of one more is 2 and 1. Around the hub 1s, around leaves a 3.
        let bins = |column: usize| (0..3).map(|bin| row[(0, column * 16 + bin)]).collect::<Vec<_>>();
        assert_eq!(bins(0), [0.0, 3.0, 1.0]);
        for column in 1..4 {
            assert_eq!(bins(column), [0.0, 1.0, 3.0], "least, most and mean of the neighbours");
        }
        assert_eq!(bins(4), [4.0, 0.0, 0.0], "no spread anywhere");
        assert_eq!(row.sum(), 20.0);
    }
}
