//! What is measured for the paper's tables beside the cells: sizes of graphs,
//! and how the cost grows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::statistics::Statistics;

/// A line of a run's records.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum PaperRecord {
    /// Sizes of a dataset's graphs, in a file of their own.
    Statistics(Statistics),
    /// A time that belongs to no cell.
    Measured {
        /// What was measured.
        experiment: Experiment,
        /// At which size: vertices, or blocks.
        at: usize,
        /// How long it took, on one thread.
        seconds: f64,
    },
}

/// What is timed beside the cells.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Embedding a grid of so many vertices.
    Vertices,
    /// Embedding a dataset with so many blocks, the sum of their units being the same.
    Blocks,
}

/// All of it that a run knows.
#[derive(Clone, Debug, Default)]
pub struct PaperMeasurements {
    /// Sizes of graphs.
    pub statistics: Vec<Statistics>,
    /// Times of experiments, by size; of several the last.
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
