//! What can be wrong with input to the library.

use std::fmt;

/// Why a graph, a batch or a matrix was refused.
///
/// Not converging is a result, not an error; see the convergence status of a
/// reservoir's answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An edge names a vertex the graph does not have.
    #[error("edge {edge} joins vertex {vertex}, but the graph has {num_vertices} vertices")]
    VertexOutOfRange {
        /// Position in the list of edges, from 0.
        edge: usize,
        /// The vertex found.
        vertex: u64,
        /// How many vertices there are.
        num_vertices: usize,
    },
    /// An edge weight is negative, infinite or not a number.
    #[error("edge {edge} has weight {weight}; expected a finite number that is not negative")]
    BadWeight {
        /// Position in the list of edges, from 0.
        edge: usize,
        /// The weight found.
        weight: f64,
    },
    /// The weight of a row of training data is negative, infinite or not a number.
    #[error("row {row} has weight {weight}; expected a finite number that is not negative")]
    BadRowWeight {
        /// Which row, from 0.
        row: usize,
        /// The weight found.
        weight: f64,
    },
    /// A graph has a class that is not among those of a model or dataset.
    #[error("row {row} has class {name}, which is not one of the classes")]
    UnknownClass {
        /// Which row, from 0.
        row: usize,
        /// The class found.
        name: String,
    },
    /// Nothing can be learnt of a target.
    #[error("target '{name}': expected {expected}, found {found}")]
    BadTarget {
        /// Its name, or its position from 0.
        name: String,
        /// What it should have.
        expected: String,
        /// What it has.
        found: String,
    },
    /// The weights at a vertex are too large to be added up.
    #[error(
        "the weights of vertex {vertex}'s edges, {weight:e} among them, overflow when added up; scale them down"
    )]
    WeightsOverflow {
        /// The vertex.
        vertex: usize,
        /// One of the weights.
        weight: f64,
    },
    /// An undirected edge is listed in both directions with different weights.
    #[error(
        "undirected edge {source_vertex}-{target_vertex} has weight {forward} in one direction and {backward} in the other; give both the same weight, make the graph directed, or list the smaller vertex first every time to add the weights up"
    )]
    AsymmetricWeight {
        /// One end.
        source_vertex: u32,
        /// The other end.
        target_vertex: u32,
        /// Summed weight as listed from the first to the second end.
        forward: f64,
        /// Summed weight as listed the other way.
        backward: f64,
    },
    /// An edge is listed twice, or in both directions of an undirected graph, and
    /// carries something else each time.
    #[error(
        "edges {first} and {second} of the list both join {source_vertex} and {target_vertex}, with different {what}; {advice}"
    )]
    EdgesDiffer {
        /// Labels or attributes.
        what: &'static str,
        /// One end.
        source_vertex: u32,
        /// The other end.
        target_vertex: u32,
        /// Position in the list of edges, from 0.
        first: usize,
        /// Position in the list of edges, from 0.
        second: usize,
        /// What to do about it.
        advice: &'static str,
    },
    /// An attribute is infinite or not a number.
    #[error("{what} of {item} {index} is {value}; expected a finite number")]
    BadValue {
        /// The name of the quantity.
        what: &'static str,
        /// What it belongs to: a vertex or an edge.
        item: &'static str,
        /// Which one, from 0.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// Two things that must be of one length are not.
    #[error("{what}: expected {expected}, found {found}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A graph lacks what the graphs before it in the batch have, or has more.
    #[error("{what}: the graphs before this one have {expected}, this one has {found}")]
    Mixed {
        /// The part of the graph that differs.
        what: &'static str,
        /// As in the graphs before.
        expected: String,
        /// As in this graph.
        found: String,
    },
    /// Vertices carry something else than what a model was made for.
    #[error("{what}: the model expects graphs with {expected}, but these have {found}")]
    Unfit {
        /// What vertices carry.
        what: &'static str,
        /// In the graphs the model was made for.
        expected: String,
        /// In these.
        found: String,
    },
    /// More vertices, edges or columns than an index can count.
    #[error("{what}: {found} is more than the limit of {limit}")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// The largest number allowed.
        limit: u64,
        /// The number found.
        found: u64,
    },
    /// Something needs more memory than may be taken.
    #[error(
        "{what}: {} of memory needed, but {} of the budget of {} left; raise it by --memory or STEPWELL_MEMORY", Bytes(*needed), Bytes(*left), Bytes(*budget)
    )]
    Memory {
        /// What needs it.
        what: &'static str,
        /// Bytes it needs.
        needed: u64,
        /// Bytes that may still be taken.
        left: u64,
        /// Bytes that may be taken in all.
        budget: u64,
    },
    /// Offsets or the columns of a row are out of order.
    #[error("{what} must ascend, but the one at position {position} does not")]
    NotAscending {
        /// What must ascend.
        what: &'static str,
        /// Which of them does not, from 0.
        position: usize,
    },
    /// A list of positions is not a permutation of the vertices.
    #[error("not a permutation of {num_vertices} vertices: position {position} holds {found}")]
    NotAPermutation {
        /// How many vertices there are.
        num_vertices: usize,
        /// The first position that is out of range or repeated.
        position: usize,
        /// What it holds.
        found: usize,
    },
    /// An option of a model has a value it cannot have.
    #[error("{name}: expected {expected}, found {found}")]
    BadOption {
        /// The option, as users write it.
        name: &'static str,
        /// The values it may have.
        expected: String,
        /// The value it has.
        found: String,
    },
    /// No option of a model has this name.
    #[error("unknown option '{name}'")]
    UnknownOption {
        /// The name found.
        name: String,
    },
    /// A matrix has the wrong number of rows or columns.
    #[error("{what} of stack {stack}, block {block}: expected {} x {}, found {} x {}", expected.0, expected.1, found.0, found.1)]
    Shape {
        /// Which matrix.
        what: &'static str,
        /// Which of the parallel models, from 0.
        stack: usize,
        /// Which block of it, from 0.
        block: usize,
        /// Rows and columns it should have.
        expected: (usize, usize),
        /// Rows and columns it has.
        found: (usize, usize),
    },
    /// Eigenvalues or singular values could not be computed.
    #[error("the {what} of a {size} x {size} matrix could not be computed")]
    NoDecomposition {
        /// What was to be computed.
        what: &'static str,
        /// Rows of the matrix.
        size: usize,
    },
    /// A number is too large for the precision the states are computed in.
    #[error("{what} of graph {graph} is {value:e}, too large for precision {precision}")]
    TooLargeForPrecision {
        /// The precision: f32 or f64.
        precision: &'static str,
        /// What the number is.
        what: &'static str,
        /// The graph it belongs to, from 0.
        graph: usize,
        /// The number.
        value: f64,
    },
    /// A device could not do what it was asked for.
    #[error("{device}: {problem}")]
    Device {
        /// The device.
        device: String,
        /// What went wrong, and what to do about it.
        problem: String,
    },
    /// States of a graph are not numbers.
    #[error(
        "the states of graph {graph} are not finite: its weights or inputs are too large for precision {precision}; scale them down, or normalize"
    )]
    NotFinite {
        /// The precision: f32 or f64.
        precision: &'static str,
        /// The graph's position in its batch, from 0.
        graph: usize,
    },
    /// A graph could not be pooled.
    #[error("graph {graph}, pooling {level}: {source}")]
    Pooling {
        /// The graph's position in its batch, from 0.
        graph: usize,
        /// Which of the poolings on top of each other, from 1.
        level: usize,
        /// What was wrong.
        source: Box<Error>,
    },
    /// Bytes that should be a model are not.
    #[error(transparent)]
    Unreadable(Box<Unreadable>),
    /// The progress callback asked to stop.
    #[error("stopped on request")]
    Cancelled,
    /// Eliminating vertices would join more pairs of the others than allowed.
    #[error(
        "dropping {dropped} of {num_vertices} vertices joins at least {found} pairs of the others, more than the fill budget of {budget}; raise the budget or make the reduction approximate"
    )]
    FillBudget {
        /// The graph's position in its batch.
        graph: usize,
        /// How many vertices were to be dropped.
        dropped: usize,
        /// How many vertices the graph has.
        num_vertices: usize,
        /// Pairs found to be needed when the budget was exceeded.
        found: u64,
        /// The pairs allowed.
        budget: u64,
    },
}

impl Error {
    /// The same about another graph of the batch, where one is to blame.
    pub(crate) fn of_graph(mut self, position: usize) -> Self {
        if let Self::TooLargeForPrecision { graph, .. }
        | Self::NotFinite { graph, .. }
        | Self::Pooling { graph, .. }
        | Self::FillBudget { graph, .. } = &mut self
        {
            *graph = position;
        }
        self
    }

    /// The graph of the batch that is to blame, where it is one of them.
    pub fn graph(&self) -> Option<usize> {
        match self {
            Self::TooLargeForPrecision { graph, .. }
            | Self::NotFinite { graph, .. }
            | Self::Pooling { graph, .. }
            | Self::FillBudget { graph, .. } => Some(*graph),
            _ => None,
        }
    }
}

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error unless there are as many as there should be.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Length { what, expected, found }) }
}

/// Bytes as a person reads them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1024 => write!(f, "{bytes} bytes"),
            1024..0x10_0000 => write!(f, "{:.1} KB", bytes / 1024.0),
            0x10_0000..0x4000_0000 => write!(f, "{:.1} MB", bytes / 1024f64.powi(2)),
            _ => write!(f, "{:.1} GB", bytes / 1024f64.powi(3)),
        }
    }
}

/// Why bytes are not a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// Not a safetensors file, or not a whole one.
    #[error("not a safetensors file ({0}): not a model, or a truncated one")]
    NotSafetensors(String),
    /// Another program's file.
    #[error("a safetensors file, but not a model of Stepwell: its metadata has no key 'stepwell'")]
    NotAModel,
    /// Written by a later version.
    #[error(
        "written by Stepwell {version} in format {found}; this version reads up to format {known}: upgrade to read it"
    )]
    Newer {
        /// The format found.
        found: u32,
        /// The program that wrote it.
        version: String,
        /// The newest format this program reads.
        known: u32,
    },
    /// There is no readout in it.
    #[error("a model without a readout: it embeds graphs but cannot predict; train it first")]
    Untrained,
    /// The header cannot be understood.
    #[error("the header of the model is broken: {0}")]
    Header(String),
    /// Some bytes are not what was written.
    #[error("the {0} of the model were changed after it was written: their checksum differs")]
    Changed(&'static str),
    /// A tensor is missing or has another shape.
    #[error("tensor '{name}': expected {expected}, found {found}")]
    Tensor {
        /// Its name.
        name: String,
        /// What should be there.
        expected: String,
        /// What is.
        found: String,
    },
    /// The parts do not fit each other.
    #[error("the parts of the model are inconsistent: {0}")]
    Parts(#[from] Error),
}

impl From<Unreadable> for Error {
    fn from(unreadable: Unreadable) -> Self {
        Self::Unreadable(Box::new(unreadable))
    }
}
