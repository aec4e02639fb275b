use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use ndarray::s;
use serde::Serialize;
use serde_json::json;
use stepwell::config::{Level, Precision};
use stepwell::model::Model;
use stepwell::reservoir::{Embedding, Prepared};
use stepwell::targets::{Labels, Targets};
use stepwell_data::cache::PyramidCache;
use stepwell_data::vectors::{Block, CsvWriter, Key, NpyWriter, ParquetWriter, Partial, Shape, VectorWriter};
use stepwell_data::{Dataset, Expected, Source, Survey, Untargeted, counted, files, models};

use crate::BadUsage;
use crate::args::{Caching, DeviceArg, Input, on_device};
use crate::embedding::{Embedder, Tally, ids};
use crate::model::{ModelArgs, ReadoutArgs};
use crate::output::{Kept, Output, ResumeArg};
use crate::pipeline::Piece;
use crate::terminal::Terminal;

/// Turn every graph into a vector
///
/// Without -o, prints comma-separated values, with the columns id, e0, e1 and so on. Files in
/// .jsonl and .parquet format are read in pieces and may be larger than memory. Graphs on
/// standard input are embedded as they arrive if a model (-m) fixes the scale of the features;
/// without a model, all graphs are read first.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell embed MUTAG -o mutag.npy
  stepwell embed graphs.parquet -o vectors.parquet --units 100 --concat
  stepwell embed b-easy --pool ndp --blocks 3 --aggregate sum,max --json
  stepwell embed new.parquet -m model.safetensors -o vectors.npy
  stepwell embed huge.parquet -o vectors.parquet --resume     # interrupted? run it again to resume
  zcat new.jsonl.gz | stepwell embed - -m model.safetensors > vectors.csv
  stepwell embed graphs.parquet -o vectors.parquet --device auto   # an NVIDIA GPU, if there is one
  stepwell embed ENZYMES --nodes -o states.parquet")]
pub struct Embed {
    #[command(flatten)]
    input: Input,

    /// Where to write: .npy, .csv or .parquet
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Embed with the options, weights and feature scales of a saved model, written by
    /// 'stepwell train' or by save() in Python
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,

    /// Write the state of every vertex (graph, block, vertex, state) instead of vectors of graphs
    #[arg(long)]
    nodes: bool,

    /// Print a summary as one JSON object: sizes, times, convergence
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    resume: ResumeArg,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    device: DeviceArg,

    #[command(flatten)]
    options: ModelArgs,
}

/// The summary of the command.
#[derive(Debug, Default, Serialize)]
struct EmbeddingSummary {
    units: usize,
    /// The length of a vector.
    columns: usize,
    seconds: f64,
    #[serde(flatten)]
    tally: Tally,
}

impl Embed {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let config = self.options.config().context(BadUsage)?;
        let format = self.format().context(BadUsage)?;
        self.out.as_deref().map_or(Ok(()), |out| self.input.is_not(out))?;
        self.resume.check(&self.input)?;
        if self.model.is_some() && self.options.gives_any() {
            let refusal = "with -m the options come from the model file; remove the model options";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let device = self.device.open(&self.input.sources, terminal)?;
        let saved = self.model.as_deref().map(models::read).transpose()?;
        saved.as_ref().map_or(Ok(()), |saved| self.input.molecules.fit(saved.model()))?;
        if self.nodes && self.resume.resume {
            let refusal = "--resume cannot be combined with --nodes";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let with_targets = format == Format::Parquet && !self.nodes;
        // No property of all graphs is needed before the first one is embedded.
        let at_once = saved.is_some() && !with_targets;
        let (mut source, survey) = if at_once {
            (terminal.open_once(&self.input, Untargeted::Keep)?, Survey::default())
        } else {
            let source = terminal.open(&self.input, Untargeted::Keep)?;
            let survey = terminal.survey(&source, with_targets, &config)?;
            (source, survey)
        };
        if with_targets && survey.some_targets && !survey.has_targets {
            terminal.note("note: targets not written: some graphs have no target");
        }
        let model = match saved {
            Some(saved) => {
                source.expected = Some(Expected::from(saved.model()));
                saved.into_model()
            }
            None => {
                terminal.notes("note", &self.options.without_effect(&config, &ReadoutArgs::default()));
                Model::new(config, survey.features.clone())?
            }
        };
        if model.config.level == Level::Vertex && !self.nodes {
            let refusal =
                "this model embeds vertices, not graphs: add --nodes to write the states of all vertices";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let model = on_device(model, device, terminal);
        let bytes = if self.resume.resume { model.to_bytes()? } else { Vec::new() };
        let settings = json!({ "command": "embed", "targets": with_targets });
        let (read, made) = ((&self.input, &source), (&model.config, &bytes[..]));
        let kept = self.resume.kept(self.out.as_deref(), read, made, settings)?;
        let cache = self.caching.pyramids(&self.input.sources).filter(|_| source.is_whole());
        let work = Work { source, survey, model, cache, kept, nodes: self.nodes, with_targets };
        let shape = work.shape()?;
        let report = match &self.out {
            None if self.json => work.run(terminal, None)?.0,
            None => {
                let stdout = BufWriter::new(io::stdout().lock());
                work.run(terminal, Some(Box::new(CsvWriter::new(stdout, &shape))))?.0
            }
            Some(path) => {
                let (mut report, mut partial) = (EmbeddingSummary::default(), None);
                let write = |out: &mut BufWriter<&File>| {
                    let writer: Box<dyn VectorWriter + '_> = match format {
                        Format::Csv => Box::new(CsvWriter::new(out, &shape)),
                        Format::Npy => Box::new(NpyWriter::new(out, &shape)?),
                        Format::Parquet => Box::new(ParquetWriter::new(out, &shape)),
                    };
                    (report, partial) = work.run(terminal, Some(writer))?;
                    Ok(())
                };
                terminal.creating(path, || files::write_whole::<anyhow::Error>(path, write))?;
                partial.map_or(Ok(()), Partial::finish)?;
                let EmbeddingSummary { columns, seconds, tally: Tally { graphs, .. }, .. } = report;
                let (graphs, columns) = (counted(graphs, "graph"), counted(columns, "column"));
                let path = path.display();
                terminal.note(&format!("embedded {graphs} with {columns} in {seconds:.2} s, wrote {path}"));
                report
            }
        };
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
                bail!(
                    "--nodes also writes the graph and vertex of every state, which .npy cannot hold; use .csv or .parquet"
                )
            }
            Some("npy") => Ok(Format::Npy),
            _ => bail!("{}: expected an output file that ends in .npy, .csv or .parquet", path.display()),
        }
    }
}

/// The output format of vectors.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Format {
    Csv,
    Npy,
    Parquet,
}

struct Work {
    source: Source,
    survey: Survey,
    model: Model,
    cache: Option<PyramidCache>,
    kept: Option<Kept>,
    /// Whether to write states of vertices.
    nodes: bool,
    /// Whether to write targets, if there are any, beside the vectors.
    with_targets: bool,
}

impl Work {
    fn shape(&self) -> Result<Shape> {
        let config = &self.model.config;
        let double = config.precision == Precision::F64;
        if !self.nodes {
            let width = self.model.width();
            let mut keys = vec!["id"];
            keys.extend((self.with_targets && self.survey.has_targets).then_some("y"));
            return Ok(Shape::numbered(keys, "embedding", width, double));
        }
        let units = |block| self.model.weights.units(0, block);
        let width = units(config.blocks - 1);
        ensure!(
            !config.concat || (0..config.blocks).all(|block| units(block) == width),
            "--nodes needs states of equal width: give all blocks the same --units, or remove --concat"
        );
        Ok(Shape::numbered(vec!["graph", "block", "vertex"], "state", width, double))
    }

    /// Embeds all pieces and writes their vectors.
    fn run(
        &self,
        terminal: &Terminal,
        writer: Option<Box<dyn VectorWriter + '_>>,
    ) -> Result<(EmbeddingSummary, Option<Partial>)> {
        let start = Instant::now();
        let mut output = Output::new(writer, self.kept.as_ref(), terminal)?;
        let (model, config) = (&self.model, &self.model.config);
        let mut embedder = Embedder::new(model, self.cache.clone(), terminal);
        let (mut seen, done) = (0, output.done);
        // The graphs before a piece; nothing if an earlier run has embedded the piece.
        let mut before = |piece: &Dataset| {
            seen += piece.len();
            (seen > done).then_some(seen - piece.len())
        };
        terminal.counting("embedding", |progress| {
            if !self.nodes {
                let take = |_: &mut Embedder<'_>, piece: Piece<'_>, found: Result<Embedding>| {
                    let (embedding, seen) = (found?, piece.before + piece.dataset.len());
                    let mut write = |block: &Block<'_>| output.write(block, seen);
                    self.write_vectors(&piece.dataset, piece.before, embedding.vectors.view(), &mut write)?;
                    output.flush()
                };
                let pass = |push: &mut dyn FnMut(Piece<'_>) -> Result<()>| {
                    let visit = |dataset: Cow<'_, Dataset>| match before(&dataset) {
                        Some(before) => push(Piece { dataset, before, rows: None }),
                        None => Ok(()),
                    };
                    self.source.visit_pieces(visit, Err)
                };
                return embedder.embed_pieces(progress, pass, take);
            }
            self.source.visit(|piece| {
                let Some(before) = before(piece) else { return Ok(()) };
                let pyramid = embedder.coarsen(&piece.graphs, progress)?;
                let prepared = embedder.prepare(&piece.graphs, pyramid, progress)?;
                let clock = Instant::now();
                let done = |graphs: usize| progress(before + graphs);
                let (tables, runs) = model.states(&prepared, done)?;
                embedder.tally.embed_seconds += clock.elapsed().as_secs_f64();
                embedder.tally.add(&runs);
                let mut write = |block: &Block<'_>| output.write(block, before + piece.len());
                self.write_states(piece, before, &prepared, &tables, &mut write)?;
                output.flush()
            })
        })?;
        let partial = output.finish()?;
        embedder.note("");
        let report = EmbeddingSummary {
            units: model.weights.units(0, config.blocks - 1),
            columns: self.shape()?.columns.len(),
            seconds: start.elapsed().as_secs_f64(),
            tally: embedder.tally,
        };
        Ok((report, partial))
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
        let (real, text): (Vec<f64>, Vec<String>);
        if self.with_targets && self.survey.has_targets {
            match &piece.targets {
                Targets::Classes(Labels::Int(values)) if !self.survey.real_targets => {
                    keys.push(Key::Whole(values));
                }
                Targets::Classes(labels) if !self.survey.real_targets => {
                    text = labels.names();
                    keys.push(Key::Text(&text));
                }
                targets => {
                    let numbers = targets.clone().into_numbers()?;
                    let (Targets::Numbers(values) | Targets::Binary(values)) = &numbers else {
                        bail!("{}: no targets", piece.name);
                    };
                    real = values.iter().copied().collect();
                    keys.push(match values.ncols() {
                        1 => Key::Real(&real),
                        width => Key::Several(&real, width),
                    });
                }
            }
        }
        write(&Block { keys, rows })
    }

    fn write_states(
        &self,
        piece: &Dataset,
        before: usize,
        prepared: &Prepared,
        tables: &[ndarray::Array2<f64>],
        write: &mut impl FnMut(&Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let ids = ids(piece, before);
        let blocks = self.model.config.blocks;
        let read = tables.len() / self.model.config.stacks;
        let offsets: Vec<_> = (0..=prepared.levels()).map(|level| prepared.vertex_offsets(level)).collect();
        for graph in 0..piece.len() {
            for (index, table) in tables.iter().enumerate() {
                let (stack, block) = (index / read, blocks - read + index % read);
                let offsets = &offsets[self.model.config.level_of(block, prepared.levels())];
                let (first, end) = (offsets[graph], offsets[graph + 1]);
                let name = vec![ids[graph].clone(); end - first];
                let block = vec![(stack * blocks + block) as i64; end - first];
                let vertex: Vec<i64> = (0..(end - first) as i64).collect();
                let keys = vec![Key::Text(&name), Key::Whole(&block), Key::Whole(&vertex)];
                write(&Block { keys, rows: table.slice(s![first..end, ..]) })?;
            }
        }
        Ok(())
    }
}
