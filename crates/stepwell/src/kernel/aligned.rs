//! Numbers aligned to cache lines, so that no vector load straddles two lines.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::Real;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A vector of numbers, aligned to cache lines.
#[derive(Clone, Default)]
pub(crate) struct Aligned<T> {
    lines: Vec<Line>,
    len: usize,
    numbers: PhantomData<T>,
}

impl<T: Real> Aligned<T> {
    const PER_LINE: usize = 64 / size_of::<T>();

    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([0; 64]); len.div_ceil(Self::PER_LINE)], len, numbers: PhantomData }
    }

    /// Makes room for at least `len` numbers. Growing discards the contents.
    pub fn reserve(&mut self, len: usize) {
        if self.len < len {
            *self = Self::zeros(len);
        }
    }
}

impl<T: Real> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the lines hold at least `len` numbers, every byte is
        // initialised, any bits are a valid f32 or f64 (the only kinds of
        // `Real`), and a line's alignment is stricter than theirs.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl<T: Real> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; the exclusive borrow of `self` covers the lines.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
