//! The links of the coarse graph: Kron reduction.
//!
//! `L' = L_kk - L_kd L_dd⁻¹ L_dk` with `L = diag(A1) - A`, kept vertices k and
//! dropped ones d; the new weights are the entries of `L'` off its diagonal,
//! negated. Dropped vertices that are not joined to each other, most of them in
//! a good cut, have nothing to solve: each adds `a_id a_dj / s_d` to its
//! neighbours' pairs. Connected sets of them are eliminated [densely](super::front)
//! when small, else [front by front](super::multifrontal).

use super::front::{self, pairs, row_start};
use super::rows::Rows;
use super::{approximate, multifrontal};

/// No vertex, no group.
const NONE: u32 = u32::MAX;

/// The group of a dropped vertex without dropped neighbours.
const SINGLE: u32 = u32::MAX - 1;

/// A dense elimination up to this many operations is quicker than building fronts.
const ONE_FRONT: usize = 1 << 17;

/// Where the floor of an approximate reduction starts, in mean edge weights,
/// and how much it grows until the budget suffices.
const FLOOR: (f64, f64) = (1e-3, 4.0);

/// How much may be computed, and what becomes of small weights.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Pairs of vertices that may be held.
    pub budget: usize,
    /// Whether new weights may be dropped when the budget is exceeded.
    pub approximate: bool,
    /// Weights of the coarse graph below this are left out.
    pub delta: f64,
}

/// The coarse graph's rows.
pub(super) struct Reduced {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub weights: Vec<f64>,
    pub fill_dropped: usize,
}

/// Eliminates the vertices not in `keep`. `Err` holds the pairs found to be
/// needed when that is more than the budget.
pub(super) fn reduce(rows: &Rows, keep: &[bool], limits: Limits) -> Result<Reduced, usize> {
    let mut kron = Kron::new(rows, keep);
    match kron.eliminate(limits.budget).and_then(|()| kron.gather(&[], limits)) {
        Err(_) if limits.approximate => kron.approximate(limits),
        exact => exact.map(|upper| upper.mirrored(0)),
    }
}

struct Kron<'a> {
    rows: &'a Rows,
    keep: &'a [bool],
    /// Each kept vertex's number in the coarse graph, and how many there are.
    coarse: Vec<u32>,
    num_coarse: usize,
    /// Each dropped vertex's group: its element, or `SINGLE`.
    groups: Vec<u32>,
    /// `s`, the sum of weights, of single dropped vertices.
    totals: Vec<f64>,
    /// Vertices that groups touch, by group, ascending.
    members: Vec<u32>,
    member_starts: Vec<usize>,
    /// Triangles of weights among them.
    values: Vec<f64>,
    value_starts: Vec<usize>,
    /// How many members of each group have been passed, and the last of them.
    passed: Vec<(u32, u32)>,
    position: Vec<u32>,
}

/// The coarse graph's rows above the diagonal.
struct Upper {
    entries: Vec<(u32, f64)>,
    starts: Vec<usize>,
}

impl<'a> Kron<'a> {
    fn new(rows: &'a Rows, keep: &'a [bool]) -> Self {
        let n = rows.len();
        let mut num_coarse = 0;
        let mut number = |&kept: &bool| {
            let number = if kept { num_coarse as u32 } else { NONE };
            num_coarse += usize::from(kept);
            number
        };
        Self {
            rows,
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

    /// Finds the groups of dropped vertices and eliminates those of more than one.
    fn eliminate(&mut self, budget: usize) -> Result<(), usize> {
        for v in 0..self.rows.len() {
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

    fn eliminate_group(&mut self, root: usize, budget: usize) -> Result<(), usize> {
        let id = self.passed.len() as u32;
        let Self { rows, keep, groups, members, member_starts, values, value_starts, position, .. } = self;
        let first = members.len();
        let mut dropped = vec![root as u32];
        groups[root] = id;
        let mut head = 0;
        while let Some(&v) = dropped.get(head) {
            for &u in rows.row(v as usize).0 {
                if keep[u as usize] {
                    // Not unset afterwards: another group numbers its own members anew.
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
            return Err(needed);
        }
        // Few neighbours first: the simplest order that keeps fronts sparse.
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
            multifrontal::eliminate(rows, &dropped, members.len(), position, budget - held, values)
                .map_err(|found| held + found)?;
        }
        // Numbers of members must not be taken for this mark by a later group.
        members.iter().for_each(|&v| position[v as usize] = NONE);
        members.iter_mut().for_each(|v| *v = self.coarse[*v as usize]);
        member_starts.push(first + members.len());
        value_starts.push(values.len());
        self.passed.push((0, NONE));
        Ok(())
    }

    /// Adds up the rows of the coarse graph above its diagonal: old edges, what
    /// groups and single vertices join, and `extra` pairs, sorted.
    fn gather(&mut self, mut extra: &[(u32, u32, f64)], limits: Limits) -> Result<Upper, usize> {
        let Self { rows, keep, coarse, groups, .. } = self;
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
        // Counted before weak ones are left out: it is also what the work grows with.
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
                    SINGLE => {
                        let share = weight / self.totals[u];
                        for (x, weight) in rows.entries(u).rev().take_while(|&(x, _)| x > v) {
                            add(sums, &mut touched, coarse[x], share * weight);
                        }
                    }
                    NONE => {}
                    group => {
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
                return Err(joined);
            }
        }
        Ok(upper)
    }

    fn approximate(&mut self, limits: Limits) -> Result<Reduced, usize> {
        self.groups.fill(NONE);
        let weights = &self.rows.weights;
        let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
        let mut floor = FLOOR.0 * mean;
        loop {
            let joined = approximate::eliminate(self.rows, self.keep, floor, limits.budget);
            // Once nothing new is large enough nothing is held, so this ends.
            let Ok(mut joined) = joined else {
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
    /// Both triangles.
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
        // What lies below the diagonal comes from earlier rows, in their order.
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
