//! Explains the decision value of a vertex: the contribution of every vertex's inputs.
//!
//! A state is `h = tanh(z)` with `z_i = (Σ_j ã_ij g_ij ∘ h_j) W + x_i V`, unrolled over sweeps and
//! blocks. The reference is the same graph with the input 0 at all vertices: there, every `z` and
//! every state is 0. The mean slope of tanh between 0 and `z` is `s = tanh(z) / z`. Multiplying by
//! `s` instead of taking the tanh gives the same states and makes them linear in the inputs. The
//! readout becomes linear in the same way, with its mean slopes between the row of zeros and the
//! vertex's row ([`Local`]). So a decision value is exactly that of the reference plus one number
//! per vertex within reach: its input times the product of the factors, summed over all paths to
//! the explained vertex.

use std::collections::HashMap;
use std::ops::ControlFlow;

use ndarray::{Array1, Array2, ArrayView2, Axis, s};

use super::{Contributions, Explanation, TrainedModel};
use crate::config::{Level, Solver};
use crate::error::{Error, Result, out_of_range};
use crate::features::{EdgeInputs, Inputs};
use crate::graph::{GraphBatch, GraphRef};
use crate::memory;
use crate::pyramid::Pyramid;
use crate::readout::{Local, Rows};
use crate::reservoir::{BlockWeights, Stack};

/// States are computed in f32, contributions in f64. The two may differ by this much, relative to
/// the [scale](Explanation::scale). The vertex itself gets the difference.
const ROUNDING: f64 = 1e-3;

impl TrainedModel {
    /// Splits the decision values of one vertex into the contributions of the inputs of every
    /// vertex of its graph. The intercept is the decision value if all inputs are 0.
    ///
    /// The solver must be Jacobi, as in the preset `vertices`: the result of any other solver
    /// depends on the order in which vertices are updated.
    pub fn explain_vertex(
        &self,
        graphs: &GraphBatch,
        graph: usize,
        vertex: usize,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<Explanation> {
        let Self { model, readout, .. } = self;
        let config = &model.config;
        if config.level != Level::Vertex {
            let (expected, found) =
                ("vertex (a model of graphs cannot explain a vertex)".into(), "graph".into());
            return Err(Error::BadOption { name: "level", expected, found });
        }
        if config.solver != Solver::Jacobi {
            let (expected, found) =
                ("jacobi (only then can a vertex be explained)".into(), "gauss-seidel".into());
            return Err(Error::BadOption { name: "solver", expected, found });
        }
        if graph >= graphs.len() {
            return Err(out_of_range("graph to explain", graphs.len(), graph));
        }
        let graphs = &graphs.select(&[graph]);
        let whole = graphs.graph(0);
        if vertex >= whole.num_vertices() {
            return Err(out_of_range("vertex to explain", whole.num_vertices(), vertex));
        }
        let inputs = model.features.apply(graphs)?;
        let prepared = model.prepare(graphs, Pyramid::default(), || progress(0))?;
        let embedding = model.embed_prepared(&prepared, Some(&[vertex]), |_| progress(0))?;
        let decisions = readout.predict(&embedding)?;
        let Local { intercept, coefficients, .. } = readout.local_from_zero(Rows::from(&embedding))?;

        let sweeps: Vec<usize> = embedding.runs.row(0).iter().map(|run| run.sweeps as usize).collect();
        let per_stack = config.blocks * config.reservoirs;
        let longest = |block: usize| {
            let runs = (0..config.stacks).flat_map(|stack| {
                let first = stack * per_stack + block * config.reservoirs;
                &sweeps[first..first + config.reservoirs]
            });
            runs.copied().max().unwrap_or(1).max(1)
        };
        let reach: usize = (0..config.blocks).map(|block| longest(block) - 1).sum();
        let ball = Ball::around(whole, vertex, reach, config.normalize);
        let mut x = Vec::new();
        memory::ask_array("the inputs around a vertex", &[ball.len(), inputs.width()], 8)?;
        ball.vertices.iter().for_each(|&near| inputs.extend_with_row(near as usize, &mut x));
        let x = Array2::from_shape_vec((ball.len(), inputs.width()), x).expect("a row per vertex");

        let mut values = Array2::zeros((whole.num_vertices(), intercept.len()));
        let mut first = 0;
        if config.own_inputs {
            first = x.ncols();
            let own = x.row(0).dot(&coefficients.slice(s![..first, ..]));
            values.row_mut(vertex).scaled_add(1.0, &own);
        }
        for (stack, blocks) in model.weights.stacks().iter().enumerate() {
            if progress(0).is_break() {
                return Err(Error::Cancelled);
            }
            let runs = &sweeps[stack * per_stack..(stack + 1) * per_stack];
            let tower = Tower::run(blocks, runs, &ball, &x, &inputs, (config.leak, config.reservoirs))?;
            // The columns of this stack, with the block and sweep whose states they hold.
            let mut read = Vec::new();
            for block in config.embedded_blocks() {
                for sweep in 0..config.sweeps_read() {
                    let units = blocks[block][0].recurrent.ncols();
                    let sweep = (config.sweeps_read() > 1).then_some(sweep + 1);
                    read.push((block, sweep, first..first + units));
                    first += units;
                }
            }
            for column in 0..intercept.len() {
                let read = read.iter().map(|(block, sweep, range)| {
                    (*block, *sweep, coefficients.slice(s![range.clone(), column]).to_owned())
                });
                let of_ball = tower.trace_back(blocks, &ball, &read.collect::<Vec<_>>(), config.leak);
                for (&near, value) in ball.vertices.iter().zip(of_ball) {
                    values[(near as usize, column)] += value;
                }
            }
        }
        let mut explanation = Explanation { intercept, levels: vec![Contributions { level: 0, values }] };
        let missing = &decisions.row(0) - &explanation.decision();
        let scale = explanation.scale(decisions.row(0));
        for (column, (missing, scale)) in missing.iter().zip(scale).enumerate() {
            if missing.abs() <= ROUNDING * scale {
                explanation.levels[0].values[(vertex, column)] += missing;
            }
        }
        Ok(explanation.mirrored(readout.task()))
    }
}

/// The vertices within reach of a centre, nearest first, and the adjacency between them.
struct Ball {
    /// Vertex numbers in the graph. The first is the centre.
    vertices: Vec<u32>,
    /// For each number of steps, the number of vertices within that distance.
    within: Vec<usize>,
    /// Row i has the entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    /// Positions in the ball.
    columns: Vec<usize>,
    weights: Vec<f64>,
    /// Positions of the entries in the graph.
    entries: Vec<usize>,
}

impl Ball {
    fn around(graph: GraphRef<'_>, vertex: usize, reach: usize, normalize: bool) -> Self {
        let mut places = HashMap::from([(vertex as u32, 0)]);
        let (mut vertices, mut within) = (vec![vertex as u32], vec![1]);
        for _ in 0..reach {
            let begin = if within.len() > 1 { within[within.len() - 2] } else { 0 };
            for at in begin..vertices.len() {
                for &near in graph.neighbours(vertices[at] as usize) {
                    places.entry(near).or_insert_with(|| {
                        vertices.push(near);
                        vertices.len() - 1
                    });
                }
            }
            within.push(vertices.len());
        }
        let all = match (normalize, graph.weights()) {
            (true, _) => graph.normalized_weights(),
            (false, Some(weights)) => weights.to_vec(),
            (false, None) => vec![1.0; graph.num_entries()],
        };
        let row_starts: Vec<usize> = graph.row_starts().collect();
        let (mut starts, mut columns, mut weights, mut entries) =
            (vec![0], Vec::new(), Vec::new(), Vec::new());
        for &row in &vertices {
            let first = row_starts[row as usize];
            for (k, near) in graph.neighbours(row as usize).iter().enumerate() {
                // Neighbours of the outermost vertices may lie outside. They are too far away to
                // contribute.
                if let Some(&place) = places.get(near) {
                    columns.push(place);
                    weights.push(all[first + k]);
                    entries.push(first + k);
                }
            }
            starts.push(columns.len());
        }
        Self { vertices, within, starts, columns, weights, entries }
    }

    fn len(&self) -> usize {
        self.vertices.len()
    }

    /// The number of vertices within `steps` steps.
    fn within(&self, steps: usize) -> usize {
        self.within[steps.min(self.within.len() - 1)]
    }

    /// The entries of a row: position, the row it reads, and its weight.
    fn entries_of(&self, row: usize) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        (self.starts[row]..self.starts[row + 1]).map(|at| (at, self.columns[at], self.weights[at]))
    }
}

/// The recorded states of one reservoir.
struct Course {
    block: usize,
    reservoir: usize,
    /// `xV`, or the projected states of the block below.
    drive: Array2<f64>,
    /// The states after each sweep, and the mean slopes of tanh in that sweep.
    states: Vec<Array2<f64>>,
    slopes: Vec<Array2<f64>>,
    /// The gate of every entry of the ball; empty if edges have no labels and attributes.
    gates: Vec<Array1<f64>>,
}

/// The reservoirs of one stack.
struct Tower {
    courses: Vec<Course>,
}

impl Tower {
    fn run(
        blocks: &Stack,
        sweeps: &[usize],
        ball: &Ball,
        x: &Array2<f64>,
        inputs: &Inputs,
        (leak, reservoirs): (f64, usize),
    ) -> Result<Self> {
        let sweeps_of = |block: usize| &sweeps[block * reservoirs..(block + 1) * reservoirs];
        let longest = |block: usize| sweeps_of(block).iter().copied().max().unwrap_or(1).max(1);
        // The number of steps that the last states of each block still travel in the blocks above.
        let rest: Vec<usize> = (0..blocks.len())
            .map(|block| (block + 1..blocks.len()).map(|above| longest(above) - 1).sum())
            .collect();
        let mut below = x.clone();
        let mut courses = Vec::new();
        for (block, list) in blocks.iter().enumerate() {
            let mut output: Option<Array2<f64>> = None;
            for (reservoir, weights) in list.iter().enumerate() {
                let sweeps = sweeps_of(block)[reservoir].max(1);
                let units = weights.recurrent.ncols();
                let rows = ball.within(rest[block] + sweeps - 1);
                memory::ask_array("the states around a vertex", &[rows, units, 2 * sweeps + 2], 8)?;
                let drive = below.slice(s![..rows, ..]).dot(&weights.input);
                let gates = gates(weights, ball, inputs.edges(), units)?;
                let mut course =
                    Course { block, reservoir, drive, states: Vec::new(), slopes: Vec::new(), gates };
                for sweep in 1..=sweeps {
                    let rows = ball.within(rest[block] + sweeps - sweep);
                    course.sweep(weights, ball, rows, leak);
                }
                let last = &course.states[sweeps - 1];
                output = Some(output.map_or_else(|| last.clone(), |sum| sum + last));
                courses.push(course);
            }
            below = output.unwrap_or_default();
        }
        Ok(Self { courses })
    }

    /// The contribution of every vertex of the ball, given the coefficients of the centre's states:
    /// block, sweep (the last one if `None`), and one number per unit.
    fn trace_back(
        &self,
        blocks: &Stack,
        ball: &Ball,
        read: &[(usize, Option<usize>, Array1<f64>)],
        leak: f64,
    ) -> Vec<f64> {
        let mut added = vec![0.0; ball.len()];
        // The coefficients of the current block's last states.
        let mut of_output: Option<Array2<f64>> = None;
        for block in (0..blocks.len()).rev() {
            let mut of_below: Option<Array2<f64>> = None;
            for course in self.courses.iter().filter(|course| course.block == block) {
                let Course { states, slopes, drive, .. } = course;
                let weights = &blocks[block][course.reservoir];
                let last = states.len();
                let mut of_drive = Array2::<f64>::zeros(drive.dim());
                let mut of_state = Array2::<f64>::zeros(states[last - 1].dim());
                if let Some(from_above) = &of_output {
                    of_state += from_above;
                }
                for sweep in (1..=last).rev() {
                    for (_, _, numbers) in
                        read.iter().filter(|(of, at, _)| *of == block && at.unwrap_or(last) == sweep)
                    {
                        of_state.row_mut(0).scaled_add(1.0, numbers);
                    }
                    // Back through tanh, then through W and the edges to the previous states.
                    let of_sum = &of_state * &slopes[sweep - 1] * leak;
                    let rows = of_sum.nrows();
                    let mut slice = of_drive.slice_mut(s![..rows, ..]);
                    slice += &of_sum;
                    if sweep == 1 {
                        break;
                    }
                    let before = states[sweep - 2].dim();
                    let mut of_before = Array2::<f64>::zeros(before);
                    if leak != 1.0 {
                        of_before.slice_mut(s![..rows, ..]).scaled_add(1.0 - leak, &of_state);
                    }
                    let of_gathered = of_sum.dot(&weights.recurrent.t());
                    for row in 0..rows {
                        for (entry, column, weight) in ball.entries_of(row) {
                            let mut target = of_before.row_mut(column);
                            match course.gates.get(entry) {
                                None => target.scaled_add(weight, &of_gathered.row(row)),
                                Some(gate) => target.scaled_add(weight, &(gate * &of_gathered.row(row))),
                            }
                        }
                    }
                    of_state = of_before;
                }
                if block == 0 {
                    let products = (&of_drive * drive).sum_axis(Axis(1));
                    added.iter_mut().zip(products).for_each(|(sum, more)| *sum += more);
                } else {
                    let back = of_drive.dot(&weights.input.t());
                    of_below = Some(of_below.map_or_else(|| back.clone(), |sum| longer(sum, &back)));
                }
            }
            of_output = of_below;
        }
        added
    }
}

/// The sum of two tables, with as many rows as the longer one.
fn longer(mut a: Array2<f64>, b: &Array2<f64>) -> Array2<f64> {
    if a.nrows() < b.nrows() {
        return longer(b.clone(), &a);
    }
    let mut part = a.slice_mut(s![..b.nrows(), ..]);
    part += b;
    a
}

impl Course {
    /// Computes one more sweep for the first `rows` vertices.
    fn sweep(&mut self, weights: &BlockWeights, ball: &Ball, rows: usize, leak: f64) {
        let mut z = self.drive.slice(s![..rows, ..]).to_owned();
        let before = self.states.last();
        if let Some(before) = before {
            z += &self.gathered(ball, before.view(), rows).dot(&weights.recurrent);
        }
        // The mean slope between 0 and z; near 0, the slope at 0.
        let slopes = z.mapv(|z| if z.abs() < 1e-8 { 1.0 } else { z.tanh() / z });
        let mut state = &z * &slopes * leak;
        if let Some(before) = before.filter(|_| leak != 1.0) {
            state.scaled_add(1.0 - leak, &before.slice(s![..rows, ..]));
        }
        self.states.push(state);
        self.slopes.push(slopes);
    }

    fn gathered(&self, ball: &Ball, states: ArrayView2<'_, f64>, rows: usize) -> Array2<f64> {
        let mut sums = Array2::zeros((rows, states.ncols()));
        for (row, mut sum) in sums.outer_iter_mut().enumerate() {
            for (entry, column, weight) in ball.entries_of(row) {
                match self.gates.get(entry) {
                    None => sum.scaled_add(weight, &states.row(column)),
                    Some(gate) => sum.scaled_add(weight, &(gate * &states.row(column))),
                }
            }
        }
        sums
    }
}

/// The gate of every entry of the ball; empty if edges have no labels and attributes.
fn gates(weights: &BlockWeights, ball: &Ball, edges: &EdgeInputs, units: usize) -> Result<Vec<Array1<f64>>> {
    if edges.is_empty() {
        return Ok(Vec::new());
    }
    memory::ask_array("the gates around a vertex", &[ball.entries.len(), units], 8)?;
    let gate = |&entry: &usize| weights.gate.gate(edges.labels(entry), edges.attributes(entry), units);
    Ok(ball.entries.iter().map(gate).collect())
}

#[cfg(test)]
mod tests;
