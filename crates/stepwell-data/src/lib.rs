//! Reads and writes the graph datasets that Stepwell works on.
//!
//! Readers exist for the TU Dortmund layout ([`tud`]), OGB's raw layout ([`ogb`]), the benchmark's
//! `.npz` files ([`npz`]), JSON lines ([`jsonl`]) and Parquet ([`parquet`]); writers for all of
//! them but `.npz` and OGB's layout. [`synthetic`] generates the paper's benchmark and graph
//! families of any size. [`catalog`] finds a dataset by path or name, and [`Source`] reads it piece
//! by piece. [`vectors`] writes embeddings, [`predictions`] arranges predictions in columns, and
//! [`models`] stores models.
//!
//! Two features are on by default: `parquet` (which brings Arrow) and `download` (which brings
//! TLS). Without them, the other formats still work.
//!
//! All input is checked: an [`Error`] names the file, the line, row or byte, the expected value and
//! the value found.

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
pub use error::{Error, Place, Result, counted, nearest_name, quote};
pub use rows::{Expected, ReadOptions, Untargeted};
pub use source::{Source, Survey};
pub use summary::{Carried, LevelSummary, Spread, Summary, TargetSummary};
