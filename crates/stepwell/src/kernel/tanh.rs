//! The hyperbolic tangent: `f/(f+1)` with `f = (exp(2x)-1)/2`.
//!
//! `x = n·(ln 2)/2 + r` with integer n gives `f = 2ⁿ·g(r) + (2ⁿ-1)/2`, where
//! `g(r) = (exp(2r)-1)/2 = r + r²·C(r)` and C is a short series. The formula loses
//! nothing near 0, where f is close to x, nor near ±1, where an error of f hardly
//! matters. Since `f ≤ f+1` and `f ≥ -1/2` hold after any rounding, no result exceeds 1
//! in modulus. (A quotient of polynomials in x² takes as many instructions, but near 1
//! it is off by 5 to 6 units in the last place.)

use super::Real;
use super::vector::Vector;

/// The constants that depend on the precision.
pub(crate) trait TanhConstants: Sized + 'static {
    /// From here on, tanh rounds to 1.
    const LIMIT: Self;
    const TWICE_LOG2_E: Self;
    /// Adding it rounds a small number to an integer and leaves that integer, plus the
    /// bias of the exponent, in the lowest bits.
    const ROUNDER: Self;
    const MINUS_HALF_LN_2: Self;
    /// The coefficients of C, from the highest down.
    const SERIES: &'static [Self];
}

impl TanhConstants for f32 {
    const LIMIT: Self = 9.1;
    const TWICE_LOG2_E: Self = 2.0 * std::f32::consts::LOG2_E;
    const ROUNDER: Self = 12_582_912.0 + 127.0; // 1.5 * 2^23 + bias
    const MINUS_HALF_LN_2: Self = -0.5 * std::f32::consts::LN_2;
    /// From `tanh_coefficients.py` beside this file.
    const SERIES: &'static [Self] =
        &[4.435_969e-2, 1.338_667_7e-1, 3.333_402e-1, 6.666_617e-1, 9.999_999_4e-1];
}

impl TanhConstants for f64 {
    const LIMIT: Self = 19.1;
    const TWICE_LOG2_E: Self = 2.0 * std::f64::consts::LOG2_E;
    const ROUNDER: Self = 6_755_399_441_055_744.0 + 1023.0; // 1.5 * 2^52 + bias
    const MINUS_HALF_LN_2: Self = -0.5 * std::f64::consts::LN_2;
    /// Taylor coefficients, `2^(k+1)/(k+2)!`. The first omitted term is below the
    /// rounding error.
    const SERIES: &'static [Self] = &[
        4096.0 / 6_227_020_800.0,
        2048.0 / 479_001_600.0,
        1024.0 / 39_916_800.0,
        512.0 / 3_628_800.0,
        256.0 / 362_880.0,
        128.0 / 40_320.0,
        64.0 / 5_040.0,
        32.0 / 720.0,
        16.0 / 120.0,
        8.0 / 24.0,
        4.0 / 6.0,
        1.0,
    ];
}

/// Computes several vectors step by step. One vector alone would mostly wait for the
/// previous step.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
pub(super) unsafe fn tanh<V: Vector, const N: usize>(x: [V; N]) -> [V; N] {
    // SAFETY: the caller's promise.
    unsafe {
        let number = |x| V::splat(V::Scalar::from_f64(x));
        let rounder = V::splat(V::Scalar::ROUNDER);
        let (mut shifted, mut r, mut series, mut f) = (x, x, x, x);
        for i in 0..N {
            r[i] = x[i].at_most(V::Scalar::LIMIT).at_least(-V::Scalar::LIMIT);
            shifted[i] = r[i].mul_add(V::splat(V::Scalar::TWICE_LOG2_E), rounder);
        }
        for i in 0..N {
            let n = shifted[i].sub(rounder);
            r[i] = n.mul_add(V::splat(V::Scalar::MINUS_HALF_LN_2), r[i]);
            series[i] = V::splat(V::Scalar::SERIES[0]);
        }
        for &coefficient in &V::Scalar::SERIES[1..] {
            for i in 0..N {
                series[i] = series[i].mul_add(r[i], V::splat(coefficient));
            }
        }
        for i in 0..N {
            series[i] = series[i].mul_add(r[i].mul(r[i]), r[i]);
            let power = shifted[i].power_of_two();
            f[i] = power.mul_add(series[i], power.mul_add(number(0.5), number(-0.5)));
        }
        for f in &mut f {
            *f = f.div(f.add(number(1.0)));
        }
        f
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::portable::Portable;

    /// Evaluates one number with vectors of type `V`.
    fn by_lane<V: Vector>(x: V::Scalar) -> V::Scalar {
        let mut lanes = [V::Scalar::default(); 16];
        // SAFETY: the callers below use vectors the processor has; 16 lanes are room for any.
        unsafe { tanh([V::splat(x)])[0].store(lanes.as_mut_ptr()) };
        lanes[0]
    }

    fn check_f32(tanh: impl Fn(f32) -> f32) {
        // A prime stride over all positive numbers reaches every exponent. Then test all
        // numbers near the delicate places: where n increases, and where the result becomes 1.
        let strided = (0..f32::INFINITY.to_bits()).step_by(1009);
        let dense = [1e-3f32, 0.173, 0.25, 0.52, 0.866, 1.0, 2.0, 5.0, 8.32, 8.66, 9.0, 9.1]
            .into_iter()
            .flat_map(|x| x.to_bits() - 5000..x.to_bits() + 5000);
        let mut worst = (0.0, 0.0);
        for x in strided.chain(dense).map(f32::from_bits) {
            let exact = f64::from(x).tanh();
            let rounded = exact as f32;
            let ulp = f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded);
            for (x, exact) in [(x, exact), (-x, -exact)] {
                let found = tanh(x);
                assert!(found.abs() <= 1.0, "{x}: {found}");
                let error = (f64::from(found) - exact).abs() / ulp;
                if error > worst.1 {
                    worst = (x, error);
                }
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
        use crate::kernel::isa::{Isa, Kind};
        use crate::kernel::{avx2, avx512};
        for isa in Isa::all() {
            match isa.kind() {
                Kind::Avx512 => check_f32(by_lane::<avx512::F32x16>),
                Kind::Avx2 => check_f32(by_lane::<avx2::F32x8>),
                Kind::Portable => {}
            }
        }
    }

    #[test]
    fn f64_is_within_4_ulp_of_the_standard_library() {
        let tanh = by_lane::<Portable<f64, 2>>;
        let mut worst = (0.0, 0.0);
        for i in 0..400_000u32 {
            // From 1e-300 to 1e3 by exponent, and evenly spaced up to 20.
            for x in [10f64.powf(f64::from(i) * (303.0 / 400_000.0) - 300.0), f64::from(i) * 5e-5] {
                let exact = x.tanh();
                let ulp = f64::from_bits(exact.to_bits() + 1) - exact;
                for (x, exact) in [(x, exact), (-x, -exact)] {
                    let error = (tanh(x) - exact).abs() / ulp;
                    if error > worst.1 {
                        worst = (x, error);
                    }
                }
            }
        }
        assert!(worst.1 <= 4.0, "{} ulp at {}", worst.1, worst.0);
        assert_eq!((tanh(f64::INFINITY), tanh(-1e300)), (1.0, -1.0));
        assert!(tanh(f64::NAN).is_nan() && tanh(0.0) == 0.0);
    }
}
