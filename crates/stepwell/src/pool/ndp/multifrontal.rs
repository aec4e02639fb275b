//! Eliminates a large connected set of vertices.
//!
//! Every elimination joins the neighbours of the eliminated vertices pairwise: an
//! *element*. Its weights are stored densely and separately until a vertex that it
//! shares with others is eliminated. Then the elements of that vertex and its own edges
//! are summed in one [front], and all vertices without neighbours outside the front are
//! eliminated with it. The vertex with the fewest neighbours, kept ones included, comes
//! next (by the upper bound from the sizes of its elements). So small elements merge
//! first, and the work stays near the size of the result.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::front::{self, pairs, row_start};
use super::kron::Halt;
use super::rows::Rows;
use crate::memory;
use crate::pool::{Going, still};

/// Vertices joined pairwise, ascending, with their weights.
struct Element {
    members: Vec<u32>,
    /// The front it was computed in. Its own triangle is the end, from `first`.
    front: Vec<f64>,
    first: usize,
}

/// A front with at least this share of the remaining vertices takes in all of them: the
/// following fronts would be as large, one after the other.
const NEARLY_ALL: (usize, usize) = (3, 4);

struct Elimination<'a> {
    rows: &'a Rows,
    /// The vertices to eliminate, by local number.
    dropped: &'a [u32],
    /// Local numbers by vertex: first the dropped vertices, then those they touch.
    position: &'a [u32],
    eliminated: Vec<bool>,
    elements: Vec<Option<Element>>,
    /// The elements that contain each dropped vertex, ascending.
    elements_of: Vec<Vec<u32>>,
    scores: Vec<usize>,
    /// Number of vertices not eliminated yet.
    left: usize,
    heap: BinaryHeap<Reverse<(usize, u32)>>,
    /// The front that each vertex was last seen in, and its position there.
    seen: Vec<u32>,
    place: Vec<u32>,
}

/// The vertices to eliminate (`dropped`), the number of other vertices that they touch, and the
/// local numbers of all.
pub(super) struct Work<'a> {
    pub rows: &'a Rows,
    pub dropped: &'a [u32],
    pub num_members: usize,
    pub position: &'a [u32],
}

/// Eliminates `dropped`, a connected set that touches `touched` other vertices, and
/// appends the triangle of weights among those. It may hold `budget` pairs.
pub(super) fn eliminate(
    Work { rows, dropped, num_members: touched, position }: Work<'_>,
    budget: usize,
    answer: &mut Vec<f64>,
    going: &Going<'_>,
) -> Result<(), Halt> {
    let (count, all) = (dropped.len(), dropped.len() + touched);
    let scores: Vec<usize> = dropped.iter().map(|&v| rows.row(v as usize).0.len()).collect();
    let heap = scores.iter().enumerate().map(|(v, &score)| Reverse((score, v as u32))).collect();
    let mut state = Elimination {
        rows,
        dropped,
        position,
        eliminated: vec![false; count],
        elements: Vec::new(),
        elements_of: vec![Vec::new(); count],
        scores,
        heap,
        left: count,
        seen: vec![u32::MAX; all],
        place: vec![0; all],
    };
    let mut held = 0;
    let mut last = None;
    while let Some(Reverse((score, v))) = state.heap.pop() {
        // Skip outdated heap entries: the vertex is gone, or has another score by now.
        if !state.eliminated[v as usize] && state.scores[v as usize] == score {
            still(going)?;
            last = Some(state.step(v, &mut held, budget)?);
        }
    }
    // The set is connected, so the last element has absorbed all others.
    if let Some(element) = last.and_then(|at| state.elements[at].take()) {
        answer.extend_from_slice(&element.front[element.first..]);
    }
    Ok(())
}

impl Elimination<'_> {
    /// Eliminates `pivot` and all vertices without neighbours outside its front.
    /// Returns the new element.
    fn step(&mut self, pivot: u32, held: &mut usize, budget: usize) -> Result<usize, Halt> {
        let id = self.elements.len() as u32;
        let mut absorbed = std::mem::take(&mut self.elements_of[pivot as usize]);
        let (mut pivots, mut rest) = self.gather(pivot, &absorbed, id);
        let (size, all) = (pivots.len() + rest.len(), self.left + self.seen.len() - self.dropped.len());
        if size * NEARLY_ALL.1 >= all * NEARLY_ALL.0 && pivots.len() < self.left {
            let count = self.dropped.len();
            pivots = (0..count as u32).filter(|&v| !self.eliminated[v as usize]).collect();
            rest = (count as u32..self.seen.len() as u32).collect();
            absorbed = (0..id).filter(|&element| self.elements[element as usize].is_some()).collect();
        }
        let (m, before) = (pivots.len() + rest.len(), pivots.len());
        if *held + pairs(m) > budget {
            return Err(Halt::Fill(*held + pairs(m)));
        }
        memory::ask_array("pooling by NDP", &[pairs(m)], size_of::<f64>())?;
        for (at, &v) in pivots.iter().chain(&rest).enumerate() {
            self.place[v as usize] = at as u32;
        }
        let mut values = vec![0.0; pairs(m)];
        for &element in &absorbed {
            if let Some(element) = self.elements[element as usize].take() {
                *held -= element.front.len();
                self.assemble(&element, &mut values, m, before);
            }
        }
        for (at, &v) in pivots.iter().enumerate() {
            let row = row_start(m, at);
            for (u, weight) in self.rows.entries(self.dropped[v as usize] as usize) {
                let u = self.position[u] as usize;
                let gone = self.eliminated.get(u) == Some(&true);
                // The first of two pivots enters their common edge.
                if let (false, Some(k)) = (gone, (self.place[u] as usize).checked_sub(at + 1)) {
                    values[row + k] += weight;
                }
            }
        }
        front::eliminate(&mut values, m, before);
        for &v in &pivots {
            self.eliminated[v as usize] = true;
        }
        self.left -= before;
        *held += values.len();
        self.elements.push(Some(Element { members: rest, front: values, first: row_start(m, before) }));
        self.rescore(id);
        Ok(id as usize)
    }

    /// The vertices of a front: those to eliminate, and the others, ascending.
    fn gather(&mut self, pivot: u32, absorbed: &[u32], front: u32) -> (Vec<u32>, Vec<u32>) {
        let Self { rows, dropped, position, eliminated, elements, elements_of, seen, .. } = self;
        let mut rest = Vec::new();
        let mut see = |v: u32| {
            if seen[v as usize] != front {
                seen[v as usize] = front;
                rest.push(v);
            }
        };
        see(pivot);
        for &element in absorbed {
            if let Some(element) = &elements[element as usize] {
                element.members.iter().for_each(|&v| see(v));
            }
        }
        let neighbours = |v: u32| {
            let columns = rows.row(dropped[v as usize] as usize).0;
            columns.iter().map(|&u| position[u as usize])
        };
        let alive = |v: &u32| eliminated.get(*v as usize) != Some(&true);
        neighbours(pivot).filter(alive).for_each(see);
        let mut pivots = vec![pivot];
        rest.retain(|&v| {
            let inside = (v as usize) < dropped.len()
                && v != pivot
                && elements_of[v as usize].iter().all(|e| absorbed.binary_search(e).is_ok())
                && neighbours(v).filter(alive).all(|u| seen[u as usize] == front);
            if inside {
                pivots.push(v);
            }
            !inside && v != pivot
        });
        rest.sort_unstable();
        (pivots, rest)
    }

    /// Adds an element's weights to a front whose first vertices are pivots.
    fn assemble(&self, element: &Element, values: &mut [f64], m: usize, pivots: usize) {
        let mut weights = &element.front[element.first..];
        for (k, &v) in element.members.iter().enumerate() {
            let at = self.place[v as usize] as usize;
            let others = &element.members[k + 1..];
            let (row, later) = weights.split_at(others.len());
            weights = later;
            for (&u, weight) in others.iter().zip(row) {
                let other = self.place[u as usize] as usize;
                // Members and positions ascend together, except for pivots.
                let (low, high) =
                    if at < pivots || other < pivots { (at.min(other), at.max(other)) } else { (at, other) };
                values[row_start(m, low) + high - low - 1] += weight;
            }
        }
    }

    /// Registers a new element with its dropped members and updates their scores.
    fn rescore(&mut self, id: u32) {
        let Self { rows, dropped, elements, elements_of, scores, heap, .. } = self;
        let Some(Some(new)) = elements.get(id as usize) else { return };
        for &v in new.members.iter().take_while(|&&v| (v as usize) < dropped.len()) {
            let mine = &mut elements_of[v as usize];
            mine.retain(|&element| elements[element as usize].is_some());
            mine.push(id);
            let joined = |&element: &u32| {
                elements[element as usize].as_ref().map_or(0, |e| e.members.len().saturating_sub(1))
            };
            let own = rows.row(dropped[v as usize] as usize).0.len();
            scores[v as usize] = own + mine.iter().map(joined).sum::<usize>();
            heap.push(Reverse((scores[v as usize], v)));
        }
    }
}
