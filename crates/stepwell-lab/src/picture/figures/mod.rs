//! Charts of what was measured: many small plots that share a legend.
//!
//! Architectures have the same colour and the same shape in all of them. Those of
//! predictions against truth ([`roc`], [`precision_recall`], [`calibration`],
//! [`confusion`], [`against`]) know nothing of architectures.

mod against;
mod bars;
mod benchmark;
mod calibration;
mod clouds;
mod confusion;
mod frontier;
mod key;
mod lines;
mod marks;
mod precision_recall;
mod ratios;
mod roc;
mod scored;
mod square;
mod thin;

pub use against::{Against, against};
pub use bars::{BarGroup, bars};
pub use benchmark::benchmark;
pub use calibration::{Bin, calibration, calibration_bins, expected_calibration_error};
pub use clouds::{Cloud, CloudRow, clouds};
pub use confusion::{Confusion, confusion};
pub use frontier::{Field, Spot, frontier, pareto};
pub use lines::{Line, LinePanel, lines};
pub use precision_recall::{precision_recall, precision_recall_points};
pub use ratios::{RatioRow, ratios};
pub use roc::{roc, roc_points};
pub use scored::Curve;

use crate::results::POOLS;

/// The architecture's place among those that have a colour: the paper's four,
/// then whatever else there is.
fn architecture(pool: &str) -> usize {
    POOLS.iter().position(|name| *name == pool).unwrap_or(POOLS.len())
}

/// Grey that is seen on light paper and on dark.
const GREY: &str = "#8d94a0";
