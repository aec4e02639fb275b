//! Datasets, loaded or generated.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use stepwell::graph::GraphBatch;
use stepwell::targets::Targets;
use stepwell_data::catalog::{self, Catalog};
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_data::{Dataset, Error, Known, Part, ReadOptions, Vertices};

use crate::batch::RawBatch;
use crate::model::{Values, names};
use crate::threads;

/// A dataset as read.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawDataset {
    #[pyo3(get)]
    name: String,
    batch: Arc<GraphBatch>,
    places: Option<Arc<Vec<[f64; 2]>>>,
    molecules: Option<Arc<str>>,
    targets: Targets,
    target_names: Vec<String>,
    groups: Option<Vec<String>>,
    ids: Option<Vec<String>>,
    split: Option<Vec<&'static str>>,
    notes: Vec<String>,
    vertices: Option<Vertices>,
}

impl From<Dataset> for RawDataset {
    fn from(dataset: Dataset) -> Self {
        Self {
            name: dataset.name,
            batch: Arc::new(dataset.graphs),
            places: dataset.coordinates.map(Arc::new),
            molecules: dataset.molecules.map(Arc::from),
            targets: dataset.targets,
            target_names: dataset.target_names,
            groups: dataset.groups,
            ids: dataset.ids,
            notes: dataset.notes,
            vertices: dataset.vertices,
            split: dataset.parts.map(|parts| parts.into_iter().map(|part| part.name()).collect()),
        }
    }
}

#[pymethods]
impl RawDataset {
    fn graphs(&self) -> RawBatch {
        let (places, molecules) = (self.places.clone(), self.molecules.clone());
        RawBatch { batch: self.batch.clone(), places, molecules }
    }

    /// The vertices with a target, numbered over all graphs, and the targets.
    fn node_y<'py>(&self, py: Python<'py>) -> PyResult<Option<KnownVertices<'py>>> {
        let Some(known) = self.vertices.as_ref().map(|all| &all.known) else { return Ok(None) };
        let Some(values) = values(py, &known.targets)? else { return Ok(None) };
        let rows: Vec<i64> = known.rows.iter().map(|&row| row as i64).collect();
        Ok(Some((rows.into_pyarray(py), values)))
    }

    /// The parts of all vertices, split by split; None for a vertex in no part.
    fn node_split(&self) -> Vec<Vec<Option<&'static str>>> {
        let splits = self.vertices.as_ref().map_or(&[][..], |all| &all.splits);
        let named = |split: &Vec<Option<Part>>| split.iter().map(|part| part.map(Part::name)).collect();
        splits.iter().map(named).collect()
    }

    fn y<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        values(py, &self.targets)
    }

    fn target_names(&self) -> Vec<String> {
        self.target_names.clone()
    }

    fn groups(&self) -> Option<Vec<String>> {
        self.groups.clone()
    }

    fn ids(&self) -> Option<Vec<String>> {
        self.ids.clone()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn split(&self) -> Option<Vec<&'static str>> {
        self.split.clone()
    }
}

/// Vertices that have a target, and an array of the targets.
type KnownVertices<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>);

/// Targets as an array.
fn values<'py>(py: Python<'py>, targets: &Targets) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(match targets {
        Targets::None => None,
        Targets::Classes(labels) => Some(names(py, labels)?),
        Targets::Numbers(values) | Targets::Binary(values) => Some(match targets.column() {
            Some(column) => column.into_pyarray(py).into_any(),
            None => values.clone().into_pyarray(py).into_any(),
        }),
    })
}

/// The columns of targets and groups.
pub(crate) fn reading(targets: Vec<String>, groups: Option<String>) -> ReadOptions {
    ReadOptions { targets, groups, ..ReadOptions::default() }
}

/// A dataset by path or name.
#[pyfunction]
#[pyo3(signature = (name, data_dir, download, targets, groups))]
pub fn load_dataset(
    py: Python<'_>,
    name: OsString,
    data_dir: Option<PathBuf>,
    download: bool,
    targets: Vec<String>,
    groups: Option<String>,
) -> PyResult<RawDataset> {
    let catalog = Catalog { online: download, ..Catalog::from_environment(data_dir) };
    let options = reading(targets, groups);
    let loaded = threads::run_owned(py, 0, None, move |watch| {
        catalog.load_with(&name, 0, &options, &mut |_| watch.go_on())
    })?;
    loaded.map(RawDataset::from).map_err(exception)
}

/// Writes graphs in the format of the path's extension.
#[pyfunction]
#[pyo3(signature = (path, graphs, y, ids, split, node_y=None, node_split=vec![]))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
pub fn save_dataset(
    py: Python<'_>,
    path: PathBuf,
    graphs: &RawBatch,
    y: Option<Values<'_>>,
    ids: Option<Vec<String>>,
    split: Option<Vec<String>>,
    node_y: Option<(Vec<usize>, Values<'_>)>,
    node_split: Vec<Vec<Option<String>>>,
) -> PyResult<()> {
    let some = node_y.is_some() || !node_split.is_empty();
    let known = node_y.map_or_else(Known::default, |(rows, values)| Known {
        rows,
        targets: Values::written(Some(values), false),
    });
    let part = |name: Option<String>| name.map(|name| parts(vec![name]).map(|parts| parts[0])).transpose();
    let splits = node_split.into_iter().map(|names| names.into_iter().map(part).collect());
    let splits = splits.collect::<PyResult<Vec<Vec<Option<Part>>>>>()?;
    let dataset = Dataset {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        graphs: GraphBatch::clone(&graphs.batch),
        targets: Values::written(y, false),
        ids,
        molecules: graphs.molecules.as_deref().map(str::to_owned),
        parts: split.map(parts).transpose()?,
        vertices: some.then_some(Vertices { known, splits }),
        ..Dataset::default()
    };
    let written = threads::run_owned(py, 0, None, move |_| catalog::write(&dataset, &path, false))?;
    written.map(drop).map_err(exception)
}

/// The parts of a split by their names.
pub(crate) fn parts(names: Vec<String>) -> PyResult<Vec<Part>> {
    let part = |name: &String| {
        Part::from_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("split: expected train, validation or test, found {name:?}"))
        })
    };
    names.iter().map(part).collect()
}

/// One of the paper's benchmarks.
#[pyfunction]
pub fn make_benchmark(
    py: Python<'_>,
    name: &str,
    graphs_per_class: Option<usize>,
    random_state: u64,
) -> PyResult<RawDataset> {
    let options = BenchmarkOptions::named(name).ok_or_else(|| {
        let names = BenchmarkOptions::NAMES.join(", ");
        PyValueError::new_err(format!("name: expected one of {names}, found '{name}'"))
    })?;
    let options = BenchmarkOptions {
        seed: random_state,
        graphs_per_class: graphs_per_class.unwrap_or(options.graphs_per_class),
        ..options
    };
    let made = threads::run_owned(py, 0, None, move |_| synthetic::generate(&options))?;
    made.map(RawDataset::from).map_err(exception)
}

pub(crate) fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Graph { source: stepwell::Error::Memory { .. }, .. } => PyMemoryError::new_err(text),
        Error::NotFound(_) => PyFileNotFoundError::new_err(text),
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            PyFileNotFoundError::new_err(text)
        }
        Error::Io { .. } | Error::Download { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
