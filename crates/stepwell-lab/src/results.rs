//! Accuracies of a run's finished cells, all seeds of a model together.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::metrics::{Quality, mean_and_std};
use crate::run::{CellKey, CellState};
use crate::significance::{Test, paired};

/// The paper's poolings, in the order of tables and charts.
pub const POOLS: [&str; 4] = ["none", "graclus", "nmf", "ndp"];

/// A pooling's place there; others come behind.
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
    /// Mean area under the ROC curve.
    pub auroc: Option<f64>,
    /// Accuracies, in percent, seed by seed and fold by fold.
    pub folds: Vec<f64>,
}

/// All finished cells of classification.
pub fn results(cells: &BTreeMap<CellKey, CellState>) -> Vec<ModelResult> {
    let mut groups: BTreeMap<CellKey, Vec<(&CellKey, &CellState)>> = BTreeMap::new();
    for (key, state) in cells.iter().filter(|(_, state)| state.is_done()) {
        groups.entry(CellKey { seed: 0, ..key.clone() }).or_default().push((key, state));
    }
    groups.into_iter().filter_map(|(key, cells)| result(key, &cells)).collect()
}

fn result(key: CellKey, cells: &[(&CellKey, &CellState)]) -> Option<ModelResult> {
    let qualities: Vec<Quality> =
        cells.iter().flat_map(|(_, state)| state.folds.values().map(|result| result.quality)).collect();
    let folds: Vec<f64> =
        qualities.iter().map(|quality| quality.accuracy.map(|share| 100.0 * share)).collect::<Option<_>>()?;
    let quality = Quality::mean(&qualities);
    let (accuracy, std) = mean_and_std(&folds);
    let CellKey { dataset, model, pool, blocks, .. } = key;
    Some(ModelResult {
        dataset,
        model,
        pool,
        blocks,
        seeds: cells.iter().map(|(key, _)| key.seed).collect(),
        accuracy,
        std,
        balanced_accuracy: quality.balanced_accuracy.map(|value| 100.0 * value),
        macro_f1: quality.macro_f1.map(|value| 100.0 * value),
        auroc: quality.auroc,
        folds,
    })
}

impl ModelResult {
    /// Whether it differs from another on the same dataset, tested over folds;
    /// nothing where seeds or folds are not the same.
    pub fn compare(&self, other: &Self) -> Option<Test> {
        let same = self.dataset == other.dataset && self.seeds == other.seeds;
        if !same || self.folds.len() != other.folds.len() {
            return None;
        }
        let differences: Vec<f64> = self.folds.iter().zip(&other.folds).map(|(a, b)| a - b).collect();
        // One fold is tested for the rest of one seed's to learn from.
        let folds = self.folds.len() / self.seeds.len().max(1);
        paired(&differences, 1.0 / folds.saturating_sub(1).max(1) as f64)
    }
}
