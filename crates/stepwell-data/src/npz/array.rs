//! NumPy arrays of numbers: a type, a shape, raw bytes.

use std::borrow::Cow;

use ndarray::{ArrayD, IxDyn, ShapeBuilder};

use super::limits::Allowance;
use crate::error::{Error, Place, Result};

/// The most dimensions of an array, as in old NumPy.
pub(super) const MAX_RANK: usize = 32;

/// The types an element may have, for error messages.
pub(super) const KNOWN_TYPES: &str = "a boolean, integer, f4, f8 or object type";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Object,
    Boolean,
    Signed,
    Unsigned,
    Float,
}

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dtype {
    kind: Kind,
    size: usize,
    big_endian: bool,
}

impl Dtype {
    /// Reads NumPy's spelling: `<f4`, `i8`, `|b1`, `|O`, `O8`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (order, name) = match text.as_bytes().first() {
            Some(b'<' | b'>' | b'|') => text.split_at(1),
            _ => ("<", text),
        };
        let (kind, size) = match *name.as_bytes() {
            [b'O'] | [b'O', b'4' | b'8'] => (Kind::Object, b'0'),
            [b'b', size @ b'1'] => (Kind::Boolean, size),
            [b'i', size @ (b'1' | b'2' | b'4' | b'8')] => (Kind::Signed, size),
            [b'u', size @ (b'1' | b'2' | b'4' | b'8')] => (Kind::Unsigned, size),
            [b'f', size @ (b'4' | b'8')] => (Kind::Float, size),
            _ => return None,
        };
        Some(Self { kind, size: usize::from(size - b'0'), big_endian: order == ">" })
    }

    /// The same type with the byte order `<`, `>` or `|` (none).
    pub(super) fn with_order(self, order: &str) -> Option<Self> {
        matches!(order, "<" | ">" | "|").then_some(Self { big_endian: order == ">", ..self })
    }

    pub(super) fn is_object(self) -> bool {
        self.kind == Kind::Object
    }

    fn word(self, element: &[u8]) -> u64 {
        let join = |word: u64, &byte: &u8| word << 8 | u64::from(byte);
        if self.big_endian { element.iter().fold(0, join) } else { element.iter().rev().fold(0, join) }
    }

    fn signed(self, word: u64) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        (word << unused) as i64 >> unused
    }

    fn real(self, element: &[u8]) -> f64 {
        let word = self.word(element);
        match (self.kind, self.size) {
            (Kind::Float, 4) => f64::from(f32::from_bits(word as u32)),
            (Kind::Float, _) => f64::from_bits(word),
            (Kind::Signed, _) => self.signed(word) as f64,
            (Kind::Boolean, _) => f64::from(u8::from(word != 0)),
            (Kind::Unsigned | Kind::Object, _) => word as f64,
        }
    }

    /// The element as an integer, or its value as a float if it is not one.
    fn integer(self, element: &[u8]) -> Result<i64, f64> {
        let word = self.word(element);
        match self.kind {
            Kind::Signed => Ok(self.signed(word)),
            Kind::Boolean => Ok(i64::from(word != 0)),
            Kind::Unsigned | Kind::Object => i64::try_from(word).map_err(|_| word as f64),
            Kind::Float => {
                let real = self.real(element);
                // Beyond 2⁵³ neighbouring integers share one float.
                let whole = real.fract() == 0.0 && real.abs() <= (1u64 << 53) as f64;
                if whole { Ok(real as i64) } else { Err(real) }
            }
        }
    }
}

/// The bytes of an array, borrowed from the file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data<'a> {
    /// Raw bytes.
    Bytes(&'a [u8]),
    /// One character per byte, as protocol 2 writes bytes. Decoded on use, so that sharing one
    /// string among many arrays costs nothing.
    Latin1(&'a str),
}

/// An array of numbers. Its shape and data are checked against each other when the numbers are
/// read.
#[derive(Clone, Debug)]
pub(super) struct Array<'a> {
    /// The byte offset where it was created, for messages.
    pub(super) at: u64,
    pub(super) dtype: Dtype,
    pub(super) shape: Box<[usize]>,
    /// Whether the first index varies fastest.
    pub(super) fortran: bool,
    pub(super) data: Data<'a>,
}

impl Array<'_> {
    /// All elements, the last index varying fastest.
    pub(super) fn reals(&self, place: &Place, allowance: &mut Allowance) -> Result<Vec<f64>> {
        self.elements(place, allowance, |element| Ok(self.dtype.real(element)))
    }

    /// All elements of an array of integers, whatever its type.
    pub(super) fn integers(&self, place: &Place, allowance: &mut Allowance) -> Result<Vec<i64>> {
        self.elements(place, allowance, |element| {
            self.dtype.integer(element).map_err(|found| {
                Error::malformed(place.byte(self.at), "a 64-bit integer", format!("{found}"))
            })
        })
    }

    fn elements<T: Copy>(
        &self,
        place: &Place,
        allowance: &mut Allowance,
        read: impl Fn(&[u8]) -> Result<T>,
    ) -> Result<Vec<T>> {
        let malformed = |expected: String, found| Err(Error::malformed(place.byte(self.at), expected, found));
        if self.dtype.is_object() {
            return malformed("an array of numbers".into(), "one of objects".into());
        }
        let count = product(&self.shape);
        let size = count.and_then(|count| count.checked_mul(self.dtype.size));
        let (Some(count), Some(size)) = (count, size) else {
            return malformed("a shape that fits in memory".into(), shown(&self.shape));
        };
        allowance.spend((count as u64).saturating_mul(8), || place.byte(self.at))?;
        let bytes = self.bytes(size);
        if bytes.len() != size {
            let expected = format!("{size} bytes for an array of shape {}", shown(&self.shape));
            return malformed(expected, self.found_bytes());
        }
        let values = bytes.chunks_exact(self.dtype.size).map(read).collect::<Result<Vec<T>>>()?;
        if !self.fortran || self.shape.len() < 2 || values.is_empty() {
            return Ok(values);
        }
        let first_index_fastest = ArrayD::from_shape_vec(IxDyn(&self.shape).f(), values);
        Ok(first_index_fastest.expect("as many values as the shape says").iter().copied().collect())
    }

    /// The bytes. Latin-1 text is decoded up to `size` + 1 bytes, or up to a character that is not
    /// a byte.
    fn bytes(&self, size: usize) -> Cow<'_, [u8]> {
        match self.data {
            Data::Bytes(bytes) => Cow::Borrowed(bytes),
            Data::Latin1(text) => {
                let characters = text.chars().take(size.saturating_add(1));
                Cow::Owned(characters.map_while(|c| u8::try_from(c).ok()).collect())
            }
        }
    }

    fn found_bytes(&self) -> String {
        match self.data {
            Data::Bytes(bytes) => bytes.len().to_string(),
            Data::Latin1(text) => format!("a string of another length ({} bytes as UTF-8)", text.len()),
        }
    }
}

/// The number of elements of a shape; `None` on overflow.
pub(super) fn product(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n))
}

/// A shape as Python prints it.
pub(super) fn shown(shape: &[usize]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array<'a>(dtype: &str, shape: &[usize], data: Data<'a>) -> Array<'a> {
        Array { at: 7, dtype: Dtype::parse(dtype).unwrap(), shape: shape.into(), fortran: false, data }
    }

    fn reals(array: &Array<'_>) -> Result<Vec<f64>> {
        array.reals(&Place::file("x"), &mut Allowance::new("size", 1 << 20))
    }

    fn integers(array: &Array<'_>) -> Result<Vec<i64>> {
        array.integers(&Place::file("x"), &mut Allowance::new("size", 1 << 20))
    }

    #[test]
    fn every_type_in_both_byte_orders() {
        fn check(dtype: &str, little: &[u8], expected: f64) {
            let big: Vec<u8> = little.iter().rev().copied().collect();
            for (order, bytes) in [("<", little), (">", big.as_slice())] {
                let array = array(&format!("{order}{dtype}"), &[1], Data::Bytes(bytes));
                assert_eq!(reals(&array).unwrap(), [expected], "{order}{dtype}");
                if expected.fract() == 0.0 {
                    assert_eq!(integers(&array).unwrap(), [expected as i64], "{order}{dtype}");
                }
            }
        }
        check("b1", &[1], 1.0);
        check("i1", &(-3i8).to_le_bytes(), -3.0);
        check("i2", &(-300i16).to_le_bytes(), -300.0);
        check("i4", &(-70_000i32).to_le_bytes(), -70_000.0);
        check("i8", &(-5_000_000_000i64).to_le_bytes(), -5e9);
        check("u1", &[255], 255.0);
        check("u2", &65_535u16.to_le_bytes(), 65_535.0);
        check("u4", &u32::MAX.to_le_bytes(), 4_294_967_295.0);
        check("u8", &5_000_000_000u64.to_le_bytes(), 5e9);
        check("f4", &0.5f32.to_le_bytes(), 0.5);
        check("f8", &(-0.1f64).to_le_bytes(), -0.1);
        for unknown in ["", "f2", "c8", "U3", "<M8", "f", "=f4", "<"] {
            assert_eq!(Dtype::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn numbers_that_are_not_whole_are_refused_as_such() {
        for real in [0.5, f64::NAN, f64::INFINITY, 1e300] {
            assert!(integers(&array("f8", &[1], Data::Bytes(&real.to_le_bytes()))).is_err(), "{real}");
        }
        assert!(integers(&array("u8", &[1], Data::Bytes(&[255; 8]))).is_err());
    }

    #[test]
    fn the_first_index_may_vary_fastest() {
        // Element (i, j, k) of a 2×3×4 array is 100 i + 10 j + k.
        let element = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as u8;
        let mut stored = Vec::new();
        let mut expected = Vec::new();
        for k in 0..4 {
            (0..3).for_each(|j| (0..2).for_each(|i| stored.push(element(i, j, k))));
        }
        for i in 0..2 {
            (0..3).for_each(|j| (0..4).for_each(|k| expected.push(f64::from(element(i, j, k)))));
        }
        let array = Array { fortran: true, ..array("u1", &[2, 3, 4], Data::Bytes(&stored)) };
        assert_eq!(reals(&array).unwrap(), expected);
    }

    #[test]
    fn shape_and_data_must_agree() {
        assert_eq!(reals(&array("u1", &[2], Data::Latin1("\u{1}\u{ff}"))).unwrap(), [1.0, 255.0]);
        for wrong in ["\u{1}", "\u{1}\u{2}\u{3}", "\u{1}\u{100}"] {
            assert!(reals(&array("u1", &[2], Data::Latin1(wrong))).is_err(), "{wrong:?}");
        }
        let error = reals(&array("i4", &[2, 2], Data::Bytes(&[0; 12]))).unwrap_err();
        assert_eq!(error.to_string(), "x, byte 7: expected 16 bytes for an array of shape (2, 2), found 12");
        for shape in [[usize::MAX, 2], [usize::MAX / 2, 1], [1 << 40, 1]] {
            assert!(reals(&array("i4", &shape, Data::Bytes(&[]))).is_err(), "{shape:?}");
            assert!(reals(&array("u1", &shape, Data::Bytes(&[]))).is_err(), "{shape:?}");
        }
        assert!(reals(&array("i4", &[usize::MAX, 0], Data::Bytes(&[]))).unwrap().is_empty());
        assert!(reals(&array("O", &[1], Data::Bytes(&[]))).is_err());
    }
}
