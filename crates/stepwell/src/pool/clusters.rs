//! Hard clusters: every vertex belongs to exactly one.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::{Assignment, Notes, Pooled};
use crate::error::Result;
use crate::graph::{Graph, GraphRef};

/// How the states of a cluster's members become one state.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reduce {
    /// Their mean: entries of `S` are one over the size of the cluster.
    #[default]
    Mean,
    /// Their sum.
    Sum,
    /// In every unit, the largest; see [`Assignment::taking_max`].
    Max,
}

/// Each vertex's cluster and how many clusters there are; none is empty.
#[derive(Debug)]
pub(super) struct Clusters {
    pub of: Vec<u32>,
    pub count: usize,
}

/// Buffers of a thread: most graphs are small, and getting memory for them
/// would take longer than pooling them.
#[derive(Debug, Default)]
struct Scratch {
    members: Vec<u32>,
    /// Where each cluster's members begin, with their number at the end.
    starts: Vec<u32>,
    sums: Vec<f64>,
    touched: Vec<u32>,
    /// Coarse entries row after row, in no order within a row.
    entries: Vec<(u32, f64)>,
    next: Vec<usize>,
    above: Vec<usize>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Clusters {
    /// `S` by the rule of `reduce`, and `A' = PᵀAP` with the binary matrix `P`
    /// of the clusters: weights between two of them add up, those inside one
    /// become its self loop.
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
        let Scratch { starts, sums, .. } = scratch;
        sums.clear();
        sums.extend(starts.windows(2).map(|pair| 1.0 / f64::from(pair[1] - pair[0])));
        self.of.iter().map(|&cluster| sums[cluster as usize]).collect()
    }

    fn gather_members(&self, Scratch { members, starts, .. }: &mut Scratch) {
        // Shifted by one, so that counting up to where a cluster ends leaves where it begins.
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

    /// The loops over entries have no branches to guess wrong, which would be
    /// most of the time.
    fn contract(&self, graph: GraphRef<'_>, scratch: &mut Scratch) -> Result<Graph> {
        let Scratch { members, starts, sums, touched, entries, next, above } = scratch;
        let (rows, neighbours) = graph.rows();
        let weights = graph.weights();
        sums.clear();
        sums.resize(self.count, 0.0);
        touched.clear();
        touched.resize(self.count + 1, 0);
        entries.clear();
        let mut row_starts = Vec::with_capacity(self.count + 1);
        row_starts.push(0);
        // Slices: where a vector lies would be looked up again for every entry.
        let (of, sums, touched) = (&self.of[..], &mut sums[..], &mut touched[..]);
        for bounds in starts.windows(2) {
            let mut met = 0;
            let mut add = |neighbour: u32, weight: f64| {
                let other = of[neighbour as usize];
                let sum = &mut sums[other as usize];
                touched[met] = other;
                met += usize::from(*sum == 0.0);
                *sum += weight;
            };
            for &vertex in &members[bounds[0] as usize..bounds[1] as usize] {
                let range = rows[vertex as usize] - rows[0]..rows[vertex as usize + 1] - rows[0];
                let neighbours = neighbours[range.clone()].iter();
                match weights {
                    Some(weights) => neighbours.zip(&weights[range]).for_each(|(&u, &w)| add(u, w)),
                    None => neighbours.for_each(|&u| add(u, 1.0)),
                }
            }
            let sum_of = |&other: &u32| (other, std::mem::take(&mut sums[other as usize]));
            entries.extend(touched[..met].iter().map(sum_of));
            row_starts.push(entries.len());
        }
        // A symmetric matrix read by columns: every row meets its columns in order.
        let (mut columns, mut weights) = (vec![0; entries.len()], vec![0.0; entries.len()]);
        next.clone_from(&row_starts);
        above.clear();
        {
            let (next, columns, weights) = (&mut next[..], &mut columns[..], &mut weights[..]);
            for (cluster, bounds) in row_starts.windows(2).enumerate() {
                for &(other, weight) in &entries[bounds[0]..bounds[1]] {
                    let slot = &mut next[other as usize];
                    (columns[*slot], weights[*slot]) = (cluster as u32, weight);
                    *slot += 1;
                }
                above.push(next[cluster]);
            }
        }
        // What was added up in another order differs in the last bits: one triangle speaks for both.
        for row in 0..self.count {
            for at in row_starts[row]..next[row] {
                let column = columns[at] as usize;
                if column >= row {
                    break;
                }
                weights[above[column]] = weights[at];
                above[column] += 1;
            }
        }
        Graph::from_rows(row_starts, columns, weights, false)
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
            (0..n).for_each(|v| columns[of[v] as usize] += pooled.assignment.row(v).1[0]);
            prop_assert!(columns.iter().all(|sum| (sum - 1.0).abs() < 1e-12 || *sum == 0.0));
        }
    }
}
