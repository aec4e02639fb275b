//! The path for x86-64 processors with AVX2 and FMA.

use std::arch::x86_64::*;
use std::ops::Range;

use super::banded::{self, Solving};
use super::fold::Folding;
use super::gate::{self, Waves};
use super::matmul::{self, Double, Multiplying, Room, Same};
use super::similar::{self, Finishing};
use super::sweep::{self, Sweeping};
use super::tile::{self, Product};
use super::vector::Vector;
use super::x86::{entry_points, readout_points, vector};

vector!(F32x8, Self, __m256, f32, 8 lanes, panels of 2, [_mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps
    _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_fmadd_ps _mm256_min_ps _mm256_max_ps],
    power_f32 sum_f32 add_f32_to_doubles transpose_f32 product_f32);
vector!(F64x4, Self, __m256d, f64, 4 lanes, panels of 2, [_mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd
    _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_fmadd_pd _mm256_min_pd _mm256_max_pd],
    power_f64 sum_f64 add_to_doubles transpose_f64 product_f64);

entry_points!("avx2,fma", F32x8, f32, sweep_f32, product_f32, fill_f32, fold_f32);
entry_points!("avx2,fma", F64x4, f64, sweep_f64, product_f64, fill_f64, fold_f64);
// 12 sums, 2 vectors of a panel and a factor use 15 of 16 registers.
readout_points!("avx2,fma", F32x8, F64x4, tiles of 6 rows, 8 vectors);

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

/// # Safety
/// The processor must have AVX; `to` must be valid for reading and writing 4 numbers.
#[inline(always)]
unsafe fn add_to_doubles(lanes: __m256d, to: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe { _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), lanes)) }
}

/// # Safety
/// The processor must have AVX; `to` must be valid for reading and writing 8 numbers.
#[inline(always)]
unsafe fn add_f32_to_doubles(lanes: __m256, to: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        add_to_doubles(_mm256_cvtps_pd(_mm256_castps256_ps128(lanes)), to);
        add_to_doubles(_mm256_cvtps_pd(_mm256_extractf128_ps::<1>(lanes)), to.add(4));
    }
}

/// # Safety
/// The processor must have AVX; `from` must be valid for reading 8 rows that are `step` apart, `to`
/// for writing 8 rows that are `to_step` apart, each of 8 numbers.
#[inline(always)]
unsafe fn transpose_f32(from: *const f32, step: usize, to: *mut f32, to_step: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        // Squares of 4 rows and 4 columns in both halves of the registers.
        for half in [0, 4] {
            let mut rows = [_mm256_setzero_ps(); 4];
            for (i, row) in rows.iter_mut().enumerate() {
                let (low, high) = (from.add(i * step + half), from.add((i + 4) * step + half));
                *row =
                    _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high));
            }
            let [a, b, c, d] = rows;
            let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (next, last) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let to = to.add(half * to_step);
            _mm256_storeu_ps(to, _mm256_shuffle_ps::<0x44>(low, next));
            _mm256_storeu_ps(to.add(to_step), _mm256_shuffle_ps::<0xee>(low, next));
            _mm256_storeu_ps(to.add(2 * to_step), _mm256_shuffle_ps::<0x44>(high, last));
            _mm256_storeu_ps(to.add(3 * to_step), _mm256_shuffle_ps::<0xee>(high, last));
        }
    }
}

/// # Safety
/// The processor must have AVX; `from` must be valid for reading 4 rows that are `step` apart, `to`
/// for writing 4 rows that are `to_step` apart, each of 4 numbers.
#[inline(always)]
unsafe fn transpose_f64(from: *const f64, step: usize, to: *mut f64, to_step: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        for half in [0, 2] {
            let mut rows = [_mm256_setzero_pd(); 2];
            for (i, row) in rows.iter_mut().enumerate() {
                let (low, high) = (from.add(i * step + half), from.add((i + 2) * step + half));
                *row =
                    _mm256_insertf128_pd::<1>(_mm256_castpd128_pd256(_mm_loadu_pd(low)), _mm_loadu_pd(high));
            }
            let [a, b] = rows;
            let to = to.add(half * to_step);
            _mm256_storeu_pd(to, _mm256_unpacklo_pd(a, b));
            _mm256_storeu_pd(to.add(to_step), _mm256_unpackhi_pd(a, b));
        }
    }
}
