//! The operations on a vector register that the kernel needs.

use super::Real;
use super::tile::Product;

/// A few numbers processed together.
///
/// Rows are padded to 32 bytes, so a vector of 64 bytes may not divide them. Such rows
/// end with half a vector, the *tail*. Narrower vectors have no tail.
///
/// # Safety
/// All methods may use the instruction set of the implementing type, which the
/// processor must have. They are fast only when inlined into functions compiled for
/// that instruction set.
pub(crate) trait Vector: Copy {
    type Scalar: Real;
    /// The vector that processes a tail; the vector itself if there are no tails.
    type Half: Vector<Scalar = Self::Scalar>;
    const LANES: usize;
    /// Maximum vectors of a panel of `W`: the sums of [`TILE`](super::tile::TILE) rows,
    /// a row of the panel and a factor fill the registers.
    const PANEL: usize;
    const HAS_TAIL: bool = Self::LANES > <Self::Scalar as Real>::COLUMN_STEP;

    unsafe fn splat(value: Self::Scalar) -> Self;
    /// `from` must be valid for reading `LANES` numbers.
    unsafe fn load(from: *const Self::Scalar) -> Self;
    /// `to` must be valid for writing `LANES` numbers.
    unsafe fn store(self, to: *mut Self::Scalar);
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    /// `self * factor + term`, with one rounding if the instruction set supports it.
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self;
    /// The smaller of `self` and `limit`. NaN stays NaN.
    unsafe fn at_most(self, limit: Self::Scalar) -> Self;
    /// The larger of `self` and `limit`. NaN stays NaN.
    unsafe fn at_least(self, limit: Self::Scalar) -> Self;
    /// Two to the power whose biased exponent is in the lowest bits.
    unsafe fn power_of_two(self) -> Self;
    /// The sum of the lanes.
    unsafe fn sum(self) -> f64;
    /// Adds the lanes to the numbers at `to`, which must be valid for reading and writing `LANES`
    /// of them.
    unsafe fn add_to_doubles(self, to: *mut f64);
    /// Transposes a square of `LANES` rows. `from` must be valid for reading rows that are `step`
    /// apart, `to` for writing rows that are `to_step` apart.
    unsafe fn transpose(from: *const Self::Scalar, step: usize, to: *mut Self::Scalar, to_step: usize);

    /// [`tile::add_product`](super::tile::add_product), compiled once for the
    /// instruction set.
    unsafe fn add_product(product: &Product<'_, Self::Scalar>);

    /// The number at `from` in the even lanes and the next one in the odd lanes. Only
    /// for vectors with tails; `from` must be valid for reading both.
    unsafe fn splat_pair(_from: *const Self::Scalar) -> Self {
        unreachable!("rows are whole vectors")
    }

    /// The sum of each even lane and the next odd lane. Only for vectors with tails.
    unsafe fn add_pairs(self) -> Self::Half {
        unreachable!("rows are whole vectors")
    }
}
