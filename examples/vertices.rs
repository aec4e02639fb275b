//! Predict the class of every vertex from some known ones.
//!
//! `cargo run --release -p stepwell-data --example vertices`

use std::error::Error;
use std::ops::ControlFlow::Continue;

use stepwell::config::{ModelConfig, Preset};
use stepwell::graph::{EdgeList, Graph};
use stepwell::model::TrainedModel;
use stepwell::targets::{Labels, Targets};

fn main() -> Result<(), Box<dyn Error>> {
    // Twenty stars of four vertices; their centres form a ring.
    let (stars, size) = (20u32, 4u32);
    let leaves = (0..stars).flat_map(|star| (1..size).map(move |leaf| (star * size, star * size + leaf)));
    let ring = (0..stars).map(|star| (star * size, (star + 1) % stars * size));
    let (from, to): (Vec<u32>, Vec<u32>) = leaves.chain(ring).unzip();
    let graph = Graph::new(&EdgeList::new((stars * size) as usize, &from, &to))?;
    let role = |vertex: usize| if vertex % size as usize == 0 { "centre" } else { "leaf" };

    // The roles of the first five stars are known.
    let known: Vec<usize> = (0..5 * size as usize).collect();
    let targets = Targets::Classes(known.iter().map(|&vertex| role(vertex)).collect());
    let config = ModelConfig::preset(Preset::Vertices);
    let model = TrainedModel::train_vertices(&config, graph.as_batch(), &known, &targets, |_| Continue(()))?;

    let predicted = model.predict(graph.as_batch(), |_| Continue(()))?.classes;
    let names = model.classes.select(&predicted);
    let truth: Labels = (0..names.len()).map(role).collect();
    let right = (0..names.len()).filter(|&vertex| names.select(&[vertex]) == truth.select(&[vertex]));
    println!("{} of {} roles are right", right.count(), names.len());
    Ok(())
}
