//! Which differences between architectures are more than luck.

use serde::Serialize;

use super::results::{POOLS, ResultRow, find};
use super::sheet::Sheet;
use crate::significance::{Test, paired};

/// Two architectures on one dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The dataset.
    pub dataset: String,
    /// Blocks of both.
    pub blocks: usize,
    /// The one.
    pub first: String,
    /// The other.
    pub second: String,
    /// Mean difference of the accuracies, in points; t; p.
    #[serde(flatten)]
    pub test: Test,
}

/// Every pair of architectures that both are finished, tested over the folds.
pub fn comparisons(rows: &[ResultRow]) -> Vec<Comparison> {
    let mut found = Vec::new();
    let mut cells: Vec<(&str, usize)> = rows
        .iter()
        .filter(|row| row.model == "reservoir")
        .map(|row| (row.dataset.as_str(), row.blocks))
        .collect();
    cells.dedup();
    for (dataset, blocks) in cells {
        for (index, first) in POOLS.iter().enumerate() {
            for second in &POOLS[index + 1..] {
                let pair = find(rows, dataset, first, blocks).zip(find(rows, dataset, second, blocks));
                let Some((a, b)) = pair.filter(|(a, b)| a.folds.len() == b.folds.len() && a.seeds == b.seeds)
                else {
                    continue;
                };
                let differences: Vec<f64> = a.folds.iter().zip(&b.folds).map(|(a, b)| a - b).collect();
                // One fold is tested for the rest of one seed's to learn from.
                let folds = a.folds.len() / a.seeds.len().max(1);
                let ratio = 1.0 / folds.saturating_sub(1).max(1) as f64;
                if let Some(test) = paired(&differences, ratio) {
                    let (first, second) = ((*first).to_owned(), (*second).to_owned());
                    found.push(Comparison { dataset: dataset.to_owned(), blocks, first, second, test });
                }
            }
        }
    }
    found
}

/// A line for each pair.
pub fn sheet(comparisons: &[Comparison]) -> Sheet {
    let mut sheet = Sheet::new(["dataset", "first", "second", "blocks", "difference", "t", "p"], 3);
    for Comparison { dataset, blocks, first, second, test } in comparisons {
        sheet.rows.push(vec![
            dataset.clone(),
            first.clone(),
            second.clone(),
            blocks.to_string(),
            format!("{:+.2}", test.mean),
            format!("{:.2}", test.t),
            format!("{:.4}", test.p),
        ]);
    }
    sheet
}
