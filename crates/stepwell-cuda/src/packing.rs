//! Groups graphs into packs, and lays packs out in flat arrays for a GPU.
//!
//! A pack is what a team of warps processes at a time: graphs whose states, rows and entries
//! together fit into its memory. A sweep processes a graph in phases: its rows, in colour order,
//! are cut into parts of nearly equal size, and all rows of a part gather before any is updated.
//! (Colours as phases would leave most of a team idle, because their sizes differ widely.) The rows
//! of a pack are ordered by phase, then by number of entries, so that rows gathered together finish
//! together, and dealt out so that all warps gather for about as long. The cut of a graph depends on
//! its size alone, so its result does not depend on the other graphs of its pack. Large graphs are
//! swept colour by colour.
//!
//! The entries of a row are multiplied by a power of two that brings the gathered sum into the
//! range of 16-bit numbers, whatever the states; the inverse is the row's unit.

use rayon::prelude::*;
use stepwell::reservoir::{Matrix, Piece};

use crate::fragments::scale;

/// A graph to embed.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    pub piece: Piece<'a>,
    /// Its position in the piece.
    pub graph: usize,
    /// Its row in the result.
    pub out: usize,
}

/// The size of a graph or a pack on one level.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Size {
    pub rows: usize,
    pub entries: usize,
    /// The number of phases of the graph with the most, at least one; the number of colours if
    /// colours are the phases.
    pub phases: usize,
    /// The most rows in a phase.
    pub in_a_phase: usize,
    /// The number of entries gathered from the level below.
    pub carried: usize,
}

impl Size {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.entries += other.entries;
        self.phases = self.phases.max(other.phases);
        self.in_a_phase += other.rows.div_ceil(other.phases.max(1));
        self.carried += other.carried;
    }
}

/// The memory layout of packs.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The number of elements from one row of states to the next.
    pub stride: usize,
    pub jacobi: bool,
    pub gated: bool,
    /// Whether phases are colours.
    pub by_colour: bool,
    /// The number of levels used, including the original graphs.
    pub levels: usize,
}

impl Layout {
    /// The sizes of a graph on every level.
    pub fn sizes(&self, chosen: &Chosen<'_>) -> Vec<Size> {
        let size = |level| {
            let Matrix { row_starts, colour_starts, .. } = chosen.piece.matrix(level, chosen.graph);
            let carried = match level {
                0 => 0,
                _ => {
                    let starts = chosen.piece.carried(level, chosen.graph).starts;
                    starts[starts.len() - 1] - starts[0]
                }
            };
            Size {
                rows: row_starts.len() - 1,
                entries: row_starts[row_starts.len() - 1] - row_starts[0],
                phases: if self.jacobi { 1 } else { (colour_starts.len() - 1).max(1) },
                in_a_phase: 0,
                carried,
            }
        };
        (0..self.levels).map(size).collect()
    }

    /// Bytes of a team's memory that a pack takes on its largest level: `place_in` in `packs.cu`.
    pub fn bytes(&self, sizes: &[Size]) -> usize {
        let states = if self.jacobi { 2 } else { 1 };
        let bytes = |size: &Size| {
            let row = 16 + 4 * self.stride * states + 4 + 4 + 4;
            size.rows * row + size.entries * if self.gated { 12 } else { 8 } + 4 * (size.phases + 1)
        };
        sizes.iter().map(bytes).max().unwrap_or(0).next_multiple_of(16)
    }
}

/// Graphs that are processed together.
#[derive(Clone, Debug, Default)]
pub struct Pack {
    /// Positions in the list of chosen graphs.
    pub graphs: Vec<usize>,
    pub sizes: Vec<Size>,
    /// The number of phases of every graph on every level.
    phases: Vec<Vec<usize>>,
}

/// The limits of a pack; a graph beyond them is a pack of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Most {
    pub bytes: usize,
    pub rows: usize,
    /// Rows that are updated together.
    pub in_a_phase: usize,
    pub graphs: usize,
}

/// Groups graphs into packs, in the given order.
pub fn pack(graphs: impl Iterator<Item = (usize, Vec<Size>)>, layout: Layout, most: Most) -> Vec<Pack> {
    let mut packs: Vec<Pack> = Vec::new();
    for (graph, sizes) in graphs {
        let phases = sizes.iter().map(|size| size.phases).collect();
        let mut alone = sizes.clone();
        alone.iter_mut().for_each(|size| size.in_a_phase = size.rows.div_ceil(size.phases.max(1)));
        if let Some(last) = packs.last_mut().filter(|last| last.graphs.len() < most.graphs) {
            let mut joined = last.sizes.clone();
            joined.iter_mut().zip(&sizes).for_each(|(joined, size)| joined.add(size));
            let fits = joined.iter().all(|size| size.in_a_phase <= most.in_a_phase);
            if fits && layout.bytes(&joined) <= most.bytes && joined[0].rows <= most.rows {
                last.graphs.push(graph);
                last.sizes = joined;
                last.phases.push(phases);
                continue;
            }
        }
        packs.push(Pack { graphs: vec![graph], sizes: alone, phases: vec![phases] });
    }
    packs
}

/// Packs in flat arrays. Rows and entries are numbered level by level, pack by pack.
#[derive(Clone, Debug, Default)]
pub struct Flat {
    /// For each pack and level: the start and number of its rows, its entries, its phases, and the
    /// start of its member lists.
    pub levels_of_packs: Vec<[u32; 8]>,
    /// For each pack, its first graph and its number of graphs.
    pub graphs_of_packs: Vec<[u32; 2]>,
    /// The row of each graph in the result.
    pub out_rows: Vec<u32>,
    /// For each row: the start and end of its entries in the pack, its graph in the pack with its
    /// unit (a power of two; the exponent bits of a float), and the number of vertices it
    /// represents (bits of a float).
    pub meta: Vec<[u32; 4]>,
    /// For each graph, its rows in the pack.
    pub members: Vec<u32>,
    pub member_starts: Vec<u32>,
    /// Row in the pack, and value (bits of a float).
    pub entries: Vec<[u32; 2]>,
    /// Gate rows of the lowest level.
    pub lines: Vec<u32>,
    pub phases: Vec<u32>,
    /// For each row, the start and end of its entries in the list below.
    pub carry: Vec<[u32; 2]>,
    pub carry_entries: Vec<[u32; 2]>,
    pub dense: Vec<f32>,
    pub one_hot: Vec<u32>,
    /// Attributes of distinct edges, and their kinds.
    pub attributes: Vec<f32>,
    pub kinds: Vec<u32>,
    /// The number of gate rows, if edges have attributes.
    pub attributed: usize,
}

/// The part of one level that one pack fills.
struct Share<'f> {
    meta: &'f mut [[u32; 4]],
    members: &'f mut [u32],
    member_starts: &'f mut [u32],
    entries: &'f mut [[u32; 2]],
    lines: &'f mut [u32],
    phases: &'f mut [u32],
    carry: &'f mut [[u32; 2]],
    carry_entries: &'f mut [[u32; 2]],
    first_carried: usize,
}

/// Takes items from the front of a list.
fn take<'f, T>(list: &mut &'f mut [T], count: usize) -> &'f mut [T] {
    list.split_off_mut(..count).expect("lists have room for all packs")
}

impl Flat {
    /// Lays out packs.
    pub fn new(packs: &[Pack], chosen: &[Chosen<'_>], layout: Layout) -> Self {
        let Layout { levels, gated, .. } = layout;
        let total =
            |what: fn(&Size) -> usize| packs.iter().flat_map(|pack| &pack.sizes).map(what).sum::<usize>();
        let (rows, entries) = (total(|size| size.rows), total(|size| size.entries));
        let phases = total(|size| size.phases + 1);
        let first_rows: usize = packs.iter().map(|pack| pack.sizes[0].rows).sum();
        let first_entries: usize = packs.iter().map(|pack| pack.sizes[0].entries).sum();
        let graphs: usize = packs.iter().map(|pack| pack.graphs.len()).sum();
        let inputs = chosen.first().map(|first| first.piece.driven(first.graph));
        let (width, labels) = inputs.map_or((0, 0), |inputs| (inputs.dense_width, inputs.labels));
        let mut flat = Self {
            levels_of_packs: vec![[0; 8]; packs.len() * levels],
            graphs_of_packs: Vec::with_capacity(packs.len()),
            out_rows: Vec::with_capacity(graphs),
            meta: vec![[0; 4]; rows],
            members: vec![0; rows],
            member_starts: vec![0; (graphs + packs.len()) * levels],
            entries: vec![[0; 2]; entries],
            lines: vec![0; if gated { first_entries } else { 0 }],
            phases: vec![0; phases],
            carry: vec![[0; 2]; if levels > 1 { rows } else { 0 }],
            carry_entries: vec![[0; 2]; total(|size| size.carried)],
            dense: vec![0.0; first_rows * width],
            one_hot: vec![0; first_rows * labels],
            ..Self::default()
        };
        let mut first_lines = Vec::with_capacity(packs.len());
        for pack in packs {
            flat.graphs_of_packs.push([flat.out_rows.len() as u32, pack.graphs.len() as u32]);
            flat.out_rows.extend(pack.graphs.iter().map(|&graph| chosen[graph].out as u32));
            first_lines.push(flat.push_attributes(pack, chosen));
        }
        flat.fill(packs, chosen, layout, &first_lines);
        flat
    }

    /// Appends the distinct edges of a pack's graphs; returns the first gate row of each graph.
    fn push_attributes(&mut self, pack: &Pack, chosen: &[Chosen<'_>]) -> Vec<u32> {
        let mut first = Vec::new();
        for &graph in &pack.graphs {
            let Chosen { piece, graph, .. } = chosen[graph];
            first.push(self.attributed as u32);
            if let Some(found) = piece.attributed(graph) {
                self.attributes.extend_from_slice(found.attributes);
                self.kinds.extend_from_slice(found.kinds);
                self.attributed += found.lines();
            }
        }
        first
    }

    fn fill(&mut self, packs: &[Pack], chosen: &[Chosen<'_>], layout: Layout, first_lines: &[Vec<u32>]) {
        let Layout { levels, gated, .. } = layout;
        let (mut meta, mut members, mut starts) =
            (&mut self.meta[..], &mut self.members[..], &mut self.member_starts[..]);
        let (mut entries, mut lines, mut phases) =
            (&mut self.entries[..], &mut self.lines[..], &mut self.phases[..]);
        let (mut carry, mut carry_entries) = (&mut self.carry[..], &mut self.carry_entries[..]);
        let (mut dense, mut one_hot) = (&mut self.dense[..], &mut self.one_hot[..]);
        let mut shares: Vec<Vec<Share<'_>>> = packs.iter().map(|_| Vec::with_capacity(levels)).collect();
        // The next pack's starts: of rows, entries, phases, member lists and carried entries.
        let mut next = [0; 5];
        for level in 0..levels {
            for (at, pack) in packs.iter().enumerate() {
                let Size { rows, entries: count, phases: num_phases, carried, .. } = pack.sizes[level];
                let [row, entry, phase, list, first_carried] = next;
                self.levels_of_packs[at * levels + level] =
                    [row, rows, entry, count, phase, num_phases, list, 0].map(|number| number as u32);
                let lists = pack.graphs.len() + 1;
                shares[at].push(Share {
                    meta: take(&mut meta, rows),
                    members: take(&mut members, rows),
                    member_starts: take(&mut starts, lists),
                    entries: take(&mut entries, count),
                    lines: take(&mut lines, if gated && level == 0 { count } else { 0 }),
                    phases: take(&mut phases, num_phases + 1),
                    carry: take(&mut carry, if levels > 1 { rows } else { 0 }),
                    carry_entries: take(&mut carry_entries, carried),
                    first_carried,
                });
                let taken = [rows, count, num_phases + 1, lists, carried];
                next.iter_mut().zip(taken).for_each(|(next, taken)| *next += taken);
            }
        }
        let inputs: Vec<_> = packs
            .iter()
            .map(|pack| {
                let driven = chosen[pack.graphs[0]].piece.driven(chosen[pack.graphs[0]].graph);
                let rows = pack.sizes[0].rows;
                (take(&mut dense, rows * driven.dense_width), take(&mut one_hot, rows * driven.labels))
            })
            .collect();
        let work: Vec<_> = packs.iter().zip(shares).zip(inputs).zip(first_lines).collect();
        work.into_par_iter().with_min_len(16).for_each(|(((pack, shares), (dense, one_hot)), lines)| {
            let graphs: Vec<Chosen<'_>> = pack.graphs.iter().map(|&graph| chosen[graph]).collect();
            let mut below: Vec<Vec<u32>> = Vec::new();
            for (level, share) in shares.into_iter().enumerate() {
                let counts: Vec<usize> = match layout.by_colour {
                    true => vec![0; graphs.len()],
                    false => pack.phases.iter().map(|phases| phases[level]).collect(),
                };
                let places = places(&graphs, level, &counts, share.phases);
                fill_level(&graphs, level, share, &places, &below, lines);
                if level == 0 {
                    fill_inputs(&graphs, &places, dense, one_hot);
                }
                below = places;
            }
        });
    }
}

/// Rows with at least this many entries count as equal.
const MANY: usize = 63;

/// Rows of a tile, in two halves that a warp gathers one after the other.
const TILE: u32 = 16;

/// New positions of the rows of a phase, which are sorted by their number of entries. The first
/// halves of tiles take the longest rows in order, the second halves the rest in reverse order, so
/// that all tiles gather for about as long.
fn shared_evenly(start: u32, end: u32) -> impl Iterator<Item = u32> {
    let tiles = (start..end).step_by(TILE as usize);
    let half = move |first: u32| first.min(end)..(first + TILE / 2).min(end);
    tiles.clone().flat_map(half).chain(tiles.rev().flat_map(move |tile| half(tile + TILE / 2)))
}

/// The position of every row of every graph in the pack; also fills the list of phases. Graphs with
/// a count of 0 are cut between colours, and their rows stay in order.
fn places(graphs: &[Chosen<'_>], level: usize, counts: &[usize], phases: &mut [u32]) -> Vec<Vec<u32>> {
    // By phase and number of entries, largest first: the number of rows, then their positions.
    let mut next = vec![0u32; (phases.len() - 1) * (MANY + 1)];
    let cuts = |(chosen, &count): (&Chosen<'_>, &usize)| -> Vec<u32> {
        let Matrix { row_starts, colour_starts, .. } = chosen.piece.matrix(level, chosen.graph);
        let rows = row_starts.len() - 1;
        let (mut end, mut phase) = (0, 0);
        let class = |row: usize| {
            while row >= end {
                phase += 1;
                end = (phase * rows).checked_div(count).unwrap_or_else(|| colour_starts[phase]);
            }
            let entries = if count == 0 { 0 } else { (row_starts[row + 1] - row_starts[row]).min(MANY) };
            let class = (phase - 1) * (MANY + 1) + MANY - entries;
            next[class] += 1;
            class as u32
        };
        (0..rows).map(class).collect()
    };
    let mut places: Vec<Vec<u32>> = graphs.iter().zip(counts).map(cuts).collect();
    let mut rows = 0;
    for (phase, classes) in next.chunks_exact_mut(MANY + 1).enumerate() {
        phases[phase] = rows;
        for class in classes {
            rows += std::mem::replace(class, rows);
        }
    }
    phases[phases.len() - 1] = rows;
    for place in places.iter_mut().flatten() {
        let next = &mut next[*place as usize];
        *place = *next;
        *next += 1;
    }
    if counts.iter().all(|&count| count > 0) {
        let order: Vec<u32> = phases.windows(2).flat_map(|span| shared_evenly(span[0], span[1])).collect();
        places.iter_mut().flatten().for_each(|place| *place = order[*place as usize]);
    }
    places
}

fn fill_level(
    graphs: &[Chosen<'_>],
    level: usize,
    share: Share<'_>,
    places: &[Vec<u32>],
    below: &[Vec<u32>],
    first_lines: &[u32],
) {
    let (mut entry, mut carried, mut member) = (0, 0, 0);
    for (number, chosen) in graphs.iter().enumerate() {
        let matrix = chosen.piece.matrix(level, chosen.graph);
        let places = &places[number];
        share.member_starts[number] = member as u32;
        for (row, &place) in places.iter().enumerate() {
            let range = matrix.row_starts[row]..matrix.row_starts[row + 1];
            let start = entry;
            let values = &matrix.values[range.clone()];
            // States and gates are at most 1, so the gathered sum is at most the sum of the values.
            let scale = scale(values.iter().map(|value| f64::from(value.abs())).sum(), 11) as f32;
            for (&column, value) in matrix.columns[range.clone()].iter().zip(values) {
                share.entries[entry] = [places[column as usize], (value * scale).to_bits()];
                entry += 1;
            }
            if !share.lines.is_empty() {
                let lines = matrix.lines[range].iter().map(|&line| first_lines[number] + line);
                share.lines[start..entry].iter_mut().zip(lines).for_each(|(to, line)| *to = line);
            }
            let size = matrix.sizes.get(row).map_or(1.0, |&size| size as f32);
            let graph_and_unit = number as u32 | (1.0 / scale).to_bits();
            share.meta[place as usize] = [start as u32, entry as u32, graph_and_unit, size.to_bits()];
            share.members[member] = place;
            member += 1;
        }
        if level > 0 {
            let carry = chosen.piece.carried(level, chosen.graph);
            for (row, &place) in places.iter().enumerate() {
                let start = carried;
                for at in carry.starts[row]..carry.starts[row + 1] {
                    share.carry_entries[carried] =
                        [below[number][carry.from[at] as usize], carry.values[at].to_bits()];
                    carried += 1;
                }
                let first = share.first_carried;
                share.carry[place as usize] = [first + start, first + carried].map(|at| at as u32);
            }
        }
    }
    share.member_starts[graphs.len()] = member as u32;
}

fn fill_inputs(graphs: &[Chosen<'_>], places: &[Vec<u32>], dense: &mut [f32], one_hot: &mut [u32]) {
    for (chosen, places) in graphs.iter().zip(places) {
        let driven = chosen.piece.driven(chosen.graph);
        let (width, labels) = (driven.dense_width, driven.labels);
        for (row, &place) in places.iter().enumerate() {
            let place = place as usize;
            dense[place * width..][..width].copy_from_slice(&driven.dense[row * width..][..width]);
            one_hot[place * labels..][..labels].copy_from_slice(&driven.one_hot[row * labels..][..labels]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_position_and_no_tile_has_only_long_rows() {
        for rows in 0..100 {
            let order: Vec<u32> = shared_evenly(7, 7 + rows).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (7..7 + rows).collect::<Vec<u32>>());
        }
        // Of 49 rows, the longest eight and the shortest eight share the first tile.
        let order: Vec<u32> = shared_evenly(0, 49).collect();
        assert_eq!(order[..8], [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order[41..], [8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(order[24], 48);
    }
}
