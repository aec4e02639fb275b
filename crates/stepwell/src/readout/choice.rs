//! Which penalty and which class weights, by what leave-one-out says of them.

use std::ops::Range;

use super::assessment::value_of;
use super::leave_one_out::{AlphaErrors, smallest};
use super::left_out::{Held, LeftOut};
use super::regression::Regression;
use crate::config::Metric;
use crate::error::Result;
use crate::targets::Task;

/// What choices are made by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub task: Task,
    pub metric: Metric,
    pub alphas: &'a [f64],
}

/// Shares of the balanced readout that are tried in a blend of two, none and all of it first.
const SHARES: [f64; 5] = [0.0, 1.0, 0.25, 0.5, 0.75];

impl Choice<'_> {
    /// The position of the best alpha for some columns of a regression, and what was
    /// predicted with it of rows left out, if that is known.
    ///
    /// Accuracy has ties, and a little change of a decision value changes it or does not:
    /// squared errors say more, and are the metric itself for numbers. They also decide between
    /// alphas that another metric says nothing about.
    pub fn alpha(
        &self,
        regression: &Regression,
        errors: &AlphaErrors,
        kept: &LeftOut,
        columns: &Range<usize>,
    ) -> Result<(usize, Option<Held>)> {
        let held = |alpha: usize| {
            let own = |truth: ndarray::ArrayView1<'_, f64>| regression.own_share(self.task, truth);
            kept.is_known(alpha, columns).then(|| kept.held(alpha, columns.clone(), own))
        };
        let mut best = errors.best_of(columns.clone());
        if self.alphas.len() > 1 && !matches!(self.metric, Metric::Accuracy | Metric::Rmse | Metric::R2) {
            let losses: Vec<f64> = (0..self.alphas.len())
                .map(|alpha| held(alpha).map_or(Ok(f64::INFINITY), |held| self.loss(&held)))
                .collect::<Result<_>>()?;
            if losses.iter().any(|loss| loss.is_finite()) {
                // Where every alpha ranks all rows correctly, the largest would predict one class
                // for all of them.
                let squares = errors.means_of(columns.clone());
                best = smallest(self.alphas, &losses.into_iter().zip(squares).collect::<Vec<_>>());
            }
        }
        Ok((best, held(best)))
    }

    /// How much of the second of two readouts makes the best blend. What a blend predicts of
    /// rows left out is the blend of what the two predict, so nothing has to be trained for it.
    pub fn share(&self, first: &Held, second: &Held) -> Result<f64> {
        let losses = SHARES.map(|share| self.loss(&first.blended(second, share)));
        let mut best = (0.0, f64::INFINITY);
        for (share, loss) in SHARES.into_iter().zip(losses) {
            let loss = loss?;
            if loss < best.1 {
                best = (share, loss);
            }
        }
        Ok(best.0)
    }

    /// The metric, so that less is better; infinite where it has no value.
    fn loss(&self, held: &Held) -> Result<f64> {
        Ok(match value_of(held, self.task, self.metric)? {
            Some(value) if self.metric.is_gain() => -value,
            Some(value) => value,
            None => f64::INFINITY,
        })
    }
}
