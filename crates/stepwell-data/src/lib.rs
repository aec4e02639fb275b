//! Bytes to graphs and back: the datasets Stepwell works on.
//!
//! Readers exist for the TU Dortmund layout ([`tud`]), the benchmark's `.npz`
//! files ([`npz`]), JSON lines ([`jsonl`]) and Parquet ([`parquet`]); writers
//! for all of them but `.npz`. [`synthetic`] generates the paper's benchmark
//! and regular graphs of any size. [`catalog`] finds a dataset by path or name,
//! [`Source`] reads it piece by piece. [`vectors`] writes what comes out,
//! [`predictions`] what a model says of graphs, [`models`] keeps what made it.
//!
//! Two features, both on unless turned off: `parquet` (with Arrow behind it) and
//! `download` (with TLS). What is left without them reads and writes the rest.
//!
//! Everything that comes from outside is checked: an [`Error`] names the file,
//! the line, row or byte, what was expected there and what was found.

mod archive;
pub mod cache;
pub mod catalog;
mod dataset;
pub mod download;
mod error;
pub mod files;
pub mod identity;
pub mod jsonl;
pub mod memory;
pub mod models;
pub mod npz;
pub mod ogb;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod predictions;
mod rows;
mod source;
mod summary;
pub mod synthetic;
mod text;
pub mod tud;
pub mod vectors;

pub use dataset::{Dataset, Known, Part, Vertices};
pub use error::{Error, Place, Result, nearest_name};
pub use rows::{Expected, ReadOptions, Untargeted};
pub use source::{Source, Survey};
pub use summary::{Carried, LevelSummary, Spread, Summary, TargetSummary};
