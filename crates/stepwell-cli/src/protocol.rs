//! An evaluation on the command line: its options, its progress, its result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use stepwell::config::{Metric, ModelConfig, Preset};
use stepwell::pyramid::Pyramid;
use stepwell::readout::Alpha;
use stepwell::reservoir::Device;
use stepwell_data::cache::PyramidCache;
use stepwell_data::{Dataset, counted};
use stepwell_lab::evaluate::{Evaluation, Progress, TimedFold, peak_memory};
use stepwell_lab::metrics::{Quality, Values, mean_and_std};
use stepwell_lab::protocol::{Protocol, Unit, winners};
use stepwell_lab::run::{FoldResult, Run, Times};
use stepwell_lab::significance::paired;
use stepwell_lab::splits::Fold;
use stepwell_lab::subject::Subject;
use stepwell_lab::targets::searched_by;

use crate::args::Caching;
use crate::model::{ModelArgs, ReadoutArgs};
use crate::score::key;
use crate::terminal::Terminal;

/// How a model is evaluated.
#[derive(Args, Debug)]
#[command(next_help_heading = "Protocol")]
pub struct ProtocolArgs {
    /// Search: draw this many configurations at random and choose one in every fold on its
    /// validation graphs [0: no search]. A configuration is a spectral radius and two scalings;
    /// values that you set are not drawn
    #[arg(long)]
    configs: Option<usize>,

    /// Number of draws of the weights; their scores are averaged
    #[arg(long, default_value_t = 3)]
    inits: usize,

    /// Number of folds of a cross-validation [5]
    #[arg(long)]
    pub folds: Option<usize>,

    /// Repeat everything with this many seeds, starting at --seed, each with its own folds and
    /// weights
    #[arg(long, alias = "seeds", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    repeats: u64,
}

/// What is evaluated, and how.
#[derive(Args, Debug)]
pub struct EvaluationArgs {
    #[command(flatten)]
    pub protocol: ProtocolArgs,

    #[command(flatten)]
    pub caching: Caching,

    #[command(flatten)]
    pub readout: ReadoutArgs,

    #[command(flatten)]
    pub model: ModelArgs,
}

impl EvaluationArgs {
    /// The model to evaluate, and the protocol of every seed; `usual` is the default preset and
    /// number of configurations.
    pub fn plan(&self, usual: (Preset, usize)) -> Result<(ModelConfig, Vec<Protocol>)> {
        let Self { protocol: asked, readout, model, .. } = self;
        let mut config = model.config_with(usual.0, readout)?;
        let mut protocol = Protocol {
            configurations: asked.configs.unwrap_or(usual.1),
            initialisations: asked.inits,
            searched: model.searched(),
            metric: config.metric,
            ..Protocol::default()
        };
        protocol.folds = asked.folds.unwrap_or(protocol.folds);
        // By default, a search chooses among the paper's penalties.
        let given = readout.given.contains_key("alpha") || model.file_gives("alpha");
        let given = given || config.alpha != Alpha::default();
        if protocol.searches() && given {
            protocol.leave_one_out = config.alpha == Alpha::Loo;
            protocol.alphas = config.alpha.candidates().to_vec();
        }
        if protocol.searches() && config.landmarks + config.random_features == 0 {
            config.alpha = Alpha::default();
        }
        protocol.validate().map_err(by_flag)?;
        let seeds = (0..asked.repeats).map(|more| config.seed.wrapping_add(more));
        let protocols = seeds.map(|seed| Protocol { seed, ..protocol.clone() }).collect();
        Ok((config, protocols))
    }
}

/// An error about the protocol, with the names of the flags.
fn by_flag(error: stepwell_lab::Error) -> anyhow::Error {
    match error {
        stepwell_lab::Error::BadOption { name: "initialisations", expected, found } => {
            anyhow!("--inits: expected {expected}, found {found}")
        }
        stepwell_lab::Error::BadOption { name: "configurations", expected, found } => {
            let expected = expected.replace("configurations x initialisations", "passes");
            anyhow!("--configs x --inits: expected {expected}, found {found}")
        }
        error => error.into(),
    }
}

/// The result of one model on one dataset, all seeds together.
#[derive(Default, Serialize)]
pub struct EvaluationResult {
    pub dataset: String,
    pub model: String,
    pub pool: String,
    pub blocks: usize,
    /// Options that differ from the preset.
    pub options: Map<String, Value>,
    /// The number of searched configurations; 0 without a search.
    pub configurations: usize,
    /// The options that were searched.
    pub searched: Vec<&'static str>,
    /// The number of draws of the weights in every fold.
    pub initialisations: usize,
    /// Whether the scores are on the validation graphs.
    pub on_validation: bool,
    /// The number of training, validation and test graphs (or vertices) in every fold of the first
    /// seed.
    pub sizes: Vec<[usize; 3]>,
    /// The headline metric, by which models are compared.
    pub metric: Metric,
    pub value_mean: Option<f64>,
    pub value_std: Option<f64>,
    /// What standard deviations are computed over: folds or, with one fold, draws of the weights.
    pub std_over: &'static str,
    pub accuracy_mean: Option<f64>,
    pub accuracy_std: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2_mean: Option<f64>,
    /// Every metric; with several targets, means over those that have a value.
    pub metrics: Spreads,
    /// The metrics of each target, if there are several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, Spreads>,
    #[serde(skip)]
    pub target_names: Vec<String>,
    pub folds: Vec<FoldOfSeed>,
    pub coarsen_seconds: f64,
    pub prepare_seconds: f64,
    /// Mean seconds of one search pass over all graphs, including the evaluation in all folds.
    pub embed_seconds: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
    pub seed: u64,
    /// Share of graphs that converged in all blocks, a mean over folds; `None` for baselines and if
    /// the number of sweeps is fixed.
    pub converged: Option<f64>,
    /// The graphs that features were fitted on, always without labels.
    pub features_fitted_on: &'static str,
    /// Simple models on the same folds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<EvaluationResult>,
}

/// Every metric that has a value.
#[derive(Clone, Debug, Default)]
pub struct Spreads(pub BTreeMap<Metric, Spread>);

/// Uses the same names as `predict`.
impl Serialize for Spreads {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(&metric, spread)| (key(metric), spread)))
    }
}

/// A metric over the folds and repeats that have a value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    pub mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
    /// The number of folds that have a value, if some have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// The number of all folds.
    #[serde(skip)]
    pub all: usize,
}

/// Means and spreads over the values of all folds.
fn spreads(mean: &Values, std: &Values, folds: &[&Values]) -> Spreads {
    let all = folds.len();
    let spread = |(metric, mean)| {
        let count = folds.iter().filter(|fold| fold.get(metric).is_some()).count();
        (metric, Spread { mean, std: std.get(metric), folds: Some(count).filter(|&count| count < all), all })
    };
    Spreads(mean.iter().map(spread).collect())
}

/// A fold, and the seed of its protocol.
#[derive(Serialize)]
pub struct FoldOfSeed {
    pub seed: u64,
    #[serde(flatten)]
    pub result: FoldResult,
    #[serde(flatten)]
    pub times: Option<Times>,
}

/// All folds of one seed.
pub struct Judged {
    pub folds: Vec<TimedFold>,
    /// Mean seconds of the search passes of this process, if there were any.
    embed_seconds: Option<f64>,
}

/// The common part of all evaluations of one dataset.
pub struct Evaluator<'a> {
    pub dataset: &'a Dataset,
    pub protocols: &'a [Protocol],
    pub splits: Option<&'a [Fold]>,
    pub cache: Option<&'a PyramidCache>,
    pub run: &'a Run,
    pub terminal: &'a Terminal,
    pub device: Device,
}

impl Evaluator<'_> {
    /// The levels of the subject, if it has any.
    pub fn pyramid(&self, subject: &Subject, cache: Option<&PyramidCache>) -> Result<Pyramid> {
        let Subject::Model(_, config) = subject else { return Ok(Pyramid::default()) };
        match config.pooling() {
            Some(pooling) => self.terminal.coarsen(cache, &self.dataset.graphs, &pooling, config.levels()),
            None => Ok(Pyramid::default()),
        }
    }

    /// Like [`pyramid`](Self::pyramid), for one of the protocols: computed once, borrowed by all
    /// but the last, and owned by the last.
    pub fn lend<'p>(
        &self,
        subject: &Subject,
        index: usize,
        kept: &'p mut Option<Pyramid>,
    ) -> Result<Cow<'p, Pyramid>> {
        let pyramid = match kept.take() {
            Some(pyramid) => pyramid,
            None => self.pyramid(subject, self.cache)?,
        };
        let is_last = index + 1 == self.protocols.len();
        Ok(if is_last { Cow::Owned(pyramid) } else { Cow::Borrowed(kept.insert(pyramid)) })
    }

    /// The evaluation of the subject in one of the protocols, not yet prepared.
    pub fn evaluation<'e>(&'e self, subject: &'e Subject, protocol: &Protocol) -> Result<Evaluation<'e>> {
        let folds = self.splits.map(<[Fold]>::to_vec);
        Ok(Evaluation::new(self.dataset, subject, protocol.clone(), folds)?.on(self.device.clone()))
    }

    /// Computes the missing units of the search, and trains and tests the model of every fold.
    /// Returns `None` while units of other shards are missing.
    pub fn judge(&self, evaluation: &Evaluation<'_>, place: &str, timed: bool) -> Result<Option<Judged>> {
        let (key, protocol) = (evaluation.key(), evaluation.protocol());
        let name = format!("{place}{key}");
        let clock = Instant::now();
        let (mut first, mut last) = (None, 0);
        let units = self.terminal.stepping(&name, |bar| {
            evaluation.search(self.run, |progress: Progress, units: &[Unit]| {
                first.get_or_insert(progress.done);
                last = progress.done;
                bar(progress.done, progress.units, &best_so_far(evaluation, units));
                self.last_words("passes", &name, progress);
                ControlFlow::Continue(())
            })
        })?;
        let passes = last - first.unwrap_or(last);
        let embed_seconds = (passes > 0).then(|| clock.elapsed().as_secs_f64() / passes as f64);
        let judged = self.terminal.stepping(&name, |bar| {
            evaluation.judge(self.run, &units, timed, |progress| {
                bar(progress.done, progress.units, "training and testing");
                if !protocol.searches() {
                    let [done, units] = [progress.done, progress.units].map(|n| n / protocol.initialisations);
                    self.last_words("folds", &name, Progress { done, units });
                }
                ControlFlow::Continue(())
            })
        })?;
        Ok(judged.map(|folds| Judged { folds, embed_seconds }))
    }

    fn last_words(&self, what: &str, name: &str, progress: Progress) {
        if let Some(folder) = &self.run.folder {
            let saved = format!("{} of {} {what} of {name}", progress.done, progress.units);
            crate::interrupt::say_when_interrupted(format!("{saved} are saved in {}", folder.display()));
        }
    }

    /// The complete result of one subject over all seeds, with times.
    pub fn evaluate(&self, subject: &Subject) -> Result<EvaluationResult> {
        let (mut result, mut kept): (Option<EvaluationResult>, _) = (None, None);
        for (index, protocol) in self.protocols.iter().enumerate() {
            let mut evaluation = self.evaluation(subject, protocol)?;
            let result = result.get_or_insert_with(|| EvaluationResult::new(&evaluation));
            match evaluation.folds_compared_otherwise() {
                0 => {}
                folds => self.terminal.note(&format!(
                    "note: {}: {} is undefined on the validation graphs of {}; there, accuracy or RMSE decides instead",
                    evaluation.key(),
                    evaluation.metric().title(),
                    counted(folds, "fold")
                )),
            }
            if !evaluation.state(self.run)?.is_done() {
                let clock = Instant::now();
                let pyramid = self.lend(subject, index, &mut kept)?;
                result.coarsen_seconds += clock.elapsed().as_secs_f64();
                let clock = Instant::now();
                evaluation.prepare(pyramid)?;
                result.prepare_seconds = clock.elapsed().as_secs_f64();
            }
            let judged = self.judge(&evaluation, "", true)?.context("all units were done")?;
            result.embed_seconds = judged.embed_seconds.or(result.embed_seconds);
            let seed = protocol.seed;
            result.folds.extend(judged.folds.into_iter().map(|(result, times)| FoldOfSeed {
                seed,
                result,
                times,
            }));
        }
        let mut result = result.context("there is at least one seed")?;
        result.summarise();
        result.peak_memory_bytes = peak_memory();
        Ok(result)
    }
}

impl EvaluationResult {
    /// The result of an evaluation before its folds are known.
    fn new(evaluation: &Evaluation<'_>) -> Self {
        let (key, protocol) = (evaluation.key().clone(), evaluation.protocol());
        let sizes = evaluation.folds().iter().map(|fold| [&fold.train, &fold.validation, &fold.test]);
        Self {
            dataset: key.dataset,
            model: key.model,
            pool: key.pool,
            blocks: key.blocks,
            configurations: protocol.configurations,
            searched: protocol.searched_options(),
            initialisations: protocol.initialisations,
            on_validation: protocol.on_validation,
            sizes: sizes.map(|parts| parts.map(Vec::len)).collect(),
            seed: key.seed,
            features_fitted_on: evaluation.features_fitted_on(),
            metric: evaluation.metric(),
            target_names: evaluation.target_names(),
            ..Self::default()
        }
    }

    /// Computes means and spreads of the finished folds.
    fn summarise(&mut self) {
        let qualities: Vec<Quality> = self.folds.iter().map(|fold| fold.result.quality.clone()).collect();
        let (mean, mut std) = Quality::spread(&qualities);
        self.std_over = "folds";
        if let [only] = &self.folds[..] {
            (std, self.std_over) = (only.result.std.clone(), "draws");
        }
        let all: Vec<&Values> = qualities.iter().map(|quality| &quality.values).collect();
        self.metrics = spreads(&mean.values, &std.values, &all);
        for (target, name) in self.target_names.iter().enumerate() {
            let none = Values::default();
            let of = |quality: &'_ Quality| quality.per_target.get(target).cloned().unwrap_or_default();
            let std = if std.per_target.is_empty() { none } else { of(&std) };
            let each: Vec<Values> = qualities.iter().map(of).collect();
            let each: Vec<&Values> = each.iter().collect();
            self.targets.insert(name.clone(), spreads(&of(&mean), &std, &each));
        }
        let headline = self.metrics.0.get(&self.metric).copied();
        self.value_mean = headline.map(|found| found.mean);
        self.value_std = headline.and_then(|found| found.std);
        let accuracy = mean.get(Metric::Accuracy);
        let accuracies: Vec<f64> = qualities.iter().filter_map(|found| found.get(Metric::Accuracy)).collect();
        (self.accuracy_mean, self.accuracy_std) = (accuracy, accuracy.map(|_| mean_and_std(&accuracies).1));
        (self.mae_mean, self.r2_mean) = (mean.get(Metric::Mae), mean.get(Metric::R2));
        let converged: Vec<f64> = self.folds.iter().filter_map(|fold| fold.result.converged).collect();
        self.converged = (!converged.is_empty()).then(|| mean_and_std(&converged).0);
    }

    /// The name of the model's preset; the paper's tables call `paper` a reservoir.
    pub fn title(&self) -> &str {
        if self.model == "reservoir" { "paper" } else { &self.model }
    }

    /// Whether it is better than another by their common metric.
    pub fn is_better(&self, other: &Self) -> bool {
        match (self.value_mean, other.value_mean) {
            (Some(one), Some(other)) => self.metric.is_better(one, other),
            _ => false,
        }
    }

    /// How many standard errors of the mean difference over the folds it is better than another
    /// model on the same folds. `None` with fewer than two folds.
    pub fn standard_errors_better(&self, other: &Self) -> Option<f64> {
        let value = |fold: &FoldOfSeed| fold.result.quality.get(self.metric);
        let pairs = self.folds.iter().zip(&other.folds);
        let differences: Vec<f64> =
            pairs.filter_map(|(one, other)| Some(value(one)? - value(other)?)).collect();
        let t = paired(&differences, 0.0)?.t;
        Some(if self.metric.is_better(1.0, 0.0) { t } else { -t })
    }

    /// The number of folds without a value of the headline metric.
    pub fn folds_without_value(&self) -> usize {
        self.folds.iter().filter(|fold| fold.result.quality.get(self.metric).is_none()).count()
    }
}

/// The validation scores of the best configurations so far.
fn best_so_far(evaluation: &Evaluation<'_>, units: &[Unit]) -> String {
    let protocol = evaluation.protocol();
    let whole = units.len() / protocol.initialisations;
    let part = Protocol { configurations: whole, ..protocol.clone() };
    match winners(&part, &units[..whole * protocol.initialisations]) {
        Some(found) if !found.is_empty() && found[0].validation > 0.0 => {
            let mean = found.iter().map(|winner| winner.validation).sum::<f64>() / found.len() as f64;
            match searched_by(evaluation.metric()) {
                Metric::Accuracy if mean > 1.0 => format!("best so far: {mean:.1} validation graphs correct"),
                metric => format!("best so far: {} {mean:.3} on validation graphs", metric.title()),
            }
        }
        _ => String::new(),
    }
}
