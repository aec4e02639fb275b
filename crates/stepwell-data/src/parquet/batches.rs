//! From record batches, wherever they come from, to datasets.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use super::columns::{Columns, Located, Wanted};
use super::read::{facts, guard};
use crate::dataset::Dataset;
use crate::rows::{Collector, Expected, Fault, Ignored, ReadOptions, Row};

/// Rows that are converted at a time: what is converted is copied once more,
/// and should still be near then.
const SLICE_ROWS: usize = 1 << 11;

/// The rows of one batch. Columns are converted as a whole; where one of their
/// numbers cannot be, row by row, so that the fault is that of its row alone.
pub(super) struct BatchRows {
    len: usize,
    next: usize,
    wanted: Wanted,
    columns: Option<Columns>,
    /// What is converted row by row.
    one_by_one: Option<RecordBatch>,
}

impl BatchRows {
    /// Converts a batch, unless its columns are not those of the schema.
    pub fn new(batch: RecordBatch, wanted: &Wanted) -> Result<Self, Fault> {
        let (len, wanted) = (batch.num_rows(), wanted.clone());
        let (columns, one_by_one) = match guard(|| Columns::new(&batch, &wanted)) {
            Ok(columns) => (Some(columns), None),
            Err(Located { row: Some(_), .. }) => (None, Some(batch)),
            Err(Located { row: None, fault }) => return Err(fault),
        };
        Ok(Self { len, next: 0, wanted, columns, one_by_one })
    }

    /// Whether all rows have been returned.
    pub fn is_done(&self) -> bool {
        self.next >= self.len
    }

    /// The next row, and its position in the batch.
    pub fn next(&mut self) -> Option<(u64, Result<Row<'_>, Fault>)> {
        let row = (!self.is_done()).then_some(self.next)?;
        self.next += 1;
        let at = match &self.one_by_one {
            None => row,
            Some(batch) => match guard(|| Columns::new(&batch.slice(row, 1), &self.wanted)) {
                Ok(columns) => {
                    self.columns = Some(columns);
                    0
                }
                Err(Located { fault, .. }) => return Some((row as u64, Err(fault))),
            },
        };
        self.columns.as_ref().map(|columns| (row as u64, Ok(columns.row(at))))
    }
}

/// A row that cannot be used, or why no more can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct BadRow {
    /// Its position among all rows, from 0; nothing where the data as a whole are to blame.
    pub row: Option<u64>,
    /// What was expected and what was found.
    pub reason: String,
}

/// Reads pieces of some ten thousand vertices from record batches. After an
/// error in a row the next piece goes on behind it; after one of the data as a
/// whole there is none.
///
/// ```
/// use stepwell_data::parquet::{Batches, to_record_batch};
/// # use stepwell_data::{Dataset, Place, jsonl};
/// # let place = Place::file("example.jsonl");
/// # let text = "{\"num_nodes\":3,\"src\":[0,1],\"dst\":[1,2],\"y\":\"path\"}\n";
/// # let dataset = Dataset::collect(jsonl::Reader::new(text.as_bytes(), place.clone()), &place)?;
/// let batch = to_record_batch(&dataset)?;
/// let schema = batch.schema();
/// let mut pieces = Batches::new([Ok(batch)], &schema).unwrap();
/// assert_eq!(pieces.next(), Some(Ok(dataset)));
/// assert_eq!(pieces.next(), None);
/// # Ok::<(), stepwell_data::Error>(())
/// ```
pub struct Batches<I> {
    batches: I,
    /// What is left of the last batch.
    rest: Option<RecordBatch>,
    current: Option<BatchRows>,
    /// Rows before the current ones.
    before: u64,
    wanted: Wanted,
    collector: Collector,
    done: bool,
}

impl<I: Iterator<Item = Result<RecordBatch, ArrowError>>> Batches<I> {
    /// Checks the schema that all `batches` have.
    pub fn new(batches: impl IntoIterator<IntoIter = I>, schema: &Schema) -> Result<Self, BadRow> {
        Self::with_options(batches, schema, &ReadOptions::default())
    }

    /// The same with named columns.
    pub fn with_options(
        batches: impl IntoIterator<IntoIter = I>,
        schema: &Schema,
        options: &ReadOptions,
    ) -> Result<Self, BadRow> {
        let whole = |fault: Fault| bad(None, &fault);
        let facts = facts(schema).map_err(whole)?;
        let wanted = Wanted::new(options, schema).map_err(whole)?;
        let collector = Collector::new(facts.name, options).of_molecules(facts.molecules);
        let mut collector = collector.naming(facts.x).naming_targets(facts.y);
        let mut ignored = Ignored::default();
        let names = schema.fields().iter().map(|field| field.name());
        names.filter(|name| wanted.ignores(name)).for_each(|name| ignored.add(name));
        collector.note(ignored.notes("column"));
        let empty = RecordBatch::new_empty(schema.clone().into());
        BatchRows::new(empty, &wanted).map_err(whole)?;
        let batches = batches.into_iter();
        Ok(Self { batches, rest: None, current: None, before: 0, wanted, collector, done: false })
    }

    /// Refuses rows whose vertices carry anything but what is expected.
    pub fn expect(&mut self, expected: Expected) {
        self.collector.expect(expected);
    }

    /// All graphs in one dataset, unless there is an error in any of them.
    pub fn whole(mut self) -> Result<Dataset, BadRow> {
        self.fill(|_| false)?;
        Ok(self.collector.take())
    }

    /// Collects rows until it is enough or there are no more.
    fn fill(&mut self, enough: fn(&Collector) -> bool) -> Result<(), BadRow> {
        while !self.done && !enough(&self.collector) {
            let Some(rows) = &mut self.current else {
                let slice = self.slice();
                let rows = |slice| BatchRows::new(slice, &self.wanted);
                let next = slice.and_then(|slice| slice.map(rows).transpose());
                self.done = !matches!(next, Ok(Some(_)));
                self.current = next.map_err(|fault| bad(None, &fault))?;
                continue;
            };
            match rows.next() {
                Some((at, row)) => {
                    let at = Some(self.before + at);
                    self.collector.push(row).map_err(|fault| bad(at, &fault))?;
                }
                None => {
                    self.before += rows.len as u64;
                    self.current = None;
                }
            }
        }
        Ok(())
    }

    /// The next few rows.
    fn slice(&mut self) -> Result<Option<RecordBatch>, Fault> {
        let batch = match self.rest.take() {
            Some(rest) => rest,
            None => match self.batches.next().transpose() {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(None),
                Err(error) => return Err(Fault::new("Arrow data", error.to_string())),
            },
        };
        let rows = batch.num_rows().min(SLICE_ROWS);
        let left = batch.num_rows() - rows;
        self.rest = (left > 0).then(|| batch.slice(rows, left));
        Ok(Some(batch.slice(0, rows)))
    }
}

impl<I: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for Batches<I> {
    type Item = Result<Dataset, BadRow>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.fill(Collector::is_full);
        found.map(|()| (!self.collector.is_empty()).then(|| self.collector.take())).transpose()
    }
}

fn bad(row: Option<u64>, fault: &Fault) -> BadRow {
    BadRow { row, reason: fault.to_string() }
}
