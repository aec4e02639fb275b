//! Tables 1 and 4: sizes of the graphs, before and after pooling.

use serde::{Deserialize, Serialize};
use stepwell_data::{LevelSummary, Summary};

use super::{order, printed};
use crate::results::pool_order;
use crate::table::{Cell, Column, Table};

/// A dataset with the levels of one pooling.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Statistics {
    /// The pooling; "none" for the dataset itself.
    pub pool: String,
    /// The numbers.
    #[serde(flatten)]
    pub summary: Summary,
}

/// A dataset, for Table 1.
#[derive(Serialize)]
pub(super) struct DatasetRow<'a> {
    #[serde(flatten)]
    ours: Summary,
    paper: Option<&'a printed::DatasetStatistics>,
}

/// A dataset after some poolings, for Table 4.
#[derive(Serialize)]
pub(super) struct PooledRow<'a> {
    dataset: &'a str,
    pool: &'a str,
    #[serde(flatten)]
    ours: &'a LevelSummary,
    paper: Option<&'a printed::PooledStatistics>,
}

fn sorted(all: &[Statistics]) -> Vec<&Statistics> {
    let mut sorted: Vec<&Statistics> = all.iter().collect();
    sorted.sort_by_key(|s| (order(&s.summary.dataset), s.summary.dataset.clone(), pool_order(&s.pool)));
    sorted.dedup_by_key(|s| (s.summary.dataset.clone(), s.pool.clone()));
    sorted
}

/// The rows of Table 1: one per dataset.
pub(super) fn datasets(all: &[Statistics]) -> Vec<DatasetRow<'_>> {
    let alone = sorted(all).into_iter().filter(|statistics| statistics.pool == "none");
    alone
        .map(|Statistics { summary, .. }| DatasetRow {
            ours: Summary { levels: Vec::new(), ..summary.clone() },
            paper: printed::table1(&summary.dataset),
        })
        .collect()
}

/// The rows of Table 4: one per level. The original graphs appear once, with the
/// dataset itself.
pub(super) fn pooled(all: &[Statistics]) -> Vec<PooledRow<'_>> {
    let mut rows = Vec::new();
    for Statistics { pool, summary } in sorted(all) {
        let levels = summary.levels.iter().filter(|level| (level.level > 0) == (pool != "none"));
        rows.extend(levels.map(|ours| PooledRow {
            dataset: &summary.dataset,
            pool,
            ours,
            paper: printed::table4(&summary.dataset, pool, ours.level),
        }));
    }
    rows
}

/// Table 1: each of our columns comes before the paper's.
pub(super) fn datasets_table(rows: &[DatasetRow<'_>]) -> Table {
    fn count(value: Option<usize>) -> Cell {
        value.map_or_else(Cell::none, Cell::count)
    }
    fn yes(labels: Option<bool>) -> Cell {
        labels.map_or_else(Cell::none, |labels| Cell::text(if labels { "yes" } else { "no" }))
    }
    let columns: [Column<DatasetRow<'_>>; 13] = [
        ("dataset", |row| Cell::text(&row.ours.dataset)),
        ("graphs", |row| Cell::count(row.ours.graphs)),
        ("paper", |row| count(row.paper.map(|paper| paper.graphs))),
        ("classes", |row| Cell::count(row.ours.classes.unwrap_or(0))),
        ("paper", |row| count(row.paper.map(|paper| paper.classes))),
        ("avg. vertices", |row| Cell::number(row.ours.avg_vertices, 2)),
        ("paper", |row| Cell::optional(row.paper.map(|paper| paper.vertices), 2)),
        ("avg. edges", |row| Cell::number(row.ours.avg_edges, 2)),
        ("paper", |row| Cell::optional(row.paper.map(|paper| paper.edges), 2)),
        ("attributes", |row| Cell::count(row.ours.attributes)),
        ("paper", |row| count(row.paper.map(|paper| paper.attributes))),
        ("labels", |row| yes(Some(row.ours.node_labels > 0))),
        ("paper", |row| yes(row.paper.map(|paper| paper.labels))),
    ];
    Table::of("Table 1: the datasets, ours next to the paper's", rows, &columns)
}

/// Table 4.
pub(super) fn pooled_table(rows: &[PooledRow<'_>]) -> Table {
    let columns: [Column<PooledRow<'_>>; 11] = [
        ("dataset", |row| Cell::text(row.dataset)),
        ("pool", |row| Cell::text(row.pool)),
        ("level", |row| Cell::count(row.ours.level)),
        ("vertices", |row| Cell::number(row.ours.avg_vertices, 1)),
        ("paper", |row| Cell::optional(row.paper.and_then(|paper| paper.vertices), 1)),
        ("edges", |row| Cell::number(row.ours.avg_edges, 1)),
        ("stored entries", |row| Cell::number(row.ours.avg_nnz, 1)),
        ("paper's edges", |row| Cell::optional(row.paper.and_then(|paper| paper.edges), 1)),
        ("rho", |row| Cell::optional(row.ours.rho, 2)),
        ("paper", |row| Cell::optional(row.paper.and_then(|paper| paper.rho), 2)),
        ("bipartite", |row| Cell::number(row.ours.bipartite, 2)),
    ];
    Table::of("Means over graphs, next to the paper's Table 4", rows, &columns)
}
