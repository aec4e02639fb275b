use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use stepwell_lab::metrics::mean_and_std;
use stepwell_lab::run::{CellKey, Run};

use crate::terminal::{Terminal, table};

/// Show the progress of a run
#[derive(Args, Debug)]
#[command(after_help = "Example:
  stepwell runs runs/paper")]
pub struct Runs {
    /// The run's folder
    folder: PathBuf,

    /// One JSON object on standard output
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
    /// Passes done, and all there are.
    done: usize,
    units: usize,
    /// Accuracies of the folds that are done.
    folds: Vec<f64>,
    /// Folds whose times were taken.
    timed: usize,
}

impl Runs {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        ensure!(self.folder.is_dir(), "{}: no such folder", self.folder.display());
        let cells = Run::read(&self.folder)?.cells;
        ensure!(!cells.is_empty(), "{}: no records of a run", self.folder.display());
        let rows: Vec<CellProgress> = cells
            .into_iter()
            .map(|(CellKey { dataset, model, pool, blocks, seed }, state)| CellProgress {
                dataset,
                model,
                pool,
                blocks,
                seed,
                done: state.done(),
                units: state.all_units,
                folds: state.folds.values().filter_map(|outcome| outcome.quality.accuracy).collect(),
                timed: state.times.len(),
            })
            .collect();
        if self.json {
            return terminal.json(&rows);
        }
        let lines = rows.iter().map(|row| {
            let percent: Vec<f64> = row.folds.iter().map(|share| 100.0 * share).collect();
            let (mean, std) = mean_and_std(&percent);
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
                if row.folds.is_empty() { "-".into() } else { format!("{mean:.1} ± {std:.1}") },
                if row.timed > 0 { "taken" } else { "-" }.into(),
            ]
        });
        terminal
            .print(&table(&["dataset", "model", "blocks", "seed", "passes", "accuracy (%)", "times"], lines))
    }
}
