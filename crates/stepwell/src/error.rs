//! The errors that invalid input to the library causes.

use std::fmt;

/// Why a graph, a batch or a matrix was rejected.
///
/// Failure to converge is a result, not an error: see
/// [`Convergence`](crate::reservoir::Convergence).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An edge names a vertex the graph does not have.
    #[error("edge {edge} joins vertex {vertex}, but the graph has {num_vertices} {}, numbered from 0", vertices(*num_vertices))]
    VertexOutOfRange {
        /// Position in the list of edges, from 0.
        edge: usize,
        /// The vertex found.
        vertex: u64,
        /// The number of vertices of the graph.
        num_vertices: usize,
    },
    /// An edge weight is negative, infinite or not a number.
    #[error("edge {edge} has weight {weight}; expected a finite number of at least 0")]
    BadWeight {
        /// Position in the list of edges, from 0.
        edge: usize,
        /// The weight found.
        weight: f64,
    },
    /// The weight of a row of training data is negative, infinite or not a number.
    #[error("row {row} has weight {weight}; expected a finite number of at least 0")]
    BadRowWeight {
        /// The row, from 0.
        row: usize,
        /// The weight found.
        weight: f64,
    },
    /// A graph has a class that is not among those of a model or dataset.
    #[error("row {row} has class {name}, which is not among the known classes")]
    UnknownClass {
        /// The row, from 0.
        row: usize,
        /// The class found.
        name: String,
    },
    /// A target that no model can learn.
    #[error("target '{name}': expected {expected}, found {found}")]
    BadTarget {
        /// Its name, or its position from 0.
        name: String,
        /// The requirement.
        expected: String,
        /// The value found.
        found: String,
    },
    /// The sum of the edge weights at a vertex overflows.
    #[error(
        "the edge weights of vertex {vertex} overflow when added up (one is {weight:e}); scale the weights down"
    )]
    WeightsOverflow {
        /// The vertex.
        vertex: usize,
        /// One of the weights.
        weight: f64,
    },
    /// An undirected edge is listed in both directions with different weights.
    #[error(
        "undirected edge {source_vertex}-{target_vertex} has weight {forward} in one direction and {backward} in the other; give both the same weight, make the graph directed, or, to use the sum of the two weights, list the edge twice in the same direction"
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
    /// An edge is listed twice, or in both directions of an undirected graph, with different labels
    /// or attributes.
    #[error(
        "edges {first} and {second} of the list both join {source_vertex} and {target_vertex}, with different {what}; {}",
        if *opposite { "give both directions the same values, or make the graph directed" } else { "list the edge once" }
    )]
    EdgesDiffer {
        /// Labels or attributes.
        what: &'static str,
        /// One end.
        source_vertex: u32,
        /// The other end.
        target_vertex: u32,
        /// Position of one entry in the list of edges, from 0.
        first: usize,
        /// Position of the other entry in the list of edges, from 0.
        second: usize,
        /// Whether they are the two directions of an edge.
        opposite: bool,
    },
    /// An attribute is infinite or not a number.
    #[error("{what} of {item} {index} is {value}; expected a finite number")]
    BadValue {
        /// The name of the quantity.
        what: &'static str,
        /// The kind of item: a vertex or an edge.
        item: &'static str,
        /// The item's index, from 0.
        index: usize,
        /// The value found.
        value: f64,
    },
    /// Two lengths that must be equal differ.
    #[error("{what}: expected {expected}, found {found}")]
    Length {
        /// The items counted.
        what: &'static str,
        /// The expected number.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A graph differs from the earlier ones in a property that all must share: labels, attributes,
    /// targets or pooling.
    #[error("{what}: the graphs before this one have {expected}, this one has {found}")]
    Mixed {
        /// The property that differs.
        what: &'static str,
        /// The value for the earlier graphs.
        expected: String,
        /// The value for this graph.
        found: String,
    },
    /// Vertices or edges carry other labels or attributes than the model was trained on.
    #[error("{what}: the model expects graphs with {expected}, but these have {found}")]
    Unfit {
        /// The kind of label or attribute.
        what: &'static str,
        /// The value for the graphs the model was fitted on.
        expected: String,
        /// The value for these graphs.
        found: String,
    },
    /// A number of vertices, edges or columns exceeds its limit.
    #[error("{what}: {found} is more than the limit of {limit}")]
    TooLarge {
        /// The items counted.
        what: &'static str,
        /// The largest number allowed.
        limit: u64,
        /// The number found.
        found: u64,
    },
    /// An allocation would exceed the memory budget.
    #[error(
        "{what}: needs {} of memory, but only {} of the budget of {} are left; raise the budget with --memory or STEPWELL_MEMORY", Bytes(*needed), Bytes(*left), Bytes(*budget)
    )]
    Memory {
        /// The purpose of the allocation.
        what: &'static str,
        /// Bytes needed.
        needed: u64,
        /// Bytes left in the budget.
        left: u64,
        /// The whole budget in bytes.
        budget: u64,
    },
    /// Offsets, or the columns of a row, do not ascend.
    #[error("{what} must ascend, but the one at position {position} does not")]
    NotAscending {
        /// The values that must ascend.
        what: &'static str,
        /// Position of the first value that does not, from 0.
        position: usize,
    },
    /// A list of positions is not a permutation of the vertices.
    #[error("not a permutation of {num_vertices} vertices: position {position} holds {found}")]
    NotAPermutation {
        /// The number of vertices.
        num_vertices: usize,
        /// The first position that is out of range or repeated.
        position: usize,
        /// The value at that position.
        found: usize,
    },
    /// An option has a value that is not allowed.
    #[error("{name}: expected {expected}, found {found}")]
    BadOption {
        /// The option, as the user writes it.
        name: &'static str,
        /// The allowed values.
        expected: String,
        /// The value found.
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
        /// The name of the matrix.
        what: &'static str,
        /// The stack, from 0.
        stack: usize,
        /// The block within the stack, from 0.
        block: usize,
        /// The expected number of rows and columns.
        expected: (usize, usize),
        /// The number of rows and columns found.
        found: (usize, usize),
    },
    /// Eigenvalues or singular values could not be computed.
    #[error(
        "could not compute the {what} ({size} x {size} matrix); scale very large inputs or weights down{}",
        or_alpha(what)
    )]
    NoDecomposition {
        /// The decomposition.
        what: &'static str,
        /// The number of rows of the matrix.
        size: usize,
    },
    /// A number overflows in the precision of the states.
    #[error(
        "{what} of graph {graph} is {value:e}, too large for precision {precision}; scale it down{}",
        or_f64(precision)
    )]
    TooLargeForPrecision {
        /// The precision: f32 or f64.
        precision: &'static str,
        /// The name of the quantity.
        what: &'static str,
        /// The graph it belongs to, from 0.
        graph: usize,
        /// The value.
        value: f64,
    },
    /// A device failed.
    #[error("{device}: {problem}")]
    Device {
        /// The device.
        device: String,
        /// The failure, and what the user can do.
        problem: String,
    },
    /// States of a graph are infinite or NaN.
    #[error(
        "the states of graph {graph} are not finite: its weights or inputs are too large for precision {precision}; scale them down, or normalise the adjacency (the default)"
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
        /// The number of the pooling, from 1.
        level: usize,
        /// The underlying error.
        source: Box<Error>,
    },
    /// Bytes that are not a valid model.
    #[error(transparent)]
    Unreadable(Box<Unreadable>),
    /// A model could not be written.
    #[error("the model cannot be written: {0}")]
    Unwritable(String),
    /// The progress callback asked to stop.
    #[error("stopped on request")]
    Cancelled,
    /// Eliminating vertices would join more pairs of the remaining ones than the budget allows.
    #[error(
        "dropping {dropped} of {num_vertices} vertices joins at least {found} pairs of remaining vertices, more than the fill budget of {budget}; raise --fill-budget or add --approximate (in Python: fill_budget=, approximate=True)"
    )]
    FillBudget {
        /// The graph's position in its batch.
        graph: usize,
        /// The number of vertices to drop.
        dropped: usize,
        /// The number of vertices of the graph.
        num_vertices: usize,
        /// The number of pairs counted when the budget was exceeded.
        found: u64,
        /// The pairs allowed.
        budget: u64,
    },
}

impl Error {
    /// The same error with another graph position, if it refers to one graph.
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

    /// The position in the batch of the graph that caused the error, if a single graph did.
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

/// The result type of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns an error unless the two lengths are equal.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Length { what, expected, found }) }
}

/// The error for a position that is not one of `count` positions.
pub(crate) fn out_of_range(name: &'static str, count: usize, found: usize) -> Error {
    let expected = match count {
        0 => "no position, because there are none".to_string(),
        1 => "0".to_string(),
        _ => format!("0 to {}", count - 1),
    };
    Error::BadOption { name, expected, found: found.to_string() }
}

/// The error for rows of which there are none.
pub(crate) fn no_rows(name: &'static str) -> Error {
    Error::BadOption { name, expected: "at least one".into(), found: "none".into() }
}

fn vertices(count: usize) -> &'static str {
    if count == 1 { "vertex" } else { "vertices" }
}

/// Advice that helps only a regression.
fn or_alpha(what: &str) -> &'static str {
    if what == "ridge regression" { ", or use a larger alpha" } else { "" }
}

/// Advice that helps only at single precision.
fn or_f64(precision: &str) -> &'static str {
    if precision == "f32" { ", or use precision f64" } else { "" }
}

/// A number of bytes, displayed with a unit.
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

/// Why bytes cannot be read as a model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// Not a safetensors file, or a truncated one.
    #[error("not a safetensors file ({0}): either this is not a model, or the file is truncated")]
    NotSafetensors(String),
    /// A safetensors file of another program.
    #[error("a safetensors file, but not a model of Stepwell: its metadata has no key 'stepwell'")]
    NotAModel,
    /// Written by a newer version.
    #[error(
        "written by Stepwell {version} in format {found}; the installed version reads formats up to {known}: upgrade to read it"
    )]
    Newer {
        /// The format of the file.
        found: u32,
        /// The version that wrote it.
        version: String,
        /// The newest format that this version reads.
        known: u32,
    },
    /// The file has no readout.
    #[error("a model without a readout: it embeds graphs but cannot predict; train it first")]
    Untrained,
    /// The header is malformed.
    #[error("the header of the model is broken: {0}")]
    Header(String),
    /// A checksum differs.
    #[error(
        "the {0} of the model were changed after it was written: their checksum differs; copy the file again, or retrain the model"
    )]
    Changed(&'static str),
    /// A tensor is missing or has the wrong shape.
    #[error("tensor '{name}': expected {expected}, found {found}")]
    Tensor {
        /// Its name.
        name: String,
        /// The expected tensor.
        expected: String,
        /// The tensor found.
        found: String,
    },
    /// The parts are inconsistent.
    #[error("the parts of the model are inconsistent: {0}")]
    Parts(#[from] Error),
}

impl From<Unreadable> for Error {
    fn from(unreadable: Unreadable) -> Self {
        Self::Unreadable(Box::new(unreadable))
    }
}
