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
            let conformal = Conformal::new(missed.collect());
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
        let conformal = Conformal::new(strange.collect());
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
/// readout itself.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Conformal {
    rows: u64,
    /// Ascending: all of them, or those of every thousandth.
    scores: Vec<f64>,
}

impl Conformal {
    /// Of any scores.
    pub fn new(mut scores: Vec<f64>) -> Self {
        scores.sort_by(f64::total_cmp);
        let rows = scores.len();
        if rows > POINTS {
            // One row more is the one to come.
            let rank = |point: usize| ((rows + 1) * (point + 1)).div_ceil(POINTS).min(rows) - 1;
            scores = (0..POINTS).map(|point| scores[rank(point)]).collect();
        }
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
        let count = self.scores.len();
        // A little less, so that 0.9 of 9 is not more than 9 by rounding.
        let rank = |of: f64| ((of * coverage - 1e-9).ceil() as usize).max(1);
        let at = if self.rows > POINTS as u64 { rank(count as f64) } else { rank((count + 1) as f64) };
        Ok(self.scores.get(at - 1).copied().unwrap_or(f64::INFINITY))
    }
}

/// The decision values of graphs of either class, for thresholds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Operating {
    /// The weight of graphs of the first class, and of the second.
    totals: [f64; 2],
    /// Decision values of either, ascending: all, or those of every thousandth.
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

impl Operating {
    fn new(held: &Held, truth: &[usize]) -> Self {
        let (mut totals, mut values) = ([0.0; 2], [Vec::new(), Vec::new()]);
        for ((&class, value), weight) in truth.iter().zip(held.decisions.column(0)).zip(&held.weights) {
            totals[class] += weight;
            values[class].push(*value);
        }
        for values in &mut values {
            values.sort_by(f64::total_cmp);
            let count = values.len();
            if count > POINTS {
                *values = (0..POINTS).map(|point| values[(2 * point + 1) * count / (2 * POINTS)]).collect();
            }
        }
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
        let (name, least) = match wanted {
            Wanted::Precision(least) => ("precision", least),
            Wanted::Recall(least) => ("recall", least),
        };
        if !(least > 0.0 && least <= 1.0) {
            let (expected, found) = ("more than 0 and at most 1".into(), least.to_string());
            return Err(Error::BadOption { name, expected, found });
        }
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
