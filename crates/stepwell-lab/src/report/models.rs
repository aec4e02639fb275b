//! Tables of the models of one dataset, and of their folds.

use std::collections::BTreeMap;

use stepwell::config::Metric;

use crate::baselines::Baseline;
use crate::metrics::{Quality, Values, cell, heading, mean_cell, present, spread_cell};
use crate::picture::page::Page;
use crate::results::{self, pool_order};
use crate::run::{CellKey, CellState, FoldResult, Known, Sweeps, Times};
use crate::table::{Cell, Table};

/// The models of a dataset with all their seeds, by blocks and pooling,
/// baselines last.
pub(crate) type Models<'a> =
    BTreeMap<(usize, usize, usize, &'a str, &'a str), Vec<(&'a CellKey, &'a CellState)>>;

pub(crate) fn models<'a>(known: &'a Known, dataset: &str) -> Models<'a> {
    let mut models = Models::new();
    for (key, state) in known.cells.iter().filter(|(key, _)| key.dataset == dataset) {
        let place = 1 + Baseline::ALL.iter().take_while(|baseline| baseline.name() != key.model).count();
        let kind = if key.is_model() { 0 } else { place };
        let order = (kind, key.blocks, pool_order(&key.pool), key.model.as_str(), key.pool.as_str());
        models.entry(order).or_default().push((key, state));
    }
    models
}

/// The headline metric of some models: that of the first.
pub(crate) fn headline(models: &Models<'_>) -> Metric {
    models.values().flatten().next().map_or(Metric::Auto, |(_, state)| state.headline())
}

fn qualities(cells: &[(&CellKey, &CellState)]) -> Vec<Quality> {
    cells.iter().flat_map(|(_, state)| state.folds.values().map(|result| result.quality.clone())).collect()
}

/// Mean and spread over folds. With one fold, the spread is over draws of its weights,
/// if there are several.
fn spread(cells: &[(&CellKey, &CellState)]) -> (Quality, Quality) {
    let (mean, std) = Quality::spread(&qualities(cells));
    match cells {
        [(_, state)] if state.folds.len() == 1 => {
            (mean, state.folds.values().next().map(|fold| fold.std.clone()).unwrap_or_default())
        }
        _ => (mean, std),
    }
}

/// The mean of a metric, with its spread if there is one.
fn told(metric: Metric, mean: f64, std: Option<f64>) -> Cell {
    std.map_or_else(|| cell(metric, mean), |std| spread_cell(metric, mean, std))
}

/// The mean of a metric over the folds that have a value.
fn told_of(metric: Metric, (mean, std): (&Values, &Values), folds: (usize, usize)) -> Cell {
    mean.get(metric).map_or_else(Cell::none, |mean| mean_cell(metric, mean, std.get(metric), folds))
}

/// Columns after the headline: their names, and a model's cells.
pub(crate) type Beside<'b> = (&'b [&'b str], &'b dyn Fn(&CellKey) -> Vec<Cell>);

/// One row per model, finished or not. `metric` comes before the others.
pub(crate) fn results(models: &Models<'_>, metric: Metric, beside: Option<Beside<'_>>) -> Table {
    let all: Vec<Quality> = models.values().flat_map(|cells| qualities(cells)).collect();
    let others: Vec<Metric> = present(&all, metric).into_iter().filter(|other| *other != metric).collect();
    let mut header = vec!["model".to_owned(), heading(metric)];
    header.extend(beside.iter().flat_map(|(names, _)| names.iter()).map(|name| (*name).to_owned()));
    header.extend(others.iter().map(|&other| heading(other)));
    let mut table = Table::new("Means over folds, and seeds if there are several", header);
    for cells in models.values() {
        let Some((key, _)) = cells.first() else { continue };
        let (mean, std) = spread(cells);
        let folds = qualities(cells);
        let told = |metric: Metric| {
            let count = folds.iter().filter(|fold| fold.get(metric).is_some()).count();
            told_of(metric, (&mean.values, &std.values), (count, folds.len()))
        };
        let (done, all) =
            cells.iter().fold((0, 0), |(done, all), (_, state)| (done + state.done(), all + state.all_units));
        let is_done = cells.iter().all(|(_, state)| state.is_done()) && !mean.is_empty();
        let unfinished = || Cell::missing(format!("{done} of {all} passes"));
        let first = if is_done { told(metric) } else { unfinished() };
        let mut row = vec![Cell::text(key.subject()), first];
        row.extend(beside.iter().flat_map(|(_, cells)| cells(key)));
        row.extend(others.iter().map(|&other| told(other)));
        table.rows.push(row);
    }
    table
}

/// One row per target and one column per model. `None` if there is only one target.
pub(crate) fn targets(models: &Models<'_>, metric: Metric) -> Option<Table> {
    let names = models.values().flatten().map(|(_, state)| &state.targets).find(|names| !names.is_empty())?;
    let caption = format!("{} of each target", heading(metric));
    let subjects = models.values().filter_map(|cells| cells.first()).map(|(key, _)| key.subject());
    let mut table = Table::new(&caption, std::iter::once("target".to_owned()).chain(subjects));
    let found: Vec<((Quality, Quality), Vec<Quality>)> =
        models.values().map(|cells| (spread(cells), qualities(cells))).collect();
    for (target, name) in names.iter().enumerate() {
        let of = |((mean, std), folds): &((Quality, Quality), Vec<Quality>)| {
            let (mean, std) = (mean.per_target.get(target), std.per_target.get(target));
            let values = folds.iter().filter_map(|fold| fold.per_target.get(target)?.get(metric));
            let (count, none) = ((values.count(), folds.len()), Values::default());
            mean.map_or_else(Cell::none, |mean| told_of(metric, (mean, std.unwrap_or(&none)), count))
        };
        table.rows.push(std::iter::once(Cell::text(name)).chain(found.iter().map(of)).collect());
    }
    Some(table)
}

/// One fold of one model.
#[derive(Clone, Debug)]
pub struct FoldRow<'a> {
    /// The name of the model, if there are several.
    pub model: Option<String>,
    /// The protocol's seed.
    pub seed: u64,
    /// Which fold, from 0.
    pub fold: usize,
    /// The result of its model.
    pub result: &'a FoldResult,
    /// The times, if they were measured.
    pub times: Option<Times>,
}

/// The setting of a baseline. Records and fingerprints keep the plural of the first versions.
fn shown_setting(setting: &str) -> String {
    match setting.strip_prefix("1 bins ") {
        Some(rest) => format!("1 bin {rest}"),
        None => setting.to_owned(),
    }
}

/// One row per fold. Shows only columns with content: metrics, `metric` first and with
/// its spread over draws of the weights, then settings and times.
pub fn fold_table(rows: &[FoldRow<'_>], metric: Metric) -> Table {
    type Column<'c> = (String, Box<dyn Fn(&FoldRow<'_>) -> Option<Cell> + 'c>);
    fn column<'c>(name: impl Into<String>, cell: impl Fn(&FoldRow<'_>) -> Option<Cell> + 'c) -> Column<'c> {
        (name.into(), Box::new(cell))
    }
    fn searched(row: &FoldRow<'_>, value: fn(&stepwell::config::ModelConfig) -> Option<f64>) -> Option<Cell> {
        row.result.validation?;
        Some(Cell::number(value(row.result.config.as_ref()?)?, 2))
    }
    let mut columns = vec![
        column("model", |row| row.model.clone().map(Cell::text)),
        column("seed", |row| (row.seed > 0).then(|| Cell::sorted(row.seed.to_string(), row.seed as f64))),
        column("fold", |row| Some(Cell::count(row.fold + 1))),
    ];
    let some_did_not = rows.iter().any(|row| row.result.converged.is_some_and(|share| share < 1.0));
    let metrics = present(rows.iter().map(|row| &row.result.quality), metric);
    columns.extend(metrics.into_iter().map(|other| {
        column(heading(other), move |row| {
            let std = row.result.std.values.get(other).filter(|_| other == metric);
            row.result.quality.get(other).map(|mean| told(other, mean, std))
        })
    }));
    columns.extend([
        column("spectral radius", |row| searched(row, |config| config.spectral_radius.get(0))),
        column("input scaling", |row| searched(row, |config| Some(config.input_scaling))),
        column("hidden scaling", |row| searched(row, |config| config.hidden_scaling.get(0))),
        column("setting", |row| row.result.setting.as_deref().map(shown_setting).map(Cell::text)),
        // A terminal has no room for it.
        column("chosen", |row| {
            row.model.as_ref()?;
            results::chosen([row.result]).map(Cell::sentence)
        }),
        column("converged (%)", move |row| {
            let share = row.result.converged.filter(|_| some_did_not)?;
            Some(Cell::number(100.0 * share, 1))
        }),
        column("alpha", |row| Some(Cell::sorted(row.result.alpha.to_string(), row.result.alpha))),
        column("train s", |row| Some(Cell::number(row.times?.train_seconds, 3))),
        column("test s", |row| Some(Cell::number(row.times?.test_seconds, 3))),
    ]);
    columns.retain(|(_, cell)| rows.iter().any(|row| cell(row).is_some()));
    let mut table = Table::new("Every fold", columns.iter().map(|(name, _)| name.clone()));
    table.rows.extend(rows.iter().map(|row| {
        let missing = |name: &str| if name == "seed" { Cell::count(0) } else { Cell::none() };
        columns.iter().map(|(name, cell)| cell(row).unwrap_or_else(|| missing(name))).collect()
    }));
    table
}

/// The folds of all models of a dataset.
pub(crate) fn folds(models: &Models<'_>, metric: Metric) -> Table {
    let cells = models.values().flatten();
    let rows: Vec<FoldRow<'_>> = cells
        .flat_map(|(key, state)| {
            state.folds.iter().map(|(&fold, result)| FoldRow {
                model: Some(key.subject()),
                seed: key.seed,
                fold,
                result,
                times: state.times.get(&(Sweeps::Own, fold)).copied(),
            })
        })
        .collect();
    Table { caption: "Every fold, scored on held-out graphs".to_owned(), ..fold_table(&rows, metric) }
}

/// The part of a page about one dataset: its models and their folds, or a note that
/// there is none.
pub(crate) fn section(
    page: &mut Page,
    models: &Models<'_>,
    metric: Metric,
    beside: Option<Beside<'_>>,
    middle: impl FnOnce(&mut Page),
) {
    if models.is_empty() {
        return page.paragraph("No evaluation has started yet.");
    }
    page.table(&results(models, metric, beside));
    middle(page);
    page.table(&folds(models, metric));
}
