//! Reads the graphs of a request, piece by piece.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;
use stepwell::graph::GraphBatch;
use stepwell_data::parquet::{BadRow, Batches, Stream};
use stepwell_data::{Dataset, Error, Place, ReadOptions, Untargeted, jsonl};

use crate::query::{Ask, Format};
use crate::{Limits, Refusal};

/// The id of a row as the request has it, a string or an integer; without one, the row's number as
/// a string.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Id {
    Text(String),
    /// Its decimal digits.
    Integer(String),
}

impl Id {
    fn of_row(row: u64) -> Self {
        Self::Text(row.to_string())
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Integer(text) => text,
        }
    }

    /// The id in a line of JSON. The line need not be valid after it.
    fn of_line(line: &[u8]) -> Option<Self> {
        struct Find<'a>(&'a mut Option<Id>);
        impl<'de> Visitor<'de> for Find<'_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
                while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                    if key != "id" {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    *self.0 = match map.next_value()? {
                        Value::String(text) => Some(Id::Text(text)),
                        Value::Number(number) if !number.is_f64() => Some(Id::Integer(number.to_string())),
                        _ => None,
                    };
                    return Ok(());
                }
                Ok(())
            }
        }
        let mut found = None;
        // The parser reports the unread rest of the line as an error.
        let _ = serde_json::Deserializer::from_slice(line).deserialize_map(Find(&mut found));
        found
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Integer(digits) = self {
            if let Ok(number) = digits.parse::<i64>() {
                return serializer.serialize_i64(number);
            }
            if let Ok(number) = digits.parse::<u64>() {
                return serializer.serialize_u64(number);
            }
        }
        serializer.serialize_str(self.text())
    }
}

/// Some graphs, in order.
#[derive(Clone)]
pub(crate) struct Piece {
    pub graphs: GraphBatch,
    pub ids: Vec<Id>,
    /// Their rows in the request, from 0.
    pub rows: Vec<u64>,
    /// Notes of the reader.
    pub notes: Vec<String>,
}

/// The next item of a request.
pub(crate) enum Found {
    Piece(Box<Piece>),
    Bad(Bad),
}

impl Found {
    pub fn vertices(&self) -> usize {
        match self {
            Self::Piece(piece) => piece.graphs.num_vertices(),
            Self::Bad(_) => 0,
        }
    }
}

/// A row that cannot be used, and why.
pub(crate) struct Bad {
    pub row: u64,
    pub id: Id,
    pub reason: String,
}

/// Why reading stopped.
struct Fault {
    /// The row and its own id, if more rows may follow.
    row: Option<(u64, Option<Id>)>,
    /// Whether a graph has more vertices than a request may have.
    too_large: bool,
    reason: String,
}

enum Source {
    /// With the body, and the places of its lines that are not blank.
    Lines(Box<jsonl::Reader<Reader<Bytes>>>, Bytes, Vec<Range<usize>>),
    /// With whether ids are integers.
    Arrow(Box<Batches<Stream>>, bool),
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
                let lines = lines(&body);
                if lines.len() > limits.rows {
                    return Err(too_many(limits.rows));
                }
                let place = Place::file("request");
                let reader = jsonl::Reader::with_options(body.clone().reader(), place, &options);
                let mut reader = reader.map_err(|error| Refusal::bad(error.to_string()))?;
                reader.expect(ask.entry.expected);
                Source::Lines(Box::new(reader), body, lines)
            }
            Format::Arrow => {
                let refused = |BadRow { reason, .. }| Refusal::bad(format!("request: {reason}"));
                let stream = Stream::new(body).map_err(refused)?;
                let schema = stream.schema().clone();
                let integers = schema.field_with_name("id").is_ok_and(|id| id.data_type().is_integer());
                let mut batches = Batches::with_options(stream, &schema, &options).map_err(refused)?;
                batches.expect(ask.entry.expected);
                Source::Arrow(Box::new(batches), integers)
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

    /// The next piece, or why there is none.
    fn read(&mut self) -> Option<Result<Dataset, Fault>> {
        let most = self.limits.vertices as u64;
        match &mut self.source {
            Source::Lines(reader, body, lines) => match reader.next() {
                None if reader.rows() == 0 && self.bad.is_empty() => {
                    let reason = "request: expected one graph per line, found an empty body".into();
                    Some(Err(Fault { row: None, too_large: false, reason }))
                }
                found => Some(found?.map_err(|error| {
                    let row = reader.goes_on().then(|| reader.rows().saturating_sub(1));
                    let own =
                        |row: u64| lines.get(row as usize).and_then(|line| Id::of_line(&body[line.clone()]));
                    let too_large = matches!(
                        error,
                        Error::TooLarge { what: ReadOptions::VERTICES, limit, .. } if limit == most
                    );
                    Fault { row: row.map(|row| (row, own(row))), too_large, reason: error.to_string() }
                })),
            },
            Source::Arrow(batches, integers) => Some(batches.next()?.map_err(|bad| {
                let BadRow { row, id, too_large, reason } = bad;
                let reason = match row {
                    Some(row) => format!("request, row {}: {reason}", row + 1),
                    None => format!("request: {reason}"),
                };
                let id = id.map(if *integers { Id::Integer } else { Id::Text });
                Fault { row: row.map(|row| (row, id)), too_large, reason }
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
        let ids = match (ids, &self.source) {
            (None, _) => rows.iter().map(|&row| Id::of_row(row)).collect(),
            (Some(_), Source::Lines(_, body, lines)) => {
                let own =
                    |row: u64| lines.get(row as usize).and_then(|line| Id::of_line(&body[line.clone()]));
                rows.iter().map(|&row| own(row).unwrap_or_else(|| Id::of_row(row))).collect()
            }
            (Some(ids), Source::Arrow(_, true)) => ids.into_iter().map(Id::Integer).collect(),
            (Some(ids), Source::Arrow(_, false)) => ids.into_iter().map(Id::Text).collect(),
        };
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

/// The places of the lines that the reader counts as rows.
fn lines(body: &[u8]) -> Vec<Range<usize>> {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    let (mut found, mut next) = (Vec::new(), 0);
    for line in body.split(|&byte| byte == b'\n') {
        let mark = if next == 0 && line.starts_with(MARK) { MARK.len() } else { 0 };
        if !line[mark..].trim_ascii().is_empty() {
            found.push(next + mark..next + line.len());
        }
        next += line.len() + 1;
    }
    found
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
            Err(Fault { row: Some((row, id)), reason, .. }) if self.skip_bad => {
                self.seen += 1;
                self.bad.insert(row);
                let id = id.unwrap_or_else(|| Id::of_row(row));
                self.within_limits().map(|()| Found::Bad(Bad { row, id, reason }))
            }
            Err(Fault { too_large: true, reason, .. }) => Err(Refusal::too_large(reason)),
            Err(Fault { reason, .. }) => Err(Refusal::bad(reason)),
        };
        self.done = found.is_err();
        Some(found)
    }
}
