//! Graphs for testing poolings, and the properties that must hold for all of them.

use proptest::prelude::*;

use super::Pooled;
use crate::graph::{EdgeList, Graph, GraphRef};

pub fn weighted(n: usize, edges: &[(u32, u32, f64)]) -> Graph {
    let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().map(|e| (e.0, e.1)).unzip();
    let weights: Vec<f64> = edges.iter().map(|e| e.2).collect();
    Graph::new(&EdgeList { weights: Some(&weights), ..EdgeList::new(n, &sources, &targets) }).unwrap()
}

/// A number of vertices up to `most` and weighted edges, each listed once, some of them
/// self loops.
pub fn edges(most: u32) -> impl Strategy<Value = (usize, Vec<(u32, u32, f64)>)> {
    (1..=most).prop_flat_map(move |n| {
        let edge = (0..n, 0..n, 0.1f64..5.0).prop_map(|(a, b, w)| (a.min(b), a.max(b), w));
        (Just(n as usize), prop::collection::vec(edge, 0..3 * n as usize))
    })
}

pub fn star(leaves: u32) -> Graph {
    let targets: Vec<u32> = (1..=leaves).collect();
    Graph::new(&EdgeList::new(leaves as usize + 1, &vec![0; leaves as usize], &targets)).unwrap()
}

/// Graphs that are empty, tiny, without edges, complete, of two equal parts, with
/// loops, directed.
pub fn odd() -> Vec<(&'static str, Graph)> {
    let graph =
        |n, sources: &[u32], targets: &[u32]| Graph::new(&EdgeList::new(n, sources, targets)).unwrap();
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for row in 0..7 {
        for column in 0..row {
            rows.push(row);
            columns.push(column);
        }
    }
    let directed = EdgeList { directed: true, ..EdgeList::new(4, &[0, 1, 2, 0], &[1, 2, 0, 3]) };
    vec![
        ("empty", graph(0, &[], &[])),
        ("one vertex", graph(1, &[], &[])),
        ("one vertex with a loop", graph(1, &[0], &[0])),
        ("one edge", graph(2, &[0], &[1])),
        ("no edges", graph(5, &[], &[])),
        ("complete", graph(7, &rows, &columns)),
        ("two equal triangles", graph(6, &[0, 1, 2, 3, 4, 5], &[1, 2, 0, 4, 5, 3])),
        ("loops", graph(4, &[0, 1, 2, 3, 0], &[0, 1, 2, 2, 1])),
        ("only loops", graph(3, &[0, 1, 2], &[0, 1, 2])),
        ("directed", Graph::new(&directed).unwrap()),
        ("star", star(9)),
    ]
}

/// Sizes match, rows are sorted, weights are positive, `A'` is symmetric, entries of
/// `S` are positive.
pub fn check(graph: GraphRef<'_>, pooled: &Pooled) {
    let (coarse, s) = (pooled.graph.view(), pooled.assignment.view());
    assert_eq!(s.num_fine(), graph.num_vertices());
    assert_eq!(s.num_coarse(), coarse.num_vertices());
    assert!(coarse.num_vertices() <= graph.num_vertices());
    let sorted = |v| coarse.neighbours(v).is_sorted_by(|a, b| a < b);
    assert!((0..coarse.num_vertices()).all(sorted));
    assert!(s.values().iter().all(|&value| value > 0.0));
    let weights: std::collections::HashMap<_, _> = coarse.entries().map(|(i, j, w)| ((i, j), w)).collect();
    assert!(weights.iter().all(|(&(i, j), w)| *w > 0.0 && weights.get(&(j, i)) == Some(w)));
}
