//! Builds a batch from tables of vertices and edges, graph after graph.

use std::ops::Range;

use rayon::prelude::*;
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};

use crate::error::{Error, Place, Result};
use crate::memory;

/// Rows of values, concatenated, and their width.
pub(crate) type Rows<T> = Option<(Vec<T>, usize)>;

/// The labels and attributes of vertices and edges, graph after graph.
#[derive(Default)]
pub(crate) struct Columns {
    pub(crate) vertex_labels: Rows<i32>,
    pub(crate) vertex_attributes: Rows<f64>,
    pub(crate) edge_labels: Rows<i32>,
    pub(crate) edge_attributes: Rows<f64>,
}

/// The vertices and edges of all graphs, graph after graph.
pub(crate) struct Tables<'a> {
    /// The first vertex of each graph, followed by the number of vertices.
    pub(crate) first_vertex: &'a [u32],
    /// The first edge of each graph, followed by the number of edges.
    pub(crate) first_edge: &'a [usize],
    /// The ends of the edges, numbered from 0 in each graph.
    pub(crate) sources: &'a [u32],
    pub(crate) targets: &'a [u32],
    pub(crate) columns: Columns,
}

impl Tables<'_> {
    /// Builds undirected graphs. If the two directions of an edge carry different labels or
    /// attributes, builds directed graphs and returns a note. `line` maps an edge to its line in
    /// the file at `place`.
    pub(crate) fn build(
        &self,
        place: &Place,
        line: impl Fn(usize) -> u64 + Sync,
    ) -> Result<(GraphBatch, Option<String>)> {
        let (pieces, note) = match self.pieces(place, &line, false) {
            Err(Error::Graph { source: stepwell::Error::EdgesDiffer { what, .. }, .. }) => {
                let note = format!(
                    "the two directions of an edge carry different {what}: reading the graphs as directed"
                );
                (self.pieces(place, &line, true)?, Some(note))
            }
            built => (built?, None),
        };
        let mut pieces = pieces.into_iter();
        let mut graphs = pieces.next().unwrap_or_default();
        for piece in pieces {
            memory::ask(place, "its graphs", piece.bytes())?;
            graphs.append(&piece).map_err(|source| Error::Graph { place: place.clone(), source })?;
        }
        Ok((graphs, note))
    }

    /// Builds the graphs in parallel, in pieces; the pieces are in order.
    fn pieces(
        &self,
        place: &Place,
        line: &(impl Fn(usize) -> u64 + Sync),
        directed: bool,
    ) -> Result<Vec<GraphBatch>> {
        const EDGES_PER_PIECE: usize = 1 << 18;
        let mut pieces = Vec::new();
        let (mut begin, graphs) = (0, self.first_edge.len() - 1);
        while begin < graphs {
            let goal = self.first_edge[begin] + EDGES_PER_PIECE;
            let end = self.first_edge.partition_point(|&first| first < goal).clamp(begin + 1, graphs);
            pieces.push(begin..end);
            begin = end;
        }
        let built: Vec<Result<GraphBatch>> = pieces
            .into_par_iter()
            .map(|graphs| {
                memory::ask(place, "its graphs", self.bytes(&graphs))?;
                let mut builder = BatchBuilder::default();
                for graph in graphs {
                    let (list, first) = self.edge_list(graph, directed);
                    builder.push(&list).map_err(|source| Error::Graph {
                        place: match source {
                            stepwell::Error::EdgesDiffer { second, .. } => place.line(line(first + second)),
                            _ => place.clone(),
                        },
                        source,
                    })?;
                }
                Ok(builder.finish())
            })
            .collect();
        // The first error in file order, whichever thread found one first.
        built.into_iter().collect()
    }

    /// The memory of some graphs in bytes: offsets, both directions of edges, and features.
    fn bytes(&self, graphs: &Range<usize>) -> u64 {
        let vertices = (self.first_vertex[graphs.end] - self.first_vertex[graphs.start]) as usize;
        let edges = self.first_edge[graphs.end] - self.first_edge[graphs.start];
        let width = |labels: &Rows<i32>, attributes: &Rows<f64>| {
            4 * labels.as_ref().map_or(0, |(_, width)| *width)
                + 8 * attributes.as_ref().map_or(0, |(_, width)| *width)
        };
        let columns = &self.columns;
        let of_vertex = 8 + width(&columns.vertex_labels, &columns.vertex_attributes);
        let of_edge = 8 + width(&columns.edge_labels, &columns.edge_attributes);
        (vertices * of_vertex + 2 * edges * of_edge) as u64
    }

    /// The edge list of a graph, and the index of its first edge.
    fn edge_list(&self, graph: usize, directed: bool) -> (EdgeList<'_>, usize) {
        let vertices = self.first_vertex[graph] as usize..self.first_vertex[graph + 1] as usize;
        let edges = self.first_edge[graph]..self.first_edge[graph + 1];
        let columns = &self.columns;
        let list = EdgeList {
            num_vertices: vertices.len(),
            sources: &self.sources[edges.clone()],
            targets: &self.targets[edges.clone()],
            vertex_labels: slice_rows(&columns.vertex_labels, &vertices),
            vertex_attributes: slice_rows(&columns.vertex_attributes, &vertices),
            edge_labels: slice_rows(&columns.edge_labels, &edges),
            edge_attributes: slice_rows(&columns.edge_attributes, &edges),
            directed,
            ..EdgeList::default()
        };
        (list, edges.start)
    }
}

fn slice_rows<'a, T>(table: &'a Rows<T>, rows: &Range<usize>) -> Option<(&'a [T], usize)> {
    let (values, width) = table.as_ref()?;
    Some((&values[rows.start * width..rows.end * width], *width))
}

/// Refuses a file that does not have one line per graph, vertex or edge.
pub(crate) fn same_count(place: &Place, expected: usize, of: &str, found: usize) -> Result<()> {
    if expected == found {
        Ok(())
    } else {
        Err(Error::malformed(
            place.clone(),
            format!("{expected} lines, one for each of the {of}"),
            found.to_string(),
        ))
    }
}
