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

/// A row group is written after this many bytes, however few rows it has.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// Writes a Parquet file: the keys as columns, the vectors as a column of lists.
#[derive(Debug)]
pub struct ParquetWriter<W: Write + Send> {
    shape: Shape,
    /// The file starts with the first block, which determines the types of the keys.
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
        // A row group stays in memory until it is full.
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

/// A block of a table as a record batch: the keys as columns, the vectors as a column of lists.
pub fn to_record_batch(shape: &Shape, block: &Block<'_>) -> io::Result<RecordBatch> {
    // The name of every column, its values, and whether some may be missing.
    let mut columns: Vec<(&str, ArrayRef, bool)> = Vec::new();
    for (name, key) in shape.keys.iter().zip(&block.keys) {
        let column: ArrayRef = match key {
            Key::Text(texts) => Arc::new(StringArray::from_iter_values(texts.iter())),
            Key::Whole(numbers) => Arc::new(Int64Array::from_iter_values(numbers.iter().copied())),
            Key::Real(numbers) => Arc::new(Float64Array::from_iter_values(numbers.iter().copied())),
            Key::Several(numbers, width) => several(numbers, *width),
            Key::SomeText(texts) => Arc::new(texts.iter().cloned().collect::<StringArray>()),
            Key::SomeWhole(numbers) => Arc::new(numbers.iter().copied().collect::<Int64Array>()),
            Key::SomeReal(numbers) => {
                let known = numbers.iter().map(|number| Some(*number).filter(|number| !number.is_nan()));
                Arc::new(known.collect::<Float64Array>())
            }
        };
        let gaps = matches!(key, Key::SomeText(_) | Key::SomeWhole(_) | Key::SomeReal(_));
        columns.push((name, column, gaps));
    }
    if !shape.columns.is_empty() {
        let column = if shape.double {
            lists::<Float64Type>(block, shape.gaps, |value| value)
        } else {
            lists::<Float32Type>(block, shape.gaps, |value| value as f32)
        };
        columns.push((shape.vector, column, shape.gaps));
    }
    let field =
        |(name, column, gaps): &(&str, ArrayRef, bool)| Field::new(*name, column.data_type().clone(), *gaps);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, column, _)| column).collect();
    RecordBatch::try_new(Arc::new(schema), columns).map_err(io::Error::other)
}

/// One list per row, with nulls for unknown values.
fn several(numbers: &[f64], width: usize) -> ArrayRef {
    let mut lists = ListBuilder::new(PrimitiveBuilder::<Float64Type>::new());
    for row in numbers.chunks_exact(width.max(1)) {
        lists.append_value(row.iter().map(|&number| (!number.is_nan()).then_some(number)));
    }
    Arc::new(lists.finish())
}

fn lists<T: ArrowPrimitiveType>(block: &Block<'_>, gaps: bool, number: fn(f64) -> T::Native) -> ArrayRef {
    let item = Field::new("item", T::DATA_TYPE, false);
    let mut lists = ListBuilder::new(PrimitiveBuilder::<T>::new()).with_field(item);
    for row in block.rows.outer_iter() {
        if gaps && row.iter().all(|value| value.is_nan()) {
            lists.append(false);
            continue;
        }
        row.iter().for_each(|&value| lists.values().append_value(number(value)));
        lists.append(true);
    }
    Arc::new(lists.finish())
}
