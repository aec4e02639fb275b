//! Linear algebra: radius and norm of general matrices, eigenvectors of
//! symmetric ones, equations, products. The only place that sees faer's types.

mod band;
mod cholesky;
mod general;
pub(crate) mod lanczos;
#[cfg(test)]
pub(crate) mod oracle;
mod product;
pub(crate) mod spectrum;
pub(crate) mod symmetric;

pub(crate) use band::{Band, BandFactor, abreast, multiply_abreast};
pub(crate) use cholesky::{root, solve_positive, solve_rows, solve_transposed};
pub(crate) use general::{spectral_norm, spectral_radius};
pub(crate) use product::{add_gram, multiply, multiply_rows, products};
