//! From atoms and bonds to a model and predictions. (RDKit is a Python library: to start
//! from SMILES, convert them with `stepwell convert mols.csv mols.parquet --smiles smiles`.)
//!
//! `cargo run --release -p stepwell-data --example molecules`

use std::error::Error;
use std::ops::ControlFlow::Continue;

use stepwell::config::{ModelConfig, Preset};
use stepwell::graph::{BatchBuilder, EdgeList};
use stepwell::model::TrainedModel;
use stepwell::targets::Targets;

fn main() -> Result<(), Box<dyn Error>> {
    // Rings and chains of 3 to 12 carbons, with single (1) or aromatic (12) bonds.
    let mut molecules = BatchBuilder::default();
    let mut boiling_points = Vec::new();
    for atoms in 3..13u32 {
        for (ring, bond) in [(false, 1), (true, 1), (true, 12)] {
            let bonds = if ring { atoms } else { atoms - 1 };
            let (from, to): (Vec<u32>, Vec<u32>) = (0..bonds).map(|v| (v, (v + 1) % atoms)).unzip();
            let (elements, types) = (vec![6; atoms as usize], vec![bond; bonds as usize]);
            molecules.push(&EdgeList {
                vertex_labels: Some((&elements, 1)),
                edge_labels: Some((&types, 1)),
                ..EdgeList::new(atoms as usize, &from, &to)
            })?;
            boiling_points.push(f64::from(atoms) * 25.0 + if bond == 12 { 40.0 } else { 0.0 });
        }
    }
    let (graphs, targets) = (molecules.finish(), Targets::numbers(boiling_points));
    let config = ModelConfig::preset(Preset::Accurate);
    let model = TrainedModel::train(&config, &graphs, &targets, |_| Continue(()))?;
    let predicted = model.predict(&graphs, |_| Continue(()))?.scores;
    println!(
        "a chain, a ring and an aromatic ring of 3: {:.0?}",
        predicted.column(0).iter().take(3).collect::<Vec<_>>()
    );
    Ok(())
}
