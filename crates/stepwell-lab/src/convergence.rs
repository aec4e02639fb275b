//! Compares the theory of a model's sweeps (paper §5) with the sweeps on actual graphs.

use std::ops::ControlFlow;

use ndarray::{Array1, Array2, s};
use serde::Serialize;
use stepwell::features::EdgeInputs;
use stepwell::graph::GraphBatch;
use stepwell::model::Model;
use stepwell::pyramid::Pyramid;
use stepwell::reservoir::{BlockWeights, Convergence};
use stepwell::theory::{
    RecurrentSize, contraction_rate, distance_bound, leaky_contraction, residual, stability, sweeps_bound,
};

use crate::error::Result;

/// The sweeps of one block, over all graphs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BlockConvergence {
    /// The stack, from 0.
    pub stack: usize,
    /// The block within the stack, from 0.
    pub block: usize,
    /// The largest contraction factor.
    pub contraction_max: f64,
    /// Share of graphs with a certificate, K < 1.
    pub certified: f64,
    /// Share of graphs that meet the necessary condition, among those for which it
    /// could be decided. `None` with gates.
    pub necessary: Option<f64>,
    /// Mean of the bound T over the certified graphs.
    pub bound_mean: Option<f64>,
    /// The largest T.
    pub bound_max: Option<u64>,
    /// Mean number of sweeps.
    pub sweeps_mean: f64,
    /// The most sweeps.
    pub sweeps_max: u32,
    /// Share of graphs that converged; `None` if the number of sweeps is fixed.
    pub converged: Option<f64>,
    /// Mean factor by which changes shrank from sweep to sweep.
    pub rate_mean: Option<f64>,
    /// The largest distance from the fixed point that the certificate permits.
    pub distance_max: Option<f64>,
    /// The largest change another sweep would make.
    pub residual_max: f64,
}

/// One block on one graph.
struct GraphConvergence {
    contraction: f64,
    necessary: Option<bool>,
    bound: Option<u64>,
    sweeps: u32,
    converged: bool,
    rate: Option<f64>,
    distance: Option<f64>,
    residual: f64,
}

/// Collects the sweeps of a model without pooling, on graphs that arrive piece by
/// piece.
pub struct ConvergenceStudy<'a> {
    model: &'a Model,
    /// By stack and block.
    blocks: Vec<Vec<GraphConvergence>>,
}

impl<'a> ConvergenceStudy<'a> {
    /// Starts a study without any graphs.
    pub fn new(model: &'a Model) -> Self {
        let blocks = model.config.stacks * model.config.blocks;
        Self { model, blocks: (0..blocks).map(|_| Vec::new()).collect() }
    }

    /// Adds more graphs.
    pub fn add(
        &mut self,
        graphs: &GraphBatch,
        progress: impl Fn(usize) -> ControlFlow<()> + Sync,
    ) -> Result<()> {
        let (model, config) = (self.model, &self.model.config);
        let inputs = model.features.apply(graphs)?;
        let prepared = model.prepare(graphs, Pyramid::default(), || progress(0))?;
        let (states, runs) = model.states(&prepared, progress)?;
        for (index, found) in self.blocks.iter_mut().enumerate() {
            let (stack, block) = (index / config.blocks, index % config.blocks);
            let weights = &model.weights.stacks()[stack][block][0];
            let size = RecurrentSize::of(weights.recurrent.view())?;
            // The input term of the block: X V, or H V with the states of the previous block.
            let drive = if block > 0 {
                states[index - 1].dot(&weights.input)
            } else {
                let shape = (graphs.num_vertices(), inputs.width());
                let mut rows = Vec::with_capacity(shape.0 * shape.1);
                (0..shape.0).for_each(|vertex| inputs.extend_with_row(vertex, &mut rows));
                Array2::from_shape_vec(shape, rows).expect("a row per vertex").dot(&weights.input)
            };
            for graph in graphs.iter() {
                let offsets = &graphs.vertex_offsets()[graph.index()..];
                let vertices = s![offsets[0]..offsets[1], ..];
                let (drive, state) = (drive.slice(vertices), states[index].slice(vertices));
                let run = runs[[graph.index(), index]];
                let entry = graphs.row_offsets()[offsets[0]];
                let gate = |at: usize| gate(weights, inputs.edges(), entry + at);
                let stability = stability(graph, config.normalize, size, !inputs.edges().is_empty())?;
                let first = drive.iter().map(|x| x.tanh().powi(2)).sum::<f64>().sqrt();
                let recurrent = weights.recurrent.view();
                let residual = residual(graph, config.normalize, recurrent, drive, state, gate);
                let contraction = leaky_contraction(stability.contraction, config.leak);
                found.push(GraphConvergence {
                    contraction: stability.contraction,
                    necessary: stability.necessary,
                    bound: sweeps_bound(contraction, config.tol, first),
                    sweeps: run.sweeps,
                    converged: run.converged != Convergence::No,
                    rate: contraction_rate(run.first_change, run.change, run.sweeps),
                    distance: distance_bound(stability.contraction, residual),
                    residual,
                });
            }
        }
        Ok(())
    }

    /// All blocks, stack by stack.
    pub fn blocks(&self) -> Vec<BlockConvergence> {
        let each = self.model.config.blocks;
        let summary = |(index, graphs): (usize, &Vec<GraphConvergence>)| {
            let share = |is: fn(&GraphConvergence) -> bool| {
                mean(graphs.iter().map(|graph| f64::from(u8::from(is(graph))))).unwrap_or(0.0)
            };
            let most = |value: fn(&GraphConvergence) -> f64| graphs.iter().map(value).fold(0.0, f64::max);
            let necessary = graphs.iter().filter_map(|graph| graph.necessary);
            BlockConvergence {
                stack: index / each,
                block: index % each,
                contraction_max: most(|graph| graph.contraction),
                certified: share(|graph| graph.distance.is_some()),
                necessary: mean(necessary.map(|is| f64::from(u8::from(is)))),
                bound_mean: mean(graphs.iter().filter_map(|graph| graph.bound).map(|bound| bound as f64)),
                bound_max: graphs.iter().filter_map(|graph| graph.bound).max(),
                sweeps_mean: mean(graphs.iter().map(|graph| f64::from(graph.sweeps))).unwrap_or(0.0),
                sweeps_max: graphs.iter().map(|graph| graph.sweeps).max().unwrap_or(0),
                converged: self.model.config.fixed_sweeps.is_none().then(|| share(|graph| graph.converged)),
                rate_mean: mean(graphs.iter().filter_map(|graph| graph.rate)),
                distance_max: graphs.iter().filter_map(|graph| graph.distance).reduce(f64::max),
                residual_max: most(|graph| graph.residual),
            }
        };
        self.blocks.iter().enumerate().map(summary).collect()
    }
}

/// The gate of an entry, if edges carry labels or attributes.
fn gate(weights: &BlockWeights, edges: &EdgeInputs, entry: usize) -> Option<Array1<f64>> {
    let gate = || weights.gate.gate(edges.labels(entry), edges.attributes(entry), weights.recurrent.ncols());
    (!edges.is_empty()).then(gate)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}
