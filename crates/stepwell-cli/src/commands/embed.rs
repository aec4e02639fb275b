use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use ndarray::s;
use serde::Serialize;
use stepwell::reservoir::{Convergence, Precision, Prepared, ReservoirOptions, Run, Weights, embed, states};
use stepwell_data::vectors::{Block, CsvWriter, Key, NpyWriter, ParquetWriter, Shape, VectorWriter};
use stepwell_data::{Dataset, Source, Survey, Targets, files};

use crate::BadUsage;
use crate::args::Input;
use crate::model::ModelArgs;
use crate::terminal::Terminal;

/// Turn every graph into a vector
///
/// Without -o, comma-separated values go to standard output: id,e0,e1,…
/// Files of rows (.jsonl, .parquet) are read piece by piece and may be larger
/// than memory.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell embed MUTAG -o mutag.npy
  stepwell embed graphs.parquet -o vectors.parquet --units 100 --concat
  stepwell embed b-easy --aggregate sum,max --json
  stepwell embed ENZYMES --nodes -o states.parquet")]
pub struct Embed {
    #[command(flatten)]
    input: Input,

    /// Where to write: .npy, .csv or .parquet
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Write the state of every vertex (graph, block, vertex, state) instead
    #[arg(long)]
    nodes: bool,

    /// One JSON object on standard output: what was done, and how well it converged
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    model: ModelArgs,
}

/// What was done.
#[derive(Debug, Default, Serialize)]
struct Report {
    graphs: usize,
    units: usize,
    /// Numbers in a vector.
    columns: usize,
    seconds: f64,
    prepare_seconds: f64,
    coarsen_seconds: f64,
    /// Mean sweeps of each block, stack after stack.
    sweeps_mean: Vec<f64>,
    /// Share of graphs that converged in all blocks.
    converged: f64,
}

impl Embed {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let options = self.model.options().context(BadUsage)?;
        let format = self.format().context(BadUsage)?;
        let source = terminal.open(&self.input)?;
        let with_targets = format == Format::Parquet && !self.nodes;
        let survey = terminal.survey(&source, with_targets)?;
        let weights = Weights::random(&options, survey.features.width())?;
        let work = Work { source, survey, weights, options, nodes: self.nodes, with_targets };
        let shape = work.shape()?;
        let report = match &self.out {
            None if self.json => work.run(terminal, None)?,
            None => {
                let stdout = BufWriter::new(io::stdout().lock());
                work.run(terminal, Some(Box::new(CsvWriter::new(stdout, &shape))))?
            }
            Some(path) => {
                let mut report = Report::default();
                files::write_whole::<anyhow::Error>(path, |out| {
                    let writer: Box<dyn VectorWriter + '_> = match format {
                        Format::Csv => Box::new(CsvWriter::new(out, &shape)),
                        Format::Npy => Box::new(NpyWriter::new(out, &shape)?),
                        Format::Parquet => Box::new(ParquetWriter::new(out, &shape)),
                    };
                    report = work.run(terminal, Some(writer))?;
                    Ok(())
                })?;
                let Report { graphs, columns, seconds, .. } = report;
                let path = path.display();
                terminal
                    .note(&format!("{graphs} graphs, {columns} numbers each, to {path} in {seconds:.2} s"));
                report
            }
        };
        if report.converged < 1.0 && work.options.fixed_sweeps.is_none() {
            terminal.note(&format!(
                "note: {:.1} % of the graphs did not converge in {} sweeps; raise --max-iter or lower --spectral-radius",
                100.0 * (1.0 - report.converged),
                work.options.max_iter
            ));
        }
        if self.json {
            terminal.json(&report)?;
        }
        Ok(())
    }

    fn format(&self) -> Result<Format> {
        let Some(path) = &self.out else { return Ok(Format::Csv) };
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Ok(Format::Csv),
            Some("parquet") => Ok(Format::Parquet),
            Some("npy") if self.nodes => {
                bail!("states need their vertices' names beside them: write .csv or .parquet")
            }
            Some("npy") => Ok(Format::Npy),
            _ => bail!("{}: vectors are written as .npy, .csv or .parquet", path.display()),
        }
    }
}

/// How vectors are written.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Format {
    Csv,
    Npy,
    Parquet,
}

struct Work {
    source: Source,
    survey: Survey,
    weights: Weights,
    options: ReservoirOptions,
    /// Whether states of vertices are wanted.
    nodes: bool,
    /// Whether targets, if there are any, are written beside the vectors.
    with_targets: bool,
}

impl Work {
    fn shape(&self) -> Result<Shape> {
        let double = self.options.precision == Precision::F64;
        let widths = self.weights.stacks().iter().flat_map(|stack| {
            let first = if self.options.concat { 0 } else { stack.len() - 1 };
            stack[first..].iter().map(|block| block.recurrent.ncols())
        });
        if !self.nodes {
            let width = widths.sum::<usize>() * self.options.aggregate.len();
            let mut keys = vec!["id"];
            keys.extend((self.with_targets && self.survey.has_targets).then_some("y"));
            return Ok(Shape { keys, vector: "embedding", width, double });
        }
        let widths: Vec<usize> = widths.collect();
        ensure!(
            widths.iter().all(|&width| width == widths[0]),
            "--nodes writes states of one width; give all blocks the same --units, or leave out --concat"
        );
        Ok(Shape { keys: vec!["graph", "block", "vertex"], vector: "state", width: widths[0], double })
    }

    /// Embeds all pieces and writes their vectors.
    fn run(&self, terminal: &Terminal, mut writer: Option<Box<dyn VectorWriter + '_>>) -> Result<Report> {
        let start = Instant::now();
        let mut write = |block: &Block<'_>| match &mut writer {
            Some(writer) => writer.write(block).context("writing vectors"),
            None => Ok(()),
        };
        let blocks = self.options.stacks * self.options.blocks;
        let mut report = Report {
            units: self.options.units.get(self.options.blocks - 1).unwrap_or_default(),
            columns: self.shape()?.width,
            sweeps_mean: vec![0.0; blocks],
            ..Report::default()
        };
        let mut converged = 0;
        terminal.counting("embedding", |progress| {
            self.source.visit(|piece| {
                let inputs = self.survey.features.apply(&piece.graphs)?;
                let prepare = Instant::now();
                let prepared = Prepared::new(&piece.graphs, &inputs, &self.options)?;
                report.prepare_seconds += prepare.elapsed().as_secs_f64();
                let before = report.graphs;
                let done = |graphs: usize| progress(before + graphs);
                let runs = if self.nodes {
                    let (tables, runs) = states(&self.weights, &prepared, &self.options, done)?;
                    self.write_states(piece, before, &tables, &mut write)?;
                    runs
                } else {
                    let embedding = embed(&self.weights, &prepared, &self.options, done)?;
                    self.write_vectors(piece, before, embedding.vectors.view(), &mut write)?;
                    embedding.runs
                };
                report.graphs += piece.len();
                for graph in runs.outer_iter() {
                    let settled = |run: &Run| run.converged != Convergence::No;
                    converged += usize::from(graph.iter().all(settled));
                    for (sum, run) in report.sweeps_mean.iter_mut().zip(graph) {
                        *sum += f64::from(run.sweeps);
                    }
                }
                Ok::<(), anyhow::Error>(())
            })
        })?;
        writer.map_or(Ok(()), |writer| writer.finish()).context("writing vectors")?;
        let graphs = report.graphs.max(1) as f64;
        report.sweeps_mean.iter_mut().for_each(|sum| *sum /= graphs);
        report.converged = if report.graphs == 0 { 1.0 } else { converged as f64 / graphs };
        report.seconds = start.elapsed().as_secs_f64();
        Ok(report)
    }

    fn write_vectors(
        &self,
        piece: &Dataset,
        before: usize,
        rows: ndarray::ArrayView2<'_, f64>,
        write: &mut impl FnMut(&Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let ids = ids(piece, before);
        let mut keys = vec![Key::Text(&ids)];
        let real: Vec<f64>;
        match &piece.targets {
            _ if !self.with_targets => {}
            Targets::None => {}
            Targets::Classes(values) if self.survey.real_targets => {
                real = values.iter().map(|&value| value as f64).collect();
                keys.push(Key::Real(&real));
            }
            Targets::Classes(values) => keys.push(Key::Whole(values)),
            Targets::Real(values) => keys.push(Key::Real(values)),
            Targets::Text(values) => keys.push(Key::Text(values)),
        }
        write(&Block { keys, rows })
    }

    fn write_states(
        &self,
        piece: &Dataset,
        before: usize,
        tables: &[ndarray::Array2<f64>],
        write: &mut impl FnMut(&Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let ids = ids(piece, before);
        let read = tables.len() / self.options.stacks;
        for (graph, range) in piece.graphs.vertex_offsets().windows(2).enumerate() {
            for (index, table) in tables.iter().enumerate() {
                let (stack, block) = (index / read, self.options.blocks - read + index % read);
                let vertices = range[1] - range[0];
                let graph = vec![ids[graph].clone(); vertices];
                let block = vec![(stack * self.options.blocks + block) as i64; vertices];
                let vertex: Vec<i64> = (0..vertices as i64).collect();
                let keys = vec![Key::Text(&graph), Key::Whole(&block), Key::Whole(&vertex)];
                write(&Block { keys, rows: table.slice(s![range[0]..range[1], ..]) })?;
            }
        }
        Ok(())
    }
}

/// The graphs' names; `before` graphs came before this piece.
fn ids(piece: &Dataset, before: usize) -> Vec<String> {
    match &piece.ids {
        Some(ids) => ids.clone(),
        None => (before..before + piece.len()).map(|index| index.to_string()).collect(),
    }
}
