//! The paper's tables next to ours, and the sections around them.

use stepwell::config::Metric;

use super::accuracies::{self, PoolResult, find};
use super::claims::{Claim, Verdict};
use super::page::PaperRun;
use super::{charts, comparisons, printed, statistics, times};
use crate::picture::page::Page;
use crate::picture::svg::shortened;
use crate::report::models;
use crate::results::POOLS;
use crate::run::{CellKey, Known};
use crate::table::{Cell, Emphasis, Table};

/// Explains the signs of the differences.
const SIGNS: &str = "▲ above the paper; ▽ below it, but by no more than its spread or 1.5 points; ▼ further \
                     below. Accuracies are means and standard deviations over folds, in percent. An unfinished \
                     cell shows how many of its passes are done.";

/// Table 2 or 3.
pub(super) fn table(page: &mut Page, run: &PaperRun<'_>, blocks: usize) {
    page.paragraph(SIGNS);
    let mut header = vec!["dataset".to_owned()];
    let mut groups = vec![("", 1)];
    for pool in POOLS {
        header.extend(["ours", "paper", "difference"].map(str::to_owned));
        groups.push((pool, 3));
    }
    let begun = |name: &&String| {
        let is = |key: &CellKey| key.dataset == **name && key.blocks == blocks && key.is_papers();
        run.known.cells.keys().any(is)
    };
    let row = |name: &String| {
        let mut cells = vec![Cell::text(name)];
        for pool in POOLS {
            let ours = find(&run.results, name, pool, blocks);
            cells.push(ours.map_or_else(|| unfinished(run.known, name, pool, blocks), accuracy));
            cells.push(papers(name, pool, blocks));
            cells.push(ours.map_or_else(Cell::none, difference));
        }
        cells
    };
    let caption = format!("Accuracies with {blocks} blocks, next to the paper's Table {blocks}");
    let rows = run.datasets.iter().filter(begun).map(row).collect();
    page.grouped_table(&Table { caption, header, rows }, &groups);
}

fn accuracy(row: &PoolResult) -> Cell {
    Cell::spread(row.ours.mean, row.ours.std)
}

/// The state of a cell that is not finished.
fn unfinished(known: &Known, dataset: &str, pool: &str, blocks: usize) -> Cell {
    let is =
        |key: &CellKey| key.is_papers() && key.dataset == dataset && key.pool == pool && key.blocks == blocks;
    let (mut done, mut all) = (0, 0);
    for (_, state) in known.cells.iter().filter(|(key, _)| is(key)) {
        (done, all) = (done + state.units.len(), all + state.all_units);
    }
    Cell::missing(if all > 0 { format!("{done} of {all}") } else { "missing".to_owned() })
}

fn papers(dataset: &str, pool: &str, blocks: usize) -> Cell {
    match printed::result(dataset, pool, blocks).map(|row| row.accuracy.zip(row.std)) {
        None => Cell::none(),
        Some(Some((mean, std))) => Cell::spread(mean, std),
        Some(None) => Cell::missing("out of memory"),
    }
}

/// Our accuracy minus the paper's. An arrow shows the sign in addition to the colour.
fn difference(row: &PoolResult) -> Cell {
    let Some(difference) = row.difference else { return Cell::none() };
    let rounded = (10.0 * difference).round() / 10.0 + 0.0;
    let (sign, emphasis) = match row.is_reached() {
        _ if rounded > 0.0 => ("▲ +", Emphasis::Above),
        _ if rounded == 0.0 => ("= ", Emphasis::None),
        Some(false) => ("▼ −", Emphasis::Below),
        _ => ("▽ −", Emphasis::Below),
    };
    Cell { emphasis, ..Cell::sorted(format!("{sign}{:.1}", rounded.abs()), difference) }
}

/// Accuracy against time, accuracy per second, and the time that pooling saves.
pub(super) fn time(page: &mut Page, run: &PaperRun<'_>) {
    page.paragraph(
        "Times cover training and testing the winners on one thread of the machine below, without \
         pooling; the paper's times come from another machine.",
    );
    let legend = "Hover over a mark for its values; click an architecture in the legend to hide it.";
    for (_, picture) in charts::of_times(run) {
        page.subheading(&picture.title);
        picture.notes.iter().for_each(|note| page.paragraph(note));
        page.figure(&picture.svg, legend);
    }
    let papers = charts::of_paper(&run.tables());
    page.details("paper-per-second", "Accuracy per second in the paper", false, |page| {
        for picture in &papers {
            page.subheading(&picture.title);
            page.figure(&picture.svg, legend);
        }
    });
    page.paragraph(
        "The table shows seconds of training and testing; the speed relative to no pooling with our sweeps, \
         with the paper's sweeps (Jacobi, every vertex computed) and in the paper; seconds of pooling all \
         graphs, and the number of passes over them after which pooling pays off.",
    );
    page.table(&times::table(&run.times));
}

pub(super) fn claims(page: &mut Page, claims: &[Claim]) {
    let row = |claim: &Claim| {
        let (sign, emphasis) = match claim.verdict {
            Verdict::Holds => ("✓", Emphasis::Above),
            Verdict::InPart => ("◐", Emphasis::None),
            Verdict::Fails => ("✗", Emphasis::Below),
        };
        let verdict = Cell { emphasis, ..Cell::text(format!("{sign} {}", claim.verdict.text())) };
        vec![Cell::sentence(&claim.claim), verdict, Cell::sentence(&claim.found)]
    };
    let caption = "The paper's claims and our findings";
    let mut table = Table::new(caption, ["the paper's claim", "verdict", "found"]);
    table.rows.extend(claims.iter().map(row));
    page.table(&table);
}

pub(super) fn baselines(page: &mut Page, run: &PaperRun<'_>) {
    page.paragraph(
        "Simple models by the same protocol: the most frequent class; the sum of the vertices' features; \
         histograms of the local degree profile; Weisfeiler–Lehman subtree counts.",
    );
    let mut table = accuracies::baselines(&run.results);
    table.caption += "; ▲ above that model";
    for row in &mut table.rows {
        let best = row.get(1).and_then(|cell| cell.value).unwrap_or(f64::INFINITY);
        for cell in row.iter_mut().skip(4).filter(|cell| cell.value.is_some_and(|value| value > best)) {
            cell.text = format!("▲ {}", cell.text);
            cell.emphasis = Emphasis::Above;
        }
    }
    page.table(&table);
}

pub(super) fn tests(page: &mut Page, run: &PaperRun<'_>) {
    page.paragraph(
        "Two-sided corrected resampled t-tests over folds for every pair of architectures: the mean \
         difference in points, t, and p, without correction for multiple tests.",
    );
    let pairs = comparisons(&run.results);
    let sure = pairs.iter().filter(|pair| pair.test.p < 0.05).count();
    let summary = format!("{} pairs, {sure} of them with p below 0.05", pairs.len());
    page.details("all-tests", &summary, false, |page| page.table(&comparisons::table(&pairs)));
}

/// Tables 1 and 4.
pub(super) fn statistics(page: &mut Page, known: &Known) {
    let mut table = statistics::datasets_table(&statistics::datasets(&known.paper.statistics));
    let header = table.header.clone();
    let mut groups = vec![("", 1)];
    groups.extend(header[1..].chunks(2).map(|pair| (pair[0].as_str(), 2)));
    for (column, name) in table.header.iter_mut().enumerate().skip(1) {
        *name = if column % 2 == 1 { "ours" } else { "paper" }.to_owned();
    }
    page.paragraph(
        "Our counts are of undirected edges without self loops. The paper counts both directions of B-easy and \
         B-hard, and vertices and self loops with the edges of Mutagenicity.",
    );
    page.grouped_table(&table, &groups);
    let pooled = statistics::pooled_table(&statistics::pooled(&known.paper.statistics));
    if pooled.rows.is_empty() {
        return;
    }
    page.paragraph(
        "Table 4 of the paper mixes undirected edges (original graphs) with stored entries and self loops \
         (pooled graphs). Its 7014 edges of B-easy after one NDP pooling must be 701.4, and its rho is not the \
         spectral radius of the normalised adjacency, which is 1 for every undirected graph with an edge.",
    );
    let summary = format!("Table 4: graphs before and after pooling, {} rows", pooled.rows.len());
    page.details("table4", &summary, false, |page| page.table(&pooled));
}

/// Everything about one dataset, in a collapsible part of the page.
pub(super) fn dataset(page: &mut Page, run: &PaperRun<'_>, name: &str, anchor: &str) {
    let here = run.results.iter().filter(|row| row.ours.dataset == name && row.is_papers());
    let best = here.max_by(|a, b| a.ours.mean.total_cmp(&b.ours.mean));
    // A long name must not hide the figure behind it.
    let shown = shortened(name, 60);
    let summary = match best {
        None => format!("{shown}: nothing finished yet"),
        Some(PoolResult { ours, .. }) => {
            format!("{shown}: best accuracy {:.1} % ({}, {} blocks)", ours.mean, ours.pool, ours.blocks)
        }
    };
    page.details(anchor, &summary, false, |page| {
        graphs(page, run, name);
        let models = models::models(run.known, name);
        let cells = |key: &CellKey| {
            if !key.is_papers() {
                return vec![Cell::none(), Cell::none()];
            }
            let ours = find(&run.results, name, &key.pool, key.blocks);
            vec![papers(name, &key.pool, key.blocks), ours.map_or_else(Cell::none, difference)]
        };
        let is_papers = printed::datasets().any(|known| known == name);
        let beside: Option<models::Beside<'_>> =
            if is_papers { Some((&["paper", "difference"], &cells)) } else { None };
        models::section(page, &models, Metric::Accuracy, beside, |page| {
            let caption = "Seconds of training and testing: ours on one thread, and the paper's.";
            charts::both(run, name).iter().for_each(|picture| page.figure(&picture.svg, caption));
        });
    });
}

fn graphs(page: &mut Page, run: &PaperRun<'_>, name: &str) {
    let mut all = run.known.paper.statistics.iter();
    let Some(statistics) = all.find(|statistics| statistics.summary.dataset == name) else { return };
    let ours = &statistics.summary;
    let classes = ours.classes.map_or(String::new(), |classes| format!(" of {classes} classes"));
    let mut words = format!(
        "{} graphs{classes}; on average {:.1} vertices and {:.1} edges",
        ours.graphs, ours.avg_vertices, ours.avg_edges
    );
    for (count, what) in [(ours.attributes, "attributes"), (ours.node_labels, "labels")] {
        if count > 0 {
            words += &format!("; {count} {what}");
        }
    }
    page.paragraph(&(words + "."));
}
