//! Scores predictions by every metric that applies to their targets.

use std::collections::BTreeMap;
use std::fmt;

use ndarray::{Array2, ArrayView2, Axis, s};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepwell::config::Metric;
use stepwell::metrics::{Judged, Truth};
use stepwell::targets::{Encoded, Task};

use crate::table::Cell;

/// The values of those metrics that have one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values(BTreeMap<Metric, f64>);

/// The names of metrics in records.
const NAMES: [(Metric, &str); 10] = [
    (Metric::Accuracy, "accuracy"),
    (Metric::BalancedAccuracy, "balanced_accuracy"),
    (Metric::MacroF1, "macro_f1"),
    (Metric::RocAuc, "auroc"),
    (Metric::AveragePrecision, "average_precision"),
    (Metric::LogLoss, "log_loss"),
    (Metric::Brier, "brier"),
    (Metric::Rmse, "rmse"),
    (Metric::Mae, "mae"),
    (Metric::R2, "r2"),
];

impl Values {
    /// The value of a metric, if it has one.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0.get(&metric).copied()
    }

    /// All values, in the order of [`Metric`].
    pub fn iter(&self) -> impl Iterator<Item = (Metric, f64)> {
        self.0.iter().map(|(&metric, &value)| (metric, value))
    }

    /// Whether no metric has a value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Mean and standard deviation of every metric, over the items that have a value.
    fn spread<'v>(all: impl Iterator<Item = &'v Self> + Clone) -> (Self, Self) {
        let (mut means, mut stds) = (Self::default(), Self::default());
        for (metric, _) in NAMES {
            let values: Vec<f64> = all.clone().filter_map(|values| values.get(metric)).collect();
            if !values.is_empty() {
                let (mean, std) = mean_and_std(&values);
                means.0.insert(metric, mean);
                stds.0.insert(metric, std);
            }
        }
        (means, stds)
    }
}

impl FromIterator<(Metric, f64)> for Values {
    fn from_iter<I: IntoIterator<Item = (Metric, f64)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(NAMES.iter().filter_map(|(metric, name)| Some((name, self.get(*metric)?))))
    }
}

/// Skips keys that are not metrics, because records mix values with other fields.
impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Named;
        impl<'de> Visitor<'de> for Named {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("values of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                let mut values = Values::default();
                while let Some(name) = map.next_key::<String>()? {
                    match NAMES.iter().find(|(_, known)| *known == name) {
                        Some((metric, _)) => {
                            let value = map.next_value::<Option<f64>>()?;
                            values.0.extend(value.map(|value| (*metric, value)));
                        }
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(values)
            }
        }
        from.deserialize_map(Named)
    }
}

/// All metrics of some predictions.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Quality {
    /// For several targets, the mean over the targets that have a value.
    #[serde(flatten)]
    pub values: Values,
    /// The values of each target, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub per_target: Vec<Values>,
}

impl Quality {
    /// Computes all metrics of decisions about some graphs, and of probabilities if
    /// given, over the known targets.
    pub fn of(
        targets: &Encoded,
        judged: &[usize],
        decisions: ArrayView2<'_, f64>,
        probabilities: Option<ArrayView2<'_, f64>>,
    ) -> Self {
        let count = targets.task().num_targets();
        let metrics = Metric::of_task(targets.task());
        let said: Vec<Said> =
            (0..count).map(|target| Said::new(targets, judged, decisions, probabilities, target)).collect();
        let of = |said: &Said| -> Values {
            metrics.iter().filter_map(|&metric| Some((metric, said.metric(metric)?))).collect()
        };
        let mut per_target: Vec<Values> = said.iter().map(of).collect();
        match count {
            1 => Self { values: per_target.remove(0), per_target },
            _ => Self { values: Values::spread(per_target.iter()).0, per_target },
        }
    }

    /// The value of a metric, if it has one.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.values.get(metric)
    }

    /// Whether no metric has a value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.per_target.iter().all(Values::is_empty)
    }

    /// Mean and standard deviation of every metric, over the items that have a value.
    pub fn spread(all: &[Self]) -> (Self, Self) {
        let (values, stds) = Values::spread(all.iter().map(|quality| &quality.values));
        let targets = all.iter().map(|quality| quality.per_target.len()).max().unwrap_or(0);
        let of =
            |target: usize| Values::spread(all.iter().filter_map(move |found| found.per_target.get(target)));
        let (per_target, std_per_target) = (0..targets).map(of).unzip();
        (Self { values, per_target }, Self { values: stds, per_target: std_per_target })
    }

    /// Mean of every metric, over the items that have a value.
    pub fn mean(all: &[Self]) -> Self {
        Self::spread(all).0
    }
}

impl From<Values> for Quality {
    fn from(values: Values) -> Self {
        Self { values, per_target: Vec::new() }
    }
}

/// Predictions for one target next to the true values, for the graphs where those are
/// known.
pub(crate) struct Said {
    /// The graphs with a known value.
    pub rows: Vec<usize>,
    /// The true classes or numbers.
    pub truth: Known,
    /// One column per class, or a single column.
    pub decisions: Array2<f64>,
    /// One column per class.
    pub probabilities: Option<Array2<f64>>,
}

/// The true values of the known rows.
pub(crate) enum Known {
    Classes(Vec<usize>, usize),
    Numbers(Vec<f64>),
}

impl Said {
    /// The predictions for one target of some graphs.
    pub fn new(
        targets: &Encoded,
        judged: &[usize],
        decisions: ArrayView2<'_, f64>,
        probabilities: Option<ArrayView2<'_, f64>>,
        target: usize,
    ) -> Self {
        let task = targets.task();
        let all: Vec<usize> = (0..judged.len()).collect();
        let (rows, truth) = match (targets.codes(), targets.values()) {
            (Some(codes), _) => {
                let codes = judged.iter().map(|&graph| codes[graph]).collect();
                (all, Known::Classes(codes, task.num_classes()))
            }
            (None, values) => {
                let values = values.expect("targets without classes have values");
                // Where no training graph has a known value, nothing is predicted.
                let is_known = |&row: &usize| {
                    !values[(judged[row], target)].is_nan() && !decisions[(row, target)].is_nan()
                };
                let rows: Vec<usize> = all.into_iter().filter(is_known).collect();
                let numbers = rows.iter().map(|&row| values[(judged[row], target)]);
                let truth = match task {
                    Task::Binary { .. } => {
                        Known::Classes(numbers.map(|value| usize::from(value > 0.0)).collect(), 2)
                    }
                    _ => Known::Numbers(numbers.collect()),
                };
                (rows, truth)
            }
        };
        let probabilities = probabilities.map(|all| match task {
            Task::Binary { .. } => {
                let high = all.column(target).select(Axis(0), &rows);
                let mut both = Array2::zeros((rows.len(), 2));
                both.slice_mut(s![.., 0]).assign(&(1.0 - &high));
                both.slice_mut(s![.., 1]).assign(&high);
                both
            }
            _ => all.select(Axis(0), &rows),
        });
        let columns = decisions.slice_axis(Axis(1), task.columns_of(target).into());
        Self { decisions: columns.select(Axis(0), &rows), rows, truth, probabilities }
    }

    /// The value of a metric, if it has one.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        let truth = match &self.truth {
            Known::Classes(codes, count) => Truth::Classes(codes, *count),
            Known::Numbers(values) => Truth::Numbers(values),
        };
        let (decisions, probabilities) =
            (self.decisions.view(), self.probabilities.as_ref().map(|p| p.view()));
        Judged { truth, decisions, probabilities, weights: None }.metric(metric)
    }
}

/// The metrics that at least one item has a value of, the headline first.
pub fn present<'q>(all: impl IntoIterator<Item = &'q Quality>, headline: Metric) -> Vec<Metric> {
    let mut found: Vec<Metric> =
        all.into_iter().flat_map(|quality| quality.values.iter().map(|(metric, _)| metric)).collect();
    found.sort_by_key(|&metric| (metric != headline, metric));
    found.dedup();
    found
}

/// The column heading of a metric. Shares are shown in per cent.
pub fn heading(metric: Metric) -> String {
    let unit = if metric.is_share() { " (%)" } else { "" };
    metric.title().to_owned() + unit
}

/// A value of a metric under its [`heading`].
pub fn cell(metric: Metric, value: f64) -> Cell {
    let (scale, decimals) = scale_and_decimals(metric);
    Cell::number(scale * value, decimals)
}

/// Mean and standard deviation of a metric under its [`heading`].
pub fn spread_cell(metric: Metric, mean: f64, std: f64) -> Cell {
    let (scale, decimals) = scale_and_decimals(metric);
    let (mean, std) = (scale * mean + 0.0, scale * std);
    Cell::sorted(format!("{mean:.decimals$} ± {std:.decimals$}"), mean)
}

/// A mean over `folds` of `all` folds: says so if some have no value, and shows no spread of a
/// single value.
pub fn mean_cell(metric: Metric, mean: f64, std: Option<f64>, (folds, all): (usize, usize)) -> Cell {
    let told = match std.filter(|_| folds > 1 || all == 1) {
        Some(std) => spread_cell(metric, mean, std),
        None => cell(metric, mean),
    };
    if folds == all { told } else { Cell { text: format!("{} ({folds} of {all} folds)", told.text), ..told } }
}

fn scale_and_decimals(metric: Metric) -> (f64, usize) {
    match metric {
        Metric::Rmse | Metric::Mae => (1.0, 4),
        metric if metric.is_share() => (100.0, 1),
        _ => (1.0, 3),
    }
}

/// Mean and standard deviation (of the values themselves, not of a sample).
pub fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use stepwell::targets::Targets;

    use super::*;

    #[test]
    fn gaps_count_neither_as_right_nor_as_wrong() {
        let nan = f64::NAN;
        let y = Targets::Binary(array![[1.0, nan], [0.0, 1.0], [nan, 0.0], [1.0, 1.0]]);
        let targets = Encoded::new(&y).unwrap();
        let decisions = array![[0.5, -9.0], [0.7, -0.1], [9.0, -0.5], [0.9, 0.3]];
        let found = Quality::of(&targets, &[0, 1, 2, 3], decisions.view(), None);
        // Three values of the first target are known, and one of two positives ranks above the
        // negative.
        assert_eq!(found.per_target[0].get(Metric::RocAuc), Some(0.5));
        assert_eq!(found.per_target[0].get(Metric::Accuracy), Some(2.0 / 3.0));
        assert_eq!(found.per_target[1].get(Metric::RocAuc), Some(1.0));
        assert_eq!(found.get(Metric::RocAuc), Some(0.75));
        assert_eq!(found.get(Metric::LogLoss), None, "there are no probabilities");
        // If a target has only one class, the mean is over the others.
        let found = Quality::of(&targets, &[1, 2], decisions.select(Axis(0), &[1, 2]).view(), None);
        assert_eq!(found.per_target[0].get(Metric::RocAuc), None);
        assert_eq!((found.get(Metric::RocAuc), found.get(Metric::Accuracy)), (Some(1.0), Some(0.25)));
    }

    #[test]
    fn numbers_are_judged_by_target() {
        let targets =
            Encoded::new(&Targets::Numbers(array![[1.0, 0.0], [2.0, f64::NAN], [3.0, 4.0]])).unwrap();
        let decisions = array![[1.0, 1.0], [2.0, 0.0], [3.0, 3.0]];
        let found = Quality::of(&targets, &[0, 1, 2], decisions.view(), None);
        assert_eq!(found.per_target[0].get(Metric::R2), Some(1.0));
        assert_eq!(found.per_target[1].get(Metric::Mae), Some(1.0));
        assert_eq!(found.get(Metric::Rmse), Some(0.5));
        let nothing = Quality::of(&targets, &[], array![[0.0, 0.0]].slice(s![..0, ..]), None);
        assert!(nothing.is_empty());
    }

    #[test]
    fn means_are_over_those_that_have_a_value() {
        let quality = |values: &[(Metric, f64)]| Quality::from(values.iter().copied().collect::<Values>());
        let (accuracy, area) = (Metric::Accuracy, Metric::RocAuc);
        let all = [quality(&[(accuracy, 0.5), (area, 0.75)]), quality(&[(accuracy, 1.0)])];
        let (mean, std) = Quality::spread(&all);
        assert_eq!((mean.get(accuracy), std.get(accuracy)), (Some(0.75), Some(0.25)));
        assert_eq!((mean.get(area), std.get(area), mean.get(Metric::R2)), (Some(0.75), Some(0.0), None));
    }

    #[test]
    fn a_mean_over_some_folds_says_so() {
        let shown = |std, folds| mean_cell(Metric::RocAuc, 0.5, std, folds).text;
        assert_eq!(shown(Some(0.25), (2, 2)), "50.0 ± 25.0");
        assert_eq!(shown(Some(0.25), (2, 3)), "50.0 ± 25.0 (2 of 3 folds)");
        assert_eq!(shown(Some(0.0), (1, 2)), "50.0 (1 of 2 folds)");
        assert_eq!(shown(Some(0.25), (1, 1)), "50.0 ± 25.0", "over draws of the weights");
        assert_eq!(shown(None, (1, 1)), "50.0");
    }

    #[test]
    fn records_have_the_names_they_always_had() {
        let text = r#"{"accuracy":0.5,"balanced_accuracy":0.25,"macro_f1":0.125,"auroc":0.75}"#;
        let found: Quality = serde_json::from_str(text).unwrap();
        assert_eq!(found.get(Metric::RocAuc), Some(0.75));
        assert_eq!(serde_json::to_string(&found).unwrap(), text);
        let text = r#"{"mae":0.5,"r2":0.25,"per_target":[{"mae":0.25},{"mae":0.75,"r2":0.25}]}"#;
        let found: Quality = serde_json::from_str(text).unwrap();
        assert_eq!(found.per_target[1].get(Metric::Mae), Some(0.75));
        assert_eq!(serde_json::to_string(&found).unwrap(), text);
        let beside: Quality =
            serde_json::from_str(r#"{"alpha":1.0,"mae":null,"config":{"units":5}}"#).unwrap();
        assert!(beside.is_empty());
    }
}
