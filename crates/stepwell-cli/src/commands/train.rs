use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::Args;
use ndarray::ArrayView2;
use serde::Serialize;
use stepwell::config::Preset;
use stepwell::model::{Model, TrainedModel};
use stepwell::readout::Sample;
use stepwell::targets::{Encoded, Targets, decode_classes};
use stepwell_data::models;
use stepwell_data::vectors::Spilled;
use stepwell_lab::metrics::r2;

use crate::BadUsage;
use crate::args::{Caching, Input, PartArg};
use crate::embedding::{Embedder, Tally};
use crate::model::{ModelArgs, ReadoutArgs};
use crate::terminal::Terminal;

/// Train a readout and save the whole model in one file
///
/// Graphs become vectors without training; a ridge regression learns to read
/// them. Unless a preset is named, the model is the accurate one: several
/// reservoirs side by side, all of their blocks read, and a kernel in front of the
/// regression. Targets that are whole numbers or texts are classes, real numbers
/// are predicted as numbers. The file holds all that 'stepwell predict' needs.
/// Files of rows (.jsonl, .parquet) may be larger than memory: they are read
/// twice, and vectors that are many wait in a temporary file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell train MUTAG -m mutag.safetensors
  stepwell train graphs.parquet -m model.safetensors --pool graclus --units 75
  stepwell train b-hard --part train -m model.safetensors --preset paper --alpha 0.1",
    mut_arg("preset", |preset| preset.help("Start from a named set of options: accurate, paper, reference \
        (as the paper's public code) [accurate]; in brackets below is what paper has, and what accurate has where that differs")))]
pub struct Train {
    #[command(flatten)]
    input: Input,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    model: PathBuf,

    /// Predict whole numbers as numbers, not as classes
    #[arg(long)]
    regression: bool,

    /// One JSON object on standard output: what was learnt, and how well it fits
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    part: PartArg,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    readout: ReadoutArgs,

    #[command(flatten)]
    options: ModelArgs,
}

#[derive(Serialize)]
struct TrainingSummary {
    dataset: String,
    /// Their names; none when numbers are predicted.
    classes: Vec<String>,
    columns: usize,
    alpha: f64,
    /// On the graphs it was trained on: no promise for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    training_accuracy: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    training_r2: Option<f64>,
    seconds: f64,
    #[serde(flatten)]
    tally: Tally,
}

impl Train {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let config = self.options.config_with(Preset::Accurate, &self.readout).context(BadUsage)?;
        let start = Instant::now();
        let mut source = terminal.open(&self.input)?;
        source.part = self.part.get();
        let survey = terminal.survey(&source, true, &config)?;
        ensure!(survey.has_targets, "{}: no graph has a target ('y') to learn from", source.name);
        let model = Model::new(config, survey.features)?;

        let cache = self.caching.pyramids(&self.input.sources).filter(|_| source.is_whole());
        let mut embedder = Embedder::new(&model, cache, terminal);
        let (mut vectors, mut targets, mut keys) = (Spilled::new(model.width()), Targets::None, Vec::new());
        terminal.counting("embedding", |progress| {
            source.visit(|piece| {
                let before = embedder.tally.graphs;
                let embedding = embedder.embed_piece(piece, before, progress)?;
                vectors.append(embedding.vectors).context("keeping vectors")?;
                keys.extend(piece.graphs.keys());
                Ok::<(), anyhow::Error>(targets.append(piece.targets.clone())?)
            })
        })?;
        embedder.note("");
        if survey.has_parts && source.part.is_none() {
            terminal.note("note: trained on all parts of the dataset's split; --part train takes one");
        }
        let tally = embedder.tally;
        ensure!(tally.graphs == targets.len(), "{}: some graphs have no target ('y')", source.name);
        if self.regression {
            targets = targets.into_numbers().with_context(|| source.name.clone()).context(BadUsage)?;
        }
        if let Some(values) = targets.look_like_classes().filter(|_| !self.regression) {
            terminal.note(&format!("note: {}", real_classes(values)));
        }
        let (columns, ignored) = (model.width(), model.features.ignored());
        let targets = Encoded::new(&targets)?;
        let (trained, values) = terminal.busy("training", || {
            TrainedModel::fit_pieces::<anyhow::Error>(model, &targets, Sample::with_keys(&keys), |take| {
                vectors.pass(|x, _| Ok(take(x)?))
            })
        })?;
        if ignored > 0 {
            terminal.note(&format!("note: all {ignored} vertex attributes are constant, and ignored"));
        }
        if trained.readout.is_blind() {
            terminal.note("warning: all training graphs have the same vector, so every prediction is the same; give vertices attributes or labels, or add --structure");
        }
        let (training_accuracy, training_r2) = fitted(values.view(), &targets);
        let report = TrainingSummary {
            dataset: source.name,
            classes: trained.classes.names(),
            columns,
            alpha: trained.readout.alpha(),
            training_accuracy,
            training_r2,
            seconds: start.elapsed().as_secs_f64(),
            tally,
        };
        models::write(&self.model, &trained.to_bytes()?)?;
        terminal.note(&describe(&report, &self.model));
        if self.json { terminal.json(&report) } else { Ok(()) }
    }
}

/// What to say of targets that are classes, it seems, but not stored as such.
pub fn real_classes(values: usize) -> String {
    format!(
        "'y' has {values} distinct integer values stored as floats: treated as regression; store integers or strings for classes"
    )
}

/// How well the graphs it was trained on are predicted: accuracy, or R².
fn fitted(values: ArrayView2<'_, f64>, targets: &Encoded) -> (Option<f64>, Option<f64>) {
    match (targets.numbers(), targets.codes()) {
        (Some(numbers), _) => (None, r2(&values.column(0).to_vec(), &numbers.to_vec())),
        (_, codes) => {
            let guesses = decode_classes(values);
            let right = guesses.iter().zip(codes.unwrap_or_default()).filter(|(a, b)| a == b).count();
            (Some(right as f64 / targets.len().max(1) as f64), None)
        }
    }
}

fn describe(report: &TrainingSummary, path: &std::path::Path) -> String {
    let TrainingSummary { columns, alpha, seconds, tally: Tally { graphs, .. }, .. } = report;
    let fit = match (report.training_accuracy, report.training_r2) {
        (Some(accuracy), _) => format!(
            "{} classes, {:.1} % of the training graphs right",
            report.classes.len(),
            100.0 * accuracy
        ),
        (_, Some(r2)) => format!("R² {r2:.3} on the training graphs"),
        _ => "targets without variance".to_owned(),
    };
    format!(
        "{graphs} graphs, {columns} numbers each, alpha {alpha}: {fit}; written to {} after {seconds:.2} s",
        path.display()
    )
}
