//! A model with nothing left to choose, trained in every fold the way it would
//! be on data of one's own.
//!
//! What a fold's model knows comes from the graphs it is trained on: the map to
//! the inputs, the scales, landmarks and penalty of its readout. Of the graphs it
//! is judged by it has seen nothing.

use std::ops::ControlFlow;
use std::time::Instant;

use ndarray::Array2;
use serde_json::json;
use stepwell::config::ModelConfig;
use stepwell::features::FeatureMap;
use stepwell::model::{Model, TrainedModel};
use stepwell::pyramid::Pyramid;
use stepwell::reservoir::Prepared;
use stepwell::targets::Encoded;
use stepwell_data::Dataset;

use crate::basis::Basis;
use crate::error::Result;
use crate::evaluate::{Progress, on_one_thread};
use crate::outcome::{FoldOutcome, Quality, Times};
use crate::protocol::Protocol;
use crate::run::{CellKey, Record, Run, Sweeps};
use crate::splits::Fold;
use crate::targets;

/// A model on a dataset, as it is.
pub struct Fixed<'a> {
    dataset: &'a Dataset,
    pyramid: &'a Pyramid,
    model: ModelConfig,
    key: CellKey,
    protocol: Protocol,
    targets: Encoded,
    folds: Vec<Fold>,
    basis: Basis,
}

impl<'a> Fixed<'a> {
    /// Takes a dataset with its pyramid. Folds are drawn from the protocol's
    /// seed, unless given; of the rest of the protocol, the number of
    /// initialisations counts, and who is judged by.
    pub fn new(
        dataset: &'a Dataset,
        pyramid: &'a Pyramid,
        model: ModelConfig,
        protocol: Protocol,
        folds: Option<Vec<Fold>>,
    ) -> Result<Self> {
        let targets = targets::of(dataset)?;
        let folds = protocol.split(&targets, folds)?;
        let key = CellKey::of_fixed(&dataset.name, &model, protocol.seed);
        let (inits, seed, early) = (protocol.initialisations, protocol.seed, protocol.on_validation);
        let counts = json!({ "initialisations": inits, "seed": seed, "on_validation": early });
        let basis = Basis::new(dataset, &model, &folds, (&model, counts));
        Ok(Self { dataset, pyramid, model, key, protocol, targets, folds, basis })
    }

    /// Which cell this is.
    pub fn key(&self) -> &CellKey {
        &self.key
    }

    /// Judges the model in every fold that no earlier run has judged it in. The
    /// first initialisation of each runs on one thread, for the clock.
    pub fn judge(
        &self,
        run: &Run,
        mut progress: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<(FoldOutcome, Option<Times>)>> {
        let known = run.state(&self.key, &self.basis)?;
        let (inits, units) =
            (self.protocol.initialisations, self.folds.len() * self.protocol.initialisations);
        let mut journals = None;
        let mut found = Vec::new();
        for fold in 0..self.folds.len() {
            if let Some(outcome) = known.folds.get(&fold) {
                found.push((outcome.clone(), known.times.get(&(Sweeps::Own, fold)).copied()));
                continue;
            }
            let step = |initialisation| progress(Progress { done: fold * inits + initialisation, units });
            let (outcome, times) = self.judge_fold(fold, step)?;
            if journals.is_none() {
                let mut journal = run.journal()?;
                if let Some(journal) = journal.as_mut().filter(|_| known.basis.is_new()) {
                    let (cell, basis) = (self.key.clone(), self.basis.clone());
                    journal.write(&Record::Cell { cell, basis, units: self.folds.len() })?;
                }
                journals = journal.zip(run.clock_journal()?);
            }
            if let Some((journal, clock)) = &mut journals {
                let cell = self.key.clone();
                clock.write(&Record::Time { cell: cell.clone(), fold, sweeps: Sweeps::Own, times })?;
                journal.write(&Record::Fold { cell, fold, outcome: Box::new(outcome.clone()) })?;
            }
            found.push((outcome, Some(times)));
        }
        let _ = progress(Progress { done: units, units });
        Ok(found)
    }

    fn judge_fold(
        &self,
        fold: usize,
        mut progress: impl FnMut(usize) -> ControlFlow<()>,
    ) -> Result<(FoldOutcome, Times)> {
        let (learnt, judged) = self.parts(fold);
        let ready = self.ready(&learnt)?;
        let (mut first, mut qualities) = (None, Vec::new());
        for initialisation in 0..self.protocol.initialisations {
            if progress(initialisation).is_break() {
                return Err(stepwell::Error::Cancelled.into());
            }
            let once = || self.once(&ready, &learnt, &judged, initialisation);
            let (trained, decisions, times) = if first.is_none() { on_one_thread(once)? } else { once()? };
            first.get_or_insert((trained.readout.alpha(), times));
            qualities.push(Quality::of(&self.targets, &judged, &decisions));
        }
        let (alpha, times) = first.unwrap_or_default();
        let config = Some(self.protocol.configure(&self.model, 0, 0));
        let quality = Quality::mean(&qualities);
        Ok((FoldOutcome { config, alpha, quality, ..FoldOutcome::default() }, times))
    }

    /// The graphs a fold's model is trained on, and those it is judged by.
    fn parts(&self, fold: usize) -> (Vec<usize>, Vec<usize>) {
        let fold = &self.folds[fold];
        let (mut learnt, mut judged) = match self.protocol.on_validation {
            true => (fold.train.clone(), fold.validation.clone()),
            false => (fold.learnt(), fold.test.clone()),
        };
        learnt.sort_unstable();
        judged.sort_unstable();
        (learnt, judged)
    }

    /// All graphs with the inputs that those learnt from give them.
    fn ready(&self, learnt: &[usize]) -> Result<Ready> {
        let graphs = &self.dataset.graphs;
        let options = self.model.features();
        let features = FeatureMap::fit(&graphs.select(learnt), &options)?;
        let prepared = Prepared::with_pyramid(graphs, &features.apply(graphs)?, self.pyramid, &self.model)?;
        Ok(Ready { features, prepared })
    }

    /// Trains on some graphs, and says what becomes of others, and how long it took.
    fn once(
        &self,
        ready: &Ready,
        learnt: &[usize],
        judged: &[usize],
        initialisation: usize,
    ) -> Result<(TrainedModel, Array2<f64>, Times)> {
        let model =
            Model::new(self.protocol.configure(&self.model, 0, initialisation), ready.features.clone())?;
        let vectors = |model: &Model, graphs: &[usize]| {
            model.embed_prepared(&ready.prepared, Some(graphs), |_| ControlFlow::Continue(()))
        };
        let clock = Instant::now();
        let rows = vectors(&model, learnt)?.vectors;
        let classes = self.targets.classes().clone();
        let known = Encoded::with_classes(&self.dataset.targets.select(learnt), classes)?;
        let trained = TrainedModel::fit_encoded(model, rows.view(), &known, None)?;
        let train_seconds = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let decisions = trained.readout.predict(vectors(&trained.model, judged)?.vectors.view())?;
        let test_seconds = clock.elapsed().as_secs_f64();
        Ok((trained, decisions, Times { train_seconds, test_seconds }))
    }
}

/// What the initialisations of a fold have in common.
struct Ready {
    features: FeatureMap,
    prepared: Prepared,
}

#[cfg(test)]
mod tests {
    use stepwell::config::{Pool, Preset};
    use stepwell::graph::{Attributes, GraphBatch};
    use stepwell::rng::Stream;
    use stepwell::targets::{Labels, Targets};
    use stepwell_data::synthetic::{BenchmarkOptions, generate};

    use super::*;
    use crate::splits;

    /// The model of one fold of a small benchmark, and what it says of all graphs.
    fn trained(dataset: &Dataset, folds: &[Fold]) -> (TrainedModel, Array2<f64>) {
        let model = ModelConfig {
            units: 8.into(),
            pool: Pool::Graclus,
            landmarks: 30,
            ..ModelConfig::preset(Preset::Accurate)
        };
        let pyramid = model.pooling().unwrap();
        let pyramid =
            pyramid.coarsen(&dataset.graphs, model.levels(), |_| ControlFlow::Continue(())).unwrap();
        let fixed = Fixed::new(dataset, &pyramid, model, Protocol::default(), Some(folds.to_vec())).unwrap();
        let (learnt, judged) = fixed.parts(0);
        let ready = fixed.ready(&learnt).unwrap();
        let (trained, decisions, _) = fixed.once(&ready, &learnt, &judged, 1).unwrap();
        (trained, decisions)
    }

    /// A benchmark whose vertices carry numbers, of one kind of graph or another.
    fn carrying(dataset: &Dataset, other: &Dataset, replaced: &[usize]) -> Dataset {
        let mut graphs = GraphBatch::default();
        let mut stream = Stream::new(1, "fixed test", [0, 0]);
        for graph in 0..dataset.len() {
            let is_replaced = replaced.contains(&graph);
            let alone = if is_replaced { other } else { dataset }.graphs.select(&[graph]).bare();
            // Drawn for every graph, so that those that stay are the same.
            let drawn: Vec<f64> = (0..2 * 1000).map(|_| stream.normal()).collect();
            let shift = if is_replaced { 100.0 } else { 3.0 };
            let values = drawn.iter().take(2 * alone.num_vertices()).map(|value| value + shift).collect();
            graphs.append(&alone.with_vertex_attributes(Attributes { width: 2, values }).unwrap()).unwrap();
        }
        Dataset { graphs, ..dataset.clone() }
    }

    #[test]
    fn nothing_is_learnt_from_the_graphs_it_is_judged_by() {
        let options = BenchmarkOptions { graphs_per_class: 20, ..BenchmarkOptions::named("b-hard").unwrap() };
        let dataset = generate(&options).unwrap();
        let other = generate(&BenchmarkOptions { seed: 9, ..options }).unwrap();
        let folds = splits::stratified(&targets::strata(&targets::of(&dataset).unwrap()), 4, 0.2, 3).unwrap();
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
        let model = ModelConfig { units: 5.into(), ..ModelConfig::preset(Preset::Accurate) };
        let protocol = Protocol { folds: 3, initialisations: 2, ..Protocol::default() };
        let pyramid = Pyramid::default();
        let fixed = |model: &ModelConfig| {
            Fixed::new(&dataset, &pyramid, model.clone(), protocol.clone(), None).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let run = Run { folder: Some(folder.path().to_owned()), ..Run::default() };
        let going = |_| ControlFlow::Continue(());
        let outcomes = |found: Vec<(FoldOutcome, Option<Times>)>| -> Vec<FoldOutcome> {
            found.into_iter().map(|(outcome, _)| outcome).collect()
        };
        let whole = outcomes(fixed(&model).judge(&Run::default(), going).unwrap());
        // Ended in the second fold.
        let stopping = |progress: Progress| match progress.done {
            3 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        assert!(fixed(&model).judge(&run, stopping).is_err());
        assert_eq!(Run::read(folder.path()).unwrap().cells[fixed(&model).key()].folds.len(), 1);
        let mut steps = Vec::new();
        let counting = |progress: Progress| {
            steps.push(progress.done);
            ControlFlow::Continue(())
        };
        let found = fixed(&model).judge(&run, counting).unwrap();
        assert!(found.iter().all(|(_, times)| times.is_some()));
        assert_eq!(outcomes(found), whole);
        assert_eq!(steps, [2, 3, 4, 5, 6]);
        assert!(Run::read(folder.path()).unwrap().cells[fixed(&model).key()].is_done());
        let other = ModelConfig { units: 6.into(), ..model };
        let refusal = fixed(&other).judge(&run, going).unwrap_err().to_string();
        assert!(refusal.contains(": units (5, now 6); give"), "{refusal}");
    }
}
