//! Molecules: OGB's raw layout, and tables of SMILES without RDKit.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Folder, failure, json, output, stepwell};

/// Chains of 2 to 13 carbons and rings of as many, in OGB's raw layout.
fn ogb(folder: &Folder) -> String {
    let (mut sizes, mut counts, mut edges, mut atoms, mut labels) = <[String; 5]>::default().into();
    let mut parts = [String::new(), String::new(), String::new()];
    for graph in 0..24 {
        let (size, ring) = (graph / 2 + 3, graph % 2);
        sizes += &format!("{size}\n");
        counts += &format!("{}\n", size - 1 + ring);
        (0..size - 1 + ring).for_each(|v| edges += &format!("{v},{}\n", (v + 1) % size));
        atoms += &format!("5,{ring}\n").repeat(size);
        labels += &format!("{ring}\n");
        parts[[0, 0, 1, 0, 0, 2][graph / 2 % 6]] += &format!("{graph}\n");
    }
    let [train, valid, test] = parts;
    let root = folder.at("ogbg_toy");
    for (name, text) in [
        ("raw/num-node-list", sizes),
        ("raw/num-edge-list", counts),
        ("raw/edge", edges),
        ("raw/node-feat", atoms),
        ("raw/graph-label", labels),
        ("split/scaffold/train", train),
        ("split/scaffold/valid", valid),
        ("split/scaffold/test", test),
    ] {
        let path = Path::new(&root).join(format!("{name}.csv.gz"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
        file.write_all(text.as_bytes()).unwrap();
        file.finish().unwrap();
    }
    root
}

#[test]
fn ogbs_raw_layout_is_a_dataset() {
    let folder = Folder::new();
    let data = ogb(&folder);
    let stats = json(&["stats", &data, "--json"]);
    assert_eq!((&stats["dataset"], &stats["graphs"]), (&"ogbg_toy".into(), &24.into()));
    let found = json(&["evaluate", &data, "--json"]);
    assert_eq!(found["metrics"]["accuracy"]["mean"], 1.0, "{found}");
    let (model, table) = (folder.at("m.safetensors"), folder.at("t.parquet"));
    stepwell().args(["train", &data, "--part", "train", "-m", &model]).assert().success();
    stepwell().args(["convert", &data, &table]).assert().success();
    let arguments = |data| ["predict", data, "--part", "test", "-m", &model];
    let predicted = output(&arguments(&data));
    assert_eq!(predicted.lines().count(), 5);
    assert_eq!(predicted, output(&arguments(&table)), "the split is written, too");
    let refused = failure(&["stats", &data, "--target", "y"], 1);
    assert!(refused.contains("OGB's raw layout has no named columns"), "{refused}");
}

#[test]
fn tables_of_molecules_need_rdkit() {
    let folder = Folder::new();
    let data = folder.at("mols.csv");
    fs::write(&data, "smiles,y\nCCO,1\n").unwrap();
    let refused = failure(&["train", &data, "--smiles", "smiles", "--target", "y", "-m", "m"], 1);
    assert!(refused.contains("pip install stepwell[molecules]"), "{refused}");
    let refused = failure(&["stats", &data], 1);
    assert!(refused.contains("name the SMILES column with --smiles"), "{refused}");
    let refused = failure(&["stats", &folder.at("none.csv"), "--smiles", "smiles"], 1);
    assert!(refused.contains("none.csv: no such file"), "{refused}");
    let refused = failure(&["stats", &data, "--smiles-features", "ogb"], 2);
    assert!(refused.contains("--smiles <COLUMN>"), "{refused}");
}
