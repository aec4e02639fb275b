use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::pool::test_graphs::{self, weighted};

/// Steps from one vertex to all others.
fn steps(graph: GraphRef<'_>, from: usize) -> Vec<usize> {
    let mut steps = vec![usize::MAX; graph.num_vertices()];
    steps[from] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(v) = queue.pop_front() {
        for &u in graph.neighbours(v) {
            if steps[u as usize] == usize::MAX {
                steps[u as usize] = steps[v] + 1;
                queue.push_back(u as usize);
            }
        }
    }
    steps
}

proptest! {
    #[test]
    fn centres_are_apart_and_every_vertex_joins_the_nearest(
        (n, edges) in test_graphs::edges(14),
        k in 0usize..4,
    ) {
        let graph = weighted(n, &edges);
        let view = graph.view();
        let centres = centres(view, k);
        let clusters = nearest_centres(view, &centres);
        let distances: Vec<Vec<usize>> = centres.iter().map(|&centre| steps(view, centre as usize)).collect();
        for (at, row) in distances.iter().enumerate() {
            prop_assert!(centres.iter().enumerate().all(|(other, &c)| other == at || row[c as usize] > k));
        }
        for (v, &cluster) in clusters.of.iter().enumerate() {
            let nearest = (0..centres.len()).min_by_key(|&at| (distances[at][v], at)).unwrap();
            prop_assert!(distances[nearest][v] <= k, "maximal");
            prop_assert_eq!(cluster as usize, nearest);
        }
        test_graphs::check(view, &kmis(view, k, Reduce::Mean).unwrap());
    }
}

#[test]
fn odd_graphs_are_pooled_too() {
    for (name, graph) in test_graphs::odd() {
        let pooled = kmis(graph.view(), 1, Reduce::Mean).unwrap();
        test_graphs::check(graph.view(), &pooled);
        assert_eq!(pooled.notes.symmetrized, usize::from(graph.view().is_directed()), "{name}");
    }
    let star = test_graphs::star(100_000);
    let pooled = kmis(star.view(), 1, Reduce::Mean).unwrap();
    assert_eq!(pooled.graph.view().entries().collect::<Vec<_>>(), [(0, 0, 200_000.0)]);
}
