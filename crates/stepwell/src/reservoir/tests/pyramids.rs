//! Compares complete pyramids with the equations on dense matrices.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, Axis};

use super::plain::{Carries, adjacency, dense, fixed_point, graphs};
use crate::config::*;
use crate::error::Error;
use crate::features::Inputs;
use crate::graph::{Graph, GraphBatch};
use crate::pool::{AssignmentRef, Reduce};
use crate::pyramid::Pyramid;
use crate::reservoir::*;

fn pyramid(graph: &Graph, config: &ModelConfig) -> Pyramid {
    let go_on = |_| ControlFlow::Continue(());
    let pooling = config.pooling();
    pooling.map_or(Ok(Pyramid::default()), |p| p.coarsen(graph.as_batch(), config.levels(), go_on)).unwrap()
}

/// `SᵀH`, or the maximum instead of the sum, by definition.
fn pooled(assignment: AssignmentRef<'_>, h: &Array2<f64>, by_max: bool) -> Array2<f64> {
    let mut out = Array2::zeros((assignment.num_coarse(), h.ncols()));
    let mut met = vec![false; assignment.num_coarse()];
    for fine in 0..assignment.num_fine() {
        let (columns, values) = assignment.row(fine);
        for (&c, &value) in columns.iter().zip(values) {
            let c = c as usize;
            for unit in 0..h.ncols() {
                let x = value * h[(fine, unit)];
                let old: f64 = out[(c, unit)];
                out[(c, unit)] = match (by_max, met[c]) {
                    (false, _) => old + x,
                    (true, false) => x,
                    (true, true) => old.max(x),
                };
            }
            met[c] = true;
        }
    }
    out
}

fn aggregated(h: &Array2<f64>, aggregate: Aggregate) -> Array1<f64> {
    if h.nrows() == 0 {
        return Array1::zeros(h.ncols());
    }
    match aggregate {
        Aggregate::Sum => h.sum_axis(Axis(0)),
        Aggregate::Mean => h.mean_axis(Axis(0)).unwrap(),
        Aggregate::Max => h.fold_axis(Axis(0), f64::NEG_INFINITY, |a, &b| a.max(b)),
        Aggregate::Std => h.std_axis(Axis(0), 0.0),
    }
}

/// The model's vector according to section 4 of the paper.
fn plain_embedding(graph: &Graph, inputs: &Inputs, weights: &Weights, config: &ModelConfig) -> Vec<f64> {
    let levels = pyramid(graph, config).levels;
    let graph_at = |level: usize| match level {
        0 => graph.view(),
        _ => levels[level - 1].graphs.graph(0),
    };
    let carry = |level: usize, h: &Array2<f64>| {
        let assignments = &levels[level - 1].assignments;
        pooled(assignments.graph(0), h, assignments.takes_max())
    };
    let mut vector = Vec::new();
    for stack in weights.stacks() {
        let mut x = dense(inputs, graph.view().num_vertices());
        for (block, reservoirs) in stack.iter().enumerate() {
            // Pool before every block except for the first `pool_after`.
            let level = if block < config.pool_after { 0 } else { block + 1 - config.pool_after };
            let level = level.min(levels.len());
            if !levels.is_empty() && block >= config.pool_after {
                x = carry(level, &x);
            }
            let a = adjacency(graph_at(level), config.normalize);
            let solve = |w: &BlockWeights| fixed_point(&a, &w.recurrent, &x.dot(&w.input), 1.0, 1e-12, 500).0;
            let mut h = solve(&reservoirs[0]);
            reservoirs[1..].iter().for_each(|w| h += &solve(w));
            let last = block + 1 == stack.len();
            if config.concat || last {
                let read = if last && config.pool_last && !levels.is_empty() {
                    carry(level + 1, &h)
                } else {
                    h.clone()
                };
                config.aggregate.iter().for_each(|&kind| vector.extend(aggregated(&read, kind)));
            }
            x = h;
        }
    }
    vector
}

fn going() -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn embedding(batch: &GraphBatch, inputs: &Inputs, pyramid: &Pyramid, config: &ModelConfig) -> Embedding {
    let weights = Weights::random(config, inputs.width()).unwrap();
    let prepared = Prepared::with_pyramid(batch, inputs, pyramid, config, going).unwrap();
    embed(&weights, &prepared, config, |_| ControlFlow::Continue(())).unwrap()
}

/// Configurations that together use every option.
fn configurations(pool: Pool) -> Vec<ModelConfig> {
    let base = ModelConfig {
        pool,
        units: 7.into(),
        spectral_radius: 0.5.into(),
        precision: Precision::F64,
        tol: 1e-12,
        max_iter: 500,
        delta: 0.01,
        ..Default::default()
    };
    use Aggregate::*;
    vec![
        base.clone(),
        ModelConfig { blocks: 3, concat: true, aggregate: vec![Sum, Mean, Max, Std], ..base.clone() },
        ModelConfig { blocks: 4, pool_after: 2, concat: true, ..base.clone() },
        ModelConfig { blocks: 3, pool_after: 3, pool_last: true, ..base.clone() },
        ModelConfig { stacks: 2, reservoirs: 3, concat: true, aggregate: vec![Mean], ..base.clone() },
        ModelConfig {
            blocks: 3,
            units: PerBlock::Each(vec![5, 9, 8]),
            pool_last: true,
            reduce: Reduce::Max,
            ..base.clone()
        },
        ModelConfig { blocks: 1, pool_last: true, reduce: Reduce::Sum, reservoirs: 2, ..base },
    ]
}

#[test]
fn pyramids_follow_the_equations_for_every_pooling_and_setting() {
    for pool in [Pool::None, Pool::Graclus, Pool::Nmf, Pool::Ndp, Pool::KMis] {
        for (index, config) in configurations(pool).iter().enumerate() {
            for (name, graph, inputs) in graphs(Carries::Labels) {
                let weights = Weights::random(config, inputs.width()).unwrap();
                let expected = plain_embedding(&graph, &inputs, &weights, config);
                for lift in [true, false] {
                    let config = ModelConfig { lift, ..config.clone() };
                    let found = embedding(graph.as_batch(), &inputs, &pyramid(&graph, &config), &config);
                    assert_eq!(found.vectors.ncols(), expected.len());
                    let size = expected.iter().fold(1.0f64, |a, x| a.max(x.abs()));
                    for (found, expected) in found.vectors.iter().zip(&expected) {
                        let error = (found - expected).abs() / size;
                        assert!(error < 1e-9, "{pool:?} {index}, {name}, lifted {lift}: {found} {expected}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_company_of_a_graph_does_not_matter_to_its_pyramid() {
    let mut all = graphs(Carries::Attributes);
    all.retain(|(_, graph, _)| !graph.view().is_directed() && graph.view().weights().is_none());
    let mut batch = GraphBatch::default();
    all.iter().for_each(|(_, graph, _)| batch.append(graph.as_batch()).unwrap());
    let inputs = Inputs::concat(all.iter().map(|(_, graph, x)| (x, 0..graph.view().num_vertices()))).unwrap();
    for pool in [Pool::Graclus, Pool::Nmf, Pool::Ndp, Pool::KMis] {
        let config = ModelConfig { pool, blocks: 3, units: 9.into(), concat: true, ..Default::default() };
        let levels = config.pooling().unwrap().coarsen(&batch, 2, |_| ControlFlow::Continue(())).unwrap();
        let together = embedding(&batch, &inputs, &levels, &config);
        for (row, (name, graph, inputs)) in all.iter().enumerate() {
            let alone = embedding(graph.as_batch(), inputs, &pyramid(graph, &config), &config);
            assert_eq!(together.vectors.row(row), alone.vectors.row(0), "{pool:?} {name}");
        }
    }
}

#[test]
fn some_graphs_embed_as_they_do_among_all() {
    let (_, graph, inputs) = graphs(Carries::Attributes).swap_remove(0);
    let mut batch = GraphBatch::default();
    (0..200).for_each(|_| batch.append(graph.as_batch()).unwrap());
    let n = graph.view().num_vertices();
    let inputs = Inputs::concat((0..200).map(|_| (&inputs, 0..n))).unwrap();
    let config = ModelConfig { units: 4.into(), ..Default::default() };
    let weights = Weights::random(&config, inputs.width()).unwrap();
    let prepared = Prepared::new(&batch, &inputs, &config).unwrap();
    let go_on = |_: usize| ControlFlow::Continue(());
    let all = embed(&weights, &prepared, &config, go_on).unwrap();
    let embed_some = |chosen: &[usize]| {
        let work = Work { weights: &weights, prepared: &prepared, options: &config, rows: Some(chosen) };
        embed_on(&Device::processor(), work, &go_on)
    };
    for chosen in [vec![], vec![0], vec![3, 50, 51, 52, 120, 199]] {
        let some = embed_some(&chosen).unwrap();
        assert_eq!(some.vectors, all.vectors.select(Axis(0), &chosen));
        assert_eq!(some.runs, all.runs.select(Axis(0), &chosen));
    }
    let refused = |chosen: &[usize]| embed_some(chosen).unwrap_err();
    assert_eq!(
        refused(&[4, 4]).to_string(),
        "graphs to embed must ascend, but the one at position 1 does not"
    );
    assert!(refused(&[200]).to_string().contains("expected 0 to 199, found 200"));
}

#[test]
fn a_pyramid_must_have_a_level_between_each_two_blocks() {
    let (_, graph, inputs) = graphs(Carries::Labels).swap_remove(0);
    let config = ModelConfig { pool: Pool::Graclus, blocks: 4, ..Default::default() };
    let two = ModelConfig { blocks: 3, ..config.clone() };
    let refused = Prepared::with_pyramid(graph.as_batch(), &inputs, pyramid(&graph, &two), &config, going);
    let error = refused.map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "levels of the pyramid, one between each two blocks: expected 3, found 2");
}

#[test]
fn a_pyramid_given_away_is_as_good_as_one_lent() {
    let mut all = graphs(Carries::Labels);
    let width = all[0].2.width();
    all.retain(|(_, _, inputs)| inputs.width() == width);
    // Enough vertices for several pieces, with graphs of every size.
    let (mut batch, mut ranges) = (GraphBatch::default(), Vec::new());
    while batch.num_vertices() < 100_000 {
        for (_, graph, inputs) in &all {
            batch.append(graph.as_batch()).unwrap();
            ranges.push((inputs, 0..graph.view().num_vertices()));
        }
    }
    let inputs = Inputs::concat(ranges).unwrap();
    for pool in [Pool::Graclus, Pool::Ndp] {
        let config = ModelConfig { pool, blocks: 3, units: 3.into(), ..Default::default() };
        let pyramid = config.pooling().unwrap().coarsen(&batch, 2, |_| ControlFlow::Continue(())).unwrap();
        let weights = Weights::random(&config, inputs.width()).unwrap();
        let vectors = |prepared: Prepared| {
            embed(&weights, &prepared, &config, |_| ControlFlow::Continue(())).unwrap().vectors
        };
        let lent = vectors(Prepared::with_pyramid(&batch, &inputs, &pyramid, &config, going).unwrap());
        let stopped = Prepared::with_pyramid(&batch, &inputs, &pyramid, &config, || ControlFlow::Break(()));
        assert_eq!(stopped.err(), Some(Error::Cancelled));
        let given = vectors(Prepared::with_pyramid(&batch, &inputs, pyramid, &config, going).unwrap());
        assert!(lent == given, "{pool:?}");
        let one_by_one =
            embedding(all[2].1.as_batch(), &all[2].2, &self::pyramid(&all[2].1, &config), &config);
        assert_eq!(given.row(2), one_by_one.vectors.row(0), "{pool:?}");
    }
}
