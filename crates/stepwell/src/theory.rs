//! What can be proved about the iteration (paper §5), and what can be measured.
//!
//! One sweep is the map `F(H) = tanh(Ã H W + X V)`. As tanh changes no
//! difference for the larger, `‖F(H)-F(H')‖_F ≤ K·‖H-H'‖_F` with the
//! *contraction factor* `K = ‖Ã‖₂·‖W‖₂`. (Norms of states are Frobenius norms:
//! the paper writes the 2-norm, in which entrywise tanh is not a contraction.)
//! If K < 1 there is one fixed point, every start leads to it, and its distance
//! can be bounded. If not, nothing is certain, and functions here answer `None`.
//!
//! Where edges carry something, a neighbour's states pass a gate on their way:
//! `Σ_j ã_ij·g_ij ∘ h_j` takes the place of `(ÃH)_i`. For unit k that is the matrix
//! with the entries `ã_ij·g_ijk`, and as no gate exceeds 1 in modulus, each is at most
//! `ã_ij`. A matrix whose entries are at most those of a matrix without negative ones
//! has at most its norm. So no unit's matrix has a norm above `‖Ã‖₂`, and K, the bounds
//! made of it, and the proofs stay as they are. Radii are another matter: that of a
//! gated operator may be far below `rho(Ã)·rho(W)`, and there is no necessary condition.
//!
//! `‖Ã‖₂` is exactly 1 for a graph with an edge and 0 for one without, directed
//! or not: the square roots of the degrees make a vector that `Ã` maps with
//! factor 1 and that has no zero where there are edges, which only the largest
//! singular value of a matrix without negative entries can have.
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

/// An interval that surely holds a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// It is no smaller than this,
    pub lower: f64,
    /// and no larger than this.
    pub upper: f64,
}

impl Bounds {
    fn exactly(value: f64) -> Self {
        Self { lower: value, upper: value }
    }
}

/// Whether the iteration of one block settles on one graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// The contraction factor K, rounded up where it had to be computed.
    pub contraction: f64,
    /// K < 1: it settles, from any start, on the same states.
    pub sufficient: bool,
    /// `rho(A)·rho(W) < 1`: without input, states near 0 die out. Without
    /// this, uniqueness is lost. `None` when the bounds of `rho(A)` leave it open, and
    /// with gates.
    pub necessary: Option<bool>,
}

/// The two sizes of a block's `W` that decide about its stability on any graph.
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
        // Singular values are computed to a few units in the last place per row.
        let slack = 1.0 + 8.0 * f64::EPSILON * recurrent.nrows() as f64;
        Ok(Self {
            norm: linalg::spectral_norm(recurrent)? * slack,
            radius: linalg::spectral_radius(recurrent)?,
        })
    }
}

/// The contraction factor of a leaky sweep, `(1-a)h + a·tanh(…)`, where that of
/// a full one is `contraction`.
pub fn leaky_contraction(contraction: f64, leak: f64) -> f64 {
    (1.0 - leak) + leak * contraction
}

/// Checks both conditions for a block with recurrent weights `W` on a graph,
/// whose adjacency is normalised or not, and whose edges have gates or not.
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

/// T of the theorem: after so many sweeps of Jacobi from zero, the states are
/// within `tol` of the fixed point. `first` is `‖H₁‖_F`, the norm after one
/// sweep. The iteration itself, which stops on the change, makes at most T+1.
pub fn sweeps_bound(contraction: f64, tol: f64, first: f64) -> Option<u64> {
    let certain = (0.0..1.0).contains(&contraction) && tol > 0.0 && first.is_finite() && first >= 0.0;
    if !certain {
        return None;
    }
    // K^t/(1-K)·‖H₁‖ ≤ tol. Without any way to go there is nothing to do;
    // with K = 0 the first sweep arrives.
    let goal = tol * (1.0 - contraction) / first;
    if goal >= 1.0 {
        return Some(0);
    }
    if contraction == 0.0 {
        return Some(1);
    }
    let sweeps = (goal.ln() / contraction.ln()).ceil();
    // Rounding of the logarithms may be on the wrong side of an integer.
    let short = contraction.powf(sweeps) > goal;
    Some(sweeps as u64 + u64::from(short))
}

/// How far states can be from the fixed point, given the change `‖F(H)-H‖_F`
/// one more sweep of Jacobi would make; whatever method found them.
pub fn distance_bound(contraction: f64, residual: f64) -> Option<f64> {
    let certain = (0.0..1.0).contains(&contraction) && residual >= 0.0;
    certain.then(|| residual / (1.0 - contraction))
}

/// `‖F(H)-H‖_F` in f64, for the states `H` of a graph's vertices driven by
/// `drive`, which is `X V`. `gate` answers for each entry with its gate, if it has one.
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

/// Vertices up to which the eigenvalues of a directed graph are computed.
const DENSE_VERTICES: usize = 512;

/// `rho(Ã)`, or `rho(A)` if not normalised: equal to the norm when the graph is
/// undirected. For a large directed graph only the norm is known to be no smaller.
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

/// Bounds on the largest eigenvalue of a symmetric matrix `M` without negative
/// entries or eigenvalues. Below it is every Rayleigh quotient; above it
/// `max (Mx)_i/x_i` for every positive x (Collatz and Wielandt). Both close in.
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
        // The last digits of either may be rounding.
        if bounds.upper <= bounds.lower * (1.0 + 1e-12) {
            break;
        }
        // Entries that shrink to nothing would spoil the ratios: keep a little of everything.
        let largest = product.iter().copied().fold(0.0, f64::max);
        x = product.iter().map(|p| p / largest + 1e-9).collect();
    }
    let slack = 1.0 + 1e-13;
    Bounds { lower: bounds.lower / slack, upper: bounds.upper * slack }
}

#[cfg(test)]
mod tests;
