use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use rayon::prelude::*;

use super::*;
use crate::graph::EdgeList;
use crate::linalg::oracle::jacobi;
use crate::rng::Stream;

fn graph(n: usize, edges: &[(u32, u32, f64)]) -> Graph {
    // List all edges in one direction, so that repeats add up.
    let sources: Vec<u32> = edges.iter().map(|e| e.0.max(e.1)).collect();
    let targets: Vec<u32> = edges.iter().map(|e| e.0.min(e.1)).collect();
    let weights: Vec<f64> = edges.iter().map(|e| e.2).collect();
    Graph::new(&EdgeList { weights: Some(&weights), ..EdgeList::new(n, &sources, &targets) }).unwrap()
}

/// Every pair is joined with probability `degree / n`; some vertices get self loops.
fn random(n: usize, degree: f64, loops: bool, seed: u64) -> Graph {
    let mut stream = Stream::new(seed, "random graph", [0, 0]);
    let mut edges = Vec::new();
    for i in 0..n as u32 {
        for j in 0..i {
            if stream.uniform() < degree / n as f64 {
                edges.push((i, j, stream.uniform_in(0.1, 2.0)));
            }
        }
        if loops && stream.uniform() < 0.3 {
            edges.push((i, i, stream.uniform_in(0.1, 3.0)));
        }
    }
    graph(n, &edges)
}

/// The same with a random spanning tree added, so that it is connected.
fn connected(n: usize, degree: f64, seed: u64) -> Graph {
    let mut stream = Stream::new(seed, "tree", [0, 0]);
    let mut edges: Vec<_> =
        (1..n).map(|v| (v as u32, stream.below(v) as u32, stream.uniform_in(0.1, 2.0))).collect();
    let more = random(n, degree, false, seed);
    edges.extend(more.view().entries().filter(|(i, j, _)| i < j).map(|(i, j, w)| (i as u32, j as u32, w)));
    graph(n, &edges)
}

fn dense(graph: GraphRef<'_>) -> Vec<Vec<f64>> {
    let n = graph.num_vertices();
    let mut a = vec![vec![0.0; n]; n];
    graph.entries().for_each(|(i, j, w)| a[i][j] = w);
    a
}

fn laplacian(graph: GraphRef<'_>) -> Vec<Vec<f64>> {
    let a = dense(graph);
    let n = a.len();
    (0..n)
        .map(|i| (0..n).map(|j| if i == j { a[i].iter().sum::<f64>() } else { 0.0 } - a[i][j]).collect())
        .collect()
}

/// Solves `m x = b` by elimination with pivoting.
fn solve(m: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let (n, mut m, mut b) = (m.len(), m.to_vec(), b.to_vec());
    for k in 0..n {
        let best = (k..n).max_by(|&i, &j| m[i][k].abs().total_cmp(&m[j][k].abs())).unwrap();
        m.swap(k, best);
        b.swap(k, best);
        for i in (0..n).filter(|&i| i != k) {
            let factor = m[i][k] / m[k][k];
            let (pivot, right) = (m[k].clone(), b[k].clone());
            m[i].iter_mut().zip(&pivot).for_each(|(x, y)| *x -= factor * y);
            b[i].iter_mut().zip(&right).for_each(|(x, y)| *x -= factor * y);
        }
    }
    (0..n).map(|i| b[i].iter().map(|x| x / m[i][i]).collect()).collect()
}

fn part(m: &[Vec<f64>], rows: &[usize], columns: &[usize]) -> Vec<Vec<f64>> {
    rows.iter().map(|&i| columns.iter().map(|&j| m[i][j]).collect()).collect()
}

/// `-offdiag(L_kk - L_kd L_dd⁻¹ L_dk)`.
fn schur(graph: GraphRef<'_>, keep: &[bool]) -> Vec<Vec<f64>> {
    let l = laplacian(graph);
    let (kept, dropped): (Vec<usize>, Vec<usize>) = (0..l.len()).partition(|&v| keep[v]);
    let inner = solve(&part(&l, &dropped, &dropped), &part(&l, &dropped, &kept));
    let (mut result, left) = (part(&l, &kept, &kept), part(&l, &kept, &dropped));
    for i in 0..kept.len() {
        for j in 0..kept.len() {
            result[i][j] -= (0..dropped.len()).map(|k| left[i][k] * inner[k][j]).sum::<f64>();
            result[i][j] = if i == j { 0.0 } else { -result[i][j] };
        }
    }
    result
}

fn assert_close(found: &[Vec<f64>], expected: &[Vec<f64>], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        for (j, (x, y)) in a.iter().zip(b).enumerate() {
            assert!((x - y).abs() < tolerance, "({i}, {j}): {x} {y}");
        }
    }
}

/// Random vertices to keep, at least one in every component.
fn random_keep(graph: GraphRef<'_>, share: f64, seed: u64) -> Vec<bool> {
    let mut stream = Stream::new(seed, "keep", [0, 0]);
    let components = graph.components();
    let mut seen = vec![false; components.count()];
    let labels = components.labels().iter();
    labels.map(|&c| !std::mem::replace(&mut seen[c as usize], true) || stream.uniform() < share).collect()
}

fn resistances(graph: GraphRef<'_>, among: &[usize]) -> Vec<Vec<f64>> {
    let l = laplacian(graph);
    let n = l.len();
    // L + J/n of a connected graph is regular, and its inverse has the same distances
    // as L⁺.
    let m: Vec<Vec<f64>> = l.iter().map(|row| row.iter().map(|x| x + 1.0 / n as f64).collect()).collect();
    let eye: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    let g = solve(&m, &eye);
    among.iter().map(|&i| among.iter().map(|&j| g[i][i] + g[j][j] - 2.0 * g[i][j]).collect()).collect()
}

fn eigenvalues(m: &[Vec<f64>]) -> Vec<f64> {
    jacobi(&m.concat(), m.len()).0
}

fn exact() -> Pooling {
    Pooling { delta: 0.0, ..Pooling::default() }
}

fn share_cut(graph: GraphRef<'_>, side: &[bool]) -> f64 {
    let edges = || graph.entries().filter(|(i, j, _)| i != j);
    let total: f64 = edges().map(|e| e.2).sum();
    let crossing: f64 = edges().filter(|(i, j, _)| side[*i] != side[*j]).map(|e| e.2).sum();
    if total == 0.0 { 1.0 } else { crossing / total }
}

/// Properties that hold for every pooling.
fn check_pooled(fine: GraphRef<'_>, pooled: &Pooled) {
    let kept = pooled.kept.as_ref().unwrap();
    let (s, coarse) = (pooled.assignment.view(), pooled.graph.view());
    assert_eq!((s.num_fine(), s.num_coarse()), (fine.num_vertices(), kept.len()));
    assert_eq!(coarse.num_vertices(), kept.len());
    let mut next = 0;
    for v in 0..fine.num_vertices() {
        match kept.get(next) {
            Some(&k) if k as usize == v => {
                assert_eq!(s.row(v), ([next as u32].as_slice(), [1.0].as_slice()));
                next += 1;
            }
            _ => assert!(s.row(v).0.is_empty()),
        }
    }
    assert_eq!(next, kept.len());
    let a = dense(coarse);
    for (i, j, weight) in coarse.entries() {
        assert!(weight > 0.0 && weight.is_finite() && i != j && a[i][j] == a[j][i], "{i} {j} {weight}");
    }
    for v in 0..kept.len() {
        assert!(coarse.neighbours(v).is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn reduction_is_the_dense_schur_complement() {
    for seed in 0..30 {
        let n = 3 + 4 * seed as usize;
        for (fine, share) in [
            (connected(n, 2.0, seed), 0.5),
            (connected(n, 6.0, seed), 0.1),
            (random(n, 2.0, false, seed), 0.5),
            (random(n, 3.0, true, seed), 0.3),
            (random(n, n as f64, true, seed), 0.4),
        ] {
            let keep = random_keep(fine.view(), share, seed);
            let coarse = kron_reduce(fine.view(), &keep).unwrap();
            assert_close(&dense(coarse.view()), &schur(fine.view(), &keep), 1e-9);
        }
    }
}

#[test]
fn fronts_and_one_dense_elimination_agree() {
    for (n, degree, share) in [(400, 3.0, 0.05), (250, 12.0, 0.3), (300, 2.0, 0.5), (150, 150.0, 0.1)] {
        let fine = connected(n, degree, 3);
        let keep = random_keep(fine.view(), share, 3);
        let coarse = kron_reduce(fine.view(), &keep).unwrap();
        assert_close(&dense(coarse.view()), &schur(fine.view(), &keep), 1e-9);
    }
}

#[test]
fn distances_spectrum_and_components_survive() {
    for seed in 0..12 {
        let fine = connected(10 + 5 * seed as usize, 3.0, seed);
        let pooled = ndp(fine.view(), &exact(), 0).unwrap();
        check_pooled(fine.view(), &pooled);
        let kept: Vec<usize> = pooled.kept.as_ref().unwrap().iter().map(|&v| v as usize).collect();
        let all: Vec<usize> = (0..kept.len()).collect();
        let coarse = pooled.graph.view();
        assert_close(&resistances(coarse, &all), &resistances(fine.view(), &kept), 1e-8);
        let (below, above) = (eigenvalues(&laplacian(coarse)), eigenvalues(&laplacian(fine.view())));
        let shift = above.len() - below.len();
        for (i, value) in below.iter().enumerate() {
            assert!(above[i] - 1e-9 <= *value && *value <= above[i + shift] + 1e-9, "{i}: {value}");
        }
    }
    for seed in 0..12 {
        let fine = random(60, 1.5, true, seed);
        let pooled = ndp(fine.view(), &exact(), 0).unwrap();
        let (before, after) = (fine.view().components(), pooled.graph.view().components());
        assert_eq!(before.count(), after.count(), "every component keeps a vertex and stays one");
        let kept = pooled.kept.unwrap();
        for (i, &v) in kept.iter().enumerate() {
            for (j, &u) in kept.iter().enumerate() {
                let together = before.labels()[v as usize] == before.labels()[u as usize];
                assert_eq!(together, after.labels()[i] == after.labels()[j]);
            }
        }
    }
}

proptest! {
    #[test]
    fn cuts_reach_one_half_and_poolings_are_selections(
        n in 0usize..60,
        edges in prop::collection::vec((0u32..60, 0u32..60, 0.001f64..10.0), 0..150),
        delta in 0.0f64..0.5,
    ) {
        let edges: Vec<_> = edges.into_iter().filter(|e| (e.0.max(e.1) as usize) < n).collect();
        let fine = graph(n, &edges);
        let cut = maxcut(fine.view()).unwrap();
        prop_assert!(cut.value >= 0.5);
        prop_assert!((cut.value - share_cut(fine.view(), &cut.side)).abs() < 1e-12);
        let full = ndp(fine.view(), &exact(), 0).unwrap();
        check_pooled(fine.view(), &full);
        let some = ndp(fine.view(), &Pooling { delta, ..exact() }, 0).unwrap();
        check_pooled(fine.view(), &some);
        prop_assert_eq!(&some.graph, &sparsify(full.graph.view(), delta).unwrap());
        let deferred = Pooling { delta, sparsify: Sparsify::Deferred, ..exact() };
        prop_assert_eq!(&ndp(fine.view(), &deferred, 0).unwrap().graph, &full.graph);
    }
}

#[test]
fn flips_lift_a_bad_cut_to_one_half() {
    // All vertices on one side: nothing is cut, and every first flip gains.
    for seed in 0..20 {
        let fine = connected(40, 8.0, seed);
        let rows = Rows::new(fine.view()).unwrap();
        let mut cutter = cut::Cutter::new(&rows);
        cutter.search(0);
        cutter.keep.fill(true);
        cutter.flip(0, &|| ControlFlow::Continue(())).unwrap();
        let side = &cutter.keep;
        assert!(share_cut(fine.view(), side) >= 0.5);
        let a = dense(fine.view());
        for v in 0..40 {
            let crossing: f64 = (0..40).filter(|&u| side[u] != side[v]).map(|u| a[v][u]).sum();
            assert!(crossing >= 0.5 * a[v].iter().sum::<f64>() - 1e-9, "a local optimum");
        }
    }
}

#[test]
fn bipartite_components_are_cut_whole() {
    // A tree, an even ring and a square with self loops.
    let mut edges: Vec<(u32, u32, f64)> = (1..20).map(|v| (v, v / 2, f64::from(v))).collect();
    edges.extend((0..200).map(|k| (20 + k, 20 + (k + 1) % 200, 1.0)));
    edges.extend([(220, 221, 1.0), (221, 222, 1.0), (222, 223, 1.0), (223, 220, 1.0), (221, 221, 5.0)]);
    let fine = graph(224, &edges);
    let cut = maxcut(fine.view()).unwrap();
    assert_eq!(cut.value, 1.0);
    assert!(!cut.improved);
    assert!(cut.side[221] && cut.side[223], "the side of the largest degree");
    assert!(cut.side[20], "a tie of degrees and sizes: the side of the lowest vertex");
}

#[test]
fn sides_by_rule() {
    // A star: the centre has the largest degree, and its side is the smaller one.
    let star = graph(6, &[(3, 0, 1.0), (3, 1, 1.0), (3, 2, 1.0), (3, 4, 1.0), (3, 5, 1.0)]);
    let kept = |side| ndp(star.view(), &Pooling { side, ..exact() }, 0).unwrap().kept.unwrap();
    assert_eq!(kept(Side::Largest), [3]);
    assert_eq!(kept(Side::Smaller), [3]);
    assert_eq!(kept(Side::Larger), [0, 1, 2, 4, 5]);
    // A path of three between heavy leaves: the largest degree is on the larger side.
    let path = graph(3, &[(0, 1, 1.0), (1, 2, 1.0), (0, 0, 9.0)]);
    let kept = |side| ndp(path.view(), &Pooling { side, ..exact() }, 0).unwrap().kept.unwrap();
    assert_eq!(kept(Side::Largest), [0, 2]);
    assert_eq!(kept(Side::Smaller), [1]);
}

#[test]
fn relabelled_graphs_give_isomorphic_pyramids() {
    for seed in 0..25 {
        let fine = connected(12 + 4 * seed as usize, 4.0, 100 + seed);
        let n = fine.view().num_vertices();
        let names = Stream::new(seed, "names", [0, 0]).permutation(n);
        let renamed = fine.view().permuted(&names).unwrap();
        let (mut a, mut b) = (fine, renamed);
        let mut names = names;
        for level in 0..3 {
            if a.view().num_vertices() < 3 {
                break; // Two vertices cannot be distinguished.
            }
            let (x, y) = (ndp(a.view(), &exact(), level).unwrap(), ndp(b.view(), &exact(), level).unwrap());
            let (kept_x, kept_y) = (x.kept.unwrap(), y.kept.unwrap());
            let place: Vec<usize> = kept_x
                .iter()
                .map(|&v| kept_y.binary_search(&(names[v as usize] as u32)).unwrap_or(usize::MAX))
                .collect();
            assert!(!place.contains(&usize::MAX), "seed {seed}, level {level}: other vertices are kept");
            let (p, q) = (dense(x.graph.view()), dense(y.graph.view()));
            assert_eq!(p.len(), q.len());
            for (i, row) in p.iter().enumerate() {
                for (j, weight) in row.iter().enumerate() {
                    assert!((weight - q[place[i]][place[j]]).abs() < 1e-9);
                }
            }
            (a, b, names) = (x.graph, y.graph, place);
        }
    }
}

#[test]
fn the_same_bits_whatever_came_before() {
    let graphs: Vec<Graph> = (0..6).map(|seed| random(20 + 40 * seed as usize, 4.0, true, seed)).collect();
    let options = Pooling::default();
    let alone: Vec<Pooled> = graphs.iter().map(|g| ndp(g.view(), &options, 1).unwrap()).collect();
    let mut batch = graphs[0].as_batch().clone();
    graphs[1..].iter().for_each(|g| batch.append(g.as_batch()).unwrap());
    for (graph, expected) in batch.iter().zip(&alone) {
        assert_eq!(&ndp(graph, &options, 1).unwrap(), expected);
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let pooled: Vec<Pooled> =
            pool.install(|| graphs.par_iter().map(|graph| ndp(graph.view(), &options, 1).unwrap()).collect());
        assert_eq!(pooled, alone);
    }
}

#[test]
fn large_components_depend_on_seed_and_level_only() {
    // An odd ring: far from converged after the permitted products.
    let mut stream = Stream::new(0, "ring", [0, 0]);
    let ring: Vec<_> = (0..2001).map(|v| (v, (v + 1) % 2001, stream.uniform_in(0.5, 1.0))).collect();
    let fine = graph(2001, &ring);
    let kept = |seed, level| ndp(fine.view(), &Pooling { seed, ..exact() }, level).unwrap().kept.unwrap();
    assert_eq!(kept(0, 0), kept(0, 0));
    assert_ne!(kept(0, 0), kept(1, 0));
    assert_ne!(kept(0, 0), kept(0, 1));
    assert!(maxcut(fine.view()).unwrap().value > 0.6);
    // Too wide for the products to reach across: rows linked to the next, with
    // diagonals.
    let (side, mut wide) = (100, Vec::new());
    for v in 0..side * side {
        let (x, y) = (v % side, v / side);
        for (dx, dy) in [(1, 0), (0, 1), (1, 1)] {
            if x + dx < side && y + dy < side {
                wide.push((v, v + dx + side * dy, 1.0));
            }
        }
    }
    let wide = graph((side * side) as usize, &wide);
    let cut = maxcut(wide.view()).unwrap();
    assert!(cut.value > 0.6, "{}", cut.value);
    for v in 0..wide.view().num_vertices() {
        let neighbours = wide.view().neighbours(v);
        let crossing = neighbours.iter().filter(|&&u| cut.side[u as usize] != cut.side[v]).count();
        assert!(2 * crossing >= neighbours.len(), "flipped to a local optimum");
    }
}

#[test]
fn small_and_odd_graphs() {
    let sizes = |fine: &Graph| {
        let pooled = ndp(fine.view(), &exact(), 0).unwrap();
        check_pooled(fine.view(), &pooled);
        (pooled.kept.unwrap().len(), pooled.graph.view().num_edges())
    };
    let plain = |n, s: &[u32], t: &[u32]| Graph::new(&EdgeList::new(n, s, t)).unwrap();
    assert_eq!(sizes(&plain(0, &[], &[])), (0, 0));
    assert_eq!(sizes(&plain(1, &[], &[])), (1, 0));
    assert_eq!(sizes(&plain(1, &[0], &[0])), (1, 0));
    assert_eq!(sizes(&plain(7, &[], &[])), (7, 0), "one-vertex components are kept");
    assert_eq!(sizes(&plain(2, &[0], &[1])), (1, 0));
    for n in [3u32, 4, 30, 200] {
        let (s, t): (Vec<u32>, Vec<u32>) = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).unzip();
        let complete = plain(n as usize, &s, &t);
        let (kept, edges) = sizes(&complete);
        assert!(kept > 0 && kept < n as usize);
        assert_eq!(edges, kept * (kept - 1) / 2);
        assert!(maxcut(complete.view()).unwrap().value >= 0.5);
    }
    // Two equal triangles: both must be treated in the same way.
    let (kept, _) = sizes(&plain(6, &[0, 1, 2, 3, 4, 5], &[1, 2, 0, 4, 5, 3]));
    assert!(kept == 2 || kept == 4, "{kept}");
    let notes = ndp(plain(2, &[0], &[1]).view(), &exact(), 0).unwrap().notes;
    assert_eq!((notes.without_edges, notes.symmetrized), (1, 0));
}

#[test]
fn a_star_with_many_leaves() {
    let n: u32 = 100_000;
    let (centre, leaves) = (vec![0; n as usize], (1..=n).collect::<Vec<u32>>());
    let star = Graph::new(&EdgeList::new(n as usize + 1, &centre, &leaves)).unwrap();
    let pooled = ndp(star.view(), &Pooling::default(), 0).unwrap();
    assert_eq!(pooled.kept.unwrap(), [0]);
    assert_eq!(pooled.notes.without_edges, 1);
    // Keeping the leaves would link all of them.
    let larger = Pooling { side: Side::Larger, fill_budget: 1_000_000, ..Pooling::default() };
    let error = ndp(star.view(), &larger, 0).unwrap_err();
    assert!(matches!(error, Error::FillBudget { dropped: 1, num_vertices: 100_001, .. }), "{error}");
    let pooled = ndp(star.view(), &Pooling { approximate: true, ..larger }, 0).unwrap();
    assert_eq!(pooled.notes.fill_dropped, 100_000 * 99_999 / 2);
    assert_eq!((pooled.kept.unwrap().len(), pooled.graph.view().num_entries()), (100_000, 0));
}

#[test]
fn approximate_reductions_are_close_and_stay_within_the_budget() {
    let fine = connected(300, 6.0, 2);
    let full = ndp(fine.view(), &exact(), 0).unwrap();
    let needed = full.graph.view().num_edges() as u64;
    let enough = Pooling { approximate: true, ..exact() };
    assert_eq!(ndp(fine.view(), &enough, 0).unwrap(), full, "exact as long as the budget suffices");
    let tight = Pooling { fill_budget: needed * 3 / 4, ..enough };
    assert!(ndp(fine.view(), &Pooling { approximate: false, ..tight }, 0).is_err());
    let rough = ndp(fine.view(), &tight, 0).unwrap();
    check_pooled(fine.view(), &rough);
    assert!(rough.notes.fill_dropped > 0);
    assert_eq!(rough.kept, full.kept);
    // Removing conductances can only lower the flow out of a vertex (Rayleigh).
    let (before, after) = (full.graph.view().degrees(), rough.graph.view().degrees());
    for (x, y) in before.iter().zip(&after) {
        assert!(*y <= x + 1e-9 && *y > 0.5 * x, "{x} {y}");
    }
    assert!(after.iter().sum::<f64>() > 0.9 * before.iter().sum::<f64>());
}

#[test]
fn approximate_reductions_of_the_smallest_weights_end() {
    let leaves: Vec<_> = (1..=10).map(|v| (0, v, 1e-322)).collect();
    let star = graph(11, &leaves);
    let tight = Pooling { side: Side::Larger, approximate: true, fill_budget: 5, ..exact() };
    let looks = AtomicUsize::new(0);
    let going = || match looks.fetch_add(1, Ordering::Relaxed) {
        ..10_000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    };
    let pooled = ndp_while(star.view(), &tight, 0, &going).unwrap();
    assert_eq!((pooled.notes.fill_dropped, pooled.kept.unwrap().len()), (45, 10));
}

#[test]
fn a_weight_of_exactly_delta_stays() {
    // A dropped vertex with ten neighbours links them by 1/10 each.
    let leaves: Vec<_> = (1..=10).map(|v| (0, v, 1.0)).collect();
    let star = graph(11, &leaves);
    let larger = Pooling { side: Side::Larger, ..Pooling::default() };
    let pooled = ndp(star.view(), &larger, 0).unwrap();
    assert!(pooled.graph.view().weights().unwrap().iter().all(|&w| w == 0.1));
    assert_eq!(pooled.graph.view().num_edges(), 45);
    assert_eq!(ndp(star.view(), &Pooling { delta: 0.11, ..larger }, 0).unwrap().notes.without_edges, 1);
}

#[test]
fn directed_graphs_are_made_symmetric() {
    let weights = [1.0, 3.0, 2.0, 4.0];
    let edges = EdgeList {
        weights: Some(&weights),
        directed: true,
        ..EdgeList::new(4, &[0, 1, 1, 2], &[1, 0, 2, 2])
    };
    let directed = Graph::new(&edges).unwrap();
    let undirected = graph(4, &[(0, 1, 2.0), (1, 2, 1.0), (2, 2, 4.0)]);
    let (x, y) = (ndp(directed.view(), &exact(), 0).unwrap(), ndp(undirected.view(), &exact(), 0).unwrap());
    assert_eq!((x.notes.symmetrized, y.notes.symmetrized), (1, 0));
    assert_eq!((x.graph, x.kept), (y.graph, y.kept));
}

#[test]
fn weights_of_any_size() {
    let ring = |w: f64| graph(5, &[(0, 1, w), (1, 2, w), (2, 3, w), (3, 4, w), (4, 0, w)]);
    for w in [1e-320, 1e-300, 1e-150, 1e150, 1e306] {
        let fine = ring(w);
        check_pooled(fine.view(), &ndp(fine.view(), &exact(), 0).unwrap());
    }
    let mixed = graph(5, &[(0, 1, 1e-300), (1, 2, 1e300), (2, 0, 1.0), (2, 3, 1e-8), (3, 4, 1e8)]);
    check_pooled(mixed.view(), &ndp(mixed.view(), &exact(), 0).unwrap());
    // The weights of each vertex have a finite sum, those of the whole graph do not.
    let error = ndp(ring(f64::MAX / 2.5).view(), &exact(), 0).unwrap_err();
    assert_eq!(error.to_string(), "sum of weights of graph 0 is inf; expected a finite number");
}

#[test]
fn options_are_checked() {
    let one = graph(2, &[(0, 1, 1.0)]);
    for delta in [-0.1, f64::NAN, f64::INFINITY] {
        let error = ndp(one.view(), &Pooling { delta, ..exact() }, 0).unwrap_err();
        assert!(error.to_string().starts_with("delta: expected a finite number"), "{error}");
    }
    assert!(matches!(kron_reduce(one.view(), &[true]), Err(Error::Length { expected: 2, found: 1, .. })));
    assert_eq!(kron_reduce(one.view(), &[false, false]).unwrap().view().num_vertices(), 0);
}
