//! Computes positions for the vertices of a graph without coordinates.
//!
//! The positions of every component start as the two main axes of the distances to a few far
//! vertices (pivot MDS), which unfolds it. Then edges attract and vertices repel each other
//! (Fruchterman and Reingold), with distant vertices grouped (Barnes and Hut). Components are
//! placed side by side. Only sums, products and square roots are used, so that all machines draw
//! the same picture.

use stepwell::graph::GraphRef;
use stepwell::rng::Stream;

use super::crowd::Crowds;

/// The number of vertices from which distances are measured.
const PIVOTS: usize = 24;

/// The gap between two components, where an edge is about 1 long.
const APART: f64 = 1.5;

/// A position for every vertex; edges are about 1 long.
pub fn layout(graph: GraphRef<'_>) -> Vec<[f64; 2]> {
    let neighbours = neighbours(graph);
    let components = components(graph);
    let mut places = vec![[0.0; 2]; neighbours.len()];
    let mut boxes = Vec::with_capacity(components.len());
    for (index, members) in components.iter().enumerate() {
        let mut local = arranged(members, &neighbours, index as u64);
        let (low, high) = bounds(&local);
        for place in &mut local {
            *place = [place[0] - low[0], place[1] - low[1]];
        }
        boxes.push([high[0] - low[0], high[1] - low[1]]);
        members.iter().zip(local).for_each(|(&vertex, place)| places[vertex as usize] = place);
    }
    for (members, corner) in components.iter().zip(packed(&boxes)) {
        for &vertex in members {
            let place = &mut places[vertex as usize];
            *place = [place[0] + corner[0], place[1] + corner[1]];
        }
    }
    // Landscape rather than portrait, because pictures are wider than high.
    let (low, high) = bounds(&places);
    if high[1] - low[1] > high[0] - low[0] {
        places.iter_mut().for_each(|place| place.swap(0, 1));
    }
    places
}

/// The smallest and the largest coordinates.
pub fn bounds(places: &[[f64; 2]]) -> ([f64; 2], [f64; 2]) {
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for place in places.iter().filter(|place| place.iter().all(|x| x.is_finite())) {
        for axis in 0..2 {
            (low[axis], high[axis]) = (low[axis].min(place[axis]), high[axis].max(place[axis]));
        }
    }
    if low[0] <= high[0] { (low, high) } else { ([0.0; 2], [0.0; 2]) }
}

/// The neighbours of every vertex in either direction, without self loops.
fn neighbours(graph: GraphRef<'_>) -> Vec<Vec<u32>> {
    let mut lists = vec![Vec::new(); graph.num_vertices()];
    for (row, column, _) in graph.entries().filter(|(row, column, _)| row != column) {
        lists[row].push(column as u32);
        if graph.is_directed() {
            lists[column].push(row as u32);
        }
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// The vertices of each component, the largest first.
fn components(graph: GraphRef<'_>) -> Vec<Vec<u32>> {
    let found = graph.components();
    let mut components = vec![Vec::new(); found.count()];
    for (vertex, &component) in (0..).zip(found.labels()) {
        components[component as usize].push(vertex);
    }
    components.sort_by_key(|members| std::cmp::Reverse(members.len()));
    components
}

/// Positions for the vertices of one component.
fn arranged(members: &[u32], neighbours: &[Vec<u32>], component: u64) -> Vec<[f64; 2]> {
    if members.len() < 3 {
        return (0..members.len()).map(|k| [k as f64, 0.0]).collect();
    }
    let mut number = vec![0u32; neighbours.len()];
    members.iter().zip(0..).for_each(|(&vertex, k)| number[vertex as usize] = k);
    let edges: Vec<(u32, u32)> = members
        .iter()
        .flat_map(|&vertex| neighbours[vertex as usize].iter().map(move |&other| (vertex, other)))
        .filter(|(vertex, other)| vertex < other)
        .map(|(vertex, other)| (number[vertex as usize], number[other as usize]))
        .collect();
    let lists: Vec<Vec<u32>> = members
        .iter()
        .map(|&vertex| neighbours[vertex as usize].iter().map(|&other| number[other as usize]).collect())
        .collect();
    let mut places = unfolded(&lists, &edges);
    // Vertices with equal distances to all pivots get the same position; random offsets separate
    // them.
    let mut stream = Stream::new(0, "layout", [component, 0]);
    for place in &mut places {
        *place = place.map(|x| x + stream.uniform_in(-0.25, 0.25));
    }
    settle(&mut places, &edges);
    places
}

/// Pivot MDS: the two main axes of the squared distances to pivots.
fn unfolded(lists: &[Vec<u32>], edges: &[(u32, u32)]) -> Vec<[f64; 2]> {
    let (n, pivots) = (lists.len(), PIVOTS.min(lists.len()));
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(pivots);
    let mut nearest = vec![f64::INFINITY; n];
    let mut pivot = 0;
    for _ in 0..pivots {
        let distances = distances(lists, pivot);
        nearest.iter_mut().zip(&distances).for_each(|(near, &d)| *near = near.min(d));
        columns.push(distances.iter().map(|d| d * d).collect());
        pivot = (0..n).fold(0, |far, vertex| if nearest[vertex] > nearest[far] { vertex } else { far });
    }
    // Double centring.
    let row_means: Vec<f64> =
        (0..n).map(|row| columns.iter().map(|column| column[row]).sum::<f64>() / pivots as f64).collect();
    let all = row_means.iter().sum::<f64>() / n as f64;
    for column in &mut columns {
        let mean = column.iter().sum::<f64>() / n as f64;
        column.iter_mut().zip(&row_means).for_each(|(x, row)| *x -= row + mean - all);
    }
    let first = main_axis(&columns, None);
    let second = main_axis(&columns, Some(&first));
    let mut places: Vec<[f64; 2]> = (0..n)
        .map(|row| {
            let along = |axis: &[f64]| columns.iter().zip(axis).map(|(column, a)| column[row] * a).sum();
            [along(&first), along(&second)]
        })
        .collect();
    let length = |&(a, b): &(u32, u32)| apart(places[a as usize], places[b as usize]);
    let mean = edges.iter().map(length).sum::<f64>() / edges.len().max(1) as f64;
    if mean > 0.0 {
        places.iter_mut().for_each(|place| *place = place.map(|x| x / mean));
    }
    places
}

fn apart(a: [f64; 2], b: [f64; 2]) -> f64 {
    ((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1])).sqrt()
}

/// The number of steps from one vertex to all others of a component.
fn distances(lists: &[Vec<u32>], from: usize) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; lists.len()];
    distances[from] = 0.0;
    let mut queue = vec![from as u32];
    let mut next = 0;
    while let Some(&vertex) = queue.get(next) {
        next += 1;
        let farther = distances[vertex as usize] + 1.0;
        for &other in &lists[vertex as usize] {
            if distances[other as usize] > farther {
                distances[other as usize] = farther;
                queue.push(other);
            }
        }
    }
    distances
}

/// The unit combination of columns with the largest norm, orthogonal to `other` (power iteration).
fn main_axis(columns: &[Vec<f64>], other: Option<&[f64]>) -> Vec<f64> {
    let k = columns.len();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let gram: Vec<Vec<f64>> =
        columns.iter().map(|a| columns.iter().map(|b| product(a, b)).collect()).collect();
    let mut axis: Vec<f64> = (0..k).map(|i| 1.0 + i as f64 / k as f64).collect();
    for _ in 0..100 {
        if let Some(other) = other {
            let along = product(&axis, other);
            axis.iter_mut().zip(other).for_each(|(x, y)| *x -= along * y);
        }
        let turned: Vec<f64> = gram.iter().map(|row| product(row, &axis)).collect();
        let length = product(&turned, &turned).sqrt();
        if length <= 0.0 || !length.is_finite() {
            return vec![0.0; k];
        }
        axis = turned.into_iter().map(|x| x / length).collect();
    }
    axis
}

/// Lets edges attract and vertices repel each other until they rest.
fn settle(places: &mut [[f64; 2]], edges: &[(u32, u32)]) {
    let n = places.len();
    let rounds = if n <= 600 { 240 } else { 120 };
    let mut crowds = Crowds::default();
    let mut forces = vec![[0.0; 2]; n];
    for round in 0..rounds {
        let left = 1.0 - f64::from(round) / f64::from(rounds);
        let longest_step = 0.02 + left * left;
        crowds.gather(places);
        for (force, &place) in forces.iter_mut().zip(places.iter()) {
            *force = crowds.push(place);
        }
        for &(a, b) in edges {
            let (a, b) = (a as usize, b as usize);
            let length = apart(places[a], places[b]);
            for axis in 0..2 {
                let pull = length * (places[b][axis] - places[a][axis]);
                forces[a][axis] += pull;
                forces[b][axis] -= pull;
            }
        }
        for (place, force) in places.iter_mut().zip(&forces) {
            let size = (force[0] * force[0] + force[1] * force[1]).sqrt();
            if size > 0.0 && size.is_finite() {
                let step = size.min(longest_step) / size;
                *place = [place[0] + step * force[0], place[1] + step * force[1]];
            }
        }
    }
}

/// Positions for non-overlapping boxes: in rows, in the given order.
fn packed(boxes: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let area: f64 = boxes.iter().map(|size| (size[0] + APART) * (size[1] + APART)).sum();
    let widest = boxes.iter().fold(0.0, |widest: f64, size| widest.max(size[0]));
    let row_width = widest.max(1.2 * area.sqrt());
    let (mut corner, mut row_height) = ([0.0, 0.0], 0.0);
    let mut corners = Vec::with_capacity(boxes.len());
    for size in boxes {
        if corner[0] > 0.0 && corner[0] + size[0] > row_width {
            corner = [0.0, corner[1] + row_height + APART];
            row_height = 0.0;
        }
        corners.push(corner);
        corner[0] += size[0] + APART;
        row_height = row_height.max(size[1]);
    }
    corners
}

#[cfg(test)]
mod tests {
    use stepwell::graph::{EdgeList, Graph};

    use super::*;

    fn graph(n: usize, edges: &[(u32, u32)]) -> Graph {
        let (from, to): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        Graph::new(&EdgeList::new(n, &from, &to)).unwrap()
    }

    fn grid(side: u32) -> Graph {
        let at = |row: u32, column: u32| row * side + column;
        let mut edges = Vec::new();
        for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
            if column + 1 < side {
                edges.push((at(row, column), at(row, column + 1)));
            }
            if row + 1 < side {
                edges.push((at(row, column), at(row + 1, column)));
            }
        }
        graph((side * side) as usize, &edges)
    }

    #[test]
    fn neighbours_lie_nearer_than_others() {
        let made = grid(12);
        let places = layout(made.view());
        let edge = |(a, b, _): (usize, usize, f64)| apart(places[a], places[b]);
        let edges = made.view().num_entries() as f64;
        let near = made.view().entries().map(edge).sum::<f64>() / edges;
        let pairs = (0..144).flat_map(|a| (0..a).map(move |b| (a, b)));
        let far = pairs.map(|(a, b)| apart(places[a], places[b])).sum::<f64>() / (144.0 * 143.0 / 2.0);
        assert!(far > 3.5 * near, "{near} {far}");
        // Opposite corners of an unfolded grid are its farthest vertices.
        assert!(apart(places[0], places[143]) > 1.2 * far);
    }

    #[test]
    fn every_graph_gets_finite_places_that_differ() {
        let star: Vec<(u32, u32)> = (1..40).map(|leaf| (0, leaf)).collect();
        let complete: Vec<(u32, u32)> = (0..15).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        for made in [
            graph(0, &[]),
            graph(1, &[(0, 0)]),
            graph(7, &[]),
            graph(5, &[(0, 1), (2, 3)]),
            graph(40, &star),
            graph(15, &complete),
        ] {
            let places = layout(made.view());
            assert_eq!(places.len(), made.view().num_vertices());
            for (index, place) in places.iter().enumerate() {
                assert!(place.iter().all(|x| x.is_finite()));
                assert!(places[..index].iter().all(|other| apart(*place, *other) > 0.05), "{places:?}");
            }
        }
    }

    #[test]
    fn the_same_graph_is_drawn_the_same() {
        let made = grid(9);
        assert_eq!(layout(made.view()), layout(made.view()));
    }

    #[test]
    fn boxes_do_not_touch() {
        let boxes: Vec<[f64; 2]> = (0..30).map(|k| [f64::from(k % 7), f64::from(k % 4)]).collect();
        let corners = packed(&boxes);
        for a in 0..boxes.len() {
            for b in 0..a {
                let clear = |axis: usize| {
                    corners[a][axis] >= corners[b][axis] + boxes[b][axis] + APART
                        || corners[b][axis] >= corners[a][axis] + boxes[a][axis] + APART
                };
                assert!(clear(0) || clear(1), "{a} {b}");
            }
        }
    }
}
