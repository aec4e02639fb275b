//! Graphs, many at a time: the arena that every other module works on.
//!
//! A [`GraphBatch`] holds any number of graphs in a few flat arrays: where each graph's
//! vertices begin, where each vertex's neighbours begin, and the neighbours themselves,
//! numbered from 0 inside their own graph and sorted. A [`GraphRef`] is a view of one
//! graph and cheap to copy; a [`Graph`] is a batch of one. Levels of a pyramid are
//! batches, too.
//!
//! Edges come as an [`EdgeList`]. An undirected edge may be listed once or in both
//! directions. If an edge is listed repeatedly, an unweighted edge counts once, and the
//! weights of a weighted edge add up. Edges of weight 0 are dropped, and self loops are
//! kept. Contradictions are errors: weights that are negative or not finite, or that
//! differ between the two directions of an undirected edge by more than rounding (a
//! relative 1e-12). To add the weights of both directions, list every edge with the
//! smaller end first. An edge that is listed more than once must carry the same labels
//! and attributes each time.
//!
//! An undirected graph is stored with both directions of every edge, so that row `i` of
//! the adjacency matrix `A` always holds the neighbours of `i`. In a directed graph row
//! `i` holds the targets of the edges that leave `i`.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! // A triangle with a tail. Listing an edge once or in both directions is the same.
//! let graph = Graph::new(&EdgeList::new(4, &[0, 1, 2, 2], &[1, 2, 0, 3]))?;
//! let graph = graph.view();
//! assert_eq!(graph.num_edges(), 4);
//! assert_eq!(graph.neighbours(2), [0, 1, 3]);
//! assert!(!graph.components().is_bipartite(0));
//! # Ok::<(), stepwell::Error>(())
//! ```

mod arrays;
mod attributes;
mod build;
mod key;
mod structure;

pub use attributes::{SparseRows, VertexAttributes};
pub use build::{BatchBuilder, EdgeList};
pub use structure::Components;

pub(crate) use arrays::check_offsets;
pub(crate) use key::mixed;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result, same_length};

/// Rows of values, all of one width: labels or attributes of vertices or edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table<T> {
    /// Number of values per row.
    pub width: usize,
    /// The rows, one after the other.
    pub values: Vec<T>,
    /// The names of the columns, if they have names.
    pub names: Option<Arc<[String]>>,
}

/// Attributes: floats.
pub type Attributes = Table<f64>;

/// Categories as integers: one label or several.
pub type Labels = Table<i32>;

impl<T: Copy> Table<T> {
    fn empty(width: usize) -> Self {
        Self { width, values: Vec::new(), names: None }
    }

    fn empty_like(other: &Self) -> Self {
        Self { names: other.names.clone(), ..Self::empty(other.width) }
    }

    fn extend(&mut self, other: &Self, rows: Range<usize>) {
        self.values.extend_from_slice(other.rows(rows));
    }

    /// Number of rows; 0 if rows have no values.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One row.
    pub fn row(&self, index: usize) -> &[T] {
        self.rows(index..index + 1)
    }

    /// Some consecutive rows.
    pub fn rows(&self, range: Range<usize>) -> &[T] {
        &self.values[range.start * self.width..range.end * self.width]
    }
}

/// Many graphs in flat arrays. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct GraphBatch {
    directed: Vec<bool>,
    /// Graph g has the vertices `vertex_offsets[g]..vertex_offsets[g + 1]` of the batch.
    vertex_offsets: Vec<usize>,
    /// Vertex v of the batch has the entries `row_offsets[v]..row_offsets[v + 1]`.
    row_offsets: Vec<usize>,
    neighbours: Vec<u32>,
    weights: Option<Vec<f64>>,
    vertex_labels: Option<Labels>,
    vertex_attributes: Option<VertexAttributes>,
    edge_labels: Option<Labels>,
    edge_attributes: Option<Attributes>,
}

impl Default for GraphBatch {
    fn default() -> Self {
        Self {
            directed: Vec::new(),
            vertex_offsets: vec![0],
            row_offsets: vec![0],
            neighbours: Vec::new(),
            weights: None,
            vertex_labels: None,
            vertex_attributes: None,
            edge_labels: None,
            edge_attributes: None,
        }
    }
}

impl GraphBatch {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.directed.len()
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.directed.is_empty()
    }

    /// Number of vertices of all graphs.
    pub fn num_vertices(&self) -> usize {
        self.row_offsets.len() - 1
    }

    /// Number of stored entries of all adjacency matrices (nnz).
    pub fn num_entries(&self) -> usize {
        self.neighbours.len()
    }

    /// Bytes that all arrays together take.
    pub fn bytes(&self) -> u64 {
        let labels = [&self.vertex_labels, &self.edge_labels].into_iter().flatten();
        let weights = self.weights.as_ref().map_or(0, Vec::len);
        let carried = labels.map(|table| 4 * table.values.len()).sum::<usize>()
            + self.vertex_attributes.as_ref().map_or(0, VertexAttributes::bytes)
            + self.edge_attributes.as_ref().map_or(0, |table| 8 * table.values.len());
        let words = self.vertex_offsets.len() + self.row_offsets.len() + weights;
        (8 * words + 4 * self.neighbours.len() + carried) as u64
    }

    /// A view of one graph.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len), as for a slice.
    pub fn graph(&self, index: usize) -> GraphRef<'_> {
        GraphRef {
            batch: self,
            index,
            first: self.vertex_offsets[index],
            end: self.vertex_offsets[index + 1],
        }
    }

    /// Views of all graphs, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = GraphRef<'_>> {
        (0..self.len()).map(|index| self.graph(index))
    }

    /// Where each graph's vertices begin, followed by the number of vertices.
    pub fn vertex_offsets(&self) -> &[usize] {
        &self.vertex_offsets
    }

    /// Weights of all entries, if edges have weights.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Labels of all vertices, if they have labels.
    pub fn vertex_labels(&self) -> Option<&Labels> {
        self.vertex_labels.as_ref()
    }

    /// Attributes of all vertices, if they have attributes.
    pub fn vertex_attributes(&self) -> Option<&VertexAttributes> {
        self.vertex_attributes.as_ref()
    }

    /// Labels of all entries, if edges have labels.
    pub fn edge_labels(&self) -> Option<&Labels> {
        self.edge_labels.as_ref()
    }

    /// Attributes of all entries, if edges have attributes.
    pub fn edge_attributes(&self) -> Option<&Attributes> {
        self.edge_attributes.as_ref()
    }

    /// Whether any graph is directed.
    pub fn any_directed(&self) -> bool {
        self.directed.contains(&true)
    }

    /// Appends the graphs of `other`.
    ///
    /// If both have vertices, these must have the same kinds of labels and attributes;
    /// if both have edges, so must the edges. If only one has weights, the edges of the
    /// other get weight 1.
    pub fn append(&mut self, other: &GraphBatch) -> Result<()> {
        if other.is_empty() {
            return Ok(());
        }
        if self.is_empty() {
            *self = other.clone();
            return Ok(());
        }
        if self.num_vertices() == 0 {
            self.carry_like(other);
        } else if other.num_vertices() > 0 {
            self.check_alike(other)?;
            if self.neighbours.is_empty() {
                self.edges_carry_like(other);
            }
        }

        if other.weights.is_some() {
            self.require_weights();
        }
        if let Some(weights) = &mut self.weights {
            match &other.weights {
                Some(more) => weights.extend_from_slice(more),
                None => weights.resize(weights.len() + other.neighbours.len(), 1.0),
            }
        }
        self.extend_carried(other, 0..other.num_vertices(), 0..other.neighbours.len());
        if let (Some(mine), Some(theirs)) = (&mut self.vertex_attributes, &other.vertex_attributes)
            && mine.names().is_none()
        {
            mine.set_names(theirs.shared_names().cloned());
        }
        let (vertices, entries) = (self.num_vertices(), self.neighbours.len());
        self.directed.extend_from_slice(&other.directed);
        self.vertex_offsets.extend(other.vertex_offsets[1..].iter().map(|o| o + vertices));
        self.row_offsets.extend(other.row_offsets[1..].iter().map(|o| o + entries));
        self.neighbours.extend_from_slice(&other.neighbours);
        Ok(())
    }

    /// Creates empty tables for the labels and attributes of another batch.
    fn carry_like(&mut self, other: &Self) {
        self.vertex_labels = other.vertex_labels.as_ref().map(Table::empty_like);
        self.vertex_attributes = other.vertex_attributes.as_ref().map(VertexAttributes::empty_like);
        self.edges_carry_like(other);
    }

    fn edges_carry_like(&mut self, other: &Self) {
        self.edge_labels = other.edge_labels.as_ref().map(Table::empty_like);
        self.edge_attributes = other.edge_attributes.as_ref().map(Table::empty_like);
    }

    /// Copies labels and attributes of some vertices and entries of another batch, but
    /// not weights.
    fn extend_carried(&mut self, other: &Self, vertices: Range<usize>, entries: Range<usize>) {
        fn extend<T: Copy>(mine: &mut Option<Table<T>>, theirs: &Option<Table<T>>, rows: Range<usize>) {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                mine.extend(theirs, rows);
            }
        }
        extend(&mut self.vertex_labels, &other.vertex_labels, vertices.clone());
        if let (Some(mine), Some(theirs)) = (&mut self.vertex_attributes, &other.vertex_attributes) {
            mine.extend(theirs, vertices);
        }
        extend(&mut self.edge_labels, &other.edge_labels, entries.clone());
        extend(&mut self.edge_attributes, &other.edge_attributes, entries);
    }

    /// The numbers of label and attribute columns.
    fn widths(&self) -> Widths {
        fn width<T>(table: &Option<Table<T>>) -> Option<usize> {
            table.as_ref().map(|table| table.width)
        }
        Widths {
            of_vertices: [
                width(&self.vertex_labels),
                self.vertex_attributes.as_ref().map(VertexAttributes::width),
            ],
            of_edges: [width(&self.edge_labels), width(&self.edge_attributes)],
            any_edges: !self.neighbours.is_empty(),
        }
    }

    fn check_alike(&self, other: &Self) -> Result<()> {
        self.widths().check(other.widths())?;
        match (self.attribute_names(), other.attribute_names()) {
            (Some(mine), Some(theirs)) if mine != theirs => {
                let (expected, found) = (mine.join(", "), theirs.join(", "));
                Err(Error::Mixed { what: "names of vertex attributes", expected, found })
            }
            _ => Ok(()),
        }
    }

    /// The graphs at `positions`, in that order.
    ///
    /// # Panics
    /// If a position is not below [`len`](Self::len).
    pub fn select(&self, positions: &[usize]) -> GraphBatch {
        let mut chosen =
            GraphBatch { weights: self.weights.as_ref().map(|_| Vec::new()), ..GraphBatch::default() };
        chosen.carry_like(self);
        for &position in positions {
            let graph = self.graph(position);
            let (vertices, entries) = (graph.first..graph.end, graph.entry_range());
            let shift = chosen.neighbours.len();
            let rows = &self.row_offsets[graph.first + 1..=graph.end];
            chosen.directed.push(graph.is_directed());
            chosen.row_offsets.extend(rows.iter().map(|o| o - entries.start + shift));
            chosen.vertex_offsets.push(chosen.row_offsets.len() - 1);
            chosen.neighbours.extend_from_slice(&self.neighbours[entries.clone()]);
            if let (Some(mine), Some(theirs)) = (&mut chosen.weights, &self.weights) {
                mine.extend_from_slice(&theirs[entries.clone()]);
            }
            chosen.extend_carried(self, vertices, entries);
        }
        chosen
    }

    /// The same graphs with these vertex attributes, one row per vertex.
    pub fn with_vertex_attributes(self, attributes: impl Into<VertexAttributes>) -> Result<Self> {
        let attributes = attributes.into();
        attributes.check(self.num_vertices())?;
        Ok(Self { vertex_attributes: Some(attributes), ..self })
    }

    /// The names of the vertex attributes, if they have names.
    pub fn attribute_names(&self) -> Option<&[String]> {
        self.vertex_attributes.as_ref()?.names()
    }

    /// The same graphs with names for the vertex attributes, one per attribute, or none
    /// at all. Models match named columns by name.
    pub fn with_attribute_names(mut self, names: Vec<String>) -> Result<Self> {
        let found = names.len();
        if found == 0 {
            self.vertex_attributes.iter_mut().for_each(|attributes| attributes.set_names(None));
            return Ok(self);
        }
        if let Some(repeated) = (1..found).find(|&at| names[..at].contains(&names[at])) {
            let (expected, found) = ("distinct names".into(), format!("'{}' twice", names[repeated]));
            return Err(Error::BadOption { name: "names of vertex attributes", expected, found });
        }
        let attributes = self.vertex_attributes.get_or_insert_with(|| Attributes::default().into());
        same_length("names of vertex attributes", attributes.width(), found)?;
        attributes.set_names(Some(names.into()));
        Ok(self)
    }

    /// The same graphs with weights, but without labels and attributes of vertices and
    /// edges.
    pub fn bare(self) -> Self {
        Self {
            vertex_labels: None,
            vertex_attributes: None,
            edge_labels: None,
            edge_attributes: None,
            ..self
        }
    }

    /// Tries to reserve room for `times` as many graphs like these.
    pub(crate) fn reserve(&mut self, times: f64) {
        reserve(&mut self.directed, times);
        reserve(&mut self.vertex_offsets, times);
        reserve(&mut self.row_offsets, times);
        reserve(&mut self.neighbours, times);
        if let Some(weights) = &mut self.weights {
            reserve(weights, times);
        }
    }

    /// Keeps the first `graphs` graphs and frees the memory of the others. Drops labels
    /// and attributes.
    pub(crate) fn truncate(&mut self, graphs: usize) {
        let Some(&vertices) = self.vertex_offsets.get(graphs) else { return };
        let entries = self.row_offsets[vertices];
        *self = std::mem::take(self).bare();
        truncate(&mut self.directed, graphs);
        truncate(&mut self.vertex_offsets, graphs + 1);
        truncate(&mut self.row_offsets, vertices + 1);
        truncate(&mut self.neighbours, entries);
        if let Some(weights) = &mut self.weights {
            truncate(weights, entries);
        }
    }

    fn require_weights(&mut self) {
        let entries = self.neighbours.len();
        self.weights.get_or_insert_with(|| vec![1.0; entries]);
    }
}

/// Tries to reserve room for `times` as many items. Failure is not an error yet.
pub(crate) fn reserve<T>(items: &mut Vec<T>, times: f64) {
    let _ = items.try_reserve_exact((items.len() as f64 * times) as usize);
}

/// Keeps the first `count` items and frees the memory of the others.
pub(crate) fn truncate<T>(items: &mut Vec<T>, count: usize) {
    items.truncate(count);
    items.shrink_to_fit();
}

/// The numbers of columns that graphs carry, labels before attributes; `None` if they
/// carry none.
#[derive(Clone, Copy, Debug)]
struct Widths {
    of_vertices: [Option<usize>; 2],
    of_edges: [Option<usize>; 2],
    /// Without edges, the columns of edges do not matter.
    any_edges: bool,
}

impl Widths {
    /// Whether other graphs have the same columns.
    fn check(self, found: Self) -> Result<()> {
        let [vertex_labels, vertex_attributes] = self.of_vertices;
        same_width("vertex labels", vertex_labels, found.of_vertices[0])?;
        same_width("vertex attributes", vertex_attributes, found.of_vertices[1])?;
        if self.any_edges && found.any_edges {
            same_width("edge labels", self.of_edges[0], found.of_edges[0])?;
            same_width("edge attributes", self.of_edges[1], found.of_edges[1])?;
        }
        Ok(())
    }
}

fn same_width(what: &'static str, expected: Option<usize>, found: Option<usize>) -> Result<()> {
    let item = if what.starts_with("edge") { "edge" } else { "vertex" };
    let word = |width: Option<usize>, other: Option<usize>| match (width, other) {
        (Some(1), None) if what.ends_with("labels") => "them".to_string(),
        (Some(width), _) => format!("{width} per {item}"),
        (None, _) => "none".to_string(),
    };
    if expected == found {
        return Ok(());
    }
    Err(Error::Mixed { what, expected: word(expected, found), found: word(found, expected) })
}

/// One graph of a batch.
#[derive(Clone, Copy, Debug)]
pub struct GraphRef<'a> {
    batch: &'a GraphBatch,
    index: usize,
    first: usize,
    end: usize,
}

impl<'a> GraphRef<'a> {
    /// The graph's position in its batch.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of vertices, N.
    pub fn num_vertices(&self) -> usize {
        self.end - self.first
    }

    /// Number of stored entries of the adjacency matrix (nnz): an undirected edge has
    /// two, a self loop one.
    pub fn num_entries(&self) -> usize {
        self.entry_range().len()
    }

    /// The number of edges, M. Undirected edges count once, self loops do not count.
    pub fn num_edges(&self) -> usize {
        let entries = self.num_entries() - self.num_self_loops();
        if self.is_directed() { entries } else { entries / 2 }
    }

    /// The number of self loops.
    pub fn num_self_loops(&self) -> usize {
        (0..self.num_vertices()).filter(|&v| self.neighbours(v).binary_search(&(v as u32)).is_ok()).count()
    }

    /// Whether edges have a direction.
    pub fn is_directed(&self) -> bool {
        self.batch.directed[self.index]
    }

    /// Columns of the entries of row `vertex`, ascending.
    #[inline]
    pub fn neighbours(&self, vertex: usize) -> &'a [u32] {
        &self.batch.neighbours[self.row(vertex)]
    }

    /// Weights of the entries of row `vertex`, if edges have weights.
    #[inline]
    pub fn weights_of(&self, vertex: usize) -> Option<&'a [f64]> {
        self.batch.weights.as_deref().map(|w| &w[self.row(vertex)])
    }

    /// Columns of all entries, by row.
    pub fn all_neighbours(&self) -> &'a [u32] {
        &self.batch.neighbours[self.entry_range()]
    }

    /// Weights of all entries, if edges have weights.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.batch.weights.as_deref().map(|w| &w[self.entry_range()])
    }

    /// Where each row's entries begin, followed by the number of entries.
    pub fn row_starts(&self) -> impl ExactSizeIterator<Item = usize> + 'a {
        let rows = &self.batch.row_offsets[self.first..=self.end];
        let start = rows[0];
        rows.iter().map(move |offset| offset - start)
    }

    /// Where each row's entries begin, relative to the first start, and their columns:
    /// for loops that cannot afford a look-up per row.
    pub(crate) fn rows(&self) -> (&'a [usize], &'a [u32]) {
        (&self.batch.row_offsets[self.first..=self.end], self.all_neighbours())
    }

    /// All entries `(row, column, weight)`, by row, with weight 1 if edges have none.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
        let graph = *self;
        (0..self.num_vertices()).flat_map(move |row| {
            let weights = graph.weights_of(row);
            let columns = graph.neighbours(row).iter().enumerate();
            columns.map(move |(k, &column)| (row, column as usize, weights.map_or(1.0, |w| w[k])))
        })
    }

    /// The vertices' labels as `(values, width)`, if they have labels.
    pub fn vertex_labels(&self) -> Option<(&'a [i32], usize)> {
        let labels = self.batch.vertex_labels.as_ref()?;
        Some((labels.rows(self.first..self.end), labels.width))
    }

    /// The vertices' attributes as `(values, width)`, if they have attributes. Sparse rows are
    /// converted to dense rows.
    pub fn vertex_attributes(&self) -> Option<(Cow<'a, [f64]>, usize)> {
        let attributes = self.batch.vertex_attributes.as_ref()?;
        Some((attributes.rows(self.first..self.end), attributes.width()))
    }

    /// The vertices' attributes, if they are stored as sparse rows.
    pub fn sparse_attributes(&self) -> Option<SparseRows> {
        match self.batch.vertex_attributes.as_ref()? {
            VertexAttributes::Dense(_) => None,
            VertexAttributes::Sparse(rows) => Some(rows.part(self.first..self.end)),
        }
    }

    /// The entries' labels as `(values, width)`, if edges have labels.
    pub fn edge_labels(&self) -> Option<(&'a [i32], usize)> {
        let labels = self.batch.edge_labels.as_ref()?;
        Some((labels.rows(self.entry_range()), labels.width))
    }

    /// The entries' attributes as `(values, width)`, if edges have attributes.
    pub fn edge_attributes(&self) -> Option<(&'a [f64], usize)> {
        let attributes = self.batch.edge_attributes.as_ref()?;
        Some((attributes.rows(self.entry_range()), attributes.width))
    }

    /// An independent copy.
    pub fn to_graph(&self) -> Graph {
        Graph(self.batch.select(&[self.index]))
    }

    #[inline]
    fn row(&self, vertex: usize) -> Range<usize> {
        let rows = &self.batch.row_offsets[self.first..=self.end];
        rows[vertex]..rows[vertex + 1]
    }

    fn entry_range(&self) -> Range<usize> {
        self.batch.row_offsets[self.first]..self.batch.row_offsets[self.end]
    }
}

/// A single graph that owns its data: a batch of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph(GraphBatch);

impl Graph {
    /// Checks a list of edges and builds a graph from it.
    pub fn new(edges: &EdgeList<'_>) -> Result<Self> {
        let mut builder = BatchBuilder::default();
        builder.push(edges)?;
        Ok(Self(builder.finish()))
    }

    /// A view of the graph.
    pub fn view(&self) -> GraphRef<'_> {
        self.0.graph(0)
    }

    /// The batch of one that holds it.
    pub fn as_batch(&self) -> &GraphBatch {
        &self.0
    }

    /// The batch of one that holds it.
    pub fn into_batch(self) -> GraphBatch {
        self.0
    }
}

#[cfg(test)]
mod tests;
