//! The top eigenvector of a symmetric matrix with about a hundred rows.
//!
//! One eigenvector costs far less than all of them. Householder reflections make the
//! matrix tridiagonal (`4n³/3` operations), bisection finds its largest eigenvalue,
//! inverse iteration finds the vector, and the reflections transform it back (`2n²`).
//! The top vector of a tridiagonal matrix has another advantage: by Perron and
//! Frobenius its signs follow from those of the off-diagonal, so the inverse iteration
//! adds positive numbers and loses no digits.

use crate::rng::Stream;

/// Dividing by a sum of squares below this value would overflow. Such small rows count
/// as 0.
const NEGLIGIBLE: f64 = 1e-280;

/// Off-diagonal entries below this share of the largest entry are rounding error: the
/// two parts have no common sign.
const UNCOUPLED: f64 = 1e-13;

/// The largest eigenvalue of a symmetric `n` by `n` matrix, stored by row, and a unit
/// eigenvector. Reads and overwrites only the lower triangle.
pub(crate) fn top_eigenpair(matrix: &mut [f64], n: usize) -> (f64, Vec<f64>) {
    let Tridiagonal { diagonal, off, halves } = tridiagonalize(matrix, n);
    let (value, mut vector) = top_of_tridiagonal(&diagonal, &off);
    for i in 2..n {
        let reflection = &matrix[i * n..i * n + i];
        let along = dot(reflection, &vector[..i]) / halves[i];
        axpy(&mut vector[..i], -along, reflection);
    }
    (value, vector)
}

/// The largest eigenvalue of a symmetric tridiagonal matrix and a unit eigenvector.
/// `off[i]` couples rows i - 1 and i.
pub(crate) fn top_of_tridiagonal(diagonal: &[f64], off: &[f64]) -> (f64, Vec<f64>) {
    let n = diagonal.len();
    let mut pivots = vec![0.0; n];
    let Some(value) = above_spectrum(diagonal, off, &mut pivots) else {
        return (0.0, Vec::new());
    };
    // If there are several top vectors, start from one without a pattern. A constant
    // start would give equal numbers for equal rows of the matrix.
    let mut stream = Stream::of_ties();
    let mut vector: Vec<f64> = (0..n).map(|_| 0.5 + stream.uniform()).collect();
    // (value - T) is positive definite, and its off-diagonal is negative up to the
    // signs of the eigenvector. After three solves, nothing is left of the other
    // eigenvectors.
    for _ in 0..3 {
        for i in 1..n {
            vector[i] += off[i].abs() / pivots[i - 1] * vector[i - 1];
        }
        for i in (0..n).rev() {
            let coupled = if i + 1 < n { off[i + 1].abs() * vector[i + 1] } else { 0.0 };
            vector[i] = (vector[i] + coupled) / pivots[i];
        }
        let largest = vector.iter().copied().fold(0.0, f64::max);
        vector.iter_mut().for_each(|x| *x /= largest);
    }
    let mut sign = 1.0 / dot(&vector, &vector).sqrt();
    let scale = diagonal.iter().chain(off).fold(0.0, |s: f64, x| s.max(x.abs()));
    for i in 0..n {
        let coupled = off[i].abs() > UNCOUPLED * scale;
        if if coupled { off[i] < 0.0 } else { stream.uniform() < 0.5 } {
            sign = -sign;
        }
        vector[i] *= sign;
    }
    (value, vector)
}

/// The largest eigenvalue, rounded up so that `value - T` is positive definite. Leaves
/// the pivots of its factorisation in `pivots`. `None` without rows.
fn above_spectrum(diagonal: &[f64], off: &[f64], pivots: &mut [f64]) -> Option<f64> {
    let coupling = |i: usize| off.get(i).map_or(0.0, |x| x.abs());
    let mut low = diagonal.iter().copied().reduce(f64::max)?;
    let mut high = low;
    let mut scale: f64 = 0.0;
    for (i, &d) in diagonal.iter().enumerate() {
        let radius = coupling(i) + coupling(i + 1);
        high = high.max(d + radius);
        scale = scale.max(d.abs() + radius);
    }
    // The lower limit keeps the divisions by pivots finite.
    let step = (scale * f64::EPSILON).max(1e-150);
    high += step;
    while high - low > step {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            break;
        }
        if is_above(middle, diagonal, off, pivots) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // The bound by row sums may equal an eigenvalue up to rounding.
    let mut widen = step;
    while !is_above(high, diagonal, off, pivots) {
        high += widen;
        widen *= 2.0;
    }
    Some(high)
}

/// Whether `x - T` has only positive pivots.
fn is_above(x: f64, diagonal: &[f64], off: &[f64], pivots: &mut [f64]) -> bool {
    let mut previous = 1.0;
    for ((pivot, &d), &o) in pivots.iter_mut().zip(diagonal).zip(off) {
        previous = x - d - o * o / previous;
        if previous.is_nan() || previous <= 0.0 {
            return false;
        }
        *pivot = previous;
    }
    true
}

struct Tridiagonal {
    diagonal: Vec<f64>,
    /// `off[i]` couples rows i - 1 and i; `off[0]` is 0.
    off: Vec<f64>,
    /// Half the squared length of each reflection's vector.
    halves: Vec<f64>,
}

/// Applies Householder reflections from the last row upwards. Row i keeps the vector of
/// its reflection.
fn tridiagonalize(matrix: &mut [f64], n: usize) -> Tridiagonal {
    let zeros = || vec![0.0; n];
    let (mut diagonal, mut off, mut halves) = (zeros(), zeros(), zeros());
    let (mut old, mut new) = ([zeros(), zeros()], [zeros(), zeros()]);
    for i in (0..n).rev() {
        // Apply the previous reflection, B - u qᵀ - q uᵀ, in the same pass, so that every entry
        // is read and written once per step.
        let [u, q] = &old;
        let (above, rest) = matrix.split_at_mut(i * n);
        let row = &mut rest[..=i];
        subtract(row, u, q, u[i], q[i]);
        diagonal[i] = row[i];
        let row = &mut row[..i];
        let Some((last, others)) = row.split_last_mut() else { break };
        let squares = dot(others, others);
        let half = if squares > NEGLIGIBLE {
            let length = (squares + *last * *last).sqrt();
            let alpha = if *last > 0.0 { -length } else { length };
            off[i] = alpha;
            let half = alpha * (alpha - *last);
            *last -= alpha;
            half
        } else {
            off[i] = *last;
            *last = 0.0;
            1.0
        };
        halves[i] = half;
        let [v, p] = &mut new;
        v[..i].copy_from_slice(row);
        for j in 0..i {
            let row = &mut above[j * n..=j * n + j];
            p[j] = subtract_and_multiply(row, u, q, u[j], q[j], v, p);
        }
        p[..i].iter_mut().for_each(|x| *x /= half);
        let along = dot(&v[..i], &p[..i]) / (2.0 * half);
        axpy(&mut p[..i], -along, &v[..i]);
        std::mem::swap(&mut old, &mut new);
    }
    Tridiagonal { diagonal, off, halves }
}

/// Row j of `B - u qᵀ - q uᵀ`.
fn subtract(row: &mut [f64], u: &[f64], q: &[f64], u_j: f64, q_j: f64) {
    for ((x, u), q) in row.iter_mut().zip(u).zip(q) {
        *x -= u_j * q + q_j * u;
    }
}

/// The same for row j of a lower triangle, combined with the product with `v`: adds the
/// contributions to the rows above to `p` and returns that to row j.
fn subtract_and_multiply(
    row: &mut [f64],
    u: &[f64],
    q: &[f64],
    u_j: f64,
    q_j: f64,
    v: &[f64],
    p: &mut [f64],
) -> f64 {
    const LANES: usize = 4;
    let j = row.len() - 1;
    let v_j = v[j];
    row[j] -= u_j * q[j] + q_j * u[j];
    let diagonal = row[j];
    let row = &mut row[..j];
    let (u, q, v, p) = (&u[..j], &q[..j], &v[..j], &mut p[..j]);
    let mut sums = [0.0; LANES];
    let whole = j - j % LANES;
    for at in (0..whole).step_by(LANES) {
        let end = at + LANES;
        let (x, p) = (&mut row[at..end], &mut p[at..end]);
        let (u, q, v) = (&u[at..end], &q[at..end], &v[at..end]);
        for k in 0..LANES {
            x[k] -= u_j * q[k] + q_j * u[k];
            sums[k] += x[k] * v[k];
            p[k] += v_j * x[k];
        }
    }
    let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
    for k in whole..j {
        row[k] -= u_j * q[k] + q_j * u[k];
        sum += row[k] * v[k];
        p[k] += v_j * row[k];
    }
    sum + diagonal * v_j
}

/// The inner product, summed in four lanes.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    for (a, b) in a.zip(b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + tail
}

/// `y + a x`, in place.
pub(crate) fn axpy(y: &mut [f64], a: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::oracle::{decompose, jacobi};

    fn symmetric(n: usize, seed: u64, density: f64) -> Vec<f64> {
        let mut stream = Stream::new(seed, "symmetric", [0, 0]);
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let value = if stream.uniform() < density { stream.normal() } else { 0.0 };
                (matrix[i * n + j], matrix[j * n + i]) = (value, value);
            }
        }
        matrix
    }

    fn check(matrix: &[f64], n: usize) {
        let (values, vectors) = if n > 128 { decompose(matrix, n) } else { jacobi(matrix, n) };
        let (value, vector) = top_eigenpair(&mut matrix.to_vec(), n);
        let scale = values.iter().fold(1.0_f64, |s, v| s.max(v.abs()));
        assert!((value - values[n - 1]).abs() < 1e-11 * scale, "{value} {}", values[n - 1]);
        assert!((dot(&vector, &vector) - 1.0).abs() < 1e-12);
        let residual = (0..n)
            .map(|i| (dot(&matrix[i * n..][..n], &vector) - value * vector[i]).abs())
            .fold(0.0, f64::max);
        assert!(residual < 1e-11 * scale, "residual {residual}");
        if n > 1 && values[n - 1] - values[n - 2] > 1e-3 * scale {
            let along = dot(&vector, &vectors[(n - 1) * n..]);
            assert!((along.abs() - 1.0).abs() < 1e-12, "not the top vector: {along}");
        }
    }

    proptest! {
        #[test]
        fn the_top_pair_is_that_of_a_full_decomposition(n in 1usize..40, seed: u64, density in 0.0..1.0) {
            check(&symmetric(n, seed, density), n);
        }
    }

    #[test]
    fn large_dense_and_degenerate_matrices_too() {
        check(&symmetric(128, 1, 1.0), 128);
        check(&symmetric(128, 2, 0.03), 128);
        check(&symmetric(300, 3, 0.02), 300);
        check(&symmetric(500, 4, 1.0), 500);
        check(&[0.0; 9], 3);
        check(&[-1.0; 25], 5);
        let mut eye = vec![0.0; 16];
        (0..4).for_each(|i| eye[5 * i] = 1.0);
        check(&eye, 4);
    }

    #[test]
    fn entries_that_vanish_when_squared_make_no_nan() {
        let mut matrix = vec![1e-200; 36];
        (0..6).for_each(|i| matrix[7 * i] = -1e-190);
        let (value, vector) = top_eigenpair(&mut matrix, 6);
        assert!(value.is_finite() && vector.iter().all(|x| x.is_finite()), "{value} {vector:?}");
        assert_eq!(top_eigenpair(&mut [], 0), (0.0, Vec::new()));
    }
}
