//! The memory layout of prepared graphs, as an [`Engine`](super::Engine) reads it.

use super::prepared::{Part, Parts, Prepared};
use crate::kernel::Rows;

/// Consecutive graphs of a batch, in single precision.
#[derive(Clone, Copy)]
pub struct Piece<'a>(&'a Part<f32>);

/// The matrix of one graph on one level: `Ã`, `A`, or a quotient of either.
///
/// Columns stay within the graph, and no row reads another row of its colour.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Row r has the entries `row_starts[r]..row_starts[r + 1]` of the lists below, which cover all
    /// graphs of the piece.
    pub row_starts: &'a [usize],
    /// Row numbers within this graph.
    pub columns: &'a [u32],
    /// The gate line of each entry; empty if edges have no labels and attributes.
    pub lines: &'a [u32],
    /// The values of the entries.
    pub values: &'a [f32],
    /// The number of vertices each row stands for; empty if it is 1 for all rows.
    pub sizes: &'a [u32],
    /// Where the rows of each colour begin, followed by the number of rows.
    pub colour_starts: &'a [usize],
}

impl<'a> From<Rows<'a, f32>> for Matrix<'a> {
    fn from(rows: Rows<'a, f32>) -> Self {
        let Rows { row_starts, columns, lines, values, sizes, colour_starts } = rows;
        Self { row_starts, columns, lines, values, sizes, colour_starts }
    }
}

/// The entries that the rows of one graph gather from the level below.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// Row r has the entries `starts[r]..starts[r + 1]` of the lists below, which cover all graphs
    /// of the piece.
    pub starts: &'a [usize],
    /// Rows of the level below, numbered within the graph.
    pub from: &'a [u32],
    /// The factors of their states.
    pub values: &'a [f32],
    /// Whether to take the maximum instead of the sum.
    pub by_max: bool,
}

/// The inputs of the rows of one graph.
#[derive(Clone, Copy, Debug)]
pub struct Driven<'a> {
    /// Dense columns, stored by row.
    pub dense: &'a [f32],
    /// Number of dense columns.
    pub dense_width: usize,
    /// The one-hot columns of each row, counted from the first one-hot column. An unknown label has
    /// the number of one-hot columns instead.
    pub one_hot: &'a [u32],
    /// Number of one-hot columns per row.
    pub labels: usize,
}

/// The data from which the gate lines of one graph are computed, if edges have attributes.
#[derive(Clone, Copy, Debug)]
pub struct Attributed<'a> {
    /// The attributes of each line.
    pub attributes: &'a [f32],
    /// The [kind](Prepared::edge_kinds) of each line, whose gate multiplies it; empty if edges have
    /// no labels.
    pub kinds: &'a [u32],
    /// Number of attributes per line.
    pub width: usize,
}

impl Attributed<'_> {
    /// Number of lines.
    pub fn lines(&self) -> usize {
        self.attributes.len() / self.width
    }
}

impl Prepared {
    /// The graphs in order, as pieces. `None` unless they are in single precision.
    pub fn pieces(&self) -> Option<Vec<Piece<'_>>> {
        match &self.parts {
            Parts::F32(parts) => Some(parts.iter().map(Piece).collect()),
            Parts::F64(_) => None,
        }
    }
}

impl std::fmt::Debug for Piece<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Piece {{ graphs: {}, .. }}", self.len())
    }
}

impl<'a> Piece<'a> {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The matrix of a graph on a level.
    pub fn matrix(&self, level: usize, graph: usize) -> Matrix<'a> {
        self.0.levels[level].operator.graph(graph).into()
    }

    /// The number of rows of a graph on a level.
    pub fn rows(&self, level: usize, graph: usize) -> usize {
        let starts = self.0.levels[level].operator.graph_starts();
        starts[graph + 1] - starts[graph]
    }

    /// The entries that the rows of a graph gather from the level below. The level must not be 0.
    pub fn carried(&self, level: usize, graph: usize) -> Carried<'a> {
        let level = &self.0.levels[level];
        let starts = level.operator.graph_starts();
        level.carry.view(starts[graph]..starts[graph + 1])
    }

    /// The inputs of the rows of a graph.
    pub fn driven(&self, graph: usize) -> Driven<'a> {
        let starts = self.0.levels[0].operator.graph_starts();
        let (first, end) = (starts[graph], starts[graph + 1]);
        let inputs = &self.0.inputs;
        let (width, labels) = (inputs.dense_width, inputs.labels);
        let one_hot = if inputs.one_hot.is_empty() { 0 } else { labels };
        Driven {
            dense: &inputs.dense[first * width..end * width],
            dense_width: width,
            one_hot: &inputs.one_hot[first * one_hot..end * one_hot],
            labels: one_hot,
        }
    }

    /// The data of a graph's gates, if edges have attributes.
    pub fn attributed(&self, graph: usize) -> Option<Attributed<'a>> {
        self.0.attributed(graph)
    }
}
