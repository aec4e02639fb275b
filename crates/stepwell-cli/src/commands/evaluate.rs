use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use flate2::read::MultiGzDecoder;
use serde::Serialize;
use stepwell::config::ModelConfig;
use stepwell::readout::Alpha;
use stepwell_data::Dataset;
use stepwell_lab::evaluate::{Evaluation, FoldOutcome, Progress, Run, Times};
use stepwell_lab::protocol::{Protocol, Unit, winners};
use stepwell_lab::splits::{self, Fold};

use crate::BadUsage;
use crate::args::{Caching, Input};
use crate::model::ModelArgs;
use crate::terminal::{Terminal, table};

/// Say honestly how good a model is on a dataset
///
/// Cross-validation as in the paper: random configurations are compared on
/// held-out training graphs, the best is trained again and judged on graphs
/// nothing was chosen by. Options of the model that are given are fixed, the
/// others (spectral radius, scalings) searched. With --out the run can be ended
/// at any time and goes on when the same command is given again.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell evaluate MUTAG --configs 20
  stepwell evaluate graphs.parquet --pool graclus --blocks 3 --out runs/mine
  stepwell evaluate ENZYMES --splits ENZYMES_splits.json.gz --json")]
pub struct Evaluate {
    #[command(flatten)]
    input: Input,

    /// Splits from a file in the fair-comparison format, .json or .json.gz
    #[arg(long, value_name = "FILE", conflicts_with = "folds")]
    splits: Option<PathBuf>,

    /// A folder for the records, to go on from
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// One JSON object on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    model: ModelArgs,
}

/// How much is tried.
#[derive(Args, Debug)]
#[command(next_help_heading = "Protocol")]
pub struct ProtocolArgs {
    /// Configurations drawn at random
    #[arg(long, default_value_t = 100)]
    configs: usize,

    /// Draws of the weights for each of them
    #[arg(long, default_value_t = 3)]
    inits: usize,

    /// Outer folds [5]
    #[arg(long)]
    folds: Option<usize>,

    /// Penalties of the readout: several numbers to choose from by validation, or loo for
    /// leave-one-out [100,10,1,0.1,0.01]
    #[arg(long)]
    alpha: Option<Alpha>,
}

impl ProtocolArgs {
    pub fn protocol(&self, model: &ModelArgs, seed: u64) -> Result<Protocol> {
        let mut protocol = Protocol {
            configurations: self.configs,
            initialisations: self.inits,
            seed,
            searched: model.searched()?,
            ..Protocol::default()
        };
        protocol.folds = self.folds.unwrap_or(protocol.folds);
        match &self.alpha {
            None => {}
            Some(Alpha::Fixed(alpha)) => protocol.alphas = vec![*alpha],
            Some(Alpha::BestOf(alphas)) => protocol.alphas.clone_from(alphas),
            Some(Alpha::Loo) => {
                protocol.leave_one_out = true;
                protocol.alphas = Alpha::LOO.to_vec();
            }
        }
        protocol.validate()?;
        Ok(protocol)
    }
}

/// What came of one architecture on one dataset.
#[derive(Serialize)]
pub struct Report {
    pub dataset: String,
    pub pool: String,
    pub blocks: usize,
    pub accuracy_mean: Option<f64>,
    pub accuracy_std: Option<f64>,
    pub r2_mean: Option<f64>,
    pub folds: Vec<FoldReport>,
    pub coarsen_seconds: f64,
    pub prepare_seconds: f64,
    /// Mean of one pass over all graphs.
    pub embed_seconds: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
    pub seed: u64,
    /// Features are scaled on all graphs, test graphs included, without labels.
    pub features_fitted_on: &'static str,
}

#[derive(Serialize)]
pub struct FoldReport {
    #[serde(flatten)]
    pub outcome: FoldOutcome,
    #[serde(flatten)]
    pub times: Times,
}

impl Evaluate {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let config = self.model.config().context(BadUsage)?;
        let protocol = self.protocol.protocol(&self.model, config.seed).context(BadUsage)?;
        let dataset = terminal.load(&self.input)?;
        let folds = match &self.splits {
            Some(path) => Some(read_splits(path, dataset.len()).with_context(|| path.display().to_string())?),
            None => None,
        };
        let run = Run { folder: self.out.clone(), ..Run::default() };
        let cache = self.caching.pyramids(&self.input.sources);
        let report = evaluate(&dataset, config, protocol, folds, cache.as_ref(), &run, terminal)?
            .context("all units were done")?;
        if self.json {
            return terminal.json(&report);
        }
        terminal.print(&describe(&report))
    }
}

/// Takes an architecture through the protocol; nothing while units of other
/// shards are missing.
pub fn evaluate(
    dataset: &Dataset,
    config: ModelConfig,
    protocol: Protocol,
    folds: Option<Vec<Fold>>,
    cache: Option<&stepwell_data::cache::PyramidCache>,
    run: &Run,
    terminal: &Terminal,
) -> Result<Option<Report>> {
    let clock = Instant::now();
    let pyramid = match config.pooling() {
        Some(pooling) => terminal.coarsen(cache, &dataset.graphs, &pooling, config.levels())?,
        None => Default::default(),
    };
    let coarsen_seconds = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let seed = protocol.seed;
    let evaluation = Evaluation::new(dataset, &pyramid, config, protocol.clone(), folds)?;
    drop(pyramid);
    let prepare_seconds = clock.elapsed().as_secs_f64();
    let key = evaluation.key().clone();
    let name = format!("{} {} L={}", key.dataset, key.pool, key.blocks);
    let clock = Instant::now();
    let (mut first, mut last) = (None, 0);
    let units = terminal.stepping(&name, |bar| {
        evaluation.search(run, |progress: Progress, units: &[Unit]| {
            first.get_or_insert(progress.done);
            last = progress.done;
            bar(progress.done, progress.units, &best_so_far(&protocol, units));
            if let Some(folder) = &run.folder {
                let saved = format!("{} of {} passes of {name}", progress.done, progress.units);
                crate::say_when_interrupted(format!("{saved} are saved in {}", folder.display()));
            }
            ControlFlow::Continue(())
        })
    })?;
    let passes = last - first.unwrap_or(last);
    let embed_seconds = (passes > 0).then(|| clock.elapsed().as_secs_f64() / passes as f64);
    let Some(found) = terminal.busy("judging the winners", || evaluation.finish(run, &units))? else {
        return Ok(None);
    };
    let mean = |value: fn(&FoldOutcome) -> Option<f64>| {
        found
            .iter()
            .map(|(outcome, _)| value(outcome))
            .sum::<Option<f64>>()
            .map(|sum| sum / found.len() as f64)
    };
    let accuracy_mean = mean(|outcome| outcome.accuracy);
    let accuracy_std = accuracy_mean.map(|mean| {
        let squares = found.iter().filter_map(|(outcome, _)| Some((outcome.accuracy? - mean).powi(2)));
        (squares.sum::<f64>() / found.len() as f64).sqrt()
    });
    Ok(Some(Report {
        dataset: key.dataset,
        pool: key.pool,
        blocks: key.blocks,
        accuracy_mean,
        accuracy_std,
        r2_mean: mean(|outcome| outcome.r2),
        folds: found.into_iter().map(|(outcome, times)| FoldReport { outcome, times }).collect(),
        coarsen_seconds,
        prepare_seconds,
        embed_seconds,
        peak_memory_bytes: peak_memory(),
        seed,
        features_fitted_on: "all graphs, without labels",
    }))
}

/// How good the best configurations so far are on the validation graphs.
fn best_so_far(protocol: &Protocol, units: &[Unit]) -> String {
    let whole = units.len() / protocol.initialisations;
    let part = Protocol { configurations: whole, ..protocol.clone() };
    match winners(&part, &units[..whole * protocol.initialisations]) {
        Some(found) if !found.is_empty() && found[0].validation > 0.0 => {
            let mean = found.iter().map(|winner| winner.validation).sum::<f64>() / found.len() as f64;
            format!("best so far {mean:.1} right in validation")
        }
        _ => String::new(),
    }
}

fn read_splits(path: &Path, graphs: usize) -> Result<Vec<Fold>> {
    /// Far more than the splits of any dataset.
    const MOST: u64 = 1 << 30;
    let file = BufReader::new(File::open(path)?);
    let mut text = String::new();
    match path.extension().is_some_and(|ending| ending == "gz") {
        true => MultiGzDecoder::new(file).take(MOST).read_to_string(&mut text)?,
        false => file.take(MOST).read_to_string(&mut text)?,
    };
    Ok(splits::parse(&text, graphs)?)
}

/// The most memory the process ever held, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

fn describe(report: &Report) -> String {
    let percent =
        |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1} %", 100.0 * value));
    let rows = report.folds.iter().enumerate().map(|(fold, FoldReport { outcome, times })| {
        let radius = outcome.config.spectral_radius.get(0).unwrap_or_default();
        let hidden = outcome.config.hidden_scaling.get(0).unwrap_or_default();
        vec![
            fold.to_string(),
            outcome.accuracy.map_or_else(
                || outcome.r2.map_or("-".into(), |r2| format!("{r2:.3}")),
                |accuracy| format!("{:.1} %", 100.0 * accuracy),
            ),
            percent(outcome.balanced_accuracy),
            percent(outcome.macro_f1),
            outcome.auroc.map_or("-".into(), |area| format!("{area:.3}")),
            format!("{radius:.2}"),
            format!("{:.2}", outcome.config.input_scaling),
            format!("{hidden:.2}"),
            outcome.alpha.to_string(),
            format!("{:.2}", times.train_seconds),
            format!("{:.2}", times.test_seconds),
        ]
    });
    let measure = if report.accuracy_mean.is_some() { "right" } else { "R²" };
    let header = [
        "fold",
        measure,
        "balanced",
        "macro F1",
        "AUROC",
        "rho",
        "omega in",
        "omega hid",
        "alpha",
        "train s",
        "test s",
    ];
    let result = match (report.accuracy_mean, report.accuracy_std, report.r2_mean) {
        (Some(mean), Some(std), _) => format!("{:.1} ± {:.1} % right", 100.0 * mean, 100.0 * std),
        (_, _, Some(r2)) => format!("R² {r2:.3}"),
        _ => "no figure".to_owned(),
    };
    format!(
        "{}\n\n{}, pooling {}, {} blocks: {result}\nFeatures were scaled on all graphs, without labels.",
        table(&header, rows),
        report.dataset,
        report.pool,
        report.blocks
    )
}
