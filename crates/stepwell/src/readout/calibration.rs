//! Calibration: turns decision values into probabilities.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, same_length};
use crate::linalg;

/// Probabilities `softmax(a s + b)` of decision values `s`, with one slope `a` for all classes and
/// one bias `b` per class. With two classes there is one decision value, for the second class, and
/// the probability is `1 / (1 + exp(-(a s + b)))` (Platt's method).
///
/// ```
/// use ndarray::array;
/// use stepwell::readout::Calibration;
/// let decisions = array![[-2.0], [-1.0], [-0.5], [0.5], [1.0], [2.0]];
/// let calibration = Calibration::fit(decisions.view(), &[0, 0, 1, 0, 1, 1], 2, &[1.0; 6])?;
/// let probabilities = calibration.probabilities(decisions.view())?;
/// assert!(probabilities[(0, 1)] < 0.3 && probabilities[(5, 1)] > 0.7);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Calibration {
    slope: f64,
    /// One bias per class; with two classes, only that of the second.
    bias: Vec<f64>,
}

/// Maximum number of Newton steps; five to ten are usual.
const MOST_STEPS: usize = 100;

impl Calibration {
    /// Fits slope and biases by maximum likelihood on decision values of held-out rows. As Platt
    /// proposed, a row belongs to its class with the probability `(n + 1) / (n + C)`, where `n` is
    /// the weight of the class and `C` the number of classes: even scores that separate the classes
    /// perfectly do not justify certainty. Weights are relative to the mean of the positive
    /// weights. If the values contradict the truth, the slope is 0.
    pub fn fit(
        decisions: ArrayView2<'_, f64>,
        classes: &[usize],
        num_classes: usize,
        weights: &[f64],
    ) -> Result<Self> {
        same_length("classes", decisions.nrows(), classes.len())?;
        same_length("weights", decisions.nrows(), weights.len())?;
        let columns = if num_classes == 2 { 1 } else { num_classes };
        same_length("columns of decision values", columns, decisions.ncols())?;
        let counted = weights.iter().filter(|weight| **weight > 0.0).count() as f64;
        let mean = weights.iter().sum::<f64>() / counted;
        let scaled: Vec<f64>;
        let weights = if mean > 0.0 && mean != 1.0 {
            scaled = weights.iter().map(|weight| weight / mean).collect();
            &scaled
        } else {
            weights
        };
        let mut totals = vec![0.0; num_classes];
        classes.iter().zip(weights).for_each(|(&class, weight)| totals[class] += weight);
        // Start from the biases: they are the solution if decision values carry no information.
        let all: f64 = totals.iter().sum();
        let share = |class: usize| (totals[class] + 1.0) / (all + num_classes as f64);
        let bias = match num_classes {
            2 => vec![(share(1) / share(0)).ln()],
            _ => (0..num_classes).map(|class| share(class).ln()).collect(),
        };
        let start = Self { slope: 0.0, bias };
        let problem = Likelihood { decisions, classes, weights, totals };
        let found = problem.climb(start.clone())?;
        Ok(if found.slope > 0.0 { found } else { start })
    }

    /// Restores a stored calibration.
    pub fn from_parts(slope: f64, bias: Vec<f64>) -> Result<Self> {
        let finite = bias.iter().chain([&slope]).all(|value| value.is_finite());
        if finite && slope >= 0.0 && !bias.is_empty() {
            return Ok(Self { slope, bias });
        }
        let expected = "a slope of at least 0, and finite biases".into();
        Err(Error::BadOption { name: "calibration", expected, found: format!("{slope} and {bias:?}") })
    }

    /// The factor of the decision values.
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// The biases: one per class or, with two classes, that of the second.
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// The probability of every class.
    pub fn probabilities(&self, decisions: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        same_length("columns of decision values", self.bias.len(), decisions.ncols())?;
        let classes = if self.bias.len() == 1 { 2 } else { self.bias.len() };
        let mut probabilities = Array2::zeros((decisions.nrows(), classes));
        for (decisions, mut row) in decisions.outer_iter().zip(probabilities.outer_iter_mut()) {
            softmax(self.logits(decisions, row.as_slice_mut().expect("just made")));
        }
        Ok(probabilities)
    }

    /// Writes the logits of a row, one per class.
    fn logits<'r>(&self, decisions: ArrayView1<'_, f64>, row: &'r mut [f64]) -> &'r mut [f64] {
        let first = row.len() - self.bias.len();
        let logits = decisions.iter().zip(&self.bias).map(|(value, bias)| self.slope * value + bias);
        row[..first].fill(0.0);
        row[first..].iter_mut().zip(logits).for_each(|(to, logit)| *to = logit);
        row
    }
}

/// Turns logits into probabilities. Returns the logarithm of the sum of their exponentials.
fn softmax(row: &mut [f64]) -> f64 {
    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|value| *value = (*value - largest).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= sum);
    largest + sum.ln()
}

/// The likelihood to maximise.
struct Likelihood<'a> {
    decisions: ArrayView2<'a, f64>,
    classes: &'a [usize],
    weights: &'a [f64],
    /// Weight of each class.
    totals: Vec<f64>,
}

/// A calibration, its loss, and the probabilities it gives.
struct Point {
    at: Calibration,
    loss: f64,
    probabilities: Array2<f64>,
}

impl Likelihood<'_> {
    /// Newton's method with step halving; the problem is convex.
    fn climb(&self, start: Calibration) -> Result<Calibration> {
        let mut best = self.point(start);
        for _ in 0..MOST_STEPS {
            let (gradient, curvature) = self.derivatives(&best.probabilities);
            let size = gradient.len();
            let Some(step) = linalg::solve_positive(curvature, gradient.view().insert_axis(Axis(1))) else {
                return Err(Error::NoDecomposition { what: "calibration", size });
            };
            let step = step.column(0);
            let after = |length: f64| {
                let Calibration { slope, bias } = &best.at;
                let bias = bias.iter().zip(step.iter().skip(1)).map(|(b, s)| b - length * s);
                Calibration { slope: slope - length * step[0], bias: bias.collect() }
            };
            // The gain of a full step if the loss is quadratic. One too small to measure is the last.
            if 0.5 * gradient.dot(&step) < 1e-12 * (1.0 + best.loss.abs()) {
                return Ok(after(1.0));
            }
            let mut length = 1.0;
            let next = loop {
                let next = self.point(after(length));
                if next.loss < best.loss {
                    break Some(next);
                }
                length /= 2.0;
                if length < 1e-10 {
                    break None;
                }
            };
            let Some(next) = next else { break };
            best = next;
        }
        Ok(best.at)
    }

    /// The target probabilities of a row of this class: for its own class, and for each other one.
    fn targets(&self, of: usize) -> (f64, f64) {
        let classes = self.totals.len() as f64;
        let own = (self.totals[of] + 1.0) / (self.totals[of] + classes);
        (own, (1.0 - own) / (classes - 1.0))
    }

    /// The loss of a row with logits `z` and targets `t`, which sum to 1, is
    /// `-Σ t log softmax(z) = log Σ exp(z) - Σ t z`.
    fn point(&self, at: Calibration) -> Point {
        let mut probabilities = Array2::zeros((self.decisions.nrows(), self.totals.len()));
        let mut loss = 0.0;
        let rows = probabilities.outer_iter_mut().zip(self.decisions.outer_iter());
        for (((mut row, decisions), &of), weight) in rows.zip(self.classes).zip(self.weights) {
            let row = at.logits(decisions, row.as_slice_mut().expect("just made"));
            let (own, other) = self.targets(of);
            let expected = (own - other) * row[of] + other * row.iter().sum::<f64>();
            loss += weight * (softmax(row) - expected);
        }
        Point { at, loss, probabilities }
    }

    /// Gradient and Hessian by slope and biases.
    fn derivatives(&self, probabilities: &Array2<f64>) -> (Array1<f64>, Array2<f64>) {
        let columns = self.decisions.ncols();
        let first = self.totals.len() - columns;
        let mut gradient = Array1::zeros(columns + 1);
        let mut curvature = Array2::zeros((columns + 1, columns + 1));
        // The biases have the Hessian `diag(Σ w p) - Σ w p pᵀ`.
        let mut rooted = Vec::with_capacity(probabilities.nrows() * columns);
        for (row, &of) in self.classes.iter().enumerate() {
            let weight = self.weights[row];
            let (s, p) = (self.decisions.row(row), probabilities.slice(s![row, first..]));
            let mean: f64 = s.iter().zip(&p).map(|(s, p)| p * s).sum();
            let mut square = -mean * mean;
            let (own, other) = self.targets(of);
            for (column, (&s, &p)) in s.iter().zip(&p).enumerate() {
                let off = p - if first + column == of { own } else { other };
                gradient[0] += weight * off * s;
                gradient[1 + column] += weight * off;
                square += p * s * s;
                curvature[(0, 1 + column)] += weight * p * (s - mean);
                curvature[(1 + column, 1 + column)] += weight * p;
                rooted.push(weight.sqrt() * p);
            }
            curvature[(0, 0)] += weight * square;
        }
        let mut products = vec![0.0; columns * columns];
        linalg::add_gram(&rooted, columns, &mut products);
        for column in 0..columns {
            curvature[(1 + column, 0)] = curvature[(0, 1 + column)];
            for other in 0..=column {
                curvature[(1 + column, 1 + other)] -= products[column * columns + other];
                curvature[(1 + other, 1 + column)] = curvature[(1 + column, 1 + other)];
            }
        }
        // The Hessian may be singular: shifting all biases changes nothing, and the slope may not
        // matter.
        let largest = curvature.diag().iter().copied().fold(1e-300, f64::max);
        curvature.diag_mut().map_inplace(|entry| *entry += 1e-9 * largest);
        (gradient, curvature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// Rows of `classes` classes, with decision values that are `logits` on another scale.
    fn drawn(rows: usize, classes: usize, scale: f64, shift: f64) -> (Array2<f64>, Vec<usize>) {
        let mut stream = Stream::new(5, "calibration test", [classes as u64, 0]);
        let columns = if classes == 2 { 1 } else { classes };
        let mut decisions = Array2::from_shape_fn((rows, columns), |_| 2.0 * stream.normal());
        let mut labels = Vec::new();
        for mut row in decisions.outer_iter_mut() {
            let mut p = if classes == 2 { vec![0.0, row[0]] } else { row.to_vec() };
            softmax(&mut p);
            let mut left = stream.uniform_in(0.0, 1.0);
            let class = p.iter().position(|p| {
                left -= p;
                left < 0.0
            });
            labels.push(class.unwrap_or(0));
            row.mapv_inplace(|logit| (logit - shift) / scale);
        }
        (decisions, labels)
    }

    #[test]
    fn the_scale_of_logits_is_found_again() {
        for classes in [2, 3, 5] {
            let (decisions, labels) = drawn(20_000, classes, 4.0, 1.0);
            let found =
                Calibration::fit(decisions.view(), &labels, classes, &vec![1.0; labels.len()]).unwrap();
            assert!((found.slope() - 4.0).abs() < 0.15, "{classes}: {found:?}");
            if classes == 2 {
                assert!((found.bias()[0] - 1.0).abs() < 0.1, "{found:?}");
            }
            let mean = found.probabilities(decisions.view()).unwrap().mean_axis(Axis(0)).unwrap();
            for class in 0..classes {
                let share = labels.iter().filter(|&&label| label == class).count() as f64 / 20_000.0;
                assert!((mean[class] - share).abs() < 1e-3, "{classes}");
            }
        }
    }

    #[test]
    fn the_scale_of_weights_does_not_matter() {
        let (decisions, labels) = drawn(60, 3, 4.0, 1.0);
        let weights: Vec<f64> = (0..60).map(|row| f64::from(row % 4)).collect();
        let of = |scale: f64| {
            let weights: Vec<f64> = weights.iter().map(|weight| scale * weight).collect();
            Calibration::fit(decisions.view(), &labels, 3, &weights).unwrap()
        };
        let (once, tiny) = (of(1.0), of(1e-3));
        let probabilities = |found: &Calibration| found.probabilities(decisions.view()).unwrap();
        let apart = probabilities(&once) - probabilities(&tiny);
        assert!(apart.iter().all(|off| off.abs() < 1e-6), "{apart}");
        let ones = Calibration::fit(decisions.view(), &labels, 3, &[7.0; 60]).unwrap();
        assert_eq!(ones, Calibration::fit(decisions.view(), &labels, 3, &[1.0; 60]).unwrap());
    }

    #[test]
    fn what_says_nothing_or_the_contrary_leaves_the_shares() {
        let decisions =
            Array2::from_shape_vec((8, 1), vec![1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0]).unwrap();
        let labels = [0, 0, 0, 1, 1, 1, 1, 1];
        let found = Calibration::fit(decisions.view(), &labels, 2, &[1.0; 8]).unwrap();
        assert_eq!(found.slope(), 0.0);
        let p = found.probabilities(decisions.view()).unwrap();
        assert!(p.column(1).iter().all(|p| (p - 0.6).abs() < 1e-12), "(5 + 1) / (8 + 2)");
        let flat = Array2::zeros((8, 1));
        assert_eq!(Calibration::fit(flat.view(), &labels, 2, &[1.0; 8]).unwrap().slope(), 0.0);
    }

    #[test]
    fn classes_told_apart_perfectly_are_no_certainty() {
        let decisions = Array2::from_shape_fn((20, 1), |(row, _)| if row < 10 { -1.0 } else { 1.0 });
        let labels: Vec<usize> = (0..20).map(|row| usize::from(row >= 10)).collect();
        let found = Calibration::fit(decisions.view(), &labels, 2, &[1.0; 20]).unwrap();
        let p = found.probabilities(decisions.view()).unwrap();
        assert!((p[(19, 1)] - 11.0 / 12.0).abs() < 1e-6, "{p}");
    }
}
