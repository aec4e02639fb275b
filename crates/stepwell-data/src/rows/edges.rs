//! From graphs to lists of edges.

use stepwell::graph::{GraphBatch, GraphRef};
use stepwell::targets::Targets;

use super::MAX_TARGETS;
use super::collect::vertices_within_reason;
use crate::dataset::{Dataset, Vertices};
use crate::error::{Error, Place, Result};

/// The edges of graphs, one after the other, as rows list them.
#[derive(Debug, Default)]
pub(crate) struct EdgeWriter {
    pub src: Vec<i32>,
    pub dst: Vec<i32>,
    pub weight: Vec<f64>,
    /// Row after row.
    pub edge_label: Vec<i32>,
    /// Row after row.
    pub edge_attr: Vec<f64>,
}

impl EdgeWriter {
    /// Lists the entries of a graph; with `once`, one of the two of each
    /// undirected edge.
    pub fn list(&mut self, graph: GraphRef<'_>, once: bool) {
        let Self { src, dst, weight, edge_label, edge_attr } = self;
        let half = once && !graph.is_directed();
        let (weights, labels, attributes) = (graph.weights(), graph.edge_labels(), graph.edge_attributes());
        let mut entry = 0;
        for row in 0..graph.num_vertices() {
            for &column in graph.neighbours(row) {
                if !half || column as usize >= row {
                    // `check_writable` has bounded the vertices.
                    src.push(row as i32);
                    dst.push(column as i32);
                    weight.extend(weights.map(|w| w[entry]));
                    if let Some((values, width)) = labels {
                        edge_label.extend_from_slice(&values[entry * width..(entry + 1) * width]);
                    }
                    if let Some((values, width)) = attributes {
                        edge_attr.extend_from_slice(&values[entry * width..(entry + 1) * width]);
                    }
                }
                entry += 1;
            }
        }
    }
}

/// Whether listing each undirected edge once says all: its two entries have the
/// same weight to the last bit in every graph. Their labels and attributes are
/// always the same.
pub(crate) fn lists_once(batch: &GraphBatch) -> bool {
    let mut next = Vec::new();
    let undirected = batch.iter().filter(|graph| !graph.is_directed());
    undirected
        .filter_map(|graph| Some((graph, graph.weights()?)))
        .all(|(graph, weights)| mirrored(graph, weights, &mut next))
}

/// Walks the entries above the diagonal; `next[v]` is the first entry of row
/// `v` whose mirror image has not been met, since columns ascend.
fn mirrored(graph: GraphRef<'_>, weights: &[f64], next: &mut Vec<usize>) -> bool {
    next.clear();
    next.extend(graph.row_starts());
    let mut entry = 0;
    for row in 0..graph.num_vertices() {
        for &column in graph.neighbours(row) {
            let column = column as usize;
            if column > row {
                if weights[entry] != weights[next[column]] {
                    return false;
                }
                next[column] += 1;
            }
            entry += 1;
        }
    }
    true
}

/// Whether rows can hold a dataset: what they would lose, or could not be read
/// back, is an error before anything is written.
pub(crate) fn check_writable(dataset: &Dataset, place: &Place) -> Result<()> {
    let graphs = dataset.len();
    let counted = |what: &str, found: usize, expected: usize, items: &str| {
        if found == expected {
            return Ok(());
        }
        Err(Error::Unsupported(format!("{place}: {found} {what} for {expected} {items}")))
    };
    if dataset.targets != Targets::None {
        counted("targets", dataset.targets.len(), graphs, "graphs")?;
    }
    if let Some(known) = &dataset.some_classes {
        return Err(Error::Unsupported(format!(
            "{place}: {} of {graphs} graphs have no class; give all graphs a class, or remove the classes",
            graphs - known.rows.len()
        )));
    }
    counted("ids", dataset.ids.as_ref().map_or(graphs, Vec::len), graphs, "graphs")?;
    counted("parts of a split", dataset.parts.as_ref().map_or(graphs, Vec::len), graphs, "graphs")?;
    let vertices = dataset.graphs.num_vertices();
    counted("coordinates", dataset.coordinates.as_ref().map_or(vertices, Vec::len), vertices, "vertices")?;

    if let Some(Vertices { known, splits }) = &dataset.vertices {
        counted("targets", known.targets.len(), known.rows.len(), "vertices with a target")?;
        let beyond = known.rows.last().is_some_and(|&last| last >= vertices);
        counted("vertices with a target beyond the last", usize::from(beyond), 0, "such")?;
        for split in splits {
            counted("parts of vertices", split.len(), vertices, "vertices")?;
        }
    }

    let infinite = |what: &str, index: usize, value: &dyn std::fmt::Debug| {
        Error::Unsupported(format!("{place}: the {what} {index} is {value:?}; expected finite numbers"))
    };
    if let Targets::Numbers(values) | Targets::Binary(values) = &dataset.targets {
        if values.ncols() == 0 || values.ncols() as u64 > MAX_TARGETS {
            let found = values.ncols();
            return Err(Error::Unsupported(format!(
                "{place}: {found} targets per graph; rows hold 1 to {MAX_TARGETS}"
            )));
        }
        if let Some(((index, _), value)) = values.indexed_iter().find(|(_, value)| value.is_infinite()) {
            return Err(infinite("target of graph", index, value));
        }
    }
    let coordinates = dataset.coordinates.as_deref().unwrap_or_default();
    if let Some(index) = coordinates.iter().position(|p| !p.iter().all(|v| v.is_finite())) {
        return Err(infinite("place of vertex", index, &coordinates[index]));
    }
    for graph in dataset.graphs.iter() {
        vertices_within_reason(graph.num_vertices() as u64, numbers_listed(dataset, graph))
            .map_err(|fault| fault.at(place.row(graph.index() as u64 + 1)))?;
    }
    Ok(())
}

/// A lower bound of the numbers a row lists, which is all the reader's rule needs.
fn numbers_listed(dataset: &Dataset, graph: GraphRef<'_>) -> u64 {
    let width = dataset.graphs.vertex_attributes().map_or(0, |all| all.width())
        + graph.vertex_labels().map_or(0, |(_, width)| width)
        + 2 * usize::from(dataset.coordinates.is_some())
        + usize::from(dataset.vertices.as_ref().is_some_and(|all| !all.splits.is_empty()));
    graph.num_vertices() as u64 * width as u64 + graph.num_entries() as u64 / 2
}
