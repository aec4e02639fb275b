//! Experiments: the paper's protocol, its records on disk, its figures, and
//! what we measure beside them; and pictures of all that.

pub mod baselines;
pub mod basis;
mod contender;
pub mod convergence;
mod error;
pub mod evaluate;
pub mod experiments;
pub mod fixed;
pub mod metrics;
pub mod outcome;
pub mod paper;
pub mod picture;
pub mod protocol;
pub mod reading;
pub mod records;
pub mod report;
pub mod run;
pub mod significance;
pub mod splits;
pub mod tables;
pub mod targets;
pub mod visualization;

pub use error::{Error, Result};
