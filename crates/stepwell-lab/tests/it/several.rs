//! Several targets, some of them unknown, and groups of graphs: through folds, searches,
//! baselines, records and pages.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use ndarray::Array2;
use stepwell::config::{Metric, ModelConfig, Pool, Preset};
use stepwell::pyramid::Pyramid;
use stepwell::readout::ClassWeight;
use stepwell::targets::Targets;
use stepwell_data::Dataset;
use stepwell_data::synthetic::{BenchmarkOptions, generate};
use stepwell_lab::baselines::Baseline;
use stepwell_lab::evaluate::Evaluation;
use stepwell_lab::metrics::Values;
use stepwell_lab::protocol::Protocol;
use stepwell_lab::report::{Provenance, evaluation};
use stepwell_lab::run::{FoldResult, Run};
use stepwell_lab::splits::Fold;
use stepwell_lab::subject::Subject;

/// The benchmark with three targets that follow from class and structure; a quarter of their values
/// is unknown.
fn dataset(is_binary: bool) -> Dataset {
    let options =
        BenchmarkOptions { graphs_per_class: 24, ..BenchmarkOptions::named("b-easy-small").unwrap() };
    let all = generate(&options).unwrap();
    let (classes, _) = all.targets.classes().unwrap();
    let vertices: Vec<f64> =
        (0..all.len()).map(|graph| all.graphs.graph(graph).num_vertices() as f64).collect();
    let mut sorted = vertices.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    let values = Array2::from_shape_fn((all.len(), 3), |(graph, target)| {
        let is = |what: bool| f64::from(u8::from(what));
        match ((5 * graph + target) % 4, target) {
            (0, _) => f64::NAN,
            (_, 0) => is(classes[graph] == 0),
            (_, 1) => is(vertices[graph] > middle),
            _ => is(classes[graph] == 2),
        }
    });
    let targets = if is_binary {
        Targets::Binary(values)
    } else {
        let size = Array2::from_shape_fn(values.dim(), |(graph, target)| {
            values[(graph, target)] + vertices[graph] / middle
        });
        Targets::Numbers(size)
    };
    let target_names = ["first", "large", "third <b>"].map(str::to_owned).to_vec();
    Dataset { targets, target_names, parts: None, ..all }
}

fn protocol(configurations: usize) -> Protocol {
    Protocol { folds: 3, held_out: 0.25, configurations, initialisations: 2, ..Protocol::default() }
}

fn model(change: impl Fn(&mut ModelConfig)) -> Subject {
    let mut config = ModelConfig { units: 8.into(), pool: Pool::None, ..ModelConfig::preset(Preset::Paper) };
    change(&mut config);
    Subject::Model("small".into(), Box::new(config))
}

fn judged(
    dataset: &Dataset,
    subject: &Subject,
    protocol: Protocol,
    run: &Run,
    folds: Option<Vec<Fold>>,
) -> stepwell_lab::Result<Vec<FoldResult>> {
    let mut evaluation = Evaluation::new(dataset, subject, protocol, folds)?;
    evaluation.prepare(Pyramid::default())?;
    let units = evaluation.search(run, |_, _| ControlFlow::Continue(()))?;
    let found = evaluation.judge(run, &units, false, |_| ControlFlow::Continue(()))?;
    Ok(found.unwrap().into_iter().map(|(result, _)| result).collect())
}

fn evaluate(dataset: &Dataset, subject: &Subject, configurations: usize) -> Vec<FoldResult> {
    judged(dataset, subject, protocol(configurations), &Run::default(), None).unwrap()
}

fn mean(folds: &[FoldResult], metric: Metric) -> f64 {
    folds.iter().map(|fold| fold.quality.get(metric).unwrap()).sum::<f64>() / folds.len() as f64
}

#[test]
fn binary_targets_with_gaps_are_learnt() {
    let dataset = dataset(true);
    let found = evaluate(&dataset, &model(|_| {}), 0);
    assert!(mean(&found, Metric::RocAuc) > 0.75, "{}", mean(&found, Metric::RocAuc));
    for fold in &found {
        assert_eq!(fold.quality.per_target.len(), 3);
        let areas: Vec<f64> =
            fold.quality.per_target.iter().map(|values| values.get(Metric::RocAuc).unwrap()).collect();
        let area = fold.quality.get(Metric::RocAuc).unwrap();
        assert!((areas.iter().sum::<f64>() / 3.0 - area).abs() < 1e-12);
        assert!(fold.quality.get(Metric::LogLoss).is_some() && fold.quality.get(Metric::Brier).is_some());
        assert!(fold.std.get(Metric::RocAuc).is_some(), "there are two draws");
    }
    for subject in [
        Subject::Baseline(Baseline::Majority),
        Subject::Baseline(Baseline::Features),
        Subject::Baseline(Baseline::DegreeProfile),
        Subject::Baseline(Baseline::Subtrees),
    ] {
        let found = evaluate(&dataset, &subject, 0);
        assert!(found.iter().all(|fold| fold.quality.per_target.len() == 3), "{subject:?}");
        assert!(found.iter().all(|fold| fold.quality.get(Metric::LogLoss).is_none()), "{subject:?}");
        assert!(found.iter().all(|fold| fold.std.is_empty()), "one draw has no spread");
        let area = mean(&found, Metric::RocAuc);
        match subject {
            Subject::Baseline(Baseline::Majority) => assert_eq!(area, 0.5, "all have the same score"),
            _ => assert!((0.0..=1.0).contains(&area)),
        }
    }
}

#[test]
fn a_search_compares_by_the_headline() {
    let dataset = dataset(true);
    for metric in [Metric::Auto, Metric::AveragePrecision, Metric::LogLoss] {
        for class_weight in [ClassWeight::None, ClassWeight::Balanced] {
            let subject = model(|config| {
                config.metric = metric;
                config.class_weight = class_weight.clone();
            });
            let found = evaluate(&dataset, &subject, 3);
            for fold in &found {
                assert!((0.0..=1.0).contains(&fold.validation.unwrap()), "a mean of shares, not a count");
                assert_eq!(fold.quality.per_target.len(), 3);
            }
        }
    }
}

#[test]
fn a_searched_target_is_trained_on_its_own_rows() {
    // With one penalty, a target gives the same result alone or beside others known for other
    // graphs.
    let all = dataset(true);
    let Targets::Binary(values) = &all.targets else { unreachable!() };
    let subjects = [
        model(|_| {}),
        model(|config| config.class_weight = ClassWeight::Balanced),
        Subject::Baseline(Baseline::Subtrees),
    ];
    for subject in &subjects {
        let one = Protocol { alphas: vec![1.0], initialisations: 1, ..protocol(1) };
        // The configuration is the same either way: the only one, or the one that all scores tie
        // with.
        let folds = Evaluation::new(&all, subject, one.clone(), None).unwrap().folds().to_vec();
        let run = |dataset: &Dataset| {
            judged(dataset, subject, one.clone(), &Run::default(), Some(folds.clone())).unwrap()
        };
        let together = run(&all);
        for target in 0..3 {
            let column = values.column(target).to_owned().insert_axis(ndarray::Axis(1));
            let alone = Dataset { targets: Targets::Binary(column), target_names: Vec::new(), ..all.clone() };
            for (alone, together) in run(&alone).iter().zip(&together) {
                // A baseline has settings to choose from, and may choose differently.
                if alone.setting == together.setting {
                    let (found, expected): (&Values, &Values) =
                        (&together.quality.per_target[target], &alone.quality.values);
                    let area = |values: &Values| values.get(Metric::RocAuc).unwrap();
                    assert!((area(found) - area(expected)).abs() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn where_the_headline_has_no_value_accuracy_chooses() {
    let mut dataset = dataset(true);
    let Targets::Binary(values) = &mut dataset.targets else { unreachable!() };
    *values = values.slice(ndarray::s![.., ..1]).to_owned();
    dataset.target_names.truncate(1);
    let graphs = values.nrows();
    let (validation, test): (Vec<usize>, Vec<usize>) = (
        (0..graphs).filter(|graph| graph % 4 == 0).collect(),
        (0..graphs).filter(|graph| graph % 4 == 1).collect(),
    );
    validation.iter().for_each(|&graph| values[(graph, 0)] = 0.0);
    let train = (0..graphs).filter(|graph| graph % 4 > 1).collect();
    let fold = Fold { train, validation, test };
    let subject = model(|_| {});
    let evaluation = Evaluation::new(&dataset, &subject, protocol(2), Some(vec![fold.clone()])).unwrap();
    assert_eq!((evaluation.metric(), evaluation.folds_compared_otherwise()), (Metric::RocAuc, 1));
    let found = judged(&dataset, &subject, protocol(2), &Run::default(), Some(vec![fold])).unwrap();
    assert!((0.0..=1.0).contains(&found[0].validation.unwrap()));
}

#[test]
fn numbers_with_gaps_are_learnt() {
    let dataset = dataset(false);
    let of_means = mean(&evaluate(&dataset, &Subject::Baseline(Baseline::Majority), 0), Metric::R2);
    for configurations in [0, 2] {
        let found = evaluate(&dataset, &model(|_| {}), configurations);
        assert!(mean(&found, Metric::R2) > of_means + 0.1, "{} {of_means}", mean(&found, Metric::R2));
        assert!(found.iter().all(|fold| fold.quality.get(Metric::Accuracy).is_none()));
        assert!(
            found.iter().all(|fold| fold.validation.is_none_or(|score| score < 0.0)),
            "less error is better"
        );
    }
    let refused =
        judged(&dataset, &model(|config| config.metric = Metric::RocAuc), protocol(0), &Run::default(), None);
    assert!(refused.unwrap_err().to_string().contains("metric: expected one of rmse, mae, r2"));
}

#[test]
fn one_class_among_the_test_graphs_breaks_no_fold() {
    let mut dataset = dataset(true);
    let Targets::Binary(values) = &mut dataset.targets else { unreachable!() };
    let graphs = values.nrows();
    let test: Vec<usize> = (0..graphs).filter(|graph| graph % 3 == 0).collect();
    test.iter().for_each(|&graph| values[(graph, 1)] = 0.0);
    let fold =
        Fold { train: (0..graphs).filter(|graph| graph % 3 > 0).collect(), validation: Vec::new(), test };
    let found = judged(&dataset, &model(|_| {}), protocol(0), &Run::default(), Some(vec![fold])).unwrap();
    let [first, large, _] = &found[0].quality.per_target[..] else { unreachable!() };
    assert_eq!(large.get(Metric::RocAuc), None);
    assert!(large.get(Metric::Accuracy).is_some() && first.get(Metric::RocAuc).is_some());
    assert!(found[0].quality.get(Metric::RocAuc).is_some());
}

#[test]
fn groups_stay_together() {
    let mut dataset = dataset(true);
    let names: Vec<String> = (0..dataset.len()).map(|graph| format!("scaffold {}", graph / 3 % 11)).collect();
    dataset.groups = Some(names.clone());
    let subject = model(|_| {});
    let drawn = Evaluation::new(&dataset, &subject, protocol(2), None).unwrap();
    for fold in drawn.folds() {
        let of =
            |graphs: &[usize]| graphs.iter().map(|&graph| names[graph].as_str()).collect::<BTreeSet<_>>();
        let (train, validation, test) = (of(&fold.train), of(&fold.validation), of(&fold.test));
        assert!(!validation.is_empty());
        assert!(train.is_disjoint(&validation) && train.is_disjoint(&test) && validation.is_disjoint(&test));
    }
    let many = Protocol { folds: 12, ..protocol(0) };
    let refused = judged(&dataset, &subject, many, &Run::default(), None).unwrap_err().to_string();
    assert_eq!(refused, "splits: expected 2 to 11 folds for 11 groups, found 12");
}

#[test]
fn a_page_shows_what_was_said() {
    let pictures = |dataset: &Dataset, subject: &Subject| {
        let folder = tempfile::tempdir().unwrap();
        let run = Run { folder: Some(folder.path().to_owned()), keeps_predictions: true, ..Run::default() };
        let found = judged(dataset, subject, protocol(0), &run, None).unwrap();
        assert_eq!(judged(dataset, subject, protocol(0), &run, None).unwrap(), found, "read again");
        let known = Run::read(folder.path()).unwrap();
        let state = known.cells.values().next().unwrap();
        assert_eq!(state.folds.values().cloned().collect::<Vec<_>>(), found);
        assert_eq!(state.predictions.len(), 3);
        let tested: usize = state.predictions.values().map(|said| said.tested).sum();
        assert_eq!(tested, dataset.len());
        let page = evaluation(&known, &Provenance::default());
        super::report::check_html(&page);
        assert!(page.len() < 600_000, "{}", page.len());
        page
    };
    let page = pictures(&dataset(true), &model(|_| {}));
    for part in
        [">ROC</h3>", ">Precision and recall</h3>", ">Calibration</h3>", "ROC-AUC (%)", "third &lt;b&gt;"]
    {
        assert!(page.contains(part), "{part}");
    }
    let page = pictures(&dataset(false), &model(|_| {}));
    assert!(page.contains(">first</h3>") && page.contains("RMSE") && !page.contains(">ROC</h3>"));
    let classes = Dataset {
        targets: generate(&BenchmarkOptions {
            graphs_per_class: 24,
            ..BenchmarkOptions::named("b-easy-small").unwrap()
        })
        .unwrap()
        .targets,
        target_names: Vec::new(),
        ..dataset(true)
    };
    let page = pictures(&classes, &model(|_| {}));
    assert!(page.contains(">Confusion</h3>") && page.contains(">Calibration</h3>"));
    // A baseline alone; it has no probabilities.
    let page = pictures(&dataset(true), &Subject::Baseline(Baseline::Features));
    assert!(page.contains(">ROC</h3>") && !page.contains(">Calibration</h3>"));
}

#[test]
fn records_of_earlier_versions_are_read() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    let known = Run::read(&results).unwrap();
    assert!(!known.cells.is_empty());
    for (key, state) in &known.cells {
        assert_eq!(state.headline(), Metric::Accuracy, "{key}");
        for fold in state.folds.values() {
            assert!(fold.quality.get(Metric::Accuracy).is_some() && fold.std.is_empty(), "{key}");
            assert!(fold.quality.get(Metric::BalancedAccuracy).is_some(), "{key}");
        }
    }
}
