//! Simple models to hold the reservoirs against, in the same protocol with the
//! same readout.
//!
//! ```
//! use stepwell_lab::baselines::Baseline;
//! assert_eq!(Baseline::Subtrees.name(), "wl");
//! assert_eq!(Baseline::Subtrees.settings()[0], "1 round, counts");
//! ```

mod degree_profile;
mod subtrees;

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use stepwell::config::{EdgeGate, ModelConfig};
use stepwell::features::Inputs;
use stepwell::graph::GraphBatch;

pub use subtrees::Counts;

/// A model without a reservoir.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Baseline {
    /// Knows the targets alone: the most frequent class, or the mean.
    #[serde(rename = "majority")]
    Majority,
    /// Knows what vertices carry, not how they are joined: the sum or the mean
    /// of the inputs over the vertices.
    #[serde(rename = "features")]
    Features,
    /// Histograms of the local degree profile (Cai and Wang, 2018): of the
    /// degrees and of the minimum, maximum, mean and standard deviation of the
    /// neighbours' degrees; where edges have labels, of the degrees by edges of each.
    #[serde(rename = "degree-profile")]
    DegreeProfile,
    /// Counts of Weisfeiler–Lehman subtrees (Shervashidze et al., 2011), with the labels
    /// of vertices and edges.
    #[serde(rename = "wl")]
    Subtrees,
}

/// What a baseline makes of graphs.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// A vector for every graph.
    Vectors(Array2<f64>),
    /// Counts, in more columns than can be written down.
    Counts(Counts),
}

/// Parts a doubling of the degree is cut into.
const BINS: [usize; 4] = [1, 2, 4, 8];
const ROUNDS: usize = 4;

impl Baseline {
    /// All of them, the simplest first.
    pub const ALL: [Self; 4] = [Self::Majority, Self::Features, Self::DegreeProfile, Self::Subtrees];

    /// The name it has everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Features => "features",
            Self::DegreeProfile => "degree-profile",
            Self::Subtrees => "wl",
        }
    }

    /// The settings to choose from by validation, in words.
    pub fn settings(self) -> Vec<String> {
        match self {
            Self::Majority => vec!["none".into()],
            Self::Features => vec!["sum".into(), "mean".into()],
            Self::DegreeProfile => {
                BINS.iter().map(|bins| format!("{bins} bins in a doubling of the degree")).collect()
            }
            Self::Subtrees => (1..=ROUNDS)
                .flat_map(|rounds| {
                    let plural = if rounds == 1 { "" } else { "s" };
                    ["counts", "unit length"].map(|kind| format!("{rounds} round{plural}, {kind}"))
                })
                .collect(),
        }
    }

    /// The options that its inputs depend on.
    pub(crate) fn config(self) -> ModelConfig {
        let edge_gate = match self {
            Self::Majority | Self::Features => EdgeGate::None,
            Self::DegreeProfile | Self::Subtrees => EdgeGate::Signs,
        };
        ModelConfig { edge_gate, ..ModelConfig::default() }
    }

    /// The rows of some graphs under one of the settings. Inputs are those of
    /// all graphs' vertices.
    pub fn rows(self, setting: usize, graphs: &GraphBatch, inputs: &Inputs, chosen: &[usize]) -> Rows {
        match self {
            // A column that says nothing leaves the intercept.
            Self::Majority => Rows::Vectors(Array2::zeros((chosen.len(), 1))),
            Self::Features => Rows::Vectors(sums(graphs, inputs, chosen, setting == 1)),
            Self::DegreeProfile => {
                let bins = BINS[setting % BINS.len()];
                Rows::Vectors(degree_profile::histograms(graphs, inputs.edges(), chosen, bins))
            }
            Self::Subtrees => {
                Rows::Counts(subtrees::count(graphs, inputs, chosen, 1 + setting / 2, setting % 2 == 1))
            }
        }
    }
}

fn sums(graphs: &GraphBatch, inputs: &Inputs, chosen: &[usize], mean: bool) -> Array2<f64> {
    let mut found = Array2::zeros((chosen.len(), inputs.width()));
    let mut row = Vec::new();
    for (mut sum, &graph) in found.rows_mut().into_iter().zip(chosen) {
        let begin = graphs.vertex_offsets()[graph];
        let vertices = graphs.graph(graph).num_vertices();
        for vertex in begin..begin + vertices {
            row.clear();
            inputs.extend_with_row(vertex, &mut row);
            sum += &ndarray::aview1(&row);
        }
        if mean && vertices > 0 {
            sum /= vertices as f64;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use stepwell::features::{FeatureMap, FeatureOptions};
    use stepwell::graph::{BatchBuilder, EdgeList};

    use super::*;

    #[test]
    fn sums_and_means_of_what_vertices_carry() {
        let mut builder = BatchBuilder::default();
        builder
            .push(&EdgeList { vertex_labels: Some((&[1, 2, 1], 1)), ..EdgeList::new(3, &[0], &[1]) })
            .unwrap();
        builder.push(&EdgeList { vertex_labels: Some((&[], 1)), ..EdgeList::new(0, &[], &[]) }).unwrap();
        builder.push(&EdgeList { vertex_labels: Some((&[2], 1)), ..EdgeList::new(1, &[], &[]) }).unwrap();
        let graphs = builder.finish();
        let inputs = FeatureMap::fit(&graphs, &FeatureOptions::default()).unwrap().apply(&graphs).unwrap();
        let rows = |setting| Baseline::Features.rows(setting, &graphs, &inputs, &[0, 1, 2]);
        assert_eq!(rows(0), Rows::Vectors(ndarray::array![[2.0, 1.0], [0.0, 0.0], [0.0, 1.0]]));
        assert_eq!(rows(1), Rows::Vectors(ndarray::array![[2.0 / 3.0, 1.0 / 3.0], [0.0, 0.0], [0.0, 1.0]]));
        assert_eq!(
            Baseline::Majority.rows(0, &graphs, &inputs, &[1, 2]),
            Rows::Vectors(Array2::zeros((2, 1)))
        );
    }
}
