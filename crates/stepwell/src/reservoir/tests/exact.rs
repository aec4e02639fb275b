//! Compares the library with the plain equations.

use proptest::prelude::*;

use super::plain::*;
use crate::config::*;
use crate::graph::{EdgeList, Graph, GraphBatch};
use crate::reservoir::*;
use crate::rng::Stream;

fn base(units: usize) -> ModelConfig {
    ModelConfig {
        units: units.into(),
        spectral_radius: 0.5.into(),
        lift: false,
        max_iter: 2000,
        ..Default::default()
    }
}

/// Solves to the smallest useful tolerance and compares.
fn check(options: &ModelConfig, name: &str, graph: &Graph, inputs: &crate::features::Inputs) {
    let exact = ModelConfig { tol: 1e-12, ..options.clone() };
    let weights = Weights::random(options, inputs.width()).unwrap();
    let (expected, _) = blocks(graph, inputs, &weights, &exact).pop().unwrap();
    let (bound, tol) = match options.precision {
        Precision::F32 => (2e-6, 0.0),
        Precision::F64 => (1e-10, 1e-12),
    };
    let options = ModelConfig { tol, ..options.clone() };
    let (found, runs) = solved(graph.as_batch(), inputs, &weights, &options);
    let error = distance(&found, &expected);
    let case = format!("{name}, {} units, {:?}, {:?}", expected.ncols(), options.precision, options.solver);
    assert!(error < bound, "{case}: off by {error:e}");
    assert!(runs.iter().all(|run| run.converged != Convergence::No), "{case}: {runs:?}");
}

#[test]
fn states_equal_the_plain_solution_on_every_kind_of_graph() {
    for carried in [Carries::Labels, Carries::Attributes, Carries::Both] {
        for (name, graph, inputs) in graphs(carried) {
            for precision in [Precision::F32, Precision::F64] {
                for solver in [Solver::GaussSeidel, Solver::Jacobi] {
                    let options = ModelConfig { precision, solver, ..base(17) };
                    check(&options, name, &graph, &inputs);
                }
            }
        }
    }
}

#[test]
fn states_equal_the_plain_solution_for_any_number_of_units() {
    let (name, graph, inputs) = graphs(Carries::Both).swap_remove(1);
    for units in [1, 2, 3, 7, 8, 9, 15, 16, 17, 50, 64, 100, 256] {
        for precision in [Precision::F32, Precision::F64] {
            check(&ModelConfig { precision, ..base(units) }, name, &graph, &inputs);
        }
    }
}

#[test]
fn states_equal_the_plain_solution_for_every_pattern_and_leak() {
    let (name, graph, inputs) = graphs(Carries::Labels).swap_remove(1);
    use Recurrence::*;
    for recurrence in [Dense, Sparse, Ring, Orthogonal, Diagonal] {
        for leak in [1.0, 0.7] {
            for solver in [Solver::GaussSeidel, Solver::Jacobi] {
                for (precision, units) in [(Precision::F32, 50), (Precision::F64, 13), (Precision::F32, 1)] {
                    let options = ModelConfig { recurrence, leak, solver, precision, ..base(units) };
                    check(&options, name, &graph, &inputs);
                }
            }
        }
    }
    let zero = ModelConfig { spectral_radius: 0.0.into(), ..base(9) };
    check(&zero, name, &graph, &inputs);
    let differing = ModelConfig {
        units: PerBlock::Each(vec![5, 20, 11]),
        blocks: 3,
        spectral_radius: PerBlock::Each(vec![0.2, 0.5, 0.4]),
        hidden_scaling: PerBlock::Each(vec![0.0, 0.3, 1.2]),
        ..base(1)
    };
    check(&differing, name, &graph, &inputs);
}

#[test]
fn jacobi_in_f64_makes_the_sweeps_the_plain_loop_makes() {
    for (name, graph, inputs) in graphs(Carries::Both) {
        for (tol, max_iter, leak) in [(1e-5, 50, 1.0), (1e-9, 200, 1.0), (1e-5, 7, 1.0), (1e-5, 80, 0.6)] {
            let options = ModelConfig {
                solver: Solver::Jacobi,
                precision: Precision::F64,
                tol,
                max_iter,
                leak,
                spectral_radius: 0.9.into(),
                ..base(12)
            };
            let weights = Weights::random(&options, inputs.width()).unwrap();
            let expected: Vec<usize> =
                blocks(&graph, &inputs, &weights, &options).iter().map(|b| b.1).collect();
            let (_, runs) = solved(graph.as_batch(), &inputs, &weights, &options);
            let found: Vec<usize> = runs.iter().map(|run| run.sweeps as usize).collect();
            assert_eq!(found, expected, "{name}, tol {tol}");
        }
    }
}

#[test]
fn unnormalised_and_unstable_sweeps_follow_the_equation_step_by_step() {
    for (name, graph, inputs) in graphs(Carries::Attributes) {
        for precision in [Precision::F64, Precision::F32] {
            let options = ModelConfig {
                normalize: false,
                fixed_sweeps: Some(4),
                spectral_radius: 1.5.into(),
                solver: Solver::Jacobi,
                precision,
                ..base(10)
            };
            let weights = Weights::random(&options, inputs.width()).unwrap();
            let (expected, _) = blocks(&graph, &inputs, &weights, &options).pop().unwrap();
            let (found, runs) = solved(graph.as_batch(), &inputs, &weights, &options);
            let bound = if precision == Precision::F64 { 1e-9 } else { 2e-3 };
            assert!(distance(&found, &expected) < bound, "{name}");
            assert!(runs.iter().all(|run| run.sweeps == 4));
        }
    }
}

#[test]
fn all_instruction_sets_agree() {
    use crate::kernel::{Drive, Equation, Gates, Isa, Operator, Recurrent, by_colour, stride};
    use crate::reservoir::solver::{Buffers, Rule, solve};
    fn run<T: crate::kernel::Real>(isa: Isa, graph: &Graph, units: usize, options: &ModelConfig) -> Vec<f64> {
        let view = graph.view();
        let starts: Vec<usize> = view.row_starts().collect();
        let order = by_colour(&starts, view.all_neighbours(), view.is_directed());
        let mut operator = Operator::<T>::new();
        operator
            .push(&starts, view.all_neighbours(), None, &view.normalized_weights(), None, &order)
            .unwrap();
        let weights = Weights::random(options, 3).unwrap().stacks()[0][0][0].recurrent.clone();
        let mut stream = Stream::new(1, "drive", [0, 0]);
        let stride = stride::<T>(units);
        let mut drive = vec![T::default(); view.num_vertices() * stride];
        for line in drive.chunks_exact_mut(stride) {
            line[..units].iter_mut().for_each(|value| *value = T::from_f64(stream.normal()));
        }
        let recurrent = Recurrent::new(weights.view(), isa);
        let mut buffers = Buffers::default();
        buffers.clear(drive.len());
        let rule = Rule::from(options);
        let drive = Drive::rows(&drive);
        let equation = Equation::new(operator.graph(0), drive, Gates::Open, &recurrent, options.leak);
        solve(&equation, rule, &mut buffers, true, || false).unwrap();
        buffers.state[..view.num_vertices() * stride].iter().map(|x| x.to_f64()).collect()
    }
    use Recurrence::*;
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    for (name, graph, _) in graphs(Carries::Labels) {
        for units in [1, 3, 8, 12, 20, 33, 50, 63, 71, 100, 136, 200] {
            for recurrence in [Dense, Ring, Sparse, Diagonal] {
                let solver = if units % 3 == 0 { Solver::Jacobi } else { Solver::GaussSeidel };
                let leak = if units % 2 == 0 { 1.0 } else { 0.7 };
                let options = ModelConfig { recurrence, solver, leak, fixed_sweeps: Some(8), ..base(units) };
                let single = Isa::all().map(|isa| run::<f32>(isa, &graph, units, &options));
                let double = Isa::all().map(|isa| run::<f64>(isa, &graph, units, &options));
                for (found, bound) in [(single.collect::<Vec<_>>(), 1e-6), (double.collect(), 1e-13)] {
                    for (which, other) in found.iter().enumerate() {
                        let worst = apart(&found[0], other);
                        assert!(
                            worst < bound,
                            "{name}, {units} units, {recurrence:?}, set {which}: {worst:e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn inputs_are_projected_alike_by_all_instruction_sets() {
    use crate::kernel::{Isa, Projection, Real, project, stride};
    fn check<T: Real>(bound: f64) {
        for (rows, inputs, units) in [(1, 1, 5), (7, 3, 50), (13, 50, 50), (31, 129, 33), (50, 301, 100)] {
            let mut stream = Stream::new(2, "projection", [inputs as u64, units as u64]);
            let v = ndarray::Array2::from_shape_simple_fn((inputs, units), || stream.uniform_in(-0.1, 0.1));
            let x = ndarray::Array2::from_shape_simple_fn((rows, inputs), || stream.uniform_in(-1.0, 1.0));
            let left: Vec<T> = x.iter().map(|&x| T::from_f64(x)).collect();
            let stride = stride::<T>(units);
            let expected = x.dot(&v);
            for isa in Isa::all() {
                let mut target = vec![T::from_f64(0.5); rows * stride];
                project(&Projection::<T>::new(v.view(), isa), &left, inputs, rows, &mut target);
                for (line, expected) in target.chunks_exact(stride).zip(expected.rows()) {
                    let padded = expected.iter().copied().chain(std::iter::repeat(0.0));
                    for (found, expected) in line.iter().zip(padded) {
                        let error = (found.to_f64() - 0.5 - expected).abs();
                        assert!(error < bound, "{rows} x {inputs} x {units}, {isa:?}: {error:e}");
                    }
                }
            }
        }
    }
    check::<f32>(2e-6);
    check::<f64>(1e-14);
}

#[test]
fn what_is_not_a_number_stays_that_with_all_instruction_sets() {
    use crate::kernel::{Drive, Equation, Gates, Isa, Operator, Recurrent, by_colour, stride};
    // A path of three vertices. The drive of the first is NaN, that of the others is huge.
    let path = Graph::new(&EdgeList::new(3, &[0, 1], &[1, 2])).unwrap();
    let starts: Vec<usize> = path.view().row_starts().collect();
    let order = by_colour(&starts, path.view().all_neighbours(), false);
    let mut operator = Operator::<f32>::new();
    let places = operator.push(&starts, path.view().all_neighbours(), None, &[1.0; 4], None, &order).unwrap();
    for units in [7, 50] {
        let stride = stride::<f32>(units);
        let recurrent = Weights::random(&base(units), 3).unwrap().stacks()[0][0][0].recurrent.clone();
        let mut drive = vec![0.0; 3 * stride];
        for (vertex, value) in [f32::NAN, 1e38, -1e38].into_iter().enumerate() {
            drive[places[vertex] as usize * stride..][..units].fill(value);
        }
        for isa in Isa::all() {
            let packed = Recurrent::<f32>::new(recurrent.view(), isa);
            let equation = Equation::new(operator.graph(0), Drive::rows(&drive), Gates::Open, &packed, 1.0);
            let mut state = vec![0.0; 3 * stride];
            let mut scratch = Default::default();
            let change = equation.sweep_into(&vec![0.0; 3 * stride], &mut state, &mut scratch, true);
            assert!(change.is_nan());
            let of = |vertex: usize| &state[places[vertex] as usize * stride..][..units];
            assert!(of(0).iter().all(|x| x.is_nan()), "{isa:?}");
            assert!(of(1).iter().all(|x| *x == 1.0) && of(2).iter().all(|x| *x == -1.0), "{isa:?}");
        }
    }
}

#[test]
fn every_start_leads_to_the_same_states_and_the_bounds_hold() {
    use crate::kernel::{Drive, Equation, Gates, Isa, Operator, Recurrent, by_colour, stride};
    use crate::reservoir::solver::{Buffers, Rule, solve};
    use crate::theory;
    for (name, graph, x) in graphs(Carries::Attributes) {
        for solver in [Solver::GaussSeidel, Solver::Jacobi] {
            let units = 10;
            let options = ModelConfig {
                solver,
                precision: Precision::F64,
                scaling: Scaling::Norm,
                spectral_radius: 0.8.into(),
                tol: 1e-6,
                blocks: 1,
                ..base(units)
            };
            let weights = Weights::random(&options, x.width()).unwrap();
            let BlockWeights { recurrent, input, .. } = &weights.stacks()[0][0][0];
            let (view, n) = (graph.view(), graph.view().num_vertices());
            let u = dense(&x, n).dot(input);
            let (exact, _) = fixed_point(&adjacency(view, true), recurrent, &u, 1.0, 1e-13, 5000);
            let stability =
                theory::stability(view, true, theory::RecurrentSize::of(recurrent.view()).unwrap(), false)
                    .unwrap();
            assert!(stability.sufficient && stability.contraction < 0.8 + 1e-9);

            let (found, runs) = solved(graph.as_batch(), &x, &weights, &options);
            let residual = theory::residual(view, true, recurrent.view(), u.view(), found.view(), |_| None);
            let bound = theory::distance_bound(stability.contraction, residual).unwrap();
            assert!(frobenius(&(&found - &exact)) <= bound + 1e-11, "{name}");
            if solver == Solver::Jacobi {
                let first = runs[(0, 0)].first_change;
                assert!((first - frobenius(&u.mapv(f64::tanh))).abs() < 1e-12 * first.max(1.0));
                let bound = theory::sweeps_bound(stability.contraction, options.tol, first).unwrap();
                assert!(u64::from(runs[(0, 0)].sweeps) <= bound + 1, "{name}: {runs:?} {bound}");
            }

            let starts: Vec<usize> = view.row_starts().collect();
            let order = by_colour(&starts, view.all_neighbours(), view.is_directed());
            let mut operator = Operator::<f64>::new();
            let places =
                operator.push(&starts, view.all_neighbours(), None, &view.normalized_weights(), None, &order);
            let places = places.unwrap();
            let stride = stride::<f64>(units);
            let at = |v: usize, unit: usize| places[v] as usize * stride + unit;
            let mut drive = vec![0.0; n * stride];
            u.indexed_iter().for_each(|((v, unit), value)| drive[at(v, unit)] = *value);
            let packed = Recurrent::new(recurrent.view(), Isa::in_use());
            for seed in 0..3 {
                let mut buffers = Buffers::default();
                buffers.clear(n * stride);
                let mut stream = Stream::new(seed, "start", [0, 0]);
                u.indexed_iter().for_each(|((v, unit), _)| {
                    buffers.state[at(v, unit)] = stream.uniform_in(-1.0, 1.0);
                });
                let rule = Rule::from(&ModelConfig { tol: 1e-12, ..options.clone() });
                let drive = Drive::rows(&drive);
                let equation = Equation::new(operator.graph(0), drive, Gates::Open, &packed, 1.0);
                solve(&equation, rule, &mut buffers, false, || false).unwrap();
                let apart = exact.indexed_iter().map(|((v, unit), x)| (buffers.state[at(v, unit)] - x).abs());
                assert!(apart.fold(0.0, f64::max) < 1e-10, "{name}, {solver:?}");
            }
        }
    }
}

/// Graphs with many equivalent vertices: stars, cycles, cliques, a tree, copies of all of them side
/// by side, and a directed graph.
fn symmetric_graphs() -> Vec<Graph> {
    type List = (usize, Vec<(u32, u32)>, bool);
    let mut lists: Vec<List> = vec![
        (9, (1..9).map(|leaf| (0, leaf)).collect(), false),
        (12, (0..12).map(|v| (v, (v + 1) % 12)).collect(), false),
        (8, (0..8).flat_map(|v| (0..v).map(move |u| (u, v))).collect(), false),
        (31, (1..31).map(|v| ((v - 1) / 2, v)).collect(), false),
        (31, (1..31).map(|v| ((v - 1) / 2, v)).collect(), true),
        (6, vec![(0, 0), (1, 1), (0, 2), (1, 3)], false),
    ];
    let copies: Vec<(u32, u32)> = (0..3)
        .flat_map(|k| lists[3].1.clone().into_iter().map(move |(u, v)| (u + 31 * k, v + 31 * k)))
        .collect();
    lists.push((95, copies, false));
    let make = |(n, edges, directed): &List| {
        let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let labels: Vec<i32> = (0..*n).map(|v| (v == 0).into()).collect();
        let weights = vec![0.7; sources.len()];
        Graph::new(&EdgeList {
            directed: *directed,
            weights: Some(&weights),
            vertex_labels: Some((&labels, 1)),
            ..EdgeList::new(*n, &sources, &targets)
        })
        .unwrap()
    };
    lists.iter().map(make).collect()
}

#[test]
fn lifted_equals_unlifted() {
    for graph in symmetric_graphs() {
        let x = inputs(&graph);
        for (solver, fixed_sweeps, normalize) in [
            (Solver::Jacobi, Some(1), true),
            (Solver::Jacobi, Some(3), true),
            (Solver::Jacobi, Some(3), false),
            (Solver::Jacobi, None, true),
            (Solver::GaussSeidel, None, true),
        ] {
            let options = ModelConfig {
                solver,
                fixed_sweeps,
                normalize,
                precision: Precision::F64,
                tol: 1e-12,
                aggregate: vec![Aggregate::Sum, Aggregate::Mean, Aggregate::Max, Aggregate::Std],
                ..base(9)
            };
            let weights = Weights::random(&options, x.width()).unwrap();
            let run = |lift| {
                let options = ModelConfig { lift, ..options.clone() };
                let prepared = Prepared::new(graph.as_batch(), &x, &options).unwrap();
                let go_on = |_| std::ops::ControlFlow::Continue(());
                let embedding = embed(&weights, &prepared, &options, go_on).unwrap();
                (prepared.num_rows(0), solved(graph.as_batch(), &x, &weights, &options).0, embedding)
            };
            let ((rows, lifted, short), (all, plain, long)) = (run(true), run(false));
            assert!(rows < all && all == graph.view().num_vertices());
            assert!(distance(&lifted, &plain) < 1e-11, "{solver:?} {fixed_sweeps:?}");
            assert!(distance(&short.vectors, &long.vectors) < 1e-11, "{solver:?} {fixed_sweeps:?}");
            for (short, long) in short.runs.iter().zip(&long.runs) {
                if solver == Solver::Jacobi {
                    assert_eq!(short.sweeps, long.sweeps);
                    assert!((short.change - long.change).abs() <= 1e-12);
                }
            }
        }
    }
}

#[test]
fn threads_and_batches_change_no_bit() {
    let mut batch = GraphBatch::default();
    for copy in 0..12 {
        for (_, graph, _) in graphs(Carries::Both) {
            let names = Stream::new(copy, "names", [0, 0]).permutation(graph.view().num_vertices());
            batch.append(graph.view().permuted(&names).unwrap().as_batch()).unwrap();
        }
    }
    let raw = crate::features::FeatureOptions { raw: true, ..Default::default() };
    let map = crate::features::FeatureMap::fit(&batch, &raw).unwrap();
    let options = ModelConfig {
        aggregate: vec![Aggregate::Sum, Aggregate::Mean, Aggregate::Max, Aggregate::Std],
        concat: true,
        stacks: 2,
        max_iter: 30,
        ..base(20)
    };
    let weights = Weights::random(&options, map.width()).unwrap();
    let run = |batch: &GraphBatch| {
        let prepared = Prepared::new(batch, &map.apply(batch).unwrap(), &options).unwrap();
        embed(&weights, &prepared, &options, |_| std::ops::ControlFlow::Continue(())).unwrap()
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let whole = pool(1).install(|| run(&batch));
    assert_eq!(whole.vectors.dim(), (108, 2 * 2 * 4 * 20));
    assert_eq!(whole.runs.dim(), (108, 4));
    assert_eq!(pool(3).install(|| run(&batch)), whole);
    for index in [0, 5, 57, 107] {
        let alone = run(&batch.select(&[index]));
        assert_eq!(alone.vectors.row(0), whole.vectors.row(index));
        assert_eq!(alone.runs.row(0), whole.runs.row(index));
    }
}

#[test]
fn a_graph_shared_between_threads_is_the_same_for_any_number() {
    let side = 270; // more vertices than one thread keeps to itself
    let at = |x: usize, y: usize| (x * side + y) as u32;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for x in 0..side {
        for y in 0..side {
            for (u, v) in [(x + 1, y), (x, y + 1)].into_iter().filter(|(u, v)| *u < side && *v < side) {
                sources.push(at(x, y));
                targets.push(at(u, v));
            }
        }
    }
    let labels: Vec<i32> = (0..side * side).map(|v| (v % 3) as i32).collect();
    let edges =
        EdgeList { vertex_labels: Some((&labels, 1)), ..EdgeList::new(side * side, &sources, &targets) };
    let grid = Graph::new(&edges).unwrap();
    let inputs = inputs(&grid);
    for solver in [Solver::GaussSeidel, Solver::Jacobi] {
        let options = ModelConfig { solver, blocks: 1, tol: 1e-3, ..base(5) };
        let weights = Weights::random(&options, 3).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solved(grid.as_batch(), &inputs, &weights, &options))
        };
        let (alone, runs) = run(1);
        assert_eq!(run(3), (alone.clone(), runs));
        // Every vertex satisfies its own equation.
        let block = &weights.stacks()[0][0][0];
        let scaled = grid.view().normalized_weights();
        let starts: Vec<usize> = grid.view().row_starts().collect();
        for v in [0, 1, 5000, side * side - 1] {
            let mut gathered = ndarray::Array1::<f64>::zeros(5);
            for (k, &u) in grid.view().neighbours(v).iter().enumerate() {
                gathered.scaled_add(scaled[starts[v] + k], &alone.row(u as usize));
            }
            let expected =
                (gathered.dot(&block.recurrent) + block.input.row(labels[v] as usize)).mapv(f64::tanh);
            assert!((&expected - &alone.row(v)).iter().all(|d| d.abs() < 1e-4), "vertex {v}");
        }
    }
}

#[test]
fn aggregates_follow_their_formulas() {
    let (_, graph, inputs) = graphs(Carries::Both).swap_remove(0);
    use Aggregate::*;
    let options = ModelConfig {
        aggregate: vec![Std, Sum, Max, Mean],
        precision: Precision::F64,
        concat: true,
        ..base(6)
    };
    let weights = Weights::random(&options, inputs.width()).unwrap();
    let prepared = Prepared::new(graph.as_batch(), &inputs, &options).unwrap();
    let go_on = |_| std::ops::ControlFlow::Continue(());
    let found = embed(&weights, &prepared, &options, go_on).unwrap().vectors;
    let (tables, _) = states(&weights, &prepared, &options, go_on).unwrap();
    assert_eq!((tables.len(), found.dim()), (2, (1, 2 * 4 * 6)));
    for (block, h) in tables.iter().enumerate() {
        for unit in 0..6 {
            let column = h.column(unit);
            let largest = column.iter().copied().fold(f64::MIN, f64::max);
            let expected = [column.std(0.0), column.sum(), largest, column.mean().unwrap()];
            for (kind, expected) in expected.into_iter().enumerate() {
                let found = found[(0, block * 24 + kind * 6 + unit)];
                assert!((found - expected).abs() < 1e-12, "{block} {unit} {kind}: {found} {expected}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn renaming_vertices_moves_their_states(seed in any::<u64>(), which in 0usize..9) {
        let (name, graph, inputs_before) = graphs(Carries::Both).swap_remove(which);
        let names = Stream::new(seed, "names", [0, 0]).permutation(graph.view().num_vertices());
        let moved = graph.view().permuted(&names).unwrap();
        let options = base(11);
        let weights = Weights::random(&ModelConfig { seed, ..options.clone() }, inputs_before.width()).unwrap();
        let (before, _) = solved(graph.as_batch(), &inputs_before, &weights, &options);
        let (after, _) = solved(moved.as_batch(), &inputs(&moved), &weights, &options);
        let scale = before.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (v, &to) in names.iter().enumerate() {
            let apart = (&before.row(v) - &after.row(to)).iter().fold(0.0f64, |m, d| m.max(d.abs()));
            prop_assert!(apart < 2e-5 * scale, "{}: vertex {} off by {}", name, v, apart);
        }
        let (a, b) = (before.sum_axis(ndarray::Axis(0)), after.sum_axis(ndarray::Axis(0)));
        let size = a.dot(&a).sqrt();
        let gap = &a - &b;
        prop_assert!(gap.dot(&gap).sqrt() < 1e-5 * size, "{}", name);
    }
}
