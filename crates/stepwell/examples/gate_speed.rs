//! Measures the cost of gates: alternates the same sweeps with and without gates, on one thread.
//!
//! `cargo run --release -p stepwell --example gate_speed [-- EDGES]`
//!
//! First 500 graphs like those of NCI1 (30 vertices, 33 edges), with four edge labels, with two
//! attributes, or with both. Then one graph of a million edges (or EDGES) with one attribute per
//! edge, and the memory that its sweeps need in addition to the graph.

use std::ops::ControlFlow::Continue;
use std::time::Instant;

use stepwell::config::{EdgeGate, ModelConfig, Solver};
use stepwell::features::{FeatureMap, FeatureOptions};
use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};
use stepwell::reservoir::{Prepared, Weights, embed};
use stepwell::rng::Stream;

#[derive(Clone, Copy)]
struct Kind {
    labels: usize,
    attributes: usize,
}

fn graphs(count: usize, vertices: usize, edges: usize, kind: Kind) -> GraphBatch {
    let mut stream = Stream::new(0, "gate speed", [0, 0]);
    let mut builder = BatchBuilder::default();
    for _ in 0..count {
        let mut ends = std::collections::BTreeSet::new();
        // A tree, plus some edges.
        (1..vertices as u32).for_each(|v| {
            ends.insert((stream.below(v as usize) as u32, v));
        });
        while ends.len() < edges {
            let (a, b) = (stream.below(vertices) as u32, stream.below(vertices) as u32);
            ends.insert((a.min(b), a.max(b)));
        }
        let (sources, targets): (Vec<u32>, Vec<u32>) = ends.into_iter().unzip();
        let labels: Vec<i32> = sources.iter().map(|_| stream.below(kind.labels.max(1)) as i32).collect();
        let attributes: Vec<f64> = (0..edges * kind.attributes).map(|_| stream.normal()).collect();
        let vertex_labels: Vec<i32> = (0..vertices).map(|_| stream.below(20) as i32).collect();
        let list = EdgeList {
            vertex_labels: Some((&vertex_labels, 1)),
            edge_labels: (kind.labels > 0).then_some((&labels, 1)),
            edge_attributes: (kind.attributes > 0).then_some((&attributes, kind.attributes)),
            ..EdgeList::new(vertices, &sources, &targets)
        };
        builder.push(&list).expect("a valid graph");
    }
    builder.finish()
}

struct Case {
    prepared: Prepared,
    weights: Weights,
    options: ModelConfig,
}

impl Case {
    fn new(graphs: &GraphBatch, edge_gate: EdgeGate, solver: Solver, units: usize) -> Self {
        let options = ModelConfig {
            blocks: 1,
            units: units.into(),
            fixed_sweeps: Some(20),
            lift: false,
            edge_gate,
            solver,
            ..Default::default()
        };
        let features = FeatureOptions { edges: edge_gate != EdgeGate::None, ..Default::default() };
        let map = FeatureMap::fit(graphs, &features).expect("features");
        let inputs = map.apply(graphs).expect("features");
        let weights = Weights::random(&options, map.shape()).expect("valid options");
        let prepared = Prepared::new(graphs, &inputs, &options).expect("valid graphs");
        Self { prepared, weights, options }
    }

    fn seconds(&self) -> f64 {
        let start = Instant::now();
        embed(&self.weights, &self.prepared, &self.options, |_| Continue(())).expect("embeds");
        start.elapsed().as_secs_f64()
    }
}

/// The median, over turns, of the gated time divided by the plain time, and the plain time of that
/// turn.
fn compare(graphs: &GraphBatch, solver: Solver, units: usize, turns: usize) -> (f64, f64) {
    let plain = Case::new(graphs, EdgeGate::None, solver, units);
    let gated = Case::new(graphs, EdgeGate::Signs, solver, units);
    let mut ratios: Vec<(f64, f64)> = (0..turns)
        .map(|_| {
            let plain = plain.seconds();
            (gated.seconds() / plain, plain)
        })
        .collect();
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    ratios[turns / 2]
}

/// The peak memory of this process in MB, if the system reports it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

fn main() {
    let edges: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    println!("instructions: {}", stepwell::instruction_set());
    println!("what edges carry                       solver       units  gated/plain");
    pool.install(|| {
        for (what, kind) in [
            ("4 labels", Kind { labels: 4, attributes: 0 }),
            ("2 attributes", Kind { labels: 0, attributes: 2 }),
            ("4 labels and 2 attributes", Kind { labels: 4, attributes: 2 }),
        ] {
            let graphs = graphs(500, 30, 33, kind);
            for solver in [Solver::GaussSeidel, Solver::Jacobi] {
                for units in [50, 100] {
                    let (ratio, _) = compare(&graphs, solver, units, 21);
                    println!("{what:<37}  {:<11}  {units:>5}  {ratio:>10.2}", format!("{solver:?}"));
                }
            }
        }
        let large = graphs(1, edges / 4, edges, Kind { labels: 0, attributes: 1 });
        let case = Case::new(&large, EdgeGate::Signs, Solver::GaussSeidel, 50);
        let before = peak_memory();
        let seconds = case.seconds();
        let plain = Case::new(&large, EdgeGate::None, Solver::GaussSeidel, 50).seconds();
        println!(
            "{:<37}  GaussSeidel     50  {:>10.2}",
            format!("1 attribute, {edges} edges"),
            seconds / plain
        );
        if let (Some(before), Some(after)) = (before, peak_memory()) {
            let table = (2 * edges * 56 * 4) as f64 / 1e6;
            println!(
                "memory of the sweeps beside the graph: {:.0} MB (a gate per entry would be {table:.0} MB)",
                after - before
            );
        }
    });
}
