//! What leave-one-out says of a readout: how good it is, how sure, and where to
//! draw the line.

use serde::{Deserialize, Serialize};

use super::calibration::Calibration;
use super::left_out::Held;
use crate::config::Metric;
use crate::error::{Error, Result};
use crate::metrics::{Judged, Truth};
use crate::targets::Task;

/// What leave-one-out says of one target.
///
/// Every training graph is predicted by a readout that was trained without it.
/// That is exact for the readout; inputs, scales and landmarks have seen the graph,
/// but not its target. Since alpha and class weights were chosen by the same
/// values, they are a little better than those of new graphs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Assessment {
    /// Graphs it rests on.
    pub rows: u64,
    /// What the readout was chosen by.
    pub metric: Metric,
    /// Its leave-one-out value, if it has one.
    pub value: Option<f64>,
    /// The share of the target's variance that is explained of rows left out, if that is
    /// known; of classes, of the targets of 1 and -1 that stand for them.
    pub explained: Option<f64>,
    /// The share of a readout with balanced class weights: 0 for none, 1 for nothing
    /// else.
    pub balance: f64,
    /// What turns decision values into probabilities; not for numbers.
    pub calibration: Option<Calibration>,
    /// What prediction sets and intervals are made of.
    pub conformal: Conformal,
    /// Of two classes, what thresholds are made of.
    pub operating: Option<Operating>,
}

impl Assessment {
    /// Where rows cannot be predicted without themselves.
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
            operating: None,
        }
    }

    /// Of rows predicted without themselves.
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
                operating: None,
            });
        }
        let truth: Vec<usize> = held.truth.outer_iter().map(|row| task.class_of(row)).collect();
        let calibration = Calibration::fit(held.decisions.view(), &truth, classes, &held.weights)?;
        let probabilities = calibration.probabilities(held.decisions.view())?;
        let strange = truth.iter().zip(probabilities.outer_iter()).map(|(&class, row)| 1.0 - row[class]);
        let conformal = Conformal::weighted(strange.collect(), &held.weights);
        let operating = (classes == 2).then(|| Operating::new(held, &truth));
        let calibration = Some(calibration);
        Ok(Self { rows, metric, value, explained, balance, calibration, conformal, operating })
    }
}

/// The value of a metric. Probabilities, where it needs them, are
/// calibrated on the same rows.
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

/// Points of a distribution that are kept.
const POINTS: usize = 1000;

/// How far off predictions were: the absolute error of numbers, or one minus the
/// probability of the true class.
///
/// An interval or a set that reaches as far as [`reach`](Self::reach) covers the
/// truth with the wanted probability, if new graphs are like the training graphs
/// (exchangeable) and if a readout trained without one graph behaves like the
/// readout itself. Where rows have weights, the probability is that of graphs drawn in
/// proportion to them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Conformal {
    rows: u64,
    /// Ascending: all of them, or those of every thousandth. Where rows have weights, as many
    /// quantiles of the weighted scores.
    scores: Vec<f64>,
}

impl Conformal {
    /// Of any scores.
    pub fn new(scores: Vec<f64>) -> Self {
        let weights = vec![1.0; scores.len()];
        Self::weighted(scores, &weights)
    }

    /// Of scores of rows with these weights, all positive.
    pub(super) fn weighted(scores: Vec<f64>, weights: &[f64]) -> Self {
        let sorted = Sorted::new(scores, weights);
        let rows = sorted.values.len();
        // One row more, of the mean weight, is the one to come.
        let rank = |point: usize| match rows {
            0..=POINTS => point + 1,
            _ => ((rows + 1) * (point + 1)).div_ceil(POINTS).min(rows),
        };
        let scores = (0..rows.min(POINTS)).map(|point| sorted.at(rank(point) as f64 / rows as f64)).collect();
        Self { rows: rows as u64, scores }
    }

    /// From its parts.
    pub(crate) fn from_parts(rows: u64, scores: Vec<f64>) -> Result<Self> {
        let expected = rows.min(POINTS as u64);
        let ascending = scores.windows(2).all(|pair| pair[0] <= pair[1]);
        if scores.len() as u64 != expected || !ascending || scores.iter().any(|score| !score.is_finite()) {
            let expected = format!("{expected} finite numbers that ascend");
            return Err(Error::BadOption { name: "conformal scores", expected, found: "others".into() });
        }
        Ok(Self { rows, scores })
    }

    pub(crate) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Rows it rests on.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How far sets and intervals must reach to cover the truth with this
    /// probability; infinitely far where rows are too few to tell.
    pub fn reach(&self, coverage: f64) -> Result<f64> {
        if !(coverage > 0.0 && coverage < 1.0) {
            let (expected, found) = ("a number between 0 and 1".into(), coverage.to_string());
            return Err(Error::BadOption { name: "coverage", expected, found });
        }
        // A little less, so that 0.9 of 9 is not more than 9 by rounding.
        let rank = |of: f64| ((of * coverage - 1e-9).ceil() as usize).max(1);
        let exact = rank(self.rows as f64 + 1.0);
        if exact as u64 > self.rows {
            return Ok(f64::INFINITY);
        }
        let at = if self.rows > POINTS as u64 { rank(POINTS as f64) } else { exact };
        Ok(self.scores.get(at - 1).copied().unwrap_or(f64::INFINITY))
    }
}

/// Numbers in ascending order, and the weights up to each of them.
struct Sorted {
    values: Vec<f64>,
    /// The sums; none where all weights are equal.
    sums: Option<Vec<f64>>,
}

impl Sorted {
    fn new(values: Vec<f64>, weights: &[f64]) -> Self {
        let mut order: Vec<(f64, f64)> = values.into_iter().zip(weights.iter().copied()).collect();
        order.sort_by(|(a, v), (b, w)| a.total_cmp(b).then(v.total_cmp(w)));
        // Weights of classes leave rounding behind.
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

    /// The least number such that the numbers up to it have this share of all weight.
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

/// The decision values of graphs of either class, for thresholds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Operating {
    /// The weight of graphs of the first class, and of the second.
    totals: [f64; 2],
    /// Decision values of either, ascending, each for the same weight: all, or those of every
    /// thousandth of the class's weight.
    values: [Vec<f64>; 2],
}

/// A threshold, and what to expect of graphs above it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Decision values above or equal to it are taken for the second class.
    pub threshold: f64,
    /// The share of those taken for it that are of the second class.
    pub precision: f64,
    /// The share of the second class that is taken for it.
    pub recall: f64,
}

/// What is read off a threshold.
type Of = fn(&Threshold) -> f64;

/// What a threshold is chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// At least this precision, with the largest recall.
    Precision(f64),
    /// At least this recall, with the largest precision.
    Recall(f64),
}

impl Wanted {
    /// Refuses what no threshold can give.
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

    /// From its parts.
    pub(crate) fn from_parts(totals: [f64; 2], values: [Vec<f64>; 2]) -> Result<Self> {
        let good = |values: &Vec<f64>| {
            values.len() <= POINTS
                && values.windows(2).all(|pair| pair[0] <= pair[1])
                && values.iter().all(|value| value.is_finite())
        };
        if totals.iter().all(|total| total.is_finite() && *total >= 0.0) && values.iter().all(good) {
            return Ok(Self { totals, values });
        }
        let expected = "finite numbers that ascend".into();
        Err(Error::BadOption { name: "operating points", expected, found: "others".into() })
    }

    pub(crate) fn parts(&self) -> (&[f64; 2], &[Vec<f64>; 2]) {
        (&self.totals, &self.values)
    }

    /// What to expect of graphs whose decision value is at least `threshold`.
    pub fn at(&self, threshold: f64) -> Threshold {
        let above = |class: usize| {
            let values = &self.values[class];
            let below = values.partition_point(|value| *value < threshold);
            (values.len() - below) as f64 / values.len().max(1) as f64
        };
        let (right, wrong) = (self.totals[1] * above(1), self.totals[0] * above(0));
        let precision = if right + wrong > 0.0 { right / (right + wrong) } else { 1.0 };
        Threshold { threshold, precision, recall: above(1) }
    }

    /// The best threshold of those that give what is wanted.
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
            let (expected, found) =
                (format!("at most {most:.3}, the largest of all thresholds"), least.to_string());
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
        // Of 2,000 rows none is the 2,000.4th.
        let some = Conformal::new((1..=2000).map(f64::from).collect());
        assert_eq!(some.reach(0.9997).unwrap(), f64::INFINITY);
        assert_eq!(some.reach(0.9994).unwrap(), 2000.0);
    }

    /// Rows of weight 1, 2 or 3 are that many rows.
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
                // A share of all weight, that of the row to come among it.
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
