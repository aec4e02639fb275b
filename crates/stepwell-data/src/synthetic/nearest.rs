//! The k nearest points of each point.

use super::clusters::squared_distance;

/// Edges `(point, neighbour)` from every point to its `k` nearest others, ties broken by the lower
/// index. With fewer than `k` others, all of them.
///
/// Compares all pairs: it is used for graphs of a few hundred points.
pub(super) fn k_nearest(points: &[[f64; 2]], k: usize) -> (Vec<u32>, Vec<u32>) {
    let k = k.min(points.len().saturating_sub(1));
    let mut edges = (Vec::with_capacity(points.len() * k), Vec::with_capacity(points.len() * k));
    if k == 0 {
        return edges;
    }
    let mut others = Vec::with_capacity(points.len());
    for (index, &point) in points.iter().enumerate() {
        let distance = |(j, &other): (usize, &[f64; 2])| (squared_distance(point, other), j as u32);
        others.clear();
        others.extend(points.iter().enumerate().map(distance).filter(|&(_, j)| j as usize != index));
        others.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        edges.0.resize(edges.0.len() + k, index as u32);
        edges.1.extend(others[..k].iter().map(|&(_, j)| j));
    }
    edges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_go_to_the_lowest_index() {
        let square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
        let (sources, targets) = k_nearest(&square, 1);
        assert_eq!((sources, targets), (vec![0, 1, 2, 3], vec![1, 0, 0, 1]));
        assert_eq!(k_nearest(&square, 9).0.len(), 4 * 3, "all others when there are fewer than k");
        assert!(k_nearest(&square[..1], 3).0.is_empty() && k_nearest(&[], 3).0.is_empty());
    }

    proptest! {
        #[test]
        fn neighbours_are_the_first_k_by_distance(
            points in prop::collection::vec([0u8..6, 0u8..6], 2..40), k in 1usize..6
        ) {
            // Small integer coordinates, so that ties and equal points are common.
            let points: Vec<[f64; 2]> = points.iter().map(|p| p.map(f64::from)).collect();
            let (sources, targets) = k_nearest(&points, k);
            for v in 0..points.len() {
                let mut order: Vec<u32> = (0..points.len() as u32).filter(|&u| u as usize != v).collect();
                let whole = |u: u32| squared_distance(points[v], points[u as usize]) as u32;
                order.sort_by_key(|&u| (whole(u), u));
                order.truncate(k);
                order.sort_unstable();
                let mut found: Vec<u32> =
                    (0..sources.len()).filter(|&e| sources[e] as usize == v).map(|e| targets[e]).collect();
                found.sort_unstable();
                prop_assert_eq!(found, order);
            }
        }
    }
}
