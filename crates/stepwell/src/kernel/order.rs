//! The order of the vertices in a Gauss–Seidel sweep: by colour.
//!
//! In a proper colouring no vertex reads the state of another vertex of its colour. So
//! all vertices of a colour can be updated together (in one tile of the kernel, or on
//! many threads), with the same result as one after the other. The colouring is greedy:
//! each vertex in turn takes the lowest colour that no neighbour has.

/// Rows in the order of their colours.
pub(crate) struct Order {
    /// The row at each place.
    pub rows: Vec<u32>,
    /// Where the positions of each colour begin, followed by the number of rows.
    pub starts: Vec<usize>,
}

/// Orders the rows of a sparse square matrix given by `starts` and `columns`. An
/// undirected graph stores every edge in both directions. A directed graph may not, so
/// its edges are read in both directions: a vertex must differ from those it reads and
/// from those that read it.
pub(crate) fn by_colour(row_starts: &[usize], columns: &[u32], directed: bool) -> Order {
    let n = row_starts.len().saturating_sub(1);
    let readers = if directed { transposed(n, row_starts, columns) } else { (Vec::new(), Vec::new()) };
    let mut colours = vec![u32::MAX; n];
    let mut counts: Vec<usize> = Vec::new();
    // The last vertex that found each colour among its neighbours.
    let mut met: Vec<usize> = Vec::new();
    for v in 0..n {
        let mut meet = |u: u32| {
            if let Some(last) = met.get_mut(colours[u as usize] as usize) {
                *last = v;
            }
        };
        columns[row_starts[v]..row_starts[v + 1]].iter().for_each(|&u| meet(u));
        if directed {
            readers.1[readers.0[v]..readers.0[v + 1]].iter().for_each(|&u| meet(u));
        }
        let colour = met.iter().position(|&last| last != v).unwrap_or(met.len());
        if colour == met.len() {
            met.push(usize::MAX);
            counts.push(0);
        }
        counts[colour] += 1;
        colours[v] = colour as u32;
    }
    let mut starts = Vec::with_capacity(counts.len() + 1);
    starts.push(0);
    counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + count));
    let mut next = starts.clone();
    let mut rows = vec![0; n];
    for (v, &colour) in colours.iter().enumerate() {
        let place = &mut next[colour as usize];
        rows[*place] = v as u32;
        *place += 1;
    }
    Order { rows, starts }
}

fn transposed(n: usize, row_starts: &[usize], columns: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0; n + 1];
    columns.iter().for_each(|&c| starts[c as usize + 1] += 1);
    (0..n).for_each(|v| starts[v + 1] += starts[v]);
    let mut next = starts.clone();
    let mut rows = vec![0; columns.len()];
    for v in 0..n {
        for &c in &columns[row_starts[v]..row_starts[v + 1]] {
            rows[next[c as usize]] = v as u32;
            next[c as usize] += 1;
        }
    }
    (starts, rows)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::{EdgeList, Graph};

    fn check(graph: &Graph) -> Order {
        let view = graph.view();
        let starts: Vec<usize> = view.row_starts().collect();
        let order = by_colour(&starts, view.all_neighbours(), view.is_directed());
        let mut sorted = order.rows.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..view.num_vertices() as u32).collect::<Vec<_>>());
        for colour in order.starts.windows(2) {
            let members = &order.rows[colour[0]..colour[1]];
            assert!(!members.is_empty() && members.is_sorted());
            for &v in members {
                assert!(view.neighbours(v as usize).iter().all(|u| *u == v || !members.contains(u)));
            }
        }
        order
    }

    #[test]
    fn a_path_has_two_colours_and_a_clique_as_many_as_vertices() {
        let path = Graph::new(&EdgeList::new(5, &[0, 1, 2, 3], &[1, 2, 3, 4])).unwrap();
        assert_eq!(check(&path).rows, [0, 2, 4, 1, 3]);
        let clique = Graph::new(&EdgeList::new(3, &[0, 0, 1, 2], &[1, 2, 2, 2])).unwrap();
        assert_eq!(check(&clique).starts, [0, 1, 2, 3]);
        let nothing = Graph::new(&EdgeList::new(0, &[], &[])).unwrap();
        assert_eq!(check(&nothing).starts, [0]);
    }

    proptest! {
        #[test]
        fn no_vertex_reads_another_of_its_colour(
            edges in prop::collection::vec((0u32..15, 0u32..15), 0..60),
            directed in any::<bool>(),
        ) {
            let (sources, targets): (Vec<u32>, Vec<u32>) = edges.into_iter().unzip();
            check(&Graph::new(&EdgeList { directed, ..EdgeList::new(15, &sources, &targets) }).unwrap());
        }
    }
}
