//! Writes responses as JSON lines or Arrow.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use bytes::Bytes;
use hyper::StatusCode;
use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde::Serialize;
use stepwell::config::Precision;
use stepwell::model::Predictions;
use stepwell::reservoir::Embedding;
use stepwell_data::predictions::{Column, Columns};
use stepwell_data::vectors::{ArrowWriter, Block, Key, Shape, VectorWriter};

use crate::Refusal;
use crate::query::{Ask, Endpoint, Format};
use crate::rows::{Id, Piece};

/// The response to a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub media_type: &'static str,
    pub body: Bytes,
    /// Number of graphs in the response.
    pub graphs: usize,
    /// Number of skipped rows.
    pub skipped: usize,
    pub notes: Vec<String>,
}

/// A model's output for some graphs.
pub(crate) enum Said {
    Vectors(Array2<f64>),
    Predictions(Box<Predictions>),
    /// One JSON object per graph.
    Explanations(Vec<Vec<u8>>),
}

impl Said {
    /// The output for `count` graphs from `first` on.
    pub fn part(&self, first: usize, count: usize) -> Self {
        let rows = |all: &Array2<f64>| all.slice(s![first..first + count, ..]).to_owned();
        match self {
            Self::Vectors(vectors) => Self::Vectors(rows(vectors)),
            Self::Predictions(all) => {
                // The embedding has been read already and is not needed any more.
                let embedding = Embedding {
                    vectors: Array2::zeros((0, 0)),
                    runs: Array2::default((0, 0)),
                    colours: None,
                };
                Self::Predictions(Box::new(Predictions {
                    scores: rows(&all.scores),
                    decisions: rows(&all.decisions),
                    classes: all.classes.get(first..first + count).unwrap_or_default().to_vec(),
                    embedding,
                }))
            }
            Self::Explanations(all) => Self::Explanations(all[first..first + count].to_vec()),
        }
    }
}

/// A byte buffer that grows.
#[derive(Clone, Default)]
struct Sink(Rc<RefCell<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the response to one request, piece by piece.
pub(crate) struct Writer<'a> {
    ask: &'a Ask,
    out: Sink,
    arrow: Option<Box<ArrowWriter<Sink>>>,
    /// Bad rows that are not written yet, with id and reason.
    bad: BTreeMap<u64, (Id, String)>,
    answer: Answer,
}

impl<'a> Writer<'a> {
    pub fn new(ask: &'a Ask) -> Result<Self, Refusal> {
        let out = Sink::default();
        let arrow = match ask.output {
            Format::JsonLines => None,
            Format::Arrow => Some(Box::new(ArrowWriter::new(out.clone(), &shape(ask)?))),
        };
        let answer = Answer { media_type: ask.output.media_type(), ..Answer::default() };
        Ok(Self { ask, out, arrow, bad: BTreeMap::new(), answer })
    }

    /// Adds a row without a result. `id` names the row.
    pub fn bad(&mut self, row: u64, id: Id, reason: String) {
        self.answer.skipped += 1;
        self.bad.insert(row, (id, reason));
    }

    /// Writes the results for the graphs of a piece.
    pub fn piece(&mut self, piece: &Piece, said: &Said) -> Result<(), Refusal> {
        self.answer.graphs += piece.rows.len();
        let note = match said {
            Said::Predictions(_) => self.ask.asked.note(self.ask.entry.trained()?).ok().flatten(),
            _ => None,
        };
        let advice = if self.ask.asked.per_class { "" } else { "; per_class=1 covers every class" };
        let note = note.map(|note| note + advice);
        self.answer.notes.extend(note.filter(|note| !self.answer.notes.contains(note)));
        for note in &piece.notes {
            if !self.answer.notes.contains(note) {
                self.answer.notes.push(note.clone());
            }
        }
        let wrong = |error: stepwell::Error| Refusal::bad(error.to_string());
        let columns = match said {
            Said::Predictions(predictions) => {
                Some(Columns::new(self.ask.entry.trained()?, predictions, &self.ask.asked).map_err(wrong)?)
            }
            _ => None,
        };
        let written = match (&mut self.arrow, said) {
            (None, _) => self.lines(piece, said, columns.as_ref()),
            (Some(arrow), said) => {
                let ids: Vec<String> = piece.ids.iter().map(|id| id.text().to_owned()).collect();
                let mut keys = vec![Key::Text(&ids)];
                keys.extend(columns.iter().flat_map(Columns::keys));
                let rows = match (said, &columns) {
                    (Said::Vectors(vectors), _) => vectors.view(),
                    (_, Some(columns)) => columns.scores(),
                    _ => {
                        ArrayView2::from_shape((piece.rows.len(), 0), &[]).unwrap_or_else(|_| unreachable!())
                    }
                };
                arrow.write(&Block { keys, rows })
            }
        };
        written.map_err(unwritable)
    }

    fn lines(&mut self, piece: &Piece, said: &Said, columns: Option<&Columns>) -> io::Result<()> {
        let names: Vec<(String, &Column)> = columns.map_or(Ok(Vec::new()), |columns| {
            let name = |(name, column)| Ok((format!(",{}:", serde_json::to_string(name)?), column));
            columns.named().map(name).collect::<serde_json::Result<_>>()
        })?;
        let single = self.ask.entry.model().config.precision != Precision::F64;
        for (at, row) in piece.rows.iter().enumerate() {
            self.bad_before(*row)?;
            let mut out = self.out.0.borrow_mut();
            if let Said::Explanations(all) = said {
                out.extend_from_slice(&all[at]);
                out.push(b'\n');
                continue;
            }
            out.extend_from_slice(b"{\"id\":");
            serde_json::to_writer(&mut *out, &piece.ids[at])?;
            for (name, column) in &names {
                out.extend_from_slice(name.as_bytes());
                match column {
                    Column::Whole(values) => serde_json::to_writer(&mut *out, &values[at])?,
                    Column::Real(values) => serde_json::to_writer(&mut *out, &values[at])?,
                    Column::Text(values) => serde_json::to_writer(&mut *out, &values[at])?,
                    Column::Json(values) => {
                        out.extend_from_slice(values[at].as_deref().unwrap_or("null").as_bytes());
                    }
                }
            }
            match (said, columns) {
                (Said::Vectors(vectors), _) => list("embedding", vectors.row(at), single, &mut out)?,
                (_, Some(columns)) if columns.scores().ncols() > 0 => {
                    list("scores", columns.scores().row(at), false, &mut out)?;
                }
                _ => {}
            }
            out.extend_from_slice(b"}\n");
        }
        Ok(())
    }

    /// Writes the bad rows that come before this one.
    fn bad_before(&mut self, row: u64) -> io::Result<()> {
        #[derive(Serialize)]
        struct Bad<'a> {
            id: &'a Id,
            error: &'a str,
        }
        while let Some(first) = self.bad.first_entry().filter(|first| *first.key() < row) {
            let (id, error) = first.remove();
            let mut out = self.out.0.borrow_mut();
            serde_json::to_writer(&mut *out, &Bad { id: &id, error: &error })?;
            out.push(b'\n');
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<Answer, Refusal> {
        match self.arrow.take() {
            Some(arrow) => arrow.finish().map_err(unwritable)?,
            None => self.bad_before(u64::MAX).map_err(unwritable)?,
        }
        let body = self.out.0.take().into();
        Ok(Answer { body, ..self.answer })
    }
}

/// Writes a named list of numbers.
fn list(name: &str, values: ArrayView1<'_, f64>, single: bool, out: &mut Vec<u8>) -> io::Result<()> {
    write!(out, ",\"{name}\":")?;
    // A graph without vertices has no prediction.
    if !values.is_empty() && values.iter().all(|value| value.is_nan()) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    let mut separator = b'[';
    for &value in values {
        out.push(separator);
        separator = b',';
        if single {
            serde_json::to_writer(&mut *out, &(value as f32))?;
        } else {
            serde_json::to_writer(&mut *out, &value)?;
        }
    }
    if values.is_empty() {
        out.push(b'[');
    }
    out.push(b']');
    Ok(())
}

/// The columns of an Arrow response.
fn shape(ask: &Ask) -> Result<Shape, Refusal> {
    let model = ask.entry.model();
    match ask.endpoint {
        Endpoint::Embed => {
            let double = model.config.precision == Precision::F64;
            Ok(Shape::numbered(vec!["id"], "embedding", model.width(), double))
        }
        _ => {
            let wrong = |error: stepwell::Error| Refusal::bad(error.to_string());
            Columns::shape(ask.entry.trained()?, &ask.asked).map_err(wrong)
        }
    }
}

fn unwritable(error: io::Error) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the response: {error}"))
}
