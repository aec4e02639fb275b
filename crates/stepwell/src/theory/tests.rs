use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::graph::{EdgeList, Graph};
use crate::linalg::{spectral_norm, spectral_radius};
use crate::rng::Stream;

fn graph(n: usize, edges: &[(u32, u32, f64)], directed: bool) -> Graph {
    let order = |&(s, t, w): &(u32, u32, f64)| if directed { (s, t, w) } else { (s.min(t), s.max(t), w) };
    let edges: Vec<_> = edges.iter().map(order).collect();
    let sources: Vec<u32> = edges.iter().map(|e| e.0).collect();
    let targets: Vec<u32> = edges.iter().map(|e| e.1).collect();
    let weights: Vec<f64> = edges.iter().map(|e| e.2).collect();
    let list = EdgeList { weights: Some(&weights), directed, ..EdgeList::new(n, &sources, &targets) };
    Graph::new(&list).unwrap()
}

fn dense(graph: &Graph, normalize: bool) -> Array2<f64> {
    let n = graph.view().num_vertices();
    let mut a = Array2::zeros((n, n));
    let values = operator(graph.view(), normalize);
    graph.view().entries().zip(values).for_each(|((i, j, _), v)| a[(i, j)] = v);
    a
}

fn frobenius(h: &Array2<f64>) -> f64 {
    h.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn any_edges() -> impl Strategy<Value = (usize, Vec<(u32, u32, f64)>, bool)> {
    (1usize..10).prop_flat_map(|n| {
        let vertex = 0..n as u32;
        let edge = (vertex.clone(), vertex, 0.1..3.0f64);
        (Just(n), prop::collection::vec(edge, 0..25), any::<bool>())
    })
}

/// A random matrix with the given norm.
fn with_norm(stream: &mut Stream, units: usize, norm: f64) -> Array2<f64> {
    let w = Array2::from_shape_simple_fn((units, units), || stream.uniform_in(-1.0, 1.0));
    let size = spectral_norm(w.view()).unwrap();
    w * (norm / size)
}

proptest! {
    #[test]
    fn norms_and_radii_are_within_their_bounds((n, edges, directed) in any_edges(), normalize in any::<bool>()) {
        let graph = graph(n, &edges, directed);
        let a = dense(&graph, normalize);
        let (norm, radius) = (spectral_norm(a.view()).unwrap(), spectral_radius(a.view()).unwrap());
        let bounds = adjacency_norm(graph.view(), normalize);
        prop_assert!(bounds.lower <= norm * (1.0 + 1e-9) && norm <= bounds.upper * (1.0 + 1e-12),
            "{} {:?}", norm, bounds);
        prop_assert!(bounds.upper <= norm * 1.001 + 1e-12, "{} {:?}", norm, bounds);
        let bounds = adjacency_radius(graph.view(), normalize).unwrap();
        prop_assert!(bounds.lower <= radius + 1e-6 && radius <= bounds.upper + 1e-6, "{} {:?}", radius, bounds);
    }

    #[test]
    fn the_theorem_holds((n, edges, directed) in any_edges(), seed in any::<u64>(),
                         norm in 0.0..0.97f64, input in 0.0..2.0f64, tol in 1e-8..1e-2f64) {
        let graph = graph(n, &edges, directed);
        let (mut stream, units) = (Stream::new(seed, "theorem", [0, 0]), 4);
        let w = with_norm(&mut stream, units, norm);
        let drive = Array2::from_shape_simple_fn((n, units), || input * stream.normal());
        let a = dense(&graph, true);
        let apply = |h: &Array2<f64>| (a.dot(h).dot(&w) + &drive).mapv(f64::tanh);
        let mut exact = Array2::zeros((n, units));
        for _ in 0..3000 {
            exact = apply(&exact);
        }
        let contraction = stability(graph.view(), true, RecurrentSize::of(w.view()).unwrap(), false).unwrap().contraction;
        let first = frobenius(&drive.mapv(f64::tanh));
        let bound = sweeps_bound(contraction, tol, first).unwrap();
        let (mut h, mut stopped) = (Array2::zeros((n, units)), None);
        for sweep in 1..=bound + 1 {
            let next = apply(&h);
            if stopped.is_none() && frobenius(&(&next - &h)) < tol {
                stopped = Some(sweep);
            }
            h = next;
            let residual = residual(graph.view(), true, w.view(), drive.view(), h.view(), |_| None);
            prop_assert!(frobenius(&(&h - &exact)) <= distance_bound(contraction, residual).unwrap() + 1e-12);
            if sweep == bound {
                prop_assert!(frobenius(&(&h - &exact)) <= tol + 1e-12);
            }
        }
        prop_assert!(stopped.is_some(), "no stop within {}", bound + 1);
    }
}

#[test]
fn the_ends_of_the_theorem() {
    assert_eq!(sweeps_bound(0.5, 1e-5, 0.0), Some(0), "nothing drives anything");
    assert_eq!(sweeps_bound(0.0, 1e-5, 3.0), Some(1), "the first sweep arrives");
    for certain in [(1.0, 1e-5, 1.0), (1.5, 1e-5, 1.0), (f64::NAN, 1e-5, 1.0), (0.5, 0.0, 1.0)] {
        assert_eq!(sweeps_bound(certain.0, certain.1, certain.2), None);
    }
    assert_eq!((distance_bound(1.0, 0.1), distance_bound(0.5, f64::NAN)), (None, None));
    assert_eq!(contraction_rate(8.0, 1.0, 4), Some(0.5));
    assert_eq!((contraction_rate(8.0, 1.0, 1), contraction_rate(0.0, 0.0, 5)), (None, None));
}

#[test]
fn conditions_of_known_graphs() {
    let half = Array2::<f64>::eye(3) * 0.5;
    let star: Vec<_> = (1..10).map(|leaf| (0, leaf, 1.0)).collect();
    let star = graph(10, &star, false);
    // A star with 9 leaves has radius and norm 3 unless it is normalised.
    let plain = stability(star.view(), false, RecurrentSize::of(half.view()).unwrap(), false).unwrap();
    assert!((plain.contraction - 1.5).abs() < 1e-9 && !plain.sufficient && plain.necessary == Some(false));
    let normalised = stability(star.view(), true, RecurrentSize::of(half.view()).unwrap(), false).unwrap();
    assert!((0.5..0.5 + 1e-13).contains(&normalised.contraction), "rounded up, and hardly");
    assert!(normalised.sufficient && normalised.necessary == Some(true));
    // Exactly 1 is not a contraction, whatever the rounding.
    let unit =
        stability(star.view(), true, RecurrentSize::of(Array2::eye(20).view()).unwrap(), false).unwrap();
    assert!(!unit.sufficient && unit.contraction >= 1.0);
    // A directed path forgets everything, however large its weights.
    let path = graph(4, &[(0, 1, 9.0), (1, 2, 9.0), (2, 3, 9.0)], true);
    let plain = stability(path.view(), false, RecurrentSize::of(half.view()).unwrap(), false).unwrap();
    assert!(!plain.sufficient && plain.necessary == Some(true));
    let nothing = graph(2, &[], false);
    assert_eq!(
        stability(nothing.view(), true, RecurrentSize::of(half.view()).unwrap(), false).unwrap().contraction,
        0.0
    );
}
