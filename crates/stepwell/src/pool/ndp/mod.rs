//! Node decimation pooling (paper §3.3): drop one side of a cut, join the rest.
//!
//! Vertices that exchange much information end on opposite sides of a large
//! cut, so one side stands for both. [`maxcut`] finds such a cut from the top
//! eigenvector of `I - Ã`; [`kron_reduce`] joins the kept vertices so that the
//! electrical distances between them stay what they were; [`sparsify`] drops
//! weak links. [`ndp`] is all three.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::ndp::{NdpOptions, ndp};
//! // A path of five vertices: every other one is kept, two resistors in series are one of half the weight.
//! let path = Graph::new(&EdgeList::new(5, &[0, 1, 2, 3], &[1, 2, 3, 4]))?;
//! let pooled = ndp(path.view(), &NdpOptions::default(), 0)?;
//! assert_eq!(pooled.kept.unwrap(), [1, 3]);
//! assert_eq!(pooled.graph.view().weights().unwrap(), [0.5, 0.5]);
//! # Ok::<(), stepwell::Error>(())
//! ```
//!
//! # Several levels
//!
//! With [`Sparsify::EachLevel`] the graph of a [`Pooled`] is sparse already, is
//! what a model uses and what the next level is made from. With
//! [`Sparsify::Deferred`] it still has all its links: the next level is made
//! from it as it is, and a model uses [`sparsify`] of it.
//!
//! # Directed graphs
//!
//! are reduced as `(A + Aᵀ) / 2`. Self loops count in the degrees that `Ã` is
//! normalised by; they cancel in the Laplacian, and coarse graphs have none.

mod approximate;
mod cut;
mod front;
mod kron;
mod multifrontal;
mod rows;
#[cfg(test)]
mod tests;
mod tournament;

use serde::{Deserialize, Serialize};

pub use cut::Cut;

use self::cut::Cutter;
use self::kron::{Kron, Limits};
use self::rows::Rows;
use super::{Assignment, Notes, Pooled};
use crate::error::{Error, Result};
use crate::graph::{Graph, GraphRef};

/// When weak links are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sparsify {
    /// On every level, before the next is made from it: the paper's p(p(A)).
    #[default]
    EachLevel,
    /// On every level, after the next was made from it.
    Deferred,
}

/// Which side of a component's cut is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// That of the largest entry of the eigenvector, or of the largest degree
    /// where the component is bipartite; of the smaller side, then of the
    /// lowest vertex, if both sides have one.
    #[default]
    Largest,
    /// The one with fewer vertices; [`Largest`](Self::Largest) decides ties.
    Smaller,
    /// The one with more vertices; [`Largest`](Self::Largest) decides ties.
    Larger,
}

/// Settings of [`ndp`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NdpOptions {
    /// Links of the coarse graph with a smaller weight are dropped.
    pub delta: f64,
    /// When they are dropped.
    pub sparsify: Sparsify,
    /// Which side of the cut is kept.
    pub side: Side,
    /// Pairs of vertices that may be joined and held; each takes about 60 bytes.
    pub fill_budget: u64,
    /// Above that budget: drop small new weights during the elimination (the
    /// [notes](Notes) count them) instead of refusing.
    pub approximate: bool,
    /// Seed of the start of the eigenvector iteration on large components.
    #[serde(rename = "pool_seed")]
    pub seed: u64,
}

impl Default for NdpOptions {
    fn default() -> Self {
        Self {
            delta: 0.1,
            sparsify: Sparsify::EachLevel,
            side: Side::Largest,
            fill_budget: 1 << 26,
            approximate: false,
            seed: 0,
        }
    }
}

impl NdpOptions {
    /// Whether all values can be used.
    pub fn validate(&self) -> Result<()> {
        match self.delta.is_finite() && self.delta >= 0.0 {
            true => Ok(()),
            false => Err(Error::BadOption {
                name: "delta",
                expected: "a finite number that is not negative".to_string(),
                found: self.delta.to_string(),
            }),
        }
    }

    fn limits(&self) -> Limits {
        let deferred = self.sparsify == Sparsify::Deferred;
        Limits {
            budget: usize::try_from(self.fill_budget).unwrap_or(usize::MAX),
            approximate: self.approximate,
            delta: if deferred { 0.0 } else { self.delta },
        }
    }
}

/// Pools one graph, as level `level` (from 0) of its pyramid; [`Ndp::pool`]
/// keeps its buffers for the next.
pub fn ndp(graph: GraphRef<'_>, options: &NdpOptions, level: usize) -> Result<Pooled> {
    Ndp::default().pool(graph, options, level)
}

/// A large cut, as [`ndp`] makes it on the first level with seed 0.
pub fn maxcut(graph: GraphRef<'_>) -> Result<Cut> {
    let mut state = Ndp::default();
    state.rows.load(graph)?;
    state.cutter.cut(&state.rows, Side::Largest, 0, 0);
    let value = state.cutter.value();
    Ok(Cut { side: state.cutter.keep, value, improved: state.cutter.improved })
}

/// Drops the vertices not in `keep` and joins the others so that resistance
/// distances between them do not change (the Schur complement of the
/// Laplacian). The result is undirected and without self loops. A component
/// without a kept vertex vanishes.
pub fn kron_reduce(graph: GraphRef<'_>, keep: &[bool]) -> Result<Graph> {
    let n = graph.num_vertices();
    if keep.len() != n {
        return Err(Error::Length { what: "vertices kept or not", expected: n, found: keep.len() });
    }
    let mut state = Ndp::default();
    state.rows.load(graph)?;
    let limits = Limits { delta: 0.0, ..NdpOptions::default().limits() };
    state.reduce(graph, keep, limits).map(|(graph, _)| graph)
}

/// The graph without its weights below `delta`, and without labels and attributes.
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

/// Pools graph after graph with the same buffers.
#[derive(Debug, Default)]
pub struct Ndp {
    rows: Rows,
    cutter: Cutter,
    kron: Kron,
}

impl Ndp {
    /// The same as [`ndp`].
    pub fn pool(&mut self, graph: GraphRef<'_>, options: &NdpOptions, level: usize) -> Result<Pooled> {
        options.validate()?;
        self.rows.load(graph)?;
        self.cutter.cut(&self.rows, options.side, options.seed, level);
        let keep = std::mem::take(&mut self.cutter.keep);
        let reduced = self.reduce(graph, &keep, options.limits());
        self.cutter.keep = keep;
        let (coarse, fill_dropped) = reduced?;
        let kept: Vec<u32> = (0..).zip(&self.cutter.keep).filter(|(_, k)| **k).map(|(v, _)| v).collect();
        let mut starts = Vec::with_capacity(self.rows.len() + 1);
        starts.push(0);
        let mut passed = 0;
        starts.extend(self.cutter.keep.iter().map(|&kept| {
            passed += usize::from(kept);
            passed
        }));
        let columns = (0..kept.len() as u32).collect();
        let assignment = Assignment::new(kept.len(), starts, columns, vec![1.0; kept.len()])?;
        let notes = Notes {
            cuts_improved: usize::from(self.cutter.improved),
            without_edges: usize::from(!self.rows.columns.is_empty() && coarse.view().num_entries() == 0),
            fill_dropped,
            symmetrized: usize::from(graph.is_directed()),
            ..Notes::default()
        };
        Ok(Pooled { assignment, graph: coarse, kept: Some(kept), notes })
    }

    fn reduce(&mut self, graph: GraphRef<'_>, keep: &[bool], limits: Limits) -> Result<(Graph, usize)> {
        let reduced = self.kron.reduce(&self.rows, keep, limits).map_err(|found| Error::FillBudget {
            graph: graph.index(),
            dropped: keep.iter().filter(|kept| !**kept).count(),
            num_vertices: keep.len(),
            found: found as u64,
            budget: limits.budget as u64,
        })?;
        let graph = Graph::from_rows(reduced.starts, reduced.columns, reduced.weights, false)?;
        Ok((graph, reduced.fill_dropped))
    }
}
