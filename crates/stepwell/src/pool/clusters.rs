//! Hard clusters: every vertex belongs to exactly one.

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

impl Clusters {
    /// `S` by the rule of `reduce`, and `A' = PᵀAP` with the binary matrix `P`
    /// of the clusters: weights between two of them add up, those inside one
    /// become its self loop.
    pub fn pool(&self, graph: GraphRef<'_>, reduce: Reduce, notes: Notes) -> Result<Pooled> {
        let mut assignment = Assignment::new(
            self.count,
            (0..=self.of.len()).collect(),
            self.of.clone(),
            self.entries(reduce),
        )?;
        if reduce == Reduce::Max {
            assignment = assignment.taking_max();
        }
        Ok(Pooled { assignment, graph: self.contract(graph)?, kept: None, notes })
    }

    fn entries(&self, reduce: Reduce) -> Vec<f64> {
        if reduce != Reduce::Mean {
            return vec![1.0; self.of.len()];
        }
        let mut sizes = vec![0u32; self.count];
        self.of.iter().for_each(|&cluster| sizes[cluster as usize] += 1);
        self.of.iter().map(|&cluster| 1.0 / f64::from(sizes[cluster as usize])).collect()
    }

    /// Members of all clusters, cluster after cluster, and where each begins.
    fn members(&self) -> (Vec<u32>, Vec<usize>) {
        let mut ends = vec![0; self.count + 1];
        self.of.iter().for_each(|&cluster| ends[cluster as usize] += 1);
        let mut total = 0;
        for slot in &mut ends {
            (*slot, total) = (total, total + *slot);
        }
        let mut members = vec![0; self.of.len()];
        for (vertex, &cluster) in self.of.iter().enumerate() {
            let slot = &mut ends[cluster as usize];
            members[*slot] = vertex as u32;
            *slot += 1;
        }
        ends.rotate_right(1);
        ends[0] = 0;
        (members, ends)
    }

    fn contract(&self, graph: GraphRef<'_>) -> Result<Graph> {
        let (members, starts) = self.members();
        // One triangle only: both directions then hold the same bits.
        let mut triangle: Vec<(u32, u32, f64)> = Vec::with_capacity(graph.num_entries() / 2 + self.count);
        let mut sums = vec![0.0; self.count];
        let mut touched: Vec<u32> = Vec::new();
        let mut row_starts = vec![0; self.count + 1];
        for cluster in 0..self.count as u32 {
            for &vertex in &members[starts[cluster as usize]..starts[cluster as usize + 1]] {
                let weights = graph.weights_of(vertex as usize);
                for (at, &neighbour) in graph.neighbours(vertex as usize).iter().enumerate() {
                    let other = self.of[neighbour as usize];
                    if other < cluster {
                        continue;
                    }
                    let sum = &mut sums[other as usize];
                    if *sum == 0.0 {
                        touched.push(other);
                    }
                    *sum += weights.map_or(1.0, |weights| weights[at]);
                }
            }
            touched.sort_unstable();
            for other in touched.drain(..) {
                triangle.push((cluster, other, std::mem::take(&mut sums[other as usize])));
                row_starts[cluster as usize + 1] += 1;
                row_starts[other as usize + 1] += usize::from(other != cluster);
            }
        }
        let mut total = 0;
        for start in &mut row_starts {
            total += *start;
            *start = total;
        }
        let (mut columns, mut weights) = (vec![0; total], vec![0.0; total]);
        let mut next = row_starts.clone();
        let mut store = |row: u32, column: u32, weight: f64| {
            let slot = &mut next[row as usize];
            columns[*slot] = column;
            weights[*slot] = weight;
            *slot += 1;
        };
        // A row's mirrored entries come before its own, so that it ends up sorted.
        for (row, column, weight) in triangle {
            store(row, column, weight);
            if row != column {
                store(column, row, weight);
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
            let pooled = clusters.pool(graph.view(), Reduce::Mean, Notes::default()).unwrap();
            let mut found = vec![vec![0.0; count]; count];
            pooled.graph.view().entries().for_each(|(i, j, w)| found[i][j] = w);
            prop_assert_eq!(found, expected);
            let mut columns = vec![0.0; count];
            (0..n).for_each(|v| columns[clusters.of[v] as usize] += pooled.assignment.row(v).1[0]);
            prop_assert!(columns.iter().all(|sum| (sum - 1.0).abs() < 1e-12 || *sum == 0.0));
        }
    }
}
