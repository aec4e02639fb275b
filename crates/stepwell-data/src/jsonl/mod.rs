//! JSON lines: one object per line, one graph per object.
//!
//! ```text
//! {"id":"a path","num_nodes":3,"src":[0,1],"dst":[1,2],"node_label":[6,6,8],"y":1}
//! ```
//!
//! The keys are `num_nodes`, `src`, `dst` and, if the data have them, `id`, `weight`, `edge_label`,
//! `edge_attr` with `edge_attr_dim`, `node_label`, `x` with `x_dim`, `pos`, `y`, `split` and
//! `directed`. If edges or vertices have several labels, each is a list:
//! `"edge_label":[[1,0],[2,1]]`. `null` means the same as a missing key; in a list `y` it means an
//! unknown target. Other keys are ignored, with a note, unless [`ReadOptions`] name them. Blank
//! lines, carriage returns and a byte order mark are accepted.
//!
//! ```
//! use stepwell_data::{Dataset, Place, jsonl};
//! let text = "{\"num_nodes\":3,\"src\":[0,1],\"dst\":[1,2],\"y\":\"path\"}\n";
//! let place = Place::file("example.jsonl");
//! let dataset = Dataset::collect(jsonl::Reader::new(text.as_bytes(), place.clone()), &place)?;
//! assert_eq!(dataset.graphs.graph(0).num_edges(), 2);
//!
//! let mut written = Vec::new();
//! jsonl::Writer::new(&mut written, place).write(&dataset)?;
//! assert_eq!(written, text.as_bytes());
//! # Ok::<(), stepwell_data::Error>(())
//! ```

mod line;
mod live;
#[cfg(test)]
mod tests;
mod write;

pub use write::Writer;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::dataset::Dataset;
use crate::error::{Error, Place, Result, quote};
use crate::memory;
use crate::rows::{Collector, Expected, Fault, ReadOptions};
use line::Line;
use live::Live;

/// The longest accepted line, so that a file without line ends cannot fill the memory.
const MAX_LINE: u64 = 1 << 30;

/// Bytes of a line read between two checks of the remaining memory.
const AT_ONCE: u64 = 1 << 20;

/// Bytes of memory per byte of a line: a number takes at least two bytes of text and eight of
/// memory.
const MADE_OF_BYTE: u64 = 4;

/// Reads a whole file. The dataset is named after it.
pub fn read(path: &Path) -> Result<Dataset> {
    read_with(path, &ReadOptions::default())
}

/// Like [`read`], with named columns.
pub fn read_with(path: &Path, options: &ReadOptions) -> Result<Dataset> {
    let place = Place::file(path.display().to_string());
    let file = File::open(path).map_err(|source| Error::io(path, source))?;
    let file = BufReader::with_capacity(1 << 18, file);
    let reader = Reader::with_options(file, place.clone(), options)?;
    let dataset = Dataset::collect(reader, &place)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Dataset { name, ..dataset })
}

/// Reads pieces of about 65 000 vertices. After an error in a line, the next piece continues after
/// that line; after an error of the input, there is no next piece.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    place: Place,
    number: u64,
    bytes: Vec<u8>,
    line: Line,
    /// Non-blank lines so far.
    rows: u64,
    pub(crate) collector: Collector,
    pub(crate) done: bool,
    /// Whether reading the next line would block; the current piece is then returned.
    would_wait: fn(&mut R) -> bool,
}

impl Reader<Live> {
    /// Reads input as it arrives: returns the rows so far whenever reading the next line would
    /// block.
    pub(crate) fn live(
        input: impl Read + Send + 'static,
        place: Place,
        options: &ReadOptions,
    ) -> Result<Self> {
        let input = Live::new(input).map_err(|source| Fault::Io(source).at(place.clone()))?;
        Ok(Self { would_wait: Live::would_wait, ..Self::with_options(input, place, options)? })
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads from `input`; errors call it `place`.
    pub fn new(input: R, place: Place) -> Self {
        Self::unchecked(input, place, &ReadOptions::default())
    }

    /// Like [`new`](Self::new), with named columns. A column found in no line is an error at the
    /// end.
    pub fn with_options(input: R, place: Place, options: &ReadOptions) -> Result<Self> {
        options.check().map_err(|fault| fault.at(place.clone()))?;
        Ok(Self::unchecked(input, place, options))
    }

    fn unchecked(input: R, place: Place, options: &ReadOptions) -> Self {
        Self {
            input,
            place,
            number: 0,
            bytes: Vec::new(),
            line: Line::new(options),
            rows: 0,
            collector: Collector::new(String::new(), options),
            done: false,
            would_wait: |_| false,
        }
    }

    /// Refuses rows whose vertices do not carry the expected features.
    pub fn expect(&mut self, expected: Expected) {
        self.collector.expect(expected);
    }

    /// Rows read so far, valid and invalid.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether more follows after an error.
    pub fn goes_on(&self) -> bool {
        !self.done
    }

    /// The next piece; `None` at the end.
    fn piece(&mut self) -> Result<Option<Dataset>> {
        while !self.done && !self.collector.is_full() {
            if !self.collector.is_empty() && (self.would_wait)(&mut self.input) {
                break;
            }
            self.number += 1;
            let at = |fault: Fault| fault.at(self.place.line(self.number));
            match read_line(&mut self.input, &mut self.bytes, MAX_LINE) {
                Ok(true) => {}
                ended => {
                    self.done = true;
                    ended.map_err(at)?;
                    if self.rows > 0 {
                        self.line.check_keys().map_err(|fault| fault.at(self.place.clone()))?;
                    }
                    break;
                }
            }
            let row = match text(&self.bytes, self.number == 1) {
                Ok("") => continue,
                Ok(text) => self.line.parse(text),
                Err(fault) => Err(fault),
            };
            self.rows += 1;
            self.collector.push(row).map_err(at)?;
        }
        self.collector.note(self.line.notes());
        Ok((!self.collector.is_empty()).then(|| self.collector.take()))
    }
}

/// Reads the next line of at most `limit` bytes; returns false at the end.
fn read_line(input: &mut impl BufRead, bytes: &mut Vec<u8>, limit: u64) -> Result<bool, Fault> {
    bytes.clear();
    loop {
        let most = AT_ONCE.min(limit.saturating_add(1).saturating_sub(bytes.len() as u64));
        let read = input.by_ref().take(most).read_until(b'\n', bytes).map_err(Fault::Io)?;
        if bytes.len() as u64 > limit {
            let found = bytes.len() as u64;
            return Err(Fault::TooLarge { what: "the length of a line in bytes", limit, found });
        }
        if (read as u64) < most || bytes.ends_with(b"\n") {
            return Ok(!bytes.is_empty());
        }
        // Memory for the rest of a long line, and for the numbers in it.
        let needed = AT_ONCE + MADE_OF_BYTE * bytes.len() as u64;
        memory::ask_for("a line", needed).map_err(Fault::Graph)?;
    }
}

/// The text of a line, without the byte order mark and surrounding whitespace.
fn text(bytes: &[u8], first: bool) -> Result<&str, Fault> {
    let bytes = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] if first => rest,
        _ => bytes,
    };
    let bytes = bytes.trim_ascii();
    std::str::from_utf8(bytes).map_err(|error| Fault::new("UTF-8 text", quote(&bytes[error.valid_up_to()..])))
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Dataset>;

    fn next(&mut self) -> Option<Self::Item> {
        self.piece().transpose()
    }
}
