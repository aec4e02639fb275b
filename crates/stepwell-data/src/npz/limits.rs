//! Memory limits for a file.
//!
//! A few bytes of a pickle can expand to a great many, for example one matrix named a million
//! times. The expansion is therefore counted as it happens, and a declared size is never trusted
//! before the bytes have arrived.

use crate::error::{Error, Place, Result};

/// Memory for the objects of a pickle: a fixed amount, and more per byte. Graphs of one or two
/// vertices need 20 bytes per byte, larger ones far less.
const OBJECTS_BASE: u64 = 1 << 20;
const OBJECTS_PER_BYTE: u64 = 32;

/// The bytes allowed for one purpose, and the bytes used.
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

    /// The allowance for the objects of a pickle of `pickle_size` bytes, in an archive that may
    /// unpack to `unfolded` bytes.
    pub(super) fn for_objects(pickle_size: usize, unfolded: u64) -> Self {
        let limit = OBJECTS_BASE + OBJECTS_PER_BYTE.saturating_mul(pickle_size as u64);
        Self::new("the memory for its objects", limit.min(unfolded.saturating_mul(4)))
    }

    /// Charges bytes, or refuses them.
    pub(super) fn spend(&mut self, bytes: u64, place: impl FnOnce() -> Place) -> Result<()> {
        let found = self.spent.saturating_add(bytes);
        if found > self.limit {
            return Err(Error::TooLarge { place: place(), what: self.what, limit: self.limit, found });
        }
        self.spent = found;
        Ok(())
    }
}
