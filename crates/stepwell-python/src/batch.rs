//! Many graphs at once, on their way to the model.

use std::sync::Arc;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use stepwell::Error;
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};

use crate::graph::{RawGraph, named};

/// Graphs in one batch.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawBatch {
    pub(crate) batch: Arc<GraphBatch>,
    /// Where the vertices of all graphs lie, if that is known.
    pub(crate) places: Option<Arc<Vec<[f64; 2]>>>,
}

impl RawBatch {
    pub fn new(graphs: GraphBatch) -> Self {
        Self { batch: Arc::new(graphs), places: None }
    }
}

#[pymethods]
impl RawBatch {
    /// Graphs from anywhere; all or none of them have features, of one width,
    /// and all or none of them labels. Those without vertices fit beside any.
    #[staticmethod]
    fn of_graphs(graphs: Vec<PyRef<'_, RawGraph>>) -> PyResult<Self> {
        let mut batch = GraphBatch::default();
        for (position, graph) in graphs.iter().enumerate() {
            let alone = graph.batch.select(&[graph.index]);
            batch.append(&alone).map_err(|error| {
                // As parameters are called here.
                let told = match error {
                    Error::Mixed { what, expected, found } if what.starts_with("vertex") => {
                        let what = if what == "vertex labels" { "labels" } else { "features" };
                        let count = |told: &str| told.trim_end_matches(" per row").replace("them", "some");
                        let (expected, found) = (count(&expected), count(&found));
                        format!(
                            "expected {expected} {what} per vertex, as in the graphs before it, found {found}"
                        )
                    }
                    error => error.to_string(),
                };
                PyValueError::new_err(format!("graph {position}: {told}"))
            })?;
        }
        Ok(Self::new(batch))
    }

    /// Graphs listed one after the other: how many vertices and edges each has,
    /// the edges' ends, and what edges and vertices carry.
    #[staticmethod]
    #[pyo3(signature = (vertices, edges, sources, targets, weights, features, labels, directed, names=None))]
    #[expect(clippy::too_many_arguments, reason = "a graph has that many parts")]
    fn of_arrays(
        vertices: PyReadonlyArray1<'_, i64>,
        edges: PyReadonlyArray1<'_, i64>,
        sources: PyReadonlyArray1<'_, u32>,
        targets: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        features: Option<PyReadonlyArray2<'_, f64>>,
        labels: Option<PyReadonlyArray1<'_, i32>>,
        directed: bool,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (sources, targets) = (sources.as_slice()?, targets.as_slice()?);
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let labels = labels.as_ref().map(|labels| labels.as_slice()).transpose()?;
        let width = features.as_ref().map_or(0, |features| features.shape()[1]);
        let features = features.as_ref().map(|features| features.as_slice()).transpose()?;
        let mut builder = BatchBuilder::default();
        let (mut first_vertex, mut first_edge) = (0, 0);
        for (graph, (&vertices, &edges)) in vertices.as_slice()?.iter().zip(edges.as_slice()?).enumerate() {
            let wrong = |text: String| PyValueError::new_err(format!("graph {graph}: {text}"));
            let size = |size: i64| usize::try_from(size).map_err(|_| wrong(format!("a size of {size}")));
            let (v, e) =
                (first_vertex..first_vertex + size(vertices)?, first_edge..first_edge + size(edges)?);
            (first_vertex, first_edge) = (v.end, e.end);
            let (Some(sources), Some(targets)) = (sources.get(e.clone()), targets.get(e.clone())) else {
                return Err(wrong(format!("expected {edges} edges, found fewer")));
            };
            let rows = v.start.saturating_mul(width)..v.end.saturating_mul(width);
            let list = EdgeList {
                weights: weights.map(|weights| weights.get(e).unwrap_or_default()),
                vertex_labels: labels.map(|labels| labels.get(v.clone()).unwrap_or_default()),
                vertex_attributes: features.map(|all| (all.get(rows).unwrap_or_default(), width)),
                directed,
                ..EdgeList::new(v.len(), sources, targets)
            };
            builder.push(&list).map_err(|error| wrong(error.to_string()))?;
        }
        Ok(Self::new(named(builder.finish(), names)?))
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn graph(&self, index: usize) -> PyResult<RawGraph> {
        if index >= self.batch.len() {
            return Err(PyIndexError::new_err("no graph of that number"));
        }
        Ok(RawGraph { batch: self.batch.clone(), index, places: self.places.clone() })
    }

    /// Some of the graphs, in the order given.
    fn select(&self, positions: Vec<usize>) -> PyResult<Self> {
        if positions.iter().any(|&position| position >= self.batch.len()) {
            return Err(PyIndexError::new_err("no graph of that number"));
        }
        let offsets = self.batch.vertex_offsets();
        let places = self.places.as_ref().map(|all| {
            let of = |&graph: &usize| all[offsets[graph]..offsets[graph + 1]].iter().copied();
            Arc::new(positions.iter().flat_map(of).collect())
        });
        Ok(Self { batch: Arc::new(self.batch.select(&positions)), places })
    }
}
