//! Little-endian arrays, hashed while they are written and read.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::error::{Error, Place, Result};
use crate::memory;

/// Bytes of a SHA-256.
pub(super) const DIGEST: usize = 32;

/// Bytes converted and hashed at a time: few enough to stay in the CPU cache.
const CHUNK: usize = 1 << 14;

/// A fixed-size number in a file.
pub(super) trait Word<const SIZE: usize>: Copy {
    fn to_bytes(self) -> [u8; SIZE];
    fn from_bytes(bytes: [u8; SIZE]) -> Self;
}

macro_rules! word {
    ($($number:ty: $size:literal),*) => {$(
        impl Word<$size> for $number {
            fn to_bytes(self) -> [u8; $size] {
                self.to_le_bytes()
            }

            fn from_bytes(bytes: [u8; $size]) -> Self {
                Self::from_le_bytes(bytes)
            }
        }
    )*};
}

word!(u8: 1, u32: 4, f64: 8);

/// Eight bytes on every machine.
impl Word<8> for usize {
    fn to_bytes(self) -> [u8; 8] {
        (self as u64).to_le_bytes()
    }

    /// A value too large for this machine becomes the largest `usize`, which is never a valid size
    /// or offset.
    fn from_bytes(bytes: [u8; 8]) -> Self {
        u64::from_le_bytes(bytes).try_into().unwrap_or(Self::MAX)
    }
}

/// Writes arrays to an output.
pub(super) struct Sink<W> {
    out: W,
    digest: Sha256,
}

impl<W: Write> Sink<W> {
    pub fn new(out: W) -> Self {
        Self { out, digest: Sha256::new() }
    }

    pub fn words<T: Word<SIZE>, const SIZE: usize>(&mut self, words: &[T]) -> io::Result<()> {
        let mut buffer = [0; CHUNK];
        for piece in words.chunks(CHUNK / SIZE) {
            let bytes = &mut buffer[..piece.len() * SIZE];
            let (slots, _) = bytes.as_chunks_mut();
            slots.iter_mut().zip(piece).for_each(|(slot, word)| *slot = word.to_bytes());
            self.digest.update(&*bytes);
            self.out.write_all(bytes)?;
        }
        Ok(())
    }

    /// Writes the number of items, then the items.
    pub fn array<T: Word<SIZE>, const SIZE: usize>(&mut self, words: &[T]) -> io::Result<()> {
        self.words(&[words.len()])?;
        self.words(words)
    }

    /// Writes whether the array exists, then the array.
    pub fn optional<T: Word<SIZE>, const SIZE: usize>(&mut self, words: Option<&[T]>) -> io::Result<()> {
        self.words(&[u8::from(words.is_some())])?;
        words.map_or(Ok(()), |words| self.array(words))
    }

    /// Returns the hash of everything written, and the output.
    pub fn finish(self) -> ([u8; DIGEST], W) {
        (self.digest.finalize().into(), self.out)
    }
}

/// Reads arrays from bytes that end with a seal on the bytes before it.
pub(super) struct Source<R> {
    input: R,
    digest: Sha256,
    place: Place,
    at: u64,
    /// Unread bytes before the hash.
    left: u64,
}

impl<R: Read> Source<R> {
    /// Reads all `length` bytes of `input`.
    pub fn new(input: R, length: u64, place: Place) -> Self {
        let left = length.saturating_sub(DIGEST as u64);
        Self { input, digest: Sha256::new(), place, at: 0, left }
    }

    pub fn words<T: Word<SIZE>, const SIZE: usize>(&mut self, count: usize, what: &str) -> Result<Vec<T>> {
        let (place, left) = (self.place.byte(self.at), self.left);
        let missing = || {
            let expected = format!("{count} times {SIZE} bytes of {what}");
            Error::malformed(place.clone(), expected, format!("{left} bytes"))
        };
        let needed = (count as u64).checked_mul(SIZE as u64).filter(|needed| *needed <= left);
        let needed = needed.ok_or_else(missing)?;
        memory::ask(&place, "a cached pyramid", needed)?;
        let mut words = Vec::new();
        // The count is bounded by the length of the file; but a sparse file can be long without
        // holding data.
        words.try_reserve_exact(count).map_err(|_| missing())?;
        let mut buffer = [0; CHUNK];
        while words.len() < count {
            let bytes = &mut buffer[..(count - words.len()).min(CHUNK / SIZE) * SIZE];
            self.input.read_exact(bytes).map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => missing(),
                _ => Error::malformed(place.clone(), what, source.to_string()),
            })?;
            self.digest.update(&*bytes);
            words.extend(bytes.as_chunks().0.iter().map(|&word| T::from_bytes(word)));
        }
        self.at += needed;
        self.left -= needed;
        Ok(words)
    }

    /// Reads a single word.
    pub fn word<T: Word<SIZE>, const SIZE: usize>(&mut self, what: &str) -> Result<T> {
        let word = self.words(1, what)?;
        word.first().copied().ok_or_else(|| self.malformed(what, "nothing"))
    }

    /// Reads an array written by [`Sink::array`].
    pub fn array<T: Word<SIZE>, const SIZE: usize>(&mut self, what: &str) -> Result<Vec<T>> {
        let count = self.word(what)?;
        self.words(count, what)
    }

    /// Reads an array written by [`Sink::optional`].
    pub fn optional<T: Word<SIZE>, const SIZE: usize>(&mut self, what: &str) -> Result<Option<Vec<T>>> {
        if self.flag(what)? { self.array(what).map(Some) } else { Ok(None) }
    }

    pub fn flag(&mut self, what: &str) -> Result<bool> {
        match self.word::<u8, 1>(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed(format!("0 or 1 as the flag of {what}"), other.to_string())),
        }
    }

    /// Checks that nothing is left to read and that the file ends with the `seal` of the hash.
    pub fn finish(mut self, seal: impl FnOnce(&[u8; DIGEST]) -> [u8; DIGEST]) -> Result<()> {
        if self.left > 0 {
            return Err(self.malformed("the end of the file", format!("{} more bytes", self.left)));
        }
        let mut found = [0; DIGEST];
        let read = self.input.read_exact(&mut found);
        read.map_err(|source| self.malformed("a hash", source.to_string()))?;
        if seal(&self.digest.finalize().into()) == found {
            Ok(())
        } else {
            let (expected, found) = ("a cache file written by this user", "another (its signature is wrong)");
            Err(Error::malformed(self.place, expected, found))
        }
    }

    /// An error about the bytes just before the next ones.
    pub fn malformed(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::malformed(self.place.byte(self.at), expected, found)
    }

    pub fn refused(&self, source: stepwell::Error) -> Error {
        Error::Graph { place: self.place.byte(self.at), source }
    }
}
