//! The arithmetic of a sweep, by vectors of whatever width the processor has.
//!
//! The loops are written once, over the small [`vector::Vector`] trait, and
//! compiled for each instruction set: AVX2 with FMA where the processor turns
//! out to have it, and a portable form of plain arrays everywhere. Every row
//! is computed alone and in a fixed order, so results do not depend on tiles,
//! batches or threads; between instruction sets they differ by rounding.
//!
//! States are rows of [`stride`] numbers: the units and then zeros up to whole
//! vectors. The zeros stay zeros, as nothing drives them and tanh(0) = 0.
//!
//! This is the only module with `unsafe` code. What is offered to the outside
//! checks lengths and indices once per call or at construction.

#![allow(unsafe_code)]

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
mod banded;
mod exp;
mod operator;
mod order;
mod pack;
mod portable;
mod project;
mod similar;
mod sweep;
mod tanh;
mod tile;
mod vector;

use std::ops::{Add, Div, Mul, Neg, Range, Sub};

pub(crate) use aligned::Aligned;
pub(crate) use banded::{ABREAST, Banded};
pub(crate) use operator::{Operator, Rows};
pub(crate) use order::by_colour;
pub(crate) use pack::{Projection, Recurrent, stride};
pub(crate) use project::project;
pub(crate) use similar::Compared;
pub(crate) use sweep::{Drive, Equation, SHARED_ROWS};

use banded::Solving;
use portable::Portable;
use project::Projecting;
use similar::Comparing;
use sweep::Sweeping;
use tanh::TanhConstants;

/// An instruction set the processor has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Isa(Kind);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Isa {
    /// The fastest one.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Self(Kind::Avx2);
        }
        Self::portable()
    }

    /// The one every processor has.
    pub fn portable() -> Self {
        Self(Kind::Portable)
    }

    /// # Safety
    /// As for `similar::rows`, apart from the instruction set.
    unsafe fn compare_rows(self, task: &mut Comparing<'_>) {
        // SAFETY: the caller's promise; `Isa` says the processor has the instructions.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => avx2::compare_rows(task),
                Kind::Portable => similar::rows::<Portable<f32, 4>, Portable<f64, 2>, 4, 2>(task),
            }
        }
    }

    /// # Safety
    /// As for `banded::solve`, apart from the instruction set.
    unsafe fn solve_band(self, task: &mut Solving<'_>) {
        // SAFETY: the caller's promise; `Isa` says the processor has the instructions.
        unsafe {
            match self.0 {
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => avx2::solve_band(task),
                Kind::Portable => banded::solve::<Portable<f64, 2>, 8>(task),
            }
        }
    }
}

/// f32 or f64.
pub(crate) trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + TanhConstants
    + 'static
{
    /// Rows of states are padded to a multiple of this: 32 bytes.
    const COLUMN_STEP: usize;
    /// The share of a state's norm below which a change is rounding, where it matters.
    const ROUNDING: f64;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn is_finite(self) -> bool;

    /// Lanes of the vectors used with an instruction set.
    fn lanes(isa: Isa) -> usize;

    /// Two to the power whose biased exponent is in the lowest bits.
    fn power_of_two(self) -> Self;

    /// # Safety
    /// As for `sweep::rows`, apart from the instruction set.
    unsafe fn sweep_rows(isa: Isa, task: &Sweeping<'_, Self>, rows: Range<usize>, left: &mut [Self]) -> f64;

    /// # Safety
    /// As for `project::rows`, apart from the instruction set.
    unsafe fn project_rows(isa: Isa, task: &Projecting<'_, Self>);
}

macro_rules! real {
    ($scalar:ty, $lanes:literal, $portable_lanes:literal, $rounding:expr, $sweep:ident, $project:ident) => {
        impl Real for $scalar {
            const COLUMN_STEP: usize = $lanes;
            const ROUNDING: f64 = $rounding;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }

            fn is_finite(self) -> bool {
                self.is_finite()
            }

            fn lanes(isa: Isa) -> usize {
                match isa.0 {
                    #[cfg(target_arch = "x86_64")]
                    Kind::Avx2 => $lanes,
                    Kind::Portable => $portable_lanes,
                }
            }

            #[inline(always)]
            fn power_of_two(self) -> Self {
                Self::from_bits(self.to_bits() << (Self::MANTISSA_DIGITS - 1))
            }

            unsafe fn sweep_rows(
                isa: Isa,
                task: &Sweeping<'_, Self>,
                rows: Range<usize>,
                left: &mut [Self],
            ) -> f64 {
                // SAFETY: the caller's promise; `Isa` says the processor has the instructions.
                unsafe {
                    match isa.0 {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$sweep(task, rows, left),
                        Kind::Portable => sweep::rows::<Portable<Self, $portable_lanes>>(task, rows, left),
                    }
                }
            }

            unsafe fn project_rows(isa: Isa, task: &Projecting<'_, Self>) {
                // SAFETY: the caller's promise; `Isa` says the processor has the instructions.
                unsafe {
                    match isa.0 {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$project(task),
                        Kind::Portable => project::rows::<Portable<Self, $portable_lanes>>(task),
                    }
                }
            }
        }
    };
}

real!(f32, 8, 4, 4.0 / (1u32 << 24) as f64, sweep_f32, project_f32);
real!(f64, 4, 2, 0.0, sweep_f64, project_f64);
