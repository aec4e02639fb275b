//! Takes a batch apart into its arrays and builds it from them again.

use super::build::SAME_WEIGHT;
use super::{GraphBatch, GraphRef};
use crate::error::{Error, Result, same_length};

impl GraphBatch {
    /// Whether each graph is directed.
    pub fn directed(&self) -> &[bool] {
        &self.directed
    }

    /// Where each vertex's entries begin, followed by the number of entries.
    pub fn row_offsets(&self) -> &[usize] {
        &self.row_offsets
    }

    /// Columns of all entries, counted from 0 in every graph.
    pub fn neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// Builds a batch from the arrays that the accessors return, without labels and
    /// attributes. Checks every invariant of a batch: offsets ascend, rows are sorted
    /// and without repeats, weights are positive and finite, undirected edges have both
    /// directions.
    pub fn from_arrays(
        directed: Vec<bool>,
        vertex_offsets: Vec<usize>,
        row_offsets: Vec<usize>,
        neighbours: Vec<u32>,
        weights: Option<Vec<f64>>,
    ) -> Result<Self> {
        check_offsets("vertex offsets", &vertex_offsets, row_offsets.len().saturating_sub(1))?;
        check_offsets("row offsets", &row_offsets, neighbours.len())?;
        same_length("directed flags", vertex_offsets.len() - 1, directed.len())?;
        if let Some(weights) = &weights {
            same_length("edge weights", neighbours.len(), weights.len())?;
            let bad = |weight: &f64| !(weight.is_finite() && *weight > 0.0);
            if let Some(edge) = weights.iter().position(bad) {
                let found = format!("{} for edge {edge}, counted from 0", weights[edge]);
                let expected = "finite numbers above 0".into();
                return Err(Error::BadOption { name: "edge weights", expected, found });
            }
        }
        let batch =
            Self { directed, vertex_offsets, row_offsets, neighbours, weights, ..GraphBatch::default() };
        let mut next = Vec::new();
        for graph in batch.iter() {
            graph.check_rows()?;
            if !graph.is_directed() {
                graph.check_mirrored(&mut next)?;
            }
        }
        Ok(batch)
    }
}

impl GraphRef<'_> {
    fn check_rows(&self) -> Result<()> {
        let num_vertices = self.num_vertices();
        if num_vertices > u32::MAX as usize {
            let (limit, found) = (u64::from(u32::MAX), num_vertices as u64);
            return Err(Error::TooLarge { what: "vertices of a graph", limit, found });
        }
        for vertex in 0..num_vertices {
            let (row, start) = (self.neighbours(vertex), self.row(vertex).start);
            if let Some(at) = row.windows(2).position(|pair| pair[0] >= pair[1]) {
                return Err(Error::NotAscending { what: "neighbours", position: start + at + 1 });
            }
            if let Some(&last) = row.last().filter(|&&last| last as usize >= num_vertices) {
                let (edge, vertex) = (start + row.len() - 1, u64::from(last));
                return Err(Error::VertexOutOfRange { edge, vertex, num_vertices });
            }
        }
        Ok(())
    }

    /// Iterating over the rows in order visits the mirror images of the entries left of
    /// the diagonal in order. So each image must be the next entry of its row, and none
    /// may be left when that row is reached. `next` is a buffer for the positions.
    fn check_mirrored(&self, next: &mut Vec<usize>) -> Result<()> {
        let GraphBatch { row_offsets, neighbours, weights, .. } = self.batch;
        let rows = &row_offsets[self.first..=self.end];
        let weight = |at: usize| weights.as_ref().map_or(1.0, |weights| weights[at]);
        let uneven = |source: usize, target: usize, forward, backward| Error::AsymmetricWeight {
            source_vertex: source as u32,
            target_vertex: target as u32,
            forward,
            backward,
        };
        next.clear();
        next.extend_from_slice(rows);
        for vertex in 0..self.num_vertices() {
            for entry in next[vertex]..rows[vertex + 1] {
                let other = neighbours[entry] as usize;
                let forward = weight(entry);
                if other == vertex {
                    continue;
                }
                let image = next[other];
                if other < vertex || image == rows[other + 1] || neighbours[image] as usize != vertex {
                    return Err(uneven(vertex, other, forward, 0.0));
                }
                next[other] = image + 1;
                let backward = weight(image);
                if (forward - backward).abs() > SAME_WEIGHT * forward.max(backward) {
                    return Err(uneven(vertex, other, forward, backward));
                }
            }
        }
        Ok(())
    }
}

/// Checks that offsets ascend from 0 to the number of items they divide.
pub(crate) fn check_offsets(what: &'static str, offsets: &[usize], total: usize) -> Result<()> {
    let (first, last) = (offsets.first().copied(), offsets.last().copied().unwrap_or(0));
    if first != Some(0) {
        let found = first.map_or_else(|| "an empty list".to_string(), |first| first.to_string());
        return Err(Error::BadOption { name: what, expected: "0 at the start".into(), found });
    }
    if let Some(at) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(Error::NotAscending { what, position: at + 1 });
    }
    same_length(what, total, last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{BatchBuilder, EdgeList};

    fn rebuilt(batch: &GraphBatch, change: impl FnOnce(&mut Arrays)) -> Result<GraphBatch> {
        let mut arrays = Arrays {
            directed: batch.directed().to_vec(),
            vertex_offsets: batch.vertex_offsets().to_vec(),
            row_offsets: batch.row_offsets().to_vec(),
            neighbours: batch.neighbours().to_vec(),
            weights: batch.weights().map(<[f64]>::to_vec),
        };
        change(&mut arrays);
        let Arrays { directed, vertex_offsets, row_offsets, neighbours, weights } = arrays;
        GraphBatch::from_arrays(directed, vertex_offsets, row_offsets, neighbours, weights)
    }

    struct Arrays {
        directed: Vec<bool>,
        vertex_offsets: Vec<usize>,
        row_offsets: Vec<usize>,
        neighbours: Vec<u32>,
        weights: Option<Vec<f64>>,
    }

    /// A weighted path with a loop, an empty graph, and a directed edge.
    fn batch() -> GraphBatch {
        let mut builder = BatchBuilder::default();
        let path = EdgeList { weights: Some(&[1.0, 2.0, 3.0]), ..EdgeList::new(3, &[0, 1, 2], &[1, 2, 2]) };
        builder.push(&path).unwrap();
        builder.push(&EdgeList::new(0, &[], &[])).unwrap();
        builder.push(&EdgeList { directed: true, ..EdgeList::new(2, &[0], &[1]) }).unwrap();
        builder.finish()
    }

    #[test]
    fn the_same_arrays_are_the_same_batch() {
        let batch = batch();
        assert_eq!(rebuilt(&batch, |_| ()).unwrap(), batch);
        assert_eq!(rebuilt(&GraphBatch::default(), |_| ()).unwrap(), GraphBatch::default());
    }

    #[test]
    fn broken_promises_are_errors() {
        type Change = fn(&mut Arrays);
        let batch = batch();
        assert_eq!(batch.neighbours(), [1, 0, 2, 1, 2, 1]);
        let changes: [(&str, Change); 12] = [
            ("no vertex offsets", |a| a.vertex_offsets.clear()),
            ("vertex offsets do not ascend", |a| a.vertex_offsets[1] = 6),
            ("vertex offsets end early", |a| a.vertex_offsets[3] = 4),
            ("no row offsets", |a| a.row_offsets.clear()),
            ("row offsets start late", |a| a.row_offsets[0] = 1),
            ("row offsets end late", |a| a.row_offsets[5] = usize::MAX),
            ("a flag too many", |a| a.directed.push(false)),
            ("a weight too few", |a| a.weights.as_mut().unwrap().truncate(5)),
            ("weight 0", |a| a.weights.as_mut().unwrap()[5] = 0.0),
            ("one direction only", |a| a.neighbours[0] = 0),
            ("a repeat", |a| a.neighbours[1] = 2),
            ("another graph's vertex", |a| a.neighbours[5] = 2),
        ];
        for (what, change) in changes {
            assert!(rebuilt(&batch, change).is_err(), "{what}");
        }
        let uneven = rebuilt(&batch, |a| a.weights.as_mut().unwrap()[0] = 1.5).unwrap_err();
        assert!(matches!(uneven, Error::AsymmetricWeight { forward: 1.5, backward: 1.0, .. }));
    }

    #[test]
    fn a_missing_direction_is_not_found_in_the_next_row() {
        // Vertex 0 lists 1 and 2; the row of 1 is empty, and the next row begins with 0.
        let found =
            GraphBatch::from_arrays(vec![false], vec![0, 3], vec![0, 2, 2, 4], vec![1, 2, 0, 1], None);
        assert!(matches!(found, Err(Error::AsymmetricWeight { target_vertex: 1, backward: 0.0, .. })));
    }
}
