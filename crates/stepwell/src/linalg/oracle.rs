//! Reference implementations for tests.

use faer::{Mat, Side};

/// All eigenvalues, ascending, and their vectors as rows, by Jacobi rotations.
pub fn jacobi(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut a = matrix.to_vec();
    let mut v = vec![0.0; n * n];
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    for _ in 0..60 {
        for p in 0..n {
            for q in p + 1..n {
                if a[p * n + q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * a[p * n + q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
                    let (x, y) = (v[p * n + k], v[q * n + k]);
                    (v[p * n + k], v[q * n + k]) = (c * x - s * y, s * x + c * y);
                }
            }
        }
        let off: f64 = (0..n * n).filter(|i| i / n != i % n).map(|i| a[i] * a[i]).sum();
        if off < 1e-28 {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    let vectors = order.iter().flat_map(|&i| v[i * n..(i + 1) * n].to_vec()).collect();
    (values, vectors)
}

/// The same by faer, for matrices too large for rotations.
pub fn decompose(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
    let whole = Mat::from_fn(n, n, |i, j| matrix[i * n + j]).self_adjoint_eigen(Side::Lower).unwrap();
    let values = whole.S().column_vector().iter().copied().collect();
    let vectors = (0..n * n).map(|at| whole.U()[(at % n, at / n)]).collect();
    (values, vectors)
}
