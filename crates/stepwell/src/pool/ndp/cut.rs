//! Chooses the vertices to keep: one side of a cut that most of the edge weight
//! crosses.
//!
//! The signs of the top eigenvector of `I - Ã` give a spectral cut, component by
//! component. A component without odd cycles needs no eigenvector: its two-colouring
//! cuts every edge. Self loops cannot be cut and do not count.

use super::Side;
use super::rows::Rows;
use super::tournament::Tournament;
use crate::error::Result;
use crate::linalg::lanczos::Lanczos;
use crate::linalg::symmetric::top_eigenpair;
use crate::memory;
use crate::pool::{Going, still};
use crate::rng::Stream;

/// Components of at most this many vertices get their exact eigenvector.
const DENSE: usize = 128;

/// Number of products with `Ã` for larger components. A fully converged vector would
/// concentrate on few vertices and cut worse.
const PRODUCTS: usize = 50;

/// In components with more vertices than this, [`PRODUCTS`] products do not reach
/// across, and most of the vector is still its random start. Flips turn it into a cut.
/// They also keep the connected sets of dropped vertices small, which Kron reduction
/// has to eliminate together.
const FAR: usize = 1 << 13;

/// Entries of an eigenvector below this share of the largest have no reliable sign.
const NO_SIGN: f64 = 1e-8;

/// Numbers with a relative difference below this are tied.
const TIE: f64 = 1e-9;

/// Gains below this share of a vertex's degree are rounding error.
const NO_GAIN: f64 = 1e-13;

/// Number of flips between two checks whether to continue.
const LOOK: usize = 1 << 14;

/// Marks a vertex of the component that is being searched.
const HERE: u32 = u32::MAX - 1;

/// A partition of the vertices into two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Each vertex's side. In every component, `true` is the side that
    /// [`Side::Largest`] keeps.
    pub side: Vec<bool>,
    /// Weight of the edges between the sides divided by the weight of all edges,
    /// without self loops; 1 if there are no edges. At least one half.
    pub value: f64,
    /// Whether the spectral cut was below one half and was improved by flipping
    /// vertices.
    pub improved: bool,
}

/// Cuts a graph, and orients each component's sides by the rule `side`. The seed and the
/// level choose the random start of eigenvectors.
pub(super) fn cut(rows: &Rows, side: Side, [seed, level]: [u64; 2], going: &Going<'_>) -> Result<Cut> {
    let mut cutter = Cutter::new(rows);
    for root in 0..rows.len() {
        if cutter.local[root] == u32::MAX {
            let bipartite = cutter.search(root);
            let component = cutter.components.len() as u64 - 1;
            cutter.cut_component(bipartite, [seed, level, component], going)?;
        }
    }
    if cutter.crossing < 0.5 * cutter.total {
        cutter.improved = true;
        cutter.flip(0, going)?;
        cutter.crossing = cutter.crossing_weight(0);
    }
    for component in 0..cutter.components.len() {
        cutter.choose_side(component, side);
    }
    let value = if cutter.total > 0.0 { cutter.crossing / cutter.total } else { 1.0 };
    Ok(Cut { side: cutter.keep, value, improved: cutter.improved })
}

pub(super) struct Cutter<'a> {
    rows: &'a Rows,
    pub keep: Vec<bool>,
    improved: bool,
    crossing: f64,
    total: f64,
    degrees: Vec<f64>,
    /// The vertices by component, and where components begin.
    order: Vec<u32>,
    components: Vec<usize>,
    /// The score of each vertex of `order`, which decides the side to keep: the modulus
    /// of its eigenvector entry, or its degree.
    scores: Vec<f64>,
    /// A vertex's position in its component; `u32::MAX` until it is found.
    local: Vec<u32>,
}

impl<'a> Cutter<'a> {
    pub fn new(rows: &'a Rows) -> Self {
        let n = rows.len();
        Self {
            rows,
            keep: vec![true; n],
            improved: false,
            crossing: 0.0,
            total: 0.0,
            degrees: (0..n).map(|v| rows.degree(v)).collect(),
            order: Vec::new(),
            components: Vec::new(),
            scores: Vec::new(),
            local: vec![u32::MAX; n],
        }
    }

    /// Appends the component of `root` to the order and two-colours it. Returns whether
    /// the colouring is proper, that is, whether the component is bipartite.
    pub fn search(&mut self, root: usize) -> bool {
        let Self { rows, order, components, local, keep, .. } = self;
        let first = order.len();
        components.push(first);
        let mut bipartite = true;
        order.push(root as u32);
        local[root] = HERE;
        let mut head = first;
        while let Some(&v) = order.get(head) {
            let side = keep[v as usize];
            for &u in rows.row(v as usize).0 {
                if local[u as usize] == u32::MAX {
                    local[u as usize] = HERE;
                    keep[u as usize] = !side;
                    order.push(u);
                } else {
                    bipartite &= keep[u as usize] != side;
                }
            }
            head += 1;
        }
        // Vertices must ascend within a component. For a large component, scanning all vertices
        // is faster than sorting.
        if order.len() - first > (keep.len() - root) / 8 {
            order.truncate(first);
            order.extend((root as u32..keep.len() as u32).filter(|&v| local[v as usize] == HERE));
        } else {
            order[first..].sort_unstable();
        }
        for (place, &v) in order[first..].iter().enumerate() {
            local[v as usize] = place as u32;
        }
        bipartite
    }

    /// Cuts the component found last.
    fn cut_component(&mut self, bipartite: bool, stream: [u64; 3], going: &Going<'_>) -> Result<()> {
        let first = self.scores.len();
        let members = &self.order[first..];
        let weight = |v: &u32| self.rows.row(*v as usize).1.iter().sum::<f64>();
        let total = 0.5 * members.iter().map(weight).sum::<f64>();
        self.total += total;
        if bipartite {
            self.crossing += total;
            self.scores.extend(members.iter().map(|&v| self.degrees[v as usize]));
            return Ok(());
        }
        let vector = if members.len() <= DENSE {
            self.exact_vector(first)
        } else {
            still(going)?;
            memory::ask_array("pooling by NDP", &[PRODUCTS, members.len()], size_of::<f64>())?;
            self.krylov_vector(first, stream, going)
        };
        if members.len() > FAR {
            still(going)?;
        }
        self.scores.extend(vector.iter().map(|x| x.abs()));
        self.place_by_sign(vector, first);
        let mut crossing = self.crossing_weight(first);
        if self.scores.len() - first > FAR {
            self.improved |= crossing < 0.5 * total;
            self.flip(first, going)?;
            crossing = self.crossing_weight(first);
        }
        // Both sides of an eigenvector have vertices, unless rounding emptied one. An empty
        // side would drop the whole component or keep all of it.
        if crossing == 0.0 {
            self.improved = true;
            self.flip(first, going)?;
            crossing = self.crossing_weight(first);
        }
        self.crossing += crossing;
        Ok(())
    }

    /// The top eigenvector of `-Ã`, which is also that of `I - Ã`.
    fn exact_vector(&self, first: usize) -> Vec<f64> {
        let Self { rows, order, local, degrees, .. } = self;
        let members = &order[first..];
        let n = members.len();
        let mut matrix = vec![0.0; n * n];
        for (i, &v) in members.iter().enumerate() {
            let v = v as usize;
            let row = &mut matrix[i * n..(i + 1) * n];
            row[i] = -rows.loops[v] / degrees[v];
            for (u, weight) in rows.entries(v).take_while(|&(u, _)| u < v) {
                row[local[u] as usize] = -weight / (degrees[v].sqrt() * degrees[u].sqrt());
            }
        }
        top_eigenpair(&mut matrix, n).1
    }

    /// An approximation of the top eigenvector of `-Ã` from a fixed number of products.
    fn krylov_vector(&self, first: usize, [seed, level, component]: [u64; 3], going: &Going<'_>) -> Vec<f64> {
        let Self { rows, order, local, degrees, .. } = self;
        let members = &order[first..];
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for &v in members {
            let v = v as usize;
            let scale = degrees[v].sqrt();
            if rows.loops[v] > 0.0 {
                columns.push(local[v]);
                values.push(-rows.loops[v] / degrees[v]);
            }
            for (u, weight) in rows.entries(v) {
                columns.push(local[u]);
                values.push(-weight / (scale * degrees[u].sqrt()));
            }
            starts.push(columns.len());
        }
        let mut stream = Stream::new(seed, "ndp lanczos", [level, component]);
        let mut vector: Vec<f64> = members.iter().map(|_| stream.uniform_in(-1.0, 1.0)).collect();
        Lanczos::run(&vector, PRODUCTS, |x, y| {
            // A product that is 0 is the last one; the caller discards it.
            if going().is_break() {
                return y.fill(0.0);
            }
            for (y, range) in y.iter_mut().zip(starts.windows(2)) {
                *y = gather(&columns[range[0]..range[1]], &values[range[0]..range[1]], x);
            }
        })
        .top(&mut vector);
        vector
    }

    /// Puts positive entries on one side and negative ones on the other. Vertices
    /// without a sign follow one by one, the heaviest first, to the side where they cut
    /// more.
    fn place_by_sign(&mut self, mut vector: Vec<f64>, first: usize) {
        let Self { rows, order, local, keep, degrees, scores, .. } = self;
        let members = &order[first..];
        let scores = &scores[first..];
        let limit = NO_SIGN * scores.iter().copied().fold(0.0, f64::max);
        let (mut undecided, mut kept) = (Vec::new(), 0);
        for (i, &v) in members.iter().enumerate() {
            keep[v as usize] = vector[i] > 0.0;
            kept += usize::from(vector[i] > 0.0 && scores[i] >= limit);
            if scores[i] < limit {
                vector[i] = 0.0;
                undecided.push(v);
            }
        }
        undecided.sort_by(|&a, &b| degrees[b as usize].total_cmp(&degrees[a as usize]));
        let signed = members.len() - undecided.len();
        for (placed, &v) in (signed..).zip(&undecided) {
            let pull = |(u, weight): (usize, f64)| weight * sign(vector[local[u] as usize]);
            let balance: f64 = rows.entries(v as usize).map(pull).sum();
            // Without a preference, take the smaller side.
            let side = if balance == 0.0 { 2 * kept < placed } else { balance < 0.0 };
            keep[v as usize] = side;
            vector[local[v as usize] as usize] = if side { 1.0 } else { -1.0 };
            kept += usize::from(side);
        }
    }

    fn crossing_weight(&self, first: usize) -> f64 {
        let Self { rows, keep, .. } = self;
        let of_vertex = |&v: &u32| {
            let crossing = |&(u, _): &(usize, f64)| keep[u] != keep[v as usize];
            rows.entries(v as usize).filter(crossing).map(|(_, weight)| weight).sum::<f64>()
        };
        0.5 * self.order[first..].iter().map(of_vertex).sum::<f64>()
    }

    /// Repeatedly flips the vertex whose flip increases the cut the most (the lowest of
    /// equals), until no flip does. Then at least half of every vertex's weight crosses
    /// the cut, and so does at least half of the component's.
    pub fn flip(&mut self, first: usize, going: &Going<'_>) -> Result<()> {
        let Self { rows, order, keep, degrees, .. } = self;
        let gain = |keep: &[bool], v: usize| -> f64 {
            rows.entries(v).map(|(u, weight)| if keep[u] == keep[v] { weight } else { -weight }).sum()
        };
        let key = |gain: f64, v: usize| if gain > NO_GAIN * degrees[v] { gain } else { 0.0 };
        let mut gains = vec![0.0; rows.len()];
        let mut tournament = Tournament::new(rows.len());
        for v in order[first..].iter().map(|&v| v as usize) {
            gains[v] = gain(keep, v);
            tournament.set(v, key(gains[v], v));
        }
        let mut flips = 0usize;
        while let Some(v) = tournament.winner() {
            flips += 1;
            if flips.is_multiple_of(LOOK) {
                still(going)?;
            }
            // Recompute the gain: accumulated rounding could otherwise make a flip look
            // profitable forever.
            gains[v] = gain(keep, v);
            if key(gains[v], v) > 0.0 {
                keep[v] = !keep[v];
                gains[v] = -gains[v];
                for (u, weight) in rows.entries(v) {
                    // The edge to u enters or leaves the cut, which changes the gain of u by twice
                    // its weight.
                    gains[u] += if keep[u] == keep[v] { 2.0 * weight } else { -2.0 * weight };
                    tournament.set(u, key(gains[u], u));
                }
            }
            tournament.set(v, 0.0);
        }
        Ok(())
    }

    /// Orients a component's sides so that `keep` is the side that the rule selects.
    fn choose_side(&mut self, component: usize, side: Side) {
        let Self { order, components, keep, scores, .. } = self;
        let end = components.get(component + 1).copied().unwrap_or(order.len());
        let members = &order[components[component]..end];
        // A single vertex is kept under every rule, so that its component does not vanish.
        if members.len() == 1 {
            return;
        }
        let scores = &scores[components[component]..end];
        let kept = members.iter().filter(|&&v| keep[v as usize]).count();
        let smaller = (2 * kept != members.len()).then_some(2 * kept < members.len());
        let limit = (1.0 - TIE) * scores.iter().copied().fold(0.0, f64::max);
        let mut leaders = members.iter().zip(scores).filter(|&(_, &score)| score >= limit);
        let leader = leaders.next().is_none_or(|(&v, _)| keep[v as usize]);
        let tied = leaders.any(|(&v, _)| keep[v as usize] != leader);
        let largest = if tied { smaller.unwrap_or(leader) } else { leader };
        let wanted = match side {
            Side::Largest => largest,
            Side::Smaller => smaller.unwrap_or(largest),
            Side::Larger => smaller.map_or(largest, |smaller| !smaller),
        };
        if !wanted {
            members.iter().for_each(|&v| keep[v as usize] = !keep[v as usize]);
        }
    }
}

/// The product of a sparse row with `x`, in four lanes, because rows of coarse graphs
/// are long.
fn gather(columns: &[u32], values: &[f64], x: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (columns, values) = (columns.chunks_exact(4), values.chunks_exact(4));
    let tail = columns.remainder().iter().zip(values.remainder());
    let tail: f64 = tail.map(|(&column, value)| value * x[column as usize]).sum();
    for (columns, values) in columns.zip(values) {
        for k in 0..4 {
            sums[k] += values[k] * x[columns[k] as usize];
        }
    }
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + tail
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x.signum() }
}
