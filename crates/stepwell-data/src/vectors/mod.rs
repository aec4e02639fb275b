//! Tables of vectors, written incrementally: NumPy arrays, CSV, Parquet, Arrow streams.
//!
//! A table has a few key columns (ids, targets, positions) and one column of vectors, all of one
//! width. It is written in blocks of rows, so that only one block need be in memory.
//!
//! ```
//! use ndarray::array;
//! use stepwell_data::vectors::{Block, CsvWriter, Key, Shape, VectorWriter};
//! let mut text = Vec::new();
//! let shape = Shape::numbered(vec!["id"], "embedding", 2, false);
//! let mut writer = Box::new(CsvWriter::new(&mut text, &shape));
//! writer.write(&Block { keys: vec![Key::Text(&["a, b".into()])], rows: array![[0.5, 1.0]].view() })?;
//! writer.finish()?;
//! assert_eq!(text, b"id,e0,e1\n\"a, b\",0.5,1\n");
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(feature = "parquet")]
mod arrow;
mod csv;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod partial;
mod spilled;

#[cfg(feature = "parquet")]
pub use arrow::ArrowWriter;
pub use csv::CsvWriter;
pub use npy::NpyWriter;
#[cfg(feature = "parquet")]
pub use parquet::{ParquetWriter, to_record_batch};
pub use partial::Partial;
pub use spilled::Spilled;

use std::io;

use ndarray::ArrayView2;

/// A writer of vectors, block by block.
pub trait VectorWriter {
    /// Writes more rows.
    fn write(&mut self, block: &Block<'_>) -> io::Result<()>;

    /// Flushes the rows written so far, if the format allows that before the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes the end of the table. Without it the table is incomplete.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The properties that all blocks of a table share.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Names of the key columns.
    pub keys: Vec<String>,
    /// Name of the vector column.
    pub vector: &'static str,
    /// Names of the vector's elements, each a column in CSV.
    pub columns: Vec<String>,
    /// Whether elements are stored in 64 bits; otherwise they are rounded to 32.
    pub double: bool,
    /// Whether a row may lack its vector, which is then all NaN: empty cells in CSV, null in
    /// Parquet and Arrow.
    pub gaps: bool,
}

impl Shape {
    /// A shape whose vector elements are named by the first letter of `vector` and a number.
    pub fn numbered(keys: Vec<&str>, vector: &'static str, width: usize, double: bool) -> Self {
        let letter = vector.chars().next().unwrap_or('v');
        let columns = (0..width).map(|column| format!("{letter}{column}")).collect();
        let keys = keys.into_iter().map(str::to_owned).collect();
        Self { keys, vector, columns, double, gaps: false }
    }
}

/// Some rows of a table.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The key columns, in the order of the [`Shape`].
    pub keys: Vec<Key<'a>>,
    /// The vectors.
    pub rows: ArrayView2<'a, f64>,
}

#[cfg(feature = "parquet")]
impl Block<'_> {
    /// A block without rows, for the header of an empty table.
    pub(crate) fn empty(shape: &Shape) -> io::Result<Self> {
        let keys = shape.keys.iter().map(|_| Key::Text(&[])).collect();
        let rows = ArrayView2::from_shape((0, shape.columns.len()), &[]).map_err(io::Error::other)?;
        Ok(Self { keys, rows })
    }
}

/// The values of a key column.
#[derive(Clone, Copy, Debug)]
pub enum Key<'a> {
    /// Strings.
    Text(&'a [String]),
    /// Integers.
    Whole(&'a [i64]),
    /// Floats.
    Real(&'a [f64]),
    /// This many floats per row, row after row; NaN if unknown.
    Several(&'a [f64], usize),
    /// Strings, of which some are missing: an empty cell in CSV, null in Parquet and Arrow.
    SomeText(&'a [Option<String>]),
    /// Integers, of which some are missing.
    SomeWhole(&'a [Option<i64>]),
    /// Floats, of which some are missing: NaN.
    SomeReal(&'a [f64]),
}

#[cfg(test)]
mod tests;
