//! Charts of what was measured: many small plots that share a legend.
//!
//! Architectures have the same colour and the same shape in all of them.

mod bars;
mod benchmark;
mod clouds;
mod frontier;
mod key;
mod lines;
mod marks;
mod ratios;

pub use bars::{BarGroup, bars};
pub use benchmark::benchmark;
pub use clouds::{Cloud, CloudRow, clouds};
pub use frontier::{Field, Spot, frontier, pareto};
pub use lines::{Line, LinePanel, lines};
pub use ratios::{RatioRow, ratios};

use crate::results::POOLS;

/// The architecture's place among those that have a colour: the paper's four,
/// then whatever else there is.
fn architecture(pool: &str) -> usize {
    POOLS.iter().position(|name| *name == pool).unwrap_or(POOLS.len())
}

/// Grey that is seen on light paper and on dark.
const GREY: &str = "#8d94a0";
