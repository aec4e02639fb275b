//! A run as one page to look at: tables that sort, and how it was made.
//!
//! Pages are pure functions of what a run knows and of their [`Provenance`]: the
//! same input gives the same bytes.

mod demo;
pub(crate) mod models;
mod provenance;

pub use demo::{Architecture, Demo};
pub use models::{FoldRow, fold_table};
pub use provenance::{Machine, Provenance};

use std::collections::BTreeSet;

use crate::picture::page::Page;
use crate::picture::svg::shortened;
use crate::results::{ModelResult, results};
use crate::run::Known;
use crate::table::{Cell, Table};

/// A name for a link: letters, digits and dashes, not used before.
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
    let results = results(&known.cells);
    let mut page =
        Page::new(&format!("Evaluation on {}", names.iter().copied().collect::<Vec<_>>().join(", ")));
    tiles(&mut page, &results);
    let mut used = BTreeSet::new();
    for name in names {
        page.section(&anchor("dataset", name, &mut used), name);
        let models = models::models(known, name);
        models::section(&mut page, &models, &models::results(&models, None), |page| {
            let here: Vec<&ModelResult> = results.iter().filter(|result| result.dataset == name).collect();
            let pairs = comparisons(&here);
            if !pairs.rows.is_empty() {
                page.table(&pairs);
            }
        });
    }
    page.section("made", "How this was made");
    provenance.section(&mut page, known);
    page.finish()
}

fn tiles(page: &mut Page, results: &[ModelResult]) {
    let figure = |result: &ModelResult| format!("{:.1} ± {:.1}", result.accuracy, result.std);
    let model = |result: &ModelResult| {
        let [dataset, model, pool] =
            [&result.dataset, &result.model, &result.pool].map(|name| shortened(name, 60));
        let words = format!("% accuracy on {dataset}: {model}, pooling {pool}, {} blocks", result.blocks);
        (figure(result), words)
    };
    let (models, baselines): (Vec<_>, Vec<_>) = results.iter().partition(|result| result.blocks > 0);
    let mut tiles: Vec<(String, String)> = models.into_iter().map(model).collect();
    if let Some(best) = baselines.into_iter().max_by(|a, b| a.accuracy.total_cmp(&b.accuracy)) {
        tiles.push((figure(best), format!("% accuracy of the best baseline, {}", best.model)));
    }
    if !tiles.is_empty() {
        page.tiles(&tiles);
    }
}

/// Every two models of a dataset that were evaluated on the same folds.
fn comparisons(results: &[&ModelResult]) -> Table {
    let caption = "Corrected resampled t-tests over folds: first minus second, in points of accuracy";
    let mut table = Table::new(caption, ["first", "second", "difference", "t", "p"]);
    let name = |result: &ModelResult| match result.blocks {
        0 => result.model.clone(),
        blocks => format!("{}, {}, {blocks} blocks", result.model, result.pool),
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
