//! The random families. Each takes time proportional to its vertices and edges.

use stepwell::rng::Stream;

use super::clusters::squared_distance;
use super::families::Edges;

/// Points of the unit square sorted into square cells, row by row.
pub(super) struct Cells {
    /// Cells along each side.
    side: usize,
    /// The first point of each cell, followed by the number of points.
    starts: Vec<u32>,
    places: Vec<[f64; 2]>,
}

impl Cells {
    pub fn into_places(self) -> Vec<[f64; 2]> {
        self.places
    }

    /// The points in the cells of a row from column `first` to column `last`.
    fn span(&self, row: usize, first: usize, last: usize) -> std::ops::Range<usize> {
        let cell = row * self.side;
        self.starts[cell + first] as usize..self.starts[cell + last + 1] as usize
    }
}

/// Draws points and numbers them by cell. Cells are at least `radius` wide, so that near points lie
/// in adjacent cells, and there are not many more cells than points.
pub(super) fn points(count: usize, radius: f64, stream: &mut Stream) -> Cells {
    // A little wider than the radius: rounding must not put near points two cells apart.
    let fitting = (1.0 - 1e-9) / radius;
    let side = fitting.min((count as f64).sqrt()).max(1.0) as usize;
    let cell = |[x, y]: [f64; 2]| {
        let along = |c: f64| ((c * side as f64) as usize).min(side - 1);
        along(y) * side + along(x)
    };
    let drawn: Vec<[f64; 2]> = (0..count).map(|_| [stream.uniform(), stream.uniform()]).collect();
    let mut starts = vec![0u32; side * side + 1];
    drawn.iter().for_each(|&point| starts[cell(point) + 1] += 1);
    for c in 0..side * side {
        starts[c + 1] += starts[c];
    }
    let (mut places, mut next) = (vec![[0.0; 2]; count], starts.clone());
    for point in drawn {
        let slot = &mut next[cell(point)];
        places[*slot as usize] = point;
        *slot += 1;
    }
    Cells { side, starts, places }
}

/// Joins all points whose distance is at most `radius`. Each point checks the rest of its own cell,
/// the cell to the right and the three cells below.
pub(super) fn join_near(cells: &Cells, radius: f64, edges: &mut Edges) {
    let (side, places) = (cells.side, &cells.places);
    let reach = radius * radius;
    for row in 0..side {
        for column in 0..side {
            let right = (column + 1).min(side - 1);
            let ahead = cells.span(row, column, right).end;
            let below =
                if row + 1 < side { cells.span(row + 1, column.saturating_sub(1), right) } else { 0..0 };
            for v in cells.span(row, column, column) {
                let near = |&u: &usize| squared_distance(places[v], places[u]) <= reach;
                (v + 1..ahead).chain(below.clone()).filter(near).for_each(|u| edges.push(v, u));
            }
        }
    }
}

/// Preferential attachment. A vertex occurs in the edge list once per neighbour, so a random end of
/// a random edge samples vertices by degree.
pub(super) fn barabasi_albert(vertices: usize, links: usize, stream: &mut Stream, edges: &mut Edges) {
    (1..=links).for_each(|leaf| edges.push(0, leaf));
    // The last vertex that chose each vertex; vertex 0 has no earlier vertex to choose.
    let mut chosen_by = vec![0u32; vertices];
    for newcomer in links + 1..vertices {
        let ends = 2 * edges.sources.len();
        let mut chosen = 0;
        while chosen < links {
            let end = stream.below(ends);
            let list = if end.is_multiple_of(2) { &edges.sources } else { &edges.targets };
            let vertex = list[end / 2] as usize;
            if chosen_by[vertex] != newcomer as u32 {
                chosen_by[vertex] = newcomer as u32;
                edges.push(newcomer, vertex);
                chosen += 1;
            }
        }
    }
}

/// Independent edges. Instead of testing every pair, it walks the pairs `(u, v)`, `u < v`, in
/// order, with steps drawn from the geometric distribution (Batagelj and Brandes, 2005).
pub(super) fn erdos_renyi(vertices: usize, probability: f64, stream: &mut Stream, edges: &mut Edges) {
    if probability <= 0.0 {
        return;
    }
    let log_miss = (-probability).ln_1p();
    let (mut u, mut v) = (0, 1);
    loop {
        // At probability 1 the quotient is 0; past the last pair the conversion saturates.
        let skipped = ((1.0 - stream.uniform()).ln() / log_miss) as usize;
        u = skipped.saturating_add(u);
        while u >= v && v < vertices {
            u -= v;
            v += 1;
        }
        if v >= vertices {
            return;
        }
        edges.push(u, v);
        u += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn near_points_are_all_pairs_within_the_radius(
            count in 0usize..120, radius in 0.0f64..1.5, tenths in 0u32..=10, seed in any::<u64>()
        ) {
            // Also round radii, at which cells fit the square exactly.
            for radius in [radius, radius / 10.0, f64::from(tenths) / 10.0] {
                let cells = points(count, radius, &mut Stream::new(seed, "cells", [0, 0]));
                let mut edges = Edges::default();
                join_near(&cells, radius, &mut edges);
                let places = cells.into_places();
                prop_assert_eq!(places.len(), count);
                let mut expected = Vec::new();
                for u in 0..count {
                    for v in u + 1..count {
                        let gap = [0, 1].map(|axis| places[u][axis] - places[v][axis]);
                        if gap[0] * gap[0] + gap[1] * gap[1] <= radius * radius {
                            expected.push((u as u32, v as u32));
                        }
                    }
                }
                let mut found: Vec<_> = edges.sources.into_iter().zip(edges.targets).collect();
                found.sort_unstable();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn cells_are_wider_than_the_radius() {
        for radius in [0.1, 0.2, 0.25, 0.5, 1.0 / 3.0] {
            let cells = points(1000, radius, &mut Stream::new(0, "cells", [0, 0]));
            assert!(1.0 / cells.side as f64 > radius, "{radius}: {} cells", cells.side);
        }
    }

    #[test]
    fn degrees_attract() {
        let mut edges = Edges::default();
        barabasi_albert(20_000, 2, &mut Stream::new(0, "attachment", [0, 0]), &mut edges);
        let mut degrees = vec![0u32; 20_000];
        edges.sources.iter().chain(&edges.targets).for_each(|&v| degrees[v as usize] += 1);
        // In the limit, the share of degree d is 2m(m+1) / (d(d+1)(d+2)): for m = 2, a half has 2,
        // a fifth 3.
        let share = |d: u32| degrees.iter().filter(|&&degree| degree == d).count() as f64 / 20_000.0;
        for (degree, expected) in [(2, 0.5), (3, 0.2), (4, 0.1), (5, 12.0 / 210.0)] {
            assert!((share(degree) - expected).abs() < 0.02, "{degree}: {}", share(degree));
        }
        assert!(degrees.iter().max().unwrap() > &100, "hubs appear");
    }

    #[test]
    fn every_pair_is_as_likely() {
        let mut counts = [[0u32; 6]; 6];
        let rounds = 20_000;
        for round in 0..rounds {
            let mut edges = Edges::default();
            erdos_renyi(6, 0.3, &mut Stream::new(1, "pairs", [round, 0]), &mut edges);
            edges.sources.iter().zip(&edges.targets).for_each(|(&u, &v)| counts[u as usize][v as usize] += 1);
        }
        let sigma = (rounds as f64 * 0.3 * 0.7).sqrt();
        for (u, row) in counts.iter().enumerate() {
            for (v, &count) in row.iter().enumerate() {
                let allowed = if u < v { 5.0 * sigma } else { 0.0 };
                let expected = if u < v { 0.3 * rounds as f64 } else { 0.0 };
                assert!((f64::from(count) - expected).abs() <= allowed, "{u}-{v}: {count}");
            }
        }
    }
}
