use std::ops::ControlFlow;

use ndarray::Array2;
use stepwell::config::{Choose, ModelConfig, Pool, Preset};
use stepwell::graph::{Attributes, BatchBuilder, EdgeList, GraphBatch};
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

/// A benchmark whose vertices carry random attributes; the `replaced` graphs come from `other`.
fn carrying(dataset: &Dataset, other: &Dataset, replaced: &[usize]) -> Dataset {
    let mut graphs = GraphBatch::default();
    let mut stream = Stream::new(1, "evaluate test", [0, 0]);
    for graph in 0..dataset.len() {
        let is_replaced = replaced.contains(&graph);
        let alone = if is_replaced { other } else { dataset }.graphs.select(&[graph]).bare();
        // Drawn for every graph, so that the graphs not replaced stay the same.
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

        // Different labels for the test graphs.
        let mut relabelled = whole.clone();
        let Targets::Classes(Labels::Int(classes)) = &mut relabelled.targets else { unreachable!() };
        folds[0].test.iter().for_each(|&graph| classes[graph] = (classes[graph] + 1) % 3);
        assert_eq!(trained(&relabelled, &folds), (expected.clone(), decisions.clone()));

        // Different test graphs: the model stays the same, its predictions do not.
        let (found, said) = trained(&made(&folds[0].test), &folds);
        assert_eq!(found, expected);
        assert_ne!(said, decisions);

        // A different training graph gives a different model.
        assert_ne!(trained(&made(&folds[0].train[..1]), &folds).0.model.features, expected.model.features);
    }
}

/// Rings with chords: two classes that differ in the number of chords that close a triangle. Vertex
/// labels carry no information.
fn chords(count: u64) -> Dataset {
    let (mut builder, mut classes) = (BatchBuilder::default(), Vec::new());
    for graph in 0..count {
        let mut stream = Stream::new(graph, "leakage test", [0, 0]);
        let n = 12 + (stream.bits() % 8) as u32;
        let (mut from, mut to): (Vec<u32>, Vec<u32>) = (0..n).map(|v| (v, (v + 1) % n)).unzip();
        for _ in 0..3 {
            let v = (stream.bits() % u64::from(n)) as u32;
            from.push(v);
            to.push((v + if graph % 2 == 0 { 2 } else { 4 }) % n);
        }
        let labels: Vec<i32> = (0..n).map(|_| (stream.bits() % 3) as i32).collect();
        let edges = EdgeList::new(n as usize, &from, &to);
        builder.push(&EdgeList { vertex_labels: Some((&labels, 1)), ..edges }).unwrap();
        classes.push((graph % 2) as i64);
    }
    Dataset { graphs: builder.finish(), targets: Targets::integers(classes), ..Dataset::default() }
}

#[test]
fn options_are_chosen_without_the_graphs_it_is_judged_by() {
    let dataset = chords(200);
    let config = ModelConfig {
        units: 8.into(),
        landmarks: 60,
        choose: vec![Choose::Structure],
        ..ModelConfig::preset(Preset::Accurate)
    };
    let subject = Subject::Model("accurate".into(), Box::new(config.clone()));
    let fold = Fold { train: (0..100).collect(), validation: Vec::new(), test: (100..200).collect() };
    let judged = |dataset: &Dataset| {
        let folds = Some(vec![fold.clone()]);
        let mut evaluation = Evaluation::new(dataset, &subject, unsearched(1, 1), folds).unwrap();
        evaluation.prepare(Pyramid::default()).unwrap();
        let (result, ..) = evaluation.judge_fold(0, None, false, |_| ControlFlow::Continue(())).unwrap();
        (result.config.unwrap(), result.alpha, result.quality)
    };
    let (chosen, alpha, quality) = judged(&dataset);
    assert!(chosen.choose.is_empty());
    assert_ne!(chosen.structure, config.structure, "what helps is chosen");
    // All test graphs are of the other class: over all graphs, no option explains anything.
    let mut relabelled = dataset.clone();
    let Targets::Classes(Labels::Int(classes)) = &mut relabelled.targets else { unreachable!() };
    fold.test.iter().for_each(|&graph| classes[graph] = 1 - classes[graph]);
    let (found, same, worse) = judged(&relabelled);
    assert_eq!((found, same), (chosen.clone(), alpha));
    assert_ne!(worse, quality);
    // The same change in the training graphs changes the choice.
    let mut relabelled = dataset.clone();
    let Targets::Classes(Labels::Int(classes)) = &mut relabelled.targets else { unreachable!() };
    fold.train[..50].iter().for_each(|&graph| classes[graph] = 1 - classes[graph]);
    assert_eq!(judged(&relabelled).0.structure, config.structure);
    // A search records models with nothing left to choose.
    assert!(Protocol { configurations: 3, ..Protocol::default() }.configure(&config, 1, 0).choose.is_empty());
}

#[test]
fn a_target_that_no_training_graph_has_leaves_the_others() {
    let mut dataset = chords(120);
    let (fold, nan) =
        (Fold { train: (0..80).collect(), validation: Vec::new(), test: (80..120).collect() }, f64::NAN);
    let class = |graph: usize| (graph % 2) as f64;
    for (binary, searched) in [(true, false), (false, false), (true, true)] {
        let y = Array2::from_shape_fn((120, 3), |(graph, target)| match target {
            1 if graph < 80 => nan,
            _ => class(graph) + if binary { 0.0 } else { 0.1 * graph as f64 },
        });
        dataset.targets = if binary { Targets::Binary(y) } else { Targets::Numbers(y) };
        let config = ModelConfig { units: 5.into(), ..ModelConfig::preset(Preset::Accurate) };
        let config = if searched { ModelConfig { landmarks: 0, ..config } } else { config };
        let subject = Subject::Model("accurate".into(), Box::new(config));
        let folds = vec![if searched {
            Fold { validation: (60..80).collect(), train: (0..60).collect(), ..fold.clone() }
        } else {
            fold.clone()
        }];
        let protocol = Protocol { configurations: usize::from(searched), ..unsearched(1, 1) };
        let mut evaluation = Evaluation::new(&dataset, &subject, protocol, Some(folds)).unwrap();
        evaluation.prepare(Pyramid::default()).unwrap();
        let units = evaluation.search(&Run::default(), |_, _| ControlFlow::Continue(())).unwrap();
        let found = evaluation.judge(&Run::default(), &units, false, going).unwrap().unwrap();
        let quality = &found[0].0.quality;
        assert!(quality.per_target[1].is_empty(), "{quality:?}");
        assert!(!quality.per_target[0].is_empty() && !quality.per_target[2].is_empty());
        let metric = if binary { Metric::RocAuc } else { Metric::Rmse };
        let (first, last) =
            (quality.per_target[0].get(metric).unwrap(), quality.per_target[2].get(metric).unwrap());
        assert!((quality.get(metric).unwrap() - (first + last) / 2.0).abs() < 1e-12);
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
    // Interrupted in the second fold.
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

/// The fingerprints of the committed records of the paper's tables.
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
