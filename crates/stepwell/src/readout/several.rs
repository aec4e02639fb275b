//! Tests of several targets with gaps, and of the choices of readouts.

use ndarray::{Array2, ArrayView2, Axis, array, s};

use super::*;
use crate::config::{Alpha, ClassWeight, Metric};
use crate::metrics::{Judged, Truth};
use crate::rng::Stream;
use crate::targets::{Encoded, Targets, Task};

/// Rows, and targets that depend on them. Every third target is complete; the others have gaps.
fn drawn(rows: usize, columns: usize, targets: usize, binary: bool) -> (Array2<f64>, Targets) {
    let mut stream = Stream::new(3, "several targets", [rows as u64, targets as u64]);
    let x = Array2::from_shape_simple_fn((rows, columns), || stream.normal());
    let map = Array2::from_shape_simple_fn((columns, targets), || stream.normal());
    let mut y = x.dot(&map).mapv(|value| value + 1.5 * stream.normal());
    for ((row, target), value) in y.indexed_iter_mut() {
        if binary {
            *value = f64::from(u8::from(*value > 1.0));
        }
        if target % 3 != 0 && (row + target) % 5 == 0 {
            *value = f64::NAN;
        }
    }
    (x, if binary { Targets::Binary(y) } else { Targets::Numbers(y) })
}

fn known(targets: &Targets, target: usize) -> (Vec<usize>, Targets) {
    let (Targets::Numbers(values) | Targets::Binary(values)) = targets else { panic!("a matrix") };
    let rows: Vec<usize> = (0..values.nrows()).filter(|&row| !values[(row, target)].is_nan()).collect();
    let column = values.slice(s![.., target..=target]).select(Axis(0), &rows);
    let alone = match targets {
        Targets::Numbers(_) => Targets::Numbers(column),
        _ => Targets::Binary(column),
    };
    (rows, alone)
}

#[test]
fn every_target_is_what_it_would_be_alone() {
    for binary in [false, true] {
        for class_weight in [ClassWeight::None, ClassWeight::Balanced, ClassWeight::Auto] {
            // With more than three targets, `auto` uses no class weights.
            let count = if class_weight == ClassWeight::Auto { 3 } else { 7 };
            let (x, targets) = drawn(120, 6, count, binary);
            if !binary && class_weight == ClassWeight::Balanced {
                continue;
            }
            for (landmarks, standardize) in [(0, false), (0, true), (500, false)] {
                let class_weight = class_weight.clone();
                let options = ReadoutOptions { class_weight, landmarks, standardize, ..Default::default() };
                let encoded = Encoded::new(&targets).unwrap();
                let all = Readout::fit(x.view(), &encoded, Sample::default(), &options, 0).unwrap();
                let found = all.predict(x.view()).unwrap();
                for target in 0..count {
                    let (rows, alone) = known(&targets, target);
                    // Landmarks and their scales come from all rows, so only complete targets have
                    // the same ones.
                    if landmarks > 0 && rows.len() < 120 {
                        continue;
                    }
                    let (alone, own) = (Encoded::new(&alone).unwrap(), x.select(Axis(0), &rows));
                    let alone = Readout::fit(own.view(), &alone, Sample::default(), &options, 0).unwrap();
                    assert_eq!(all.alphas()[target], alone.alphas()[0]);
                    let apart = &found.column(target) - &alone.predict(x.view()).unwrap().column(0);
                    assert!(apart.iter().all(|off| off.abs() < 1e-8), "{target}: {apart}");
                    let (all, alone) =
                        (&all.assessments().unwrap()[target], &alone.assessments().unwrap()[0]);
                    assert_eq!((all.rows, all.balance), (alone.rows, alone.balance));
                    assert!((all.value.unwrap() - alone.value.unwrap()).abs() < 1e-8);
                }
            }
        }
    }
}

#[test]
fn targets_that_are_known_together_are_one_regression() {
    let count = |targets: usize, weight: &ClassWeight, metric| {
        let (_, targets) = drawn(50, 3, targets, true);
        let encoded = Encoded::new(&targets).unwrap();
        let (census, task) = (encoded.census(), encoded.task());
        regression::Regression::all(task, &census, weight, metric).unwrap().len()
    };
    // One regression for the complete targets, and one for each of four patterns of gaps.
    assert_eq!(count(7, &ClassWeight::None, Metric::RocAuc), 5);
    assert_eq!(count(7, &ClassWeight::Balanced, Metric::RocAuc), 7);
    assert_eq!(count(3, &ClassWeight::Auto, Metric::RocAuc), 2 * 3);
    assert_eq!(count(7, &ClassWeight::Auto, Metric::RocAuc), 5, "of many targets, classes are not weighed");
    assert_eq!(count(7, &ClassWeight::Auto, Metric::Accuracy), 5);
}

#[test]
fn rows_without_any_target_change_nothing() {
    let (x, targets) = drawn(90, 5, 3, false);
    let Targets::Numbers(mut y) = targets.clone() else { unreachable!() };
    let mut rng = Stream::new(0, "strangers", [0, 0]);
    let strangers = Array2::from_shape_simple_fn((10, 5), || 100.0 * rng.normal());
    let more = ndarray::concatenate![Axis(0), x, strangers];
    y.append(Axis(0), Array2::from_elem((10, 3), f64::NAN).view()).unwrap();
    for (landmarks, random_features) in [(0, 0), (30, 0), (0, 20)] {
        let options = ReadoutOptions { landmarks, random_features, ..Default::default() };
        let fit = |x: ArrayView2<'_, f64>, targets: &Targets| {
            Readout::fit(x, &Encoded::new(targets).unwrap(), Sample::default(), &options, 0).unwrap()
        };
        let (few, all) = (fit(x.view(), &targets), fit(more.view(), &Targets::Numbers(y.clone())));
        let apart = few.predict(x.view()).unwrap() - all.predict(x.view()).unwrap();
        assert!(apart.iter().all(|off| off.abs() < 1e-9), "{landmarks} {random_features}: {apart}");
    }
}

/// Decision values of every row from a regression trained without it.
fn loop_over(x: &Array2<f64>, y: &Array2<f64>, weights: &[f64], alpha: f64) -> Array2<f64> {
    let mut decisions = Array2::zeros(y.dim());
    for row in 0..x.nrows() {
        let rest: Vec<usize> = (0..x.nrows()).filter(|&other| other != row).collect();
        let weights: Vec<f64> = rest.iter().map(|&row| weights[row]).collect();
        let (x_rest, y_rest) = (x.select(Axis(0), &rest), y.select(Axis(0), &rest));
        let path = RidgePath::from_rows(x_rest.view(), y_rest.view(), Some(&weights), false).unwrap();
        let Coefficients { weights, intercept } = path.solve(alpha).unwrap();
        decisions.row_mut(row).assign(&(x.row(row).dot(&weights) + intercept));
    }
    decisions
}

#[test]
fn leave_one_out_metrics_are_those_of_the_explicit_loop() {
    const ALPHAS: [f64; 4] = [0.01, 1.0, 30.0, 1000.0];
    for (binary, classes) in [(false, 0), (true, 2), (false, 3)] {
        let (x, targets) = drawn(40, 3, 1, binary);
        let targets = match classes {
            3 => {
                let values = targets.column().unwrap();
                Targets::integers(
                    values
                        .iter()
                        .map(|&value| if value > 1.0 { 2 } else { i64::from(value > -1.0) })
                        .collect(),
                )
            }
            _ => targets,
        };
        let encoded = Encoded::new(&targets).unwrap();
        let task = encoded.task();
        let (y, counts) = (encoded.matrix(), encoded.census().counts(0).to_vec());
        let own: Vec<f64> = (0..40).map(|row| 1.0 + f64::from(row % 3)).collect();
        let truth: Vec<usize> = y.outer_iter().map(|row| task.class_of(row)).collect();
        let numbers = y.column(0).to_vec();
        for &metric in Metric::of_task(task) {
            for class_weight in [ClassWeight::None, ClassWeight::Balanced] {
                if classes == 0 && class_weight != ClassWeight::None {
                    continue;
                }
                let per_class = class_weight.per_class(&counts).unwrap();
                let weights: Vec<f64> = match classes {
                    0 => own.clone(),
                    _ => truth.iter().zip(&own).map(|(&class, own)| own * per_class[class]).collect(),
                };
                let value = |alpha: f64| {
                    let decisions = loop_over(&x, &y, &weights, alpha);
                    let mut judged = Judged {
                        truth: Truth::Numbers(&numbers),
                        decisions: decisions.view(),
                        probabilities: None,
                        weights: Some(&own),
                    };
                    let probabilities;
                    if classes > 0 {
                        judged.truth = Truth::Classes(&truth, classes);
                        let calibration = Calibration::fit(decisions.view(), &truth, classes, &own).unwrap();
                        probabilities = calibration.probabilities(decisions.view()).unwrap();
                        judged.probabilities = Some(probabilities.view());
                    }
                    judged.metric(metric).unwrap()
                };
                let values = ALPHAS.map(value);
                let options = ReadoutOptions {
                    alpha: Alpha::BestOf(ALPHAS.to_vec()),
                    metric,
                    class_weight,
                    ..Default::default()
                };
                let sample = Sample { weights: Some(&own), keys: None };
                let readout = Readout::fit(x.view(), &encoded, sample, &options, 0).unwrap();
                let assessment = &readout.assessments().unwrap()[0];
                let chosen = ALPHAS.iter().position(|alpha| *alpha == readout.alphas()[0]).unwrap();
                assert!(
                    (assessment.value.unwrap() - values[chosen]).abs() < 1e-8,
                    "{task:?} {metric:?}: {assessment:?}, the loop has {values:?}"
                );
                if metric != Metric::Accuracy {
                    let better = values.iter().filter(|&&value| metric.is_better(value, values[chosen]));
                    let better = better.filter(|&&value| (value - values[chosen]).abs() > 1e-9).count();
                    assert_eq!(better, 0, "{task:?} {metric:?}: {values:?}, {chosen} was chosen");
                }
            }
        }
    }
}

#[test]
fn squared_errors_decide_between_alphas_of_equal_metric() {
    // Well separated classes: every alpha ranks all rows correctly, and the largest predicts one
    // class.
    let x = Array2::from_shape_fn((40, 1), |(row, _)| if row < 36 { -5.0 } else { 5.0 } + row as f64 / 100.0);
    let y = Array2::from_shape_fn((40, 1), |(row, _)| f64::from(u8::from(row >= 36)));
    let encoded = Encoded::new(&Targets::Binary(y.clone())).unwrap();
    let alpha = Alpha::BestOf(vec![0.1, 1e6, 1.0]);
    let options = ReadoutOptions { alpha, ..Default::default() };
    let readout = Readout::fit(x.view(), &encoded, Sample::default(), &options, 0).unwrap();
    assert_eq!(readout.estimate(), Some((Metric::RocAuc, 1.0)));
    let decisions = readout.predict(x.view()).unwrap();
    assert!(decisions.iter().zip(&y).all(|(decision, y)| (*decision > 0.0) == (*y == 1.0)), "{decisions}");
}

#[test]
fn a_target_that_no_weighted_row_has_is_named() {
    let (x, nan) = (array![[0.0], [1.0], [2.0]], f64::NAN);
    let y = Targets::Numbers(array![[1.0, nan], [2.0, 3.0], [4.0, nan]]);
    let names = vec!["a".to_owned(), "b".to_owned()];
    let encoded = Encoded::named(&y, names).unwrap();
    let refused = |targets: &Encoded, x: &Array2<f64>, weights: Option<&[f64]>| {
        let sample = Sample { weights, keys: None };
        Readout::fit(x.view(), targets, sample, &ReadoutOptions::default(), 0).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&encoded, &x, Some(&[1.0, 0.0, 1.0])),
        "target 'b': expected values to learn from among rows with a positive weight, found none"
    );
    let some = encoded.select(&[0, 2]);
    let found = refused(&some, &x.select(Axis(0), &[0, 2]), None);
    assert_eq!(found, "target 'b': expected values to learn from, found none");
    assert_eq!(refused(&encoded, &x, Some(&[0.0; 3])), "weights: expected at least one above 0, found none");
}

#[test]
fn a_metric_of_another_kind_of_target_is_refused() {
    let encoded = Encoded::new(&Targets::numbers(vec![1.0, 2.0, 4.0])).unwrap();
    let options = ReadoutOptions { metric: Metric::RocAuc, ..Default::default() };
    let x = array![[0.0], [1.0], [2.0]];
    let refused = Readout::fit(x.view(), &encoded, Sample::default(), &options, 0).unwrap_err().to_string();
    assert_eq!(refused, "metric: expected one of rmse, mae, r2, found roc-auc");
    let options = ReadoutOptions { class_weight: ClassWeight::Balanced, ..Default::default() };
    let refused = Readout::fit(x.view(), &encoded, Sample::default(), &options, 0).unwrap_err().to_string();
    assert!(refused.starts_with("class_weight: expected none"), "{refused}");
    assert_eq!(encoded.task(), Task::Regression { targets: 1 });
}

#[test]
fn a_blend_of_readouts_is_what_the_loop_says_of_it() {
    const ALPHAS: [f64; 3] = [0.1, 3.0, 100.0];
    let (x, targets) = drawn(60, 4, 1, true);
    let encoded = Encoded::new(&targets).unwrap();
    let (task, y) = (encoded.task(), encoded.matrix());
    let truth: Vec<usize> = y.outer_iter().map(|row| task.class_of(row)).collect();
    let value = |decisions: &Array2<f64>| {
        let truth = Truth::Classes(&truth, 2);
        let judged = Judged { truth, decisions: decisions.view(), probabilities: None, weights: None };
        judged.metric(Metric::AveragePrecision).unwrap()
    };
    let best = |class_weight: &ClassWeight| {
        let per_class = class_weight.per_class(encoded.census().counts(0)).unwrap();
        let weights: Vec<f64> = truth.iter().map(|&class| per_class[class]).collect();
        let all = ALPHAS.map(|alpha| loop_over(&x, &y, &weights, alpha));
        all.into_iter().reduce(|best, next| if value(&next) >= value(&best) { next } else { best }).unwrap()
    };
    let (none, balanced) = (best(&ClassWeight::None), best(&ClassWeight::Balanced));
    let blends = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| value(&((1.0 - share) * &none + share * &balanced)));
    let largest = blends.into_iter().fold(0.0, f64::max);
    let options = ReadoutOptions {
        alpha: Alpha::BestOf(ALPHAS.to_vec()),
        class_weight: ClassWeight::Auto,
        metric: Metric::AveragePrecision,
        ..Default::default()
    };
    let readout = Readout::fit(x.view(), &encoded, Sample::default(), &options, 0).unwrap();
    let found = &readout.assessments().unwrap()[0];
    assert!((found.value.unwrap() - largest).abs() < 1e-9, "{found:?}, the loop has {blends:?}");
    // The readout is the blend of both.
    let of = |class_weight: ClassWeight| {
        let options = ReadoutOptions { class_weight, ..options.clone() };
        Readout::fit(x.view(), &encoded, Sample::default(), &options, 0).unwrap().predict(x.view()).unwrap()
    };
    let blend = (1.0 - found.balance) * of(ClassWeight::None) + found.balance * of(ClassWeight::Balanced);
    let apart = readout.predict(x.view()).unwrap() - blend;
    assert!(apart.iter().all(|off| off.abs() < 1e-9), "{apart}");
}
