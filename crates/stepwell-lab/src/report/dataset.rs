//! All that is known of one dataset.

use std::collections::BTreeMap;

use stepwell::config::ModelConfig;

use super::{Material, compared, figures};
use crate::baselines::Baseline;
use crate::outcome::{FoldOutcome, Quality};
use crate::paper;
use crate::picture::page::{Cell, Page, Table};
use crate::picture::svg::shortened;
use crate::run::{CellKey, CellState, Sweeps};
use crate::tables::{self, POOLS, TimeRow, find, mean_and_std};

/// A part of the page that opens.
pub(super) fn details(page: &mut Page, material: &Material<'_>, name: &str, anchor: &str) {
    let here = material.results.iter().filter(|row| row.dataset == name && row.model == "reservoir");
    let best = here.max_by(|a, b| a.accuracy.total_cmp(&b.accuracy));
    // The figure must not be cut off behind a long name.
    let name_shown = shortened(name, 60);
    let summary = match best {
        None => format!("{name_shown}: nothing finished yet"),
        Some(best) => {
            format!("{name_shown}: best {:.1} % right ({}, {} blocks)", best.accuracy, best.pool, best.blocks)
        }
    };
    page.details(anchor, &summary, false, |page| inside(page, material, name));
}

/// Graphs, models, times, folds.
pub(super) fn inside(page: &mut Page, material: &Material<'_>, name: &str) {
    graphs(page, material, name);
    let models = models(material, name);
    if models.is_empty() {
        page.paragraph("No model has been begun.");
        return;
    }
    page.table(&results(material, name, &models));
    if let Some(picture) = figures::both(material, name) {
        page.figure(
            &picture.svg,
            "Seconds of training and testing on one thread here, and as the paper has them.",
        );
    }
    let here: Vec<TimeRow> = material.times.iter().filter(|row| row.dataset == name).cloned().collect();
    if !here.is_empty() {
        page.table(&compared::of_sheet("Times", &tables::times_sheet(&here).without_first()));
    }
    let mut pairs = tables::comparisons(&material.results);
    pairs.retain(|pair| pair.dataset == name);
    if !pairs.is_empty() {
        let caption = "Corrected resampled t-tests over folds, first minus second";
        page.table(&compared::of_sheet(caption, &tables::comparisons_sheet(&pairs).without_first()));
    }
    page.table(&folds(&models));
}

fn graphs(page: &mut Page, material: &Material<'_>, name: &str) {
    let is = |statistics: &&tables::Statistics| statistics.summary.dataset == name;
    let Some(statistics) = material.known.statistics.iter().find(is) else { return };
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

/// Models with all their seeds, in the order of the paper's tables, baselines last.
type Models<'a> = BTreeMap<(usize, usize, usize, &'a str, &'a str), Vec<(&'a CellKey, &'a CellState)>>;

fn models<'a>(material: &Material<'a>, name: &str) -> Models<'a> {
    let mut models = Models::new();
    for (key, state) in material.known.cells.iter().filter(|(key, _)| key.dataset == name) {
        let kind = match key.is_model() {
            true => 0,
            false => 1 + Baseline::ALL.iter().take_while(|baseline| baseline.name() != key.model).count(),
        };
        let place = POOLS.iter().take_while(|pool| **pool != key.pool).count();
        let order = (kind, key.blocks, place, key.model.as_str(), key.pool.as_str());
        models.entry(order).or_default().push((key, state));
    }
    models
}

fn called(key: &CellKey) -> String {
    match (key.has_reservoirs(), key.is_model()) {
        (true, _) => format!("{}, {} blocks", key.pool, key.blocks),
        (_, true) => format!("{}, {}, {} blocks", key.model, key.pool, key.blocks),
        _ => key.model.clone(),
    }
}

/// A line for each model, finished or not.
fn results(material: &Material<'_>, name: &str, models: &Models<'_>) -> Table {
    let outcomes = |cells: &[(&CellKey, &CellState)]| -> Vec<FoldOutcome> {
        cells.iter().flat_map(|(_, state)| state.folds.values().cloned()).collect()
    };
    let is_regression =
        models.values().any(|cells| outcomes(cells).iter().any(|outcome| outcome.quality.mae.is_some()));
    // The paper has nothing to stand beside other models.
    let has_papers = |cells: &Vec<(&CellKey, &CellState)>| cells.iter().any(|(key, _)| key.has_reservoirs());
    let is_papers = paper::datasets().any(|known| known == name) && models.values().any(has_papers);
    let number = |value: Option<f64>, factor: f64, decimals: usize| {
        value.map_or_else(|| Cell::missing("–"), |value| Cell::number(factor * value, decimals))
    };
    let mut rows = Vec::new();
    for cells in models.values() {
        let Some((key, _)) = cells.first() else { continue };
        let (done, all) =
            cells.iter().fold((0, 0), |(done, all), (_, state)| (done + state.done(), all + state.all_units));
        let found = outcomes(cells);
        let quality = Quality::mean(&found.iter().map(|outcome| outcome.quality).collect::<Vec<_>>());
        let finished = cells.iter().all(|(_, state)| state.is_done());
        let mut row = vec![Cell::text(called(key))];
        let unfinished = || Cell::missing(format!("{done} of {all} passes"));
        if is_regression {
            row.push(if finished { number(quality.mae, 1.0, 4) } else { unfinished() });
            row.push(number(quality.r2, 1.0, 3));
        } else {
            let ours = found.iter().filter_map(|outcome| outcome.quality.accuracy).map(|share| 100.0 * share);
            let (mean, std) = mean_and_std(&ours.collect::<Vec<_>>());
            row.push(match finished && quality.accuracy.is_some() {
                true => Cell::sorted(format!("{mean:.1} ± {std:.1}"), mean),
                false => unfinished(),
            });
            let beside =
                find(&material.results, name, &key.pool, key.blocks).filter(|_| key.has_reservoirs());
            if is_papers {
                row.push(match key.has_reservoirs() {
                    true => compared::printed(name, &key.pool, key.blocks),
                    false => Cell::missing("–"),
                });
                row.push(beside.map_or_else(|| Cell::missing("–"), compared::difference));
            }
            row.push(number(quality.balanced_accuracy, 100.0, 1));
            row.push(number(quality.macro_f1, 100.0, 1));
            row.push(number(quality.auroc, 1.0, 3));
        }
        rows.push(row);
    }
    let header: &[&str] = match (is_regression, is_papers) {
        (true, _) => &["model", "mean absolute error", "R²"],
        (false, true) => {
            &["model", "% right", "paper", "difference", "balanced accuracy", "macro F1", "AUROC"]
        }
        (false, false) => &["model", "% right", "balanced accuracy", "macro F1", "AUROC"],
    };
    Table {
        caption: "Means over folds, and seeds if there are several".to_owned(),
        header: header.iter().map(|name| (*name).to_owned()).collect(),
        rows,
    }
}

/// The configuration of a fold, if there was another to choose.
fn searched<'a>(key: &CellKey, outcome: &'a FoldOutcome) -> Option<&'a ModelConfig> {
    outcome.config.as_ref().filter(|_| key.has_reservoirs())
}

/// What won in each fold.
fn folds(models: &Models<'_>) -> Table {
    type Column = (&'static str, fn(&CellKey, usize, &FoldOutcome, &CellState) -> Option<Cell>);
    let columns: [Column; 12] = [
        ("model", |key, _, _, _| Some(Cell::text(called(key)))),
        ("seed", |key, _, _, _| (key.seed > 0).then(|| Cell::number(key.seed as f64, 0))),
        ("fold", |_, fold, _, _| Some(Cell::number((fold + 1) as f64, 0))),
        ("% right", |_, _, outcome, _| Some(Cell::number(100.0 * outcome.quality.accuracy?, 1))),
        ("mean absolute error", |_, _, outcome, _| Some(Cell::number(outcome.quality.mae?, 4))),
        ("rho", |key, _, outcome, _| Some(Cell::number(searched(key, outcome)?.spectral_radius.get(0)?, 2))),
        ("omega in", |key, _, outcome, _| Some(Cell::number(searched(key, outcome)?.input_scaling, 2))),
        ("omega hid", |key, _, outcome, _| {
            Some(Cell::number(searched(key, outcome)?.hidden_scaling.get(0)?, 2))
        }),
        ("setting", |_, _, outcome, _| outcome.setting.clone().map(Cell::text)),
        ("alpha", |_, _, outcome, _| Some(Cell::sorted(outcome.alpha.to_string(), outcome.alpha))),
        ("train s", |_, fold, _, state| {
            Some(Cell::number(state.times.get(&(Sweeps::Own, fold))?.train_seconds, 3))
        }),
        ("test s", |_, fold, _, state| {
            Some(Cell::number(state.times.get(&(Sweeps::Own, fold))?.test_seconds, 3))
        }),
    ];
    let all: Vec<(&CellKey, usize, &FoldOutcome, &CellState)> = models
        .values()
        .flatten()
        .flat_map(|(key, state)| {
            state.folds.iter().map(move |(fold, outcome)| (*key, *fold, outcome, *state))
        })
        .collect();
    // Only the columns that say something.
    let told: Vec<&Column> = columns
        .iter()
        .filter(|(_, cell)| {
            all.iter().any(|(key, fold, outcome, state)| cell(key, *fold, outcome, state).is_some())
        })
        .collect();
    let row = |(key, fold, outcome, state): &(&CellKey, usize, &FoldOutcome, &CellState)| {
        told.iter()
            .map(|(name, cell)| {
                let missing = || if *name == "seed" { Cell::number(0.0, 0) } else { Cell::missing("–") };
                cell(key, *fold, outcome, state).unwrap_or_else(missing)
            })
            .collect()
    };
    Table {
        caption: match all.iter().any(|(key, ..)| key.has_reservoirs()) {
            true => "The winner of every fold, and how it did on graphs nothing was chosen by".to_owned(),
            false => "Every fold: how the model did on graphs it had not seen".to_owned(),
        },
        header: told.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: all.iter().map(row).collect(),
    }
}
