//! Tables 1 and 4: what the graphs look like, before and after pooling.

use serde::{Deserialize, Serialize};
use stepwell_data::{LevelSummary, Summary};

use super::{order, printed};
use crate::results::pool_order;
use crate::table::{Cell, Table};

/// A dataset with the levels of one pooling.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Statistics {
    /// The pooling; "none" for the dataset alone.
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

/// The rows of Table 1: one for each dataset.
pub(super) fn datasets(all: &[Statistics]) -> Vec<DatasetRow<'_>> {
    let alone = sorted(all).into_iter().filter(|statistics| statistics.pool == "none");
    alone
        .map(|Statistics { summary, .. }| DatasetRow {
            ours: Summary { levels: Vec::new(), ..summary.clone() },
            paper: printed::table1(&summary.dataset),
        })
        .collect()
}

/// The rows of Table 4: one for each level. The original graphs stand there
/// once, with the dataset alone.
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

/// Table 1.
pub(super) fn datasets_table(rows: &[DatasetRow<'_>]) -> Table {
    let header = [
        "dataset",
        "graphs",
        "paper",
        "classes",
        "paper",
        "avg. vertices",
        "paper",
        "avg. edges",
        "paper",
        "attributes",
        "paper",
        "labels",
        "paper",
    ];
    let mut table = Table::new("Table 1: the datasets, ours beside the paper's", header);
    for DatasetRow { ours, paper } in rows {
        let yes = |labels: bool| Cell::text(if labels { "yes" } else { "no" });
        table.rows.push(vec![
            Cell::text(&ours.dataset),
            Cell::count(ours.graphs),
            paper.map_or_else(Cell::none, |paper| Cell::count(paper.graphs)),
            Cell::count(ours.classes.unwrap_or(0)),
            paper.map_or_else(Cell::none, |paper| Cell::count(paper.classes)),
            Cell::number(ours.avg_vertices, 2),
            Cell::optional(paper.map(|paper| paper.vertices), 2),
            Cell::number(ours.avg_edges, 2),
            Cell::optional(paper.map(|paper| paper.edges), 2),
            Cell::count(ours.attributes),
            paper.map_or_else(Cell::none, |paper| Cell::count(paper.attributes)),
            yes(ours.node_labels > 0),
            paper.map_or_else(Cell::none, |paper| yes(paper.labels)),
        ]);
    }
    table
}

/// Table 4.
pub(super) fn pooled_table(rows: &[PooledRow<'_>]) -> Table {
    let header = [
        "dataset",
        "pool",
        "level",
        "vertices",
        "paper",
        "edges",
        "stored entries",
        "paper's edges",
        "rho",
        "paper",
        "bipartite",
    ];
    let mut table = Table::new("Means over graphs, ours beside the paper's Table 4", header);
    for PooledRow { dataset, pool, ours, paper } in rows {
        table.rows.push(vec![
            Cell::text(*dataset),
            Cell::text(*pool),
            Cell::count(ours.level),
            Cell::number(ours.avg_vertices, 1),
            Cell::optional(paper.and_then(|paper| paper.vertices), 1),
            Cell::number(ours.avg_edges, 1),
            Cell::number(ours.avg_nnz, 1),
            Cell::optional(paper.and_then(|paper| paper.edges), 1),
            ours.rho.map_or_else(|| Cell::missing("?"), |rho| Cell::number(rho, 2)),
            Cell::optional(paper.and_then(|paper| paper.rho), 2),
            Cell::number(ours.bipartite, 2),
        ]);
    }
    table
}
