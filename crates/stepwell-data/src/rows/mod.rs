//! The row schema, one graph per row, shared by JSON lines, Parquet and Arrow tables.
//!
//! | key | holds |
//! |---|---|
//! | `num_nodes` | the number of vertices, isolated ones included |
//! | `src`, `dst` | the start and the end of each edge, from 0 |
//! | `id` | the graph's name, a string or an integer |
//! | `weight` | one number per edge |
//! | `edge_label` | one integer per edge, or one list of integers per edge, all equally long |
//! | `edge_attr`, `edge_attr_dim` | the edges' attributes, row after row, and the number per edge |
//! | `node_label` | one integer per vertex, or one list of integers per vertex, all equally long |
//! | `x`, `x_dim` | the vertices' attributes, row after row, and the number per vertex |
//! | `pos` | two coordinates per vertex, for drawing |
//! | `y` | the target: an integer, a float, a boolean or a string; or a list of numbers, booleans and nulls |
//! | `split` | `train`, `validation` or `test` |
//! | `node_y` | the target of every vertex: like `y`, or null if unknown |
//! | `node_split` | `train`, `validation`, `test` or null per vertex; with several splits, a list of them |
//! | `directed` | whether edges have a direction; false by default |
//!
//! [`ReadOptions`] can name other columns that hold targets in place of `y`, and one that holds
//! groups.
//!
//! All but the first three may be absent, from every row or from none. `node_y` and `node_split`
//! may be absent from any row, whose vertices then have no target or part. An edge without a weight
//! has weight 1. A row without edges may lack the edge columns of other rows, and a row without
//! vertices their vertex columns.
//!
//! [`Collector`] checks these rules row by row; [`EdgeWriter`] lists edges for writing. The formats
//! convert rows to and from bytes.

mod collect;
mod edges;
mod options;
#[cfg(test)]
pub(crate) mod tests;
mod vertices;

pub use collect::Expected;
pub(crate) use collect::{Collector, Row, Target, ragged};
pub(crate) use edges::{EdgeWriter, check_writable, lists_once};
pub(crate) use options::no_such_column;
pub use options::{ReadOptions, Untargeted};
pub(crate) use vertices::{NodeParts, NodeTargets};

use crate::error::{Error, Place};

/// The most vertices of a graph in a row.
pub(crate) const MAX_VERTICES: u64 = 1 << 28;

/// The most attributes a vertex or an edge may have.
pub(crate) const MAX_WIDTH: u64 = 1 << 24;

/// A key of an object, or a column of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Key {
    Id,
    NumNodes,
    Src,
    Dst,
    Weight,
    EdgeLabel,
    EdgeAttr,
    EdgeAttrDim,
    NodeLabel,
    X,
    XDim,
    Pos,
    Y,
    Split,
    NodeY,
    NodeSplit,
    Directed,
}

impl Key {
    /// All keys in writing order, with their names and a description of their values for error
    /// messages.
    const ALL: [(Self, &'static str, &'static str); 17] = [
        (Self::Id, "id", "a string or an integer"),
        (Self::NumNodes, "num_nodes", "a non-negative integer"),
        (Self::Src, "src", "a list of integers from 0 to 4294967295"),
        (Self::Dst, "dst", "a list of integers from 0 to 4294967295"),
        (Self::Weight, "weight", "a list of numbers"),
        (Self::EdgeLabel, "edge_label", "a list of 32-bit integers, or of lists of them,"),
        (Self::EdgeAttr, "edge_attr", "a list of numbers"),
        (Self::EdgeAttrDim, "edge_attr_dim", "a non-negative integer"),
        (Self::NodeLabel, "node_label", "a list of 32-bit integers, or of lists of them,"),
        (Self::X, "x", "a list of numbers"),
        (Self::XDim, "x_dim", "a non-negative integer"),
        (Self::Pos, "pos", "a list of numbers"),
        (Self::Y, "y", "a 64-bit integer, a float, a string, a boolean or a list of numbers"),
        (Self::Split, "split", "a string"),
        (Self::NodeY, "node_y", "a list of integers, floats, strings, booleans or lists of numbers"),
        (Self::NodeSplit, "node_split", "a list of strings, or of lists of strings,"),
        (Self::Directed, "directed", "true or false"),
    ];

    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().map(|(key, ..)| key)
    }

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub fn holds(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|key| key.name() == name)
    }

    /// The error of a row that lacks this required key.
    pub fn missing(self, word: &str) -> Fault {
        let meaning = match self {
            Self::NumNodes => "the number of vertices, since those without edges appear in no list",
            Self::Src => "where each edge begins",
            _ => "where each edge ends",
        };
        Fault::new(format!("a {word} '{}' ({meaning})", self.name()), "none")
    }
}

/// The most targets of a graph, because a row that lacks them all is filled with NaN.
pub(crate) const MAX_TARGETS: u64 = 1 << 14;

/// A fault of a row, before its location is added.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A well-formed value that cannot be used.
    Unusable(String),
    Malformed {
        expected: String,
        found: String,
    },
    TooLarge {
        what: &'static str,
        limit: u64,
        found: u64,
    },
    Graph(stepwell::Error),
    Io(std::io::Error),
}

impl Fault {
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Malformed { expected: expected.into(), found: found.into() }
    }

    pub fn at(self, place: Place) -> Error {
        match self {
            Self::Malformed { expected, found } => Error::Malformed { place, expected, found },
            Self::TooLarge { what, limit, found } => Error::TooLarge { place, what, limit, found },
            Self::Unusable(what) => Error::Unsupported(format!("{place}: {what}")),
            Self::Graph(source) => Error::Graph { place, source },
            Self::Io(source) => Error::io(place.to_string(), source),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::TooLarge { what, limit, found } => {
                write!(f, "{what} is {found}, more than the limit of {limit}")
            }
            Self::Unusable(what) => f.write_str(what),
            Self::Graph(source) => source.fmt(f),
            Self::Io(source) => source.fmt(f),
        }
    }
}

/// The fault of a string among several targets.
pub(crate) fn texts_among_targets(options: &ReadOptions, column: &str, found: &str) -> Fault {
    Fault::Unusable(if options.targets.len() > 1 {
        format!(
            "several targets must be numbers or 0/1, but {} holds {found}; pass one target to predict classes by name",
            quoted(column)
        )
    } else {
        format!("several targets must be numbers or 0/1, but {} holds {found}", quoted(column))
    })
}

/// Names that a reader ignored, each reported once.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    names: Vec<String>,
    reported: usize,
}

impl Ignored {
    /// The most names reported: there may be as many names as rows.
    const MOST: usize = 16;

    pub fn add(&mut self, name: &str) {
        if self.names.len() < Self::MOST && !self.names.iter().any(|known| known == name) {
            self.names.push(name.into());
        }
    }

    /// The ignored names so far, at most [`MOST`](Self::MOST).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A note about the names not yet reported, if there are any.
    pub fn notes(&mut self, word: &str) -> Vec<String> {
        let new: Vec<String> = self.names[self.reported..].iter().map(|name| quoted(name)).collect();
        self.reported = self.names.len();
        match &new[..] {
            [] => Vec::new(),
            [name] => vec![format!("{word} {name} is not part of the schema and was ignored")],
            names => {
                vec![format!("{word}s {} are not part of the schema and were ignored", names.join(", "))]
            }
        }
    }
}

fn quoted(name: &str) -> String {
    crate::error::quote(name.as_bytes())
}
