//! Reads text in blocks of whole lines, and parses the numbers in it.

use std::io::Read;

use crate::error::{Error, Place, Result, quote};
use crate::memory;

const BLOCK: usize = 1 << 20;
/// The most memory that the values of a block take: a number of eight bytes for every two bytes of
/// text, in vectors that may have to be reallocated.
const MADE_OF_BLOCK: u64 = 16 << 20;
/// Longer than any real line: a vertex with a million attributes.
const MAX_LINE: usize = 32 << 20;

/// Splits the bytes of a reader into blocks that end at a line end.
pub(crate) struct Blocks<R> {
    reader: R,
    place: Place,
    /// The start of a line whose end has not been read yet.
    carry: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(reader: R, place: Place) -> Self {
        Self { reader, place, carry: Vec::new(), begun: false, ended: false }
    }

    /// Replaces the contents of `block` by the next lines; each ends with `\n`, including the last.
    /// Returns whether there are any. Passing the same block again spares the system from clearing
    /// new memory.
    pub(crate) fn next_block(&mut self, block: &mut Vec<u8>) -> Result<bool> {
        memory::ask(&self.place, "its text", MADE_OF_BLOCK)?;
        block.clear();
        block.reserve_exact(self.carry.len() + BLOCK + 1);
        block.append(&mut self.carry);
        while !self.ended {
            let count = (&mut self.reader).take(BLOCK as u64).read_to_end(block).map_err(|error| {
                Error::malformed(self.place.clone(), "a readable file", error.to_string())
            })?;
            self.ended = count == 0;
            if !self.begun {
                self.begun = true;
                if block.starts_with(b"\xef\xbb\xbf") {
                    block.drain(..3); // a byte order mark
                }
            }
            if let Some(end) = memchr::memrchr(b'\n', block) {
                self.carry.extend_from_slice(&block[end + 1..]);
                block.truncate(end + 1);
                return Ok(true);
            }
            if block.len() > MAX_LINE {
                return Err(Error::TooLarge {
                    place: self.place.clone(),
                    what: "the length of a line",
                    limit: MAX_LINE as u64,
                    found: block.len() as u64,
                });
            }
        }
        if block.is_empty() {
            return Ok(false);
        }
        block.push(b'\n');
        Ok(true)
    }
}

/// Passes every trimmed line to `visit`, with its number from 1. Empty lines are allowed at the end
/// of a file only.
pub(crate) fn for_each_line(
    reader: impl Read,
    place: &Place,
    mut visit: impl FnMut(&[u8], u64) -> Result<()>,
) -> Result<()> {
    let mut blocks = Blocks::new(reader, place.clone());
    let (mut number, mut empty, mut block) = (0, None, Vec::new());
    while blocks.next_block(&mut block)? {
        let mut begin = 0;
        for end in memchr::memchr_iter(b'\n', &block) {
            let line = block[begin..end].trim_ascii();
            begin = end + 1;
            number += 1;
            match (line.is_empty(), empty) {
                (true, _) => empty = empty.or(Some(number)),
                (false, Some(at)) => {
                    return Err(Error::malformed(place.line(at), "a value", "an empty line"));
                }
                (false, None) => visit(line, number)?,
            }
        }
    }
    Ok(())
}

/// An integer with an optional sign, and nothing else.
pub(crate) fn integer(token: &[u8]) -> Option<i64> {
    let digits = token.strip_prefix(b"-").or_else(|| token.strip_prefix(b"+")).unwrap_or(token);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(token).ok()?.parse().ok()
}

/// Reads one integer per line.
pub(crate) fn integers(
    reader: impl Read,
    place: &Place,
    expected: &str,
    range: std::ops::RangeInclusive<i64>,
    mut visit: impl FnMut(i64, u64) -> Result<()>,
) -> Result<()> {
    for_each_line(reader, place, |line, number| match integer(line) {
        Some(value) if range.contains(&value) => visit(value, number),
        _ => Err(Error::malformed(place.line(number), expected, quote(line))),
    })
}

/// Reads rows of comma-separated floats, all of one width. Returns the width and the numbers.
pub(crate) fn reals(reader: impl Read, place: &Place) -> Result<(usize, Vec<f64>)> {
    let real = |token: &[u8]| fast_float2::parse(token).ok().filter(|value: &f64| value.is_finite());
    rows(reader, place, "a finite number", real)
}

/// Reads rows of comma-separated labels, all of one width. Returns the width and the labels.
pub(crate) fn labels(reader: impl Read, place: &Place) -> Result<(usize, Vec<i32>)> {
    rows(reader, place, "a 32-bit integer", |token| integer(token)?.try_into().ok())
}

fn rows<T>(
    reader: impl Read,
    place: &Place,
    expected: &str,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<(usize, Vec<T>)> {
    let (mut width, mut values) = (0, Vec::new());
    for_each_line(reader, place, |line, number| {
        let before = values.len();
        for token in line.split(|&b| b == b',') {
            let token = token.trim_ascii();
            match parse(token) {
                Some(value) => values.push(value),
                None => return Err(Error::malformed(place.line(number), expected, quote(token))),
            }
        }
        let found = values.len() - before;
        if number == 1 {
            width = found;
        }
        if found != width {
            let expected = format!("{width} numbers as on line 1");
            return Err(Error::malformed(place.line(number), expected, found.to_string()));
        }
        Ok(())
    })?;
    Ok((width, values))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that yields a few bytes at a time, as pipes do.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(3);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn lines(text: &[u8]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for_each_line(Trickle(text), &Place::file("f"), |line, number| {
            found.push(format!("{number}:{}", String::from_utf8_lossy(line)));
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn line_ends_marks_and_trailing_space_do_not_matter() {
        assert_eq!(lines(b"\xef\xbb\xbf a \r\nb\r\n\r\n\n").unwrap(), ["1:a", "2:b"]);
        assert_eq!(lines(b"a\nb").unwrap(), ["1:a", "2:b"]);
        assert!(lines(b"").unwrap().is_empty());
        assert_eq!(
            lines(b"a\n\nb").unwrap_err().to_string(),
            "f, line 2: expected a value, found an empty line"
        );
    }

    #[test]
    fn blocks_lose_and_add_nothing() {
        let text: Vec<u8> = (0..400_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        let mut blocks = Blocks::new(&text[..], Place::file("f"));
        let (mut joined, mut count, mut block) = (Vec::new(), 0, Vec::new());
        while blocks.next_block(&mut block).unwrap() {
            assert_eq!(block.last(), Some(&b'\n'));
            joined.extend_from_slice(&block);
            count += 1;
        }
        assert!(count > 1 && joined == text);
    }

    #[test]
    fn only_whole_numbers_are_integers() {
        assert_eq!((integer(b"-12"), integer(b"+3"), integer(b"007")), (Some(-12), Some(3), Some(7)));
        for bad in [&b""[..], b"-", b"1.0", b"0x1", b"1 2", b"99999999999999999999", b"\xff"] {
            assert_eq!(integer(bad), None);
        }
    }

    #[test]
    fn rows_must_be_of_one_width() {
        let place = Place::file("f");
        assert_eq!(reals(&b" 1, 2.5\n-3e2,\t4 \n"[..], &place).unwrap(), (2, vec![1.0, 2.5, -300.0, 4.0]));
        for (text, message) in [
            ("1,2\n3\n", "f, line 2: expected 2 numbers as on line 1, found 1"),
            ("1,\n", "f, line 1: expected a finite number, found nothing"),
            ("nan\n", "f, line 1: expected a finite number, found 'nan'"),
            ("1e999\n", "f, line 1: expected a finite number, found '1e999'"),
        ] {
            assert_eq!(reals(text.as_bytes(), &place).unwrap_err().to_string(), message);
        }
    }
}
