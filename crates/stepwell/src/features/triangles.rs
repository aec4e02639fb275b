//! Counts triangles: joined pairs of neighbours.

use crate::graph::GraphRef;

/// Maximum size of the bit matrix, in words: 64 MiB.
const MOST_WORDS: usize = 1 << 23;

/// The cost of one word of bits, in steps of listing triangles.
const WORD: usize = 4;

/// For every vertex of an undirected graph, the number of ordered pairs of its neighbours that are
/// joined: twice the number of its triangles.
pub(super) fn joined_pairs(graph: GraphRef<'_>) -> Vec<usize> {
    let n = graph.num_vertices();
    // Orient every edge towards the end of higher degree, so that no vertex has many outgoing
    // edges.
    let mut ranked: Vec<u32> = (0..n as u32).collect();
    ranked.sort_unstable_by_key(|&v| (graph.neighbours(v as usize).len(), v));
    let mut ranks = vec![0u32; n];
    ranked.iter().zip(0..).for_each(|(&v, rank)| ranks[v as usize] = rank);
    let mut starts = vec![0; n + 1];
    let mut ahead = Vec::with_capacity(graph.num_entries() / 2);
    for (rank, &v) in ranked.iter().enumerate() {
        let higher = graph.neighbours(v as usize).iter().map(|&u| ranks[u as usize]);
        ahead.extend(higher.filter(|&u| u as usize > rank));
        starts[rank + 1] = ahead.len();
    }
    let ahead = |rank: usize| &ahead[starts[rank]..starts[rank + 1]];
    let steps: usize = (0..n).flat_map(ahead).map(|&u| ahead(u as usize).len()).sum();
    let words = n.div_ceil(64);
    let edges = starts[n];
    let by_bits = n * words <= MOST_WORDS && WORD * words * edges < steps;
    let pairs = if by_bits { common_by_bits(n, words, ahead) } else { listed(n, ahead) };
    (0..n).map(|v| pairs[ranks[v] as usize]).collect()
}

/// For every vertex of a directed graph, the number of ordered pairs of its targets that are joined
/// in that direction.
///
/// For each edge `v -> u`, either scans the row of `u` or searches it for the targets of `v`,
/// whichever is cheaper. So a hub costs little more than its edges.
pub(super) fn joined_targets(graph: GraphRef<'_>) -> Vec<usize> {
    let n = graph.num_vertices();
    let mut marked = vec![u32::MAX; n];
    let mut joined = vec![0; n];
    for (v, joined) in joined.iter_mut().enumerate() {
        let own = graph.neighbours(v);
        let others = || own.iter().filter(|&&u| u as usize != v);
        others().for_each(|&u| marked[u as usize] = v as u32);
        for &u in others() {
            let ahead = graph.neighbours(u as usize);
            let steps = own.len() * (ahead.len().max(1).ilog2() as usize + 1);
            *joined += if ahead.len() <= steps {
                ahead.iter().filter(|&&w| w != u && marked[w as usize] == v as u32).count()
            } else {
                others().filter(|&&w| w != u && ahead.binary_search(&w).is_ok()).count()
            };
        }
    }
    joined
}

/// Lists every triangle once, from its lowest-ranked corner.
fn listed<'a>(n: usize, ahead: impl Fn(usize) -> &'a [u32]) -> Vec<usize> {
    let (mut pairs, mut marked) = (vec![0; n], vec![u32::MAX; n]);
    for v in 0..n {
        ahead(v).iter().for_each(|&u| marked[u as usize] = v as u32);
        for &u in ahead(v) {
            for &w in ahead(u as usize) {
                if marked[w as usize] == v as u32 {
                    pairs[v] += 2;
                    pairs[u as usize] += 2;
                    pairs[w as usize] += 2;
                }
            }
        }
    }
    pairs
}

/// Counts the common neighbours of the ends of every edge by intersecting two rows of bits.
fn common_by_bits<'a>(n: usize, words: usize, ahead: impl Fn(usize) -> &'a [u32]) -> Vec<usize> {
    let mut bits = vec![0u64; n * words];
    for v in 0..n {
        for &u in ahead(v) {
            bits[v * words + u as usize / 64] |= 1 << (u % 64);
            bits[u as usize * words + v / 64] |= 1 << (v % 64);
        }
    }
    let mut pairs = vec![0; n];
    for v in 0..n {
        for &u in ahead(v) {
            let (mine, theirs) = (&bits[v * words..][..words], &bits[u as usize * words..][..words]);
            let common: u32 = mine.iter().zip(theirs).map(|(a, b)| (a & b).count_ones()).sum();
            pairs[v] += common as usize;
            pairs[u as usize] += common as usize;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{EdgeList, Graph};
    use crate::rng::Stream;

    #[test]
    fn both_ways_count_the_pairs_that_are_joined() {
        for (n, density) in [(0, 0.0), (1, 1.0), (2, 1.0), (30, 0.2), (70, 0.9), (130, 0.5), (200, 0.02)] {
            let mut stream = Stream::new(n as u64, "triangles", [0, 0]);
            let (mut sources, mut targets) = (Vec::new(), Vec::new());
            for i in 0..n as u32 {
                for j in 0..=i {
                    if stream.uniform() < density {
                        sources.push(i);
                        targets.push(j);
                    }
                }
            }
            let graph = Graph::new(&EdgeList::new(n, &sources, &targets)).unwrap();
            let graph = graph.view();
            let joined = |a: u32, b: u32| a != b && graph.neighbours(a as usize).contains(&b);
            let expected: Vec<usize> = (0..n as u32)
                .map(|v| {
                    let own: Vec<u32> = (0..n as u32).filter(|&u| joined(v, u)).collect();
                    own.iter().map(|&u| own.iter().filter(|&&w| joined(u, w)).count()).sum()
                })
                .collect();
            assert_eq!(joined_pairs(graph), expected, "{n} {density}");
            let both_ways = graph.entries().map(|(from, to, _)| (from as u32, to as u32));
            let (from, to): (Vec<u32>, Vec<u32>) = both_ways.unzip();
            let directed = EdgeList { directed: true, ..EdgeList::new(n, &from, &to) };
            let directed = Graph::new(&directed).unwrap();
            assert_eq!(joined_targets(directed.view()), expected, "{n} {density}");
            let lists: Vec<Vec<u32>> =
                (0..n as u32).map(|v| (v + 1..n as u32).filter(|&u| joined(v, u)).collect()).collect();
            assert_eq!(listed(n, |v| &lists[v]), expected, "{n} {density}");
            assert_eq!(common_by_bits(n, n.div_ceil(64), |v| &lists[v]), expected, "{n} {density}");
        }
    }

    #[test]
    fn pairs_are_counted_along_the_direction_of_their_edge() {
        for (n, density) in [(5, 0.5), (40, 0.1), (60, 0.6)] {
            let mut stream = Stream::new(n as u64, "directed triangles", [0, 0]);
            let all = (0..n as u32).flat_map(|i| (0..n as u32).map(move |j| (i, j)));
            let (from, to): (Vec<u32>, Vec<u32>) = all.filter(|_| stream.uniform() < density).unzip();
            let graph = EdgeList { directed: true, ..EdgeList::new(n, &from, &to) };
            let graph = Graph::new(&graph).unwrap();
            let leads = |a: u32, b: u32| a != b && graph.view().neighbours(a as usize).contains(&b);
            let expected: Vec<usize> = (0..n as u32)
                .map(|v| {
                    let own: Vec<u32> = (0..n as u32).filter(|&u| leads(v, u)).collect();
                    own.iter().map(|&u| own.iter().filter(|&&w| leads(u, w)).count()).sum()
                })
                .collect();
            assert_eq!(joined_targets(graph.view()), expected, "{n} {density}");
        }
    }

    /// An algorithm quadratic in the hub's degree would take 10¹² steps.
    #[test]
    fn a_star_of_a_million_leaves_is_done_at_once() {
        let leaves: Vec<u32> = (1..=1_000_000).collect();
        let hub = vec![0; leaves.len()];
        let (from, to) = ([&hub[..], &leaves].concat(), [&leaves[..], &hub].concat());
        let n = leaves.len() + 1;
        for directed in [false, true] {
            let star = EdgeList { directed, ..EdgeList::new(n, &from, &to) };
            let star = Graph::new(&star).unwrap();
            let clock = std::time::Instant::now();
            let found = super::super::clustering_coefficients(star.view());
            assert!(found.iter().all(|&coefficient| coefficient == 0.0));
            assert!(clock.elapsed().as_secs() < 5, "{:?}", clock.elapsed());
        }
    }
}
