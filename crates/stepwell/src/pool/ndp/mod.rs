//! Node decimation pooling (paper §3.3): drops one side of a cut and links the rest.
//!
//! Strongly coupled vertices end on opposite sides of a large cut, so one side can
//! represent both. [`maxcut`] finds such a cut from the top eigenvector of `I - Ã`.
//! [`kron_reduce`] links the kept vertices so that the electrical distances between
//! them do not change. [`sparsify`] drops weak links. [`ndp`] does all three.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::{Pool, ndp};
//! // A path of five vertices: every other one is kept, two resistors in series are one of half the weight.
//! let path = Graph::new(&EdgeList::new(5, &[0, 1, 2, 3], &[1, 2, 3, 4]))?;
//! let pooled = ndp::ndp(path.view(), &Pool::Ndp.into(), 0)?;
//! assert_eq!(pooled.kept.unwrap(), [1, 3]);
//! assert_eq!(pooled.graph.view().weights().unwrap(), [0.5, 0.5]);
//! # Ok::<(), stepwell::Error>(())
//! ```
//!
//! # Several levels
//!
//! With [`Sparsify::EachLevel`] the graph of a [`Pooled`] is sparse already: a model
//! uses it, and the next level is made from it. With [`Sparsify::Deferred`] it still
//! has all its links: the next level is made from it as it is, and a model uses
//! [`sparsify`] of it.
//!
//! # Directed graphs
//!
//! Directed graphs are reduced as `(A + Aᵀ) / 2`. Self loops count in the degrees that
//! normalise `Ã`. They cancel in the Laplacian, so coarse graphs have none.

mod approximate;
mod cut;
mod front;
mod kron;
mod multifrontal;
mod rows;
#[cfg(test)]
mod tests;
mod tournament;

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

pub use cut::Cut;

use self::kron::{Halt, Limits};
use self::rows::Rows;
use super::{Assignment, Going, Notes, Pooled, Pooling};
use crate::error::{Error, Result, same_length};
use crate::graph::{Graph, GraphRef};

/// When weak links are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparsify {
    /// On every level, before the next level is made from it: the paper's p(p(A)).
    #[default]
    EachLevel,
    /// On every level, after the next level was made from it.
    Deferred,
}

/// The side of a component's cut to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The side with the largest entry of the eigenvector or, if the component is
    /// bipartite, with the largest degree. If both sides have one, the smaller side; if
    /// they are of equal size, the side of the lowest such vertex.
    #[default]
    Largest,
    /// The side with fewer vertices; [`Largest`](Self::Largest) decides ties.
    Smaller,
    /// The side with more vertices; [`Largest`](Self::Largest) decides ties.
    Larger,
}

/// Pools one graph, as level `level` (from 0) of its pyramid.
pub fn ndp(graph: GraphRef<'_>, options: &Pooling, level: usize) -> Result<Pooled> {
    ndp_while(graph, options, level, &|| ControlFlow::Continue(()))
}

pub(super) fn ndp_while(
    graph: GraphRef<'_>,
    options: &Pooling,
    level: usize,
    going: &Going<'_>,
) -> Result<Pooled> {
    options.validate()?;
    let rows = Rows::new(graph)?;
    let Cut { side: keep, improved, .. } =
        cut::cut(&rows, options.side, [options.seed, level as u64], going)?;
    let limits = Limits {
        budget: usize::try_from(options.fill_budget).unwrap_or(usize::MAX),
        approximate: options.approximate,
        delta: if options.sparsify == Sparsify::Deferred { 0.0 } else { options.delta },
    };
    let (coarse, fill_dropped) = reduce(graph, &rows, &keep, limits, going)?;
    let kept: Vec<u32> = (0..).zip(&keep).filter(|(_, kept)| **kept).map(|(v, _)| v).collect();
    let mut starts = vec![0; keep.len() + 1];
    for (v, &kept) in keep.iter().enumerate() {
        starts[v + 1] = starts[v] + usize::from(kept);
    }
    let columns = (0..kept.len() as u32).collect();
    let assignment = Assignment::new(kept.len(), starts, columns, vec![1.0; kept.len()])?;
    let notes = Notes {
        cuts_improved: usize::from(improved),
        without_edges: usize::from(!rows.columns.is_empty() && coarse.view().num_entries() == 0),
        fill_dropped,
        symmetrized: usize::from(graph.is_directed()),
        ..Notes::default()
    };
    Ok(Pooled { assignment, graph: coarse, kept: Some(kept), notes })
}

/// A large cut, as [`ndp`] computes it on the first level with seed 0.
pub fn maxcut(graph: GraphRef<'_>) -> Result<Cut> {
    cut::cut(&Rows::new(graph)?, Side::Largest, [0, 0], &|| ControlFlow::Continue(()))
}

/// Drops the vertices not in `keep` and links the others so that resistance distances
/// between them do not change (the Schur complement of the Laplacian). The result is
/// undirected and has no self loops. A component without a kept vertex vanishes.
pub fn kron_reduce(graph: GraphRef<'_>, keep: &[bool]) -> Result<Graph> {
    same_length("vertices kept or not", graph.num_vertices(), keep.len())?;
    let limits = Limits { budget: Pooling::default().fill_budget as usize, approximate: false, delta: 0.0 };
    let going = || ControlFlow::Continue(());
    reduce(graph, &Rows::new(graph)?, keep, limits, &going).map(|(graph, _)| graph)
}

fn reduce(
    graph: GraphRef<'_>,
    rows: &Rows,
    keep: &[bool],
    limits: Limits,
    going: &Going<'_>,
) -> Result<(Graph, usize)> {
    let reduced = kron::reduce(rows, keep, limits, going).map_err(|halt| match halt {
        Halt::Error(error) => error,
        Halt::Fill(found) => Error::FillBudget {
            graph: graph.index(),
            dropped: keep.iter().filter(|kept| !**kept).count(),
            num_vertices: keep.len(),
            found: found as u64,
            budget: limits.budget as u64,
        },
    })?;
    let graph = Graph::from_rows(reduced.starts, reduced.columns, reduced.weights, false)?;
    Ok((graph, reduced.fill_dropped))
}

/// The graph without weights below `delta`, and without labels and attributes.
pub fn sparsify(graph: GraphRef<'_>, delta: f64) -> Result<Graph> {
    let (mut starts, mut columns, mut weights) = (vec![0], Vec::new(), Vec::new());
    for v in 0..graph.num_vertices() {
        let of_row = graph.weights_of(v);
        for (k, &column) in graph.neighbours(v).iter().enumerate() {
            let weight = of_row.map_or(1.0, |w| w[k]);
            if weight >= delta {
                columns.push(column);
                weights.push(weight);
            }
        }
        starts.push(columns.len());
    }
    Graph::from_rows(starts, columns, weights, graph.is_directed())
}
