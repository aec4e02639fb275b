//! What can go wrong in an experiment.

use std::path::PathBuf;

/// Why an experiment could not be run, or a run not be continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Graphs cannot be split that way.
    #[error("splits: expected {expected}, found {found}")]
    Split {
        /// What would do.
        expected: String,
        /// What there is.
        found: String,
    },
    /// The protocol has a value it cannot have.
    #[error("{name}: expected {expected}, found {found}")]
    BadOption {
        /// The option.
        name: &'static str,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The model or a graph was refused.
    #[error(transparent)]
    Model(#[from] stepwell::Error),
    /// A dataset could not be read, or a file not be written.
    #[error(transparent)]
    Data(#[from] stepwell_data::Error),
    /// Something is missing that needs graphs, and they were not prepared.
    #[error("graphs must be prepared before they are embedded")]
    Unprepared,
    /// A file or folder could not be used.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A record is not what was written.
    #[error("{}, line {line}: {problem}; the lines before it are intact: delete this line and all after it to resume", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The run was started with other data or other options.
    #[error("{}: {cell}: this run was started with {what}; use another --out folder, or repeat the original options", path.display())]
    Changed {
        /// The run's folder.
        path: PathBuf,
        /// The model and dataset.
        cell: String,
        /// What changed.
        what: String,
    },
}

/// This crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;
