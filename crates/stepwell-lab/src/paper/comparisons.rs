//! Tests which differences between architectures are significant.

use serde::Serialize;

use super::accuracies::PoolResult;
use crate::significance::Test;
use crate::table::{Cell, Column, Table};

/// Two architectures on one dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The dataset.
    pub dataset: String,
    /// Blocks of both.
    pub blocks: usize,
    /// The pooling of the first.
    pub first: String,
    /// The pooling of the second.
    pub second: String,
    /// Mean difference of the accuracies, in points; t; p.
    #[serde(flatten)]
    pub test: Test,
}

/// Tests every pair of finished architectures over the folds.
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

/// One row per pair.
pub fn table(comparisons: &[Comparison]) -> Table {
    let columns: [Column<Comparison>; 7] = [
        ("dataset", |pair| Cell::text(&pair.dataset)),
        ("first", |pair| Cell::text(&pair.first)),
        ("second", |pair| Cell::text(&pair.second)),
        ("blocks", |pair| Cell::count(pair.blocks)),
        ("difference", |pair| pair.test.difference()),
        ("t", |pair| Cell::number(pair.test.t, 2)),
        ("p", |pair| Cell::number(pair.test.p, 4)),
    ];
    Table::of("First minus second", comparisons, &columns)
}
