//! Complete models: from graphs to one vector per graph or vertex and, with a
//! [readout](TrainedModel), to classes or numbers.
//!
//! ```
//! use std::ops::ControlFlow::Continue;
//! use stepwell::config::{ModelConfig, Pool};
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::model::Model;
//!
//! let ring = Graph::new(&EdgeList::new(6, &[0, 1, 2, 3, 4, 5], &[1, 2, 3, 4, 5, 0]))?;
//! let config = ModelConfig { pool: Pool::Ndp, blocks: 3, ..Default::default() };
//! let model = Model::fit(config, ring.as_batch())?;
//! let embedding = model.embed(ring.as_batch(), |_| Continue(()))?;
//! assert_eq!(embedding.vectors.dim(), (1, 50));
//! # Ok::<(), stepwell::Error>(())
//! ```

mod choosing;
mod explain;
mod saved;
mod sure;
#[cfg(test)]
mod tests;
mod trained;
#[cfg(test)]
mod vertices;

pub use choosing::{Candidate, Choice, Drawn, MOST_GRAPHS, choose, choose_on};
pub use explain::{Contributions, Explanation};
pub use saved::{FORMAT, Saved, Version};
pub use trained::{Predictions, TrainedModel};

use std::borrow::Cow;
use std::ops::ControlFlow;

use ndarray::{Array2, Axis};
use rayon::prelude::*;

use crate::colours::Colours;
use crate::config::{Level, ModelConfig};
use crate::error::{Error, Result, same_length};
use crate::features::FeatureMap;
use crate::graph::GraphBatch;
use crate::pyramid::Pyramid;
use crate::reservoir::{self, Device, Embedding, Prepared, Progress, Run, Weights, Work};

/// A model without a readout: a configuration, the fitted feature map, and the random weights. It
/// does not depend on targets. [`Saved`] is the file format of this and of a [`TrainedModel`].
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The configuration.
    pub config: ModelConfig,
    /// The map from labels and attributes to `X`.
    pub features: FeatureMap,
    /// `W` and `V` of all blocks.
    pub weights: Weights,
    /// The feature set that turned molecules into the training graphs, if they were molecules.
    /// Predictions must use the same one.
    pub molecules: Option<String>,
    /// The device that computes vectors.
    pub device: Device,
}

impl Model {
    /// Draws the weights for the inputs of a fitted map.
    pub fn new(config: ModelConfig, features: FeatureMap) -> Result<Self> {
        config.validate()?;
        let weights = Weights::random(&config, features.shape())?;
        Ok(Self { config, features, weights, molecules: None, device: Device::default() })
    }

    /// Fits the feature map on the training graphs and draws the weights.
    pub fn fit(config: ModelConfig, graphs: &GraphBatch) -> Result<Self> {
        let features = FeatureMap::fit(graphs, &config.features())?;
        Self::new(config, features)
    }

    /// The same model on another device. States of vertices and explanations are always computed on
    /// this processor.
    pub fn on(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// Why a device cannot run the model, if so. This processor then runs it.
    pub fn refused_by(&self, device: &Device) -> Option<String> {
        let sparse = !device.is_processor() && self.features.is_sparse();
        let refusal = device.refuses(&self.weights, &self.config);
        refusal.or_else(|| sparse.then(|| "sparse inputs are computed on the CPU only".to_owned()))
    }

    /// Where a readout of the model computes: on its device, unless that refuses the model.
    fn reads_on(&self) -> Device {
        match self.refused_by(&self.device) {
            None => self.device.clone(),
            Some(_) => Device::processor(),
        }
    }

    /// A model with the given weights instead of random ones.
    pub fn with_weights(config: ModelConfig, features: FeatureMap, weights: Weights) -> Result<Self> {
        let model = Self { config, features, weights, molecules: None, device: Device::default() };
        model.check()?;
        Ok(model)
    }

    /// Checks that the parts fit each other.
    fn check(&self) -> Result<()> {
        let Self { config, features, weights, .. } = self;
        config.validate()?;
        weights.check(config)?;
        for block in 0..config.blocks {
            let expected = config.units.get(block).expect("validated: a number of units for every block");
            same_length("units of a block", expected, weights.units(0, block))?;
        }
        let (expected, found) = (features.shape(), weights.inputs());
        same_length("columns of the inputs", expected.features, found.features)?;
        same_length("gates of edge labels", expected.edge_labels, found.edge_labels)?;
        same_length("frequencies of gates", expected.edge_attributes, found.edge_attributes)
    }

    /// Rejects a model of vertices, with the reason that it cannot do `what`.
    pub fn expect_graphs(&self, what: &str) -> Result<()> {
        match self.config.level {
            Level::Graph => Ok(()),
            Level::Vertex => {
                let expected = format!("graph (a model of vertices cannot {what})");
                let found = "vertex".into();
                Err(Error::BadOption { name: "level", expected, found })
            }
        }
    }

    /// The length of the vector of a graph or vertex.
    pub fn width(&self) -> usize {
        self.weights.embedding_width(&self.config)
    }

    /// Pools graphs as many times as the configuration requires.
    pub fn coarsen(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Pyramid> {
        match self.config.pooling() {
            Some(pooling) => pooling.coarsen(graphs, self.config.levels(), progress),
            None => Ok(Pyramid::default()),
        }
    }

    /// Prepares graphs and their pyramid. Calls `going` between parts of the batch; if it breaks,
    /// the result is [`Error::Cancelled`].
    pub fn prepare<'p>(
        &self,
        graphs: &GraphBatch,
        pyramid: impl Into<Cow<'p, Pyramid>>,
        going: impl Fn() -> ControlFlow<()> + Sync,
    ) -> Result<Prepared> {
        let inputs = self.features.apply(graphs)?;
        Prepared::with_pyramid(graphs, &inputs, pyramid, &self.config, going)
    }

    /// Pools, prepares and embeds graphs. Calls `progress` with the number of embedded graphs, or
    /// with 0 during pooling and preparation: between graphs, and in large graphs also between
    /// sweeps and during pooling. If it breaks, the result is [`Error::Cancelled`].
    pub fn embed(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Embedding> {
        let pyramid = self.coarsen(graphs, |_| progress(0))?;
        let prepared = self.prepare(graphs, pyramid, || progress(0))?;
        self.embed_prepared(&prepared, None, progress)
    }

    /// Embeds graphs and skips those that cannot be embedded. Returns the embedding of the others,
    /// and the position and error of each skipped graph. If any graph fails, all graphs are
    /// embedded again, one by one.
    pub fn embed_possible(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<(Embedding, Vec<(usize, Error)>)> {
        self.expect_graphs("skip graphs one by one")?;
        match self.embed(graphs, &progress) {
            Ok(embedding) => Ok((embedding, Vec::new())),
            Err(error) if error.graph().is_none() => Err(error),
            Err(_) => self.embed_alone(graphs, progress),
        }
    }

    /// Embeds every graph separately. Returns the embedding, and the position and error of each
    /// graph that failed.
    pub fn embed_alone(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<(Embedding, Vec<(usize, Error)>)> {
        self.embed_each(graphs, &progress)
    }

    fn embed_each(
        &self,
        graphs: &GraphBatch,
        progress: Progress<'_>,
    ) -> Result<(Embedding, Vec<(usize, Error)>)> {
        let alone = |graph| self.embed(&graphs.select(&[graph]), |_| progress(0));
        let found: Vec<Result<Embedding>> = (0..graphs.len()).into_par_iter().map(alone).collect();
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for (graph, found) in found.into_iter().enumerate() {
            match found {
                Ok(embedding) => good.push(embedding),
                Err(error) if error.graph().is_some() => bad.push((graph, error.of_graph(graph))),
                Err(error) => return Err(error),
            }
        }
        let width = self.width();
        let runs = self.weights.iter().count();
        let mut embedding = Embedding {
            vectors: Array2::zeros((0, width)),
            runs: Array2::default((0, runs)),
            colours: self.config.colour_rounds().map(|_| Colours::default()),
        };
        for part in good {
            embedding
                .vectors
                .append(Axis(0), part.vectors.view())
                .expect("vectors of one model have one width");
            if let (Some(colours), Some(more)) = (&mut embedding.colours, &part.colours) {
                colours.append(more.view());
            }
            embedding.runs.append(Axis(0), part.runs.view()).expect("one model has so many reservoirs");
        }
        Ok((embedding, bad))
    }

    /// Embeds prepared graphs (or vertices, for a model of vertices): all of them, or those at the
    /// ascending positions `rows`.
    pub fn embed_prepared(
        &self,
        prepared: &Prepared,
        rows: Option<&[usize]>,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Embedding> {
        let work = Work { weights: &self.weights, prepared, options: &self.config, rows };
        reservoir::embed_on(&self.device, work, &progress)
    }

    /// The states of all vertices of prepared graphs; see [`reservoir::states`].
    pub fn states(
        &self,
        prepared: &Prepared,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<(Vec<Array2<f64>>, Array2<Run>)> {
        reservoir::states(&self.weights, prepared, &self.config, progress)
    }
}
