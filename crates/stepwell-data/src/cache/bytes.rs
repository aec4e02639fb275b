//! Little-endian arrays, hashed on their way out and in.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::error::{Error, Place, Result};
use crate::memory;

/// Bytes of a SHA-256.
pub(super) const DIGEST: usize = 32;

/// Bytes converted and hashed at a time: little enough to stay in the cache.
const CHUNK: usize = 1 << 14;

/// A number of fixed size in a file.
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

    /// What this machine cannot count becomes the largest it can, which is no
    /// valid size or offset of anything.
    fn from_bytes(bytes: [u8; 8]) -> Self {
        u64::from_le_bytes(bytes).try_into().unwrap_or(Self::MAX)
    }
}

/// Where arrays go.
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

    /// How many there are, then all of them.
    pub fn array<T: Word<SIZE>, const SIZE: usize>(&mut self, words: &[T]) -> io::Result<()> {
        self.words(&[words.len()])?;
        self.words(words)
    }

    /// Whether there is an array, then the array.
    pub fn optional<T: Word<SIZE>, const SIZE: usize>(&mut self, words: Option<&[T]>) -> io::Result<()> {
        self.words(&[u8::from(words.is_some())])?;
        words.map_or(Ok(()), |words| self.array(words))
    }

    /// The hash of all that went through, and what it went to.
    pub fn finish(self) -> ([u8; DIGEST], W) {
        (self.digest.finalize().into(), self.out)
    }
}

/// Where arrays come from: bytes that end with a seal on those before.
pub(super) struct Source<R> {
    input: R,
    digest: Sha256,
    place: Place,
    at: u64,
    /// Bytes before the hash that were not read yet.
    left: u64,
}

impl<R: Read> Source<R> {
    /// All `length` bytes of `input`.
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
        // No more than the bytes that are there; yet a sparse file may be long without having any.
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

    /// A word that stands alone.
    pub fn word<T: Word<SIZE>, const SIZE: usize>(&mut self, what: &str) -> Result<T> {
        let word = self.words(1, what)?;
        word.first().copied().ok_or_else(|| self.malformed(what, "nothing"))
    }

    /// What [`Sink::array`] wrote.
    pub fn array<T: Word<SIZE>, const SIZE: usize>(&mut self, what: &str) -> Result<Vec<T>> {
        let count = self.word(what)?;
        self.words(count, what)
    }

    /// What [`Sink::optional`] wrote.
    pub fn optional<T: Word<SIZE>, const SIZE: usize>(&mut self, what: &str) -> Result<Option<Vec<T>>> {
        if self.flag(what)? { self.array(what).map(Some) } else { Ok(None) }
    }

    pub fn flag(&mut self, what: &str) -> Result<bool> {
        match self.word::<u8, 1>(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(self.malformed(format!("0 or 1: whether there are {what}"), other.to_string())),
        }
    }

    /// Whether this was all, and what stands at the end is what `seal` makes of the hash.
    pub fn finish(mut self, seal: impl FnOnce(&[u8; DIGEST]) -> [u8; DIGEST]) -> Result<()> {
        if self.left > 0 {
            return Err(self.malformed("the end", format!("{} more bytes", self.left)));
        }
        let mut found = [0; DIGEST];
        let read = self.input.read_exact(&mut found);
        read.map_err(|source| self.malformed("a hash", source.to_string()))?;
        if seal(&self.digest.finalize().into()) == found {
            Ok(())
        } else {
            Err(Error::malformed(self.place, "bytes written by this user", "other bytes (wrong seal)"))
        }
    }

    /// Something malformed just before the bytes to be read next.
    pub fn malformed(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::malformed(self.place.byte(self.at), expected, found)
    }

    pub fn refused(&self, source: stepwell::Error) -> Error {
        Error::Graph { place: self.place.byte(self.at), source }
    }
}
