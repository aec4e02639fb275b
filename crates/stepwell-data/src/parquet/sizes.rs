//! Checks the sizes a Parquet file claims before memory is allocated.
//!
//! The `parquet` crate trusts some of them: the number of row groups, of a group's children, of a
//! dictionary's values, and of the bytes and values of a page. A few hundred hostile bytes could
//! therefore request more memory than there is, which aborts the process, or nest a schema until
//! the stack overflows. This module walks the footer and the page headers first.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;

use super::thrift::{MAX_DEPTH, Thrift, not_parquet};
use super::{delta, fault};
use crate::memory;
use crate::rows::Fault;

/// The most bytes of a decompressed page.
const MAX_PAGE_BYTES: u64 = 1 << 30;

/// The most values of a page; run lengths expand a few bytes to many values.
const MAX_PAGE_VALUES: u64 = 1 << 28;

/// The largest expansion by gzip.
const GZIP_RATIO: u64 = 1032;

/// The largest expansion by LZ4.
const LZ4_RATIO: u64 = 255;

/// String encodings that begin with a count of lengths, inside the compressed page.
const DELTA_TEXTS: [u64; 2] = [6, 7];

/// Bytes read for a page header: first, and again if long statistics need more.
const HEADER_BYTES: [u64; 2] = [1 << 12, 1 << 20];

type Result<T, E = Fault> = std::result::Result<T, E>;

/// The bytes of the footer, checked for decoding.
pub(super) fn footer(input: &impl ChunkReader) -> Result<Bytes> {
    const MAGIC: &[u8] = b"PAR1";
    let length = input.len();
    if length < 12 {
        return Err(not_parquet(format!("{length} bytes")));
    }
    let tail = input.get_bytes(length - 8, 8).map_err(fault)?;
    let (size, magic) = tail.split_at(4);
    if magic != MAGIC {
        return Err(not_parquet("no 'PAR1' at the end, as in a truncated file"));
    }
    let size = u64::from(u32::from_le_bytes([size[0], size[1], size[2], size[3]]));
    if size > length - 12 {
        return Err(not_parquet(format!("a footer of {size} bytes in a file of {length}")));
    }
    let bytes = input.get_bytes(length - 8 - size, size as usize).map_err(fault)?;
    const KINDS: [u8; 9] = [
        Thrift::I32,
        Thrift::LIST, // the schema
        Thrift::I64,
        Thrift::LIST,
        Thrift::LIST,
        Thrift::BINARY,
        Thrift::LIST,
        Thrift::STRUCT,
        Thrift::BINARY,
    ];
    Thrift::new(&bytes).structure(&KINDS, 0, &mut |thrift, id| match id {
        2 => schema(thrift).map(|()| true),
        _ => Ok(false),
    })?;
    Ok(bytes)
}

/// The schema: its elements in depth-first order, each with the number of its children.
fn schema(thrift: &mut Thrift<'_>) -> Result<()> {
    const KINDS: [u8; 10] = {
        let mut kinds = [Thrift::I32; 10];
        kinds[3] = Thrift::BINARY;
        kinds[9] = Thrift::STRUCT;
        kinds
    };
    let (elements, kind) = thrift.list()?;
    if kind != Thrift::STRUCT {
        return Err(not_parquet("an empty schema"));
    }
    // The number of children still to come for each open group.
    let mut open: Vec<u64> = Vec::new();
    for element in 0..elements {
        let mut children = 0;
        thrift.structure(&KINDS, 1, &mut |thrift, id| {
            if id == 5 {
                children = thrift.count()?;
            }
            Ok(id == 5)
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

/// Walks the pages of the `wanted` columns of a row group. Returns the most bytes that the strings
/// of one row may take.
pub(super) fn row_group(
    input: &(impl ChunkReader + Clone),
    group: &RowGroupMetaData,
    wanted: impl Fn(usize) -> bool,
) -> Result<u64> {
    let (mut pages, mut texts) = (0u64, 0u64);
    for (leaf, column) in group.columns().iter().enumerate() {
        if wanted(leaf) {
            let held = column_chunk(input, column)?;
            pages = pages.saturating_add(held.page).saturating_add(held.dictionary);
            if column.column_type() == Type::BYTE_ARRAY {
                texts = texts.saturating_add(held.dictionary);
            }
        }
    }
    // One page of each column is decompressed at a time.
    memory::ask_for("a page of each column", pages).map_err(Fault::Graph)?;
    Ok(texts)
}

/// The decompressed size of the longest pages of a column, in bytes.
#[derive(Default)]
struct Held {
    page: u64,
    dictionary: u64,
}

fn column_chunk(input: &(impl ChunkReader + Clone), column: &ColumnChunkMetaData) -> Result<Held> {
    let mut held = Held::default();
    let limit = MAX_PAGE_BYTES.min(memory::left().bytes);
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let range = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
    let range = range.and_then(|(start, size)| Some((start, start.checked_add(size)?)));
    let Some((mut at, end)) = range.filter(|&(_, end)| end <= input.len()) else {
        return Err(not_parquet("a column chunk beyond the end of the file"));
    };
    let mut values_left = u64::try_from(column.num_values()).unwrap_or(0);
    let mut delta_texts = false;
    while at < end {
        let header = |most: u64| {
            let bytes = input.get_bytes(at, most.min(end - at) as usize).map_err(fault)?;
            Page::parse(&bytes)
        };
        let page = header(HEADER_BYTES[0]).or_else(|_| header(HEADER_BYTES[1]))?;
        at += page.header;
        page.check(end - at, &mut values_left)?;
        if page.is_dictionary {
            held.dictionary = held.dictionary.max(page.uncompressed);
        } else {
            held.page = held.page.max(page.uncompressed);
        }
        let values = (at.saturating_add(page.levels), page.compressed.saturating_sub(page.levels));
        match column.compression() {
            _ if page.stored => {}
            Compression::GZIP(_) => check_gzip(input, values, limit)?,
            Compression::BROTLI(_) => check_brotli(input, values, limit)?,
            // One of the three LZ4 formats is also decompressed to its end.
            Compression::LZ4 => {
                let found = page.compressed.saturating_mul(LZ4_RATIO);
                too_large("the unpacked size of an LZ4 page", MAX_PAGE_BYTES, found)?;
            }
            _ => {}
        }
        delta_texts |= DELTA_TEXTS.contains(&page.encoding);
        at += page.compressed;
    }
    if delta_texts {
        delta::check(input, column)?;
    }
    Ok(held)
}

/// The crate decompresses gzip to its end, whatever size the page claims.
fn check_gzip(input: &impl ChunkReader, (at, compressed): (u64, u64), limit: u64) -> Result<()> {
    if compressed.saturating_mul(GZIP_RATIO) <= limit {
        return Ok(());
    }
    let bytes = input.get_bytes(at, compressed as usize).map_err(fault)?;
    check_undone(MultiGzDecoder::new(&bytes[..]), limit)
}

/// The same holds for Brotli, where a few bytes can expand to any number.
fn check_brotli(input: &impl ChunkReader, (at, compressed): (u64, u64), limit: u64) -> Result<()> {
    if compressed == 0 {
        return Ok(());
    }
    let bytes = input.get_bytes(at, compressed as usize).map_err(fault)?;
    check_undone(brotli::Decompressor::new(&bytes[..], 1 << 16), limit)
}

fn check_undone(undone: impl Read, limit: u64) -> Result<()> {
    let found = std::io::copy(&mut undone.take(limit + 1), &mut std::io::sink());
    let found = found.map_err(|error| not_parquet(format!("a page with {error}")))?;
    too_large("the size of a page in bytes", limit, found)
}

fn too_large(what: &'static str, limit: u64, found: u64) -> Result<()> {
    if found > limit { Err(Fault::TooLarge { what, limit, found }) } else { Ok(()) }
}

/// The contents of a page header.
#[derive(Default)]
struct Page {
    header: u64,
    compressed: u64,
    uncompressed: u64,
    data_values: u64,
    dictionary_values: u64,
    encoding: u64,
    /// Bytes of uncompressed levels before the values.
    levels: u64,
    /// Whether the page is uncompressed, whatever the column's compression.
    stored: bool,
    /// Whether the header states the kind of page, and whether it is a dictionary.
    described: bool,
    is_dictionary: bool,
}

impl Page {
    fn parse(bytes: &[u8]) -> Result<Self> {
        use Thrift as T;
        const PAGE: [u8; 8] = [T::I32, T::I32, T::I32, T::I32, T::STRUCT, T::STRUCT, T::STRUCT, T::STRUCT];
        const DATA: [u8; 5] = [T::I32, T::I32, T::I32, T::I32, T::STRUCT];
        const DICTIONARY: [u8; 3] = [T::I32, T::I32, T::BOOL];
        const DATA_2: [u8; 8] = [T::I32, T::I32, T::I32, T::I32, T::I32, T::I32, T::BOOL, T::STRUCT];
        let mut page = Self::default();
        let mut thrift = Thrift::new(bytes);
        thrift.structure(&PAGE, 0, &mut |thrift, id| {
            let kinds: &[u8] = match id {
                2 => return thrift.count().map(|size| page.uncompressed = size).map(|()| true),
                3 => return thrift.count().map(|size| page.compressed = size).map(|()| true),
                5 => &DATA,
                6 => &[],
                7 => &DICTIONARY,
                8 => &DATA_2,
                _ => return Ok(false),
            };
            page.described = true;
            page.is_dictionary |= id == 7;
            thrift.structure(kinds, 1, &mut |thrift, part| {
                match (id, part) {
                    (7, 1) => page.dictionary_values = thrift.count()?,
                    (5 | 8, 1) => page.data_values = thrift.count()?,
                    (5, 2) | (8, 4) => page.encoding = thrift.count()?,
                    (8, 5 | 6) => page.levels = page.levels.saturating_add(thrift.count()?),
                    (8, 7) => page.stored = !thrift.truth(),
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
            Ok(true)
        })?;
        if !page.described {
            return Err(not_parquet("a page without a header"));
        }
        page.header = thrift.position();
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
        *values_left = values_left
            .checked_sub(self.data_values)
            .ok_or_else(|| not_parquet("pages with more values than their column has"))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::thrift::tests::{structure, varint};
    use super::*;

    /// A page header: sizes, then the structure of its kind under `id`.
    fn page(uncompressed: u64, compressed: u64, id: u8, kind: &[Option<u64>]) -> Vec<u8> {
        let mut bytes = structure(&[Some(0), Some(uncompressed), Some(compressed)]);
        bytes.pop();
        bytes.push((id - 3) << 4 | Thrift::STRUCT);
        bytes.extend(structure(kind));
        bytes.push(0);
        bytes
    }

    /// Returns the values left of 1000 in a column of 100 bytes, or the error.
    fn check(bytes: &[u8]) -> std::result::Result<u64, String> {
        let mut left = 1000;
        let said = |fault: Fault| fault.at(crate::Place::file("f")).to_string();
        let page = Page::parse(bytes).map_err(said)?;
        assert_eq!(page.header, bytes.len() as u64);
        page.check(100, &mut left).map_err(said)?;
        Ok(left)
    }

    #[test]
    fn pages_are_taken_at_their_word_only_within_reason() {
        assert_eq!(check(&page(50, 40, 5, &[Some(7), Some(0)])), Ok(993));
        assert_eq!(check(&page(50, 40, 8, &[Some(7), None, None, Some(8)])), Ok(993));
        assert_eq!(check(&page(50, 40, 7, &[Some(7), Some(0)])), Ok(1000));
        let refused = |bytes: Vec<u8>, expected: &str| {
            let said = check(&bytes).unwrap_err();
            assert!(said.ends_with(expected), "{said}");
        };
        refused(page(50, 101, 5, &[Some(7)]), "found a page of 101 bytes where 100 are left");
        refused(page(50, 40, 7, &[Some(51)]), "found a dictionary of 51 values in 50 bytes");
        refused(page(50, 40, 5, &[Some(1001)]), "found pages with more values than their column has");
        refused(structure(&[Some(0), Some(1), Some(1)]), "found a page without a header");
        refused(page(1 << 31, 40, 5, &[]), "page in bytes is 2147483648, more than the limit of 1073741824");
        refused(page(50, 40, 5, &[Some(1 << 29)]), "page is 536870912, more than the limit of 268435456");
    }

    #[test]
    fn gzip_is_undone_to_be_measured() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut encoder, &[0; 100_000]).unwrap();
        let bytes = Bytes::from(encoder.finish().unwrap());
        let check = |limit| check_gzip(&bytes, (0, bytes.len() as u64), limit);
        assert!((bytes.len() as u64) < 1000);
        assert!(check(100_000).is_ok());
        assert!(matches!(check(99_999), Err(Fault::TooLarge { found: 100_000, .. })));
        let broken = bytes.slice(..bytes.len() - 9);
        let broken = check_gzip(&broken, (0, broken.len() as u64), 100_000);
        assert!(matches!(broken, Err(Fault::Malformed { .. })));
    }

    /// A file that consists of a footer only.
    fn file(metadata: &[u8]) -> Bytes {
        let size = (metadata.len() as u32).to_le_bytes();
        Bytes::from([b"PAR1", metadata, &size, b"PAR1"].concat())
    }

    /// Whether a footer is accepted whose schema has these numbers of children.
    fn schema(children: &[u64]) -> bool {
        let mut metadata = vec![2 << 4 | Thrift::LIST, 15 << 4 | Thrift::STRUCT];
        varint(&mut metadata, children.len() as u64);
        for &count in children {
            metadata.extend(structure(&[None, None, None, None, Some(count)]));
        }
        metadata.push(0);
        footer(&file(&metadata)).is_ok()
    }

    #[test]
    fn schemas_are_neither_larger_than_the_file_nor_deep() {
        assert!(schema(&[2, 1, 0, 0]));
        assert!(!schema(&[1, 1]), "the last one has a child that is not there");
        assert!(!schema(&[1 << 30, 0]));
        let mut deep = vec![1; MAX_DEPTH];
        deep.push(0);
        assert!(schema(&deep));
        deep.insert(0, 1);
        assert!(!schema(&deep));
    }

    #[test]
    fn row_groups_are_not_more_than_the_footer_has_bytes() {
        let mut metadata = vec![4 << 4 | Thrift::LIST, 15 << 4 | Thrift::STRUCT];
        varint(&mut metadata, 1 << 31);
        metadata.extend([0; 100]);
        assert!(footer(&file(&metadata)).is_err());
    }
}
