//! How good predictions are, by the names people know.
//!
//! All are those of scikit-learn, weighted rows included. For some predictions a
//! metric has no value (the area under a curve without positives): that is `None`.
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

/// What is true of some rows.
#[derive(Clone, Copy, Debug)]
pub enum Truth<'a> {
    /// Their classes, and how many classes there are.
    Classes(&'a [usize], usize),
    /// Their numbers.
    Numbers(&'a [f64]),
}

/// The predictions of one target, and the truth.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What is true.
    pub truth: Truth<'a>,
    /// Decision values, a column for each class or, of two, one for the second; or
    /// predicted numbers, in one column.
    pub decisions: ArrayView2<'a, f64>,
    /// The probability of every class; log loss and Brier score need it.
    pub probabilities: Option<ArrayView2<'a, f64>>,
    /// How much each row counts.
    pub weights: Option<&'a [f64]>,
}

impl Metric {
    /// All that can be asked for where targets are of this kind.
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

    /// The metric that `auto` stands for, given how many rows each class has.
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

    /// Whether more is better.
    pub fn is_gain(self) -> bool {
        !matches!(self, Self::LogLoss | Self::Brier | Self::Rmse | Self::Mae)
    }

    /// Whether one value is better than another.
    pub fn is_better(self, value: f64, than: f64) -> bool {
        if self.is_gain() { value > than } else { value < than }
    }

    /// Whether it is a share, which people read as per cent.
    pub fn is_share(self) -> bool {
        matches!(
            self,
            Self::Accuracy | Self::BalancedAccuracy | Self::MacroF1 | Self::RocAuc | Self::AveragePrecision
        )
    }

    /// What people call it.
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

    /// A value of it as people read it.
    pub fn shown(self, value: f64) -> String {
        match self {
            metric if metric.is_share() => format!("{:.1} %", 100.0 * value),
            Self::Rmse | Self::Mae => format!("{value:.4}"),
            _ => format!("{value:.3}"),
        }
    }
}

impl Judged<'_> {
    /// The value of a metric. None where it has none: for these rows, without
    /// probabilities, or for this kind of target.
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

    /// The weighted mean of something over all rows.
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
                // What rounding may make of a probability that is all but 0.
                self.mean(|row| -probabilities[(row, truth[row])].max(f64::EPSILON).ln())
            }
            Metric::Brier => {
                let probabilities = self.probabilities?;
                let distance = |row: usize| {
                    let class =
                        |(class, &p): (usize, &f64)| (p - f64::from(u8::from(class == truth[row]))).powi(2);
                    probabilities.row(row).iter().enumerate().map(class).sum::<f64>()
                };
                // Of two classes, the second alone says it all.
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

    /// Of two classes, the metric of the second; of more, the mean over those that
    /// have one.
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

/// The mean over targets that have a value, if any has.
pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let (sum, count) =
        values.into_iter().flatten().fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Weights of rows by class.
struct Counts {
    right: Vec<f64>,
    actual: Vec<f64>,
    predicted: Vec<f64>,
}

impl Counts {
    /// The mean of a share over the classes for which there is one.
    fn mean(&self, times: f64, of: impl Fn(usize) -> f64) -> f64 {
        let occurring: Vec<usize> = (0..self.right.len()).filter(|&class| of(class) > 0.0).collect();
        let sum = occurring.iter().map(|&class| times * self.right[class] / of(class)).sum::<f64>();
        sum / occurring.len() as f64
    }
}

/// Positives and negatives by falling score, those of equal scores together.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// The score, and the weights of positives and negatives that have it.
    pub steps: Vec<(f64, f64, f64)>,
}

impl Ranked {
    /// Of scores, and what else is known of their rows.
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

    /// The share of pairs of a positive and a negative in which the positive has
    /// the higher score, ties counting half.
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

    fn close(found: Option<f64>, expected: f64) {
        assert!((found.unwrap() - expected).abs() < 1e-15, "{found:?}, not {expected}");
    }

    #[test]
    fn classes_by_hand() {
        // Class 0: 2 of 3 right, predicted 3 times; class 1: 1 of 2, predicted twice; class 2 nowhere.
        let found = [0, 0, 1, 0, 1];
        let decisions =
            Array2::from_shape_fn((5, 3), |(row, class)| f64::from(u8::from(found[row] == class)));
        let judged = judged(&[0, 0, 0, 1, 1], 3, &decisions);
        close(judged.metric(Metric::Accuracy), 0.6);
        close(judged.metric(Metric::BalancedAccuracy), (2.0 / 3.0 + 0.5) / 2.0);
        close(judged.metric(Metric::MacroF1), (4.0 / 6.0 + 2.0 / 4.0) / 2.0);
        assert_eq!(judged.metric(Metric::LogLoss), None, "there are no probabilities");
        assert_eq!(judged.metric(Metric::Rmse), None, "classes are not numbers");
        // A row counts as often as its weight says.
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
