//! Compares gated sweeps with the plain equation:
//! `h_i <- tanh((Σ_j ã_ij · g(e_ij) ∘ h_j) W + x_i V)`.

use std::collections::BTreeSet;

use ndarray::{Array1, Array2};
use proptest::prelude::*;

use super::plain::{adjacency, dense, distance, frobenius, solved};
use crate::config::*;
use crate::features::{FeatureMap, FeatureOptions, Inputs};
use crate::graph::{Attributes, BatchBuilder, EdgeList, Graph, GraphBatch, GraphRef};
use crate::model::Model;
use crate::reservoir::*;
use crate::rng::Stream;
use crate::theory;

/// The labels and attributes of the edges of a random graph.
#[derive(Clone, Copy, Debug)]
struct Kind {
    vertices: usize,
    edges: usize,
    weighted: bool,
    directed: bool,
    labels: usize,
    attributes: usize,
}

const KINDS: [Kind; 8] = [
    Kind { vertices: 40, edges: 90, weighted: false, directed: false, labels: 1, attributes: 0 },
    Kind { vertices: 31, edges: 70, weighted: true, directed: false, labels: 1, attributes: 0 },
    Kind { vertices: 29, edges: 80, weighted: false, directed: true, labels: 3, attributes: 0 },
    Kind { vertices: 40, edges: 90, weighted: false, directed: false, labels: 0, attributes: 1 },
    Kind { vertices: 23, edges: 60, weighted: true, directed: true, labels: 0, attributes: 3 },
    Kind { vertices: 40, edges: 90, weighted: false, directed: false, labels: 2, attributes: 2 },
    Kind { vertices: 12, edges: 160, weighted: true, directed: false, labels: 1, attributes: 1 },
    Kind { vertices: 7, edges: 0, weighted: false, directed: false, labels: 1, attributes: 1 },
];

fn random_graph(kind: Kind, draw: u64) -> Graph {
    let Kind { vertices, edges, weighted, directed, labels, attributes } = kind;
    let mut stream = Stream::new(draw, "gated test graph", [0, 0]);
    let mut ends = BTreeSet::new();
    for _ in 0..edges {
        let (a, b) = (stream.below(vertices) as u32, stream.below(vertices) as u32);
        ends.insert(if directed { (a, b) } else { (a.min(b), a.max(b)) });
    }
    let (sources, targets): (Vec<u32>, Vec<u32>) = ends.into_iter().unzip();
    let m = sources.len();
    let weights: Vec<f64> = (0..m).map(|_| stream.uniform_in(0.1, 3.0)).collect();
    let edge_labels: Vec<i32> = (0..m * labels).map(|_| stream.below(4) as i32 - 1).collect();
    let edge_attributes: Vec<f64> = (0..m * attributes).map(|_| 3.0 + 2.0 * stream.normal()).collect();
    let vertex_labels: Vec<i32> = (0..2 * vertices).map(|_| stream.below(3) as i32).collect();
    Graph::new(&EdgeList {
        weights: weighted.then_some(&weights),
        directed,
        edge_labels: (labels > 0).then_some((&edge_labels, labels)),
        edge_attributes: (attributes > 0).then_some((&edge_attributes, attributes)),
        vertex_labels: Some((&vertex_labels, 2)),
        ..EdgeList::new(vertices, &sources, &targets)
    })
    .unwrap()
}

fn gated(units: usize) -> ModelConfig {
    ModelConfig {
        units: units.into(),
        spectral_radius: 0.5.into(),
        edge_gate: EdgeGate::Signs,
        lift: false,
        max_iter: 2000,
        ..Default::default()
    }
}

fn inputs_of(batch: &GraphBatch, raw: bool) -> (FeatureMap, Inputs) {
    let options = FeatureOptions { raw, edges: true, ..Default::default() };
    let map = FeatureMap::fit(batch, &options).unwrap();
    let inputs = map.apply(batch).unwrap();
    (map, inputs)
}

/// The gates of all entries by definition: labels by rank, attributes z-scored.
fn plain_gates(graph: GraphRef<'_>, weights: &GateWeights, units: usize) -> Vec<Array1<f64>> {
    let mut gates = vec![Array1::ones(units); graph.num_entries()];
    let mut first = 0;
    if let Some((values, width)) = graph.edge_labels() {
        for column in 0..width {
            let of = |entry: usize| values[entry * width + column];
            let known: BTreeSet<i32> = (0..gates.len()).map(of).collect();
            if known.len() < 2 {
                continue;
            }
            for (entry, gate) in gates.iter_mut().enumerate() {
                let rank = known.iter().position(|&label| label == of(entry)).unwrap();
                *gate *= &weights.labels.row(first + rank);
            }
            first += known.len();
        }
    }
    if let Some((values, width)) = graph.edge_attributes() {
        if weights.frequencies.is_empty() {
            // All attributes are equal, so they add no gates.
            return gates;
        }
        let n = gates.len() as f64;
        let mut angles = vec![weights.phases.clone(); gates.len()];
        for column in 0..width {
            let all = || values.iter().skip(column).step_by(width);
            let mean = all().sum::<f64>() / n;
            let deviation = (all().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
            for (angle, x) in angles.iter_mut().zip(all()) {
                angle.scaled_add((x - mean) / deviation, &weights.frequencies.row(column));
            }
        }
        gates.iter_mut().zip(angles).for_each(|(gate, angle)| *gate *= &angle.mapv(f64::cos));
    }
    gates
}

/// Jacobi's iteration of all blocks of the first stack. Returns states and sweeps of each block.
fn plain_blocks(
    graph: GraphRef<'_>,
    inputs: &Inputs,
    weights: &Weights,
    options: &ModelConfig,
    tol: f64,
) -> Vec<(Array2<f64>, usize)> {
    let a = adjacency(graph, options.normalize);
    let mut x = dense(inputs, graph.num_vertices());
    let mut all = Vec::new();
    for reservoirs in &weights.stacks()[0] {
        let mut sum = Array2::zeros((graph.num_vertices(), reservoirs[0].recurrent.ncols()));
        let mut sweeps = 0;
        for BlockWeights { recurrent, input, gate } in reservoirs {
            let gates = plain_gates(graph, gate, recurrent.ncols());
            let u = x.dot(input);
            let mut h = Array2::<f64>::zeros(u.dim());
            sweeps = 0;
            loop {
                let mut gathered = Array2::zeros(u.dim());
                for ((i, j, _), gate) in graph.entries().zip(&gates) {
                    gathered.row_mut(i).scaled_add(a[(i, j)], &(gate * &h.row(j)));
                }
                let next =
                    (gathered.dot(recurrent) + &u).mapv(f64::tanh) * options.leak + &h * (1.0 - options.leak);
                let change = frobenius(&(&next - &h));
                h = next;
                sweeps += 1;
                if change < tol || sweeps >= options.max_iter {
                    break;
                }
            }
            sum += &h;
        }
        all.push((sum.clone(), sweeps));
        x = sum;
    }
    all
}

fn check(graph: &Graph, options: &ModelConfig, case: &str) {
    let (map, inputs) = inputs_of(graph.as_batch(), false);
    let weights = Weights::random(options, map.shape()).unwrap();
    let (expected, _) = plain_blocks(graph.view(), &inputs, &weights, options, 1e-13).pop().unwrap();
    let (bound, tol) = match options.precision {
        Precision::F32 => (2e-6, 0.0),
        Precision::F64 => (1e-10, 1e-12),
    };
    let options = ModelConfig { tol, ..options.clone() };
    let (found, runs) = solved(graph.as_batch(), &inputs, &weights, &options);
    let error = distance(&found, &expected);
    assert!(error < bound, "{case}, {:?}: off by {error:e}", options.precision);
    assert!(runs.iter().all(|run| run.converged != Convergence::No), "{case}: {runs:?}");
}

#[test]
fn states_equal_the_plain_solution_whatever_edges_carry() {
    for kind in KINDS {
        let graph = random_graph(kind, 1);
        for precision in [Precision::F32, Precision::F64] {
            for solver in [Solver::GaussSeidel, Solver::Jacobi] {
                for (units, lift) in [(17, false), (50, true)] {
                    let options = ModelConfig { precision, solver, lift, ..gated(units) };
                    check(&graph, &options, &format!("{kind:?}, {solver:?}, {units} units"));
                }
            }
        }
    }
}

#[test]
fn states_equal_the_plain_solution_for_every_pattern_gate_and_number_of_units() {
    let graph = random_graph(KINDS[5], 2);
    use Recurrence::*;
    for recurrence in [Dense, Sparse, Ring, Orthogonal, Diagonal] {
        for (units, leak, edge_gate) in [(13, 0.7, EdgeGate::Uniform), (64, 1.0, EdgeGate::Signs)] {
            let options = ModelConfig { recurrence, leak, edge_gate, ..gated(units) };
            check(&graph, &options, &format!("{recurrence:?}, {edge_gate:?}"));
        }
    }
    for units in [1, 3, 8, 16, 33, 100, 136, 256] {
        for precision in [Precision::F32, Precision::F64] {
            check(&graph, &ModelConfig { precision, ..gated(units) }, &format!("{units} units"));
        }
    }
    let arma = ModelConfig { reservoirs: 2, blocks: 3, precision: Precision::F64, ..gated(9) };
    check(&graph, &arma, "ARMA");
}

#[test]
fn gates_that_are_computed_in_every_sweep_are_the_same() {
    // 12,000 lines of 50 units exceed the stored gates, and one vertex has a long row.
    let mut stream = Stream::new(4, "large gated graph", [0, 0]);
    let n = 4000;
    let mut ends: BTreeSet<(u32, u32)> = (1..900).map(|leaf| (0, leaf)).collect();
    while ends.len() < 24_000 {
        let (a, b) = (stream.below(n) as u32, stream.below(n) as u32);
        ends.insert((a.min(b), a.max(b)));
    }
    let (sources, targets): (Vec<u32>, Vec<u32>) = ends.into_iter().unzip();
    let attributes: Vec<f64> = sources.iter().map(|_| stream.normal()).collect();
    let labels: Vec<i32> = sources.iter().map(|_| stream.below(3) as i32).collect();
    let vertex_labels: Vec<i32> = (0..n).map(|_| stream.below(3) as i32).collect();
    let graph = Graph::new(&EdgeList {
        edge_attributes: Some((&attributes, 1)),
        edge_labels: Some((&labels, 1)),
        vertex_labels: Some((&vertex_labels, 1)),
        ..EdgeList::new(n, &sources, &targets)
    })
    .unwrap();
    let (map, inputs) = inputs_of(graph.as_batch(), false);
    for precision in [Precision::F32, Precision::F64] {
        let options =
            ModelConfig { precision, blocks: 1, fixed_sweeps: Some(3), solver: Solver::Jacobi, ..gated(50) };
        let weights = Weights::random(&options, map.shape()).unwrap();
        let gates = plain_gates(graph.view(), &weights.stacks()[0][0][0].gate, 50);
        let BlockWeights { recurrent, input, .. } = &weights.stacks()[0][0][0];
        let u = dense(&inputs, n).dot(input);
        let values = graph.view().normalized_weights();
        let mut h = Array2::<f64>::zeros(u.dim());
        for _ in 0..3 {
            let mut gathered = Array2::zeros(u.dim());
            for (((i, j, _), gate), &value) in graph.view().entries().zip(&gates).zip(&values) {
                gathered.row_mut(i).scaled_add(value, &(gate * &h.row(j)));
            }
            h = (gathered.dot(recurrent) + &u).mapv(f64::tanh);
        }
        let (found, _) = solved(graph.as_batch(), &inputs, &weights, &options);
        let bound = if precision == Precision::F32 { 2e-6 } else { 1e-10 };
        assert!(distance(&found, &h) < bound, "{precision:?}: {:e}", distance(&found, &h));
    }
}

#[test]
fn all_instruction_sets_agree_on_gates() {
    use crate::kernel::{Aligned, Gate, Isa, Real};
    fn check<T: Real>(bound: f64) {
        for (units, width) in [(1, 1), (7, 2), (50, 3), (64, 1), (71, 5)] {
            let mut stream = Stream::new(6, "gates", [units as u64, width as u64]);
            let lines = 37;
            let draw = |stream: &mut Stream, count: usize| -> Vec<f64> {
                (0..count).map(|_| stream.normal()).collect()
            };
            let frequencies: Vec<Vec<f64>> = (0..width).map(|_| draw(&mut stream, units)).collect();
            let (phases, rows) = (draw(&mut stream, units), draw(&mut stream, lines * width));
            let labels: Vec<Vec<f64>> = (0..3).map(|_| draw(&mut stream, units)).collect();
            let kinds: Vec<u32> = (0..lines as u32).map(|line| line % 3).collect();
            let attributes: Vec<T> = rows.iter().map(|&x| T::from_f64(x)).collect();
            for isa in Isa::all() {
                let gate =
                    Gate::<T>::new(units, labels.iter().cloned(), frequencies.iter().cloned(), &phases, isa);
                let mut table = Aligned::default();
                gate.waves(&attributes, &kinds).fill(&mut table);
                let stride = crate::kernel::stride::<T>(units);
                for (line, found) in table.chunks_exact(stride).enumerate() {
                    for unit in 0..units {
                        let angle =
                            (0..width).map(|k| rows[line * width + k] * frequencies[k][unit]).sum::<f64>()
                                + phases[unit];
                        let expected = angle.cos() * labels[line % 3][unit];
                        let error = (found[unit].to_f64() - expected).abs();
                        assert!(error < bound * labels[line % 3][unit].abs().max(1.0), "{isa:?}: {error:e}");
                    }
                }
            }
        }
    }
    check::<f32>(1e-5);
    check::<f64>(1e-14);
    // Angles of any size give gates between -1 and 1.
    for isa in Isa::all() {
        let gate = Gate::<f32>::new(1, std::iter::empty(), [vec![1e6]].into_iter(), &[0.3], isa);
        let attributes = [1e30, -1e30, 1e6, -7.0, 0.0, f32::MAX];
        let mut table = Aligned::default();
        gate.waves(&attributes, &[]).fill(&mut table);
        for line in table.chunks_exact(8) {
            assert!((-1.0..=1.0).contains(&line[0]), "{isa:?}: {}", line[0]);
        }
    }
}

/// Benzene and cyclohexane, ethane, ethene and acetylene as one batch: carbons, and
/// bonds with a label each (1, 2, 3, or 4 for aromatic).
fn hydrocarbons() -> GraphBatch {
    let ring = [0, 1, 2, 3, 4, 5];
    let next = [1, 2, 3, 4, 5, 0];
    let mut builder = BatchBuilder::default();
    for (sources, targets, bond) in [
        (&ring[..], &next[..], 4),
        (&ring[..], &next[..], 1),
        (&[0][..], &[1][..], 1),
        (&[0][..], &[1][..], 2),
        (&[0][..], &[1][..], 3),
    ] {
        let n = sources.len().max(2);
        let (atoms, bonds) = (vec![6; n], vec![bond; sources.len()]);
        let list = EdgeList {
            vertex_labels: Some((&atoms, 1)),
            edge_labels: Some((&bonds, 1)),
            ..EdgeList::new(n, sources, targets)
        };
        builder.push(&list).unwrap();
    }
    builder.finish()
}

#[test]
fn bonds_tell_molecules_apart() {
    let batch = hydrocarbons();
    let vectors = |config: ModelConfig| {
        let model = Model::fit(config, &batch).unwrap();
        model.embed(&batch, |_| std::ops::ControlFlow::Continue(())).unwrap().vectors
    };
    let apart = |vectors: &Array2<f64>, a: usize, b: usize| {
        (&vectors.row(a) - &vectors.row(b)).iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    let pairs = [(0, 1), (2, 3), (2, 4), (3, 4)];
    for config in [ModelConfig::preset(Preset::Accurate), gated(50), ModelConfig { lift: true, ..gated(50) }]
    {
        let vectors = vectors(config);
        for (a, b) in pairs {
            assert!(apart(&vectors, a, b) > 0.1, "{a} and {b}: {}", apart(&vectors, a, b));
        }
    }
    let blind = vectors(ModelConfig { edge_gate: EdgeGate::None, ..gated(50) });
    assert!(pairs.iter().all(|&(a, b)| apart(&blind, a, b) == 0.0));
}

#[test]
fn edges_that_say_nothing_change_no_bit() {
    let graph = random_graph(KINDS[0], 3);
    let bare = graph.as_batch().clone().bare();
    let labelled = |label: i32| {
        let view = graph.view();
        let (sources, targets): (Vec<u32>, Vec<u32>) =
            view.entries().map(|(i, j, _)| (i as u32, j as u32)).unzip();
        let (labels, ones) = (vec![label; sources.len()], vec![0.5; sources.len()]);
        let list = EdgeList {
            edge_labels: Some((&labels, 1)),
            edge_attributes: Some((&ones, 1)),
            ..EdgeList::new(view.num_vertices(), &sources, &targets)
        };
        Graph::new(&list).unwrap().into_batch()
    };
    let config = ModelConfig { lift: true, ..gated(50) };
    let embed = |model: &Model, batch: &GraphBatch| {
        model.embed(batch, |_| std::ops::ControlFlow::Continue(())).unwrap().vectors
    };
    let plain = ModelConfig { edge_gate: EdgeGate::None, ..config.clone() };
    let expected = embed(&Model::fit(plain, &bare).unwrap(), &bare);
    let nothing = Model::fit(config.clone(), &bare).unwrap();
    assert_eq!(embed(&nothing, &bare), expected);
    let constant = Model::fit(config, &labelled(7)).unwrap();
    assert_eq!(embed(&constant, &labelled(7)), expected, "one label says nothing");
    assert!(constant.embed(&bare, |_| std::ops::ControlFlow::Continue(())).is_err());
}

#[test]
fn unknown_labels_let_states_pass_and_are_counted() {
    let (train, test) = (hydrocarbons().select(&[1, 3]), hydrocarbons().select(&[1, 4]));
    let model = Model::fit(ModelConfig { ..gated(20) }, &train).unwrap();
    let go = |_| std::ops::ControlFlow::Continue(());
    let vectors = model.embed(&test, go).unwrap().vectors;
    assert_eq!(model.features.edges().unknown_labels(&test), 1, "a triple bond");
    assert_eq!(model.features.edges().unknown_labels(&train), 0);
    let plain = ModelConfig { edge_gate: EdgeGate::None, ..gated(20) };
    let ungated = Model::fit(plain, &train).unwrap().embed(&test, go).unwrap().vectors;
    assert_eq!(vectors.row(1), ungated.row(1));
    assert_ne!(vectors.row(0), ungated.row(0));
}

#[test]
fn one_hot_attributes_of_edges_are_labels() {
    let batch = hydrocarbons();
    let labels = batch.edge_labels().unwrap().values.clone();
    let one_hot: Vec<f64> =
        labels.iter().flat_map(|&bond| (1..5).map(move |k| f64::from(u8::from(k == bond)))).collect();
    let mut builder = BatchBuilder::default();
    let mut first = 0;
    for graph in batch.iter() {
        let (sources, targets): (Vec<u32>, Vec<u32>) =
            graph.entries().map(|(i, j, _)| (i as u32, j as u32)).unzip();
        let rows = &one_hot[4 * first..4 * (first + sources.len())];
        first += sources.len();
        let list = EdgeList {
            vertex_labels: graph.vertex_labels(),
            edge_attributes: Some((rows, 4)),
            ..EdgeList::new(graph.num_vertices(), &sources, &targets)
        };
        builder.push(&list).unwrap();
    }
    let disguised = builder.finish();
    let embed = |batch: &GraphBatch| {
        let model = Model::fit(gated(30), batch).unwrap();
        model.embed(batch, |_| std::ops::ControlFlow::Continue(())).unwrap().vectors
    };
    assert_eq!(embed(&disguised), embed(&batch));
}

#[test]
fn gates_act_on_the_graphs_alone_and_are_saved() {
    let batch = hydrocarbons();
    let config = ModelConfig { pool: Pool::Graclus, blocks: 3, ..gated(12) };
    let model = Model::fit(config.clone(), &batch).unwrap();
    let go = |_: usize| std::ops::ControlFlow::Continue(());
    let expected = model.embed(&batch, go).unwrap().vectors;
    // The gates of later blocks have no effect, because these blocks run on pooled graphs.
    let mut stacks = model.weights.stacks().to_vec();
    for block in &mut stacks[0][1..] {
        block[0].gate.labels.fill(0.25);
    }
    let changed =
        Model::with_weights(config, model.features.clone(), Weights::from_stacks(stacks).unwrap()).unwrap();
    assert_eq!(changed.embed(&batch, go).unwrap().vectors, expected);
    for kind in KINDS {
        let graph = random_graph(kind, 8);
        let model = Model::fit(gated(10), graph.as_batch()).unwrap();
        let bytes = model.to_bytes().unwrap();
        let again = crate::model::Saved::from_bytes(&bytes).unwrap().into_model();
        assert_eq!(again, model);
    }
    let mut wrong = model.weights.stacks().to_vec();
    wrong[0][0][0].gate.labels[(0, 0)] = 1.5;
    assert!(
        Weights::from_stacks(wrong).unwrap_err().to_string().starts_with("gates of labels: expected -1 to 1")
    );
}

#[test]
fn named_attributes_and_edges_go_together() {
    let graph = random_graph(KINDS[5], 9);
    let attributes = Attributes { width: 1, values: (0..40).map(f64::from).collect(), names: None };
    let batch = graph.as_batch().clone().with_vertex_attributes(attributes).unwrap();
    let model = Model::fit(gated(10), &batch).unwrap();
    assert_eq!(model.features.shape(), model.weights.inputs());
}

#[test]
fn no_graph_depends_on_its_company() {
    // Kinds of edges occur in a different order in every graph, and some graphs have no edges.
    for (labels, attributes) in [(1, 0), (2, 0), (0, 1), (1, 1)] {
        let mut builder = BatchBuilder::default();
        for draw in 0..30 {
            let kind = Kind { vertices: 20, edges: 22, weighted: false, directed: false, labels, attributes };
            let graph = random_graph(Kind { edges: if draw % 7 == 3 { 0 } else { 22 }, ..kind }, draw);
            let view = graph.view();
            let (sources, targets): (Vec<u32>, Vec<u32>) =
                view.entries().map(|(i, j, _)| (i as u32, j as u32)).unzip();
            // All vertices are equal, so that graphs are lifted.
            let list = EdgeList {
                edge_labels: view.edge_labels(),
                edge_attributes: view.edge_attributes(),
                ..EdgeList::new(20, &sources, &targets)
            };
            builder.push(&list).unwrap();
        }
        let batch = builder.finish();
        for solver in [Solver::GaussSeidel, Solver::Jacobi] {
            let config = ModelConfig { lift: true, solver, fixed_sweeps: Some(3), ..gated(12) };
            let model = Model::fit(config, &batch).unwrap();
            let go = |_: usize| std::ops::ControlFlow::Continue(());
            let together = model.embed(&batch, go).unwrap().vectors;
            for graph in 0..batch.len() {
                let alone = model.embed(&batch.select(&[graph]), go).unwrap().vectors;
                assert_eq!(alone.row(0), together.row(graph), "graph {graph}, {labels} labels, {solver:?}");
            }
        }
    }
}

#[test]
fn parts_without_edges_stand_beside_others() {
    // Enough vertices for a part of its own.
    let lone =
        Graph::new(&EdgeList { vertex_labels: Some((&[0; 3000], 1)), ..EdgeList::new(3000, &[], &[]) });
    let path = Graph::new(&EdgeList {
        vertex_labels: Some((&[0, 1, 0], 1)),
        edge_attributes: Some((&[1.0, 2.0], 1)),
        ..EdgeList::new(3, &[0, 1], &[1, 2])
    });
    let (lone, path) = (lone.unwrap(), path.unwrap());
    let model = Model::fit(gated(10), path.as_batch()).unwrap();
    let mut both = lone.as_batch().clone();
    both.append(path.as_batch()).unwrap();
    let go = |_: usize| std::ops::ControlFlow::Continue(());
    let together = model.embed(&both, go).unwrap().vectors;
    assert_eq!(together.row(0), model.embed(lone.as_batch(), go).unwrap().vectors.row(0));
    assert_eq!(together.row(1), model.embed(path.as_batch(), go).unwrap().vectors.row(0));
}

#[test]
fn one_hot_attributes_follow_the_rules_of_labels() {
    let ring = |rows: &[f64]| {
        let list = EdgeList { edge_attributes: Some((rows, 3)), ..EdgeList::new(3, &[0, 1, 2], &[1, 2, 0]) };
        Graph::new(&list).unwrap().into_batch()
    };
    let embed = |model: &Model, batch: &GraphBatch| {
        model.embed(batch, |_| std::ops::ControlFlow::Continue(())).unwrap().vectors
    };
    let (first, mixed) = ([1.0, 0.0, 0.0].repeat(3), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    let constant = ring(&first);
    let plain = Model::fit(gated(10), &constant.clone().bare()).unwrap();
    let same = Model::fit(gated(10), &constant).unwrap();
    assert_eq!(embed(&same, &constant), embed(&plain, &constant.clone().bare()), "always the same");
    let model = Model::fit(gated(10), &ring(&mixed)).unwrap();
    assert_eq!(model.features.edges().num_labels(), 2);
    for unseen in [[0.0, 0.0, 1.0].repeat(3), [0.5, 0.5, 0.0].repeat(3)] {
        let batch = ring(&unseen);
        assert_eq!(model.features.edges().unknown_labels(&batch), 3);
        assert_eq!(embed(&model, &batch), embed(&plain, &batch.bare()));
    }
}

fn cases() -> impl Strategy<Value = (Kind, u64)> {
    (1usize..14, 0usize..40, any::<bool>(), any::<bool>(), 0usize..3, 0usize..3, any::<u64>()).prop_map(
        |(vertices, edges, weighted, directed, labels, attributes, draw)| {
            (Kind { vertices, edges, weighted, directed, labels, attributes }, draw)
        },
    )
}

proptest! {
    #[test]
    fn jacobi_stays_within_the_bound_with_gates((kind, draw) in cases(), norm in 0.05..0.95f64) {
        let graph = random_graph(kind, draw);
        let options = ModelConfig {
            solver: Solver::Jacobi,
            precision: Precision::F64,
            scaling: Scaling::Norm,
            spectral_radius: norm.into(),
            tol: 1e-7,
            blocks: 1,
            seed: draw,
            ..gated(6)
        };
        let (map, inputs) = inputs_of(graph.as_batch(), false);
        let weights = Weights::random(&options, map.shape()).unwrap();
        let BlockWeights { recurrent, input, gate } = &weights.stacks()[0][0][0];
        let size = theory::RecurrentSize::of(recurrent.view()).unwrap();
        let stability = theory::stability(graph.view(), true, size, true).unwrap();
        prop_assert!(stability.sufficient && stability.necessary.is_none());
        let (found, runs) = solved(graph.as_batch(), &inputs, &weights, &options);
        let first = runs[(0, 0)].first_change;
        let sweeps = theory::sweeps_bound(stability.contraction, options.tol, first).unwrap();
        prop_assert!(u64::from(runs[(0, 0)].sweeps) <= sweeps + 1, "{:?} {}", runs, sweeps);
        // The distance bound holds for the states, with gates in the residual.
        let u = dense(&inputs, graph.view().num_vertices()).dot(input);
        let edges = inputs.edges();
        let gate_of = |entry: usize| {
            (!edges.is_empty()).then(|| gate.gate(edges.labels(entry), edges.attributes(entry), 6))
        };
        let residual = theory::residual(graph.view(), true, recurrent.view(), u.view(), found.view(), gate_of);
        let bound = theory::distance_bound(stability.contraction, residual).unwrap();
        let (exact, _) = plain_blocks(graph.view(), &inputs, &weights, &options, 1e-14).pop().unwrap();
        prop_assert!(frobenius(&(&found - &exact)) <= bound + 1e-11);
    }

    #[test]
    fn lifting_and_renaming_change_no_state((kind, draw) in cases()) {
        // Few distinct edges, so that vertices are equivalent.
        let graph = random_graph(Kind { attributes: 0, ..kind }, draw);
        let options = ModelConfig {
            solver: Solver::Jacobi, precision: Precision::F64, tol: 1e-12, blocks: 2, ..gated(6)
        };
        let (map, inputs) = inputs_of(graph.as_batch(), false);
        let weights = Weights::random(&options, map.shape()).unwrap();
        let (expected, _) = solved(graph.as_batch(), &inputs, &weights, &options);
        let lifted = ModelConfig { lift: true, ..options.clone() };
        let (found, _) = solved(graph.as_batch(), &inputs, &weights, &lifted);
        prop_assert!(distance(&found, &expected) < 1e-10);
        let names = Stream::new(draw, "names", [0, 0]).permutation(kind.vertices);
        let renamed = graph.view().permuted(&names).unwrap();
        let moved = map.apply(renamed.as_batch()).unwrap();
        for options in [options, lifted] {
            let (found, _) = solved(renamed.as_batch(), &moved, &weights, &options);
            for (v, &name) in names.iter().enumerate() {
                let apart = (&found.row(name) - &expected.row(v)).iter().fold(0.0f64, |a, x| a.max(x.abs()));
                prop_assert!(apart < 1e-10, "vertex {}: {:e}", v, apart);
            }
        }
    }

    #[test]
    fn copies_of_gated_graphs_are_lifted((kind, draw) in cases(), copies in 2usize..4) {
        // Copies side by side are equivalent, whatever labels and attributes the edges have.
        let one = random_graph(kind, draw);
        let view = one.view();
        let (n, m) = (view.num_vertices(), view.num_entries());
        let all = 0..copies;
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for copy in all.clone() {
            for (i, j, w) in view.entries() {
                sources.push((i + copy * n) as u32);
                targets.push((j + copy * n) as u32);
                weights.push(w);
            }
        }
        let labels = view.edge_labels().map(|(l, w)| (l.repeat(copies), w));
        let attributes = view.edge_attributes().map(|(a, w)| (a.repeat(copies), w));
        let vertex_labels = view.vertex_labels().unwrap().0.repeat(copies);
        let graph = Graph::new(&EdgeList {
            weights: view.weights().map(|_| weights.as_slice()),
            directed: view.is_directed(),
            edge_labels: labels.as_ref().map(|(l, w)| (l.as_slice(), *w)),
            edge_attributes: attributes.as_ref().map(|(a, w)| (a.as_slice(), *w)),
            vertex_labels: Some((&vertex_labels, 2)),
            ..EdgeList::new(n * copies, &sources, &targets)
        })
        .unwrap();
        let (map, inputs) = inputs_of(graph.as_batch(), false);
        let options = ModelConfig { lift: true, precision: Precision::F64, tol: 1e-12, ..gated(5) };
        let weights = Weights::random(&options, map.shape()).unwrap();
        let prepared = Prepared::new(graph.as_batch(), &inputs, &options).unwrap();
        prop_assert!(prepared.num_rows(0) <= n, "{} rows of {} vertices", prepared.num_rows(0), n);
        prop_assert!(prepared.num_entries(0) <= m);
        let (found, _) = solved(graph.as_batch(), &inputs, &weights, &options);
        let whole = ModelConfig { lift: false, ..options };
        let (expected, _) = solved(graph.as_batch(), &inputs, &weights, &whole);
        prop_assert!(distance(&found, &expected) < 1e-10);
    }
}
