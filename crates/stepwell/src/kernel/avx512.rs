//! The path for x86-64 processors with AVX-512 (F, VL and DQ: all of them except the
//! first, the Xeon Phi).

use std::arch::x86_64::*;
use std::ops::Range;

use super::avx2::{F32x8, F64x4};
use super::banded::{self, Solving};
use super::gate::{self, Waves};
use super::similar::{self, Comparing};
use super::sweep::{self, Sweeping};
use super::tile::{self, Product};
use super::vector::Vector;
use super::x86::{entry_points, readout_points, vector};

vector!(F32x16, F32x8, __m512, f32, 16 lanes, panels of 4, [_mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps
    _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_fmadd_ps _mm512_min_ps _mm512_max_ps],
    power_f32 sum_f32 product_f32, splat_pair_f32 add_pairs_f32);
vector!(F64x8, F64x4, __m512d, f64, 8 lanes, panels of 4, [_mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd
    _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_fmadd_pd _mm512_min_pd _mm512_max_pd],
    power_f64 _mm512_reduce_add_pd product_f64, splat_pair_f64 add_pairs_f64);

entry_points!("avx512f,avx512vl,avx512dq,avx2,fma", F32x16, f32, sweep_f32, product_f32, fill_f32);
entry_points!("avx512f,avx512vl,avx512dq,avx2,fma", F64x8, f64, sweep_f64, product_f64, fill_f64);
// 24 sums, 6 vectors of landmarks and one of a row use 31 of 32 registers.
readout_points!("avx512f,avx512vl,avx512dq,avx2,fma", F32x16, F64x8, tiles of 4 x 6, 4 vectors);

/// # Safety
/// The processor must have AVX-512 F and DQ.
#[inline(always)]
unsafe fn sum_f32(lanes: __m512) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        let low = _mm512_cvtps_pd(_mm512_castps512_ps256(lanes));
        let high = _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(lanes));
        _mm512_reduce_add_pd(_mm512_add_pd(low, high))
    }
}

/// # Safety
/// The processor must have AVX-512 F.
#[inline(always)]
unsafe fn power_f32(exponents: __m512) -> __m512 {
    // SAFETY: the caller's promise.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(exponents))) }
}

/// # Safety
/// The processor must have AVX-512 F.
#[inline(always)]
unsafe fn power_f64(exponents: __m512d) -> __m512d {
    // SAFETY: the caller's promise.
    unsafe { _mm512_castsi512_pd(_mm512_slli_epi64::<52>(_mm512_castpd_si512(exponents))) }
}

/// # Safety
/// The processor must have AVX-512 F; `from` must be valid for reading two numbers.
#[inline(always)]
unsafe fn splat_pair_f32(from: *const f32) -> __m512 {
    // SAFETY: the caller's promise. The bits of two numbers are copied as one number of
    // twice the width.
    unsafe { _mm512_castpd_ps(_mm512_set1_pd(from.cast::<f64>().read_unaligned())) }
}

/// # Safety
/// The processor must have AVX-512 F and DQ; `from` must be valid for reading two numbers.
#[inline(always)]
unsafe fn splat_pair_f64(from: *const f64) -> __m512d {
    // SAFETY: the caller's promise.
    unsafe { _mm512_broadcast_f64x2(_mm_loadu_pd(from)) }
}

/// # Safety
/// The processor must have AVX-512 F and DQ.
#[inline(always)]
unsafe fn add_pairs_f32(lanes: __m512) -> F32x8 {
    // SAFETY: the caller's promise.
    unsafe {
        let order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
        let apart = _mm512_permutexvar_ps(order, lanes);
        F32x8::from(_mm512_castps512_ps256(apart)).add(_mm512_extractf32x8_ps::<1>(apart).into())
    }
}

/// # Safety
/// The processor must have AVX-512 F.
#[inline(always)]
unsafe fn add_pairs_f64(lanes: __m512d) -> F64x4 {
    // SAFETY: the caller's promise.
    unsafe {
        let apart = _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), lanes);
        F64x4::from(_mm512_castpd512_pd256(apart)).add(_mm512_extractf64x4_pd::<1>(apart).into())
    }
}
