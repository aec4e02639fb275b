//! Memory, asked for before it is taken: an allocation that fails would end the process.
//!
//! The library measures nothing itself. The program that uses it says how much may still be taken
//! ([`govern`]); without that, everything is allowed. What takes more than a megabyte at
//! once asks first, and is refused with what it needs and what is left.
//!
//! ```
//! use stepwell::memory::{self, Left};
//! memory::govern(|| Left { bytes: 1 << 30, budget: 4 << 30 });
//! assert!(memory::ask("a small matrix", 8 << 20).is_ok());
//! let refusal = memory::ask("a large matrix", 2 << 30).unwrap_err();
//! assert!(refusal.to_string().starts_with("a large matrix: 2.0 GB of memory needed, but 1.0 GB of the budget of 4.0 GB left"));
//! ```

use std::sync::{PoisonError, RwLock};

pub use crate::error::Bytes;
use crate::error::{Error, Result};

/// What may still be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Bytes left.
    pub bytes: u64,
    /// Bytes of the whole budget.
    pub budget: u64,
}

/// Who is asked.
static GOVERNOR: RwLock<Option<fn() -> Left>> = RwLock::new(None);

/// Has `left` asked from now on, in the whole process.
pub fn govern(left: fn() -> Left) {
    *GOVERNOR.write().unwrap_or_else(PoisonError::into_inner) = Some(left);
}

/// Less than this is not worth a question.
const WORTH_ASKING: u64 = 1 << 20;

/// An error if `bytes` more than now exceed the budget; `what` needs them.
pub fn ask(what: &'static str, bytes: u64) -> Result<()> {
    if bytes < WORTH_ASKING {
        return Ok(());
    }
    let Some(left) = *GOVERNOR.read().unwrap_or_else(PoisonError::into_inner) else { return Ok(()) };
    let Left { bytes: left, budget } = left();
    if bytes > left { Err(Error::Memory { what, needed: bytes, left, budget }) } else { Ok(()) }
}

/// The same for an array of numbers of `size` bytes each, by the lengths of its sides.
pub(crate) fn ask_array(what: &'static str, sides: &[usize], size: usize) -> Result<()> {
    let bytes = sides.iter().fold(size as u64, |bytes, &side| bytes.saturating_mul(side as u64));
    ask(what, bytes)
}
