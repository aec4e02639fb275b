//! Eliminating vertices without ever holding all the pairs it joins.
//!
//! As in the exact elimination, but a new weight below a floor is dropped at
//! once. The larger ones of a vertex's products come first, so what is dropped
//! is never even looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::rows::Rows;

/// What an elimination with dropping leaves.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// Pairs of kept vertices, the lower first, and the weight each gained.
    pub pairs: Vec<(u32, u32, f64)>,
    /// How many new weights were dropped.
    pub dropped: usize,
}

/// The weights of one vertex that waits for its elimination; repeats add up.
#[derive(Clone, Debug, Default)]
struct Waiting {
    entries: Vec<(u32, f64)>,
    /// How many there were when repeats were last added up.
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

/// Eliminates every vertex not in `keep`, fewest neighbours first. `Err` holds
/// the weights stored when they became more than `budget`.
pub(super) fn eliminate(rows: &Rows, keep: &[bool], floor: f64, budget: usize) -> Result<Joined, usize> {
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
    let mut held = 0;
    while let Some(Reverse((score, v))) = heap.pop() {
        if gone[v] || waiting[v].entries.len() != score {
            continue;
        }
        gone[v] = true;
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
            if made == before || held > budget {
                break;
            }
        }
        if held > budget {
            return Err(held);
        }
        joined.dropped += row.len() * row.len().saturating_sub(1) / 2 - made;
        for &(u, _) in row.iter().filter(|&&(u, _)| !keep[u as usize]) {
            let list = &mut waiting[u as usize];
            if list.entries.len() > 2 * list.distinct + 16 {
                let before = list.entries.len();
                list.add_up(&gone);
                held = held.saturating_sub(before - list.entries.len());
            }
            heap.push(Reverse((list.entries.len(), u as usize)));
        }
    }
    Ok(joined)
}
