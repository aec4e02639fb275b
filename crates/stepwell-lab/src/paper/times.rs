//! The cost of models, and the time that pooling saves.

use std::collections::BTreeMap;

use serde::Serialize;

use stepwell::config::{ModelConfig, Solver};
use stepwell::pyramid::Pyramid;

use super::accuracies::{PoolResult, find};
use super::{order, printed};
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, Inputs};
use crate::results::pool_order;
use crate::run::{CellKey, CellState, Sweeps, Times};
use crate::subject::{Ready, Subject};
use crate::table::{Cell, Column, Table};

/// The times of a model with reservoirs on a dataset: each fold's winner runs once on
/// one thread; times are means over folds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeRow {
    /// The dataset.
    pub dataset: String,
    /// The pooling.
    pub pool: String,
    /// Blocks.
    pub blocks: usize,
    /// Embedding the training graphs, and training.
    pub train_seconds: f64,
    /// Embedding the test graphs, and predicting.
    pub test_seconds: f64,
    /// Points of accuracy per second of training and testing.
    pub accuracy_per_second: Option<f64>,
    /// The same in the paper.
    pub paper_accuracy_per_second: Option<f64>,
    /// Time without pooling divided by time with it.
    pub speedup: Option<f64>,
    /// The same with the paper's sweeps (Jacobi, every vertex computed).
    pub plain_speedup: Option<f64>,
    /// The same in the paper.
    pub paper_speedup: Option<f64>,
    /// Seconds with the paper's sweeps.
    pub plain_seconds: Option<f64>,
    /// Pooling all graphs on one thread.
    pub coarsen_seconds: Option<f64>,
    /// Preparing all levels.
    pub prepare_seconds: Option<f64>,
    /// Passes over all graphs after which pooling has saved as much time as it took.
    /// `None` if a pooled pass is not faster.
    pub passes_to_pay: Option<f64>,
}

impl TimeRow {
    /// Seconds of training and testing.
    pub fn seconds(&self) -> f64 {
        self.train_seconds + self.test_seconds
    }
}

/// All cells with measured times, in the paper's order.
pub fn rows(cells: &BTreeMap<CellKey, CellState>, results: &[PoolResult]) -> Vec<TimeRow> {
    let mut rows = Vec::new();
    for (key, state) in cells.iter().filter(|(key, state)| key.is_papers() && state.is_done()) {
        let Some(times) = mean(state, Sweeps::Own) else { continue };
        let seconds = times.train_seconds + times.test_seconds;
        let total = |state: &CellState, sweeps| {
            mean(state, sweeps).map(|times| times.train_seconds + times.test_seconds)
        };
        let unpooled = |sweeps| total(cells.get(&CellKey { pool: "none".into(), ..key.clone() })?, sweeps);
        let is_pooled = key.pool != "none";
        let speedup = |sweeps| is_pooled.then(|| Some(unpooled(sweeps)? / total(state, sweeps)?)).flatten();
        let paper = |pool: &str| printed::result(&key.dataset, pool, key.blocks);
        let coarsen_seconds = state.making.map(|making| making.coarsen_seconds);
        let saved = unpooled(Sweeps::Own).map(|unpooled| unpooled - seconds);
        rows.push(TimeRow {
            dataset: key.dataset.clone(),
            pool: key.pool.clone(),
            blocks: key.blocks,
            train_seconds: times.train_seconds,
            test_seconds: times.test_seconds,
            accuracy_per_second: find(results, &key.dataset, &key.pool, key.blocks)
                .map(|row| row.ours.mean / seconds),
            paper_accuracy_per_second: paper(&key.pool).and_then(|row| row.accuracy_per_second()),
            speedup: speedup(Sweeps::Own),
            plain_speedup: speedup(Sweeps::Plain),
            paper_speedup: paper("none")
                .zip(paper(&key.pool))
                .filter(|_| is_pooled)
                .and_then(|(none, pooled)| Some(none.seconds()? / pooled.seconds()?)),
            plain_seconds: total(state, Sweeps::Plain),
            coarsen_seconds,
            prepare_seconds: state.making.map(|making| making.prepare_seconds),
            passes_to_pay: saved
                .zip(coarsen_seconds)
                .filter(|(saved, _)| is_pooled && *saved > 0.0)
                .map(|(saved, coarsen)| coarsen / saved),
        });
    }
    rows.sort_by_key(|row| (order(&row.dataset), row.dataset.clone(), row.blocks, pool_order(&row.pool)));
    // One seed is enough for times.
    rows.dedup_by_key(|row| (row.dataset.clone(), row.blocks, row.pool.clone()));
    rows
}

/// The mean over folds, once all folds have times.
fn mean(state: &CellState, sweeps: Sweeps) -> Option<Times> {
    let all: Vec<&Times> =
        state.times.range((sweeps, 0)..=(sweeps, usize::MAX)).map(|(_, times)| times).collect();
    let count = all.len() as f64;
    (!all.is_empty() && all.len() == state.folds.len()).then(|| Times {
        train_seconds: all.iter().map(|times| times.train_seconds).sum::<f64>() / count,
        test_seconds: all.iter().map(|times| times.test_seconds).sum::<f64>() / count,
    })
}

impl<'a> Evaluation<'a> {
    /// The same model with the paper's sweeps, for measuring times: all vertices at
    /// once, each of them computed. The prepared graphs are dropped before the new ones
    /// are made, because both together would take many gigabytes on some datasets.
    pub fn with_plain_sweeps<E: From<Error>>(
        mut self,
        plain: &'a Subject,
        pyramid: impl FnOnce() -> Result<Pyramid, E>,
    ) -> Result<Self, E> {
        self.sweeps = Sweeps::Plain;
        self.inputs = Inputs::Missing;
        self.inputs = Inputs::Shared(Ready::new(self.dataset, plain, pyramid()?.into(), None)?);
        Ok(self)
    }
}

impl Subject {
    /// The subject with the paper's sweeps: Jacobi without lifting. `None` for a
    /// baseline.
    pub fn with_plain_sweeps(&self) -> Option<Self> {
        let Self::Model(name, config) = self else { return None };
        let config = ModelConfig { solver: Solver::Jacobi, lift: false, ..(**config).clone() };
        Some(Self::Model(name.clone(), Box::new(config)))
    }
}

/// One row per cell.
pub(super) fn table(rows: &[TimeRow]) -> Table {
    let columns: [Column<TimeRow>; 12] = [
        ("dataset", |row| Cell::text(&row.dataset)),
        ("pool", |row| Cell::text(&row.pool)),
        ("blocks", |row| Cell::count(row.blocks)),
        ("train s", |row| Cell::number(row.train_seconds, 3)),
        ("test s", |row| Cell::number(row.test_seconds, 3)),
        ("accuracy per s", |row| Cell::optional(row.accuracy_per_second, 0)),
        ("paper's", |row| Cell::optional(row.paper_accuracy_per_second, 1)),
        ("times faster than none", |row| Cell::optional(row.speedup, 2)),
        ("with the paper's sweeps", |row| Cell::optional(row.plain_speedup, 2)),
        ("in the paper", |row| Cell::optional(row.paper_speedup, 2)),
        ("pooling s", |row| Cell::optional(row.coarsen_seconds.filter(|_| row.pool != "none"), 2)),
        ("passes to pay for it", |row| match (row.passes_to_pay, row.coarsen_seconds) {
            (None, Some(_)) if row.pool != "none" => Cell::missing("never"),
            (passes, _) => Cell::optional(passes, 1),
        }),
    ];
    Table::of("Times, each a mean over folds", rows, &columns)
}
