//! Tables 1 and 4: what the graphs look like, before and after pooling.

use serde::{Deserialize, Serialize};
use stepwell_data::Summary;

use super::results::{POOLS, order};
use super::sheet::Sheet;
use crate::paper;

/// A dataset with the levels of one pooling.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Statistics {
    /// The pooling; "none" for the dataset alone.
    pub pool: String,
    /// The numbers.
    #[serde(flatten)]
    pub summary: Summary,
}

fn sorted(all: &[Statistics]) -> Vec<&Statistics> {
    let mut sorted: Vec<&Statistics> = all.iter().collect();
    let place = |pool: &str| POOLS.iter().position(|name| *name == pool);
    sorted.sort_by_key(|s| (order(&s.summary.dataset), s.summary.dataset.clone(), place(&s.pool)));
    sorted.dedup_by_key(|s| (s.summary.dataset.clone(), s.pool.clone()));
    sorted
}

fn beside(ours: f64, paper: Option<f64>, places: usize) -> [String; 2] {
    [format!("{ours:.places$}"), paper.map_or("–".into(), |paper| format!("{paper:.places$}"))]
}

/// Table 1: one line for each dataset.
pub fn datasets(all: &[Statistics]) -> Sheet {
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
    let mut sheet = Sheet::new(header, 1);
    for statistics in sorted(all).into_iter().filter(|statistics| statistics.pool == "none") {
        let ours = &statistics.summary;
        let printed = paper::table1(&ours.dataset);
        let mut row = vec![ours.dataset.clone()];
        row.extend(beside(ours.graphs as f64, printed.map(|p| p.graphs as f64), 0));
        row.extend(beside(ours.classes.unwrap_or(0) as f64, printed.map(|p| p.classes as f64), 0));
        row.extend(beside(ours.avg_vertices, printed.map(|p| p.vertices), 2));
        row.extend(beside(ours.avg_edges, printed.map(|p| p.edges), 2));
        row.extend(beside(ours.attributes as f64, printed.map(|p| p.attributes as f64), 0));
        let yes = |labels: bool| if labels { "yes".to_owned() } else { "no".to_owned() };
        row.push(yes(ours.node_labels > 0));
        row.push(printed.map_or("–".into(), |printed| yes(printed.labels)));
        sheet.rows.push(row);
    }
    sheet
}

/// Table 4: one line for each level.
pub fn pooled(all: &[Statistics]) -> Sheet {
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
    let mut sheet = Sheet::new(header, 2);
    for Statistics { pool, summary } in sorted(all) {
        // The original graphs are told once, with the dataset alone.
        let levels = summary.levels.iter().filter(|level| (level.level > 0) == (pool != "none"));
        for level in levels {
            let printed = paper::table4(&summary.dataset, pool, level.level);
            let mut row = vec![summary.dataset.clone(), pool.clone(), level.level.to_string()];
            row.extend(beside(level.avg_vertices, printed.and_then(|p| p.vertices), 1));
            row.push(format!("{:.1}", level.avg_edges));
            row.extend(beside(level.avg_nnz, printed.and_then(|p| p.edges), 1));
            row.push(level.rho.map_or("?".into(), |rho| format!("{rho:.2}")));
            row.push(printed.and_then(|p| p.rho).map_or("–".into(), |rho| format!("{rho:.2}")));
            row.push(format!("{:.2}", level.bipartite));
            sheet.rows.push(row);
        }
    }
    sheet
}
