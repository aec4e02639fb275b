//! The path for x86-64 processors with AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::Range;

use super::banded::{self, Solving};
use super::gate::{self, Waves};
use super::similar::{self, Comparing};
use super::sweep::{self, Sweeping};
use super::tile::{self, Product};
use super::vector::Vector;
use super::x86::{entry_points, readout_points, vector};

vector!(F32x8, Self, __m256, f32, 8 lanes, panels of 2, [_mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps
    _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_fmadd_ps _mm256_min_ps _mm256_max_ps],
    power_f32 sum_f32 product_f32);
vector!(F64x4, Self, __m256d, f64, 4 lanes, panels of 2, [_mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd
    _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_fmadd_pd _mm256_min_pd _mm256_max_pd],
    power_f64 sum_f64 product_f64);

entry_points!("avx2,fma", F32x8, f32, sweep_f32, product_f32, fill_f32);
entry_points!("avx2,fma", F64x4, f64, sweep_f64, product_f64, fill_f64);
// 12 sums, 3 vectors of landmarks and one of a row fill 16 registers.
readout_points!("avx2,fma", F32x8, F64x4, tiles of 4 x 3, 8 vectors);

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
