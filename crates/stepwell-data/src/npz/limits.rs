//! How much a file may ask for.
//!
//! A few bytes can stand for a great many: compressed zeros, or one matrix
//! named a million times. What a file unfolds to is therefore counted while it
//! unfolds, and no size the file declares is believed before the bytes are there.

use crate::error::{Error, Place, Result};

/// What even the smallest archive may unfold to.
const ALWAYS_ALLOWED: u64 = 64 << 20;

/// How many times its own size a larger archive may unfold to. Pickled
/// matrices and one-hot rows compress twentyfold at most.
const MAX_RATIO: u64 = 200;

/// The most that is unpacked of any archive.
const MAX_UNPACKED: u64 = 4 << 30;

/// Bytes that may still be used for one purpose.
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

    /// For the members of an archive, unpacked.
    pub(super) fn unpacking(archive_size: u64) -> Self {
        Self::new("its unpacked size", unfolded(archive_size).min(MAX_UNPACKED))
    }

    /// For the graphs an archive describes.
    pub(super) fn graphs(archive_size: u64) -> Self {
        Self::new("the size of its graphs", unfolded(archive_size))
    }

    pub(super) fn left(&self) -> u64 {
        self.limit - self.spent
    }

    /// Counts bytes, or refuses them.
    pub(super) fn spend(&mut self, bytes: u64, place: &Place) -> Result<()> {
        let found = self.spent.saturating_add(bytes);
        if found > self.limit {
            return Err(Error::TooLarge { place: place.clone(), what: self.what, limit: self.limit, found });
        }
        self.spent = found;
        Ok(())
    }
}

fn unfolded(archive_size: u64) -> u64 {
    archive_size.saturating_mul(MAX_RATIO).max(ALWAYS_ALLOWED)
}
