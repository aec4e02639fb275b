//! From a list of edges to sorted rows, under the edge rules.
//!
//! An undirected edge may be listed once or in both directions. Listed
//! repeatedly, an unweighted edge counts once and the weights of a weighted one
//! add up; edges of weight 0 are dropped, self loops are kept. What cannot be
//! meant is an error: weights that are negative or not finite, or that differ
//! between the two directions of an undirected edge.

use super::{Attributes, GraphBatch, same, same_width};
use crate::error::{Error, Result};

/// Relative difference up to which the two directions' weights are the same:
/// sums of the same repeats in another order may differ in the last digits.
const SAME_WEIGHT: f64 = 1e-12;

/// A graph as people write it down: vertices counted, edges listed.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeList<'a> {
    /// How many vertices there are, joined by edges or not.
    pub num_vertices: usize,
    /// Where each edge begins, from 0.
    pub sources: &'a [u32],
    /// Where each edge ends.
    pub targets: &'a [u32],
    /// Each edge's weight; without them every edge has weight 1.
    pub weights: Option<&'a [f64]>,
    /// Each edge's label.
    pub edge_labels: Option<&'a [i32]>,
    /// Each edge's attributes and how many an edge has.
    pub edge_attributes: Option<(&'a [f64], usize)>,
    /// Each vertex's label.
    pub vertex_labels: Option<&'a [i32]>,
    /// Each vertex's attributes and how many a vertex has.
    pub vertex_attributes: Option<(&'a [f64], usize)>,
    /// Whether edges have a direction.
    pub directed: bool,
}

impl<'a> EdgeList<'a> {
    /// An undirected, unweighted graph without labels or attributes.
    pub fn new(num_vertices: usize, sources: &'a [u32], targets: &'a [u32]) -> Self {
        Self { num_vertices, sources, targets, ..Self::default() }
    }

    fn validate(&self) -> Result<()> {
        let edges = self.sources.len();
        let vertices = self.num_vertices;
        if vertices > u32::MAX as usize {
            return Err(Error::TooLarge {
                what: "vertices of a graph",
                limit: u64::from(u32::MAX),
                found: vertices as u64,
            });
        }
        if edges >= u32::MAX as usize / 2 {
            return Err(Error::TooLarge {
                what: "edges of a graph",
                limit: u64::from(u32::MAX / 2),
                found: edges as u64,
            });
        }
        length("edge targets", edges, self.targets.len())?;
        if let Some(weights) = self.weights {
            length("edge weights", edges, weights.len())?;
            let bad = |w: &f64| !(w.is_finite() && *w >= 0.0);
            if let Some(edge) = weights.iter().position(bad) {
                return Err(Error::BadWeight { edge, weight: weights[edge] });
            }
        }
        if let Some(labels) = self.edge_labels {
            length("edge labels", edges, labels.len())?;
        }
        if let Some(labels) = self.vertex_labels {
            length("vertex labels", vertices, labels.len())?;
        }
        check_attributes("attribute", "edge", "edge attributes", self.edge_attributes, edges)?;
        check_attributes("attribute", "vertex", "vertex attributes", self.vertex_attributes, vertices)?;
        for (edge, (&source, &target)) in self.sources.iter().zip(self.targets).enumerate() {
            let vertex = source.max(target);
            if vertex as usize >= vertices {
                return Err(Error::VertexOutOfRange {
                    edge,
                    vertex: u64::from(vertex),
                    num_vertices: vertices,
                });
            }
        }
        Ok(())
    }
}

fn length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    match expected == found {
        true => Ok(()),
        false => Err(Error::Length { what, expected, found }),
    }
}

fn check_attributes(
    what: &'static str,
    item: &'static str,
    plural: &'static str,
    attributes: Option<(&[f64], usize)>,
    rows: usize,
) -> Result<()> {
    let Some((values, width)) = attributes else { return Ok(()) };
    let expected = rows.checked_mul(width).ok_or(Error::TooLarge {
        what: plural,
        limit: usize::MAX as u64,
        found: u64::MAX,
    })?;
    length(plural, expected, values.len())?;
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(Error::BadValue { what, item, index: at / width, value: values[at] }),
        None => Ok(()),
    }
}

/// One listed edge seen from one of its ends.
#[derive(Clone, Copy, Default)]
struct Entry {
    column: u32,
    /// Position in the list, shifted left; the low bit says "seen backwards".
    edge: u32,
}

impl Entry {
    fn edge(self) -> usize {
        (self.edge >> 1) as usize
    }

    fn backward(self) -> bool {
        self.edge & 1 == 1
    }
}

/// Collects graphs into a [`GraphBatch`].
///
/// ```
/// use stepwell::graph::{BatchBuilder, EdgeList};
/// let mut builder = BatchBuilder::default();
/// builder.push(&EdgeList::new(2, &[0], &[1]))?;
/// builder.push(&EdgeList::new(0, &[], &[]))?;
/// let batch = builder.finish();
/// assert_eq!((batch.len(), batch.num_vertices()), (2, 2));
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct BatchBuilder {
    batch: GraphBatch,
    conflicts: usize,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    starts: Vec<u32>,
    by_column: Vec<(u32, Entry)>,
    by_row: Vec<Entry>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.column, self.edge())
    }
}

impl BatchBuilder {
    /// How many graphs it holds.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether it holds no graph.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Vertices of the graphs it holds.
    pub fn num_vertices(&self) -> usize {
        self.batch.num_vertices()
    }

    /// Repeated edges whose labels or attributes differed; the first were kept.
    pub fn conflicting_repeats(&self) -> usize {
        self.conflicts
    }

    /// The batch of all graphs pushed so far.
    pub fn finish(self) -> GraphBatch {
        self.batch
    }

    /// Hands over the graphs collected so far and starts anew.
    pub fn take(&mut self) -> GraphBatch {
        std::mem::take(&mut self.batch)
    }

    /// Checks a graph and adds it. After an error the builder is as before.
    pub fn push(&mut self, edges: &EdgeList<'_>) -> Result<()> {
        edges.validate()?;
        self.check_alike(edges)?;
        self.sort_entries(edges);
        if let Some(weights) = edges.weights {
            check_symmetry(edges, weights, &self.scratch)?;
        }
        if edges.weights.is_some() {
            self.batch.require_weights();
        }
        self.store_rows(edges);
        let batch = &mut self.batch;
        batch.directed.push(edges.directed);
        batch.vertex_offsets.push(batch.row_offsets.len() - 1);
        if let (Some(mine), Some(labels)) = (&mut batch.vertex_labels, edges.vertex_labels) {
            mine.extend_from_slice(labels);
        }
        if let (Some(mine), Some((values, _))) = (&mut batch.vertex_attributes, edges.vertex_attributes) {
            mine.values.extend_from_slice(values);
        }
        Ok(())
    }

    fn check_alike(&mut self, edges: &EdgeList<'_>) -> Result<()> {
        // Attributes of no width say nothing: they are none.
        let width = |a: Option<(&[f64], usize)>| a.map(|(_, width)| width).filter(|&width| width > 0);
        let batch = &mut self.batch;
        if batch.is_empty() {
            let empty = |width| Attributes { width, values: Vec::new() };
            batch.weights = edges.weights.map(|_| Vec::new());
            batch.vertex_labels = edges.vertex_labels.map(|_| Vec::new());
            batch.edge_labels = edges.edge_labels.map(|_| Vec::new());
            batch.vertex_attributes = width(edges.vertex_attributes).map(empty);
            batch.edge_attributes = width(edges.edge_attributes).map(empty);
            return Ok(());
        }
        let stored = |a: &Option<Attributes>| a.as_ref().map(|a| a.width);
        same("vertex labels", batch.vertex_labels.is_some(), edges.vertex_labels.is_some())?;
        same("edge labels", batch.edge_labels.is_some(), edges.edge_labels.is_some())?;
        same_width("vertex attributes", stored(&batch.vertex_attributes), width(edges.vertex_attributes))?;
        same_width("edge attributes", stored(&batch.edge_attributes), width(edges.edge_attributes))?;
        Ok(())
    }

    /// Sorts both directions of all edges by row, then column, then place in
    /// the list: two counting sorts, the later one stable.
    fn sort_entries(&mut self, edges: &EdgeList<'_>) {
        let Scratch { starts, by_column, by_row } = &mut self.scratch;
        let mirrored = !edges.directed;
        let listed = || {
            edges.sources.iter().zip(edges.targets).enumerate().filter_map(|(edge, (&s, &t))| {
                let kept = edges.weights.is_none_or(|w| w[edge] != 0.0);
                kept.then_some((edge as u32, s, t))
            })
        };
        count_starts(starts, edges.num_vertices, |count| {
            for (_, source, target) in listed() {
                count(target);
                if mirrored && source != target {
                    count(source);
                }
            }
        });
        let total = starts[edges.num_vertices] as usize;
        by_column.clear();
        by_column.resize(total, Default::default());
        let mut place = |row: u32, column: u32, edge: u32| {
            let slot = &mut starts[column as usize];
            by_column[*slot as usize] = (row, Entry { column, edge });
            *slot += 1;
        };
        for (edge, source, target) in listed() {
            place(source, target, edge << 1);
            if mirrored && source != target {
                place(target, source, edge << 1 | 1);
            }
        }
        count_starts(starts, edges.num_vertices, |count| {
            by_column.iter().for_each(|&(row, _)| count(row));
        });
        by_row.clear();
        by_row.resize(total, Entry::default());
        for &(row, entry) in by_column.iter() {
            let slot = &mut starts[row as usize];
            by_row[*slot as usize] = entry;
            *slot += 1;
        }
        // Every start has moved to the end of its row; the rows are 0..starts[0], starts[0]..starts[1], …
    }

    fn store_rows(&mut self, edges: &EdgeList<'_>) {
        let Self { batch, conflicts, scratch } = self;
        let mut begin = 0;
        for &end in &scratch.starts[..edges.num_vertices] {
            let row = &scratch.by_row[begin..end as usize];
            for repeats in row.chunk_by(|a, b| a.column == b.column) {
                // The direction as listed speaks for itself; else its mirror image does.
                let first = *repeats.iter().find(|e| !e.backward()).unwrap_or(&repeats[0]);
                batch.neighbours.push(first.column);
                if let Some(stored) = &mut batch.weights {
                    stored.push(edges.weights.map_or(1.0, |w| one_direction(repeats, first.backward(), w)));
                }
                if let (Some(stored), Some(labels)) = (&mut batch.edge_labels, edges.edge_labels) {
                    stored.push(labels[first.edge()]);
                    *conflicts += usize::from(
                        same_direction(repeats, first).any(|e| labels[e.edge()] != labels[first.edge()]),
                    );
                }
                if let (Some(stored), Some((values, width))) =
                    (&mut batch.edge_attributes, edges.edge_attributes)
                {
                    let row = |e: Entry| &values[e.edge() * width..(e.edge() + 1) * width];
                    stored.values.extend_from_slice(row(first));
                    *conflicts += usize::from(same_direction(repeats, first).any(|e| row(e) != row(first)));
                }
            }
            begin = end as usize;
            batch.row_offsets.push(batch.neighbours.len());
        }
    }
}

/// Turns counts into the place where each bucket starts; `starts[buckets]` is the total.
fn count_starts(starts: &mut Vec<u32>, buckets: usize, visit: impl FnOnce(&mut dyn FnMut(u32))) {
    starts.clear();
    starts.resize(buckets + 1, 0);
    visit(&mut |bucket| starts[bucket as usize] += 1);
    let mut total = 0;
    for start in starts.iter_mut() {
        (*start, total) = (total, total + *start);
    }
}

fn same_direction(repeats: &[Entry], like: Entry) -> impl Iterator<Item = Entry> {
    repeats.iter().copied().filter(move |e| e.backward() == like.backward())
}

fn one_direction(repeats: &[Entry], backward: bool, weights: &[f64]) -> f64 {
    repeats.iter().filter(|e| e.backward() == backward).map(|e| weights[e.edge()]).sum()
}

/// Both directions of every undirected edge must weigh the same where both are listed.
fn check_symmetry(edges: &EdgeList<'_>, weights: &[f64], scratch: &Scratch) -> Result<()> {
    let mut begin = 0;
    for (row, &end) in scratch.starts[..edges.num_vertices].iter().enumerate() {
        for repeats in scratch.by_row[begin..end as usize].chunk_by(|a, b| a.column == b.column) {
            let forward = one_direction(repeats, false, weights);
            let backward = one_direction(repeats, true, weights);
            if !(forward + backward).is_finite() {
                return Err(Error::BadWeight { edge: repeats[0].edge(), weight: forward + backward });
            }
            let differ = (forward - backward).abs() > SAME_WEIGHT * forward.max(backward);
            if forward > 0.0 && backward > 0.0 && differ {
                return Err(Error::AsymmetricWeight {
                    source_vertex: row as u32,
                    target_vertex: repeats[0].column,
                    forward,
                    backward,
                });
            }
        }
        begin = end as usize;
    }
    Ok(())
}
