//! Finds the stable colouring by splitting classes until none splits.
//!
//! The first rounds read every row, because they change nearly every colour. After them
//! many graphs turn out not to be smaller, and the search stops. Later rounds read only
//! what changed: when vertices leave their class, the rows that contain them are
//! updated, and only the owners of those rows may leave next. Rows are compared by a
//! signature, the sum of a 64-bit colour per entry, so that a changed colour costs one
//! addition. Two sums could agree by accident, so no result relies on them: `fold`
//! compares the classes row by row at the end. That is sufficient. Equivalent vertices
//! always have equal sums and are never separated, so the classes are never finer than
//! the coarsest equitable partition; if they are equitable, they are that partition.

use super::Quotient;
use super::columns::{Columns, factor};
use super::fold::Fold;
use crate::graph::GraphRef;

/// A quotient with more than this share of the vertices does not pay. Folding rows
/// costs a fifth of a sweep, and a solution takes about twenty sweeps.
const WORTH_LIFTING: f64 = 0.95;

/// How often, on average, an entry may be updated before refinement gives up. The limit
/// is on work, not on rounds: a long path needs many rounds, but they are short. No
/// graph of the usual benchmarks reaches four.
const MAX_WORK: usize = 8;

/// Number of rounds that read every row. If vertices carry features, these rounds
/// separate nearly all vertices that can be separated.
const FULL_ROUNDS: usize = 3;

/// In graphs with at least this many vertices, a sample of one vertex in [`SAMPLE`] is
/// examined before all are grouped.
const LARGE: usize = 1 << 14;
const SAMPLE: u64 = 64;

/// A value that sums and mixtures of other numbers reach only by accident.
const FIRST_COLOUR: u64 = 0xd1b5_4a32_d192_ed03;

/// 2⁶⁴ divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

const NONE: u32 = u32::MAX;

/// Finds quotients of many graphs with the same buffers.
#[derive(Debug, Default)]
pub struct Refiner {
    /// Each vertex's class, in the order classes were split off.
    class_of: Vec<u32>,
    classes: Vec<Class>,
    /// The sum of the columns' colours over each vertex's row.
    signatures: Vec<u64>,
    /// Signatures of the previous round.
    before: Vec<u64>,
    /// Vertices whose signature changed since their class was last split.
    dirty: Vec<u32>,
    is_dirty: Vec<bool>,
    /// Vertices that changed colour, with the difference of the colours.
    moved: Vec<(u32, u64)>,
    groups: Vec<Group>,
    /// The group of each dirty vertex.
    group_of: Vec<u32>,
    /// Hash table with open addressing, from (class, signature) to the group.
    table: Vec<u32>,
    columns: Columns,
    fold: Fold,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    colour: u64,
    size: u32,
    /// The group that keeps the class if no vertex of it stayed clean.
    heir: u32,
}

/// Dirty vertices of one class with one signature.
#[derive(Clone, Copy, Debug)]
struct Group {
    signature: u64,
    class: u32,
    size: u32,
    /// The class that its vertices move to.
    target: u32,
}

impl Refiner {
    /// The graph's quotient for an operator with the pattern of `A`. `None` if it would
    /// hardly be smaller or takes too long to find.
    ///
    /// `seeds` identify the vertices' input rows: two seeds are equal exactly if the
    /// rows are. `kinds` do the same for labels and attributes of edges. `values` are
    /// the operator's entries, in the order of the graph's: the weights, or
    /// [normalised](GraphRef::normalized_weights) weights.
    ///
    /// # Panics
    /// If there is not one seed per vertex and one value (and kind) per entry.
    pub fn quotient(
        &mut self,
        graph: GraphRef<'_>,
        seeds: &[u64],
        kinds: Option<&[u32]>,
        values: &[f64],
    ) -> Option<Quotient> {
        assert_eq!(values.len(), graph.num_entries(), "one value per entry");
        let limit = (graph.num_vertices() as f64 * WORTH_LIFTING) as usize;
        if limit == 0 {
            return None;
        }
        self.stabilise(graph, seeds, kinds, limit)?;
        Some(self.fold.quotient(graph, kinds, values))
    }

    /// Each vertex's class in the coarsest equitable partition that separates vertices
    /// with different `seeds`, numbered canonically. `None` if refinement takes too
    /// long, or if 64-bit colours agreed by accident.
    ///
    /// # Panics
    /// If there is not one seed per vertex.
    pub fn refine(&mut self, graph: GraphRef<'_>, seeds: &[u64]) -> Option<Vec<u32>> {
        self.stabilise(graph, seeds, None, graph.num_vertices())?;
        Some(self.fold.class_of().to_vec())
    }

    /// Splits classes until none splits, then numbers and proves them. `None` if there
    /// are more than `limit`.
    fn stabilise(
        &mut self,
        graph: GraphRef<'_>,
        seeds: &[u64],
        kinds: Option<&[u32]>,
        limit: usize,
    ) -> Option<()> {
        let n = graph.num_vertices();
        assert_eq!(seeds.len(), n, "one seed per vertex");
        assert!(kinds.is_none_or(|kinds| kinds.len() == graph.num_entries()), "one kind per entry");
        self.columns.read(graph, kinds);
        self.start(graph, seeds, kinds);
        if n >= LARGE && limit < n && self.sample_tells_apart() {
            return None;
        }
        self.split();
        if self.classes.len() > limit {
            return None;
        }
        // The first split used signatures of several full rounds. From here on, a signature is
        // the sum of colours alone, so start from 0 and add every vertex's colour.
        self.signatures.fill(0);
        self.moved.clear();
        self.moved.extend(
            self.class_of.iter().zip(0..).map(|(&class, v)| (v, self.classes[class as usize].colour)),
        );
        let mut work = MAX_WORK.saturating_mul(n.saturating_add(graph.num_entries()));
        while !self.moved.is_empty() && self.classes.len() <= limit {
            work = work.checked_sub(self.spread(graph))?;
            self.split();
        }
        if self.classes.len() > limit {
            return None;
        }
        self.fold.number(&self.class_of, self.classes.iter().map(|class| class.colour))?;
        self.fold.prove(graph, seeds, kinds, &self.columns.in_degrees)
    }

    /// Starts with one class of all vertices, to be split by seed, in-degree, and the
    /// first rounds.
    fn start(&mut self, graph: GraphRef<'_>, seeds: &[u64], kinds: Option<&[u32]>) {
        let n = graph.num_vertices();
        let weights = graph.weights();
        let starts: Vec<usize> = if kinds.is_some() { graph.row_starts().collect() } else { Vec::new() };
        // The factors of a row, if entries have kinds.
        let factors = |v: usize| {
            let kinds = &kinds.unwrap_or_default()[starts[v]..starts[v + 1]];
            let weights = weights.map(|weights| &weights[starts[v]..starts[v + 1]]);
            kinds.iter().enumerate().map(move |(k, &kind)| factor(weights.map(|w| w[k]), Some(kind)))
        };
        self.class_of.clear();
        self.class_of.resize(n, 0);
        self.classes.clear();
        self.classes.extend((n > 0).then_some(Class { colour: FIRST_COLOUR, size: n as u32, heir: NONE }));
        self.signatures.clear();
        self.signatures.extend(seeds.iter().enumerate().map(|(v, &seed)| {
            let row = match graph.weights_of(v) {
                _ if kinds.is_some() => factors(v).fold(0, u64::wrapping_add),
                Some(weights) => weights.iter().fold(0u64, |sum, &w| sum.wrapping_add(factor(Some(w), None))),
                None => graph.neighbours(v).len() as u64,
            };
            mix(seed, row)
        }));
        for (signature, degree) in self.signatures.iter_mut().zip(&self.columns.in_degrees) {
            *signature = mix(*signature, degree.to_bits());
        }
        for _ in 0..FULL_ROUNDS {
            std::mem::swap(&mut self.signatures, &mut self.before);
            let before = &self.before;
            self.signatures.clear();
            self.signatures.extend((0..n).map(|v| {
                let seen = graph.neighbours(v).iter().map(|&u| before[u as usize]);
                let times =
                    |sum: u64, (colour, factor): (u64, u64)| sum.wrapping_add(colour.wrapping_mul(factor));
                let row = match graph.weights_of(v) {
                    _ if kinds.is_some() => seen.zip(factors(v)).fold(0, times),
                    Some(weights) => seen.zip(weights.iter().map(|&w| factor(Some(w), None))).fold(0, times),
                    None => seen.fold(0, u64::wrapping_add),
                };
                mix(before[v], row)
            }));
        }
        self.dirty.clear();
        self.dirty.extend(0..n as u32);
        self.is_dirty.clear();
        self.is_dirty.resize(n, false);
    }

    /// Whether too few vertices of a sample share a signature. Sampling by signature
    /// puts equivalent vertices into the sample together.
    fn sample_tells_apart(&mut self) -> bool {
        self.before.clear();
        self.before.extend(self.signatures.iter().filter(|&&signature| signature % SAMPLE == 0));
        let count = self.before.len();
        self.before.sort_unstable();
        self.before.dedup();
        self.before.len() as f64 > count as f64 * WORTH_LIFTING
    }

    /// Adds the colour changes to the signatures of the rows that contain the moved
    /// vertices, and marks these rows as dirty. Returns the number of entries it
    /// touched.
    fn spread(&mut self, graph: GraphRef<'_>) -> usize {
        let Self { signatures, dirty, is_dirty, moved, columns, .. } = self;
        let mut touched = moved.len();
        dirty.clear();
        let mut touch = |row: u32, change: u64| {
            let row = row as usize;
            signatures[row] = signatures[row].wrapping_add(change);
            if !is_dirty[row] {
                is_dirty[row] = true;
                dirty.push(row as u32);
            }
        };
        for &(vertex, change) in moved.iter() {
            let rows = columns.rows_with(graph, vertex as usize);
            touched += rows.len();
            match columns.factors_of(vertex as usize) {
                Some(factors) => {
                    rows.iter().zip(factors).for_each(|(&row, &f)| touch(row, change.wrapping_mul(f)));
                }
                None => rows.iter().for_each(|&row| touch(row, change)),
            }
        }
        touched
    }

    /// Splits the classes of dirty vertices by signature, and lists the vertices that
    /// moved.
    ///
    /// Clean vertices of a class all have its old signature and keep the class. If
    /// there are none, the largest group keeps it (among equals, the one with the lower
    /// signature). So the fewest vertices move, and the choice does not depend on
    /// vertex numbers.
    fn split(&mut self) {
        self.group();
        let Self { classes, groups, .. } = self;
        for group in groups.iter() {
            classes[group.class as usize].size -= group.size;
        }
        for (index, group) in groups.iter().enumerate() {
            let class = &mut classes[group.class as usize];
            let rank = |g: &Group| (g.size, !g.signature);
            if class.size == 0 && (class.heir == NONE || rank(group) > rank(&groups[class.heir as usize])) {
                class.heir = index as u32;
            }
        }
        for (index, group) in groups.iter_mut().enumerate() {
            let class = &mut classes[group.class as usize];
            if class.heir == index as u32 {
                group.target = group.class;
            } else {
                group.target = classes.len() as u32;
                let colour = mix(classes[group.class as usize].colour, group.signature);
                classes.push(Class { colour, size: group.size, heir: NONE });
            }
        }
        for group in groups.iter().filter(|g| g.target == g.class) {
            let class = &mut classes[group.class as usize];
            (class.size, class.heir) = (group.size, NONE);
        }
        self.moved.clear();
        for (&vertex, &group) in self.dirty.iter().zip(&self.group_of) {
            self.is_dirty[vertex as usize] = false;
            let Some(group) = self.groups.get(group as usize) else { continue };
            if group.target != group.class {
                let colour = |class: u32| self.classes[class as usize].colour;
                self.class_of[vertex as usize] = group.target;
                self.moved.push((vertex, colour(group.target).wrapping_sub(colour(group.class))));
            }
        }
    }

    /// Groups dirty vertices by class and signature. A class of one vertex needs no
    /// group.
    fn group(&mut self) {
        let slots = (2 * self.dirty.len()).next_power_of_two();
        let shift = 64 - slots.trailing_zeros().max(1);
        self.table.clear();
        self.table.resize(slots.max(2), NONE);
        self.groups.clear();
        self.group_of.clear();
        for &vertex in &self.dirty {
            let (class, signature) = (self.class_of[vertex as usize], self.signatures[vertex as usize]);
            if self.classes[class as usize].size == 1 {
                self.group_of.push(NONE);
                continue;
            }
            // Signatures are well mixed already, so the table needs no further hash.
            let mut slot = (signature.wrapping_add(u64::from(class).wrapping_mul(GOLDEN)) >> shift) as usize;
            let group = loop {
                let found = self.table[slot];
                let Some(group) = self.groups.get_mut(found as usize) else {
                    let new = self.groups.len() as u32;
                    self.table[slot] = new;
                    self.groups.push(Group { signature, class, size: 1, target: class });
                    break new;
                };
                if group.signature == signature && group.class == class {
                    group.size += 1;
                    break found;
                }
                slot = (slot + 1) & (self.table.len() - 1);
            };
            self.group_of.push(group);
        }
    }
}

/// Combines two numbers into a colour. For the same `a`, different `b` give different
/// colours.
fn mix(a: u64, b: u64) -> u64 {
    spin(b ^ spin(a.wrapping_add(GOLDEN)))
}

/// A bijection that spreads every bit over all others (from splitmix64).
pub(super) fn spin(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
