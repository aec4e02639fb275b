//! Files made by NumPy and SciPy, compared with what those libraries read from them.

mod broken;
mod hostile;
mod nodes;

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::PathBuf;

use serde::Deserialize;
use stepwell::graph::GraphRef;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::*;
use stepwell::targets::Labels;

/// A file made by `testdata/npz/make.py`.
fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/npz").join(name)
}

fn names_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(fixture(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A member's name and bytes.
type Bytes = (String, Vec<u8>);

fn members(name: &str) -> Vec<Bytes> {
    let mut zip = ZipArchive::new(Cursor::new(fs::read(fixture(name)).unwrap())).unwrap();
    (0..zip.len())
        .map(|index| {
            let mut entry = zip.by_index(index).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        })
        .collect()
}

fn pack(members: &[Bytes], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The valid file with some members replaced.
fn with(replaced: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut members = members("good/protocol-4.npz");
    for (name, bytes) in replaced {
        members.iter_mut().find(|(member, _)| member == name).unwrap().1.clone_from(bytes);
    }
    pack(&members, CompressionMethod::Deflated)
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[derive(Debug, Deserialize, PartialEq)]
struct Dense {
    part: String,
    class: i64,
    adjacency: Vec<Vec<f64>>,
    features: Vec<Vec<f64>>,
}

fn dense(dataset: &Dataset) -> Vec<Dense> {
    let Targets::Classes(Labels::Int(classes)) = &dataset.targets else { panic!("{:?}", dataset.targets) };
    let parts = dataset.parts.as_ref().unwrap();
    assert_eq!((classes.len(), parts.len()), (dataset.len(), dataset.len()));
    let graph = |(index, graph): (usize, GraphRef<'_>)| {
        let mut adjacency = vec![vec![0.0; graph.num_vertices()]; graph.num_vertices()];
        graph.entries().for_each(|(row, column, weight)| adjacency[row][column] = weight);
        let (values, width) = graph.vertex_attributes().unwrap();
        let features = values.chunks(width).map(<[f64]>::to_vec).collect();
        Dense { part: parts[index].name().into(), class: classes[index], adjacency, features }
    };
    dataset.graphs.iter().enumerate().map(graph).collect()
}

fn expected(name: &str) -> Vec<Dense> {
    serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap()
}

#[test]
fn every_spelling_gives_the_same_graphs() {
    let expected = expected("expected.json");
    for name in names_in("good") {
        let dataset = read(&fixture("good").join(&name)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(dense(&dataset), expected, "{name}");
        assert_eq!(format!("{}.npz", dataset.name), name);
        assert!(dataset.graphs.weights().is_none(), "{name}: all weights are 1");
        assert!(dataset.graphs.iter().all(|graph| !graph.is_directed()));
    }
}

#[test]
fn weights_follow_the_edge_rules() {
    let dataset = read(&fixture("weighted.npz")).unwrap();
    assert_eq!(dense(&dataset), expected("expected-weighted.json"));
    assert!(dataset.graphs.weights().is_some());
}

#[test]
fn a_part_may_be_empty() {
    // NumPy turns an empty list into an array without numbers.
    let none = || npy("<f8", "(0,)", &[]);
    let bytes = with(&[("val_adj.npy", none()), ("val_feat.npy", none()), ("val_class.npy", none())]);
    let dataset = read_from(Cursor::new(&bytes), "some/where.npz").unwrap();
    let mut expected = expected("expected.json");
    expected.retain(|graph| graph.part != "validation");
    assert_eq!(dense(&dataset), expected);
    assert_eq!(dataset.name, "where");
}

#[derive(Deserialize)]
struct Found {
    graphs: usize,
    classes: String,
    vertices: usize,
    undirected_edges: usize,
    self_loops: usize,
    ones: bool,
    entries: u64,
    features: f64,
}

/// The benchmark's own files, if available, compared with `make.py --bench`.
#[test]
fn the_benchmark_files_hold_what_scipy_finds_in_them() {
    let folder = match std::env::var_os("STEPWELL_TEST_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    }
    .join("bench");
    let all: std::collections::BTreeMap<String, std::collections::BTreeMap<String, Found>> =
        serde_json::from_slice(&fs::read(fixture("bench.json")).unwrap()).unwrap();
    for (name, parts) in all {
        let path = folder.join(format!("{name}.npz"));
        if !path.exists() {
            println!("skipped: {} is not there (set STEPWELL_TEST_DATA)", path.display());
            continue;
        }
        let dataset = read(&path).unwrap();
        assert_eq!(dataset.len(), 300);
        assert!(dataset.graphs.weights().is_none());
        let Targets::Classes(Labels::Int(classes)) = &dataset.targets else {
            panic!("{name} has no classes")
        };
        let mut graphs = dataset.graphs.iter().zip(classes).zip(dataset.parts.as_ref().unwrap()).peekable();
        for (part, part_name) in Part::NAMES {
            let expected = &parts[part_name];
            let mut found = Found {
                graphs: 0,
                classes: String::new(),
                vertices: 0,
                undirected_edges: 0,
                self_loops: 0,
                ones: true,
                entries: 0,
                features: 0.0,
            };
            while let Some(((graph, class), _)) = graphs.next_if(|&(_, &its)| its == part) {
                found.graphs += 1;
                found.classes += &class.to_string();
                found.vertices += graph.num_vertices();
                found.undirected_edges += graph.num_edges();
                found.self_loops += graph.num_self_loops();
                let entry = |(row, column, _): (usize, usize, f64)| ((row + 1) * (3 * column + 2)) as u64;
                found.entries += found.graphs as u64 * graph.entries().map(entry).sum::<u64>();
                let attributes = graph.vertex_attributes().unwrap().0;
                let values = attributes.iter().enumerate();
                found.features +=
                    found.graphs as f64 * values.map(|(at, x)| (at + 1) as f64 * x).sum::<f64>();
            }
            assert_eq!(found.graphs, expected.graphs, "{name} {part_name}");
            assert_eq!(found.classes, expected.classes, "{name} {part_name}");
            assert_eq!(found.vertices, expected.vertices, "{name} {part_name}");
            assert_eq!(found.undirected_edges, expected.undirected_edges, "{name} {part_name}");
            assert_eq!(found.self_loops, expected.self_loops, "{name} {part_name}");
            assert_eq!(found.ones, expected.ones, "{name} {part_name}");
            assert_eq!(found.entries, expected.entries, "{name} {part_name}");
            assert_eq!(found.features, expected.features, "{name} {part_name}");
        }
        assert!(graphs.next().is_none(), "{name}: the parts follow each other");
    }
}
