//! Reads datasets from Parquet files.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};

use super::batches::BatchRows;
use super::columns::{Columns, Wanted};
use super::{FACTS, Facts, fault, longest, sizes};
use crate::dataset::Dataset;
use crate::error::{Error, Place, Result, quote};
use crate::memory;
use crate::rows::{Collector, Fault, Ignored, ReadOptions};

/// Numbers of a column decoded at a time.
const BATCH_NUMBERS: u64 = 1 << 20;

/// The most rows decoded at a time, however short.
const BATCH_ROWS: u64 = 1 << 14;

/// Bytes per number between a page and a graph: eight bytes and two levels while decoding, and four
/// to eight once converted.
const BYTES_PER_NUMBER: u64 = 20;

/// The strings of a batch may take this fraction (one part in `TEXT_SHARE`) of the memory left.
const TEXT_SHARE: u64 = 8;

/// The longest list of fixed size: no data back the size that a file declares.
const MAX_FIXED_SIZE: i32 = 1 << 24;

/// Reads a whole file. The dataset is named after the file unless its metadata name it.
pub fn read(path: &Path) -> Result<Dataset> {
    read_with(path, &ReadOptions::default())
}

/// Like [`read`], with named columns.
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let place = Place::file(path.display().to_string());
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    let reader = Reader::with_options(file, place.clone(), options)?;
    let Facts { mut name, .. } = reader.facts.clone();
    let dataset = Dataset::collect(reader, &place)?;
    if name.is_empty() {
        name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    Ok(Dataset { name, ..dataset })
}

pub(super) fn facts(schema: &Schema) -> Result<Facts, Fault> {
    let Some(text) = schema.metadata().get(FACTS) else { return Ok(Facts::default()) };
    serde_json::from_str(text).map_err(|error| {
        let expected = format!("a name and features as JSON in the metadata '{FACTS}'");
        Fault::new(expected, format!("{} ({error})", quote(text.as_bytes())))
    })
}

/// Reads pieces of about 65 000 vertices, row group by row group. After an error in a row, the next
/// piece continues after that row; after an error of the file, there is no next piece.
pub struct Reader<R> {
    input: Shared<R>,
    metadata: ArrowReaderMetadata,
    projection: ProjectionMask,
    wanted: Wanted,
    facts: Facts,
    place: Place,
    /// Row groups not started yet.
    groups: Range<usize>,
    batches: Option<ParquetRecordBatchReader>,
    /// Rows of the file before the next batch.
    next_row: u64,
    current: Option<Current>,
    pub(crate) collector: Collector,
    pub(crate) done: bool,
}

/// A partially consumed batch.
struct Current {
    rows: BatchRows,
    first_row: u64,
}

impl<R: ChunkReader + 'static> Reader<R> {
    /// Reads the footer of `input` and checks the columns; errors call the input `place`.
    pub fn new(input: R, place: Place) -> Result<Self> {
        Self::with_options(input, place, &ReadOptions::default())
    }

    /// Like [`new`](Self::new), with named columns.
    pub fn with_options(input: R, place: Place, options: &ReadOptions) -> Result<Self> {
        let at = |fault: Fault| fault.at(place.clone());
        let input = Shared(Arc::new(input));
        let metadata = guard(|| {
            let footer = sizes::footer(&input)?;
            let metadata = ParquetMetaDataReader::decode_metadata(&footer).map_err(fault)?;
            ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()).map_err(fault)
        })
        .map_err(at)?;

        let schema = metadata.schema();
        let facts = facts(schema).map_err(at)?;
        let wanted = Wanted::new(options, schema, &facts).map_err(at)?;
        let (mut columns, mut ignored) = (Vec::new(), Ignored::default());
        for (column, field) in schema.fields().iter().enumerate() {
            if wanted.has(field.name()) {
                columns.push(column);
            } else if wanted.ignores(field.name()) {
                ignored.add(field.name());
            }
        }
        let ours = schema.project(&columns).map_err(|error| at(fault(error.into())))?;
        check_fixed_sizes(&ours).map_err(at)?;
        // Types are checked when columns are converted; a batch without rows is enough.
        let check = || Columns::new(&RecordBatch::new_empty(Arc::new(ours)), &wanted);
        guard(|| check().map_err(|located| located.fault)).map_err(at)?;

        let projection = ProjectionMask::roots(metadata.parquet_schema(), columns);
        let mut reader = Self::resting(input, metadata, projection, wanted, facts, place);
        reader.collector.note(ignored.notes("column"));
        Ok(reader)
    }

    fn resting(
        input: Shared<R>,
        metadata: ArrowReaderMetadata,
        projection: ProjectionMask,
        wanted: Wanted,
        facts: Facts,
        place: Place,
    ) -> Self {
        let collector =
            Collector::new(facts.name.clone(), &wanted.options).of_molecules(facts.molecules.clone());
        Self {
            groups: 0..metadata.metadata().num_row_groups(),
            collector: collector
                .naming(facts.x.clone())
                .naming_targets(facts.y.clone())
                .picking(wanted.picks.clone()),
            input,
            metadata,
            projection,
            wanted,
            facts,
            place,
            batches: None,
            next_row: 0,
            current: None,
            done: false,
        }
    }

    /// The number of row groups in the file.
    pub fn row_groups(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    /// A reader of one row group alone; it returns nothing if there is no such group.
    pub fn row_group(&self, index: usize) -> Self {
        let (input, place) = (self.input.clone(), self.place.clone());
        let groups = self.metadata.metadata().row_groups();
        let rows = |group: &RowGroupMetaData| u64::try_from(group.num_rows()).unwrap_or(0);
        let end = groups.len();
        Self {
            groups: index.min(end)..index.saturating_add(1).min(end),
            next_row: groups.iter().take(index).map(rows).fold(0, u64::saturating_add),
            ..Self::resting(
                input,
                self.metadata.clone(),
                self.projection.clone(),
                self.wanted.clone(),
                self.facts.clone(),
                place,
            )
        }
    }

    /// The next piece; `None` at the end.
    fn piece(&mut self) -> Result<Option<Dataset>> {
        while !self.done && !self.collector.is_full() {
            match self.fetch() {
                Ok(true) => {}
                ended => {
                    self.done = true;
                    ended?;
                    break;
                }
            }
            let Some(Current { rows, first_row }) = &mut self.current else { break };
            while !self.collector.is_full() {
                let Some((at, row)) = rows.next() else { break };
                self.collector.push(row).map_err(|fault| fault.at(self.place.row(*first_row + at)))?;
            }
        }
        Ok((!self.collector.is_empty()).then(|| self.collector.take()))
    }

    /// Ensures that rows are available; returns false at the end.
    fn fetch(&mut self) -> Result<bool> {
        loop {
            if self.current.as_ref().is_some_and(|current| !current.rows.is_done()) {
                return Ok(true);
            }
            self.current = None;
            let at = |fault: Fault| fault.at(self.place.clone());
            if let Some(batches) = &mut self.batches {
                let batch = guard(|| batches.next().transpose().map_err(|error| fault(error.into())));
                match batch.map_err(at)? {
                    Some(batch) => {
                        let first_row = self.next_row;
                        self.next_row = first_row.saturating_add(batch.num_rows() as u64);
                        let rows = BatchRows::new(batch, &self.wanted).map_err(at)?;
                        self.current = Some(Current { rows, first_row });
                    }
                    None => self.batches = None,
                }
            } else if let Some(group) = self.groups.next() {
                self.batches = Some(guard(|| self.open(group)).map_err(at)?);
            } else {
                return Ok(false);
            }
        }
    }

    fn open(&self, index: usize) -> Result<ParquetRecordBatchReader, Fault> {
        let group = self.metadata.metadata().row_group(index);
        let texts = sizes::row_group(&self.input, group, |leaf| self.projection.leaf_included(leaf))?;
        let rows = self.batch_rows(group).min(self.rows_in_memory(group, texts)?);
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.input.clone(), self.metadata.clone())
            .with_projection(self.projection.clone())
            .with_row_groups(vec![index])
            .with_batch_size(rows)
            .build()
            .map_err(fault)
    }

    /// The number of rows of a group that fit into memory at a time, if all strings of one row take
    /// at most `texts` bytes. Refuses a row that does not fit: run lengths expand a few bytes to
    /// many numbers.
    fn rows_in_memory(&self, group: &RowGroupMetaData, texts: u64) -> Result<usize, Fault> {
        let leaves = group.columns().iter().enumerate();
        let wanted =
            leaves.filter(|(leaf, _)| self.projection.leaf_included(*leaf)).map(|(_, column)| column);
        let bytes = |values: u64| values.saturating_mul(BYTES_PER_NUMBER);
        let all = wanted.clone().map(|column| u64::try_from(column.num_values()).unwrap_or(0));
        let left = memory::left().bytes;
        // A string may be as long as the dictionary, and occur in every row.
        let by_texts = (left / TEXT_SHARE).checked_div(texts).unwrap_or(u64::MAX).max(1);
        if bytes(all.fold(0, u64::saturating_add)) <= left {
            return Ok(usize::try_from(by_texts).unwrap_or(usize::MAX));
        }
        let mut longest = texts;
        for column in wanted {
            longest = longest.saturating_add(bytes(longest::row(&self.input, column)?));
        }
        memory::ask_for("one row", longest).map_err(Fault::Graph)?;
        Ok(usize::try_from((left / longest.max(1)).clamp(1, by_texts)).unwrap_or(usize::MAX))
    }

    /// The number of rows that hold about [`BATCH_NUMBERS`] numbers in the longest of their
    /// columns.
    fn batch_rows(&self, group: &RowGroupMetaData) -> usize {
        let rows = u64::try_from(group.num_rows()).unwrap_or(0).max(1);
        let stored = group.columns().iter().map(|column| u64::try_from(column.num_values()).unwrap_or(0));
        let fixed = self.metadata.schema().fields().iter().map(|field| match field.data_type() {
            DataType::FixedSizeList(_, size) => (*size).max(0) as u64 * rows,
            _ => 0,
        });
        let longest = stored.chain(fixed).max().unwrap_or(0).max(rows);
        (BATCH_NUMBERS / (longest / rows)).clamp(1, BATCH_ROWS) as usize
    }
}

impl<R: ChunkReader + 'static> Iterator for Reader<R> {
    type Item = Result<Dataset>;

    fn next(&mut self) -> Option<Self::Item> {
        self.piece().transpose()
    }
}

fn check_fixed_sizes(schema: &Schema) -> Result<(), Fault> {
    for field in schema.fields() {
        if let DataType::FixedSizeList(_, size) = field.data_type()
            && !(0..=MAX_FIXED_SIZE).contains(size)
        {
            let expected = format!("lists of at most {MAX_FIXED_SIZE} numbers in '{}'", field.name());
            return Err(Fault::new(expected, size.to_string()));
        }
        // Nested lists of fixed size: nulls among them could need more memory than the number of
        // rows bounds.
        if let DataType::List(inner)
        | DataType::LargeList(inner)
        | DataType::ListView(inner)
        | DataType::LargeListView(inner)
        | DataType::FixedSizeList(inner, _) = field.data_type()
            && let DataType::FixedSizeList(..) = inner.data_type()
        {
            let expected = format!("lists of variable size inside the lists of '{}'", field.name());
            return Err(Fault::new(expected, "lists of fixed size"));
        }
    }
    Ok(())
}

thread_local! {
    /// Whether this thread is inside [`guard`].
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread, right now, will be turned into a read error. A program's panic
/// hook should then print nothing.
pub fn panics_are_errors() -> bool {
    GUARDED.get()
}

/// Runs decoders of the `parquet` crate, which may panic on bytes that no writer produced. After a
/// panic, their state is dropped.
pub(super) fn guard<T, E: From<Fault>>(decode: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    guard_of("a Parquet file", decode)
}

/// Like [`guard`], with another name for the decoded data.
pub(super) fn guard_of<T, E: From<Fault>>(what: &str, decode: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    let outer = GUARDED.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(outer);
    decoded.unwrap_or_else(|_| Err(Fault::new(what, "one that cannot be decoded").into()))
}

/// An input shared by the readers of its row groups.
struct Shared<R>(Arc<R>);

impl<R> Clone for Shared<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: Length> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> parquet::errors::Result<R::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}
