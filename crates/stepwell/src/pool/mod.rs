//! Topological pooling: coarser graphs from the structure alone (paper §3).
//!
//! A pooling is a function from a graph to a [`Pooled`]: the matrix `S` that carries
//! states to the coarse vertices (`X' = SᵀH`), the coarse graph `A'`, and notes.
//! Everything is computed in f64, once per graph. Applying a pooling repeatedly gives a
//! [pyramid](crate::pyramid), which accepts any such function.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::{Pool, Pooling};
//!
//! let path = Graph::new(&EdgeList::new(5, &[0, 1, 2, 3], &[1, 2, 3, 4]))?;
//! // One side of the largest cut: of a path, every other vertex.
//! let pooled = Pooling::from(Pool::Ndp).pool(path.view(), 0)?;
//! assert_eq!(pooled.kept, Some(vec![1, 3]));
//! // Pairs of neighbours, and a vertex that is left alone.
//! let pooled = Pooling::from(Pool::Graclus).pool(path.view(), 0)?;
//! let s = pooled.assignment.view();
//! assert_eq!((s.num_fine(), s.num_coarse()), (5, 3));
//! # Ok::<(), stepwell::Error>(())
//! ```

mod assignment;
mod clusters;
mod graclus;
mod kmis;
pub mod ndp;
mod nmf;
mod pooling;
#[cfg(test)]
mod test_graphs;
mod undirected;

pub use assignment::{Assignment, AssignmentRef, Assignments};
pub use clusters::Reduce;
pub use graclus::{graclus, padded_size};
pub use kmis::kmis;
pub use nmf::{Factors, factorize, nmf};
pub use pooling::{Pool, Pooling};
pub use undirected::undirected;

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::graph::{Graph, GraphRef};

/// Returns whether to continue. Called from time to time while a graph is pooled.
pub type Going<'a> = dyn Fn() -> ControlFlow<()> + Sync + 'a;

/// Takes the number of finished graphs; returns whether to continue.
pub type Progress<'a> = &'a (dyn Fn(usize) -> ControlFlow<()> + Sync);

/// Returns [`Error::Cancelled`] if `going` breaks.
fn still(going: &Going<'_>) -> Result<()> {
    if going().is_break() { Err(Error::Cancelled) } else { Ok(()) }
}

/// The result of pooling one graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// `S`, fine vertices by coarse vertices. Its entries include the weights of the
    /// reduction.
    pub assignment: Assignment,
    /// The coarse graph, `A'`: undirected, with weights.
    pub graph: Graph,
    /// For poolings that select vertices: the fine vertex that each coarse vertex was.
    pub kept: Option<Vec<u32>>,
    /// Notes for the user.
    pub notes: Notes,
}

impl Pooled {
    /// The graph as it is, but undirected.
    fn unchanged(graph: GraphRef<'_>) -> Result<Self> {
        let made = undirected(graph)?;
        let graph = made.as_ref().map_or(graph, Graph::view);
        let weights = graph.entries().map(|(_, _, weight)| weight).collect();
        let same =
            Graph::from_rows(graph.row_starts().collect(), graph.all_neighbours().to_vec(), weights, false)?;
        let notes = Notes { symmetrized: usize::from(made.is_some()), ..Notes::default() };
        Ok(Self { assignment: Assignment::identity(graph.num_vertices()), graph: same, kept: None, notes })
    }
}

/// Events during a pooling, as counts that add up over graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Notes {
    /// Cuts that were below one half and were improved by flipping vertices (NDP).
    pub cuts_improved: usize,
    /// Vertices without a cluster (NMF).
    pub vertices_lost: usize,
    /// Graphs that had edges and lost all of them.
    pub without_edges: usize,
    /// Entries dropped during elimination, in approximate mode (NDP).
    pub fill_dropped: usize,
    /// Directed graphs that were made undirected first.
    pub symmetrized: usize,
}

impl std::ops::AddAssign for Notes {
    fn add_assign(&mut self, other: Self) {
        self.cuts_improved += other.cuts_improved;
        self.vertices_lost += other.vertices_lost;
        self.without_edges += other.without_edges;
        self.fill_dropped += other.fill_dropped;
        self.symmetrized += other.symmetrized;
    }
}
