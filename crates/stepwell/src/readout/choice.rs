//! Chooses the penalty and the class weights by leave-one-out.

use std::ops::Range;

use super::assessment::value_of;
use super::leave_one_out::{AlphaErrors, smallest};
use super::left_out::{Held, LeftOut};
use super::regression::Regression;
use crate::config::Metric;
use crate::error::Result;
use crate::targets::Task;

/// The criteria of a choice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice<'a> {
    pub task: Task,
    pub metric: Metric,
    pub alphas: &'a [f64],
}

/// Fractions of the balanced readout to try in a blend, the pure readouts first.
const SHARES: [f64; 5] = [0.0, 1.0, 0.25, 0.5, 0.75];

impl Choice<'_> {
    /// The position of the best alpha for some columns of a regression, and its leave-one-out
    /// predictions, if they are known.
    ///
    /// Squared errors replace accuracy, because accuracy has many ties and ignores small changes of
    /// decision values; for RMSE and R² they are equivalent to the metric. They also break ties of
    /// other metrics.
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
                // If every alpha ranks all rows correctly, the tie would go to the largest alpha,
                // which predicts one class for all rows. Let squared errors break the tie.
                let squares = errors.means_of(columns.clone());
                best = smallest(self.alphas, &losses.into_iter().zip(squares).collect::<Vec<_>>());
            }
        }
        Ok((best, held(best)))
    }

    /// The weight of the second readout in the best blend of two. The leave-one-out prediction of a
    /// blend is the blend of the two predictions, so nothing needs to be trained.
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

    /// The metric with a sign such that smaller is better; infinite if it is undefined.
    fn loss(&self, held: &Held) -> Result<f64> {
        Ok(match value_of(held, self.task, self.metric)? {
            Some(value) if self.metric.is_gain() => -value,
            Some(value) => value,
            None => f64::INFINITY,
        })
    }
}
