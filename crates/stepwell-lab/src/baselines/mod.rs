//! Simple models to compare the reservoirs with, by the same protocol and with the same
//! readout.
//!
//! ```
//! use stepwell_lab::baselines::Baseline;
//! assert_eq!(Baseline::Subtrees.name(), "wl");
//! assert_eq!(Baseline::Subtrees.settings()[0], "1 round, counts");
//! ```

mod degree_profile;
mod subtrees;

use ndarray::{Array2, Axis};
use serde::{Deserialize, Serialize};
use stepwell::colours::Colours;
use stepwell::config::{EdgeGate, ModelConfig};
use stepwell::features::Inputs;
use stepwell::graph::GraphBatch;
use stepwell::readout;

pub use subtrees::{Counts, Product};

/// A model without a reservoir.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Baseline {
    /// Uses the targets alone: predicts the most frequent class, or the mean.
    #[serde(rename = "majority")]
    Majority,
    /// Uses the features of the vertices but not the edges: the sum or the mean of the
    /// inputs over the vertices.
    #[serde(rename = "features")]
    Features,
    /// Histograms of the local degree profile (Cai and Wang, 2018): of the degrees and
    /// of the minimum, maximum, mean and standard deviation of the neighbours' degrees.
    /// If edges have labels, also of the number of edges with each label.
    #[serde(rename = "degree-profile")]
    DegreeProfile,
    /// Counts of Weisfeiler–Lehman subtrees (Shervashidze et al., 2011), with the labels
    /// of vertices and edges.
    #[serde(rename = "wl")]
    Subtrees,
    /// The optimal assignment kernel of the same subtrees (Kriege, Giscard and Wilson, 2016).
    #[serde(rename = "wl-oa")]
    Assignment,
}

/// The rows that a baseline computes from graphs.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// One vector per graph.
    Vectors(Vectors),
    /// Counts, in too many columns for a dense matrix.
    Counts(Counts),
}

/// One vector per graph, and its colours if a model compares them.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// A row per graph.
    pub numbers: Array2<f64>,
    /// The colours of the same graphs.
    pub colours: Option<Colours>,
}

impl From<Array2<f64>> for Vectors {
    fn from(numbers: Array2<f64>) -> Self {
        Self { numbers, colours: None }
    }
}

impl Vectors {
    /// The rows in the form that a readout reads.
    pub fn rows(&self) -> readout::Rows<'_> {
        let colours = self.colours.as_ref().map(|colours| colours.view());
        readout::Rows { vectors: self.numbers.view(), colours }
    }

    /// The vectors of some of the graphs.
    pub fn select(&self, graphs: &[usize]) -> Self {
        let colours = self.colours.as_ref().map(|colours| colours.select(graphs));
        Self { numbers: self.numbers.select(Axis(0), graphs), colours }
    }
}

/// Number of bins that a doubling of the degree is divided into.
const BINS: [usize; 4] = [1, 2, 4, 8];
const ROUNDS: usize = 4;

impl Baseline {
    /// All baselines, the simplest first.
    pub const ALL: [Self; 5] =
        [Self::Majority, Self::Features, Self::DegreeProfile, Self::Subtrees, Self::Assignment];

    /// The name it has everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Features => "features",
            Self::DegreeProfile => "degree-profile",
            Self::Subtrees => "wl",
            Self::Assignment => "wl-oa",
        }
    }

    /// The settings to choose from on validation graphs, as text.
    pub fn settings(self) -> Vec<String> {
        match self {
            Self::Majority => vec!["none".into()],
            Self::Features => vec!["sum".into(), "mean".into()],
            Self::DegreeProfile => {
                BINS.iter().map(|bins| format!("{bins} bins in a doubling of the degree")).collect()
            }
            Self::Subtrees => (1..=ROUNDS)
                .flat_map(|rounds| ["counts", "unit length"].map(|kind| format!("{}, {kind}", told(rounds))))
                .collect(),
            Self::Assignment => (1..=ROUNDS).map(told).collect(),
        }
    }

    /// The options that its inputs depend on.
    pub(crate) fn config(self) -> ModelConfig {
        let edge_gate = match self {
            Self::Majority | Self::Features => EdgeGate::None,
            Self::DegreeProfile | Self::Subtrees | Self::Assignment => EdgeGate::Signs,
        };
        ModelConfig { edge_gate, ..ModelConfig::default() }
    }

    /// The rows of some graphs under one of the settings. `inputs` holds the vertices
    /// of all graphs.
    pub fn rows(self, setting: usize, graphs: &GraphBatch, inputs: &Inputs, chosen: &[usize]) -> Rows {
        match self {
            // A constant column leaves only the intercept.
            Self::Majority => Rows::Vectors(Array2::zeros((chosen.len(), 1)).into()),
            Self::Features => Rows::Vectors(sums(graphs, inputs, chosen, setting == 1).into()),
            Self::DegreeProfile => {
                let bins = BINS[setting % BINS.len()];
                Rows::Vectors(degree_profile::histograms(graphs, inputs.edges(), chosen, bins).into())
            }
            Self::Subtrees => {
                let product = if setting % 2 == 1 { Product::UnitLength } else { Product::Counts };
                Rows::Counts(subtrees::count(graphs, inputs, chosen, 1 + setting / 2, product))
            }
            Self::Assignment => {
                Rows::Counts(subtrees::count(graphs, inputs, chosen, 1 + setting, Product::Assignment))
            }
        }
    }
}

fn told(rounds: usize) -> String {
    format!("{rounds} round{}", if rounds == 1 { "" } else { "s" })
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
        assert_eq!(rows(0), Rows::Vectors(ndarray::array![[2.0, 1.0], [0.0, 0.0], [0.0, 1.0]].into()));
        assert_eq!(
            rows(1),
            Rows::Vectors(ndarray::array![[2.0 / 3.0, 1.0 / 3.0], [0.0, 0.0], [0.0, 1.0]].into())
        );
        assert_eq!(
            Baseline::Majority.rows(0, &graphs, &inputs, &[1, 2]),
            Rows::Vectors(Array2::zeros((2, 1)).into())
        );
    }
}
