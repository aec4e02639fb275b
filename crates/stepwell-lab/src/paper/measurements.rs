//! Measurements for the paper's tables outside the cells: sizes of graphs, and the
//! growth of the cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::statistics::Statistics;

/// A line of a run's records.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum PaperRecord {
    /// Sizes of a dataset's graphs, stored in a separate file.
    Statistics(Statistics),
    /// A time that belongs to no cell.
    Measured {
        /// What was measured.
        experiment: Experiment,
        /// The size: vertices or blocks.
        at: usize,
        /// Seconds on one thread.
        seconds: f64,
    },
}

/// An experiment that is timed outside the cells.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Embedding a grid with the given number of vertices.
    Vertices,
    /// Embedding a dataset with the given number of blocks, at a constant total number
    /// of units.
    Blocks,
}

/// All measurements in the records of a run.
#[derive(Clone, Debug, Default)]
pub struct PaperMeasurements {
    /// Sizes of graphs.
    pub statistics: Vec<Statistics>,
    /// Times of experiments, by size. The last of several wins.
    pub measured: BTreeMap<(Experiment, usize), f64>,
}

impl PaperMeasurements {
    pub(crate) fn add(&mut self, record: PaperRecord) {
        match record {
            PaperRecord::Statistics(found) => self.statistics.push(found),
            PaperRecord::Measured { experiment, at, seconds } => {
                self.measured.insert((experiment, at), seconds);
            }
        }
    }

    /// The times of an experiment, by size.
    pub(crate) fn of(&self, experiment: Experiment) -> Vec<(f64, f64)> {
        let range = (experiment, 0)..=(experiment, usize::MAX);
        self.measured.range(range).map(|(&(_, at), &seconds)| (at as f64, seconds)).collect()
    }
}
