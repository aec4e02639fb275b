//! Makes graphs undirected, because poolings are defined on undirected graphs.

use crate::error::Result;
use crate::graph::{EdgeList, Graph, GraphRef};

/// `(A + Aᵀ)/2` of a directed graph, without labels and attributes. `None` if the graph
/// is undirected already.
///
/// ```
/// use stepwell::graph::{EdgeList, Graph};
/// use stepwell::pool::undirected;
/// let edges = EdgeList { directed: true, ..EdgeList::new(3, &[0, 1, 1], &[1, 0, 2]) };
/// let directed = Graph::new(&edges)?;
/// let made = undirected(directed.view())?;
/// let graph = made.as_ref().map_or(directed.view(), Graph::view);
/// assert_eq!(graph.neighbours(1), [0, 2]);
/// assert_eq!(graph.weights_of(1), Some([1.0, 0.5].as_slice()));
/// # Ok::<(), stepwell::Error>(())
/// ```
pub fn undirected(graph: GraphRef<'_>) -> Result<Option<Graph>> {
    if !graph.is_directed() {
        return Ok(None);
    }
    let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, weight) in graph.entries() {
        // List all edges in one direction, so that the two halves of an edge add up.
        sources.push(row.min(column) as u32);
        targets.push(row.max(column) as u32);
        weights.push(if row == column { weight } else { weight / 2.0 });
    }
    let edges = EdgeList::new(graph.num_vertices(), &sources, &targets);
    Graph::new(&EdgeList { weights: Some(&weights), ..edges }).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_averaged_and_loops_stay() {
        let edges = EdgeList {
            weights: Some(&[1.0, 3.0, 5.0, 2.0]),
            directed: true,
            ..EdgeList::new(3, &[0, 1, 2, 2], &[1, 0, 2, 1])
        };
        let graph = Graph::new(&edges).unwrap();
        let made = undirected(graph.view()).unwrap().unwrap();
        let entries: Vec<_> = made.view().entries().collect();
        assert_eq!(entries, [(0, 1, 2.0), (1, 0, 2.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 5.0)]);
        assert_eq!(undirected(made.view()).unwrap(), None);
    }
}
