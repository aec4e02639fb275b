//! The paper's own figures, transcribed by `paper/transcribe.py` from its text.
//!
//! The figures are as printed, errors included. Table 4 mixes undirected edges
//! (original graphs of the TU Dortmund sets) with stored entries including self loops
//! (pooled graphs, B-easy, B-hard). B-easy's 7014 edges after one NDP pooling must be
//! 701.4. The printed rho is not the spectral radius of `Ã`, which is 1 for every
//! undirected graph with an edge.
//!
//! ```
//! use stepwell_lab::paper::table4;
//! let row = table4("NCI1", "ndp", 1).unwrap();
//! assert_eq!((row.vertices, row.edges), (Some(15.2), Some(44.8)));
//! ```

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A line of Table 1.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct DatasetStatistics {
    /// The dataset's name in Stepwell.
    pub dataset: String,
    /// Graphs.
    pub graphs: usize,
    /// Classes of graphs.
    pub classes: usize,
    /// Mean number of vertices.
    pub vertices: f64,
    /// Mean number of edges, by the paper's count.
    pub edges: f64,
    /// Attributes of a vertex.
    pub attributes: usize,
    /// Whether vertices have labels.
    pub labels: bool,
}

static TABLE1: LazyLock<Vec<DatasetStatistics>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../paper/table1.json")).expect("a checked table"));

/// The row of a dataset in Table 1.
pub fn table1(dataset: &str) -> Option<&'static DatasetStatistics> {
    TABLE1.iter().find(|row| row.dataset == dataset)
}

/// One group of cells of Table 4: a dataset after some poolings.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PooledStatistics {
    /// The dataset's name in Stepwell.
    pub dataset: String,
    /// none, graclus, nmf or ndp.
    pub pool: String,
    /// Number of poolings; 0 for the original graphs.
    pub level: usize,
    /// Mean number of vertices, N. `None` if the paper's run ran out of memory.
    pub vertices: Option<f64>,
    /// Mean number of edges, M, by the paper's count.
    pub edges: Option<f64>,
    /// The printed mean eigenvalue.
    pub rho: Option<f64>,
}

static TABLE4: LazyLock<Vec<PooledStatistics>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../paper/table4.json")).expect("a checked table"));

/// The row of a dataset after `level` poolings in Table 4.
pub fn table4(dataset: &str, pool: &str, level: usize) -> Option<&'static PooledStatistics> {
    let pool = if level == 0 { "none" } else { pool };
    TABLE4.iter().find(|row| row.dataset == dataset && row.pool == pool && row.level == level)
}

/// A cell of Tables 2 (two blocks) and 3 (three).
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PaperResult {
    /// The dataset's name in Stepwell.
    pub dataset: String,
    /// none, graclus, nmf or ndp.
    pub pool: String,
    /// Number of blocks of the model.
    pub blocks: usize,
    /// Mean accuracy over folds, in percent. `None` if the paper's run ran out of
    /// memory.
    pub accuracy: Option<f64>,
    /// Its standard deviation.
    pub std: Option<f64>,
    /// Mean seconds of training.
    pub train_seconds: Option<f64>,
    /// Mean seconds of testing.
    pub test_seconds: Option<f64>,
}

static RESULTS: LazyLock<Vec<PaperResult>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../paper/results.json")).expect("a checked table")
});

/// The datasets of Tables 2 and 3, in the paper's order.
pub fn datasets() -> impl Iterator<Item = &'static str> {
    let first = |row: &&PaperResult| row.pool == "none" && row.blocks == 2;
    RESULTS.iter().filter(first).map(|row| row.dataset.as_str())
}

/// A dataset's position in the paper's tables. All others come last.
pub(crate) fn order(dataset: &str) -> usize {
    datasets().position(|name| name == dataset).unwrap_or(usize::MAX)
}

impl PaperResult {
    /// Seconds of training and testing.
    pub fn seconds(&self) -> Option<f64> {
        Some(self.train_seconds? + self.test_seconds?)
    }

    /// Points of accuracy per second of training and testing.
    pub fn accuracy_per_second(&self) -> Option<f64> {
        Some(self.accuracy? / self.seconds()?)
    }
}

/// The cell of a model in Tables 2 and 3.
pub fn result(dataset: &str, pool: &str, blocks: usize) -> Option<&'static PaperResult> {
    RESULTS.iter().find(|row| row.dataset == dataset && row.pool == pool && row.blocks == blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(TABLE1.len(), 12);
        assert_eq!(table1("REDDIT-MULTI-5K").map(|row| (row.graphs, row.vertices)), Some((4999, 508.52)));
        assert_eq!(TABLE4.len(), 84);
        assert_eq!(table4("DD", "nmf", 1).and_then(|row| row.edges), Some(24996.2));
        assert_eq!(table4("COLLAB", "nmf", 2).map(|row| row.vertices), Some(None), "a memory error");
        assert_eq!(table4("DD", "graclus", 0).and_then(|row| row.vertices), Some(284.3));
        assert!(table4("MUTAG", "ndp", 1).is_none());
        assert_eq!(datasets().count(), 12);
        assert_eq!(
            result("DD", "graclus", 3).map(|row| (row.accuracy, row.std)),
            Some((Some(71.2), Some(3.8)))
        );
        assert_eq!(result("COLLAB", "nmf", 3).map(|row| row.accuracy), Some(None), "a memory error");
    }
}
