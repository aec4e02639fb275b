//! Graphs from Arrow data: one per row, in the columns of the schema.

use std::sync::{Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ArrowError;
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;
use stepwell_data::parquet::{BadRow, Batches};
use stepwell_data::{Dataset, Expected, ReadOptions};

use crate::batch::RawBatch;
use crate::dataset::{RawDataset, reading};
use crate::threads::{self, Watch};

/// Record batches from any source.
type Stream = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// The columns that a model uses.
const GRAPH: [&str; 11] = [
    "num_nodes",
    "src",
    "dst",
    "weight",
    "edge_label",
    "edge_attr",
    "edge_attr_dim",
    "x",
    "x_dim",
    "node_label",
    "directed",
];

/// All columns, or only those of the graphs, so that errors in others do not matter.
fn open(data: AnyRecordBatch, all: Option<&ReadOptions>) -> PyResult<Batches<Stream>> {
    let unread = |error: ArrowError| PyValueError::new_err(error.to_string());
    let stream = data.into_reader()?;
    let schema = stream.schema();
    if let Some(options) = all {
        return Batches::with_options(Box::new(stream) as Stream, &schema, options).map_err(exception);
    }
    let wanted = |at: &usize| GRAPH.contains(&schema.field(*at).name().as_str());
    let columns: Vec<usize> = (0..schema.fields().len()).filter(wanted).collect();
    let schema = schema.project(&columns).map_err(unread)?;
    let graphs = stream.map(move |batch| batch?.project(&columns));
    Batches::new(Box::new(graphs) as Stream, &schema).map_err(exception)
}

fn exception(bad: BadRow) -> PyErr {
    match bad.row {
        Some(row) => PyValueError::new_err(format!("graph {row}: {}", bad.reason)),
        None => PyValueError::new_err(bad.reason),
    }
}

/// Reads all rows; Ctrl-C interrupts it.
fn whole(py: Python<'_>, rows: Batches<Stream>) -> PyResult<Dataset> {
    let read = move |watch: &Watch| rows.whole_unless(|| watch.go_on().is_break());
    threads::run_owned(py, 1, None, read)?.map_err(exception)
}

/// All graphs of Arrow data as a dataset.
#[pyfunction]
#[pyo3(signature = (data, targets, groups))]
pub fn arrow_dataset(
    py: Python<'_>,
    data: AnyRecordBatch,
    targets: Vec<String>,
    groups: Option<String>,
) -> PyResult<RawDataset> {
    let rows = open(data, Some(&reading(targets, groups)))?;
    whole(py, rows).map(RawDataset::from)
}

/// Iterates over Arrow data, in pieces of about 65 000 vertices.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawRows {
    pieces: Mutex<(Batches<Stream>, u64)>,
}

/// Graphs, their rows, and bad rows with the reasons.
type Piece<'py> = (RawBatch, Bound<'py, PyArray1<i64>>, Vec<(u64, String)>);

#[pymethods]
impl RawRows {
    /// `expected`: the number of vertex attributes, and whether there are labels; rows
    /// that differ are bad.
    #[new]
    #[pyo3(signature = (data, expected=None))]
    fn new(data: AnyRecordBatch, expected: Option<(usize, bool)>) -> PyResult<Self> {
        let mut pieces = open(data, None)?;
        if let Some((attributes, labels)) = expected {
            pieces.expect(Expected { attributes, labels });
        }
        Ok(Self { pieces: Mutex::new((pieces, 0)) })
    }

    /// All graphs at once, in one batch.
    #[staticmethod]
    fn whole(py: Python<'_>, data: AnyRecordBatch) -> PyResult<RawBatch> {
        let rows = open(data, None)?;
        Ok(RawBatch::new(whole(py, rows)?.graphs))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Piece<'py>>> {
        let (graphs, first, bad) = py.detach(|| {
            let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            let (pieces, seen) = &mut *pieces;
            let mut bad = Vec::new();
            let graphs = loop {
                match pieces.next() {
                    Some(Err(BadRow { row: Some(row), reason, .. })) => bad.push((row, reason)),
                    other => break other.transpose(),
                }
            };
            let first = *seen;
            *seen += bad.len() as u64;
            if let Ok(Some(graphs)) = &graphs {
                *seen += graphs.len() as u64;
            }
            (graphs, first, bad)
        });
        let graphs = graphs.map_err(exception)?;
        if graphs.is_none() && bad.is_empty() {
            return Ok(None);
        }
        let graphs = graphs.unwrap_or_default();
        let end = first + (graphs.len() + bad.len()) as u64;
        let mut skipped = bad.iter().map(|(row, _)| *row).peekable();
        let rows = (first..end).filter(|row| skipped.next_if_eq(row).is_none());
        let rows: Vec<i64> = rows.map(|row| row as i64).collect();
        Ok(Some((RawBatch::new(graphs.graphs), rows.into_pyarray(py), bad)))
    }
}
