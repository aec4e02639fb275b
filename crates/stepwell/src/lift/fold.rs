//! Turns a colouring into the quotient: numbers the classes canonically, computes their
//! rows, and proves, vertex by vertex, that the classes are equitable.

use super::Quotient;
use crate::graph::GraphRef;

/// Buffers reused from quotient to quotient.
#[derive(Debug, Default)]
pub(super) struct Fold {
    quotient: Quotient,
    by_colour: Vec<(u64, u32)>,
    /// Each class's canonical number.
    number: Vec<u32>,
    /// Number of entries of each class in the current row; all 0 between rows.
    tally: Vec<u32>,
    sums: Vec<f64>,
    /// Without weights: the number of entries that each entry of the quotient stands
    /// for.
    counts: Vec<u32>,
    /// With weights or kinds: the sorted rows of the representatives, and where they
    /// begin.
    seen: Vec<Seen>,
    seen_starts: Vec<usize>,
    row: Vec<Seen>,
    addends: Vec<((u32, u32), f64)>,
    starts: Vec<usize>,
}

/// An entry as refinement sees it: the column's class, the kind of the edge, and the
/// bits of the weight.
type Seen = ((u32, u32), u64);

impl Fold {
    /// Numbers the classes by ascending colour. Colours depend only on seeds, weights
    /// and sizes, never on vertex numbers. `None` if two classes have the same colour.
    pub fn number(&mut self, class_of: &[u32], colours: impl Iterator<Item = u64>) -> Option<()> {
        self.by_colour.clear();
        self.by_colour.extend(colours.zip(0..));
        self.by_colour.sort_unstable();
        if self.by_colour.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let classes = self.by_colour.len();
        refill(&mut self.number, classes, 0);
        self.by_colour.iter().zip(0..).for_each(|(&(_, class), number)| self.number[class as usize] = number);

        let Quotient { class_of: numbered, sizes, representatives, .. } = &mut self.quotient;
        numbered.clear();
        numbered.extend(class_of.iter().map(|&class| self.number[class as usize]));
        refill(sizes, classes, 0);
        refill(representatives, classes, 0);
        for (vertex, &class) in numbered.iter().enumerate().rev() {
            sizes[class as usize] += 1;
            representatives[class as usize] = vertex as u32;
        }
        Some(())
    }

    /// Reads the rows of the representatives and compares every other vertex with its
    /// representative: seed, in-degree (if present), and the multiset of (weight, kind,
    /// class) over the row. `None` unless all are equal.
    pub fn prove(
        &mut self,
        graph: GraphRef<'_>,
        seeds: &[u64],
        kinds: Option<&[u32]>,
        in_degrees: &[f64],
    ) -> Option<()> {
        refill(&mut self.tally, self.quotient.sizes.len(), 0);
        self.starts.clear();
        if kinds.is_some() {
            self.starts.extend(graph.row_starts());
        }
        self.read_rows(graph, kinds);
        for vertex in 0..graph.num_vertices() {
            let class = self.quotient.class_of[vertex] as usize;
            let representative = self.quotient.representatives[class] as usize;
            let alike = representative == vertex
                || seeds[representative] == seeds[vertex]
                    && in_degrees.get(representative) == in_degrees.get(vertex)
                    && self.same_row(graph, kinds, vertex, class, representative);
            if !alike {
                return None;
            }
        }
        Some(())
    }

    fn read_rows(&mut self, graph: GraphRef<'_>, kinds: Option<&[u32]>) {
        let Quotient { class_of, representatives, row_starts, columns, kinds: columns_kinds, .. } =
            &mut self.quotient;
        columns_kinds.clear();
        row_starts.clear();
        row_starts.push(0);
        columns.clear();
        self.counts.clear();
        self.seen.clear();
        self.seen_starts.clear();
        self.seen_starts.push(0);
        for &representative in representatives.iter() {
            let start = columns.len();
            if graph.weights().is_some() || kinds.is_some() {
                let kinds_of = kinds_of(kinds, &self.starts, representative as usize);
                append_row(&mut self.seen, graph, kinds_of, representative as usize, class_of);
                let row = &self.seen[self.seen_starts[self.seen_starts.len() - 1]..];
                for repeats in row.chunk_by(|a, b| a.0 == b.0) {
                    let (class, kind) = repeats[0].0;
                    columns.push(class);
                    columns_kinds.extend(kinds.map(|_| kind));
                }
                self.seen_starts.push(self.seen.len());
            } else {
                for &neighbour in graph.neighbours(representative as usize) {
                    let class = class_of[neighbour as usize];
                    let met = &mut self.tally[class as usize];
                    if *met == 0 {
                        columns.push(class);
                    }
                    *met += 1;
                }
                columns[start..].sort_unstable();
                self.counts.extend(
                    columns[start..].iter().map(|&class| std::mem::take(&mut self.tally[class as usize])),
                );
            }
            row_starts.push(columns.len());
        }
    }

    fn same_row(
        &mut self,
        graph: GraphRef<'_>,
        kinds: Option<&[u32]>,
        vertex: usize,
        class: usize,
        representative: usize,
    ) -> bool {
        let Quotient { class_of, row_starts, columns, .. } = &self.quotient;
        let neighbours = graph.neighbours(vertex);
        if neighbours.len() != graph.neighbours(representative).len() {
            return false;
        }
        if graph.weights().is_some() || kinds.is_some() {
            self.row.clear();
            let kinds = kinds_of(kinds, &self.starts, vertex);
            append_row(&mut self.row, graph, kinds, vertex, class_of);
            return self.row == self.seen[self.seen_starts[class]..self.seen_starts[class + 1]];
        }
        for &neighbour in neighbours {
            self.tally[class_of[neighbour as usize] as usize] += 1;
        }
        // The row has as many entries in total and in each class as the representative's, so it
        // has no entries in other classes.
        let entries = row_starts[class]..row_starts[class + 1];
        let mut expected = columns[entries.clone()].iter().zip(&self.counts[entries]);
        expected.all(|(&class, &count)| std::mem::take(&mut self.tally[class as usize]) == count)
    }

    /// Returns the proven classes, with the operator's entries in the rows of the
    /// representatives summed in an order that does not depend on vertex numbers.
    pub fn quotient(&mut self, graph: GraphRef<'_>, kinds: Option<&[u32]>, values: &[f64]) -> Quotient {
        let Self { quotient, sums, addends, starts, .. } = self;
        let Quotient { class_of, representatives, row_starts, columns, values: totals, .. } = quotient;
        refill(sums, representatives.len(), 0.0);
        refill(totals, columns.len(), 0.0);
        let mut rest = values;
        for (vertex, &class) in class_of.iter().enumerate() {
            let neighbours = graph.neighbours(vertex);
            let (row, behind) = rest.split_at(neighbours.len());
            rest = behind;
            if representatives[class as usize] as usize != vertex {
                continue;
            }
            let entries = row_starts[class as usize]..row_starts[class as usize + 1];
            let classes = neighbours.iter().map(|&column| class_of[column as usize]);
            if graph.weights().is_some() || kinds.is_some() {
                let kinds = kinds_of(kinds, starts, vertex);
                let kind = |k: usize| kinds.map_or(0, |kinds| kinds[k]);
                let carried = classes.zip(row).enumerate();
                addends.clear();
                addends.extend(carried.map(|(k, (class, &value))| ((class, kind(k)), value)));
                addends.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                let sorted = addends.chunk_by(|a, b| a.0 == b.0);
                totals[entries].iter_mut().zip(sorted).for_each(|(t, a)| *t = a.iter().map(|a| a.1).sum());
            } else {
                // Entries of one class are bit-identical, so any order gives the same sum.
                classes.zip(row).for_each(|(class, value)| sums[class as usize] += value);
                for (total, &class) in totals[entries.clone()].iter_mut().zip(&columns[entries]) {
                    *total = std::mem::take(&mut sums[class as usize]);
                }
            }
        }
        quotient.clone()
    }

    /// Each vertex's class.
    pub fn class_of(&self) -> &[u32] {
        &self.quotient.class_of
    }
}

/// The kinds of the entries of a row.
fn kinds_of<'a>(kinds: Option<&'a [u32]>, starts: &[usize], vertex: usize) -> Option<&'a [u32]> {
    kinds.map(|kinds| &kinds[starts[vertex]..starts[vertex + 1]])
}

fn append_row(
    row: &mut Vec<Seen>,
    graph: GraphRef<'_>,
    kinds: Option<&[u32]>,
    vertex: usize,
    class_of: &[u32],
) {
    let start = row.len();
    let weights = graph.weights_of(vertex);
    row.extend(graph.neighbours(vertex).iter().enumerate().map(|(k, &column)| {
        let kind = kinds.map_or(0, |kinds| kinds[k]);
        let weight = weights.map_or(1.0, |weights| weights[k]);
        ((class_of[column as usize], kind), weight.to_bits())
    }));
    row[start..].sort_unstable();
}

fn refill<T: Copy>(buffer: &mut Vec<T>, length: usize, value: T) {
    buffer.clear();
    buffer.resize(length, value);
}
