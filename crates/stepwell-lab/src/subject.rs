//! The subject of an evaluation: a model or a baseline.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{AddAssign, ControlFlow};

use ndarray::ArrayView1;
use serde_json::Value;
use stepwell::config::{Level, ModelConfig};
use stepwell::features::{FeatureMap, Inputs};
use stepwell::graph::GraphBatch;
use stepwell::model::{Model, choose};
use stepwell::pyramid::Pyramid;
use stepwell::readout::Sample;
use stepwell::reservoir::{Convergence, Device, Embedding, Prepared, Run};
use stepwell::targets::Encoded;
use stepwell_data::Dataset;

use crate::baselines::{Baseline, Rows, Vectors};
use crate::error::Result;
use crate::protocol::{Protocol, UnitKey};
use crate::targets;

/// The subject of an evaluation.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A configuration, and its name in records.
    Model(String, Box<ModelConfig>),
    /// A baseline. Its settings are always chosen on validation graphs.
    Baseline(Baseline),
}

impl Subject {
    /// The protocol adjusted to the subject: a model brings its own metric, and a
    /// baseline has no random weights to draw.
    pub(crate) fn protocol(&self, protocol: Protocol) -> Protocol {
        match self {
            Self::Model(_, config) => Protocol { metric: config.metric, ..protocol },
            Self::Baseline(baseline) => {
                let configurations = baseline.settings().len();
                Protocol { configurations, initialisations: 1, ..protocol }
            }
        }
    }

    /// The options that its inputs depend on.
    pub(crate) fn config(&self) -> Cow<'_, ModelConfig> {
        match self {
            Self::Model(_, config) => Cow::Borrowed(config),
            Self::Baseline(baseline) => Cow::Owned(baseline.config()),
        }
    }

    /// The subject after the options to be chosen were chosen on some graphs, and the values of the
    /// options that had several candidates.
    pub(crate) fn chosen(
        &self,
        dataset: &Dataset,
        encoded: &Encoded,
        learnt: &[usize],
    ) -> Result<(Cow<'_, Self>, BTreeMap<String, Value>)> {
        let as_it_is = || Ok((Cow::Borrowed(self), BTreeMap::new()));
        let Self::Model(name, config) = self else { return as_it_is() };
        if config.choose.is_empty() {
            return as_it_is();
        }
        let (graphs, targets) = (dataset.graphs.select(learnt), encoded.select(learnt));
        let going = || ControlFlow::Continue(());
        let (config, choices) = choose(config, &graphs, &targets, Sample::default(), going)?;
        let compared = choices.iter().filter(|choice| choice.candidates.len() > 1);
        let chosen = compared.map(|choice| (choice.option.option().to_owned(), choice.value().clone()));
        Ok((Cow::Owned(Self::Model(name.clone(), Box::new(config))), chosen.collect()))
    }
}

/// All graphs of a dataset, prepared once for many passes of a subject.
pub(crate) enum Ready<'a> {
    Model {
        config: &'a ModelConfig,
        features: Box<FeatureMap>,
        prepared: Box<Prepared>,
        /// The vertices that rows belong to; `None` if rows belong to graphs.
        vertices: Option<&'a [usize]>,
    },
    Baseline {
        baseline: Baseline,
        graphs: &'a GraphBatch,
        inputs: Box<Inputs>,
    },
}

/// A subject with one configuration and one draw of its weights.
pub(crate) enum Drawn<'r> {
    Model { model: Box<Model>, prepared: &'r Prepared, vertices: Option<&'r [usize]> },
    Baseline { baseline: Baseline, setting: usize, graphs: &'r GraphBatch, inputs: &'r Inputs },
}

impl<'a> Ready<'a> {
    /// Prepares all graphs. The feature map is fitted on some of them or on all; it
    /// never sees targets. A pyramid passed by value is freed piece by piece.
    pub fn new(
        dataset: &'a Dataset,
        subject: &'a Subject,
        pyramid: Cow<'_, Pyramid>,
        fitted_on: Option<&[usize]>,
    ) -> Result<Self> {
        let graphs = &dataset.graphs;
        let options = subject.config().features();
        let vertices = dataset.vertices.as_ref().map(|all| &all.known.rows[..]);
        let vertices = vertices.filter(|_| subject.config().level == Level::Vertex);
        let features = match fitted_on {
            Some(some) => {
                let graphs_of = |vertices: &[usize]| {
                    let some: Vec<usize> = some.iter().map(|&row| vertices[row]).collect();
                    let mut graphs = targets::graphs_of(dataset, &some);
                    graphs.dedup();
                    graphs
                };
                FeatureMap::fit(&graphs.select(&vertices.map_or_else(|| some.to_vec(), graphs_of)), &options)?
            }
            None => FeatureMap::fit(graphs, &options)?,
        };
        let inputs = features.apply(graphs)?;
        Ok(match subject {
            Subject::Model(_, config) => {
                let prepared = Box::new(Prepared::with_pyramid(graphs, &inputs, pyramid, config, || {
                    ControlFlow::Continue(())
                })?);
                Self::Model { config, features: Box::new(features), prepared, vertices }
            }
            Subject::Baseline(baseline) => {
                Self::Baseline { baseline: *baseline, graphs, inputs: Box::new(inputs) }
            }
        })
    }

    /// The settings of a configuration: a model's options, or a baseline's setting as
    /// text.
    pub fn settings(
        &self,
        protocol: &Protocol,
        configuration: usize,
    ) -> (Option<ModelConfig>, Option<String>) {
        match self {
            Self::Model { config, .. } => (Some(protocol.configure(config, configuration, 0)), None),
            Self::Baseline { baseline, .. } => (None, baseline.settings().get(configuration).cloned()),
        }
    }

    /// Draws one configuration and initialisation.
    pub fn draw(&self, protocol: &Protocol, key: UnitKey) -> Result<Drawn<'_>> {
        Ok(match self {
            Self::Model { config, features, prepared, vertices } => {
                let config = protocol.configure(config, key.configuration, key.initialisation);
                let model = Box::new(Model::new(config, (**features).clone())?);
                Drawn::Model { model, prepared, vertices: *vertices }
            }
            Self::Baseline { baseline, graphs, inputs } => {
                Drawn::Baseline { baseline: *baseline, setting: key.configuration, graphs, inputs }
            }
        })
    }
}

/// Embedded graphs, and how many of them converged in all blocks. Both are 0 if the number of sweeps
/// is fixed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settled {
    pub graphs: usize,
    pub converged: usize,
}

impl AddAssign for Settled {
    fn add_assign(&mut self, other: Self) {
        self.graphs += other.graphs;
        self.converged += other.converged;
    }
}

impl Drawn<'_> {
    /// Computes vectors on another device.
    pub fn on(mut self, device: &Device) -> Self {
        if let Self::Model { model, .. } = &mut self {
            model.device = device.clone();
        }
        self
    }

    /// The rows of some graphs, or vertices. Their positions must ascend.
    pub fn rows(&self, chosen: &[usize]) -> Result<Rows> {
        Ok(self.embed(chosen)?.0)
    }

    /// Like [`rows`](Self::rows), with the number of graphs that converged.
    pub fn embed(&self, chosen: &[usize]) -> Result<(Rows, Settled)> {
        match self {
            Self::Model { model, prepared, vertices } => {
                let going = |_| ControlFlow::Continue(());
                let rows: Vec<usize> = match vertices {
                    Some(vertices) => chosen.iter().map(|&row| vertices[row]).collect(),
                    None => chosen.to_vec(),
                };
                let Embedding { vectors, colours, runs } =
                    model.embed_prepared(prepared, Some(&rows), going)?;
                let mut settled = Settled::default();
                if model.config.fixed_sweeps.is_none() {
                    let all = runs.outer_iter();
                    let is = |graph: &ArrayView1<'_, Run>| {
                        graph.iter().all(|run| run.converged != Convergence::No)
                    };
                    settled = Settled { graphs: runs.nrows(), converged: all.filter(is).count() };
                }
                Ok((Rows::Vectors(Vectors { numbers: vectors, colours }), settled))
            }
            Self::Baseline { baseline, setting, graphs, inputs } => {
                Ok((baseline.rows(*setting, graphs, inputs, chosen), Settled::default()))
            }
        }
    }
}
