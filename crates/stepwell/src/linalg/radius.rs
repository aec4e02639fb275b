//! The spectral radius of a matrix with zeros, by a method that always terminates.
//!
//! QR iterations can run forever on nearly nilpotent matrices, and sparse random
//! matrices often are nearly nilpotent. So the matrix is first split into its strongly
//! connected components, whose radii determine its radius. The radius of a component is
//! the limit of `‖A^k‖^(1/k)` (Gelfand), evaluated at `k = 2⁵³`.

use ndarray::{Array2, ArrayView2};

/// Number of squarings after which the limit is exact to the last digit.
const SQUARINGS: i32 = 53;

/// The largest modulus among the eigenvalues of a square matrix of finite numbers.
pub(super) fn of_sparse(matrix: ArrayView2<'_, f64>) -> f64 {
    let n = matrix.nrows();
    let targets: Vec<Vec<usize>> =
        (0..n).map(|i| (0..n).filter(|&j| matrix[(i, j)] != 0.0).collect()).collect();
    let radius = |part: &Vec<usize>| match part[..] {
        [only] => matrix[(only, only)].abs(),
        _ => of_part(&Array2::from_shape_fn((part.len(), part.len()), |(i, j)| matrix[(part[i], part[j])])),
    };
    strong_parts(&targets).iter().map(radius).fold(0.0, f64::max)
}

/// The radius of a matrix with a strongly connected graph.
fn of_part(part: &Array2<f64>) -> f64 {
    let norm = |matrix: &Array2<f64>| {
        matrix.rows().into_iter().map(|row| sum_of_sizes(row.iter())).fold(0.0, f64::max)
    };
    let first = norm(part);
    let mut power = part / first;
    let mut log = first.ln();
    for k in 1..=SQUARINGS {
        power = power.dot(&power);
        let size = norm(&power);
        if size == 0.0 || !size.is_finite() {
            break;
        }
        log += size.ln() / 2f64.powi(k);
        power /= size;
    }
    log.exp()
}

fn sum_of_sizes<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    values.map(|x| x.abs()).sum()
}

/// The strongly connected components of a graph (Tarjan, without recursion).
fn strong_parts(targets: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let n = targets.len();
    let (mut index, mut low, mut on_stack) = (vec![UNSEEN; n], vec![0; n], vec![false; n]);
    let (mut next, mut stack, mut parts) = (0, Vec::new(), Vec::new());
    for root in 0..n {
        if index[root] != UNSEEN {
            continue;
        }
        // The path from the root: vertices, with the number of their edges followed so far.
        let mut way = vec![(root, 0)];
        while let Some((v, followed)) = way.last_mut() {
            let v = *v;
            if *followed == 0 && index[v] == UNSEEN {
                (index[v], low[v], on_stack[v]) = (next, next, true);
                next += 1;
                stack.push(v);
            }
            if let Some(&u) = targets[v].get(*followed) {
                *followed += 1;
                if index[u] == UNSEEN {
                    way.push((u, 0));
                } else if on_stack[u] {
                    low[v] = low[v].min(index[u]);
                }
                continue;
            }
            way.pop();
            if let Some(&(before, _)) = way.last() {
                low[before] = low[before].min(low[v]);
            }
            if low[v] == index[v] {
                let mut part = Vec::new();
                while let Some(u) = stack.pop() {
                    on_stack[u] = false;
                    part.push(u);
                    if u == v {
                        break;
                    }
                }
                part.sort_unstable();
                parts.push(part);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;
    use crate::rng::Stream;

    #[test]
    fn radii_known_by_formula() {
        // A weighted cycle: the geometric mean of its weights.
        let n = 40;
        let mut cycle = Array2::zeros((n, n));
        (0..n).for_each(|k| cycle[(k, (k + 1) % n)] = if k % 2 == 0 { 0.25 } else { -4.0 });
        assert!((of_sparse(cycle.view()) - 1.0).abs() < 1e-13);
        cycle[(n - 1, 0)] = 0.0;
        assert_eq!(of_sparse(cycle.view()), 0.0, "a path is nilpotent");
        // A path with a loop of 1e-12 on it: nearly nilpotent.
        cycle[(7, 7)] = -1e-12;
        assert_eq!(of_sparse(cycle.view()), 1e-12);
        // Blocks of known radii on the diagonal, with arbitrary entries above it.
        let blocks = array![
            [0.0, -2.0, 9.0, 9.0, 9.0],
            [2.0, 0.0, 0.0, 9.0, 0.0],
            [0.0, 0.0, 0.0, 6.0, 9.0],
            [0.0, 0.0, 1.5, 0.0, 9.0],
            [0.0, 0.0, 0.0, 0.0, -2.5],
        ];
        assert!((of_sparse(blocks.view()) - 3.0).abs() < 1e-13, "eigenvalues ±2i, ±3, -2.5");
    }

    proptest! {
        /// Compares with brute force: vertices that reach each other are in one component.
        #[test]
        fn parts_are_what_reaches_each_other(n in 1usize..14, density in 0.0..0.5f64, seed: u64) {
            let mut stream = Stream::new(seed, "parts", [0, 0]);
            let edges = Array2::from_shape_simple_fn((n, n), || stream.uniform() < density);
            let mut reaches = edges.clone();
            (0..n).for_each(|v| reaches[(v, v)] = true);
            for via in 0..n {
                for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                    reaches[(i, j)] |= reaches[(i, via)] && reaches[(via, j)];
                }
            }
            let targets: Vec<Vec<usize>> =
                (0..n).map(|i| (0..n).filter(|&j| edges[(i, j)]).collect()).collect();
            let mut found = strong_parts(&targets);
            found.sort_unstable();
            let mut expected: Vec<Vec<usize>> = (0..n)
                .map(|v| (0..n).filter(|&u| reaches[(v, u)] && reaches[(u, v)]).collect())
                .collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(found, expected);
        }

        /// Compares with the QR iteration for dense matrices. A change of basis that keeps the
        /// eigenvalues makes the matrices dense: it adds a multiple of one row to another and
        /// undoes that in the columns.
        #[test]
        fn radii_are_those_of_the_same_matrix_without_zeros(n in 2usize..12, seed: u64) {
            let mut stream = Stream::new(seed, "radii", [0, 0]);
            let sparse = Array2::from_shape_simple_fn((n, n), || {
                if stream.uniform() < 0.4 { stream.uniform_in(-1.0, 1.0) } else { 0.0 }
            });
            let mut dense = sparse.clone();
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).filter(|(i, j)| i != j) {
                let factor = stream.uniform_in(-0.2, 0.2);
                let row = dense.row(j).to_owned();
                dense.row_mut(i).scaled_add(factor, &row);
                let column = dense.column(i).to_owned();
                dense.column_mut(j).scaled_add(-factor, &column);
            }
            prop_assume!(dense.iter().all(|&x| x != 0.0));
            let expected = crate::linalg::spectral_radius(dense.view()).unwrap();
            let found = of_sparse(sparse.view());
            // An eigenvalue of multiplicity m is accurate to the m-th root of the rounding
            // error.
            prop_assert!((found - expected).abs() < 1e-2 * expected.max(0.1), "{} {}", found, expected);
            if expected > 0.2 {
                prop_assert!((found - expected).abs() < 1e-4, "{} {}", found, expected);
            }
        }
    }
}
