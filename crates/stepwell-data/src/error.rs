//! Errors that occur between a file and a graph.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A location in the input.
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

    /// A row of a table, from 0, like the ids of graphs without names.
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
    /// The input violates its format.
    #[error("{place}: expected {expected}, found {found}")]
    Malformed {
        /// The location.
        place: Place,
        /// The values that the format allows there.
        expected: String,
        /// The value found there.
        found: String,
    },
    /// A graph was refused.
    #[error("{place}: {source}")]
    Graph {
        /// The location where the graph ends or is described.
        place: Place,
        /// The reason.
        source: stepwell::Error,
    },
    /// The input would need more memory or time than any real input.
    #[error("{place}: {what} is {found}, more than the limit of {limit}")]
    TooLarge {
        /// The location.
        place: Place,
        /// The quantity that was measured.
        what: &'static str,
        /// The largest accepted value.
        limit: u64,
        /// The value that the input asks for.
        found: u64,
    },
    /// The operating system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The blocks kept by an earlier run do not belong to the output of this one.
    #[error(
        "{}: left by an interrupted run with {what}; repeat its options to resume it, or pass --restart to discard it", path.display()
    )]
    Changed {
        /// The file with the blocks.
        path: PathBuf,
        /// The difference.
        what: String,
    },
    /// Another process is writing the same file.
    #[error("{}: another process is writing this file; wait until it ends, or write to another file", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// A file is not a model, or is incomplete.
    #[error("{}: {source}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: stepwell::Unreadable,
    },
    /// There is no dataset with that name or path.
    #[error("{0}")]
    NotFound(String),
    /// A format cannot hold the data.
    #[error("{0}")]
    Unsupported(String),
    /// A download failed.
    #[error("could not fetch {url}: {reason}")]
    Download {
        /// The address.
        url: String,
        /// The reason, and what to do next.
        reason: String,
    },
}

impl Error {
    /// Creates a [`Malformed`](Self::Malformed) error.
    pub fn malformed(place: Place, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Malformed { place, expected: expected.into(), found: found.into() }
    }

    /// Creates an [`Io`](Self::Io) error.
    pub fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Untrusted bytes made printable: in single quotes, at most 40 characters. Control characters and
/// backslashes are escaped, but not double quotes, which JSON would escape once more.
///
/// ```
/// use stepwell_data::quote;
/// assert_eq!(quote(b"\"weight\":[1]\t"), r#"'"weight":[1]\t'"#);
/// ```
pub fn quote(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    let mut shown = String::new();
    for character in text.chars().take(40) {
        match character {
            '"' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    if text.chars().count() > 40 || bytes.len() > 200 {
        shown.push('…');
    }
    if bytes.is_empty() { "nothing".into() } else { format!("'{shown}'") }
}

/// The similarity of two names, from 0 to 1, ignoring case.
pub(crate) fn likeness(one: &str, other: &str) -> f64 {
    strsim::jaro_winkler(&one.to_ascii_lowercase(), &other.to_ascii_lowercase())
}

/// A count with its noun, in the plural unless the count is 1.
///
/// ```
/// use stepwell_data::counted;
/// assert_eq!(counted(1, "vertex"), "1 vertex");
/// assert_eq!(counted(2, "vertex"), "2 vertices");
/// assert_eq!(counted(0, "class"), "0 classes");
/// assert_eq!(counted(3, "fold"), "3 folds");
/// ```
pub fn counted(count: usize, noun: &str) -> String {
    match noun.strip_suffix("ex") {
        _ if count == 1 => format!("1 {noun}"),
        Some(stem) => format!("{count} {stem}ices"),
        None if noun.ends_with('s') => format!("{count} {noun}es"),
        None => format!("{count} {noun}s"),
    }
}

/// The known name most similar to an unknown one, if any is similar.
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
