//! Datasets, loaded or generated.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::IntoPyArray;
use pyo3::exceptions::{PyFileNotFoundError, PyIndexError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use stepwell::features::{FeatureMap, FeatureOptions, Inputs};
use stepwell::graph::GraphBatch;
use stepwell_data::catalog::{self, Catalog};
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_data::{Dataset, Error, Part, Targets};

use crate::batch::RawBatch;
use crate::graph::RawGraph;
use crate::threads;

/// A dataset whose features have been made.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawDataset {
    #[pyo3(get)]
    name: String,
    pub(crate) batch: Arc<GraphBatch>,
    pub(crate) inputs: Arc<Inputs>,
    features: FeatureMap,
    /// What the map was made from.
    pub(crate) usual: FeatureOptions,
    targets: Targets,
    ids: Option<Vec<String>>,
    split: Option<Vec<&'static str>>,
    notes: Vec<String>,
    places: Option<Arc<Vec<[f64; 2]>>>,
}

impl RawDataset {
    /// Makes the features by a map fitted on the graphs themselves, unless one is given.
    pub(crate) fn new(dataset: Dataset, map: Option<&FeatureMap>) -> Result<Self, Error> {
        let refused = |source| Error::Unsupported(format!("{}: {source}", dataset.name));
        let map = match map {
            Some(map) => map.clone(),
            None => FeatureMap::fit(&dataset.graphs, &dataset.features).map_err(refused)?,
        };
        let inputs = map.apply(&dataset.graphs).map_err(refused)?;
        Ok(Self {
            name: dataset.name,
            batch: Arc::new(dataset.graphs),
            inputs: Arc::new(inputs),
            features: map,
            usual: dataset.features,
            targets: dataset.targets,
            ids: dataset.ids,
            notes: dataset.notes,
            places: dataset.coordinates.map(Arc::new),
            split: dataset.parts.map(|parts| parts.into_iter().map(|part| part.name()).collect()),
        })
    }

    pub(crate) fn feature_map(&self) -> &FeatureMap {
        &self.features
    }
}

#[pymethods]
impl RawDataset {
    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn graph(&self, index: usize) -> PyResult<RawGraph> {
        if index >= self.batch.len() {
            return Err(PyIndexError::new_err("no graph of that number"));
        }
        let graph = RawGraph::new(self.batch.clone(), Some(self.inputs.clone()), index);
        Ok(RawGraph { made: true, ..graph }.placed(self.places.clone()))
    }

    fn y<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.targets {
            Targets::None => None,
            Targets::Classes(values) => Some(values.clone().into_pyarray(py).into_any()),
            Targets::Real(values) => Some(values.clone().into_pyarray(py).into_any()),
            Targets::Text(values) => {
                let list = PyList::new(py, values)?;
                Some(py.import("numpy")?.call_method1("array", (list,))?)
            }
        })
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

/// A dataset by path or name.
#[pyfunction]
pub fn load_dataset(
    py: Python<'_>,
    name: &str,
    data_dir: Option<PathBuf>,
    download: bool,
    like: Option<PyRef<'_, RawDataset>>,
) -> PyResult<RawDataset> {
    let catalog = Catalog { online: download, ..Catalog::from_environment(data_dir) };
    let map = like.map(|dataset| dataset.features.clone());
    let loaded = threads::run(py, 0, |go_on| {
        let dataset = catalog.load(name, 0, &mut |_| go_on())?;
        RawDataset::new(dataset, map.as_ref())
    })?;
    loaded.map_err(exception)
}

/// What is to be predicted: whole numbers, real ones or texts.
#[derive(FromPyObject)]
pub enum Values {
    Whole(Vec<i64>),
    Real(Vec<f64>),
    Text(Vec<String>),
}

/// Writes graphs down in the format that the path's ending tells.
#[pyfunction]
#[pyo3(signature = (path, graphs, y, ids, split))]
pub fn save_dataset(
    py: Python<'_>,
    path: PathBuf,
    graphs: &RawBatch,
    y: Option<Values>,
    ids: Option<Vec<String>>,
    split: Option<Vec<String>>,
) -> PyResult<()> {
    let part = |name: &String| {
        Part::from_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("split: expected train, validation or test, found {name:?}"))
        })
    };
    let (graphs, features) = graphs.to_write()?;
    let dataset = Dataset {
        name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        graphs: Arc::unwrap_or_clone(graphs),
        features,
        targets: match y {
            None => Targets::None,
            Some(Values::Whole(values)) => Targets::Classes(values),
            Some(Values::Real(values)) => Targets::Real(values),
            Some(Values::Text(values)) => Targets::Text(values),
        },
        ids,
        parts: split.map(|names| names.iter().map(part).collect::<PyResult<_>>()).transpose()?,
        ..Dataset::default()
    };
    threads::run(py, 0, |_| catalog::write(&dataset, &path, false))?.map(drop).map_err(exception)
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
    threads::run(py, 0, |_| synthetic::generate(&options).and_then(|made| RawDataset::new(made, None)))?
        .map_err(exception)
}

pub(crate) fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::NotFound(_) => PyFileNotFoundError::new_err(text),
        Error::Io { .. } | Error::Download { .. } => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}
