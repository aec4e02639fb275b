//! Prepared graphs as they lie in memory: what an [`Engine`](super::Engine) reads.

use super::prepared::{Part, Parts, Prepared};
use crate::kernel::Rows;

/// Neighbouring graphs of a batch, in single precision.
#[derive(Clone, Copy)]
pub struct Piece<'a>(&'a Part<f32>);

/// The matrix of one graph on one level: `Ã`, `A`, or a quotient of either.
///
/// Columns stay within the graph, and no row reads another row of its colour.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Row r has the entries `row_starts[r]..row_starts[r + 1]` of the lists below, which
    /// are those of all graphs of the piece.
    pub row_starts: &'a [usize],
    /// Rows of this graph, counted from 0.
    pub columns: &'a [u32],
    /// The lines of the entries' gates; empty where edges carry nothing.
    pub lines: &'a [u32],
    /// The entries.
    pub values: &'a [f32],
    /// How many vertices each row stands for; empty where that is 1 for all.
    pub sizes: &'a [u32],
    /// Where each colour's rows begin, with the number of rows at the end.
    pub colour_starts: &'a [usize],
}

impl<'a> From<Rows<'a, f32>> for Matrix<'a> {
    fn from(rows: Rows<'a, f32>) -> Self {
        let Rows { row_starts, columns, lines, values, sizes, colour_starts } = rows;
        Self { row_starts, columns, lines, values, sizes, colour_starts }
    }
}

/// What the rows of one graph gather from those of the level below.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// Row r has the entries `starts[r]..starts[r + 1]` of the lists below, which are
    /// those of all graphs of the piece.
    pub starts: &'a [usize],
    /// Rows of the level below, counted from 0 in the graph.
    pub from: &'a [u32],
    /// What multiplies their states.
    pub values: &'a [f32],
    /// Whether the largest is taken instead of the sum.
    pub by_max: bool,
}

/// What drives the rows of one graph.
#[derive(Clone, Copy, Debug)]
pub struct Driven<'a> {
    /// Dense columns, row after row.
    pub dense: &'a [f32],
    /// How many dense columns there are.
    pub dense_width: usize,
    /// One-hot columns of each row, behind the dense ones; the number of them where a row
    /// has none.
    pub one_hot: &'a [u32],
    /// One-hot columns of each row.
    pub labels: usize,
}

/// What the lines of one graph's gates are made of, where edges have attributes.
#[derive(Clone, Copy, Debug)]
pub struct Attributed<'a> {
    /// The attributes of each line.
    pub attributes: &'a [f32],
    /// The [kind](Prepared::edge_kinds) that multiplies each line; empty where edges have
    /// no labels.
    pub kinds: &'a [u32],
    /// Attributes of a line.
    pub width: usize,
}

impl Attributed<'_> {
    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.attributes.len() / self.width
    }
}

impl Prepared {
    /// The graphs in order, piece by piece, if they are in single precision.
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
    /// How many graphs there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no graph.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The matrix of a graph on a level.
    pub fn matrix(&self, level: usize, graph: usize) -> Matrix<'a> {
        self.0.levels[level].operator.graph(graph).into()
    }

    /// How many rows a graph has on a level.
    pub fn rows(&self, level: usize, graph: usize) -> usize {
        let starts = self.0.levels[level].operator.graph_starts();
        starts[graph + 1] - starts[graph]
    }

    /// What the rows of a graph gather from the level below, which there must be.
    pub fn carried(&self, level: usize, graph: usize) -> Carried<'a> {
        let level = &self.0.levels[level];
        let starts = level.operator.graph_starts();
        level.carry.view(starts[graph]..starts[graph + 1])
    }

    /// What drives the rows of a graph.
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

    /// What gates of a graph's edges are made of, where they have attributes.
    pub fn attributed(&self, graph: usize) -> Option<Attributed<'a>> {
        self.0.attributed(graph)
    }
}
