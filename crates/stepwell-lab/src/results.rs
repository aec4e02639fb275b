//! Results of a run's finished cells, with all seeds of a model together.

use std::collections::BTreeMap;

use serde::Serialize;
use stepwell::config::Metric;

use crate::metrics::{Quality, mean_and_std};
use crate::run::{CellKey, CellState};
use crate::significance::{Test, paired};

/// The paper's poolings, in the order of tables and charts.
pub const POOLS: [&str; 4] = ["none", "graclus", "nmf", "ndp"];

/// A pooling's position in that order. Others come last.
pub(crate) fn pool_order(pool: &str) -> usize {
    POOLS.iter().take_while(|name| **name != pool).count()
}

/// A model on a dataset, all seeds together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelResult {
    /// The dataset.
    pub dataset: String,
    /// See [`CellKey::model`].
    pub model: String,
    /// The pooling.
    pub pool: String,
    /// Blocks; 0 for a baseline.
    pub blocks: usize,
    /// Seeds of the protocol.
    pub seeds: Vec<u64>,
    /// The headline metric.
    #[serde(skip)]
    pub metric: Metric,
    /// The mean of the metric over folds and seeds that have a value. Shares are in
    /// percent.
    #[serde(rename = "accuracy")]
    pub mean: f64,
    /// Its standard deviation over folds and seeds; with one fold, over draws of the
    /// weights.
    pub std: f64,
    /// Mean balanced accuracy, in percent.
    pub balanced_accuracy: Option<f64>,
    /// Mean macro-averaged F1, in percent.
    pub macro_f1: Option<f64>,
    /// Mean area under the ROC curve.
    pub auroc: Option<f64>,
    /// The values of the folds that have one, by seed and fold. Shares are in percent.
    pub folds: Vec<f64>,
}

/// All finished classification cells, by accuracy.
pub fn results(cells: &BTreeMap<CellKey, CellState>) -> Vec<ModelResult> {
    by(cells, |_| Metric::Accuracy)
}

/// All finished cells, each by its headline metric.
pub fn headlines(cells: &BTreeMap<CellKey, CellState>) -> Vec<ModelResult> {
    by(cells, CellState::headline)
}

fn by(cells: &BTreeMap<CellKey, CellState>, metric: fn(&CellState) -> Metric) -> Vec<ModelResult> {
    let mut groups: BTreeMap<CellKey, Vec<(&CellKey, &CellState)>> = BTreeMap::new();
    for (key, state) in cells.iter().filter(|(_, state)| state.is_done()) {
        groups.entry(CellKey { seed: 0, ..key.clone() }).or_default().push((key, state));
    }
    let result = |(key, cells): (CellKey, Vec<(&CellKey, &CellState)>)| {
        let metric = cells.first().map(|(_, state)| metric(state))?;
        result(key, &cells, metric)
    };
    groups.into_iter().filter_map(result).collect()
}

fn result(key: CellKey, cells: &[(&CellKey, &CellState)], metric: Metric) -> Option<ModelResult> {
    let qualities: Vec<Quality> = cells
        .iter()
        .flat_map(|(_, state)| state.folds.values().map(|result| result.quality.clone()))
        .collect();
    let scale = if metric.is_share() { 100.0 } else { 1.0 };
    let folds: Vec<f64> = qualities.iter().filter_map(|quality| Some(scale * quality.get(metric)?)).collect();
    let quality = Quality::mean(&qualities);
    let (mean, mut std) = mean_and_std(&folds);
    if let ([(_, state)], [_]) = (cells, &qualities[..]) {
        let over_draws = state.folds.values().find_map(|fold| fold.std.get(metric));
        std = over_draws.map_or(std, |std| scale * std);
    }
    let CellKey { dataset, model, pool, blocks, .. } = key;
    (!folds.is_empty()).then(|| ModelResult {
        dataset,
        model,
        pool,
        blocks,
        seeds: cells.iter().map(|(key, _)| key.seed).collect(),
        metric,
        mean,
        std,
        balanced_accuracy: quality.get(Metric::BalancedAccuracy).map(|value| 100.0 * value),
        macro_f1: quality.get(Metric::MacroF1).map(|value| 100.0 * value),
        auroc: quality.get(Metric::RocAuc),
        folds,
    })
}

impl ModelResult {
    /// Tests over folds whether it differs from another model on the same dataset.
    /// `None` if metrics, seeds or folds differ.
    pub fn compare(&self, other: &Self) -> Option<Test> {
        let same = self.dataset == other.dataset && self.seeds == other.seeds && self.metric == other.metric;
        if !same || self.folds.len() != other.folds.len() {
            return None;
        }
        let differences: Vec<f64> = self.folds.iter().zip(&other.folds).map(|(a, b)| a - b).collect();
        // For each seed, one fold is the test set and the others are the training set.
        let folds = self.folds.len() / self.seeds.len().max(1);
        paired(&differences, 1.0 / folds.saturating_sub(1).max(1) as f64)
    }
}
