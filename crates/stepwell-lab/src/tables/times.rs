//! What models cost, and what pooling saves.

use std::collections::BTreeMap;

use serde::Serialize;

use super::results::{order, pool_order, rows as result_rows};
use super::sheet::Sheet;
use crate::outcome::Times;
use crate::paper;
use crate::run::{CellKey, CellState, Sweeps};

/// The times of a model with reservoirs on a dataset: one run of a fold's
/// winner on one thread, a mean over folds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeRow {
    /// The dataset.
    pub dataset: String,
    /// The pooling.
    pub pool: String,
    /// Blocks.
    pub blocks: usize,
    /// Embedding the graphs to learn from, and training.
    pub train_seconds: f64,
    /// Embedding the test graphs, and reading them.
    pub test_seconds: f64,
    /// Points of accuracy per second of both.
    pub accuracy_per_second: Option<f64>,
    /// The same in the paper.
    pub paper_accuracy_per_second: Option<f64>,
    /// Time without pooling over time with it: how much faster pooling is.
    pub speedup: Option<f64>,
    /// The same with the paper's sweeps (Jacobi, every vertex computed).
    pub plain_speedup: Option<f64>,
    /// The same in the paper.
    pub paper_speedup: Option<f64>,
    /// Seconds with the paper's sweeps.
    pub plain_seconds: Option<f64>,
    /// Pooling all graphs on one thread.
    pub coarsen_seconds: Option<f64>,
    /// Making all levels ready.
    pub prepare_seconds: Option<f64>,
    /// Passes over all graphs after which pooling has saved the time it took;
    /// nothing where a pooled pass is not faster.
    pub passes_to_pay: Option<f64>,
}

impl TimeRow {
    /// Training and testing.
    pub fn seconds(&self) -> f64 {
        self.train_seconds + self.test_seconds
    }
}

/// All cells whose times have been taken.
pub fn rows(cells: &BTreeMap<CellKey, CellState>) -> Vec<TimeRow> {
    let results = result_rows(cells);
    let mut rows = Vec::new();
    let timed = |pool: &str, key: &CellKey, sweeps| {
        let cell = CellKey { pool: pool.into(), ..key.clone() };
        cells.get(&cell).and_then(|state| mean(state, sweeps))
    };
    for (key, state) in cells.iter().filter(|(key, state)| key.has_reservoirs() && state.is_done()) {
        let Some(times) = mean(state, Sweeps::Own) else { continue };
        let total = |times: Times| times.train_seconds + times.test_seconds;
        let speedup = |sweeps| {
            let unpooled = timed("none", key, sweeps)?;
            Some(total(unpooled) / total(mean(state, sweeps)?))
        };
        let printed = |pool: &str| {
            let row = paper::result(&key.dataset, pool, key.blocks)?;
            Some((row, row.train_seconds? + row.test_seconds?))
        };
        let accuracy = super::results::find(&results, &key.dataset, &key.pool, key.blocks);
        let saved = timed("none", key, Sweeps::Own).map(|unpooled| total(unpooled) - total(times));
        let coarsen_seconds = state.making.map(|making| making.coarsen_seconds);
        let pooled = key.pool != "none";
        rows.push(TimeRow {
            dataset: key.dataset.clone(),
            pool: key.pool.clone(),
            blocks: key.blocks,
            train_seconds: times.train_seconds,
            test_seconds: times.test_seconds,
            accuracy_per_second: accuracy.map(|row| row.accuracy / total(times)),
            paper_accuracy_per_second: printed(&key.pool)
                .and_then(|(row, seconds)| Some(row.accuracy? / seconds)),
            speedup: speedup(Sweeps::Own).filter(|_| pooled),
            plain_speedup: speedup(Sweeps::Plain).filter(|_| pooled),
            paper_speedup: printed("none")
                .zip(printed(&key.pool))
                .map(|((_, none), (_, pooled))| none / pooled)
                .filter(|_| pooled),
            plain_seconds: mean(state, Sweeps::Plain).map(total),
            coarsen_seconds,
            prepare_seconds: state.making.map(|making| making.prepare_seconds),
            passes_to_pay: saved
                .zip(coarsen_seconds)
                .filter(|(saved, _)| pooled && *saved > 0.0)
                .map(|(saved, coarsen)| coarsen / saved),
        });
    }
    rows.sort_by_key(|row| (order(&row.dataset), row.dataset.clone(), row.blocks, pool_order(&row.pool)));
    // One seed is enough for the clock.
    rows.dedup_by_key(|row| (row.dataset.clone(), row.blocks, row.pool.clone()));
    rows
}

/// The mean over folds, once all of them have been timed.
fn mean(state: &CellState, sweeps: Sweeps) -> Option<Times> {
    let all: Vec<&Times> =
        state.times.range((sweeps, 0)..=(sweeps, usize::MAX)).map(|(_, times)| times).collect();
    let count = all.len() as f64;
    (!all.is_empty() && all.len() == state.folds.len()).then(|| Times {
        train_seconds: all.iter().map(|times| times.train_seconds).sum::<f64>() / count,
        test_seconds: all.iter().map(|times| times.test_seconds).sum::<f64>() / count,
    })
}

/// A line for each cell.
pub fn sheet(rows: &[TimeRow]) -> Sheet {
    let header = [
        "dataset",
        "pool",
        "blocks",
        "train s",
        "test s",
        "accuracy per s",
        "paper's",
        "times faster than none",
        "with the paper's sweeps",
        "in the paper",
        "pooling s",
        "passes to pay for it",
    ];
    let mut sheet = Sheet::new(header, 2);
    let number = |value: Option<f64>, places: usize| value.map_or(String::new(), |v| format!("{v:.places$}"));
    for row in rows {
        let passes = match (row.passes_to_pay, row.coarsen_seconds) {
            (Some(passes), _) => format!("{passes:.1}"),
            (None, Some(_)) if row.pool != "none" => "never".into(),
            _ => String::new(),
        };
        sheet.rows.push(vec![
            row.dataset.clone(),
            row.pool.clone(),
            row.blocks.to_string(),
            number(Some(row.train_seconds), 3),
            number(Some(row.test_seconds), 3),
            number(row.accuracy_per_second, 0),
            number(row.paper_accuracy_per_second, 1),
            number(row.speedup, 2),
            number(row.plain_speedup, 2),
            number(row.paper_speedup, 2),
            number(row.coarsen_seconds.filter(|_| row.pool != "none"), 2),
            passes,
        ]);
    }
    sheet
}
