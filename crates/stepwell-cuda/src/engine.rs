//! Embeds graphs with a model on a GPU.
//!
//! Graphs are sorted into classes by their use of a multiprocessor's memory. The graphs of a class
//! are processed in [packs](crate::packing), with one launch per block of a stack. Graphs too large
//! for shared memory are swept from global memory: by one thread block, or by all of them if a
//! graph is [very large](crate::large).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use stepwell::config::{Level, ModelConfig, Precision};
use stepwell::reservoir::{Convergence, Embedded, Engine, Progress, Run, Weights, Work};
use stepwell::{Error, Result};

use crate::fragments;
use crate::large;
use crate::machine::{Buffer, Launch, Machine, Trouble};
use crate::model::{Outline, StackOnGpu, upload};
use crate::packing::{Chosen, Flat, Layout, Most, Pack, Size, pack};
use crate::params::Params;
use crate::products::Kept;
use crate::source::{BY_ROUNDING, BY_TOLERANCE, MOST_GRAPHS, MOST_UNITS, Part, Shape, graphs_bytes};

/// Recurrent matrices up to this size are kept in shared memory.
const KEPT_BYTES: usize = 100 << 10;
/// The tiles that a team processes at a time, if it is one of several in a thread block.
const TEAM: usize = 4;
/// The bounds on the phases of a graph, beyond those that the tiles of its team require.
const FEWEST_PHASES: usize = 2;
const MOST_PHASES: usize = 3;
/// Rows and entries copied and computed at a time.
const CHUNK_ROWS: usize = 1 << 21;
const CHUNK_ENTRIES: usize = 1 << 25;
/// Numbers of gates and drives computed at a time.
const CHUNK_NUMBERS: usize = 1 << 28;

/// Nanoseconds spent by all engines of this process.
static PACKING: AtomicU64 = AtomicU64::new(0);
static COPYING: AtomicU64 = AtomicU64::new(0);
static COMPUTING: AtomicU64 = AtomicU64::new(0);
static COMPARING: AtomicU64 = AtomicU64::new(0);

/// Seconds spent by the engines of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Laying out graphs, on the processor.
    pub packing: f64,
    /// Copying to the GPU and back.
    pub copying: f64,
    /// Running kernels.
    pub computing: f64,
    /// Multiplying rows with landmarks, with the copies for it.
    pub comparing: f64,
}

/// The seconds spent so far by the engines of this process.
pub fn times() -> Times {
    let seconds = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64 * 1e-9;
    Times {
        packing: seconds(&PACKING),
        copying: seconds(&COPYING),
        computing: seconds(&COMPUTING),
        comparing: seconds(&COMPARING),
    }
}

/// Adds the duration of `work`.
fn timed<T>(of: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    of.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    result
}

/// The engine that computes on a GPU.
#[derive(Debug)]
pub struct Cuda<M: Machine> {
    machine: M,
    /// Landmarks on the GPU.
    landmarks: Mutex<Kept>,
}

/// Classes of graphs that run in the same way.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Class {
    /// In shared memory, with this many teams per thread block.
    Shared(usize),
    /// In global memory, with one thread block per graph.
    Global,
    /// All thread blocks for each graph.
    Large,
}

impl<M: Machine> Cuda<M> {
    pub fn new(machine: M) -> Self {
        Self { machine, landmarks: Mutex::default() }
    }
}

impl<M: Machine> Drop for Cuda<M> {
    fn drop(&mut self) {
        self.landmarks.get_mut().unwrap_or_else(PoisonError::into_inner).clear(&self.machine);
    }
}

impl<M: Machine> Engine for Cuda<M> {
    fn name(&self) -> String {
        self.machine.name()
    }

    fn refuses(&self, weights: &Weights, options: &ModelConfig) -> Option<String> {
        if options.level == Level::Vertex {
            return Some("vectors of vertices are computed on the CPU only".into());
        }
        if options.precision == Precision::F64 {
            return Some("precision f64 is computed on the CPU only".into());
        }
        let units = weights.iter().map(|block| block.recurrent.ncols()).max().unwrap_or(0);
        if units > MOST_UNITS {
            return Some(format!("more than {MOST_UNITS} units are computed on the CPU only"));
        }
        // Tensor cores multiply by these; the inputs of the first block are multiplied in f32.
        let above = weights.stacks().iter().flat_map(|stack| &stack[1..]).flatten().map(|block| &block.input);
        let matrices = weights.iter().map(|block| &block.recurrent).chain(above);
        let strange = |size: &f64| *size > 0.0 && !(fragments::SMALLEST..=fragments::LARGEST).contains(size);
        matrices.map(fragments::size).find(strange).map(|size| {
            let how = if size > 1.0 { "large" } else { "small" };
            format!("weights as {how} as {size:.0e} are computed on the CPU only")
        })
    }

    fn products(&self, rows: &[f32], landmarks: &[f32], width: usize) -> Option<Result<Vec<f32>>> {
        if width == 0 || landmarks.len() < self.machine.limits().fewest_products {
            return None;
        }
        let mut kept = self.landmarks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = timed(&COMPARING, || kept.multiply(&self.machine, rows, landmarks, width));
        Some(found.map_err(|problem| Error::Device { device: self.name(), problem }))
    }

    fn embed(&self, work: Work<'_>, progress: Progress<'_>) -> Result<Embedded> {
        let mut embedding = Embedding::new(&self.machine, work);
        embedding.run(progress)?;
        let Embedding { vectors, runs, .. } = embedding;
        let bad = runs.axis_iter(Axis(0)).position(|runs| runs.iter().any(|run| run.change.is_nan()));
        match bad {
            Some(row) => {
                let graph = work.rows.map_or(row, |graphs| graphs[row]);
                Err(Error::NotFinite { precision: "f32", graph })
            }
            None => Ok((vectors, runs)),
        }
    }
}

struct Embedding<'a> {
    machine: &'a dyn Machine,
    work: Work<'a>,
    outline: Outline,
    layout: Layout,
    vectors: Array2<f64>,
    runs: Array2<Run>,
}

impl<'a> Embedding<'a> {
    fn new(machine: &'a dyn Machine, work: Work<'a>) -> Self {
        let outline = Outline::new(&work);
        let Outline { gated, jacobi, levels, .. } = outline;
        let graphs = work.rows.map_or(work.prepared.len(), <[usize]>::len);
        let mut embedding = Self {
            machine,
            work,
            outline,
            layout: Layout { stride: 0, jacobi, gated, by_colour: false, levels },
            vectors: Array2::zeros((graphs, outline.columns)),
            runs: Array2::default((graphs, outline.runs)),
        };
        let shape = embedding.shape(true);
        embedding.layout.stride = shape.stride();
        embedding
    }

    /// The options that kernels are compiled for.
    fn shape(&self, shared: bool) -> Shape {
        let Outline { width, gated, jacobi, matrices, .. } = self.outline;
        Shape {
            width,
            gated,
            jacobi,
            leaky: self.work.options.leak != 1.0,
            shared,
            kept: self.keeps(matrices),
        }
    }

    /// Whether matrices of that size are kept in shared memory and leave room for states.
    fn keeps(&self, bytes: usize) -> bool {
        bytes <= KEPT_BYTES.min(self.machine.limits().shared / 2)
    }

    /// Bytes of shared memory for the states of each of `teams` teams.
    fn arena(&self, teams: usize) -> usize {
        let matrices = if self.shape(true).kept { self.outline.matrices } else { 0 };
        let shared = self.machine.limits().shared;
        shared.saturating_sub(matrices + teams * graphs_bytes(self.most_graphs(teams))) / teams / 16 * 16
    }

    /// The most graphs in a pack if a thread block has `teams` teams.
    fn most_graphs(&self, teams: usize) -> usize {
        MOST_GRAPHS / teams.next_power_of_two()
    }

    /// The class of a graph, and its number of phases on every level.
    fn class(&self, sizes: &[Size]) -> (Class, Vec<usize>) {
        let fits = |&teams: &usize| {
            let phases = self.phases(Class::Shared(teams), sizes);
            let cut: Vec<Size> =
                sizes.iter().zip(phases).map(|(size, phases)| Size { phases, ..*size }).collect();
            // A graph without vertices needs memory, too.
            self.layout.bytes(&cut).max(16) <= self.arena(teams)
        };
        let class = match self.teams().iter().find(|teams| fits(teams)) {
            Some(&teams) => Class::Shared(teams),
            None if sizes[0].rows <= self.machine.limits().large_rows => Class::Global,
            None => Class::Large,
        };
        (class, self.phases(class, sizes))
    }

    /// The possible numbers of teams per thread block, largest first.
    fn teams(&self) -> Vec<usize> {
        let shape = self.shape(true);
        let mut teams = vec![shape.warps() / TEAM, 2, 1];
        teams.retain(|teams| shape.warps().is_multiple_of(*teams));
        teams.dedup();
        teams
    }

    /// The rows of a phase that the warps of a team have tiles for.
    fn rows_at_once(&self, class: Class) -> usize {
        let shape = self.shape(true);
        let teams = if let Class::Shared(teams) = class { teams } else { 1 };
        16 * (shape.warps() / teams)
    }

    /// The number of parts of a graph that are updated one after the other: enough that, in a pack
    /// of such graphs, each part has a tile for every warp of its team. More parts need fewer
    /// sweeps, but leave warps idle.
    fn phases(&self, class: Class, sizes: &[Size]) -> Vec<usize> {
        if self.layout.jacobi || class == Class::Large {
            return sizes.iter().map(|size| size.phases).collect();
        }
        let at_once = self.rows_at_once(class);
        let fewest = match class {
            Class::Shared(teams) => {
                let graphs = (self.arena(teams) / self.layout.bytes(sizes).max(16)).max(1);
                (graphs * sizes[0].rows).div_ceil(at_once).clamp(FEWEST_PHASES, MOST_PHASES)
            }
            _ => FEWEST_PHASES,
        };
        sizes.iter().map(|size| fewest.max(size.rows.div_ceil(at_once))).collect()
    }

    fn trouble(&self) -> impl Fn(Trouble) -> Error + use<> {
        let device = self.machine.name();
        move |problem| Error::Device { device: device.clone(), problem }
    }

    fn run(&mut self, progress: Progress<'_>) -> Result<()> {
        let pieces = self.work.prepared.pieces().unwrap_or_default();
        let mut positions =
            pieces.iter().flat_map(|&piece| (0..piece.len()).map(move |graph| (piece, graph)));
        let chosen: Vec<Chosen<'_>> = match self.work.rows {
            None => positions.enumerate().map(|(out, (piece, graph))| Chosen { piece, graph, out }).collect(),
            Some(graphs) => {
                let mut before = 0;
                let mut next = |(out, &position): (usize, &usize)| {
                    let (piece, graph) = positions.nth(position - before)?;
                    before = position + 1;
                    Some(Chosen { piece, graph, out })
                };
                graphs.iter().enumerate().filter_map(&mut next).collect()
            }
        };
        let (layout, trouble) = (self.layout, self.trouble());
        let mut sizes: Vec<Vec<Size>> = chosen.par_iter().map(|chosen| layout.sizes(chosen)).collect();
        let classify = |sizes: &mut Vec<Size>| {
            let (class, phases) = self.class(sizes);
            sizes.iter_mut().zip(phases).for_each(|(size, phases)| size.phases = phases);
            class
        };
        let classes: Vec<Class> = sizes.par_iter_mut().map(classify).collect();
        let stacks = upload(self.machine, &self.work, self.outline).map_err(&trouble)?;
        let mut different = classes.clone();
        different.sort_unstable();
        different.dedup();
        let mut done = 0;
        for class in different {
            let graphs: Vec<usize> = (0..chosen.len()).filter(|&graph| classes[graph] == class).collect();
            let packs = self.pack(class, &graphs, &sizes);
            let chunks = match class {
                // One at a time.
                Class::Large => packs.chunks(1).collect(),
                _ => self.chunks(&packs, &chosen),
            };
            for chunk in chunks {
                if progress(done).is_break() {
                    return Err(Error::Cancelled);
                }
                let layout = Layout { by_colour: class == Class::Large && !layout.jacobi, ..layout };
                let flat = timed(&PACKING, || Flat::new(chunk, &chosen, layout));
                match class {
                    Class::Large => {
                        let graph = chosen[chunk[0].graphs[0]];
                        self.run_large(&flat, graph, &chunk[0], &stacks, progress, done)?;
                    }
                    _ => self.run_packs(class, chunk, &flat, &stacks).map_err(&trouble)?,
                }
                done += chunk.iter().map(|pack| pack.graphs.len()).sum::<usize>();
            }
        }
        let _ = progress(done);
        Ok(())
    }

    /// Packs of the graphs of one class, those with the most work first.
    fn pack(&self, class: Class, graphs: &[usize], sizes: &[Vec<Size>]) -> Vec<Pack> {
        let list = graphs.iter().map(|&graph| (graph, sizes[graph].clone()));
        let mut packs = match class {
            Class::Shared(teams) => {
                // Small enough that no multiprocessor is idle.
                let rows: usize = graphs.iter().map(|&graph| sizes[graph][0].rows).sum();
                let share = rows / (2 * teams * self.machine.limits().processors);
                let most = Most {
                    bytes: self.arena(teams),
                    rows: share.max(32),
                    in_a_phase: if self.layout.jacobi { usize::MAX } else { self.rows_at_once(class) },
                    graphs: self.most_graphs(teams),
                };
                pack(list, self.layout, most)
            }
            Class::Global | Class::Large => pack(list, self.layout, Most::default()),
        };
        packs.sort_by_key(|pack| std::cmp::Reverse(pack.sizes[0].rows));
        packs
    }

    /// Groups of packs that are computed at a time.
    fn chunks<'p>(&self, packs: &'p [Pack], chosen: &[Chosen<'_>]) -> Vec<&'p [Pack]> {
        let (mut chunks, mut start, mut sums) = (Vec::new(), 0, [0; 3]);
        let numbers = CHUNK_NUMBERS / self.outline.width;
        let most = [
            CHUNK_ROWS.min(numbers / self.work.weights.num_reservoirs()),
            CHUNK_ENTRIES,
            numbers / self.work.options.blocks,
        ];
        for (at, pack) in packs.iter().enumerate() {
            let total = |what: fn(&Size) -> usize| pack.sizes.iter().map(what).sum::<usize>();
            let lines = |&graph: &usize| {
                chosen[graph].piece.attributed(chosen[graph].graph).map_or(0, |found| found.lines())
            };
            let more = [
                total(|size| size.rows),
                total(|size| size.entries + size.carried),
                pack.graphs.iter().map(lines).sum(),
            ];
            if at > start && sums.iter().zip(more).zip(most).any(|((sum, more), most)| sum + more > most) {
                chunks.push(&packs[start..at]);
                (start, sums) = (at, [0; 3]);
            }
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        if start < packs.len() {
            chunks.push(&packs[start..]);
        }
        chunks
    }

    fn run_packs(
        &mut self,
        class: Class,
        packs: &[Pack],
        flat: &Flat,
        stacks: &[StackOnGpu<'_>],
    ) -> Result<(), Trouble> {
        let machine = self.machine;
        let shape = self.shape(class != Class::Global);
        let teams = if let Class::Shared(teams) = class { teams } else { 1 };
        let blocks = packs.len().div_ceil(teams).min(machine.limits().processors);
        let arena = match class {
            Class::Shared(teams) => self.arena(teams),
            _ => packs.iter().map(|pack| self.layout.bytes(&pack.sizes)).max().unwrap_or(0),
        };
        let slot_rows = packs.iter().flat_map(|pack| &pack.sizes).map(|size| size.rows).max().unwrap_or(0);
        // An upper bound suffices: it only decides whether an exact check is worthwhile.
        let most_vertices = flat.meta.iter().map(|row| f32::from_bits(row[3])).fold(0.0, f32::max);
        let most_vertices = most_vertices as i64 * slot_rows as i64;
        let on_gpu = timed(&COPYING, || FlatOnGpu::new(machine, flat))?;
        let graphs = flat.out_rows.len();
        let reservoirs = self.work.weights.num_reservoirs();
        let slots = blocks * teams * slot_rows * size_of::<f32>();
        let drive_rows = flat.meta.len();
        let drives = Buffer::room(machine, drive_rows * reservoirs * shape.width * size_of::<f32>())?;
        let outputs = Buffer::room(machine, slots * shape.stride())?;
        let arenas = Buffer::room(machine, if shape.shared { 0 } else { blocks * arena })?;
        let vectors = Buffer::room(machine, graphs * self.outline.columns * size_of::<f64>())?;
        let runs = Buffer::room(machine, graphs * self.outline.runs * 16)?;
        let local: Vec<u32> = (0..graphs as u32).collect();
        let out_rows = Buffer::copy(machine, &local)?;
        let counter = Buffer::zeros(machine, 4)?;
        let mut gates = None;
        for stack in stacks {
            let mut params = Params {
                packs: packs.len() as i64,
                counter: counter.address(),
                team_warps: (shape.warps() / teams) as i64,
                arena: arena as i64,
                arenas: arenas.address(),
                slot_rows: slot_rows as i64,
                graphs_bytes: graphs_bytes(self.most_graphs(teams)) as i64,
                most_graphs: self.most_graphs(teams) as i64,
                most_vertices,
                drives: drives.address(),
                drive_rows: drive_rows as i64,
                outputs: outputs.address(),
                out_rows: out_rows.address(),
                vectors: vectors.address(),
                runs: runs.address(),
                by_max: by_max(flat, packs, self.work),
                ..on_gpu.params(stack.params)
            };
            gates = fill_gates(machine, shape, &mut params, flat, gates)?;
            let kept = if shape.kept { self.outline.matrices } else { 0 };
            let known = teams * graphs_bytes(self.most_graphs(teams));
            let shared = kept + known + if shape.shared { teams * arena } else { 0 };
            let threads = 32 * shape.warps();
            let launch = Launch { shape, part: Part::Packs, kernel: "packs", blocks, threads, shared };
            timed(&COMPUTING, || {
                for block in 0..params.blocks {
                    counter.clear()?;
                    machine.launch(launch, &Params { block, ..params })?;
                }
                machine.finish()
            })?;
        }
        let mut found = vec![0.0f64; graphs * self.outline.columns];
        timed(&COPYING, || vectors.read(&mut found))?;
        let mut told = vec![[0u32; 4]; graphs * self.outline.runs];
        runs.read(&mut told)?;
        self.keep(flat, &found, &told);
        Ok(())
    }

    /// Stores the vectors and runs of a chunk in the result.
    fn keep(&mut self, flat: &Flat, vectors: &[f64], runs: &[[u32; 4]]) {
        for (graph, &row) in flat.out_rows.iter().enumerate() {
            let (columns, count) = (self.outline.columns, self.outline.runs);
            let vector = vectors[graph * columns..][..columns].iter();
            self.vectors.row_mut(row as usize).iter_mut().zip(vector).for_each(|(to, &from)| *to = from);
            let runs = runs[graph * count..][..count].iter();
            self.runs.row_mut(row as usize).iter_mut().zip(runs).for_each(|(to, &from)| *to = run(from));
        }
    }

    fn run_large(
        &mut self,
        flat: &Flat,
        graph: Chosen<'_>,
        pack: &Pack,
        stacks: &[StackOnGpu<'_>],
        progress: Progress<'_>,
        done: usize,
    ) -> Result<()> {
        let trouble = self.trouble();
        let on_gpu = timed(&COPYING, || FlatOnGpu::new(self.machine, flat)).map_err(&trouble)?;
        let kept = self.keeps(self.outline.width * self.outline.width * size_of::<f32>());
        let shape = Shape { kept, ..self.shape(false) };
        let mut gates = None;
        for stack in stacks {
            let mut params = Params {
                by_max: by_max(flat, std::slice::from_ref(pack), self.work),
                ..on_gpu.params(stack.params)
            };
            gates = fill_gates(self.machine, shape, &mut params, flat, gates).map_err(&trouble)?;
            let large = large::Large {
                machine: self.machine,
                shape,
                options: self.work.options,
                flat,
                sizes: &pack.sizes,
                blocks: &stack.blocks,
                params,
            };
            let first = params.first_run as usize;
            let (vectors, mut runs) = (self.vectors.row_mut(graph.out), self.runs.row_mut(graph.out));
            let going = || progress(done).is_continue();
            let run = || large.run(vectors, runs.slice_mut(ndarray::s![first..]), going);
            timed(&COMPUTING, run).map_err(|stop| match stop {
                large::Stop::Cancelled => Error::Cancelled,
                large::Stop::Trouble(problem) => trouble(problem),
            })?;
        }
        Ok(())
    }
}

/// A run as a kernel wrote it.
fn run([sweeps, first, change, converged]: [u32; 4]) -> Run {
    Run {
        sweeps,
        first_change: f32::from_bits(first).into(),
        change: f32::from_bits(change).into(),
        converged: match converged {
            BY_TOLERANCE => Convergence::Tolerance,
            BY_ROUNDING => Convergence::Rounding,
            _ => Convergence::No,
        },
    }
}

/// The levels that take the maximum over the level below, as bits.
fn by_max(flat: &Flat, packs: &[Pack], work: Work<'_>) -> i64 {
    let levels = packs.first().map_or(0, |pack| pack.sizes.len());
    let piece = work.prepared.pieces().and_then(|pieces| pieces.first().copied());
    match piece.filter(|piece| !piece.is_empty() && !flat.carry.is_empty()) {
        Some(piece) => (1..levels).map(|level| i64::from(piece.carried(level, 0).by_max) << level).sum(),
        None => 0,
    }
}

/// Computes the gates of edges with attributes, reusing memory if there is any.
fn fill_gates<'m>(
    machine: &'m dyn Machine,
    shape: Shape,
    params: &mut Params,
    flat: &Flat,
    memory: Option<Buffer<'m>>,
) -> Result<Option<Buffer<'m>>, Trouble> {
    if params.edge_width == 0 {
        return Ok(None);
    }
    let count = flat.attributed * shape.width * params.gated_runs as usize;
    let memory = memory.map_or_else(|| Buffer::room(machine, count * size_of::<f32>()), Ok)?;
    params.gate_lines = flat.attributed as i64;
    params.gates = memory.address();
    if count > 0 {
        let blocks = count.div_ceil(256).min(8 * machine.limits().processors);
        let launch =
            Launch { shape, part: Part::Gates, kernel: "fill_gates", blocks, threads: 256, shared: 0 };
        machine.launch(launch, params)?;
    }
    Ok(Some(memory))
}

/// Packs copied to a GPU.
struct FlatOnGpu<'m> {
    buffers: Vec<Buffer<'m>>,
    params: Params,
}

impl<'m> FlatOnGpu<'m> {
    fn new(machine: &'m dyn Machine, flat: &Flat) -> Result<Self, Trouble> {
        let mut buffers = Vec::new();
        let mut keep = |buffer: Buffer<'m>| {
            let address = buffer.address();
            buffers.push(buffer);
            address
        };
        let levels = flat.levels_of_packs.len() / flat.graphs_of_packs.len().max(1);
        // The rows of the lowest level of all packs, from which the widths of inputs follow.
        let first: usize =
            flat.levels_of_packs.iter().step_by(levels.max(1)).map(|level| level[1] as usize).sum();
        let per_row = |len: usize| len.checked_div(first).unwrap_or(0);
        let (dense_width, labels) = (per_row(flat.dense.len()), per_row(flat.one_hot.len()));
        let params = Params {
            levels_of_packs: keep(Buffer::copy(machine, &flat.levels_of_packs)?),
            graphs_of_packs: keep(Buffer::copy(machine, &flat.graphs_of_packs)?),
            meta: keep(Buffer::copy(machine, &flat.meta)?),
            members: keep(Buffer::copy(machine, &flat.members)?),
            member_starts: keep(Buffer::copy(machine, &flat.member_starts)?),
            entries: keep(Buffer::copy(machine, &flat.entries)?),
            lines: keep(Buffer::copy(machine, &flat.lines)?),
            phases: keep(Buffer::copy(machine, &flat.phases)?),
            carry: keep(Buffer::copy(machine, &flat.carry)?),
            carry_entries: keep(Buffer::copy(machine, &flat.carry_entries)?),
            dense: keep(Buffer::copy(machine, &flat.dense)?),
            one_hot: keep(Buffer::copy(machine, &flat.one_hot)?),
            attributes: keep(Buffer::copy(machine, &flat.attributes)?),
            kinds: if flat.kinds.is_empty() { 0 } else { keep(Buffer::copy(machine, &flat.kinds)?) },
            dense_width: dense_width as i64,
            labels: labels as i64,
            looked_up: (labels == 1 && dense_width == 0).into(),
            ..Params::default()
        };
        Ok(Self { buffers, params })
    }

    /// The parameters of the packs, added to those of a model.
    fn params(&self, model: Params) -> Params {
        debug_assert!(!self.buffers.is_empty());
        let packs = self.params;
        Params {
            levels_of_packs: packs.levels_of_packs,
            graphs_of_packs: packs.graphs_of_packs,
            meta: packs.meta,
            members: packs.members,
            member_starts: packs.member_starts,
            entries: packs.entries,
            lines: packs.lines,
            phases: packs.phases,
            carry: packs.carry,
            carry_entries: packs.carry_entries,
            dense: packs.dense,
            one_hot: packs.one_hot,
            attributes: packs.attributes,
            kinds: packs.kinds,
            dense_width: packs.dense_width,
            labels: packs.labels,
            looked_up: packs.looked_up,
            ..model
        }
    }
}
