//! Leave-one-out assessment of a readout: its quality, its uncertainty, and its thresholds.

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::left_out::Held;
use crate::config::Metric;
use crate::error::{Error, Result};
use crate::metrics::{Judged, Truth};
use crate::targets::Task;

/// The leave-one-out assessment of one target.
///
/// A readout trained without a graph predicts that graph, for every training graph. This is exact
/// for the regression. The feature map, the scales and the landmarks have seen the graph, but not
/// its target. Since the same values chose alpha and the class weights, they are slightly
/// optimistic for new graphs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Assessment {
    /// The number of graphs it is based on.
    pub rows: u64,
    /// The metric that the readout was chosen by.
    pub metric: Metric,
    /// The leave-one-out value of the metric, if it is defined.
    pub value: Option<f64>,
    /// The fraction of the target's variance that is explained on left-out rows, if known. For
    /// classes, the variance of the targets 1 and -1 that encode them.
    pub explained: Option<f64>,
    /// The weight of the readout with balanced class weights in the blend, from 0 to 1.
    pub balance: f64,
    /// The map from decision values to probabilities; `None` for numbers.
    pub calibration: Option<Calibration>,
    /// The scores for prediction sets and intervals.
    pub conformal: Conformal,
    /// The scores of the graphs of each class, for sets that cover every class. Empty for numbers,
    /// and if a file of an older version lacks them.
    #[serde(default)]
    pub per_class: Vec<Conformal>,
    /// The decision values for thresholds, if there are two classes.
    pub operating: Option<Operating>,
}

impl Assessment {
    /// The assessment if leave-one-out predictions are unknown.
    pub(super) fn unknown(metric: Metric, balance: f64) -> Self {
        let conformal = Conformal::new(Vec::new());
        Self {
            rows: 0,
            metric,
            value: None,
            explained: None,
            balance,
            calibration: None,
            conformal,
            per_class: Vec::new(),
            operating: None,
        }
    }

    /// The assessment of leave-one-out predictions.
    pub(super) fn new(held: &Held, task: Task, metric: Metric, balance: f64) -> Result<Self> {
        let classes = task.num_classes();
        let rows = held.weights.len() as u64;
        let value = value_of(held, task, metric)?;
        let explained = held.explained();
        if classes == 0 {
            let missed = held.truth.iter().zip(&held.decisions).map(|(truth, found)| (truth - found).abs());
            let conformal = Conformal::weighted(missed.collect(), &held.weights);
            return Ok(Self {
                rows,
                metric,
                value,
                explained,
                balance,
                calibration: None,
                conformal,
                per_class: Vec::new(),
                operating: None,
            });
        }
        let truth: Vec<usize> = held.truth.outer_iter().map(|row| task.class_of(row)).collect();
        let calibration = Calibration::fit(held.decisions.view(), &truth, classes, &held.weights)?;
        let probabilities = calibration.probabilities(held.decisions.view())?;
        let strange = truth.iter().zip(probabilities.outer_iter()).map(|(&class, row)| 1.0 - row[class]);
        let strange: Vec<f64> = strange.collect();
        let of_class = |class: usize| {
            let rows = truth.iter().zip(&strange).zip(&held.weights).filter(|((of, _), _)| **of == class);
            let (scores, weights): (Vec<f64>, Vec<f64>) =
                rows.map(|((_, score), weight)| (*score, *weight)).unzip();
            Conformal::weighted(scores, &weights)
        };
        let per_class = (0..classes).map(of_class).collect();
        let conformal = Conformal::weighted(strange, &held.weights);
        let operating = (classes == 2).then(|| Operating::new(held, &truth));
        let calibration = Some(calibration);
        Ok(Self { rows, metric, value, explained, balance, calibration, conformal, per_class, operating })
    }
}

/// The value of a metric. If it needs probabilities, they are calibrated on the same rows.
pub(super) fn value_of(held: &Held, task: Task, metric: Metric) -> Result<Option<f64>> {
    let (decisions, weights) = (held.decisions.view(), Some(&*held.weights));
    let classes = task.num_classes();
    if classes == 0 {
        let numbers = held.truth.column(0).to_vec();
        let judged = Judged { truth: Truth::Numbers(&numbers), decisions, probabilities: None, weights };
        return Ok(judged.metric(metric));
    }
    let truth: Vec<usize> = held.truth.outer_iter().map(|row| task.class_of(row)).collect();
    let probabilities = match metric {
        Metric::LogLoss | Metric::Brier => {
            let calibration = Calibration::fit(decisions, &truth, classes, &held.weights)?;
            Some(calibration.probabilities(decisions)?)
        }
        _ => None,
    };
    let probabilities = probabilities.as_ref().map(|probabilities| probabilities.view());
    let judged = Judged { truth: Truth::Classes(&truth, classes), decisions, probabilities, weights };
    Ok(judged.metric(metric))
}

/// Maximum number of stored points of a distribution.
const POINTS: usize = 1000;

/// The conformal scores of leave-one-out predictions: the absolute error of numbers, or one minus
/// the probability of the true class.
///
/// An interval or set that extends to [`reach`](Self::reach) contains the truth with the wanted
/// probability, if new graphs are like the training graphs (exchangeable) and if a readout trained
/// without one graph behaves like the final one. If rows have weights, the probability refers to
/// graphs drawn in proportion to their weights.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Conformal {
    rows: u64,
    /// The scores, ascending: all of them, or 1,000 quantiles if there are more. If rows have
    /// weights, quantiles of the weighted scores.
    scores: Vec<f64>,
}

impl Conformal {
    /// The distribution of unweighted scores.
    pub fn new(scores: Vec<f64>) -> Self {
        let weights = vec![1.0; scores.len()];
        Self::weighted(scores, &weights)
    }

    /// The distribution of the scores of rows with these weights, all positive.
    pub(super) fn weighted(scores: Vec<f64>, weights: &[f64]) -> Self {
        let sorted = Sorted::new(scores, weights);
        let rows = sorted.values.len();
        // Ranks are among `rows + 1`: the new graph counts as one more row, of mean weight.
        let rank = |point: usize| match rows {
            0..=POINTS => point + 1,
            _ => ((rows + 1) * (point + 1)).div_ceil(POINTS).min(rows),
        };
        let scores = (0..rows.min(POINTS)).map(|point| sorted.at(rank(point) as f64 / rows as f64)).collect();
        Self { rows: rows as u64, scores }
    }

    /// The number of stored scores of so many rows.
    pub(crate) fn length(rows: u64) -> usize {
        rows.min(POINTS as u64) as usize
    }

    /// Restores a stored distribution.
    pub(crate) fn from_parts(rows: u64, scores: Vec<f64>) -> Result<Self> {
        let expected = Self::length(rows) as u64;
        let ascending = scores.windows(2).all(|pair| pair[0] <= pair[1]);
        if scores.len() as u64 != expected || !ascending || scores.iter().any(|score| !score.is_finite()) {
            let expected = format!("{expected} finite numbers in ascending order");
            return Err(Error::BadOption {
                name: "conformal scores",
                expected,
                found: "other values".into(),
            });
        }
        Ok(Self { rows, scores })
    }

    pub(crate) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The number of rows it is based on.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The largest score that sets and intervals must include to contain the truth with this
    /// probability. Infinite if there are too few rows.
    pub fn reach(&self, coverage: f64) -> Result<f64> {
        if !(coverage > 0.0 && coverage < 1.0) {
            let (expected, found) = ("a number above 0 and below 1".into(), coverage.to_string());
            return Err(Error::BadOption { name: "coverage", expected, found });
        }
        // Subtract a little, so that rounding does not push an exact rank such as 0.9 · 10 to the
        // next integer.
        let rank = |of: f64| ((of * coverage - 1e-9).ceil() as usize).max(1);
        let exact = rank(self.rows as f64 + 1.0);
        if exact as u64 > self.rows {
            return Ok(f64::INFINITY);
        }
        let at = if self.rows > POINTS as u64 { rank(POINTS as f64) } else { exact };
        Ok(self.scores.get(at - 1).copied().unwrap_or(f64::INFINITY))
    }

    /// The fraction of the scores up to `reach`; 1 if there are none.
    pub fn within(&self, reach: f64) -> f64 {
        match self.scores.len() {
            0 => 1.0,
            count => self.scores.partition_point(|score| *score <= reach) as f64 / count as f64,
        }
    }
}

/// Values in ascending order, with cumulative weights.
struct Sorted {
    values: Vec<f64>,
    /// Cumulative weights; `None` if all weights are equal.
    sums: Option<Vec<f64>>,
}

impl Sorted {
    fn new(values: Vec<f64>, weights: &[f64]) -> Self {
        let mut order: Vec<(f64, f64)> = values.into_iter().zip(weights.iter().copied()).collect();
        order.sort_by(|(a, v), (b, w)| a.total_cmp(b).then(v.total_cmp(w)));
        // Dividing by class weights leaves rounding errors, so compare with a tolerance.
        let first = order.first().map_or(1.0, |(_, weight)| *weight);
        let alike = order.iter().all(|(_, weight)| (weight - first).abs() <= 1e-12 * first);
        let mut sum = 0.0;
        let sums = (!alike).then(|| {
            let sums = order.iter().map(|(_, weight)| {
                sum += weight;
                sum
            });
            sums.collect()
        });
        Self { values: order.into_iter().map(|(value, _)| value).collect(), sums }
    }

    /// The smallest value such that the values up to it have this fraction of the total weight.
    fn at(&self, share: f64) -> f64 {
        let share = share * (1.0 - 1e-12);
        let count = self.values.len();
        let at = match &self.sums {
            None => (share * count as f64).ceil() as usize,
            Some(sums) => 1 + sums.partition_point(|sum| *sum < share * sums[count - 1]),
        };
        self.values[at.clamp(1, count) - 1]
    }
}

/// The decision values of the graphs of either class, for choosing thresholds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Operating {
    /// The total weight of the graphs of the first class, and of the second.
    totals: [f64; 2],
    /// The decision values of either class, ascending, each of the same weight: all of them, or
    /// 1,000 quantiles by weight.
    values: [Vec<f64>; 2],
}

/// A threshold, and the expected precision and recall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// The class to find: 1 for the second, 0 for the first.
    pub class: usize,
    /// Decision values of at least this are predicted as the second class, if that is the class to
    /// find. Otherwise decision values of at most this are predicted as the first class.
    pub threshold: f64,
    /// The fraction of the graphs predicted as the class that belong to it.
    pub precision: f64,
    /// The fraction of the graphs of the class that are predicted as such.
    pub recall: f64,
}

impl Threshold {
    /// The class of a decision value.
    pub fn decide(&self, value: f64) -> usize {
        match self.class {
            0 => usize::from(value > self.threshold),
            _ => usize::from(value >= self.threshold),
        }
    }
}

/// Reads precision or recall from a threshold.
type Of = fn(&Threshold) -> f64;

/// The requirement on a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// At least this precision, with the largest recall.
    Precision(f64),
    /// At least this recall, with the largest precision.
    Recall(f64),
}

impl Wanted {
    /// Rejects a value that no threshold can have.
    pub fn check(self) -> Result<()> {
        let (name, least) = self.parts();
        if least > 0.0 && least <= 1.0 {
            return Ok(());
        }
        let (expected, found) = ("more than 0 and at most 1".into(), least.to_string());
        Err(Error::BadOption { name, expected, found })
    }

    fn parts(self) -> (&'static str, f64) {
        match self {
            Self::Precision(least) => ("precision", least),
            Self::Recall(least) => ("recall", least),
        }
    }
}

impl Operating {
    fn new(held: &Held, truth: &[usize]) -> Self {
        let of = |class: usize| {
            let rows = truth.iter().zip(held.decisions.column(0)).zip(&held.weights);
            let (values, weights): (Vec<f64>, Vec<f64>) = rows
                .filter(|((of, _), _)| **of == class)
                .map(|((_, value), weight)| (*value, *weight))
                .unzip();
            let (sorted, total) = (Sorted::new(values, &weights), weights.iter().sum());
            match (sorted.values.len(), &sorted.sums) {
                (0..=POINTS, None) => (total, sorted.values),
                _ => {
                    let middle = |point: usize| (point as f64 + 0.5) / POINTS as f64;
                    (total, (0..POINTS).map(|point| sorted.at(middle(point))).collect())
                }
            }
        };
        let ((first, lower), (second, upper)) = (of(0), of(1));
        let (totals, values) = ([first, second], [lower, upper]);
        Self { totals, values }
    }

    /// Restores stored values.
    pub(crate) fn from_parts(totals: [f64; 2], values: [Vec<f64>; 2]) -> Result<Self> {
        let good = |values: &Vec<f64>| {
            values.len() <= POINTS
                && values.windows(2).all(|pair| pair[0] <= pair[1])
                && values.iter().all(|value| value.is_finite())
        };
        if totals.iter().all(|total| total.is_finite() && *total >= 0.0) && values.iter().all(good) {
            return Ok(Self { totals, values });
        }
        let expected = "finite numbers in ascending order".into();
        Err(Error::BadOption { name: "operating points", expected, found: "other values".into() })
    }

    pub(crate) fn parts(&self) -> (&[f64; 2], &[Vec<f64>; 2]) {
        (&self.totals, &self.values)
    }

    /// The expected precision and recall if decision values of at least `threshold` are predicted
    /// as the second class.
    pub fn at(&self, threshold: f64) -> Threshold {
        let above = |class: usize| {
            let values = &self.values[class];
            let below = values.partition_point(|value| *value < threshold);
            (values.len() - below) as f64 / values.len().max(1) as f64
        };
        let (right, wrong) = (self.totals[1] * above(1), self.totals[0] * above(0));
        let precision = if right + wrong > 0.0 { right / (right + wrong) } else { 1.0 };
        Threshold { class: 1, threshold, precision, recall: above(1) }
    }

    /// The best of the thresholds that meet the requirement for a class: 1 for the second, 0 for
    /// the first.
    pub fn threshold_of(&self, class: usize, wanted: Wanted) -> Result<Threshold> {
        if class == 1 {
            return self.threshold(wanted);
        }
        // The first class is the second one of the negative decision values.
        let mirrored = |values: &[f64]| values.iter().rev().map(|value| -value).collect();
        let ([first, second], [lower, upper]) = (self.totals, &self.values);
        let other = Self { totals: [second, first], values: [mirrored(upper), mirrored(lower)] };
        let found = other.threshold(wanted)?;
        Ok(Threshold { class: 0, threshold: -found.threshold, ..found })
    }

    /// The best of the thresholds that meet the requirement.
    pub fn threshold(&self, wanted: Wanted) -> Result<Threshold> {
        wanted.check()?;
        let (name, least) = wanted.parts();
        let points: Vec<Threshold> = self.values[1].iter().map(|&value| self.at(value)).collect();
        let (value, other): (Of, Of) = match wanted {
            Wanted::Precision(_) => (|point| point.precision, |point| point.recall),
            Wanted::Recall(_) => (|point| point.recall, |point| point.precision),
        };
        let good = points.iter().filter(|point| value(point) >= least);
        let best = good.copied().reduce(|best, next| if other(&next) > other(&best) { next } else { best });
        best.ok_or_else(|| {
            let most = points.iter().map(value).fold(0.0, f64::max);
            // Round down, so that a threshold reaches the value shown.
            let most = (1e3 * most).floor() / 1e3;
            let (expected, found) =
                (format!("at most {most:.3} (no threshold reaches more)"), least.to_string());
            Error::BadOption { name, expected, found }
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::rng::Stream;

    #[test]
    fn as_many_scores_are_covered_as_were_asked_for() {
        let few = Conformal::new((1..=9).map(f64::from).collect());
        assert_eq!(few.reach(0.5).unwrap(), 5.0);
        assert_eq!(few.reach(0.9).unwrap(), 9.0);
        assert_eq!(few.reach(0.91).unwrap(), f64::INFINITY, "ten graphs cannot tell");
        assert!(few.reach(1.0).is_err() && few.reach(f64::NAN).is_err());
        let many = Conformal::new((1..=100_000).rev().map(f64::from).collect());
        assert_eq!((many.rows(), many.scores().len()), (100_000, POINTS));
        for coverage in [0.1, 0.5, 0.9, 0.95, 0.999] {
            let exact = (100_001.0f64 * coverage - 1e-6).ceil();
            assert_eq!(many.reach(coverage).unwrap(), exact, "{coverage}");
        }
        assert_eq!(Conformal::new(Vec::new()).reach(0.5).unwrap(), f64::INFINITY);
        // 2,000 rows have no rank 2,000.4.
        let some = Conformal::new((1..=2000).map(f64::from).collect());
        assert_eq!(some.reach(0.9997).unwrap(), f64::INFINITY);
        assert_eq!(some.reach(0.9994).unwrap(), 2000.0);
    }

    /// A row of weight 1, 2 or 3 is equivalent to that many rows.
    #[test]
    fn a_weight_is_a_number_of_rows() {
        for rows in [60, 900] {
            let mut stream = Stream::new(1, "weighted assessment test", [rows as u64, 0]);
            let weights: Vec<f64> = (0..rows).map(|row| f64::from(1 + row % 3)).collect();
            let truth: Vec<usize> = (0..rows as usize).map(|row| row % 2).collect();
            let decisions = Array2::from_shape_simple_fn((rows as usize, 1), || stream.normal());
            let repeated = |row: usize| std::iter::repeat_n(row, weights[row] as usize);
            let copies: Vec<usize> = (0..rows as usize).flat_map(repeated).collect();
            let scores: Vec<f64> = decisions.iter().map(|value| value.abs()).collect();
            let all: Vec<f64> = copies.iter().map(|&row| scores[row]).collect();
            let weighted = Conformal::weighted(scores, &weights);
            let mut sorted = all.clone();
            sorted.sort_by(f64::total_cmp);
            for coverage in [0.1, 0.5, 0.8, 0.9] {
                // A fraction of the total weight, including that of the new row.
                let share = |reach: f64| {
                    let within = all.iter().filter(|score| **score <= reach).count() as f64;
                    within / (all.len() as f64 * (1.0 + 1.0 / f64::from(rows)))
                };
                let reach = weighted.reach(coverage).unwrap();
                assert!(share(reach) >= coverage - 1e-9, "{rows} {coverage}");
                assert!(share(reach) < coverage + 4.0 / all.len() as f64 + 2.0 / f64::from(rows));
            }
            let held =
                Held { weights: weights.clone(), truth: decisions.clone(), decisions: decisions.clone() };
            let found = Operating::new(&held, &truth);
            for threshold in [-1.0, -0.3, 0.2, 0.9] {
                let above = |class: usize| {
                    copies
                        .iter()
                        .filter(|&&row| truth[row] == class && decisions[(row, 0)] >= threshold)
                        .count() as f64
                };
                let positives = copies.iter().filter(|&&row| truth[row] == 1).count() as f64;
                let point = found.at(threshold);
                assert!((point.recall - above(1) / positives).abs() < 2e-3, "{point:?}");
                let precision = above(1) / (above(0) + above(1));
                assert!((point.precision - precision).abs() < 4e-3, "{point:?}, expected {precision}");
            }
        }
    }

    /// A rare class is covered as often as asked for by its own scores, but hardly ever by those
    /// of all graphs.
    #[test]
    fn scores_of_a_class_cover_the_class() {
        let sample = |rows: usize, seed: u64| {
            let mut stream = Stream::new(seed, "rare class test", [0, 0]);
            let truth = Array2::from_shape_fn((rows, 1), |(row, _)| if row % 33 == 0 { 1.0 } else { -1.0 });
            let decisions = truth.mapv(|truth: f64| 0.5 * truth + stream.normal());
            Held { weights: vec![1.0; rows], truth, decisions }
        };
        let task = Task::Classification { num_classes: 2 };
        let found = Assessment::new(&sample(6600, 1), task, Metric::RocAuc, 0.0).unwrap();
        let rows: Vec<u64> = found.per_class.iter().map(Conformal::rows).collect();
        assert_eq!(rows, [6400, 200]);
        let new = sample(33_000, 2);
        let calibration = found.calibration.as_ref().unwrap();
        let probabilities = calibration.probabilities(new.decisions.view()).unwrap();
        for coverage in [0.8, 0.9] {
            let covered = |class: usize, reach: f64| {
                let mine = (0..33_000).filter(|row| usize::from(row % 33 == 0) == class);
                let (all, good) = mine.fold((0.0, 0.0), |(all, good), row| {
                    (all + 1.0, good + f64::from(u8::from(1.0 - probabilities[(row, class)] <= reach)))
                });
                good / all
            };
            for class in 0..2 {
                let share = covered(class, found.per_class[class].reach(coverage).unwrap());
                // Three standard deviations of the coverage of a quantile of 200 scores.
                let noise = 3.0 * (coverage * (1.0 - coverage) / [6400.0f64, 200.0][class]).sqrt() + 0.01;
                assert!((share - coverage).abs() < noise, "{class}: {share}");
            }
            let pooled = found.conformal.reach(coverage).unwrap();
            assert!(covered(1, pooled) < 0.1 && covered(0, pooled) > coverage);
            assert!((found.per_class[1].within(pooled) - covered(1, pooled)).abs() < 0.05);
        }
    }

    #[test]
    fn thresholds_of_the_first_class_mirror_those_of_the_second() {
        let decisions = Array2::from_shape_vec((6, 1), vec![-0.8, -0.6, -0.4, -0.2, 0.0, 1.0]).unwrap();
        let truth = [0, 1, 0, 1, 0, 1];
        let held = Held { weights: vec![1.0; 6], truth: decisions.clone(), decisions };
        let operating = Operating::new(&held, &truth);
        let sure = operating.threshold_of(0, Wanted::Precision(0.9)).unwrap();
        assert_eq!((sure.class, sure.threshold, sure.precision, sure.recall), (0, -0.8, 1.0, 1.0 / 3.0));
        assert_eq!([-0.9, -0.8, -0.7].map(|value| sure.decide(value)), [0, 0, 1]);
        let all = operating.threshold_of(0, Wanted::Recall(1.0)).unwrap();
        assert_eq!((all.threshold, all.precision), (0.0, 0.6));
        assert_eq!(operating.threshold_of(1, Wanted::Recall(1.0)), operating.threshold(Wanted::Recall(1.0)));
    }

    #[test]
    fn thresholds_give_what_is_wanted() {
        let decisions = Array2::from_shape_vec((6, 1), vec![-1.0, 0.0, 0.2, 0.4, 0.6, 0.8]).unwrap();
        let truth = [0, 1, 0, 1, 0, 1];
        let held = Held { weights: vec![1.0; 6], truth: decisions.clone(), decisions };
        let operating = Operating::new(&held, &truth);
        let sure = operating.threshold(Wanted::Precision(0.9)).unwrap();
        assert_eq!((sure.threshold, sure.precision, sure.recall), (0.8, 1.0, 1.0 / 3.0));
        let most = operating.threshold(Wanted::Recall(0.6)).unwrap();
        assert_eq!((most.threshold, most.precision), (0.4, 2.0 / 3.0));
        let all = operating.threshold(Wanted::Recall(1.0)).unwrap();
        assert_eq!((all.threshold, all.precision), (0.0, 0.6));
        assert!(operating.threshold(Wanted::Recall(1.5)).is_err());
    }
}
