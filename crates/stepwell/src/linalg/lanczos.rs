//! Approximates the top eigenvector of a large sparse symmetric matrix with a fixed
//! number of products.
//!
//! Uses Lanczos' recurrence with full re-orthogonalisation: after k products the result
//! is the best vector of the Krylov space of the start. All vectors of that space are
//! kept, 8 bytes per row and product.

use super::symmetric::{axpy, dot, top_of_tridiagonal};

/// If the remainder of a product is below this share of the largest number seen, it is
/// rounding error, and the space cannot grow any further.
const EXHAUSTED: f64 = 1e-12;

/// Rows processed at a time. A piece of the new vector stays in the first-level cache
/// while the whole basis is read.
const TILE: usize = 1024;

/// The Krylov space of some products, and the matrix restricted to it.
pub(crate) struct Lanczos {
    /// Orthonormal vectors, one after the other, with `n` rows each.
    basis: Vec<f64>,
    rows: usize,
    diagonal: Vec<f64>,
    off: Vec<f64>,
}

impl Lanczos {
    /// Starts from `start` and makes at most `products` calls of `multiply(x, y)`,
    /// which sets `y` to the product with `x`.
    pub fn run(start: &[f64], products: usize, mut multiply: impl FnMut(&[f64], &mut [f64])) -> Self {
        let n = start.len();
        let norm = dot(start, start).sqrt();
        let mut space = Self { basis: Vec::new(), rows: n, diagonal: Vec::new(), off: vec![0.0] };
        if n == 0 || norm == 0.0 || !norm.is_finite() {
            return space;
        }
        space.basis.extend(start.iter().map(|x| x / norm));
        let mut next = vec![0.0; n];
        let mut scale: f64 = 0.0;
        loop {
            let k = space.diagonal.len();
            let last = &space.basis[k * n..];
            multiply(last, &mut next);
            let alpha = dot(last, &next);
            let before = dot(&next, &next).sqrt();
            space.diagonal.push(alpha);
            scale = scale.max(alpha.abs()).max(space.off[k]);
            if k + 1 == products.min(n) {
                return space;
            }
            let mut beta = space.orthogonalize(&mut next);
            if beta < 0.1 * before {
                beta = space.orthogonalize(&mut next);
            }
            if beta.is_nan() || beta <= EXHAUSTED * scale {
                return space;
            }
            space.off.push(beta);
            space.basis.extend(next.iter().map(|x| x / beta));
        }
    }

    /// The largest eigenvalue of the restricted matrix. `vector` becomes a unit
    /// eigenvector of it. Without a space it stays as it is.
    pub fn top(&self, vector: &mut [f64]) -> f64 {
        let (value, weights) = top_of_tridiagonal(&self.diagonal, &self.off);
        if weights.is_empty() {
            return value;
        }
        vector.fill(0.0);
        for (at, tile) in vector.chunks_mut(TILE).enumerate() {
            combine(tile, &self.basis, &weights, 1.0, self.rows, at * TILE);
        }
        let norm = dot(vector, vector).sqrt();
        vector.iter_mut().for_each(|x| *x /= norm);
        value
    }

    /// Removes the components along the basis from `next`. Returns the norm of the
    /// remainder.
    fn orthogonalize(&self, next: &mut [f64]) -> f64 {
        let Self { basis, rows: n, .. } = self;
        let mut along = vec![0.0; basis.len() / n];
        for (at, tile) in next.chunks(TILE).enumerate() {
            for (sum, q) in along.iter_mut().zip(basis.chunks_exact(*n)) {
                *sum += dot(&q[at * TILE..][..tile.len()], tile);
            }
        }
        let mut squares = 0.0;
        for (at, tile) in next.chunks_mut(TILE).enumerate() {
            combine(tile, basis, &along, -1.0, *n, at * TILE);
            squares += dot(tile, tile);
        }
        squares.sqrt()
    }
}

/// Adds `sign` times the weighted sum of the basis to one tile, which begins at row
/// `first`. Processes four vectors at a time.
fn combine(tile: &mut [f64], basis: &[f64], weights: &[f64], sign: f64, n: usize, first: usize) {
    let row = |k: usize| &basis[k * n + first..][..tile.len()];
    let whole = weights.len() - weights.len() % 4;
    let rows: Vec<&[f64]> = (0..weights.len()).map(row).collect();
    for k in (0..whole).step_by(4) {
        let (a, b, c, d) = (rows[k], rows[k + 1], rows[k + 2], rows[k + 3]);
        let w = [sign * weights[k], sign * weights[k + 1], sign * weights[k + 2], sign * weights[k + 3]];
        for ((((y, a), b), c), d) in tile.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *y += (w[0] * a + w[1] * b) + (w[2] * c + w[3] * d);
        }
    }
    for k in whole..weights.len() {
        axpy(tile, sign * weights[k], rows[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::oracle::{decompose, jacobi};
    use crate::rng::Stream;

    fn run(matrix: &[f64], n: usize, products: usize) -> (f64, Vec<f64>, Lanczos) {
        let mut stream = Stream::new(5, "start", [0, 0]);
        let mut vector: Vec<f64> = (0..n).map(|_| stream.uniform_in(-1.0, 1.0)).collect();
        let lanczos = Lanczos::run(&vector, products, |x, y| {
            y.iter_mut().zip(matrix.chunks(n)).for_each(|(y, row)| *y = dot(row, x));
        });
        let value = lanczos.top(&mut vector);
        (value, vector, lanczos)
    }

    fn random(n: usize) -> Vec<f64> {
        let mut stream = Stream::new(6, "matrix", [0, 0]);
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let value = stream.normal();
                (matrix[i * n + j], matrix[j * n + i]) = (value, value);
            }
        }
        matrix
    }

    #[test]
    fn enough_products_give_the_top_pair() {
        let n = 90;
        let matrix = random(n);
        let (values, vectors) = jacobi(&matrix, n);
        let (value, vector, lanczos) = run(&matrix, n, n);
        assert!((value - values[n - 1]).abs() < 1e-10);
        assert!((dot(&vector, &vectors[(n - 1) * n..]).abs() - 1.0).abs() < 1e-9);
        for (i, a) in lanczos.basis.chunks(n).enumerate() {
            for (j, b) in lanczos.basis.chunks(n).enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(a, b) - expected).abs() < 1e-12, "{i} {j}: {}", dot(a, b));
            }
        }
    }

    #[test]
    fn large_matrices_too() {
        let n = 500;
        let matrix = random(n);
        let (values, vectors) = decompose(&matrix, n);
        let (value, vector, _) = run(&matrix, n, 300);
        assert!((value - values[n - 1]).abs() < 1e-9);
        assert!((dot(&vector, &vectors[(n - 1) * n..]).abs() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn few_products_give_the_best_of_their_space() {
        let n = 60;
        let matrix = random(n);
        let (value, vector, _) = run(&matrix, n, 6);
        let image: Vec<f64> = matrix.chunks(n).map(|row| dot(row, &vector)).collect();
        assert!((dot(&vector, &image) - value).abs() < 1e-10, "the Rayleigh quotient of the answer");
        let more = run(&matrix, n, 12).0;
        assert!(more >= value && more <= jacobi(&matrix, n).0[n - 1] + 1e-10);
    }

    #[test]
    fn a_small_krylov_space_ends_the_iteration() {
        let n = 50;
        let ones = vec![1.0; n * n];
        let (value, vector, lanczos) = run(&ones, n, 40);
        assert!(lanczos.diagonal.len() <= 3, "two different eigenvalues, {}", lanczos.diagonal.len());
        assert!((value - 50.0).abs() < 1e-10);
        assert!(vector.iter().all(|x| (x - vector[0]).abs() < 1e-10));
        let (value, vector, _) = run(&vec![0.0; n * n], n, 40);
        assert!(value.abs() < 1e-100);
        assert!((dot(&vector, &vector) - 1.0).abs() < 1e-12);
    }
}
