//! The matrices of a model on a GPU.

use ndarray::Array1;
use stepwell::config::{Aggregate, ModelConfig, Solver};
use stepwell::reservoir::{BlockWeights, Stack, Work, level_read};

use crate::fragments;
use crate::machine::{Buffer, Machine, Trouble};
use crate::params::Params;
use crate::source::Shape;

/// Marks a missing column or level.
pub const NONE: u32 = u32::MAX;

/// One of the parallel stacks.
#[derive(Debug)]
pub struct StackOnGpu<'m> {
    recurrent: Buffer<'m>,
    input: Buffer<'m>,
    /// The factors of products with them.
    recurrent_units: Buffer<'m>,
    input_units: Buffer<'m>,
    table: Buffer<'m>,
    plan: Buffer<'m>,
    /// Gate rows of the kinds of edges, for every block and reservoir.
    kinds: Buffer<'m>,
    /// `U` and `b` of the gates, in turns.
    turns: Buffer<'m>,
    /// For each block: its level, its units, its first column in the vectors (or none), and the
    /// level that is aggregated.
    pub blocks: Vec<[u32; 4]>,
    /// The kernel parameters of the model.
    pub params: Params,
}

/// Properties shared by all stacks.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Columns of a row of states.
    pub width: usize,
    pub gated: bool,
    pub jacobi: bool,
    /// The number of levels used, including the original graphs.
    pub levels: usize,
    /// Bytes of the recurrent matrices of a block.
    pub matrices: usize,
    /// The length of a vector.
    pub columns: usize,
    /// The number of reservoirs in all stacks.
    pub runs: usize,
}

impl Outline {
    pub fn new(work: &Work<'_>) -> Self {
        let Work { weights, prepared, options, .. } = work;
        let (highest, blocks) = (prepared.levels(), options.blocks);
        let units = weights.iter().map(|block| block.recurrent.ncols()).max().unwrap_or(1);
        let width = Shape::padded(units);
        Self {
            width,
            gated: prepared.edge_attributes() > 0 || prepared.edge_kinds().next().is_some(),
            jacobi: options.solver == Solver::Jacobi,
            levels: 1 + level_read(blocks - 1, highest, options).max(options.level_of(blocks - 1, highest)),
            matrices: weights.num_reservoirs() * width * width * size_of::<f32>(),
            columns: weights.embedding_width(options),
            runs: weights.iter().count(),
        }
    }
}

/// Copies all stacks to a GPU.
pub fn upload<'m>(
    machine: &'m dyn Machine,
    work: &Work<'_>,
    outline: Outline,
) -> Result<Vec<StackOnGpu<'m>>, Trouble> {
    let stacks = work.weights.stacks();
    let per_stack = outline.columns / stacks.len();
    let upload = |(number, stack)| StackOnGpu::new(machine, work, outline, stack, number, number * per_stack);
    stacks.iter().enumerate().map(upload).collect()
}

impl<'m> StackOnGpu<'m> {
    fn new(
        machine: &'m dyn Machine,
        work: &Work<'_>,
        outline: Outline,
        stack: &Stack,
        number: usize,
        first_column: usize,
    ) -> Result<Self, Trouble> {
        let Work { prepared, options, .. } = work;
        let (width, reservoirs) = (outline.width, stack[0].len());
        let (mut recurrent, mut input, mut table) = (Vec::new(), Vec::new(), Vec::new());
        let (mut recurrent_units, mut input_units) = (Vec::new(), Vec::new());
        let (mut kinds, mut turns) = (Vec::new(), Vec::new());
        for (block, list) in stack.iter().enumerate() {
            for BlockWeights { recurrent: w, input: v, gate } in list {
                recurrent_units.push(fragments::push(&mut recurrent, w, width));
                match block {
                    0 => {
                        fragments::push_rows(&mut table, v.rows(), width);
                        table.extend(std::iter::repeat_n(0.0, width));
                    }
                    _ => input_units.push(fragments::push(&mut input, v, width)),
                }
                for labels in prepared.edge_kinds() {
                    let line = gate.gate(labels, &[], w.ncols());
                    fragments::push_rows(&mut kinds, [line.view()], width);
                }
                if prepared.edge_attributes() > 0 {
                    let in_turns =
                        |row: ndarray::ArrayView1<'_, f64>| row.mapv(|x| x / std::f64::consts::TAU);
                    let rows: Vec<Array1<f64>> = gate
                        .frequencies
                        .rows()
                        .into_iter()
                        .chain([gate.phases.view()])
                        .map(in_turns)
                        .collect();
                    fragments::push_rows(&mut turns, rows.iter().map(|row| row.view()), width);
                }
            }
        }
        let blocks = plan(work, stack, first_column);
        let mut codes: Vec<u32> = options.aggregate.iter().map(|&kind| code(kind)).collect();
        codes.resize(4, 0);
        codes.extend(blocks.iter().flatten());
        let buffers = Self {
            recurrent: Buffer::copy(machine, &recurrent)?,
            input: Buffer::copy(machine, &input)?,
            recurrent_units: Buffer::copy(machine, &recurrent_units)?,
            input_units: Buffer::copy(machine, &input_units)?,
            table: Buffer::copy(machine, &table)?,
            plan: Buffer::copy(machine, &codes)?,
            kinds: Buffer::copy(machine, &kinds)?,
            turns: Buffer::copy(machine, &turns)?,
            params: Params::default(),
            blocks,
        };
        let levels_gated = buffers.blocks.iter().filter(|block| block[0] == 0).count();
        let params = Params {
            recurrent: buffers.recurrent.address(),
            input: buffers.input.address(),
            recurrent_units: buffers.recurrent_units.address(),
            input_units: buffers.input_units.address(),
            table: buffers.table.address(),
            table_rows: (stack[0][0].input.nrows() + 1) as i64,
            plan: buffers.plan.address(),
            aggregates: options.aggregate.len() as i64,
            with_std: options.aggregate.contains(&Aggregate::Std).into(),
            blocks: stack.len() as i64,
            reservoirs: reservoirs as i64,
            levels: outline.levels as i64,
            width: outline.columns as i64,
            num_runs: outline.runs as i64,
            first_run: (number * stack.len() * reservoirs) as i64,
            limit: options.fixed_sweeps.unwrap_or(options.max_iter) as i64,
            fixed: options.fixed_sweeps.is_some().into(),
            tol: options.tol,
            rounding: ROUNDING,
            leak: options.leak,
            // Without attributes, the gates are the rows of the kinds.
            gates: buffers.kinds.address(),
            gate_lines: prepared.edge_kinds().count() as i64,
            kind_gates: buffers.kinds.address(),
            num_kinds: prepared.edge_kinds().count() as i64,
            turns: buffers.turns.address(),
            edge_width: prepared.edge_attributes() as i64,
            gated_runs: (levels_gated * reservoirs) as i64,
            ..Params::default()
        };
        Ok(Self { params, ..buffers })
    }
}

/// A change below this share of a state's norm is rounding: the value for f32 on the processor.
pub const ROUNDING: f64 = 4.0 / (1u32 << 24) as f64;

fn code(kind: Aggregate) -> u32 {
    match kind {
        Aggregate::Sum => 0,
        Aggregate::Mean => 1,
        Aggregate::Max => 2,
        Aggregate::Std => 3,
    }
}

/// For each block: its level, its units, its first column, and the level that is aggregated.
fn plan(work: &Work<'_>, stack: &Stack, first_column: usize) -> Vec<[u32; 4]> {
    let options: &ModelConfig = work.options;
    let (highest, embedded) = (work.prepared.levels(), options.embedded_blocks());
    let mut next = first_column;
    let block = |(block, list): (usize, &Vec<BlockWeights>)| {
        let units = list[0].recurrent.ncols();
        let column = if embedded.contains(&block) {
            next += units * options.aggregate.len();
            (next - units * options.aggregate.len()) as u32
        } else {
            NONE
        };
        let (level, read) = (options.level_of(block, highest), level_read(block, highest, options));
        [level as u32, units as u32, column, read as u32]
    };
    stack.iter().enumerate().map(block).collect()
}
