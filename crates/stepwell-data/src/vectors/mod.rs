//! Tables of vectors, written as they come: NumPy arrays, CSV, Parquet, Arrow streams.
//!
//! A table has a few key columns (ids, targets, positions) and one column of
//! vectors, all of one width. It is written in blocks of rows, so that no more
//! than a block need be in memory.
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

/// Something that vectors can be written to, block after block.
pub trait VectorWriter {
    /// Writes more rows.
    fn write(&mut self, block: &Block<'_>) -> io::Result<()>;

    /// Flushes what has been written, if the format allows that before the end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes what comes last. Without it the table is not whole.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// What all blocks of a table have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Names of the key columns.
    pub keys: Vec<String>,
    /// Name of the vector column.
    pub vector: &'static str,
    /// Names of its numbers, each a column in CSV.
    pub columns: Vec<String>,
    /// Whether they are kept in 64 bits; else they are rounded to 32.
    pub double: bool,
}

impl Shape {
    /// Vectors whose numbers are called by the first letter of their name and a number.
    pub fn numbered(keys: Vec<&str>, vector: &'static str, width: usize, double: bool) -> Self {
        let letter = vector.chars().next().unwrap_or('v');
        let columns = (0..width).map(|column| format!("{letter}{column}")).collect();
        Self { keys: keys.into_iter().map(str::to_owned).collect(), vector, columns, double }
    }
}

/// Some rows of a table.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The key columns, as named in the [`Shape`].
    pub keys: Vec<Key<'a>>,
    /// The vectors.
    pub rows: ArrayView2<'a, f64>,
}

#[cfg(feature = "parquet")]
impl Block<'_> {
    /// No rows of a table, for the header of an empty one.
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
}

#[cfg(test)]
mod tests;
