//! How much memory a file may need.
//!
//! A few bytes of a pickle can stand for a great many, one matrix named a
//! million times for instance. What it unfolds to is therefore counted while it
//! unfolds, and no size it declares is believed before the bytes are there.

use crate::error::{Error, Place, Result};

/// Memory for the objects of a pickle: some for any, and some per byte. Graphs
/// of one or two vertices need 20 bytes per byte, larger ones far less.
const OBJECTS_BASE: u64 = 1 << 20;
const OBJECTS_PER_BYTE: u64 = 32;

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

    /// For the objects of a pickle of so many bytes, in an archive that may unpack
    /// to `unfolded` bytes.
    pub(super) fn for_objects(pickle_size: usize, unfolded: u64) -> Self {
        let limit = OBJECTS_BASE + OBJECTS_PER_BYTE.saturating_mul(pickle_size as u64);
        Self::new("the memory for its objects", limit.min(unfolded.saturating_mul(4)))
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
