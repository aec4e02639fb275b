//! Counts the instructions of the sweep and of colour refinement with callgrind: the same on a busy
//! and on an idle machine.

use std::hint::black_box;
use std::ops::ControlFlow::Continue;

use gungraun::{library_benchmark, library_benchmark_group, main};
use stepwell::features::{FeatureMap, FeatureOptions};
use stepwell::graph::{EdgeList, Graph};
use stepwell::lift::Refiner;
use stepwell::config::{ModelConfig, Recurrence};
use stepwell::reservoir::{Prepared, Weights, embed};
use stepwell::rng::Stream;

/// 300 vertices, each joined to three random ones; with `labels` colours.
fn graph(labels: usize) -> Graph {
    let mut stream = Stream::new(0, "instructions", [labels as u64, 0]);
    let sources: Vec<u32> = (0..900).map(|edge| edge / 3).collect();
    let targets: Vec<u32> = sources.iter().map(|_| stream.below(300) as u32).collect();
    let labels: Vec<i32> = (0..300).map(|_| stream.below(labels) as i32).collect();
    let edges = EdgeList { vertex_labels: Some((&labels, 1)), ..EdgeList::new(300, &sources, &targets) };
    Graph::new(&edges).expect("a valid graph")
}

struct Model {
    prepared: Prepared,
    weights: Weights,
    options: ModelConfig,
}

fn model(units: usize, recurrence: Recurrence) -> Model {
    let graph = graph(5);
    let options = ModelConfig {
        blocks: 1,
        units: units.into(),
        recurrence,
        fixed_sweeps: Some(10),
        lift: false,
        ..ModelConfig::default()
    };
    let map = FeatureMap::fit(graph.as_batch(), &FeatureOptions::default()).expect("features");
    let inputs = map.apply(graph.as_batch()).expect("features");
    let weights = Weights::random(&options, inputs.width()).expect("weights");
    let prepared = Prepared::new(graph.as_batch(), &inputs, &options).expect("a valid graph");
    Model { prepared, weights, options }
}

// Ten sweeps over 300 vertices.
#[library_benchmark]
#[bench::dense_50(model(50, Recurrence::Dense))]
#[bench::dense_64(model(64, Recurrence::Dense))]
#[bench::dense_100(model(100, Recurrence::Dense))]
#[bench::ring_50(model(50, Recurrence::Ring))]
fn sweeps(model: Model) -> f64 {
    let Model { prepared, weights, options } = &model;
    let embedding = embed(weights, prepared, options, |_| Continue(())).expect("an embedding");
    black_box(embedding.vectors.sum())
}

// Refinement of 300 vertices and 1800 entries: with few colours to the end, with many until it is
// clear that lifting saves nothing.
#[library_benchmark]
#[bench::one_colour((graph(1), 1))]
#[bench::five_colours((graph(5), 5))]
fn refinement((graph, labels): (Graph, u64)) -> usize {
    let view = graph.view();
    let (kinds, _) = view.vertex_labels().expect("vertices have labels");
    let seeds: Vec<u64> = kinds.iter().map(|&label| label as u64 % labels).collect();
    let values = view.normalized_weights();
    black_box(Refiner::default().quotient(view, &seeds, None, &values).map_or(0, |quotient| quotient.sizes.len()))
}

library_benchmark_group!(name = engine, benchmarks = [sweeps, refinement]);

main!(library_benchmark_groups = engine);
