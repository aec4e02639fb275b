use std::borrow::Cow;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use serde::Serialize;
use sha2::{Digest, Sha256};
use stepwell::model::{Predictions, TrainedModel};
use stepwell::targets::{Labels, Targets, Task};
use stepwell_data::vectors::{Block, CsvWriter, Key, ParquetWriter, Partial, Shape, VectorWriter};
use stepwell_data::{Dataset, Error, Source, files};
use stepwell_lab::metrics::r2;

use super::embed::expected;
use crate::BadUsage;
use crate::args::{Caching, Input, PartArg};
use crate::embedding::{Embedder, Tally, blamed, ids};
use crate::model::read_model;
use crate::output::{Output, ResumeArg};
use crate::terminal::Terminal;

/// Predict the graphs of a dataset with a saved model
///
/// Every graph gets a row: id, prediction and, for classes, score_<class>. Without -o,
/// comma-separated values go to standard output. Files of rows
/// (.jsonl, .parquet) are read piece by piece and may be larger than memory;
/// graphs on standard input (-) are predicted as they come.
/// Where targets are known, how many predictions are right is told as well.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell predict MUTAG -m mutag.safetensors
  stepwell predict new.parquet -m model.safetensors -o predictions.csv --skip-bad
  stepwell predict b-hard --part test -m model.safetensors --json")]
pub struct Predict {
    #[command(flatten)]
    input: Input,

    /// The model: a file of 'stepwell train' or of save() in Python
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,

    /// Where to write: .csv or .parquet
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Leave out rows of .jsonl and .parquet files that are broken or do not fit the model, and count them
    #[arg(long)]
    skip_bad: bool,

    /// One JSON object on standard output: how many graphs, how many right; predictions need -o then
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    part: PartArg,

    #[command(flatten)]
    resume: ResumeArg,

    #[command(flatten)]
    caching: Caching,
}

#[derive(Default, Serialize)]
struct PredictionSummary {
    dataset: String,
    skipped: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r2: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    tally: Tally,
}

/// Rows that are described one by one when skipped.
const TOLD: usize = 3;

impl Predict {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let parquet = match &self.out {
            None => false,
            Some(path) => match path.extension().and_then(|ending| ending.to_str()) {
                Some("csv") => false,
                Some("parquet") => true,
                _ => {
                    let refusal = format!("{}: predictions are written as .csv or .parquet", path.display());
                    return Err(anyhow!(refusal).context(BadUsage));
                }
            },
        };
        self.out.as_deref().map_or(Ok(()), |out| self.input.is_not(out))?;
        let model = read_model(&self.model)?;
        let mut source = terminal.open_once(&self.input)?;
        source.part = self.part.get();
        source.expected = Some(expected(&model.model));
        source.targets_may_lack = true;

        let shape = shape(&model);
        let report = match &self.out {
            None if self.json => self.predict(&model, &source, terminal, None)?.0,
            None => {
                let stdout = BufWriter::new(io::stdout().lock());
                self.predict(&model, &source, terminal, Some(Box::new(CsvWriter::new(stdout, &shape))))?.0
            }
            Some(path) => {
                let (mut report, mut partial) = (PredictionSummary::default(), None);
                files::write_whole::<anyhow::Error>(path, |out| {
                    let writer: Box<dyn VectorWriter + '_> = match parquet {
                        true => Box::new(ParquetWriter::new(out, &shape)),
                        false => Box::new(CsvWriter::new(out, &shape)),
                    };
                    (report, partial) = self.predict(&model, &source, terminal, Some(writer))?;
                    Ok(())
                })?;
                partial.map_or(Ok(()), Partial::finish)?;
                terminal.note(&format!("{} predictions to {}", report.tally.graphs, path.display()));
                report
            }
        };
        match (report.accuracy, report.r2) {
            (Some(accuracy), _) => {
                terminal.note(&format!("{:.1} % of the predictions are right", 100.0 * accuracy))
            }
            (_, Some(r2)) => terminal.note(&format!("R² {r2:.3}")),
            _ => {}
        }
        if self.json { terminal.json(&report) } else { Ok(()) }
    }

    fn predict(
        &self,
        model: &TrainedModel,
        source: &Source,
        terminal: &Terminal,
        writer: Option<Box<dyn VectorWriter + '_>>,
    ) -> Result<(PredictionSummary, Option<Partial>)> {
        let start = Instant::now();
        let kept = match self.resume.resume {
            false => None,
            true => {
                let stamp = source.stamp().unwrap_or_default();
                let sum = format!("{:?}", Sha256::digest(model.to_bytes()?));
                self.resume.kept(self.out.as_deref(), &[env!("CARGO_PKG_VERSION"), &sum, &stamp])
            }
        };
        let mut output = Output::new(writer, kept.as_ref(), terminal)?;
        let cache = self.caching.pyramids(&self.input.sources).filter(|_| source.is_whole());
        let mut embedder = Embedder::new(&model.model, cache, terminal);
        let mut score = Score::default();
        let (mut skipped, mut seen) = (0, 0);
        let mut skip = |what: String| {
            skipped += 1;
            if skipped <= TOLD {
                terminal.note(&format!("skipped: {what}"));
            }
        };
        let skip = std::cell::RefCell::new(&mut skip);
        terminal.counting("predicting", |progress| {
            source.visit_good(
                |piece| {
                    piece.notes.iter().for_each(|text| terminal.note(&format!("note: {text}")));
                    let mut piece = Cow::Borrowed(piece);
                    let before = seen;
                    seen += piece.len();
                    if seen <= output.done {
                        return Ok(());
                    }
                    let embedding = match embedder.embed_piece(&piece, before, progress) {
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
                            let named = Dataset { ids: Some(names), ..piece.into_owned() };
                            piece = Cow::Owned(named.select(&rest.collect::<Vec<_>>()));
                            embedding
                        }
                        embedding => embedding?,
                    };
                    let predictions = model.read(embedding)?;
                    score.add(model, &predictions, &piece.targets);
                    write(&mut output, model, &piece, (before, seen), &predictions)
                },
                |error: Error| {
                    if !self.skip_bad {
                        return Err(error);
                    }
                    skip.borrow_mut()(error.to_string());
                    Ok(())
                },
            )
        })?;
        if skipped > 0 {
            let more = if skipped > TOLD {
                format!(" ({} more than listed)", skipped - TOLD)
            } else {
                String::new()
            };
            terminal.note(&format!("skipped {skipped} rows that are broken or do not fit the model{more}"));
            ensure!(embedder.tally.graphs > 0, "{}: no graph fits the model", source.name);
        }
        if score.strange > 0 {
            terminal.note(&format!(
                "note: {} graphs have a class that the model does not know (it knows {})",
                score.strange,
                shortened(&model.classes.names())
            ));
        }
        // What an earlier run predicted is written, but was not compared here.
        let (without, with) = (score.without, score.known + score.values.len());
        let (accuracy, r2) = match (score.finish(), output.done) {
            (_, _) if without > 0 && with > 0 => {
                terminal.note("note: accuracy not reported: some graphs have no target");
                (None, None)
            }
            (found, 0) => found,
            ((None, None), _) => (None, None),
            (_, done) => {
                terminal.note(&format!(
                    "note: accuracy not reported: {done} predictions come from an earlier run; run without --resume to compare all"
                ));
                (None, None)
            }
        };
        let partial = output.finish()?;
        embedder.note(" when training");
        let seconds = start.elapsed().as_secs_f64();
        let report = PredictionSummary {
            dataset: source.name.clone(),
            skipped,
            accuracy,
            r2,
            seconds,
            tally: embedder.tally,
        };
        Ok((report, partial))
    }
}

/// A class and the score of each, a number, or several numbers.
fn shape(model: &TrainedModel) -> Shape {
    let (mut keys, mut vector) = (vec!["id", "prediction"], "scores");
    let columns = match model.readout.task() {
        Task::Classification { .. } => {
            model.classes.names().iter().map(|class| format!("score_{class}")).collect()
        }
        Task::Regression { targets: 1 } => Vec::new(),
        Task::Regression { targets } => {
            (keys, vector) = (vec!["id"], "prediction");
            (0..targets).map(|target| format!("prediction_{target}")).collect()
        }
    };
    Shape { keys, vector, columns, double: true }
}

fn write(
    output: &mut Output<'_>,
    model: &TrainedModel,
    piece: &Dataset,
    (before, seen): (usize, usize),
    predictions: &Predictions,
) -> Result<()> {
    let ids = ids(piece, before);
    let labels = model.classes.select(&predictions.classes);
    let (mut keys, mut rows) = (vec![Key::Text(&ids)], predictions.scores.view());
    let (text, values): (Vec<String>, Vec<f64>);
    match (model.readout.task(), &labels) {
        (Task::Regression { targets: 1 }, _) => {
            values = rows.column(0).to_vec();
            rows = rows.slice_move(ndarray::s![.., ..0]);
            keys.push(Key::Real(&values));
        }
        (Task::Regression { .. }, _) => {}
        (_, Labels::Int(names)) => keys.push(Key::Whole(names)),
        (_, Labels::Float(names)) => keys.push(Key::Real(names)),
        (_, names) => {
            text = names.names();
            keys.push(Key::Text(&text));
        }
    }
    output.write(&Block { keys, rows }, seen)
}

/// How good predictions are where targets are known.
#[derive(Default)]
struct Score {
    right: usize,
    known: usize,
    /// Graphs of a class that the model does not know.
    strange: usize,
    /// Graphs whose target is not known, or not of the model's kind.
    without: usize,
    values: Vec<f64>,
    found: Vec<f64>,
}

impl Score {
    fn add(&mut self, model: &TrainedModel, predictions: &Predictions, targets: &Targets) {
        let labels = match (targets, targets.column()) {
            (Targets::Classes(labels), _) => Some(labels.clone()),
            (_, Some(values)) if matches!(model.classes, Labels::Float(_)) => Some(Labels::Float(values)),
            _ => None,
        };
        if let Some(labels) = labels.filter(|_| !model.classes.is_empty()) {
            // A class the model does not know is predicted wrongly.
            let names = model.classes.select(&predictions.classes);
            let known = model.classes.names();
            self.strange += (0..labels.len()).filter(|&row| !known.contains(&labels.name(row))).count();
            self.known += labels.len();
            self.right += (0..labels.len()).filter(|&row| labels.name(row) == names.name(row)).count();
            return;
        }
        let numbers = targets.clone().into_numbers().ok().and_then(|numbers| numbers.column());
        match numbers.filter(|_| model.classes.is_empty()) {
            Some(values) => {
                self.values.extend(values);
                self.found.extend(predictions.scores.column(0));
            }
            None => self.without += predictions.scores.nrows(),
        }
    }

    fn finish(self) -> (Option<f64>, Option<f64>) {
        let accuracy = (self.known > 0).then(|| self.right as f64 / self.known as f64);
        (accuracy, r2(&self.found, &self.values))
    }
}

/// The first few names of a list.
fn shortened(names: &[String]) -> String {
    let more = if names.len() > 5 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(5)].join(", "))
}
