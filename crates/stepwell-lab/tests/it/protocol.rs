//! Compares the protocol with a naive loop that repeats all work, and tests runs that are shared or
//! interrupted.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use stepwell::config::{Metric, ModelConfig, Pool};
use stepwell::model::Model;
use stepwell::pyramid::Pyramid;
use stepwell::readout::{Alpha, Readout, Sample};
use stepwell::targets::{Encoded, decode_classes};
use stepwell_data::Dataset;
use stepwell_data::synthetic::{BenchmarkOptions, generate};
use stepwell_lab::evaluate::Evaluation;
use stepwell_lab::protocol::{Protocol, Unit};
use stepwell_lab::run::{FoldResult, Run};
use stepwell_lab::splits::stratified;
use stepwell_lab::subject::Subject;

fn dataset() -> Dataset {
    let options = BenchmarkOptions::named("b-hard-small").unwrap();
    let all = generate(&options).unwrap();
    all.select(&(0..all.len()).step_by(4).collect::<Vec<_>>())
}

fn protocol() -> Protocol {
    Protocol {
        folds: 3,
        held_out: 0.25,
        configurations: 4,
        initialisations: 2,
        seed: 5,
        ..Default::default()
    }
}

fn config(pool: Pool) -> ModelConfig {
    ModelConfig { pool, units: 10.into(), max_iter: 200, ..Default::default() }
}

fn pyramid(dataset: &Dataset, config: &ModelConfig) -> Pyramid {
    let going = |_| ControlFlow::Continue(());
    config
        .pooling()
        .map_or(Pyramid::default(), |p| p.coarsen(&dataset.graphs, config.levels(), going).unwrap())
}

fn subject(config: &ModelConfig) -> Subject {
    Subject::Model("reservoir".into(), Box::new(config.clone()))
}

fn evaluation<'a>(dataset: &'a Dataset, subject: &'a Subject) -> Evaluation<'a> {
    let Subject::Model(_, config) = subject else { unreachable!("a model") };
    let mut evaluation = Evaluation::new(dataset, subject, protocol(), None).unwrap();
    evaluation.prepare(pyramid(dataset, config)).unwrap();
    evaluation
}

fn judge(evaluation: &Evaluation<'_>, run: &Run, units: &[Unit]) -> stepwell_lab::Result<Vec<FoldResult>> {
    let judged = evaluation.judge(run, units, false, |_| ControlFlow::Continue(()))?;
    Ok(judged.unwrap().into_iter().map(|(result, _)| result).collect())
}

/// The paper's description as a nested loop.
fn naive(dataset: &Dataset, config: &ModelConfig) -> Vec<f64> {
    let protocol = protocol();
    let (classes, _) = dataset.targets.classes().unwrap();
    let right = |seeded: &ModelConfig, alpha: f64, learnt: &[usize], judged: &[usize]| {
        let seeded = ModelConfig { alpha: Alpha::Fixed(alpha), ..seeded.clone() };
        let model = Model::fit(seeded.clone(), &dataset.graphs).unwrap();
        let embed = |graphs: &[usize]| {
            let batch = dataset.graphs.select(graphs);
            model.embed(&batch, |_| ControlFlow::Continue(())).unwrap().vectors
        };
        let of = |graphs: &[usize]| graphs.iter().map(|&graph| classes[graph]).collect::<Vec<_>>();
        let rows = embed(learnt);
        let targets = Encoded::new(&dataset.targets.select(learnt)).unwrap();
        let readout = Readout::fit(rows.view(), &targets, Sample::default(), &seeded.readout(), 0).unwrap();
        let found = decode_classes(readout.predict(embed(judged).view()).unwrap().view());
        found.iter().zip(of(judged)).filter(|(found, is)| **found == *is).count() as f64
    };
    let folds = stratified(&classes, protocol.folds, protocol.held_out, protocol.seed).unwrap();
    folds
        .iter()
        .map(|fold| {
            let mut best: Option<(f64, usize, f64)> = None;
            for configuration in 0..protocol.configurations {
                for &alpha in &protocol.alphas {
                    let mean = (0..protocol.initialisations)
                        .map(|draw| {
                            let seeded = protocol.configure(config, configuration, draw);
                            right(&seeded, alpha, &fold.train, &fold.validation)
                        })
                        .sum::<f64>()
                        / protocol.initialisations as f64;
                    if best.is_none_or(|(most, ..)| mean > most) {
                        best = Some((mean, configuration, alpha));
                    }
                }
            }
            let (_, configuration, alpha) = best.unwrap();
            let sum: f64 = (0..protocol.initialisations)
                .map(|draw| {
                    let seeded = protocol.configure(config, configuration, draw);
                    right(&seeded, alpha, &fold.learnt(), &fold.test)
                })
                .sum();
            sum / protocol.initialisations as f64 / fold.test.len() as f64
        })
        .collect()
}

#[test]
fn one_pass_for_all_folds_equals_the_nested_loop() {
    let dataset = dataset();
    for pool in [Pool::None, Pool::Ndp] {
        let config = config(pool);
        let subject = subject(&config);
        let evaluation = evaluation(&dataset, &subject);
        let run = Run::default();
        let units = evaluation.search(&run, |_, _| ControlFlow::Continue(())).unwrap();
        let found = judge(&evaluation, &run, &units).unwrap();
        let found: Vec<f64> = found.iter().map(|fold| fold.quality.get(Metric::Accuracy).unwrap()).collect();
        let expected = naive(&dataset, &config);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert_eq!(found.len(), expected.len());
    }
}

/// All lines of a run except the times.
fn lines(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder.join("records")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("times"));
    files
        .flat_map(|path| fs::read_to_string(path).unwrap().lines().map(String::from).collect::<Vec<_>>())
        .collect()
}

#[test]
fn shared_and_ended_runs_leave_the_same_records() {
    let dataset = dataset();
    let subject = subject(&config(Pool::Graclus));
    let evaluation = evaluation(&dataset, &subject);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let complete = |run: &Run| {
        let units = evaluation.search(run, |_, _| ControlFlow::Continue(()))?;
        judge(&evaluation, run, &units)
    };
    let whole = Run { folder: Some(at("whole")), ..Run::default() };
    let results = complete(&whole).unwrap();

    for shard in 0..3 {
        let run = Run { folder: Some(at("shared")), shard: (shard, 3), ..Run::default() };
        evaluation.search(&run, |_, _| ControlFlow::Continue(())).unwrap();
    }
    complete(&Run { folder: Some(at("shared")), ..Run::default() }).unwrap();
    assert_eq!(lines(&at("shared")), lines(&at("whole")));

    // Interrupted before every unit, and once in the middle of a line.
    let run = Run { folder: Some(at("ended")), ..Run::default() };
    for round in 0..20 {
        let mut left = 1;
        let end_soon = |_, _: &_| {
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let ended = evaluation.search(&run, end_soon);
        if round == 2 {
            let path = at("ended").join("records/run.jsonl");
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, &text[..text.len() - 30]).unwrap();
        }
        if ended.is_ok() {
            break;
        }
    }
    let again = complete(&run).unwrap();
    assert_eq!(lines(&at("ended")), lines(&at("whole")));
    assert_eq!(again, results);
}

#[test]
fn a_run_with_other_options_is_refused() {
    let dataset = dataset();
    let folder = tempfile::tempdir().unwrap();
    let run = Run { folder: Some(folder.path().to_owned()), ..Run::default() };
    let going = |_, _: &_| ControlFlow::Continue(());
    let one = subject(&config(Pool::None));
    evaluation(&dataset, &one).search(&run, going).unwrap();
    let other = subject(&ModelConfig { units: 11.into(), ..config(Pool::None) });
    let error = evaluation(&dataset, &other).search(&run, going).unwrap_err().to_string();
    assert!(error.contains("L=2 seed 5: this run was started with units = 10, not 11; use"), "{error}");
    let fewer = dataset.select(&(0..dataset.len() - 1).collect::<Vec<_>>());
    let error = evaluation(&fewer, &one).search(&run, going).unwrap_err().to_string();
    assert!(error.contains("started with another dataset or other folds; use"), "{error}");
}
