//! Where states are computed: on this processor, or on a device that another crate
//! brings along.
//!
//! Everything before the sweeps (features, pooling, lifting, colours) and everything
//! behind them (readouts) is the same for all engines: an [`Engine`] takes graphs that
//! are [prepared](Prepared) and [`Weights`], and returns vectors and [`Run`]s. What
//! it reads of graphs are their [pieces](Prepared::pieces).

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use ndarray::Array2;

use super::prepared::Prepared;
use super::solver::Run;
use super::weights::Weights;
use crate::config::ModelConfig;
use crate::error::Result;

/// Takes the number of finished graphs; returns whether to continue.
pub type Progress<'a> = &'a (dyn Fn(usize) -> ControlFlow<()> + Sync);

/// Graphs to embed, with a model that fits them.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The matrices of the model.
    pub weights: &'a Weights,
    /// The graphs.
    pub prepared: &'a Prepared,
    /// The options both were made by.
    pub options: &'a ModelConfig,
    /// Which graphs, or vertices, in ascending order; all by default.
    pub rows: Option<&'a [usize]>,
}

/// A vector per graph, or vertex, of the work, and per graph what happened in every reservoir.
pub type Embedded = (Array2<f64>, Array2<Run>);

/// Something that computes states.
pub trait Engine: fmt::Debug + Send + Sync {
    /// What people call it, as in "computed on ...".
    fn name(&self) -> String;

    /// Why it cannot run a model with these options, if so; the processor then does.
    fn refuses(&self, weights: &Weights, options: &ModelConfig) -> Option<String>;

    /// Embeds graphs of a model that it does not refuse.
    fn embed(&self, work: Work<'_>, progress: Progress<'_>) -> Result<Embedded>;
}

/// Where a model computes: on this processor by default. It is no part of what a
/// model is: all devices are equal, and no file holds one.
#[derive(Clone, Debug, Default)]
pub struct Device(Option<Arc<dyn Engine>>);

impl PartialEq for Device {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Device {
    /// This processor.
    pub fn processor() -> Self {
        Self::default()
    }

    /// Whether it is this processor.
    pub fn is_processor(&self) -> bool {
        self.0.is_none()
    }

    /// Another engine.
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self(Some(engine))
    }

    /// What people call it.
    pub fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| "the CPU".to_owned(), |engine| engine.name())
    }

    /// Why a model with these options runs on this processor all the same, if it does.
    pub fn refuses(&self, weights: &Weights, options: &ModelConfig) -> Option<String> {
        self.0.as_ref()?.refuses(weights, options)
    }

    /// The engine that runs such a model, if it is not this processor.
    pub(super) fn engine(&self, weights: &Weights, options: &ModelConfig) -> Option<&dyn Engine> {
        let engine = self.0.as_deref()?;
        engine.refuses(weights, options).is_none().then_some(engine)
    }
}
