//! Runs prepared graphs through a model: one vector per graph or vertex, or the states of all
//! vertices.
//!
//! Threads process parts of the batch. Within a part, graphs run through all stacks and blocks one
//! by one, in buffers that grow to the largest graph so far. Only a graph with very many vertices
//! is itself shared between threads.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ndarray::{Array2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;

use super::aggregate::aggregate;
use super::engine::{Device, Embedded, Work};
use super::prepared::{Part, Parts, Prepared};
use super::solver::{Buffers, Rule, Run, solve};
use super::weights::{BlockWeights, Stack, Weights};
use crate::colours::Colours;
use crate::config::{Level, ModelConfig};
use crate::error::{Error, Result, out_of_range, same_length};
use crate::features::InputShape;
use crate::kernel::{
    Aligned, Drive, Equation, Gate, Gates, Isa, Projection, Real, Recurrent, Rows, project, stride,
};
use crate::memory;
use crate::pool::Progress;

/// The result of [`embed`].
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// One row per graph, or per vertex for a model of vertices. Columns are ordered by stack,
    /// block, aggregate (for graphs) and unit.
    pub vectors: Array2<f64>,
    /// One row per graph; columns ordered by stack, block and reservoir.
    pub runs: Array2<Run>,
    /// The colours of the graphs' vertices, if the readout compares them.
    pub colours: Option<Colours>,
}

impl Embedding {
    /// The embedding of some of the graphs. Rows must be graphs.
    pub fn select(&self, graphs: &[usize]) -> Self {
        Self {
            vectors: self.vectors.select(Axis(0), graphs),
            runs: self.runs.select(Axis(0), graphs),
            colours: self.colours.as_ref().map(|colours| colours.select(graphs)),
        }
    }
}

/// Embeds all graphs, or all of their vertices.
///
/// Calls `progress` from time to time, from any thread, with the number of finished graphs. If it
/// breaks, the result is [`Error::Cancelled`].
pub fn embed(
    weights: &Weights,
    prepared: &Prepared,
    options: &ModelConfig,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Embedding> {
    embed_on(&Device::processor(), Work { weights, prepared, options, rows: None }, &progress)
}

/// Embeds graphs or vertices on a device, or on this processor if the device refuses the model or
/// inputs are sparse.
pub fn embed_on(device: &Device, work: Work<'_>, progress: Progress<'_>) -> Result<Embedding> {
    let Work { weights, prepared, options, rows } = work;
    check(weights, prepared, options)?;
    let offsets = prepared.vertex_offsets(0);
    let all = match options.level {
        Level::Graph => prepared.len(),
        Level::Vertex => offsets[prepared.len()],
    };
    let (graphs, graph) = match options.level {
        Level::Graph => ("graphs to embed", "graph to embed"),
        Level::Vertex => ("vertices to embed", "vertex to embed"),
    };
    if let Some(rows) = rows {
        if let Some(position) = rows.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Error::NotAscending { what: graphs, position: position + 1 });
        }
        if let Some(&last) = rows.last().filter(|&&last| last >= all) {
            return Err(out_of_range(graph, all, last));
        }
    }
    let count = rows.map_or(all, <[usize]>::len);
    let (width, num_runs) = (weights.embedding_width(options), weights.iter().count());
    memory::ask_array("the vectors", &[count, width + 3 * num_runs], size_of::<f64>())?;
    let (vectors, runs) = match device.engine(weights, options).filter(|_| !prepared.is_sparse()) {
        Some(engine) => engine.embed(work, progress),
        None => embed_here(work, count, progress),
    }?;
    Ok(Embedding { vectors, runs, colours: prepared.colours(rows) })
}

/// Embeds `count` graphs or vertices on this processor.
fn embed_here(work: Work<'_>, count: usize, progress: Progress<'_>) -> Result<Embedded> {
    let Work { weights, prepared, options, rows } = work;
    let chosen = match options.level {
        Level::Graph => Chosen::graphs(rows, prepared.len()),
        Level::Vertex => Chosen::vertices(rows, &prepared.vertex_offsets(0)),
    };
    let mut vectors = Array2::zeros((count, weights.embedding_width(options)));
    let mut runs = Array2::default((chosen.len(), weights.iter().count()));
    let tables = (vectors.view_mut(), runs.view_mut());
    let watch = Watch::new(progress);
    match &prepared.parts {
        Parts::F32(parts) => {
            let model = Model::<f32>::new(weights, options, prepared, parts.first(), Isa::in_use());
            embed_parts(&model, parts, &chosen, options, &watch, tables)
        }
        Parts::F64(parts) => {
            let model = Model::<f64>::new(weights, options, prepared, parts.first(), Isa::in_use());
            embed_parts(&model, parts, &chosen, options, &watch, tables)
        }
    }?;
    Ok((vectors, runs))
}

/// The states of all vertices: one table per stack and embedded block, with a row per vertex of the
/// level that the block runs on ([`Prepared::vertex_offsets`]).
pub fn states(
    weights: &Weights,
    prepared: &Prepared,
    options: &ModelConfig,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<(Vec<Array2<f64>>, Array2<Run>)> {
    states_pooled_or_not(weights, prepared, options, false, &progress)
}

/// The states that are aggregated: those of [`states`], except that the states of the last block
/// are pooled once more if the pyramid has a level for it. [`level_read`] gives the level of their
/// vertices.
pub(crate) fn states_read(
    weights: &Weights,
    prepared: &Prepared,
    options: &ModelConfig,
    progress: impl Fn(usize) -> ControlFlow<()> + Sync,
) -> Result<Vec<Array2<f64>>> {
    Ok(states_pooled_or_not(weights, prepared, options, true, &progress)?.0)
}

/// The level whose vertices are aggregated for a block, if graphs were prepared with `levels`
/// levels.
pub fn level_read(block: usize, levels: usize, options: &ModelConfig) -> usize {
    let last = block + 1 == options.blocks && levels == options.levels_between() + 1;
    if last { levels } else { options.level_of(block, levels) }
}

fn states_pooled_or_not(
    weights: &Weights,
    prepared: &Prepared,
    options: &ModelConfig,
    pool_last: bool,
    progress: Progress<'_>,
) -> Result<(Vec<Array2<f64>>, Array2<Run>)> {
    check(weights, prepared, options)?;
    let watch = Watch::new(progress);
    match &prepared.parts {
        Parts::F32(parts) => {
            let model = Model::<f32>::new(weights, options, prepared, parts.first(), Isa::in_use());
            states_of_parts(&model, parts, prepared, options, pool_last, &watch)
        }
        Parts::F64(parts) => {
            let model = Model::<f64>::new(weights, options, prepared, parts.first(), Isa::in_use());
            states_of_parts(&model, parts, prepared, options, pool_last, &watch)
        }
    }
}

fn check(weights: &Weights, prepared: &Prepared, options: &ModelConfig) -> Result<()> {
    weights.check(options)?;
    let between = options.levels_between();
    if ![0, between, between + 1].contains(&prepared.levels()) {
        same_length("levels the graphs were prepared with", between, prepared.levels())?;
    }
    if let Parts::F32(_) = prepared.parts
        && let Some(large) = weights
            .iter()
            .flat_map(|block| {
                let gate = block.gate.frequencies.iter().chain(&block.gate.phases);
                block.recurrent.iter().chain(&block.input).chain(gate)
            })
            .find(|weight| !(**weight as f32).is_finite())
    {
        let (expected, found) =
            ("f64 (f32 cannot hold the weights)".into(), format!("f32 and a weight of {large:e}"));
        return Err(Error::BadOption { name: "precision", expected, found });
    }
    if prepared.has_vertices() {
        let InputShape { features, edge_labels, edge_attributes } = weights.inputs();
        same_length("columns of the inputs", features, prepared.features())?;
        let highest = prepared.edge_labels();
        if highest > edge_labels {
            let (what, limit, found) = ("labels of edges", edge_labels as u64, highest as u64);
            return Err(Error::TooLarge { what, limit, found });
        }
        if prepared.edge_attributes() > 0 {
            same_length("attributes of edges", edge_attributes, prepared.edge_attributes())?;
        }
    }
    Ok(())
}

fn to_array<T>(rows: usize, columns: usize, values: Vec<T>) -> Array2<T> {
    Array2::from_shape_vec((rows, columns), values).expect("made for this shape")
}

/// Counts finished graphs and asks the caller whether to continue.
struct Watch<'a> {
    progress: Progress<'a>,
    done: AtomicUsize,
    cancelled: AtomicBool,
}

impl<'a> Watch<'a> {
    fn new(progress: Progress<'a>) -> Self {
        Self { progress, done: AtomicUsize::new(0), cancelled: AtomicBool::new(false) }
    }

    /// Adds to the number of finished graphs. Returns whether to stop.
    fn ends(&self, graphs: usize) -> bool {
        let done = self.done.fetch_add(graphs, Ordering::Relaxed) + graphs;
        if !self.cancelled.load(Ordering::Relaxed) && (self.progress)(done).is_break() {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Weights in the layout of the kernel.
struct Model<T> {
    /// By stack, block and position in the block.
    stacks: Vec<Vec<Vec<Reservoir<T>>>>,
    rule: Rule,
}

struct Reservoir<T> {
    recurrent: Recurrent<T>,
    /// For sparse inputs: their rows of `V`, then the product of the shift with `V`.
    lines: Aligned<T>,
    /// For the dense inputs, or the states of the block below.
    projection: Projection<T>,
    /// For one-hot inputs: their rows of `V`, then a row of zeros.
    table: Aligned<T>,
    gate: Gate<T>,
}

impl<T: Real> Model<T> {
    fn new(
        weights: &Weights,
        options: &ModelConfig,
        prepared: &Prepared,
        part: Option<&Part<T>>,
        isa: Isa,
    ) -> Self {
        let pack = |block: usize, BlockWeights { recurrent, input, gate }: &BlockWeights| {
            let (sparse, dense) = match part {
                // Without vertices, the inputs may have any width, so limit them to the rows of
                // `V`.
                Some(Part { inputs, .. }) if block == 0 => {
                    let sparse = inputs.sparse_width.min(input.nrows());
                    (sparse, inputs.dense_width.min(input.nrows() - sparse))
                }
                _ => (0, input.nrows()),
            };
            let shift = part.map_or(&[][..], |part| &part.inputs.sparse.shift);
            Reservoir {
                recurrent: Recurrent::new(recurrent.view(), isa),
                lines: if sparse > 0 { sparse_lines(input, sparse, shift) } else { Aligned::zeros(0) },
                projection: Projection::new(input.slice(s![sparse..sparse + dense, ..]), isa),
                table: look_up_table(input, sparse + dense),
                gate: {
                    let units = recurrent.ncols();
                    let kinds = prepared.edge_kinds().map(|labels| gate.gate(labels, &[], units).to_vec());
                    let frequencies = gate.frequencies.rows().into_iter().map(|row| row.to_vec());
                    Gate::new(units, kinds, frequencies, &gate.phases.to_vec(), isa)
                },
            }
        };
        let block = |(block, list): (usize, &Vec<BlockWeights>)| -> Vec<Reservoir<T>> {
            list.iter().map(|weights| pack(block, weights)).collect()
        };
        let stack = |blocks: &Stack| blocks.iter().enumerate().map(block).collect();
        Self { stacks: weights.stacks().iter().map(stack).collect(), rule: options.into() }
    }
}

/// The first `sparse` rows of `V`, and the product of the shift with them.
fn sparse_lines<T: Real>(input: &Array2<f64>, sparse: usize, shift: &[f64]) -> Aligned<T> {
    let stride = stride::<T>(input.ncols());
    let mut lines = Aligned::zeros((sparse + 1) * stride);
    let mut shifted = vec![0.0; input.ncols()];
    for (line, row) in input.rows().into_iter().take(sparse).enumerate() {
        row.iter().enumerate().for_each(|(unit, &v)| lines[line * stride + unit] = T::from_f64(v));
        if let Some(shift) = shift.get(line) {
            row.iter().zip(&mut shifted).for_each(|(v, sum)| *sum += shift * v);
        }
    }
    shifted.iter().enumerate().for_each(|(unit, &v)| lines[sparse * stride + unit] = T::from_f64(v));
    lines
}

fn look_up_table<T: Real>(input: &Array2<f64>, dense: usize) -> Aligned<T> {
    let (lines, units) = (input.nrows() - dense, input.ncols());
    let stride = stride::<T>(units);
    let mut table = Aligned::zeros((lines + 1) * stride);
    for (line, row) in input.rows().into_iter().skip(dense).enumerate() {
        row.iter().enumerate().for_each(|(unit, &v)| table[line * stride + unit] = T::from_f64(v));
    }
    table
}

/// If the gates of a graph's attributes need more bytes than this, every sweep computes them again.
const KEPT_GATES: usize = 4 << 20;

/// The buffers of one thread.
#[derive(Default)]
struct Workspace<T> {
    buffers: Buffers<T>,
    drive: Aligned<T>,
    gates: Aligned<T>,
    /// The inputs of a block: the states of the block below, pooled if the level changes.
    below: Aligned<T>,
    /// The states of a block, summed over its reservoirs.
    output: Aligned<T>,
}

/// The states of one graph in one block.
struct Settled<'a, T> {
    rows: Rows<'a, T>,
    stack: usize,
    block: usize,
    /// Whether this was the last sweep.
    last: bool,
    state: &'a [T],
    stride: usize,
    units: usize,
}

/// A part of the batch and the model it runs through.
struct Passage<'a, T> {
    model: &'a Model<T>,
    part: &'a Part<T>,
    options: &'a ModelConfig,
    watch: &'a Watch<'a>,
    /// Whether to pool the states of the last block once more, if the pyramid has a level for it.
    pool_last: bool,
}

impl<T: Real> Passage<'_, T> {
    /// Runs one graph through all stacks and blocks. Passes the states of every block to `visit`:
    /// after the last sweep, or after every sweep if those are read.
    fn run(
        &self,
        graph: usize,
        space: &mut Workspace<T>,
        runs: &mut [Run],
        mut visit: impl FnMut(Settled<'_, T>),
    ) -> Result<()> {
        let Self { model, part, options, watch, pool_last } = *self;
        let level_of = |block| options.level_of(block, part.levels.len() - 1);
        let mut slots = runs.iter_mut();
        for (stack, blocks) in model.stacks.iter().enumerate() {
            let mut stride_below = 0;
            for (block, reservoirs) in blocks.iter().enumerate() {
                let level = level_of(block);
                let rows = part.levels[level].operator.graph(graph);
                if block > 0 {
                    if level > level_of(block - 1) {
                        carry(part, level, graph, stride_below, space)
                    } else {
                        std::mem::swap(&mut space.below, &mut space.output)
                    }
                }
                let (stride, units) = (reservoirs[0].recurrent.stride(), reservoirs[0].recurrent.units());
                let len = rows.len() * stride;
                // Two states, their drive, and the states of the block below.
                memory::ask_array("the states of a graph", &[len, 4], size_of::<T>())?;
                for (place, weights) in reservoirs.iter().enumerate() {
                    let drive = match block {
                        0 => drive_from_inputs(part, graph, weights, &mut space.drive),
                        _ => {
                            space.drive.reserve(len);
                            space.drive[..len].fill(T::default());
                            project(
                                &weights.projection,
                                &space.below,
                                stride_below,
                                rows.len(),
                                &mut space.drive,
                            );
                            Drive::rows(&space.drive)
                        }
                    };
                    let waves;
                    let waves_here =
                        if rows.gated() { part.waves(level, graph, &weights.gate) } else { None };
                    let gates = match waves_here {
                        Some(found) if found.len() * stride * size_of::<T>() <= KEPT_GATES => {
                            found.fill(&mut space.gates);
                            Gates::Table(&space.gates)
                        }
                        Some(found) => {
                            waves = found;
                            Gates::Waves(&waves)
                        }
                        None if rows.gated() => Gates::Table(weights.gate.table()),
                        None => Gates::Open,
                    };
                    space.buffers.clear(len);
                    let equation = Equation::new(rows, drive, gates, &weights.recurrent, options.leak);
                    let (read, mut run) = (options.sweeps_read(), Run::default());
                    let rule = if read > 1 { model.rule.one_sweep() } else { model.rule };
                    for sweep in 0..read {
                        let before = run;
                        run = solve(&equation, rule, &mut space.buffers, sweep == 0, || watch.ends(0))?;
                        if run.change.is_nan() {
                            return Err(Error::NotFinite { precision: options.precision.name(), graph });
                        }
                        if sweep > 0 {
                            run.first_change = before.first_change;
                            run.sweeps += before.sweeps;
                        }
                        if sweep + 1 < read {
                            let state = &space.buffers.state[..len];
                            visit(Settled { rows, stack, block, last: false, state, stride, units });
                        }
                    }
                    if let Some(slot) = slots.next() {
                        *slot = run;
                    }
                    match place {
                        0 => std::mem::swap(&mut space.output, &mut space.buffers.state),
                        _ => {
                            let sums = space.output[..len].iter_mut().zip(&space.buffers.state[..len]);
                            sums.for_each(|(sum, &state)| *sum = *sum + state);
                        }
                    }
                }
                stride_below = stride;
                if pool_last && block + 1 == blocks.len() && level + 1 < part.levels.len() {
                    carry(part, level + 1, graph, stride, space);
                    let rows = part.levels[level + 1].operator.graph(graph);
                    let state = &space.below[..rows.len() * stride];
                    visit(Settled { rows, stack, block, last: true, state, stride, units });
                } else {
                    let state = &space.output[..len];
                    visit(Settled { rows, stack, block, last: true, state, stride, units });
                }
            }
        }
        Ok(())
    }
}

/// Pools the states of the block below into `space.below`.
fn carry<T: Real>(part: &Part<T>, level: usize, graph: usize, stride: usize, space: &mut Workspace<T>) {
    let level = &part.levels[level];
    let starts = level.operator.graph_starts();
    let rows = starts[graph]..starts[graph + 1];
    let len = rows.len() * stride;
    space.below.reserve(len);
    level.carry.apply(rows, &space.output, stride, &mut space.below[..len]);
}

/// Number of sparse rows that a thread multiplies by `V` at a time.
const ROWS_AT_ONCE: usize = 256;

/// `xV` for the first block. Purely one-hot inputs are looked up in the table without a copy.
fn drive_from_inputs<'a, T: Real>(
    part: &'a Part<T>,
    graph: usize,
    weights: &'a Reservoir<T>,
    space: &'a mut Aligned<T>,
) -> Drive<'a, T> {
    let starts = part.levels[0].operator.graph_starts();
    let rows = starts[graph]..starts[graph + 1];
    let inputs = &part.inputs;
    let labels = inputs.labels;
    let one_hot = (labels > 0).then(|| &inputs.one_hot[rows.start * labels..rows.end * labels]);
    if let (Some(lines), 1, 0, 0) = (one_hot, labels, inputs.dense_width, inputs.sparse_width) {
        return Drive::look_up(&weights.table, lines);
    }
    let stride = weights.recurrent.stride();
    let len = rows.len() * stride;
    space.reserve(len);
    match one_hot {
        None => space[..len].fill(T::default()),
        Some(lines) => {
            for (drive, lines) in space.chunks_exact_mut(stride).zip(lines.chunks_exact(labels)) {
                let row = |line: u32| &weights.table[line as usize * stride..][..stride];
                drive.copy_from_slice(row(lines[0]));
                for &line in &lines[1..] {
                    drive.iter_mut().zip(row(line)).for_each(|(sum, &more)| *sum = *sum + more);
                }
            }
        }
    }
    if inputs.sparse_width > 0 {
        let line = |column: usize| &weights.lines[column * stride..][..stride];
        let shift = (!inputs.sparse.shift.is_empty()).then(|| line(inputs.sparse_width));
        let add = |(row, drive): (usize, &mut [T])| {
            if let Some(shift) = shift {
                drive.iter_mut().zip(shift).for_each(|(sum, &more)| *sum = *sum + more);
            }
            let (columns, values) = inputs.sparse_row(rows.start + row);
            for (&column, &value) in columns.iter().zip(values) {
                let line = line(column as usize);
                drive.iter_mut().zip(line).for_each(|(sum, &v)| *sum = *sum + value * v);
            }
        };
        space[..len].par_chunks_exact_mut(stride).enumerate().with_min_len(ROWS_AT_ONCE).for_each(add);
    }
    if inputs.dense_width > 0 {
        let dense = &inputs.dense[rows.start * inputs.dense_width..rows.end * inputs.dense_width];
        project(&weights.projection, dense, inputs.dense_width, rows.len(), space);
    }
    Drive::rows(space)
}

/// The graphs to embed, and the rows of each.
enum Chosen {
    /// Whole graphs, one row each.
    Graphs(Vec<usize>),
    /// Some vertices of some graphs, numbered within the graph.
    Vertices(Vec<(usize, Vec<u32>)>),
}

impl Chosen {
    fn graphs(rows: Option<&[usize]>, count: usize) -> Self {
        Self::Graphs(rows.map_or_else(|| (0..count).collect(), <[usize]>::to_vec))
    }

    /// Skips graphs without selected vertices.
    fn vertices(rows: Option<&[usize]>, offsets: &[usize]) -> Self {
        let mut rest = rows.unwrap_or_default();
        let mut of_graph = |graph: usize| {
            let (first, end) = (offsets[graph], offsets[graph + 1]);
            if rows.is_none() {
                return Some((graph, (0..(end - first) as u32).collect()));
            }
            let (these, others) = rest.split_at(rest.partition_point(|&row| row < end));
            rest = others;
            (!these.is_empty()).then(|| (graph, these.iter().map(|&row| (row - first) as u32).collect()))
        };
        Self::Vertices((0..offsets.len() - 1).filter_map(&mut of_graph).collect())
    }

    /// Number of graphs.
    fn len(&self) -> usize {
        match self {
            Self::Graphs(graphs) => graphs.len(),
            Self::Vertices(graphs) => graphs.len(),
        }
    }

    fn graph(&self, at: usize) -> usize {
        match self {
            Self::Graphs(graphs) => graphs[at],
            Self::Vertices(graphs) => graphs[at].0,
        }
    }

    /// Number of rows of a graph.
    fn rows(&self, at: usize) -> usize {
        match self {
            Self::Graphs(_) => 1,
            Self::Vertices(graphs) => graphs[at].1.len(),
        }
    }
}

fn embed_parts<T: Real>(
    model: &Model<T>,
    parts: &[Part<T>],
    chosen: &Chosen,
    options: &ModelConfig,
    watch: &Watch<'_>,
    (mut vectors, mut runs): (ArrayViewMut2<'_, f64>, ArrayViewMut2<'_, Run>),
) -> Result<()> {
    let (mut first, mut next) = (0, 0);
    let mut work = Vec::with_capacity(parts.len());
    for part in parts {
        let (start, end) = (first, first + part.len());
        let from = next;
        while next < chosen.len() && chosen.graph(next) < end {
            next += 1;
        }
        first = end;
        let rows = (from..next).map(|at| chosen.rows(at)).sum();
        let (these, others) = vectors.split_at(Axis(0), rows);
        let (their_runs, other_runs) = runs.split_at(Axis(0), next - from);
        (vectors, runs) = (others, other_runs);
        work.push((part, start, from..next, these, their_runs));
    }
    let embedded = options.embedded_blocks();
    work.into_par_iter().with_max_len(1).try_for_each_init(
        Workspace::default,
        |space, (part, start, graphs, mut vectors, mut runs)| {
            if watch.ends(0) {
                return Err(Error::Cancelled);
            }
            let passage = Passage { model, part, options, watch, pool_last: true };
            let width = vectors.ncols();
            let mut rest = vectors.as_slice_mut().expect("rows of a table");
            let count = graphs.len();
            for (at, mut runs) in graphs.zip(runs.rows_mut()) {
                let graph = chosen.graph(at) - start;
                let (vectors, others) = rest.split_at_mut(chosen.rows(at) * width);
                rest = others;
                let mut filled = 0;
                if let (true, Chosen::Vertices(graphs)) = (options.own_inputs, chosen) {
                    filled = part.inputs.width();
                    let (first, places) = part.levels[0].rows_of(graph);
                    for (vector, &vertex) in vectors.chunks_exact_mut(width).zip(&graphs[at].1) {
                        part.inputs.write(first + places[vertex as usize] as usize, &mut vector[..filled]);
                    }
                }
                let runs = runs.as_slice_mut().expect("a row of a table");
                let embedded = passage.run(graph, space, runs, |settled| {
                    if !embedded.contains(&settled.block) {
                        return;
                    }
                    let Settled { rows, state, stride, units, .. } = settled;
                    match chosen {
                        Chosen::Graphs(_) => {
                            let columns = &mut vectors[filled..filled + units * options.aggregate.len()];
                            aggregate(&options.aggregate, rows, state, stride, units, columns);
                            filled += columns.len();
                        }
                        Chosen::Vertices(graphs) => {
                            let (_, places) = part.levels[0].rows_of(graph);
                            for (vector, &vertex) in vectors.chunks_exact_mut(width).zip(&graphs[at].1) {
                                let line = &state[places[vertex as usize] as usize * stride..][..units];
                                let columns = &mut vector[filled..filled + units];
                                columns.iter_mut().zip(line).for_each(|(to, from)| *to = from.to_f64());
                            }
                            filled += units;
                        }
                    }
                });
                embedded.map_err(|error| error.of_graph(start + graph))?;
            }
            watch.ends(count);
            Ok(())
        },
    )
}

fn states_of_parts<T: Real>(
    model: &Model<T>,
    parts: &[Part<T>],
    prepared: &Prepared,
    options: &ModelConfig,
    pool_last: bool,
    watch: &Watch<'_>,
) -> Result<(Vec<Array2<f64>>, Array2<Run>)> {
    let embedded = options.embedded_blocks();
    let last = options.blocks.saturating_sub(1);
    let units: usize = model.stacks.iter().map(|stack| stack[last][0].recurrent.units()).sum();
    let rows = prepared.vertex_offsets(0).last().copied().unwrap_or(0);
    // The tables of all parts, and their concatenation.
    memory::ask_array("the states of all vertices", &[2, rows, units * embedded.len()], size_of::<f64>())?;
    let num_runs = model.stacks.iter().flatten().flatten().count();
    let starts = parts.iter().scan(0, |next, part| Some(std::mem::replace(next, *next + part.len())));
    let work: Vec<(usize, &Part<T>)> = starts.zip(parts).collect();
    // Each part fills its own tables; concatenating them keeps the order of the batch.
    let made: Vec<(Vec<Vec<f64>>, Vec<Run>)> = work
        .into_par_iter()
        .with_max_len(1)
        .map_init(Workspace::default, |space, (start, part)| {
            if watch.ends(0) {
                return Err(Error::Cancelled);
            }
            let mut tables = vec![Vec::new(); model.stacks.len() * embedded.len()];
            let mut runs = vec![Run::default(); part.len() * num_runs];
            let passage = Passage { model, part, options, watch, pool_last };
            for (graph, runs) in runs.chunks_exact_mut(num_runs).enumerate() {
                let settled = passage.run(graph, space, runs, |settled| {
                    let Settled { stack, block, last, state, stride, units, .. } = settled;
                    if last && embedded.contains(&block) {
                        let highest = part.levels.len() - 1;
                        let level = if pool_last {
                            level_read(block, highest, options)
                        } else {
                            options.level_of(block, highest)
                        };
                        let (_, places) = part.levels[level].rows_of(graph);
                        let table = &mut tables[stack * embedded.len() + block - embedded.start];
                        for &place in places {
                            let line = &state[place as usize * stride..][..units];
                            table.extend(line.iter().map(|x| x.to_f64()));
                        }
                    }
                });
                settled.map_err(|error| error.of_graph(start + graph))?;
            }
            watch.ends(part.len());
            Ok((tables, runs))
        })
        .collect::<Result<_>>()?;
    let mut tables: Vec<Vec<f64>> = vec![Vec::new(); model.stacks.len() * embedded.len()];
    let mut runs = Vec::with_capacity(prepared.len() * num_runs);
    for (more, more_runs) in made {
        tables.iter_mut().zip(more).for_each(|(table, more)| table.extend(more));
        runs.extend(more_runs);
    }
    let blocks = model.stacks.iter().flat_map(|stack| &stack[embedded.clone()]);
    let tables = blocks.zip(tables).map(|(block, table)| {
        let units = block[0].recurrent.units();
        to_array(table.len() / units, units, table)
    });
    Ok((tables.collect(), to_array(prepared.len(), num_runs, runs)))
}
