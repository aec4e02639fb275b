use anyhow::{Context, Result, anyhow};
use clap::Args;
use ndarray::{Array2, ArrayView2, s};
use serde::Serialize;
use stepwell::config::ModelConfig;
use stepwell::features::Inputs;
use stepwell::reservoir::{BlockWeights, Convergence, Prepared, Run, Weights, states};
use stepwell::theory::{
    RecurrentSize, contraction_rate, distance_bound, leaky_contraction, residual, stability, sweeps_bound,
};
use stepwell_data::Dataset;

use crate::BadUsage;
use crate::args::Input;
use crate::model::ModelArgs;
use crate::terminal::{Terminal, table};

/// Compare the proved bounds on convergence with measurements
///
/// For every block: the contraction factor K, the number of sweeps T that the
/// paper's theorem allows, the sweeps made, and a bound on the distance to the
/// fixed point. Where K is 1 or more there is no bound, though most such
/// iterations converge.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  stepwell converge MUTAG --spectral-radius 0.4
  stepwell converge b-hard --solver jacobi --recurrence orthogonal --json")]
pub struct Converge {
    #[command(flatten)]
    input: Input,

    /// One JSON object on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Serialize)]
struct ConvergenceSummary {
    dataset: String,
    graphs: usize,
    blocks: Vec<BlockConvergence>,
}

/// One block, over all graphs.
#[derive(Clone, Default, Serialize)]
struct BlockConvergence {
    stack: usize,
    block: usize,
    /// The largest contraction factor.
    contraction_max: f64,
    /// Share of graphs with a certificate, K < 1.
    certified: f64,
    /// Share of graphs that meet the necessary condition, as far as it could be decided.
    necessary: f64,
    /// Mean of T over the certified graphs.
    bound_mean: Option<f64>,
    bound_max: Option<u64>,
    sweeps_mean: f64,
    sweeps_max: u32,
    /// Share of graphs that converged.
    converged: f64,
    /// Mean factor by which changes shrank from sweep to sweep.
    rate_mean: Option<f64>,
    /// The largest distance from the fixed point that the certificate leaves open.
    distance_max: Option<f64>,
    /// The largest change another sweep would make.
    residual_max: f64,
}

impl Converge {
    pub fn run(&self, terminal: &Terminal) -> Result<()> {
        let options = ModelConfig { concat: true, ..self.model.config().context(BadUsage)? };
        if options.levels() > 0 || options.reservoirs > 1 {
            let refusal = "'converge' supports neither pooling nor several reservoirs per block: remove --pool and --reservoirs";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        let source = terminal.open(&self.input)?;
        let map = terminal.survey(&source, false, &options)?.features;
        let weights = Weights::random(&options, map.width())?;
        let mut tallies = vec![Tally::default(); options.stacks * options.blocks];
        let mut graphs = 0;
        terminal.counting("converging", |progress| {
            source.visit(|piece| {
                let inputs = map.apply(&piece.graphs)?;
                let prepared = Prepared::new(&piece.graphs, &inputs, &options)?;
                let (tables, runs) = states(&weights, &prepared, &options, |done| progress(graphs + done))?;
                graphs += piece.len();
                let piece = Piece { dataset: piece, inputs: &inputs, tables: &tables, runs: &runs };
                for (index, tally) in tallies.iter_mut().enumerate() {
                    let (stack, block) = (index / options.blocks, index % options.blocks);
                    tally.add(&piece, index, block, &weights.stacks()[stack][block][0], &options)?;
                }
                Ok::<(), anyhow::Error>(())
            })
        })?;
        let summary = ConvergenceSummary {
            dataset: source.name,
            graphs,
            blocks: tallies
                .iter()
                .enumerate()
                .map(|(index, tally)| tally.summary(index / options.blocks, index % options.blocks))
                .collect(),
        };
        if self.json {
            return terminal.json(&summary);
        }
        terminal.print(&describe(&summary))
    }
}

/// Graphs with the states of all their blocks.
struct Piece<'a> {
    dataset: &'a Dataset,
    inputs: &'a Inputs,
    tables: &'a [Array2<f64>],
    runs: &'a Array2<Run>,
}

impl Piece<'_> {
    /// What drives a block on all vertices: `X V`, or `H V` of the block before.
    fn drive(&self, index: usize, block: usize, weights: &BlockWeights) -> Result<Array2<f64>> {
        if block > 0 {
            return Ok(self.tables[index - 1].dot(&weights.input));
        }
        let vertices = self.dataset.graphs.num_vertices();
        let mut rows = Vec::with_capacity(vertices * self.inputs.width());
        (0..vertices).for_each(|vertex| self.inputs.extend_with_row(vertex, &mut rows));
        Ok(Array2::from_shape_vec((vertices, self.inputs.width()), rows)?.dot(&weights.input))
    }
}

/// Sums over graphs.
#[derive(Clone, Default)]
struct Tally {
    graphs: usize,
    block: BlockConvergence,
    bounds: Mean,
    rates: Mean,
    sweeps: Mean,
    certified: usize,
    necessary: Mean,
    converged: usize,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Tally {
    fn add(
        &mut self,
        piece: &Piece<'_>,
        index: usize,
        block: usize,
        weights: &BlockWeights,
        options: &ModelConfig,
    ) -> Result<()> {
        let drive = piece.drive(index, block, weights)?;
        let size = RecurrentSize::of(weights.recurrent.view())?;
        let found = &mut self.block;
        for graph in piece.dataset.graphs.iter() {
            let offsets = &piece.dataset.graphs.vertex_offsets()[graph.index()..];
            let rows = |table: &'_ Array2<f64>| -> Array2<f64> {
                table.slice(s![offsets[0]..offsets[1], ..]).to_owned()
            };
            let (drive, state) = (rows(&drive), rows(&piece.tables[index]));
            let run = piece.runs[[graph.index(), index]];
            let stability = stability(graph, options.normalize, size)?;
            let first = options.leak * norm(drive.mapv(f64::tanh).view());
            let residual =
                residual(graph, options.normalize, weights.recurrent.view(), drive.view(), state.view());

            self.graphs += 1;
            self.sweeps.add(f64::from(run.sweeps));
            self.converged += usize::from(run.converged != Convergence::No);
            found.sweeps_max = found.sweeps_max.max(run.sweeps);
            found.residual_max = found.residual_max.max(residual);
            found.contraction_max = found.contraction_max.max(stability.contraction);
            if let Some(necessary) = stability.necessary {
                self.necessary.add(f64::from(u8::from(necessary)));
            }
            if let Some(rate) = contraction_rate(run.first_change, run.change, run.sweeps) {
                self.rates.add(rate);
            }
            let contraction = leaky_contraction(stability.contraction, options.leak);
            if let Some(bound) = sweeps_bound(contraction, options.tol, first) {
                self.bounds.add(bound as f64);
                found.bound_max = found.bound_max.max(Some(bound));
            }
            if let Some(distance) = distance_bound(stability.contraction, residual) {
                self.certified += 1;
                found.distance_max = Some(found.distance_max.unwrap_or(0.0).max(distance));
            }
        }
        Ok(())
    }

    fn summary(&self, stack: usize, block: usize) -> BlockConvergence {
        let share = |count: usize| count as f64 / self.graphs.max(1) as f64;
        BlockConvergence {
            stack,
            block,
            certified: share(self.certified),
            necessary: self.necessary.get().unwrap_or(0.0),
            bound_mean: self.bounds.get(),
            sweeps_mean: self.sweeps.get().unwrap_or(0.0),
            converged: share(self.converged),
            rate_mean: self.rates.get(),
            ..self.block.clone()
        }
    }
}

fn norm(table: ArrayView2<'_, f64>) -> f64 {
    table.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn describe(summary: &ConvergenceSummary) -> String {
    let none = || "none".to_owned();
    let rows = summary.blocks.iter().map(|block| {
        vec![
            format!("{}.{}", block.stack + 1, block.block + 1),
            format!("{:.3}", block.contraction_max),
            format!("{:.0} %", 100.0 * block.certified),
            block.bound_mean.map_or_else(none, |bound| format!("{bound:.1}")),
            format!("{:.1}", block.sweeps_mean),
            block.sweeps_max.to_string(),
            format!("{:.0} %", 100.0 * block.converged),
            block.rate_mean.map_or_else(none, |rate| format!("{rate:.3}")),
            format!("{:.1e}", block.residual_max),
            block.distance_max.map_or_else(none, |distance| format!("{distance:.1e}")),
        ]
    });
    let header = [
        "stack.block",
        "K max",
        "certified",
        "T mean",
        "sweeps",
        "most",
        "converged",
        "rate",
        "residual",
        "distance ≤",
    ];
    format!("{}, {} graphs\n{}", summary.dataset, summary.graphs, table(&header, rows))
}
