//! One graph, as arrays.

use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use stepwell::features::Inputs;
use stepwell::graph::{Attributes, EdgeList, Graph, GraphBatch, GraphRef};

/// A graph of a shared batch, with its rows of the model's input.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawGraph {
    pub(crate) batch: Arc<GraphBatch>,
    /// Nothing when vertices carry nothing.
    pub(crate) inputs: Option<Arc<Inputs>>,
    pub(crate) index: usize,
    /// Whether the vertices' labels are still to become columns; those of a
    /// loaded dataset have become some.
    pub(crate) labelled: bool,
    /// Whether the inputs were made of what the batch carries, when a dataset was loaded.
    pub(crate) made: bool,
    /// Where the vertices of all graphs of the batch lie, if that is known.
    pub(crate) places: Option<Arc<Vec<[f64; 2]>>>,
}

/// Values, columns and row starts of a compressed sparse matrix.
pub(crate) type Csr<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>);

/// Attributes and labels of vertices.
type Carried<'py> = (Option<Bound<'py, PyArray2<f64>>>, Option<Bound<'py, PyArray1<i32>>>);

impl RawGraph {
    pub fn new(batch: Arc<GraphBatch>, inputs: Option<Arc<Inputs>>, index: usize) -> Self {
        Self { batch, inputs, index, labelled: false, made: false, places: None }
    }

    /// The same graph of a batch whose vertices lie there.
    pub fn placed(self, places: Option<Arc<Vec<[f64; 2]>>>) -> Self {
        Self { places, ..self }
    }

    /// Where its vertices lie, if that is known.
    pub fn coordinates(&self) -> Option<&[[f64; 2]]> {
        let offsets = self.batch.vertex_offsets();
        self.places.as_ref()?.get(offsets[self.index]..offsets[self.index + 1])
    }

    pub fn view(&self) -> GraphRef<'_> {
        self.batch.graph(self.index)
    }

    fn feature_rows(&self) -> Option<Array2<f64>> {
        let inputs = self.inputs.as_ref()?;
        let (first, count) = (self.batch.vertex_offsets()[self.index], self.view().num_vertices());
        let mut rows = Vec::with_capacity(count * inputs.width());
        (first..first + count).for_each(|vertex| inputs.extend_with_row(vertex, &mut rows));
        Array2::from_shape_vec((count, inputs.width()), rows).ok()
    }
}

impl RawGraph {
    pub fn num_vertices(&self) -> usize {
        self.batch.graph(self.index).num_vertices()
    }
}

#[pymethods]
impl RawGraph {
    #[staticmethod]
    fn build(
        num_nodes: usize,
        sources: PyReadonlyArray1<'_, u32>,
        targets: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        features: Option<PyReadonlyArray2<'_, f64>>,
        labels: Option<PyReadonlyArray1<'_, i32>>,
        directed: bool,
    ) -> PyResult<Self> {
        let refused = |error: stepwell::Error| PyValueError::new_err(error.to_string());
        let attributes = match &features {
            Some(features) => Some((features.as_slice()?, features.shape()[1])),
            None => None,
        };
        let graph = Graph::new(&EdgeList {
            weights: weights.as_ref().map(|weights| weights.as_slice()).transpose()?,
            vertex_attributes: attributes,
            vertex_labels: labels.as_ref().map(|labels| labels.as_slice()).transpose()?,
            directed,
            ..EdgeList::new(num_nodes, sources.as_slice()?, targets.as_slice()?)
        })
        .map_err(refused)?;
        let inputs = match features {
            Some(_) => {
                let (values, width) = graph.view().vertex_attributes().unwrap_or((&[], 0));
                Some(Arc::new(Inputs::from_rows(width, values.to_vec()).map_err(refused)?))
            }
            None => None,
        };
        Ok(Self { labelled: labels.is_some(), ..Self::new(Arc::new(graph.into_batch()), inputs, 0) })
    }

    #[getter]
    fn num_nodes(&self) -> usize {
        self.view().num_vertices()
    }

    #[getter]
    fn num_edges(&self) -> usize {
        self.view().num_edges()
    }

    #[getter]
    fn directed(&self) -> bool {
        self.view().is_directed()
    }

    fn csr<'py>(&self, py: Python<'py>) -> Csr<'py> {
        let graph = self.view();
        let values = graph.weights().map_or_else(|| vec![1.0; graph.num_entries()], <[f64]>::to_vec);
        let columns: Vec<i32> = graph.all_neighbours().iter().map(|&column| column as i32).collect();
        let starts: Vec<i64> = graph.row_starts().map(|start| start as i64).collect();
        (values.into_pyarray(py), columns.into_pyarray(py), starts.into_pyarray(py))
    }

    fn features<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        self.feature_rows().map(|rows| rows.into_pyarray(py))
    }

    fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i32>>> {
        let labels = self.view().vertex_labels().filter(|_| self.labelled)?;
        Some(labels.to_vec().into_pyarray(py))
    }

    /// What the vertices of a loaded dataset carry, of which their features were
    /// made: attributes and labels.
    fn carried<'py>(&self, py: Python<'py>) -> Option<Carried<'py>> {
        let view = self.made.then(|| self.view())?;
        let rows = view.vertex_attributes().and_then(|(values, width)| {
            Array2::from_shape_vec((view.num_vertices(), width), values.to_vec()).ok()
        });
        let labels = view.vertex_labels().map(|labels| labels.to_vec().into_pyarray(py));
        Some((rows.map(|rows| rows.into_pyarray(py)), labels))
    }

    /// The same graph, of whose vertices that is known.
    fn with_carried(
        &self,
        attributes: Option<PyReadonlyArray2<'_, f64>>,
        labels: Option<PyReadonlyArray1<'_, i32>>,
    ) -> PyResult<Self> {
        let refused = |error: stepwell::Error| PyValueError::new_err(error.to_string());
        let mut batch = GraphBatch::clone(&self.batch).bare();
        if let Some(rows) = attributes {
            let attributes =
                Attributes { width: rows.shape()[1], values: rows.as_array().iter().copied().collect() };
            batch = batch.with_vertex_attributes(attributes).map_err(refused)?;
        }
        if let Some(labels) = labels {
            batch = batch.with_vertex_labels(labels.as_array().to_vec()).map_err(refused)?;
        }
        Ok(Self { made: true, ..Self::new(Arc::new(batch), self.inputs.clone(), self.index) })
    }

    fn equals(&self, other: &Self) -> bool {
        let structure = |graph: &Self| {
            let view = graph.view();
            let starts: Vec<usize> = view.row_starts().collect();
            let labels = view.vertex_labels().filter(|_| graph.labelled).map(<[i32]>::to_vec);
            let weights = view.weights().map(<[f64]>::to_vec);
            (view.is_directed(), starts, view.all_neighbours().to_vec(), weights, labels)
        };
        structure(self) == structure(other) && self.feature_rows() == other.feature_rows()
    }
}
