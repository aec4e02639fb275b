//! Metrics of predictions.
//!
//! All metrics follow scikit-learn, including row weights. A metric that is undefined for some
//! predictions (the area under a curve without positives) is `None`.
//!
//! ```
//! use ndarray::array;
//! use stepwell::config::Metric;
//! use stepwell::metrics::{Judged, Truth};
//!
//! let decisions = array![[-1.0], [0.5], [-0.2], [-0.3]];
//! let judged = Judged {
//!     truth: Truth::Classes(&[0, 1, 1, 0], 2),
//!     decisions: decisions.view(),
//!     probabilities: None,
//!     weights: None,
//! };
//! assert_eq!(judged.metric(Metric::Accuracy), Some(0.75));
//! assert_eq!(judged.metric(Metric::RocAuc), Some(1.0));
//! # Ok::<(), stepwell::Error>(())
//! ```

use ndarray::ArrayView2;

use crate::config::Metric;
use crate::targets::{Task, decode_classes};

/// The true targets of some rows.
#[derive(Clone, Copy, Debug)]
pub enum Truth<'a> {
    /// The class of each row, and the number of classes.
    Classes(&'a [usize], usize),
    /// The number of each row.
    Numbers(&'a [f64]),
}

/// The predictions and the truth of one target.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The true targets.
    pub truth: Truth<'a>,
    /// Decision values: one column per class or, for two classes, one column for the second. For
    /// numbers: the predictions, in one column.
    pub decisions: ArrayView2<'a, f64>,
    /// The probability of every class; log loss and Brier score need it.
    pub probabilities: Option<ArrayView2<'a, f64>>,
    /// The weight of each row.
    pub weights: Option<&'a [f64]>,
}

impl Metric {
    /// All metrics that exist for this task.
    pub fn of_task(task: Task) -> &'static [Self] {
        match task {
            Task::Classification { .. } | Task::Binary { .. } => &[
                Self::Accuracy,
                Self::BalancedAccuracy,
                Self::MacroF1,
                Self::RocAuc,
                Self::AveragePrecision,
                Self::LogLoss,
                Self::Brier,
            ],
            Task::Regression { .. } => &[Self::Rmse, Self::Mae, Self::R2],
        }
    }

    /// Replaces `auto` by the metric it stands for, given the number of rows of each class.
    pub fn or_default(self, task: Task, counts: &[u64]) -> Self {
        match (self, task) {
            (Self::Auto, Task::Regression { .. }) => Self::Rmse,
            (Self::Auto, Task::Binary { .. }) => Self::RocAuc,
            (Self::Auto, Task::Classification { .. }) => {
                let (rows, rarest) = (counts.iter().sum::<u64>(), counts.iter().min().copied().unwrap_or(0));
                if counts.len() == 2 && 5 * rarest < rows { Self::RocAuc } else { Self::Accuracy }
            }
            (metric, _) => metric,
        }
    }

    /// Whether larger values are better.
    pub fn is_gain(self) -> bool {
        !matches!(self, Self::LogLoss | Self::Brier | Self::Rmse | Self::Mae)
    }

    /// Whether one value is better than another.
    pub fn is_better(self, value: f64, than: f64) -> bool {
        if self.is_gain() { value > than } else { value < than }
    }

    /// Whether it is a fraction, which is displayed as a percentage.
    pub fn is_share(self) -> bool {
        matches!(
            self,
            Self::Accuracy | Self::BalancedAccuracy | Self::MacroF1 | Self::RocAuc | Self::AveragePrecision
        )
    }

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced-accuracy",
            Self::MacroF1 => "macro-f1",
            Self::RocAuc => "roc-auc",
            Self::AveragePrecision => "average-precision",
            Self::LogLoss => "log-loss",
            Self::Brier => "brier",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::R2 => "r2",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced accuracy",
            Self::MacroF1 => "macro F1",
            Self::RocAuc => "ROC-AUC",
            Self::AveragePrecision => "average precision",
            Self::LogLoss => "log loss",
            Self::Brier => "Brier score",
            Self::Rmse => "RMSE",
            Self::Mae => "MAE",
            Self::R2 => "R²",
        }
    }

    /// Formats a value for people.
    pub fn shown(self, value: f64) -> String {
        match self {
            metric if metric.is_share() => format!("{:.1} %", 100.0 * value),
            Self::Rmse | Self::Mae => format!("{value:.4}"),
            _ => format!("{value:.3}"),
        }
    }
}

impl Judged<'_> {
    /// The value of a metric. `None` if it is undefined for these rows, needs probabilities that
    /// are missing, or does not exist for this kind of target.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        let value = match self.truth {
            Truth::Classes(truth, num_classes) => self.of_classes(metric, truth, num_classes)?,
            Truth::Numbers(truth) => self.of_numbers(metric, truth)?,
        };
        value.is_finite().then_some(value)
    }

    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The weighted mean of a quantity over all rows.
    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        let (mut sum, mut total) = (0.0, 0.0);
        for row in 0..self.decisions.nrows() {
            sum += self.weight(row) * of(row);
            total += self.weight(row);
        }
        sum / total
    }

    fn of_numbers(&self, metric: Metric, truth: &[f64]) -> Option<f64> {
        let missed = |row: usize| truth[row] - self.decisions[(row, 0)];
        Some(match metric {
            Metric::Rmse => self.mean(|row| missed(row).powi(2)).sqrt(),
            Metric::Mae => self.mean(|row| missed(row).abs()),
            Metric::R2 => {
                let mean = self.mean(|row| truth[row]);
                let variance = self.mean(|row| (truth[row] - mean).powi(2));
                if variance <= 0.0 {
                    return None;
                }
                1.0 - self.mean(|row| missed(row).powi(2)) / variance
            }
            _ => return None,
        })
    }

    fn of_classes(&self, metric: Metric, truth: &[usize], num_classes: usize) -> Option<f64> {
        Some(match metric {
            Metric::Accuracy | Metric::BalancedAccuracy | Metric::MacroF1 => {
                let counts = self.counts(truth, num_classes);
                match metric {
                    Metric::Accuracy => counts.right.iter().sum::<f64>() / counts.actual.iter().sum::<f64>(),
                    Metric::BalancedAccuracy => counts.mean(1.0, |class| counts.actual[class]),
                    _ => counts.mean(2.0, |class| counts.actual[class] + counts.predicted[class]),
                }
            }
            Metric::RocAuc => return self.one_against_rest(truth, num_classes, Ranked::roc_auc),
            Metric::AveragePrecision => {
                return self.one_against_rest(truth, num_classes, Ranked::average_precision);
            }
            Metric::LogLoss => {
                let probabilities = self.probabilities?;
                // Rounding may turn a tiny probability into 0, whose logarithm is infinite.
                self.mean(|row| -probabilities[(row, truth[row])].max(f64::EPSILON).ln())
            }
            Metric::Brier => {
                let probabilities = self.probabilities?;
                let distance = |row: usize| {
                    let class =
                        |(class, &p): (usize, &f64)| (p - f64::from(u8::from(class == truth[row]))).powi(2);
                    probabilities.row(row).iter().enumerate().map(class).sum::<f64>()
                };
                // With two classes, both terms are equal; scikit-learn counts only one.
                self.mean(distance) / if num_classes == 2 { 2.0 } else { 1.0 }
            }
            _ => return None,
        })
    }

    fn counts(&self, truth: &[usize], num_classes: usize) -> Counts {
        let zeros = || vec![0.0; num_classes];
        let mut counts = Counts { right: zeros(), actual: zeros(), predicted: zeros() };
        for (row, (&found, &expected)) in decode_classes(self.decisions).iter().zip(truth).enumerate() {
            let weight = self.weight(row);
            counts.predicted[found] += weight;
            counts.actual[expected] += weight;
            counts.right[expected] += if found == expected { weight } else { 0.0 };
        }
        counts
    }

    /// With two classes, the metric of the second class. With more, the mean over the classes for
    /// which it is defined.
    fn one_against_rest(
        &self,
        truth: &[usize],
        num_classes: usize,
        metric: fn(&Ranked) -> Option<f64>,
    ) -> Option<f64> {
        let of = |column: usize, class: usize| {
            let scores = self.decisions.column(column);
            metric(&Ranked::new(scores.iter().copied(), |row| truth[row] == class, |row| self.weight(row)))
        };
        if num_classes == 2 {
            return of(0, 1);
        }
        mean((0..num_classes).map(|class| of(class, class)))
    }
}

/// The mean over the targets whose value is known; `None` if there are none.
pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().flatten().fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Sums of row weights by class.
struct Counts {
    right: Vec<f64>,
    actual: Vec<f64>,
    predicted: Vec<f64>,
}

impl Counts {
    /// The mean of a ratio over the classes with a nonzero denominator `of`.
    fn mean(&self, times: f64, of: impl Fn(usize) -> f64) -> f64 {
        let occurring: Vec<usize> = (0..self.right.len()).filter(|&class| of(class) > 0.0).collect();
        let sum = occurring.iter().map(|&class| times * self.right[class] / of(class)).sum::<f64>();
        sum / occurring.len() as f64
    }
}

/// Positives and negatives by descending score. Rows with equal scores form one step.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Each distinct score, with the weights of its positives and negatives.
    pub steps: Vec<(f64, f64, f64)>,
}

impl Ranked {
    /// Ranks scores. The functions return whether a row is positive, and its weight.
    pub fn new(
        scores: impl Iterator<Item = f64>,
        is_positive: impl Fn(usize) -> bool,
        weight: impl Fn(usize) -> f64,
    ) -> Self {
        let mut rows: Vec<(f64, usize)> = scores.zip(0..).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut steps: Vec<(f64, f64, f64)> = Vec::new();
        for (score, row) in rows {
            if steps.last().is_none_or(|step| step.0 != score) {
                steps.push((score, 0.0, 0.0));
            }
            let step = steps.last_mut().expect("just made, if there was none");
            *(if is_positive(row) { &mut step.1 } else { &mut step.2 }) += weight(row);
        }
        Self { steps }
    }

    /// The weight of all positives, and of all negatives.
    pub fn totals(&self) -> (f64, f64) {
        self.steps.iter().fold((0.0, 0.0), |(high, low), step| (high + step.1, low + step.2))
    }

    /// The fraction of pairs of a positive and a negative in which the positive has the higher
    /// score. Ties count half.
    pub fn roc_auc(&self) -> Option<f64> {
        let (positives, negatives) = self.totals();
        let (mut above, mut area) = (0.0, 0.0);
        for &(_, high, low) in &self.steps {
            area += low * (above + high / 2.0);
            above += high;
        }
        (positives > 0.0 && negatives > 0.0).then(|| area / (positives * negatives))
    }

    /// The sum of precision times the recall that each step adds.
    pub fn average_precision(&self) -> Option<f64> {
        let (positives, _) = self.totals();
        let (mut right, mut found, mut area) = (0.0, 0.0, 0.0);
        for &(_, high, low) in &self.steps {
            right += high;
            found += high + low;
            if found > 0.0 {
                area += high * right / found;
            }
        }
        (positives > 0.0).then(|| area / positives)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    fn judged<'a>(truth: &'a [usize], classes: usize, decisions: &'a Array2<f64>) -> Judged<'a> {
        let decisions = decisions.view();
        Judged { truth: Truth::Classes(truth, classes), decisions, probabilities: None, weights: None }
    }

    #[test]
    fn names_are_those_that_the_option_accepts() {
        let tasks = [Task::Classification { num_classes: 2 }, Task::Regression { targets: 1 }];
        for metric in tasks.into_iter().flat_map(Metric::of_task).chain([&Metric::Auto]) {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
    }

    fn close(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-15, "{found:?}, not {expected}");
    }

    #[test]
    fn classes_by_hand() {
        // Class 0: 2 of 3 correct, predicted 3 times; class 1: 1 of 2, predicted twice; class 2
        // does not occur.
        let found = [0, 0, 1, 0, 1];
        let decisions =
            Array2::from_shape_fn((5, 3), |(row, class)| f64::from(u8::from(found[row] == class)));
        let judged = judged(&[0, 0, 0, 1, 1], 3, &decisions);
        close(judged.metric(Metric::Accuracy), 0.6);
        close(judged.metric(Metric::BalancedAccuracy), (2.0 / 3.0 + 0.5) / 2.0);
        close(judged.metric(Metric::MacroF1), (4.0 / 6.0 + 2.0 / 4.0) / 2.0);
        assert_eq!(judged.metric(Metric::LogLoss), None, "there are no probabilities");
        assert_eq!(judged.metric(Metric::Rmse), None, "classes are not numbers");
        // A row counts as many times as its weight.
        let weighted = Judged { weights: Some(&[1.0, 0.0, 2.0, 1.0, 1.0]), ..judged };
        close(weighted.metric(Metric::Accuracy), 2.0 / 5.0);
    }

    #[test]
    fn ranks_count_pairs() {
        let decisions = array![[0.1], [0.4], [0.4], [0.8]];
        let two = judged(&[0, 1, 0, 1], 2, &decisions);
        close(two.metric(Metric::RocAuc), 3.5 / 4.0);
        // Down to 0.8: precision 1, recall 1/2; down to 0.4: 2/3 and 1.
        close(two.metric(Metric::AveragePrecision), 0.5 + 0.5 * 2.0 / 3.0);
        assert_eq!(judged(&[1; 4], 2, &decisions).metric(Metric::RocAuc), None);
        let weighted = Judged { weights: Some(&[1.0, 3.0, 0.0, 1.0]), ..two };
        close(weighted.metric(Metric::RocAuc), 1.0);
    }

    #[test]
    fn probabilities_by_hand() {
        let (decisions, probabilities) = (array![[-1.0], [1.0]], array![[0.8, 0.2], [0.5, 0.5]]);
        let judged = judged(&[0, 1], 2, &decisions);
        let judged = Judged { probabilities: Some(probabilities.view()), ..judged };
        close(judged.metric(Metric::LogLoss), -(0.8f64.ln() + 0.5f64.ln()) / 2.0);
        close(judged.metric(Metric::Brier), (0.04 + 0.25) / 2.0);
    }

    #[test]
    fn numbers_by_hand() {
        let decisions = array![[1.0], [2.0]];
        let judged = |truth: &'static [f64]| Judged {
            truth: Truth::Numbers(truth),
            decisions: decisions.view(),
            probabilities: None,
            weights: None,
        };
        close(judged(&[2.0, 4.0]).metric(Metric::Mae), 1.5);
        close(judged(&[2.0, 4.0]).metric(Metric::Rmse), 2.5f64.sqrt());
        close(judged(&[1.0, 2.0]).metric(Metric::R2), 1.0);
        assert_eq!(judged(&[1.0, 1.0]).metric(Metric::R2), None);
    }

    #[test]
    fn the_headline_follows_from_the_targets() {
        let two = Task::Classification { num_classes: 2 };
        assert_eq!(Metric::Auto.or_default(two, &[81, 19]), Metric::RocAuc);
        assert_eq!(Metric::Auto.or_default(two, &[20, 80]), Metric::Accuracy);
        assert_eq!(Metric::Brier.or_default(two, &[81, 19]), Metric::Brier);
        assert_eq!(
            Metric::Auto.or_default(Task::Classification { num_classes: 3 }, &[9, 1, 90]),
            Metric::Accuracy
        );
        assert_eq!(Metric::Auto.or_default(Task::Regression { targets: 2 }, &[]), Metric::Rmse);
    }
}
