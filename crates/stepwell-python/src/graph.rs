//! One graph, as arrays.

use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use stepwell::graph::{EdgeList, Graph, GraphBatch, GraphRef, SparseRows, VertexAttributes};

use crate::batch::rows;
use crate::options::refused;

/// A graph of a shared batch.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawGraph {
    pub(crate) batch: Arc<GraphBatch>,
    pub(crate) index: usize,
    /// The positions of all vertices of the batch, if known.
    pub(crate) places: Option<Arc<Vec<[f64; 2]>>>,
    /// The feature set, if the graph is a molecule.
    pub(crate) molecules: Option<Arc<str>>,
}

/// Values, columns and row starts of a compressed sparse matrix.
pub(crate) type Csr<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<i64>>);

/// Features of vertices: an array, or the number of columns, and row starts, columns and values of
/// the non-zeros.
#[derive(FromPyObject)]
enum Features<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse(usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f64>),
}

impl RawGraph {
    /// The only graph of a batch.
    pub fn alone(batch: GraphBatch) -> Self {
        Self { batch: Arc::new(batch), index: 0, places: None, molecules: None }
    }

    /// The positions of its vertices, if known.
    pub fn coordinates(&self) -> Option<&[[f64; 2]]> {
        let offsets = self.batch.vertex_offsets();
        self.places.as_ref()?.get(offsets[self.index]..offsets[self.index + 1])
    }

    pub fn view(&self) -> GraphRef<'_> {
        self.batch.graph(self.index)
    }
}

#[pymethods]
impl RawGraph {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "a graph has that many parts")]
    fn build(
        num_nodes: usize,
        sources: PyReadonlyArray1<'_, u32>,
        targets: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        features: Option<Features<'_>>,
        labels: Option<PyReadonlyArray2<'_, i32>>,
        edge_labels: Option<PyReadonlyArray2<'_, i32>>,
        edge_attributes: Option<PyReadonlyArray2<'_, f64>>,
        directed: bool,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let (dense, sparse) = match features {
            None => (None, None),
            Some(Features::Dense(features)) => (Some(features), None),
            Some(Features::Sparse(width, starts, columns, values)) => {
                let starts = starts.as_slice()?.iter().map(|&start| start as usize).collect();
                let (columns, values) = (columns.as_slice()?.to_vec(), values.as_slice()?.to_vec());
                (None, Some(SparseRows::new(width, starts, columns, values).map_err(refused)?))
            }
        };
        let edges = EdgeList {
            weights: weights.as_ref().map(|weights| weights.as_slice()).transpose()?,
            vertex_attributes: rows(&dense)?,
            sparse_attributes: sparse.as_ref(),
            vertex_labels: rows(&labels)?,
            edge_labels: rows(&edge_labels)?,
            edge_attributes: rows(&edge_attributes)?,
            directed,
            ..EdgeList::new(num_nodes, sources.as_slice()?, targets.as_slice()?)
        };
        let batch = Graph::new(&edges).map_err(refused)?.into_batch();
        Ok(Self::alone(named(batch, names)?))
    }

    #[getter]
    fn num_nodes(&self) -> usize {
        self.view().num_vertices()
    }

    #[getter]
    fn num_edges(&self) -> usize {
        self.view().num_edges()
    }

    /// The feature set, if the graph is a molecule.
    #[getter]
    fn molecules(&self) -> Option<&str> {
        self.molecules.as_deref()
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

    /// The features of the vertices, unless only their non-zeros are stored.
    fn features<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        if matches!(self.batch.vertex_attributes(), Some(VertexAttributes::Sparse(_))) {
            return None;
        }
        let (values, width) = self.view().vertex_attributes()?;
        array(py, self.view().num_vertices(), Some((&values, width)))
    }

    /// The number of features of a vertex.
    fn num_features(&self) -> usize {
        self.batch.vertex_attributes().map_or(0, VertexAttributes::width)
    }

    /// The non-zeros of the features, if only these are stored.
    fn sparse_features<'py>(&self, py: Python<'py>) -> Option<Csr<'py>> {
        let rows = self.view().sparse_attributes()?;
        let (starts, columns, values) = rows.arrays();
        let starts: Vec<i64> = starts.iter().map(|&start| start as i64).collect();
        let columns: Vec<i32> = columns.iter().map(|&column| column as i32).collect();
        Some((values.to_vec().into_pyarray(py), columns.into_pyarray(py), starts.into_pyarray(py)))
    }

    /// The names of the feature columns, if they have names.
    fn feature_names(&self) -> Option<Vec<String>> {
        self.batch.attribute_names().map(<[String]>::to_vec)
    }

    fn labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<i32>>> {
        array(py, self.view().num_vertices(), self.view().vertex_labels())
    }

    /// The labels of the matrix entries, in order.
    fn edge_labels<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<i32>>> {
        array(py, self.view().num_entries(), self.view().edge_labels())
    }

    /// The attributes of the matrix entries, in order.
    fn edge_attributes<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray2<f64>>> {
        array(py, self.view().num_entries(), self.view().edge_attributes())
    }

    fn equals(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.batch.select(&[self.index]), other.batch.select(&[other.index]));
        if mine.attribute_names().is_some() == theirs.attribute_names().is_some() {
            return mine == theirs;
        }
        // Columns without names match any columns.
        let nameless = |graph: GraphBatch| graph.with_attribute_names(Vec::new());
        nameless(mine) == nameless(theirs)
    }
}

fn array<'py, T: Element + Clone>(
    py: Python<'py>,
    rows: usize,
    table: Option<(&[T], usize)>,
) -> Option<Bound<'py, PyArray2<T>>> {
    let (values, width) = table?;
    let rows = Array2::from_shape_vec((rows, width), values.to_vec());
    Some(rows.expect("a row for each").into_pyarray(py))
}

/// Adds names to the vertex features of graphs, if given.
pub(crate) fn named(batch: GraphBatch, names: Option<Vec<String>>) -> PyResult<GraphBatch> {
    match names {
        Some(names) => batch.with_attribute_names(names).map_err(refused),
        None => Ok(batch),
    }
}
