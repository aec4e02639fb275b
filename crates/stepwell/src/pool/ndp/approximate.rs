//! Eliminates vertices without ever holding all the pairs it joins.
//!
//! Works like the exact elimination, but drops a new weight at once if it is below a
//! floor. It visits a vertex's products in descending order and stops at the floor, so
//! it never visits the dropped ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rows::Rows;
use crate::error::Result;
use crate::memory;
use crate::pool::{Going, still};

/// Number of vertices between two checks whether to continue.
const LOOK: usize = 1 << 8;

/// The result of an elimination with dropping.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Pairs of kept vertices, the lower vertex first, with the weight each pair
    /// gained.
    pub pairs: Vec<(u32, u32, f64)>,
    /// Number of new weights dropped.
    pub dropped: usize,
}

/// The weights of a vertex that waits for its elimination. Repeated entries add up.
#[derive(Clone, Debug, Default)]
struct Waiting {
    entries: Vec<(u32, f64)>,
    /// Number of entries when repeats were last merged.
    distinct: usize,
}

impl Waiting {
    fn add_up(&mut self, gone: &[bool]) {
        self.entries.retain(|&(u, _)| !gone[u as usize]);
        self.entries.sort_by_key(|&(u, _)| u);
        self.entries.dedup_by(|again, first| {
            let same = again.0 == first.0;
            if same {
                first.1 += again.1;
            }
            same
        });
        self.distinct = self.entries.len();
    }
}

/// Eliminates every vertex not in `keep`, fewest neighbours first. Returns nothing if the
/// number of stored weights exceeds `budget`.
pub(super) fn eliminate(
    rows: &Rows,
    keep: &[bool],
    floor: f64,
    budget: usize,
    going: &Going<'_>,
) -> Result<Option<Joined>> {
    let n = rows.len();
    let mut gone = vec![false; n];
    let mut joined = Joined::default();
    let mut waiting = vec![Waiting::default(); n];
    let mut heap = BinaryHeap::new();
    for v in (0..n).filter(|&v| !keep[v]) {
        waiting[v].entries.extend(rows.entries(v).map(|(u, weight)| (u as u32, weight)));
        waiting[v].distinct = waiting[v].entries.len();
        heap.push(Reverse((waiting[v].entries.len(), v)));
    }
    let (mut held, mut looks) = (0, 0usize);
    while let Some(Reverse((score, v))) = heap.pop() {
        // Skip outdated heap entries: the vertex is gone, or has another score by now.
        if gone[v] || waiting[v].entries.len() != score {
            continue;
        }
        gone[v] = true;
        looks += 1;
        if looks.is_multiple_of(LOOK) {
            still(going)?;
            // Lists may double when they grow, so request some room in advance.
            memory::ask_array("pooling by NDP", &[LOOK, 256], size_of::<(u32, f64)>())?;
        }
        let mut row = std::mem::take(&mut waiting[v]);
        row.add_up(&gone);
        let mut row = row.entries;
        let total: f64 = row.iter().map(|&(_, weight)| weight).sum();
        row.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut made = 0;
        for (k, &(a, x)) in row.iter().enumerate() {
            let before = made;
            for &(b, y) in &row[k + 1..] {
                let weight = x / total * y;
                if weight < floor {
                    break;
                }
                made += 1;
                if keep[a as usize] && keep[b as usize] {
                    joined.pairs.push((a.min(b), a.max(b), weight));
                    held += 1;
                }
                for (from, to) in [(a, b), (b, a)] {
                    if !keep[from as usize] {
                        waiting[from as usize].entries.push((to, weight));
                        held += 1;
                    }
                }
            }
            // Weights descend: if the largest product of this row is below the floor, so are all
            // later ones.
            if made == before || held > budget {
                break;
            }
        }
        if held > budget {
            return Ok(None);
        }
        joined.dropped += row.len() * row.len().saturating_sub(1) / 2 - made;
        for &(u, _) in row.iter().filter(|&&(u, _)| !keep[u as usize]) {
            let list = &mut waiting[u as usize];
            // Merge repeats only when they make up half of the list, so that merging stays
            // cheap.
            if list.entries.len() > 2 * list.distinct + 16 {
                let before = list.entries.len();
                list.add_up(&gone);
                held = held.saturating_sub(before - list.entries.len());
            }
            heap.push(Reverse((list.entries.len(), u as usize)));
        }
    }
    Ok(Some(joined))
}
