//! Reads the graphs of a request, piece by piece.

use std::collections::BTreeSet;

use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use stepwell::graph::GraphBatch;
use stepwell_data::parquet::{BadRow, Batches, Stream};
use stepwell_data::{Dataset, Place, ReadOptions, Untargeted, jsonl};

use crate::query::{Ask, Format};
use crate::{Limits, Refusal};

/// Some graphs, in order.
#[derive(Clone)]
pub(crate) struct Piece {
    pub graphs: GraphBatch,
    pub ids: Vec<String>,
    /// Their rows in the request, from 0.
    pub rows: Vec<u64>,
    /// Notes of the reader.
    pub notes: Vec<String>,
}

/// The next item of a request.
pub(crate) enum Found {
    Piece(Box<Piece>),
    /// A row that cannot be used, and why.
    Bad(u64, String),
}

enum Source {
    Lines(Box<jsonl::Reader<Reader<Bytes>>>),
    Arrow(Box<Batches<Stream>>),
}

/// Reads a request's body. If bad rows are skipped, each comes before the piece with
/// the rows around it.
pub(crate) struct Rows {
    source: Source,
    skip_bad: bool,
    limits: Limits,
    bad: BTreeSet<u64>,
    /// The first row that is not in a piece yet.
    next: u64,
    seen: usize,
    vertices: usize,
    done: bool,
}

impl Rows {
    pub fn new(ask: &Ask, body: Bytes, limits: Limits) -> Result<Self, Refusal> {
        let options = ReadOptions {
            untargeted: Untargeted::Keep,
            max_vertices: Some(limits.vertices as u64),
            ..ReadOptions::default()
        };
        let source = match ask.input {
            Format::JsonLines => {
                // Count lines first, so that a rejected request costs no computation.
                let lines = body.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
                if lines.count() > limits.rows {
                    return Err(too_many(limits.rows));
                }
                let reader = jsonl::Reader::with_options(body.reader(), Place::file("request"), &options);
                let mut reader = reader.map_err(|error| Refusal::bad(error.to_string()))?;
                reader.expect(ask.entry.expected);
                Source::Lines(Box::new(reader))
            }
            Format::Arrow => {
                let refused = |BadRow { reason, .. }| Refusal::bad(format!("request: {reason}"));
                let stream = Stream::new(body).map_err(refused)?;
                let schema = stream.schema().clone();
                let mut batches = Batches::with_options(stream, &schema, &options).map_err(refused)?;
                batches.expect(ask.entry.expected);
                Source::Arrow(Box::new(batches))
            }
        };
        let skip_bad = ask.skip_bad;
        Ok(Self {
            source,
            skip_bad,
            limits,
            bad: BTreeSet::new(),
            next: 0,
            seen: 0,
            vertices: 0,
            done: false,
        })
    }

    /// The next piece, or a bad row with its position if more rows may follow.
    fn read(&mut self) -> Option<Result<Dataset, (Option<u64>, String)>> {
        match &mut self.source {
            Source::Lines(reader) => match reader.next() {
                None if reader.rows() == 0 && self.bad.is_empty() => {
                    let reason = "request: expected one graph per line, found an empty body";
                    Some(Err((None, reason.into())))
                }
                found => Some(found?.map_err(|error| {
                    let row = reader.goes_on().then(|| reader.rows().saturating_sub(1));
                    (row, error.to_string())
                })),
            },
            Source::Arrow(batches) => Some(batches.next()?.map_err(|BadRow { row, reason }| match row {
                Some(row) => (Some(row), format!("request, row {}: {reason}", row + 1)),
                None => (None, format!("request: {reason}")),
            })),
        }
    }

    fn piece(&mut self, dataset: Dataset) -> Box<Piece> {
        let mut rows = Vec::with_capacity(dataset.len());
        while rows.len() < dataset.len() {
            if !self.bad.contains(&self.next) {
                rows.push(self.next);
            }
            self.next += 1;
        }
        let Dataset { graphs, ids, notes, .. } = dataset;
        let ids = ids.unwrap_or_else(|| rows.iter().map(u64::to_string).collect());
        Box::new(Piece { graphs, ids, rows, notes })
    }

    fn within_limits(&self) -> Result<(), Refusal> {
        let Limits { rows, vertices, .. } = self.limits;
        if self.seen > rows {
            return Err(too_many(rows));
        }
        if self.vertices > vertices {
            let reason =
                format!("request: more than {vertices} vertices in total; send fewer graphs per request");
            return Err(Refusal::too_large(reason));
        }
        Ok(())
    }
}

fn too_many(rows: usize) -> Refusal {
    Refusal::too_large(format!("request: more than {rows} graphs; send fewer per request"))
}

impl Iterator for Rows {
    type Item = Result<Found, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let found = match self.read()? {
            Ok(dataset) => {
                self.seen += dataset.len();
                self.vertices += dataset.graphs.num_vertices();
                self.within_limits().map(|()| Found::Piece(self.piece(dataset)))
            }
            Err((Some(row), reason)) if self.skip_bad => {
                self.seen += 1;
                self.bad.insert(row);
                self.within_limits().map(|()| Found::Bad(row, reason))
            }
            Err((_, reason)) => Err(Refusal::bad(reason)),
        };
        self.done = found.is_err();
        Some(found)
    }
}
