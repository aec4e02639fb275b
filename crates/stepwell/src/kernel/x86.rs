//! The common part of the paths for x86-64: everything except the names of the
//! instructions.

/// Implements [`Vector`](super::vector::Vector) for a register and its intrinsics.
macro_rules! vector {
    ($name:ident, $half:ty, $register:ty, $scalar:ty, $lanes:literal lanes, panels of $panel:literal,
     [$set1:ident $loadu:ident $storeu:ident $add:ident $sub:ident $mul:ident $div:ident $fmadd:ident
      $min:ident $max:ident], $power:ident $sum:ident $add_to_doubles:ident $transpose:ident $product:ident $(, $splat_pair:ident $add_pairs:ident)?) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name($register);

        impl From<$register> for $name {
            #[inline(always)]
            fn from(register: $register) -> Self {
                Self(register)
            }
        }

        // SAFETY of every block: the trait's promise that the processor has the
        // instructions, and for loads and stores the caller's about the pointer.
        impl Vector for $name {
            type Scalar = $scalar;
            type Half = $half;
            const LANES: usize = $lanes;
            const PANEL: usize = $panel;

            #[inline(always)]
            unsafe fn splat(value: $scalar) -> Self {
                Self(unsafe { $set1(value) })
            }

            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                Self(unsafe { $loadu(from) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $scalar) {
                unsafe { $storeu(to, self.0) }
            }

            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Self(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                Self(unsafe { $sub(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn mul(self, other: Self) -> Self {
                Self(unsafe { $mul(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn div(self, other: Self) -> Self {
                Self(unsafe { $div(self.0, other.0) })
            }

            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, term: Self) -> Self {
                Self(unsafe { $fmadd(self.0, factor.0, term.0) })
            }

            #[inline(always)]
            unsafe fn at_most(self, limit: $scalar) -> Self {
                // The instruction returns its second argument if one argument is NaN.
                Self(unsafe { $min($set1(limit), self.0) })
            }

            #[inline(always)]
            unsafe fn at_least(self, limit: $scalar) -> Self {
                Self(unsafe { $max($set1(limit), self.0) })
            }

            #[inline(always)]
            unsafe fn power_of_two(self) -> Self {
                Self(unsafe { $power(self.0) })
            }

            #[inline(always)]
            unsafe fn sum(self) -> f64 {
                unsafe { $sum(self.0) }
            }

            #[inline(always)]
            unsafe fn add_to_doubles(self, to: *mut f64) {
                unsafe { $add_to_doubles(self.0, to) }
            }

            #[inline(always)]
            unsafe fn transpose(from: *const $scalar, step: usize, to: *mut $scalar, to_step: usize) {
                unsafe { $transpose(from, step, to, to_step) }
            }

            #[inline(always)]
            unsafe fn add_product(product: &Product<'_, $scalar>) {
                unsafe { $product(product) }
            }

            $(
                #[inline(always)]
                unsafe fn splat_pair(from: *const $scalar) -> Self {
                    Self(unsafe { $splat_pair(from) })
                }

                #[inline(always)]
                unsafe fn add_pairs(self) -> $half {
                    unsafe { $add_pairs(self.0) }
                }
            )?
        }
    };
}
pub(super) use vector;

/// The kernel's functions, compiled for an instruction set.
macro_rules! entry_points {
    ($features:literal, $vector:ty, $scalar:ty, $sweep:ident, $product:ident, $fill:ident, $fold:ident) => {
        /// # Safety
        /// As [`sweep::rows`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $sweep(
            task: &Sweeping<'_, $scalar>,
            rows: Range<usize>,
            scratch: &mut [$scalar],
        ) -> f64 {
            // SAFETY: the caller's promise.
            unsafe { sweep::rows::<$vector>(task, rows, scratch) }
        }

        /// # Safety
        /// As [`tile::add_product`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $product(product: &Product<'_, $scalar>) {
            // SAFETY: the caller's promise.
            unsafe { tile::add_product::<$vector>(product) }
        }

        /// # Safety
        /// As [`gate::fill`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $fill(waves: &Waves<'_, $scalar>, lines: &[u32], to: *mut $scalar) {
            // SAFETY: the caller's promise.
            unsafe { gate::fill::<$vector>(waves, lines, to) }
        }

        /// # Safety
        /// The processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $fold(task: &mut Folding<'_, $scalar>) {
            task.run();
        }
    };
}
pub(super) use entry_points;

/// The same for the readout: tiles of a product, and vectors of right-hand sides that are
/// solved together.
macro_rules! readout_points {
    ($features:literal, $single:ty, $double:ty, tiles of $rows:literal rows, $vectors:literal vectors) => {
        /// # Safety
        /// As [`matmul::multiply`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn multiply_f32(task: &mut Multiplying<'_, f32, f32>, room: &mut Room<f32>) {
            // SAFETY: the caller's promise.
            unsafe { matmul::multiply::<$single, Same, $rows>(task, room) }
        }

        /// # Safety
        /// As [`matmul::multiply`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn multiply_f64(task: &mut Multiplying<'_, f64, f64>, room: &mut Room<f64>) {
            // SAFETY: the caller's promise.
            unsafe { matmul::multiply::<$double, Same, $rows>(task, room) }
        }

        /// # Safety
        /// As [`matmul::multiply`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn multiply_mixed(task: &mut Multiplying<'_, f32, f64>, room: &mut Room<f32>) {
            // SAFETY: the caller's promise.
            unsafe { matmul::multiply::<$single, Double, $rows>(task, room) }
        }

        /// # Safety
        /// As [`similar::finish_rows`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn finish_rows(task: &mut Finishing<'_>) {
            // SAFETY: the caller's promise.
            unsafe { similar::finish_rows::<$double>(task) }
        }

        /// # Safety
        /// As [`banded::solve`]; the processor must have the instructions.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn solve_band(task: &mut Solving<'_>) {
            // SAFETY: the caller's promise.
            unsafe { banded::solve::<$double, $vectors>(task) }
        }
    };
}
pub(super) use readout_points;
