//! Evaluates one fold of a cell: trains, tests and times its model with every draw of the weights.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use stepwell::rng::Stream;

use super::{Evaluation, Inputs, Progress, TimedFold, on_one_thread};
use crate::baselines::Rows;
use crate::error::Result;
use crate::metrics::{Quality, Said};
use crate::predictions::Predictions;
use crate::protocol::{Unit, UnitKey, Winner};
use crate::readouts::Design;
use crate::run::{FoldResult, Record, Run, Times};
use crate::subject::{Ready, Settled};
use crate::targets;

impl Evaluation<'_> {
    /// Trains and tests the model of every fold, or reads the results of an earlier run. Returns
    /// `None` until all units are finished. If `timed`, the first draw runs on one thread and is
    /// timed.
    pub fn judge(
        &self,
        run: &Run,
        units: &[Unit],
        timed: bool,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Vec<TimedFold>>> {
        let Some(chosen) = self.chosen(units) else { return Ok(None) };
        let known = self.state(run)?;
        let draws = self.protocol.initialisations;
        let all = chosen.len() * draws;
        let (mut is_open, mut journal, mut clock, mut kept) = (false, None, None, None);
        let mut found = Vec::new();
        for (fold, winner) in chosen.iter().enumerate() {
            if let Some(result) = known.folds.get(&fold) {
                found.push((result.clone(), known.times.get(&(self.sweeps, fold)).copied()));
                continue;
            }
            let step = |draw| progress(Progress { done: fold * draws + draw, units: all });
            let (result, times, said) = self.judge_fold(fold, winner.as_ref(), timed, step)?;
            if !std::mem::replace(&mut is_open, true) {
                journal = self.journal(run, &known, chosen.len())?;
                clock = if timed { run.clock_journal()? } else { None };
                kept = run.predictions_journal()?;
            }
            let cell = self.key.clone();
            if let Some((clock, times)) = clock.as_mut().zip(times) {
                clock.write(&Record::Time { cell: cell.clone(), fold, sweeps: self.sweeps, times })?;
            }
            if let Some(kept) = &mut kept {
                kept.write(&Record::Predictions { cell: cell.clone(), fold, said: Box::new(said) })?;
            }
            if let Some(journal) = &mut journal {
                journal.write(&Record::Fold { cell, fold, result: Box::new(result.clone()) })?;
            }
            found.push((result, times));
        }
        let _ = progress(Progress { done: all, units: all });
        Ok(Some(found))
    }

    pub(super) fn judge_fold(
        &self,
        fold: usize,
        winner: Option<&Winner>,
        timed: bool,
        mut progress: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(FoldResult, Option<Times>, Predictions)> {
        let (learnt, _) = self.parts(fold);
        let (subject, own);
        let mut choices = BTreeMap::new();
        let ready = if let Inputs::PerFold(pyramid) = &self.inputs {
            let pyramid = Cow::Borrowed(&**pyramid);
            (subject, choices) = self.subject.chosen(self.dataset, &self.targets, &learnt)?;
            own = Ready::new(self.dataset, &subject, pyramid, Some(&learnt))?;
            &own
        } else {
            self.shared()?
        };
        let (mut first, mut times, mut qualities) = (None, None, Vec::new());
        let mut settled = Settled::default();
        for draw in 0..self.protocol.initialisations {
            if progress(draw).is_break() {
                return Err(stepwell::Error::Cancelled.into());
            }
            let once = || self.once(ready, fold, winner, draw);
            let is_timed = timed && draw == 0;
            let tested = if is_timed { on_one_thread(once)? } else { once()? };
            times = times.or(is_timed.then_some(tested.times));
            first.get_or_insert((tested.alpha, tested.said));
            qualities.push(tested.quality);
            settled += tested.settled;
        }
        let (alpha, said) = first.expect("a protocol has at least one draw");
        let configuration = winner.map_or(0, |winner| winner.configuration);
        let (config, setting) = ready.settings(&self.protocol, configuration);
        let validation = winner.map(|winner| {
            let graphs = &self.folds[fold].validation;
            winner.validation / targets::summed_over(self.compared_by(graphs), &self.targets, graphs) as f64
        });
        let (quality, mut std) = Quality::spread(&qualities);
        if qualities.len() < 2 {
            std = Quality::default();
        }
        let converged = (settled.graphs > 0).then(|| settled.converged as f64 / settled.graphs as f64);
        let result =
            FoldResult { config, setting, chosen: choices, alpha, validation, converged, quality, std };
        Ok((result, times, said))
    }

    /// Times the model of every fold on one thread, unless an earlier run has. Does nothing until
    /// all units are finished.
    pub fn time(&self, run: &Run, units: &[Unit]) -> Result<()> {
        let Some(chosen) = self.chosen(units) else { return Ok(()) };
        let known = self.state(run)?.times;
        let mut journal = run.clock_journal()?;
        for (fold, winner) in chosen.iter().enumerate() {
            if known.contains_key(&(self.sweeps, fold)) {
                continue;
            }
            let times = on_one_thread(|| self.once(self.shared()?, fold, winner.as_ref(), 0))?.times;
            if let Some(journal) = &mut journal {
                let cell = self.key.clone();
                journal.write(&Record::Time { cell, fold, sweeps: self.sweeps, times })?;
            }
        }
        Ok(())
    }

    /// The training and the test graphs of a fold's model.
    pub(super) fn parts(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        let fold = &self.folds[fold];
        let (mut learnt, mut judged) = if self.protocol.on_validation {
            (fold.train.clone(), fold.validation.clone())
        } else {
            (fold.learnt(), fold.test.clone())
        };
        learnt.sort_unstable();
        judged.sort_unstable();
        (learnt, judged)
    }

    /// Trains the model of a fold with one draw of its weights, and tests it.
    fn once(&self, ready: &Ready<'_>, fold: usize, winner: Option<&Winner>, draw: usize) -> Result<Tested> {
        let (learnt, judged) = self.parts(fold);
        let configuration = winner.map_or(0, |winner| winner.configuration);
        let key = UnitKey { configuration, initialisation: draw };
        let drawn = ready.draw(&self.protocol, key)?.on(&self.device);

        let clock = Instant::now();
        // All vertices of a graph are embedded together, because the whole graph is read anyway.
        let mut together: Vec<usize> = learnt.iter().chain(&judged).copied().collect();
        together.sort_unstable();
        let settled = Cell::new(Settled::default());
        let embedded = |some: &[usize]| -> Result<Rows> {
            let (rows, more) = drawn.embed(some)?;
            let mut sum = settled.get();
            sum += more;
            settled.set(sum);
            Ok(rows)
        };
        let all = self.vertices().map(|_| embedded(&together)).transpose()?;
        let rows_of = |some: &[usize]| match &all {
            Some(Rows::Vectors(vectors)) => {
                let places: Vec<usize> =
                    some.iter().map(|row| together.partition_point(|other| other < row)).collect();
                Ok(Rows::Vectors(vectors.select(&places)))
            }
            _ => embedded(some),
        };
        let design = Design::new(rows_of(&learnt)?)?;
        let rows: Vec<usize> = (0..learnt.len()).collect();
        let readouts = self.train(&drawn, &design, &rows, &learnt)?;
        let solved = readouts.solve(winner.map_or(0, |winner| winner.alpha))?;
        let train_seconds = clock.elapsed().as_secs_f64();

        let clock = Instant::now();
        let decisions = solved.decisions(&design.of_new(rows_of(&judged)?)?)?;
        let test_seconds = clock.elapsed().as_secs_f64();
        let (decisions, chances) = (decisions.view(), solved.probabilities(decisions.view())?);
        let chances = chances.as_ref().map(|chances| chances.view());
        let quality = Quality::of(&self.targets, &judged, decisions, chances);
        let said = |target| Said::new(&self.targets, &judged, decisions, chances, target);
        let stream = Stream::new(self.protocol.seed, "predictions", [fold as u64, 0]);
        let said = Predictions::keep(&self.targets, said, judged.len(), stream, self.folds.len());
        let times = Times { train_seconds, test_seconds };
        Ok(Tested { alpha: solved.alpha(), quality, said, settled: settled.get(), times })
    }
}

/// The result of one draw of a model on held-out graphs.
struct Tested {
    alpha: f64,
    quality: Quality,
    said: Predictions,
    settled: Settled,
    times: Times,
}
