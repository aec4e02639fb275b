//! A run's folder: what it has found so far, and who does which part of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stepwell::config::{Metric, ModelConfig};

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::metrics::Quality;
use crate::paper::{PaperMeasurements, PaperRecord};
use crate::predictions::Predictions;
use crate::protocol::{Unit, UnitKey};
use crate::records::{self, Journal};
use crate::subject::Subject;

/// Names a model on a dataset.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct CellKey {
    /// The dataset's name.
    pub dataset: String,
    /// The preset's name, or a baseline's; "reservoir" for the preset `paper` with a search.
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
    /// That of a subject on a dataset.
    pub fn new(dataset: &str, subject: &Subject, seed: u64) -> Self {
        let (model, pool, blocks) = match subject {
            Subject::Model(name, config) => (name.clone(), config.pool.name(), config.blocks),
            Subject::Baseline(baseline) => (baseline.name().into(), "none", 0),
        };
        Self { dataset: dataset.into(), model, pool: pool.into(), blocks, seed }
    }

    /// Whether it is a model, and not a baseline.
    pub fn is_model(&self) -> bool {
        self.blocks > 0
    }

    /// Whether it is the paper's model, with a search.
    pub fn is_papers(&self) -> bool {
        is_reservoir(&self.model)
    }

    /// The subject, without the dataset.
    pub fn subject(&self) -> String {
        match (self.is_papers(), self.blocks) {
            (true, blocks) => format!("{}, {blocks} blocks", self.pool),
            (false, 0) => self.model.clone(),
            (false, blocks) => format!("{}, {}, {blocks} blocks", self.model, self.pool),
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

/// How good the model of a fold is on its test graphs, a mean over initialisations.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FoldResult {
    /// The settings that were searched, and the rest of the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub config: Option<ModelConfig>,
    /// The setting of a baseline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setting: Option<String>,
    /// The penalty that was chosen, for the first initialisation.
    pub alpha: f64,
    /// What it was chosen by on the validation graphs: the metric, negative where less is
    /// better, with minus the mean squared error in place of RMSE; nothing where nothing
    /// was searched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<f64>,
    /// How good it is: the mean over draws of the weights.
    #[serde(flatten)]
    pub quality: Quality,
    /// The standard deviation over draws, where there are several.
    #[serde(skip_serializing_if = "Quality::is_empty", default)]
    pub std: Quality,
}

/// Seconds of training and testing the model of a fold once, on one thread.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Times {
    /// Embedding the graphs to train on, and training the readout.
    pub train_seconds: f64,
    /// Embedding the test graphs, and predicting.
    pub test_seconds: f64,
}

/// A line of a run's records.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// What a cell is made of, before its first result.
    Cell {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Data, splits, model and protocol.
        #[serde(flatten)]
        fingerprint: Fingerprint,
        /// How many units it takes.
        units: usize,
        /// What its results are told by; old records do not say.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        metric: Option<Metric>,
        /// What its targets are called, where there are several.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        targets: Vec<String>,
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
        /// How good it is.
        #[serde(flatten)]
        result: Box<FoldResult>,
    },
    /// What the model of a fold said of its test graphs, in a file of its own.
    Predictions {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Which fold, from 0.
        fold: usize,
        /// What it said, with the first draw of its weights.
        #[serde(flatten)]
        said: Box<Predictions>,
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
    /// What the paper's tables need beside the cells.
    #[serde(untagged)]
    Paper(PaperRecord),
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
    pub fingerprint: Fingerprint,
    /// How many units there are to do; where nothing is searched, folds.
    pub all_units: usize,
    /// What its results are told by, if its records say so.
    pub metric: Option<Metric>,
    /// What its targets are called, where there are several.
    pub targets: Vec<String>,
    /// Units that are done, by key.
    pub units: BTreeMap<UnitKey, Unit>,
    /// Folds that are done.
    pub folds: BTreeMap<usize, FoldResult>,
    /// What was said of their test graphs, where that is kept.
    pub predictions: BTreeMap<usize, Predictions>,
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

    /// What its results are told by: what its records say or, where they do not, the first of
    /// accuracy and mean absolute error that its folds have.
    pub fn headline(&self) -> Metric {
        let has = |metric: &Metric| self.folds.values().any(|fold| fold.quality.get(*metric).is_some());
        self.metric.or_else(|| [Metric::Accuracy, Metric::Mae].into_iter().find(has)).unwrap_or_default()
    }

    /// Whether configurations were searched.
    pub fn is_searched(&self) -> bool {
        !self.units.is_empty()
    }

    /// Whether every fold is done.
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
    /// What was measured for the paper's tables.
    pub paper: PaperMeasurements,
}

/// Where records are kept, and this process' share of the work.
#[derive(Clone, Debug)]
pub struct Run {
    /// The run's folder; without one nothing is kept.
    pub folder: Option<PathBuf>,
    /// This process does every unit whose number leaves the first when divided
    /// by the second.
    pub shard: (usize, usize),
    /// Whether what models say of test graphs is kept, for pictures.
    pub keeps_predictions: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self { folder: None, shard: (0, 1), keeps_predictions: false }
    }
}

impl Run {
    /// What a folder holds.
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
                    all.passes += effort.passes;
                    all.seconds += effort.seconds;
                    all.embedding_seconds += effort.embedding_seconds;
                    all.peak_memory_bytes = all.peak_memory_bytes.max(effort.peak_memory_bytes);
                }
                Record::Paper(record) => paper.add(record),
            }
        }
        Ok(Known { cells, paper })
    }

    /// What is known of one cell, which must have begun with the same data and options.
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

    /// The file this process writes its results to.
    pub(crate) fn journal(&self) -> Result<Option<Journal>> {
        self.open_share("run")
    }

    /// The file for how long things took, on which no two runs agree.
    pub(crate) fn clock_journal(&self) -> Result<Option<Journal>> {
        self.open_share("times")
    }

    /// The file for what models say of test graphs.
    pub(crate) fn predictions_journal(&self) -> Result<Option<Journal>> {
        if self.keeps_predictions { self.open_share("predictions") } else { Ok(None) }
    }

    fn open_share(&self, name: &str) -> Result<Option<Journal>> {
        let (this, of) = self.shard;
        self.open(if of == 1 { format!("{name}.jsonl") } else { format!("{name}-{this}-of-{of}.jsonl") })
    }

    /// Adds what was measured for the paper's tables.
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
