//! A run as one page to look at: tables that sort, charts, the paper's claims,
//! every dataset, and how it was all made.
//!
//! Pages are pure functions of what a run knows and a few facts about how it
//! was made: the same input gives the same bytes.

mod compared;
mod dataset;
mod demo;
mod extra;
mod facts;
mod figures;
mod summary;

pub use demo::{Architecture, Demo};
pub use extra::Extra;
pub use facts::{Facts, Machine};
pub use figures::figures;

use std::collections::{BTreeMap, BTreeSet};

use crate::picture::page::Page;
use crate::run::Known;
use crate::tables::{self, POOLS, ResultRow, TimeRow};

/// All that pages are made of.
struct Material<'a> {
    known: &'a Known,
    results: Vec<ResultRow>,
    times: Vec<TimeRow>,
    /// Names of all datasets, in the paper's order.
    datasets: Vec<String>,
}

impl<'a> Material<'a> {
    fn new(known: &'a Known) -> Self {
        let mut names: BTreeSet<(usize, &str)> = BTreeSet::new();
        for name in known.cells.keys().map(|key| &key.dataset) {
            names.insert((tables::order(name), name));
        }
        for name in known.statistics.iter().map(|statistics| &statistics.summary.dataset) {
            names.insert((tables::order(name), name));
        }
        let mut times = tables::times(&known.cells);
        let place = |pool: &str| POOLS.iter().position(|name| *name == pool);
        times.sort_by_key(|row| {
            (tables::order(&row.dataset), row.dataset.clone(), row.blocks, place(&row.pool))
        });
        Self {
            known,
            results: tables::results(&known.cells),
            times,
            datasets: names.into_iter().map(|(_, name)| name.to_owned()).collect(),
        }
    }

    /// The numbers of blocks of the paper's tables that anything was begun for.
    fn tables(&self) -> Vec<usize> {
        let begun =
            |blocks: &usize| self.known.cells.keys().any(|key| key.has_reservoirs() && key.blocks == *blocks);
        [2, 3].into_iter().filter(begun).collect()
    }
}

/// A name for a link: letters, digits and dashes, not used before.
fn anchor(prefix: &str, name: &str, used: &mut BTreeSet<String>) -> String {
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

/// The page of `stepwell reproduce`: what a run found, beside the paper. `extras`
/// are figures that take computing, as far as they have been drawn.
pub fn reproduction(known: &Known, facts: &Facts, extras: &BTreeMap<Extra, String>) -> String {
    let material = Material::new(known);
    let mut used = BTreeSet::new();
    let anchors: Vec<String> =
        material.datasets.iter().map(|name| anchor("dataset", name, &mut used)).collect();
    let mut body = Vec::new();
    for blocks in material.tables() {
        let words = if blocks == 2 { "two" } else { "three" };
        body.push((format!("table{blocks}"), format!("Table {blocks}: {words} blocks")));
    }
    let has_times = !material.times.is_empty();
    if has_times {
        body.push(("time".into(), "Accuracy and time".into()));
    }
    let mut more = |name: &str, title: &str, present: bool| {
        if present {
            body.push((name.to_owned(), title.to_owned()));
        }
    };
    let claims = tables::claims(&material.results, &material.times, known);
    more("claims", "The paper's claims", !claims.is_empty());
    more("baselines", "Baselines", material.results.iter().any(|row| row.model != "reservoir"));
    more("tests", "Differences that are more than luck", !tables::comparisons(&material.results).is_empty());
    more("statistics", "Tables 1 and 4: the graphs", !known.statistics.is_empty());
    more("figures", "Figures", !extras.is_empty() || !known.measured.is_empty());
    more("datasets", "Dataset by dataset", !material.datasets.is_empty());
    more("made", "How this was made", true);

    let mut page = Page::new("Pyramidal reservoirs: the paper's tables, and what we found");
    summary::reproduction(&mut page, &material, &claims, facts);
    page.contents(&body);
    for (name, title) in &body {
        page.section(name, title);
        match name.as_str() {
            "table2" => compared::table(&mut page, &material, 2),
            "table3" => compared::table(&mut page, &material, 3),
            "time" => compared::times(&mut page, &material),
            "claims" => compared::claims(&mut page, &claims),
            "baselines" => compared::baselines(&mut page, &material),
            "tests" => compared::tests(&mut page, &material),
            "statistics" => compared::statistics(&mut page, known),
            "figures" => extra::section(&mut page, known, extras),
            "datasets" => {
                let links: Vec<(String, String)> =
                    anchors.iter().cloned().zip(material.datasets.iter().cloned()).collect();
                page.contents(&links);
                for (anchor, name) in anchors.iter().zip(&material.datasets) {
                    dataset::details(&mut page, &material, name, anchor);
                }
            }
            _ => facts.section(&mut page, known),
        }
    }
    page.finish()
}

/// The page of `stepwell evaluate`: models on a dataset, fold by fold.
pub fn evaluation(known: &Known, facts: &Facts) -> String {
    let material = Material::new(known);
    let names = material.datasets.join(", ");
    let mut page = Page::new(&format!("Evaluation on {names}"));
    summary::evaluation(&mut page, &material);
    let mut used = BTreeSet::new();
    for name in &material.datasets {
        page.section(&anchor("dataset", name, &mut used), name);
        dataset::inside(&mut page, &material, name);
    }
    page.section("made", "How this was made");
    facts.section(&mut page, known);
    page.finish()
}
