//! Writes datasets to Parquet files.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::FACTS;
use super::encode::encode;
use super::layout::Layout;
use crate::dataset::Dataset;
use crate::error::{Error, Place, Result};
use crate::rows::{check_writable, lists_once};

/// Numbers per row group, the unit in which other tools read, skip and resume.
const GROUP_NUMBERS: usize = 1 << 22;

/// Numbers encoded at a time.
const BATCH_NUMBERS: usize = 1 << 18;

/// Writes a whole dataset.
pub fn write<W: Write + Send>(output: W, dataset: &Dataset, place: &Place) -> Result<W> {
    let mut writer = Writer::new(output, Layout::of(dataset), place.clone())?;
    writer.write(dataset)?;
    writer.finish()
}

/// Writes datasets, or pieces of one, into one file.
///
/// A file has one schema, so the [`Layout`] must be known before the first row; for a dataset in
/// pieces, [join](Layout::join) their layouts.
pub struct Writer<W: Write> {
    output: ArrowWriter<W>,
    layout: Layout,
    place: Place,
    /// Numbers in the current row group.
    numbers: usize,
}

impl<W: Write + Send> Writer<W> {
    /// Writes to `output`; errors call it `place`.
    pub fn new(output: W, layout: Layout, place: Place) -> Result<Self> {
        let level = ZstdLevel::try_new(1).map_err(|error| failed(&place, error))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            // Other tools look for metadata here, not in the copy of the Arrow schema.
            .set_key_value_metadata(Some(vec![KeyValue::new(FACTS.into(), layout.facts())]))
            .build();
        let schema = Arc::new(layout.schema());
        let output =
            ArrowWriter::try_new(output, schema, Some(properties)).map_err(|error| failed(&place, error))?;
        Ok(Self { output, layout, place, numbers: 0 })
    }

    /// Writes one row per graph.
    pub fn write(&mut self, dataset: &Dataset) -> Result<()> {
        check_writable(dataset, &self.place)?;
        self.layout.check_admits(dataset, &self.place)?;
        let once = lists_once(&dataset.graphs);
        let (mut first, mut numbers) = (0, 0);
        for index in 0..dataset.len() {
            numbers += numbers_of(dataset, index);
            if numbers >= BATCH_NUMBERS || index + 1 == dataset.len() {
                self.write_range(dataset, first..index + 1, once)?;
                self.numbers += numbers;
                (first, numbers) = (index + 1, 0);
            }
            if self.numbers >= GROUP_NUMBERS {
                self.output.flush().map_err(|error| failed(&self.place, error))?;
                self.numbers = 0;
            }
        }
        Ok(())
    }

    fn write_range(&mut self, dataset: &Dataset, range: Range<usize>, once: bool) -> Result<()> {
        let batch = encode(dataset, &self.layout, range, once, &self.place)?;
        self.output.write(&batch).map_err(|error| failed(&self.place, error))
    }

    /// Writes the footer and returns the output.
    pub fn finish(self) -> Result<W> {
        self.output.into_inner().map_err(|error| failed(&self.place, error))
    }
}

/// The approximate number of values in all lists of a graph.
fn numbers_of(dataset: &Dataset, index: usize) -> usize {
    let graph = dataset.graphs.graph(index);
    let attributes = dataset.graphs.vertex_attributes().map_or(0, |all| all.width()) * graph.num_vertices();
    // Single labels are already counted with the vertices and entries.
    let labels = [graph.vertex_labels(), graph.edge_labels()].into_iter().flatten().filter(|l| l.1 > 1);
    let carried = attributes
        + graph.edge_attributes().map_or(0, |(values, _)| values.len())
        + labels.map(|(values, _)| values.len()).sum::<usize>();
    1 + dataset.targets.width() + carried + graph.num_vertices() + graph.num_entries() * 2
}

fn failed(place: &Place, error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(source) => std::io::Error::other(source),
        },
        other => std::io::Error::other(other),
    };
    Error::io(place.to_string(), source)
}
