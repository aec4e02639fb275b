use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use stepwell::config::{ModelConfig, Pool};
use stepwell_data::files;
use stepwell_lab::evaluate::Run;
use stepwell_lab::paper;

use super::evaluate::{ProtocolArgs, Report, evaluate};
use super::runs::cells;
use crate::BadUsage;
use crate::args::{Caching, Input, Sources};
use crate::model::ModelArgs;
use crate::terminal::Terminal;

/// Run the paper's Tables 2 and 3, with the paper's figures beside ours
///
/// Every dataset, pooling and number of blocks goes through the paper's whole
/// protocol. The run can be ended at any time, by Ctrl-C or a power cut, and
/// goes on when the same command is given again; 'stepwell runs' shows how far
/// it is. Tables are written to OUT/tables as Markdown and CSV whenever a cell
/// is done.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell reproduce --out runs/paper
  stepwell reproduce --datasets ENZYMES,PROTEINS --tables 2 --configs 20 --out runs/quick
  stepwell reproduce --out runs/paper --shard 0/3    # one of three processes or machines")]
pub struct Reproduce {
    /// The run's folder
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,

    /// Datasets [all of the paper's that can be found]
    #[arg(long, value_delimiter = ',')]
    datasets: Vec<String>,

    /// Tables: 2 (two blocks), 3 (three blocks)
    #[arg(long, value_delimiter = ',', default_values_t = [2, 3], value_parser = clap::value_parser!(u8).range(2..=3))]
    tables: Vec<u8>,

    /// Do only part I of N of the passes; whoever finds all of them done judges the winners
    #[arg(long, value_name = "I/N", value_parser = shard)]
    shard: Option<(usize, usize)>,

    #[command(flatten)]
    sources: Sources,

    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    model: ModelArgs,
}

const POOLS: [Pool; 4] = [Pool::None, Pool::Graclus, Pool::Nmf, Pool::Ndp];

impl Reproduce {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let model = self.model.config().context(BadUsage)?;
        let protocol = self.protocol.protocol(&self.model, model.seed).context(BadUsage)?;
        let run = Run { folder: Some(self.out.clone()), shard: self.shard.unwrap_or((0, 1)) };
        let cache = self.caching.pyramids(&self.sources);
        let mut missing = Vec::new();
        let chosen: Vec<String> = match self.datasets.is_empty() {
            true => paper::datasets().map(String::from).collect(),
            false => self.datasets.clone(),
        };
        for name in chosen {
            let sources = Sources { data_dir: self.sources.data_dir.clone(), offline: self.sources.offline };
            let loaded = terminal.load(&Input { dataset: name.clone(), data_seed: 0, sources });
            let dataset = match loaded {
                Ok(dataset) => dataset,
                Err(error) if self.datasets.is_empty() => {
                    terminal.note(&format!("note: {name} is left out: {error:#}"));
                    missing.push(name);
                    continue;
                }
                Err(error) => return Err(error),
            };
            for &blocks in &self.tables {
                for pool in POOLS {
                    let config = ModelConfig { pool, blocks: usize::from(blocks), ..model.clone() };
                    let protocol = protocol.clone();
                    match evaluate(&dataset, config, protocol, None, cache.as_ref(), &run, terminal)? {
                        Some(report) => {
                            terminal.note(&line(&report));
                            write_tables(&self.out)?;
                        }
                        None => terminal.note("passes of other parts are missing: to be judged later"),
                    }
                }
            }
        }
        if !missing.is_empty() {
            terminal.note(&format!("left out: {}", missing.join(", ")));
        }
        terminal.note(&format!("tables are in {}", self.out.join("tables").display()));
        Ok(())
    }
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "expected I/N with I below N, as 0/3".to_owned();
    let (this, of) = text.split_once('/').ok_or_else(wrong)?;
    let (this, of): (usize, usize) = (this.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
    if this < of { Ok((this, of)) } else { Err(wrong()) }
}

fn line(report: &Report) -> String {
    let (mean, std) = (report.accuracy_mean.unwrap_or_default(), report.accuracy_std.unwrap_or_default());
    let printed = paper::result(&report.dataset, &report.pool, report.blocks);
    let printed = printed.and_then(|row| row.accuracy.zip(row.std));
    let beside = printed.map_or(String::new(), |(mean, std)| format!(", paper {mean} ± {std}"));
    let (dataset, pool, blocks) = (&report.dataset, &report.pool, report.blocks);
    format!("{dataset} {pool} L={blocks}: {:.1} ± {:.1}{beside}", 100.0 * mean, 100.0 * std)
}

/// Tables of all cells that are done, from the records alone.
pub fn write_tables(folder: &Path) -> Result<()> {
    let mut csv = "dataset,pool,blocks,accuracy,std,paper_accuracy,paper_std,difference\n".to_owned();
    let mut markdown =
        "| dataset | pooling | blocks | ours | paper | difference |\n|---|---|--:|--:|--:|--:|\n".to_owned();
    for cell in cells(folder)?.into_iter().filter(|cell| cell.is_done()) {
        let (mean, std) = cell.accuracy().ok_or_else(|| anyhow!("a finished cell has folds"))?;
        let key = &cell.key;
        let printed = paper::result(&key.dataset, &key.pool, key.blocks);
        let printed = printed.and_then(|row| row.accuracy.zip(row.std));
        let text = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
        let difference = printed.map(|(paper, _)| mean - paper);
        csv += &format!(
            "{},{},{},{mean:.4},{std:.4},{},{},{}\n",
            key.dataset,
            key.pool,
            key.blocks,
            text(printed.map(|pair| pair.0)),
            text(printed.map(|pair| pair.1)),
            text(difference)
        );
        markdown += &format!(
            "| {} | {} | {} | {mean:.1} ± {std:.1} | {} | {} |\n",
            key.dataset,
            key.pool,
            key.blocks,
            printed.map_or("memory error".into(), |(mean, std)| format!("{mean:.1} ± {std:.1}")),
            difference.map_or(String::new(), |difference| format!("{difference:+.1}"))
        );
    }
    for (name, text) in [("accuracy.csv", csv), ("accuracy.md", markdown)] {
        files::write_whole::<anyhow::Error>(&folder.join("tables").join(name), |out| {
            Ok(out.write_all(text.as_bytes())?)
        })?;
    }
    Ok(())
}
