//! The model: the same object as on the command line, and the same file.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use stepwell::Unreadable;
use stepwell::config::Level;
use stepwell::features::{FeatureMap, InputShape};
use stepwell::graph::{GraphBatch, GraphRef};
use stepwell::model::{Model, Saved, TrainedModel};
use stepwell::pool::Notes;
use stepwell::readout::{Assessment, Readout, Sample, Wanted};
use stepwell::reservoir::{BlockWeights, Convergence, Embedding, GateWeights, Prepared, Run, Weights};
use stepwell::targets::{Encoded, Labels, Targets, Task, decode_classes};
use stepwell_data::models;
use stepwell_data::predictions::Asked;

use crate::batch::RawBatch;
use crate::options::{all, config, from_python, refused, to_python};
use crate::readout::{Matrix, RawReadout, Vector};
use crate::threads::Watch;
use crate::{dataset, pool, readout, threads};

/// The gates of a reservoir, for Python.
type Gate<'py> = (Matrix<'py>, Matrix<'py>, Bound<'py, PyArray1<f64>>);

/// A metric, its leave-one-out value, and the share of balanced class weights.
type Assessed<'py> = (Bound<'py, PyAny>, f64, f64);

/// A model, trained or not.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawModel(pub(crate) Arc<Saved>);

/// Prepared graphs.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawPrepared(Arc<Prepared>);

/// `W` and `V` of one reservoir, from Python.
type Pair<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>);

/// The gates of a reservoir: rows of labels, frequencies and phases.
type GateArrays<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>);

/// A report on embedded graphs: sweeps and convergence, a row per graph; notes of the
/// poolings; losses of the graphs of every level.
type Journey<'py> =
    (Bound<'py, PyArray2<u32>>, Bound<'py, PyArray2<bool>>, Vec<(&'static str, usize)>, Vec<pool::Losses>);

/// The report on an embedding, without the vectors.
pub(crate) struct Passed {
    runs: Array2<Run>,
    notes: Notes,
    losses: Vec<pool::Losses>,
}

impl Passed {
    fn told<'py>(self, py: Python<'py>) -> Journey<'py> {
        let sweeps = self.runs.mapv(|run| run.sweeps).into_pyarray(py);
        let converged = self.runs.mapv(|run| run.converged != Convergence::No).into_pyarray(py);
        (sweeps, converged, pool::named(self.notes), self.losses)
    }
}

/// Pools, prepares and embeds graphs or, for a model of vertices, all or some vertices.
/// Calls `watch` with the number of pooled graphs, then with the number of embedded ones.
fn embed(
    model: &Model,
    graphs: &GraphBatch,
    rows: Option<&[usize]>,
    watch: &Watch,
) -> stepwell::Result<(Embedding, Passed)> {
    let pyramid = model.coarsen(graphs, |done| watch.at(done))?;
    let (notes, losses) = (pyramid.notes(), pool::losses(graphs, &pyramid));
    let prepared = model.prepare(graphs, pyramid, || watch.go_on())?;
    let mut embedding = model.embed_prepared(&prepared, rows, |done| watch.at(done))?;
    let runs = std::mem::take(&mut embedding.runs);
    Ok((embedding, Passed { runs, notes, losses }))
}

/// Targets from Python.
#[derive(FromPyObject)]
pub enum Values<'py> {
    /// First, because NumPy's rows of one number could be read as numbers.
    Numbers(PyReadonlyArray2<'py, f64>),
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<String>),
}

impl Values<'_> {
    /// Converts to classes, or to rows of numbers; these are 0 and 1 if `binary`.
    pub(crate) fn targets(self, binary: bool) -> Targets {
        Targets::Classes(match self {
            Self::Bool(values) => Labels::Bool(values),
            Self::Int(values) => Labels::Int(values),
            Self::Float(values) => Labels::Float(values),
            Self::Text(values) => Labels::Text(values),
            Self::Numbers(values) if binary => return Targets::Binary(values.as_array().to_owned()),
            Self::Numbers(values) => return Targets::Numbers(values.as_array().to_owned()),
        })
    }

    /// Converts as files do: floats are numbers, not class names.
    pub(crate) fn written(values: Option<Self>, binary: bool) -> Targets {
        match values.map(|values| values.targets(binary)) {
            None => Targets::None,
            Some(Targets::Classes(Labels::Float(values))) => Targets::numbers(values),
            Some(targets) => targets,
        }
    }
}

/// Names of classes as a NumPy array of their type.
pub(crate) fn names<'py>(py: Python<'py>, labels: &Labels) -> PyResult<Bound<'py, PyAny>> {
    Ok(match labels {
        Labels::Int(values) => values.clone().into_pyarray(py).into_any(),
        Labels::Bool(values) => values.clone().into_pyarray(py).into_any(),
        Labels::Float(values) => values.clone().into_pyarray(py).into_any(),
        Labels::Text(values) => py.import("numpy")?.call_method1("array", (PyList::new(py, values)?,))?,
    })
}

impl RawModel {
    pub(crate) fn new(saved: Saved) -> Self {
        Self(Arc::new(saved))
    }

    pub(crate) fn trained(&self) -> PyResult<&TrainedModel> {
        match &*self.0 {
            Saved::Trained(trained) => Ok(trained),
            Saved::Untrained(_) => Err(PyValueError::new_err(Unreadable::Untrained.to_string())),
        }
    }
}

#[pymethods]
impl RawModel {
    /// Fits the feature map on graphs and draws the weights.
    #[staticmethod]
    fn fit(py: Python<'_>, options: &Bound<'_, PyDict>, graphs: &RawBatch) -> PyResult<Self> {
        let (config, batch) = (config(options)?, graphs.batch.clone());
        let model = threads::run_owned(py, 1, None, move |_| Model::fit(config, &batch))?;
        Ok(Self::new(Saved::Untrained(model.map_err(refused)?)))
    }

    /// Like `fit`, with a feature map that was fitted elsewhere.
    #[staticmethod]
    fn with_features(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        features: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (config, features) = (config(options)?, from_python(features)?);
        let model = threads::run_owned(py, 1, None, move |_| Model::new(config, features))?;
        Ok(Self::new(Saved::Untrained(model.map_err(refused)?)))
    }

    /// A model with given weights, listed by stack, block and reservoir, and gates if edges
    /// have labels or attributes. Without a feature map, its inputs are the raw vertex
    /// attributes.
    #[staticmethod]
    #[pyo3(signature = (options, features, weights, gates=None))]
    fn with_weights(
        options: &Bound<'_, PyDict>,
        features: Option<&Bound<'_, PyAny>>,
        weights: Vec<Pair<'_>>,
        gates: Option<Vec<GateArrays<'_>>>,
    ) -> PyResult<Self> {
        let config = config(options)?;
        let own = |array: &PyReadonlyArray2<'_, f64>| -> Array2<f64> { array.as_array().to_owned() };
        let gate = |index: usize, units: usize| match gates.as_ref().and_then(|gates| gates.get(index)) {
            Some((labels, frequencies, phases)) => GateWeights {
                labels: own(labels),
                frequencies: own(frequencies),
                phases: phases.as_array().to_owned(),
            },
            None => GateWeights::none(units),
        };
        let block = |(index, (w, v)): (usize, &Pair<'_>)| {
            let recurrent = own(w);
            let gate = gate(index, recurrent.ncols());
            BlockWeights { recurrent, input: own(v), gate }
        };
        let blocks = weights.iter().enumerate().map(block).collect();
        let weights = Weights::from_list(blocks, &config).map_err(refused)?;
        let features = match features {
            Some(features) => from_python(features)?,
            None => FeatureMap::as_given(weights.inputs().features),
        };
        let model = Model::with_weights(config, features, weights).map_err(refused)?;
        Ok(Self::new(Saved::Untrained(model)))
    }

    /// Embeds graphs, or some of their vertices, and trains a readout on the vectors. Rows of
    /// numbers are 0 and 1 if they are `binary`; their columns may have names.
    #[pyo3(signature = (graphs, targets, sample_weight, n_threads, report=None, binary=false, names=vec![], vertices=None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn train<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
        targets: Values<'_>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: usize,
        report: Option<Py<PyAny>>,
        binary: bool,
        names: Vec<String>,
        vertices: Option<Vec<usize>>,
    ) -> PyResult<(Self, Journey<'py>)> {
        let targets = Encoded::named(&targets.targets(binary), names).map_err(refused)?;
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let weights = sample_weight.map(|weights| weights.as_array().to_vec());
        let trained = threads::run_owned(py, n_threads, report.as_ref(), move |watch| {
            let keys = match &vertices {
                None => batch.keys(),
                Some(vertices) => {
                    let all = batch.vertex_keys();
                    vertices.iter().filter_map(|&vertex| all.get(vertex).copied()).collect()
                }
            };
            let sample = Sample { weights: weights.as_deref(), keys: Some(&keys) };
            let mut model = saved.model().clone();
            let (config, choices) =
                stepwell::model::choose(&model.config, &batch, &targets, sample, || watch.go_on())?;
            if config != model.config {
                let Model { molecules, device, .. } = model;
                model = Model { molecules, device, ..Model::fit(config, &batch)? };
            }
            let (embedding, passed) = embed(&model, &batch, vertices.as_deref(), watch)?;
            if watch.go_on() == ControlFlow::Break(()) {
                return Err(stepwell::Error::Cancelled);
            }
            let trained = TrainedModel::fit_encoded(model, &embedding, &targets, sample)?;
            Ok((TrainedModel { choices, ..trained }, passed))
        })?;
        let (trained, passed) = trained.map_err(refused)?;
        Ok((Self::new(Saved::Trained(trained)), passed.told(py)))
    }

    /// A row per graph.
    #[pyo3(signature = (graphs, n_threads, report=None))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
        n_threads: usize,
        report: Option<Py<PyAny>>,
    ) -> PyResult<(Matrix<'py>, Journey<'py>)> {
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, n_threads, report.as_ref(), move |watch| {
            embed(saved.model(), &batch, None, watch)
        })?;
        let (embedding, passed) = found.map_err(refused)?;
        Ok((embedding.vectors.into_pyarray(py), passed.told(py)))
    }

    /// The same model on a device (cpu, cuda or auto), and the reason if the CPU computes
    /// its vectors anyway.
    fn on(&self, device: &str) -> PyResult<(Self, Option<String>)> {
        let choice: stepwell_cuda::Choice = device.parse().map_err(refused)?;
        if choice == stepwell_cuda::Choice::Cpu && self.0.model().device.is_processor() {
            return Ok((Self(self.0.clone()), None));
        }
        let cache = stepwell_data::catalog::Catalog::from_environment(None).cache;
        let (device, note) = stepwell_cuda::device(choice, cache).map_err(refused)?;
        let model = self.0.model();
        let refusal = model.refused_by(&device);
        let note = note.or_else(|| refusal.map(|why| format!("computing on the CPU: {why}")));
        let placed = match Saved::clone(&self.0) {
            Saved::Untrained(model) => Saved::Untrained(model.on(device)),
            Saved::Trained(trained) => {
                let model = trained.model.clone().on(device);
                Saved::Trained(TrainedModel { model, ..trained })
            }
        };
        Ok((Self::new(placed), note))
    }

    /// Prepares graphs, which can then be embedded repeatedly.
    fn prepare(&self, py: Python<'_>, graphs: &RawBatch, n_threads: usize) -> PyResult<RawPrepared> {
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, n_threads, None, move |watch| {
            let pyramid = saved.model().coarsen(&batch, |_| watch.go_on())?;
            saved.model().prepare(&batch, pyramid, || watch.go_on())
        })?;
        Ok(RawPrepared(Arc::new(found.map_err(refused)?)))
    }

    /// A row per graph.
    fn embed_prepared<'py>(
        &self,
        py: Python<'py>,
        prepared: &RawPrepared,
        n_threads: usize,
    ) -> PyResult<(Matrix<'py>, Journey<'py>)> {
        let (saved, prepared) = (self.0.clone(), prepared.0.clone());
        let found = threads::run_owned(py, n_threads, None, move |watch| {
            saved.model().embed_prepared(&prepared, None, |done| watch.at(done))
        })?;
        let Embedding { vectors, runs, .. } = found.map_err(refused)?;
        let passed = Passed { runs, notes: Default::default(), losses: Default::default() };
        Ok((vectors.into_pyarray(py), passed.told(py)))
    }

    /// A row per graph that can be embedded, and the errors of the others, by position.
    fn embed_possible<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
    ) -> PyResult<(Matrix<'py>, Vec<(usize, String)>)> {
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, 1, None, move |watch| {
            saved.model().embed_possible(&batch, |done| watch.at(done))
        })?;
        let (embedding, bad) = found.map_err(refused)?;
        let bad = bad.into_iter().map(|(graph, error)| (graph, error.to_string())).collect();
        Ok((embedding.vectors.into_pyarray(py), bad))
    }

    /// The states of all vertices, one array per block of the embedding.
    fn states<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
        n_threads: usize,
    ) -> PyResult<Vec<Matrix<'py>>> {
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, n_threads, None, move |watch| {
            let model = saved.model();
            let pyramid = model.coarsen(&batch, |_| watch.go_on())?;
            model.states(&model.prepare(&batch, pyramid, || watch.go_on())?, |done| watch.at(done))
        })?;
        let (tables, _) = found.map_err(refused)?;
        Ok(tables.into_iter().map(|table| table.into_pyarray(py)).collect())
    }

    /// Predicted numbers, or decision values (one column for two classes), a row per graph.
    #[pyo3(signature = (graphs, n_threads, report=None))]
    fn decide<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
        n_threads: usize,
        report: Option<Py<PyAny>>,
    ) -> PyResult<(Matrix<'py>, Journey<'py>)> {
        self.trained()?;
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, n_threads, report.as_ref(), move |watch| {
            let (embedding, passed) = embed(saved.model(), &batch, None, watch)?;
            let Saved::Trained(trained) = &*saved else { return Err(Unreadable::Untrained.into()) };
            let mut values = trained.decide(&embedding)?;
            if trained.model.config.level == Level::Graph {
                blank_empty(&mut values, batch.iter());
            }
            Ok((values, passed))
        })?;
        let (values, passed) = found.map_err(refused)?;
        Ok((values.into_pyarray(py), passed.told(py)))
    }

    /// The intercepts, a row per graph, and the contributions of the vertices of each graph:
    /// a column per class or target.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
        n_threads: usize,
        report: Option<Py<PyAny>>,
    ) -> PyResult<(Matrix<'py>, Vec<Matrix<'py>>)> {
        self.trained()?;
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, n_threads, report.as_ref(), move |watch| {
            let Saved::Trained(trained) = &*saved else { return Err(Unreadable::Untrained.into()) };
            let pyramid = trained.model.coarsen(&batch, |_| watch.go_on())?;
            let explanations = trained.explain(&batch, &pyramid, |done| watch.at(done))?;
            let vertices = explanations.iter().enumerate().map(|(graph, explanation)| {
                let count = batch.graph(graph).num_vertices();
                let levels = explanation.on_vertices(&pyramid, graph, count)?;
                let none = Array2::zeros((count, explanation.intercept.len()));
                Ok(levels.into_iter().fold(none, |sum, level| sum + level))
            });
            let vertices = vertices.collect::<stepwell::Result<Vec<Array2<f64>>>>()?;
            let columns = explanations.first().map_or(0, |explanation| explanation.intercept.len());
            let shape = (explanations.len(), columns);
            let intercepts = Array2::from_shape_fn(shape, |(graph, at)| explanations[graph].intercept[at]);
            Ok((intercepts, vertices))
        })?;
        let (intercepts, vertices) = found.map_err(refused)?;
        Ok((
            intercepts.into_pyarray(py),
            vertices.into_iter().map(|values| values.into_pyarray(py)).collect(),
        ))
    }

    /// The contributions of all vertices' inputs to the decision values of one vertex: the
    /// intercept, and a row per vertex.
    fn explain_vertex<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
        vertex: usize,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Matrix<'py>)> {
        self.trained()?;
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, n_threads, None, move |watch| {
            let Saved::Trained(trained) = &*saved else { return Err(Unreadable::Untrained.into()) };
            trained.explain_vertex(&batch, 0, vertex, |_| watch.go_on())
        })?;
        let mut explanation = found.map_err(refused)?;
        let values = explanation.levels.swap_remove(0).values;
        Ok((explanation.intercept.into_pyarray(py), values.into_pyarray(py)))
    }

    /// Decision values of every graph that can be embedded, and the errors of the others, by
    /// position.
    fn decide_possible<'py>(
        &self,
        py: Python<'py>,
        graphs: &RawBatch,
    ) -> PyResult<(Matrix<'py>, Vec<(usize, String)>)> {
        self.trained()?;
        let (saved, batch) = (self.0.clone(), graphs.batch.clone());
        let found = threads::run_owned(py, 1, None, move |watch| {
            let Saved::Trained(trained) = &*saved else { return Err(Unreadable::Untrained.into()) };
            let (embedding, bad) = trained.model.embed_possible(&batch, |done| watch.at(done))?;
            let mut values = trained.decide(&embedding)?;
            if trained.model.config.level == Level::Graph {
                let good = |graph: &usize| bad.iter().all(|(at, _)| at != graph);
                let good = (0..batch.len()).filter(good).map(|graph| batch.graph(graph));
                blank_empty(&mut values, good);
            }
            Ok((values, bad))
        })?;
        let (values, bad) = found.map_err(refused)?;
        let bad = bad.into_iter().map(|(graph, error)| (graph, error.to_string())).collect();
        Ok((values.into_pyarray(py), bad))
    }

    /// The length of a row of decision values.
    #[getter]
    fn columns(&self) -> PyResult<usize> {
        Ok(self.trained()?.readout.task().num_columns())
    }

    /// Its options before some were chosen.
    #[getter]
    fn asked<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match &*self.0 {
            Saved::Trained(trained) => all(py, &trained.asked().map_err(refused)?),
            Saved::Untrained(model) => all(py, &model.config),
        }
    }

    /// The options that leave-one-out chose, and their candidates.
    #[getter]
    fn choices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.trained()?.choices)
    }

    /// The same model for molecules of a feature set.
    fn of_molecules(&self, features: String) -> Self {
        let model = |model: Model| Model { molecules: Some(features), ..model };
        Self::new(match Saved::clone(&self.0) {
            Saved::Untrained(untrained) => Saved::Untrained(model(untrained)),
            Saved::Trained(trained) => {
                Saved::Trained(TrainedModel { model: model(trained.model), ..trained })
            }
        })
    }

    /// The feature set, if its graphs are molecules.
    #[getter]
    fn molecules(&self) -> Option<String> {
        self.0.model().molecules.clone()
    }

    /// All its options.
    #[getter]
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        all(py, &self.0.model().config)
    }

    /// The map from vertex data to inputs.
    #[getter]
    fn features<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.model().features)
    }

    /// The number of vertices with a label that no training vertex had.
    fn unknown_labels(&self, graphs: &RawBatch) -> usize {
        self.0.model().features.unknown_labels(&graphs.batch)
    }

    /// The number of directed edges with a label that no training edge had.
    fn unknown_edge_labels(&self, graphs: &RawBatch) -> usize {
        self.0.model().features.edges().unknown_labels(&graphs.batch)
    }

    /// A description of edge data that the model ignores.
    fn ignored_of_edges(&self, graphs: &RawBatch) -> Option<&'static str> {
        self.0.model().features.ignored_of_edges(&graphs.batch)
    }

    /// Why an option has no effect: another option, and the value that it would need.
    fn lacks(&self, option: &str) -> Option<(&'static str, &'static str)> {
        self.0.model().config.lacks(option)
    }

    /// The required number of vertex attributes, and whether labels are required.
    #[getter]
    fn expected(&self) -> (usize, bool) {
        let features = &self.0.model().features;
        (features.attributes(), !features.labels().is_empty())
    }

    /// The length of a graph's vector.
    #[getter]
    fn width(&self) -> usize {
        self.0.model().width()
    }

    /// `W` and `V`, listed by stack, block and reservoir.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Vec<(Matrix<'py>, Matrix<'py>)> {
        let arrays = |block: &BlockWeights| {
            (block.recurrent.clone().into_pyarray(py), block.input.clone().into_pyarray(py))
        };
        self.0.model().weights.iter().map(arrays).collect()
    }

    /// The gates, in the same order; None if edges have neither labels nor attributes.
    #[getter]
    fn gates<'py>(&self, py: Python<'py>) -> Option<Vec<Gate<'py>>> {
        let arrays = |BlockWeights { gate, .. }: &BlockWeights| {
            let GateWeights { labels, frequencies, phases } = gate.clone();
            (labels.into_pyarray(py), frequencies.into_pyarray(py), phases.into_pyarray(py))
        };
        let weights = &self.0.model().weights;
        let InputShape { edge_labels, edge_attributes, .. } = weights.inputs();
        (edge_labels + edge_attributes > 0).then(|| weights.iter().map(arrays).collect())
    }

    /// Its task: "classification", "regression", "binary" for several targets of 0 and 1,
    /// or None.
    #[getter]
    fn task(&self) -> Option<&'static str> {
        match &*self.0 {
            Saved::Untrained(_) => None,
            Saved::Trained(trained) => Some(match trained.readout.task() {
                Task::Classification { .. } => "classification",
                Task::Regression { .. } => "regression",
                Task::Binary { .. } => "binary",
            }),
        }
    }

    /// The names of the classes.
    #[getter]
    fn classes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        names(py, &self.trained()?.classes)
    }

    /// The names of the targets, if they have names.
    #[getter]
    fn target_names(&self) -> PyResult<Vec<String>> {
        Ok(self.trained()?.targets.clone())
    }

    /// The penalty of every target.
    #[getter]
    fn alphas(&self) -> PyResult<Vec<f64>> {
        Ok(self.trained()?.readout.alphas().to_vec())
    }

    /// For every target, the metric it was chosen by, its leave-one-out value, and the share
    /// of balanced class weights.
    #[getter]
    fn assessments<'py>(&self, py: Python<'py>) -> PyResult<Vec<Assessed<'py>>> {
        let assessed = |found: &Assessment| {
            Ok((to_python(py, &found.metric)?, found.value.unwrap_or(f64::NAN), found.balance))
        };
        self.trained()?.readout.assessments().unwrap_or_default().iter().map(assessed).collect()
    }

    /// Probabilities of decision values: a column for each class, or for each of several targets.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        decisions: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Matrix<'py>> {
        Ok(self.trained()?.probabilities(decisions.as_array()).map_err(refused)?.into_pyarray(py))
    }

    /// The classes that cannot be ruled out, on average or for the graphs of each class.
    #[pyo3(signature = (decisions, coverage, per_class=false))]
    fn sets<'py>(
        &self,
        py: Python<'py>,
        decisions: PyReadonlyArray2<'_, f64>,
        coverage: f64,
        per_class: bool,
    ) -> PyResult<Bound<'py, PyArray2<bool>>> {
        let (trained, decisions) = (self.trained()?, decisions.as_array());
        let sets = match per_class {
            true => trained.sets_per_class(decisions, coverage),
            false => trained.sets(decisions, coverage),
        };
        Ok(sets.map_err(refused)?.into_pyarray(py))
    }

    /// A note about these sets, if the user should know more.
    fn note_of_sets(&self, coverage: f64, per_class: bool) -> PyResult<Option<String>> {
        let asked = Asked { coverage: Some(coverage), per_class, ..Asked::default() };
        asked.note(self.trained()?).map_err(refused)
    }

    /// Lower and upper ends of intervals around numbers.
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        predictions: PyReadonlyArray2<'_, f64>,
        coverage: f64,
    ) -> PyResult<Matrix<'py>> {
        Ok(self.trained()?.intervals(predictions.as_array(), coverage).map_err(refused)?.into_pyarray(py))
    }

    /// The threshold of a target for one of its two classes, and the expected precision and
    /// recall.
    #[pyo3(signature = (target, precision=None, recall=None, class_=1))]
    fn threshold(
        &self,
        target: usize,
        precision: Option<f64>,
        recall: Option<f64>,
        class_: usize,
    ) -> PyResult<(f64, f64, f64)> {
        let wanted = match (precision, recall) {
            (Some(precision), None) => Wanted::Precision(precision),
            (None, Some(recall)) => Wanted::Recall(recall),
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err("expected precision= or recall=, found both"));
            }
            (None, None) => {
                return Err(PyValueError::new_err("expected precision= or recall=, found neither"));
            }
        };
        let found = self.trained()?.threshold_of(target, class_, wanted).map_err(refused)?;
        Ok((found.threshold, found.precision, found.recall))
    }

    /// Whether all training graphs had the same vector.
    #[getter]
    fn is_blind(&self) -> PyResult<bool> {
        Ok(self.trained()?.readout.is_blind())
    }

    /// Coefficients in scikit-learn's layout, a row for each target, and intercepts.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<(Matrix<'py>, Vector<'py>)> {
        Ok(readout::coefficients(py, &self.trained()?.readout))
    }

    /// Weights and biases of random tanh units, if there are any.
    #[getter]
    fn random_features<'py>(&self, py: Python<'py>) -> PyResult<Option<(Matrix<'py>, Vector<'py>)>> {
        Ok(readout::random_features(py, &self.trained()?.readout))
    }

    /// Means and scales of the vectors, and the landmarks, scaled, if there are any.
    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> PyResult<Option<(Vector<'py>, Vector<'py>, Matrix<'py>)>> {
        Ok(readout::landmarks(py, &self.trained()?.readout))
    }

    /// The same model with a readout that was trained on its vectors, the names of its targets,
    /// and the choices of options.
    fn with_readout(
        &self,
        readout: &RawReadout,
        names: Vec<String>,
        choices: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (model, found) = (self.0.model().clone(), Readout::clone(&readout.readout));
        let trained = TrainedModel::from_parts(model, found, readout.classes.clone()).map_err(refused)?;
        let choices = from_python(choices)?;
        Ok(Self::new(Saved::Trained(TrainedModel { targets: names, choices, ..trained })))
    }

    /// Writes the model to a file, completely or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let bytes = self.0.to_bytes().map_err(refused)?;
        py.detach(|| models::write(&path, &bytes)).map_err(dataset::exception)
    }

    /// Loads a model from a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = threads::run_owned(py, 0, None, move |_| models::read(&path))?;
        read.map(Self::new).map_err(dataset::exception)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let bytes = bytes.to_vec();
        let saved = threads::run_owned(py, 0, None, move |_| Saved::from_bytes(&bytes))?;
        Ok(Self::new(saved.map_err(|error| PyValueError::new_err(error.to_string()))?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = PyBytes::new(py, &self.0.to_bytes().map_err(refused)?);
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (bytes,)))
    }
}

/// Graphs without vertices have no decision values: their rows become NaN.
fn blank_empty<'a>(values: &mut Array2<f64>, graphs: impl Iterator<Item = GraphRef<'a>>) {
    let rows = values.outer_iter_mut().zip(graphs).filter(|(_, graph)| graph.num_vertices() == 0);
    rows.for_each(|(mut row, _)| row.fill(f64::NAN));
}

/// The class of each row of decision values.
#[pyfunction(name = "decode_classes")]
pub fn decoded<'py>(py: Python<'py>, decisions: PyReadonlyArray2<'_, f64>) -> Bound<'py, PyArray1<i64>> {
    let classes = decode_classes(decisions.as_array());
    classes.into_iter().map(|class| class as i64).collect::<Vec<_>>().into_pyarray(py)
}
