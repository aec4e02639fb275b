//! Experiments: the paper's protocol, its records on disk, its figures, and
//! what we measure beside them; and pictures of all that.

mod error;
pub mod evaluate;
pub mod metrics;
pub mod paper;
pub mod picture;
pub mod protocol;
pub mod records;
pub mod search;
pub mod splits;

pub use error::{Error, Result};
