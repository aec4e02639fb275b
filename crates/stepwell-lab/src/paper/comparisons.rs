//! Which differences between architectures are more than luck.

use serde::Serialize;

use super::accuracies::PoolResult;
use crate::significance::Test;
use crate::table::{Cell, Table};

/// Two architectures on one dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The dataset.
    pub dataset: String,
    /// Blocks of both.
    pub blocks: usize,
    /// The pooling of one.
    pub first: String,
    /// The pooling of the other.
    pub second: String,
    /// Mean difference of the accuracies, in points; t; p.
    #[serde(flatten)]
    pub test: Test,
}

/// Every two architectures that are finished, tested over the folds.
pub fn comparisons(rows: &[PoolResult]) -> Vec<Comparison> {
    let papers: Vec<&PoolResult> = rows.iter().filter(|row| row.is_papers()).collect();
    let mut found = Vec::new();
    for (index, first) in papers.iter().enumerate() {
        for second in &papers[index + 1..] {
            if first.ours.blocks != second.ours.blocks {
                continue;
            }
            found.extend(first.ours.compare(&second.ours).map(|test| Comparison {
                dataset: first.ours.dataset.clone(),
                blocks: first.ours.blocks,
                first: first.ours.pool.clone(),
                second: second.ours.pool.clone(),
                test,
            }));
        }
    }
    found
}

/// A line for each pair.
pub fn table(comparisons: &[Comparison]) -> Table {
    let header = ["dataset", "first", "second", "blocks", "difference", "t", "p"];
    let mut table = Table::new("First minus second", header);
    for Comparison { dataset, blocks, first, second, test } in comparisons {
        let mut row = [dataset, first, second].map(Cell::text).to_vec();
        row.push(Cell::count(*blocks));
        row.extend(test.cells());
        table.rows.push(row);
    }
    table
}
