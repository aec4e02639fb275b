//! One array per file: the `.npy` format, versions 1 to 3.
//!
//! A file has a magic string, a version, the length of the header, the header and the data. The
//! header is a Python dict literal with exactly the keys `descr`, `fortran_order` and `shape`; the
//! parser accepts nothing else. The data are raw numbers or, for objects, a pickle.

use super::array::{Array, Data, Dtype, KNOWN_TYPES, MAX_RANK, product, shown};
use super::objects::Objects;
use super::pickle;
use crate::error::{Error, Place, Result, quote};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The content of a member.
pub(super) enum Content<'a> {
    Numbers(Array<'a>),
    Objects(Objects<'a>),
}

/// Reads a member.
pub(super) fn read<'a>(bytes: &'a [u8], place: &Place, limit: u64) -> Result<Content<'a>> {
    let header = Header::parse(bytes, place)?;
    if !header.dtype.is_object() {
        return Ok(Content::Numbers(Array {
            at: header.end as u64,
            dtype: header.dtype,
            shape: header.shape.into(),
            fortran: header.fortran,
            data: Data::Bytes(&bytes[header.end..]),
        }));
    }
    let objects = pickle::load(bytes, header.end, place, limit)?;
    if Some(objects.values().len()) != product(&header.shape) {
        let expected = format!("as many objects as the header's shape {} says", shown(&header.shape));
        return Err(Error::malformed(
            place.byte(header.end as u64),
            expected,
            objects.values().len().to_string(),
        ));
    }
    Ok(Content::Objects(objects))
}

struct Header {
    dtype: Dtype,
    fortran: bool,
    shape: Vec<usize>,
    /// The offset of the data.
    end: usize,
}

impl Header {
    fn parse(bytes: &[u8], place: &Place) -> Result<Self> {
        let malformed = |at: usize, expected: &str, found: &[u8]| {
            Err(Error::malformed(place.byte(at as u64), expected, quote(found)))
        };
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return malformed(0, "a .npy file, which begins with '\\x93NUMPY'", &bytes[..bytes.len().min(6)]);
        };
        let (length, start) = match *rest {
            [1, _, a, b, ..] => (u32::from_le_bytes([a, b, 0, 0]), 10),
            [2 | 3, _, a, b, c, d, ..] => (u32::from_le_bytes([a, b, c, d]), 12),
            [1..=3, ..] | [] => return malformed(bytes.len(), "a header", b""),
            [version, ..] => {
                let expected = "version 1, 2 or 3 of the .npy format";
                return Err(Error::malformed(place.byte(6), expected, version.to_string()));
            }
        };
        let left = bytes.len() - start;
        if length as usize > left {
            let expected = format!("a header of {length} bytes");
            return Err(Error::malformed(place.byte(start as u64), expected, format!("{left} bytes")));
        }
        let end = start + length as usize;
        Literal { bytes: &bytes[..end], at: start, place }.header(end)
    }
}

/// The text of a header and the read position.
struct Literal<'a> {
    bytes: &'a [u8],
    at: usize,
    place: &'a Place,
}

impl<'a> Literal<'a> {
    fn header(mut self, end: usize) -> Result<Header> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.accept(b'}') {
            let at = self.at;
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                b"descr" => dtype = Some(self.dtype()?),
                b"fortran_order" => fortran = Some(self.boolean()?),
                b"shape" => shape = Some(self.shape()?),
                _ => {
                    let expected = "one of the keys 'descr', 'fortran_order', 'shape'";
                    return Err(Error::malformed(self.place.byte(at as u64), expected, quote(key)));
                }
            }
            if !self.accept(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_space();
        if self.at != end {
            return self.malformed("the end of the header");
        }
        match (dtype, fortran, shape) {
            (Some(dtype), Some(fortran), Some(shape)) => Ok(Header { dtype, fortran, shape, end }),
            _ => self.malformed("the keys 'descr', 'fortran_order' and 'shape'"),
        }
    }

    fn dtype(&mut self) -> Result<Dtype> {
        self.skip_space();
        let at = self.at;
        if !matches!(self.bytes.get(at), Some(b'\'' | b'"')) {
            // Structured types are lists.
            return self.malformed(KNOWN_TYPES);
        }
        let text = self.string()?;
        let known = std::str::from_utf8(text).ok().and_then(Dtype::parse);
        known.ok_or_else(|| Error::malformed(self.place.byte(at as u64), KNOWN_TYPES, quote(text)))
    }

    fn boolean(&mut self) -> Result<bool> {
        self.skip_space();
        for (word, value) in [(b"True".as_slice(), true), (b"False", false)] {
            if self.bytes[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.malformed("True or False")
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.accept(b')') {
            if shape.len() == MAX_RANK {
                return self.malformed("at most 32 dimensions");
            }
            shape.push(self.number()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<usize> {
        self.skip_space();
        let digits = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.bytes[self.at..self.at + digits]).expect("digits are ASCII");
        let Ok(number) = text.parse() else {
            return self.malformed("a length below 2⁶⁴");
        };
        self.at += digits;
        // Python 2 marked long integers with an L.
        self.at += usize::from(self.bytes.get(self.at) == Some(&b'L'));
        Ok(number)
    }

    fn string(&mut self) -> Result<&'a [u8]> {
        self.skip_space();
        let Some(&mark @ (b'\'' | b'"')) = self.bytes.get(self.at) else {
            return self.malformed("a quoted name");
        };
        let text = &self.bytes[self.at + 1..];
        let Some(length) = memchr::memchr(mark, text) else {
            return self.malformed("a closing quote");
        };
        self.at += length + 2;
        Ok(&text[..length])
    }

    fn skip_space(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_space();
        let there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.accept(byte) { Ok(()) } else { self.malformed(&format!("'{}'", char::from(byte))) }
    }

    fn malformed<T>(&self, expected: &str) -> Result<T> {
        let rest = &self.bytes[self.at..];
        let found = quote(&rest[..rest.len().min(20)]);
        Err(Error::malformed(self.place.byte(self.at as u64), expected, found))
    }
}
