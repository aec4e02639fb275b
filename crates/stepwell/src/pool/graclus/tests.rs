use proptest::prelude::*;

use super::*;
use crate::graph::EdgeList;
use crate::pool::test_graphs::{self, weighted};

/// Pairs and singles, independent of the clusters' numbers.
fn pairs(clusters: &Clusters) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); clusters.count];
    clusters.of.iter().enumerate().for_each(|(v, &cluster)| members[cluster as usize].push(v));
    members
}

fn check_matching(graph: GraphRef<'_>, clusters: &Clusters) {
    let pairs = pairs(clusters);
    let mut single = vec![false; graph.num_vertices()];
    for members in &pairs {
        match members[..] {
            [v] => single[v] = true,
            [v, u] => assert!(graph.neighbours(v).contains(&(u as u32)), "{v} and {u} are not joined"),
            _ => panic!("a cluster has {} members", members.len()),
        }
    }
    let maximal = |(i, j, _): (usize, usize, f64)| i == j || !(single[i] && single[j]);
    assert!(graph.entries().all(maximal), "two single vertices are joined");
}

proptest! {
    #[test]
    fn clusters_are_a_maximal_matching((n, edges) in test_graphs::edges(12), seed in 0u64..9, level in 0usize..3) {
        let graph = weighted(n, &edges);
        let view = graph.view();
        let degrees = view.degrees();
        let mut order = by_degree(&degrees);
        if level == 0 {
            Stream::new(seed, "test", [0, 0]).shuffle(&mut order);
        }
        check_matching(view, &match_in_order(view, &degrees, &order));
        let pooled = graclus(view, Reduce::Mean, seed, level).unwrap();
        test_graphs::check(view, &pooled);
        let weights = |graph: GraphRef<'_>| graph.entries().map(|(_, _, w)| w).sum::<f64>();
        prop_assert!((weights(view) - weights(pooled.graph.view())).abs() <= 1e-12 * weights(view));
    }

    #[test]
    fn renaming_vertices_and_the_order_renames_the_pairs((n, edges) in test_graphs::edges(12), seed in 0u64..99) {
        // Unweighted, so that gains tie and degrees are exact.
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().map(|e| (e.0, e.1)).unzip();
        let graph = Graph::new(&EdgeList::new(n, &sources, &targets)).unwrap();
        let names = Stream::new(seed, "test names", [0, 0]).permutation(n);
        let renamed = graph.view().permuted(&names).unwrap();
        let mut order: Vec<u32> = (0..n as u32).collect();
        Stream::new(seed, "test order", [0, 0]).shuffle(&mut order);
        let renamed_order: Vec<u32> = order.iter().map(|&v| names[v as usize] as u32).collect();
        let clusters = match_in_order(graph.view(), &graph.view().degrees(), &order);
        let same = match_in_order(renamed.view(), &renamed.view().degrees(), &renamed_order);
        prop_assert_eq!(clusters.count, same.count);
        (0..n).for_each(|v| assert_eq!(clusters.of[v], same.of[names[v]]));
        let coarse = |clusters: Clusters, graph: &Graph| {
            clusters.pool(graph.view(), Reduce::Mean, Notes::default()).unwrap().graph
        };
        prop_assert_eq!(coarse(clusters, &graph), coarse(same, &renamed));
    }
}

#[test]
fn the_heaviest_gain_wins() {
    // Degrees 1, 1.5, 3.5 and 3: from vertex 1, gains are 1·(1/1 + 1/1.5) to 0 and .5·(1/1.5 + 1/3.5) to 2.
    let graph = weighted(4, &[(0, 1, 1.0), (1, 2, 0.5), (2, 3, 3.0)]);
    let clusters = match_in_order(graph.view(), &graph.view().degrees(), &[1, 2, 3, 0]);
    assert_eq!(clusters.of, [0, 0, 1, 1]);
    let pooled = clusters.pool(graph.view(), Reduce::Mean, Notes::default()).unwrap();
    let entries: Vec<_> = pooled.graph.view().entries().collect();
    assert_eq!(entries, [(0, 0, 2.0), (0, 1, 0.5), (1, 0, 0.5), (1, 1, 6.0)]);
}

#[test]
fn reductions_differ_in_the_entries_of_s() {
    let graph = weighted(3, &[(0, 1, 1.0)]);
    let values = |reduce| {
        let pooled = graclus(graph.view(), reduce, 0, 1).unwrap();
        (pooled.assignment.view().values().to_vec(), pooled.assignment.takes_max())
    };
    assert_eq!(values(Reduce::Mean), (vec![0.5, 0.5, 1.0], false));
    assert_eq!(values(Reduce::Sum), (vec![1.0; 3], false));
    assert_eq!(values(Reduce::Max), (vec![1.0; 3], true));
}

#[test]
fn later_levels_begin_at_the_lowest_degree() {
    assert_eq!(by_degree(&[3.0, 1.0, 2.0, 1.0]), [1, 3, 2, 0]);
}

#[test]
fn odd_graphs_are_pooled_too() {
    for (name, graph) in test_graphs::odd() {
        for level in [0, 1] {
            let pooled = graclus(graph.view(), Reduce::Mean, 0, level).unwrap();
            test_graphs::check(graph.view(), &pooled);
            assert_eq!(pooled.notes.symmetrized, usize::from(graph.view().is_directed()), "{name}");
        }
    }
    let star = test_graphs::star(100_000);
    let pooled = graclus(star.view(), Reduce::Mean, 0, 0).unwrap();
    assert_eq!(pooled.graph.view().num_vertices(), 100_000, "one leaf is matched with the centre");
}

#[test]
fn a_full_tree_doubles_downwards() {
    assert_eq!([0, 1, 2, 3].map(|level| padded_size(5, 3, level)), [40, 20, 10, 5]);
    assert_eq!(padded_size(2, 500, 0), usize::MAX);
}
