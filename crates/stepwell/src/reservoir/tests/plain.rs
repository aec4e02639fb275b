//! A plain implementation of the equations in f64, as the reference for all tests.

use ndarray::Array2;

use crate::config::ModelConfig;
use crate::features::{FeatureMap, FeatureOptions, Inputs};
use crate::graph::{EdgeList, Graph, GraphBatch, GraphRef};
use crate::reservoir::{Prepared, Run, Weights, states};
use crate::rng::Stream;

/// `Ã` (or `A`) as a dense matrix, from the formula.
pub fn adjacency(graph: GraphRef<'_>, normalize: bool) -> Array2<f64> {
    let n = graph.num_vertices();
    let mut a = Array2::zeros((n, n));
    graph.entries().for_each(|(i, j, w)| a[(i, j)] = w);
    if normalize {
        let (out, into) = (a.sum_axis(ndarray::Axis(1)), a.sum_axis(ndarray::Axis(0)));
        for ((i, j), value) in a.indexed_iter_mut() {
            if *value != 0.0 {
                *value /= (out[i] * into[j]).sqrt();
            }
        }
    }
    a
}

/// `X` as a dense matrix.
pub fn dense(inputs: &Inputs, n: usize) -> Array2<f64> {
    let mut x = Array2::zeros((n, inputs.width()));
    for v in 0..n {
        for c in 0..inputs.dense_width() {
            x[(v, c)] = inputs.dense_row(v)[c];
        }
        for &column in inputs.one_hot_row(v).iter().filter(|c| **c != Inputs::NO_COLUMN) {
            x[(v, inputs.dense_width() + column as usize)] = 1.0;
        }
    }
    x
}

/// One sweep.
pub fn apply(a: &Array2<f64>, h: &Array2<f64>, w: &Array2<f64>, u: &Array2<f64>, leak: f64) -> Array2<f64> {
    (a.dot(h).dot(w) + u).mapv(f64::tanh) * leak + h * (1.0 - leak)
}

pub fn frobenius(h: &Array2<f64>) -> f64 {
    h.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Jacobi's iteration from zero until the change without the leak is small. Returns the states and
/// the number of sweeps.
pub fn fixed_point(
    a: &Array2<f64>,
    w: &Array2<f64>,
    u: &Array2<f64>,
    leak: f64,
    tol: f64,
    max_iter: usize,
) -> (Array2<f64>, usize) {
    let mut h = Array2::zeros(u.dim());
    for sweep in 1..=max_iter {
        let next = apply(a, &h, w, u, leak);
        let change = frobenius(&(&next - &h)) / leak;
        h = next;
        if change < tol {
            return (h, sweep);
        }
    }
    (h, max_iter)
}

/// Computes all blocks of the first stack. Returns states and sweeps of each block.
pub fn blocks(
    graph: &Graph,
    inputs: &Inputs,
    weights: &Weights,
    options: &ModelConfig,
) -> Vec<(Array2<f64>, usize)> {
    let a = adjacency(graph.view(), options.normalize);
    let mut x = dense(inputs, graph.view().num_vertices());
    let mut all = Vec::new();
    for reservoirs in &weights.stacks()[0] {
        let block = &reservoirs[0];
        let u = x.dot(&block.input);
        let sweeps = options.fixed_sweeps.unwrap_or(options.max_iter);
        let tol = if options.fixed_sweeps.is_some() { 0.0 } else { options.tol };
        let (h, sweeps) = fixed_point(&a, &block.recurrent, &u, options.leak, tol, sweeps);
        all.push((h.clone(), sweeps));
        x = h;
    }
    all
}

/// The states of the last block and the runs, as computed by the library.
pub fn solved(
    batch: &GraphBatch,
    inputs: &Inputs,
    weights: &Weights,
    options: &ModelConfig,
) -> (Array2<f64>, Array2<Run>) {
    let prepared = Prepared::new(batch, inputs, options).unwrap();
    let (mut tables, runs) =
        states(weights, &prepared, options, |_| std::ops::ControlFlow::Continue(())).unwrap();
    (tables.pop().unwrap(), runs)
}

/// `‖found - expected‖_F / ‖expected‖_F`.
pub fn distance(found: &Array2<f64>, expected: &Array2<f64>) -> f64 {
    frobenius(&(found - expected)) / frobenius(expected).max(f64::MIN_POSITIVE)
}

/// The labels or attributes of vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Carries {
    Labels,
    Attributes,
    Both,
}

/// Graphs of every kind that the model accepts, with their inputs.
pub fn graphs(carried: Carries) -> Vec<(&'static str, Graph, Inputs)> {
    let mut stream = Stream::new(5, "test graphs", [0, 0]);
    let ends = |stream: &mut Stream, n: usize, m: usize| -> Vec<u32> {
        (0..m).map(|_| stream.below(n) as u32).collect()
    };
    let mut made = Vec::new();
    for (name, n, m, weighted, directed) in [
        ("random", 40, 90, false, false),
        ("weighted", 31, 70, true, false),
        ("directed", 29, 80, false, true),
        ("weighted and directed", 23, 60, true, true),
        ("disconnected, with isolated vertices", 50, 20, false, false),
        ("without edges", 7, 0, false, false),
        ("one vertex", 1, 0, false, false),
        ("one vertex with a loop", 1, 1, false, false),
        ("large enough for many tiles", 301, 900, true, false),
    ] {
        let (mut sources, mut targets) = (ends(&mut stream, n, m), ends(&mut stream, n, m));
        let weights: Vec<f64> = (0..m).map(|_| stream.uniform_in(0.1, 3.0)).collect();
        if !directed {
            // List each edge in one direction only, because both directions must have the same
            // weight.
            sources
                .iter_mut()
                .zip(&mut targets)
                .filter(|(s, t)| s > t)
                .for_each(|(s, t)| std::mem::swap(s, t));
        }
        let labels: Vec<i32> = (0..n).map(|_| stream.below(4) as i32).collect();
        let attributes: Vec<f64> = (0..3 * n).map(|_| stream.normal()).collect();
        let graph = Graph::new(&EdgeList {
            weights: weighted.then_some(weights.as_slice()),
            directed,
            vertex_labels: (carried != Carries::Attributes).then_some((labels.as_slice(), 1)),
            vertex_attributes: (carried != Carries::Labels).then_some((attributes.as_slice(), 3)),
            ..EdgeList::new(n, &sources, &targets)
        })
        .unwrap();
        let inputs = inputs(&graph);
        made.push((name, graph, inputs));
    }
    made
}

/// A graph's raw inputs.
pub fn inputs(graph: &Graph) -> Inputs {
    let raw = FeatureOptions { raw: true, ..Default::default() };
    FeatureMap::fit(graph.as_batch(), &raw).unwrap().apply(graph.as_batch()).unwrap()
}
