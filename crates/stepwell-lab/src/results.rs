//! Results of a run's finished cells, with all seeds of a model together.

use std::collections::BTreeMap;

use serde::Serialize;
use stepwell::config::{Choose, Metric, typed};

use crate::metrics::{Quality, mean_and_std};
use crate::run::{CellKey, CellState, FoldResult};
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
    /// The number of folds, with and without a value.
    #[serde(skip)]
    pub all_folds: usize,
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
        all_folds: qualities.len(),
    })
}

/// Describes the options that leave-one-out chose in the folds of a model, most frequent values
/// first: `structure none (3 of 4 folds), degree (1); wl_weight 0 (all folds)`. `None` if it
/// compared nothing.
pub fn chosen<'f>(folds: impl IntoIterator<Item = &'f FoldResult>) -> Option<String> {
    let folds: Vec<&FoldResult> = folds.into_iter().collect();
    let described = |option: &str| {
        let mut values: Vec<(String, usize)> = Vec::new();
        for value in folds.iter().filter_map(|fold| fold.chosen.get(option)).map(typed) {
            match values.iter_mut().find(|(known, _)| *known == value) {
                Some((_, count)) => *count += 1,
                None => values.push((value, 1)),
            }
        }
        values.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all = folds.len();
        let told = |(index, (value, count)): (usize, &(String, usize))| match (index, *count) {
            (_, 1) if all == 1 => value.clone(),
            (_, count) if count == all => format!("{value} (all folds)"),
            (0, count) => format!("{value} ({count} of {all} folds)"),
            (_, count) => format!("{value} ({count})"),
        };
        let values: Vec<String> = values.iter().enumerate().map(told).collect();
        (!values.is_empty()).then(|| format!("{option} {}", values.join(", ")))
    };
    let all: Vec<String> = Choose::ALL.iter().filter_map(|choose| described(choose.option())).collect();
    (!all.is_empty()).then(|| all.join("; "))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn choices_are_counted_over_folds() {
        let fold = |structure: serde_json::Value, width: f64| FoldResult {
            chosen: [("structure".to_owned(), structure), ("gaussian_width".to_owned(), json!(width))].into(),
            ..FoldResult::default()
        };
        let (none, some) = (json!([]), json!(["log-degree", "clustering"]));
        let folds = [fold(none, 1.0), fold(some.clone(), 1.0), fold(some, 1.0)];
        let told = "structure log-degree,clustering (2 of 3 folds), none (1); gaussian_width 1 (all folds)";
        assert_eq!(chosen(&folds).as_deref(), Some(told));
        assert_eq!(chosen(&folds[..1]).as_deref(), Some("structure none; gaussian_width 1"));
        assert_eq!(chosen(&[FoldResult::default()]), None);
        // Some folds come from an older version, whose records have no choices.
        let mixed = [FoldResult::default(), folds[1].clone()];
        assert!(chosen(&mixed).unwrap().contains("clustering (1 of 2 folds)"));
    }
}
