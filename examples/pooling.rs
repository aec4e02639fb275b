//! Use your own pooling: leaves join the vertex they hang on.
//!
//! `cargo run --release -p stepwell-data --example pooling`

use std::error::Error;
use std::ops::ControlFlow::Continue;

use stepwell::config::ModelConfig;
use stepwell::graph::{EdgeList, Graph, GraphRef};
use stepwell::model::Model;
use stepwell::pool::{Assignment, Notes, Pooled};
use stepwell::pyramid::coarsen;
use stepwell_data::catalog::Catalog;

fn leaves(graph: GraphRef<'_>, _level: usize) -> stepwell::Result<Pooled> {
    let fine = graph.num_vertices();
    let joins = |v: usize| match graph.neighbours(v) {
        &[u] if graph.neighbours(u as usize).len() > 1 => u as usize,
        _ => v,
    };
    let stay: Vec<usize> = (0..fine).filter(|&v| joins(v) == v).collect();
    let cluster: Vec<u32> = (0..fine).map(|v| stay.partition_point(|&u| u < joins(v)) as u32).collect();
    let edges = graph.entries().filter(|&(i, j, _)| i <= j && joins(i) == i && joins(j) == j);
    let (from, to): (Vec<u32>, Vec<u32>) = edges.map(|(i, j, _)| (cluster[i], cluster[j])).unzip();
    // S has one entry per row: the states of a cluster add up.
    let assignment = Assignment::new(stay.len(), (0..=fine).collect(), cluster, vec![1.0; fine])?;
    let graph = Graph::new(&EdgeList::new(stay.len(), &from, &to))?;
    Ok(Pooled { assignment, graph, kept: None, notes: Notes::default() })
}

fn main() -> Result<(), Box<dyn Error>> {
    let data = Catalog::from_environment(None).load("barabasi-albert:1000:1", 0, &mut |_| Continue(()))?;
    let pyramid = coarsen(&data.graphs, 1, leaves, |_| Continue(()))?;
    println!("{} vertices, then {}", data.graphs.num_vertices(), pyramid.levels[0].graphs.num_vertices());
    let model = Model::fit(ModelConfig::default(), &data.graphs)?;
    let prepared = model.prepare(&data.graphs, &pyramid, || Continue(()))?;
    println!("vectors: {:?}", model.embed_prepared(&prepared, None, |_| Continue(()))?.vectors.dim());
    Ok(())
}
