//! Compute embeddings and use them in your own code: here, the nearest graph.
//!
//! `cargo run --release -p stepwell-data --example embeddings`

use std::error::Error;
use std::ops::ControlFlow::Continue;

use stepwell::config::{ModelConfig, Preset};
use stepwell::model::Model;
use stepwell_data::catalog::Catalog;

fn main() -> Result<(), Box<dyn Error>> {
    let data = Catalog::from_environment(None).load("b-easy-small", 0, &mut |_| Continue(()))?;
    let config = ModelConfig { landmarks: 0, ..ModelConfig::preset(Preset::Accurate) };
    let model = Model::fit(config, &data.graphs)?;
    let vectors = model.embed(&data.graphs, |_| Continue(()))?.vectors; // an ndarray: graphs × numbers
    println!("{:?}", vectors.dim());

    let query = vectors.row(0);
    let similarity = |other: usize| {
        let other = vectors.row(other);
        query.dot(&other) / (query.dot(&query) * other.dot(&other)).sqrt()
    };
    let nearest = (1..data.len()).max_by(|&a, &b| similarity(a).total_cmp(&similarity(b)));
    if let Some(nearest) = nearest {
        println!("graph {} is nearest to graph {}", data.id(nearest), data.id(0));
    }
    Ok(())
}
