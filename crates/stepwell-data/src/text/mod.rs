//! What layouts of text files share: lines, rows of numbers in them, and graphs
//! built from tables of a whole dataset.

mod build;
mod lines;

pub(crate) use build::{Columns, Rows, Tables, same_count};
pub(crate) use lines::{Blocks, for_each_line, integer, integers, labels, reals};
