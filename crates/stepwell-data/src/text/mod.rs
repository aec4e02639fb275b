//! Shared by the text layouts: lines, rows of numbers, and graphs built from the tables of a whole
//! dataset.

mod build;
mod lines;

pub(crate) use build::{Columns, Rows, Tables, same_count};
pub(crate) use lines::{Blocks, for_each_line, integer, integers, labels, reals};
