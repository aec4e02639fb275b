use ndarray::Array2;
use proptest::prelude::*;

use super::*;
use crate::graph::EdgeList;
use crate::pool::test_graphs::{self, weighted};
use crate::rng::Stream;

fn dense(graph: GraphRef<'_>) -> Array2<f64> {
    let mut matrix = Array2::zeros((graph.num_vertices(), graph.num_vertices()));
    graph.entries().for_each(|(i, j, w)| matrix[(i, j)] = w);
    matrix
}

fn random(rows: usize, columns: usize, stream: &mut Stream) -> Array2<f64> {
    // Some exact zeros, which coordinates can only increase.
    Array2::from_shape_simple_fn((rows, columns), || (stream.uniform() - 0.1).max(0.0))
}

/// Textbook coordinate descent: recomputes every gradient.
fn by_the_book(a: &Array2<f64>, q: &mut Array2<f64>, f: &mut Array2<f64>, options: &Pooling) -> usize {
    fn update(a: &Array2<f64>, w: &mut Array2<f64>, h: &Array2<f64>) -> f64 {
        let (gram, target) = (h.dot(&h.t()), a.dot(&h.t()));
        let mut violation = 0.0;
        for t in 0..w.ncols() {
            for i in 0..w.nrows() {
                let slope = w.row(i).dot(&gram.row(t)) - target[(i, t)];
                violation += if w[(i, t)] == 0.0 { slope.min(0.0).abs() } else { slope.abs() };
                if gram[(t, t)] != 0.0 {
                    w[(i, t)] = (w[(i, t)] - slope / gram[(t, t)]).max(0.0);
                }
            }
        }
        violation
    }
    let mut first = 0.0;
    for iteration in 1..=options.max_iterations {
        let mut violation = update(a, q, f);
        let mut transposed = f.t().to_owned();
        violation += update(a, &mut transposed, &q.t().to_owned());
        *f = transposed.t().to_owned();
        first = if iteration == 1 { violation } else { first };
        if violation <= options.tolerance * first {
            return iteration;
        }
    }
    options.max_iterations
}

fn close(a: &Array2<f64>, b: &Array2<f64>) -> bool {
    within(1e-8, a, b)
}

fn within(tolerance: f64, a: &Array2<f64>, b: &Array2<f64>) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + a.abs()))
}

fn ring(n: u32) -> Graph {
    let next: Vec<u32> = (0..n).map(|v| (v + 1) % n).collect();
    Graph::new(&EdgeList::new(n as usize, &(0..n).collect::<Vec<_>>(), &next)).unwrap()
}

proptest! {
    // The matrix has a higher rank than the factors. If it were factorised exactly,
    // gradients would be rounding errors, and so would everything that follows from
    // them.
    #[test]
    fn factors_are_those_of_plain_coordinate_descent(n in 4usize..70, more in 1usize..9, seed in 0u64..1000) {
        let mut stream = Stream::new(seed, "test start", [0, 0]);
        let mut end = || (stream.below(n) as u32, stream.below(n) as u32, stream.uniform_in(0.5, 2.0));
        let mut edges: Vec<_> = (0..n * more).map(|_| end()).collect();
        edges.extend((0..n as u32).map(|v| (v, v, f64::from(v + 1))));
        edges.iter_mut().for_each(|edge| *edge = (edge.0.min(edge.1), edge.0.max(edge.1), edge.2));
        let graph = weighted(n, &edges);
        let k = n / 2;
        let (mut q, mut f) = (random(n, k, &mut stream), random(k, n, &mut stream));
        let options = Pooling::default();
        let factors = factorize(graph.view(), q.view(), f.view(), &options).unwrap();
        let (start_q, start_f) = (q.clone(), f.clone());
        let iterations = by_the_book(&dense(graph.view()), &mut q, &mut f, &options);
        // If small changes of the start change the result, no result is the right one: rounding
        // decides whether a coordinate leaves 0, and the difference grows from iteration to
        // iteration.
        for _ in 0..3 {
            let mut near = |start: &Array2<f64>| start.mapv(|x| x * (1.0 + 1e-13 * stream.normal()));
            let (mut near_q, mut near_f) = (near(&start_q), near(&start_f));
            by_the_book(&dense(graph.view()), &mut near_q, &mut near_f, &options);
            prop_assume!(within(1e-10, &near_q, &q) && within(1e-10, &near_f, &f));
        }
        prop_assert_eq!(factors.iterations, iterations);
        prop_assert!(close(&factors.q, &q) && close(&factors.f, &f));
    }

    #[test]
    fn coarse_graphs_are_the_scaled_product((n, edges) in test_graphs::edges(30), seed in 0u64..9) {
        let graph = weighted(n, &edges);
        let options = Pooling { seed, ..Default::default() };
        let pooled = nmf(graph.view(), &options, 0).unwrap();
        test_graphs::check(graph.view(), &pooled);
        let mut s = Array2::<f64>::zeros((n, pooled.assignment.view().num_coarse()));
        for v in 0..n {
            let (columns, values) = pooled.assignment.view().row(v);
            columns.iter().zip(values).for_each(|(&c, &value)| s[(v, c as usize)] = value);
        }
        let mut product = s.t().dot(&dense(graph.view())).dot(&s);
        if n > 2 && graph.view().num_entries() > 0 {
            let largest = product.iter().copied().fold(0.0, f64::max);
            product /= largest;
            prop_assert_eq!(pooled.assignment.view().num_coarse(), (n / 2).max(2));
            prop_assert_eq!(pooled.notes.vertices_lost, s.rows().into_iter().filter(|r| r.sum() == 0.0).count());
        }
        prop_assert!(close(&dense(pooled.graph.view()), &product));
    }
}

#[test]
fn renaming_vertices_and_the_start_renames_the_factors() {
    let graph = ring(37);
    let (n, k) = (37, 18);
    let mut stream = Stream::new(3, "test start", [0, 0]);
    let (q, f) = (random(n, k, &mut stream), random(k, n, &mut stream));
    let names = stream.permutation(n);
    let mut old = vec![0; n];
    names.iter().enumerate().for_each(|(v, &name)| old[name] = v);
    let (renamed_q, renamed_f) = (q.select(ndarray::Axis(0), &old), f.select(ndarray::Axis(1), &old));
    let options = Pooling::default();
    let factors = factorize(graph.view(), q.view(), f.view(), &options).unwrap();
    let renamed = graph.view().permuted(&names).unwrap();
    let same = factorize(renamed.view(), renamed_q.view(), renamed_f.view(), &options).unwrap();
    assert!(close(&factors.q.select(ndarray::Axis(0), &old), &same.q));
    assert!(close(&factors.f.select(ndarray::Axis(1), &old), &same.f));
}

#[test]
fn threads_do_not_change_a_bit() {
    let pool = |threads, graph: &Graph| {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        threads
            .install(|| nmf(graph.view(), &Pooling { max_iterations: 2, ..Default::default() }, 0).unwrap())
    };
    // Enough vertices to spread rows and panels over threads.
    let graph = ring(1100);
    let (one, three) = (pool(1, &graph), pool(3, &graph));
    assert!(one == three);
    let again = pool(3, &one.graph);
    assert!(again == pool(1, &one.graph), "the coarse graph is dense");
}

#[test]
fn odd_graphs_are_pooled_too() {
    for (name, graph) in test_graphs::odd() {
        let pooled = nmf(graph.view(), &Pooling::default(), 0).unwrap();
        test_graphs::check(graph.view(), &pooled);
        assert_eq!(pooled.notes.symmetrized, usize::from(graph.view().is_directed()), "{name}");
        let same = graph.view().num_vertices() <= 2 || graph.view().num_entries() == 0;
        let expected =
            if same { graph.view().num_vertices() } else { (graph.view().num_vertices() / 2).max(2) };
        assert_eq!(pooled.graph.view().num_vertices(), expected, "{name}");
    }
}

#[test]
fn rounding_errors_do_not_become_clusters() {
    // Hubs with many leaves have few distinct rows: some components are superfluous and
    // hold rounding errors.
    for seed in 0..40 {
        let mut stream = Stream::new(seed, "test tree", [0, 0]);
        let ends: Vec<(u32, u32)> = (1..200).map(|v| (v, stream.below((v as usize).min(9)) as u32)).collect();
        let (sources, targets): (Vec<u32>, Vec<u32>) = ends.into_iter().unzip();
        let graph = Graph::new(&EdgeList::new(200, &sources, &targets)).unwrap();
        let pooled = nmf(graph.view(), &Pooling { seed, ..Default::default() }, 0).unwrap();
        let largest = pooled.assignment.view().values().iter().copied().fold(0.0, f64::max);
        assert!(largest < 1e4, "{largest}");
    }
}

#[test]
fn graphs_too_large_for_dense_factors_are_refused() {
    let star = test_graphs::star(100_000);
    let error = nmf(star.view(), &Pooling::default(), 0).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "bytes of the factors of NMF", .. }), "{error}");
}

#[test]
fn huge_and_tiny_weights_are_an_error_or_a_graph_never_a_panic() {
    for weight in [f64::MAX / 4.0, 1e200, 1e-200, f64::MIN_POSITIVE, 5e-324] {
        let graph = weighted(5, &[(0, 1, weight), (1, 2, weight), (2, 3, weight), (3, 4, weight)]);
        match nmf(graph.view(), &Pooling::default(), 0) {
            Ok(pooled) => test_graphs::check(graph.view(), &pooled),
            Err(error) => {
                assert!(matches!(error, Error::BadWeight { .. } | Error::BadValue { .. }), "{error}")
            }
        }
    }
}

#[test]
fn a_start_that_does_not_fit_is_an_error() {
    let graph = ring(4);
    let start = |rows, columns| Array2::from_elem((rows, columns), 0.5);
    let options = Pooling::default();
    for (q, f) in [((3, 2), (2, 4)), ((4, 2), (3, 4)), ((4, 2), (2, 5))] {
        let (q, f) = (start(q.0, q.1), start(f.0, f.1));
        assert!(matches!(factorize(graph.view(), q.view(), f.view(), &options), Err(Error::Length { .. })));
    }
    let bad = Array2::from_elem((2, 4), -1.0);
    let error = factorize(graph.view(), start(4, 2).view(), bad.view(), &options).unwrap_err();
    assert!(matches!(error, Error::BadValue { what: "start of F", index: 0, .. }));
    let none = factorize(graph.view(), start(4, 0).view(), start(0, 4).view(), &options).unwrap();
    assert_eq!(none.iterations, 0);
}
