//! Graclus pooling (paper §3.1): clusters of two by a greedy matching.
//!
//! Vertices are visited in some order. An unmatched vertex is matched with the
//! unmatched neighbour of largest gain `a_ij (1/d_i + 1/d_j)`, where d are weighted
//! degrees. Without such a neighbour it stays its own cluster. The first level is
//! visited in random order, later levels by ascending degree. The clusters give
//! `A' = PᵀAP`, whose diagonal is kept.
//!
//! The paper pads every level with fake vertices, so that each is exactly half of the
//! previous one. Fake vertices hold noise and cost time, so there are none here.
//! [`padded_size`] computes how many vertices there would be, which is what the paper's
//! Table 4 counts.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::{Reduce, graclus};
//! let path = Graph::new(&EdgeList::new(4, &[0, 1, 2], &[1, 2, 3]))?;
//! let pooled = graclus(path.view(), Reduce::Mean, 0, 0)?;
//! assert!(pooled.graph.view().num_vertices() < 4);
//! # Ok::<(), stepwell::Error>(())
//! ```

use super::clusters::{Clusters, Reduce};
use super::{Notes, Pooled, undirected};
use crate::error::Result;
use crate::graph::{Graph, GraphRef};
use crate::rng::Stream;

/// Pools one graph. `level` is the number of earlier poolings. The seed changes the
/// order in which the vertices of the first level are visited.
pub fn graclus(graph: GraphRef<'_>, reduce: Reduce, seed: u64, level: usize) -> Result<Pooled> {
    let made = undirected(graph)?;
    let graph = made.as_ref().map_or(graph, Graph::view);
    let degrees = graph.degrees();
    let order = if level == 0 {
        let mut order: Vec<u32> = (0..graph.num_vertices() as u32).collect();
        Stream::new(seed, "graclus order", [level as u64, 0]).shuffle(&mut order);
        order
    } else {
        by_degree(&degrees)
    };
    let notes = Notes { symmetrized: usize::from(made.is_some()), ..Notes::default() };
    match_in_order(graph, &degrees, &order).pool(graph, reduce, notes)
}

/// The number of vertices of a level in the paper's balanced tree. The tree is full
/// from the `clusters_left` after all its `matchings` downwards: it has twice as many
/// on every level below. Level 0 is the original graph.
pub fn padded_size(clusters_left: usize, matchings: u32, level: u32) -> usize {
    clusters_left.saturating_mul(2usize.saturating_pow(matchings.saturating_sub(level)))
}

/// Orders vertices by ascending degree, then index.
fn by_degree(degrees: &[f64]) -> Vec<u32> {
    // Degrees are not negative, so their bits sort like their values.
    let key = |(degree, vertex): (&f64, u32)| u128::from(degree.to_bits()) << 32 | u128::from(vertex);
    let mut keys: Vec<u128> = degrees.iter().zip(0..).map(key).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| key as u32).collect()
}

/// The data of a vertex that matching needs.
#[derive(Clone, Copy, Default)]
struct Single {
    /// 1/d, or minus infinity once the vertex is matched: any other gain is larger.
    inverse: f64,
    /// Higher for vertices visited earlier.
    rank: u32,
}

/// The greedy matching. Clusters are numbered in the order of visits, and among equal
/// gains the vertex visited first wins, so nothing depends on vertex numbers.
fn match_in_order(graph: GraphRef<'_>, degrees: &[f64], order: &[u32]) -> Clusters {
    const UNSEEN: u32 = u32::MAX;
    let mut singles = vec![Single::default(); order.len()];
    for (&vertex, turn) in order.iter().zip(1..) {
        // Limit to finite values, so that no two infinities are subtracted.
        let inverse = (1.0 / degrees[vertex as usize]).min(f64::MAX);
        singles[vertex as usize] = Single { inverse, rank: u32::MAX - turn };
    }
    let (rows, neighbours) = graph.rows();
    let weights = graph.weights();
    let mut of = vec![UNSEEN; order.len()];
    let (of_each, singles) = (&mut of[..], &mut singles[..]);
    let mut count = 0;
    for &vertex in order {
        let v = vertex as usize;
        if of_each[v] != UNSEEN {
            continue;
        }
        let own = std::mem::replace(&mut singles[v].inverse, f64::NEG_INFINITY);
        // Pack gain, rank and vertex into one number, so that the choice is a maximum without
        // an unpredictable branch. Bits of non-negative numbers sort like their values. Start
        // with the vertex itself, which a gain of 0 does not beat.
        let mut best = i128::from(u64::from(u32::MAX) << 32 | u64::from(vertex));
        let mut consider = |neighbour: u32, weight: f64| {
            let Single { inverse, rank } = singles[neighbour as usize];
            let gain = (weight * (own + inverse)).to_bits().cast_signed();
            let low = u64::from(rank) << 32 | u64::from(neighbour);
            best = best.max(i128::from(gain) << 64 | i128::from(low));
        };
        let range = rows[v] - rows[0]..rows[v + 1] - rows[0];
        let row = neighbours[range.clone()].iter();
        match weights {
            Some(weights) => row.zip(&weights[range]).for_each(|(&u, &w)| consider(u, w)),
            None => row.for_each(|&u| consider(u, 1.0)),
        }
        let partner = best as u32 as usize;
        singles[partner].inverse = f64::NEG_INFINITY;
        of_each[v] = count;
        of_each[partner] = count;
        count += 1;
    }
    Clusters { of, count: count as usize }
}

#[cfg(test)]
mod tests;
