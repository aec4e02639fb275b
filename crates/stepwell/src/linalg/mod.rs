//! Linear algebra: radius and norm of general matrices, eigenvectors of symmetric
//! matrices, equations, products. The only module that uses faer's types.

mod band;
mod cholesky;
mod general;
pub(crate) mod lanczos;
#[cfg(test)]
pub(crate) mod oracle;
mod product;
mod radius;
pub(crate) mod spectrum;
pub(crate) mod symmetric;

pub(crate) use band::{Band, BandFactor, abreast, multiply_abreast};
pub(crate) use cholesky::{root, solve_positive, solve_rows, solve_transposed};
pub(crate) use general::{spectral_norm, spectral_radius};
pub(crate) use product::{add_gram, multiply, products};

use faer::{Accum, MatMut, MatRef, Par};

use crate::kernel::leave_wide_registers;

/// faer's product on one thread. It may leave the wide registers in use.
fn matmul<T: faer::traits::ComplexField>(
    target: MatMut<'_, T>,
    accum: Accum,
    left: MatRef<'_, T>,
    right: MatRef<'_, T>,
    factor: T,
) {
    faer::linalg::matmul::matmul(target, accum, left, right, factor, Par::Seq);
    leave_wide_registers();
}
