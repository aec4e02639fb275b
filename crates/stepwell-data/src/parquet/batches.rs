//! Converts record batches from any source to datasets.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use super::columns::{Columns, Located, Wanted};
use super::read::{facts, guard, guard_of};
use crate::dataset::Dataset;
use crate::rows::{Collector, Expected, Fault, Ignored, ReadOptions, Row};

/// Rows converted at a time: the result is copied once more and should still be in the CPU cache
/// then.
const SLICE_ROWS: usize = 1 << 11;

/// The rows of one batch. Columns are converted as a whole. If a value cannot be converted, the
/// rows are converted one by one, so that only the row with the fault fails.
pub(super) struct BatchRows {
    len: usize,
    next: usize,
    wanted: Wanted,
    columns: Option<Columns>,
    /// The batch, if it is converted row by row.
    one_by_one: Option<RecordBatch>,
}

impl BatchRows {
    /// Converts a batch; fails if its columns do not match the schema.
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

/// A row that cannot be used, or the reason why reading stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct BadRow {
    /// Its position among all rows, from 0; `None` if the fault lies in the data as a whole.
    pub row: Option<u64>,
    /// Its own id, if that could be read.
    pub id: Option<String>,
    /// Whether the graph has more vertices than [`ReadOptions::max_vertices`] or the schema allows.
    pub too_large: bool,
    /// The expected value and the value found.
    pub reason: String,
}

/// Reads pieces of about 65 000 vertices from record batches. After an error in a row, the next
/// piece continues after that row; after an error in the data as a whole, there is no next piece.
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
    /// The rest of the last batch.
    rest: Option<RecordBatch>,
    current: Option<BatchRows>,
    /// Rows before the current ones.
    before: u64,
    wanted: Wanted,
    collector: Collector,
    done: bool,
}

impl<I: Iterator<Item = Result<RecordBatch, ArrowError>>> Batches<I> {
    /// Checks the schema, which all `batches` share.
    pub fn new(batches: impl IntoIterator<IntoIter = I>, schema: &Schema) -> Result<Self, BadRow> {
        Self::with_options(batches, schema, &ReadOptions::default())
    }

    /// Like [`new`](Self::new), with named columns.
    pub fn with_options(
        batches: impl IntoIterator<IntoIter = I>,
        schema: &Schema,
        options: &ReadOptions,
    ) -> Result<Self, BadRow> {
        let whole = |fault: Fault| bad(None, &fault);
        let facts = facts(schema).map_err(whole)?;
        let wanted = Wanted::new(options, schema, &facts).map_err(whole)?;
        let collector = Collector::new(facts.name, options).of_molecules(facts.molecules);
        let mut collector = collector.naming(facts.x).naming_targets(facts.y).picking(wanted.picks.clone());
        let mut ignored = Ignored::default();
        let names = schema.fields().iter().map(|field| field.name());
        names.filter(|name| wanted.ignores(name)).for_each(|name| ignored.add(name));
        collector.note(ignored.notes("column"));
        // Panics on a type that no writer produces: a map without entries.
        let empty = guard_of("Arrow data", || Ok(RecordBatch::new_empty(schema.clone().into())));
        let empty = empty.map_err(whole)?;
        BatchRows::new(empty, &wanted).map_err(whole)?;
        let batches = batches.into_iter();
        Ok(Self { batches, rest: None, current: None, before: 0, wanted, collector, done: false })
    }

    /// Refuses rows whose vertices do not carry the expected features.
    pub fn expect(&mut self, expected: Expected) {
        self.collector.expect(expected);
    }

    /// Collects all graphs into one dataset; fails on the first error.
    pub fn whole(self) -> Result<Dataset, BadRow> {
        self.whole_unless(|| false)
    }

    /// Like [`whole`](Self::whole), but ends soon after `stopped` returns true, with the graphs so far.
    pub fn whole_unless(mut self, stopped: impl Fn() -> bool) -> Result<Dataset, BadRow> {
        self.fill(|_| stopped())?;
        Ok(self.collector.take())
    }

    /// Collects rows until `enough` holds or no rows are left.
    fn fill(&mut self, enough: impl Fn(&Collector) -> bool) -> Result<(), BadRow> {
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
                    let (at, id) = (Some(self.before + at), row.as_ref().ok().and_then(|row| row.id));
                    let id = |fault: Fault| BadRow { id: id.map(str::to_owned), ..bad(at, &fault) };
                    self.collector.push(row).map_err(id)?;
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
    let too_large = matches!(fault, Fault::TooLarge { what: ReadOptions::VERTICES, .. });
    BadRow { row, id: None, too_large, reason: fault.to_string() }
}
