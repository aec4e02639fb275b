//! One subject on one dataset, evaluated in every fold.
//!
//! A model is trained in each fold the way `stepwell train` would: features,
//! weights and readout come from the graphs it is trained on, and nothing from
//! those it is tested on.
//!
//! Where configurations are searched, work is done in units first: a
//! configuration with one draw of its weights is embedded once, with features
//! fitted on all graphs (without labels), and read in every fold with every
//! penalty. A unit is recorded before the next begins, so that an interrupted
//! run can be resumed. When all units are there, the winner of each fold is
//! trained and tested like any other model.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::Instant;

use rayon::prelude::*;
use serde_json::json;
use stepwell::config::{Level, Metric};
use stepwell::pyramid::Pyramid;
use stepwell::readout::ClassWeight;
use stepwell::reservoir::Device;
use stepwell::rng::Stream;
use stepwell::targets::Encoded;
use stepwell_data::Dataset;

use crate::baselines::Rows;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::metrics::{Quality, Said};
use crate::predictions::Predictions;
use crate::protocol::{Protocol, Unit, UnitKey, Winner, winners};
use crate::readouts::{Design, Readouts, Shown};
use crate::records::Journal;
use crate::run::{CellKey, CellState, Effort, FoldResult, Making, Record, Run, Sweeps, Times};
use crate::splits::Fold;
use crate::subject::{Drawn, Ready, Subject};
use crate::targets;

/// A subject on a dataset.
pub struct Evaluation<'a> {
    pub(crate) dataset: &'a Dataset,
    subject: &'a Subject,
    key: CellKey,
    protocol: Protocol,
    targets: Encoded,
    metric: Metric,
    folds: Vec<Fold>,
    fingerprint: Fingerprint,
    pub(crate) inputs: Inputs<'a>,
    pub(crate) sweeps: Sweeps,
    device: Device,
}

/// Where the graphs' inputs come from.
pub(crate) enum Inputs<'a> {
    /// Nothing is prepared yet.
    Missing,
    /// From a map of all graphs: one pass serves all folds.
    Shared(Ready<'a>),
    /// From a map of each fold's training graphs; with the pyramid of all graphs.
    PerFold(Cow<'a, Pyramid>),
}

/// A fold, and how long it took if that is known.
pub type TimedFold = (FoldResult, Option<Times>);

/// A message while work goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Units done, of `units`.
    pub done: usize,
    /// All units.
    pub units: usize,
}

impl<'a> Evaluation<'a> {
    /// Takes a dataset. Folds are drawn from the protocol's seed, unless given.
    /// What earlier runs have found can be read from now on; for the rest, graphs
    /// must be [prepared](Self::prepare).
    pub fn new(
        dataset: &'a Dataset,
        subject: &'a Subject,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
    ) -> Result<Self> {
        let protocol = subject.protocol(protocol);
        let level = subject.config().level;
        let targets = targets::of(dataset, level)?;
        let metric = targets::headline(protocol.metric, &targets)?;
        let folds = protocol.split(&targets, targets::groups(dataset, level).as_deref(), folds)?;
        let key = CellKey::new(&dataset.name, subject, protocol.seed);
        let fingerprint = match subject {
            Subject::Baseline(baseline) => {
                Fingerprint::new(dataset, &baseline.config(), &folds, (baseline.settings(), &protocol))
            }
            Subject::Model(_, config) if protocol.searches() => {
                Fingerprint::new(dataset, config, &folds, (config, &protocol))
            }
            // The rest of the protocol changes nothing.
            Subject::Model(_, config) => {
                let Protocol { initialisations, seed, on_validation, .. } = protocol;
                let used = json!({ "initialisations": initialisations, "seed": seed, "on_validation": on_validation });
                Fingerprint::new(dataset, config, &folds, (config, used))
            }
        };
        let (inputs, sweeps, device) = (Inputs::Missing, Sweeps::Own, Device::processor());
        Ok(Self {
            dataset,
            subject,
            key,
            protocol,
            targets,
            metric,
            folds,
            fingerprint,
            inputs,
            sweeps,
            device,
        })
    }

    /// The same, its vectors computed elsewhere. Records do not tell where.
    pub fn on(self, device: Device) -> Self {
        Self { device, ..self }
    }

    /// Prepares all graphs, with their pyramid.
    pub fn prepare(&mut self, pyramid: impl Into<Cow<'a, Pyramid>>) -> Result<()> {
        self.inputs = if self.protocol.searches() {
            Inputs::Shared(Ready::new(self.dataset, self.subject, pyramid.into(), None)?)
        } else {
            Inputs::PerFold(pyramid.into())
        };
        Ok(())
    }

    /// Which cell this is.
    pub fn key(&self) -> &CellKey {
        &self.key
    }

    /// The protocol as it applies to the subject.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// What results are told by.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// What targets are called, where there are several.
    pub fn target_names(&self) -> Vec<String> {
        let count = self.targets.task().num_targets();
        let name =
            |target: usize| self.targets.names().get(target).cloned().unwrap_or_else(|| target.to_string());
        (0..count).filter(|_| count > 1).map(name).collect()
    }

    /// The graphs of every fold.
    pub fn folds(&self) -> &[Fold] {
        &self.folds
    }

    /// What features are fitted on; it sees no labels in any case.
    pub fn features_fitted_on(&self) -> &'static str {
        match self.subject.config().level {
            _ if self.protocol.searches() => "all graphs, without labels",
            Level::Graph => "training graphs of each fold",
            Level::Vertex => "graphs with training vertices of each fold, without labels",
        }
    }

    /// What is known of the cell.
    pub fn state(&self, run: &Run) -> Result<CellState> {
        run.state(&self.key, &self.fingerprint)
    }

    /// Opens the run's records, and notes what the cell is made of if this is the first.
    fn journal(&self, run: &Run, known: &CellState, units: usize) -> Result<Option<Journal>> {
        let mut journal = run.journal()?;
        if let Some(journal) = journal.as_mut().filter(|_| known.fingerprint.checksum.is_empty()) {
            let (cell, fingerprint) = (self.key.clone(), self.fingerprint.clone());
            let (metric, targets) = (Some(self.metric), self.target_names());
            journal.write(&Record::Cell { cell, fingerprint, units, metric, targets })?;
        }
        Ok(journal)
    }

    /// Does what is missing of this process' share of the units, and returns
    /// all that are there: none where nothing is searched.
    pub fn search(
        &self,
        run: &Run,
        mut progress: impl FnMut(Progress, &[Unit]) -> ControlFlow<()>,
    ) -> Result<Vec<Unit>> {
        let known = self.state(run)?;
        let mut units: Vec<Unit> = known.units.values().cloned().collect();
        let all = self.protocol.configurations * self.protocol.initialisations;
        let missing = self
            .protocol
            .units()
            .enumerate()
            .filter(|(index, key)| run.does(*index) && !known.units.contains_key(key));
        let (clock, mut effort) = (Instant::now(), Effort::default());
        let mut journal = None;
        for (_, key) in missing {
            if progress(Progress { done: units.len(), units: all }, &units).is_break() {
                return Err(stepwell::Error::Cancelled.into());
            }
            let (unit, embedding_seconds) = self.unit(self.shared()?, key)?;
            if effort.passes == 0 {
                journal = self.journal(run, &known, all)?;
            }
            if let Some(journal) = &mut journal {
                journal.write(&Record::Unit { cell: self.key.clone(), unit: unit.clone() })?;
            }
            effort.passes += 1;
            effort.embedding_seconds += embedding_seconds;
            units.push(unit);
        }
        effort.seconds = clock.elapsed().as_secs_f64();
        effort.peak_memory_bytes = peak_memory();
        if effort.passes > 0
            && let Some(mut journal) = run.clock_journal()?
        {
            journal.write(&Record::Search { cell: self.key.clone(), effort })?;
        }
        let _ = progress(Progress { done: units.len(), units: all }, &units);
        Ok(units)
    }

    fn shared(&self) -> Result<&Ready<'a>> {
        match &self.inputs {
            Inputs::Shared(ready) => Ok(ready),
            _ => Err(Error::Unprepared),
        }
    }

    /// What configurations are compared by on some graphs.
    fn compared_by(&self, graphs: &[usize]) -> Metric {
        targets::usable(targets::searched_by(self.metric), &self.targets, graphs)
    }

    /// In how many folds configurations are compared by accuracy, or RMSE, because the metric
    /// has no value on the validation graphs.
    pub fn folds_compared_otherwise(&self) -> usize {
        let metric = targets::searched_by(self.metric);
        let otherwise = |fold: &&Fold| self.compared_by(&fold.validation) != metric;
        if self.protocol.searches() { self.folds.iter().filter(otherwise).count() } else { 0 }
    }

    /// One pass over all graphs, read in every fold with every alpha; and the
    /// seconds of it in which graphs were embedded.
    fn unit(&self, ready: &Ready<'_>, key: UnitKey) -> Result<(Unit, f64)> {
        let graphs: Vec<usize> = (0..self.targets.len()).collect();
        let clock = Instant::now();
        let drawn = ready.draw(&self.protocol, key)?.on(&self.device);
        let rows = drawn.rows(&graphs)?;
        let embedding_seconds = clock.elapsed().as_secs_f64();
        let design = Design::new(rows)?;
        let scores = |learnt: &[usize], judged: &[usize]| -> Result<Vec<Option<f64>>> {
            let metric = self.compared_by(judged);
            let readouts = self.train(&drawn, &design, learnt, learnt)?;
            let shown = design.of(judged, learnt);
            let score = |index| {
                let decisions = readouts.solve(index)?.decisions(&shown)?;
                Ok(targets::score(metric, &self.targets, judged, decisions.view()))
            };
            (0..readouts.len()).map(score).collect()
        };
        let of_fold = |(number, fold): (usize, &Fold)| -> Result<(Vec<f64>, Vec<f64>)> {
            let validation: Option<Vec<f64>> = scores(&fold.train, &fold.validation)?.into_iter().collect();
            let without = || Error::Split {
                expected: "validation graphs with known targets".into(),
                found: format!("none in fold {}", number + 1),
            };
            let test = scores(&fold.learnt(), &fold.test)?;
            Ok((validation.ok_or_else(without)?, test.into_iter().map(Option::unwrap_or_default).collect()))
        };
        let (validation, test) =
            self.folds.par_iter().enumerate().map(of_fold).collect::<Result<Vec<_>>>()?.into_iter().unzip();
        Ok((Unit { key, validation, test }, embedding_seconds))
    }

    /// Trains on some graphs, which stand in these rows of the design.
    fn train(
        &self,
        drawn: &Drawn<'_>,
        design: &Design,
        rows: &[usize],
        graphs: &[usize],
    ) -> Result<Readouts> {
        let shown = design.of(rows, rows);
        let known = self.targets.select(graphs);
        let (class_weight, standardize) = match (drawn, &shown) {
            (Drawn::Model { model, .. }, Shown::Vectors(vectors)) => {
                let config = &model.config;
                if !self.protocol.searches() || config.landmarks + config.random_features > 0 {
                    let keys: Vec<u64> = match self.vertices() {
                        None => graphs.iter().map(|&graph| self.dataset.graphs.graph(graph).key()).collect(),
                        Some(vertices) => {
                            let all = self.dataset.graphs.vertex_keys();
                            graphs.iter().map(|&row| all[vertices[row]]).collect()
                        }
                    };
                    return Readouts::own((**model).clone(), vectors, &known, &keys);
                }
                (config.class_weight.clone(), config.standardize)
            }
            _ => (ClassWeight::None, false),
        };
        Readouts::searched(shown, &known, &class_weight, standardize, &self.protocol)
    }

    /// The model of every fold: the winner of a search, or the only one; nothing
    /// until all units of the search are there.
    fn chosen(&self, units: &[Unit]) -> Option<Vec<Option<Winner>>> {
        if self.protocol.searches() {
            Some(winners(&self.protocol, units)?.into_iter().map(Some).collect())
        } else {
            Some(vec![None; self.folds.len()])
        }
    }

    /// Trains and tests the model of every fold, or reads what an earlier run
    /// found; nothing until all units are there. If `timed`, the first draw runs
    /// on one thread, for the clock.
    pub fn judge(
        &self,
        run: &Run,
        units: &[Unit],
        timed: bool,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<Vec<TimedFold>>> {
        let Some(chosen) = self.chosen(units) else { return Ok(None) };
        let known = self.state(run)?;
        let draws = self.protocol.initialisations;
        let all = chosen.len() * draws;
        let (mut is_open, mut journal, mut clock, mut kept) = (false, None, None, None);
        let mut found = Vec::new();
        for (fold, winner) in chosen.iter().enumerate() {
            if let Some(result) = known.folds.get(&fold) {
                found.push((result.clone(), known.times.get(&(self.sweeps, fold)).copied()));
                continue;
            }
            let step = |draw| progress(Progress { done: fold * draws + draw, units: all });
            let (result, times, said) = self.judge_fold(fold, winner.as_ref(), timed, step)?;
            if !std::mem::replace(&mut is_open, true) {
                journal = self.journal(run, &known, chosen.len())?;
                clock = if timed { run.clock_journal()? } else { None };
                kept = run.predictions_journal()?;
            }
            let cell = self.key.clone();
            if let Some((clock, times)) = clock.as_mut().zip(times) {
                clock.write(&Record::Time { cell: cell.clone(), fold, sweeps: self.sweeps, times })?;
            }
            if let Some(kept) = &mut kept {
                kept.write(&Record::Predictions { cell: cell.clone(), fold, said: Box::new(said) })?;
            }
            if let Some(journal) = &mut journal {
                journal.write(&Record::Fold { cell, fold, result: Box::new(result.clone()) })?;
            }
            found.push((result, times));
        }
        let _ = progress(Progress { done: all, units: all });
        Ok(Some(found))
    }

    fn judge_fold(
        &self,
        fold: usize,
        winner: Option<&Winner>,
        timed: bool,
        mut progress: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(FoldResult, Option<Times>, Predictions)> {
        let (learnt, _) = self.parts(fold);
        let (subject, own);
        let ready = if let Inputs::PerFold(pyramid) = &self.inputs {
            let pyramid = Cow::Borrowed(&**pyramid);
            subject = self.subject.chosen(self.dataset, &self.targets, &learnt)?;
            own = Ready::new(self.dataset, &subject, pyramid, Some(&learnt))?;
            &own
        } else {
            self.shared()?
        };
        let (mut first, mut times, mut qualities) = (None, None, Vec::new());
        for draw in 0..self.protocol.initialisations {
            if progress(draw).is_break() {
                return Err(stepwell::Error::Cancelled.into());
            }
            let once = || self.once(ready, fold, winner, draw);
            let is_timed = timed && draw == 0;
            let tested = if is_timed { on_one_thread(once)? } else { once()? };
            times = times.or(is_timed.then_some(tested.times));
            first.get_or_insert((tested.alpha, tested.said));
            qualities.push(tested.quality);
        }
        let (alpha, said) = first.expect("a protocol has at least one draw");
        let configuration = winner.map_or(0, |winner| winner.configuration);
        let (config, setting) = ready.settings(&self.protocol, configuration);
        let validation = winner.map(|winner| {
            let graphs = &self.folds[fold].validation;
            winner.validation / targets::summed_over(self.compared_by(graphs), &self.targets, graphs) as f64
        });
        let (quality, mut std) = Quality::spread(&qualities);
        if qualities.len() < 2 {
            std = Quality::default();
        }
        Ok((FoldResult { config, setting, alpha, validation, quality, std }, times, said))
    }

    /// Takes the time of the model of every fold on one thread, unless an
    /// earlier run has; nothing until all units are there.
    pub fn time(&self, run: &Run, units: &[Unit]) -> Result<()> {
        let Some(chosen) = self.chosen(units) else { return Ok(()) };
        let known = self.state(run)?.times;
        let mut journal = run.clock_journal()?;
        for (fold, winner) in chosen.iter().enumerate() {
            if known.contains_key(&(self.sweeps, fold)) {
                continue;
            }
            let times = on_one_thread(|| self.once(self.shared()?, fold, winner.as_ref(), 0))?.times;
            if let Some(journal) = &mut journal {
                let cell = self.key.clone();
                journal.write(&Record::Time { cell, fold, sweeps: self.sweeps, times })?;
            }
        }
        Ok(())
    }

    /// Records what it took to make this cell ready.
    pub fn made(&self, run: &Run, making: Making) -> Result<()> {
        match run.clock_journal()? {
            Some(mut journal) => journal.write(&Record::Made { cell: self.key.clone(), making }),
            None => Ok(()),
        }
    }

    /// The vertices that rows are of, where they are not of graphs.
    fn vertices(&self) -> Option<&[usize]> {
        let known = self.dataset.vertices.as_ref().map(|all| &all.known.rows[..]);
        known.filter(|_| self.subject.config().level == Level::Vertex)
    }

    /// The graphs that a fold's model is trained on, and those it is tested on.
    fn parts(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        let fold = &self.folds[fold];
        let (mut learnt, mut judged) = if self.protocol.on_validation {
            (fold.train.clone(), fold.validation.clone())
        } else {
            (fold.learnt(), fold.test.clone())
        };
        learnt.sort_unstable();
        judged.sort_unstable();
        (learnt, judged)
    }

    /// Trains the model of a fold with one draw of its weights, and tests it.
    fn once(&self, ready: &Ready<'_>, fold: usize, winner: Option<&Winner>, draw: usize) -> Result<Tested> {
        let (learnt, judged) = self.parts(fold);
        let configuration = winner.map_or(0, |winner| winner.configuration);
        let key = UnitKey { configuration, initialisation: draw };
        let drawn = ready.draw(&self.protocol, key)?.on(&self.device);

        let clock = Instant::now();
        // Vertices of one graph are embedded together: it is gone through as a whole in any case.
        let mut together: Vec<usize> = learnt.iter().chain(&judged).copied().collect();
        together.sort_unstable();
        let all = self.vertices().map(|_| drawn.rows(&together)).transpose()?;
        let rows_of = |some: &[usize]| match &all {
            Some(Rows::Vectors(vectors)) => {
                let places: Vec<usize> =
                    some.iter().map(|row| together.partition_point(|other| other < row)).collect();
                Ok(Rows::Vectors(vectors.select(&places)))
            }
            _ => drawn.rows(some),
        };
        let design = Design::new(rows_of(&learnt)?)?;
        let rows: Vec<usize> = (0..learnt.len()).collect();
        let readouts = self.train(&drawn, &design, &rows, &learnt)?;
        let solved = readouts.solve(winner.map_or(0, |winner| winner.alpha))?;
        let train_seconds = clock.elapsed().as_secs_f64();

        let clock = Instant::now();
        let decisions = solved.decisions(&design.of_new(rows_of(&judged)?)?)?;
        let test_seconds = clock.elapsed().as_secs_f64();
        let (decisions, chances) = (decisions.view(), solved.probabilities(decisions.view())?);
        let chances = chances.as_ref().map(|chances| chances.view());
        let quality = Quality::of(&self.targets, &judged, decisions, chances);
        let said = |target| Said::new(&self.targets, &judged, decisions, chances, target);
        let stream = Stream::new(self.protocol.seed, "predictions", [fold as u64, 0]);
        let said = Predictions::keep(&self.targets, said, judged.len(), stream, self.folds.len());
        Ok(Tested { alpha: solved.alpha(), quality, said, times: Times { train_seconds, test_seconds } })
    }
}

/// How one draw of a model did on graphs it was not trained on.
struct Tested {
    alpha: f64,
    quality: Quality,
    said: Predictions,
    times: Times,
}

/// Runs work on one thread, so that its time says what it costs.
pub fn on_one_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    }
}

/// The most memory the process ever held, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;
    use stepwell::config::{ModelConfig, Pool, Preset};
    use stepwell::graph::{Attributes, GraphBatch};
    use stepwell::model::TrainedModel;
    use stepwell::targets::{Labels, Targets};
    use stepwell_data::synthetic::{BenchmarkOptions, generate};

    use super::*;
    use crate::splits;

    fn going(_: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn unsearched(folds: usize, initialisations: usize) -> Protocol {
        Protocol { folds, initialisations, configurations: 0, ..Protocol::default() }
    }

    /// The model of the first fold, and its decisions about the test graphs.
    fn trained(dataset: &Dataset, folds: &[Fold]) -> (TrainedModel, Array2<f64>) {
        let model = ModelConfig {
            units: 8.into(),
            pool: Pool::Graclus,
            landmarks: 30,
            ..ModelConfig::preset(Preset::Accurate)
        };
        let pooling = model.pooling().unwrap();
        let pyramid =
            pooling.coarsen(&dataset.graphs, model.levels(), |_| ControlFlow::Continue(())).unwrap();
        let subject = Subject::Model("accurate".into(), Box::new(model));
        let evaluation = Evaluation::new(dataset, &subject, unsearched(4, 3), Some(folds.to_vec())).unwrap();
        let (learnt, judged) = evaluation.parts(0);
        let ready = Ready::new(dataset, &subject, Cow::Borrowed(&pyramid), Some(&learnt)).unwrap();
        let key = UnitKey { configuration: 0, initialisation: 1 };
        let drawn = ready.draw(&evaluation.protocol, key).unwrap();
        let design = Design::new(drawn.rows(&learnt).unwrap()).unwrap();
        let rows: Vec<usize> = (0..learnt.len()).collect();
        let readouts = evaluation.train(&drawn, &design, &rows, &learnt).unwrap();
        let shown = design.of_new(drawn.rows(&judged).unwrap()).unwrap();
        let decisions = readouts.solve(0).unwrap().decisions(&shown).unwrap();
        let Readouts::Own(trained) = readouts else { unreachable!("nothing is searched") };
        (*trained, decisions)
    }

    /// A benchmark whose vertices carry numbers, of one kind of graph or another.
    fn carrying(dataset: &Dataset, other: &Dataset, replaced: &[usize]) -> Dataset {
        let mut graphs = GraphBatch::default();
        let mut stream = Stream::new(1, "evaluate test", [0, 0]);
        for graph in 0..dataset.len() {
            let is_replaced = replaced.contains(&graph);
            let alone = if is_replaced { other } else { dataset }.graphs.select(&[graph]).bare();
            // Drawn for every graph, so that those that stay are the same.
            let drawn: Vec<f64> = (0..2 * 1000).map(|_| stream.normal()).collect();
            let shift = if is_replaced { 100.0 } else { 3.0 };
            let values = drawn.iter().take(2 * alone.num_vertices()).map(|value| value + shift).collect();
            graphs
                .append(&alone.with_vertex_attributes(Attributes { width: 2, values, names: None }).unwrap())
                .unwrap();
        }
        Dataset { graphs, ..dataset.clone() }
    }

    #[test]
    fn nothing_is_learnt_from_the_graphs_it_is_judged_by() {
        let options = BenchmarkOptions { graphs_per_class: 20, ..BenchmarkOptions::named("b-hard").unwrap() };
        let dataset = generate(&options).unwrap();
        let other = generate(&BenchmarkOptions { seed: 9, ..options }).unwrap();
        let folds =
            splits::stratified(&targets::strata(&targets::of(&dataset, Level::Graph).unwrap()), 4, 0.2, 3)
                .unwrap();
        for bare in [false, true] {
            let made = |replaced: &[usize]| {
                let mut made = carrying(&dataset, &other, replaced);
                made.graphs = if bare { made.graphs.bare() } else { made.graphs };
                made
            };
            let whole = made(&[]);
            let (expected, decisions) = trained(&whole, &folds);

            // Other labels for the test graphs.
            let mut relabelled = whole.clone();
            let Targets::Classes(Labels::Int(classes)) = &mut relabelled.targets else { unreachable!() };
            folds[0].test.iter().for_each(|&graph| classes[graph] = (classes[graph] + 1) % 3);
            assert_eq!(trained(&relabelled, &folds), (expected.clone(), decisions.clone()));

            // Other graphs in their places: the model is the same, what it says of them is not.
            let (found, said) = trained(&made(&folds[0].test), &folds);
            assert_eq!(found, expected);
            assert_ne!(said, decisions);

            // Another graph to learn from is another model.
            assert_ne!(
                trained(&made(&folds[0].train[..1]), &folds).0.model.features,
                expected.model.features
            );
        }
    }

    #[test]
    fn folds_that_are_known_are_not_judged_again() {
        let options = BenchmarkOptions { graphs_per_class: 12, ..BenchmarkOptions::named("b-easy").unwrap() };
        let dataset = generate(&options).unwrap();
        let pyramid = Pyramid::default();
        let subject = |units: usize| {
            let config = ModelConfig { units: units.into(), ..ModelConfig::preset(Preset::Accurate) };
            Subject::Model("accurate".into(), Box::new(config))
        };
        let (five, six) = (subject(5), subject(6));
        let evaluation = |subject| {
            let mut evaluation = Evaluation::new(&dataset, subject, unsearched(3, 2), None).unwrap();
            evaluation.prepare(&pyramid).unwrap();
            evaluation
        };
        let folder = tempfile::tempdir().unwrap();
        let run = Run { folder: Some(folder.path().to_owned()), ..Run::default() };
        let results = |found: Option<Vec<TimedFold>>| -> Vec<FoldResult> {
            found.unwrap().into_iter().map(|(result, _)| result).collect()
        };
        let whole = results(evaluation(&five).judge(&Run::default(), &[], true, going).unwrap());
        // Ended in the second fold.
        let stopping = |progress: Progress| match progress.done {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        assert!(evaluation(&five).judge(&run, &[], true, stopping).is_err());
        let known = || Run::read(folder.path()).unwrap().cells.remove(evaluation(&five).key()).unwrap();
        assert_eq!(known().folds.len(), 1);
        let mut steps = Vec::new();
        let counting = |progress: Progress| {
            steps.push(progress.done);
            ControlFlow::Continue(())
        };
        let found = evaluation(&five).judge(&run, &[], true, counting).unwrap().unwrap();
        assert!(found.iter().all(|(_, times)| times.is_some()));
        assert_eq!(results(Some(found)), whole);
        assert_eq!(steps, [2, 3, 4, 5, 6]);
        assert!(known().is_done());
        let refusal = evaluation(&six).judge(&run, &[], true, going).unwrap_err().to_string();
        assert!(refusal.contains("started with units = 5, not 6; use"), "{refusal}");
    }

    #[test]
    fn a_search_reads_vectors_as_the_model_does() {
        let options = BenchmarkOptions { graphs_per_class: 15, ..BenchmarkOptions::named("b-easy").unwrap() };
        let dataset = generate(&options).unwrap();
        let scores = |change: fn(&mut ModelConfig)| {
            let mut config = ModelConfig { units: 5.into(), ..ModelConfig::default() };
            change(&mut config);
            let subject = Subject::Model("reservoir".into(), Box::new(config));
            let protocol = Protocol { configurations: 2, ..unsearched(3, 1) };
            let mut evaluation = Evaluation::new(&dataset, &subject, protocol, None).unwrap();
            evaluation.prepare(Pyramid::default()).unwrap();
            let units = evaluation.search(&Run::default(), |_, _| ControlFlow::Continue(())).unwrap();
            assert!(evaluation.judge(&Run::default(), &units, false, going).unwrap().is_some());
            units
        };
        let plain = scores(|_| {});
        assert_eq!(plain[0].validation[0].len(), 5, "a score for every penalty");
        let weights =
            |config: &mut ModelConfig| config.class_weight = ClassWeight::Given(vec![1.0, 5.0, 0.1]);
        assert_ne!(scores(weights), plain);
        assert_ne!(scores(|config| config.standardize = true), plain);
        let kernel = scores(|config| config.landmarks = 20);
        assert_eq!(kernel[0].validation[0].len(), 1, "its own penalty");
    }

    /// What the committed records of the paper's tables were made with.
    #[test]
    fn fingerprints_of_committed_records_stay_valid() {
        let dataset = generate(&BenchmarkOptions::named("b-easy").unwrap()).unwrap();
        let subject = Subject::Model("reservoir".into(), Box::default());
        let evaluation = Evaluation::new(&dataset, &subject, Protocol::default(), None).unwrap();
        let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
        let known = Run::read(&results).unwrap();
        let committed = &known.cells[evaluation.key()].fingerprint.checksum;
        assert_eq!(&evaluation.fingerprint.checksum, committed);
    }
}
