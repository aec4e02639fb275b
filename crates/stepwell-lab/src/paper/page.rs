//! The page of `stepwell reproduce`.

use std::collections::{BTreeMap, BTreeSet};

use super::accuracies::{self, PoolResult, find};
use super::claims::{Claim, Verdict, claims};
use super::comparisons::comparisons;
use super::figures::{self, PaperFigure};
use super::times::{self, TimeRow};
use super::{order, printed, sections};
use crate::picture::page::Page;
use crate::picture::svg::shortened;
use crate::report::{Provenance, anchor};
use crate::results::POOLS;
use crate::run::{CellKey, Known};

/// A run's records, computed once for all parts of the page.
pub(super) struct PaperRun<'a> {
    pub known: &'a Known,
    pub results: Vec<PoolResult>,
    pub times: Vec<TimeRow>,
    /// Names of all datasets, in the paper's order.
    pub datasets: Vec<String>,
}

impl<'a> PaperRun<'a> {
    pub fn new(known: &'a Known) -> Self {
        let measured = known.paper.statistics.iter().map(|statistics| &statistics.summary.dataset);
        let names: BTreeSet<(usize, &String)> = known
            .cells
            .keys()
            .map(|key| &key.dataset)
            .chain(measured)
            .map(|name| (order(name), name))
            .collect();
        let datasets = names.into_iter().map(|(_, name)| name.clone()).collect();
        let results = accuracies::rows(&known.cells);
        Self { known, times: times::rows(&known.cells, &results), results, datasets }
    }

    /// The numbers of blocks of the paper's tables for which some cell was started.
    pub fn tables(&self) -> Vec<usize> {
        let begun =
            |blocks: &usize| self.known.cells.keys().any(|key| key.is_papers() && key.blocks == *blocks);
        [2, 3].into_iter().filter(begun).collect()
    }
}

/// The page of `stepwell reproduce`: a run's results next to the paper's. `drawn` holds
/// the computed figures that exist so far.
pub fn reproduction(known: &Known, provenance: &Provenance, drawn: &BTreeMap<PaperFigure, String>) -> String {
    let run = PaperRun::new(known);
    let mut used = BTreeSet::new();
    let anchors: Vec<String> = run.datasets.iter().map(|name| anchor("dataset", name, &mut used)).collect();
    let claims = claims(&run.results, &run.times, known);
    let blocks = run.tables();
    let has_figures = !drawn.is_empty() || !known.paper.measured.is_empty();
    let has_baselines = run.results.iter().any(|row| !row.is_papers());
    let mut parts = vec![
        ("table2", "Table 2: two blocks", blocks.contains(&2)),
        ("table3", "Table 3: three blocks", blocks.contains(&3)),
        ("time", "Accuracy and time", !run.times.is_empty()),
        ("claims", "The paper's claims", !claims.is_empty()),
        ("baselines", "Baselines", has_baselines),
        ("tests", "Significant differences", !comparisons(&run.results).is_empty()),
        ("statistics", "Tables 1 and 4: the graphs", !known.paper.statistics.is_empty()),
        ("figures", "Figures", has_figures),
        ("datasets", "Dataset by dataset", !run.datasets.is_empty()),
        ("made", "How this was made", true),
    ];
    parts.retain(|(.., is_present)| *is_present);

    let mut page = Page::new("Pyramidal reservoirs: the paper's tables and our results");
    summary(&mut page, &run, &claims, provenance);
    let links: Vec<_> =
        parts.iter().map(|(name, title, _)| ((*name).to_owned(), (*title).to_owned())).collect();
    page.contents(&links);
    for (name, title, _) in parts {
        page.section(name, title);
        match name {
            "table2" => sections::table(&mut page, &run, 2),
            "table3" => sections::table(&mut page, &run, 3),
            "time" => sections::time(&mut page, &run),
            "claims" => sections::claims(&mut page, &claims),
            "baselines" => sections::baselines(&mut page, &run),
            "tests" => sections::tests(&mut page, &run),
            "statistics" => sections::statistics(&mut page, known),
            "figures" => figures::section(&mut page, known, drawn),
            "datasets" => {
                let links: Vec<_> = anchors.iter().cloned().zip(run.datasets.iter().cloned()).collect();
                page.contents(&links);
                for (anchor, name) in &links {
                    sections::dataset(&mut page, &run, name, anchor);
                }
            }
            _ => provenance.section(&mut page, known),
        }
    }
    page.finish()
}

/// The summary at the top of the page.
fn summary(page: &mut Page, run: &PaperRun<'_>, claims: &[Claim], provenance: &Provenance) {
    page.paragraph(
        "Pyramidal Reservoir Graph Neural Networks (Bianchi, Gallicchio, Micheli): every dataset, pooling \
         and number of blocks by the paper's protocol, with the paper's figures next to ours.",
    );
    let tables = run.tables();
    let cells: Vec<(&String, &str, usize)> = run
        .datasets
        .iter()
        .flat_map(|name| POOLS.map(|pool| (name, pool)))
        .flat_map(|(name, pool)| tables.iter().map(move |&blocks| (name, pool, blocks)))
        .collect();
    let finished: Vec<&PoolResult> =
        cells.iter().filter_map(|(name, pool, blocks)| find(&run.results, name, pool, *blocks)).collect();
    let differences: Vec<f64> = finished.iter().filter_map(|row| row.difference).collect();
    let mut tiles = Vec::new();
    if !cells.is_empty() {
        let words = "cells of Tables 2 and 3 finished";
        tiles.push((format!("{} of {}", finished.len(), cells.len()), words.to_owned()));
    }
    if !differences.is_empty() {
        let reached = finished.iter().filter(|row| row.is_reached() == Some(true)).count();
        let words = "reach the paper's accuracy minus its spread or 1.5 points";
        tiles.push((format!("{reached} of {}", differences.len()), words.to_owned()));
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        tiles.push((format!("{mean:+.1}"), "points above the paper on average".to_owned()));
    }
    if let Some(median) = times_as_fast(run) {
        let words =
            "times as fast as in the paper (median; the paper used other machines, we use one thread)";
        tiles.push((format!("{median:.0}"), words.to_owned()));
    }
    if !claims.is_empty() {
        let held = claims.iter().filter(|claim| claim.verdict == Verdict::Holds).count();
        tiles.push((format!("{held} of {}", claims.len()), "of the paper's claims hold".to_owned()));
    }
    page.tiles(&tiles);
    missing(page, run, &cells);
    page.paragraph(&format!("Written {} by stepwell {}.", provenance.date, provenance.version));
}

/// The median ratio of the paper's seconds to ours.
fn times_as_fast(run: &PaperRun<'_>) -> Option<f64> {
    let ratio = |row: &TimeRow| {
        Some(printed::result(&row.dataset, &row.pool, row.blocks)?.seconds()? / row.seconds())
    };
    let mut ratios: Vec<f64> = run.times.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// Lists the missing cells.
fn missing(page: &mut Page, run: &PaperRun<'_>, cells: &[(&String, &str, usize)]) {
    let absent: Vec<String> = cells
        .iter()
        .filter(|(name, pool, blocks)| find(&run.results, name, pool, *blocks).is_none())
        .map(|(name, pool, blocks)| format!("{} {pool} L={blocks}", shortened(name, 60)))
        .collect();
    if !absent.is_empty() {
        page.paragraph(&format!("Missing so far: {}.", absent.join(", ")));
    }
    let left_out: Vec<&str> =
        printed::datasets().filter(|name| !run.datasets.iter().any(|found| found == name)).collect();
    if !left_out.is_empty() {
        page.paragraph(&format!("Datasets of the paper that are not in this run: {}.", left_out.join(", ")));
    }
    let timed = |key: &CellKey| {
        run.times
            .iter()
            .any(|row| row.dataset == key.dataset && row.pool == key.pool && row.blocks == key.blocks)
    };
    let mut done = run.known.cells.iter().filter(|(key, state)| key.is_papers() && state.is_done());
    if done.any(|(key, _)| !timed(key)) {
        page.paragraph(if run.times.is_empty() {
            "No times have been measured yet."
        } else {
            "Times of some models have not been measured yet."
        });
    }
}
