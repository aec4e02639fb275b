//! How much a file may ask for.
//!
//! A few bytes can stand for a great many: compressed zeros, or one matrix
//! named a million times. What a file unfolds to is therefore counted while it
//! unfolds, and no size the file declares is believed before the bytes are there.

use crate::error::{Error, Place, Result};

/// What even the smallest archive may unfold to.
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// How many times its own size a larger archive may unfold to. Pickled
/// matrices and one-hot rows compress some twentyfold.
const MAX_RATIO: u64 = 200;

/// The most that is unpacked of any archive.
const MAX_UNPACKED: u64 = 4 << 30;

/// Memory for the objects of a pickle: some for any, and some per byte. Graphs
/// of one or two vertices need 20 bytes per byte, larger ones far less.
const OBJECTS_BASE: u64 = 1 << 20;
const OBJECTS_PER_BYTE: u64 = 32;

/// The limits of one archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    unfolded: u64,
}

impl Limits {
    /// Those of an archive of so many bytes.
    pub(super) fn of(archive_size: u64) -> Self {
        Self { unfolded: archive_size.saturating_mul(MAX_RATIO).max(ALWAYS_ALLOWED) }
    }

    /// For all members, unpacked.
    pub(super) fn unpacking(self) -> Allowance {
        Allowance::new("its unpacked size", self.unfolded.min(MAX_UNPACKED))
    }

    /// For the objects of one pickle of so many bytes.
    pub(super) fn objects(self, pickle_size: usize) -> Allowance {
        let limit = OBJECTS_BASE + OBJECTS_PER_BYTE.saturating_mul(pickle_size as u64);
        Allowance::new("the memory for its objects", limit.min(self.unfolded.saturating_mul(4)))
    }

    /// For all graphs.
    pub(super) fn graphs(self) -> Allowance {
        Allowance::new("the size of its graphs", self.unfolded)
    }
}

/// Bytes that may be used for one purpose, and those used.
#[derive(Debug)]
pub(super) struct Allowance {
    what: &'static str,
    limit: u64,
    spent: u64,
}

impl Allowance {
    pub(super) fn new(what: &'static str, limit: u64) -> Self {
        Self { what, limit, spent: 0 }
    }

    pub(super) fn left(&self) -> u64 {
        self.limit - self.spent
    }

    /// Counts bytes, or refuses them.
    pub(super) fn spend(&mut self, bytes: u64, place: impl FnOnce() -> Place) -> Result<()> {
        let found = self.spent.saturating_add(bytes);
        if found > self.limit {
            return Err(Error::TooLarge { place: place(), what: self.what, limit: self.limit, found });
        }
        self.spent = found;
        Ok(())
    }
}
