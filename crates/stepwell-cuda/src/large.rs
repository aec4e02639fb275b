//! One large graph: one launch for each colour of a sweep, with states in global memory.

use ndarray::{ArrayViewMut1, s};
use stepwell::config::{Aggregate, ModelConfig, Solver};
use stepwell::reservoir::{Convergence, Run};

use crate::machine::{Buffer, Launch, Machine, Trouble};
use crate::model::{NONE, ROUNDING};
use crate::packing::{Flat, Size};
use crate::params::Params;
use crate::source::{Part, Shape};

/// Why a run ended early.
pub enum Stop {
    Cancelled,
    Trouble(Trouble),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// A graph and one of the parallel stacks.
pub struct Large<'a> {
    pub machine: &'a dyn Machine,
    pub shape: Shape,
    pub options: &'a ModelConfig,
    pub flat: &'a Flat,
    pub sizes: &'a [Size],
    pub blocks: &'a [[u32; 4]],
    /// Addresses of the graph and the model.
    pub params: Params,
}

/// Buffers as large as the largest level.
struct Space<'m> {
    state: Buffer<'m>,
    next: Option<Buffer<'m>>,
    drives: Vec<Buffer<'m>>,
    output: Option<Buffer<'m>>,
    changes: Buffer<'m>,
    sums: Buffer<'m>,
}

impl Large<'_> {
    fn launch(
        &self,
        kernel: &'static str,
        threads: usize,
        work: usize,
        shared: usize,
        params: &Params,
    ) -> Result<(), Trouble> {
        let blocks = work.div_ceil(threads).clamp(1, 8 * self.machine.limits().processors);
        let Self { shape, .. } = *self;
        self.machine.launch(Launch { shape, part: Part::Large, kernel, blocks, threads, shared }, params)
    }

    /// Addresses of the arrays of a level.
    fn level(&self, level: usize) -> Params {
        let [row, rows, entry, ..] = self.flat.levels_of_packs[level].map(u64::from);
        let Params { meta, entries, lines, carry, by_max, gate_lines, .. } = self.params;
        Params {
            meta: meta + 16 * row,
            entries: entries + 8 * entry,
            lines: lines + 4 * entry,
            carry: if level == 0 { 0 } else { carry + 8 * row },
            by_max: by_max >> level & 1,
            gate_lines: if level == 0 && self.shape.gated { gate_lines } else { 0 },
            rows: rows as i64,
            looked_up: 0,
            ..self.params
        }
    }

    /// Embeds the graph; calls `going` before every sweep.
    pub fn run(
        &self,
        mut vector: ArrayViewMut1<'_, f64>,
        mut runs: ArrayViewMut1<'_, Run>,
        going: impl Fn() -> bool,
    ) -> Result<(), Stop> {
        let Self { machine, shape, .. } = *self;
        let reservoirs = self.params.reservoirs as usize;
        let rows = self.sizes.iter().map(|size| size.rows).max().unwrap_or(0);
        let states = rows * shape.stride() * size_of::<f32>();
        let looked_up = self.params.looked_up == 1;
        let needs_drive = !looked_up || self.blocks.len() > 1;
        let drive = if needs_drive { rows * shape.width * size_of::<f32>() } else { 0 };
        let pools_last = self.blocks.iter().any(|block| block[2] != NONE && block[3] != block[0]);
        let mut space = Space {
            state: Buffer::room(machine, states)?,
            next: if shape.jacobi { Some(Buffer::room(machine, states)?) } else { None },
            drives: (0..reservoirs).map(|_| Buffer::room(machine, drive)).collect::<Result<_, _>>()?,
            output: if reservoirs > 1 || pools_last { Some(Buffer::room(machine, states)?) } else { None },
            changes: Buffer::room(machine, rows * size_of::<f32>())?,
            sums: Buffer::room(
                machine,
                self.machine.limits().shares * 3 * shape.width.max(2) * size_of::<f64>(),
            )?,
        };
        for (block, &[level, units, column, read]) in self.blocks.iter().enumerate() {
            let (level, read, units) = (level as usize, read as usize, units as usize);
            let here = self.level(level);
            let matrix = (shape.width * shape.width * size_of::<f32>()) as u64;
            for (reservoir, drive) in space.drives.iter().enumerate() {
                let number = (block * reservoirs + reservoir) as u64;
                let mut params = Params { drive: drive.address(), state: space.state.address(), ..here };
                if block > 0 {
                    let same_level = self.blocks[block - 1][0] as usize == level;
                    params.carry = if same_level { 0 } else { here.carry };
                    params.input += (number - reservoirs as u64) * matrix;
                    params.input_units += (number - reservoirs as u64) * 4;
                    let tiles = self.sizes[level].rows.div_ceil(16);
                    self.launch("project_large", 256, 32 * tiles, 0, &params)?;
                } else if !looked_up {
                    params.table += reservoir as u64 * self.table_bytes();
                    self.launch("drive_large", 256, self.sizes[0].rows * shape.width, 0, &params)?;
                }
            }
            for reservoir in 0..reservoirs {
                let number = block * reservoirs + reservoir;
                let gates =
                    self.params.gates + number as u64 * here.gate_lines as u64 * 4 * shape.width as u64;
                let mut params = Params {
                    recurrent: self.params.recurrent + number as u64 * matrix,
                    recurrent_units: self.params.recurrent_units + number as u64 * 4,
                    gates,
                    drive: space.drives[reservoir].address(),
                    ..here
                };
                if block == 0 && looked_up {
                    params.looked_up = 1;
                    params.drive = self.params.table + reservoir as u64 * self.table_bytes();
                }
                runs[number] = self.solve(&params, level, units, &mut space, &going)?;
                if let Some(output) = space.output.as_ref().filter(|_| reservoirs > 1) {
                    let target = output.address();
                    if reservoir == 0 {
                        output.clear()?;
                    }
                    let added = Params { state: space.state.address(), target, ..params };
                    self.launch("add_large", 256, self.sizes[level].rows * shape.stride(), 0, &added)?;
                }
            }
            if let Some(output) = space.output.as_mut().filter(|_| reservoirs > 1) {
                std::mem::swap(output, &mut space.state);
            }
            if column != NONE {
                let mut state = &space.state;
                if let Some(output) = space.output.as_ref().filter(|_| read != level) {
                    let pooled =
                        Params { state: state.address(), target: output.address(), ..self.level(read) };
                    self.launch("pool_large", 256, self.sizes[read].rows * shape.width, 0, &pooled)?;
                    state = output;
                }
                let count = units * self.options.aggregate.len();
                let out = vector.slice_mut(s![column as usize..column as usize + count]);
                self.aggregate(
                    &Params { state: state.address(), ..self.level(read) },
                    units,
                    &space.sums,
                    out,
                )?;
            }
        }
        Ok(())
    }

    fn table_bytes(&self) -> u64 {
        self.params.table_rows as u64 * 4 * self.shape.width as u64
    }

    fn solve(
        &self,
        params: &Params,
        level: usize,
        units: usize,
        space: &mut Space<'_>,
        going: &impl Fn() -> bool,
    ) -> Result<Run, Stop> {
        let ModelConfig { tol, solver, fixed_sweeps, max_iter, .. } = *self.options;
        let Shape { width, .. } = self.shape;
        space.state.clear()?;
        let [_, _, _, _, first, count, ..] = self.flat.levels_of_packs[level].map(|number| number as usize);
        let colours = &self.flat.phases[first..=first + count];
        let limit = fixed_sweeps.unwrap_or(max_iter);
        let kept = if self.shape.kept { width * width * size_of::<f32>() } else { 0 };
        let mut run = Run::default();
        while (run.sweeps as usize) < limit {
            if !going() {
                return Err(Stop::Cancelled);
            }
            let target = space.next.as_ref().unwrap_or(&space.state).address();
            let params =
                Params { state: space.state.address(), target, changes: space.changes.address(), ..*params };
            for (colour, pair) in colours.windows(2).enumerate().filter(|(_, pair)| pair[0] < pair[1]) {
                let (first_row, end_row) = (pair[0].into(), pair[1].into());
                let quiet = (run.sweeps == 0 && colour == 0).into();
                let swept = Params { first_row, end_row, quiet, ..params };
                let tiles = ((end_row - first_row) as usize).div_ceil(16);
                self.launch("sweep_large", 256, 32 * tiles, kept, &swept)?;
            }
            if solver == Solver::Jacobi
                && let Some(next) = &mut space.next
            {
                std::mem::swap(next, &mut space.state);
            }
            run.sweeps += 1;
            let (squares, vertices) = self.measure(&Params { block: 0, ..params }, &space.sums)?;
            run.change = squares.sqrt();
            if run.sweeps == 1 {
                run.first_change = run.change;
            }
            run.converged = if run.change < tol {
                Convergence::Tolerance
            } else if run.change == 0.0 {
                Convergence::Rounding
            } else if run.change < ROUNDING * (vertices * units as f64).sqrt() {
                let state = space.state.address();
                let (squares, _) = self.measure(&Params { block: 1, state, ..params }, &space.sums)?;
                if run.change < ROUNDING * squares.sqrt() { Convergence::Rounding } else { Convergence::No }
            } else {
                Convergence::No
            };
            if run.change.is_nan() || fixed_sweeps.is_none() && run.converged != Convergence::No {
                break;
            }
        }
        Ok(run)
    }

    /// Sums of squares and of vertices, in the order of the shares.
    fn measure(&self, params: &Params, sums: &Buffer<'_>) -> Result<(f64, f64), Trouble> {
        let params = Params { sums: sums.address(), shares: self.machine.limits().shares as i64, ..*params };
        let (threads, blocks) = (256, self.machine.limits().shares / 8);
        let Self { shape, .. } = *self;
        let launch = Launch { shape, part: Part::Large, kernel: "measure_large", blocks, threads, shared: 0 };
        self.machine.launch(launch, &params)?;
        let mut found = vec![[0.0f64; 2]; self.machine.limits().shares];
        sums.read(&mut found)?;
        Ok(found.iter().fold((0.0, 0.0), |sum, share| (sum.0 + share[0], sum.1 + share[1])))
    }

    fn aggregate(
        &self,
        params: &Params,
        units: usize,
        sums: &Buffer<'_>,
        mut out: ArrayViewMut1<'_, f64>,
    ) -> Result<(), Trouble> {
        let width = self.shape.width;
        let collect = |params: &Params| -> Result<Vec<[f64; 3]>, Trouble> {
            let params =
                Params { sums: sums.address(), shares: self.machine.limits().shares as i64, ..*params };
            self.launch("aggregate_large", 256, self.machine.limits().shares * width, 0, &params)?;
            let mut found = vec![[0.0f64; 3]; self.machine.limits().shares * width];
            sums.read(&mut found)?;
            let mut all = vec![[0.0, f64::NEG_INFINITY, 0.0]; width];
            for share in found.chunks_exact(width) {
                for (all, share) in all.iter_mut().zip(share) {
                    *all = [all[0] + share[0], all[1].max(share[1]), all[2] + share[2]];
                }
            }
            Ok(all)
        };
        let all = collect(&Params { block: 0, ..*params })?;
        let mut deviations = Vec::new();
        if self.options.aggregate.contains(&Aggregate::Std) {
            let means: Vec<f64> = all.iter().map(|[sum, _, count]| sum / count).collect();
            let means = Buffer::copy(self.machine, &means)?;
            deviations = collect(&Params { block: 1, drive: means.address(), ..*params })?;
        }
        for (at, kind) in self.options.aggregate.iter().enumerate() {
            for unit in 0..units {
                let [sum, largest, count] = all[unit];
                out[at * units + unit] = match kind {
                    Aggregate::Sum => sum,
                    Aggregate::Mean => sum / count,
                    Aggregate::Max => largest,
                    Aggregate::Std => (deviations[unit][0] / count).sqrt(),
                };
            }
        }
        Ok(())
    }
}
