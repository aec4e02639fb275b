//! The hyperbolic tangent: `e/(e+2)` with `e = exp(2|x|)-1`, and the sign of x.
//!
//! `2|x| = n·ln 2 + r` with integer n gives `e = 2ⁿ·(exp(r)-1) + (2ⁿ-1)`, and a
//! short series gives `exp(r)-1`. Nothing is lost near 0, where e is `2|x|`, nor
//! near 1, where an error of e hardly matters; and as `e ≤ e+2` holds after any
//! rounding, no result exceeds 1. (A quotient of polynomials in x² takes a few
//! instructions less, but near 1 it is off by 5 to 6 units in the last place.)

use super::Real;
use super::vector::Vector;

/// The numbers that depend on the precision.
pub(crate) trait TanhConstants: Sized + 'static {
    /// From here on tanh is 1.
    const LIMIT: Self;
    const LOG2_E: Self;
    /// Adding it rounds a small number to an integer, which then is, increased
    /// by the bias of the exponent, in the lowest bits.
    const ROUNDER: Self;
    /// The leading bits of -ln 2, few enough that small multiples are exact.
    const MINUS_LN_2_HIGH: Self;
    const MINUS_LN_2_LOW: Self;
    /// C in `exp(r)-1 = r + r²·C(r)`, from the highest coefficient down.
    const SERIES: &'static [Self];
}

impl TanhConstants for f32 {
    const LIMIT: Self = 9.1;
    const LOG2_E: Self = std::f32::consts::LOG2_E;
    const ROUNDER: Self = 12_582_912.0 + 127.0; // 1.5 * 2^23 + bias
    const MINUS_LN_2_HIGH: Self = -f32::from_bits(0x3f31_7200);
    const MINUS_LN_2_LOW: Self = -1.428_606_8e-6;
    /// From `tanh_coefficients.py` beside this file.
    const SERIES: &'static [Self] =
        &[1.386_240_4e-3, 8.366_673e-3, 4.166_752_5e-2, 1.666_654_2e-1, 4.999_999_7e-1];
}

impl TanhConstants for f64 {
    const LIMIT: Self = 19.1;
    const LOG2_E: Self = std::f64::consts::LOG2_E;
    const ROUNDER: Self = 6_755_399_441_055_744.0 + 1023.0; // 1.5 * 2^52 + bias
    const MINUS_LN_2_HIGH: Self = -f64::from_bits(0x3fe6_2e42_fee0_0000);
    const MINUS_LN_2_LOW: Self = -1.908_214_929_270_587_7e-10;
    /// Taylor's: `r¹⁴/14!`, the first term left out, is below the rounding.
    const SERIES: &'static [Self] = &[
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
    ];
}

/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn tanh<V: Vector>(x: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let half = x.abs().at_most(V::Scalar::LIMIT);
        let y = half.add(half);
        let rounder = V::splat(V::Scalar::ROUNDER);
        let shifted = y.mul_add(V::splat(V::Scalar::LOG2_E), rounder);
        let n = shifted.sub(rounder);
        let r = n.mul_add(V::splat(V::Scalar::MINUS_LN_2_HIGH), y);
        let r = n.mul_add(V::splat(V::Scalar::MINUS_LN_2_LOW), r);
        let mut series = V::splat(V::Scalar::SERIES[0]);
        for &coefficient in &V::Scalar::SERIES[1..] {
            series = series.mul_add(r, V::splat(coefficient));
        }
        let series = series.mul_add(r.mul(r), r);
        let power = shifted.power_of_two();
        let e = power.mul_add(series, power.sub(V::splat(V::Scalar::from_f64(1.0))));
        e.div(e.add(V::splat(V::Scalar::from_f64(2.0)))).with_sign_of(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reservoir::kernel::portable::Portable;

    /// Some vector, by a function of one number.
    fn by_lane<V: Vector>(x: V::Scalar) -> V::Scalar {
        let mut lanes = [V::Scalar::default(); 8];
        // SAFETY: the callers below use vectors the processor has; 8 lanes are room for any.
        unsafe { tanh(V::splat(x)).store(lanes.as_mut_ptr()) };
        lanes[0]
    }

    fn check_f32(tanh: impl Fn(f32) -> f32) {
        // A prime stride over all positive numbers reaches every exponent; then all near some
        // delicate places: where n steps up, and where the result becomes 1.
        let strided = (0..f32::INFINITY.to_bits()).step_by(1009);
        let dense = [1e-3f32, 0.173, 0.25, 0.52, 0.866, 1.0, 2.0, 5.0, 8.32, 8.66, 9.0, 9.1]
            .into_iter()
            .flat_map(|x| x.to_bits() - 5000..x.to_bits() + 5000);
        let mut worst = (0.0, 0.0);
        for x in strided.chain(dense).map(f32::from_bits) {
            let found = tanh(x);
            assert!(found <= 1.0 && tanh(-x) == -found, "{x}: {found}");
            let exact = f64::from(x).tanh();
            let rounded = exact as f32;
            let ulp = f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded);
            let error = (f64::from(found) - exact).abs() / ulp;
            if error > worst.1 {
                worst = (x, error);
            }
        }
        assert!(worst.1 <= 3.0, "{} ulp at {}", worst.1, worst.0);
        assert_eq!((tanh(f32::INFINITY), tanh(f32::NEG_INFINITY), tanh(1e30)), (1.0, -1.0, 1.0));
        assert!(tanh(f32::NAN).is_nan() && tanh(0.0) == 0.0);
    }

    #[test]
    fn f32_is_within_3_ulp_everywhere_on_the_portable_path() {
        check_f32(by_lane::<Portable<f32, 4>>);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn f32_is_within_3_ulp_everywhere_with_fused_multiply_add() {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            check_f32(by_lane::<crate::reservoir::kernel::avx2::F32x8>);
        }
    }

    #[test]
    fn f64_is_within_4_ulp_of_the_standard_library() {
        let tanh = by_lane::<Portable<f64, 2>>;
        let mut worst = (0.0, 0.0);
        for i in 0..400_000u32 {
            // From 1e-300 to 1e3 by exponent, and evenly up to 20.
            for x in [10f64.powf(f64::from(i) * (303.0 / 400_000.0) - 300.0), f64::from(i) * 5e-5] {
                let exact = x.tanh();
                let ulp = f64::from_bits(exact.to_bits() + 1) - exact;
                let error = (tanh(x) - exact).abs() / ulp;
                if error > worst.1 {
                    worst = (x, error);
                }
                assert_eq!(tanh(-x), -tanh(x));
            }
        }
        assert!(worst.1 <= 4.0, "{} ulp at {}", worst.1, worst.0);
        assert_eq!((tanh(f64::INFINITY), tanh(-1e300)), (1.0, -1.0));
        assert!(tanh(f64::NAN).is_nan() && tanh(0.0) == 0.0);
    }
}
