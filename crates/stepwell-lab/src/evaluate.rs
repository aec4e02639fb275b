//! One architecture on one dataset, through the whole protocol.
//!
//! Work is done in units: a configuration with one draw of its weights is
//! embedded once and read in every fold with every alpha. What a unit tells is
//! recorded before the next begins, so that a run that was ended goes on where
//! it was. When all units are there, the winner of each fold is run once more
//! for the times and for all measures of quality.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ndarray::Axis;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use stepwell::config::{ModelConfig, Pool};
use stepwell::features::FeatureMap;
use stepwell::pyramid::Pyramid;
use stepwell::readout::decode_classes;
use stepwell::reservoir::{Prepared, Weights, embed_some};
use stepwell_data::{Dataset, cache};

use crate::error::{Error, Result};
use crate::metrics::{ClassMetrics, auroc, mean_absolute_error, r2};
use crate::protocol::{Protocol, Unit, UnitKey, Winner, winners};
use crate::records::{self, Journal};
use crate::search::{AlphaPath, Cell, Targets};
use crate::splits::{self, Fold};

/// Names an architecture on a dataset.
#[derive(Clone, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct CellKey {
    /// The dataset's name.
    pub dataset: String,
    /// The pooling's name.
    pub pool: String,
    /// Blocks of the model.
    pub blocks: usize,
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
        /// Of data, splits, model and protocol.
        fingerprint: String,
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
    /// How long the winner of a fold took; in a file of its own, as no two runs agree on it.
    Time {
        /// Which cell.
        #[serde(flatten)]
        cell: CellKey,
        /// Which fold, from 0.
        fold: usize,
        /// How long.
        #[serde(flatten)]
        times: Times,
    },
}

/// How good the winner of a fold is on its test graphs, a mean over initialisations.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct FoldOutcome {
    /// The settings that were searched, and the rest of the model.
    pub config: ModelConfig,
    /// The penalty that was chosen, for the first initialisation.
    pub alpha: f64,
    /// Share of the validation graphs that were right, or minus their mean squared error.
    pub validation: f64,
    /// Share of the test graphs that are right.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accuracy: Option<f64>,
    /// The mean of that over classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balanced_accuracy: Option<f64>,
    /// The mean F1 over classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub macro_f1: Option<f64>,
    /// Area under the curve; several classes: each against the rest, averaged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub auroc: Option<f64>,
    /// Mean absolute error, where numbers are predicted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mae: Option<f64>,
    /// Share of the variance explained, where numbers are predicted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub r2: Option<f64>,
}

/// Times of one run of a winner on one thread, in seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Times {
    /// Embedding the graphs to learn from, and training the readout.
    pub train_seconds: f64,
    /// Embedding the test graphs, and reading them.
    pub test_seconds: f64,
}

/// A model on a dataset, ready for the protocol.
pub struct Evaluation {
    key: CellKey,
    model: ModelConfig,
    protocol: Protocol,
    prepared: Prepared,
    targets: Targets,
    folds: Vec<Fold>,
    fingerprint: String,
}

/// A message while work goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Units done, of `units`.
    pub done: usize,
    /// All units.
    pub units: usize,
}

impl Evaluation {
    /// Takes a dataset with its pyramid. Folds are drawn from the protocol's
    /// seed, unless given. The map to the inputs is fitted on all graphs, which
    /// needs no labels.
    pub fn new(
        dataset: &Dataset,
        pyramid: &Pyramid,
        model: ModelConfig,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
    ) -> Result<Self> {
        protocol.validate()?;
        let targets = match dataset.targets.classes() {
            Some((classes, names)) => Targets::Classes(classes, names),
            None => match &dataset.targets {
                stepwell_data::Targets::Real(values) => Targets::Values(values.clone()),
                _ => {
                    let (expected, found) = ("a target for every graph".into(), "none".into());
                    return Err(Error::BadOption { name: "dataset", expected, found });
                }
            },
        };
        let folds = match folds {
            Some(folds) => folds,
            None => splits::stratified(&targets.strata(), protocol.folds, protocol.held_out, protocol.seed)?,
        };
        let map = FeatureMap::fit(&dataset.graphs, &model.features(&dataset.features))?;
        let inputs = map.apply(&dataset.graphs)?;
        let prepared = Prepared::with_pyramid(&dataset.graphs, &inputs, pyramid, &model)?;
        let pool = model.pooling().map_or("none", |pooling| pooling.name());
        let key = CellKey { dataset: dataset.name.clone(), pool: pool.into(), blocks: model.blocks };
        let fingerprint = fingerprint(dataset, &model, &protocol, &folds);
        Ok(Self { key, model, protocol, prepared, targets, folds, fingerprint })
    }

    /// Which cell this is.
    pub fn key(&self) -> &CellKey {
        &self.key
    }

    fn cell(&self) -> Cell<'_> {
        Cell { model: &self.model, prepared: &self.prepared, targets: &self.targets, folds: &self.folds }
    }

    /// Does what is missing of this process' share of the units, and answers
    /// with all that are there.
    pub fn search(
        &self,
        run: &Run,
        mut progress: impl FnMut(Progress, &[Unit]) -> ControlFlow<()>,
    ) -> Result<Vec<Unit>> {
        let mut units = run.units(&self.key, &self.fingerprint)?;
        let all = self.protocol.configurations * self.protocol.initialisations;
        let known: std::collections::HashSet<UnitKey> = units.iter().map(|unit| unit.key).collect();
        let mut journal = None;
        for (index, key) in self.protocol.units().enumerate() {
            if known.contains(&key) || index % run.shard.1 != run.shard.0 {
                continue;
            }
            if progress(Progress { done: units.len(), units: all }, &units).is_break() {
                return Err(stepwell::Error::Cancelled.into());
            }
            let unit = self.cell().unit(&self.protocol, key, |_| ControlFlow::Continue(()))?;
            if journal.is_none() {
                journal = run.journal(&self.key, &self.fingerprint, all)?;
            }
            if let Some(journal) = &mut journal {
                journal.write(&Record::Unit { cell: self.key.clone(), unit: unit.clone() })?;
            }
            units.push(unit);
        }
        let _ = progress(Progress { done: units.len(), units: all }, &units);
        Ok(units)
    }

    /// Runs the winner of every fold, or reads what an earlier run found; nothing
    /// until all units are there.
    pub fn finish(&self, run: &Run, units: &[Unit]) -> Result<Option<Vec<(FoldOutcome, Times)>>> {
        let Some(winners) = winners(&self.protocol, units) else { return Ok(None) };
        let mut found = Vec::new();
        let (mut journal, mut times) = (None, None);
        for (fold, winner) in winners.iter().enumerate() {
            if let Some(known) = run.fold(&self.key, fold)? {
                found.push(known);
                continue;
            }
            let (outcome, seconds) = self.run_winner(fold, winner)?;
            if run.folder.is_some() {
                if journal.is_none() {
                    journal = run.journal(&self.key, &self.fingerprint, units.len())?;
                    times = run.open("times.jsonl")?;
                }
                if let (Some(journal), Some(times)) = (&mut journal, &mut times) {
                    // Times first: a fold is done when its outcome is there.
                    times.write(&Record::Time { cell: self.key.clone(), fold, times: seconds })?;
                    let (cell, outcome) = (self.key.clone(), Box::new(outcome.clone()));
                    journal.write(&Record::Fold { cell, fold, outcome })?;
                }
            }
            found.push((outcome, seconds));
        }
        Ok(Some(found))
    }

    fn run_winner(&self, fold: usize, winner: &Winner) -> Result<(FoldOutcome, Times)> {
        let Fold { validation, test, .. } = &self.folds[fold];
        let learnt = self.folds[fold].learnt();
        let mut judged = test.clone();
        judged.sort_unstable();
        let mut alpha = None;
        let y = self.targets.encoded()?;
        let mut outcomes = Vec::new();
        let mut times = Times::default();
        for initialisation in 0..self.protocol.initialisations {
            let config = self.protocol.configure(&self.model, winner.configuration, initialisation);
            let weights = Weights::random(&config, self.prepared.features())?;
            let on_one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build();
            let go = |graphs: &[usize]| {
                let work = || {
                    embed_some(&weights, &self.prepared, &config, Some(graphs), |_| ControlFlow::Continue(()))
                };
                match &on_one_thread {
                    Ok(pool) if initialisation == 0 => pool.install(work),
                    _ => work(),
                }
            };
            let clock = Instant::now();
            let vectors = go(&learnt)?.vectors;
            let path = AlphaPath::new(vectors, y.select(Axis(0), &learnt), &self.protocol)?;
            let coefficients = path.solve(winner.alpha)?;
            alpha.get_or_insert(path.alphas[winner.alpha]);
            let trained = clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            let decisions = go(&judged)?.vectors.dot(&coefficients.weights) + &coefficients.intercept;
            if initialisation == 0 {
                times = Times { train_seconds: trained, test_seconds: clock.elapsed().as_secs_f64() };
            }
            outcomes.push(self.measure(&judged, &decisions));
        }
        let count = outcomes.len() as f64;
        let mean = |value: fn(&FoldOutcome) -> Option<f64>| {
            outcomes.iter().map(value).sum::<Option<f64>>().map(|sum| sum / count)
        };
        let outcome = FoldOutcome {
            config: self.protocol.configure(&self.model, winner.configuration, 0),
            alpha: alpha.unwrap_or_default(),
            validation: winner.validation / validation.len() as f64,
            accuracy: mean(|outcome| outcome.accuracy),
            balanced_accuracy: mean(|outcome| outcome.balanced_accuracy),
            macro_f1: mean(|outcome| outcome.macro_f1),
            auroc: mean(|outcome| outcome.auroc),
            mae: mean(|outcome| outcome.mae),
            r2: mean(|outcome| outcome.r2),
        };
        Ok((outcome, times))
    }

    /// All measures for decisions about some graphs.
    fn measure(&self, judged: &[usize], decisions: &ndarray::Array2<f64>) -> FoldOutcome {
        let mut outcome = FoldOutcome {
            config: self.model.clone(),
            alpha: 0.0,
            validation: 0.0,
            accuracy: None,
            balanced_accuracy: None,
            macro_f1: None,
            auroc: None,
            mae: None,
            r2: None,
        };
        match &self.targets {
            Targets::Classes(classes, names) => {
                let expected: Vec<usize> = judged.iter().map(|&graph| classes[graph]).collect();
                let metrics = ClassMetrics::of(&decode_classes(decisions.view()), &expected, names.len());
                let area = |column: usize, class: usize| {
                    let is: Vec<bool> = expected.iter().map(|&found| found == class).collect();
                    auroc(&decisions.column(column).to_vec(), &is)
                };
                let areas: Vec<f64> = match names.len() {
                    2 => area(0, 1).into_iter().collect(),
                    classes => (0..classes).filter_map(|class| area(class, class)).collect(),
                };
                outcome.accuracy = Some(metrics.accuracy);
                outcome.balanced_accuracy = Some(metrics.balanced_accuracy);
                outcome.macro_f1 = Some(metrics.macro_f1);
                outcome.auroc = (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64);
            }
            Targets::Values(values) => {
                let expected: Vec<f64> = judged.iter().map(|&graph| values[graph]).collect();
                let found = decisions.column(0).to_vec();
                outcome.mae = Some(mean_absolute_error(&found, &expected));
                outcome.r2 = r2(&found, &expected);
            }
        }
        outcome
    }
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
    /// All records of a folder.
    pub fn read(folder: &Path) -> Result<Vec<Record>> {
        records::read(&folder.join("records"))
    }

    fn units(&self, key: &CellKey, fingerprint: &str) -> Result<Vec<Unit>> {
        let Some(folder) = &self.folder else { return Ok(Vec::new()) };
        let mut units: Vec<Unit> = Vec::new();
        for record in Self::read(folder)? {
            match record {
                Record::Cell { cell, fingerprint: found, .. } if cell == *key && found != fingerprint => {
                    let what =
                        format!("dataset, model or protocol for {} {} {}", key.dataset, key.pool, key.blocks);
                    return Err(Error::Changed { path: folder.clone(), what });
                }
                Record::Unit { cell, unit } if cell == *key => units.push(unit),
                _ => {}
            }
        }
        units.sort_by_key(|unit| unit.key);
        units.dedup_by_key(|unit| unit.key);
        Ok(units)
    }

    fn fold(&self, key: &CellKey, fold: usize) -> Result<Option<(FoldOutcome, Times)>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let (mut outcome, mut times) = (None, None);
        for record in Self::read(folder)? {
            match record {
                Record::Fold { cell, fold: number, outcome: found } if (&cell, number) == (key, fold) => {
                    outcome = Some(*found);
                }
                Record::Time { cell, fold: number, times: found } if (&cell, number) == (key, fold) => {
                    times = Some(found);
                }
                _ => {}
            }
        }
        Ok(outcome.zip(times))
    }

    /// The file this process writes, with the cell's first line in it.
    fn journal(&self, key: &CellKey, fingerprint: &str, units: usize) -> Result<Option<Journal>> {
        let (this, of) = self.shard;
        let name = if of == 1 { "run.jsonl".to_owned() } else { format!("run-{this}-of-{of}.jsonl") };
        let Some(mut journal) = self.open(&name)? else { return Ok(None) };
        let known = match &self.folder {
            Some(folder) => Self::read(folder)?,
            None => Vec::new(),
        };
        let begun = |record: &Record| matches!(record, Record::Cell { cell, .. } if cell == key);
        if !known.iter().any(begun) {
            let (cell, fingerprint) = (key.clone(), fingerprint.to_owned());
            journal.write(&Record::Cell { cell, fingerprint, units })?;
        }
        Ok(Some(journal))
    }

    fn open(&self, name: &str) -> Result<Option<Journal>> {
        let path = self.folder.as_ref().map(|folder| folder.join("records").join(name));
        path.map(|path| Journal::open(&path)).transpose()
    }
}

/// Everything that results depend on, in one sum.
fn fingerprint(dataset: &Dataset, model: &ModelConfig, protocol: &Protocol, folds: &[Fold]) -> String {
    let mut sum = Sha256::new();
    // Structure and weights are what the key of a pyramid is made of.
    let structure =
        model.pooling().or_else(|| ModelConfig { pool: Pool::Graclus, ..model.clone() }.pooling());
    sum.update(structure.map(|pooling| cache::key(&dataset.graphs, &pooling, 0)).unwrap_or_default());
    let attributes = dataset.graphs.vertex_attributes().map(|all| &all.values);
    attributes.into_iter().flatten().for_each(|value| sum.update(value.to_le_bytes()));
    dataset.graphs.vertex_labels().into_iter().flatten().for_each(|label| sum.update(label.to_le_bytes()));
    sum.update(format!("{:?}{:?}", dataset.targets, dataset.features));
    for fold in folds {
        sum.update(format!("{fold:?}"));
    }
    sum.update(serde_json::to_string(&(model, protocol)).unwrap_or_default());
    sum.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
