use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser, ValueParser};
use serde::Serialize;
use serde_json::Value;
use stepwell::pool::Pool;
use stepwell::pyramid::Level;
use stepwell_data::{Dataset, LevelSummary, Untargeted, counted, files};

use super::stats::describe_notes;
use crate::BadUsage;
use crate::args::{Caching, Input};
use crate::pooling::PoolArgs;
use crate::terminal::Terminal;

/// The help of `--pool`.
fn help_of_pool() -> String {
    format!("Pooling to apply. Values: {}", Pool::ALL.map(Pool::name).join(", "))
}

/// The parser of `--pool`, without `none`.
fn poolings() -> ValueParser {
    ValueParser::new(PossibleValuesParser::new(Pool::ALL.map(Pool::name)).map(Value::from))
}

/// Write the coarse graphs of a pooling, level by level
///
/// Writes a folder with two files per level, numbered from 1. level1.jsonl holds the coarse
/// graphs, one per line, with the ids and targets of the original graphs. assignment1.jsonl holds
/// one object per graph, with the matrix S that assigns vertices to coarse vertices; each entry is
/// given as vertex, coarse vertex and value. If the pooling selects vertices, the object also
/// lists the kept vertices.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell coarsen MUTAG --pool ndp --levels 2 -o mutag-ndp
  stepwell coarsen graphs.jsonl --pool graclus -o coarse --json",
    mut_arg("pool", |pool| pool.required(true).value_parser(poolings()).help(help_of_pool())))]
pub struct Coarsen {
    #[command(flatten)]
    input: Input,

    /// The folder to write; it must be empty or missing
    #[arg(short, long, value_name = "FOLDER")]
    out: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    pool: PoolArgs,
}

#[derive(Serialize)]
struct CoarseningSummary {
    dataset: String,
    pool: &'static str,
    seconds: f64,
    levels: Vec<LevelSummary>,
    notes: Vec<String>,
}

/// The entries of `S` for one graph.
#[derive(Serialize)]
struct Entries {
    id: String,
    num_fine: usize,
    num_coarse: usize,
    fine: Vec<usize>,
    coarse: Vec<u32>,
    value: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<Vec<u32>>,
}

impl Coarsen {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let pooling = self
            .pool
            .pooling()?
            .context("--pool: expected graclus, nmf, ndp or kmis, found none")
            .context(BadUsage)?;
        let dataset = terminal.load(&self.input, Untargeted::Refuse)?;
        let start = Instant::now();
        let cache = self.caching.pyramids(&self.input.sources);
        let pyramid = terminal.coarsen(cache.as_ref(), &dataset.graphs, &pooling, self.pool.levels)?;
        let seconds = start.elapsed().as_secs_f64();
        let notes = describe_notes(&pyramid.notes());
        let mut levels = Vec::new();
        let write = |folder: &Path| {
            for (number, level) in (1..).zip(pyramid.levels) {
                levels.push(LevelSummary::of(number, &level.graphs));
                write_level(&dataset, level, number, folder)?;
            }
            Ok(())
        };
        terminal.creating(&self.out, || files::write_folder_whole::<anyhow::Error>(&self.out, write))?;
        if self.json {
            return terminal.json(&CoarseningSummary {
                dataset: dataset.name,
                pool: pooling.method.name(),
                seconds,
                levels,
                notes,
            });
        }
        terminal.notes("note", &notes);
        let (graphs, out) = (counted(dataset.len(), "graph"), self.out.display());
        terminal.note(&format!("pooled {graphs} in {seconds:.2} s and wrote {out}"));
        Ok(())
    }
}

/// Consumes the level, which may be most of the memory, and frees it.
fn write_level(dataset: &Dataset, level: Level, number: usize, folder: &Path) -> Result<()> {
    let path = folder.join(format!("assignment{number}.jsonl"));
    let mut out = BufWriter::new(File::create(&path).with_context(|| path.display().to_string())?);
    for graph in level.graphs.iter() {
        let assignment = level.assignments.graph(graph.index());
        let rows = (0..assignment.num_fine()).flat_map(|v| std::iter::repeat_n(v, assignment.row(v).0.len()));
        let offsets = &level.graphs.vertex_offsets()[graph.index()..];
        let entries = Entries {
            id: dataset.id(graph.index()),
            num_fine: assignment.num_fine(),
            num_coarse: assignment.num_coarse(),
            fine: rows.collect(),
            coarse: assignment.columns().to_vec(),
            value: assignment.values().to_vec(),
            kept: level.kept.as_ref().map(|kept| kept[offsets[0]..offsets[1]].to_vec()),
        };
        serde_json::to_writer(&mut out, &entries)?;
        std::io::Write::write_all(&mut out, b"\n")?;
    }
    std::io::Write::flush(&mut out).with_context(|| path.display().to_string())?;
    let coarse = Dataset {
        name: dataset.name.clone(),
        graphs: level.graphs,
        targets: dataset.targets.clone(),
        target_names: dataset.target_names.clone(),
        ids: dataset.ids.clone(),
        parts: dataset.parts.clone(),
        ..Dataset::default()
    };
    stepwell_data::catalog::write(&coarse, &folder.join(format!("level{number}.jsonl")), false)?;
    Ok(())
}
