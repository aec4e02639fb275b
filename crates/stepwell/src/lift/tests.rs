use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::fold::Fold;
use super::*;
use crate::graph::{EdgeList, Graph};
use crate::rng::Stream;

/// Textbook colour refinement: complete signatures, all vertices, every round.
fn textbook_classes(graph: GraphRef<'_>, seeds: &[u64]) -> Vec<usize> {
    let n = graph.num_vertices();
    let in_degree = |v: usize| -> u64 {
        let mut weights: Vec<f64> = graph.entries().filter(|e| e.1 == v).map(|e| e.2).collect();
        weights.sort_by(f64::total_cmp);
        if graph.is_directed() { weights.iter().sum::<f64>().to_bits() } else { 0 }
    };
    let mut colours = number((0..n).map(|v| (seeds[v], in_degree(v))));
    loop {
        let refined = number((0..n).map(|v| {
            let weights = graph.weights_of(v);
            let mut row: Vec<(u64, usize)> = graph
                .neighbours(v)
                .iter()
                .enumerate()
                .map(|(k, &u)| (weights.map_or(0, |w| w[k].to_bits()), colours[u as usize]))
                .collect();
            row.sort_unstable();
            (colours[v], row)
        }));
        let count = |c: &[usize]| c.iter().collect::<HashSet<_>>().len();
        if count(&refined) == count(&colours) {
            return refined;
        }
        colours = refined;
    }
}

/// Numbers things in the order of their first appearance.
fn number<T: Ord>(things: impl Iterator<Item = T>) -> Vec<usize> {
    let mut seen = BTreeMap::new();
    things
        .map(|thing| {
            let next = seen.len();
            *seen.entry(thing).or_insert(next)
        })
        .collect()
}

fn class_count(graph: &Graph) -> usize {
    let seeds = vec![0; graph.view().num_vertices()];
    let classes = Refiner::default().refine(graph.view(), &seeds).unwrap();
    classes.iter().map(|&c| c as usize + 1).max().unwrap_or(0)
}

fn graph_of(n: usize, edges: &[(u32, u32)]) -> Graph {
    let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    Graph::new(&EdgeList::new(n, &sources, &targets)).unwrap()
}

#[test]
fn known_graphs_have_known_numbers_of_classes() {
    for n in [2u32, 3, 10, 101] {
        let size = n as usize;
        let path: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        let ring: Vec<_> = (0..n).map(|v| (v, (v + 1) % n)).collect();
        let star: Vec<_> = (1..n).map(|v| (0, v)).collect();
        let complete: Vec<_> = (0..n).flat_map(|v| (0..v).map(move |u| (u, v))).collect();
        assert_eq!(class_count(&graph_of(size, &path)), size.div_ceil(2));
        assert_eq!(class_count(&graph_of(size, &ring)), 1);
        assert_eq!(class_count(&graph_of(size, &complete)), 1);
        assert_eq!(class_count(&graph_of(size, &star)), if n == 2 { 1 } else { 2 });
        // A square grid: one eighth of it, mirrored, gives the rest.
        let right = (0..n).flat_map(|i| (1..n).map(move |j| (i * n + j - 1, i * n + j)));
        let down = (1..n).flat_map(|i| (0..n).map(move |j| ((i - 1) * n + j, i * n + j)));
        let half = size.div_ceil(2);
        let grid: Vec<_> = right.chain(down).collect();
        assert_eq!(class_count(&graph_of(size * size, &grid)), half * (half + 1) / 2);
    }
    assert_eq!(class_count(&graph_of(0, &[])), 0);
    assert_eq!(class_count(&graph_of(5, &[])), 1);
    assert_eq!(class_count(&graph_of(4, &[(0, 1)])), 2, "joined or not");
    assert_eq!(class_count(&graph_of(3, &[(0, 0), (1, 2)])), 1, "a self loop looks like an edge from inside");
    assert_eq!(class_count(&graph_of(6, &[(0, 1), (1, 2), (3, 4), (4, 5)])), 2, "equal components share");
}

#[test]
fn a_quotient_holds_sums_over_classes() {
    let star = graph_of(5, &[(0, 1), (0, 2), (0, 3), (0, 4)]);
    let lifted = quotient(star.view(), &[0; 5], None, &star.view().normalized_weights()).unwrap();
    let (centre, leaf) = (lifted.class_of[0] as usize, lifted.class_of[4] as usize);
    assert_eq!((lifted.sizes[centre], lifted.sizes[leaf]), (1, 4));
    assert_eq!((lifted.representatives[centre], lifted.representatives[leaf]), (0, 1));
    assert_eq!(lifted.row_starts, [0, 1, 2]);
    assert_eq!(lifted.columns[centre] as usize, leaf);
    assert_eq!((lifted.values[centre], lifted.values[leaf]), (2.0, 0.5), "4/√4 and 1/√4");
}

#[test]
fn what_saves_nothing_is_not_lifted() {
    for graph in [graph_of(0, &[]), graph_of(1, &[]), graph_of(3, &[(0, 1), (1, 2), (2, 0)])] {
        let seeds: Vec<u64> = (0..graph.view().num_vertices() as u64).collect();
        assert_eq!(quotient(graph.view(), &seeds, None, &graph.view().normalized_weights()), None);
        assert!(Refiner::default().refine(graph.view(), &seeds).is_some());
    }
}

#[test]
fn directions_that_differ_in_a_last_bit_are_told_apart() {
    // 0.1 + 0.2 + 0.3 forwards, 0.3 + 0.2 + 0.1 backwards.
    let sources = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3];
    let targets = [1, 1, 1, 0, 0, 0, 3, 3, 3, 2, 2, 2];
    let weights = [0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.1, 0.2, 0.3, 0.3, 0.2, 0.1];
    let edges = EdgeList { weights: Some(&weights), ..EdgeList::new(4, &sources, &targets) };
    let graph = Graph::new(&edges).unwrap();
    let classes = Refiner::default().refine(graph.view(), &[0; 4]).unwrap();
    assert_eq!(number(classes.into_iter()), textbook_classes(graph.view(), &[0; 4]));
}

#[test]
fn the_proof_refuses_what_is_not_equitable() {
    let path = graph_of(4, &[(0, 1), (1, 2), (2, 3)]);
    let weighted = EdgeList { weights: Some(&[1.0, 2.0, 4.0]), ..EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]) };
    let weighted = Graph::new(&weighted).unwrap();
    let proves = |graph: &Graph, classes: &[u32], seeds: &[u64], in_degrees: &[f64]| {
        let mut fold = Fold::default();
        fold.number(classes, [9, 7].into_iter()).unwrap();
        fold.prove(graph.view(), seeds, None, in_degrees).is_some()
    };
    assert!(proves(&path, &[0, 1, 1, 0], &[5, 6, 6, 5], &[]));
    assert!(!proves(&path, &[0, 1, 1, 0], &[5, 6, 7, 5], &[]), "seeds differ");
    assert!(!proves(&path, &[0, 1, 1, 0], &[5, 6, 6, 5], &[1.0, 1.0, 1.0, 2.0]), "in-degrees differ");
    assert!(!proves(&path, &[0, 0, 1, 1], &[0; 4], &[]), "degrees differ");
    assert!(!proves(&path, &[0, 1, 0, 1], &[0; 4], &[]), "degrees differ");
    assert!(!proves(&weighted, &[0, 1, 1, 0], &[0; 4], &[]), "weights differ");
    let ring = graph_of(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert!(proves(&ring, &[0, 0, 1, 1], &[0; 4], &[]));
    assert!(!proves(&ring, &[0, 1, 1, 1], &[0; 4], &[]), "classes around differ");
    assert_eq!(Fold::default().number(&[0, 1], [7, 7].into_iter()), None, "a colour for two classes");
}

/// Copies of a random graph side by side, so that lifting applies, with few distinct
/// weights and seeds.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    copies: usize,
    edges: Vec<(u32, u32, usize)>,
    seeds: Vec<u64>,
    weights: Weights,
    directed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Weights {
    Absent,
    /// Powers of two: sums are exact in any order.
    Exact,
    Decimal,
}

impl Case {
    fn graph(&self) -> Graph {
        let values = match self.weights {
            Weights::Exact => [0.5, 1.0, 4.0],
            _ => [0.1, 0.3, 0.7],
        };
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for copy in 0..self.copies {
            let shift = (copy * self.n) as u32;
            for &(s, t, w) in &self.edges {
                // One direction only, so that repeats of an undirected edge have the same sum
                // in both directions.
                let (s, t) = if self.directed { (s, t) } else { (s.min(t), s.max(t)) };
                sources.push(s + shift);
                targets.push(t + shift);
                weights.push(values[w]);
            }
        }
        let edges = EdgeList::new(self.n * self.copies, &sources, &targets);
        let weights = (self.weights != Weights::Absent).then_some(weights.as_slice());
        Graph::new(&EdgeList { weights, directed: self.directed, ..edges }).unwrap()
    }

    fn seeds(&self) -> Vec<u64> {
        self.seeds.repeat(self.copies)
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let weights = prop_oneof![Just(Weights::Absent), Just(Weights::Exact), Just(Weights::Decimal)];
    (1usize..14, 1usize..4, 1u64..4, weights, any::<bool>()).prop_flat_map(
        |(n, copies, seeds, weights, directed)| {
            let edge = (0..n as u32, 0..n as u32, 0usize..3);
            let edges = prop::collection::vec(edge, 0..2 * n);
            (edges, prop::collection::vec(0..seeds, n)).prop_map(move |(edges, seeds)| Case {
                n,
                copies,
                edges,
                seeds,
                weights,
                directed,
            })
        },
    )
}

type State = Vec<[f64; 3]>;

/// One step of `H <- tanh(O H W + X V)`, with the input given as `X V`.
fn step(entries: &[(usize, usize, f64)], state: &State, w: &[[f64; 3]; 3], input: &State) -> State {
    let mut next = input.clone();
    for &(row, column, value) in entries {
        for (a, w) in w.iter().enumerate() {
            (0..3).for_each(|b| next[row][b] += value * state[column][a] * w[b]);
        }
    }
    next.iter().map(|h| h.map(f64::tanh)).collect()
}

proptest! {
    #[test]
    fn classes_are_the_textbook_ones(case in cases()) {
        let (graph, seeds) = (case.graph(), case.seeds());
        let expected = textbook_classes(graph.view(), &seeds);
        let mut refiner = Refiner::default();
        let classes = refiner.refine(graph.view(), &seeds).unwrap();
        prop_assert_eq!(number(classes.iter()), expected.clone());
        let one = Case { copies: 1, ..case.clone() };
        let alone = textbook_classes(one.graph().view(), &one.seeds);
        prop_assert_eq!(&expected[..case.n], alone, "copies share their classes");
        // Stable: seeding with classes changes nothing.
        let seeds: Vec<u64> = classes.iter().map(|&c| u64::from(c)).collect();
        prop_assert_eq!(number(refiner.refine(graph.view(), &seeds).unwrap().into_iter()), expected);
    }

    #[test]
    fn every_jacobi_step_is_the_same(case in cases(), draw in any::<u64>(), normalised in any::<bool>()) {
        let (graph, seeds) = (case.graph(), case.seeds());
        let entries: Vec<_> = graph.view().entries().collect();
        let values = if normalised { graph.view().normalized_weights() } else { entries.iter().map(|e| e.2).collect() };
        let classes = textbook_classes(graph.view(), &seeds).into_iter().max().unwrap_or(0) + 1;
        let lifted = quotient(graph.view(), &seeds, None, &values);
        prop_assert_eq!(lifted.is_some(), classes as f64 <= 0.95 * seeds.len() as f64);
        let Some(lifted) = lifted else { return Ok(()) };

        let mut stream = Stream::new(draw, "lift-test", [0, 0]);
        // A contraction; otherwise rounding errors would grow from step to step.
        let degrees = graph.view().degrees().into_iter().chain(graph.view().in_degrees());
        let norm = if normalised { 1.0 } else { degrees.fold(1.0, f64::max) };
        let w = [(); 3].map(|_| [(); 3].map(|_| stream.uniform_in(-0.3, 0.3) / norm));
        let inputs = [(); 4].map(|_| [(); 3].map(|_| stream.uniform_in(-1.0, 1.0)));
        let whole_input: State = seeds.iter().map(|&seed| inputs[seed as usize]).collect();
        let small_input: State = lifted.representatives.iter().map(|&v| whole_input[v as usize]).collect();
        let whole: Vec<_> = entries.iter().zip(&values).map(|(e, &value)| (e.0, e.1, value)).collect();
        let rows = (0..classes).flat_map(|c| (lifted.row_starts[c]..lifted.row_starts[c + 1]).map(move |k| (c, k)));
        let small: Vec<_> = rows.map(|(c, k)| (c, lifted.columns[k] as usize, lifted.values[k])).collect();
        let (mut h, mut g) = (vec![[0.0; 3]; seeds.len()], vec![[0.0; 3]; classes]);
        for _ in 0..30 {
            (h, g) = (step(&whole, &h, &w, &whole_input), step(&small, &g, &w, &small_input));
            for (state, &class) in h.iter().zip(&lifted.class_of) {
                for (a, b) in state.iter().zip(g[class as usize]) {
                    prop_assert!((a - b).abs() < 1e-12, "{} {}", a, b);
                }
            }
        }
    }

    #[test]
    fn renaming_vertices_leaves_the_quotient(case in cases(), draw in any::<u64>()) {
        let (graph, seeds) = (case.graph(), case.seeds());
        let names = Stream::new(draw, "names", [0, 0]).permutation(seeds.len());
        let renamed = graph.view().permuted(&names).unwrap();
        let mut moved_seeds = seeds.clone();
        names.iter().zip(&seeds).for_each(|(&name, &seed)| moved_seeds[name] = seed);
        // Use one refiner for both: its old contents must not matter.
        let mut refiner = Refiner::default();
        let first = refiner.quotient(graph.view(), &seeds, None, &graph.view().normalized_weights());
        let second = refiner.quotient(renamed.view(), &moved_seeds, None, &renamed.view().normalized_weights());
        prop_assert_eq!(first.is_some(), second.is_some());
        let (Some(first), Some(second)) = (first, second) else { return Ok(()) };
        for (v, &name) in names.iter().enumerate() {
            prop_assert_eq!(first.class_of[v], second.class_of[name]);
        }
        prop_assert_eq!(&first.sizes, &second.sizes);
        prop_assert_eq!(&first.row_starts, &second.row_starts);
        prop_assert_eq!(&first.columns, &second.columns);
        if case.weights == Weights::Decimal {
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * a.abs();
            prop_assert!(first.values.iter().zip(&second.values).all(close));
        } else {
            prop_assert_eq!(&first.values, &second.values);
        }
        for (class, &vertex) in second.representatives.iter().enumerate() {
            let lowest = second.class_of.iter().position(|&c| c as usize == class);
            prop_assert_eq!(lowest, Some(vertex as usize));
            let size = second.class_of.iter().filter(|&&c| c as usize == class).count();
            prop_assert_eq!(size, second.sizes[class] as usize);
        }
    }
}
