//! A memory budget, checked before large allocations: a failed allocation would end the process.
//!
//! The library does not measure memory. The program that uses it reports through [`govern`] how
//! much is left; without that, every request is granted. The library requests allocations of a
//! megabyte and more. A refusal states the bytes needed and the bytes left.
//!
//! ```
//! use stepwell::memory::{self, Left};
//! memory::govern(|| Left { bytes: 1 << 30, budget: 4 << 30 });
//! assert!(memory::ask("a small matrix", 8 << 20).is_ok());
//! let refusal = memory::ask("a large matrix", 2 << 30).unwrap_err();
//! assert!(refusal.to_string().starts_with("a large matrix: needs 2.0 GB of memory, but only 1.0 GB of the budget of 4.0 GB are left"));
//! ```

use std::sync::{PoisonError, RwLock};

pub use crate::error::Bytes;
use crate::error::{Error, Result};

/// The state of the memory budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Bytes left.
    pub bytes: u64,
    /// Bytes of the whole budget.
    pub budget: u64,
}

/// The function that reports the memory left, if one is set.
static GOVERNOR: RwLock<Option<fn() -> Left>> = RwLock::new(None);

/// Sets the function that reports the memory left, for the whole process.
pub fn govern(left: fn() -> Left) {
    *GOVERNOR.write().unwrap_or_else(PoisonError::into_inner) = Some(left);
}

/// Smaller requests are granted without a check.
const WORTH_ASKING: u64 = 1 << 20;

/// Returns an error if `bytes` more bytes exceed the budget. `what` names their purpose.
pub fn ask(what: &'static str, bytes: u64) -> Result<()> {
    if bytes < WORTH_ASKING {
        return Ok(());
    }
    let Some(left) = *GOVERNOR.read().unwrap_or_else(PoisonError::into_inner) else { return Ok(()) };
    let Left { bytes: left, budget } = left();
    if bytes > left { Err(Error::Memory { what, needed: bytes, left, budget }) } else { Ok(()) }
}

/// Does the same for an array with the given side lengths and `size` bytes per number.
pub(crate) fn ask_array(what: &'static str, sides: &[usize], size: usize) -> Result<()> {
    let bytes = sides.iter().fold(size as u64, |bytes, &side| bytes.saturating_mul(side as u64));
    ask(what, bytes)
}
