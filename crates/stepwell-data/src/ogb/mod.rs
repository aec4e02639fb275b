//! The raw layout of the Open Graph Benchmark (OGB): gzipped tables in folders.
//!
//! `raw/` holds the graphs: line g of `num-node-list.csv.gz` and `num-edge-list.csv.gz` is the
//! number of vertices and edges of graph g, and `edge.csv.gz` lists the edges, graph after graph,
//! with vertices numbered from 0 in each. `node-feat.csv.gz` and `edge-feat.csv.gz` are optional:
//! integer columns are labels, one kind per column, and other columns are attributes.
//! `graph-label.csv.gz` has one or several targets per graph; `nan` or an empty field is an unknown
//! target. `split/NAME/` holds the official split, and `mapping/mol.csv.gz` of molecule datasets
//! holds the names of targets and graphs. These folders lie in a folder or a zip archive.
//!
//! ```
//! use std::{fs, io::Write};
//! use flate2::{Compression, write::GzEncoder};
//! let folder = tempfile::tempdir()?;
//! fs::create_dir(folder.path().join("raw"))?;
//! for (name, text) in [
//!     ("num-node-list", "3\n1\n"),
//!     ("num-edge-list", "2\n0\n"),
//!     ("edge", "0,1\n1,2\n"),
//!     ("node-feat", "5,0\n5,1\n7,0\n6,0\n"),
//!     ("graph-label", "-0.77\n1.5\n"),
//! ] {
//!     let file = fs::File::create(folder.path().join(format!("raw/{name}.csv.gz")))?;
//!     GzEncoder::new(file, Compression::default()).write_all(text.as_bytes())?;
//! }
//! let dataset = stepwell_data::ogb::read(folder.path())?;
//! assert_eq!((dataset.len(), dataset.graphs.graph(0).num_edges()), (2, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod mapping;
mod read;
mod source;
mod split;
mod values;

pub use read::{read, read_archive};
pub(crate) use source::is_one;

#[cfg(test)]
mod tests;
