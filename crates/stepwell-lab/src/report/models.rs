//! Tables of the models of one dataset, and of their folds.

use std::collections::BTreeMap;

use crate::baselines::Baseline;
use crate::metrics::{Quality, mean_and_std};
use crate::picture::page::Page;
use crate::results::pool_order;
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

/// Columns that stand behind the accuracy: their names, and a model's cells.
pub(crate) type Beside<'b> = (&'b [&'b str], &'b dyn Fn(&CellKey) -> Vec<Cell>);

/// A line for each model, finished or not.
pub(crate) fn results(models: &Models<'_>, beside: Option<Beside<'_>>) -> Table {
    let qualities = |cells: &[(&CellKey, &CellState)]| -> Vec<Quality> {
        cells.iter().flat_map(|(_, state)| state.folds.values().map(|result| result.quality)).collect()
    };
    let is_regression =
        models.values().any(|cells| qualities(cells).iter().any(|quality| quality.mae.is_some()));
    let mut header = vec!["model"];
    if is_regression {
        header.extend(["mean absolute error", "R²"]);
    } else {
        header.push("accuracy (%)");
        header.extend(beside.iter().flat_map(|(names, _)| names.iter()));
        header.extend(["balanced accuracy (%)", "macro F1 (%)", "AUROC"]);
    }
    let mut table = Table::new("Means over folds, and seeds if there are several", header);
    for cells in models.values() {
        let Some((key, _)) = cells.first() else { continue };
        let found = qualities(cells);
        let quality = Quality::mean(&found);
        let percent = |value: Option<f64>| Cell::optional(value.map(|share| 100.0 * share), 1);
        let (done, all) =
            cells.iter().fold((0, 0), |(done, all), (_, state)| (done + state.done(), all + state.all_units));
        let unfinished = || Cell::missing(format!("{done} of {all} passes"));
        let is_done = cells.iter().all(|(_, state)| state.is_done());
        let mut row = vec![Cell::text(key.subject())];
        if is_regression {
            row.push(if is_done { Cell::optional(quality.mae, 4) } else { unfinished() });
            row.push(Cell::optional(quality.r2, 3));
        } else {
            let shares: Vec<f64> = found.iter().filter_map(|quality| quality.accuracy).collect();
            let (mean, std) = mean_and_std(&shares);
            let has_accuracy = is_done && quality.accuracy.is_some();
            row.push(if has_accuracy { Cell::spread(100.0 * mean, 100.0 * std) } else { unfinished() });
            row.extend(beside.iter().flat_map(|(_, cells)| cells(key)));
            row.push(percent(quality.balanced_accuracy));
            row.push(percent(quality.macro_f1));
            row.push(Cell::optional(quality.auroc, 3));
        }
        table.rows.push(row);
    }
    table
}

/// One fold of one model.
#[derive(Clone, Debug)]
pub struct FoldRow<'a> {
    /// What the model is called, where there are several.
    pub model: Option<String>,
    /// The protocol's seed.
    pub seed: u64,
    /// Which fold, from 0.
    pub fold: usize,
    /// How good its model is.
    pub result: &'a FoldResult,
    /// How long it took, if that is known.
    pub times: Option<Times>,
}

/// A line for each fold, with the columns that say something.
pub fn fold_table(rows: &[FoldRow<'_>]) -> Table {
    type Column = (&'static str, fn(&FoldRow<'_>) -> Option<Cell>);
    fn percent(share: Option<f64>) -> Option<Cell> {
        share.map(|share| Cell::number(100.0 * share, 1))
    }
    fn searched(row: &FoldRow<'_>, value: fn(&stepwell::config::ModelConfig) -> Option<f64>) -> Option<Cell> {
        row.result.validation?;
        Some(Cell::number(value(row.result.config.as_ref()?)?, 2))
    }
    let columns: [Column; 16] = [
        ("model", |row| row.model.clone().map(Cell::text)),
        ("seed", |row| (row.seed > 0).then(|| Cell::sorted(row.seed.to_string(), row.seed as f64))),
        ("fold", |row| Some(Cell::count(row.fold + 1))),
        ("accuracy (%)", |row| percent(row.result.quality.accuracy)),
        ("balanced (%)", |row| percent(row.result.quality.balanced_accuracy)),
        ("macro F1 (%)", |row| percent(row.result.quality.macro_f1)),
        ("AUROC", |row| row.result.quality.auroc.map(|area| Cell::number(area, 3))),
        ("MAE", |row| row.result.quality.mae.map(|error| Cell::number(error, 4))),
        ("R²", |row| row.result.quality.r2.map(|r2| Cell::number(r2, 3))),
        ("spectral radius", |row| searched(row, |config| config.spectral_radius.get(0))),
        ("input scaling", |row| searched(row, |config| Some(config.input_scaling))),
        ("hidden scaling", |row| searched(row, |config| config.hidden_scaling.get(0))),
        ("setting", |row| row.result.setting.clone().map(Cell::text)),
        ("alpha", |row| Some(Cell::sorted(row.result.alpha.to_string(), row.result.alpha))),
        ("train s", |row| Some(Cell::number(row.times?.train_seconds, 3))),
        ("test s", |row| Some(Cell::number(row.times?.test_seconds, 3))),
    ];
    let told: Vec<&Column> =
        columns.iter().filter(|(_, cell)| rows.iter().any(|row| cell(row).is_some())).collect();
    let mut table = Table::new("Every fold", told.iter().map(|(name, _)| *name));
    table.rows.extend(rows.iter().map(|row| {
        let missing = |name| if name == "seed" { Cell::count(0) } else { Cell::none() };
        told.iter().map(|(name, cell)| cell(row).unwrap_or_else(|| missing(*name))).collect()
    }));
    table
}

/// The folds of all models of a dataset.
pub(crate) fn folds(models: &Models<'_>) -> Table {
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
    Table { caption: "Every fold, on graphs its model was not trained on".to_owned(), ..fold_table(&rows) }
}

/// The part of a page about one dataset: its models and their folds, or that there is none.
pub(crate) fn section(page: &mut Page, models: &Models<'_>, results: &Table, middle: impl FnOnce(&mut Page)) {
    if models.is_empty() {
        return page.paragraph("No model has been started.");
    }
    page.table(results);
    middle(page);
    page.table(&folds(models));
}
