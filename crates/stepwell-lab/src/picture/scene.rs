//! A graph and its coarse levels, with a position for each vertex.

use stepwell::graph::GraphRef;
use stepwell::pool::AssignmentRef;
use stepwell::pyramid::Pyramid;

use super::layout::{bounds, layout};
use crate::error::{Error, Result};

/// The most vertices drawn: more cannot be distinguished.
const MOST_VERTICES: usize = 20_000;

/// The graph to draw.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The name of the graph, for display.
    pub name: &'a str,
    /// The graph itself.
    pub graph: GraphRef<'a>,
    /// The positions of its vertices, if known.
    pub coordinates: Option<&'a [[f64; 2]]>,
    /// The feature set of its labels, if it was made from a molecule; it is then drawn as one.
    pub molecules: Option<&'a str>,
    /// The pyramid that contains the levels of the graph.
    pub pyramid: &'a Pyramid,
    /// Its position in the pyramid's batches.
    pub index: usize,
}

/// A graph with positions, and the mapping of its vertices to the next level.
pub(super) struct Level<'a> {
    pub graph: GraphRef<'a>,
    pub places: Vec<[f64; 2]>,
    /// For every vertex, the vertices of the original graph that it mainly represents.
    pub stands_for: Vec<Vec<u32>>,
    /// The assignment matrix to the next level.
    pub assignment: Option<AssignmentRef<'a>>,
    /// For each vertex, the vertex of the next level that receives most of it; empty on the last
    /// level.
    pub becomes: Vec<Option<u32>>,
    /// Whether the next level keeps each vertex, if it selects vertices.
    pub kept: Option<Vec<bool>>,
}

impl Level<'_> {
    /// Maps rows of `width` numbers to the next level, as weighted means.
    pub fn carried(&self, rows: &[f64], width: usize) -> Vec<f64> {
        let Some(assignment) = self.assignment else { return Vec::new() };
        let mut coarse = vec![0.0; assignment.num_coarse() * width];
        let mut totals = vec![0.0; assignment.num_coarse()];
        for vertex in 0..assignment.num_fine() {
            let (columns, weights) = assignment.row(vertex);
            for (&column, weight) in columns.iter().zip(weights) {
                let (column, weight) = (column as usize, weight.abs());
                totals[column] += weight;
                let from = &rows[vertex * width..(vertex + 1) * width];
                let to = &mut coarse[column * width..(column + 1) * width];
                to.iter_mut().zip(from).for_each(|(to, from)| *to += weight * from);
            }
        }
        for (row, total) in
            coarse.chunks_exact_mut(width.max(1)).zip(totals).filter(|(_, total)| *total > 0.0)
        {
            row.iter_mut().for_each(|x| *x /= total);
        }
        coarse
    }
}

/// The graph and all its levels. A coarse vertex lies at the centre of the vertices it represents.
pub(super) fn levels<'a>(subject: &Subject<'a>) -> Result<Vec<Level<'a>>> {
    let Subject { graph, coordinates, pyramid, index, .. } = *subject;
    let n = graph.num_vertices();
    let refused = |what, expected, found| Err(stepwell::Error::Length { what, expected, found }.into());
    if n > MOST_VERTICES {
        let expected = format!("at most {MOST_VERTICES} vertices");
        return Err(Error::BadOption { name: "graph", expected, found: n.to_string() });
    }
    if let Some(known) = coordinates.filter(|known| known.len() != n) {
        return refused("coordinates", n, known.len());
    }
    let places = match coordinates.filter(|known| known.iter().flatten().all(|x| x.is_finite())) {
        Some(known) => known.to_vec(),
        None => layout(graph),
    };
    let (low, high) = bounds(&places);
    let extent = (high[0] - low[0]).max(high[1] - low[1]);
    let stands_for = (0..n as u32).map(|vertex| vec![vertex]).collect();
    let mut levels =
        vec![Level { graph, places, stands_for, assignment: None, becomes: Vec::new(), kept: None }];
    for level in &pyramid.levels {
        if index >= level.graphs.len() || index >= level.assignments.len() {
            return refused("graphs of a level", index + 1, level.graphs.len().min(level.assignments.len()));
        }
        let last = levels.len() - 1;
        let below = &mut levels[last];
        let assignment = level.assignments.graph(index);
        let above = level.graphs.graph(index);
        if assignment.num_fine() != below.graph.num_vertices() {
            return refused("rows of S", below.graph.num_vertices(), assignment.num_fine());
        }
        if assignment.num_coarse() != above.num_vertices() {
            return refused("columns of S", above.num_vertices(), assignment.num_coarse());
        }
        below.assignment = Some(assignment);
        below.becomes = (0..assignment.num_fine()).map(|vertex| heaviest(assignment.row(vertex))).collect();
        let offsets = &level.graphs.vertex_offsets()[index..];
        below.kept = level.kept.as_ref().map(|kept| {
            let mut is_kept = vec![false; below.graph.num_vertices()];
            for &vertex in &kept[offsets[0]..offsets[1]] {
                if let Some(flag) = is_kept.get_mut(vertex as usize) {
                    *flag = true;
                }
            }
            is_kept
        });
        let flat: Vec<f64> = below.places.iter().flatten().copied().collect();
        let mut places: Vec<[f64; 2]> =
            below.carried(&flat, 2).chunks_exact(2).map(|place| [place[0], place[1]]).collect();
        if below.kept.is_none() {
            part(&mut places, extent);
        }
        let mut stands_for = vec![Vec::new(); above.num_vertices()];
        for (originals, coarse) in below.stands_for.iter().zip(&below.becomes) {
            if let Some(coarse) = coarse {
                stands_for[*coarse as usize].extend(originals);
            }
        }
        stands_for.iter_mut().for_each(|originals: &mut Vec<u32>| originals.sort_unstable());
        levels.push(Level {
            graph: above,
            places,
            stands_for,
            assignment: None,
            becomes: Vec::new(),
            kept: None,
        });
    }
    Ok(levels)
}

/// The column of the first largest entry of a row, if it is above 0.
fn heaviest((columns, weights): (&[u32], &[f64])) -> Option<u32> {
    let mut best: Option<(u32, f64)> = None;
    for (&column, &weight) in columns.iter().zip(weights) {
        if weight > best.map_or(0.0, |(_, most)| most) {
            best = Some((column, weight));
        }
    }
    best.map(|(column, _)| column)
}

/// Separates positions that coincide, as the centres of clusters that share vertices may. `extent`
/// is the size of the whole drawing.
fn part(places: &mut [[f64; 2]], extent: f64) {
    /// With more vertices, comparing all pairs would be too slow.
    const MOST: usize = 1500;
    let n = places.len();
    if !(2..=MOST).contains(&n) {
        return;
    }
    let least = if extent > 0.0 { extent * (0.4 / (n as f64).sqrt()).min(0.085) } else { 1.0 };
    for _ in 0..20 {
        let mut moved = false;
        for a in 0..n {
            for b in 0..a {
                let (dx, dy) = (places[a][0] - places[b][0], places[a][1] - places[b][1]);
                let distance = (dx * dx + dy * dy).sqrt();
                if distance >= least {
                    continue;
                }
                moved = true;
                // Vertices at exactly the same position separate in directions that depend on their
                // indices.
                let (ux, uy) = if distance > 1e-9 * least {
                    (dx / distance, dy / distance)
                } else if (a + b) % 2 == 0 {
                    (0.6, 0.8)
                } else {
                    (0.8, -0.6)
                };
                let half = (least - distance) / 2.0;
                places[a] = [places[a][0] + half * ux, places[a][1] + half * uy];
                places[b] = [places[b][0] - half * ux, places[b][1] - half * uy];
            }
        }
        if !moved {
            break;
        }
    }
}
