//! The longest row of a column of lists, found without decoding its values.
//!
//! A few bytes of run lengths can stand for a row of any number of values, among rows that are
//! short. If a row group does not fit into memory as a whole, the repetition levels of its pages
//! give the lengths of its rows: a row begins where the level is 0.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

use super::fault;
use super::thrift::{not_parquet, varint};
use crate::rows::Fault;

type Result<T, E = Fault> = std::result::Result<T, E>;

/// The number of values in the longest row of a column. The page sizes must have been checked
/// before.
pub(super) fn row(input: &(impl ChunkReader + Clone), column: &ColumnChunkMetaData) -> Result<u64> {
    let most = u64::try_from(column.column_descr().max_rep_level()).unwrap_or(0);
    if most == 0 {
        return Ok(1);
    }
    let width = u64::BITS - most.leading_zeros();
    let rows = usize::try_from(column.num_values()).unwrap_or(0);
    let pages = SerializedPageReader::new(Arc::new(input.clone()), column, rows, None);
    let mut pages = pages.map_err(fault)?;
    let mut lengths = Lengths::default();
    while let Some(page) = pages.get_next_page().map_err(fault)? {
        match &page {
            Page::DictionaryPage { .. } => {}
            Page::DataPage { buf, num_values, rep_level_encoding, .. } => {
                let values = u64::from(*num_values);
                #[expect(deprecated, reason = "old files have it")]
                if *rep_level_encoding == Encoding::BIT_PACKED {
                    // Without runs, a page has as many values as it declares.
                    lengths.run(1, values);
                    continue;
                }
                let (length, levels) = buf.split_first_chunk().ok_or_else(cut_short)?;
                let length = u32::from_le_bytes(*length) as usize;
                lengths.page(levels.get(..length).ok_or_else(cut_short)?, width, values)?;
            }
            Page::DataPageV2 { buf, num_values, rep_levels_byte_len, .. } => {
                let levels = buf.get(..*rep_levels_byte_len as usize).ok_or_else(cut_short)?;
                lengths.page(levels, width, u64::from(*num_values))?;
            }
        }
    }
    Ok(lengths.longest.max(lengths.current))
}

fn cut_short() -> Fault {
    not_parquet("truncated levels of a page")
}

/// Measures rows while their levels are read.
#[derive(Default)]
struct Lengths {
    current: u64,
    longest: u64,
}

impl Lengths {
    /// Reads the levels of a page: runs, and bit-packed groups of eight.
    fn page(&mut self, mut bytes: &[u8], width: u32, mut left: u64) -> Result<()> {
        while left > 0 {
            let head = varint(&mut bytes).ok_or_else(cut_short)?;
            if head & 1 == 0 {
                let (&level, rest) = bytes.split_first().ok_or_else(cut_short)?;
                bytes = rest;
                let count = (head >> 1).min(left);
                if count == 0 {
                    return Err(cut_short());
                }
                self.run(u64::from(level), count);
                left -= count;
                continue;
            }
            let packed =
                (head >> 1).checked_mul(u64::from(width)).and_then(|size| usize::try_from(size).ok());
            let packed = packed.filter(|&size| size > 0).ok_or_else(cut_short)?;
            // The last group may be shorter than declared.
            let (levels, rest) = bytes.split_at(packed.min(bytes.len()));
            bytes = rest;
            let count = (levels.len() as u64 * 8 / u64::from(width)).min(left);
            if count == 0 {
                return Err(cut_short());
            }
            for at in 0..count {
                self.run(bits(levels, at * u64::from(width), width), 1);
            }
            left -= count;
        }
        Ok(())
    }

    fn run(&mut self, level: u64, count: u64) {
        if level == 0 {
            self.longest = self.longest.max(self.current).max(1);
            self.current = 1;
        } else {
            self.current = self.current.saturating_add(count);
        }
    }
}

/// Extracts a few bits from little-endian bytes.
fn bits(bytes: &[u8], at: u64, width: u32) -> u64 {
    let bit = |at: u64| u64::from(bytes.get((at / 8) as usize).map_or(0, |byte| byte >> (at % 8) & 1));
    (0..width).map(|place| bit(at + u64::from(place)) << place).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn longest(bytes: &[u8], width: u32, values: u64) -> Option<u64> {
        let mut lengths = Lengths::default();
        lengths.page(bytes, width, values).ok()?;
        Some(lengths.longest.max(lengths.current))
    }

    #[test]
    fn rows_begin_where_the_level_is_0() {
        // One level 0, a thousand of 1 (varint 2000), one of 0: rows of 1001 values and of 1.
        assert_eq!(longest(&[2, 0, 0xd0, 0x0f, 1, 2, 0], 1, 1002), Some(1001));
        // Eight packed levels 0 1 1 0 1 0 0 0, of which seven count.
        assert_eq!(longest(&[3, 0b0001_0110], 1, 7), Some(3));
        // Two bits each: 0 2 1 2, then 0 0 0 0.
        assert_eq!(longest(&[3, 0b1001_1000, 0], 2, 8), Some(4));
        // A run may declare more values than are left.
        assert_eq!(longest(&[2, 0, 0xfe, 0xff, 0x7e, 1], 1, 11), Some(11));
        for broken in [&[][..], &[2], &[0, 0], &[1], &[3]] {
            assert_eq!(longest(broken, 1, 5), None, "{broken:?}");
        }
    }

    #[test]
    fn rows_go_on_in_the_next_page() {
        let mut lengths = Lengths::default();
        lengths.page(&[2, 0, 8, 1], 1, 5).unwrap();
        lengths.page(&[14, 1, 2, 0], 1, 8).unwrap();
        assert_eq!(lengths.longest.max(lengths.current), 12);
    }
}
