use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use stepwell::config::Metric;
use stepwell_lab::metrics::{heading, mean_and_std, mean_cell};
use stepwell_lab::run::{CellKey, Run};

use crate::terminal::{Terminal, table};

/// Show the progress of a run of 'reproduce', or of 'evaluate' with --out
#[derive(Args, Debug)]
#[command(after_help = "Example:
  stepwell runs runs/paper")]
pub struct Runs {
    /// The run's folder
    folder: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The progress of a model on a dataset.
#[derive(Serialize)]
struct CellProgress {
    dataset: String,
    model: String,
    pool: String,
    blocks: usize,
    seed: u64,
    /// The number of finished passes, and of all passes.
    done: usize,
    units: usize,
    /// The metric that results are reported by.
    metric: Metric,
    /// Its values in the finished folds.
    folds: Vec<f64>,
    /// The number of finished folds, with and without a value.
    #[serde(skip)]
    finished: usize,
    /// Its spread over draws of the weights, in the first finished fold.
    #[serde(skip)]
    over_draws: Option<f64>,
    /// The number of folds with measured times.
    timed: usize,
}

impl Runs {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        ensure!(self.folder.is_dir(), "{}: no such folder", self.folder.display());
        let cells = Run::read(&self.folder)?.cells;
        ensure!(
            !cells.is_empty(),
            "{}: no records of a run; pass the --out folder of 'evaluate' or 'reproduce'",
            self.folder.display()
        );
        let rows: Vec<CellProgress> = cells
            .into_iter()
            .map(|(CellKey { dataset, model, pool, blocks, seed }, state)| CellProgress {
                metric: state.headline(),
                dataset,
                model,
                pool,
                blocks,
                seed,
                done: state.done(),
                units: state.all_units,
                folds: state.folds.values().filter_map(|fold| fold.quality.get(state.headline())).collect(),
                finished: state.folds.len(),
                over_draws: state.folds.values().next().and_then(|fold| fold.std.get(state.headline())),
                timed: state.times.len(),
            })
            .collect();
        if self.json {
            return terminal.json(&rows);
        }
        let lines = rows.iter().map(|row| {
            let (mean, over_folds) = mean_and_std(&row.folds);
            let std = if row.folds.len() > 1 { Some(over_folds) } else { row.over_draws };
            let value = match row.folds.len() {
                0 => "-".to_owned(),
                count => mean_cell(row.metric, mean, std, (count, row.finished)).text,
            };
            vec![
                row.dataset.clone(),
                match (row.model.as_str(), row.blocks) {
                    (baseline, 0) => baseline.to_owned(),
                    ("reservoir", _) => row.pool.clone(),
                    (fixed, _) => format!("{fixed} {}", row.pool),
                },
                row.blocks.to_string(),
                row.seed.to_string(),
                format!("{} of {}", row.done, row.units),
                if row.folds.is_empty() { "-".into() } else { heading(row.metric) },
                value,
                if row.timed > 0 { "taken" } else { "-" }.into(),
            ]
        });
        terminal.print(&table(
            &["dataset", "model", "blocks", "seed", "passes", "metric", "value", "times"],
            lines,
        ))
    }
}
