//! k-MIS pooling: clusters around the centres of a maximal k-independent set.
//!
//! Vertices are visited by descending degree. A vertex without a centre within `k`
//! steps becomes a centre itself. So no two centres are within `k` steps of each other,
//! and every vertex is within `k` steps of one (Bacciu, Conte and Landolfi,
//! *Generalizing downsampling from regular data to graphs*). A vertex joins its nearest
//! centre; among equally near centres, the one with the lowest index. The clusters give
//! `A' = PᵀAP`, as in [`graclus`](super::graclus()).
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::{Reduce, kmis};
//! let star = Graph::new(&EdgeList::new(6, &[0, 0, 0, 0, 0], &[1, 2, 3, 4, 5]))?;
//! let pooled = kmis(star.view(), 1, Reduce::Mean)?;
//! assert_eq!(pooled.graph.view().num_vertices(), 1);
//! # Ok::<(), stepwell::Error>(())
//! ```

use super::clusters::{Clusters, Reduce};
use super::{Notes, Pooled, undirected};
use crate::error::Result;
use crate::graph::{Graph, GraphRef};

/// Pools one graph, with centres more than `k` steps apart.
pub fn kmis(graph: GraphRef<'_>, k: usize, reduce: Reduce) -> Result<Pooled> {
    let made = undirected(graph)?;
    let graph = made.as_ref().map_or(graph, Graph::view);
    let notes = Notes { symmetrized: usize::from(made.is_some()), ..Notes::default() };
    nearest_centres(graph, &centres(graph, k)).pool(graph, reduce, notes)
}

/// The centres of the greedy set, ascending.
fn centres(graph: GraphRef<'_>, k: usize) -> Vec<u32> {
    let degrees = graph.degrees();
    let mut order: Vec<u32> = (0..degrees.len() as u32).collect();
    order.sort_by(|&a, &b| degrees[b as usize].total_cmp(&degrees[a as usize]));
    let mut steps = vec![usize::MAX; degrees.len()];
    let (mut centres, mut reached) = (Vec::new(), Vec::new());
    for centre in order {
        if steps[centre as usize] <= k {
            continue;
        }
        centres.push(centre);
        steps[centre as usize] = 0;
        reached.clear();
        reached.push(centre);
        // Stop where another centre is as near: the vertices behind were reached from there.
        let mut at = 0;
        while at < reached.len() {
            let v = reached[at] as usize;
            at += 1;
            for &u in graph.neighbours(v) {
                let next = steps[v] + 1;
                if next <= k && next < steps[u as usize] {
                    steps[u as usize] = next;
                    reached.push(u);
                }
            }
        }
    }
    centres.sort_unstable();
    centres
}

/// Grows all clusters at the same time, step by step.
fn nearest_centres(graph: GraphRef<'_>, centres: &[u32]) -> Clusters {
    const FREE: u32 = u32::MAX;
    let mut of = vec![FREE; graph.num_vertices()];
    let mut front: Vec<(u32, u32)> = centres.iter().copied().zip(0..).collect();
    let mut next = Vec::new();
    while !front.is_empty() {
        front.iter().for_each(|&(vertex, cluster)| of[vertex as usize] = cluster);
        for &(vertex, cluster) in &front {
            let free = graph.neighbours(vertex as usize).iter().filter(|&&u| of[u as usize] == FREE);
            next.extend(free.map(|&u| (u, cluster)));
        }
        // A vertex reached from several clusters joins the lowest.
        next.sort_unstable();
        next.dedup_by_key(|reached| reached.0);
        std::mem::swap(&mut front, &mut next);
        next.clear();
    }
    Clusters { of, count: centres.len() }
}

#[cfg(test)]
mod tests;
