//! What can be proved about the iteration (paper §5), and what can be measured.
//!
//! One sweep is the map `F(H) = tanh(Ã H W + X V)`. tanh never enlarges a difference,
//! so `‖F(H)-F(H')‖_F ≤ K·‖H-H'‖_F` with the *contraction factor* `K = ‖Ã‖₂·‖W‖₂`.
//! (Norms of states are Frobenius norms: the paper writes the 2-norm, in which
//! entrywise tanh is not a contraction.) If K < 1, there is one fixed point, every
//! start leads to it, and its distance can be bounded. Otherwise nothing is guaranteed,
//! and the functions here return `None`.
//!
//! If edges carry labels or attributes, a gate multiplies a neighbour's states:
//! `Σ_j ã_ij·g_ij ∘ h_j` replaces `(ÃH)_i`. For unit k that is the matrix with the
//! entries `ã_ij·g_ijk`. No gate exceeds 1 in modulus, so each entry is at most `ã_ij`
//! in modulus. If the entries of a matrix are bounded by those of a non-negative
//! matrix, so is its norm. So no unit's matrix has a norm above `‖Ã‖₂`, and K, the
//! bounds derived from it, and the proofs stay valid. This does not extend to radii:
//! the radius of a gated operator may be far below `rho(Ã)·rho(W)`, so there is no
//! necessary condition.
//!
//! `‖Ã‖₂` is exactly 1 for a graph with an edge and 0 for one without, directed or not.
//! The square roots of the degrees form a vector that `Ã` maps with factor 1 and that
//! is positive wherever there are edges. For a matrix without negative entries, only
//! the largest singular value can have such a vector.
//!
//! ```
//! use stepwell::theory::{distance_bound, sweeps_bound};
//! // Halving the distance: from at most 2 to 1e-3 takes 11 sweeps.
//! assert_eq!(sweeps_bound(0.5, 1e-3, 1.0), Some(11));
//! assert_eq!(distance_bound(0.5, 1e-3), Some(2e-3));
//! assert_eq!(sweeps_bound(1.0, 1e-3, 1.0), None);
//! ```

use ndarray::{Array1, Array2, ArrayView2};

use crate::error::Result;
use crate::graph::GraphRef;
use crate::linalg;

/// An interval that is guaranteed to contain a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The lower bound.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
}

impl Bounds {
    fn exactly(value: f64) -> Self {
        Self { lower: value, upper: value }
    }
}

/// Whether the iteration of one block converges on one graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// The contraction factor K, rounded up if it had to be computed.
    pub contraction: f64,
    /// K < 1: every start converges to the same states.
    pub sufficient: bool,
    /// `rho(A)·rho(W) < 1`: without input, states near 0 decay to 0. If this fails, the
    /// fixed point is not unique. `None` with gates, or if the bounds of `rho(A)` do
    /// not decide it.
    pub necessary: Option<bool>,
}

/// The two sizes of a block's `W` that determine its stability on any graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecurrentSize {
    /// `‖W‖₂`, rounded up.
    pub norm: f64,
    /// `rho(W)`.
    pub radius: f64,
}

impl RecurrentSize {
    /// Decomposes `W`, once for all graphs.
    pub fn of(recurrent: ArrayView2<'_, f64>) -> Result<Self> {
        // Computed singular values are accurate to a few units in the last place per row.
        let slack = 1.0 + 8.0 * f64::EPSILON * recurrent.nrows() as f64;
        Ok(Self {
            norm: linalg::spectral_norm(recurrent)? * slack,
            radius: linalg::spectral_radius(recurrent)?,
        })
    }
}

/// The contraction factor of a leaky sweep, `(1-a)h + a·tanh(…)`, if `contraction` is
/// that of a full sweep.
pub fn leaky_contraction(contraction: f64, leak: f64) -> f64 {
    (1.0 - leak) + leak * contraction
}

/// Checks both conditions for a block with recurrent weights `W` on a graph, with or
/// without normalised adjacency, and with or without gates.
pub fn stability(
    graph: GraphRef<'_>,
    normalize: bool,
    recurrent: RecurrentSize,
    gated: bool,
) -> Result<Stability> {
    let contraction = adjacency_norm(graph, normalize).upper * recurrent.norm;
    let sufficient = contraction < 1.0;
    if gated {
        return Ok(Stability { contraction, sufficient, necessary: None });
    }
    let (graph_radius, radius) = (adjacency_radius(graph, normalize)?, recurrent.radius);
    let necessary = match (graph_radius.lower * radius < 1.0, graph_radius.upper * radius < 1.0) {
        (_, true) => Some(true),
        (false, _) => Some(false),
        _ => None,
    };
    Ok(Stability { contraction, sufficient, necessary })
}

/// T of the theorem: after this many Jacobi sweeps from zero, the states are within
/// `tol` of the fixed point. `first` is `‖H₁‖_F`, the norm after one sweep. The
/// iteration itself, which stops on the change, makes at most T+1 sweeps.
pub fn sweeps_bound(contraction: f64, tol: f64, first: f64) -> Option<u64> {
    let certain = (0.0..1.0).contains(&contraction) && tol > 0.0 && first.is_finite() && first >= 0.0;
    if !certain {
        return None;
    }
    // Find t with K^t/(1-K)·‖H₁‖ ≤ tol. If the zero state is within `tol`
    // already, no sweep is needed; with K = 0 the first sweep reaches the fixed point.
    let goal = tol * (1.0 - contraction) / first;
    if goal >= 1.0 {
        return Some(0);
    }
    if contraction == 0.0 {
        return Some(1);
    }
    let sweeps = (goal.ln() / contraction.ln()).ceil();
    // Rounding of the logarithms may land on the wrong side of an integer.
    let short = contraction.powf(sweeps) > goal;
    Some(sweeps as u64 + u64::from(short))
}

/// A bound on the distance of states from the fixed point, given the change
/// `‖F(H)-H‖_F` that one more Jacobi sweep would make. It holds for any solver.
pub fn distance_bound(contraction: f64, residual: f64) -> Option<f64> {
    let certain = (0.0..1.0).contains(&contraction) && residual >= 0.0;
    certain.then(|| residual / (1.0 - contraction))
}

/// `‖F(H)-H‖_F` in f64, for the states `H` of a graph's vertices with `drive` = `X V`.
/// `gate` returns the gate of an entry, if it has one.
pub fn residual(
    graph: GraphRef<'_>,
    normalize: bool,
    recurrent: ArrayView2<'_, f64>,
    drive: ArrayView2<'_, f64>,
    states: ArrayView2<'_, f64>,
    gate: impl Fn(usize) -> Option<Array1<f64>>,
) -> f64 {
    let values = operator(graph, normalize);
    let mut gathered = Array2::<f64>::zeros(states.dim());
    for (entry, ((row, column, _), value)) in graph.entries().zip(values).enumerate() {
        match gate(entry) {
            None => gathered.row_mut(row).scaled_add(value, &states.row(column)),
            Some(gate) => gathered.row_mut(row).scaled_add(value, &(gate * states.row(column))),
        }
    }
    let renewed = (gathered.dot(&recurrent) + drive).mapv(f64::tanh);
    (renewed - states).iter().map(|d| d * d).sum::<f64>().sqrt()
}

/// The mean factor by which changes shrank from sweep to sweep.
pub fn contraction_rate(first_change: f64, last_change: f64, sweeps: u32) -> Option<f64> {
    let known = sweeps > 1 && first_change > 0.0 && last_change > 0.0 && first_change.is_finite();
    known.then(|| (last_change / first_change).powf(1.0 / f64::from(sweeps - 1)))
}

/// `‖Ã‖₂`, or `‖A‖₂` if not normalised.
pub fn adjacency_norm(graph: GraphRef<'_>, normalize: bool) -> Bounds {
    if normalize || graph.num_entries() == 0 {
        return Bounds::exactly(if graph.num_entries() == 0 { 0.0 } else { 1.0 });
    }
    let weights = operator(graph, false);
    let squared = power_iteration(graph.num_vertices(), |x| {
        let mut middle = vec![0.0; x.len()];
        let mut product = vec![0.0; x.len()];
        graph.entries().zip(&weights).for_each(|((i, j, _), w)| middle[i] += w * x[j]);
        graph.entries().zip(&weights).for_each(|((i, j, _), w)| product[j] += w * middle[i]);
        product
    });
    Bounds { lower: squared.lower.sqrt(), upper: squared.upper.sqrt() }
}

/// Maximum number of vertices for which the eigenvalues of a directed graph are
/// computed.
const DENSE_VERTICES: usize = 512;

/// `rho(Ã)`, or `rho(A)` if not normalised. Equal to the norm if the graph is
/// undirected. For a large directed graph, only the norm is known as an upper bound.
pub fn adjacency_radius(graph: GraphRef<'_>, normalize: bool) -> Result<Bounds> {
    let norm = adjacency_norm(graph, normalize);
    if !graph.is_directed() {
        return Ok(norm);
    }
    let n = graph.num_vertices();
    if n > DENSE_VERTICES {
        return Ok(Bounds { lower: 0.0, upper: norm.upper });
    }
    let mut dense = Array2::zeros((n, n));
    graph.entries().zip(operator(graph, normalize)).for_each(|((i, j, _), value)| dense[(i, j)] = value);
    Ok(Bounds::exactly(linalg::spectral_radius(dense.view())?))
}

fn operator(graph: GraphRef<'_>, normalize: bool) -> Vec<f64> {
    if normalize {
        graph.normalized_weights()
    } else {
        graph.entries().map(|(_, _, weight)| weight).collect()
    }
}

/// Bounds on the largest eigenvalue of a symmetric matrix `M` without negative entries
/// or eigenvalues. Every Rayleigh quotient is a lower bound, and `max (Mx)_i/x_i` for
/// any positive x is an upper bound (Collatz and Wielandt). Both converge to the
/// eigenvalue.
fn power_iteration(n: usize, multiply: impl Fn(&[f64]) -> Vec<f64>) -> Bounds {
    let mut x = vec![1.0; n];
    let mut bounds = Bounds { lower: 0.0, upper: f64::INFINITY };
    for _ in 0..1000 {
        let product = multiply(&x);
        let quotient =
            x.iter().zip(&product).map(|(x, p)| x * p).sum::<f64>() / x.iter().map(|x| x * x).sum::<f64>();
        let ratios = x.iter().zip(&product).map(|(x, p)| p / x);
        bounds.lower = bounds.lower.max(quotient);
        bounds.upper = bounds.upper.min(ratios.fold(0.0, f64::max));
        // The last digits of both bounds may be rounding error.
        if bounds.upper <= bounds.lower * (1.0 + 1e-12) {
            break;
        }
        // Vanishing entries would spoil the ratios, so keep a small part of every entry.
        let largest = product.iter().copied().fold(0.0, f64::max);
        x = product.iter().map(|p| p / largest + 1e-9).collect();
    }
    let slack = 1.0 + 1e-13;
    Bounds { lower: bounds.lower / slack, upper: bounds.upper * slack }
}

#[cfg(test)]
mod tests;
