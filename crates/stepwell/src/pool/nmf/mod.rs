//! NMF pooling (paper §3.2): soft clusters by non-negative matrix factorization.
//!
//! `A ≈ Q·F` with K = N/2 rows in `F`; then `S = Fᵀ`, and `A' = SᵀAS` is divided by its
//! largest entry. The division does not change the normalised adjacency, and it
//! prevents overflow in deep pyramids. Coarse graphs are dense: a vertex is in several
//! clusters, and every pair of clusters that share an edge or a vertex is linked.
//!
//! The start is random and the descent stops after ten iterations, as in the paper's
//! code. A graph of two vertices or without edges stays as it is.
//!
//! ```
//! use stepwell::graph::{EdgeList, Graph};
//! use stepwell::pool::{Pool, nmf};
//! let path = Graph::new(&EdgeList::new(6, &[0, 1, 2, 3, 4], &[1, 2, 3, 4, 5]))?;
//! let pooled = nmf(path.view(), &Pool::Nmf.into(), 0)?;
//! assert_eq!(pooled.graph.view().num_vertices(), 3);
//! # Ok::<(), stepwell::Error>(())
//! ```

mod descent;
mod factor;
mod kernel;
mod start;

use std::ops::ControlFlow;

use ndarray::{Array2, ArrayView2};

use self::factor::{Factor, Rows};
use super::{Assignment, Going, Notes, Pooled, Pooling, still, undirected};
use crate::error::{Error, Result, same_length};
use crate::graph::{Graph, GraphRef};
use crate::memory;

/// Maximum bytes of both factors of a graph before they become sparse. The limit
/// permits graphs of about 16,000 vertices; the start is random and therefore dense.
const MOST_BYTES: u64 = 2 << 30;

/// The result of [`factorize`].
#[derive(Clone, Debug, PartialEq)]
pub struct Factors {
    /// `Q`, vertices by components.
    pub q: Array2<f64>,
    /// `F`, components by vertices.
    pub f: Array2<f64>,
    /// Number of iterations.
    pub iterations: usize,
}

/// Pools one graph. `level` is the number of earlier poolings.
pub fn nmf(graph: GraphRef<'_>, options: &Pooling, level: usize) -> Result<Pooled> {
    nmf_while(graph, options, level, &|| ControlFlow::Continue(()))
}

pub(super) fn nmf_while(
    graph: GraphRef<'_>,
    options: &Pooling,
    level: usize,
    going: &Going<'_>,
) -> Result<Pooled> {
    let n = graph.num_vertices();
    if n <= 2 || graph.num_entries() == 0 {
        return Pooled::unchanged(graph);
    }
    let made = undirected(graph)?;
    let graph = made.as_ref().map_or(graph, Graph::view);
    let mut notes = Notes { symmetrized: usize::from(made.is_some()), ..Notes::default() };
    let k = (n / 2).max(2);
    check_size(n, k)?;
    let total: f64 = graph.entries().map(|(_, _, weight)| weight).sum();
    // The scale at which Q·F has the size of A on average.
    let scale = (total / (n as f64 * n as f64) / k as f64).sqrt();
    let start =
        |which| Factor::dense(k, start::half_normals(options.seed, level as u64, which, n * k, scale));
    let (mut q, mut f) = (start(0), start(1));
    descent::descend(graph, (&mut q, &mut f), k, options, going)?;
    drop(q);
    let Rows { starts, columns, values } = f.into_rows();
    let graph = coarse_graph(graph, (&starts, &columns, &values), k, going)?;
    notes.vertices_lost = starts.windows(2).filter(|pair| pair[0] == pair[1]).count();
    notes.without_edges = usize::from(graph.view().num_entries() == 0);
    let assignment = Assignment::new(k, starts, columns, values)?;
    Ok(Pooled { assignment, graph, kept: None, notes })
}

/// The factors that [`nmf`] would find from a given start: `q` has a row per vertex and
/// `f` a column. Both must be non-negative.
pub fn factorize(
    graph: GraphRef<'_>,
    q: ArrayView2<'_, f64>,
    f: ArrayView2<'_, f64>,
    options: &Pooling,
) -> Result<Factors> {
    let made = undirected(graph)?;
    let graph = made.as_ref().map_or(graph, Graph::view);
    let (n, k) = (graph.num_vertices(), q.ncols());
    same_length("rows of Q", n, q.nrows())?;
    same_length("rows of F", k, f.nrows())?;
    same_length("columns of F", n, f.ncols())?;
    check_size(n, k)?;
    for (what, start) in [("start of Q", q), ("start of F", f)] {
        let bad = |&(_, value): &(usize, &f64)| !(value.is_finite() && *value >= 0.0);
        if let Some((index, &value)) = start.iter().enumerate().find(bad) {
            return Err(Error::BadValue { what, item: "entry", index, value });
        }
    }
    if n == 0 || k == 0 {
        return Ok(Factors { q: q.to_owned(), f: f.to_owned(), iterations: 0 });
    }
    let mut rows_of_q = Factor::dense(k, q.iter().copied().collect());
    let mut rows_of_f = Factor::dense(k, f.t().iter().copied().collect());
    let going = || ControlFlow::Continue(());
    let iterations = descent::descend(graph, (&mut rows_of_q, &mut rows_of_f), k, options, &going)?;
    let mut factors = Factors { q: Array2::zeros((n, k)), f: Array2::zeros((k, n)), iterations };
    for vertex in 0..n {
        for (rows, mut slots) in
            [(&rows_of_q, factors.q.row_mut(vertex)), (&rows_of_f, factors.f.column_mut(vertex))]
        {
            let (columns, values) = rows.row(vertex);
            columns.iter().zip(values).for_each(|(&column, &value)| slots[column as usize] = value);
        }
    }
    Ok(factors)
}

fn check_size(num_vertices: usize, num_components: usize) -> Result<()> {
    let found = (num_vertices as u64).saturating_mul(num_components as u64).saturating_mul(16);
    if found <= MOST_BYTES {
        // Beside the factors: A, the products of components with each other, and the coarse graph.
        memory::ask("pooling by NMF", found.saturating_mul(3))
    } else {
        Err(Error::TooLarge { what: "bytes of the factors of NMF", limit: MOST_BYTES, found })
    }
}

/// `SᵀAS` divided by its largest entry, without zero entries.
fn coarse_graph(
    graph: GraphRef<'_>,
    (starts, columns, values): (&[usize], &[u32], &[f64]),
    k: usize,
    going: &Going<'_>,
) -> Result<Graph> {
    let row = |vertex: usize| {
        let range = starts[vertex]..starts[vertex + 1];
        columns[range.clone()].iter().map(|&column| column as usize).zip(&values[range])
    };
    // Compute one triangle only, so that both directions hold the same bits.
    let mut sums = vec![0.0; k * k];
    let mut gathered = vec![0.0; k];
    for vertex in 0..graph.num_vertices() {
        if starts[vertex] == starts[vertex + 1] {
            continue;
        }
        if vertex % 64 == 0 {
            still(going)?;
        }
        gathered.fill(0.0);
        let weights = graph.weights_of(vertex);
        for (at, &neighbour) in graph.neighbours(vertex).iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[at]);
            row(neighbour as usize).for_each(|(column, value)| gathered[column] += weight * value);
        }
        for (column, value) in row(vertex) {
            let sums = &mut sums[column * k + column..(column + 1) * k];
            sums.iter_mut().zip(&gathered[column..]).for_each(|(sum, g)| *sum += value * g);
        }
    }
    let largest = sums.iter().copied().fold(0.0, f64::max);
    if largest > 0.0 {
        sums.iter_mut().for_each(|sum| *sum /= largest);
    }
    let count = sums.iter().filter(|sum| **sum != 0.0).count();
    let (mut coarse_columns, mut weights) = (Vec::with_capacity(2 * count), Vec::with_capacity(2 * count));
    let mut row_starts = Vec::with_capacity(k + 1);
    row_starts.push(0);
    for row in 0..k {
        for column in 0..k {
            let weight = sums[row.min(column) * k + row.max(column)];
            if weight != 0.0 {
                coarse_columns.push(column as u32);
                weights.push(weight);
            }
        }
        row_starts.push(coarse_columns.len());
    }
    Graph::from_rows(row_starts, coarse_columns, weights, false)
}

#[cfg(test)]
mod tests;
