//! A run's folder: the results so far, and which process computes which part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepwell::config::{Metric, ModelConfig};
use stepwell_data::counted;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::metrics::Quality;
use crate::paper::{PaperMeasurements, PaperRecord};
use crate::predictions::Predictions;
use crate::protocol::{Unit, UnitKey};
use crate::records::{self, Journal};
use crate::subject::Subject;

/// Identifies a model on a dataset.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct CellKey {
    /// The dataset's name.
    pub dataset: String,
    /// The name of the preset or baseline; "reservoir" for the preset `paper` with a
    /// search.
    #[serde(skip_serializing_if = "is_reservoir", default = "reservoir")]
    pub model: String,
    /// The pooling's name.
    pub pool: String,
    /// Number of blocks of the model; 0 for a baseline.
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
    /// The key of a subject on a dataset.
    pub fn new(dataset: &str, subject: &Subject, seed: u64) -> Self {
        let (model, pool, blocks) = match subject {
            Subject::Model(name, config) => (name.clone(), config.pool.name(), config.blocks),
            Subject::Baseline(baseline) => (baseline.name().into(), "none", 0),
        };
        Self { dataset: dataset.into(), model, pool: pool.into(), blocks, seed }
    }

    /// Whether it is a model and not a baseline.
    pub fn is_model(&self) -> bool {
        self.blocks > 0
    }

    /// Whether it is the paper's model, with a search.
    pub fn is_papers(&self) -> bool {
        is_reservoir(&self.model)
    }

    /// The subject without the dataset.
    pub fn subject(&self) -> String {
        match (self.is_papers(), self.blocks) {
            (true, blocks) => format!("{}, {}", self.pool, counted(blocks, "block")),
            (false, 0) => self.model.clone(),
            (false, blocks) => format!("{}, {}, {}", self.model, self.pool, counted(blocks, "block")),
        }
    }
}

impl std::fmt::Display for CellKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.is_papers(), self.blocks) {
            (true, blocks) => write!(f, "{} {} L={blocks}", self.dataset, self.pool)?,
            (false, 0) => write!(f, "{} {}", self.dataset, self.model)?,
            (false, blocks) => write!(f, "{} {} {} L={blocks}", self.dataset, self.model, self.pool)?,
        }
        if self.seed == 0 { Ok(()) } else { write!(f, " seed {}", self.seed) }
    }
}

/// The score of a fold's model on its test graphs, a mean over initialisations.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FoldResult {
    /// The searched options and the rest of the configuration.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub config: Option<ModelConfig>,
    /// The setting of a baseline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setting: Option<String>,
    /// The options that leave-one-out compared on the training graphs, and the values it chose. They
    /// do not depend on the draw of the weights. Old records have none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub chosen: BTreeMap<String, Value>,
    /// The chosen penalty, for the first initialisation.
    pub alpha: f64,
    /// The validation score it was chosen by: the metric, negated if less is better,
    /// with minus the mean squared error instead of RMSE. `None` without a search.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<f64>,
    /// Share of the fold's graphs that converged in all blocks, over all draws of the weights. `None`
    /// for baselines, if the number of sweeps is fixed, and in old records.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub converged: Option<f64>,
    /// The scores: means over draws of the weights.
    #[serde(flatten)]
    pub quality: Quality,
    /// The standard deviation over draws, if there are several.
    #[serde(skip_serializing_if = "Quality::is_empty", default)]
    pub std: Quality,
}

/// Seconds of training and testing a fold's model once, on one thread.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Times {
    /// Embedding the training graphs, and training the readout.
    pub train_seconds: f64,
    /// Embedding the test graphs, and predicting.
    pub test_seconds: f64,
}

/// A line of a run's records.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// Describes a cell, before its first result.
    Cell {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Data, splits, model and protocol.
        #[serde(flatten)]
        fingerprint: Fingerprint,
        /// Number of units.
        units: usize,
        /// The headline metric. Old records have none.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        metric: Option<Metric>,
        /// The names of the targets, if there are several.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        targets: Vec<String>,
    },
    /// One pass of a search.
    Unit {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// The result.
        #[serde(flatten)]
        unit: Unit,
    },
    /// The winner of a fold.
    Fold {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// The fold, from 0.
        fold: usize,
        /// The result.
        #[serde(flatten)]
        result: Box<FoldResult>,
    },
    /// A fold's predictions for its test graphs, stored in a separate file.
    Predictions {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// The fold, from 0.
        fold: usize,
        /// The predictions, with the first draw of the weights.
        #[serde(flatten)]
        said: Box<Predictions>,
    },
    /// The times of a fold's winner. This record, `Made` and `Search` go to a separate
    /// file, because no two runs agree on times.
    Time {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// The fold, from 0.
        fold: usize,
        /// The kind of sweeps.
        sweeps: Sweeps,
        /// The times.
        #[serde(flatten)]
        times: Times,
    },
    /// The time before the first pass.
    Made {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// The times.
        #[serde(flatten)]
        making: Making,
    },
    /// The cost of a search, or of the part that one process did.
    Search {
        /// The cell.
        #[serde(flatten)]
        cell: CellKey,
        /// The cost.
        #[serde(flatten)]
        effort: Effort,
    },
    /// Measurements for the paper's tables outside the cells.
    #[serde(untagged)]
    Paper(PaperRecord),
}

/// The kind of sweeps that a time was measured with.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sweeps {
    /// The model's own sweeps.
    Own,
    /// The paper's sweeps: all vertices at once, each of them computed.
    Plain,
}

/// Seconds of the steps before the passes, on one thread.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Making {
    /// Pooling all graphs.
    pub coarsen_seconds: f64,
    /// Preparing the levels.
    pub prepare_seconds: f64,
}

/// The cost of a search.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Effort {
    /// Number of finished units.
    pub passes: usize,
    /// Seconds from first to last.
    pub seconds: f64,
    /// Seconds of embedding.
    pub embedding_seconds: f64,
    /// The peak memory of the process so far, if the system reports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peak_memory_bytes: Option<u64>,
}

/// All records of one cell.
#[derive(Clone, Debug, Default)]
pub struct CellState {
    /// Data, splits, model and protocol.
    pub fingerprint: Fingerprint,
    /// Number of units to do; without a search, of folds.
    pub all_units: usize,
    /// The headline metric, if the records have it.
    pub metric: Option<Metric>,
    /// The names of the targets, if there are several.
    pub targets: Vec<String>,
    /// Finished units, by key.
    pub units: BTreeMap<UnitKey, Unit>,
    /// Finished folds.
    pub folds: BTreeMap<usize, FoldResult>,
    /// Predictions for their test graphs, if kept.
    pub predictions: BTreeMap<usize, Predictions>,
    /// Times of the winners.
    pub times: BTreeMap<(Sweeps, usize), Times>,
    /// The time before the passes.
    pub making: Option<Making>,
    /// The cost of the search, all parts together.
    pub effort: Effort,
}

impl CellState {
    /// Number of finished units or folds.
    pub fn done(&self) -> usize {
        if self.units.is_empty() { self.folds.len() } else { self.units.len() }
    }

    /// The headline metric: from the records or, if they have none, the first of
    /// accuracy and mean absolute error that the folds have.
    pub fn headline(&self) -> Metric {
        let has = |metric: &Metric| self.folds.values().any(|fold| fold.quality.get(*metric).is_some());
        self.metric.or_else(|| [Metric::Accuracy, Metric::Mae].into_iter().find(has)).unwrap_or_default()
    }

    /// Whether hyperparameters were searched.
    pub fn is_searched(&self) -> bool {
        !self.units.is_empty()
    }

    /// Whether every fold is finished.
    pub fn is_done(&self) -> bool {
        match self.units.values().next() {
            Some(unit) => self.units.len() == self.all_units && self.folds.len() == unit.test.len(),
            None => self.all_units > 0 && self.folds.len() == self.all_units,
        }
    }
}

/// All records of a run.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Models on datasets.
    pub cells: BTreeMap<CellKey, CellState>,
    /// Measurements for the paper's tables.
    pub paper: PaperMeasurements,
}

/// Where a run keeps its records, and this process's share of the work.
#[derive(Clone, Debug)]
pub struct Run {
    /// The run's folder. `None` keeps nothing.
    pub folder: Option<PathBuf>,
    /// Shard `(i, n)`: this process does every unit whose number modulo `n` is `i`.
    pub shard: (usize, usize),
    /// Whether predictions for test graphs are kept, for pictures.
    pub keeps_predictions: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self { folder: None, shard: (0, 1), keeps_predictions: false }
    }
}

impl Run {
    /// Reads the records of a folder.
    pub fn read(folder: &Path) -> Result<Known> {
        let Known { mut cells, mut paper } = Known::default();
        for record in records::read(&folder.join("records"))? {
            match record {
                Record::Cell { cell, fingerprint, units, metric, targets } => {
                    let state = cells.entry(cell).or_default();
                    (state.fingerprint, state.all_units) = (fingerprint, units);
                    (state.metric, state.targets) = (metric, targets);
                }
                Record::Unit { cell, unit } => {
                    cells.entry(cell).or_default().units.insert(unit.key, unit);
                }
                Record::Fold { cell, fold, result } => {
                    cells.entry(cell).or_default().folds.insert(fold, *result);
                }
                Record::Predictions { cell, fold, said } => {
                    cells.entry(cell).or_default().predictions.insert(fold, *said);
                }
                Record::Time { cell, fold, sweeps, times } => {
                    cells.entry(cell).or_default().times.insert((sweeps, fold), times);
                }
                Record::Made { cell, making } => cells.entry(cell).or_default().making = Some(making),
                Record::Search { cell, effort } => {
                    let all = &mut cells.entry(cell).or_default().effort;
                    all.passes = all.passes.saturating_add(effort.passes);
                    all.seconds += effort.seconds;
                    all.embedding_seconds += effort.embedding_seconds;
                    all.peak_memory_bytes = all.peak_memory_bytes.max(effort.peak_memory_bytes);
                }
                Record::Paper(record) => paper.add(record),
            }
        }
        Ok(Known { cells, paper })
    }

    /// The records of one cell. Fails if the cell was started with other data or
    /// options.
    pub(crate) fn state(&self, key: &CellKey, now: &Fingerprint) -> Result<CellState> {
        let Some(folder) = &self.folder else { return Ok(CellState::default()) };
        let Some(state) = Self::read(folder)?.cells.remove(key) else { return Ok(CellState::default()) };
        let before = &state.fingerprint;
        if !before.checksum.is_empty() && before.checksum != now.checksum {
            let (cell, what) = (key.to_string(), before.difference(now));
            return Err(Error::Changed { path: folder.clone(), cell, what });
        }
        Ok(state)
    }

    /// Whether this process does a unit.
    pub(crate) fn does(&self, index: usize) -> bool {
        let (this, of) = self.shard;
        index % of.max(1) == this
    }

    /// The file for this process's results.
    pub(crate) fn journal(&self) -> Result<Option<Journal>> {
        self.open_share("run")
    }

    /// The separate file for times, on which no two runs agree.
    pub(crate) fn clock_journal(&self) -> Result<Option<Journal>> {
        self.open_share("times")
    }

    /// The separate file for predictions.
    pub(crate) fn predictions_journal(&self) -> Result<Option<Journal>> {
        if self.keeps_predictions { self.open_share("predictions") } else { Ok(None) }
    }

    fn open_share(&self, name: &str) -> Result<Option<Journal>> {
        let (this, of) = self.shard;
        self.open(if of == 1 { format!("{name}.jsonl") } else { format!("{name}-{this}-of-{of}.jsonl") })
    }

    /// Appends a measurement for the paper's tables.
    pub fn write_measurement(&self, record: PaperRecord) -> Result<()> {
        let journal = match record {
            PaperRecord::Statistics(_) => self.open("statistics.jsonl".into())?,
            PaperRecord::Measured { .. } => self.clock_journal()?,
        };
        journal.map_or(Ok(()), |mut journal| journal.write(&Record::Paper(record)))
    }

    fn open(&self, name: String) -> Result<Option<Journal>> {
        let path = self.folder.as_ref().map(|folder| folder.join("records").join(name));
        path.map(|path| Journal::open(&path)).transpose()
    }
}
