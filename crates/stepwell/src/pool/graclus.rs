//! Graclus pooling (paper §3.1): clusters of two by a greedy matching.
//!
//! Vertices are visited in some order. One that is still single is matched with
//! the single neighbour of largest gain `a_ij (1/d_i + 1/d_j)`, where d are
//! weighted degrees; without such a neighbour it stays its own cluster. The
//! first level is visited in a random order, later ones by ascending degree.
//! The clusters give `A' = PᵀAP`, whose diagonal is kept.
//!
//! The paper pads every level with fake vertices, so that each is exactly half
//! of the one before; they hold noise and cost time, so there are none here.
//! [`padded_size`] tells how many vertices there would be, which is what the
//! paper's Table 4 counts.
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

/// Pools one graph; `level` counts the poolings before this one. Another seed
/// visits the first level's vertices in another order.
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

/// How many vertices a level has in the paper's balanced tree, which is full
/// from the `clusters_left` after all its `matchings` down: twice as many on
/// every level below. Level 0 is the original graph.
pub fn padded_size(clusters_left: usize, matchings: u32, level: u32) -> usize {
    clusters_left.saturating_mul(2usize.saturating_pow(matchings.saturating_sub(level)))
}

/// Ascending degree, then index.
fn by_degree(degrees: &[f64]) -> Vec<u32> {
    // Degrees are not negative: their bits are in the order of their values.
    let key = |(degree, vertex): (&f64, u32)| u128::from(degree.to_bits()) << 32 | u128::from(vertex);
    let mut keys: Vec<u128> = degrees.iter().zip(0..).map(key).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| key as u32).collect()
}

/// What matching has to know of a vertex.
#[derive(Clone, Copy, Default)]
struct Single {
    /// 1/d, or minus infinity once the vertex is matched: no gain is below that.
    inverse: f64,
    /// The earlier its turn, the higher.
    rank: u32,
}

/// The greedy matching. Clusters are numbered as they are met, and of equal
/// gains the one visited first wins: nothing depends on how vertices are named.
fn match_in_order(graph: GraphRef<'_>, degrees: &[f64], order: &[u32]) -> Clusters {
    const UNSEEN: u32 = u32::MAX;
    let mut singles = vec![Single::default(); order.len()];
    for (&vertex, turn) in order.iter().zip(1..) {
        // Finite, so that there is no infinity to take another from.
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
        // Gain, rank and vertex as one number, so that choosing is taking the largest, without a
        // branch to guess wrong. Bits of numbers that are not negative are in the order of their
        // values. It begins with the vertex itself, which a gain of 0 does not beat.
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
