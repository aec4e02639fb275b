//! Hard clusters: every vertex belongs to exactly one.

use std::cell::RefCell;
use std::hint::select_unpredictable;

use serde::{Deserialize, Serialize};

use super::{Assignment, Notes, Pooled};
use crate::error::Result;
use crate::graph::{Graph, GraphRef};

/// How the states of a cluster's members are combined.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduce {
    /// Their mean: entries of `S` are one over the size of the cluster.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// The maximum in every unit; see [`Assignment::taking_max`].
    Max,
}

/// Each vertex's cluster and the number of clusters; none is empty.
#[derive(Debug)]
pub(super) struct Clusters {
    pub of: Vec<u32>,
    pub count: usize,
}

/// An entry of the coarse adjacency.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    row: u32,
    column: u32,
    weight: f64,
}

/// Buffers of a thread. Most graphs are small, and allocating memory for each would
/// take longer than pooling it.
#[derive(Debug, Default)]
struct Scratch {
    members: Vec<u32>,
    /// Where each cluster's members begin, followed by their number.
    starts: Vec<u32>,
    shares: Vec<f64>,
    /// The position of each cluster's entry in the current row.
    place: Vec<usize>,
    /// Coarse entries by row, unsorted within a row. The first entry is unused, so that
    /// position 0 means none.
    entries: Vec<Entry>,
    next: Vec<usize>,
    above: Vec<usize>,
    rows: Vec<u32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Clusters {
    /// `S` by the rule of `reduce`, and `A' = PᵀAP` with the binary matrix `P` of the
    /// clusters: weights between two clusters add up, and those inside a cluster become
    /// its self loop.
    pub fn pool(self, graph: GraphRef<'_>, reduce: Reduce, notes: Notes) -> Result<Pooled> {
        let (coarse, values) = SCRATCH.with_borrow_mut(|scratch| {
            self.gather_members(scratch);
            (self.contract(graph, scratch), self.entries(reduce, scratch))
        });
        let row_starts = (0..=self.of.len()).collect();
        let assignment = Assignment::new(self.count, row_starts, self.of, values)?;
        let assignment = if reduce == Reduce::Max { assignment.taking_max() } else { assignment };
        Ok(Pooled { assignment, graph: coarse?, kept: None, notes })
    }

    fn entries(&self, reduce: Reduce, scratch: &mut Scratch) -> Vec<f64> {
        if reduce != Reduce::Mean {
            return vec![1.0; self.of.len()];
        }
        let Scratch { starts, shares, .. } = scratch;
        shares.clear();
        shares.extend(starts.windows(2).map(|pair| 1.0 / f64::from(pair[1] - pair[0])));
        self.of.iter().map(|&cluster| shares[cluster as usize]).collect()
    }

    fn gather_members(&self, Scratch { members, starts, .. }: &mut Scratch) {
        // Counts are shifted by one, so that advancing each start to the end of its cluster
        // leaves the starts in place.
        starts.clear();
        starts.resize(self.count + 2, 0);
        self.of.iter().for_each(|&cluster| starts[cluster as usize + 2] += 1);
        for at in 2..starts.len() {
            starts[at] += starts[at - 1];
        }
        members.clear();
        members.resize(self.of.len(), 0);
        for (&cluster, vertex) in self.of.iter().zip(0..) {
            let slot = &mut starts[cluster as usize + 1];
            members[*slot as usize] = vertex;
            *slot += 1;
        }
        starts.pop();
    }

    /// Rows are short, and a mispredicted branch at the end of each would dominate the
    /// time. So a single loop runs over all entries where possible.
    fn contract(&self, graph: GraphRef<'_>, scratch: &mut Scratch) -> Result<Graph> {
        let row_starts = self.add_up(graph, scratch);
        let Scratch { entries, next, above, rows, .. } = scratch;
        let count = row_starts[self.count];
        let (mut columns, mut weights) = (vec![0; count], vec![0.0; count]);
        next.clone_from(&row_starts);
        above.clone_from(&row_starts);
        rows.resize(rows.len().max(count), 0);
        // Use slices: the compiler would reload a vector's pointer for every entry.
        let (next, above, rows) = (&mut next[..], &mut above[..], &mut rows[..count]);
        let (columns_of, weights_of) = (&mut columns[..], &mut weights[..]);
        // Reading a symmetric matrix by columns appends to every row in ascending column order.
        for &Entry { row, column, weight } in &entries[1..=count] {
            let slot = next[column as usize];
            next[column as usize] += 1;
            (columns_of[slot], weights_of[slot], rows[slot]) = (row, weight, column);
            above[column as usize] += usize::from(row <= column);
        }
        // Sums in another order differ in their last bits, so copy one triangle to the other.
        for (at, (&row, &column)) in rows.iter().zip(columns_of.iter()).enumerate() {
            let mirrored = &mut above[column as usize];
            let to = select_unpredictable(column < row, *mirrored, at);
            *mirrored += usize::from(column < row);
            weights_of[to] = weights_of[at];
        }
        Graph::from_rows(row_starts, columns, weights, false)
    }

    /// Sums the weights between clusters. Returns where rows begin.
    fn add_up(&self, graph: GraphRef<'_>, scratch: &mut Scratch) -> Vec<usize> {
        let Scratch { members, starts, place, entries, .. } = scratch;
        let (rows, neighbours) = graph.rows();
        let weights = graph.weights();
        place.clear();
        place.resize(self.count, 0);
        // Old contents are overwritten before they are read.
        let room = entries.len().max(neighbours.len() + 2);
        entries.resize(room, Entry::default());
        let (of, place, entries) = (&self.of[..], &mut place[..], &mut entries[..]);
        let mut row_starts = Vec::with_capacity(self.count + 1);
        row_starts.push(0);
        let mut end = 1;
        for (row, bounds) in (0..).zip(starts.windows(2)) {
            let first = end;
            let mut add = |neighbour: u32, weight: f64| {
                let column = of[neighbour as usize];
                let place = &mut place[column as usize];
                let known = *place >= first;
                *place = select_unpredictable(known, *place, end);
                end += usize::from(!known);
                let entry = &mut entries[*place];
                let sum = f64::from_bits(select_unpredictable(known, entry.weight.to_bits(), 0));
                *entry = Entry { row, column, weight: sum + weight };
            };
            for &vertex in &members[bounds[0] as usize..bounds[1] as usize] {
                let range = rows[vertex as usize] - rows[0]..rows[vertex as usize + 1] - rows[0];
                let neighbours = neighbours[range.clone()].iter();
                match weights {
                    Some(weights) => neighbours.zip(&weights[range]).for_each(|(&u, &w)| add(u, w)),
                    None => neighbours.for_each(|&u| add(u, 1.0)),
                }
            }
            row_starts.push(end - 1);
        }
        row_starts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::EdgeList;

    proptest! {
        #[test]
        fn contraction_is_the_dense_product(
            n in 1usize..9,
            count in 1usize..5,
            edges in prop::collection::vec((0u32..8, 0u32..8, 1u32..9), 0..20),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|e| e.0.max(e.1) < n as u32).collect();
            let (sources, targets): (Vec<u32>, Vec<u32>) = edges.iter().map(|e| (e.0.min(e.1), e.0.max(e.1))).unzip();
            let weights: Vec<f64> = edges.iter().map(|e| f64::from(e.2)).collect();
            let list = EdgeList { weights: Some(&weights), ..EdgeList::new(n, &sources, &targets) };
            let graph = Graph::new(&list).unwrap();
            let count = count.min(n);
            let clusters = Clusters { of: (0..n).map(|v| (v * 7 % count) as u32).collect(), count };
            let mut expected = vec![vec![0.0; count]; count];
            for (i, j, w) in graph.view().entries() {
                expected[clusters.of[i] as usize][clusters.of[j] as usize] += w;
            }
            let of = clusters.of.clone();
            let pooled = clusters.pool(graph.view(), Reduce::Mean, Notes::default()).unwrap();
            let mut found = vec![vec![0.0; count]; count];
            pooled.graph.view().entries().for_each(|(i, j, w)| found[i][j] = w);
            prop_assert_eq!(found, expected);
            let mut columns = vec![0.0; count];
            (0..n).for_each(|v| columns[of[v] as usize] += pooled.assignment.view().row(v).1[0]);
            prop_assert!(columns.iter().all(|sum| (sum - 1.0).abs() < 1e-12 || *sum == 0.0));
        }
    }
}
