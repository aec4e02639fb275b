//! Reservoirs: weights and graphs in, vectors out.

use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use stepwell::Error;
use stepwell::config::{ModelConfig, Preset};
use stepwell::pool::Notes;
use stepwell::reservoir::{self, BlockWeights, Convergence, Prepared, Weights};

use crate::{pool, threads};

/// Graphs made ready.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawPrepared {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) notes: Notes,
    pub(crate) losses: Vec<pool::Losses>,
}

/// Vectors, sweeps and whether they converged, a row per graph.
type Embedded<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<bool>>);

/// `W` and `V` of one block.
pub(crate) type Pair<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>);

#[pymethods]
impl RawPrepared {
    /// What happened when the graphs were pooled, by name; nothing that did not happen.
    #[getter]
    fn notes(&self) -> Vec<(&'static str, usize)> {
        pool::named(self.notes)
    }

    /// What the graphs of every level have lost.
    #[getter]
    fn losses(&self) -> Vec<pool::Losses> {
        self.losses.clone()
    }

    /// Embeds all graphs with weights listed by stack, block and reservoir. How
    /// many are done goes to `report`.
    #[pyo3(signature = (options, weights, n_threads, report=None))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        options: &str,
        weights: Vec<Pair<'_>>,
        n_threads: usize,
        report: Option<Py<PyAny>>,
    ) -> PyResult<Embedded<'py>> {
        let options = parse(options)?;
        let (prepared, weights) = (self.prepared.clone(), collect(&weights, &options)?);
        let embedding = threads::run_owned(py, n_threads, report.as_ref(), move |watch| {
            reservoir::embed(&weights, &prepared, &options, |done| watch.at(done))
        })?;
        let embedding = embedding.map_err(refused)?;
        let sweeps = embedding.runs.mapv(|run| run.sweeps);
        let converged = embedding.runs.mapv(|run| run.converged != Convergence::No);
        Ok((embedding.vectors.into_pyarray(py), sweeps.into_pyarray(py), converged.into_pyarray(py)))
    }

    /// The states of all vertices, one array per block that goes into the embedding.
    fn states<'py>(
        &self,
        py: Python<'py>,
        options: &str,
        weights: Vec<Pair<'_>>,
        n_threads: usize,
    ) -> PyResult<Vec<Bound<'py, PyArray2<f64>>>> {
        let options = parse(options)?;
        let (prepared, weights) = (self.prepared.clone(), collect(&weights, &options)?);
        let states = threads::run_owned(py, n_threads, None, move |watch| {
            reservoir::states(&weights, &prepared, &options, |done| watch.at(done))
        })?;
        let (tables, _) = states.map_err(refused)?;
        Ok(tables.into_iter().map(|table| table.into_pyarray(py)).collect())
    }
}

/// Random `W` and `V` for all stacks and blocks.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a list of pairs of arrays")]
pub fn random_weights<'py>(
    py: Python<'py>,
    options: &str,
    features: usize,
) -> PyResult<Vec<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)>> {
    let options = parse(options)?;
    let weights = threads::run_owned(py, 1, None, move |_| Weights::random(&options, features))?;
    let weights = weights.map_err(refused)?;
    let arrays = |block: &BlockWeights| {
        (block.recurrent.clone().into_pyarray(py), block.input.clone().into_pyarray(py))
    };
    Ok(weights.iter().map(arrays).collect())
}

/// A preset's options, as JSON.
#[pyfunction]
pub fn preset_options(name: &str) -> PyResult<String> {
    let refusal = |error: serde_json::Error| PyValueError::new_err(format!("preset: {error}"));
    let preset: Preset = serde_json::from_value(name.into()).map_err(refusal)?;
    serde_json::to_string(&ModelConfig::preset(preset)).map_err(refusal)
}

/// The options with their defaults, checked, as JSON.
#[pyfunction]
pub fn check_options(options: &str) -> PyResult<String> {
    serde_json::to_string(&parse(options)?).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn parse(options: &str) -> PyResult<ModelConfig> {
    let options: ModelConfig =
        serde_json::from_str(options).map_err(|error| PyValueError::new_err(without_place(&error)))?;
    options.validate().map_err(refused)?;
    Ok(options)
}

/// What is wrong with JSON that no person has seen: lines and columns mean nothing.
pub(crate) fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(words, _)| words.to_owned())
}

pub(crate) fn collect(pairs: &[Pair<'_>], options: &ModelConfig) -> PyResult<Weights> {
    let own = |array: &PyReadonlyArray2<'_, f64>| -> Array2<f64> { array.as_array().to_owned() };
    let blocks = pairs.iter().map(|(w, v)| BlockWeights { recurrent: own(w), input: own(v) });
    Weights::from_list(blocks.collect(), options).map_err(refused)
}

/// The exception for an error. One that a single graph is to blame for has its
/// position as `graph`.
pub(crate) fn refused(error: Error) -> PyErr {
    let blamed = error.graph();
    let exception = exception(error);
    if let Some(graph) = blamed {
        // An exception without the attribute is still one.
        let _ = Python::attach(|py| exception.value(py).setattr("graph", graph));
    }
    exception
}

fn exception(error: Error) -> PyErr {
    match error {
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        Error::BadOption { name, expected, found } => {
            // As parameters are spelled here.
            let name = if name == "number of aggregates" { "aggregate" } else { &name.replace(' ', "_") };
            PyValueError::new_err(format!("{name}: expected {expected}, found {found}"))
        }
        error => PyValueError::new_err(error.to_string()),
    }
}
