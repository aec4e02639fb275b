//! In-memory Arrow streams (the IPC streaming format).

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;

use super::BadRow;
use super::read::guard_of;
use crate::rows::Fault;

/// The record batches of a stream. Allocates nothing for sizes that the bytes only claim, and
/// refuses compressed batches.
///
/// ```
/// use stepwell_data::parquet::{Batches, Stream};
/// assert!(Stream::new(b"no stream at all".to_vec()).is_err());
/// ```
pub struct Stream {
    decoder: StreamDecoder,
    rest: Buffer,
    schema: SchemaRef,
    /// The first batch, if it was decoded while looking for the schema.
    first: Option<RecordBatch>,
    done: bool,
}

impl Stream {
    /// Reads the schema at the start of the stream.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, BadRow> {
        let mut rest = Buffer::from(bytes.into());
        let mut decoder = StreamDecoder::new();
        let whole =
            |fault: Fault| BadRow { row: None, id: None, too_large: false, reason: fault.to_string() };
        let first = decode(&mut decoder, &mut rest).map_err(whole)?;
        let schema = decoder.schema().ok_or_else(|| whole(Fault::new("an Arrow stream", "no schema")))?;
        Ok(Self { decoder, rest, schema, first, done: false })
    }

    /// The schema of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, Fault> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        let found = decode(&mut self.decoder, &mut self.rest)?;
        if found.is_none() {
            guard_of(STREAM, || self.decoder.finish().map_err(fault))?;
        }
        Ok(found)
    }
}

const STREAM: &str = "an Arrow stream";

fn fault(error: ArrowError) -> Fault {
    Fault::new(STREAM, error.to_string())
}

/// The next batch, if there is one.
fn decode(decoder: &mut StreamDecoder, rest: &mut Buffer) -> Result<Option<RecordBatch>, Fault> {
    guard_of(STREAM, || decoder.decode(rest).map_err(fault))
}

impl Iterator for Stream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let found = self.batch().map_err(|fault| ArrowError::IpcError(fault.to_string())).transpose();
        self.done = !matches!(found, Some(Ok(_)));
        found
    }
}
