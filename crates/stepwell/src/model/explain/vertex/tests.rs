//! Contributions equal those of a network with lines in place of tanh, computed with dense matrices
//! from one vertex's input at a time. They also add up to the predictions.

use std::ops::ControlFlow::Continue;

use ndarray::{Array2, Axis, s};

use super::*;
use crate::config::{EdgeGate, ModelConfig, Precision, Preset};
use crate::graph::{BatchBuilder, EdgeList};
use crate::model::tests::graphs;
use crate::rng::Stream;
use crate::targets::Targets;

fn config() -> ModelConfig {
    ModelConfig {
        units: 6.into(),
        fixed_sweeps: Some(3),
        precision: Precision::F64,
        landmarks: 0,
        ..ModelConfig::preset(Preset::Vertices)
    }
}

/// Trains on arbitrary numbers or classes.
fn trained(config: &ModelConfig, graphs: &GraphBatch, classes: usize) -> TrainedModel {
    let count = graphs.num_vertices();
    let targets = match classes {
        0 => Targets::numbers((0..count).map(|v| (v as f64).sin()).collect()),
        classes => Targets::integers((0..count).map(|v| (v * 7 / 2 % classes) as i64).collect()),
    };
    TrainedModel::train(config, graphs, &targets, |_| Continue(())).unwrap()
}

/// Computes the row of every vertex with dense matrices and tanh. Then computes the row of `vertex`
/// with lines in place of tanh, once for each vertex as the only one with an input.
fn one_by_one(model: &TrainedModel, graph: GraphRef<'_>, inputs: &Inputs, vertex: usize) -> Vec<Array1<f64>> {
    let config = &model.model.config;
    let n = graph.num_vertices();
    let mut x = Vec::new();
    (0..n).for_each(|v| inputs.extend_with_row(v, &mut x));
    let x = Array2::from_shape_vec((n, inputs.width()), x).unwrap();
    let weights = graph.normalized_weights();
    let run = |x: &Array2<f64>, lines: Option<&[Array2<f64>]>| {
        let (mut row, mut slopes) = (Vec::new(), Vec::new());
        if config.own_inputs {
            row.extend(x.row(vertex));
        }
        for stack in model.model.weights.stacks() {
            let mut below = x.clone();
            for (block, list) in stack.iter().enumerate() {
                let BlockWeights { recurrent, input, gate } = &list[0];
                let units = recurrent.ncols();
                let mut state = Array2::<f64>::zeros((n, units));
                for sweep in 0..config.fixed_sweeps.unwrap() {
                    let mut sums = Array2::<f64>::zeros((n, units));
                    for (entry, (from, to, _)) in graph.entries().enumerate() {
                        let gate = gate.gate(
                            inputs.edges().labels(entry),
                            if inputs.edges().width() > 0 { inputs.edges().attributes(entry) } else { &[] },
                            units,
                        );
                        let more = &state.row(to) * &gate * weights[entry];
                        let mut sum = sums.row_mut(from);
                        sum += &more;
                    }
                    let z = sums.dot(recurrent) + below.dot(input);
                    let slope = match lines {
                        Some(lines) => lines[slopes.len()].clone(),
                        None => z.mapv(|z| if z == 0.0 { 1.0 } else { z.tanh() / z }),
                    };
                    state = &z * &slope * config.leak + &state * (1.0 - config.leak);
                    slopes.push(slope);
                    let last = sweep + 1 == config.fixed_sweeps.unwrap();
                    if config.embedded_blocks().contains(&block) && (config.concat_sweeps || last) {
                        row.extend(state.row(vertex));
                    }
                }
                below = state;
            }
        }
        (Array1::from(row), slopes)
    };
    let (whole, slopes) = run(&x, None);
    let alone = |kept: usize| {
        let mut masked = Array2::zeros(x.dim());
        masked.row_mut(kept).assign(&x.row(kept));
        run(&masked, Some(&slopes)).0
    };
    let mut rows: Vec<Array1<f64>> = (0..n).map(alone).collect();
    rows.push(whole);
    rows
}

fn check(config: &ModelConfig, graphs: &GraphBatch, classes: usize) {
    let model = trained(config, graphs, classes);
    let scores = model.predict(graphs, |_| Continue(())).unwrap().scores;
    for (graph, vertex) in [(0, 0), (3, 5), (4, 2)] {
        let explanation = model.explain_vertex(graphs, graph, vertex, |_| Continue(())).unwrap();
        let row = graphs.vertex_offsets()[graph] + vertex;
        let off = explanation.decision() - scores.row(row);
        assert!(off.iter().all(|off| off.abs() < 1e-9), "{off} {config:?}");
        let alone = graphs.select(&[graph]);
        let inputs = model.model.features.apply(&alone).unwrap();
        let rows = one_by_one(&model, alone.graph(0), &inputs, vertex);
        let whole = rows.last().unwrap();
        let whole_row = whole.view().insert_axis(Axis(0));
        let local = model.readout.local_from_zero(whole_row).unwrap();
        for (other, row) in rows[..rows.len() - 1].iter().enumerate() {
            let mut expected = row.dot(&local.coefficients);
            if expected.len() == 1 && classes == 2 {
                expected = ndarray::array![-expected[0], expected[0]];
            }
            let found = explanation.levels[0].values.row(other);
            let off = &found - &expected;
            assert!(off.iter().all(|off| off.abs() < 1e-5), "{other}: {found} and {expected}, {config:?}");
            if config.landmarks == 0 {
                assert!(
                    off.iter().all(|off| off.abs() < 1e-9),
                    "{other}: {found} and {expected}, {config:?}"
                );
            }
        }
    }
}

#[test]
fn contributions_are_those_of_each_vertex_alone() {
    let graphs = graphs();
    check(&config(), &graphs, 3);
    check(&config(), &graphs, 2);
    check(&config(), &graphs, 0);
    check(&ModelConfig { blocks: 2, concat: true, stacks: 2, ..config() }, &graphs, 0);
    check(
        &ModelConfig { blocks: 2, leak: 0.7, concat_sweeps: false, own_inputs: false, ..config() },
        &graphs,
        3,
    );
    check(&ModelConfig { by_length: false, ..config() }, &graphs, 0);
}

#[test]
fn readouts_with_landmarks_split_as_well() {
    let graphs = graphs();
    let model = ModelConfig { landmarks: 30, precision: Precision::F32, ..config() };
    let trained = trained(&model, &graphs, 3);
    let scores = trained.predict(&graphs, |_| Continue(())).unwrap().scores;
    let explanation = trained.explain_vertex(&graphs, 2, 1, |_| Continue(())).unwrap();
    let off = explanation.decision() - scores.row(graphs.vertex_offsets()[2] + 1);
    assert!(off.iter().all(|off| off.abs() < 1e-9), "{off}");
    // The intercept is the prediction if no vertex has an input.
    let zero = Array2::zeros((1, trained.model.width()));
    let expected = trained.readout.predict(zero.view()).unwrap();
    let off = &explanation.intercept - &expected.row(0);
    assert!(off.iter().all(|off| off.abs() < 1e-5), "{off}");
    check(&ModelConfig { landmarks: 30, ..config() }, &graphs, 3);
}

#[test]
fn edges_with_gates_pass_on_what_they_pass() {
    let mut stream = Stream::new(7, "gates of an explanation", [0, 0]);
    let mut builder = BatchBuilder::default();
    for n in [9, 12, 7, 14, 10] {
        let (from, to): (Vec<u32>, Vec<u32>) =
            (1..n as u32).map(|v| (stream.below(v as usize) as u32, v)).unzip();
        let kinds: Vec<i32> = from.iter().map(|_| stream.below(3) as i32).collect();
        let lengths: Vec<f64> = from.iter().map(|_| stream.uniform()).collect();
        let attributes: Vec<f64> = (0..2 * n).map(|_| stream.normal()).collect();
        let edges = EdgeList {
            edge_labels: Some((&kinds, 1)),
            edge_attributes: Some((&lengths, 1)),
            vertex_attributes: Some((&attributes, 2)),
            ..EdgeList::new(n, &from, &to)
        };
        builder.push(&edges).unwrap();
    }
    let graphs = builder.finish();
    check(&ModelConfig { edge_gate: EdgeGate::Signs, ..config() }, &graphs, 0);
}

#[test]
fn only_vertices_within_reach_add_something() {
    let (from, to): (Vec<u32>, Vec<u32>) = (1..20).map(|v| (v - 1, v)).unzip();
    let attributes: Vec<f64> = (0..40).map(|v| f64::from(v).cos()).collect();
    let edges = EdgeList { vertex_attributes: Some((&attributes, 2)), ..EdgeList::new(20, &from, &to) };
    let mut builder = BatchBuilder::default();
    builder.push(&edges).unwrap();
    let graphs = builder.finish();
    let model = trained(&config(), &graphs, 0);
    let explanation = model.explain_vertex(&graphs, 0, 10, |_| Continue(())).unwrap();
    let values = explanation.levels[0].values.slice(s![.., 0]).to_owned();
    // Three sweeps reach the vertex itself, then one step, then two.
    assert!(values.iter().enumerate().all(|(v, value)| (*value != 0.0) == (8..=12).contains(&v)), "{values}");
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let graphs = graphs();
    let model = trained(&config(), &graphs, 3);
    let refused = |graph, vertex| model.explain_vertex(&graphs, graph, vertex, |_| Continue(())).unwrap_err();
    assert!(refused(1 << 20, 0).to_string().starts_with("graph to explain: expected 0 to "));
    assert!(refused(0, 1 << 20).to_string().starts_with("vertex to explain: expected 0 to "));
    let mut other = model.clone();
    other.model.config.solver = Solver::GaussSeidel;
    let refusal = other.explain_vertex(&graphs, 0, 0, |_| Continue(())).unwrap_err().to_string();
    assert_eq!(refusal, "solver: expected jacobi (only then can a vertex be explained), found gauss-seidel");
}
