//! Converts graphs to lists of edges.

use stepwell::graph::{GraphBatch, GraphRef, VertexAttributes};
use stepwell::targets::Targets;

use super::collect::vertices_within_reason;
use super::{Key, MAX_TARGETS};
use crate::dataset::{Dataset, Vertices};
use crate::error::{Error, Place, Result};
use crate::memory;

/// The edges of graphs, in the form that rows list them.
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
    /// Lists the entries of a graph; with `once`, only one of the two entries of each undirected
    /// edge.
    pub fn list(&mut self, graph: GraphRef<'_>, once: bool) {
        let Self { src, dst, weight, edge_label, edge_attr } = self;
        let half = once && !graph.is_directed();
        let (weights, labels, attributes) = (graph.weights(), graph.edge_labels(), graph.edge_attributes());
        let mut entry = 0;
        for row in 0..graph.num_vertices() {
            for &column in graph.neighbours(row) {
                if !half || column as usize >= row {
                    // `check_writable` has bounded the number of vertices.
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

/// Whether listing each undirected edge once loses nothing: its two entries have bit-identical
/// weights in every graph. Their labels and attributes are always equal.
pub(crate) fn lists_once(batch: &GraphBatch) -> bool {
    let mut next = Vec::new();
    let undirected = batch.iter().filter(|graph| !graph.is_directed());
    undirected
        .filter_map(|graph| Some((graph, graph.weights()?)))
        .all(|(graph, weights)| mirrored(graph, weights, &mut next))
}

/// Walks the entries above the diagonal. `next[v]` is the first entry of row `v` whose mirror image
/// has not been seen; this works because columns ascend.
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

/// Checks that rows can hold a dataset. Anything that would be lost or could not be read back is an
/// error before the first byte is written.
pub(crate) fn check_writable(dataset: &Dataset, place: &Place) -> Result<()> {
    let graphs = dataset.len();
    let counted = |what: &str, found: usize, expected: usize, item: &str| {
        if found == expected {
            return Ok(());
        }
        Err(Error::Unsupported(format!("{place}: expected {expected} {what}, one per {item}, found {found}")))
    };
    if dataset.targets != Targets::None {
        counted("targets", dataset.targets.len(), graphs, "graph")?;
    }
    if let Some(known) = &dataset.some_classes {
        counted("targets", known.targets.len(), known.rows.len(), "graph with a class")?;
    }
    counted("groups", dataset.groups.as_ref().map_or(graphs, Vec::len), graphs, "graph")?;
    if let Some((name, _)) = dataset.group_column().filter(|(name, _)| Key::from_name(name).is_some()) {
        let what = format!(
            "{place}: expected another name for the column of groups, found '{name}', which describes the graph"
        );
        return Err(Error::Unsupported(what));
    }
    counted("ids", dataset.ids.as_ref().map_or(graphs, Vec::len), graphs, "graph")?;
    counted("parts of a split", dataset.parts.as_ref().map_or(graphs, Vec::len), graphs, "graph")?;
    let vertices = dataset.graphs.num_vertices();
    counted("coordinates", dataset.coordinates.as_ref().map_or(vertices, Vec::len), vertices, "vertex")?;

    if let Some(Vertices { known, splits }) = &dataset.vertices {
        counted("targets", known.targets.len(), known.rows.len(), "known vertex")?;
        if let Some(last) = known.rows.last().filter(|&&last| last >= vertices) {
            let what = format!("vertex {last} has a target, but there are only {vertices} vertices");
            return Err(Error::Unsupported(format!("{place}: {what}")));
        }
        for split in splits {
            counted("parts of a split", split.len(), vertices, "vertex")?;
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
        return Err(infinite("position of vertex", index, &coordinates[index]));
    }
    let sparse = dataset.graphs.vertex_attributes().filter(|all| matches!(all, VertexAttributes::Sparse(_)));
    for graph in dataset.graphs.iter() {
        let row = || place.row(graph.index() as u64);
        vertices_within_reason(graph.num_vertices() as u64, numbers_listed(dataset, graph))
            .map_err(|fault| fault.at(row()))?;
        // A row lists zeros, too: as numbers, then as text or in a column.
        let numbers = sparse.map_or(0, |all| all.width() as u64).saturating_mul(graph.num_vertices() as u64);
        memory::ask(&row(), "its attributes, zeros included", numbers.saturating_mul(16))?;
    }
    Ok(())
}

/// A lower bound on the numbers a row lists, which suffices for the reader's rule.
fn numbers_listed(dataset: &Dataset, graph: GraphRef<'_>) -> u64 {
    let width = dataset.graphs.vertex_attributes().map_or(0, |all| all.width())
        + graph.vertex_labels().map_or(0, |(_, width)| width)
        + 2 * usize::from(dataset.coordinates.is_some())
        + usize::from(dataset.vertices.as_ref().is_some_and(|all| !all.splits.is_empty()));
    graph.num_vertices() as u64 * width as u64 + graph.num_entries() as u64 / 2
}
