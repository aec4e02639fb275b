//! Many graphs at once, on their way to the model.

use std::sync::Arc;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use stepwell::features::{FeatureMap, FeatureOptions, Inputs};
use stepwell::graph::{Attributes, BatchBuilder, EdgeList, GraphBatch};
use stepwell::pyramid::Pyramid;
use stepwell::reservoir::Prepared;
use stepwell_data::Dataset;

use crate::dataset::RawDataset;
use crate::graph::RawGraph;
use crate::reservoir::{RawPrepared, parse, refused};
use crate::{pool, threads};

/// Graphs in one batch, with their inputs where these are ready.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawBatch {
    batch: Arc<GraphBatch>,
    /// Without them, what vertices carry is for a feature map.
    inputs: Option<Arc<Inputs>>,
    /// How it is meant to.
    features: FeatureOptions,
    /// Whether inputs were made of what vertices carry when a dataset was loaded.
    made: bool,
}

impl RawBatch {
    /// Attributes alone that are taken as they are, are ready; labels need a map.
    pub fn of_rows(rows: Dataset) -> PyResult<Self> {
        let Dataset { mut graphs, features, .. } = rows;
        let ready = features.raw && graphs.vertex_labels().is_none();
        let attributes = if ready { graphs.take_vertex_attributes() } else { None };
        let inputs = match attributes {
            Some(attributes) => {
                Some(Inputs::from_rows(attributes.width, attributes.values).map_err(refused)?)
            }
            None => None,
        };
        Ok(Self { batch: Arc::new(graphs), inputs: inputs.map(Arc::new), features, made: false })
    }

    /// The graphs and their inputs, none where a map has still to make them.
    pub fn parts(&self) -> (Arc<GraphBatch>, Arc<Inputs>) {
        (self.batch.clone(), self.inputs.clone().unwrap_or_default())
    }

    /// The graphs with what they carry, to be written down, and how inputs are made of it.
    pub fn to_write(&self) -> PyResult<(Arc<GraphBatch>, FeatureOptions)> {
        let carried = self.carried()?;
        Ok((carried.batch, carried.features))
    }

    /// The same batch: nothing of it is copied.
    fn shared(&self) -> Self {
        let (batch, inputs) = (self.batch.clone(), self.inputs.clone());
        Self { batch, inputs, features: self.features.clone(), made: self.made }
    }

    /// What a feature map is to look at, and how.
    pub fn rest(&self) -> (Arc<GraphBatch>, FeatureOptions) {
        match self.inputs {
            Some(_) => (Arc::new(GraphBatch::clone(&self.batch).bare()), FeatureOptions::default()),
            None => (self.batch.clone(), self.features.clone()),
        }
    }
}

#[pymethods]
impl RawBatch {
    /// The graphs of a dataset.
    #[staticmethod]
    fn of_dataset(dataset: &RawDataset) -> Self {
        let inputs = Some(dataset.inputs.clone());
        Self { batch: dataset.batch.clone(), inputs, features: dataset.usual.clone(), made: true }
    }

    /// Graphs from anywhere; all or none of them have features, of one width,
    /// and all or none of them labels. Those without vertices fit beside any.
    #[staticmethod]
    fn of_graphs(graphs: Vec<PyRef<'_, RawGraph>>) -> PyResult<Self> {
        let mut speaking: Vec<usize> =
            (0..graphs.len()).filter(|&at| graphs[at].num_vertices() > 0).collect();
        if speaking.is_empty() {
            speaking = (0..graphs.len()).collect();
        }
        let all_alike = |what, has| all_alike(what, &graphs, &speaking, has);
        all_alike("features", |graph| graph.inputs.is_some())?;
        all_alike("labels", |graph| graph.labelled)?;
        let labelled = speaking.first().is_some_and(|&at| graphs[at].labelled);
        let parts: Vec<_> = speaking
            .iter()
            .filter_map(|&at| {
                let (graph, offsets) = (&graphs[at], graphs[at].batch.vertex_offsets());
                Some((graph.inputs.as_deref()?, offsets[graph.index]..offsets[graph.index + 1]))
            })
            .collect();
        let inputs = Inputs::concat(parts.iter().cloned()).map_err(|differs| {
            PyValueError::new_err(format!(
                "graph {}: expected {} features, as in graph {}, found {}",
                speaking[differs.part], differs.expected, speaking[0], differs.found
            ))
        })?;
        let joined = |bare: bool| {
            let mut batch = GraphBatch::default();
            for graph in &graphs {
                let alone = graph.batch.select(&[graph.index]);
                batch.append(&if bare { alone.bare() } else { alone })?;
            }
            Ok(batch)
        };
        // Graphs of loaded datasets bring what they carry, where that is of one kind.
        let carried = graphs.iter().all(|graph| graph.made).then(|| joined(false).ok()).flatten();
        let made = carried.is_some() && !graphs.is_empty();
        let batch = match carried {
            Some(batch) => batch,
            None => joined(!labelled).map_err(refused)?,
        };
        let inputs = (!labelled && !parts.is_empty()).then(|| Arc::new(inputs));
        Ok(Self { batch: Arc::new(batch), inputs, features: as_they_are(), made })
    }

    /// Graphs listed one after the other: how many vertices and edges each has,
    /// the edges' ends, and what edges and vertices carry.
    #[staticmethod]
    #[pyo3(signature = (vertices, edges, sources, targets, weights, features, labels, directed))]
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
        Self::of_rows(Dataset { graphs: builder.finish(), features: as_they_are(), ..Dataset::default() })
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    fn graph(&self, index: usize) -> PyResult<RawGraph> {
        if index >= self.batch.len() {
            return Err(PyIndexError::new_err("no graph of that number"));
        }
        if self.inputs.is_some() {
            let graph = RawGraph::new(self.batch.clone(), self.inputs.clone(), index);
            return Ok(RawGraph { made: self.made, ..graph });
        }
        let alone = self.select(vec![index])?.as_they_are()?;
        let labelled = alone.batch.vertex_labels().is_some();
        Ok(RawGraph { labelled, ..RawGraph::new(alone.batch, alone.inputs, 0) })
    }

    /// Some of the graphs, in the order given.
    fn select(&self, positions: Vec<usize>) -> PyResult<Self> {
        if positions.iter().any(|&position| position >= self.batch.len()) {
            return Err(PyIndexError::new_err("no graph of that number"));
        }
        let offsets = self.batch.vertex_offsets();
        let rows = |inputs: &Arc<Inputs>| {
            let parts = positions.iter().map(|&graph| (&**inputs, offsets[graph]..offsets[graph + 1]));
            // Parts of one whole have one width.
            Arc::new(Inputs::concat(parts).unwrap_or_default())
        };
        let inputs = self.inputs.as_ref().map(rows);
        Ok(Self { batch: Arc::new(self.batch.select(&positions)), inputs, ..self.shared() })
    }

    /// Whether any graph has a vertex.
    fn has_vertices(&self) -> bool {
        self.batch.num_vertices() > 0
    }

    /// Columns of the inputs; nothing where these are still to be made.
    fn width(&self) -> Option<usize> {
        self.inputs.as_ref().map(|inputs| inputs.width())
    }

    /// Attributes as inputs, if there are any; labels are not looked at.
    fn as_they_are(&self) -> PyResult<Self> {
        let made = match (&self.inputs, self.batch.vertex_attributes()) {
            (None, Some(attributes)) => {
                let rows = Inputs::from_rows(attributes.width, attributes.values.clone());
                Some(Arc::new(rows.map_err(refused)?))
            }
            (inputs, _) => inputs.clone(),
        };
        Ok(Self { inputs: made, ..self.shared() })
    }

    /// The same graphs with what their vertices carry, for a map to make inputs
    /// of: what a dataset's inputs were made of, and inputs that were given.
    fn carried(&self) -> PyResult<Self> {
        let Some(inputs) = self.inputs.as_ref().filter(|_| !self.made) else {
            return Ok(Self { inputs: None, ..self.shared() });
        };
        let mut values = Vec::with_capacity(self.batch.num_vertices() * inputs.width());
        (0..self.batch.num_vertices()).for_each(|vertex| inputs.extend_with_row(vertex, &mut values));
        let attributes = Attributes { width: inputs.width(), values };
        let graphs = GraphBatch::clone(&self.batch).bare();
        let batch = if attributes.width > 0 { graphs.with_vertex_attributes(attributes) } else { Ok(graphs) };
        Ok(Self { batch: Arc::new(batch.map_err(refused)?), inputs: None, ..self.shared() })
    }

    /// Fits a map that makes inputs of what vertices carry beside inputs that
    /// are ready, as JSON: of labels, of the structure if options say so, and
    /// of the degree where there is nothing else.
    fn fit_features(&self, options: &str) -> PyResult<String> {
        let (graphs, usual) = self.rest();
        let map = FeatureMap::fit(&graphs, &parse(options)?.features(&usual)).map_err(refused)?;
        serde_json::to_string(&map).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The same graphs with the inputs a fitted map makes, behind those they have.
    fn with_features(&self, map: &str) -> PyResult<Self> {
        let map: FeatureMap = serde_json::from_str(map).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let made = map.apply(&self.rest().0).map_err(refused)?;
        let inputs = match &self.inputs {
            Some(inputs) => inputs.beside(&made).map_err(refused)?,
            None => made,
        };
        Ok(Self { inputs: Some(Arc::new(inputs)), ..self.shared() })
    }

    /// Pools the graphs, if the options say so, and makes all ready for
    /// embeddings. How many are pooled goes to `report`.
    #[pyo3(signature = (options, n_threads, report=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        options: &str,
        n_threads: usize,
        report: Option<Py<PyAny>>,
    ) -> PyResult<RawPrepared> {
        let options = parse(options)?;
        let (batch, inputs) = (self.batch.clone(), self.inputs.clone().unwrap_or_default());
        let prepared = threads::run_owned(py, n_threads, report.as_ref(), move |watch| {
            let pyramid = match options.pooling() {
                Some(pooling) => pooling.coarsen(&batch, options.levels(), |done| watch.at(done))?,
                None => Pyramid::default(),
            };
            let (notes, losses) = (pyramid.notes(), pool::losses(&batch, &pyramid));
            Ok((Prepared::with_pyramid(&batch, &inputs, pyramid, &options)?, notes, losses))
        })?;
        let (prepared, notes, losses) = prepared.map_err(refused)?;
        Ok(RawPrepared { prepared: Arc::new(prepared), notes, losses })
    }
}

/// Python's features are not scaled.
fn as_they_are() -> FeatureOptions {
    FeatureOptions { raw: true, ..FeatureOptions::default() }
}

fn all_alike(
    what: &str,
    graphs: &[PyRef<'_, RawGraph>],
    speaking: &[usize],
    has: fn(&RawGraph) -> bool,
) -> PyResult<()> {
    let Some(first) = speaking.first().map(|&at| has(&graphs[at])) else { return Ok(()) };
    let Some(at) = speaking.iter().find(|&&at| has(&graphs[at]) != first) else { return Ok(()) };
    let (expected, found) = if first { ("", "none") } else { ("no ", "some") };
    Err(PyValueError::new_err(format!(
        "graph {at}: expected {expected}{what}, as in the graphs before it, found {found}"
    )))
}
