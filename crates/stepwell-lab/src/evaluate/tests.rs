use std::ops::ControlFlow;

use ndarray::Array2;
use stepwell::config::{ModelConfig, Pool, Preset};
use stepwell::graph::{Attributes, GraphBatch};
use stepwell::model::TrainedModel;
use stepwell::rng::Stream;
use stepwell::targets::{Labels, Targets};
use stepwell_data::synthetic::{BenchmarkOptions, generate};

use super::*;
use crate::protocol::UnitKey;
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
    let pyramid = pooling.coarsen(&dataset.graphs, model.levels(), |_| ControlFlow::Continue(())).unwrap();
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
        assert_ne!(trained(&made(&folds[0].train[..1]), &folds).0.model.features, expected.model.features);
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
    let weights = |config: &mut ModelConfig| config.class_weight = ClassWeight::Given(vec![1.0, 5.0, 0.1]);
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
