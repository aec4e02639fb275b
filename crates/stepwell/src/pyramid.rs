//! Pyramids: graphs pooled again and again, level upon level (paper §4).
//!
//! A level is a [`GraphBatch`] like the one it was made from, with the matrices
//! that lead from there to here. [`coarsen`] takes any function as the pooling:
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

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::graph::{GraphBatch, GraphRef};
use crate::pool::{Assignments, Notes, Pooled};

/// Vertices per thread of the graphs that are pooled before their levels are put
/// together: enough to keep threads busy, and little beside the pyramid itself.
const VERTICES_AT_ONCE: usize = 1 << 13;

/// The coarse levels above a batch of graphs, from fine to coarse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pyramid {
    /// The first is made from the graphs themselves, each other one from the
    /// one before.
    pub levels: Vec<Level>,
}

/// All graphs after one more pooling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Level {
    /// The coarse graphs.
    pub graphs: GraphBatch,
    /// What carries states from the level below to this one.
    pub assignments: Assignments,
    /// For every vertex of `graphs`, the vertex of its graph below that it was,
    /// where the pooling selects vertices.
    pub kept: Option<Vec<u32>>,
    /// What happened, added up over the graphs.
    pub notes: Notes,
}

impl Pyramid {
    /// What happened on all levels together.
    pub fn notes(&self) -> Notes {
        let mut notes = Notes::default();
        self.levels.iter().for_each(|level| notes += level.notes);
        notes
    }
}

/// Pools every graph `levels` times. `pool` is given a graph and how many
/// poolings came before.
///
/// Graphs are pooled in parallel; the pyramid does not depend on how many
/// threads there are. `progress` is told how many graphs are done; when it
/// breaks, the result is [`Error::Cancelled`].
pub fn coarsen(
    batch: &GraphBatch,
    levels: usize,
    pool: impl Fn(GraphRef<'_>, usize) -> Result<Pooled> + Sync,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Pyramid> {
    let mut pyramid = Pyramid { levels: vec![Level::default(); levels] };
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let pool_graph = |index: usize| -> Result<Vec<Pooled>> {
        if stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let steps = pool_again_and_again(batch.graph(index), levels, &pool)?;
        if progress(done.fetch_add(1, Ordering::Relaxed) + 1).is_break() {
            stopped.store(true, Ordering::Relaxed);
        }
        Ok(steps)
    };
    let at_once = VERTICES_AT_ONCE * rayon::current_num_threads();
    let mut first = 0;
    while first < batch.len() {
        let limit = batch.vertex_offsets()[first] + at_once;
        let end = batch.vertex_offsets().partition_point(|&offset| offset < limit).min(batch.len());
        // All results before the first error: which one is reported must not depend on threads.
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
    match stopped.into_inner() {
        true => Err(Error::Cancelled),
        false => Ok(pyramid),
    }
}

fn pool_again_and_again(
    graph: GraphRef<'_>,
    levels: usize,
    pool: &impl Fn(GraphRef<'_>, usize) -> Result<Pooled>,
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
    Error::Pooling { graph, level: level + 1, source: Box::new(source) }
}

/// A pooling may be anybody's: its parts must fit each other.
fn check(pooled: Pooled, num_fine: usize) -> Result<Pooled> {
    let coarse = pooled.graph.view().num_vertices();
    let kept = pooled.kept.as_ref().map_or(coarse, Vec::len);
    for (what, expected, found) in [
        ("rows of S", num_fine, pooled.assignment.num_fine()),
        ("columns of S", coarse, pooled.assignment.num_coarse()),
        ("kept vertices", coarse, kept),
    ] {
        if expected != found {
            return Err(Error::Length { what, expected, found });
        }
    }
    if let Some(&vertex) = pooled.kept.iter().flatten().find(|&&vertex| vertex as usize >= num_fine) {
        let limit = (num_fine as u64).saturating_sub(1);
        return Err(Error::TooLarge { what: "kept vertex", limit, found: u64::from(vertex) });
    }
    Ok(pooled)
}

impl Level {
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
        self.assignments.push(&pooled.assignment)?;
        self.graphs.append(pooled.graph.as_batch())?;
        self.notes += pooled.notes;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
