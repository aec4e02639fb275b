use super::*;
use crate::graph::{BatchBuilder, EdgeList, Graph};
use crate::pool::{self, Assignment, Reduce};
use crate::rng::Stream;

fn batch() -> GraphBatch {
    let mut builder = BatchBuilder::default();
    let mut stream = Stream::new(1, "test graphs", [0, 0]);
    for n in (0..60).chain([300]) {
        let ends = |stream: &mut Stream| (0..2 * n).map(|_| stream.below(n) as u32).collect::<Vec<u32>>();
        let (sources, targets) = (ends(&mut stream), ends(&mut stream));
        builder.push(&EdgeList::new(n, &sources, &targets)).unwrap();
    }
    builder.finish()
}

fn go_on(_: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_pyramid_is_each_graph_pooled_alone() {
    let batch = batch();
    for pooling in Pool::ALL.map(Pooling::from) {
        let pool = |graph: GraphRef<'_>, level| pooling.pool(graph, level);
        let pyramid = coarsen(&batch, 3, pool, go_on).unwrap();
        let mut notes = Notes::default();
        for graph in batch.iter() {
            let mut fine = graph.to_graph();
            for (number, level) in pyramid.levels.iter().enumerate() {
                let pooled = pool(fine.view(), number).unwrap();
                assert_eq!(level.graphs.graph(graph.index()).to_graph(), pooled.graph);
                let (s, alone) = (level.assignments.graph(graph.index()), pooled.assignment.view());
                assert_eq!((s.num_fine(), s.num_coarse()), (alone.num_fine(), alone.num_coarse()));
                assert_eq!((s.columns(), s.values()), (alone.columns(), alone.values()));
                notes += pooled.notes;
                fine = pooled.graph;
            }
        }
        assert_eq!(pyramid.notes(), notes);
        assert!(pyramid.levels.iter().all(|level| level.graphs.len() == batch.len()));
    }
}

#[test]
fn threads_and_batches_do_not_change_a_bit() {
    let batch = batch();
    for pooling in Pool::ALL.map(Pooling::from) {
        let pool = |graph: GraphRef<'_>, level| pooling.pool(graph, level);
        let with = |threads| {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            threads.install(|| coarsen(&batch, 2, pool, go_on).unwrap())
        };
        let all = with(1);
        assert!(all == with(3));
        let some = coarsen(&batch.select(&[60, 7, 31]), 2, pool, go_on).unwrap();
        for (some, all) in some.levels.iter().zip(&all.levels) {
            assert_eq!(some.graphs, all.graphs.select(&[60, 7, 31]));
        }
    }
}

#[test]
fn no_levels_and_no_graphs_are_fine() {
    let pool = |graph: GraphRef<'_>, _| pool::kmis(graph, 1, Reduce::Mean);
    assert_eq!(coarsen(&batch(), 0, pool, go_on).unwrap(), Pyramid::default());
    let none = coarsen(&GraphBatch::default(), 2, pool, go_on).unwrap();
    assert_eq!(none.levels, [Level::default(), Level::default()]);
}

#[test]
fn progress_counts_and_can_stop() {
    let batch = batch();
    let pool = |graph: GraphRef<'_>, _| pool::kmis(graph, 1, Reduce::Mean);
    let most = AtomicUsize::new(0);
    let watch = |done| {
        most.fetch_max(done, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    coarsen(&batch, 1, pool, watch).unwrap();
    assert_eq!(most.into_inner(), batch.len());
    let stop = |done| if done == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert_eq!(coarsen(&batch, 1, pool, stop), Err(Error::Cancelled));
    let pooled = AtomicUsize::new(0);
    let count = |graph: GraphRef<'_>, level| {
        pooled.fetch_add(1, Ordering::Relaxed);
        pool(graph, level)
    };
    let stop = |_| ControlFlow::Break(());
    assert_eq!(coarsen(&batch.select(&[3]), 9, count, stop), Err(Error::Cancelled));
    assert_eq!(pooled.into_inner(), 1, "one graph is left between its levels");
}

#[test]
fn a_depth_no_memory_holds_is_refused() {
    let pool = |graph: GraphRef<'_>, _| pool::kmis(graph, 1, Reduce::Mean);
    let error = coarsen(&batch(), usize::MAX, pool, go_on).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "levels", limit: 1024, .. }), "{error}");
    assert_eq!(coarsen(&batch().select(&[3]), 1024, pool, go_on).unwrap().levels.len(), 1024);
}

/// Keeps one vertex, and describes it wrongly if asked to.
fn select_first(graph: GraphRef<'_>, columns: usize, kept: Option<Vec<u32>>) -> Result<Pooled> {
    let starts = (0..=graph.num_vertices()).map(|v| v.min(1)).collect();
    Ok(Pooled {
        assignment: Assignment::new(columns, starts, vec![0], vec![1.0])?,
        graph: Graph::new(&EdgeList::new(1, &[], &[]))?,
        kept,
        notes: Notes::default(),
    })
}

#[test]
fn what_does_not_fit_is_an_error_that_says_where() {
    let batch = batch().select(&[3, 4, 5]);
    let selected = coarsen(&batch, 2, |graph, _| select_first(graph, 1, Some(vec![0])), go_on).unwrap();
    assert_eq!(selected.levels[1].kept.as_deref(), Some([0, 0, 0].as_slice()));

    let error = coarsen(&batch, 1, |graph, _| select_first(graph, 2, None), go_on).unwrap_err();
    assert_eq!(error.to_string(), "graph 0, pooling 1: columns of S: expected 1, found 2");
    let error = coarsen(
        &batch,
        2,
        |graph, level| {
            select_first(graph, 1, Some(vec![if level == 1 && graph.num_vertices() == 1 { 7 } else { 0 }]))
        },
        go_on,
    );
    assert_eq!(error.unwrap_err().to_string(), "graph 0, pooling 2: kept vertex: expected 0, found 7");
    let mixed = |graph: GraphRef<'_>, _| select_first(graph, 1, (graph.num_vertices() == 4).then(|| vec![0]));
    let error = coarsen(&batch, 1, mixed, go_on).unwrap_err();
    assert!(error.to_string().starts_with("graph 1, pooling 1: pooling: the graphs before"), "{error}");
}

#[test]
fn every_pooling_makes_a_ring_smaller_but_none() {
    let ring = Graph::new(&EdgeList::new(8, &[0, 1, 2, 3, 4, 5, 6, 7], &[1, 2, 3, 4, 5, 6, 7, 0])).unwrap();
    let sizes = |pool: Pool| {
        let pyramid = Pooling::from(pool).coarsen(ring.as_batch(), 2, go_on).unwrap();
        pyramid.levels.iter().map(|level| level.graphs.num_vertices()).collect::<Vec<_>>()
    };
    for pool in Pool::ALL {
        let sizes = sizes(pool);
        assert!(sizes[0] < 8 && sizes[1] < sizes[0], "{}: {sizes:?}", pool.name());
    }
    assert_eq!(sizes(Pool::None), [8, 8]);
}

#[test]
fn deferred_links_reach_the_next_level_but_not_the_model() {
    // A weighted path whose coarse links are weak.
    let weights: Vec<f64> = (0..8).map(|edge| 0.05 + 0.01 * f64::from(edge)).collect();
    let sources: Vec<u32> = (0..8).collect();
    let targets: Vec<u32> = (1..9).collect();
    let path = EdgeList { weights: Some(&weights), ..EdgeList::new(9, &sources, &targets) };
    let path = Graph::new(&path).unwrap();
    let levels = |sparsify| {
        let pooling = Pooling { sparsify, delta: 0.1, ..Pool::Ndp.into() };
        let pyramid = pooling.coarsen(path.as_batch(), 2, go_on).unwrap();
        let sizes = |level: &Level| (level.graphs.num_vertices(), level.graphs.num_entries());
        pyramid.levels.iter().map(sizes).collect::<Vec<_>>()
    };
    let (each, deferred) = (levels(Sparsify::EachLevel), levels(Sparsify::Deferred));
    assert_eq!((each[0].1, deferred[0].1), (0, 0), "weak links are dropped either way");
    assert_eq!(each[1].0, each[0].0, "without links every vertex is its own component");
    assert!(deferred[1].0 < deferred[0].0, "with links the next level is smaller");
}
