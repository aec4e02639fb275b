//! The path for every processor: small arrays that the compiler turns into the vectors
//! it has.

use super::Real;
use super::tile::{self, Product};
use super::vector::Vector;

/// `N` numbers.
#[derive(Clone, Copy)]
pub(super) struct Portable<T, const N: usize>([T; N]);

impl<T: Real, const N: usize> Portable<T, N> {
    #[inline(always)]
    fn with(self, other: Self, combine: impl Fn(T, T) -> T) -> Self {
        Self(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }
}

impl<T: Real, const N: usize> Vector for Portable<T, N> {
    type Scalar = T;
    type Half = Self;
    const LANES: usize = N;
    const PANEL: usize = 2;

    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { from.cast::<[T; N]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<[T; N]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.with(other, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        self.with(other, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self.with(other, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        self.with(other, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
        // Two roundings: without the instruction, a fused multiply-add is a slow library call.
        self.with(factor, |a, b| a * b).with(term, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn at_most(self, limit: T) -> Self {
        Self(self.0.map(|x| if x > limit { limit } else { x }))
    }

    #[inline(always)]
    unsafe fn at_least(self, limit: T) -> Self {
        Self(self.0.map(|x| if x < limit { limit } else { x }))
    }

    #[inline(always)]
    unsafe fn power_of_two(self) -> Self {
        Self(self.0.map(T::power_of_two))
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        self.0.iter().map(|x| x.to_f64()).sum()
    }

    #[inline(always)]
    unsafe fn add_to_doubles(self, to: *mut f64) {
        for (lane, x) in self.0.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { *to.add(lane) += x.to_f64() }
        }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const T, step: usize, to: *mut T, to_step: usize) {
        for i in 0..N {
            for j in 0..N {
                // SAFETY: the caller's promise.
                unsafe { *to.add(j * to_step + i) = *from.add(i * step + j) }
            }
        }
    }

    unsafe fn add_product(product: &Product<'_, T>) {
        // SAFETY: the caller's promise.
        unsafe { tile::add_product::<Self>(product) }
    }
}
