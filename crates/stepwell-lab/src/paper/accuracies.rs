//! Tables 2 and 3: our accuracies next to the paper's.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{order, printed};
use crate::baselines::Baseline;
use crate::results::{ModelResult, POOLS, pool_order, results};
use crate::run::{CellKey, CellState};
use crate::table::{Cell, Column, Table};

/// Our result for a model, next to the paper's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolResult {
    /// Our result.
    #[serde(flatten)]
    pub ours: ModelResult,
    /// The paper's accuracy. `None` if its run ran out of memory.
    pub paper_accuracy: Option<f64>,
    /// Its standard deviation.
    pub paper_std: Option<f64>,
    /// Ours minus the paper's.
    pub difference: Option<f64>,
}

impl PoolResult {
    fn new(ours: ModelResult) -> Self {
        let paper = printed::result(&ours.dataset, &ours.pool, ours.blocks).filter(|_| is_papers(&ours));
        let (paper_accuracy, paper_std) = (paper.and_then(|row| row.accuracy), paper.and_then(|row| row.std));
        let difference = paper_accuracy.map(|paper| ours.mean - paper);
        Self { ours, paper_accuracy, paper_std, difference }
    }

    /// Whether this is one of the paper's models and not a baseline.
    pub fn is_papers(&self) -> bool {
        is_papers(&self.ours)
    }

    /// Whether our accuracy reaches the paper's minus its standard deviation or 1.5
    /// points, whichever is more. `None` if the paper has no figure.
    pub fn is_reached(&self) -> Option<bool> {
        let (paper, std) = self.paper_accuracy.zip(self.paper_std)?;
        Some(self.ours.mean >= paper - std.max(1.5))
    }
}

fn is_papers(result: &ModelResult) -> bool {
    result.model == "reservoir"
}

/// All finished cells of a run, in the paper's order.
pub fn rows(cells: &BTreeMap<CellKey, CellState>) -> Vec<PoolResult> {
    let mut rows: Vec<PoolResult> = results(cells).into_iter().map(PoolResult::new).collect();
    rows.sort_by_cached_key(|PoolResult { ours, .. }| {
        let dataset = (order(&ours.dataset), ours.dataset.clone());
        (dataset, ours.model.clone(), ours.blocks, pool_order(&ours.pool), ours.pool.clone())
    });
    rows
}

/// The result of one pooling on one dataset.
pub fn find<'a>(rows: &'a [PoolResult], dataset: &str, pool: &str, blocks: usize) -> Option<&'a PoolResult> {
    let is = |row: &&PoolResult| {
        row.is_papers() && row.ours.dataset == dataset && row.ours.pool == pool && row.ours.blocks == blocks
    };
    rows.iter().find(is)
}

/// The datasets of some rows, in the order of the rows.
pub(super) fn datasets(rows: &[PoolResult]) -> Vec<&str> {
    let mut names: Vec<&str> = rows.iter().map(|row| row.ours.dataset.as_str()).collect();
    names.dedup();
    names
}

fn spread(row: Option<&PoolResult>) -> String {
    row.map_or("–".to_owned(), |row| format!("{:.1} ± {:.1}", row.ours.mean, row.ours.std))
}

/// One of the paper's tables: a row per dataset, with the paper's figures in
/// parentheses.
pub fn wide(rows: &[PoolResult], blocks: usize) -> Table {
    let mut table = Table::new("", std::iter::once("dataset").chain(POOLS));
    for dataset in datasets(rows) {
        let cell = |pool: &&str| {
            let row = find(rows, dataset, pool, blocks);
            let paper = printed::result(dataset, pool, blocks);
            let theirs = match paper.map(|row| row.accuracy.zip(row.std)) {
                Some(Some((mean, std))) => format!(" ({mean:.1} ± {std:.1})"),
                Some(None) => " (memory error)".into(),
                None => String::new(),
            };
            Cell::sorted(spread(row) + &theirs, row.map_or(f64::NAN, |row| row.ours.mean))
        };
        if POOLS.iter().any(|pool| find(rows, dataset, pool, blocks).is_some()) {
            table.rows.push(std::iter::once(Cell::text(dataset)).chain(POOLS.iter().map(cell)).collect());
        }
    }
    table
}

/// One row per cell.
pub(super) fn long(rows: &[PoolResult]) -> Table {
    let columns: [Column<PoolResult>; 12] = [
        ("dataset", |row| Cell::text(&row.ours.dataset)),
        ("model", |row| Cell::text(&row.ours.model)),
        ("pool", |row| Cell::text(&row.ours.pool)),
        ("blocks", |row| Cell::count(row.ours.blocks)),
        ("accuracy", |row| Cell::number(row.ours.mean, 2)),
        ("std", |row| Cell::number(row.ours.std, 2)),
        ("balanced_accuracy", |row| Cell::optional(row.ours.balanced_accuracy, 2)),
        ("macro_f1", |row| Cell::optional(row.ours.macro_f1, 2)),
        ("auroc", |row| Cell::optional(row.ours.auroc, 4)),
        ("paper_accuracy", |row| Cell::optional(row.paper_accuracy, 1)),
        ("paper_std", |row| Cell::optional(row.paper_std, 1)),
        ("difference", |row| Cell::optional(row.difference, 2)),
    ];
    Table::of("", rows, &columns)
}

/// The best model with reservoirs, next to the baselines.
pub(super) fn baselines(rows: &[PoolResult]) -> Table {
    let names = Baseline::ALL.map(|baseline| baseline.name());
    let header = ["dataset", "best reservoir", "pooling", "blocks"].into_iter().chain(names);
    let mut table =
        Table::new("The best model with reservoirs next to the baselines, accuracy in percent", header);
    for dataset in datasets(rows) {
        let here = || rows.iter().filter(|row| row.ours.dataset == dataset);
        if here().all(PoolResult::is_papers) {
            continue;
        }
        let best = here().filter(|row| row.is_papers()).max_by(|a, b| a.ours.mean.total_cmp(&b.ours.mean));
        let cell = |row: Option<&PoolResult>| {
            row.map_or_else(Cell::none, |row| Cell::spread(row.ours.mean, row.ours.std))
        };
        let mut line = vec![
            Cell::text(dataset),
            cell(best),
            best.map_or_else(Cell::none, |row| Cell::text(&row.ours.pool)),
            best.map_or_else(Cell::none, |row| Cell::count(row.ours.blocks)),
        ];
        line.extend(names.iter().map(|name| cell(here().find(|row| row.ours.model == *name))));
        table.rows.push(line);
    }
    table
}
