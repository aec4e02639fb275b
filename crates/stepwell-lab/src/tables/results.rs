//! Tables 2 and 3: accuracies, ours beside the paper's.

use std::collections::BTreeMap;

use serde::Serialize;

use super::sheet::Sheet;
use crate::paper;
use crate::run::{CellKey, CellState};

/// A model on a dataset, all seeds together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRow {
    /// The dataset.
    pub dataset: String,
    /// "reservoir", or a baseline's name.
    pub model: String,
    /// The pooling.
    pub pool: String,
    /// Blocks; 0 for a baseline.
    pub blocks: usize,
    /// Seeds of the protocol it was run with.
    pub seeds: Vec<u64>,
    /// Mean accuracy over folds and seeds, in percent.
    pub accuracy: f64,
    /// Its standard deviation over folds and seeds.
    pub std: f64,
    /// Mean balanced accuracy, in percent.
    pub balanced_accuracy: Option<f64>,
    /// Mean macro-averaged F1, in percent.
    pub macro_f1: Option<f64>,
    /// Mean area under the curve.
    pub auroc: Option<f64>,
    /// The paper's accuracy; nothing where its run ran out of memory.
    pub paper_accuracy: Option<f64>,
    /// Its standard deviation.
    pub paper_std: Option<f64>,
    /// Ours minus the paper's.
    pub difference: Option<f64>,
    /// Accuracies, in percent, seed by seed and fold by fold.
    pub folds: Vec<f64>,
}

impl ResultRow {
    /// Whether it is at least what the paper has, less its spread or 1.5
    /// points; nothing where the paper has no figure.
    pub fn is_reached(&self) -> Option<bool> {
        let (paper, std) = self.paper_accuracy.zip(self.paper_std)?;
        Some(self.accuracy >= paper - std.max(1.5))
    }
}

/// All finished cells of a run, datasets in the paper's order.
pub fn rows(cells: &BTreeMap<CellKey, CellState>) -> Vec<ResultRow> {
    let mut groups: BTreeMap<_, Vec<(&CellKey, &CellState)>> = BTreeMap::new();
    for (key, state) in cells.iter().filter(|(_, state)| state.is_done()) {
        let name =
            (order(&key.dataset), &key.dataset, &key.model, key.blocks, pool_order(&key.pool), &key.pool);
        groups.entry(name).or_default().push((key, state));
    }
    groups.into_values().filter_map(|group| row(&group)).collect()
}

fn row(group: &[(&CellKey, &CellState)]) -> Option<ResultRow> {
    let (key, _) = group.first()?;
    let outcomes = || group.iter().flat_map(|(_, state)| state.folds.values());
    let folds: Vec<f64> =
        outcomes().map(|outcome| outcome.quality.accuracy.map(|a| 100.0 * a)).collect::<Option<_>>()?;
    let quality =
        crate::outcome::Quality::mean(&outcomes().map(|outcome| outcome.quality).collect::<Vec<_>>());
    let (accuracy, std) = mean_and_std(&folds);
    let printed = match key.has_reservoirs() {
        true => paper::result(&key.dataset, &key.pool, key.blocks),
        false => None,
    };
    let (paper_accuracy, paper_std) = (printed.and_then(|row| row.accuracy), printed.and_then(|row| row.std));
    Some(ResultRow {
        dataset: key.dataset.clone(),
        model: key.model.clone(),
        pool: key.pool.clone(),
        blocks: key.blocks,
        seeds: group.iter().map(|(key, _)| key.seed).collect(),
        accuracy,
        std,
        balanced_accuracy: quality.balanced_accuracy.map(|value| 100.0 * value),
        macro_f1: quality.macro_f1.map(|value| 100.0 * value),
        auroc: quality.auroc,
        paper_accuracy,
        paper_std,
        difference: paper_accuracy.map(|paper| accuracy - paper),
        folds,
    })
}

/// Mean and standard deviation (of the values themselves, not of a sample).
pub fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// The dataset's place in the paper's tables; all others come behind.
pub(crate) fn order(dataset: &str) -> usize {
    paper::datasets().position(|name| name == dataset).unwrap_or(usize::MAX)
}

/// The pooling's place in the paper's tables.
pub(super) fn pool_order(pool: &str) -> usize {
    POOLS.iter().position(|name| *name == pool).unwrap_or(POOLS.len())
}

/// The architectures, in the paper's order.
pub const POOLS: [&str; 4] = ["none", "graclus", "nmf", "ndp"];

/// One of the paper's tables: a line for each dataset, ours over the paper's.
pub fn wide(rows: &[ResultRow], blocks: usize) -> Sheet {
    let mut sheet = Sheet::new(std::iter::once("dataset").chain(POOLS), 1);
    let mut datasets: Vec<&str> = rows.iter().map(|row| row.dataset.as_str()).collect();
    datasets.dedup();
    for dataset in datasets {
        let cell = |pool: &&str| {
            let row = find(rows, dataset, pool, blocks);
            let ours = row.map_or("–".to_owned(), |row| format!("{:.1} ± {:.1}", row.accuracy, row.std));
            let printed = paper::result(dataset, pool, blocks);
            let theirs = match printed.map(|row| row.accuracy.zip(row.std)) {
                Some(Some((mean, std))) => format!(" ({mean:.1} ± {std:.1})"),
                Some(None) => " (memory error)".into(),
                None => String::new(),
            };
            ours + &theirs
        };
        if rows.iter().any(|row| row.dataset == dataset && row.model == "reservoir" && row.blocks == blocks) {
            sheet.rows.push(std::iter::once(dataset.to_owned()).chain(POOLS.iter().map(cell)).collect());
        }
    }
    sheet
}

/// The row of a pooling on a dataset.
pub fn find<'a>(rows: &'a [ResultRow], dataset: &str, pool: &str, blocks: usize) -> Option<&'a ResultRow> {
    let is = |row: &&ResultRow| {
        row.model == "reservoir" && row.dataset == dataset && row.pool == pool && row.blocks == blocks
    };
    rows.iter().find(is)
}

/// Every cell on a line of its own.
pub fn long(rows: &[ResultRow]) -> Sheet {
    let header = [
        "dataset",
        "model",
        "pool",
        "blocks",
        "accuracy",
        "std",
        "balanced_accuracy",
        "macro_f1",
        "auroc",
        "paper_accuracy",
        "paper_std",
        "difference",
    ];
    let mut sheet = Sheet::new(header, 3);
    let number = |value: Option<f64>, places: usize| value.map_or(String::new(), |v| format!("{v:.places$}"));
    for row in rows {
        sheet.rows.push(vec![
            row.dataset.clone(),
            row.model.clone(),
            row.pool.clone(),
            row.blocks.to_string(),
            number(Some(row.accuracy), 2),
            number(Some(row.std), 2),
            number(row.balanced_accuracy, 2),
            number(row.macro_f1, 2),
            number(row.auroc, 4),
            number(row.paper_accuracy, 1),
            number(row.paper_std, 1),
            number(row.difference, 2),
        ]);
    }
    sheet
}

/// The best model with reservoirs beside the baselines.
pub fn baselines(rows: &[ResultRow]) -> Sheet {
    let names = crate::baselines::Baseline::ALL.map(|baseline| baseline.name());
    let header = ["dataset", "best reservoir", "pooling", "blocks"].into_iter().chain(names);
    let mut sheet = Sheet::new(header, 1);
    let mut datasets: Vec<&str> = rows.iter().map(|row| row.dataset.as_str()).collect();
    datasets.dedup();
    for dataset in datasets {
        let here = || rows.iter().filter(|row| row.dataset == dataset);
        if !here().any(|row| row.model != "reservoir") {
            continue;
        }
        let best =
            here().filter(|row| row.model == "reservoir").max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
        let text = |row: Option<&ResultRow>| {
            row.map_or("–".to_owned(), |row| format!("{:.1} ± {:.1}", row.accuracy, row.std))
        };
        let mut line = vec![
            dataset.to_owned(),
            text(best),
            best.map_or(String::new(), |row| row.pool.clone()),
            best.map_or(String::new(), |row| row.blocks.to_string()),
        ];
        line.extend(names.iter().map(|name| text(here().find(|row| row.model == *name))));
        sheet.rows.push(line);
    }
    sheet
}
