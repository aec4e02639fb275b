//! The summary of a dataset: the statistics of the paper's Table 1, and of Table 4 for the original
//! graphs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use stepwell::graph::{GraphBatch, Labels};
use stepwell::targets::Targets;

use crate::dataset::Dataset;

/// The statistics of one dataset.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Summary {
    /// The name of the dataset, for display.
    pub dataset: String,
    /// The number of graphs.
    pub graphs: usize,
    /// The number of classes; `None` for number targets or no targets.
    pub classes: Option<usize>,
    /// Mean number of vertices, N.
    pub avg_vertices: f64,
    /// Mean number of edges, M: undirected ones counted once, self loops not counted.
    pub avg_edges: f64,
    /// Mean number of stored entries of the adjacency matrix.
    pub avg_nnz: f64,
    /// Self loops of all graphs together.
    pub self_loops: usize,
    /// Distinct vertex labels, summed over columns; 0 without labels.
    pub node_labels: usize,
    /// Attributes per vertex; 0 without attributes.
    pub attributes: usize,
    /// Edge features, and the number of labels per vertex; unknown in old records.
    #[serde(flatten)]
    pub carried: Option<Carried>,
    /// Statistics of each number or binary target; empty for classes.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub targets: Vec<TargetSummary>,
    /// Graphs without a target, if others have one.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub untargeted: usize,
    /// The original graphs, then every level of a pooling.
    pub levels: Vec<LevelSummary>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Statistics of one number or binary target.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TargetSummary {
    /// Its column, or its position if columns have no names.
    pub name: String,
    /// The number of graphs whose target is known.
    pub known: usize,
    /// The number of graphs with a 1, for binary targets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub positives: Option<usize>,
    /// The distribution of number targets, if any is known.
    #[serde(flatten, skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<Spread>,
}

/// The distribution of numbers.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Their population standard deviation.
    pub std: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Self> {
        let count = values.len() as f64;
        // Summed after division by the count, so that large numbers do not overflow.
        let mean = values.iter().map(|value| value / count).sum::<f64>();
        let variance = values.iter().map(|value| (value - mean).powi(2) / count).sum::<f64>();
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &value| (min.min(value), max.max(value)));
        (!values.is_empty()).then_some(Self { mean, std: variance.sqrt(), min, max })
    }
}

impl TargetSummary {
    /// Summarises every number or binary target of a dataset.
    pub fn of(dataset: &Dataset) -> Vec<Self> {
        let (Targets::Numbers(rows) | Targets::Binary(rows)) = &dataset.targets else { return Vec::new() };
        let binary = matches!(dataset.targets, Targets::Binary(_));
        let columns = rows.columns().into_iter().enumerate();
        let summary = |(at, column): (usize, ndarray::ArrayView1<'_, f64>)| {
            let known: Vec<f64> = column.iter().copied().filter(|value| !value.is_nan()).collect();
            let unnamed = rows.ncols() == 1 && dataset.target_names.is_empty();
            Self {
                name: if unnamed { "y".into() } else { dataset.target_name(at) },
                known: known.len(),
                positives: binary.then(|| known.iter().filter(|value| **value == 1.0).count()),
                spread: if binary { None } else { Spread::of(&known) },
            }
        };
        columns.map(summary).collect()
    }
}

/// Edge features, and the number of labels per vertex.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Carried {
    /// Labels per vertex; 0 without labels.
    pub node_label_columns: usize,
    /// Distinct edge labels, summed over columns; 0 without labels.
    pub edge_labels: usize,
    /// Labels per edge; 0 without labels.
    pub edge_label_columns: usize,
    /// Attributes per edge; 0 without attributes.
    pub edge_attributes: usize,
}

impl Carried {
    /// Counts the features of graphs.
    pub fn of(graphs: &GraphBatch) -> Self {
        Self {
            node_label_columns: graphs.vertex_labels().map_or(0, |labels| labels.width),
            edge_labels: distinct(graphs.edge_labels()),
            edge_label_columns: graphs.edge_labels().map_or(0, |labels| labels.width),
            edge_attributes: graphs.edge_attributes().map_or(0, |a| a.width),
        }
    }
}

/// The statistics of one level of a pyramid.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LevelSummary {
    /// The number of poolings before this level; 0 for the original graphs.
    pub level: usize,
    /// Mean number of vertices.
    pub avg_vertices: f64,
    /// The same with the fake vertices of the paper's Graclus, if that is the pooling.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub avg_padded_vertices: Option<f64>,
    /// Mean number of edges, counted as in [`Summary::avg_edges`].
    pub avg_edges: f64,
    /// Mean number of stored entries.
    pub avg_nnz: f64,
    /// Mean spectral radius of the normalised adjacency matrix. It is 1 for an undirected graph
    /// with an edge and 0 without edges; unknown for directed graphs.
    pub rho: Option<f64>,
    /// Share of graphs with a bipartite component that has an edge.
    pub bipartite: f64,
}

impl Summary {
    /// Computes all statistics in one pass.
    pub fn of(dataset: &Dataset) -> Self {
        let graphs = &dataset.graphs;
        let level = LevelSummary::of(0, graphs);
        Self {
            dataset: dataset.name.clone(),
            graphs: graphs.len(),
            classes: dataset.known_targets().labels().map(|labels| labels.distinct().len()),
            avg_vertices: level.avg_vertices,
            avg_edges: level.avg_edges,
            avg_nnz: level.avg_nnz,
            self_loops: graphs.iter().map(|graph| graph.num_self_loops()).sum(),
            node_labels: distinct(graphs.vertex_labels()),
            attributes: graphs.vertex_attributes().map_or(0, |a| a.width()),
            carried: Some(Carried::of(graphs)),
            targets: TargetSummary::of(dataset),
            untargeted: dataset.untargeted(),
            levels: vec![level],
        }
    }
}

/// The number of distinct labels, summed over columns.
fn distinct(labels: Option<&Labels>) -> usize {
    let Some(labels) = labels else { return 0 };
    let column = |column| labels.values.iter().skip(column).step_by(labels.width);
    (0..labels.width).map(|at| column(at).collect::<BTreeSet<_>>().len()).sum()
}

impl LevelSummary {
    /// Computes the statistics of one level.
    pub fn of(level: usize, graphs: &GraphBatch) -> Self {
        let mean = |total: usize| total as f64 / graphs.len().max(1) as f64;
        let with_edges = graphs.iter().filter(|graph| graph.num_entries() > 0).count();
        Self {
            level,
            avg_vertices: mean(graphs.num_vertices()),
            avg_padded_vertices: None,
            avg_edges: mean(graphs.iter().map(|graph| graph.num_edges()).sum()),
            avg_nnz: mean(graphs.num_entries()),
            rho: (!graphs.any_directed()).then(|| mean(with_edges)),
            bipartite: mean(graphs.iter().filter(|graph| graph.has_bipartite_component()).count()),
        }
    }
}

#[cfg(test)]
mod tests {
    use stepwell::graph::{BatchBuilder, EdgeList};

    use super::*;

    #[test]
    fn counts_are_those_of_a_small_set() {
        let mut builder = BatchBuilder::default();
        // A path, a triangle with a self loop, a lone vertex.
        builder
            .push(&EdgeList { vertex_labels: Some((&[1, 1, 2], 1)), ..EdgeList::new(3, &[0, 1], &[1, 2]) })
            .unwrap();
        let triangle = EdgeList::new(3, &[0, 1, 2, 2], &[1, 2, 0, 2]);
        builder.push(&EdgeList { vertex_labels: Some((&[3, 1, 2], 1)), ..triangle }).unwrap();
        builder.push(&EdgeList { vertex_labels: Some((&[1], 1)), ..EdgeList::new(1, &[], &[]) }).unwrap();
        let dataset = Dataset {
            graphs: builder.finish(),
            targets: Targets::integers(vec![4, 4, 5]),
            ..Dataset::default()
        };
        let summary = Summary::of(&dataset);
        assert_eq!((summary.graphs, summary.classes, summary.self_loops), (3, Some(2), 1));
        assert_eq!((summary.node_labels, summary.attributes), (3, 0));
        assert_eq!(summary.carried, Some(Carried { node_label_columns: 1, ..Default::default() }));
        let mut old = serde_json::to_value(&summary).unwrap();
        let fields = old.as_object_mut().unwrap();
        assert_eq!(fields["edge_labels"], 0);
        for name in ["node_label_columns", "edge_labels", "edge_label_columns", "edge_attributes"] {
            fields.remove(name).unwrap();
        }
        let read: Summary = serde_json::from_value(old.clone()).unwrap();
        assert_eq!((read.carried, serde_json::to_value(&read).unwrap()), (None, old), "of an old record");
        assert_eq!(
            (summary.avg_vertices, summary.avg_edges, summary.avg_nnz),
            (7.0 / 3.0, 5.0 / 3.0, 11.0 / 3.0)
        );
        assert_eq!((summary.levels[0].rho, summary.levels[0].bipartite), (Some(2.0 / 3.0), 1.0 / 3.0));
    }

    #[test]
    fn targets_are_described_one_by_one() {
        let of = |targets| {
            let target_names = vec!["a".to_owned(), "b".to_owned()];
            TargetSummary::of(&Dataset { targets, target_names, ..Dataset::default() })
        };
        let nan = f64::NAN;
        let found = of(Targets::Binary(ndarray::array![[0.0, nan], [1.0, nan], [1.0, 0.0]]));
        assert_eq!((found[0].known, found[0].positives, found[0].spread), (3, Some(2), None));
        assert_eq!((&*found[1].name, found[1].known, found[1].positives), ("b", 1, Some(0)));
        let found = of(Targets::Numbers(ndarray::array![[1.0, nan], [3.0, nan]]));
        assert_eq!(found[0].spread, Some(Spread { mean: 2.0, std: 1.0, min: 1.0, max: 3.0 }));
        assert_eq!((found[1].known, found[1].spread), (0, None));
        let text = serde_json::to_string(&found[0]).unwrap();
        assert_eq!(text, r#"{"name":"a","known":2,"mean":2.0,"std":1.0,"min":1.0,"max":3.0}"#);
        assert_eq!(serde_json::from_str::<TargetSummary>(&text).unwrap(), found[0]);
    }

    #[test]
    fn labels_of_every_column_are_counted() {
        let graph = stepwell::graph::Graph::new(&EdgeList {
            vertex_labels: Some((&[1, 5, 1, 6, 2, 5], 2)),
            edge_labels: Some((&[7, 0, 0, 7, 1, 0], 3)),
            edge_attributes: Some((&[0.5, 1.5], 1)),
            ..EdgeList::new(3, &[0, 1], &[1, 2])
        });
        let summary = Summary::of(&Dataset { graphs: graph.unwrap().into_batch(), ..Dataset::default() });
        let carried =
            Carried { node_label_columns: 2, edge_labels: 4, edge_label_columns: 3, edge_attributes: 1 };
        assert_eq!((summary.node_labels, summary.carried), (4, Some(carried)));
    }
}
