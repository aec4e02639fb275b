//! Solves equations with a triangular band for many right-hand sides at once.

use super::Isa;
use super::vector::Vector;

/// Right-hand sides solved together. The part of them within one band stays in the
/// innermost cache.
pub(crate) const ABREAST: usize = 32;

/// A lower triangular band, row by row. Row i holds columns `i - width` to i: zeros
/// before column 0, and the reciprocal in place of the diagonal entry.
pub(crate) struct Banded<'a> {
    pub rows: &'a [f64],
    pub width: usize,
}

/// An equation `L U = Z`; `U` and `Z` have [`ABREAST`] columns.
pub(crate) struct Solving<'a> {
    rows: &'a [f64],
    width: usize,
    z: &'a [f64],
    u: &'a mut [f64],
    squares: &'a mut [f64],
}

impl Banded<'_> {
    /// Solves `L U = Z` with [`ABREAST`] columns, both stored by row, and returns the
    /// squared length of every column of `U`.
    ///
    /// # Panics
    /// If the lengths do not match.
    pub fn solve(&self, z: &[f64], u: &mut [f64]) -> [f64; ABREAST] {
        assert_eq!(self.rows.len() * ABREAST, z.len() * (self.width + 1), "a band of another size");
        assert_eq!(z.len(), u.len(), "results of another size");
        let mut squares = [0.0; ABREAST];
        let mut task = Solving { rows: self.rows, width: self.width, z, u, squares: &mut squares };
        // SAFETY: the lengths were checked above, and an `Isa` exists only where the processor has it.
        unsafe { Isa::in_use().solve_band(&mut task) }
        squares
    }
}

/// # Safety
/// As for [`Vector`]; the slices of the task must fit each other.
#[inline(always)]
pub(super) unsafe fn solve<V: Vector<Scalar = f64>, const VECTORS: usize>(task: &mut Solving<'_>) {
    let (width, n) = (task.width, task.z.len() / ABREAST);
    // SAFETY: the caller's promise; `i` is below `n`, and `j` below `i`.
    unsafe {
        for column in (0..ABREAST).step_by(VECTORS * V::LANES) {
            let mut squares = [V::splat(0.0); VECTORS];
            for i in 0..n {
                let row = task.rows.as_ptr().add(i * (width + 1));
                let at = |i: usize, v: usize| i * ABREAST + column + v * V::LANES;
                let mut sums = [V::splat(0.0); VECTORS];
                for (v, sum) in sums.iter_mut().enumerate() {
                    *sum = V::load(task.z.as_ptr().add(at(i, v)));
                }
                let first = i.saturating_sub(width);
                for j in first..i {
                    let factor = V::splat(-*row.add(width + j - i));
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = factor.mul_add(V::load(task.u.as_ptr().add(at(j, v))), *sum);
                    }
                }
                let pivot = V::splat(*row.add(width));
                for (v, (sum, square)) in sums.iter().zip(&mut squares).enumerate() {
                    let solved = sum.mul(pivot);
                    solved.store(task.u.as_mut_ptr().add(at(i, v)));
                    *square = solved.mul_add(solved, *square);
                }
            }
            for (v, square) in squares.iter().enumerate() {
                square.store(task.squares.as_mut_ptr().add(column + v * V::LANES));
            }
        }
    }
}
