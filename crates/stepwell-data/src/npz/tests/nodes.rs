//! Files of one graph with vertex targets.

use super::*;
use crate::dataset::Part::{self, Test, Train, Validation};

/// An array as NumPy writes it.
fn npy(kind: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut all = b"\x93NUMPY\x01\x00".to_vec();
    all.extend((header.len() as u16).to_le_bytes());
    all.extend(header.bytes());
    all.extend(bytes);
    all
}

fn integers(shape: &str, values: &[i64]) -> Vec<u8> {
    npy("<i8", shape, &values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>())
}

/// A path of three vertices, with two splits.
fn file(change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let features: Vec<u8> = [0.5f32, 1.0, 0.0, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let members = [
        ("node_features", npy("<f4", "(3, 2)", &features)),
        ("node_labels", integers("(3,)", &[2, -1, 0])),
        ("edges", integers("(2, 2)", &[0, 1, 1, 2])),
        ("train_masks", npy("|b1", "(2, 3)", &[1, 0, 0, 0, 0, 1])),
        ("val_masks", npy("|b1", "(2, 3)", &[0, 1, 0, 0, 0, 0])),
        ("test_masks", npy("|b1", "(2, 3)", &[0, 0, 1, 1, 0, 0])),
    ];
    let named = members.map(|(name, bytes)| (format!("{name}.npy"), change(name, bytes)));
    pack(&named, CompressionMethod::Deflated)
}

fn read_bytes(bytes: Vec<u8>) -> Result<Dataset> {
    read_from(Cursor::new(bytes), "folder/path.npz")
}

#[test]
fn a_graph_with_masks_is_read() {
    let dataset = read_bytes(file(|_, bytes| bytes)).unwrap();
    assert_eq!((dataset.name.as_str(), dataset.len()), ("path", 1));
    let graph = dataset.graphs.graph(0);
    assert_eq!((graph.num_vertices(), graph.num_edges()), (3, 2));
    assert_eq!(graph.vertex_attributes().unwrap(), (vec![0.5, 1.0, 0.0, 2.0, 3.0, 4.0].into(), 2));
    let all = dataset.vertices.unwrap();
    assert_eq!((all.known.rows, all.known.targets), (vec![0, 2], Targets::integers(vec![2, 0])));
    let parts = |parts: [Option<Part>; 3]| parts.to_vec();
    let (first, second) = ([Some(Train), Some(Validation), Some(Test)], [Some(Test), None, Some(Train)]);
    assert_eq!(all.splits, [parts(first), parts(second)]);
}

#[test]
fn wide_rows_of_zeros_are_kept_by_their_non_zeros() {
    let mut numbers = [0f32; 120];
    (numbers[3], numbers[41], numbers[119]) = (1.0, 2.5, 1.0);
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let wide = |name: &str, good| if name == "node_features" { npy("<f4", "(3, 40)", &bytes) } else { good };
    let dataset = read_bytes(file(wide)).unwrap();
    let graph = dataset.graphs.graph(0);
    let rows = graph.sparse_attributes().expect("few of them are not 0");
    assert_eq!(rows.arrays(), (&[0, 1, 2, 3][..], &[3, 1, 39][..], &[1.0, 2.5, 1.0][..]));
    let (written, width) = graph.vertex_attributes().unwrap();
    assert_eq!(width, 40);
    assert!(written.iter().zip(numbers).all(|(found, x)| *found == f64::from(x)));
}

#[test]
fn members_that_do_not_fit_are_named() {
    let check = |member: &str, bytes: Vec<u8>, expected: &str| {
        let made = file(|name, good| if name == member { bytes.clone() } else { good });
        let error = read_bytes(made).unwrap_err().to_string();
        assert!(error.contains(member) && error.contains(expected), "{error}");
    };
    check("node_labels", integers("(3, 1)", &[0, 1, 2]), "a class per vertex");
    check("edges", integers("(2, 2)", &[0, 1, 1, 7]), "7");
    check("edges", integers("(2, 2)", &[0, 1, 1, -7]), "vertices from 0 to 2, found -7");
    check("edges", integers("(4,)", &[0, 1, 1, 2]), "two columns");
    check("node_features", npy("<f4", "(1, 2)", &[0; 8]), "a row for each of 3 vertices");
    check("train_masks", npy("|b1", "(4,)", &[0; 4]), "a boolean for each of 3 vertices");
    check("val_masks", npy("|b1", "(3,)", &[0; 3]), "2 rows, like the masks before");
    check("test_masks", npy("|b1", "(2, 3)", &[1, 0, 0, 0, 0, 0]), "vertex 0 in train and test");
}

#[test]
fn masks_without_rows_are_compared_too() {
    let empty = |name: &str, good| if name == "train_masks" { npy("|b1", "(0, 3)", &[]) } else { good };
    let error = read_bytes(file(empty)).unwrap_err().to_string();
    assert!(error.contains("val_masks") && error.contains("0 rows, like the masks before"), "{error}");
    let all = |name: &str, good| if name.ends_with("_masks") { npy("|b1", "(0, 3)", &[]) } else { good };
    assert!(read_bytes(file(all)).unwrap().vertices.unwrap().splits.is_empty());
}

#[test]
fn masks_of_no_vertices_allocate_no_memory() {
    let bare = |name: &str, _| match name {
        "node_features" => npy("<f4", "(0, 2)", &[]),
        "node_labels" => integers("(0,)", &[]),
        "edges" => integers("(0, 2)", &[]),
        _ => npy("|b1", "(1000000000000000, 0)", &[]),
    };
    let error = read_bytes(file(bare)).unwrap_err().to_string();
    assert!(error.contains("train_masks"), "{error}");
}
