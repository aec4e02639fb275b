//! The paper's tables with ours beside, and what stands beside both.

use super::{Material, figures};
use crate::paper;
use crate::picture::page::{Cell, Emphasis, Page, Table};
use crate::run::{CellKey, Known};
use crate::tables::{self, Claim, POOLS, ResultRow, Sheet, Verdict, find};

/// What the differences' signs mean.
const SIGNS: &str = "▲ above the paper; ▽ below it, but by no more than its spread or 1.5 points; ▼ further \
                     below. Accuracies are means and standard deviations over folds, in percent. Where a cell \
                     is not finished, the passes that are done stand in its place.";

/// Table 2 or 3.
pub(super) fn table(page: &mut Page, material: &Material<'_>, blocks: usize) {
    page.paragraph(SIGNS);
    let mut header = vec!["dataset".to_owned()];
    let mut groups = vec![("", 1)];
    for pool in POOLS {
        header.extend(["ours", "paper", "difference"].map(str::to_owned));
        groups.push((pool, 3));
    }
    let begun = |name: &&String| {
        let is = |key: &CellKey| key.dataset == **name && key.blocks == blocks && key.has_reservoirs();
        material.known.cells.keys().any(is)
    };
    let row = |name: &String| {
        let mut cells = vec![Cell::text(name)];
        for pool in POOLS {
            let ours = find(&material.results, name, pool, blocks);
            cells.push(ours.map_or_else(|| unfinished(material.known, name, pool, blocks), accuracy));
            cells.push(printed(name, pool, blocks));
            cells.push(ours.map_or_else(|| Cell::missing("–"), difference));
        }
        cells
    };
    let table = Table {
        caption: format!("Accuracies with {blocks} blocks, ours beside the paper's Table {blocks}"),
        header,
        rows: material.datasets.iter().filter(begun).map(row).collect(),
    };
    page.grouped_table(&table, &groups);
}

pub(super) fn accuracy(row: &ResultRow) -> Cell {
    Cell::sorted(format!("{:.1} ± {:.1}", row.accuracy, row.std), row.accuracy)
}

/// What is known of a cell that is not finished.
fn unfinished(known: &Known, dataset: &str, pool: &str, blocks: usize) -> Cell {
    let is = |key: &CellKey| {
        key.has_reservoirs() && key.dataset == dataset && key.pool == pool && key.blocks == blocks
    };
    let (mut done, mut all) = (0, 0);
    for (_, state) in known.cells.iter().filter(|(key, _)| is(key)) {
        (done, all) = (done + state.units.len(), all + state.all_units);
    }
    Cell::missing(if all > 0 { format!("{done} of {all}") } else { "missing".to_owned() })
}

pub(super) fn printed(dataset: &str, pool: &str, blocks: usize) -> Cell {
    match paper::result(dataset, pool, blocks) {
        None => Cell::missing("–"),
        Some(row) => match row.accuracy.zip(row.std) {
            Some((mean, std)) => Cell::sorted(format!("{mean:.1} ± {std:.1}"), mean),
            None => Cell::missing("out of memory"),
        },
    }
}

/// Ours minus the paper's: its sign is seen by an arrow as well as by a colour.
pub(super) fn difference(row: &ResultRow) -> Cell {
    let Some(difference) = row.difference else { return Cell::missing("–") };
    let rounded = (10.0 * difference).round() / 10.0 + 0.0;
    let (sign, emphasis) = match row.is_reached() {
        _ if rounded > 0.0 => ("▲ +", Emphasis::Above),
        _ if rounded == 0.0 => ("= ", Emphasis::None),
        Some(false) => ("▼ −", Emphasis::Below),
        _ => ("▽ −", Emphasis::Below),
    };
    Cell { emphasis, ..Cell::sorted(format!("{sign}{:.1}", rounded.abs()), difference) }
}

/// A sheet as a table that sorts: what begins with a number is sorted by it.
pub(super) fn of_sheet(caption: &str, sheet: &Sheet) -> Table {
    let cell = |(column, text): (usize, &String)| {
        let number = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok());
        match (number, text.as_str()) {
            (_, "" | "–" | "?") => Cell::missing(if text.is_empty() { "–" } else { text }),
            (Some(value), _) if column >= sheet.names || text.len() < 3 => Cell::sorted(text, value),
            _ => Cell::text(text),
        }
    };
    Table {
        caption: caption.to_owned(),
        header: sheet.header.clone(),
        rows: sheet.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect(),
    }
}

/// Accuracy against time, accuracy per second, and what pooling saves.
pub(super) fn times(page: &mut Page, material: &Material<'_>) {
    page.paragraph(
        "Times are of the winners' training and testing on one thread of the machine below, pooling \
         apart; the paper's were taken on another machine.",
    );
    let legend = "Point at a mark to see what it is; click an architecture in the legend to hide it.";
    for (_, picture) in figures::of_times(material) {
        page.subheading(&picture.title);
        picture.notes.iter().for_each(|note| page.paragraph(note));
        page.figure(&picture.svg, legend);
    }
    let papers = figures::of_paper(&material.tables());
    page.details("paper-per-second", "Accuracy per second in the paper", false, |page| {
        for picture in &papers {
            page.subheading(&picture.title);
            page.figure(&picture.svg, legend);
        }
    });
    page.paragraph(
        "In the table: seconds of training and testing; how many times as fast as without pooling, with our \
         sweeps, with the paper's sweeps (Jacobi, every vertex computed) and in the paper; seconds of pooling \
         all graphs, and the passes over them that pay for it.",
    );
    page.table(&of_sheet("Times, each a mean over folds", &tables::times_sheet(&material.times)));
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
    page.table(&Table {
        caption: "What the paper says, and what was found here".to_owned(),
        header: ["the paper's claim", "verdict", "found"].map(str::to_owned).to_vec(),
        rows: claims.iter().map(row).collect(),
    });
}

pub(super) fn baselines(page: &mut Page, material: &Material<'_>) {
    page.paragraph(
        "Simple models in the same protocol: the most frequent class; the sum of the vertices' features; \
         histograms of the local degree profile; Weisfeiler–Lehman subtree counts.",
    );
    let caption = "The best model with reservoirs beside the baselines, % right; ▲ above that model";
    let mut table = of_sheet(caption, &tables::baselines_sheet(&material.results));
    for row in &mut table.rows {
        let best = row.get(1).and_then(|cell| cell.value).unwrap_or(f64::INFINITY);
        for cell in row.iter_mut().skip(4).filter(|cell| cell.value.is_some_and(|value| value > best)) {
            cell.text = format!("▲ {}", cell.text);
            cell.emphasis = Emphasis::Above;
        }
    }
    page.table(&table);
}

pub(super) fn tests(page: &mut Page, material: &Material<'_>) {
    page.paragraph(
        "Corrected resampled t-tests over folds, two-sided, of every two architectures: the mean \
         difference in points, t, and p. No correction for their number.",
    );
    let comparisons = tables::comparisons(&material.results);
    let sure = comparisons.iter().filter(|comparison| comparison.test.p < 0.05).count();
    let summary = format!("{} pairs, {sure} of them with p below 0.05", comparisons.len());
    page.details("all-tests", &summary, false, |page| {
        page.table(&of_sheet("First minus second", &tables::comparisons_sheet(&comparisons)));
    });
}

/// Tables 1 and 4.
pub(super) fn statistics(page: &mut Page, known: &Known) {
    let sheet = tables::datasets_sheet(&known.statistics);
    let mut table = of_sheet("Table 1: the datasets, ours beside the paper's", &sheet);
    let mut groups = vec![("", 1)];
    for pair in sheet.header[1..].chunks(2) {
        groups.push((pair[0].as_str(), 2));
    }
    for (column, name) in table.header.iter_mut().enumerate().skip(1) {
        *name = if column % 2 == 1 { "ours" } else { "paper" }.to_owned();
    }
    page.paragraph(
        "Edges are undirected and without self loops here. The paper counts both directions of B-easy and \
         B-hard, and vertices and self loops with the edges of Mutagenicity.",
    );
    page.grouped_table(&table, &groups);
    let pooled = tables::pooled_sheet(&known.statistics);
    if pooled.rows.is_empty() {
        return;
    }
    page.paragraph(
        "Table 4 of the paper mixes undirected edges (original graphs) with stored entries and self loops \
         (pooled ones); its 7014 edges of B-easy after one NDP pooling must be 701.4; and its rho is not the \
         spectral radius of the normalised adjacency, which is 1 for every undirected graph with an edge.",
    );
    let summary = format!("Table 4: graphs before and after pooling, {} rows", pooled.rows.len());
    page.details("table4", &summary, false, |page| {
        page.table(&of_sheet("Means over graphs, ours beside the paper's Table 4", &pooled));
    });
}
