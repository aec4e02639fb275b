//! Measures how the cost grows (paper §5.2) with the number of vertices, and with the
//! number of blocks that share the same units.

use std::ops::ControlFlow;
use std::time::Instant;

use stepwell::config::ModelConfig;
use stepwell::features::{FeatureMap, Inputs};
use stepwell::reservoir::{Prepared, Weights, embed};
use stepwell::rng::Stream;
use stepwell_data::Dataset;
use stepwell_data::synthetic::Family;

use crate::error::Result;
use crate::evaluate::on_one_thread;

/// Sides of the grids whose embedding is timed.
pub const SIDES: [usize; 4] = [32, 100, 316, 1000];
/// Numbers of blocks that share [`UNITS`] units.
pub const BLOCKS: [usize; 4] = [1, 2, 3, 4];
/// Total units of all blocks.
pub const UNITS: usize = 96;

/// Seconds to embed a square grid, a graph of bounded degree, with a fixed number of
/// sweeps: the minimum of three runs.
pub fn grid_seconds(side: usize) -> Result<f64> {
    let grid = Family::Grid { width: side, height: side }.generate(0)?;
    let mut stream = Stream::new(0, "grid inputs", [side as u64, 0]);
    let rows = (0..4 * side * side).map(|_| stream.uniform_in(-1.0, 1.0)).collect();
    let inputs = Inputs::from_rows(4, rows)?;
    let config = ModelConfig { blocks: 1, fixed_sweeps: Some(10), lift: false, ..Default::default() };
    let prepared = Prepared::new(grid.graph.as_batch(), &inputs, &config)?;
    least_seconds(&prepared, &config)
}

/// Seconds to embed a dataset with [`UNITS`] units in `blocks` blocks: the minimum of
/// three runs.
pub fn depth_seconds(dataset: &Dataset, blocks: usize) -> Result<f64> {
    let config = ModelConfig { blocks, units: (UNITS / blocks.max(1)).into(), ..Default::default() };
    let map = FeatureMap::fit(&dataset.graphs, &config.features())?;
    let inputs = map.apply(&dataset.graphs)?;
    let prepared = Prepared::new(&dataset.graphs, &inputs, &config)?;
    least_seconds(&prepared, &config)
}

fn least_seconds(prepared: &Prepared, config: &ModelConfig) -> Result<f64> {
    let weights = Weights::random(config, prepared.features())?;
    on_one_thread(|| {
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let clock = Instant::now();
            embed(&weights, prepared, config, |_| ControlFlow::Continue(()))?;
            least = least.min(clock.elapsed().as_secs_f64());
        }
        Ok(least)
    })
}
