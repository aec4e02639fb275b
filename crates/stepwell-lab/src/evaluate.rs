//! Evaluates one subject on one dataset, in every fold.
//!
//! Each fold trains a model the way `stepwell train` would: features, weights and readout come from
//! its training graphs only, never from its test graphs.
//!
//! With a hyperparameter search, the work is first done in units. A unit is a configuration with
//! one draw of its weights: it is embedded once, with features fitted on all graphs (without
//! labels), and evaluated in every fold with every penalty. A unit is recorded before the next one
//! starts, so that an interrupted run can be resumed. When all units are finished, the winner of
//! each fold is trained and tested like any other model.

mod fold;
mod search;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::json;
use stepwell::config::{Level, Metric};
use stepwell::pyramid::Pyramid;
use stepwell::readout::ClassWeight;
use stepwell::reservoir::Device;
use stepwell::targets::Encoded;
use stepwell_data::Dataset;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::protocol::Protocol;
use crate::readouts::{Design, Readouts, Shown};
use crate::records::Journal;
use crate::run::{CellKey, CellState, FoldResult, Making, Record, Run, Sweeps, Times};
use crate::splits::Fold;
use crate::subject::{Drawn, Ready, Subject};
use crate::targets;

/// A subject on a dataset.
pub struct Evaluation<'a> {
    pub(crate) dataset: &'a Dataset,
    subject: &'a Subject,
    key: CellKey,
    protocol: Protocol,
    targets: Encoded,
    metric: Metric,
    folds: Vec<Fold>,
    fingerprint: Fingerprint,
    pub(crate) inputs: Inputs<'a>,
    pub(crate) sweeps: Sweeps,
    device: Device,
}

/// The source of the graphs' inputs.
pub(crate) enum Inputs<'a> {
    /// Nothing is prepared yet.
    Missing,
    /// From a feature map of all graphs: one pass serves all folds.
    Shared(Ready<'a>),
    /// From a feature map of each fold's training graphs; with the pyramid of all graphs.
    PerFold(Cow<'a, Pyramid>),
}

/// A fold's result, and its times if they were measured.
pub type TimedFold = (FoldResult, Option<Times>);

/// A progress report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Units done, of `units`.
    pub done: usize,
    /// All units.
    pub units: usize,
}

impl<'a> Evaluation<'a> {
    /// Creates the evaluation of a subject on a dataset. Folds are drawn with the protocol's seed,
    /// unless given. Results of earlier runs can be read immediately; to compute missing ones,
    /// [prepare](Self::prepare) the graphs.
    pub fn new(
        dataset: &'a Dataset,
        subject: &'a Subject,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
    ) -> Result<Self> {
        let protocol = subject.protocol(protocol);
        let level = subject.config().level;
        let targets = targets::of(dataset, level)?;
        let metric = targets::headline(protocol.metric, &targets)?;
        let folds = protocol.split(&targets, targets::groups(dataset, level).as_deref(), folds)?;
        let key = CellKey::new(&dataset.name, subject, protocol.seed);
        let fingerprint = match subject {
            Subject::Baseline(baseline) => {
                Fingerprint::new(dataset, &baseline.config(), &folds, (baseline.settings(), &protocol))
            }
            Subject::Model(_, config) if protocol.searches() => {
                Fingerprint::new(dataset, config, &folds, (config, &protocol))
            }
            // The rest of the protocol has no effect.
            Subject::Model(_, config) => {
                let Protocol { initialisations, seed, on_validation, .. } = protocol;
                let used = json!({ "initialisations": initialisations, "seed": seed, "on_validation": on_validation });
                Fingerprint::new(dataset, config, &folds, (config, used))
            }
        };
        let (inputs, sweeps, device) = (Inputs::Missing, Sweeps::Own, Device::processor());
        Ok(Self {
            dataset,
            subject,
            key,
            protocol,
            targets,
            metric,
            folds,
            fingerprint,
            inputs,
            sweeps,
            device,
        })
    }

    /// Computes vectors on another device. Records do not mention the device.
    pub fn on(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// Prepares all graphs, with their pyramid.
    pub fn prepare(&mut self, pyramid: impl Into<Cow<'a, Pyramid>>) -> Result<()> {
        self.inputs = if self.protocol.searches() {
            Inputs::Shared(Ready::new(self.dataset, self.subject, pyramid.into(), None)?)
        } else {
            Inputs::PerFold(pyramid.into())
        };
        Ok(())
    }

    /// The key of this cell.
    pub fn key(&self) -> &CellKey {
        &self.key
    }

    /// The protocol as it applies to the subject.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// The metric that results are reported by.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The names of the targets, if there are several.
    pub fn target_names(&self) -> Vec<String> {
        let count = self.targets.task().num_targets();
        let name =
            |target: usize| self.targets.names().get(target).cloned().unwrap_or_else(|| target.to_string());
        (0..count).filter(|_| count > 1).map(name).collect()
    }

    /// The graphs of every fold.
    pub fn folds(&self) -> &[Fold] {
        &self.folds
    }

    /// The graphs that features are fitted on. Fitting never uses labels.
    pub fn features_fitted_on(&self) -> &'static str {
        match self.subject.config().level {
            _ if self.protocol.searches() => "all graphs, without labels",
            Level::Graph if self.learns_from_validation() => "training and validation graphs of each fold",
            Level::Graph => "training graphs of each fold",
            Level::Vertex if self.learns_from_validation() => {
                "graphs with training or validation vertices of each fold, without labels"
            }
            Level::Vertex => "graphs with training vertices of each fold, without labels",
        }
    }

    /// Whether models are trained on the validation graphs, too.
    fn learns_from_validation(&self) -> bool {
        !self.protocol.on_validation && self.folds.iter().any(|fold| !fold.validation.is_empty())
    }

    /// The records of this cell.
    pub fn state(&self, run: &Run) -> Result<CellState> {
        run.state(&self.key, &self.fingerprint)
    }

    /// Opens the run's records, and describes the cell if this is its first record.
    fn journal(&self, run: &Run, known: &CellState, units: usize) -> Result<Option<Journal>> {
        let mut journal = run.journal()?;
        if let Some(journal) = journal.as_mut().filter(|_| known.fingerprint.checksum.is_empty()) {
            let (cell, fingerprint) = (self.key.clone(), self.fingerprint.clone());
            let (metric, targets) = (Some(self.metric), self.target_names());
            journal.write(&Record::Cell { cell, fingerprint, units, metric, targets })?;
        }
        Ok(journal)
    }

    fn shared(&self) -> Result<&Ready<'a>> {
        match &self.inputs {
            Inputs::Shared(ready) => Ok(ready),
            _ => Err(Error::Unprepared),
        }
    }

    /// Trains on `graphs`, which have the rows `rows` in the design.
    fn train(
        &self,
        drawn: &Drawn<'_>,
        design: &Design,
        rows: &[usize],
        graphs: &[usize],
    ) -> Result<Readouts> {
        let shown = design.of(rows, rows);
        let known = self.targets.select(graphs);
        let (class_weight, standardize) = match (drawn, &shown) {
            (Drawn::Model { model, .. }, Shown::Vectors(vectors)) => {
                let config = &model.config;
                if !self.protocol.searches() || config.landmarks + config.random_features > 0 {
                    let keys: Vec<u64> = match self.vertices() {
                        None => graphs.iter().map(|&graph| self.dataset.graphs.graph(graph).key()).collect(),
                        Some(vertices) => {
                            let all = self.dataset.graphs.vertex_keys();
                            graphs.iter().map(|&row| all[vertices[row]]).collect()
                        }
                    };
                    return Readouts::own((**model).clone(), vectors, &known, &keys);
                }
                (config.class_weight.clone(), config.standardize)
            }
            _ => (ClassWeight::None, false),
        };
        Readouts::searched(shown, &known, &class_weight, standardize, &self.protocol)
    }

    /// Records the cost of preparing this cell.
    pub fn made(&self, run: &Run, making: Making) -> Result<()> {
        match run.clock_journal()? {
            Some(mut journal) => journal.write(&Record::Made { cell: self.key.clone(), making }),
            None => Ok(()),
        }
    }

    /// The vertices that rows belong to; `None` if rows belong to graphs.
    fn vertices(&self) -> Option<&[usize]> {
        let known = self.dataset.vertices.as_ref().map(|all| &all.known.rows[..]);
        known.filter(|_| self.subject.config().level == Level::Vertex)
    }
}

/// Runs work on one thread, so that its time is its cost.
pub fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The peak memory of the process, if the system reports it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}
