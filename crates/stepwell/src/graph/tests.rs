use proptest::prelude::*;

use super::*;

fn rows(graph: &Graph) -> Vec<Vec<u32>> {
    let view = graph.view();
    (0..view.num_vertices()).map(|v| view.neighbours(v).to_vec()).collect()
}

fn weighted(edges: &[(u32, u32, f64)], n: usize, directed: bool) -> Result<Graph> {
    let sources: Vec<u32> = edges.iter().map(|e| e.0).collect();
    let targets: Vec<u32> = edges.iter().map(|e| e.1).collect();
    let weights: Vec<f64> = edges.iter().map(|e| e.2).collect();
    Graph::new(&EdgeList { weights: Some(&weights), directed, ..EdgeList::new(n, &sources, &targets) })
}

#[test]
fn one_direction_both_directions_and_repeats_are_the_same_graph() {
    let expected = vec![vec![1], vec![0, 2], vec![1]];
    for (sources, targets) in [
        (vec![0, 1], vec![1, 2]),
        (vec![1, 2], vec![0, 1]),
        (vec![0, 1, 1, 2], vec![1, 0, 2, 1]),
        (vec![2, 0, 0, 1, 1, 2], vec![1, 1, 1, 0, 2, 1]),
    ] {
        let graph = Graph::new(&EdgeList::new(3, &sources, &targets)).unwrap();
        assert_eq!(rows(&graph), expected, "{sources:?} {targets:?}");
        assert_eq!(graph.view().num_edges(), 2);
    }
}

#[test]
fn a_directed_edge_is_an_entry_of_its_source() {
    let edges = EdgeList { directed: true, ..EdgeList::new(3, &[0, 0, 2, 0], &[1, 2, 2, 1]) };
    let graph = Graph::new(&edges).unwrap();
    assert_eq!(rows(&graph), [vec![1, 2], vec![], vec![2]]);
    assert_eq!((graph.view().num_edges(), graph.view().num_self_loops()), (2, 1));
    assert_eq!(graph.view().degrees(), [2.0, 0.0, 1.0]);
    assert_eq!(graph.view().in_degrees(), [0.0, 1.0, 2.0]);
}

#[test]
fn repeated_weights_add_up_and_zeros_vanish() {
    let graph =
        weighted(&[(0, 1, 0.5), (0, 1, 0.25), (1, 0, 0.75), (1, 2, 0.0), (2, 2, 3.0)], 3, false).unwrap();
    assert_eq!(rows(&graph), [vec![1], vec![0], vec![2]]);
    assert_eq!(graph.view().weights().unwrap(), [0.75, 0.75, 3.0]);
    assert_eq!(graph.view().degrees(), [0.75, 0.75, 3.0], "a self loop counts once");
}

#[test]
fn what_cannot_be_meant_is_an_error() {
    let asymmetric = weighted(&[(0, 1, 1.0), (1, 0, 2.0)], 2, false).unwrap_err();
    assert!(matches!(asymmetric, Error::AsymmetricWeight { forward: 1.0, backward: 2.0, .. }));
    assert!(weighted(&[(0, 1, 1.0), (1, 0, 2.0)], 2, true).is_ok(), "directions may differ when directed");
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(weighted(&[(0, 1, bad)], 2, false).unwrap_err(), Error::BadWeight { edge: 0, .. }));
    }
    assert!(weighted(&[(0, 1, f64::MAX), (0, 1, f64::MAX)], 2, false).is_err(), "a sum may overflow");
    let error = Graph::new(&EdgeList::new(2, &[0, 0], &[1, 2])).unwrap_err();
    assert_eq!(error.to_string(), "edge 1 joins vertex 2, but the graph has 2 vertices, numbered from 0");
    let nan = EdgeList { vertex_attributes: Some((&[1.0, f64::NAN], 1)), ..EdgeList::new(2, &[], &[]) };
    assert!(matches!(Graph::new(&nan).unwrap_err(), Error::BadValue { index: 1, .. }));
    let short = EdgeList { vertex_labels: Some((&[1], 1)), ..EdgeList::new(2, &[], &[]) };
    assert!(matches!(Graph::new(&short).unwrap_err(), Error::Length { expected: 2, found: 1, .. }));
}

#[test]
fn edges_carry_the_same_each_time_they_are_listed() {
    let listed = |labels: &[i32], directed| {
        let edges =
            EdgeList { edge_labels: Some((labels, 1)), directed, ..EdgeList::new(3, &[1, 0, 1], &[0, 1, 2]) };
        Graph::new(&edges)
    };
    // 1-2 is listed once and has its label in both directions.
    let graph = listed(&[7, 7, 9], false).unwrap();
    assert_eq!(graph.view().edge_labels().unwrap(), (&[7, 7, 9, 9][..], 1));
    let error = listed(&[7, 8, 9], false).unwrap_err();
    assert!(matches!(error, Error::EdgesDiffer { what: "labels", first: 0, second: 1, .. }), "{error}");
    let directed = listed(&[7, 8, 9], true).unwrap();
    assert_eq!(directed.view().edge_labels().unwrap(), (&[8, 7, 9][..], 1));
    for directed in [false, true] {
        let repeated = EdgeList {
            edge_attributes: Some((&[7.0, 1.0, 7.0, 2.0], 2)),
            directed,
            ..EdgeList::new(2, &[0, 0], &[1, 1])
        };
        let error = Graph::new(&repeated).unwrap_err();
        assert!(matches!(error, Error::EdgesDiffer { what: "attributes", .. }), "{error}");
    }
}

#[test]
fn odd_graphs_work() {
    let empty = Graph::new(&EdgeList::default()).unwrap();
    assert_eq!((empty.view().num_vertices(), empty.view().components().count()), (0, 0));
    assert!(empty.view().normalized_weights().is_empty());
    let lone = Graph::new(&EdgeList::new(1, &[], &[])).unwrap();
    assert_eq!(lone.view().components().count(), 1);
    assert!(!lone.view().has_bipartite_component(), "no edge, no eigenvalue -1");
    let looped = Graph::new(&EdgeList::new(1, &[0], &[0])).unwrap();
    assert_eq!((looped.view().num_edges(), looped.view().num_self_loops()), (0, 1));
    assert_eq!(looped.view().normalized_weights(), [1.0]);
    assert!(!looped.view().components().is_bipartite(0));
}

#[test]
fn components_and_sides() {
    // A 4-cycle, a triangle, an isolated vertex.
    let graph = Graph::new(&EdgeList::new(8, &[0, 2, 4, 6, 1, 3, 5], &[2, 4, 6, 0, 3, 5, 1])).unwrap();
    let components = graph.view().components();
    assert_eq!(components.labels(), [0, 1, 0, 1, 0, 1, 0, 2]);
    assert!(components.is_bipartite(0) && !components.is_bipartite(1) && components.is_bipartite(2));
    let sides = components.sides();
    assert!(sides[0] != sides[2] && sides[0] == sides[4] && sides[2] == sides[6]);
}

#[test]
fn mixed_graphs_are_refused_and_leave_the_batch_alone() {
    let mut builder = BatchBuilder::default();
    builder.push(&EdgeList { vertex_labels: Some((&[1], 1)), ..EdgeList::new(1, &[], &[]) }).unwrap();
    let error = builder.push(&EdgeList::new(1, &[], &[])).unwrap_err();
    assert_eq!(error.to_string(), "vertex labels: the graphs before this one have them, this one has none");
    assert_eq!(builder.finish().len(), 1);
}

#[test]
fn weights_spread_to_unweighted_neighbours_in_a_batch() {
    let mut builder = BatchBuilder::default();
    builder.push(&EdgeList::new(2, &[0], &[1])).unwrap();
    builder.push(&EdgeList { weights: Some(&[2.0]), ..EdgeList::new(2, &[0], &[1]) }).unwrap();
    assert_eq!(builder.finish().weights().unwrap(), [1.0, 1.0, 2.0, 2.0]);
}

/// Any graph the library accepts, as its list of edges.
fn any_edges() -> impl Strategy<Value = (usize, Vec<(u32, u32, f64)>, bool)> {
    (1usize..12).prop_flat_map(|n| {
        let vertex = 0..n as u32;
        let edge = (vertex.clone(), vertex, 0.0..4.0f64);
        (Just(n), prop::collection::vec(edge, 0..40), any::<bool>())
    })
}

fn unweighted(n: usize, edges: &[(u32, u32, f64)], directed: bool) -> Graph {
    let sources: Vec<u32> = edges.iter().map(|e| e.0).collect();
    let targets: Vec<u32> = edges.iter().map(|e| e.1).collect();
    Graph::new(&EdgeList { directed, ..EdgeList::new(n, &sources, &targets) }).unwrap()
}

proptest! {
    #[test]
    fn rows_hold_exactly_the_listed_edges((n, edges, directed) in any_edges()) {
        let graph = unweighted(n, &edges, directed);
        let view = graph.view();
        for v in 0..n {
            let mut expected: Vec<u32> = Vec::new();
            for &(s, t, _) in &edges {
                if s as usize == v { expected.push(t); }
                if !directed && t as usize == v { expected.push(s); }
            }
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(view.neighbours(v), expected);
        }
        prop_assert_eq!(view.row_starts().last(), Some(view.num_entries()));
    }

    #[test]
    fn the_stored_form_read_again_is_the_same((n, edges, directed) in any_edges(), cut in any::<prop::sample::Index>()) {
        let graph = unweighted(n, &edges, directed);
        let mut listed: Vec<(u32, u32, f64)> =
            graph.view().entries().map(|(i, j, w)| (i as u32, j as u32, w)).collect();
        prop_assert_eq!(&unweighted(n, &listed, directed), &graph);
        let turned: Vec<_> = listed.iter().map(|&(i, j, w)| (j, i, w)).collect();
        prop_assert_eq!(unweighted(n, &turned, directed) == graph, !directed || turned.iter().all(|e| listed.contains(e)));
        // Without one of its lines an undirected graph is still complete, a directed graph is
        // not.
        if !listed.is_empty() {
            let (row, column, _) = listed.remove(cut.index(listed.len()));
            let same = unweighted(n, &listed, directed) == graph;
            prop_assert_eq!(same, !directed && row != column);
        }
    }

    #[test]
    fn normalized_rows_match_the_formula((n, edges, directed) in any_edges()) {
        let upper: Vec<_> = edges.iter().map(|&(s, t, w)| (s.min(t), s.max(t), w)).collect();
        let graph = weighted(if directed { &edges } else { &upper }, n, directed).unwrap();
        let view = graph.view();
        let (out, into) = (view.degrees(), view.in_degrees());
        for ((i, j, w), scaled) in view.entries().zip(view.normalized_weights()) {
            let expected = w / (out[i] * into[j]).sqrt();
            prop_assert!((scaled - expected).abs() <= 1e-12 * expected, "{} {}", scaled, expected);
        }
    }

    #[test]
    fn renaming_moves_rows_and_back_again((n, edges, directed) in any_edges(), seed in any::<u64>()) {
        let graph = unweighted(n, &edges, directed);
        let names = crate::rng::Stream::new(seed, "names", [0, 0]).permutation(n);
        let moved = graph.view().permuted(&names).unwrap();
        for v in 0..n {
            let mut expected: Vec<u32> =
                graph.view().neighbours(v).iter().map(|&u| names[u as usize] as u32).collect();
            expected.sort_unstable();
            prop_assert_eq!(moved.view().neighbours(names[v]), expected);
        }
        let mut back = vec![0; n];
        names.iter().enumerate().for_each(|(v, &name)| back[name] = v);
        prop_assert_eq!(moved.view().permuted(&back).unwrap(), graph);
    }

    #[test]
    fn self_loops_fill_the_diagonal_and_nothing_else((n, edges, directed) in any_edges()) {
        for graph in [weighted(&edges, n, directed), Ok(unweighted(n, &edges, directed))].into_iter().flatten() {
            let looped = graph.view().with_self_loops().unwrap();
            let on_diagonal = |graph: &Graph| -> Vec<_> { graph.view().entries().filter(|e| e.0 == e.1).collect() };
            let beside = |graph: &Graph| -> Vec<_> { graph.view().entries().filter(|e| e.0 != e.1).collect() };
            prop_assert_eq!(beside(&looped), beside(&graph));
            let mut expected: Vec<_> = (0..n).map(|v| (v, v, 1.0)).collect();
            on_diagonal(&graph).into_iter().for_each(|entry| expected[entry.0] = entry);
            prop_assert_eq!(on_diagonal(&looped), expected);
            prop_assert_eq!(looped.view().is_directed(), directed);
            prop_assert_eq!(looped.view().weights().is_some(), graph.view().weights().is_some());
            prop_assert_eq!(looped.view().with_self_loops().unwrap(), looped);
        }
    }

    #[test]
    fn components_are_what_paths_reach((n, edges, directed) in any_edges()) {
        let graph = unweighted(n, &edges, directed);
        let components = graph.view().components();
        // Propagate the lowest reachable vertex, and colour by steps, until nothing changes.
        let mut lowest: Vec<usize> = (0..n).collect();
        for _ in 0..n {
            for &(s, t, _) in &edges {
                let low = lowest[s as usize].min(lowest[t as usize]);
                lowest[s as usize] = low;
                lowest[t as usize] = low;
            }
        }
        for a in 0..n {
            for b in 0..n {
                prop_assert_eq!(components.labels()[a] == components.labels()[b], lowest[a] == lowest[b]);
            }
        }
        for component in 0..components.count() as u32 {
            let inside = |v: u32| components.labels()[v as usize] == component;
            let proper = edges.iter().filter(|e| inside(e.0))
                .all(|e| components.sides()[e.0 as usize] != components.sides()[e.1 as usize]);
            if components.is_bipartite(component) { prop_assert!(proper) } else { prop_assert!(!proper) }
        }
    }

    #[test]
    fn selecting_and_appending_keep_every_graph(parts in prop::collection::vec(any_edges(), 1..5)) {
        let graphs: Vec<Graph> = parts.iter().map(|(n, e, d)| unweighted(*n, e, *d)).collect();
        let mut batch = GraphBatch::default();
        for graph in &graphs {
            batch.append(graph.as_batch()).unwrap();
        }
        for (index, graph) in graphs.iter().enumerate() {
            prop_assert_eq!(&batch.graph(index).to_graph(), graph);
        }
        let all: Vec<usize> = (0..graphs.len()).collect();
        prop_assert_eq!(batch.select(&all), batch);
    }
}

#[test]
fn attributes_that_are_no_numbers_are_refused() {
    let path = || Graph::new(&EdgeList::new(3, &[0, 1], &[1, 2])).unwrap().into_batch();
    let attributes = |values: Vec<f64>| Attributes { width: 2, values, names: None };
    assert!(path().with_vertex_attributes(attributes(vec![1.0; 6])).is_ok());
    let refused = path().with_vertex_attributes(attributes(vec![1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0]));
    assert_eq!(refused.unwrap_err().to_string(), "attribute of vertex 1 is NaN; expected a finite number");
}

#[test]
fn graphs_without_vertices_fit_beside_all_others() {
    let empty = |width| EdgeList {
        vertex_attributes: Some((&[], width)),
        vertex_labels: Some((&[], 1)),
        ..EdgeList::new(0, &[], &[])
    };
    let path = EdgeList { vertex_attributes: Some((&[1.0, 2.0], 1)), ..EdgeList::new(2, &[0], &[1]) };
    let mut builder = BatchBuilder::default();
    for graph in [empty(3), path, empty(0), path] {
        builder.push(&graph).unwrap();
    }
    let batch = builder.finish();
    assert_eq!((batch.len(), batch.num_vertices()), (4, 4));
    assert!(batch.vertex_labels().is_none());
    assert_eq!(batch.vertex_attributes().unwrap().kept(), [1.0, 2.0, 1.0, 2.0]);
    let alone = |index: usize| batch.select(&[index]);
    let mut joined = Graph::new(&empty(3)).unwrap().into_batch();
    for index in 1..4 {
        joined.append(&alone(index)).unwrap();
    }
    assert_eq!(joined, batch);
    let wider = EdgeList { vertex_attributes: Some((&[1.0, 2.0], 2)), ..EdgeList::new(1, &[], &[]) };
    assert!(joined.append(Graph::new(&wider).unwrap().as_batch()).is_err());
}
