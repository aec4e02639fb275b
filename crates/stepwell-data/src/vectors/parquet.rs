use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{Block, Key, Shape, VectorWriter};

/// Bytes after which a row group is written, however few rows it has.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Writes a Parquet file: the keys as columns, the vectors as a column of lists.
#[derive(Debug)]
pub struct ParquetWriter<W: Write + Send> {
    shape: Shape,
    /// The file is begun with the first block, which shows the types of the keys.
    state: State<W>,
}

#[derive(Debug)]
enum State<W: Write + Send> {
    New(W),
    Begun(Box<ArrowWriter<W>>),
    Failed,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Writes to `output`.
    pub fn new(output: W, shape: &Shape) -> Self {
        Self { shape: shape.clone(), state: State::New(output) }
    }
}

impl<W: Write + Send> VectorWriter for ParquetWriter<W> {
    fn write(&mut self, block: &Block<'_>) -> io::Result<()> {
        let batch = to_record_batch(&self.shape, block)?;
        let mut writer = match std::mem::replace(&mut self.state, State::Failed) {
            State::Begun(writer) => writer,
            State::New(output) => {
                let level = ZstdLevel::try_new(1).map_err(io::Error::other)?;
                let properties = WriterProperties::builder()
                    .set_compression(Compression::ZSTD(level))
                    .set_dictionary_enabled(false)
                    .build();
                Box::new(
                    ArrowWriter::try_new(output, batch.schema(), Some(properties))
                        .map_err(io::Error::other)?,
                )
            }
            State::Failed => return Err(io::Error::other("writing failed before")),
        };
        writer.write(&batch).map_err(io::Error::other)?;
        // What a row group holds waits in memory until it is full.
        if writer.in_progress_size() > ROW_GROUP_BYTES {
            writer.flush().map_err(io::Error::other)?;
        }
        self.state = State::Begun(writer);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if matches!(self.state, State::New(_)) {
            self.write(&Block::empty(&self.shape)?)?;
        }
        match self.state {
            State::Begun(writer) => writer.close().map(drop).map_err(io::Error::other),
            _ => Err(io::Error::other("writing failed before")),
        }
    }
}

/// A block of a table as Arrow data: the keys as columns, the vectors as a column of lists.
pub fn to_record_batch(shape: &Shape, block: &Block<'_>) -> io::Result<RecordBatch> {
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for (name, key) in shape.keys.iter().zip(&block.keys) {
        let column: ArrayRef = match key {
            Key::Text(texts) => Arc::new(StringArray::from_iter_values(texts.iter())),
            Key::Whole(numbers) => Arc::new(Int64Array::from_iter_values(numbers.iter().copied())),
            Key::Real(numbers) => Arc::new(Float64Array::from_iter_values(numbers.iter().copied())),
            Key::Several(numbers, width) => several(numbers, *width),
        };
        columns.push((name, column));
    }
    if !shape.columns.is_empty() {
        let column = if shape.double {
            lists::<Float64Type>(block, |value| value)
        } else {
            lists::<Float32Type>(block, |value| value as f32)
        };
        columns.push((shape.vector, column));
    }
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), false);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(schema), columns).map_err(io::Error::other)
}

/// A list for each row, with nulls for what is unknown.
fn several(numbers: &[f64], width: usize) -> ArrayRef {
    let mut lists = ListBuilder::new(PrimitiveBuilder::<Float64Type>::new());
    for row in numbers.chunks_exact(width.max(1)) {
        lists.append_value(row.iter().map(|&number| (!number.is_nan()).then_some(number)));
    }
    Arc::new(lists.finish())
}

fn lists<T: ArrowPrimitiveType>(block: &Block<'_>, number: fn(f64) -> T::Native) -> ArrayRef {
    let item = Field::new("item", T::DATA_TYPE, false);
    let mut lists = ListBuilder::new(PrimitiveBuilder::<T>::new()).with_field(item);
    for row in block.rows.outer_iter() {
        row.iter().for_each(|&value| lists.values().append_value(number(value)));
        lists.append(true);
    }
    Arc::new(lists.finish())
}
