//! What layouts of text files share: lines, rows of numbers in them, and graphs
//! built of tables that go through a whole dataset.

mod build;
mod lines;

pub(crate) use build::{Columns, Rows, Tables, same_count};
pub(crate) use lines::{Blocks, for_each_line, integer, integers, labels, reals};
