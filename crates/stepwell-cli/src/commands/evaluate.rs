use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use flate2::read::MultiGzDecoder;
use stepwell::config::Preset;
use stepwell_data::Dataset;
use stepwell_lab::baselines::Baseline;
use stepwell_lab::report::evaluation;
use stepwell_lab::run::Run;
use stepwell_lab::splits::{self, Fold};

use super::train::real_classes;
use crate::BadUsage;
use crate::args::{Caching, Input};
use crate::model::{ModelArgs, named};
use crate::protocol::{Bench, FoldReport, ProtocolArgs, Report, Subject};
use crate::terminal::{Terminal, table};

/// Say honestly how good a model is on a dataset
///
/// Cross-validation as in the paper: random configurations are compared on
/// held-out training graphs, the best is trained again and judged on graphs
/// nothing was chosen by. Options of the model that are given are fixed, the
/// others (spectral radius, scalings) searched. With --preset accurate nothing
/// is searched: in every fold the model is trained as 'stepwell train' does, on
/// training and validation graphs, features included. With --out the run can be ended
/// at any time and goes on when the same command is given again; its folder then
/// has a page to look at, report.html.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell evaluate MUTAG --preset accurate --baselines (what 'stepwell train' makes)
  stepwell evaluate MUTAG --configs 20                  (the preset paper, searched)
  stepwell evaluate graphs.parquet --pool graclus --blocks 3 --out runs/mine
  stepwell evaluate ENZYMES --splits ENZYMES_splits.json.gz --seeds 3 --json
  stepwell evaluate NCI1 --baseline wl")]
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

    /// Judge by the validation graphs, trained on the training graphs alone: to choose
    /// between models without a look at the test graphs (--preset accurate)
    #[arg(long, conflicts_with_all = ["baselines", "baseline"])]
    on_validation: bool,

    /// Put simple models beside it: majority, features, degree-profile, wl
    #[arg(long)]
    baselines: bool,

    /// Evaluate one of these instead of a model with reservoirs
    #[arg(long, value_name = "NAME", conflicts_with = "baselines", value_parser = named::<Baseline>)]
    baseline: Option<Baseline>,

    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    caching: Caching,

    #[command(flatten)]
    model: ModelArgs,
}

impl Evaluate {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let mut config = self.model.config().context(BadUsage)?;
        let fixed = self.model.is(Preset::Accurate) && self.baseline.is_none();
        if self.on_validation && !fixed {
            let refusal = "--on-validation: where settings are searched, validation graphs have chosen them";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let protocols = match fixed {
            true => {
                let (protocols, alpha) =
                    self.protocol.fixed(config.seed, self.on_validation).context(BadUsage)?;
                config.alpha = alpha.unwrap_or(config.alpha);
                protocols
            }
            false => self.protocol.protocols(&self.model, config.seed).context(BadUsage)?,
        };
        let dataset = terminal.load(&self.input)?;
        let splits = match &self.splits {
            Some(path) => Some(read_splits(path, dataset.len()).with_context(|| path.display().to_string())?),
            None => None,
        };
        let run = Run { folder: self.out.clone(), ..Run::default() };
        let cache = self.caching.pyramids(&self.input.sources);
        let bench = Bench {
            dataset: &dataset,
            protocols: &protocols,
            splits: splits.as_deref(),
            cache: cache.as_ref(),
            run: &run,
            terminal,
        };
        let report = |subject: &Subject| bench.report(subject)?.context("all units were done");
        let mut found = match self.baseline {
            Some(baseline) => report(&Subject::Baseline(baseline))?,
            None if fixed => bench.fixed(&config)?,
            None => report(&Subject::Model(Box::new(config)))?,
        };
        if self.baselines {
            let simple = Baseline::ALL.iter().map(|baseline| report(&Subject::Baseline(*baseline)));
            found.baselines = simple.collect::<Result<_>>()?;
        }
        if let Some(folder) = &self.out {
            let path = folder.join("report.html");
            crate::report::write(&path, &evaluation(&Run::read(folder)?, &crate::report::facts()))?;
            terminal.note(&format!("wrote {}", path.display()));
        }
        self.remarks(&found, &dataset).iter().for_each(|text| terminal.note(&format!("note: {text}")));
        if self.json {
            return terminal.json(&found);
        }
        terminal.print(&describe(&found))
    }
}

impl Evaluate {
    /// What a person may not expect, or should try next.
    fn remarks(&self, found: &Report, dataset: &Dataset) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.model.preset().is_none() && self.baseline.is_none() {
            remarks.push("judged is the preset paper, its settings searched; 'stepwell train' starts from accurate, which --preset accurate judges".into());
        }
        if let Some(values) = dataset.targets.look_like_classes() {
            remarks.push(real_classes(values));
        }
        let better = found.baselines.iter().filter(|simple| is_better(simple, found));
        if let Some(best) = better.reduce(|best, next| if is_better(next, best) { next } else { best }) {
            remarks.push(format!(
                "the baseline {} is better here ({}): other inputs (--structure log-degree,clustering) or another preset may help",
                best.model, figure(best)
            ));
        }
        remarks
    }
}

fn is_better(one: &Report, other: &Report) -> bool {
    match (one.accuracy_mean, other.accuracy_mean, one.mae_mean, other.mae_mean) {
        (Some(one), Some(other), ..) => one > other,
        (.., Some(one), Some(other)) => one < other,
        _ => false,
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

fn describe(report: &Report) -> String {
    let mut text = format!("{}\n\n{}", folds(report), result(report));
    if !report.baselines.is_empty() {
        let rows = report.baselines.iter().map(|simple| vec![simple.model.clone(), figure(simple)]);
        text += &format!("\n\n{}", table(&["baseline", "result"], rows));
    }
    text += &format!("\n\nFeatures were scaled on {}", report.features_fitted_on);
    match report.baselines.first().filter(|simple| simple.features_fitted_on != report.features_fitted_on) {
        Some(simple) => text + &format!("; those of the baselines on {}.", simple.features_fitted_on),
        None => text + ".",
    }
}

fn figure(report: &Report) -> String {
    match (report.accuracy_mean, report.accuracy_std, report.mae_mean) {
        (Some(mean), Some(std), _) => format!("{:.1} ± {:.1} % right", 100.0 * mean, 100.0 * std),
        (_, _, Some(mae)) => {
            let r2 = report.r2_mean.map_or(String::new(), |r2| format!(", R² {r2:.3}"));
            format!("mean absolute error {mae:.4}{r2}")
        }
        _ => "no figure".to_owned(),
    }
}

fn result(report: &Report) -> String {
    let model = match report.model.as_str() {
        "accurate" => format!("accurate, pooling {}, {} blocks", report.pool, report.blocks),
        "reservoir" => format!("pooling {}, {} blocks", report.pool, report.blocks),
        baseline => format!("baseline {baseline}"),
    };
    format!("{}, {model}: {}", report.dataset, figure(report))
}

/// A line for each fold, with the columns that say something.
fn folds(report: &Report) -> String {
    type Column = (&'static str, fn(usize, &FoldReport) -> Option<String>);
    let columns: [Column; 14] = [
        ("seed", |_, fold| (fold.seed != 0).then(|| fold.seed.to_string())),
        ("fold", |index, _| Some((index + 1).to_string())),
        ("right", |_, fold| fold.outcome.quality.accuracy.map(share)),
        ("balanced", |_, fold| fold.outcome.quality.balanced_accuracy.map(share)),
        ("macro F1", |_, fold| fold.outcome.quality.macro_f1.map(share)),
        ("AUROC", |_, fold| fold.outcome.quality.auroc.map(|area| format!("{area:.3}"))),
        ("MAE", |_, fold| fold.outcome.quality.mae.map(|error| format!("{error:.4}"))),
        ("R²", |_, fold| fold.outcome.quality.r2.map(|r2| format!("{r2:.3}"))),
        ("rho", |_, fold| Some(format!("{:.2}", fold.outcome.config.as_ref()?.spectral_radius.get(0)?))),
        ("omega in", |_, fold| Some(format!("{:.2}", fold.outcome.config.as_ref()?.input_scaling))),
        ("omega hid", |_, fold| Some(format!("{:.2}", fold.outcome.config.as_ref()?.hidden_scaling.get(0)?))),
        ("setting", |_, fold| fold.outcome.setting.clone()),
        ("alpha", |_, fold| Some(fold.outcome.alpha.to_string())),
        ("train + test s", |_, fold| {
            fold.times.map(|times| format!("{:.2} + {:.2}", times.train_seconds, times.test_seconds))
        }),
    ];
    // Folds are counted anew for every seed.
    let each_seed = report.folds.iter().filter(|fold| fold.seed == report.seed).count().max(1);
    let searched =
        |name: &str| report.model == "reservoir" || !["rho", "omega in", "omega hid"].contains(&name);
    let told: Vec<&Column> = columns
        .iter()
        .filter(|(name, _)| searched(name))
        .filter(|(_, cell)| report.folds.iter().enumerate().any(|(index, fold)| cell(index, fold).is_some()))
        .collect();
    let header: Vec<&str> = told.iter().map(|(name, _)| *name).collect();
    let rows = report.folds.iter().enumerate().map(|(index, fold)| {
        let missing = |name: &str| if name == "seed" { "0" } else { "-" }.to_owned();
        told.iter()
            .map(|(name, cell)| cell(index % each_seed, fold).unwrap_or_else(|| missing(name)))
            .collect()
    });
    table(&header, rows)
}

fn share(value: f64) -> String {
    format!("{:.1} %", 100.0 * value)
}
