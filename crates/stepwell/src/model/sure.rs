//! How sure a trained model is: probabilities, sets, intervals and thresholds, all
//! from what leave-one-out says of the training graphs.

use ndarray::{Array2, ArrayView2, Axis, s};

use super::TrainedModel;
use crate::error::{Error, Result, same_length};
use crate::readout::{Assessment, Threshold, Wanted};
use crate::targets::Task;

impl TrainedModel {
    /// The probabilities that decision values of the [readout](crate::readout::Readout::predict)
    /// stand for: a column for each class or, for several targets, for each of them the
    /// probability of 1.
    pub fn probabilities(&self, decisions: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        match self.readout.task() {
            Task::Classification { .. } => self.of_classes(0, decisions),
            Task::Binary { targets } => {
                let mut all = Array2::zeros((decisions.nrows(), targets));
                for target in 0..targets {
                    all.column_mut(target).assign(&self.of_classes(target, decisions)?.column(1));
                }
                Ok(all)
            }
            Task::Regression { .. } => {
                let (expected, found) = ("a classifier".into(), "a regression; ask for intervals".into());
                Err(Error::BadOption { name: "probabilities", expected, found })
            }
        }
    }

    /// The probability of every class of one target.
    fn of_classes(&self, target: usize, decisions: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let task = self.readout.task();
        same_length("columns of decision values", task.num_columns(), decisions.ncols())?;
        let assessment = &self.assessed("probabilities")?[target];
        let calibration =
            assessment.calibration.as_ref().ok_or_else(|| self.unknown("probabilities", target))?;
        calibration.probabilities(decisions.slice_axis(Axis(1), task.columns_of(target).into()))
    }

    /// Which classes cannot be ruled out: the set holds the true one with the
    /// probability `coverage`, if new graphs are like the training graphs. Approximate:
    /// see [`Conformal`](crate::readout::Conformal). There is a column for each class, or, for several targets,
    /// one for 0 and one for 1 of each. A set may be empty: then no class is as likely as
    /// true classes are.
    pub fn sets(&self, decisions: ArrayView2<'_, f64>, coverage: f64) -> Result<Array2<bool>> {
        let task = self.readout.task();
        let assessments = self.assessed("prediction sets")?;
        if matches!(task, Task::Regression { .. }) {
            let (expected, found) = ("a classifier".into(), "a regression; ask for intervals".into());
            return Err(Error::BadOption { name: "prediction sets", expected, found });
        }
        let classes = task.num_classes();
        let mut sets = Array2::from_elem((decisions.nrows(), classes * task.num_targets()), false);
        for (target, assessment) in assessments.iter().enumerate() {
            let reach = assessment.conformal.reach(coverage)?;
            // As scores were computed: 1 - p of the row that decides the reach is the reach itself.
            let found = self.of_classes(target, decisions)?.mapv(|p| 1.0 - p <= reach);
            sets.slice_mut(s![.., target * classes..(target + 1) * classes]).assign(&found);
        }
        Ok(sets)
    }

    /// Intervals that hold the true number with the probability `coverage`, if new graphs
    /// are like the training graphs: for each target a column of lower ends, then one
    /// of upper ends. Approximate: see [`Conformal`](crate::readout::Conformal).
    pub fn intervals(&self, predictions: ArrayView2<'_, f64>, coverage: f64) -> Result<Array2<f64>> {
        let Task::Regression { targets } = self.readout.task() else {
            let (expected, found) = ("a regression".into(), "a classifier; ask for sets".into());
            return Err(Error::BadOption { name: "intervals", expected, found });
        };
        same_length("columns of predictions", targets, predictions.ncols())?;
        let mut ends = Array2::zeros((predictions.nrows(), 2 * targets));
        for (target, assessment) in self.assessed("intervals")?.iter().enumerate() {
            let reach = assessment.conformal.reach(coverage)?;
            let found = predictions.column(target);
            ends.slice_mut(s![.., 2 * target]).assign(&(&found - reach));
            ends.slice_mut(s![.., 2 * target + 1]).assign(&(&found + reach));
        }
        Ok(ends)
    }

    /// The decision value from which on a target is taken to be 1, or of the second of two
    /// classes, so that precision or recall is what is wanted, as far as leave-one-out
    /// can tell.
    pub fn threshold(&self, target: usize, wanted: Wanted) -> Result<Threshold> {
        let task = self.readout.task();
        if task.num_classes() != 2 {
            let found = match task {
                Task::Regression { .. } => "numbers".to_owned(),
                _ => format!("{} classes", task.num_classes()),
            };
            return Err(Error::BadOption { name: "threshold", expected: "two classes".into(), found });
        }
        wanted.check()?;
        let assessment = self.assessed("thresholds")?.get(target);
        let operating = assessment.and_then(|found| found.operating.as_ref());
        let found = operating.ok_or_else(|| self.unknown("thresholds", target))?.threshold(wanted);
        found.map_err(|error| match error {
            Error::BadOption { name, expected, found } if task.num_targets() > 1 => {
                let expected = format!("{name} of {expected}");
                Error::BadTarget { name: self.target(target), expected, found }
            }
            error => error,
        })
    }

    fn assessed(&self, what: &'static str) -> Result<&[Assessment]> {
        self.readout.assessments().ok_or_else(|| {
            let expected = "a model with leave-one-out values; train it again with this version".into();
            Error::BadOption { name: what, expected, found: "one without, of an older version".into() }
        })
    }

    /// Leave-one-out values of a target are unknown.
    fn unknown(&self, what: &'static str, target: usize) -> Error {
        let of = if self.readout.task().num_targets() > 1 {
            format!(" of target '{}'", self.target(target))
        } else {
            String::new()
        };
        let expected = format!("leave-one-out values{of}; train on more graphs, or with a larger alpha");
        let found = "none, since a training graph alone determines a part of the readout".into();
        Error::BadOption { name: what, expected, found }
    }
}
