//! Lossless lifting: runs the iteration on classes of equivalent vertices.
//!
//! `H <- tanh(Ã H W + X V)` cannot distinguish two vertices that 1-WL colour refinement
//! does not distinguish. A [`Quotient`] has one vertex per stable colour, and the same
//! iteration on it gives every vertex's state, at the cost of one computation per class
//! instead of one per vertex.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::lift::quotient;
//! // A star: one centre and five leaves that are alike.
//! let star = Graph::new(&EdgeList::new(6, &[0, 0, 0, 0, 0], &[1, 2, 3, 4, 5]))?;
//! let lifted = quotient(star.view(), &[0; 6], None, &star.view().normalized_weights()).unwrap();
//! let leaf = lifted.class_of[1];
//! assert_eq!(lifted.sizes[leaf as usize], 5);
//! assert!(lifted.class_of[2..].iter().all(|&class| class == leaf));
//! # Ok::<(), stepwell::Error>(())
//! ```
//!
//! # Why it is exact
//!
//! Let `P` be the matrix with a 1 where vertex i is in class c. The classes are
//! *equitable*: vertices of a class have equal inputs (`X = P Y`), and the entries of
//! their rows of `A`, as pairs of a weight and the class of the column, form the same
//! multiset. So they have the same sum over each class: `A P = P B` with a small matrix
//! `B`.
//!
//! *Normalised.* The row sums `D` follow from the multiset, so they are equal within a
//! class: `D^-1/2 P = P Δ^-1/2` with one number per class in `Δ`. Then
//! `Ã P = D^-1/2 A D^-1/2 P = D^-1/2 P B Δ^-1/2 = P Δ^-1/2 B Δ^-1/2 = P B̃`.
//! *Directed*, `Ã = D_out^-1/2 A D_in^-1/2`: a row does not determine the incoming
//! weights, so the refinement starts from the in-degrees as well, and the same equation
//! holds with `D_in` on the right. *Unnormalised*, `Ã = A`. A self loop is an entry
//! whose column is in the row's own class, and a vertex without edges has an empty row;
//! neither needs special treatment.
//!
//! *Gates.* If edges carry labels or attributes, the step is
//! `tanh(Σ_g Ã_g H D_g W + X V)`: `Ã_g` has the entries whose edges carry g, and `D_g`
//! has their gate on its diagonal. Rows are then multisets of a weight, the edge's
//! labels and attributes, and the class of the column. The argument above holds for
//! every `Ã_g`, and the quotient has an entry for each pair of class and g that occurs
//! in a row.
//!
//! *The iteration.* If `H = P G`, then
//! `tanh(Ã H W + X V) = tanh(P (B̃ G W + Y V)) = P tanh(B̃ G W + Y V)`, since every row
//! of `P` has a single 1. The iteration starts from `H = 0 = P 0`. So every Jacobi
//! step, leaky or not, is the step of the quotient copied to the members, for any `W`
//! and `V`. The same holds for the fixed point and for a further block whose input is
//! `H`. Frobenius norms and sums over vertices weight each class by its size.
//!
//! # Rounding
//!
//! Classes depend on no rounded number: weights are compared by their bits, and
//! in-degrees are summed in ascending order, so that equal weights give equal bits.
//! (Only in a weighted, directed graph may sums that differ by less than their own
//! rounding count as equal.) A quotient's value is the sum of the operator's entries in
//! the row of the class's lowest vertex, its representative. The rows of other members
//! hold the same real numbers, but a weighted degree summed in another order may differ
//! in its last bit; lifted and unlifted states then differ by as much.
//!
//! # Where it is not exact
//!
//! A Gauss–Seidel sweep uses new states as soon as they are computed. So it depends on
//! the order of the vertices, and a sweep over the quotient is not a sweep over the
//! graph. The fixed point is the same, but a state that has not converged differs.
//!
//! # Coarse levels
//!
//! The input of a coarse level, `X' = SᵀH`, consists of states. Its seeds must identify
//! *which* states, by class, and must never be the numbers themselves: two coarse
//! vertices are equivalent if they gather the same multiset of (entry of `S`, class of
//! the fine vertex), and a seed has to identify that multiset. [`Refiner::refine`]
//! returns the classes and accepts such seeds. States themselves would not do. They are
//! sums in some order, so equivalent vertices may differ in a last bit and split.
//! Different vertices may agree for one draw of `W` or in f32 and merge, while the
//! quotient is computed once, before any weights are drawn.
//!
//! # Canonical order
//!
//! Classes are numbered by the inputs of their vertices and by their links, never by
//! vertex numbers. Renaming vertices therefore changes only `class_of` and
//! `representatives`, and no bit of the rest, as long as the operator's entries keep
//! their bits: always without weights, and with weights whose sums are exact.

mod columns;
mod fold;
mod refine;

pub use refine::Refiner;

use crate::graph::GraphRef;

/// A graph with one vertex for each class of equivalent vertices. See the
/// [module](self).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quotient {
    /// Each vertex's class.
    pub class_of: Vec<u32>,
    /// The number of vertices in each class.
    pub sizes: Vec<u32>,
    /// The lowest vertex of each class.
    pub representatives: Vec<u32>,
    /// Where the entries of each class begin, followed by the number of entries.
    pub row_starts: Vec<usize>,
    /// The classes each class gathers from, ascending within a row.
    pub columns: Vec<u32>,
    /// The labels and attributes of the edges of each entry, as kinds; empty without
    /// any. A class occurs in a row once for each kind.
    pub kinds: Vec<u32>,
    /// For each entry, the sum of the operator's entries over the class's vertices in
    /// the representative's row.
    pub values: Vec<f64>,
}

/// The quotient of one graph; [`Refiner::quotient`] keeps its buffers for the next.
///
/// # Panics
/// If there is not one seed per vertex and one value (and kind) per entry.
pub fn quotient(
    graph: GraphRef<'_>,
    seeds: &[u64],
    kinds: Option<&[u32]>,
    values: &[f64],
) -> Option<Quotient> {
    Refiner::default().quotient(graph, seeds, kinds, values)
}

#[cfg(test)]
mod tests;
