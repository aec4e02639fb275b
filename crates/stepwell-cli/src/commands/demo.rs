use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use stepwell_data::synthetic::{self, BenchmarkOptions};
use stepwell_data::{Part, Summary};

use super::stats::describe;
use crate::terminal::{Terminal, table};

/// See it work: generate the paper's B-easy benchmark and describe it
#[derive(Args, Debug)]
#[command(after_help = "Example:
  stepwell demo --seed 7")]
pub struct Demo {
    /// Seed of the benchmark
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

impl Demo {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let options = BenchmarkOptions::named("b-easy").context("b-easy")?;
        let start = Instant::now();
        let dataset = terminal.busy("generating b-easy", || {
            synthetic::generate(&BenchmarkOptions { seed: self.seed, ..options })
        })?;
        terminal.note(&format!(
            "generated {} graphs in {:.2} s",
            dataset.len(),
            start.elapsed().as_secs_f64()
        ));
        terminal.print(&describe(&Summary::of(&dataset), "none"))?;

        let (classes, names) = dataset.targets.classes().unwrap_or_default();
        let parts = dataset.parts.as_deref().unwrap_or_default();
        let rows = names.iter().enumerate().map(|(class, name)| {
            let of = |wanted: Part| {
                classes
                    .iter()
                    .zip(parts)
                    .filter(|(c, part)| **c == class && **part == wanted)
                    .count()
                    .to_string()
            };
            vec![name.clone(), of(Part::Train), of(Part::Validation), of(Part::Test)]
        });
        terminal.print(&format!("\n{}", table(&["class", "train", "validation", "test"], rows)))
    }
}
