//! Contributions add up to the predictions. The Python tests compute them independently, with dense
//! matrices.

use std::ops::ControlFlow::Continue;

use ndarray::Axis;

use super::*;
use crate::config::{Kernel, ModelConfig, Pool, Precision};
use crate::model::tests::{graphs, trained};
use crate::pool::Reduce;

/// The explanations of a model's training graphs, and its predictions for them.
fn explained(config: ModelConfig, classes: usize) -> (Vec<Explanation>, Pyramid, Array2<f64>) {
    let (model, graphs) = (trained(config, classes), graphs());
    let pyramid = model.model.coarsen(&graphs, |_| Continue(())).unwrap();
    let explanations = model.explain(&graphs, &pyramid, |_| Continue(())).unwrap();
    (explanations, pyramid, model.predict(&graphs, |_| Continue(())).unwrap().scores)
}

fn check(config: ModelConfig, classes: usize) {
    let error = if config.precision == Precision::F64 { 1e-9 } else { 1e-5 };
    let what = format!("{config:?}");
    let (explanations, pyramid, scores) = explained(config, classes);
    for (graph, (explanation, scores)) in explanations.iter().zip(scores.rows()).enumerate() {
        let decision = explanation.decision();
        assert_eq!(decision.len(), scores.len());
        let scale = scores.iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
        assert!((&decision - &scores).iter().all(|x| x.abs() <= error * scale), "graph {graph} of {what}");
        let num_vertices = graphs().graph(graph).num_vertices();
        let placed = explanation.on_vertices(&pyramid, graph, num_vertices).unwrap();
        for (of_level, values) in explanation.levels.iter().zip(&placed) {
            assert_eq!(values.nrows(), num_vertices);
            let difference = of_level.values.sum_axis(Axis(0)) - values.sum_axis(Axis(0));
            assert!(difference.iter().all(|x| x.abs() <= 1e-9 * scale), "graph {graph} of {what}");
        }
    }
}

fn configuration(pool: Pool) -> ModelConfig {
    ModelConfig { pool, units: 5.into(), blocks: 3, ..Default::default() }
}

#[test]
fn contributions_add_up_for_every_pooling_and_aggregate() {
    use Aggregate::{Max, Mean, Sum};
    for pool in [Pool::None, Pool::Graclus, Pool::Nmf, Pool::Ndp, Pool::KMis] {
        for aggregate in [vec![Sum], vec![Mean], vec![Max], vec![Max, Sum, Mean]] {
            for (classes, precision) in [(2, Precision::F64), (3, Precision::F32), (0, Precision::F64)] {
                let small = ModelConfig { aggregate: aggregate.clone(), precision, ..configuration(pool) };
                check(small.clone(), classes);
                check(ModelConfig { concat: true, stacks: 2, reservoirs: 2, ..small.clone() }, classes);
                check(ModelConfig { pool_after: 2, concat: true, ..small.clone() }, classes);
                check(ModelConfig { pool_last: true, concat: true, reduce: Reduce::Max, ..small }, classes);
            }
        }
    }
}

#[test]
fn the_levels_are_those_that_are_read() {
    let levels = |config: ModelConfig| {
        let (explanations, _, _) = explained(config, 2);
        explanations[0].levels.iter().map(|level| level.level).collect::<Vec<_>>()
    };
    let ndp = || configuration(Pool::Ndp);
    assert_eq!(levels(ndp()), [2]);
    assert_eq!(levels(ModelConfig { concat: true, ..ndp() }), [0, 1, 2]);
    assert_eq!(levels(ModelConfig { pool_after: 2, concat: true, ..ndp() }), [0, 1]);
    assert_eq!(levels(ModelConfig { pool_last: true, ..ndp() }), [3]);
    assert_eq!(levels(ModelConfig { pool_last: true, concat: true, ..ndp() }), [0, 1, 3]);
    assert_eq!(levels(ModelConfig { concat: true, ..configuration(Pool::None) }), [0]);
}

#[test]
fn readouts_that_are_not_linear_split_as_well() {
    use Aggregate::{Mean, Std, Sum};
    for pool in [Pool::None, Pool::Ndp, Pool::Graclus] {
        let plain = || ModelConfig { precision: Precision::F64, concat: true, ..configuration(pool) };
        for aggregate in [vec![Std], vec![Sum, Mean, Std]] {
            for classes in [2, 3, 0] {
                let small = ModelConfig { aggregate: aggregate.clone(), ..plain() };
                check(small.clone(), classes);
                check(ModelConfig { random_features: 9, ..small.clone() }, classes);
                for (kernel, gaussian_width) in
                    [(Kernel::States, 0.3), (Kernel::WlOa, 1.0), (Kernel::Both, 1.0)]
                {
                    let landmarks = ModelConfig { landmarks: 9, kernel, gaussian_width, ..small.clone() };
                    // Products with landmarks are computed in f32.
                    check(ModelConfig { precision: Precision::F32, ..landmarks.clone() }, classes);
                    check(ModelConfig { concat: false, precision: Precision::F32, ..landmarks }, classes);
                }
            }
        }
    }
}

#[test]
fn a_pyramid_of_other_graphs_is_refused() {
    let (explanations, pyramid, _) = explained(configuration(Pool::Ndp), 2);
    assert!(explanations[0].on_vertices(&Pyramid::default(), 0, 5).is_err());
    assert!(explanations[0].on_vertices(&pyramid, 99, 5).is_err());
    assert!(explanations[0].on_vertices(&pyramid, 0, 1).is_err());
}

#[test]
fn rounding_is_relative_to_the_numbers_that_are_added() {
    for unit in [1.0, 1e6] {
        // Large contributions that cancel to a decision value of 0, up to rounding.
        let values = ndarray::array![[-0.5 * unit], [-0.5 * unit + 4e-6 * unit]];
        let of = |values: Array2<f64>| Explanation {
            intercept: ndarray::array![unit],
            levels: vec![Contributions { level: 0, values }],
        };
        let mut rounded = of(values);
        rounded.absorb_rounding(ndarray::array![0.0].view());
        assert!(rounded.decision()[0].abs() < 1e-12 * unit, "{rounded:?}");
        let mut wrong = of(ndarray::array![[-unit], [0.1 * unit]]);
        wrong.absorb_rounding(ndarray::array![0.0].view());
        assert!((wrong.decision()[0] - 0.1 * unit).abs() < 1e-9 * unit, "no rounding: {wrong:?}");
    }
}
