//! Walks bytes in Thrift's compact encoding, which Parquet's footer and page headers use. It skips
//! all values and allocates nothing.
//!
//! The `parquet` crate reads a field by its number, whatever type it claims to have. A field of an
//! unexpected type is therefore an error here; otherwise the two could read the same bytes
//! differently.

use crate::rows::Fault;

/// The deepest nesting of structures.
pub(super) const MAX_DEPTH: usize = 32;

type Result<T, E = Fault> = std::result::Result<T, E>;

pub(super) fn not_parquet(found: impl Into<String>) -> Fault {
    Fault::new("a Parquet file", found)
}

/// The bytes and the current position.
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
    truth: bool,
}

impl<'a> Thrift<'a> {
    pub const BOOL: u8 = 1;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const STRUCT: u8 = 12;

    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, truth: false }
    }

    /// The value of the current field, if its type is [`BOOL`](Self::BOOL).
    pub fn truth(&self) -> bool {
        self.truth
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.at as u64
    }

    /// A signed integer that must not be negative.
    pub fn count(&mut self) -> Result<u64> {
        let zigzag = self.varint()?;
        match zigzag & 1 {
            0 => Ok(zigzag >> 1),
            _ => Err(not_parquet("a negative size in a header")),
        }
    }

    /// Walks a structure whose fields 1, 2, … have the types `kinds`. Calls `visit` before each
    /// field: it either reads the field and returns true, or returns false to have it skipped.
    pub fn structure(
        &mut self,
        kinds: &[u8],
        depth: usize,
        visit: &mut dyn FnMut(&mut Self, u64) -> Result<bool>,
    ) -> Result<()> {
        let mut id = 0;
        loop {
            let head = self.byte()?;
            self.truth = head & 0x0f == 1;
            let kind = match head & 0x0f {
                0 => return Ok(()),
                2 => Self::BOOL, // true and false have their own types
                kind => kind,
            };
            id = match head >> 4 {
                0 => self.count()?,
                step => id + u64::from(step),
            };
            let expected = id.checked_sub(1).and_then(|index| kinds.get(usize::try_from(index).ok()?));
            if id > i16::MAX as u64 || expected.is_some_and(|&expected| expected != kind) {
                return Err(not_parquet(format!("field {id} of a header with kind {kind}")));
            }
            if !visit(self, id)? {
                self.skip(kind, depth)?;
            }
        }
    }

    /// The length of a list and the type of its elements.
    pub fn list(&mut self) -> Result<(u64, u8)> {
        let head = self.byte()?;
        let size = match head >> 4 {
            15 => self.varint()?,
            size => u64::from(size),
        };
        if size > self.left() { Err(Self::cut()) } else { Ok((size, head & 0x0f)) }
    }

    fn cut() -> Fault {
        not_parquet("a truncated header")
    }

    fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    fn byte(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(Self::cut)?;
        self.at += 1;
        Ok(byte)
    }

    fn pass(&mut self, count: u64) -> Result<()> {
        if count > self.left() {
            return Err(Self::cut());
        }
        self.at += count as usize;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut rest = &self.bytes[self.at..];
        let is_cut = rest.len() < VARINT_BYTES;
        let value = varint(&mut rest);
        self.at = self.bytes.len() - rest.len();
        let too_large = || not_parquet("a number of more than 64 bits in a header");
        value.ok_or_else(|| if is_cut { Self::cut() } else { too_large() })
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(not_parquet(format!("a header nested more than {MAX_DEPTH} deep")));
        }
        match kind {
            Self::BOOL => Ok(()),
            3 => self.pass(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.pass(8),
            Self::BINARY => self.varint().and_then(|length| self.pass(length)),
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
            Self::STRUCT => self.structure(&[], depth + 1, &mut |_, _| Ok(false)),
            _ => Err(not_parquet(format!("a field of the unknown kind {kind} in a header"))),
        }
    }

    /// In a list, a boolean takes a byte of its own.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Result<()> {
        if let 1 | 2 = kind { self.pass(1) } else { self.skip(kind, depth) }
    }
}

/// The most bytes of a 64-bit varint.
const VARINT_BYTES: usize = 10;

/// A variable-length integer: seven bits per byte, lowest first. Returns `None` if the bytes end
/// early or the value exceeds 64 bits.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..VARINT_BYTES {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << (7 * place);
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A structure of 32-bit fields with ids from 1; `None` omits one.
    pub(in crate::parquet) fn structure(fields: &[Option<u64>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut step = 0u8;
        for field in fields {
            step += 1;
            if let Some(value) = field {
                bytes.push(step << 4 | Thrift::I32);
                varint(&mut bytes, value << 1);
                step = 0;
            }
        }
        bytes.push(0);
        bytes
    }

    pub(in crate::parquet) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }

    fn walk(bytes: &[u8]) -> Result<u64> {
        let mut thrift = Thrift::new(bytes);
        thrift.structure(&[Thrift::I32], 0, &mut |_, _| Ok(false)).map(|()| thrift.position())
    }

    #[test]
    fn everything_is_passed_over() {
        let bytes = structure(&[Some(1), None, Some(1 << 40)]);
        assert_eq!(walk(&bytes).unwrap(), bytes.len() as u64);
        // true, a byte, a double, a string, a list of booleans, a map of byte to string, a
        // structure, an explicit id 1000.
        let mut bytes = vec![0x21, 0x13, 9, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2, b'h', b'i'];
        bytes.extend([0x19, 0x21, 1, 2, 0x1b, 1, 0x38, 7, 1, b'a', 0x1c, 0x15, 3, 0]);
        bytes.extend([0x05, 0xd0, 0x0f, 4, 0]);
        assert_eq!(walk(&bytes).unwrap(), bytes.len() as u64);
        for length in 0..bytes.len() {
            assert!(walk(&bytes[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn what_could_be_read_otherwise_is_refused() {
        assert!(walk(&[0x16, 2, 0]).is_err(), "field 1 is of another kind");
        assert!(walk(&[0x05, 0xff, 0xff, 0xff, 0x7f, 2, 0]).is_err(), "an id of more than 16 bits");
        assert!(walk(&[0x29, 0xfc, 0xff, 0xff, 0xff, 0x0f, 0, 0]).is_err(), "a list longer than the bytes");
        assert!(walk(&[0x29].repeat(1000)).is_err(), "lists in lists");
        assert!(walk(&[0x2c].repeat(1000)).is_err(), "structures in structures");
        assert!(walk(&[0x25, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0]).is_err());
    }
}
