//! A run's folder: what it has found so far, and who does which part of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stepwell::config::ModelConfig;

use crate::baselines::Baseline;
use crate::basis::Basis;
use crate::error::{Error, Result};
use crate::outcome::{FoldOutcome, Times};
use crate::protocol::{Unit, UnitKey};
use crate::records::{self, Journal};
use crate::tables::Statistics;

/// Names a model on a dataset.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct CellKey {
    /// The dataset's name.
    pub dataset: String,
    /// "reservoir"; "accurate" where nothing of it is searched, as with that preset; or a baseline's name.
    #[serde(skip_serializing_if = "is_reservoir", default = "reservoir")]
    pub model: String,
    /// The pooling's name.
    pub pool: String,
    /// Blocks of the model; a baseline has none.
    pub blocks: usize,
    /// The protocol's seed.
    #[serde(skip_serializing_if = "is_first", default)]
    pub seed: u64,
}

fn reservoir() -> String {
    "reservoir".into()
}

fn is_reservoir(model: &str) -> bool {
    model == "reservoir"
}

fn is_first(seed: &u64) -> bool {
    *seed == 0
}

impl CellKey {
    /// That of a model with reservoirs.
    pub fn of_model(dataset: &str, model: &ModelConfig, seed: u64) -> Self {
        let pool = model.pool.name().into();
        Self { dataset: dataset.into(), model: reservoir(), pool, blocks: model.blocks, seed }
    }

    /// That of a model that is taken as it is.
    pub fn of_fixed(dataset: &str, model: &ModelConfig, seed: u64) -> Self {
        Self { model: "accurate".into(), ..Self::of_model(dataset, model, seed) }
    }

    /// That of a baseline.
    pub fn of_baseline(dataset: &str, baseline: Baseline, seed: u64) -> Self {
        let (model, pool) = (baseline.name().into(), "none".into());
        Self { dataset: dataset.into(), model, pool, blocks: 0, seed }
    }

    /// Whether it is a model, and not a baseline.
    pub fn is_model(&self) -> bool {
        self.blocks > 0
    }

    /// Whether it is a model with reservoirs whose settings were searched.
    pub fn has_reservoirs(&self) -> bool {
        is_reservoir(&self.model)
    }
}

impl std::fmt::Display for CellKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.has_reservoirs(), self.blocks) {
            (true, blocks) => write!(f, "{} {} L={blocks}", self.dataset, self.pool)?,
            (false, 0) => write!(f, "{} {}", self.dataset, self.model)?,
            (false, blocks) => write!(f, "{} {} {} L={blocks}", self.dataset, self.model, self.pool)?,
        }
        if self.seed == 0 { Ok(()) } else { write!(f, " seed {}", self.seed) }
    }
}

/// A line of a run's records.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// What a cell is made of, before anything is found about it.
    Cell {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Data, splits, model and protocol.
        #[serde(flatten)]
        basis: Basis,
        /// How many units it takes.
        units: usize,
    },
    /// One pass.
    Unit {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// What it found.
        #[serde(flatten)]
        unit: Unit,
    },
    /// The winner of a fold.
    Fold {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Which fold, from 0.
        fold: usize,
        /// What came of it.
        #[serde(flatten)]
        outcome: Box<FoldOutcome>,
    },
    /// How long the winner of a fold took. This and what follows stands in a
    /// file of its own, as no two runs agree on it.
    Time {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Which fold, from 0.
        fold: usize,
        /// How its sweeps were made.
        sweeps: Sweeps,
        /// How long.
        #[serde(flatten)]
        times: Times,
    },
    /// How long it took until passes could begin.
    Made {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// How long.
        #[serde(flatten)]
        making: Making,
    },
    /// What a search took, or the part of it that one process did.
    Search {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// How much.
        #[serde(flatten)]
        effort: Effort,
    },
    /// Sizes of a dataset's graphs, in a file of their own.
    Statistics(Statistics),
    /// A time that belongs to no cell.
    Measured {
        /// What was measured.
        experiment: Experiment,
        /// At which size: vertices, or blocks.
        at: usize,
        /// How long it took, on one thread.
        seconds: f64,
    },
}

/// What is measured beside the cells.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Embedding a grid of so many vertices.
    Vertices,
    /// Embedding a dataset with so many blocks, the sum of their units being the same.
    Blocks,
}

/// How the fixed points were found when a time was taken.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sweeps {
    /// As the model does it.
    Own,
    /// As in the paper: all vertices at once, each of them computed.
    Plain,
}

/// What precedes the passes, on one thread, in seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Making {
    /// Pooling all graphs.
    pub coarsen_seconds: f64,
    /// Making the levels ready.
    pub prepare_seconds: f64,
}

/// What a search took.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Effort {
    /// Units that were done.
    pub passes: usize,
    /// Seconds from first to last.
    pub seconds: f64,
    /// Seconds of that in which graphs were embedded.
    pub embedding_seconds: f64,
    /// The most memory the process held until then, where the system tells.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peak_memory_bytes: Option<u64>,
}

/// All that a run knows of one cell.
#[derive(Clone, Debug, Default)]
pub struct CellState {
    /// Data, splits, model and protocol.
    pub basis: Basis,
    /// How many units there are to do; of a fixed model, folds.
    pub all_units: usize,
    /// Units that are done, by key.
    pub units: BTreeMap<UnitKey, Unit>,
    /// Folds whose winner was judged.
    pub folds: BTreeMap<usize, FoldOutcome>,
    /// Times of the winners.
    pub times: BTreeMap<(Sweeps, usize), Times>,
    /// What preceded the passes.
    pub making: Option<Making>,
    /// What the search took, all parts together.
    pub effort: Effort,
}

impl CellState {
    /// How many of them are done.
    pub fn done(&self) -> usize {
        if self.units.is_empty() { self.folds.len() } else { self.units.len() }
    }

    /// Whether every fold has been judged.
    pub fn is_done(&self) -> bool {
        match self.units.values().next() {
            Some(unit) => self.units.len() == self.all_units && self.folds.len() == unit.test.len(),
            None => self.all_units > 0 && self.folds.len() == self.all_units,
        }
    }
}

/// All that a run knows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Models on datasets.
    pub cells: BTreeMap<CellKey, CellState>,
    /// Sizes of graphs.
    pub statistics: Vec<Statistics>,
    /// Times of experiments, by size; of several the last.
    pub measured: BTreeMap<(Experiment, usize), f64>,
}

/// Where records are kept, and this process' share of the work.
#[derive(Clone, Debug)]
pub struct Run {
    /// The run's folder; without one nothing is kept.
    pub folder: Option<PathBuf>,
    /// This process does every unit whose number leaves the first when divided
    /// by the second.
    pub shard: (usize, usize),
}

impl Default for Run {
    fn default() -> Self {
        Self { folder: None, shard: (0, 1) }
    }
}

impl Run {
    /// What a folder holds.
    pub fn read(folder: &Path) -> Result<Known> {
        let Known { mut cells, mut statistics, mut measured } = Known::default();
        for record in records::read(&folder.join("records"))? {
            match record {
                Record::Cell { cell, basis, units } => {
                    let state = cells.entry(cell).or_default();
                    (state.basis, state.all_units) = (basis, units);
                }
                Record::Unit { cell, unit } => {
                    cells.entry(cell).or_default().units.insert(unit.key, unit);
                }
                Record::Fold { cell, fold, outcome } => {
                    cells.entry(cell).or_default().folds.insert(fold, *outcome);
                }
                Record::Time { cell, fold, sweeps, times } => {
                    cells.entry(cell).or_default().times.insert((sweeps, fold), times);
                }
                Record::Made { cell, making } => cells.entry(cell).or_default().making = Some(making),
                Record::Search { cell, effort } => {
                    let all = &mut cells.entry(cell).or_default().effort;
                    all.passes += effort.passes;
                    all.seconds += effort.seconds;
                    all.embedding_seconds += effort.embedding_seconds;
                    all.peak_memory_bytes = all.peak_memory_bytes.max(effort.peak_memory_bytes);
                }
                Record::Statistics(found) => statistics.push(found),
                Record::Measured { experiment, at, seconds } => {
                    measured.insert((experiment, at), seconds);
                }
            }
        }
        Ok(Known { cells, statistics, measured })
    }

    /// What is known of one cell, which must have begun with the same data and options.
    pub(crate) fn state(&self, key: &CellKey, basis: &Basis) -> Result<CellState> {
        let Some(folder) = &self.folder else { return Ok(CellState::default()) };
        let state = Self::read(folder)?.cells.remove(key).unwrap_or_default();
        if !state.basis.is_new() && state.basis.fingerprint != basis.fingerprint {
            let what = format!("{key}: {}", state.basis.difference(basis));
            return Err(Error::Changed { path: folder.clone(), what });
        }
        Ok(state)
    }

    /// Whether this process does a unit.
    pub(crate) fn does(&self, index: usize) -> bool {
        let (this, of) = self.shard;
        index % of.max(1) == this
    }

    /// The file this process writes what it finds to.
    pub(crate) fn journal(&self) -> Result<Option<Journal>> {
        let (this, of) = self.shard;
        self.open(if of == 1 { "run.jsonl".to_owned() } else { format!("run-{this}-of-{of}.jsonl") })
    }

    /// The file for what it took.
    pub(crate) fn clock_journal(&self) -> Result<Option<Journal>> {
        let (this, of) = self.shard;
        self.open(if of == 1 { "times.jsonl".to_owned() } else { format!("times-{this}-of-{of}.jsonl") })
    }

    /// Adds sizes of graphs.
    pub fn write_statistics(&self, statistics: Statistics) -> Result<()> {
        match self.open("statistics.jsonl".into())? {
            Some(mut journal) => journal.write(&Record::Statistics(statistics)),
            None => Ok(()),
        }
    }

    /// Adds the time of an experiment.
    pub fn write_measured(&self, experiment: Experiment, at: usize, seconds: f64) -> Result<()> {
        match self.clock_journal()? {
            Some(mut journal) => journal.write(&Record::Measured { experiment, at, seconds }),
            None => Ok(()),
        }
    }

    fn open(&self, name: String) -> Result<Option<Journal>> {
        let path = self.folder.as_ref().map(|folder| folder.join("records").join(name));
        path.map(|path| Journal::open(&path)).transpose()
    }
}
