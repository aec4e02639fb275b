//! Checks the counts inside pages of delta-encoded strings.
//!
//! DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY begin with lengths packed by DELTA_BINARY_PACKED,
//! which declare their own number. The `parquet` crate allocates that many, so the number is first
//! compared with the number of values in the page.

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

/// Checks the counts in every page of a column. The page sizes must have been checked before.
pub(super) fn check(input: &(impl ChunkReader + Clone), column: &ColumnChunkMetaData) -> Result<()> {
    let levels = column.column_descr();
    if levels.max_rep_level() > 0 {
        return Err(Fault::new(
            "lists of strings encoded as PLAIN or with a dictionary",
            "lists of strings encoded as DELTA_BYTE_ARRAY",
        ));
    }
    let rows = usize::try_from(column.num_values()).unwrap_or(0);
    let pages = SerializedPageReader::new(Arc::new(input.clone()), column, rows, None);
    let mut pages = pages.map_err(fault)?;
    while let Some(page) = pages.get_next_page().map_err(fault)? {
        let (start, values, encoding) = match &page {
            // Definition levels with their length before them, if values may be missing.
            Page::DataPage { buf, num_values, encoding, .. } if levels.max_def_level() > 0 => {
                let length = buf.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize);
                let start = length.and_then(|length| length.checked_add(4));
                (start.ok_or_else(cut_short)?, *num_values, *encoding)
            }
            Page::DataPage { num_values, encoding, .. } => (0, *num_values, *encoding),
            Page::DataPageV2 { num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let start = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                (start as usize, *num_values, *encoding)
            }
            Page::DictionaryPage { .. } => continue,
        };
        let bytes = page.buffer().get(start..).ok_or_else(cut_short)?;
        match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                Packed::of(bytes, values)?;
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let rest = Packed::of(bytes, values)?.skipped()?;
                Packed::of(rest, values)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn cut_short() -> Fault {
    not_parquet("a truncated page of strings")
}

/// Integers encoded by DELTA_BINARY_PACKED.
struct Packed<'a> {
    block: u64,
    miniblocks: u64,
    count: u64,
    rest: &'a [u8],
}

impl<'a> Packed<'a> {
    /// Reads the header of the integers, of which there may be at most `most`.
    fn of(mut rest: &'a [u8], most: u32) -> Result<Self> {
        let mut next = || varint(&mut rest).ok_or_else(cut_short);
        let (block, miniblocks, count, _first) = (next()?, next()?, next()?, next()?);
        if count > u64::from(most) {
            return Err(not_parquet(format!("{count} lengths of strings in a page of {most} values")));
        }
        Ok(Self { block, miniblocks, count, rest })
    }

    /// Skips the integers and returns the bytes after them.
    fn skipped(mut self) -> Result<&'a [u8]> {
        let each = self.block.checked_div(self.miniblocks).filter(|each| *each > 0 && self.count > 0);
        let mut left = self.count.saturating_sub(1);
        while left > 0 {
            let each = each.ok_or_else(cut_short)?;
            varint(&mut self.rest).ok_or_else(cut_short)?; // the minimum delta
            let widths = usize::try_from(self.miniblocks).ok().and_then(|n| self.rest.split_at_checked(n));
            let (widths, mut rest) = widths.ok_or_else(cut_short)?;
            for &width in widths {
                if left == 0 {
                    break;
                }
                let bytes = each.checked_mul(u64::from(width)).map(|bits| (bits / 8) as usize);
                rest = bytes.and_then(|bytes| rest.get(bytes..)).ok_or_else(cut_short)?;
                left = left.saturating_sub(each);
            }
            self.rest = rest;
        }
        Ok(self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_compared_with_the_page() {
        // Blocks of 128 in 4 miniblocks, 3 values, the first 7; minimum delta 1, widths, 32 x 2
        // bits.
        let mut bytes = vec![128, 1, 4, 3, 14, 2, 2, 0, 0, 0];
        bytes.extend([0b0110, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(b"rest");
        assert_eq!(Packed::of(&bytes, 3).unwrap().skipped().unwrap(), b"rest");
        assert!(Packed::of(&bytes, 2).is_err(), "a page of two values has no three lengths");
        assert!(Packed::of(&bytes[..3], 3).is_err());
        assert!(Packed::of(&bytes[..12], 3).unwrap().skipped().is_err());
        let none = [128, 1, 4, 0, 0, 9];
        assert_eq!(Packed::of(&none, 0).unwrap().skipped().unwrap(), [9]);
        let hostile = [128, 1, 4, 255, 255, 255, 255, 15, 0];
        assert!(Packed::of(&hostile, 1000).is_err());
        assert!(Packed::of(&[0, 0, 2, 0, 0], 9).unwrap().skipped().is_err(), "miniblocks of nothing");
    }
}
