//! Pyramids: graphs pooled repeatedly, level by level (paper §4).
//!
//! A level is a [`GraphBatch`] like the one it was made from, with the matrices between
//! the two. [`coarsen`] accepts any function as the pooling:
//!
//! ```
//! use std::ops::ControlFlow;
//! use stepwell::graph::{EdgeList, Graph, GraphRef};
//! use stepwell::pool::{Assignment, Notes, Pooled};
//! use stepwell::pyramid::coarsen;
//! // One that keeps the vertices of even number and the edges between them.
//! let halve = |graph: GraphRef<'_>, _level: usize| {
//!     let kept: Vec<u32> = (0..graph.num_vertices() as u32).step_by(2).collect();
//!     let inside = graph.entries().filter(|(i, j, _)| i % 2 == 0 && j % 2 == 0);
//!     let (sources, targets): (Vec<u32>, Vec<u32>) =
//!         inside.map(|(i, j, _)| (i as u32 / 2, j as u32 / 2)).unzip();
//!     let starts = (0..=graph.num_vertices()).map(|v| v.div_ceil(2)).collect();
//!     let columns = (0..kept.len() as u32).collect();
//!     Ok(Pooled {
//!         assignment: Assignment::new(kept.len(), starts, columns, vec![1.0; kept.len()])?,
//!         graph: Graph::new(&EdgeList::new(kept.len(), &sources, &targets))?,
//!         kept: Some(kept),
//!         notes: Notes::default(),
//!     })
//! };
//! let square = Graph::new(&EdgeList::new(5, &[0, 2, 4, 1], &[2, 4, 0, 3]))?;
//! let pyramid = coarsen(square.as_batch(), 2, halve, |_| ControlFlow::Continue(()))?;
//! let sizes: Vec<usize> = pyramid.levels.iter().map(|level| level.graphs.num_vertices()).collect();
//! assert_eq!(sizes, [3, 2]);
//! # Ok::<(), stepwell::Error>(())
//! ```

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result, out_of_range, same_length};
use crate::graph::{GraphBatch, GraphRef, truncate};
use crate::memory;
use crate::pool::ndp::{Sparsify, sparsify};
use crate::pool::{AssignmentRef, Assignments, Notes, Pool, Pooled, Pooling, Progress};

/// Maximum number of poolings on top of each other. It is enough for a pooling that
/// halves to leave nothing, and for one that removes a few vertices each time.
const MOST_LEVELS: usize = 1 << 10;

/// Vertices per thread of the graphs pooled before their levels are assembled: enough
/// to keep threads busy, and little compared with the pyramid itself.
const VERTICES_AT_ONCE: usize = 1 << 13;

/// The coarse levels above a batch of graphs, from fine to coarse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pyramid {
    /// The first is made from the graphs themselves, each other level from the previous
    /// one.
    pub levels: Vec<Level>,
}

/// All graphs after one more pooling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// The coarse graphs.
    pub graphs: GraphBatch,
    /// The matrices that carry states from the level below to this one.
    pub assignments: Assignments,
    /// If the pooling selects vertices: for every vertex of `graphs`, the vertex of the
    /// graph below that it was.
    pub kept: Option<Vec<u32>>,
    /// Notes, summed over the graphs.
    pub notes: Notes,
}

impl Pyramid {
    /// The notes of all levels together.
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        self.levels.iter().for_each(|level| notes += level.notes);
        notes
    }

    /// Checks that the pyramid fits `graphs`: the matrices and kept vertices of every
    /// level must fit the graphs below and above. Pyramids from [`coarsen`] do; those
    /// read from a file may not.
    pub fn check(&self, graphs: &GraphBatch) -> Result<()> {
        let mut below = graphs;
        for (number, level) in self.levels.iter().enumerate() {
            level.check(below, number)?;
            below = &level.graphs;
        }
        Ok(())
    }

    /// Keeps the part that belongs to the first `graphs` graphs, and frees the memory
    /// of the rest. The notes still cover all graphs.
    pub(crate) fn truncate(&mut self, graphs: usize) {
        for level in &mut self.levels {
            level.graphs.truncate(graphs);
            level.assignments.truncate(graphs);
            if let Some(kept) = &mut level.kept {
                truncate(kept, level.graphs.num_vertices());
            }
        }
    }
}

impl From<Pyramid> for Cow<'_, Pyramid> {
    fn from(pyramid: Pyramid) -> Self {
        Cow::Owned(pyramid)
    }
}

impl<'a> From<&'a Pyramid> for Cow<'a, Pyramid> {
    fn from(pyramid: &'a Pyramid) -> Self {
        Cow::Borrowed(pyramid)
    }
}

/// Pools every graph `levels` times. `pool` receives a graph and the number of earlier
/// poolings.
///
/// Pools graphs in parallel; the pyramid does not depend on the number of threads.
/// Calls `progress` with the number of finished graphs, once for every level of every
/// graph. If it breaks, the result is [`Error::Cancelled`].
pub fn coarsen(
    batch: &GraphBatch,
    levels: usize,
    pool: impl Fn(GraphRef<'_>, usize) -> Result<Pooled> + Sync,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Pyramid> {
    coarsen_by(batch, levels, &pool, &progress)
}

/// Pools one graph, after a number of earlier poolings.
type PoolOne<'a> = dyn Fn(GraphRef<'_>, usize) -> Result<Pooled> + Sync + 'a;

fn coarsen_by(
    batch: &GraphBatch,
    levels: usize,
    pool: &PoolOne<'_>,
    progress: Progress<'_>,
) -> Result<Pyramid> {
    if levels > MOST_LEVELS {
        let (limit, found) = (MOST_LEVELS as u64, levels as u64);
        return Err(Error::TooLarge { what: "levels", limit, found });
    }
    let mut pyramid = Pyramid { levels: vec![Level::default(); levels] };
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let report = |graphs: usize| {
        if progress(graphs).is_break() {
            stopped.store(true, Ordering::Relaxed);
        }
    };
    let pool_graph = |index: usize| -> Result<Vec<Pooled>> {
        let pool = |graph: GraphRef<'_>, level: usize| {
            // A single graph may take long as well.
            if level > 0 {
                report(done.load(Ordering::Relaxed));
            }
            if stopped.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { pool(graph, level) }
        };
        let steps = pool_again_and_again(batch.graph(index), levels, &pool)?;
        report(done.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(steps)
    };
    let at_once = VERTICES_AT_ONCE * rayon::current_num_threads();
    let mut first = 0;
    while first < batch.len() {
        let limit = batch.vertex_offsets()[first] + at_once;
        let end = batch.vertex_offsets().partition_point(|&offset| offset < limit).min(batch.len());
        // Collect every result before looking for errors: which error is reported must not
        // depend on threads.
        let pooled: Vec<Result<Vec<Pooled>>> = (first..end).into_par_iter().map(pool_graph).collect();
        for (index, steps) in (first..end).zip(pooled) {
            for (level, (slot, step)) in pyramid.levels.iter_mut().zip(steps?).enumerate() {
                slot.push(step).map_err(|source| in_graph(index, level, source))?;
            }
        }
        if first == 0 {
            // Growing by doubling would copy everything several times.
            let pooled = batch.vertex_offsets()[end].max(1) as f64;
            let to_come = 1.02 * (batch.num_vertices() as f64 / pooled - 1.0);
            for level in &mut pyramid.levels {
                level.graphs.reserve(to_come);
                level.assignments.reserve(to_come);
            }
        }
        first = end;
    }
    if stopped.into_inner() { Err(Error::Cancelled) } else { Ok(pyramid) }
}

impl Pooling {
    /// Pools every graph of a batch `levels` times, into the levels that a model uses.
    /// If `sparsify` drops links only after the next level was made from them, the
    /// returned levels have them dropped.
    pub fn coarsen(
        &self,
        batch: &GraphBatch,
        levels: usize,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Pyramid> {
        self.coarsen_all(batch, levels, &progress)
    }

    fn coarsen_all(&self, batch: &GraphBatch, levels: usize, progress: Progress<'_>) -> Result<Pyramid> {
        // While a graph is pooled, report the count of the last one that was finished.
        let done = AtomicUsize::new(0);
        let report = |graphs: usize| {
            done.store(graphs, Ordering::Relaxed);
            progress(graphs)
        };
        let going = || progress(done.load(Ordering::Relaxed));
        let pool = |graph: GraphRef<'_>, level| self.pool_while(graph, level, &going);
        let mut pyramid = coarsen_by(batch, levels, &pool, &report)?;
        if self.method == Pool::Ndp && self.sparsify == Sparsify::Deferred {
            for level in &mut pyramid.levels {
                let mut sparse = GraphBatch::default();
                for graph in level.graphs.iter() {
                    sparse.append(sparsify(graph, self.delta)?.as_batch())?;
                }
                level.graphs = sparse;
            }
        }
        Ok(pyramid)
    }
}

fn pool_again_and_again(
    graph: GraphRef<'_>,
    levels: usize,
    pool: &dyn Fn(GraphRef<'_>, usize) -> Result<Pooled>,
) -> Result<Vec<Pooled>> {
    let mut steps: Vec<Pooled> = Vec::with_capacity(levels);
    for level in 0..levels {
        let fine = steps.last().map_or(graph, |below| below.graph.view());
        let pooled = pool(fine, level).and_then(|pooled| check(pooled, fine.num_vertices()));
        steps.push(pooled.map_err(|source| in_graph(graph.index(), level, source))?);
    }
    Ok(steps)
}

fn in_graph(graph: usize, level: usize, source: Error) -> Error {
    if source == Error::Cancelled {
        return source;
    }
    Error::Pooling { graph, level: level + 1, source: Box::new(source) }
}

/// The pooling may come from the user, so check that its parts fit each other.
fn check(pooled: Pooled, num_fine: usize) -> Result<Pooled> {
    let coarse = pooled.graph.view().num_vertices();
    check_parts(num_fine, coarse, pooled.assignment.view(), pooled.kept.as_deref())?;
    Ok(pooled)
}

fn check_parts(
    fine: usize,
    coarse: usize,
    assignment: AssignmentRef<'_>,
    kept: Option<&[u32]>,
) -> Result<()> {
    for (what, expected, found) in [
        ("rows of S", fine, assignment.num_fine()),
        ("columns of S", coarse, assignment.num_coarse()),
        ("kept vertices", coarse, kept.map_or(coarse, <[u32]>::len)),
    ] {
        same_length(what, expected, found)?;
    }
    if let Some(&vertex) = kept.into_iter().flatten().find(|&&vertex| vertex as usize >= fine) {
        return Err(out_of_range("kept vertex", fine, vertex as usize));
    }
    Ok(())
}

impl Level {
    fn check(&self, below: &GraphBatch, level: usize) -> Result<()> {
        let vertices = self.graphs.num_vertices();
        for (what, expected, found) in [
            ("graphs of a level", below.len(), self.graphs.len()),
            ("matrices of a level", below.len(), self.assignments.len()),
            ("kept vertices", vertices, self.kept.as_ref().map_or(vertices, Vec::len)),
        ] {
            same_length(what, expected, found)?;
        }
        for (index, offsets) in self.graphs.vertex_offsets().windows(2).enumerate() {
            let fine = below.graph(index).num_vertices();
            let kept = self.kept.as_ref().map(|kept| &kept[offsets[0]..offsets[1]]);
            check_parts(fine, offsets[1] - offsets[0], self.assignments.graph(index), kept)
                .map_err(|source| in_graph(index, level, source))?;
        }
        Ok(())
    }

    fn push(&mut self, pooled: Pooled) -> Result<()> {
        if self.assignments.is_empty() {
            self.kept = pooled.kept.as_ref().map(|_| Vec::new());
        }
        match (&mut self.kept, pooled.kept) {
            (None, None) => {}
            (Some(all), Some(kept)) => all.extend(kept),
            (all, _) => {
                let word = |kept| if kept { "a selection" } else { "clusters" }.to_string();
                let (expected, found) = (word(all.is_some()), word(all.is_none()));
                return Err(Error::Mixed { what: "pooling", expected, found });
            }
        }
        memory::ask("pooled graphs", 2 * pooled.graph.as_batch().bytes())?;
        self.assignments.push(&pooled.assignment)?;
        self.graphs.append(pooled.graph.as_batch())?;
        self.notes += pooled.notes;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
