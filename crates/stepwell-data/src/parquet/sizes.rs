//! The sizes a Parquet file claims, checked before memory is asked for.
//!
//! The `parquet` crate believes some of them: the number of row groups, of a
//! group's children, of a dictionary's values, of the bytes and values of a
//! page. A few hundred hostile bytes could so ask for more memory than there
//! is, which ends a process in a way no caller can catch, or nest a schema
//! until the stack is gone. The footer and the headers of the pages are
//! therefore walked first. They are in Thrift's compact encoding, of which this
//! reads as much as it takes to pass over everything.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::fault;
use crate::rows::Fault;

/// The most bytes a page may hold when decompressed.
const MAX_PAGE_BYTES: u64 = 1 << 30;

/// The most values a page may hold; run lengths make many of few bytes.
const MAX_PAGE_VALUES: u64 = 1 << 28;

/// The most a byte can become when gzip is undone.
const GZIP_RATIO: u64 = 1032;

/// How deep a schema or a structure of Thrift may be nested.
const MAX_DEPTH: usize = 32;

/// Bytes of a page header that are read at first; long statistics need more.
const HEADER_BYTES: u64 = 1 << 12;

type Result<T, E = Fault> = std::result::Result<T, E>;

fn not_parquet(found: impl Into<String>) -> Fault {
    Fault::new("a Parquet file", found)
}

/// The bytes of the footer, fit to be decoded.
pub(super) fn footer(input: &impl ChunkReader) -> Result<Bytes> {
    const MAGIC: &[u8] = b"PAR1";
    let length = input.len();
    if length < 12 {
        return Err(not_parquet(format!("{length} bytes")));
    }
    let tail = input.get_bytes(length - 8, 8).map_err(fault)?;
    let (size, magic) = tail.split_at(4);
    if magic != MAGIC {
        let ending = crate::error::quote(magic);
        return Err(not_parquet(format!("the ending {ending} for 'PAR1', as in a file cut short")));
    }
    let size = u64::from(u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
    if size > length - 12 {
        return Err(not_parquet(format!("a footer of {size} bytes in a file of {length}")));
    }
    let bytes = input.get_bytes(length - 8 - size, size as usize).map_err(fault)?;
    let mut thrift = Thrift { bytes: &bytes, at: 0 };
    thrift.structure(0, &mut |thrift, id, kind| match (id, kind) {
        (2, Thrift::LIST) => thrift.schema().map(|()| true),
        _ => Ok(false),
    })?;
    Ok(bytes)
}

/// Walks the pages of the columns `wanted` of a row group.
pub(super) fn row_group(
    input: &impl ChunkReader,
    group: &RowGroupMetaData,
    wanted: impl Fn(usize) -> bool,
) -> Result<()> {
    let columns = group.columns().iter().enumerate().filter(|(leaf, _)| wanted(*leaf));
    columns.map(|(_, column)| column).try_for_each(|column| column_chunk(input, column))
}

fn column_chunk(input: &impl ChunkReader, column: &ColumnChunkMetaData) -> Result<()> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    let range = range.and_then(|(start, size)| Some((start, start.checked_add(size)?)));
    let Some((mut at, end)) = range.filter(|&(_, end)| end <= input.len()) else {
        return Err(not_parquet("a column that lies outside the file"));
    };
    let mut values_left = u64::try_from(column.num_values()).unwrap_or(0);
    while at < end {
        let page =
            match Page::parse(&input.get_bytes(at, HEADER_BYTES.min(end - at) as usize).map_err(fault)?) {
                Ok(page) => page,
                Err(_) => Page::parse(&input.get_bytes(at, (end - at) as usize).map_err(fault)?)?,
            };
        at += page.header;
        page.check(end - at, &mut values_left)?;
        if matches!(column.compression(), Compression::GZIP(_)) {
            check_gzip(input, at, page.compressed)?;
        }
        at += page.compressed;
    }
    Ok(())
}

/// The crate undoes gzip to the end, whatever size the page claims.
fn check_gzip(input: &impl ChunkReader, at: u64, compressed: u64) -> Result<()> {
    use std::io::Read;
    if compressed.saturating_mul(GZIP_RATIO) <= MAX_PAGE_BYTES {
        return Ok(());
    }
    let bytes = input.get_bytes(at, compressed as usize).map_err(fault)?;
    let mut inflated = MultiGzDecoder::new(&bytes[..]).take(MAX_PAGE_BYTES + 1);
    let found = std::io::copy(&mut inflated, &mut std::io::sink()).map_err(Fault::Io)?;
    too_large("the size of a page in bytes", MAX_PAGE_BYTES, found)
}

fn too_large(what: &'static str, limit: u64, found: u64) -> Result<()> {
    if found > limit { Err(Fault::TooLarge { what, limit, found }) } else { Ok(()) }
}

/// What a page's header says.
#[derive(Default)]
struct Page {
    header: u64,
    compressed: u64,
    uncompressed: u64,
    data_values: u64,
    dictionary_values: u64,
    encoding: u64,
}

impl Page {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut page = Self::default();
        let mut thrift = Thrift { bytes, at: 0 };
        thrift.structure(0, &mut |thrift, id, kind| {
            match (id, kind) {
                (2, Thrift::I32) => page.uncompressed = thrift.count()?,
                (3, Thrift::I32) => page.compressed = thrift.count()?,
                (5 | 7 | 8, Thrift::STRUCT) => thrift.structure(1, &mut |thrift, part, kind| {
                    match (id, part, kind) {
                        (7, 1, Thrift::I32) => page.dictionary_values = thrift.count()?,
                        (_, 1, Thrift::I32) => page.data_values = thrift.count()?,
                        (5, 2, Thrift::I32) | (8, 4, Thrift::I32) => page.encoding = thrift.count()?,
                        _ => return Ok(false),
                    }
                    Ok(true)
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        page.header = thrift.at as u64;
        Ok(page)
    }

    fn check(&self, bytes_left: u64, values_left: &mut u64) -> Result<()> {
        if self.compressed > bytes_left {
            return Err(not_parquet(format!(
                "a page of {} bytes where {bytes_left} are left",
                self.compressed
            )));
        }
        too_large("the size of a page in bytes", MAX_PAGE_BYTES, self.uncompressed)?;
        too_large("the number of values in a page", MAX_PAGE_VALUES, self.data_values)?;
        if self.dictionary_values > self.uncompressed {
            let found =
                format!("a dictionary of {} values in {} bytes", self.dictionary_values, self.uncompressed);
            return Err(not_parquet(found));
        }
        // Both store a count of lengths inside the page, which would have to be decompressed to be checked.
        if let 6 | 7 = self.encoding {
            let name = if self.encoding == 6 { "DELTA_LENGTH_BYTE_ARRAY" } else { "DELTA_BYTE_ARRAY" };
            return Err(Fault::new(
                "text stored plainly or with a dictionary",
                format!("the encoding {name}"),
            ));
        }
        *values_left = values_left
            .checked_sub(self.data_values)
            .ok_or_else(|| not_parquet("pages with more values than their column has"))?;
        Ok(())
    }
}

/// A walk over bytes in Thrift's compact encoding.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    const I32: u8 = 5;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;

    fn cut() -> Fault {
        not_parquet("a header cut short")
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(Self::cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn pass(&mut self, count: u64) -> Result<()> {
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(Self::cut());
        }
        self.at += count as usize;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(not_parquet("a number of more than 64 bits in a header"))
    }

    /// A signed number that must not be negative.
    fn count(&mut self) -> Result<u64> {
        let zigzag = self.varint()?;
        match zigzag & 1 {
            0 => Ok(zigzag >> 1),
            _ => Err(not_parquet("a negative size in a header")),
        }
    }

    /// Reads the fields of a structure: `visit` reads one and says so, or leaves it to be passed over.
    fn structure(
        &mut self,
        depth: usize,
        visit: &mut dyn FnMut(&mut Self, u64, u8) -> Result<bool>,
    ) -> Result<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.count()?,
                step => id + u64::from(step),
            };
            if !visit(self, id, kind)? {
                self.skip(kind, depth)?;
            }
        }
    }

    fn list(&mut self) -> Result<(u64, u8)> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => self.varint()?,
            size => u64::from(size),
        };
        match size > (self.bytes.len() - self.at) as u64 {
            true => Err(Self::cut()),
            false => Ok((size, head & 0x0f)),
        }
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(not_parquet(format!("a header nested more than {MAX_DEPTH} deep")));
        }
        match kind {
            1 | 2 => Ok(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.pass(8),
            8 => self.varint().and_then(|length| self.pass(length)),
            Self::LIST | 10 => {
                let (size, kind) = self.list()?;
                (0..size).try_for_each(|_| self.skip_element(kind, depth + 1))
            }
            11 => {
                let size = self.varint()?;
                let kinds = if size > 0 { self.byte()? } else { 0 };
                (0..size).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth + 1)?;
                    self.skip_element(kinds & 0x0f, depth + 1)
                })
            }
            Self::STRUCT => self.structure(depth + 1, &mut |_, _, _| Ok(false)),
            _ => Err(not_parquet(format!("an unknown kind of field ({kind}) in a header"))),
        }
    }

    /// In a list a truth value has a byte of its own.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if let 1 | 2 = kind { self.pass(1) } else { self.skip(kind, depth) }
    }

    /// The schema: its elements in depth-first order, each with the number of its children.
    fn schema(&mut self) -> Result<()> {
        let (elements, kind) = self.list()?;
        if kind != Self::STRUCT {
            return Err(not_parquet("a schema that is none"));
        }
        let mut open: Vec<u64> = Vec::new();
        for element in 0..elements {
            let mut children = 0;
            self.structure(1, &mut |thrift, id, kind| match (id, kind) {
                (5, Self::I32) => thrift.count().map(|count| {
                    children = count;
                    true
                }),
                _ => Ok(false),
            })?;
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if children > elements - element - 1 {
                return Err(not_parquet(format!(
                    "a schema of {elements} elements, one with {children} children"
                )));
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > MAX_DEPTH {
                return Err(not_parquet(format!("a schema nested more than {MAX_DEPTH} deep")));
            }
        }
        Ok(())
    }
}
