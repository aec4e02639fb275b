//! A whole model: from graphs as they come to one vector each, and, with a
//! [readout](TrainedModel) behind it, to a class or a number.
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

mod explain;
mod saved;
#[cfg(test)]
mod tests;
mod trained;

pub use explain::{Contributions, Explanation, explain};
pub use saved::{FORMAT, Unreadable};
pub use trained::{Predictions, TrainedModel};

use std::borrow::Cow;
use std::ops::ControlFlow;

use crate::config::ModelConfig;
use crate::error::Result;
use crate::features::{FeatureMap, FeatureOptions};
use crate::graph::GraphBatch;
use crate::pyramid::Pyramid;
use crate::reservoir::{Embedding, Prepared, Weights, embed};

/// What turns graphs into vectors: a configuration, the map to its inputs, and
/// the weights drawn for them. Nothing in it depends on graph labels. To keep
/// one, keep `config` and `features` (both are serde's kind): [`Model::new`]
/// draws the same weights again. A [`TrainedModel`] has a file format.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What it was asked to be.
    pub config: ModelConfig,
    /// From what vertices carry to `X`.
    pub features: FeatureMap,
    /// `W` and `V` of all blocks.
    pub weights: Weights,
}

impl Model {
    /// Draws the weights for inputs of a fitted map.
    pub fn new(config: ModelConfig, features: FeatureMap) -> Result<Self> {
        let weights = Weights::random(&config, features.width())?;
        Ok(Self { config, features, weights })
    }

    /// Fits the map on the graphs given, then draws the weights. Attributes are
    /// z-scored unless `config.raw` is `Some(true)`; a dataset that was read from
    /// a file has its own idea of it, for [`fit_as`](Self::fit_as).
    pub fn fit(config: ModelConfig, graphs: &GraphBatch) -> Result<Self> {
        Self::fit_as(config, graphs, &FeatureOptions::default())
    }

    /// The same, with the `usual` inputs of a dataset where the configuration
    /// says nothing of them: what `stepwell_data::Dataset` has as `features`.
    pub fn fit_as(config: ModelConfig, graphs: &GraphBatch, usual: &FeatureOptions) -> Result<Self> {
        let features = FeatureMap::fit(graphs, &config.features(usual))?;
        Self::new(config, features)
    }

    /// Numbers in a graph's vector.
    pub fn width(&self) -> usize {
        self.weights.embedding_width(&self.config)
    }

    /// Pools graphs as often as the blocks ask for.
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

    /// Makes graphs and their pyramid ready.
    pub fn prepare<'p>(&self, graphs: &GraphBatch, pyramid: impl Into<Cow<'p, Pyramid>>) -> Result<Prepared> {
        let inputs = self.features.apply(graphs)?;
        Prepared::with_pyramid(graphs, &inputs, pyramid, &self.config)
    }

    /// Pools, prepares and embeds graphs. `progress` is told how many are
    /// embedded, 0 while graphs are pooled; when it breaks, the result is
    /// [`Error::Cancelled`](crate::Error::Cancelled). It is asked between graphs,
    /// and within large ones between sweeps; a graph that is being pooled is
    /// pooled to the end first.
    pub fn embed(
        &self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Embedding> {
        let pyramid = self.coarsen(graphs, |_| progress(0))?;
        embed(&self.weights, &self.prepare(graphs, pyramid)?, &self.config, progress)
    }
}
