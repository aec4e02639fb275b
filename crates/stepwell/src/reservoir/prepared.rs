//! Prepares graphs and their pyramids for any number of embeddings: normalises and lifts them,
//! orders their rows for the sweeps, and rounds them to the precision of the states.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use rayon::prelude::*;

use super::carry::{Carry, Columns};
use super::pieces::Attributed;
use crate::colours::Colours;
use crate::config::{ModelConfig, Precision};
use crate::error::{Error, Result, same_length};
use crate::features::{EdgeInputs, Inputs};
use crate::graph::{GraphBatch, GraphRef};
use crate::kernel::by_colour;
use crate::kernel::{Gate, Operator, Real, Waves};
use crate::lift::Refiner;
use crate::memory;
use crate::pool::Going;
use crate::pyramid::{Level, Pyramid};

/// Minimum number of vertices of a part, except for the last one. Threads process one part at a
/// time; parts do not change any result.
const PART_VERTICES: usize = 2048;

/// Number of parts per thread after which the part of an owned pyramid that is no longer needed is
/// freed.
const PARTS_AT_ONCE: usize = 16;

/// Graphs ready to be embedded. See the [reservoir module](super).
pub struct Prepared {
    graphs: usize,
    features: usize,
    /// Whether some inputs are stored as sparse rows.
    sparse: bool,
    /// Number of pyramid levels above the graphs.
    levels: usize,
    /// The distinct rows of edge labels.
    edge_kinds: Vec<Vec<u32>>,
    edge_attributes: usize,
    pub(super) parts: Parts,
    colours: Option<Colours>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { graphs, features, levels, .. } = self;
        write!(formatter, "Prepared {{ graphs: {graphs}, features: {features}, levels: {levels}, .. }}")
    }
}

pub(super) enum Parts {
    F32(Vec<Part<f32>>),
    F64(Vec<Part<f64>>),
}

/// Consecutive graphs of the batch.
pub(super) struct Part<T> {
    pub inputs: PartInputs<T>,
    /// The data of the gate lines, if edges have attributes.
    waves: Option<PartWaves<T>>,
    /// The graphs themselves, then the levels of their pyramid.
    pub levels: Vec<PartLevel<T>>,
}

/// The graphs of a part on one level.
pub(super) struct PartLevel<T> {
    pub operator: Operator<T>,
    /// The entries that rows gather from the level below.
    pub carry: Carry<T>,
    /// Where each graph's vertices begin in the part, followed by their number.
    pub vertex_starts: Vec<usize>,
    /// For each vertex, the row of its graph that computes it.
    pub places: Vec<u32>,
}

/// The distinct edges of each graph.
struct PartWaves<T> {
    width: usize,
    attributes: Vec<T>,
    /// The index of each edge's row of labels; empty if edges have no labels.
    kinds: Vec<u32>,
    /// Where the edges of each graph begin, followed by their number.
    starts: Vec<usize>,
}

/// The inputs of the rows of a part.
pub(super) struct PartInputs<T> {
    /// Number of sparse columns, which are the first ones.
    pub sparse_width: usize,
    pub sparse: SparsePart<T>,
    /// Dense columns, `dense_width` of them, stored by row.
    pub dense: Vec<T>,
    pub dense_width: usize,
    /// The one-hot columns of each row, one for each of its `labels`. An unknown label has the
    /// number of one-hot columns instead. Empty if there is no one-hot part.
    pub one_hot: Vec<u32>,
    pub one_hot_width: usize,
    pub labels: usize,
}

/// The sparse inputs of the rows of a part.
pub(super) struct SparsePart<T> {
    /// Where the entries of each row begin, followed by their number.
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<T>,
    /// Added to every row; empty if it is 0 in all columns.
    pub shift: Vec<f64>,
}

impl Prepared {
    /// Prepares all graphs of a batch with the given inputs. All blocks will run on the graphs
    /// themselves.
    pub fn new(batch: &GraphBatch, inputs: &Inputs, options: &ModelConfig) -> Result<Self> {
        Self::with_pyramid(batch, inputs, Pyramid::default(), options, || ControlFlow::Continue(()))
    }

    /// Prepares all graphs of a batch and their pyramid, from any pooling. The first `pool_after`
    /// blocks run on the graphs, each further block one level higher, so there are
    /// `blocks - pool_after` levels. With one more level, the states of the last block are pooled
    /// before they are aggregated. Without levels, all blocks run on the graphs themselves.
    ///
    /// An owned pyramid is freed piece by piece while graphs are prepared, so that a large one is
    /// never completely in memory next to the result.
    ///
    /// Calls `going` between parts; if it breaks, the result is [`Error::Cancelled`].
    pub fn with_pyramid<'p>(
        batch: &GraphBatch,
        inputs: &Inputs,
        pyramid: impl Into<Cow<'p, Pyramid>>,
        options: &ModelConfig,
        going: impl Fn() -> ControlFlow<()> + Sync,
    ) -> Result<Self> {
        Self::while_going(batch, inputs, pyramid.into(), options, &going)
    }

    fn while_going(
        batch: &GraphBatch,
        inputs: &Inputs,
        pyramid: Cow<'_, Pyramid>,
        options: &ModelConfig,
        going: &Going<'_>,
    ) -> Result<Self> {
        options.validate()?;
        pyramid.check(batch)?;
        let vertices = batch.num_vertices();
        let levels = pyramid.levels.len();
        let between = options.levels_between();
        if ![0, between, between + 1].contains(&levels) {
            same_length("levels of the pyramid, one between each two blocks", between, levels)?;
        }
        if let Some(sparse) = inputs.sparse() {
            same_length("rows of sparse inputs", vertices, sparse.rows().len())?;
        }
        same_length("dense inputs", vertices * inputs.dense_width(), inputs.dense().len())?;
        if inputs.one_hot_width() > 0 {
            same_length("one-hot inputs", vertices * inputs.labels(), inputs.one_hot().len())?;
        }
        let (edges, entries) = (inputs.edges(), batch.num_entries());
        if !edges.kind_of().is_empty() {
            same_length("kinds of edges", entries, edges.kind_of().len())?;
        }
        if edges.width() > 0 {
            same_length("edges with attributes", entries, edges.num_attributed())?;
        }
        // An estimate: rows, columns and weights of each level, and the inputs. An index has four bytes.
        let levels_bytes: u64 = pyramid.levels.iter().map(|level| level.graphs.bytes()).sum();
        let entries = inputs.sparse().map_or(0, |sparse| sparse.rows().num_entries());
        let number = options.precision.bytes();
        let per_vertex = inputs.dense_width() * number + inputs.labels() * 4;
        let inputs_bytes = (batch.num_vertices() * per_vertex + entries * (number + 4)) as u64;
        memory::ask("graphs ready to be embedded", batch.bytes() + levels_bytes + inputs_bytes)?;
        let parts = match options.precision {
            Precision::F32 => Parts::F32(parts(batch, inputs, pyramid, options, going)?),
            Precision::F64 => Parts::F64(parts(batch, inputs, pyramid, options, going)?),
        };
        Ok(Self {
            graphs: batch.len(),
            features: inputs.width(),
            sparse: inputs.sparse_width() > 0,
            levels,
            edge_kinds: edges.kinds().map(<[u32]>::to_vec).collect(),
            edge_attributes: edges.width(),
            parts,
            colours: options.colour_rounds().map(|rounds| Colours::of(batch, inputs, rounds)),
        })
    }

    /// The colours of some graphs, or of all, if the readout compares them.
    pub(super) fn colours(&self, graphs: Option<&[usize]>) -> Option<Colours> {
        let colours = self.colours.as_ref()?;
        Some(graphs.map_or_else(|| colours.clone(), |graphs| colours.select(graphs)))
    }

    /// The distinct rows of edge labels.
    pub fn edge_kinds(&self) -> impl Iterator<Item = &[u32]> {
        self.edge_kinds.iter().map(Vec::as_slice)
    }

    /// The number of gate lines that the labels use: one more than the highest line.
    pub(super) fn edge_labels(&self) -> usize {
        let lines = self.edge_kinds.iter().flatten().filter(|&&line| line != Inputs::NO_COLUMN);
        lines.max().map_or(0, |&line| line as usize + 1)
    }

    /// Number of attributes per edge.
    pub fn edge_attributes(&self) -> usize {
        self.edge_attributes
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.graphs
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.graphs == 0
    }

    /// Whether any graph has a vertex.
    pub(super) fn has_vertices(&self) -> bool {
        self.vertex_offsets(0).last().is_some_and(|&vertices| vertices > 0)
    }

    /// Columns of the inputs, F.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Whether some inputs are stored as sparse rows.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// Number of pyramid levels above the graphs; 0 without pooling.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Number of rows that a sweep over a level computes (level 0 is the graphs themselves): one
    /// per vertex, or per class of vertices in lifted graphs.
    pub fn num_rows(&self, level: usize) -> usize {
        self.sum_over_parts(level, |size| size.rows)
    }

    /// Number of entries that a sweep over a level gathers.
    pub fn num_entries(&self, level: usize) -> usize {
        self.sum_over_parts(level, |size| size.entries)
    }

    /// Where each graph's vertices begin among those of a level, followed by their number.
    pub fn vertex_offsets(&self, level: usize) -> Vec<usize> {
        let mut offsets = vec![0];
        let mut extend = |starts: &[usize]| {
            let before = offsets[offsets.len() - 1];
            offsets.extend(starts.iter().skip(1).map(|start| before + start));
        };
        match &self.parts {
            Parts::F32(parts) => parts.iter().for_each(|part| extend(&part.levels[level].vertex_starts)),
            Parts::F64(parts) => parts.iter().for_each(|part| extend(&part.levels[level].vertex_starts)),
        }
        offsets
    }

    fn sum_over_parts(&self, level: usize, what: impl Fn(Size) -> usize) -> usize {
        match &self.parts {
            Parts::F32(parts) => parts.iter().map(|part| what(part.levels[level].size())).sum(),
            Parts::F64(parts) => parts.iter().map(|part| what(part.levels[level].size())).sum(),
        }
    }
}

struct Size {
    rows: usize,
    entries: usize,
}

fn parts<T: Real>(
    batch: &GraphBatch,
    inputs: &Inputs,
    mut pyramid: Cow<'_, Pyramid>,
    options: &ModelConfig,
    going: &Going<'_>,
) -> Result<Vec<Part<T>>> {
    let mut ranges = Vec::new();
    let (mut start, mut vertices) = (0, 0);
    for graph in batch.iter() {
        vertices += graph.num_vertices();
        if vertices >= PART_VERTICES || graph.index() + 1 == batch.len() {
            ranges.push(start..graph.index() + 1);
            (start, vertices) = (graph.index() + 1, 0);
        }
    }
    // Work backwards: the pyramid's vectors can only be truncated at their end.
    let mut backwards = Vec::with_capacity(ranges.len());
    let at_once = match &pyramid {
        Cow::Owned(pyramid) if !pyramid.levels.is_empty() => PARTS_AT_ONCE * rayon::current_num_threads(),
        _ => ranges.len().max(1),
    };
    for ranges in ranges.rchunks(at_once) {
        let made = |range: &Range<usize>| match going() {
            ControlFlow::Continue(()) => part(range.clone(), batch, inputs, &pyramid, options),
            ControlFlow::Break(()) => Err(Error::Cancelled),
        };
        let made: Vec<Part<T>> = ranges.par_iter().map(made).collect::<Result<_>>()?;
        backwards.extend(made.into_iter().rev());
        if let Cow::Owned(pyramid) = &mut pyramid {
            pyramid.truncate(ranges[0].start);
        }
    }
    backwards.reverse();
    Ok(backwards)
}

/// Prepares the graphs of a range on all levels.
fn part<T: Real>(
    range: Range<usize>,
    batch: &GraphBatch,
    inputs: &Inputs,
    pyramid: &Pyramid,
    options: &ModelConfig,
) -> Result<Part<T>> {
    let (mut part, mut refiner) = (Part::new(inputs, pyramid), Refiner::default());
    for index in range {
        let (vertex, graph) = (batch.vertex_offsets()[index], batch.graph(index));
        let entry = batch.row_offsets()[vertex];
        part.push(graph, vertex, entry, inputs, options, &mut refiner)?;
        for (below, level) in pyramid.levels.iter().enumerate() {
            part.push_pooled(below, level, index, options, &mut refiner)?;
        }
    }
    // Vectors may have grown to twice their contents, and dense levels are large.
    for level in &mut part.levels {
        level.operator.shrink();
        level.carry.shrink();
    }
    Ok(part)
}

impl<T: Real> Part<T> {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.levels[0].operator.len()
    }

    fn new(inputs: &Inputs, pyramid: &Pyramid) -> Self {
        let by_max = pyramid.levels.iter().map(|level| level.assignments.takes_max());
        Self {
            inputs: PartInputs {
                sparse_width: inputs.sparse_width(),
                sparse: SparsePart {
                    starts: vec![0],
                    columns: Vec::new(),
                    values: Vec::new(),
                    shift: inputs.sparse().map_or_else(Vec::new, |sparse| sparse.shift().to_vec()),
                },
                dense: Vec::new(),
                dense_width: inputs.dense_width(),
                one_hot: Vec::new(),
                one_hot_width: inputs.one_hot_width(),
                labels: inputs.labels(),
            },
            waves: (inputs.edges().width() > 0).then(|| PartWaves {
                width: inputs.edges().width(),
                attributes: Vec::new(),
                kinds: Vec::new(),
                starts: vec![0],
            }),
            levels: std::iter::once(false).chain(by_max).map(PartLevel::new).collect(),
        }
    }

    /// Appends a graph whose vertices and entries begin at these positions of the batch.
    fn push(
        &mut self,
        graph: GraphRef<'_>,
        first: usize,
        first_entry: usize,
        inputs: &Inputs,
        options: &ModelConfig,
        refiner: &mut Refiner,
    ) -> Result<()> {
        let seeds = || identities(inputs, first, graph.num_vertices());
        let entries = first_entry..first_entry + graph.num_entries();
        let kinds = match &mut self.waves {
            None if inputs.edges().is_empty() => None,
            None => Some(EntryKinds::of(&inputs.edges().kind_of()[entries])),
            Some(waves) => {
                let found = waves.push(inputs.edges(), entries);
                Some(found.map_err(too_large(options.precision, "an edge attribute", graph))?)
            }
        };
        let computed = self.levels[0].push(graph, seeds, kinds.as_ref(), options, refiner)?;
        let vertices = computed.iter().map(|&vertex| first + vertex as usize);
        self.inputs.push(inputs, vertices).map_err(too_large(options.precision, "an input", graph))
    }

    /// Appends the level above `below` of a graph. Levels must be appended in order.
    fn push_pooled(
        &mut self,
        below: usize,
        level: &Level,
        graph: usize,
        options: &ModelConfig,
        refiner: &mut Refiner,
    ) -> Result<()> {
        let (lower, upper) = self.levels.split_at_mut(below + 1);
        let (lower, upper) = (&lower[below], &mut upper[0]);
        let fine = lower.vertex_starts[lower.vertex_starts.len() - 2]..;
        let by_max = level.assignments.takes_max();
        let columns = Columns::new(level.assignments.graph(graph), &lower.places[fine], by_max);
        let graph = level.graphs.graph(graph);
        let computed = upper.push(graph, || columns.identities(), None, options, refiner)?;
        let pushed = upper.carry.push(&columns, &computed);
        pushed.map_err(too_large(options.precision, "a pooling weight", graph))
    }

    /// The data of a graph's gate lines on a level, if edges have attributes there.
    pub fn waves<'a>(&'a self, level: usize, graph: usize, gate: &'a Gate<T>) -> Option<Waves<'a, T>> {
        let waves = self.waves.as_ref().filter(|_| level == 0)?;
        let lines = waves.starts[graph]..waves.starts[graph + 1];
        let kinds = waves.kinds.get(lines.clone()).unwrap_or_default();
        Some(gate.waves(&waves.attributes[lines.start * waves.width..lines.end * waves.width], kinds))
    }
}

impl Part<f32> {
    /// The same data for an engine.
    pub fn attributed(&self, graph: usize) -> Option<Attributed<'_>> {
        let waves = self.waves.as_ref()?;
        let lines = waves.starts[graph]..waves.starts[graph + 1];
        Some(Attributed {
            attributes: &waves.attributes[lines.start * waves.width..lines.end * waves.width],
            kinds: waves.kinds.get(lines).unwrap_or_default(),
            width: waves.width,
        })
    }
}

impl<T: Real> PartWaves<T> {
    /// Appends the distinct edges of a graph. Returns the kind of each entry, or the first
    /// attribute that is not finite in `T` as the error.
    fn push(&mut self, edges: &EdgeInputs, entries: Range<usize>) -> Result<EntryKinds, f64> {
        let first = entries.start;
        let bits = |entry: usize| {
            let kind = edges.kind_of().get(entry).map(|&kind| u64::from(kind));
            edges.attributes(entry).iter().map(|value| value.to_bits()).chain(kind)
        };
        let mut sorted: Vec<usize> = entries.clone().collect();
        sorted.sort_unstable_by(|&a, &b| bits(a).cmp(bits(b)));
        let mut numbers = vec![0; entries.len()];
        for (number, alike) in sorted.chunk_by(|&a, &b| bits(a).eq(bits(b))).enumerate() {
            alike.iter().for_each(|&entry| numbers[entry - first] = number as u32);
            for &value in edges.attributes(alike[0]) {
                let rounded = T::from_f64(value);
                if !rounded.is_finite() {
                    return Err(value);
                }
                self.attributes.push(rounded);
            }
            self.kinds.extend(edges.kind_of().get(alike[0]));
        }
        self.starts.push(self.attributes.len() / self.width);
        let different = self.starts[self.starts.len() - 1] - self.starts[self.starts.len() - 2];
        Ok(EntryKinds { numbers, lines: (0..different as u32).collect() })
    }
}

/// The kinds of the entries of a graph.
struct EntryKinds {
    /// The rank of each entry's kind among those of the graph. It depends on nothing outside the
    /// graph.
    numbers: Vec<u32>,
    /// The gate line of each rank.
    lines: Vec<u32>,
}

impl EntryKinds {
    /// The kinds of entries whose lines belong to a table of all kinds, sorted.
    fn of(kinds: &[u32]) -> Self {
        let mut lines = kinds.to_vec();
        lines.sort_unstable();
        lines.dedup();
        let rank = |kind: &u32| lines.partition_point(|line| line < kind) as u32;
        Self { numbers: kinds.iter().map(rank).collect(), lines }
    }
}

impl<T: Real> PartLevel<T> {
    fn new(by_max: bool) -> Self {
        let carry = Carry::new(by_max);
        Self { operator: Operator::new(), carry, vertex_starts: vec![0], places: Vec::new() }
    }

    /// Where the rows of a graph begin, and the row that computes each of its vertices.
    pub fn rows_of(&self, graph: usize) -> (usize, &[u32]) {
        let vertices = self.vertex_starts[graph]..self.vertex_starts[graph + 1];
        (self.operator.graph_starts()[graph], &self.places[vertices])
    }

    fn size(&self) -> Size {
        Size { rows: self.operator.num_rows(), entries: self.operator.num_entries() }
    }

    /// Appends a graph. Vertices with the same seed have the same inputs, and entries of the same
    /// kind have the same gate. Returns the vertex that each row computes.
    fn push(
        &mut self,
        graph: GraphRef<'_>,
        seeds: impl FnOnce() -> Vec<u64>,
        kinds: Option<&EntryKinds>,
        options: &ModelConfig,
        refiner: &mut Refiner,
    ) -> Result<Vec<u32>> {
        let values = match (options.normalize, graph.weights()) {
            (true, _) => graph.normalized_weights(),
            (false, Some(weights)) => weights.to_vec(),
            (false, None) => vec![1.0; graph.num_entries()],
        };
        let numbers = kinds.map(|kinds| kinds.numbers.as_slice());
        let quotient = if options.lift { refiner.quotient(graph, &seeds(), numbers, &values) } else { None };
        // A graph that is not lifted is its own quotient.
        let whole: Vec<usize>;
        let (row_starts, columns, numbers, values, sizes) = match &quotient {
            Some(q) => {
                let numbers = numbers.map(|_| q.kinds.as_slice());
                (&q.row_starts, q.columns.as_slice(), numbers, &q.values, Some(q.sizes.as_slice()))
            }
            None => {
                whole = graph.row_starts().collect();
                (&whole, graph.all_neighbours(), numbers, &values, None)
            }
        };
        let lines = kinds.zip(numbers).map(|(kinds, numbers)| {
            numbers.iter().map(|&number| kinds.lines[number as usize]).collect::<Vec<u32>>()
        });
        let order = by_colour(row_starts, columns, graph.is_directed());
        let places = self.operator.push(row_starts, columns, lines.as_deref(), values, sizes, &order);
        let places = places.map_err(too_large(options.precision, "an edge weight", graph))?;
        match &quotient {
            Some(q) => self.places.extend(q.class_of.iter().map(|&class| places[class as usize])),
            None => self.places.extend(places),
        }
        self.vertex_starts.push(self.places.len());
        let vertex = |row: u32| quotient.as_ref().map_or(row, |q| q.representatives[row as usize]);
        Ok(order.rows.iter().map(|&row| vertex(row)).collect())
    }
}

fn too_large(precision: Precision, what: &'static str, graph: GraphRef<'_>) -> impl Fn(f64) -> Error {
    let (precision, graph) = (precision.name(), graph.index());
    move |value| Error::TooLargeForPrecision { precision, what, graph, value }
}

impl<T: Real> PartInputs<T> {
    /// Number of columns of a row, including the one-hot columns.
    pub fn width(&self) -> usize {
        self.sparse_width + self.dense_width + self.one_hot_width
    }

    /// Columns and values of the non-zeros of a row.
    pub fn sparse_row(&self, row: usize) -> (&[u32], &[T]) {
        let entries = self.sparse.starts[row]..self.sparse.starts[row + 1];
        (&self.sparse.columns[entries.clone()], &self.sparse.values[entries])
    }

    /// Writes a complete row to `out`.
    pub fn write(&self, row: usize, out: &mut [f64]) {
        let (sparse, out) = out.split_at_mut(self.sparse_width);
        if self.sparse_width > 0 {
            if self.sparse.shift.is_empty() {
                sparse.fill(0.0);
            } else {
                sparse.copy_from_slice(&self.sparse.shift);
            }
            let (columns, values) = self.sparse_row(row);
            columns.iter().zip(values).for_each(|(&column, value)| sparse[column as usize] += value.to_f64());
        }
        let (dense, one_hot) = out.split_at_mut(self.dense_width);
        let values = &self.dense[row * self.dense_width..][..self.dense_width];
        dense.iter_mut().zip(values).for_each(|(to, from)| *to = from.to_f64());
        one_hot.fill(0.0);
        for &column in &self.one_hot[row * self.labels..(row + 1) * self.labels] {
            if let Some(value) = one_hot.get_mut(column as usize) {
                *value = 1.0;
            }
        }
    }

    /// Appends the inputs of vertices of the batch. Returns the first value that is not finite in
    /// `T` as the error.
    fn push(&mut self, inputs: &Inputs, vertices: impl Iterator<Item = usize>) -> Result<(), f64> {
        for vertex in vertices {
            if let Some(sparse) = inputs.sparse() {
                let (columns, values) = sparse.rows().row(vertex);
                for (&column, &value) in columns.iter().zip(values) {
                    let rounded = T::from_f64(value);
                    if !rounded.is_finite() {
                        return Err(value);
                    }
                    self.sparse.columns.push(column);
                    self.sparse.values.push(rounded);
                }
                self.sparse.starts.push(self.sparse.columns.len());
            }
            if self.dense_width > 0 {
                for &value in inputs.dense_row(vertex) {
                    let rounded = T::from_f64(value);
                    if !rounded.is_finite() {
                        return Err(value);
                    }
                    self.dense.push(rounded);
                }
            }
            // An unknown label selects the row of zeros after the last column.
            let last = self.one_hot_width as u32;
            self.one_hot.extend(inputs.one_hot_row(vertex).iter().map(|&column| column.min(last)));
        }
        Ok(())
    }
}

/// A number for each vertex, equal for two exactly if all bits of their inputs are equal. The
/// numbers are ranks of the rows, so they do not depend on whether one-hot rows are stored as
/// columns or as dense rows.
fn identities(inputs: &Inputs, first: usize, count: usize) -> Vec<u64> {
    let vertices = first..first + count;
    match (inputs.dense_width(), inputs.one_hot_width()) {
        _ if inputs.sparse().is_some() => {
            let bits = |v: usize| {
                let (columns, values) = inputs.sparse().expect("seen above").rows().row(v);
                let labels = inputs.one_hot_row(v).iter().map(|&column| u64::from(column));
                let dense = inputs.dense_row(v).iter().map(|x| x.to_bits());
                let values = values.iter().map(|x| x.to_bits());
                dense.chain(labels).chain(columns.iter().map(|&column| u64::from(column))).chain(values)
            };
            ranked(vertices, bits)
        }
        (0, 0) => vec![0; count],
        (0, width) if inputs.labels() == 1 => {
            let keys: Vec<u64> = inputs.one_hot()[vertices].iter().map(|&c| one_hot_key(c, width)).collect();
            let mut ranks = keys.clone();
            ranks.sort_unstable();
            ranks.dedup();
            keys.iter().map(|key| ranks.partition_point(|rank| rank < key) as u64).collect()
        }
        (1, 0) => inputs.dense()[vertices].iter().map(|x| x.to_bits()).collect(),
        (_, width) => {
            let bits = |v: usize| {
                let columns = inputs.one_hot_row(v).iter().map(|&column| one_hot_key(column, width));
                inputs.dense_row(v).iter().map(|x| x.to_bits()).chain(columns)
            };
            ranked(vertices, bits)
        }
    }
}

/// The rank of each vertex's bits among those that occur.
fn ranked<I: Iterator<Item = u64>>(vertices: Range<usize>, bits: impl Fn(usize) -> I) -> Vec<u64> {
    let first = vertices.start;
    let mut numbers = vec![0; vertices.len()];
    let mut sorted: Vec<usize> = vertices.collect();
    sorted.sort_unstable_by(|&a, &b| bits(a).cmp(bits(b)));
    let mut number = 0;
    for pair in sorted.windows(2) {
        number += u64::from(!bits(pair[0]).eq(bits(pair[1])));
        numbers[pair[1] - first] = number;
    }
    numbers
}

/// Orders columns like the one-hot rows they stand for: zeros first, then the rows whose 1 comes
/// last.
fn one_hot_key(column: u32, width: usize) -> u64 {
    if column == Inputs::NO_COLUMN { 0 } else { (width as u64).saturating_sub(u64::from(column)) }
}
