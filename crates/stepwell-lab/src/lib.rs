//! Experiments: evaluates models and keeps records on disk from which a run resumes,
//! draws pictures and pages of the results, and, in [`paper`], compares the tables and
//! figures of the paper with ours.

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
