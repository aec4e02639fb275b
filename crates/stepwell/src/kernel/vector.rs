//! What the kernel needs of a vector register.

use super::Real;

/// A few numbers worked on together.
///
/// # Safety
/// All methods may use the instruction set of the implementing type, which the
/// processor must have. They are inlined into functions compiled for that
/// set, where alone they are fast.
pub(crate) trait Vector: Copy {
    type Scalar: Real;
    const LANES: usize;

    unsafe fn splat(value: Self::Scalar) -> Self;
    /// `from` must be valid for reading `LANES` numbers.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// `to` must be valid for writing `LANES` numbers.
    unsafe fn store(self, to: *mut Self::Scalar);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// `self * factor + term`, with one rounding where the instruction set has it.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The smaller of `self` and `limit`; not a number stays that.
    unsafe fn at_most(self, limit: Self::Scalar) -> Self;
    /// The larger of `self` and `limit`; not a number stays that.
    unsafe fn at_least(self, limit: Self::Scalar) -> Self;
    /// Two to the power whose biased exponent is in the lowest bits.
    unsafe fn power_of_two(self) -> Self;
    /// The lanes' sum.
    unsafe fn sum(self) -> f64;
}
