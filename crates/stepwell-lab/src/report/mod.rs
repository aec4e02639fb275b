//! A run as one HTML page: sortable tables, and how the run was made.
//!
//! Pages are pure functions of a run's records and of their [`Provenance`]: the same
//! input gives the same bytes.

mod demo;
mod judged;
pub(crate) mod models;
mod provenance;

pub use demo::{Architecture, Demo};
pub use judged::judged_section;
pub use models::{FoldRow, fold_table};
pub use provenance::{Machine, Provenance};

use std::collections::BTreeSet;

use stepwell::config::Metric;
use stepwell_data::counted;

use crate::metrics::{heading, mean_cell};
use crate::picture::page::Page;
use crate::picture::svg::shortened;
use crate::results::{ModelResult, chosen, headlines};
use crate::run::Known;
use crate::table::{Cell, Table};

/// A unique anchor for links, of letters, digits and dashes.
pub(crate) fn anchor(prefix: &str, name: &str, used: &mut BTreeSet<String>) -> String {
    let plain: String = name
        .chars()
        .take(60)
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let mut found = format!("{prefix}-{plain}");
    while !used.insert(found.clone()) {
        found.push('x');
    }
    found
}

/// The page of `stepwell evaluate`: models on a dataset, fold by fold.
pub fn evaluation(known: &Known, provenance: &Provenance) -> String {
    let names: BTreeSet<&str> = known.cells.keys().map(|key| key.dataset.as_str()).collect();
    let results = headlines(&known.cells);
    let mut page =
        Page::new(&format!("Evaluation on {}", names.iter().copied().collect::<Vec<_>>().join(", ")));
    tiles(&mut page, &results);
    let mut used = BTreeSet::new();
    for name in names {
        page.section(&anchor("dataset", name, &mut used), name);
        let models = models::models(known, name);
        let metric = models::headline(&models);
        models::section(&mut page, &models, metric, None, |page| {
            for cells in models.values() {
                let folds = cells.iter().flat_map(|(_, state)| state.folds.values());
                if let Some((words, (key, _))) = chosen(folds).zip(cells.first()) {
                    page.paragraph(&format!("{}: chosen by leave-one-out: {words}.", key.subject()));
                }
            }
            if let Some(table) = models::targets(&models, metric) {
                page.table(&table);
            }
            let here: Vec<&ModelResult> = results.iter().filter(|result| result.dataset == name).collect();
            let pairs = comparisons(&here, metric);
            if !pairs.rows.is_empty() {
                page.table(&pairs);
            }
        });
        for (subject, said) in judged::evaluated(&models) {
            let title = format!("{name}: predictions of {subject} for the test graphs");
            judged_section(&mut page, &anchor("said", &title, &mut used), &title, &judged::pictures(&said));
        }
    }
    page.section("made", "How this was made");
    provenance.section(&mut page, known);
    page.finish()
}

fn tiles(page: &mut Page, results: &[ModelResult]) {
    let figure = |result: &ModelResult| {
        let scale = if result.metric.is_share() { 100.0 } else { 1.0 };
        let (mean, std) = (result.mean / scale, Some(result.std / scale));
        mean_cell(result.metric, mean, std, (result.folds.len(), result.all_folds)).text
    };
    let unit = |result: &ModelResult| heading(result.metric);
    let model = |result: &ModelResult| {
        let [dataset, model, pool] =
            [&result.dataset, &result.model, &result.pool].map(|name| shortened(name, 60));
        let blocks = counted(result.blocks, "block");
        let words = format!("{} on {dataset}: {model}, pooling {pool}, {blocks}", unit(result));
        (figure(result), words)
    };
    let (models, baselines): (Vec<_>, Vec<_>) = results.iter().partition(|result| result.blocks > 0);
    let mut tiles: Vec<(String, String)> = models.into_iter().map(model).collect();
    let better = |best: &'_ ModelResult, next: &'_ ModelResult| {
        next.metric == best.metric && next.metric.is_better(next.mean, best.mean)
    };
    let best = baselines.into_iter().reduce(|best, next| if better(best, next) { next } else { best });
    if let Some(best) = best {
        tiles.push((figure(best), format!("{} of the best baseline, {}", unit(best), best.model)));
    }
    if !tiles.is_empty() {
        page.tiles(&tiles);
    }
}

/// Tests every pair of models of a dataset that were evaluated on the same folds.
fn comparisons(results: &[&ModelResult], metric: Metric) -> Table {
    let points = if metric.is_share() { "points of " } else { "" };
    let caption =
        format!("Corrected resampled t-tests over folds: first minus second, in {points}{}", metric.title());
    let mut table = Table::new(&caption, ["first", "second", "difference", "t", "p"]);
    let name = |result: &ModelResult| match result.blocks {
        0 => result.model.clone(),
        blocks => format!("{}, {}, {}", result.model, result.pool, counted(blocks, "block")),
    };
    for (index, first) in results.iter().enumerate() {
        for second in &results[index + 1..] {
            if let Some(test) = first.compare(second) {
                let (t, p) = (Cell::number(test.t, 2), Cell::number(test.p, 4));
                let names = [first, second].map(|result| Cell::text(name(result)));
                table.rows.push(names.into_iter().chain([test.difference(), t, p]).collect());
            }
        }
    }
    table
}
