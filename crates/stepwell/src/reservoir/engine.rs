//! Engines: states are computed on this processor, or on a device that another crate provides.
//!
//! Everything before the sweeps (features, pooling, lifting, colours) and after them (readouts) is
//! the same for all engines. An [`Engine`] takes [prepared](Prepared) graphs and [`Weights`], and
//! returns vectors and [`Run`]s. It reads the graphs through their [pieces](Prepared::pieces).

use std::fmt;
use std::sync::Arc;

use ndarray::Array2;

use super::prepared::Prepared;
use super::solver::Run;
use super::weights::Weights;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::pool::Progress;

/// The graphs to embed, and the model to embed them with.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The matrices of the model.
    pub weights: &'a Weights,
    /// The graphs.
    pub prepared: &'a Prepared,
    /// The options of both.
    pub options: &'a ModelConfig,
    /// The graphs, or vertices, to embed, in ascending order; all by default.
    pub rows: Option<&'a [usize]>,
}

/// One vector per graph or vertex, and one [`Run`] per graph and reservoir.
pub type Embedded = (Array2<f64>, Array2<Run>);

/// Something that computes states.
pub trait Engine: fmt::Debug + Send + Sync {
    /// The name for messages such as "computed on ...".
    fn name(&self) -> String;

    /// Why it cannot run a model with these options, if so. The processor then runs it.
    fn refuses(&self, weights: &Weights, options: &ModelConfig) -> Option<String>;

    /// Embeds graphs of a model that it does not refuse.
    fn embed(&self, work: Work<'_>, progress: Progress<'_>) -> Result<Embedded>;

    /// Inner products of rows with landmarks, each of `width` numbers and stored by row: rows x
    /// landmarks, as exact as f32 allows. `None` means that this processor computes them; it
    /// must depend on the landmarks alone, so that the bits of a row do not depend on the other rows.
    fn products(&self, rows: &[f32], landmarks: &[f32], width: usize) -> Option<Result<Vec<f32>>> {
        let _ = (rows, landmarks, width);
        None
    }
}

/// The device of a model: this processor by default. It is not part of a model's identity: all
/// devices compare as equal, and files do not store one.
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

    /// The name for messages.
    pub fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| "the CPU".to_owned(), |engine| engine.name())
    }

    /// Why a model with these options runs on this processor instead, if it does.
    pub fn refuses(&self, weights: &Weights, options: &ModelConfig) -> Option<String> {
        self.0.as_ref()?.refuses(weights, options)
    }

    /// The engine for such a model, unless it is this processor.
    pub(super) fn engine(&self, weights: &Weights, options: &ModelConfig) -> Option<&dyn Engine> {
        let engine = self.0.as_deref()?;
        engine.refuses(weights, options).is_none().then_some(engine)
    }

    /// Inner products of rows with landmarks, unless this processor computes them: see [`Engine::products`].
    pub fn products(&self, rows: &[f32], landmarks: &[f32], width: usize) -> Option<Result<Vec<f32>>> {
        self.0.as_ref()?.products(rows, landmarks, width)
    }
}
