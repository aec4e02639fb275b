//! Selects the instruction set of the kernel.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::error::{Error, Result};

/// An instruction set that the processor has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Isa(Kind);

/// Instruction sets, the fastest first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kind {
    const ALL: &[Self] = &[
        #[cfg(target_arch = "x86_64")]
        Self::Avx512,
        #[cfg(target_arch = "x86_64")]
        Self::Avx2,
        Self::Portable,
    ];

    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }

    fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && Self::Avx2.is_available()
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Self::Portable => true,
        }
    }
}

/// The position in [`Kind::ALL`] of the set in use. Out of range until it is decided.
static IN_USE: AtomicU8 = AtomicU8::new(u8::MAX);

impl Isa {
    /// All sets of the processor, the fastest first.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.iter().copied().filter(|kind| kind.is_available()).map(Self)
    }

    /// The set in use: the fastest, unless the caller selected another.
    pub fn in_use() -> Self {
        match Kind::ALL.get(usize::from(IN_USE.load(Ordering::Relaxed))) {
            Some(&kind) => Self(kind),
            None => Self::all().next().unwrap_or(Self(Kind::Portable)),
        }
    }

    pub(super) fn kind(self) -> Kind {
        self.0
    }
}

/// The instruction set that computes reservoirs: `avx512`, `avx2` or `portable`.
///
/// It is the fastest that the processor has, unless [`use_instruction_set`] selected
/// another. Results of different sets differ by rounding, by at most 1e-6 in f32.
pub fn instruction_set() -> &'static str {
    Isa::in_use().0.name()
}

/// All instruction sets that can compute reservoirs on this processor, the fastest
/// first.
pub fn instruction_sets() -> Vec<&'static str> {
    Isa::all().map(|isa| isa.0.name()).collect()
}

/// Makes the whole process compute reservoirs with this instruction set from now on.
/// (The program and the Python package call it with the value of the environment
/// variable `STEPWELL_ISA`.)
pub fn use_instruction_set(name: &str) -> Result<()> {
    let place = Kind::ALL.iter().position(|kind| kind.name() == name && kind.is_available());
    let Some(place) = place else {
        let expected = format!("one of this processor's ({})", instruction_sets().join(", "));
        return Err(Error::BadOption { name: "instruction set", expected, found: format!("'{name}'") });
    };
    IN_USE.store(place as u8, Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_processor_and_others_are_refused() {
        let names = instruction_sets();
        assert_eq!(names.last(), Some(&"portable"));
        assert!(names.contains(&instruction_set()));
        let message = use_instruction_set("sse9").unwrap_err().to_string();
        let expected = format!("one of this processor's ({})", names.join(", "));
        assert_eq!(message, format!("instruction set: expected {expected}, found 'sse9'"));
    }
}
