//! The sums that workers of a cluster collect, and the models made from them.

use std::sync::{Arc, Mutex};

use numpy::ndarray::Axis;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stepwell::Error;
use stepwell::config::ModelConfig;
use stepwell::features::FeatureFit;
use stepwell::graph::GraphBatch;
use stepwell::model::{Drawn, choose_on};
use stepwell::readout::{Gathered, Lots, ReadoutFit, Sample};
use stepwell::targets::{Census, Encoded, Labels, Targets, Task};
use stepwell_data::{Dataset, Place, jsonl};

use crate::batch::RawBatch;
use crate::dataset::exception;
use crate::model::{RawModel, Values};
use crate::options::{all, config, refused, to_python};
use crate::readout::RawReadout;
use crate::threads;

fn to_bytes<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &bytes))
}

fn of_bytes<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    ciborium::from_reader(bytes).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A partially fitted feature map, which can be sent and merged.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawFeatureFit(FeatureFit);

#[pymethods]
impl RawFeatureFit {
    #[new]
    fn new(options: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self(FeatureFit::new(&config(options)?.features())))
    }

    /// Adds graphs.
    fn observe(&mut self, graphs: &RawBatch) -> PyResult<()> {
        self.0.observe(&graphs.batch).map_err(refused)
    }

    /// Merges the sums of other graphs.
    fn merge(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        self.0.merge(&other.0).map_err(refused)
    }

    /// Whether a model with these options has such a map.
    fn serves(&self, options: &Bound<'_, PyDict>) -> PyResult<bool> {
        Ok(*self.0.options() == config(options)?.features())
    }

    /// The map.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.clone().finish())
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        of_bytes(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (to_bytes(py, &self.0)?,)))
    }
}

/// A partially trained readout: the result of one pass over all rows determines the next.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawReadoutFit(Mutex<Arc<Fit>>);

#[derive(Clone, Deserialize, Serialize)]
struct Fit {
    fit: ReadoutFit,
    classes: Labels,
    binary: bool,
}

/// Samples taken before graphs have vectors: graphs to choose options on, and the random
/// keys of landmarks.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawDraw {
    /// None if there is nothing to choose.
    drawn: Option<Drawn>,
    lots: Lots,
    binary: bool,
}

/// Its serialised form: graphs as lines of a file, their targets, and the end of the sample.
#[derive(Deserialize, Serialize)]
struct SentDraw {
    drawn: Option<(String, Targets, Option<u64>)>,
    lots: Lots,
    binary: bool,
}

#[pymethods]
impl RawDraw {
    /// An empty sample. Rows of numbers are 0 and 1 if `binary`.
    #[new]
    fn new(options: &Bound<'_, PyDict>, binary: bool) -> PyResult<Self> {
        let config = config(options)?;
        let drawn = (!config.choose.is_empty()).then(Drawn::default);
        Ok(Self { drawn, lots: Lots::new(config.landmarks, config.seed), binary })
    }

    /// Adds graphs with a target each.
    fn observe(&mut self, graphs: &RawBatch, targets: Values<'_>) -> PyResult<()> {
        let targets = targets.targets(self.binary);
        if targets.len() != graphs.batch.len() {
            let (expected, found) = (graphs.batch.len(), targets.len());
            return Err(PyValueError::new_err(format!("expected {expected} targets, found {found}")));
        }
        self.lots.observe(&graphs.batch.keys());
        if let Some(drawn) = &mut self.drawn {
            drawn.observe(&graphs.batch, &targets);
        }
        Ok(())
    }

    /// Merges the sample of other graphs.
    fn merge(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        self.lots.merge(other.lots.clone());
        if let (Some(mine), Some(theirs)) = (&mut self.drawn, &other.drawn) {
            let (graphs, targets, end) = theirs.parts().map_err(refused)?;
            mine.merge(&graphs, &targets, end);
        }
        Ok(())
    }

    /// Chooses options by leave-one-out, given the classes of all graphs: returns all options,
    /// and the choices.
    #[pyo3(signature = (options, classes=None))]
    fn choose<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'_, PyDict>,
        classes: Option<Values<'_>>,
    ) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyAny>)> {
        let config = config(options)?;
        let (graphs, targets) = self.drawn.clone().unwrap_or_default().finish().map_err(refused)?;
        let classes = classes.map(|values| values.targets(false));
        let classes = classes.as_ref().and_then(Targets::labels).cloned().unwrap_or(Labels::NONE);
        let chosen =
            threads::run_owned(py, 0, None, move |watch| match Encoded::with_classes(&targets, classes) {
                Ok(targets) => choose_on(&config, &graphs, &targets, || watch.go_on()),
                // Errors in targets are reported later, for all of them.
                Err(_) => Ok((ModelConfig { choose: Vec::new(), ..config }, Vec::new())),
            })?;
        let (config, choices) = chosen.map_err(refused)?;
        Ok((all(py, &config)?, to_python(py, &choices)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        let SentDraw { drawn, lots, binary } = of_bytes(bytes)?;
        let drawn = drawn.map(|(lines, targets, end)| -> PyResult<Drawn> {
            let mut drawn = Drawn::default();
            let mut graphs = GraphBatch::default();
            for piece in jsonl::Reader::new(lines.as_bytes(), Place::file("graphs drawn")) {
                graphs.append(&piece.map_err(exception)?.graphs).map_err(refused)?;
            }
            if graphs.len() != targets.len() {
                return Err(PyValueError::new_err("expected a target for each sampled graph"));
            }
            drawn.merge(&graphs, &targets, end);
            Ok(drawn)
        });
        Ok(Self { drawn: drawn.transpose()?, lots, binary })
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let sent = |drawn: &Drawn| {
            let (graphs, targets, end) = drawn.parts().map_err(refused)?;
            let mut writer = jsonl::Writer::new(Vec::new(), Place::file("graphs drawn"));
            writer.write(&Dataset { graphs, ..Dataset::default() }).map_err(exception)?;
            let lines = String::from_utf8(writer.finish().map_err(exception)?)?;
            Ok::<_, PyErr>((lines, targets, end))
        };
        let drawn = self.drawn.as_ref().map(sent).transpose()?;
        let sent = SentDraw { drawn, lots: self.lots.clone(), binary: self.binary };
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (to_bytes(py, &sent)?,)))
    }
}

/// Why a pass over rows ended early.
enum Ended {
    Python(PyErr),
    Core(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

impl From<PyErr> for Ended {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// The counts of targets that training a readout needs: made by workers and merged.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawCensus(Counted);

#[derive(Clone, Deserialize, Serialize)]
struct Counted {
    task: Task,
    census: Census,
}

#[pymethods]
impl RawCensus {
    /// For `targets` targets, which are numbers or 0 and 1.
    #[new]
    fn new(targets: usize, binary: bool) -> Self {
        let task = if binary { Task::Binary { targets } } else { Task::Regression { targets } };
        Self(Counted { task, census: Census::new(task) })
    }

    /// Adds rows; NaN means unknown.
    fn observe(&mut self, values: Values<'_>) -> PyResult<()> {
        let binary = matches!(self.0.task, Task::Binary { .. });
        let encoded = Encoded::with_classes(&values.targets(binary), Labels::NONE).map_err(refused)?;
        self.0.census.merge(&encoded.census()).map_err(refused)
    }

    /// Merges the counts of other rows.
    fn merge(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        self.0.census.merge(&other.0.census).map_err(refused)
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        of_bytes(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (to_bytes(py, &self.0)?,)))
    }
}

/// The sums that workers collect in one pass.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawGathered(Option<Gathered>);

#[pymethods]
impl RawReadoutFit {
    /// For vectors of some width: the classes with their counts, or the census of targets
    /// that are not classes.
    #[new]
    #[pyo3(signature = (options, width, classes=None, counts=vec![], census=None, names=vec![], draw=None))]
    fn new(
        options: &Bound<'_, PyDict>,
        width: usize,
        classes: Option<Values<'_>>,
        counts: Vec<u64>,
        census: Option<PyRef<'_, RawCensus>>,
        names: Vec<String>,
        draw: Option<PyRef<'_, RawDraw>>,
    ) -> PyResult<Self> {
        let config = config(options)?;
        let (task, census, classes) = match (classes.map(|values| values.targets(false)), census) {
            (Some(Targets::Classes(labels)), _) => {
                (Task::Classification { num_classes: labels.len() }, Census::of_classes(counts), labels)
            }
            (_, Some(counted)) => (counted.0.task, counted.0.census.clone(), Labels::NONE),
            _ => return Err(PyValueError::new_err("expected classes or a census")),
        };
        census.check(task, &names).map_err(refused)?;
        let mut fit =
            ReadoutFit::new(width, task, &census, &config.readout(), config.seed).map_err(refused)?;
        if let Some(draw) = draw {
            fit = fit.with_lots(&draw.lots);
        }
        let binary = matches!(task, Task::Binary { .. });
        Ok(Self(Mutex::new(Arc::new(Fit { fit, classes, binary }))))
    }

    /// Embeds graphs and adds their vectors. `pieces` is an iterator of graphs, a target for
    /// each, and their origin. If a graph cannot be embedded, `refuse` is called with the
    /// origin, the graph's position and the reason, and raises or returns.
    fn gather_graphs(
        &self,
        py: Python<'_>,
        model: &RawModel,
        pieces: Py<PyAny>,
        refuse: Py<PyAny>,
    ) -> PyResult<RawGathered> {
        let (state, saved) = (self.0.lock().map_err(poisoned)?.clone(), model.0.clone());
        let gathered = threads::run_owned(py, 1, None, move |watch| {
            state.fit.gather(|take| -> Result<(), Ended> {
                let next = || {
                    Python::attach(|py| -> PyResult<_> {
                        let piece = pieces.bind(py).cast::<PyIterator>()?.clone().next().transpose()?;
                        let Some(piece) = piece else { return Ok(None) };
                        let (graphs, targets, place) =
                            piece.extract::<(PyRef<'_, RawBatch>, Values<'_>, Py<PyAny>)>()?;
                        Ok(Some((graphs.batch.clone(), targets.targets(state.binary), place)))
                    })
                };
                while let Some((graphs, targets, place)) = next()? {
                    let encoded = Encoded::with_classes(&targets, state.classes.clone())?;
                    let (embedding, bad) = saved.model().embed_possible(&graphs, |done| watch.at(done))?;
                    let (mut y, mut keys) = (encoded.matrix(), graphs.keys());
                    if y.nrows() != keys.len() {
                        let (expected, found) = (keys.len(), y.nrows());
                        let text = format!("expected {expected} targets, found {found}");
                        return Err(PyValueError::new_err(text).into());
                    }
                    if !bad.is_empty() {
                        Python::attach(|py| -> PyResult<()> {
                            bad.iter().try_for_each(|(graph, error)| {
                                refuse.call1(py, (&place, *graph, error.to_string())).map(drop)
                            })
                        })?;
                        let mut failed = bad.iter().map(|(graph, _)| *graph).peekable();
                        let good: Vec<usize> =
                            (0..keys.len()).filter(|graph| failed.next_if_eq(graph).is_none()).collect();
                        y = y.select(Axis(0), &good);
                        keys = good.iter().map(|&graph| keys[graph]).collect();
                    }
                    take((&embedding).into(), y.view(), Sample::with_keys(&keys))?;
                }
                Ok(())
            })
        })?;
        let gathered = gathered.map_err(|ended| match ended {
            Ended::Python(error) => error,
            Ended::Core(error) => refused(error),
        });
        Ok(RawGathered(Some(gathered?)))
    }

    /// Adds rows. A worker may add its rows in one or several calls.
    fn gather(
        &self,
        py: Python<'_>,
        vectors: PyReadonlyArray2<'_, f64>,
        targets: Values<'_>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<RawGathered> {
        // Shared, because the decomposition made for one table is used for the next.
        let state = self.0.lock().map_err(poisoned)?.clone();
        let encoded =
            Encoded::with_classes(&targets.targets(state.binary), state.classes.clone()).map_err(refused)?;
        let vectors = vectors.as_array().to_owned();
        let weights = sample_weight.map(|weights| weights.as_array().to_vec());
        let gathered = threads::run_owned(py, 1, None, move |_| {
            let sample = Sample { weights: weights.as_deref(), keys: None };
            state.fit.gather(|take| take(vectors.view().into(), encoded.matrix().view(), sample))
        })?;
        Ok(RawGathered(Some(gathered.map_err(refused)?)))
    }

    /// Continues with the sums of all rows: returns a readout, or None if another pass is
    /// needed.
    fn advance(
        &self,
        py: Python<'_>,
        mut gathered: PyRefMut<'_, RawGathered>,
    ) -> PyResult<Option<RawReadout>> {
        let gathered =
            gathered.0.take().ok_or_else(|| PyValueError::new_err("these sums were used already"))?;
        // Not held during the work: another thread may wait for it with the interpreter's lock.
        let mut state = Fit::clone(&*self.0.lock().map_err(poisoned)?);
        let advanced = threads::run_owned(py, 0, None, move |_| {
            let readout = state.fit.advance(gathered)?;
            Ok((state, readout))
        })?;
        let (state, readout) = advanced.map_err(refused)?;
        let classes = state.classes.clone();
        *self.0.lock().map_err(poisoned)? = Arc::new(state);
        Ok(readout.map(|readout| RawReadout { readout: Arc::new(readout), classes }))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        of_bytes(bytes).map(|fit| Self(Mutex::new(Arc::new(fit))))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let state = self.0.lock().map_err(poisoned)?;
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (to_bytes(py, &**state)?,)))
    }
}

#[pymethods]
impl RawGathered {
    /// The leave-one-out errors of the alphas, if that is what was gathered.
    #[getter]
    fn errors(&self) -> Option<Vec<f64>> {
        Some(self.0.as_ref()?.errors()?.means())
    }

    fn merge(&mut self, mut other: PyRefMut<'_, Self>) -> PyResult<()> {
        match (&mut self.0, other.0.take()) {
            (Some(mine), Some(theirs)) => mine.merge(theirs).map_err(refused),
            (mine, theirs) => {
                *mine = mine.take().or(theirs);
                Ok(())
            }
        }
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        of_bytes(bytes).map(Self)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (to_bytes(py, &self.0)?,)))
    }
}

fn poisoned<T>(_: std::sync::PoisonError<T>) -> PyErr {
    PyValueError::new_err("an earlier pass failed")
}
