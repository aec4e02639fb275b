use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use clap::Args;
use ndarray::Axis;
use serde::Serialize;
use serde_json::json;
use stepwell::config::{Level, Metric};
use stepwell::model::TrainedModel;
use stepwell::readout::Wanted;
use stepwell::reservoir::Embedding;
use stepwell_data::predictions::{Asked, Columns, class_name, class_of, thresholds};
use stepwell_data::vectors::{Block, CsvWriter, Key, ParquetWriter, Partial, VectorWriter};
use stepwell_data::{Dataset, Error, Expected, Source, Untargeted, counted, files};

use crate::BadUsage;
use crate::args::{Caching, DeviceArg, Input, PartArg, on_device};
use crate::embedding::{Embedder, Tally, blamed, ids};
use crate::model::read_model;
use crate::output::{Output, ResumeArg};
use crate::pipeline::Piece;
use crate::score::{Metrics, Score};
use crate::terminal::Terminal;

/// Predict the targets of graphs with a saved model
///
/// Writes a row per graph: id, prediction and, for classes, score_<class>. With several
/// targets, each has prediction_<target> and score_<target>. A model trained with --level
/// vertex writes a row per vertex: graph, vertex, prediction and the other columns. A graph
/// without vertices has no prediction: its cells are empty.
///
/// --proba adds calibrated probabilities. --coverage 0.9 adds sets of classes, or intervals,
/// that contain the truth with a probability of about 0.9. If the dataset has targets, metrics
/// are printed as well.
///
/// Without -o, prints comma-separated values. Files in .jsonl and .parquet format are read in
/// pieces and may be larger than memory. Targets of graphs on standard input ('-') are predicted
/// as the graphs arrive. The options of the model come from the model's file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell predict MUTAG -m mutag.safetensors
  stepwell predict new.parquet -m model.safetensors -o predictions.csv --skip-bad
  stepwell predict new.jsonl -m model.safetensors --proba --coverage 0.9
  stepwell predict screen.parquet -m hits.safetensors --coverage 0.9 --per-class
  stepwell predict screen.parquet -m hits.safetensors --precision 0.8 --class active -o hits.csv
  stepwell predict cora.npz -m cora.safetensors --part test --proba
  stepwell predict b-hard --part test -m model.safetensors --json")]
pub struct Predict {
    #[command(flatten)]
    input: Input,

    /// A saved model, written by 'stepwell train' or by save() in Python
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,

    /// Where to write: .csv or .parquet
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Add the probability of every class, or for several targets of 0 and 1 the probability that
    /// each target is 1, calibrated on leave-one-out decision values
    #[arg(long)]
    proba: bool,

    /// Add the set of classes, or the interval, that contains the truth with about this
    /// probability if the graphs resemble the training graphs (conformal prediction)
    #[arg(long, value_name = "SHARE")]
    coverage: Option<f64>,

    /// Make sets that reach --coverage on the graphs of every class, however rare, instead of
    /// only on average over all graphs; a class with too few training graphs is in every set
    #[arg(long, requires = "coverage")]
    per_class: bool,

    /// Choose the threshold of decision values so that, by leave-one-out, --class reaches at least
    /// this precision. Precision is the share of correct predictions among the graphs predicted as
    /// --class. Needs two classes, or targets of 0 and 1
    #[arg(long, value_name = "SHARE", conflicts_with = "recall")]
    precision: Option<f64>,

    /// Choose the threshold of decision values so that, by leave-one-out, --class reaches at least
    /// this recall. Recall is the share of the graphs of --class that are predicted as --class.
    /// Needs two classes, or targets of 0 and 1
    #[arg(long, value_name = "SHARE")]
    recall: Option<f64>,

    /// The class to find with --precision or --recall (default: the second of two classes, or 1)
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,

    /// Skip and report rows of .jsonl and .parquet files that are broken or do not fit the model
    #[arg(long)]
    skip_bad: bool,

    /// Print a summary with metrics as one JSON object; predictions are then written only to -o
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    part: PartArg,

    #[command(flatten)]
    resume: ResumeArg,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    device: DeviceArg,
}

#[derive(Default, Serialize)]
struct PredictionSummary {
    dataset: String,
    skipped: usize,
    /// The first [`LISTED`] skipped rows: their locations and faults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    skipped_rows: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r2: Option<f64>,
    #[serde(flatten)]
    quality: Metrics,
    seconds: f64,
    #[serde(flatten)]
    tally: Tally,
}

/// The most skipped rows described in notes.
const NOTED: usize = 3;

/// The most skipped rows described in JSON.
const LISTED: usize = 10_000;

impl Predict {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let parquet = match &self.out {
            None => false,
            Some(path) => match path.extension().and_then(|ending| ending.to_str()) {
                Some("csv") => false,
                Some("parquet") => true,
                _ => {
                    let refusal =
                        format!("{}: expected an output file that ends in .csv or .parquet", path.display());
                    return Err(anyhow!(refusal).context(BadUsage));
                }
            },
        };
        self.out.as_deref().map_or(Ok(()), |out| self.input.is_not(out))?;
        self.resume.check(&self.input)?;
        let device = self.device.open(&self.input.sources, terminal)?;
        let mut model = read_model(&self.model)?;
        model.model = on_device(model.model, device, terminal);
        self.input.molecules.fit(&model.model)?;
        let mut source = terminal.open_once(&self.input, Untargeted::Keep)?;
        (source.part, source.level) = (self.part.get(), model.model.config.level);
        source.expected = Some(Expected::from(&model.model));

        let asked = self.asked(&model, terminal).context(BadUsage)?;
        let shape = Columns::shape(&model, &asked).context(BadUsage)?;
        let report = match &self.out {
            None if self.json => self.predict((&model, &asked), &source, terminal, None)?.0,
            None => {
                let stdout = BufWriter::new(io::stdout().lock());
                let writer = Box::new(CsvWriter::new(stdout, &shape));
                self.predict((&model, &asked), &source, terminal, Some(writer))?.0
            }
            Some(path) => {
                let (mut report, mut partial) = (PredictionSummary::default(), None);
                let write = |out: &mut BufWriter<&File>| {
                    let writer: Box<dyn VectorWriter + '_> = if parquet {
                        Box::new(ParquetWriter::new(out, &shape))
                    } else {
                        Box::new(CsvWriter::new(out, &shape))
                    };
                    (report, partial) = self.predict((&model, &asked), &source, terminal, Some(writer))?;
                    Ok(())
                };
                terminal.creating(path, || files::write_whole::<anyhow::Error>(path, write))?;
                partial.map_or(Ok(()), Partial::finish)?;
                let count = report.tally.vertices.max(report.tally.graphs);
                terminal.note(&format!("wrote {count} predictions to {}", path.display()));
                report
            }
        };
        if let Some(metric) = report.quality.metric {
            let others = [Metric::Accuracy, Metric::BalancedAccuracy, Metric::R2];
            let told = [metric].into_iter().chain(others.into_iter().filter(|other| *other != metric));
            let told = told.filter_map(|metric| Some((metric, report.quality.get(metric)?)));
            let told = told.map(|(metric, value)| format!("{} {}", metric.title(), metric.shown(value)));
            let told = told.collect::<Vec<_>>().join(", ");
            if !told.is_empty() {
                let mean = if report.quality.targets.is_empty() { "" } else { "mean over targets: " };
                terminal.note(&format!("{mean}{told}"));
            }
        }
        if self.json { terminal.json(&report) } else { Ok(()) }
    }

    /// The requested additions to predictions. Prints the thresholds in use.
    fn asked(&self, model: &TrainedModel, terminal: &Terminal) -> Result<Asked> {
        let wanted = self.precision.map(Wanted::Precision).or(self.recall.map(Wanted::Recall));
        ensure!(
            self.class.is_none() || wanted.is_some(),
            "--class names the class to find with --precision or --recall; pass one of them"
        );
        let class = self.class.as_ref().map_or(Ok(1), |name| class_of(model, name));
        let thresholds = match wanted {
            Some(wanted) => thresholds(model, class?, wanted)?,
            None => Vec::new(),
        };
        for (target, found) in thresholds.iter().enumerate() {
            let name =
                if thresholds.len() > 1 { format!("{}: ", model.target(target)) } else { String::new() };
            let (class, relation) =
                (class_name(model, found.class), if found.class == 0 { "≤" } else { "≥" });
            terminal.note(&format!(
                "{name}class {class} if decision value {relation} {:.4}: leave-one-out precision {:.3}, recall {:.3}",
                found.threshold, found.precision, found.recall
            ));
        }
        let asked =
            Asked { proba: self.proba, coverage: self.coverage, per_class: self.per_class, thresholds };
        if let Some(note) = asked.note(model)? {
            let advice = if self.per_class { "" } else { "; --per-class covers every class" };
            terminal.note(&format!("note: {note}{advice}"));
        }
        Ok(asked)
    }

    /// The vertices to predict, if the model predicts vertices.
    fn vertices(&self, piece: &Dataset, level: Level) -> Option<Vec<usize>> {
        let count = piece.graphs.num_vertices();
        (level == Level::Vertex).then(|| match &piece.vertices {
            Some(vertices) => vertices.of_part_or_all(self.part.get(), count),
            None => (0..count).collect(),
        })
    }

    fn predict(
        &self,
        (model, asked): (&TrainedModel, &Asked),
        source: &Source,
        terminal: &Terminal,
        writer: Option<Box<dyn VectorWriter + '_>>,
    ) -> Result<(PredictionSummary, Option<Partial>)> {
        let (start, level) = (Instant::now(), model.model.config.level);
        let bytes = if self.resume.resume { model.to_bytes()? } else { Vec::new() };
        let settings = json!({
            "command": "predict",
            "proba": self.proba,
            "coverage": self.coverage,
            "per_class": self.per_class,
            "class": self.class,
            "precision": self.precision,
            "recall": self.recall,
            "skip_bad": self.skip_bad,
        });
        let (read, made) = ((&self.input, source), (&model.model.config, &bytes[..]));
        let kept = self.resume.kept(self.out.as_deref(), read, made, settings)?;
        let mut output = Output::new(writer, kept.as_ref(), terminal)?;
        let cache = self.caching.pyramids(&self.input.sources).filter(|_| source.is_whole());
        let mut embedder = Embedder::new(&model.model, cache, terminal);
        let (mut score, mut blank) = (Score::default(), 0);
        let (mut skipped, mut skipped_rows) = (0, Vec::new());
        let mut skip = |what: String| {
            skipped += 1;
            if skipped <= NOTED {
                terminal.note(&format!("skipped: {what}"));
            }
            if skipped <= LISTED && self.json {
                skipped_rows.push(what);
            }
        };
        let skip = std::cell::RefCell::new(&mut skip);
        let done = output.done;
        terminal.counting("predicting", |progress| {
            let mut seen = 0;
            let pass = |push: &mut dyn FnMut(Piece<'_>) -> Result<()>| {
                source.visit_pieces(
                    |dataset: Cow<'_, Dataset>| {
                        dataset.notes.iter().for_each(|text| terminal.note(&format!("note: {text}")));
                        let before = seen;
                        seen += dataset.len();
                        if seen <= done {
                            return Ok(());
                        }
                        let rows = self.vertices(&dataset, level);
                        push(Piece { dataset, before, rows })
                    },
                    |error: Error| {
                        if !self.skip_bad {
                            return Err(error);
                        }
                        skip.borrow_mut()(error.to_string());
                        Ok(())
                    },
                )
            };
            embedder.embed_pieces(progress, pass, |embedder, piece, embedding| {
                let Piece { dataset: mut piece, before, rows: mut vertices } = piece;
                let seen = before + piece.len();
                let embedding = match embedding {
                    Err(error) if self.skip_bad && blamed(&error).is_some() => {
                        let (embedding, bad) = embedder.embed_alone(&piece.graphs, progress)?;
                        let names = ids(&piece, before);
                        for (graph, error) in &bad {
                            skip.borrow_mut()(format!(
                                "graph '{}' of {}: {error}",
                                names[*graph], piece.name
                            ));
                        }
                        let rest = (0..piece.len()).filter(|graph| bad.iter().all(|(at, _)| at != graph));
                        let rest: Vec<usize> = rest.collect();
                        let named = Dataset { ids: Some(names), ..piece.into_owned() };
                        piece = Cow::Owned(named.select(&rest));
                        vertices = self.vertices(&piece, level);
                        match &vertices {
                            // All vertices of these graphs were embedded.
                            Some(rows) => {
                                Embedding { vectors: embedding.vectors.select(Axis(0), rows), ..embedding }
                            }
                            None => embedding,
                        }
                    }
                    embedding => embedding?,
                };
                let mut predictions = model.read(embedding)?;
                if level == Level::Graph {
                    blank += predictions.blank_empty(&piece.graphs);
                }
                score.add(model, &predictions, &piece, vertices.as_deref())?;
                let columns = Columns::new(model, &predictions, asked)?;
                let mut ids = ids(&piece, before);
                let mut places = Vec::new();
                if let Some(rows) = &vertices {
                    (ids, places) = places_of(rows, piece.graphs.vertex_offsets(), &ids);
                }
                let of = [Key::Text(&ids)].into_iter();
                let vertex = vertices.is_some().then_some(Key::Whole(&places));
                let keys = of.chain(vertex).chain(columns.keys()).collect();
                output.write(&Block { keys, rows: columns.scores() }, seen)?;
                output.flush()
            })
        })?;
        if skipped > 0 {
            let more = if skipped > NOTED { "; --json lists them" } else { "" };
            let rows = match skipped {
                1 => "1 row that is broken or does not fit the model".to_owned(),
                many => format!("{many} rows that are broken or do not fit the model"),
            };
            terminal.note(&format!("skipped {rows}{more}"));
            ensure!(embedder.tally.graphs > 0, "{}: no graph fits the model", source.name);
        }
        if blank > 0 {
            let (graphs, their) = match blank {
                1 => ("one graph has", "its prediction is"),
                _ => ("graphs have", "their predictions are"),
            };
            let count = if blank == 1 { String::new() } else { format!("{blank} ") };
            terminal.note(&format!("note: {count}{graphs} no vertices: {their} blank"));
        }
        if score.strange() > 0 {
            let item = if level == Level::Vertex { "vertex" } else { "graph" };
            let (have, them) = if score.strange() == 1 { ("has", "it") } else { ("have", "them") };
            terminal.note(&format!(
                "note: {} {have} a class unknown to the model (known: {}): accuracy, balanced accuracy and \
                 macro F1 count {them} as wrong; the other metrics ignore {them}",
                counted(score.strange(), item),
                shortened(&model.classes.names()),
            ));
        }
        if !score.missing.is_empty() {
            terminal.note(&format!(
                "note: {} has no target named {}: metrics do not cover {}; pass --target to name columns",
                source.name,
                shortened(&score.missing),
                if score.missing.len() == 1 { "it" } else { "them" }
            ));
        }
        // Predictions of an earlier run are written, but were not scored here.
        let (without, known, beyond) = (score.without, score.known(), score.beyond);
        let mut quality = score.finish(model, &asked.thresholds)?;
        if output.done > 0 && known > 0 {
            let done = output.done;
            terminal.note(&format!(
                "note: metrics not reported: {done} predictions come from an earlier run; run without --resume to score all"
            ));
            quality = Metrics::default();
        } else if without > 0 && known > 0 {
            let items = level.items();
            terminal.note(&format!("note: metrics cover {known} {items}; {without} have no target"));
        }
        if beyond > 0 {
            let items = level.items();
            terminal.note(&format!(
                "note: metrics cover the first {known} {items}; the other {beyond} are not scored, to limit memory"
            ));
        }
        let partial = output.finish()?;
        embedder.note(" when training");
        let seconds = start.elapsed().as_secs_f64();
        let report = PredictionSummary {
            dataset: source.name.clone(),
            skipped,
            skipped_rows,
            accuracy: quality.get(Metric::Accuracy),
            r2: quality.get(Metric::R2),
            quality,
            seconds,
            tally: embedder.tally,
        };
        Ok((report, partial))
    }
}

/// The graph of every vertex, by name, and the vertex's position in it.
fn places_of(rows: &[usize], offsets: &[usize], names: &[String]) -> (Vec<String>, Vec<i64>) {
    let place = |&row: &usize| {
        let graph = offsets.partition_point(|&first| first <= row) - 1;
        (names[graph].clone(), (row - offsets[graph]) as i64)
    };
    rows.iter().map(place).unzip()
}

/// The first few names of a list.
fn shortened(names: &[String]) -> String {
    let more = if names.len() > 5 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(5)].join(", "))
}
