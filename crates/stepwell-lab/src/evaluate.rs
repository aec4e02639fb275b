//! One model on one dataset, through the whole protocol.
//!
//! Work is done in units: a configuration with one draw of its weights is
//! embedded once and read in every fold with every alpha. What a unit tells is
//! recorded before the next begins, so that a run that was ended goes on where
//! it was. When all units are there, the winner of each fold is run once more
//! for all measures of quality, and once for the clock.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use stepwell::config::{ModelConfig, Solver};
use stepwell::pyramid::Pyramid;
use stepwell::targets::Encoded;
use stepwell_data::Dataset;

use crate::baselines::{Baseline, Rows};
use crate::basis::Basis;
use crate::contender::Contender;
use crate::error::{Error, Result};
use crate::outcome::{FoldOutcome, Quality, Times};
use crate::protocol::{Protocol, Unit, UnitKey, Winner, winners};
use crate::run::{CellKey, CellState, Effort, Making, Record, Run, Sweeps};
use crate::splits::Fold;
use crate::targets;

/// A model on a dataset, ready for the protocol.
pub struct Evaluation<'a> {
    key: CellKey,
    protocol: Protocol,
    contender: Contender<'a>,
    sweeps: Sweeps,
    targets: Encoded,
    folds: Vec<Fold>,
    basis: Basis,
}

/// A message while work goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Units done, of `units`.
    pub done: usize,
    /// All units.
    pub units: usize,
}

impl<'a> Evaluation<'a> {
    /// Takes a dataset with its pyramid. Folds are drawn from the protocol's
    /// seed, unless given. The map to the inputs is fitted on all graphs, which
    /// needs no labels. A pyramid that is given away is let go piece by piece.
    pub fn new<'p>(
        dataset: &Dataset,
        pyramid: impl Into<Cow<'p, Pyramid>>,
        model: ModelConfig,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
    ) -> Result<Self> {
        let key = CellKey::of_model(&dataset.name, &model, protocol.seed);
        let (structure, settings) = (model.clone(), (model.clone(), protocol.clone()));
        Self::with(dataset, key, protocol, folds, &structure, settings, || {
            Contender::reservoirs(dataset, pyramid.into(), model)
        })
    }

    /// Takes a baseline: its settings are the configurations, and nothing is drawn.
    pub fn baseline(
        dataset: &'a Dataset,
        baseline: Baseline,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
    ) -> Result<Self> {
        let key = CellKey::of_baseline(&dataset.name, baseline, protocol.seed);
        let configurations = baseline.settings().len();
        let protocol = Protocol { configurations, initialisations: 1, ..protocol };
        let settings = (baseline.settings(), protocol.clone());
        Self::with(dataset, key, protocol, folds, &ModelConfig::default(), settings, || {
            Contender::baseline(dataset, baseline)
        })
    }

    fn with(
        dataset: &Dataset,
        key: CellKey,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
        structure: &ModelConfig,
        settings: impl Serialize,
        contender: impl FnOnce() -> Result<Contender<'a>>,
    ) -> Result<Self> {
        let targets = targets::of(dataset)?;
        let folds = protocol.split(&targets, folds)?;
        let basis = Basis::new(dataset, structure, &folds, settings);
        Ok(Self { key, protocol, contender: contender()?, sweeps: Sweeps::Own, targets, folds, basis })
    }

    /// The same model with the paper's sweeps, for the clock: all vertices at
    /// once, and each of them computed. The pyramid is made after what was made
    /// ready has gone: two would be many gigabytes of some sets.
    pub fn plain<E: From<Error>>(
        self,
        dataset: &Dataset,
        pyramid: impl FnOnce() -> Result<Pyramid, E>,
    ) -> Result<Self, E> {
        Ok(match self.contender {
            Contender::Reservoirs { model, prepared } => {
                drop(prepared);
                let model = ModelConfig { solver: Solver::Jacobi, lift: false, ..*model };
                let contender = Contender::reservoirs(dataset, pyramid()?.into(), model)?;
                Self { contender, sweeps: Sweeps::Plain, ..self }
            }
            Contender::Baseline { .. } => self,
        })
    }

    /// Which cell this is.
    pub fn key(&self) -> &CellKey {
        &self.key
    }

    /// What the cell's units are made of: a baseline's protocol is shorter.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// What is known of the cell.
    pub fn state(&self, run: &Run) -> Result<CellState> {
        run.state(&self.key, &self.basis)
    }

    /// Does what is missing of this process' share of the units, and answers
    /// with all that are there.
    pub fn search(
        &self,
        run: &Run,
        mut progress: impl FnMut(Progress, &[Unit]) -> ControlFlow<()>,
    ) -> Result<Vec<Unit>> {
        let known = self.state(run)?;
        let mut units: Vec<Unit> = known.units.values().cloned().collect();
        let all = self.protocol.configurations * self.protocol.initialisations;
        let missing = self
            .protocol
            .units()
            .enumerate()
            .filter(|(index, key)| run.does(*index) && !known.units.contains_key(key));
        let (clock, mut effort) = (Instant::now(), Effort::default());
        let mut journal = None;
        for (_, key) in missing {
            if progress(Progress { done: units.len(), units: all }, &units).is_break() {
                return Err(stepwell::Error::Cancelled.into());
            }
            let (unit, embedding_seconds) = self.unit(key)?;
            if journal.is_none() {
                journal = run.journal()?;
                if let Some(journal) = journal.as_mut().filter(|_| known.basis.is_new()) {
                    let (cell, basis) = (self.key.clone(), self.basis.clone());
                    journal.write(&Record::Cell { cell, basis, units: all })?;
                }
            }
            if let Some(journal) = &mut journal {
                journal.write(&Record::Unit { cell: self.key.clone(), unit: unit.clone() })?;
            }
            effort.passes += 1;
            effort.embedding_seconds += embedding_seconds;
            units.push(unit);
        }
        effort.seconds = clock.elapsed().as_secs_f64();
        effort.peak_memory_bytes = peak_memory();
        if effort.passes > 0
            && let Some(mut journal) = run.clock_journal()?
        {
            journal.write(&Record::Search { cell: self.key.clone(), effort })?;
        }
        let _ = progress(Progress { done: units.len(), units: all }, &units);
        Ok(units)
    }

    /// One pass over all graphs, read in every fold with every alpha; and the
    /// seconds of it in which graphs were embedded.
    fn unit(&self, key: UnitKey) -> Result<(Unit, f64)> {
        let graphs: Vec<usize> = (0..self.targets.len()).collect();
        let clock = Instant::now();
        let rows = self.contender.vectors(&self.protocol, key, &graphs)?;
        let embedding_seconds = clock.elapsed().as_secs_f64();
        let (table, _) = rows.into_table();
        let y = self.targets.matrix();
        let scores = |learnt: &[usize], judged: &[usize]| -> Result<Vec<f64>> {
            let reader = table.train(learnt, &y, &self.protocol)?;
            let seen = table.seen(judged, learnt);
            let score = |index| {
                Ok(targets::score(&self.targets, judged, reader.solve(index)?.decisions(seen.view()).view()))
            };
            (0..reader.alphas.len()).map(score).collect()
        };
        let (validation, test) = self
            .folds
            .par_iter()
            .map(|fold| Ok((scores(&fold.train, &fold.validation)?, scores(&fold.learnt(), &fold.test)?)))
            .collect::<Result<Vec<_>>>()?
            .into_iter()
            .unzip();
        Ok((Unit { key, validation, test }, embedding_seconds))
    }

    /// Judges the winner of every fold, or reads what an earlier run found;
    /// nothing until all units are there.
    pub fn judge(&self, run: &Run, units: &[Unit]) -> Result<Option<Vec<FoldOutcome>>> {
        let Some(winners) = winners(&self.protocol, units) else { return Ok(None) };
        let known = self.state(run)?.folds;
        let mut journal = None;
        let mut found = Vec::new();
        for (fold, winner) in winners.iter().enumerate() {
            if let Some(known) = known.get(&fold) {
                found.push(known.clone());
                continue;
            }
            let outcome = self.run_winner(fold, winner)?;
            if journal.is_none() {
                journal = run.journal()?;
            }
            if let Some(journal) = &mut journal {
                let (cell, outcome) = (self.key.clone(), Box::new(outcome.clone()));
                journal.write(&Record::Fold { cell, fold, outcome })?;
            }
            found.push(outcome);
        }
        Ok(Some(found))
    }

    /// Takes the time of the winner of every fold on one thread, unless an
    /// earlier run has; nothing until all units are there.
    pub fn time(&self, run: &Run, units: &[Unit]) -> Result<Option<Vec<Times>>> {
        let Some(winners) = winners(&self.protocol, units) else { return Ok(None) };
        let known = self.state(run)?.times;
        let mut journal = None;
        let mut found = Vec::new();
        for (fold, winner) in winners.iter().enumerate() {
            if let Some(known) = known.get(&(self.sweeps, fold)) {
                found.push(*known);
                continue;
            }
            let times = on_one_thread(|| self.once(fold, winner, 0))?.1;
            if journal.is_none() {
                journal = run.clock_journal()?;
            }
            if let Some(journal) = &mut journal {
                let cell = self.key.clone();
                journal.write(&Record::Time { cell, fold, sweeps: self.sweeps, times })?;
            }
            found.push(times);
        }
        Ok(Some(found))
    }

    /// Records what it took to make this cell ready.
    pub fn made(&self, run: &Run, making: Making) -> Result<()> {
        match run.clock_journal()? {
            Some(mut journal) => journal.write(&Record::Made { cell: self.key.clone(), making }),
            None => Ok(()),
        }
    }

    fn run_winner(&self, fold: usize, winner: &Winner) -> Result<FoldOutcome> {
        let judged: Vec<Judged> = (0..self.protocol.initialisations)
            .map(|initialisation| Ok(self.once(fold, winner, initialisation)?.0))
            .collect::<Result<_>>()?;
        let (config, setting) = self.contender.settings(&self.protocol, winner.configuration);
        Ok(FoldOutcome {
            config,
            setting,
            alpha: judged.first().map_or(0.0, |judged| judged.alpha),
            validation: Some(winner.validation / self.folds[fold].validation.len() as f64),
            quality: Quality::mean(&judged.iter().map(|judged| judged.quality).collect::<Vec<_>>()),
        })
    }

    /// Trains a winner on all it may learn from, and judges it by the test graphs.
    fn once(&self, fold: usize, winner: &Winner, initialisation: usize) -> Result<(Judged, Times)> {
        let key = UnitKey { configuration: winner.configuration, initialisation };
        let learnt = self.folds[fold].learnt();
        let mut judged = self.folds[fold].test.clone();
        judged.sort_unstable();
        let y = self.targets.matrix().select(ndarray::Axis(0), &learnt);

        let clock = Instant::now();
        let (table, counts) = self.contender.vectors(&self.protocol, key, &learnt)?.into_table();
        let rows: Vec<usize> = (0..learnt.len()).collect();
        let reader = table.train(&rows, &y, &self.protocol)?;
        let solved = reader.solve(winner.alpha)?;
        let train_seconds = clock.elapsed().as_secs_f64();

        let clock = Instant::now();
        let seen = match (self.contender.vectors(&self.protocol, key, &judged)?, counts) {
            (Rows::Counts(found), learnt) => found.products(&learnt.unwrap_or_default()),
            (Rows::Vectors(vectors), _) => vectors,
        };
        let decisions = solved.decisions(seen.view());
        let test_seconds = clock.elapsed().as_secs_f64();
        let quality = Quality::of(&self.targets, &judged, &decisions);
        let alpha = reader.alphas[winner.alpha];
        Ok((Judged { alpha, quality }, Times { train_seconds, test_seconds }))
    }
}

struct Judged {
    alpha: f64,
    quality: Quality,
}

/// Runs work on one thread, so that its time says what it costs.
pub fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The most memory the process ever held, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}
