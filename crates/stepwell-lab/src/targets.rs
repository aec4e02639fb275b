//! The targets of a dataset, and the scores of predictions of them.

use ndarray::{Array2, ArrayView2};
use stepwell::config::{Level, Metric};
use stepwell::metrics::mean;
use stepwell::targets::{Encoded, Targets, Task, decode_classes};
use stepwell_data::Dataset;

use crate::error::{Error, Result};
use crate::metrics::Said;

/// The targets of a dataset: a class for every graph, or values, some of which may be unknown; or
/// the targets of the vertices that have one.
pub fn of(dataset: &Dataset, level: Level) -> Result<Encoded> {
    match level {
        Level::Graph => Ok(Encoded::named(&dataset.targets, dataset.target_names.clone())?),
        Level::Vertex => {
            let known = dataset.vertices.as_ref().map(|all| &all.known.targets);
            Ok(Encoded::new(known.unwrap_or(&Targets::None))?)
        }
    }
}

/// The groups that folds must not split: those of graphs, if they have groups. For vertices, their
/// graphs, if there are several, or the groups of these graphs.
pub fn groups(dataset: &Dataset, level: Level) -> Option<Vec<String>> {
    match (level, &dataset.vertices) {
        (Level::Vertex, Some(all)) if dataset.len() > 1 => {
            let graph_of = graphs_of(dataset, &all.known.rows);
            let name = |graph: usize| {
                dataset.groups.as_ref().map_or_else(|| dataset.id(graph), |all| all[graph].clone())
            };
            Some(graph_of.into_iter().map(name).collect())
        }
        (Level::Vertex, _) => None,
        (Level::Graph, _) => dataset.groups.clone(),
    }
}

/// The graph of each given vertex.
pub fn graphs_of(dataset: &Dataset, vertices: &[usize]) -> Vec<usize> {
    let offsets = dataset.graphs.vertex_offsets();
    vertices.iter().map(|&vertex| offsets.partition_point(|&first| first <= vertex) - 1).collect()
}

/// The headline metric: the requested metric, or the default for the targets.
pub fn headline(asked: Metric, targets: &Encoded) -> Result<Metric> {
    let task = targets.task();
    let metric = asked.or_default(task, targets.census().counts(0));
    let known = Metric::of_task(task);
    if known.contains(&metric) {
        return Ok(metric);
    }
    let names: Vec<&str> = known.iter().map(|metric| metric.name()).collect();
    let (expected, found) = (format!("one of {}", names.join(", ")), metric.name().to_owned());
    Err(Error::BadOption { name: "metric", expected, found })
}

/// The metric that a search compares configurations by: the headline. Log loss and
/// Brier score need probabilities, which linear readouts do not have; ROC-AUC replaces
/// them.
pub fn searched_by(headline: Metric) -> Metric {
    match headline {
        Metric::LogLoss | Metric::Brier => Metric::RocAuc,
        metric => metric,
    }
}

/// One class per graph to stratify by: its class; for targets of 0 and 1, whether any
/// is 1. Numbers form a single class.
pub fn strata(targets: &Encoded) -> Vec<usize> {
    match (targets.codes(), targets.values(), targets.task()) {
        (Some(codes), ..) => codes.to_vec(),
        (None, Some(values), Task::Binary { .. }) => {
            values.rows().into_iter().map(|row| usize::from(row.iter().any(|&value| value > 0.0))).collect()
        }
        _ => vec![0; targets.len()],
    }
}

/// Whether a [`score`] is a sum over graphs.
fn is_summed(metric: Metric, task: Task) -> bool {
    matches!(
        (metric, task),
        (Metric::Accuracy, Task::Classification { .. }) | (Metric::Rmse, Task::Regression { targets: 1 })
    )
}

/// The number of graphs that a [`score`] is a sum over; 1 if it is not a sum.
pub fn summed_over(metric: Metric, targets: &Encoded, graphs: &[usize]) -> usize {
    match (is_summed(metric, targets.task()), targets.values()) {
        (false, _) => 1,
        (true, None) => graphs.len(),
        (true, Some(values)) => graphs.iter().filter(|&&graph| !values[(graph, 0)].is_nan()).count().max(1),
    }
}

/// The metric to compare graphs by if their targets leave `metric` without a value, as
/// a single class leaves ROC-AUC: accuracy, or RMSE for numbers.
pub fn usable(metric: Metric, targets: &Encoded, graphs: &[usize]) -> Metric {
    // Whether there is a value depends on the true values, not on the predictions.
    let nothing = Array2::zeros((graphs.len(), targets.task().num_columns()));
    match (score(metric, targets, graphs, nothing.view()), targets.task()) {
        (Some(_), _) => metric,
        (None, Task::Regression { .. }) => Metric::Rmse,
        (None, _) => Metric::Accuracy,
    }
}

/// The score of predictions for some graphs; higher is better: see
/// [`Unit`](crate::protocol::Unit). `None` if the metric has no value.
pub fn score(
    metric: Metric,
    targets: &Encoded,
    graphs: &[usize],
    decisions: ArrayView2<'_, f64>,
) -> Option<f64> {
    if !is_summed(metric, targets.task()) {
        let of = |target| Said::new(targets, graphs, decisions, None, target).metric(metric);
        let value = mean((0..targets.task().num_targets()).map(of))?;
        return Some(if metric.is_gain() { value } else { -value });
    }
    Some(match targets.codes() {
        Some(codes) => {
            let found = decode_classes(decisions);
            found.iter().zip(graphs).filter(|&(&found, &graph)| found == codes[graph]).count() as f64
        }
        None => {
            let values = targets.values().expect("targets without classes have values");
            let errors = decisions.column(0).into_iter().zip(graphs);
            let known = errors.filter(|&(_, &graph)| !values[(graph, 0)].is_nan());
            -known.map(|(found, &graph)| (found - values[(graph, 0)]).powi(2)).sum::<f64>()
        }
    })
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn a_graph_with_any_positive_is_of_another_stratum() {
        let nan = f64::NAN;
        let y = Targets::Binary(array![[0.0, nan], [nan, 1.0], [1.0, 0.0], [nan, nan], [0.0, 0.0]]);
        assert_eq!(strata(&Encoded::new(&y).unwrap()), [0, 1, 1, 0, 0]);
        assert_eq!(strata(&Encoded::new(&Targets::numbers(vec![1.0, 2.0])).unwrap()), [0, 0]);
    }

    #[test]
    fn more_is_better_for_every_score() {
        let y = Encoded::new(&Targets::Numbers(array![[0.0, 0.0], [1.0, f64::NAN]])).unwrap();
        let score = |metric, decisions| score(metric, &y, &[0, 1], ArrayView2::from(&decisions));
        let (good, bad) = ([[0.0, 0.0], [1.0, 0.0]], [[0.5, 1.0], [1.0, 0.0]]);
        assert_eq!(score(Metric::Rmse, good), Some(0.0));
        assert!(score(Metric::Rmse, bad) < Some(0.0));
        assert!(score(Metric::R2, bad) < score(Metric::R2, good));
        assert_eq!(score(Metric::RocAuc, good), None);
        assert!(headline(Metric::RocAuc, &y).unwrap_err().to_string().contains("one of rmse, mae, r2"));
    }
}
