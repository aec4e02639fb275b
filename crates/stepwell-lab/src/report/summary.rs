//! What a page says first.

use super::{Facts, Material};
use crate::paper;
use crate::picture::page::Page;
use crate::picture::svg::shortened;
use crate::run::CellKey;
use crate::tables::{Claim, POOLS, ResultRow, Verdict, find};

pub(super) fn reproduction(page: &mut Page, material: &Material<'_>, claims: &[Claim], facts: &Facts) {
    page.paragraph(
        "Pyramidal Reservoir Graph Neural Networks (Bianchi, Gallicchio, Micheli): every dataset, pooling \
         and number of blocks through the paper's protocol, with the paper's figures beside ours.",
    );
    let tables = material.tables();
    let cells: Vec<(&String, &str, usize)> = material
        .datasets
        .iter()
        .flat_map(|name| POOLS.map(|pool| (name, pool)))
        .flat_map(|(name, pool)| tables.iter().map(move |&blocks| (name, pool, blocks)))
        .collect();
    let finished: Vec<&ResultRow> = cells
        .iter()
        .filter_map(|(name, pool, blocks)| find(&material.results, name, pool, *blocks))
        .collect();
    let differences: Vec<f64> = finished.iter().filter_map(|row| row.difference).collect();
    let mut tiles = Vec::new();
    if !cells.is_empty() {
        let words = "cells of Tables 2 and 3 finished";
        tiles.push((format!("{} of {}", finished.len(), cells.len()), words.to_owned()));
    }
    if !differences.is_empty() {
        let reached = finished.iter().filter(|row| row.is_reached() == Some(true)).count();
        let words = "reach the paper's accuracy, less its spread or 1.5 points";
        tiles.push((format!("{reached} of {}", differences.len()), words.to_owned()));
        let mean = differences.iter().sum::<f64>() / differences.len() as f64;
        tiles.push((format!("{mean:+.1}"), "points above the paper on average".to_owned()));
    }
    if let Some(median) = times_as_fast(material) {
        let words = "times as fast as the paper's figures (median; other machines, one thread here)";
        tiles.push((format!("{median:.0}"), words.to_owned()));
    }
    if !claims.is_empty() {
        let held = claims.iter().filter(|claim| claim.verdict == Verdict::Holds).count();
        tiles.push((format!("{held} of {}", claims.len()), "of the paper's claims hold".to_owned()));
    }
    page.tiles(&tiles);
    missing(page, material, &cells);
    page.paragraph(&format!("Written {} by stepwell {}.", facts.date, facts.version));
}

/// The median of the paper's seconds over ours.
fn times_as_fast(material: &Material<'_>) -> Option<f64> {
    let ratio = |row: &crate::tables::TimeRow| {
        let printed = paper::result(&row.dataset, &row.pool, row.blocks)?;
        Some((printed.train_seconds? + printed.test_seconds?) / row.seconds())
    };
    let mut ratios: Vec<f64> = material.times.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied()
}

/// Says what is not there.
fn missing(page: &mut Page, material: &Material<'_>, cells: &[(&String, &str, usize)]) {
    let absent: Vec<String> = cells
        .iter()
        .filter(|(name, pool, blocks)| find(&material.results, name, pool, *blocks).is_none())
        .map(|(name, pool, blocks)| format!("{} {pool} L={blocks}", shortened(name, 60)))
        .collect();
    if !absent.is_empty() {
        page.paragraph(&format!("Missing so far: {}.", absent.join(", ")));
    }
    let left_out: Vec<&str> =
        paper::datasets().filter(|name| !material.datasets.iter().any(|found| found == name)).collect();
    if !left_out.is_empty() {
        page.paragraph(&format!("Datasets of the paper that are not in this run: {}.", left_out.join(", ")));
    }
    let timed = |key: &CellKey| {
        material
            .times
            .iter()
            .any(|row| row.dataset == key.dataset && row.pool == key.pool && row.blocks == key.blocks)
    };
    let mut done = material.known.cells.iter().filter(|(key, state)| key.has_reservoirs() && state.is_done());
    if done.any(|(key, _)| !timed(key)) {
        page.paragraph(match material.times.is_empty() {
            true => "No times have been taken yet.",
            false => "Times of some models have not been taken yet.",
        });
    }
}

pub(super) fn evaluation(page: &mut Page, material: &Material<'_>) {
    let mut tiles = Vec::new();
    for row in material.results.iter().filter(|row| row.blocks > 0) {
        let name = shortened(&row.dataset, 60);
        let how = if row.model == "reservoir" { "" } else { ", nothing searched" };
        let pool = shortened(&row.pool, 60);
        let words = format!("% right on {name}: pooling {pool}, {} blocks{how}", row.blocks);
        tiles.push((format!("{:.1} ± {:.1}", row.accuracy, row.std), words));
    }
    let best = material.results.iter().filter(|row| row.blocks == 0);
    if let Some(best) = best.max_by(|a, b| a.accuracy.total_cmp(&b.accuracy)) {
        let words = format!("the best baseline, {}", best.model);
        tiles.push((format!("{:.1} ± {:.1}", best.accuracy, best.std), words));
    }
    if !tiles.is_empty() {
        page.tiles(&tiles);
    }
}
