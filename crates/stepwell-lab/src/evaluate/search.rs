//! The hyperparameter search of a cell: every configuration with every draw of its weights is
//! embedded once, and evaluated in every fold with every penalty.

use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;
use stepwell::config::Metric;

use super::{Evaluation, Progress, peak_memory};
use crate::error::{Error, Result};
use crate::protocol::{Unit, UnitKey, Winner, winners};
use crate::readouts::Design;
use crate::run::{Effort, Record, Run};
use crate::splits::Fold;
use crate::subject::Ready;
use crate::targets;

impl Evaluation<'_> {
    /// Computes the missing units of this process's share. Returns all finished units; none without
    /// a search.
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
            let (unit, embedding_seconds) = self.unit(self.shared()?, key)?;
            if effort.passes == 0 {
                journal = self.journal(run, &known, all)?;
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

    /// The metric that configurations are compared by on some graphs.
    pub(super) fn compared_by(&self, graphs: &[usize]) -> Metric {
        targets::usable(targets::searched_by(self.metric), &self.targets, graphs)
    }

    /// The number of folds that compare configurations by accuracy or RMSE, because the metric has
    /// no value on the validation graphs.
    pub fn folds_compared_otherwise(&self) -> usize {
        let metric = targets::searched_by(self.metric);
        let otherwise = |fold: &&Fold| self.compared_by(&fold.validation) != metric;
        if self.protocol.searches() { self.folds.iter().filter(otherwise).count() } else { 0 }
    }

    /// Embeds all graphs once and evaluates them in every fold with every alpha. Also returns the
    /// seconds of embedding.
    fn unit(&self, ready: &Ready<'_>, key: UnitKey) -> Result<(Unit, f64)> {
        let graphs: Vec<usize> = (0..self.targets.len()).collect();
        let clock = Instant::now();
        let drawn = ready.draw(&self.protocol, key)?.on(&self.device);
        let rows = drawn.rows(&graphs)?;
        let embedding_seconds = clock.elapsed().as_secs_f64();
        let design = Design::new(rows)?;
        let scores = |learnt: &[usize], judged: &[usize]| -> Result<Vec<Option<f64>>> {
            let metric = self.compared_by(judged);
            let readouts = self.train(&drawn, &design, learnt, learnt)?;
            let shown = design.of(judged, learnt);
            let score = |index| {
                let decisions = readouts.solve(index)?.decisions(&shown)?;
                Ok(targets::score(metric, &self.targets, judged, decisions.view()))
            };
            (0..readouts.len()).map(score).collect()
        };
        let of_fold = |(number, fold): (usize, &Fold)| -> Result<(Vec<f64>, Vec<f64>)> {
            let validation: Option<Vec<f64>> = scores(&fold.train, &fold.validation)?.into_iter().collect();
            let without = || Error::Split {
                expected: "validation graphs with known targets".into(),
                found: format!("none in fold {}", number + 1),
            };
            let test = scores(&fold.learnt(), &fold.test)?;
            Ok((validation.ok_or_else(without)?, test.into_iter().map(Option::unwrap_or_default).collect()))
        };
        let (validation, test) =
            self.folds.par_iter().enumerate().map(of_fold).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok((Unit { key, validation, test }, embedding_seconds))
    }

    /// The winner of every fold, or `None` for each fold without a search. Returns `None` until all
    /// units of the search are finished.
    pub(super) fn chosen(&self, units: &[Unit]) -> Option<Vec<Option<Winner>>> {
        if self.protocol.searches() {
            Some(winners(&self.protocol, units)?.into_iter().map(Some).collect())
        } else {
            Some(vec![None; self.folds.len()])
        }
    }
}
