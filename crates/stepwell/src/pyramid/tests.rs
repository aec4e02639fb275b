use super::*;
use crate::graph::{BatchBuilder, EdgeList, Graph};
use crate::pool::{self, Assignment, GraclusOptions, KMisOptions, NmfOptions};
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

type AnyPool = Box<dyn Fn(GraphRef<'_>, usize) -> Result<Pooled> + Sync>;

fn poolings() -> Vec<AnyPool> {
    vec![
        Box::new(|graph, level| pool::graclus(graph, &GraclusOptions::default(), level)),
        Box::new(|graph, level| pool::nmf(graph, &NmfOptions::default(), level)),
        Box::new(|graph, _| pool::kmis(graph, &KMisOptions::default())),
    ]
}

fn go_on(_: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn a_pyramid_is_each_graph_pooled_alone() {
    let batch = batch();
    for pool in poolings() {
        let pyramid = coarsen(&batch, 3, &pool, go_on).unwrap();
        let mut notes = Notes::default();
        for graph in batch.iter() {
            let mut fine = graph.to_graph();
            for (number, level) in pyramid.levels.iter().enumerate() {
                let pooled = pool(fine.view(), number).unwrap();
                assert_eq!(level.graphs.graph(graph.index()).to_graph(), pooled.graph);
                let (s, alone) = (level.assignments.graph(graph.index()), &pooled.assignment);
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
    for pool in poolings() {
        let with = |threads| {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            threads.install(|| coarsen(&batch, 2, &pool, go_on).unwrap())
        };
        let all = with(1);
        assert!(all == with(3));
        let some = coarsen(&batch.select(&[60, 7, 31]), 2, &pool, go_on).unwrap();
        for (some, all) in some.levels.iter().zip(&all.levels) {
            assert_eq!(some.graphs, all.graphs.select(&[60, 7, 31]));
        }
    }
}

#[test]
fn no_levels_and_no_graphs_are_fine() {
    let pool = |graph: GraphRef<'_>, _| pool::kmis(graph, &KMisOptions::default());
    assert_eq!(coarsen(&batch(), 0, pool, go_on).unwrap(), Pyramid::default());
    let none = coarsen(&GraphBatch::default(), 2, pool, go_on).unwrap();
    assert_eq!(none.levels, [Level::default(), Level::default()]);
}

#[test]
fn progress_counts_and_can_stop() {
    let batch = batch();
    let pool = |graph: GraphRef<'_>, _| pool::kmis(graph, &KMisOptions::default());
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
    let pool = |graph: GraphRef<'_>, _| pool::kmis(graph, &KMisOptions::default());
    let error = coarsen(&batch(), usize::MAX, pool, go_on).unwrap_err();
    assert!(matches!(error, Error::TooLarge { what: "levels", limit: 1024, .. }), "{error}");
    assert_eq!(coarsen(&batch().select(&[3]), 1024, pool, go_on).unwrap().levels.len(), 1024);
}

/// Keeps one vertex, and says so in a wrong way if told to.
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
    assert_eq!(
        error.unwrap_err().to_string(),
        "graph 0, pooling 2: kept vertex: 7 is more than the limit of 0"
    );
    let mixed = |graph: GraphRef<'_>, _| select_first(graph, 1, (graph.num_vertices() == 4).then(|| vec![0]));
    let error = coarsen(&batch, 1, mixed, go_on).unwrap_err();
    assert!(error.to_string().starts_with("graph 1, pooling 1: pooling: the graphs before"), "{error}");
}
