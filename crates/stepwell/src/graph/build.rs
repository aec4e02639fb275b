//! Turns a list of edges into sorted rows, by the edge rules of the parent module.

use super::{Attributes, Graph, GraphBatch, SparseRows, Table, Widths};
use crate::error::{Error, Result, same_length};
use crate::memory;

/// Relative difference up to which the weights of the two directions count as equal:
/// sums of the same repeats in another order may differ in their last digits.
pub(super) const SAME_WEIGHT: f64 = 1e-12;

/// A graph as a user writes it: a number of vertices and a list of edges. The
/// [module](crate::graph) defines the treatment of repeats, both directions, self loops
/// and weights of 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeList<'a> {
    /// Number of vertices, with or without edges.
    pub num_vertices: usize,
    /// The source of each edge, from 0. Convert wider numbers with `u32::try_from`:
    /// `as` would turn a number that does not fit into another vertex.
    pub sources: &'a [u32],
    /// The target of each edge.
    pub targets: &'a [u32],
    /// Each edge's weight. `None` gives every edge weight 1.
    pub weights: Option<&'a [f64]>,
    /// Each edge's labels, and the number of labels per edge.
    pub edge_labels: Option<(&'a [i32], usize)>,
    /// Each edge's attributes, and the number of attributes per edge.
    pub edge_attributes: Option<(&'a [f64], usize)>,
    /// Each vertex's labels, and the number of labels per vertex.
    pub vertex_labels: Option<(&'a [i32], usize)>,
    /// Each vertex's attributes, and the number of attributes per vertex.
    pub vertex_attributes: Option<(&'a [f64], usize)>,
    /// Each vertex's attributes in place of `vertex_attributes`, if most of them are 0.
    pub sparse_attributes: Option<&'a SparseRows>,
    /// Whether edges have a direction.
    pub directed: bool,
}

impl<'a> EdgeList<'a> {
    /// An undirected, unweighted graph without labels or attributes.
    pub fn new(num_vertices: usize, sources: &'a [u32], targets: &'a [u32]) -> Self {
        Self { num_vertices, sources, targets, ..Self::default() }
    }

    /// The bytes it takes in a batch, including the memory to sort it.
    fn bytes(&self) -> u64 {
        fn width<T>(table: Option<(&[T], usize)>) -> u64 {
            table.map_or(0, |(_, width)| (width * size_of::<T>()) as u64)
        }
        let carries = self.weights.is_some() || self.edge_labels.is_some() || self.edge_attributes.is_some();
        let sorted = if carries { 2 * size_of::<(u32, Listed)>() + 12 } else { 2 * size_of::<u32>() + 4 };
        let entry = sorted as u64 + width(self.edge_labels) + width(self.edge_attributes);
        let entries = self.sources.len() as u64 * if self.directed { 1 } else { 2 };
        let vertex = 16 + width(self.vertex_labels) + width(self.vertex_attributes);
        let all = |count: u64, each: u64| count.saturating_mul(each);
        let sparse = self.sparse_attributes.map_or(0, |rows| 8 * rows.len() + 12 * rows.num_entries());
        all(entries, entry)
            .saturating_add(all(self.num_vertices as u64, vertex))
            .saturating_add(sparse as u64)
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
        same_length("edge targets", edges, self.targets.len())?;
        if let Some(weights) = self.weights {
            same_length("edge weights", edges, weights.len())?;
            let bad = |w: &f64| !(w.is_finite() && *w >= 0.0);
            if let Some(edge) = weights.iter().position(bad) {
                return Err(Error::BadWeight { edge, weight: weights[edge] });
            }
        }
        check_rows("edge labels", self.edge_labels, edges)?;
        check_rows("vertex labels", self.vertex_labels, vertices)?;
        check_rows("edge attributes", self.edge_attributes, edges)?;
        check_rows("vertex attributes", self.vertex_attributes, vertices)?;
        if let Some(rows) = self.sparse_attributes {
            if self.vertex_attributes.is_some() {
                let (expected, found) = ("either dense or sparse attributes".into(), "both".into());
                return Err(Error::BadOption { name: "vertex attributes", expected, found });
            }
            same_length("rows of vertex attributes", vertices, rows.len())?;
        }
        check_finite("edge", self.edge_attributes)?;
        check_finite("vertex", self.vertex_attributes)?;
        let highest = |ends: &[u32]| ends.iter().copied().max().map_or(0, |vertex| vertex as usize + 1);
        if highest(self.sources).max(highest(self.targets)) > vertices {
            let outside = |&(_, (s, t)): &(usize, (&u32, &u32))| *s.max(t) as usize >= vertices;
            if let Some((edge, (s, t))) = self.sources.iter().zip(self.targets).enumerate().find(outside) {
                let vertex = u64::from(*s.max(t));
                return Err(Error::VertexOutOfRange { edge, vertex, num_vertices: vertices });
            }
        }
        Ok(())
    }
}

fn check_rows<T>(what: &'static str, table: Option<(&[T], usize)>, rows: usize) -> Result<()> {
    let Some((values, width)) = table else { return Ok(()) };
    let limit = usize::MAX as u64;
    let expected = rows.checked_mul(width).ok_or(Error::TooLarge { what, limit, found: u64::MAX })?;
    same_length(what, expected, values.len())
}

fn check_finite(item: &'static str, attributes: Option<(&[f64], usize)>) -> Result<()> {
    let Some((values, width)) = attributes else { return Ok(()) };
    match values.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(Error::BadValue { what: "attribute", item, index: at / width, value: values[at] }),
        None => Ok(()),
    }
}

impl Graph {
    /// A graph from the stored rows of its adjacency matrix: ascending columns, every
    /// entry positive and, unless directed, equal in both directions. Does not check
    /// the rows, except that weights are finite.
    pub(crate) fn from_rows(
        row_offsets: Vec<usize>,
        neighbours: Vec<u32>,
        weights: Vec<f64>,
        directed: bool,
    ) -> Result<Self> {
        if let Some(edge) = weights.iter().position(|weight| !weight.is_finite()) {
            return Err(Error::BadWeight { edge, weight: weights[edge] });
        }
        let batch = GraphBatch {
            directed: vec![directed],
            vertex_offsets: vec![0, row_offsets.len().saturating_sub(1)],
            row_offsets,
            neighbours,
            weights: Some(weights),
            vertex_labels: None,
            vertex_attributes: None,
            edge_labels: None,
            edge_attributes: None,
        };
        debug_assert!(directed || is_symmetric(&batch), "rows must be sorted, positive and symmetric");
        Ok(Self(batch))
    }
}

fn is_symmetric(batch: &GraphBatch) -> bool {
    let graph = batch.graph(0);
    let weight = |row: usize, column: usize| {
        let at = graph.neighbours(row).binary_search(&(column as u32)).ok()?;
        graph.weights_of(row).map(|weights| weights[at])
    };
    (0..graph.num_vertices()).all(|v| graph.neighbours(v).is_sorted_by(|a, b| a < b))
        && graph.entries().all(|(i, j, w)| j < graph.num_vertices() && w > 0.0 && weight(j, i) == Some(w))
}

/// The reference from an entry to its original edge.
trait Origin: Copy + Default {
    fn new(edge: usize, backward: bool) -> Self;
}

/// Nothing: sufficient if all repeats of an edge are equal.
impl Origin for () {
    fn new(_: usize, _: bool) -> Self {}
}

/// Its position in the list, shifted left. The low bit marks the reverse direction.
#[derive(Clone, Copy, Debug, Default)]
struct Listed(u32);

impl Origin for Listed {
    fn new(edge: usize, backward: bool) -> Self {
        Self((edge as u32) << 1 | u32::from(backward))
    }
}

impl Listed {
    fn edge(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn backward(self) -> bool {
        self.0 & 1 == 1
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
    plain: Sorter<()>,
    detailed: Sorter<Listed>,
}

impl BatchBuilder {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.batch.len()
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// Number of vertices of all graphs.
    pub fn num_vertices(&self) -> usize {
        self.batch.num_vertices()
    }

    /// The batch of all graphs pushed so far.
    pub fn finish(self) -> GraphBatch {
        self.batch
    }

    /// Returns the graphs collected so far and starts over.
    pub fn take(&mut self) -> GraphBatch {
        std::mem::take(&mut self.batch)
    }

    /// Checks a graph and adds it. After an error the builder is unchanged.
    pub fn push(&mut self, edges: &EdgeList<'_>) -> Result<()> {
        edges.validate()?;
        memory::ask("the graph", edges.bytes())?;
        self.check_alike(edges)?;
        let carries =
            edges.weights.is_some() || edges.edge_labels.is_some() || edges.edge_attributes.is_some();
        if carries {
            self.detailed.sort(edges);
            check_repeats(edges, &self.detailed)?;
            if let Some(weights) = edges.weights {
                check_symmetry(weights, &self.detailed)?;
                self.batch.require_weights();
            }
            self.store_detailed(edges);
        } else if self.is_stored_form(edges.sources, edges.targets, edges) {
            self.store_as_listed(edges.sources, edges.targets, edges.num_vertices);
        } else if !edges.directed && self.is_stored_form(edges.targets, edges.sources, edges) {
            self.store_as_listed(edges.targets, edges.sources, edges.num_vertices);
        } else {
            self.plain.sort(edges);
            self.store_plain();
        }
        let batch = &mut self.batch;
        batch.directed.push(edges.directed);
        batch.vertex_offsets.push(batch.row_offsets.len() - 1);
        if let (Some(mine), Some((values, _))) = (&mut batch.vertex_labels, edges.vertex_labels) {
            mine.values.extend_from_slice(values);
        }
        match (&mut batch.vertex_attributes, edges.vertex_attributes, edges.sparse_attributes) {
            (Some(mine), Some((values, _)), _) => mine.extend_dense(values),
            (Some(mine), None, Some(rows)) => mine.extend(&rows.clone().into(), 0..rows.len()),
            _ => {}
        }
        Ok(())
    }

    fn check_alike(&mut self, edges: &EdgeList<'_>) -> Result<()> {
        // A table of width 0 counts as absent.
        fn width<T>(table: Option<(&[T], usize)>) -> Option<usize> {
            table.map(|(_, width)| width).filter(|&width| width > 0)
        }
        let batch = &mut self.batch;
        // So does a table without vertices: a graph without vertices fits any batch.
        if edges.num_vertices == 0 && !batch.is_empty() {
            return Ok(());
        }
        let sparse = edges.sparse_attributes.map(SparseRows::width).filter(|&width| width > 0);
        let widths = Widths {
            of_vertices: [width(edges.vertex_labels), width(edges.vertex_attributes).or(sparse)],
            of_edges: [width(edges.edge_labels), width(edges.edge_attributes)],
            any_edges: !edges.sources.is_empty(),
        };
        let first = batch.num_vertices() == 0;
        if first {
            batch.vertex_labels = widths.of_vertices[0].map(Table::empty);
            batch.vertex_attributes = widths.of_vertices[1].map(|width| match sparse {
                Some(width) => SparseRows::empty(width).into(),
                None => Attributes::empty(width).into(),
            });
        }
        if first || (batch.neighbours.is_empty() && widths.any_edges) {
            batch.edge_labels = widths.of_edges[0].map(Table::empty);
            batch.edge_attributes = widths.of_edges[1].map(Table::empty);
        }
        batch.widths().check(widths)
    }

    /// Whether the edges are listed exactly as they would be stored: sorted by row and
    /// column, without repeats, and in both directions if undirected. Most files are.
    fn is_stored_form(&mut self, rows: &[u32], columns: &[u32], edges: &EdgeList<'_>) -> bool {
        let ascends = |at: usize| (rows[at - 1], columns[at - 1]) < (rows[at], columns[at]);
        if !(1..rows.len()).all(ascends) {
            return false;
        }
        if edges.directed {
            return true;
        }
        // Iterating over the rows in order must visit every row's columns in order.
        let next = &mut self.plain.next;
        next.clear();
        next.resize(edges.num_vertices, 0);
        rows.iter().for_each(|&row| next[row as usize] += 1);
        starts(next);
        rows.iter().zip(columns).all(|(&row, &column)| {
            let slot = &mut next[column as usize];
            let at = *slot as usize;
            *slot += 1;
            at < rows.len() && (rows[at], columns[at]) == (column, row)
        })
    }

    fn store_as_listed(&mut self, rows: &[u32], columns: &[u32], num_vertices: usize) {
        let batch = &mut self.batch;
        let (mut end, before) = (batch.neighbours.len(), batch.row_offsets.len());
        batch.row_offsets.resize(before + num_vertices, 0);
        rows.iter().for_each(|&row| batch.row_offsets[before + row as usize] += 1);
        for offset in &mut batch.row_offsets[before..] {
            end += *offset;
            *offset = end;
        }
        batch.neighbours.extend_from_slice(columns);
        if let Some(weights) = &mut batch.weights {
            weights.resize(batch.neighbours.len(), 1.0);
        }
    }

    fn store_plain(&mut self) {
        let Self { batch, plain, .. } = self;
        for row in plain.rows() {
            let before = batch.neighbours.len();
            batch.neighbours.extend(row.iter().map(|&(column, ())| column));
            let mut kept = before;
            for at in before..batch.neighbours.len() {
                // Sorted, so that repeats are adjacent.
                let column = batch.neighbours[at];
                if kept == before || batch.neighbours[kept - 1] != column {
                    batch.neighbours[kept] = column;
                    kept += 1;
                }
            }
            batch.neighbours.truncate(kept);
            batch.row_offsets.push(kept);
        }
        if let Some(weights) = &mut batch.weights {
            weights.resize(batch.neighbours.len(), 1.0);
        }
    }

    fn store_detailed(&mut self, edges: &EdgeList<'_>) {
        let Self { batch, detailed, .. } = self;
        for row in detailed.rows() {
            for repeats in row.chunk_by(|a, b| a.0 == b.0) {
                // Use the direction that was listed; otherwise its mirror image.
                let (column, first) = *repeats.iter().find(|(_, e)| !e.backward()).unwrap_or(&repeats[0]);
                batch.neighbours.push(column);
                if let Some(stored) = &mut batch.weights {
                    stored.push(edges.weights.map_or(1.0, |w| one_direction(repeats, first.backward(), w)));
                }
                if let (Some(stored), Some(labels)) = (&mut batch.edge_labels, edges.edge_labels) {
                    stored.values.extend_from_slice(row_of(labels, first.edge()));
                }
                if let (Some(stored), Some(attributes)) = (&mut batch.edge_attributes, edges.edge_attributes)
                {
                    stored.values.extend_from_slice(row_of(attributes, first.edge()));
                }
            }
            batch.row_offsets.push(batch.neighbours.len());
        }
    }
}

fn row_of<T>((values, width): (&[T], usize), row: usize) -> &[T] {
    &values[row * width..(row + 1) * width]
}

/// An edge listed repeatedly, or in both directions of an undirected graph, must carry
/// the same labels and attributes each time.
fn check_repeats(edges: &EdgeList<'_>, sorter: &Sorter<Listed>) -> Result<()> {
    if edges.edge_labels.is_none() && edges.edge_attributes.is_none() {
        return Ok(());
    }
    for entries in sorter.rows() {
        for repeats in entries.chunk_by(|a, b| a.0 == b.0) {
            let first = repeats[0].1.edge();
            for (_, other) in &repeats[1..] {
                let other = other.edge();
                let same_labels =
                    edges.edge_labels.is_none_or(|labels| row_of(labels, first) == row_of(labels, other));
                let same = same_labels
                    && edges.edge_attributes.is_none_or(|all| row_of(all, first) == row_of(all, other));
                if !same {
                    return Err(Error::EdgesDiffer {
                        opposite: edges.sources[first] != edges.sources[other],
                        what: if same_labels { "attributes" } else { "labels" },
                        source_vertex: edges.sources[first],
                        target_vertex: edges.targets[first],
                        first: first.min(other),
                        second: first.max(other),
                    });
                }
            }
        }
    }
    Ok(())
}

/// Sorts both directions of all edges by row, then column, then position in the list,
/// with two counting sorts, the second of which is stable.
#[derive(Debug, Default)]
struct Sorter<O> {
    /// Where each bucket's next entry goes; in the end, where each row ends.
    next: Vec<u32>,
    /// Rows and origins, by column.
    by_column: Vec<(u32, O)>,
    /// Columns and origins, by row.
    by_row: Vec<(u32, O)>,
    column_ends: Vec<u32>,
}

impl<O: Origin> Sorter<O> {
    fn sort(&mut self, edges: &EdgeList<'_>) {
        let Self { next, by_column, by_row, column_ends } = self;
        // Rows, columns and whether they are reversed; undirected edges appear in both
        // directions.
        let both = [(edges.sources, edges.targets, false), (edges.targets, edges.sources, true)];
        let passes = if edges.directed { &both[..1] } else { &both };
        let skipped = |edge: usize| edges.weights.is_some_and(|weights| weights[edge] == 0.0);
        let count = |next: &mut Vec<u32>, of_columns: bool| {
            next.clear();
            next.resize(edges.num_vertices, 0);
            for &(rows, columns, backward) in passes {
                for (edge, (&row, &column)) in rows.iter().zip(columns).enumerate() {
                    let counts = !(skipped(edge) || (backward && row == column));
                    let bucket = if of_columns { column } else { row };
                    next[bucket as usize] += u32::from(counts);
                }
            }
            starts(next)
        };
        let total = count(next, true);
        by_column.clear();
        by_column.resize(total, Default::default());
        for &(rows, columns, backward) in passes {
            for (edge, (&row, &column)) in rows.iter().zip(columns).enumerate() {
                if !(skipped(edge) || (backward && row == column)) {
                    let slot = &mut next[column as usize];
                    by_column[*slot as usize] = (row, O::new(edge, backward));
                    *slot += 1;
                }
            }
        }
        std::mem::swap(next, column_ends);
        count(next, false);
        by_row.clear();
        by_row.resize(total, Default::default());
        let mut begin = 0;
        for (column, &end) in column_ends.iter().enumerate() {
            for &(row, origin) in &by_column[begin..end as usize] {
                let slot = &mut next[row as usize];
                by_row[*slot as usize] = (column as u32, origin);
                *slot += 1;
            }
            begin = end as usize;
        }
    }

    /// The sorted rows.
    fn rows(&self) -> impl Iterator<Item = &[(u32, O)]> {
        let mut begin = 0;
        self.next.iter().map(move |&end| {
            let row = &self.by_row[begin..end as usize];
            begin = end as usize;
            row
        })
    }
}

/// Turns the sizes of buckets into their starts. Returns the sum of the sizes.
fn starts(sizes: &mut [u32]) -> usize {
    let mut total = 0;
    for slot in sizes {
        (*slot, total) = (total, total + *slot);
    }
    total as usize
}

fn one_direction(repeats: &[(u32, Listed)], backward: bool, weights: &[f64]) -> f64 {
    repeats.iter().filter(|(_, e)| e.backward() == backward).map(|(_, e)| weights[e.edge()]).sum()
}

/// If both directions of an undirected edge are listed, they must have the same weight.
fn check_symmetry(weights: &[f64], sorter: &Sorter<Listed>) -> Result<()> {
    for (row, entries) in sorter.rows().enumerate() {
        let mut degree = 0.0;
        for repeats in entries.chunk_by(|a, b| a.0 == b.0) {
            let forward = one_direction(repeats, false, weights);
            let backward = one_direction(repeats, true, weights);
            degree += forward.max(backward);
            if !(forward + backward).is_finite() || !degree.is_finite() {
                let weight = weights[repeats[0].1.edge()];
                return Err(Error::WeightsOverflow { vertex: row, weight });
            }
            let differ = (forward - backward).abs() > SAME_WEIGHT * forward.max(backward);
            if forward > 0.0 && backward > 0.0 && differ {
                return Err(Error::AsymmetricWeight {
                    source_vertex: row as u32,
                    target_vertex: repeats[0].0,
                    forward,
                    backward,
                });
            }
        }
    }
    Ok(())
}
