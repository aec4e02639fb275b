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
#[derive(Debug, Default)]
pub(super) struct Reduced {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub weights: Vec<f64>,
    pub fill_dropped: usize,
}

/// Reduces graphs; keeps its buffers for the next one.
#[derive(Debug, Default)]
pub(super) struct Kron {
    /// Each kept vertex's number in the coarse graph.
    pub coarse: Vec<u32>,
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
    dropped: Vec<u32>,
    front: Vec<f64>,
    sums: Vec<f64>,
    touched: Vec<u32>,
    groups_here: Vec<u32>,
    /// The coarse graph's rows above the diagonal.
    upper: Vec<(u32, f64)>,
    upper_starts: Vec<usize>,
}

impl Kron {
    /// Eliminates the vertices not in `keep`. `Err` holds the pairs found to be
    /// needed when that is more than the budget.
    pub fn reduce(&mut self, rows: &Rows, keep: &[bool], limits: Limits) -> Result<Reduced, usize> {
        self.number(keep);
        let exact =
            self.eliminate(rows, keep, limits.budget).and_then(|()| self.gather(rows, keep, &[], limits));
        let mut reduced = match exact {
            Err(_) if limits.approximate => return self.approximate(rows, keep, limits),
            other => other.map(|()| Reduced::default())?,
        };
        self.mirror(&mut reduced);
        Ok(reduced)
    }

    fn number(&mut self, keep: &[bool]) {
        self.coarse.clear();
        let mut next = 0;
        self.coarse.extend(keep.iter().map(|&kept| {
            let number = if kept { next } else { NONE };
            next += u32::from(kept);
            number
        }));
    }

    /// Finds the groups of dropped vertices and eliminates those of more than one.
    fn eliminate(&mut self, rows: &Rows, keep: &[bool], budget: usize) -> Result<(), usize> {
        let n = rows.len();
        self.groups.clear();
        self.groups.resize(n, NONE);
        self.totals.clear();
        self.totals.resize(n, 0.0);
        self.position.clear();
        self.position.resize(n, NONE);
        self.members.clear();
        self.passed.clear();
        self.values.clear();
        for starts in [&mut self.member_starts, &mut self.value_starts] {
            starts.clear();
            starts.push(0);
        }
        for v in 0..n {
            if keep[v] || self.groups[v] != NONE {
                continue;
            }
            let (columns, weights) = rows.row(v);
            if columns.iter().all(|&u| keep[u as usize]) {
                self.groups[v] = SINGLE;
                self.totals[v] = weights.iter().sum();
            } else {
                self.eliminate_group(rows, keep, v, budget)?;
            }
        }
        Ok(())
    }

    fn eliminate_group(
        &mut self,
        rows: &Rows,
        keep: &[bool],
        root: usize,
        budget: usize,
    ) -> Result<(), usize> {
        let id = self.passed.len() as u32;
        let Self { groups, members, member_starts, values, value_starts, position, dropped, front, .. } =
            self;
        let first = members.len();
        dropped.clear();
        dropped.push(root as u32);
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
            front.clear();
            front.resize(pairs(m), 0.0);
            for (at, &v) in dropped.iter().enumerate() {
                let row = row_start(m, at);
                for (u, weight) in rows.entries(v as usize) {
                    if let Some(k) = (position[u] as usize).checked_sub(at + 1) {
                        front[row + k] = weight;
                    }
                }
            }
            front::eliminate(front, m, dropped.len());
            values.extend_from_slice(&front[row_start(m, dropped.len())..]);
        } else {
            let left = budget - values.len();
            let held = values.len();
            multifrontal::eliminate(rows, dropped, members.len(), position, left, values)
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
    fn gather(
        &mut self,
        rows: &Rows,
        keep: &[bool],
        mut extra: &[(u32, u32, f64)],
        limits: Limits,
    ) -> Result<(), usize> {
        let Self { coarse, groups, sums, touched, groups_here, upper, upper_starts, .. } = self;
        sums.clear();
        sums.resize(coarse.iter().rev().find(|&&c| c != NONE).map_or(0, |&last| last as usize + 1), 0.0);
        upper.clear();
        upper_starts.clear();
        upper_starts.push(0);
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
                        add(sums, touched, coarse[u], weight);
                    }
                    continue;
                }
                match groups[u] {
                    SINGLE => {
                        let share = weight / self.totals[u];
                        for (x, weight) in rows.entries(u).rev().take_while(|&(x, _)| x > v) {
                            add(sums, touched, coarse[x], share * weight);
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
            for &group in groups_here.iter() {
                let group = group as usize;
                let members = &self.members[self.member_starts[group]..self.member_starts[group + 1]];
                let at = self.passed[group].0 as usize;
                self.passed[group].0 += 1;
                let row = self.value_starts[group] + row_start(members.len(), at);
                let weights = &self.values[row..];
                for (&member, &weight) in members[at + 1..].iter().zip(weights) {
                    add(sums, touched, member, weight);
                }
            }
            while let Some((&(from, to, weight), later)) = extra.split_first() {
                if from as usize != v {
                    break;
                }
                add(sums, touched, coarse[to as usize], weight);
                extra = later;
            }
            touched.sort_unstable();
            for &at in touched.iter() {
                let weight = std::mem::take(&mut sums[at as usize]);
                if weight >= limits.delta {
                    upper.push((at, weight));
                }
            }
            joined += touched.len();
            touched.clear();
            upper_starts.push(upper.len());
            if joined > limits.budget {
                return Err(joined);
            }
        }
        Ok(())
    }

    /// Both triangles from the upper one.
    fn mirror(&mut self, reduced: &mut Reduced) {
        let Self { upper, upper_starts, .. } = self;
        let n = upper_starts.len() - 1;
        let starts = &mut reduced.starts;
        starts.resize(n + 1, 0);
        for (row, range) in upper_starts.windows(2).enumerate() {
            starts[row + 1] += range[1] - range[0];
            upper[range[0]..range[1]].iter().for_each(|&(column, _)| starts[column as usize + 1] += 1);
        }
        (0..n).for_each(|v| starts[v + 1] += starts[v]);
        reduced.columns.resize(starts[n], 0);
        reduced.weights.resize(starts[n], 0.0);
        // What lies below the diagonal comes from earlier rows, in their order.
        let mut next = starts[..n].to_vec();
        for (row, range) in upper_starts.windows(2).enumerate() {
            let own = next[row]..next[row] + range[1] - range[0];
            let entries = &upper[range[0]..range[1]];
            for ((column, weight), at) in entries.iter().zip(own) {
                (reduced.columns[at], reduced.weights[at]) = (*column, *weight);
                let below = &mut next[*column as usize];
                (reduced.columns[*below], reduced.weights[*below]) = (row as u32, *weight);
                *below += 1;
            }
        }
    }

    fn approximate(&mut self, rows: &Rows, keep: &[bool], limits: Limits) -> Result<Reduced, usize> {
        self.groups.fill(NONE);
        let mean = rows.weights.iter().sum::<f64>() / rows.weights.len().max(1) as f64;
        let mut floor = FLOOR.0 * mean;
        loop {
            let joined = approximate::eliminate(rows, keep, floor, limits.budget);
            // Once nothing new is large enough nothing is held, so this ends.
            let Ok(mut joined) = joined else {
                floor *= FLOOR.1;
                continue;
            };
            joined.pairs.sort_by_key(|&(from, to, _)| (from, to));
            self.gather(rows, keep, &joined.pairs, Limits { budget: usize::MAX, ..limits })?;
            let mut reduced = Reduced { fill_dropped: joined.dropped, ..Reduced::default() };
            self.mirror(&mut reduced);
            return Ok(reduced);
        }
    }
}
