//! Batches of graphs for a model.

use std::ops::Range;
use std::sync::Arc;

use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use stepwell::Error;
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};

use crate::graph::{RawGraph, named};

/// Graphs in one batch.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawBatch {
    pub(crate) batch: Arc<GraphBatch>,
    /// The positions of all vertices, if known.
    pub(crate) places: Option<Arc<Vec<[f64; 2]>>>,
    /// The feature set, if the graphs are molecules.
    pub(crate) molecules: Option<Arc<str>>,
}

impl RawBatch {
    pub fn new(graphs: GraphBatch) -> Self {
        Self { batch: Arc::new(graphs), places: None, molecules: None }
    }
}

#[pymethods]
impl RawBatch {
    /// The number of vertices of each graph.
    fn sizes(&self) -> Vec<usize> {
        self.batch.iter().map(|graph| graph.num_vertices()).collect()
    }

    /// A batch of graphs whose vertices and edges have the same labels and attributes.
    /// Graphs without vertices fit any batch; graphs without edges fit any edge data.
    #[staticmethod]
    fn of_graphs(graphs: Vec<PyRef<'_, RawGraph>>) -> PyResult<Self> {
        let mut batch = GraphBatch::default();
        for (position, graph) in graphs.iter().enumerate() {
            let alone = graph.batch.select(&[graph.index]);
            batch.append(&alone).map_err(|error| {
                // Use the names of Python's parameters.
                let told = match error {
                    Error::Mixed { what, expected, found } => match carried(what) {
                        Some(carried) => {
                            let count = |told: &str| {
                                told.split(" per ").next().unwrap_or(told).replace("them", "some")
                            };
                            let (expected, found) = (count(&expected), count(&found));
                            format!(
                                "expected {expected} {carried}, as in the graphs before it, found {found}"
                            )
                        }
                        None => Error::Mixed { what, expected, found }.to_string(),
                    },
                    error => error.to_string(),
                };
                PyValueError::new_err(format!("graph {position}: {told}"))
            })?;
        }
        Ok(Self::new(batch))
    }

    /// Concatenated graphs: the numbers of vertices and edges of each, the ends of the
    /// edges, and the data of edges and vertices.
    #[staticmethod]
    #[pyo3(signature = (vertices, edges, sources, targets, weights, features, labels, directed, names=None, edge_labels=None, edge_attributes=None))]
    #[expect(clippy::too_many_arguments, reason = "a graph has that many parts")]
    fn of_arrays(
        vertices: PyReadonlyArray1<'_, i64>,
        edges: PyReadonlyArray1<'_, i64>,
        sources: PyReadonlyArray1<'_, u32>,
        targets: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        features: Option<PyReadonlyArray2<'_, f64>>,
        labels: Option<PyReadonlyArray2<'_, i32>>,
        directed: bool,
        names: Option<Vec<String>>,
        edge_labels: Option<PyReadonlyArray2<'_, i32>>,
        edge_attributes: Option<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let (sources, targets) = (sources.as_slice()?, targets.as_slice()?);
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let (labels, features) = (rows(&labels)?, rows(&features)?);
        let (edge_labels, edge_attributes) = (rows(&edge_labels)?, rows(&edge_attributes)?);
        let mut builder = BatchBuilder::default();
        let (mut first_vertex, mut first_edge) = (0, 0);
        for (graph, (&vertices, &edges)) in vertices.as_slice()?.iter().zip(edges.as_slice()?).enumerate() {
            let wrong = |text: String| PyValueError::new_err(format!("graph {graph}: {text}"));
            let size = |size: i64| {
                usize::try_from(size)
                    .map_err(|_| wrong(format!("expected a size of at least 0, found {size}")))
            };
            let (v, e) =
                (first_vertex..first_vertex + size(vertices)?, first_edge..first_edge + size(edges)?);
            (first_vertex, first_edge) = (v.end, e.end);
            let (Some(sources), Some(targets)) = (sources.get(e.clone()), targets.get(e.clone())) else {
                return Err(wrong(format!("expected {edges} edges, found fewer")));
            };
            let list = EdgeList {
                weights: weights.map(|weights| weights.get(e.clone()).unwrap_or_default()),
                edge_labels: some_rows(edge_labels, &e),
                edge_attributes: some_rows(edge_attributes, &e),
                vertex_labels: some_rows(labels, &v),
                vertex_attributes: some_rows(features, &v),
                directed,
                ..EdgeList::new(v.len(), sources, targets)
            };
            builder.push(&list).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(Self::new(named(builder.finish(), names)?))
    }

    /// Concatenates several batches.
    #[staticmethod]
    fn joined(batches: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let mut whole = GraphBatch::default();
        for batch in &batches {
            whole.append(&batch.batch).map_err(|error| PyValueError::new_err(error.to_string()))?;
        }
        Ok(Self::new(whole))
    }

    /// The same graphs, marked as molecules of that feature set.
    fn of_molecules(&self, features: &str) -> Self {
        let (batch, places) = (self.batch.clone(), self.places.clone());
        Self { batch, places, molecules: Some(features.into()) }
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn graph(&self, index: usize) -> PyResult<RawGraph> {
        if index >= self.batch.len() {
            return Err(PyIndexError::new_err("graph index out of range"));
        }
        let (places, molecules) = (self.places.clone(), self.molecules.clone());
        Ok(RawGraph { batch: self.batch.clone(), index, places, molecules })
    }

    /// Some of the graphs, in the order given.
    fn select(&self, positions: Vec<usize>) -> PyResult<Self> {
        if positions.iter().any(|&position| position >= self.batch.len()) {
            return Err(PyIndexError::new_err("graph index out of range"));
        }
        let offsets = self.batch.vertex_offsets();
        let places = self.places.as_ref().map(|all| {
            let of = |&graph: &usize| all[offsets[graph]..offsets[graph + 1]].iter().copied();
            Arc::new(positions.iter().flat_map(of).collect())
        });
        let molecules = self.molecules.clone();
        Ok(Self { batch: Arc::new(self.batch.select(&positions)), places, molecules })
    }
}

/// Vertex and edge data by the names of Python's parameters.
fn carried(what: &str) -> Option<&'static str> {
    Some(match what {
        "vertex labels" => "labels per vertex",
        "vertex attributes" => "features per vertex",
        "edge labels" => "labels per edge (edge_label)",
        "edge attributes" => "attributes per edge (edge_attr)",
        _ => return None,
    })
}

/// The rows of an array, concatenated, and their width.
pub(crate) fn rows<'a, T: Element>(
    array: &'a Option<PyReadonlyArray2<'_, T>>,
) -> PyResult<Option<(&'a [T], usize)>> {
    match array {
        Some(array) => Ok(Some((array.as_slice()?, array.shape()[1]))),
        None => Ok(None),
    }
}

/// A range of the rows; empty if there are fewer, which is an error later.
fn some_rows<'a, T>(table: Option<(&'a [T], usize)>, range: &Range<usize>) -> Option<(&'a [T], usize)> {
    let (values, width) = table?;
    let cells = range.start.saturating_mul(width)..range.end.saturating_mul(width);
    Some((values.get(cells).unwrap_or_default(), width))
}
