//! Charts of measurements: many small plots with a shared legend.
//!
//! An architecture has the same colour and shape in all of them. The charts of predictions against
//! true values ([`roc`], [`precision_recall`], [`calibration`], [`confusion`], [`against`]) do not
//! depend on architectures.

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

/// The colour index of an architecture: the paper's four, then all others.
fn architecture(pool: &str) -> usize {
    POOLS.iter().position(|name| *name == pool).unwrap_or(POOLS.len())
}

/// A grey that is visible on light and dark backgrounds.
const GREY: &str = "#8d94a0";
