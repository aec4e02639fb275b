//! The arithmetic of a sweep, with vectors of the width that the processor has.
//!
//! The loops are written once, over the small [`vector::Vector`] trait, and compiled
//! for each instruction set: AVX-512, or AVX2 with FMA, if the processor has them, and
//! a portable version with plain arrays for every processor. Every row is computed
//! alone and in a fixed order, so results do not depend on tiles, batches or threads.
//! Between instruction sets they differ by rounding.
//!
//! States are rows of [`stride`] numbers: the units, padded with zeros to a multiple of
//! 32 bytes, half a vector of AVX-512. The zeros stay zeros, because nothing drives
//! them and tanh(0) = 0.
//!
//! This is the only module with `unsafe` code. Its interface checks lengths and indices
//! once per call or at construction.

#![allow(unsafe_code)]

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod banded;
mod exp;
mod fold;
mod gate;
mod isa;
mod matmul;
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
#[cfg(target_arch = "x86_64")]
mod x86;

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Range, Sub};

pub(crate) use aligned::Aligned;
pub(crate) use banded::{ABREAST, Banded};
pub(crate) use fold::{Fold, fold};
pub(crate) use gate::{Gate, Gates, Waves};
pub(crate) use isa::Isa;
pub use isa::{instruction_set, instruction_sets, use_instruction_set};
pub(crate) use matmul::{BLOCK, Matrix, Sum, add_lower_product, add_product};
pub(crate) use operator::{Operator, Rows};
pub(crate) use order::by_colour;
pub(crate) use pack::{Projection, Recurrent, stride};
pub(crate) use project::project;
pub(crate) use similar::Compared;
pub(crate) use sweep::{Drive, Equation, SHARED_ROWS};

use banded::Solving;
use fold::Folding;
use isa::Kind;
use matmul::{Double, Multiplying, Room, Same};
use portable::Portable;
use similar::Finishing;
use sweep::Sweeping;
use tanh::TanhConstants;
use tile::Product;
use vector::Vector;

/// Marks the upper halves of the vector registers as unused. Call it after foreign
/// functions that used them and did not clear them: until then, code without vector
/// instructions is slow on some processors.
pub(crate) fn leave_wide_registers() {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instruction.
        unsafe { std::arch::x86_64::_mm256_zeroupper() }
    }
}

impl Isa {
    /// # Safety
    /// As for `similar::finish_rows`, apart from the instruction set.
    unsafe fn finish_rows(self, task: &mut Finishing<'_>) {
        // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
        unsafe {
            match self.kind() {
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => avx512::finish_rows(task),
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => avx2::finish_rows(task),
                Kind::Portable => similar::finish_rows::<Portable<f64, 2>>(task),
            }
        }
    }

    /// # Safety
    /// As for `banded::solve`, apart from the instruction set.
    unsafe fn solve_band(self, task: &mut Solving<'_>) {
        // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
        unsafe {
            match self.kind() {
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => avx512::solve_band(task),
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => avx2::solve_band(task),
                Kind::Portable => banded::solve::<Portable<f64, 2>, 8>(task),
            }
        }
    }
}

/// The numbers of a matrix product, and its functions and tiles.
macro_rules! sum {
    ($scalar:ty, $number:ty, $name:ident, $portable:ty, $sink:ty) => {
        impl Sum<$scalar> for $number {
            unsafe fn multiply(isa: Isa, task: &mut Multiplying<'_, $scalar, Self>) {
                thread_local! {
                    static ROOM: RefCell<Room<$scalar>> = RefCell::default();
                }
                // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
                ROOM.with_borrow_mut(|room| unsafe {
                    match isa.kind() {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx512 => avx512::$name(task, room),
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$name(task, room),
                        Kind::Portable => matmul::multiply::<$portable, $sink, 4>(task, room),
                    }
                })
            }
        }
    };
}

sum!(f32, f32, multiply_f32, Portable<f32, 4>, Same);
sum!(f64, f64, multiply_f64, Portable<f64, 2>, Same);
sum!(f32, f64, multiply_mixed, Portable<f32, 4>, Double);

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
    /// Rows of states are padded to a multiple of this number: 32 bytes.
    const COLUMN_STEP: usize;
    /// The share of a state's norm below which a change counts as rounding, if the
    /// precision needs one.
    const ROUNDING: f64;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;
    fn is_finite(self) -> bool;

    /// Number of lanes of an instruction set's vectors, and maximum vectors of a panel.
    fn shape(isa: Isa) -> (usize, usize);

    /// Two to the power whose biased exponent is in the lowest bits.
    fn power_of_two(self) -> Self;

    /// # Safety
    /// As for `sweep::rows`, apart from the instruction set.
    unsafe fn sweep_rows(
        isa: Isa,
        task: &Sweeping<'_, Self>,
        rows: Range<usize>,
        scratch: &mut [Self],
    ) -> f64;

    /// # Safety
    /// The processor must have the instructions.
    unsafe fn fold_rows(isa: Isa, task: &mut Folding<'_, Self>);

    /// # Safety
    /// As for `tile::add_product`, apart from the instruction set.
    unsafe fn add_product(isa: Isa, product: &Product<'_, Self>);

    /// # Safety
    /// As for `gate::fill`, apart from the instruction set.
    unsafe fn fill_gates(isa: Isa, waves: &Waves<'_, Self>, lines: &[u32], to: *mut Self);
}

macro_rules! real {
    ($scalar:ty, $step:literal, $portable:ty, $avx2:ident, $avx512:ident, $rounding:expr, $sweep:ident,
     $fill:ident, $fold:ident) => {
        impl Real for $scalar {
            const COLUMN_STEP: usize = $step;
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

            fn shape(isa: Isa) -> (usize, usize) {
                fn of<V: Vector>() -> (usize, usize) {
                    (V::LANES, V::PANEL)
                }
                match isa.kind() {
                    #[cfg(target_arch = "x86_64")]
                    Kind::Avx512 => of::<avx512::$avx512>(),
                    #[cfg(target_arch = "x86_64")]
                    Kind::Avx2 => of::<avx2::$avx2>(),
                    Kind::Portable => of::<$portable>(),
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
                scratch: &mut [Self],
            ) -> f64 {
                // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
                unsafe {
                    match isa.kind() {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx512 => avx512::$sweep(task, rows, scratch),
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$sweep(task, rows, scratch),
                        Kind::Portable => sweep::rows::<$portable>(task, rows, scratch),
                    }
                }
            }

            unsafe fn fold_rows(isa: Isa, task: &mut Folding<'_, Self>) {
                // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
                unsafe {
                    match isa.kind() {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx512 => avx512::$fold(task),
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$fold(task),
                        Kind::Portable => task.run(),
                    }
                }
            }

            unsafe fn add_product(isa: Isa, product: &Product<'_, Self>) {
                // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
                unsafe {
                    match isa.kind() {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx512 => avx512::$avx512::add_product(product),
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$avx2::add_product(product),
                        Kind::Portable => <$portable>::add_product(product),
                    }
                }
            }

            unsafe fn fill_gates(isa: Isa, waves: &Waves<'_, Self>, lines: &[u32], to: *mut Self) {
                // SAFETY: the caller's promise; an `Isa` exists only if the processor has the instructions.
                unsafe {
                    match isa.kind() {
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx512 => avx512::$fill(waves, lines, to),
                        #[cfg(target_arch = "x86_64")]
                        Kind::Avx2 => avx2::$fill(waves, lines, to),
                        Kind::Portable => gate::fill::<$portable>(waves, lines, to),
                    }
                }
            }
        }
    };
}

real!(f32, 8, Portable<f32, 4>, F32x8, F32x16, 4.0 / (1u32 << 24) as f64, sweep_f32, fill_f32,
    fold_f32);
real!(f64, 4, Portable<f64, 2>, F64x4, F64x8, 0.0, sweep_f64, fill_f64, fold_f64);
