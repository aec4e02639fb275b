//! What is compared: reservoirs, and the baselines beside them.

use std::borrow::Cow;
use std::ops::ControlFlow;

use stepwell::config::ModelConfig;
use stepwell::features::{FeatureMap, Inputs};
use stepwell::pyramid::Pyramid;
use stepwell::reservoir::{Prepared, Weights, embed_some};
use stepwell_data::Dataset;

use crate::baselines::{Baseline, Counts, Rows};
use crate::error::Result;
use crate::protocol::{Protocol, UnitKey};
use crate::reading::Table;

/// A model on a dataset, made ready once for all passes.
pub(crate) enum Contender<'a> {
    /// Reservoirs; what is searched is drawn anew for every configuration.
    Reservoirs { model: Box<ModelConfig>, prepared: Box<Prepared> },
    /// Something simple.
    Baseline { baseline: Baseline, dataset: &'a Dataset, inputs: Inputs },
}

impl<'a> Contender<'a> {
    /// Reservoirs on a dataset with its pyramid. The map to the inputs is
    /// fitted on all graphs, which needs no labels.
    pub fn reservoirs(dataset: &Dataset, pyramid: Cow<'_, Pyramid>, model: ModelConfig) -> Result<Self> {
        let inputs = inputs(dataset, &model)?;
        let prepared = Prepared::with_pyramid(&dataset.graphs, &inputs, pyramid, &model)?;
        Ok(Self::Reservoirs { model: Box::new(model), prepared: Box::new(prepared) })
    }

    /// A baseline on a dataset.
    pub fn baseline(dataset: &'a Dataset, baseline: Baseline) -> Result<Self> {
        let inputs = inputs(dataset, &ModelConfig::default())?;
        Ok(Self::Baseline { baseline, dataset, inputs })
    }

    /// What becomes of some graphs, whose positions ascend, under one
    /// configuration and initialisation.
    pub fn vectors(&self, protocol: &Protocol, key: UnitKey, graphs: &[usize]) -> Result<Rows> {
        match self {
            Self::Reservoirs { model, prepared } => {
                let config = protocol.configure(model, key.configuration, key.initialisation);
                let weights = Weights::random(&config, prepared.features())?;
                let going = |_| ControlFlow::Continue(());
                Ok(Rows::Vectors(embed_some(&weights, prepared, &config, Some(graphs), going)?.vectors))
            }
            Self::Baseline { baseline, dataset, inputs } => {
                Ok(baseline.rows(key.configuration, &dataset.graphs, inputs, graphs))
            }
        }
    }

    /// The settings of a configuration: a model's, or those of a baseline in words.
    pub fn settings(
        &self,
        protocol: &Protocol,
        configuration: usize,
    ) -> (Option<ModelConfig>, Option<String>) {
        match self {
            Self::Reservoirs { model, .. } => (Some(protocol.configure(model, configuration, 0)), None),
            Self::Baseline { baseline, .. } => (None, baseline.settings().get(configuration).cloned()),
        }
    }
}

fn inputs(dataset: &Dataset, model: &ModelConfig) -> Result<Inputs> {
    let map = FeatureMap::fit(&dataset.graphs, &model.features())?;
    Ok(map.apply(&dataset.graphs)?)
}

impl Rows {
    /// What readouts are trained on; counts stay at hand for the products with
    /// those of other graphs.
    pub(crate) fn into_table(self) -> (Table, Option<Counts>) {
        match self {
            Self::Vectors(vectors) => (Table::Vectors(vectors), None),
            Self::Counts(counts) => (Table::Products(counts.products(&counts)), Some(counts)),
        }
    }
}
