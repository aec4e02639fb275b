use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use stepwell_lab::evaluate::{CellKey, Record, Run};
use stepwell_lab::protocol::UnitKey;

use crate::terminal::{Terminal, table};

/// Show how far a run is
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

/// What a run knows of an architecture on a dataset.
#[derive(Serialize)]
pub struct CellState {
    #[serde(flatten)]
    pub key: CellKey,
    /// Passes done, and all there are.
    pub done: usize,
    pub units: usize,
    /// Accuracies of the folds that were judged.
    pub folds: Vec<f64>,
}

impl CellState {
    pub fn is_done(&self) -> bool {
        self.units > 0 && self.done == self.units && !self.folds.is_empty()
    }

    /// Mean and standard deviation over folds, in percent.
    pub fn accuracy(&self) -> Option<(f64, f64)> {
        let count = self.folds.len() as f64;
        let mean = self.folds.iter().sum::<f64>() / count;
        let variance = self.folds.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        (count > 0.0).then(|| (100.0 * mean, 100.0 * variance.sqrt()))
    }
}

/// All cells of a run, by dataset, pooling and blocks.
pub fn cells(folder: &Path) -> Result<Vec<CellState>> {
    #[derive(Default)]
    struct Known {
        units: usize,
        done: BTreeSet<UnitKey>,
        folds: BTreeMap<usize, f64>,
    }
    let mut known: BTreeMap<CellKey, Known> = BTreeMap::new();
    for record in Run::read(folder)? {
        match record {
            Record::Cell { cell, units, .. } => known.entry(cell).or_default().units = units,
            Record::Unit { cell, unit } => {
                known.entry(cell).or_default().done.insert(unit.key);
            }
            Record::Fold { cell, fold, outcome } => {
                if let Some(accuracy) = outcome.accuracy {
                    known.entry(cell).or_default().folds.insert(fold, accuracy);
                }
            }
            Record::Time { .. } => {}
        }
    }
    let state = |(key, known): (CellKey, Known)| CellState {
        key,
        done: known.done.len(),
        units: known.units,
        folds: known.folds.into_values().collect(),
    };
    Ok(known.into_iter().map(state).collect())
}

impl Runs {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        ensure!(self.folder.is_dir(), "{}: no such folder", self.folder.display());
        let cells = cells(&self.folder)?;
        ensure!(!cells.is_empty(), "{}: no records of a run", self.folder.display());
        if self.json {
            return terminal.json(&cells);
        }
        let rows = cells.iter().map(|cell| {
            vec![
                cell.key.dataset.clone(),
                cell.key.pool.clone(),
                cell.key.blocks.to_string(),
                format!("{} of {}", cell.done, cell.units),
                cell.accuracy().map_or("-".into(), |(mean, std)| format!("{mean:.1} ± {std:.1}")),
            ]
        });
        terminal.print(&table(&["dataset", "pooling", "blocks", "passes", "% right"], rows))
    }
}
