//! The path for x86-64 processors with AVX-512 (F, VL and DQ: all of them except the
//! first, the Xeon Phi).

use std::arch::x86_64::*;
use std::ops::Range;

use super::avx2::{F32x8, F64x4};
use super::banded::{self, Solving};
use super::fold::Folding;
use super::gate::{self, Waves};
use super::matmul::{self, Double, Multiplying, Room, Same};
use super::similar::{self, Finishing};
use super::sweep::{self, Sweeping};
use super::tile::{self, Product};
use super::vector::Vector;
use super::x86::{entry_points, readout_points, vector};

vector!(F32x16, F32x8, __m512, f32, 16 lanes, panels of 4, [_mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps
    _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_fmadd_ps _mm512_min_ps _mm512_max_ps],
    power_f32 sum_f32 add_f32_to_doubles transpose_f32 product_f32, splat_pair_f32 add_pairs_f32);
vector!(F64x8, F64x4, __m512d, f64, 8 lanes, panels of 4, [_mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd
    _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_fmadd_pd _mm512_min_pd _mm512_max_pd],
    power_f64 _mm512_reduce_add_pd add_to_doubles transpose_f64 product_f64, splat_pair_f64 add_pairs_f64);

entry_points!("avx512f,avx512vl,avx512dq,avx2,fma", F32x16, f32, sweep_f32, product_f32, fill_f32, fold_f32);
entry_points!("avx512f,avx512vl,avx512dq,avx2,fma", F64x8, f64, sweep_f64, product_f64, fill_f64, fold_f64);
// 24 sums, 2 vectors of a panel and a factor use 27 of 32 registers.
readout_points!("avx512f,avx512vl,avx512dq,avx2,fma", F32x16, F64x8, tiles of 12 rows, 4 vectors);

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
/// The processor must have AVX-512 F; `to` must be valid for reading and writing 8 numbers.
#[inline(always)]
unsafe fn add_to_doubles(lanes: __m512d, to: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe { _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), lanes)) }
}

/// # Safety
/// The processor must have AVX-512 F and DQ; `to` must be valid for reading and writing 16 numbers.
#[inline(always)]
unsafe fn add_f32_to_doubles(lanes: __m512, to: *mut f64) {
    // SAFETY: the caller's promise.
    unsafe {
        add_to_doubles(_mm512_cvtps_pd(_mm512_castps512_ps256(lanes)), to);
        add_to_doubles(_mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(lanes)), to.add(8));
    }
}

/// Transposes a square by swapping the off-diagonal blocks of ever smaller squares in it. `$permute`
/// takes lanes of two vectors: lane l of the first has number l, of the second `$lanes` + l.
macro_rules! transpose {
    ($name:ident, $scalar:ty, $index:ty, $lanes:literal, halves of $($half:literal)*,
     [$zero:ident $loadu:ident $storeu:ident $permute:ident]) => {
        /// # Safety
        /// The processor must have AVX-512 F; `from` must be valid for reading rows that are `step`
        /// apart, `to` for writing rows that are `to_step` apart, each with all lanes.
        #[inline(always)]
        unsafe fn $name(from: *const $scalar, step: usize, to: *mut $scalar, to_step: usize) {
            // SAFETY: the caller's promise; the orders fill a register.
            unsafe {
                let mut rows = [$zero(); $lanes];
                for (i, row) in rows.iter_mut().enumerate() {
                    *row = $loadu(from.add(i * step));
                }
                // Constants, so that the compiler unrolls the loops and keeps all rows in registers.
                $(
                    let (mut above, mut below) = ([0 as $index; $lanes], [0 as $index; $lanes]);
                    for l in 0..$lanes {
                        let left = l & $half == 0;
                        above[l] = if left { l } else { $lanes + (l ^ $half) } as $index;
                        below[l] = if left { l | $half } else { $lanes + l } as $index;
                    }
                    let (above, below) =
                        (_mm512_loadu_si512(above.as_ptr().cast()), _mm512_loadu_si512(below.as_ptr().cast()));
                    for i in 0..$lanes {
                        if i & $half == 0 {
                            let (first, second) = (rows[i], rows[i | $half]);
                            rows[i] = $permute(first, above, second);
                            rows[i | $half] = $permute(first, below, second);
                        }
                    }
                )*
                for (i, row) in rows.iter().enumerate() {
                    $storeu(to.add(i * to_step), *row);
                }
            }
        }
    };
}
transpose!(transpose_f32, f32, i32, 16, halves of 8 4 2 1,
    [_mm512_setzero_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_permutex2var_ps]);
transpose!(transpose_f64, f64, i64, 8, halves of 4 2 1,
    [_mm512_setzero_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_permutex2var_pd]);

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
