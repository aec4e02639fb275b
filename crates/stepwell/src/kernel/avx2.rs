//! The path for x86-64 processors with AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::Range;

use super::banded::{self, Solving};
use super::project::{self, Projecting};
use super::similar::{self, Comparing};
use super::sweep::{self, Sweeping};
use super::vector::Vector;

macro_rules! vector {
    ($name:ident, $register:ty, $scalar:ty, $lanes:literal, $sum:ident, $power:ident, [$set1:ident $loadu:ident $storeu:ident
     $add:ident $sub:ident $mul:ident $div:ident $fmadd:ident $min:ident $max:ident]) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name($register);

        // SAFETY of every block: the trait's promise that the processor has
        // AVX2 and FMA, and for loads and stores the caller's about the pointer.
        impl Vector for $name {
            type Scalar = $scalar;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $scalar) -> Self {
                Self(unsafe { $set1(value) })
            }

            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                Self(unsafe { $loadu(from) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                unsafe { $storeu(to, self.0) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                Self(unsafe { $sub(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                Self(unsafe { $mul(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn div(self, other: Self) -> Self {
                Self(unsafe { $div(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                Self(unsafe { $fmadd(self.0, factor.0, term.0) })
            }

            #[inline(always)]
            unsafe fn at_most(self, limit: $scalar) -> Self {
                // The instruction returns its second argument when one is not a number.
                Self(unsafe { $min($set1(limit), self.0) })
            }

            #[inline(always)]
            unsafe fn at_least(self, limit: $scalar) -> Self {
                Self(unsafe { $max($set1(limit), self.0) })
            }

            #[inline(always)]
            unsafe fn power_of_two(self) -> Self {
                Self(unsafe { $power(self.0) })
            }

            #[inline(always)]
            unsafe fn sum(self) -> f64 {
                unsafe { $sum(self.0) }
            }
        }
    };
}

vector!(F32x8, __m256, f32, 8, sum_f32, power_f32, [_mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps
    _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_fmadd_ps _mm256_min_ps _mm256_max_ps]);
vector!(F64x4, __m256d, f64, 4, sum_f64, power_f64, [_mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd
    _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_fmadd_pd _mm256_min_pd _mm256_max_pd]);

/// # Safety
/// The processor must have AVX.
#[inline(always)]
unsafe fn sum_f32(lanes: __m256) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        let low = _mm256_cvtps_pd(_mm256_castps256_ps128(lanes));
        let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(lanes));
        sum_f64(_mm256_add_pd(low, high))
    }
}

/// # Safety
/// The processor must have AVX.
#[inline(always)]
unsafe fn sum_f64(lanes: __m256d) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        let pairs = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
        _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)))
    }
}

/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn power_f32(exponents: __m256) -> __m256 {
    // SAFETY: the caller's promise.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(exponents))) }
}

/// # Safety
/// The processor must have AVX2.
#[inline(always)]
unsafe fn power_f64(exponents: __m256d) -> __m256d {
    // SAFETY: the caller's promise.
    unsafe { _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_castpd_si256(exponents))) }
}

macro_rules! entry_points {
    ($vector:ty, $scalar:ty, $sweep:ident, $project:ident) => {
        /// # Safety
        /// As [`sweep::rows`]; the processor must have AVX2 and FMA.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $sweep(
            task: &Sweeping<'_, $scalar>,
            rows: Range<usize>,
            left: &mut [$scalar],
        ) -> f64 {
            // SAFETY: the caller's promise.
            unsafe { sweep::rows::<$vector>(task, rows, left) }
        }

        /// # Safety
        /// As [`project::rows`]; the processor must have AVX2 and FMA.
        #[target_feature(enable = "avx2,fma")]
        pub(super) unsafe fn $project(task: &Projecting<'_, $scalar>) {
            // SAFETY: the caller's promise.
            unsafe { project::rows::<$vector>(task) }
        }
    };
}

entry_points!(F32x8, f32, sweep_f32, project_f32);
entry_points!(F64x4, f64, sweep_f64, project_f64);

/// # Safety
/// As [`similar::rows`]; the processor must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn compare_rows(task: &mut Comparing<'_>) {
    // SAFETY: the caller's promise.
    unsafe { similar::rows::<F32x8, F64x4, 4, 3>(task) }
}

/// # Safety
/// As [`banded::solve`]; the processor must have AVX2 and FMA.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn solve_band(task: &mut Solving<'_>) {
    // SAFETY: the caller's promise.
    unsafe { banded::solve::<F64x4, 8>(task) }
}
