//! What can go wrong between a file and a graph.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Where in the input something was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    file: String,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    File,
    Line(u64),
    Row(u64),
    Byte(u64),
}

impl Place {
    /// The file as a whole. Parts of an archive are named `archive/part`.
    pub fn file(file: impl Into<String>) -> Self {
        Self { file: file.into(), at: At::File }
    }

    /// A line of it, from 1.
    pub fn line(&self, line: u64) -> Self {
        Self { at: At::Line(line), ..self.clone() }
    }

    /// A row of a table, from 1.
    pub fn row(&self, row: u64) -> Self {
        Self { at: At::Row(row), ..self.clone() }
    }

    /// A byte offset, from 0.
    pub fn byte(&self, byte: u64) -> Self {
        Self { at: At::Byte(byte), ..self.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = &self.file;
        match self.at {
            At::File => write!(f, "{file}"),
            At::Line(line) => write!(f, "{file}, line {line}"),
            At::Row(row) => write!(f, "{file}, row {row}"),
            At::Byte(byte) => write!(f, "{file}, byte {byte}"),
        }
    }
}

/// Why a dataset could not be found, read, written or fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is not what its format says.
    #[error("{place}: expected {expected}, found {found}")]
    Malformed {
        /// Where.
        place: Place,
        /// What the format allows there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// A graph was refused.
    #[error("{place}: {source}")]
    Graph {
        /// Where the graph ends or is described.
        place: Place,
        /// Why.
        source: stepwell::Error,
    },
    /// The input would need more memory or time than anything real does.
    #[error("{place}: {what} is {found}, more than the limit of {limit}")]
    TooLarge {
        /// Where.
        place: Place,
        /// What was measured.
        what: &'static str,
        /// The most that is accepted.
        limit: u64,
        /// What the input asks for.
        found: u64,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What an earlier run has kept is not the beginning of what this one makes.
    #[error(
        "{}: left by an interrupted run with {what}; repeat its options to resume it, or pass --restart to discard it", path.display()
    )]
    Changed {
        /// What was kept.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Another process is writing the same file.
    #[error("{}: another process is writing this file; wait until it ends, or write to another file", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file is not a model, or not a whole one.
    #[error("{}: {source}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// Why.
        source: stepwell::Unreadable,
    },
    /// No dataset of that name or at that path.
    #[error("{0}")]
    NotFound(String),
    /// A format cannot hold what it is asked to hold.
    #[error("{0}")]
    Unsupported(String),
    /// A download failed.
    #[error("could not fetch {url}: {reason}")]
    Download {
        /// The address.
        url: String,
        /// What went wrong and what to do.
        reason: String,
    },
}

impl Error {
    /// Something malformed.
    pub fn malformed(place: Place, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Malformed { place, expected: expected.into(), found: found.into() }
    }

    /// A refusal of the operating system.
    pub fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Bytes from outside, made fit to print: quoted, escaped, at most 40 characters.
pub fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let mut shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().count() > 40 || bytes.len() > 200 {
        shown.push('…');
    }
    if bytes.is_empty() { "nothing".into() } else { format!("'{shown}'") }
}
/// How alike two names are, from 0 to 1; upper and lower case do not matter.
pub(crate) fn likeness(one: &str, other: &str) -> f64 {
    strsim::jaro_winkler(&one.to_ascii_lowercase(), &other.to_ascii_lowercase())
}

/// The known name that an unknown one looks like, if there is one.
///
/// ```
/// use stepwell_data::nearest_name;
/// assert_eq!(nearest_name("unit", ["units", "blocks"]), Some("units"));
/// assert_eq!(nearest_name("colour", ["units", "blocks"]), None);
/// ```
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let all = known.into_iter().map(|known| (likeness(name, known), known));
    all.filter(|(likeness, _)| *likeness > 0.85).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}
