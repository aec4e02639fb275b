//! Classify graphs of a dataset: train on one part, score another.
//!
//! `cargo run --release -p stepwell-data --example classify [-- DATASET]`

use std::error::Error;
use std::ops::ControlFlow::Continue;

use stepwell::config::{ModelConfig, Preset};
use stepwell::model::TrainedModel;
use stepwell::targets::Targets;
use stepwell_data::catalog::Catalog;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "b-easy-small".into());
    let data = Catalog::from_environment(None).load(&name, 0, &mut |_| Continue(()))?;
    println!("{name}: {} graphs", data.len());

    // Every fourth graph is held out.
    let (test, train): (Vec<usize>, Vec<usize>) = (0..data.len()).partition(|graph| graph % 4 == 0);
    let (train, test) = (data.select(&train), data.select(&test));
    let config = ModelConfig::preset(Preset::Accurate);
    let model = TrainedModel::train(&config, &train.graphs, &train.targets, |_| Continue(()))?;

    let predictions = model.predict(&test.graphs, |_| Continue(()))?;
    let probabilities = model.probabilities(predictions.decisions.view())?;
    let predicted = Targets::Classes(model.classes.select(&predictions.classes));
    let right = (0..test.len()).filter(|&graph| predicted.select(&[graph]) == test.targets.select(&[graph]));
    println!("test accuracy {:.3}", right.count() as f64 / test.len() as f64);
    println!("probabilities of the first test graph: {:.2}", probabilities.row(0));
    Ok(())
}
