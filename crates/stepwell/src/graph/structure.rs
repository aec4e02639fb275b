//! Properties of a graph's structure alone: degrees, the normalised adjacency,
//! components, bipartiteness, and relabelling.

use super::{EdgeList, Graph, GraphRef, SparseRows};
use crate::error::{Error, Result};

impl GraphRef<'_> {
    /// Weighted degrees: the row sums of `A`, with a self loop counted once. In a
    /// directed graph these are the out-degrees.
    pub fn degrees(&self) -> Vec<f64> {
        let weigh = |v| match self.weights_of(v) {
            Some(weights) => weights.iter().sum(),
            None => self.neighbours(v).len() as f64,
        };
        (0..self.num_vertices()).map(weigh).collect()
    }

    /// Column sums of `A`: equal to [`degrees`](Self::degrees) unless the graph is
    /// directed.
    pub fn in_degrees(&self) -> Vec<f64> {
        let mut degrees = vec![0.0; self.num_vertices()];
        self.entries().for_each(|(_, column, weight)| degrees[column] += weight);
        degrees
    }

    /// Entries of the normalised adjacency `Ã = D^-1/2 A D^-1/2`, in the order of
    /// [`entries`](Self::entries). Directed: `D_out^-1/2 A D_in^-1/2`. A vertex without
    /// edges has an empty row.
    pub fn normalized_weights(&self) -> Vec<f64> {
        let scales = |degrees: Vec<f64>| -> Vec<f64> {
            degrees.into_iter().map(|d| if d > 0.0 { 1.0 / d.sqrt() } else { 0.0 }).collect()
        };
        let rows = scales(self.degrees());
        if self.is_directed() {
            let columns = scales(self.in_degrees());
            return self.entries().map(|(i, j, w)| w * rows[i] * columns[j]).collect();
        }
        // Multiply in the same order for both directions, so that Ã is symmetric to the bit.
        self.entries().map(|(i, j, w)| w * (rows[i] * rows[j])).collect()
    }

    /// Connected components (weakly, if directed) and their two-colourings.
    pub fn components(&self) -> Components {
        let n = self.num_vertices();
        let mut forest = ParityForest::new(n);
        for v in 0..n {
            for &u in self.neighbours(v) {
                forest.join(v as u32, u);
            }
        }
        let mut components = Components { labels: vec![0; n], sides: vec![false; n], bipartite: Vec::new() };
        let mut number = vec![u32::MAX; n];
        for v in 0..n {
            let (root, side) = forest.find(v as u32);
            let slot = &mut number[root as usize];
            if *slot == u32::MAX {
                *slot = components.bipartite.len() as u32;
                components.bipartite.push(!forest.odd_cycle[root as usize]);
            }
            components.labels[v] = *slot;
            components.sides[v] = side;
        }
        components
    }

    /// Whether some component has an edge and no odd cycle. Exactly then, -1 is an
    /// eigenvalue of `Ã` (undirected graphs).
    pub fn has_bipartite_component(&self) -> bool {
        let components = self.components();
        (0..self.num_vertices())
            .any(|v| !self.neighbours(v).is_empty() && components.is_bipartite(components.labels[v]))
    }

    /// The same graph with vertex `v` renamed to `names[v]`.
    pub fn permuted(&self, names: &[usize]) -> Result<Graph> {
        let n = self.num_vertices();
        if names.len() != n {
            return Err(Error::Length { what: "new vertex names", expected: n, found: names.len() });
        }
        let mut old = vec![usize::MAX; n];
        for (position, &found) in names.iter().enumerate() {
            if found >= n || old[found] != usize::MAX {
                return Err(Error::NotAPermutation { num_vertices: n, position, found });
            }
            old[found] = position;
        }
        // Both directions of an undirected edge are stored, each with its labels and attributes.
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for (row, column, _) in self.entries() {
            sources.push(names[row] as u32);
            targets.push(names[column] as u32);
        }
        fn moved<T: Copy>((values, width): (&[T], usize), old: &[usize]) -> (Vec<T>, usize) {
            let rows = old.iter().flat_map(|&v| &values[v * width..(v + 1) * width]);
            (rows.copied().collect(), width)
        }
        let labels = self.vertex_labels().map(|labels| moved(labels, &old));
        let sparse = self.sparse_attributes().map(|rows| {
            let mut moved = SparseRows::empty(rows.width());
            for &vertex in &old {
                let (columns, values) = rows.row(vertex);
                moved.push(columns.iter().copied().zip(values.iter().copied()));
            }
            moved
        });
        let dense = if sparse.is_some() { None } else { self.vertex_attributes() };
        let attributes = dense.map(|(values, width)| moved((&values, width), &old));
        Graph::new(&EdgeList {
            num_vertices: n,
            sources: &sources,
            targets: &targets,
            weights: self.weights(),
            edge_labels: self.edge_labels(),
            edge_attributes: self.edge_attributes(),
            vertex_labels: labels.as_ref().map(|(values, width)| (values.as_slice(), *width)),
            vertex_attributes: attributes.as_ref().map(|(values, width)| (values.as_slice(), *width)),
            sparse_attributes: sparse.as_ref(),
            directed: self.is_directed(),
        })
    }

    /// The same graph with a self loop of weight 1 at every vertex without one, without
    /// labels and attributes of edges.
    pub fn with_self_loops(&self) -> Result<Graph> {
        let n = self.num_vertices();
        let lacking = (0..n).filter(|&v| self.neighbours(v).binary_search(&(v as u32)).is_err());
        let entries = self.entries().chain(lacking.map(|v| (v, v, 1.0)));
        let (mut sources, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for (row, column, weight) in entries {
            sources.push(row as u32);
            targets.push(column as u32);
            weights.push(weight);
        }
        let sparse = self.sparse_attributes();
        let dense = if sparse.is_some() { None } else { self.vertex_attributes() };
        Graph::new(&EdgeList {
            weights: self.weights().map(|_| weights.as_slice()),
            vertex_labels: self.vertex_labels(),
            vertex_attributes: dense.as_ref().map(|(values, width)| (&values[..], *width)),
            sparse_attributes: sparse.as_ref(),
            directed: self.is_directed(),
            ..EdgeList::new(n, &sources, &targets)
        })
    }
}

/// The connected components of a graph, numbered by their lowest vertex.
#[derive(Clone, Debug, PartialEq)]
pub struct Components {
    labels: Vec<u32>,
    sides: Vec<bool>,
    bipartite: Vec<bool>,
}

impl Components {
    /// Number of components.
    pub fn count(&self) -> usize {
        self.bipartite.len()
    }

    /// Each vertex's component.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Each vertex's side in the two-colouring of its component. Meaningful only if the
    /// component [is bipartite](Self::is_bipartite).
    pub fn sides(&self) -> &[bool] {
        &self.sides
    }

    /// Whether a component has no odd cycle. A self loop is one.
    pub fn is_bipartite(&self, component: u32) -> bool {
        self.bipartite[component as usize]
    }
}

/// Union–find that also records on which side of its root every vertex lies.
struct ParityForest {
    parent: Vec<u32>,
    /// Whether a vertex is on the other side than its parent; never set for a root.
    flipped: Vec<bool>,
    size: Vec<u32>,
    odd_cycle: Vec<bool>,
}

impl ParityForest {
    fn new(n: usize) -> Self {
        Self {
            parent: (0..n as u32).collect(),
            flipped: vec![false; n],
            size: vec![1; n],
            odd_cycle: vec![false; n],
        }
    }

    fn find(&mut self, vertex: u32) -> (u32, bool) {
        let (mut v, mut side) = (vertex as usize, false);
        while self.parent[v] as usize != v {
            let parent = self.parent[v] as usize;
            // Path halving: attach v to its grandparent on the way.
            let flip = self.flipped[v] ^ self.flipped[parent];
            self.parent[v] = self.parent[parent];
            self.flipped[v] = flip;
            side ^= flip;
            v = self.parent[v] as usize;
        }
        (v as u32, side)
    }

    fn join(&mut self, a: u32, b: u32) {
        let ((mut a, side_a), (mut b, side_b)) = (self.find(a), self.find(b));
        let same_side = side_a == side_b;
        if a == b {
            self.odd_cycle[a as usize] |= same_side;
            return;
        }
        if self.size[a as usize] < self.size[b as usize] {
            std::mem::swap(&mut a, &mut b);
        }
        self.parent[b as usize] = a;
        self.flipped[b as usize] = same_side;
        self.size[a as usize] += self.size[b as usize];
        self.odd_cycle[a as usize] |= self.odd_cycle[b as usize];
    }
}
