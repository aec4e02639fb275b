//! Extreme inputs give a clear error or a flagged result.

use std::ops::ControlFlow;

use super::plain::{Carries, graphs, inputs, solved};
use crate::config::*;
use crate::error::Error;
use crate::features::Inputs;
use crate::graph::{EdgeList, Graph, GraphBatch};
use crate::reservoir::*;

fn with_attributes(n: usize, width: usize, values: &[f64]) -> Graph {
    let path: Vec<u32> = (0..n as u32).collect();
    let edges =
        EdgeList { vertex_attributes: Some((values, width)), ..EdgeList::new(n, &path[..n - 1], &path[1..]) };
    Graph::new(&edges).unwrap()
}

#[test]
fn huge_inputs_saturate_or_are_refused() {
    let graph = with_attributes(3, 2, &[1e30, -1e30, 1e38, 3.0, -3e38, 1e-30]);
    let options = ModelConfig::default();
    let weights = Weights::random(&options, 2).unwrap();
    let (found, _) = solved(graph.as_batch(), &inputs(&graph), &weights, &options);
    assert!(found.iter().all(|x| x.abs() <= 1.0));
    let graph = with_attributes(3, 1, &[1.0, 1e300, 0.0]);
    let weights = Weights::random(&options, 1).unwrap();
    let error = Prepared::new(graph.as_batch(), &inputs(&graph), &options).err().unwrap();
    assert_eq!(
        error.to_string(),
        "an input of graph 0 is 1e300, too large for precision f32; scale it down, or use precision f64"
    );
    let wide = ModelConfig { precision: Precision::F64, ..options };
    let (found, _) = solved(graph.as_batch(), &inputs(&graph), &weights, &wide);
    assert!(found.iter().all(|x| x.abs() <= 1.0));
}

#[test]
fn states_that_are_not_numbers_end_the_iteration() {
    use crate::kernel::{Drive, Equation, Gates, Isa, Operator, Recurrent, by_colour};
    use crate::reservoir::solver::{Buffers, Rule, solve};
    let order = by_colour(&[0, 1, 2], &[1, 0], false);
    let mut operator = Operator::<f32>::new();
    operator.push(&[0, 1, 2], &[1, 0], None, &[1.0, 1.0], None, &order).unwrap();
    let recurrent = Recurrent::new(ndarray::array![[0.5, 0.3], [0.1, 0.2]].view(), Isa::in_use());
    let mut drive = [0.0; 16];
    drive[1] = f32::NAN;
    for fixed_sweeps in [None, Some(1000)] {
        let rule = Rule::from(&ModelConfig { fixed_sweeps, ..Default::default() });
        let mut buffers = Buffers::default();
        buffers.clear(16);
        let drive = Drive::rows(&drive);
        let equation = Equation::new(operator.graph(0), drive, Gates::Open, &recurrent, 1.0);
        let run = solve(&equation, rule, &mut buffers, true, || false);
        let run = run.unwrap();
        assert!(run.sweeps == 1 && run.change.is_nan() && run.converged == Convergence::No, "{run:?}");
    }
}

/// The fixed point does not depend on the leak, and small steps do not imply convergence.
#[test]
fn a_small_leak_stops_at_the_fixed_point_or_says_that_it_did_not() {
    let (_, graph, x) = graphs(Carries::Attributes).swap_remove(1);
    let precision = Precision::F64;
    let full = ModelConfig { spectral_radius: 0.5.into(), blocks: 1, precision, ..Default::default() };
    let weights = Weights::random(&full, x.width()).unwrap();
    let (expected, _) = solved(graph.as_batch(), &x, &weights, &ModelConfig { tol: 1e-12, ..full.clone() });
    for leak in [0.5, 0.1, 0.01, 1e-4] {
        let slow = ModelConfig { leak, max_iter: 500_000, ..full.clone() };
        let (found, runs) = solved(graph.as_batch(), &x, &weights, &slow);
        assert!(runs.iter().all(|run| run.converged == Convergence::Tolerance));
        let far = super::plain::frobenius(&(&found - &expected));
        // The distance is at most the residual divided by 1 - K.
        assert!(far < 10.0 * slow.tol, "{leak}: {far}");
        let (_, runs) = solved(graph.as_batch(), &x, &weights, &ModelConfig { max_iter: 5, ..slow });
        assert!(runs.iter().all(|run| run.converged == Convergence::No), "{leak}");
    }
}

/// Each weight fits f32, but the products overflow.
#[test]
fn states_that_are_not_numbers_are_an_error_that_names_the_graph() {
    let mut batch = GraphBatch::default();
    for weight in [1.0, 3e38] {
        let weights = [weight, weight];
        let edges = EdgeList { weights: Some(&weights), ..EdgeList::new(4, &[0, 2], &[1, 3]) };
        let edges = EdgeList { vertex_attributes: Some((&[9e37, 9e37, -9e37, 1.0], 1)), ..edges };
        batch.append(Graph::new(&edges).unwrap().as_batch()).unwrap();
    }
    let normalize = false;
    let options = ModelConfig { normalize, spectral_radius: 50.0.into(), lift: false, ..Default::default() };
    let raw = crate::features::FeatureOptions { raw: true, ..Default::default() };
    let x = crate::features::FeatureMap::fit(&batch, &raw).unwrap().apply(&batch).unwrap();
    let weights = Weights::random(&options, x.width()).unwrap();
    let prepared = Prepared::new(&batch, &x, &options).unwrap();
    let go_on = |_| ControlFlow::Continue(());
    let error = embed(&weights, &prepared, &options, go_on).unwrap_err();
    assert_eq!(error.graph(), Some(1), "{error}");
    assert!(error.to_string().contains("the states of graph 1 are not finite"), "{error}");
    let error = states(&weights, &prepared, &options, go_on).unwrap_err();
    assert_eq!(error.graph(), Some(1), "{error}");
}

#[test]
fn a_graph_that_never_settles_is_flagged_and_stays_finite() {
    for solver in [Solver::GaussSeidel, Solver::Jacobi] {
        let mut flagged = 0;
        for (name, graph, x) in graphs(Carries::Attributes) {
            let options =
                ModelConfig { spectral_radius: 5.0.into(), normalize: false, solver, ..Default::default() };
            let weights = Weights::random(&options, x.width()).unwrap();
            let (found, runs) = solved(graph.as_batch(), &x, &weights, &options);
            assert!(found.iter().all(|x| x.abs() <= 1.0), "{name}");
            let unsettled = runs.iter().filter(|run| run.converged == Convergence::No);
            flagged += unsettled.inspect(|run| assert_eq!(run.sweeps, 50)).count();
        }
        assert!(flagged >= 8, "{solver:?}: {flagged}");
    }
}

#[test]
fn very_wide_inputs_work() {
    let width = 100_000;
    let values: Vec<f64> = (0..2 * width).map(|i| (i % 7) as f64 * 1e-4).collect();
    let graph = with_attributes(2, width, &values);
    let options = ModelConfig { units: 3.into(), blocks: 1, lift: false, ..Default::default() };
    let weights = Weights::random(&options, width).unwrap();
    let (found, _) = solved(graph.as_batch(), &inputs(&graph), &weights, &options);
    let expected = super::plain::blocks(&graph, &inputs(&graph), &weights, &options);
    assert!(super::plain::distance(&found, &expected[0].0) < 1e-4);
}

#[test]
fn nothing_at_all_embeds_as_nothing() {
    let options = ModelConfig { aggregate: vec![Aggregate::Max, Aggregate::Std], ..Default::default() };
    let go_on = |_| ControlFlow::Continue(());
    let empty = Graph::new(&EdgeList::default()).unwrap();
    let x = inputs(&empty);
    let weights = Weights::random(&options, x.width()).unwrap();
    let prepared = Prepared::new(empty.as_batch(), &x, &options).unwrap();
    let found = embed(&weights, &prepared, &options, go_on).unwrap();
    assert_eq!(found.vectors, ndarray::Array2::<f64>::zeros((1, 100)));
    assert!(found.runs.iter().all(|run| run.sweeps == 1 && run.converged == Convergence::Tolerance));
    let none = GraphBatch::default();
    let prepared = Prepared::new(&none, &Default::default(), &options).unwrap();
    assert_eq!(embed(&weights, &prepared, &options, go_on).unwrap().vectors.dim(), (0, 100));
}

#[test]
fn what_does_not_fit_together_is_an_error() {
    let (_, graph, x) = graphs(Carries::Both).swap_remove(0);
    let options = ModelConfig::default();
    let go_on = |_| ControlFlow::Continue(());
    let prepared = Prepared::new(graph.as_batch(), &x, &options).unwrap();
    let narrow = Weights::random(&options, 2).unwrap();
    let error = embed(&narrow, &prepared, &options, go_on).unwrap_err();
    assert_eq!(error.to_string(), "columns of the inputs: expected 2, found 7");
    let deep = Weights::random(&ModelConfig { blocks: 3, ..options.clone() }, 7).unwrap();
    assert!(embed(&deep, &prepared, &options, go_on).is_err());
    assert!(Prepared::new(&GraphBatch::default(), &x, &options).is_err());
    let zero = ModelConfig { units: 0.into(), ..options };
    assert!(Weights::random(&zero, 7).is_err());
}

#[test]
fn the_callback_counts_and_stops() {
    let (_, graph, x) = graphs(Carries::Both).swap_remove(0);
    let options = ModelConfig::default();
    let weights = Weights::random(&options, x.width()).unwrap();
    let prepared = Prepared::new(graph.as_batch(), &x, &options).unwrap();
    let most = std::sync::atomic::AtomicUsize::new(0);
    embed(&weights, &prepared, &options, |done| {
        most.fetch_max(done, std::sync::atomic::Ordering::Relaxed);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(most.into_inner(), 1);
    let stopped = embed(&weights, &prepared, &options, |_| ControlFlow::Break(()));
    assert_eq!(stopped.unwrap_err(), Error::Cancelled);
}

#[test]
fn graphs_without_vertices_need_no_inputs() {
    let empty = Graph::new(&EdgeList::default()).unwrap();
    let options = ModelConfig { units: 3.into(), ..Default::default() };
    let weights = Weights::random(&options, 2).unwrap();
    for width in [0, 2, 5] {
        let inputs = Inputs::from_rows(width, Vec::new()).unwrap();
        let prepared = Prepared::new(empty.as_batch(), &inputs, &options).unwrap();
        let found = embed(&weights, &prepared, &options, |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(found.vectors.into_raw_vec_and_offset().0, [0.0; 3], "{width}");
    }
}
