//! Histograms of degrees, of the neighbours' degrees, and of the edges with each label.

use ndarray::Array2;
use stepwell::features::{EdgeInputs, StructuralFeature};
use stepwell::graph::GraphBatch;

/// Doublings that have bins of their own. Larger values share the last bin.
const DOUBLINGS: usize = 16;

/// Edge labels that have histograms of their own. The others share the last histogram.
const MOST_KINDS: usize = 64;

/// Counts the vertices of a graph in each bin, for each column of the profile. Bins are
/// equal on a logarithmic scale and the same for all datasets, so nothing is fitted.
pub fn histograms(
    graphs: &GraphBatch,
    edges: &EdgeInputs,
    chosen: &[usize],
    per_doubling: usize,
) -> Array2<f64> {
    let feature = StructuralFeature::LocalDegreeProfile;
    let (columns, bins) = (feature.width(), DOUBLINGS * per_doubling);
    let kinds = if edges.kind_of().is_empty() { 0 } else { edges.kinds().len().min(MOST_KINDS) };
    let mut found = Array2::zeros((chosen.len(), (columns + kinds) * bins));
    // Weighted degrees may be negative. Values without a logarithm go into the first
    // bin.
    let bin = |value: f64| (((value.max(0.0) + 1.0).log2() * per_doubling as f64) as usize).min(bins - 1);
    for (mut row, &graph) in found.rows_mut().into_iter().zip(chosen) {
        for profile in feature.columns(graphs.graph(graph)).chunks_exact(columns) {
            for (column, &value) in profile.iter().enumerate() {
                row[column * bins + bin(value)] += 1.0;
            }
        }
        let mut met = vec![0; kinds];
        let vertices = graphs.vertex_offsets()[graph]..graphs.vertex_offsets()[graph + 1];
        for vertex in vertices.filter(|_| kinds > 0) {
            let entries = graphs.row_offsets()[vertex]..graphs.row_offsets()[vertex + 1];
            met.fill(0);
            for &kind in &edges.kind_of()[entries] {
                met[(kind as usize).min(kinds - 1)] += 1;
            }
            for (kind, &count) in met.iter().enumerate() {
                row[(columns + kind) * bins + bin(f64::from(count))] += 1.0;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use stepwell::features::{FeatureMap, FeatureOptions};
    use stepwell::graph::{EdgeList, Graph};

    use super::*;

    #[test]
    fn a_star_has_a_hub_and_leaves() {
        let star = Graph::new(&EdgeList::new(4, &[0, 0, 0], &[1, 2, 3])).unwrap();
        let row = histograms(star.as_batch(), &EdgeInputs::default(), &[0], 1);
        // Degrees 3, 1, 1, 1: log2 of one more is 2 and 1. The hub's neighbours have degree 1,
        // the leaves' neighbour 3.
        let bins = |column: usize| (0..3).map(|bin| row[(0, column * 16 + bin)]).collect::<Vec<_>>();
        assert_eq!(bins(0), [0.0, 3.0, 1.0]);
        for column in 1..4 {
            assert_eq!(bins(column), [0.0, 1.0, 3.0], "least, most and mean of the neighbours");
        }
        assert_eq!(bins(4), [4.0, 0.0, 0.0], "no spread anywhere");
        assert_eq!(row.sum(), 20.0);
    }

    #[test]
    fn edges_of_each_label_are_counted() {
        let edges =
            EdgeList { edge_labels: Some((&[7, 7, 9], 1)), ..EdgeList::new(4, &[0, 0, 0], &[1, 2, 3]) };
        let star = Graph::new(&edges).unwrap();
        let options = FeatureOptions { edges: true, ..Default::default() };
        let inputs = FeatureMap::fit(star.as_batch(), &options).unwrap().apply(star.as_batch()).unwrap();
        let row = histograms(star.as_batch(), inputs.edges(), &[0], 1);
        let bins = |column: usize| (0..3).map(|bin| row[(0, column * 16 + bin)]).collect::<Vec<_>>();
        // The hub has two edges with label 7, two leaves have one, and one leaf has none.
        assert_eq!(bins(5), [1.0, 3.0, 0.0], "log2 of 3 is below 2");
        assert_eq!(bins(6), [2.0, 2.0, 0.0]);
    }
}
