//! Poolings: graphs in, coarse graphs out.

use std::iter;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stepwell::Error;
use stepwell::graph::{GraphBatch, GraphRef};
use stepwell::pool::{Assignments, Notes, Pool, Pooling, factorize, ndp};
use stepwell::pyramid::{Level, Pyramid};

use crate::graph::{Csr, RawGraph};
use crate::options::{from_python, out_of_memory, to_python};
use crate::threads;

/// The names of all poolings.
#[pyfunction]
pub fn pooling_names() -> [&'static str; 4] {
    Pool::ALL.map(Pool::name)
}

/// Checks a pooling and fills in missing options.
#[pyfunction]
pub fn check_pooling<'py>(options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    to_python(options.py(), &parse(options)?)
}

pub(crate) fn parse(options: &Bound<'_, PyDict>) -> PyResult<Pooling> {
    let pooling: Pooling = from_python(options)?;
    pooling.validate().map_err(refused)?;
    Ok(pooling)
}

/// A coarse graph, `S`, the kept vertices, and notes.
type RawLevel<'py> = (RawGraph, Csr<'py>, Option<Bound<'py, PyArray1<i64>>>, Vec<(&'static str, usize)>);

/// Pools a graph repeatedly.
#[pyfunction]
pub fn coarsen<'py>(
    py: Python<'py>,
    graph: &RawGraph,
    pooling: &Bound<'_, PyDict>,
    levels: usize,
) -> PyResult<Vec<RawLevel<'py>>> {
    let pooling = parse(pooling)?;
    let alone = graph.batch.select(&[graph.index]).bare();
    let pyramid =
        threads::run_owned(py, 0, None, move |watch| pooling.coarsen(&alone, levels, |done| watch.at(done)))?;
    let pyramid = pyramid.map_err(refused)?;
    Ok(pyramid.levels.into_iter().map(|level| raw_level(py, level)).collect())
}

fn raw_level(py: Python<'_>, level: Level) -> RawLevel<'_> {
    let notes = named(level.notes);
    let kept = level.kept.map(|kept| kept.into_iter().map(i64::from).collect::<Vec<_>>().into_pyarray(py));
    (RawGraph::alone(level.graphs), csr(py, &level.assignments), kept, notes)
}

/// Counts of events by name, without zeros.
pub(crate) fn named(notes: Notes) -> Vec<(&'static str, usize)> {
    let Notes { cuts_improved, vertices_lost, without_edges, fill_dropped, symmetrized } = notes;
    let all = [
        ("cuts_improved", cuts_improved),
        ("vertices_lost", vertices_lost),
        ("without_edges", without_edges),
        ("fill_dropped", fill_dropped),
        ("symmetrized", symmetrized),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// The numbers of graphs of a level with several vertices that lost all edges, of finer
/// vertices without a cluster, and of all finer vertices.
pub(crate) type Losses = (usize, usize, usize);

pub(crate) fn losses(graphs: &GraphBatch, pyramid: &Pyramid) -> Vec<Losses> {
    let batches = || iter::once(graphs).chain(pyramid.levels.iter().map(|level| &level.graphs));
    let pairs = batches().zip(batches().skip(1)).zip(&pyramid.levels);
    let of_level = |((below, above), level): ((&GraphBatch, &GraphBatch), &Level)| {
        let lost = |(fine, coarse): &(GraphRef<'_>, GraphRef<'_>)| {
            fine.num_entries() > 0 && coarse.num_entries() == 0 && coarse.num_vertices() > 1
        };
        let bare = match level.notes.without_edges {
            0 => 0,
            _ => below.iter().zip(above.iter()).filter(lost).count(),
        };
        (bare, level.notes.vertices_lost, below.num_vertices())
    };
    pairs.map(of_level).collect()
}

fn csr<'py>(py: Python<'py>, of_one: &Assignments) -> Csr<'py> {
    let columns: Vec<i32> = of_one.columns().iter().map(|&column| column as i32).collect();
    let starts: Vec<i64> = of_one.row_starts().iter().map(|&start| start as i64).collect();
    (of_one.values().to_vec().into_pyarray(py), columns.into_pyarray(py), starts.into_pyarray(py))
}

/// The sides and the value of a cut.
#[pyfunction]
pub fn maxcut<'py>(py: Python<'py>, graph: &RawGraph) -> PyResult<(Bound<'py, PyArray1<bool>>, f64)> {
    let (batch, index) = (graph.batch.clone(), graph.index);
    let cut = threads::run_owned(py, 0, None, move |_| ndp::maxcut(batch.graph(index)))?.map_err(refused)?;
    Ok((cut.side.into_pyarray(py), cut.value))
}

/// The graph reduced to some of its vertices.
#[pyfunction]
pub fn kron_reduce(py: Python<'_>, graph: &RawGraph, keep: PyReadonlyArray1<'_, bool>) -> PyResult<RawGraph> {
    let (batch, index, keep) = (graph.batch.clone(), graph.index, keep.as_array().to_vec());
    let reduced = threads::run_owned(py, 0, None, move |_| ndp::kron_reduce(batch.graph(index), &keep))?;
    let reduced = reduced.map_err(refused)?;
    Ok(RawGraph::alone(reduced.into_batch()))
}

/// `Q`, `F` and the number of iterations.
type RawFactors<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, usize);

/// The factors that NMF finds from a given start, for tests against scikit-learn.
#[pyfunction]
pub fn nmf_factors<'py>(
    py: Python<'py>,
    graph: &RawGraph,
    q: PyReadonlyArray2<'_, f64>,
    f: PyReadonlyArray2<'_, f64>,
    max_iterations: usize,
    tolerance: f64,
) -> PyResult<RawFactors<'py>> {
    let (batch, index) = (graph.batch.clone(), graph.index);
    let (q, f) = (q.as_array().to_owned(), f.as_array().to_owned());
    let options = Pooling { max_iterations, tolerance, ..Pool::Nmf.into() };
    let factors = threads::run_owned(py, 0, None, move |_| {
        factorize(batch.graph(index), q.view(), f.view(), &options)
    })?;
    let factors = factors.map_err(refused)?;
    Ok((factors.q.into_pyarray(py), factors.f.into_pyarray(py), factors.iterations))
}

fn refused(error: Error) -> PyErr {
    match error {
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        error if out_of_memory(&error) => PyMemoryError::new_err(error.to_string()),
        // There is only one graph, so its number is omitted.
        Error::Pooling { level, source, .. } => PyValueError::new_err(format!("pooling {level}: {source}")),
        error => PyValueError::new_err(error.to_string()),
    }
}
