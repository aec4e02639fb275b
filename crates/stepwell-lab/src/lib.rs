//! Experiments: how models are evaluated, with records on disk that a run is
//! resumed from; pictures and pages of the results; and, in [`paper`], the
//! tables and figures of the paper beside ours.

pub mod baselines;
pub mod convergence;
mod error;
pub mod evaluate;
pub mod fingerprint;
pub mod metrics;
pub mod paper;
pub mod picture;
pub mod predictions;
pub mod protocol;
mod readouts;
pub mod records;
pub mod report;
pub mod results;
pub mod run;
pub mod significance;
pub mod splits;
pub mod subject;
pub mod table;
pub mod targets;

pub use error::{Error, Result};
