//! The TU Dortmund layout: a dataset as several text files.
//!
//! `NAME_A.txt` lists the edges as pairs of vertices, which are numbered from 1 through the whole
//! dataset. Line v of `NAME_graph_indicator.txt` is the graph of vertex v. `NAME_graph_labels.txt`
//! (or, for regression, `NAME_graph_attributes.txt`) has a line per graph. Labels and attributes of
//! vertices and edges are optional; several are separated by commas. Graphs are undirected, unless
//! the two directions of an edge carry different labels or attributes. The files lie in a folder or
//! a zip archive; NAME comes from the one `*_A.txt` there, and other files are ignored.
//!
//! Each file is read in one streaming pass: text is read in blocks, the blocks of `_A.txt` are
//! parsed in parallel while the next ones are read or inflated, and no file is ever held as a
//! whole.
//!
//! ```
//! use std::fs;
//! let folder = tempfile::tempdir()?;
//! fs::write(folder.path().join("TOY_A.txt"), "1, 2\n2, 1\n2, 3\n3, 2\n")?;
//! fs::write(folder.path().join("TOY_graph_indicator.txt"), "1\n1\n1\n2\n")?;
//! fs::write(folder.path().join("TOY_graph_labels.txt"), "-1\n1\n")?;
//! let dataset = stepwell_data::tud::read(folder.path())?;
//! assert_eq!((dataset.name.as_str(), dataset.len()), ("TOY", 2));
//! assert_eq!(dataset.graphs.graph(0).num_edges(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod edges;
mod read;
mod source;
mod write;

pub use read::{read, read_archive};
pub use write::{lost, write};

#[cfg(test)]
mod tests;
