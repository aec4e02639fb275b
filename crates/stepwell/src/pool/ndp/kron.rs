//! The links of the coarse graph: Kron reduction.
//!
//! `L' = L_kk - L_kd L_dd⁻¹ L_dk` with `L = diag(A1) - A`, kept vertices k and dropped
//! vertices d. The new weights are the off-diagonal entries of `L'`, negated. In a good
//! cut most dropped vertices have no dropped neighbour. For them `L_dd` is diagonal and
//! there is nothing to solve: each adds `a_id a_dj / s_d` to every pair of its
//! neighbours. Connected sets of dropped vertices are eliminated
//! [densely](super::front) if small, otherwise [front by front](super::multifrontal).

use super::front::{self, pairs, row_start};
use super::rows::Rows;
use super::{approximate, multifrontal};
use crate::error::Error;
use crate::memory;
use crate::pool::{Going, still};

/// No vertex or no group.
const NONE: u32 = u32::MAX;

/// The group of a dropped vertex without dropped neighbours.
const SINGLE: u32 = u32::MAX - 1;

/// A dense elimination of at most this many operations is faster than building fronts.
const ONE_FRONT: usize = 1 << 17;

/// The initial floor of an approximate reduction, in mean edge weights, and the factor
/// by which it grows until the budget suffices.
const FLOOR: (f64, f64) = (1e-3, 4.0);

/// The smallest number above 0.
const SMALLEST: f64 = f64::from_bits(1);

/// Number of vertices between two checks whether to continue.
const LOOK: usize = 1 << 8;

/// The limits of a reduction, and the treatment of small weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of pairs of vertices held in memory.
    pub budget: usize,
    /// Whether new weights may be dropped if the budget is exceeded.
    pub approximate: bool,
    /// Weights of the coarse graph below this are dropped.
    pub delta: f64,
}

/// The coarse graph's rows.
pub(super) struct Reduced {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub weights: Vec<f64>,
    pub fill_dropped: usize,
}

/// Why an elimination was not completed.
#[derive(Debug)]
pub(super) enum Halt {
    /// The number of pairs needed, as far as known, which exceeds the budget.
    Fill(usize),
    /// It was cancelled, or memory does not suffice.
    Error(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Eliminates the vertices not in `keep`.
pub(super) fn reduce(rows: &Rows, keep: &[bool], limits: Limits, going: &Going<'_>) -> Result<Reduced, Halt> {
    let mut kron = Kron::new(rows, keep, going);
    match kron.eliminate(limits.budget).and_then(|()| kron.gather(&[], limits)) {
        Err(Halt::Fill(_)) if limits.approximate => kron.approximate(limits),
        exact => exact.map(|upper| upper.mirrored(0)),
    }
}

struct Kron<'a> {
    rows: &'a Rows,
    going: &'a Going<'a>,
    keep: &'a [bool],
    /// Each kept vertex's number in the coarse graph, and the number of kept vertices.
    coarse: Vec<u32>,
    num_coarse: usize,
    /// Each dropped vertex's group, or `SINGLE`.
    groups: Vec<u32>,
    /// `s`, the sum of weights, for dropped vertices without dropped neighbours.
    totals: Vec<f64>,
    /// The kept vertices that each group touches, ascending.
    members: Vec<u32>,
    member_starts: Vec<usize>,
    /// The triangle of weights among them, for each group.
    values: Vec<f64>,
    value_starts: Vec<usize>,
    /// Number of members of each group visited so far by `gather`, and the last of
    /// them.
    passed: Vec<(u32, u32)>,
    position: Vec<u32>,
}

/// The coarse graph's rows above the diagonal.
struct Upper {
    entries: Vec<(u32, f64)>,
    starts: Vec<usize>,
}

impl<'a> Kron<'a> {
    fn new(rows: &'a Rows, keep: &'a [bool], going: &'a Going<'a>) -> Self {
        let n = rows.len();
        let mut num_coarse = 0;
        let mut number = |&kept: &bool| {
            let number = if kept { num_coarse as u32 } else { NONE };
            num_coarse += usize::from(kept);
            number
        };
        Self {
            rows,
            going,
            keep,
            coarse: keep.iter().map(&mut number).collect(),
            num_coarse,
            groups: vec![NONE; n],
            totals: vec![0.0; n],
            members: Vec::new(),
            member_starts: vec![0],
            values: Vec::new(),
            value_starts: vec![0],
            passed: Vec::new(),
            position: vec![NONE; n],
        }
    }

    /// Finds the groups of connected dropped vertices and eliminates those with more
    /// than one vertex.
    fn eliminate(&mut self, budget: usize) -> Result<(), Halt> {
        for v in 0..self.rows.len() {
            if v.is_multiple_of(LOOK) {
                still(self.going)?;
            }
            if self.keep[v] || self.groups[v] != NONE {
                continue;
            }
            let (columns, weights) = self.rows.row(v);
            if columns.iter().all(|&u| self.keep[u as usize]) {
                self.groups[v] = SINGLE;
                self.totals[v] = weights.iter().sum();
            } else {
                self.eliminate_group(v, budget)?;
            }
        }
        Ok(())
    }

    fn eliminate_group(&mut self, root: usize, budget: usize) -> Result<(), Halt> {
        let id = self.passed.len() as u32;
        let Self {
            rows, going, keep, groups, members, member_starts, values, value_starts, position, ..
        } = self;
        let first = members.len();
        let mut dropped = vec![root as u32];
        groups[root] = id;
        let mut head = 0;
        while let Some(&v) = dropped.get(head) {
            for &u in rows.row(v as usize).0 {
                if keep[u as usize] {
                    // `position` serves as this group's mark here; the local numbers below
                    // overwrite it.
                    if position[u as usize] != id {
                        position[u as usize] = id;
                        members.push(u);
                    }
                } else if groups[u as usize] == NONE {
                    groups[u as usize] = id;
                    dropped.push(u);
                }
            }
            head += 1;
        }
        let members = &mut members[first..];
        members.sort_unstable();
        let m = dropped.len() + members.len();
        let needed = values.len() + pairs(members.len());
        if needed > budget {
            return Err(Halt::Fill(needed));
        }
        memory::ask_array("pooling by NDP", &[pairs(members.len()), 2], size_of::<f64>())?;
        // Eliminate vertices with few neighbours first: the simplest order that keeps fronts
        // sparse.
        dropped.sort_by_key(|&v| rows.row(v as usize).0.len());
        for (at, &v) in dropped.iter().chain(&*members).enumerate() {
            position[v as usize] = at as u32;
        }
        if dropped.len().saturating_mul(pairs(m)) <= ONE_FRONT {
            let mut front = vec![0.0; pairs(m)];
            for (at, &v) in dropped.iter().enumerate() {
                let row = row_start(m, at);
                for (u, weight) in rows.entries(v as usize) {
                    if let Some(k) = (position[u] as usize).checked_sub(at + 1) {
                        front[row + k] = weight;
                    }
                }
            }
            front::eliminate(&mut front, m, dropped.len());
            values.extend_from_slice(&front[row_start(m, dropped.len())..]);
        } else {
            let held = values.len();
            let work = multifrontal::Work { rows, dropped: &dropped, num_members: members.len(), position };
            multifrontal::eliminate(work, budget - held, values, *going).map_err(|halt| match halt {
                Halt::Fill(found) => Halt::Fill(held + found),
                halt => halt,
            })?;
        }
        // Reset the local numbers, so that a later group does not mistake them for its mark.
        members.iter().for_each(|&v| position[v as usize] = NONE);
        members.iter_mut().for_each(|v| *v = self.coarse[*v as usize]);
        member_starts.push(first + members.len());
        value_starts.push(values.len());
        self.passed.push((0, NONE));
        Ok(())
    }

    /// Sums the rows of the coarse graph above its diagonal: old edges, links through
    /// groups and single vertices, and `extra` pairs, which must be sorted.
    fn gather(&mut self, mut extra: &[(u32, u32, f64)], limits: Limits) -> Result<Upper, Halt> {
        let Self { rows, going, keep, coarse, groups, .. } = self;
        let mut upper = Upper { entries: Vec::new(), starts: vec![0] };
        let (mut touched, mut groups_here) = (Vec::new(), Vec::new());
        let sums = &mut vec![0.0; self.num_coarse];
        let add = |sums: &mut Vec<f64>, touched: &mut Vec<u32>, at: u32, weight: f64| {
            let sum = &mut sums[at as usize];
            if *sum == 0.0 && weight > 0.0 {
                touched.push(at);
            }
            *sum += weight;
        };
        // Count links before weak ones are dropped, because the work grows with all of them.
        let mut joined = 0;
        for v in (0..rows.len()).filter(|&v| keep[v]) {
            groups_here.clear();
            for (u, weight) in rows.entries(v) {
                if keep[u] {
                    if u > v {
                        add(sums, &mut touched, coarse[u], weight);
                    }
                    continue;
                }
                match groups[u] {
                    // Neighbours ascend, so walking backwards visits only pairs above the
                    // diagonal.
                    SINGLE => {
                        let share = weight / self.totals[u];
                        for (x, weight) in rows.entries(u).rev().take_while(|&(x, _)| x > v) {
                            add(sums, &mut touched, coarse[x], share * weight);
                        }
                    }
                    NONE => {}
                    group => {
                        // A row may touch a group through several dropped vertices; the group
                        // counts once.
                        let last = &mut self.passed[group as usize].1;
                        if std::mem::replace(last, v as u32) != v as u32 {
                            groups_here.push(group);
                        }
                    }
                }
            }
            for &group in &groups_here {
                let group = group as usize;
                let members = &self.members[self.member_starts[group]..self.member_starts[group + 1]];
                // Kept vertices are visited in ascending order, so v is the group's next member.
                let at = self.passed[group].0 as usize;
                self.passed[group].0 += 1;
                let row = self.value_starts[group] + row_start(members.len(), at);
                let weights = &self.values[row..];
                for (&member, &weight) in members[at + 1..].iter().zip(weights) {
                    add(sums, &mut touched, member, weight);
                }
            }
            while let Some((&(from, to, weight), later)) = extra.split_first() {
                if from as usize != v {
                    break;
                }
                add(sums, &mut touched, coarse[to as usize], weight);
                extra = later;
            }
            touched.sort_unstable();
            for &at in &touched {
                let weight = std::mem::take(&mut sums[at as usize]);
                if weight >= limits.delta {
                    upper.entries.push((at, weight));
                }
            }
            joined += touched.len();
            touched.clear();
            upper.starts.push(upper.entries.len());
            if joined > limits.budget {
                return Err(Halt::Fill(joined));
            }
            // Mirroring at the end needs room for both triangles.
            if upper.starts.len().is_multiple_of(LOOK) {
                still(going)?;
                memory::ask_array("pooling by NDP", &[upper.entries.len(), 2], 16)?;
            }
        }
        Ok(upper)
    }

    fn approximate(&mut self, limits: Limits) -> Result<Reduced, Halt> {
        self.groups.fill(NONE);
        let weights = &self.rows.weights;
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        // A floor that underflows to 0 would stay there.
        let mut floor = (FLOOR.0 * mean).max(SMALLEST);
        loop {
            still(self.going)?;
            let joined = approximate::eliminate(self.rows, self.keep, floor, limits.budget, self.going)?;
            // This ends: a floor above every new weight leaves nothing to hold.
            let Some(mut joined) = joined else {
                floor *= FLOOR.1;
                continue;
            };
            joined.pairs.sort_by_key(|&(from, to, _)| (from, to));
            let upper = self.gather(&joined.pairs, Limits { budget: usize::MAX, ..limits })?;
            return Ok(upper.mirrored(joined.dropped));
        }
    }
}

impl Upper {
    /// The complete rows, with both triangles.
    fn mirrored(&self, fill_dropped: usize) -> Reduced {
        let n = self.starts.len() - 1;
        let rows = || self.starts.windows(2).map(|range| &self.entries[range[0]..range[1]]).enumerate();
        let mut starts = vec![0; n + 1];
        for (row, entries) in rows() {
            starts[row + 1] += entries.len();
            entries.iter().for_each(|&(column, _)| starts[column as usize + 1] += 1);
        }
        (0..n).for_each(|v| starts[v + 1] += starts[v]);
        let (mut columns, mut weights) = (vec![0; starts[n]], vec![0.0; starts[n]]);
        // Entries below the diagonal come from earlier rows, in their order, so columns ascend.
        let mut next = starts[..n].to_vec();
        for (row, entries) in rows() {
            for (&(column, weight), at) in entries.iter().zip(next[row]..) {
                (columns[at], weights[at]) = (column, weight);
                let below = &mut next[column as usize];
                (columns[*below], weights[*below]) = (row as u32, weight);
                *below += 1;
            }
        }
        Reduced { starts, columns, weights, fill_dropped }
    }
}
