//! What the kernel needs of a vector register.

use super::Real;
use super::tile::Product;

/// A few numbers worked on together.
///
/// Rows are padded to 32 bytes, so that a vector of 64 may not divide them:
/// they then end with half a vector, the *tail*. Narrower vectors have none.
///
/// # Safety
/// All methods may use the instruction set of the implementing type, which the
/// processor must have. They are inlined into functions compiled for that
/// set, where alone they are fast.
pub(crate) trait Vector: Copy {
    type Scalar: Real;
    /// What a tail is worked on with; the vector itself where there are no tails.
    type Half: Vector<Scalar = Self::Scalar>;
    const LANES: usize;
    /// Most vectors of a panel of `W`: [`TILE`](super::tile::TILE) rows of so
    /// many sums, a row of the panel and a factor fill the registers.
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

    /// [`tile::add_product`](super::tile::add_product), compiled for the
    /// instruction set, once.
    unsafe fn add_product(product: &Product<'_, Self::Scalar>);

    /// The number at `from` in the even lanes, the one behind it in the odd
    /// ones. Only for vectors with tails; `from` must be valid for reading both.
    unsafe fn splat_pair(_from: *const Self::Scalar) -> Self {
        unreachable!("rows are whole vectors")
    }

    /// The sums of each even lane and the odd one behind it. Only for vectors
    /// with tails.
    unsafe fn add_pairs(self) -> Self::Half {
        unreachable!("rows are whole vectors")
    }
}
