//! Errors of an experiment.

use std::path::PathBuf;

/// Why an experiment could not run, or a run could not resume.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The graphs cannot be split as requested.
    #[error("splits: expected {expected}, found {found}")]
    Split {
        /// The accepted values.
        expected: String,
        /// The value found.
        found: String,
    },
    /// An option of the protocol has an invalid value.
    #[error("{name}: expected {expected}, found {found}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// The accepted values.
        expected: String,
        /// The value found.
        found: String,
    },
    /// The library rejected the model or a graph.
    #[error(transparent)]
    Model(#[from] stepwell::Error),
    /// A dataset could not be read, or a file could not be written.
    #[error(transparent)]
    Data(#[from] stepwell_data::Error),
    /// A missing result needs graphs, but the graphs were not prepared.
    #[error("cannot embed graphs that were not prepared")]
    Unprepared,
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A record differs from the one that was written.
    #[error("{}, line {line}: {problem}; the lines before it are intact: delete this line and all after it to resume", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// A file in the place of records holds none.
    #[error("{}: expected records of a run, found none: another program wrote or changed this file; move it out of the folder to resume the run", path.display())]
    NoRecords {
        /// The file.
        path: PathBuf,
    },
    /// The run was started with other data or other options.
    #[error("{}: {cell}: this run was started with {what}; use another --out folder, or repeat the original options", path.display())]
    Changed {
        /// The run's folder.
        path: PathBuf,
        /// The model and dataset.
        cell: String,
        /// The difference.
        what: String,
    },
}

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
