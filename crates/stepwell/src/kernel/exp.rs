//! The exponential of non-positive numbers, within 2 units in the last place.
//!
//! `x = n·ln 2 + r` gives `exp(x) = 2ⁿ·exp(r)`, and a short series computes `exp(r)`.
//! Arguments below -708 count as -708, so the smallest result is 3e-308.

use super::vector::Vector;

/// `ln 2` in two parts. The product of the first part with any n is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// As in `tanh`: adding it rounds to an integer and leaves that integer, plus the bias
/// of the exponent, in the lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0 + 1023.0;
const LOWEST: f64 = -708.0;
/// Taylor coefficients from `1/13!` down to 1. The first omitted term is below the
/// rounding error.
const SERIES: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn exp<V: Vector<Scalar = f64>>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let x = x.at_most(0.0).at_least(LOWEST);
        let shifted = x.mul_add(V::splat(std::f64::consts::LOG2_E), V::splat(ROUNDER));
        let n = shifted.sub(V::splat(ROUNDER));
        let r = n.mul_add(V::splat(-LN_2_LOW), n.mul_add(V::splat(-LN_2_HIGH), x));
        let mut series = V::splat(SERIES[0]);
        for coefficient in &SERIES[1..] {
            series = series.mul_add(r, V::splat(*coefficient));
        }
        series.mul(shifted.power_of_two())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::isa::{Isa, Kind};
    use crate::kernel::portable::Portable;
    #[cfg(target_arch = "x86_64")]
    use crate::kernel::{avx2, avx512};

    fn check<V: Vector<Scalar = f64>>() {
        let by_lane = |x: f64| {
            let mut lanes = [0.0; 8];
            // SAFETY: the callers below use vectors the processor has; 8 lanes are room for any.
            unsafe { exp(V::splat(x)).store(lanes.as_mut_ptr()) };
            lanes[0]
        };
        let mut worst = (0.0, 0.0);
        for i in 0..400_000u32 {
            for x in [-f64::from(i) * 1.76e-3, -(10f64.powf(f64::from(i) * (20.0 / 400_000.0) - 18.0))] {
                if x < -707.0 {
                    continue;
                }
                let exact = x.exp();
                let ulp = f64::from_bits(exact.to_bits() + 1) - exact;
                let error = (by_lane(x) - exact).abs() / ulp;
                if error > worst.1 {
                    worst = (x, error);
                }
            }
        }
        assert!(worst.1 <= 2.0, "{} ulp at {}", worst.1, worst.0);
        assert_eq!((by_lane(0.0), by_lane(3.0)), (1.0, 1.0), "what is positive counts as 0");
        assert!(by_lane(f64::NEG_INFINITY) < 1e-307 && by_lane(f64::NAN).is_nan());
    }

    #[test]
    fn it_is_within_2_ulp_of_the_standard_library() {
        for isa in Isa::all() {
            match isa.kind() {
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => check::<avx512::F64x8>(),
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => check::<avx2::F64x4>(),
                Kind::Portable => check::<Portable<f64, 2>>(),
            }
        }
    }
}
