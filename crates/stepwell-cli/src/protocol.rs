//! A model or a baseline through the protocol, with what a person sees of it.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use stepwell::config::ModelConfig;
use stepwell::pyramid::Pyramid;
use stepwell::readout::Alpha;
use stepwell_data::Dataset;
use stepwell_data::cache::PyramidCache;
use stepwell_lab::baselines::Baseline;
use stepwell_lab::evaluate::{Evaluation, Progress, peak_memory};
use stepwell_lab::fixed::Fixed;
use stepwell_lab::outcome::{FoldOutcome, Quality, Times};
use stepwell_lab::protocol::{Protocol, Searched, Unit, winners};
use stepwell_lab::run::{CellKey, Run};
use stepwell_lab::splits::Fold;
use stepwell_lab::tables::mean_and_std;

use crate::model::ModelArgs;
use crate::terminal::Terminal;

/// How much is tried.
#[derive(Args, Debug)]
#[command(next_help_heading = "Protocol")]
pub struct ProtocolArgs {
    /// Configurations drawn at random [100]
    #[arg(long)]
    configs: Option<usize>,

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

    /// Repeat everything, folds included, with so many seeds from --seed on
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
}

impl ProtocolArgs {
    /// The protocol of every seed for a model with nothing to search, and the
    /// penalty asked for.
    pub fn fixed(&self, seed: u64, on_validation: bool) -> Result<(Vec<Protocol>, Option<Alpha>)> {
        if self.configs.is_some() {
            bail!("--configs: with --preset accurate nothing is searched; --preset paper searches");
        }
        let mut protocol = Protocol {
            initialisations: self.inits,
            searched: Searched::NOTHING,
            on_validation,
            ..Protocol::default()
        };
        self.adjust(&mut protocol);
        Ok((self.each_seed(&protocol, seed)?, self.alpha.clone()))
    }

    fn each_seed(&self, protocol: &Protocol, seed: u64) -> Result<Vec<Protocol>> {
        protocol.validate()?;
        let seeds = (0..self.seeds).map(|more| seed.wrapping_add(more));
        Ok(seeds.map(|seed| Protocol { seed, ..protocol.clone() }).collect())
    }

    /// The protocol of every seed.
    pub fn protocols(&self, model: &ModelArgs, seed: u64) -> Result<Vec<Protocol>> {
        let mut protocol =
            Protocol { initialisations: self.inits, searched: model.searched()?, ..Protocol::default() };
        protocol.configurations = self.configs.unwrap_or(protocol.configurations);
        self.adjust(&mut protocol);
        self.each_seed(&protocol, seed)
    }

    fn adjust(&self, protocol: &mut Protocol) {
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
    }
}

/// What is put through the protocol.
#[derive(Clone)]
pub enum Subject {
    Model(Box<ModelConfig>),
    Baseline(Baseline),
}

impl Subject {
    /// What records call it.
    pub fn key(&self, dataset: &Dataset, protocol: &Protocol) -> CellKey {
        match self {
            Self::Model(config) => CellKey::of_model(&dataset.name, config, protocol.seed),
            Self::Baseline(baseline) => CellKey::of_baseline(&dataset.name, *baseline, protocol.seed),
        }
    }
}

/// What came of one model on one dataset.
#[derive(Serialize)]
pub struct Report {
    pub dataset: String,
    pub model: String,
    pub pool: String,
    pub blocks: usize,
    pub accuracy_mean: Option<f64>,
    pub accuracy_std: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mae_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r2_mean: Option<f64>,
    pub folds: Vec<FoldReport>,
    pub coarsen_seconds: f64,
    pub prepare_seconds: f64,
    /// Mean of one pass over all graphs, reading it in all folds included.
    pub embed_seconds: Option<f64>,
    pub peak_memory_bytes: Option<u64>,
    pub seed: u64,
    /// Without labels in any case; on all graphs, test graphs included, unless
    /// the model is a fixed one.
    pub features_fitted_on: &'static str,
    /// Simple models in the same protocol.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<Report>,
}

#[derive(Serialize)]
pub struct FoldReport {
    pub seed: u64,
    #[serde(flatten)]
    pub outcome: FoldOutcome,
    #[serde(flatten)]
    pub times: Option<Times>,
}

/// A search that is done, and what came of its winners.
pub struct Found {
    pub units: Vec<Unit>,
    pub outcomes: Vec<FoldOutcome>,
    /// Mean of the passes made here, if any were.
    pub embed_seconds: Option<f64>,
}

/// All that evaluations of one dataset have in common.
pub struct Bench<'a> {
    pub dataset: &'a Dataset,
    pub protocols: &'a [Protocol],
    pub splits: Option<&'a [Fold]>,
    pub cache: Option<&'a PyramidCache>,
    pub run: &'a Run,
    pub terminal: &'a Terminal,
}

impl<'a> Bench<'a> {
    /// The subject's levels, as far as it has any.
    pub fn pyramid(&self, subject: &Subject, cache: Option<&PyramidCache>) -> Result<Pyramid> {
        match subject {
            Subject::Model(config) => self.coarsen(config, cache),
            Subject::Baseline(_) => Ok(Pyramid::default()),
        }
    }

    fn coarsen(&self, config: &ModelConfig, cache: Option<&PyramidCache>) -> Result<Pyramid> {
        match config.pooling() {
            Some(pooling) => self.terminal.coarsen(cache, &self.dataset.graphs, &pooling, config.levels()),
            None => Ok(Pyramid::default()),
        }
    }

    /// The subject made ready.
    pub fn evaluation<'p>(
        &self,
        subject: &Subject,
        pyramid: impl Into<Cow<'p, Pyramid>>,
        protocol: &Protocol,
    ) -> Result<Evaluation<'a>> {
        let (protocol, folds) = (protocol.clone(), self.splits.map(<[Fold]>::to_vec));
        Ok(match subject {
            Subject::Model(config) => {
                Evaluation::new(self.dataset, pyramid, (**config).clone(), protocol, folds)?
            }
            Subject::Baseline(baseline) => Evaluation::baseline(self.dataset, *baseline, protocol, folds)?,
        })
    }

    /// The pyramid for one of the protocols: lent, and given away to the last.
    pub fn for_seed<'p>(&self, seed: usize, pyramid: &'p mut Pyramid) -> Cow<'p, Pyramid> {
        match seed + 1 == self.protocols.len() {
            true => std::mem::take(pyramid).into(),
            false => (&*pyramid).into(),
        }
    }

    /// Does what is missing of the search, and judges the winners; nothing
    /// while units of other shards are missing.
    pub fn search(&self, evaluation: &Evaluation<'_>, place: &str) -> Result<Option<Found>> {
        let name = format!("{place}{}", evaluation.key());
        let clock = Instant::now();
        let (mut first, mut last) = (None, 0);
        let units = self.terminal.stepping(&name, |bar| {
            evaluation.search(self.run, |progress: Progress, units: &[Unit]| {
                first.get_or_insert(progress.done);
                last = progress.done;
                bar(progress.done, progress.units, &best_so_far(evaluation.protocol(), units));
                self.last_words("passes", evaluation.key(), progress);
                ControlFlow::Continue(())
            })
        })?;
        let passes = last - first.unwrap_or(last);
        let embed_seconds = (passes > 0).then(|| clock.elapsed().as_secs_f64() / passes as f64);
        let judged = self.terminal.busy("judging the winners", || evaluation.judge(self.run, &units))?;
        Ok(judged.map(|outcomes| Found { units, outcomes, embed_seconds }))
    }

    fn last_words(&self, what: &str, key: &CellKey, progress: Progress) {
        if let Some(folder) = &self.run.folder {
            let saved = format!("{} of {} {what} of {key}", progress.done, progress.units);
            crate::say_when_interrupted(format!("{saved} are saved in {}", folder.display()));
        }
    }

    /// Everything about one subject, all seeds together, times included.
    pub fn report(&self, subject: &Subject) -> Result<Option<Report>> {
        let clock = Instant::now();
        let mut pyramid = self.pyramid(subject, self.cache)?;
        let coarsen_seconds = clock.elapsed().as_secs_f64();
        let mut prepare_seconds = 0.0;
        let mut embed_seconds = None;
        let mut folds = Vec::new();
        let mut key = None;
        for (seed, protocol) in self.protocols.iter().enumerate() {
            let clock = Instant::now();
            let pyramid = self.for_seed(seed, &mut pyramid);
            let evaluation = self.evaluation(subject, pyramid, protocol)?;
            prepare_seconds = clock.elapsed().as_secs_f64();
            let Some(found) = self.search(&evaluation, "")? else { return Ok(None) };
            embed_seconds = found.embed_seconds.or(embed_seconds);
            let times = self.terminal.busy("taking times", || evaluation.time(self.run, &found.units))?;
            let times = times.unwrap_or_default().into_iter().map(Some).chain(std::iter::repeat(None));
            let seed = protocol.seed;
            folds.extend(found.outcomes.into_iter().zip(times).map(|(outcome, times)| FoldReport {
                seed,
                outcome,
                times,
            }));
            key.get_or_insert_with(|| evaluation.key().clone());
        }
        let Some(key) = key else { return Ok(None) };
        let fitted_on = "all graphs, without labels";
        Ok(Some(Report {
            coarsen_seconds,
            prepare_seconds,
            embed_seconds,
            ..Report::new(key, folds, fitted_on)
        }))
    }

    /// Everything about a model that is taken as it is.
    pub fn fixed(&self, config: &ModelConfig) -> Result<Report> {
        let clock = Instant::now();
        let pyramid = self.coarsen(config, self.cache)?;
        let coarsen_seconds = clock.elapsed().as_secs_f64();
        let mut folds = Vec::new();
        let mut key = None;
        for protocol in self.protocols {
            let splits = self.splits.map(<[Fold]>::to_vec);
            let fixed = Fixed::new(self.dataset, &pyramid, config.clone(), protocol.clone(), splits)?;
            let judged = self.terminal.stepping(&fixed.key().to_string(), |bar| {
                fixed.judge(self.run, |progress| {
                    bar(progress.done, progress.units, "");
                    let inits = protocol.initialisations;
                    let (done, units) = (progress.done / inits, progress.units / inits);
                    self.last_words("folds", fixed.key(), Progress { done, units });
                    ControlFlow::Continue(())
                })
            })?;
            let seed = protocol.seed;
            folds.extend(judged.into_iter().map(|(outcome, times)| FoldReport { seed, outcome, times }));
            key.get_or_insert_with(|| fixed.key().clone());
        }
        let key = key.context("there is at least one seed")?;
        Ok(Report { coarsen_seconds, ..Report::new(key, folds, "the graphs learnt from, in every fold") })
    }
}

impl Report {
    /// What all folds say together.
    fn new(key: CellKey, folds: Vec<FoldReport>, features_fitted_on: &'static str) -> Self {
        let quality = Quality::mean(&folds.iter().map(|fold| fold.outcome.quality).collect::<Vec<_>>());
        let accuracies: Vec<f64> = folds.iter().filter_map(|fold| fold.outcome.quality.accuracy).collect();
        Self {
            dataset: key.dataset,
            model: key.model,
            pool: key.pool,
            blocks: key.blocks,
            accuracy_mean: quality.accuracy,
            accuracy_std: quality.accuracy.map(|_| mean_and_std(&accuracies).1),
            mae_mean: quality.mae,
            r2_mean: quality.r2,
            folds,
            coarsen_seconds: 0.0,
            prepare_seconds: 0.0,
            embed_seconds: None,
            peak_memory_bytes: peak_memory(),
            seed: key.seed,
            features_fitted_on,
            baselines: Vec::new(),
        }
    }
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
