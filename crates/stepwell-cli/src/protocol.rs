//! An evaluation on the command line: its options, its progress, its result.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use stepwell::config::{Metric, ModelConfig, Preset};
use stepwell::pyramid::Pyramid;
use stepwell::readout::Alpha;
use stepwell::reservoir::Device;
use stepwell_data::Dataset;
use stepwell_data::cache::PyramidCache;
use stepwell_lab::evaluate::{Evaluation, Progress, TimedFold, peak_memory};
use stepwell_lab::metrics::{Quality, Values, mean_and_std};
use stepwell_lab::protocol::{Protocol, Unit, winners};
use stepwell_lab::run::{FoldResult, Run, Times};
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
    /// Search: draw this many configurations (spectral radius and scalings, unless given) and
    /// choose one in every fold on its validation graphs [0: no search]
    #[arg(long)]
    configs: Option<usize>,

    /// Number of draws of the weights; their scores are averaged
    #[arg(long, default_value_t = 3)]
    inits: usize,

    /// Number of folds of a cross-validation [5]
    #[arg(long)]
    pub folds: Option<usize>,

    /// Repeat everything with this many seeds, from --seed on, each with its own folds and weights
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
    readout: ReadoutArgs,

    #[command(flatten)]
    pub model: ModelArgs,
}

impl EvaluationArgs {
    /// The model to evaluate and the protocol of every seed; `usual` is the
    /// preset and the number of configurations where neither is given.
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
        // Unless others are given, a search chooses among the paper's penalties.
        let given = readout.given.contains_key("alpha") || model.file_gives("alpha");
        let given = given || config.alpha != Alpha::default();
        if protocol.searches() && given {
            protocol.leave_one_out = config.alpha == Alpha::Loo;
            protocol.alphas = config.alpha.candidates().to_vec();
        }
        if protocol.searches() && config.landmarks + config.random_features == 0 {
            config.alpha = Alpha::default();
        }
        protocol.validate()?;
        let seeds = (0..asked.repeats).map(|more| config.seed.wrapping_add(more));
        let protocols = seeds.map(|seed| Protocol { seed, ..protocol.clone() }).collect();
        Ok((config, protocols))
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
    /// Configurations that were searched; 0 for a model as it is.
    pub configurations: usize,
    /// The options that were searched.
    pub searched: Vec<&'static str>,
    /// Draws of the weights in every fold.
    pub initialisations: usize,
    /// Whether the scores are those of the validation graphs.
    pub on_validation: bool,
    /// Training, validation and test graphs (or vertices) in every fold of the first seed.
    pub sizes: Vec<[usize; 3]>,
    /// The headline: what models are compared by.
    pub metric: Metric,
    pub value_mean: Option<f64>,
    pub value_std: Option<f64>,
    /// What standard deviations are over: folds or, of one fold, draws of the weights.
    pub std_over: &'static str,
    pub accuracy_mean: Option<f64>,
    pub accuracy_std: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2_mean: Option<f64>,
    /// Every metric; of several targets, means over those that have a value.
    pub metrics: Spreads,
    /// Those of each of several targets.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub targets: BTreeMap<String, Spreads>,
    #[serde(skip)]
    pub target_names: Vec<String>,
    pub folds: Vec<FoldOfSeed>,
    pub coarsen_seconds: f64,
    pub prepare_seconds: f64,
    /// Mean of one pass of a search over all graphs, reading it in all folds included.
    pub embed_seconds: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
    pub seed: u64,
    /// Without labels in any case.
    pub features_fitted_on: &'static str,
    /// Simple models on the same folds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<EvaluationResult>,
}

/// Every metric that has a value.
#[derive(Clone, Debug, Default)]
pub struct Spreads(pub BTreeMap<Metric, Spread>);

/// Under the names that `predict` has.
impl Serialize for Spreads {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(&metric, spread)| (key(metric), spread)))
    }
}

/// A metric over folds and repeats that have a value.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    pub mean: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std: Option<f64>,
}

fn spreads(mean: &Values, std: &Values) -> Spreads {
    Spreads(mean.iter().map(|(metric, mean)| (metric, Spread { mean, std: std.get(metric) })).collect())
}

/// A fold, and the protocol's seed it was drawn with.
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
    /// Mean of the passes of a search made here, if any were.
    embed_seconds: Option<f64>,
}

/// All that evaluations of one dataset have in common.
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
    /// The subject's levels, as far as it has any.
    pub fn pyramid(&self, subject: &Subject, cache: Option<&PyramidCache>) -> Result<Pyramid> {
        let Subject::Model(_, config) = subject else { return Ok(Pyramid::default()) };
        match config.pooling() {
            Some(pooling) => self.terminal.coarsen(cache, &self.dataset.graphs, &pooling, config.levels()),
            None => Ok(Pyramid::default()),
        }
    }

    /// The same for one of the protocols: pooled once, lent, and given away to the last.
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

    /// The subject in one of the protocols; nothing is prepared yet.
    pub fn evaluation<'e>(&'e self, subject: &'e Subject, protocol: &Protocol) -> Result<Evaluation<'e>> {
        let folds = self.splits.map(<[Fold]>::to_vec);
        Ok(Evaluation::new(self.dataset, subject, protocol.clone(), folds)?.on(self.device.clone()))
    }

    /// Does what is missing of the search, and trains and tests the model of
    /// every fold; nothing while units of other shards are missing.
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

    /// Everything about one subject, all seeds together, times included.
    pub fn evaluate(&self, subject: &Subject) -> Result<EvaluationResult> {
        let (mut result, mut kept): (Option<EvaluationResult>, _) = (None, None);
        for (index, protocol) in self.protocols.iter().enumerate() {
            let mut evaluation = self.evaluation(subject, protocol)?;
            let result = result.get_or_insert_with(|| EvaluationResult::new(&evaluation));
            match evaluation.folds_compared_otherwise() {
                0 => {}
                folds => self.terminal.note(&format!(
                    "note: {}: {} is undefined on the validation graphs of {folds} folds; accuracy or RMSE chooses there",
                    evaluation.key(),
                    evaluation.metric().title()
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

    /// Means and spreads of the folds that are there.
    fn summarise(&mut self) {
        let qualities: Vec<Quality> = self.folds.iter().map(|fold| fold.result.quality.clone()).collect();
        let (mean, mut std) = Quality::spread(&qualities);
        self.std_over = "folds";
        if let [only] = &self.folds[..] {
            (std, self.std_over) = (only.result.std.clone(), "draws");
        }
        self.metrics = spreads(&mean.values, &std.values);
        for (target, name) in self.target_names.iter().enumerate() {
            let none = Values::default();
            let of = |quality: &'_ Quality| quality.per_target.get(target).cloned().unwrap_or_default();
            let std = if std.per_target.is_empty() { none } else { of(&std) };
            self.targets.insert(name.clone(), spreads(&of(&mean), &std));
        }
        let headline = self.metrics.0.get(&self.metric).copied();
        self.value_mean = headline.map(|found| found.mean);
        self.value_std = headline.and_then(|found| found.std);
        let accuracy = mean.get(Metric::Accuracy);
        let accuracies: Vec<f64> = qualities.iter().filter_map(|found| found.get(Metric::Accuracy)).collect();
        (self.accuracy_mean, self.accuracy_std) = (accuracy, accuracy.map(|_| mean_and_std(&accuracies).1));
        (self.mae_mean, self.r2_mean) = (mean.get(Metric::Mae), mean.get(Metric::R2));
    }

    /// The model, by the name of its preset; the paper's tables call `paper` a reservoir.
    pub fn title(&self) -> &str {
        if self.model == "reservoir" { "paper" } else { &self.model }
    }

    /// Whether it is better than another by the metric of both.
    pub fn is_better(&self, other: &Self) -> bool {
        match (self.value_mean, other.value_mean) {
            (Some(one), Some(other)) => self.metric.is_better(one, other),
            _ => false,
        }
    }

    /// How many folds have no value of the headline.
    pub fn folds_without_value(&self) -> usize {
        self.folds.iter().filter(|fold| fold.result.quality.get(self.metric).is_none()).count()
    }
}

/// How good the best configurations so far are on the validation graphs.
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
