//! Uncertainty of a trained model: probabilities, prediction sets, intervals and thresholds, all
//! from leave-one-out predictions of the training graphs.

use ndarray::{Array2, ArrayView2, Axis, s};

use super::TrainedModel;
use crate::error::{Error, Result, same_length};
use crate::readout::{Assessment, Threshold, Wanted};
use crate::targets::Task;

impl TrainedModel {
    /// Turns decision values of the [readout](crate::readout::Readout::predict) into probabilities:
    /// one column per class or, for several targets, the probability of 1 for each of them.
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
                let (expected, found) = ("a classifier".into(), "a regression; use intervals instead".into());
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

    /// Prediction sets: the classes that cannot be ruled out. If new graphs are like the training
    /// graphs, a set contains the true class with the probability `coverage`. This is approximate;
    /// see [`Conformal`](crate::readout::Conformal). Columns are classes or, for several targets,
    /// one for 0 and one for 1 per target. A set may be empty: then no class is as likely as true
    /// classes usually are.
    ///
    /// The probability is an average over all graphs. The graphs of a rare class may be covered
    /// much less; see [`sets_per_class`](Self::sets_per_class).
    pub fn sets(&self, decisions: ArrayView2<'_, f64>, coverage: f64) -> Result<Array2<bool>> {
        self.sets_within(decisions, |assessment, _| assessment.conformal.reach(coverage))
    }

    /// Prediction sets that cover every class: a set contains the true class with the probability
    /// `coverage` for the graphs of each class, not only on average (class-conditional, or
    /// Mondrian, conformal prediction). A class with too few training graphs for that is in every
    /// set.
    ///
    /// A model without [scores of classes](Self::knows_classes) returns the same as
    /// [`sets`](Self::sets).
    pub fn sets_per_class(&self, decisions: ArrayView2<'_, f64>, coverage: f64) -> Result<Array2<bool>> {
        self.sets_within(decisions, |Assessment { conformal, per_class, .. }, class| {
            per_class.get(class).unwrap_or(conformal).reach(coverage)
        })
    }

    /// Whether the model knows the conformal scores of the graphs of every class. Files written
    /// by older versions lack them.
    pub fn knows_classes(&self) -> bool {
        let assessments = self.readout.assessments().unwrap_or_default();
        assessments.iter().all(|found| !found.per_class.is_empty())
    }

    /// The class that [`sets`](Self::sets) of this coverage cover least, and the fraction of its
    /// training graphs that they cover when left out: target, class, fraction. `None` if unknown.
    pub fn least_covered(&self, coverage: f64) -> Result<Option<(usize, usize, f64)>> {
        let mut least: Option<(usize, usize, f64)> = None;
        for (target, found) in self.readout.assessments().unwrap_or_default().iter().enumerate() {
            let reach = found.conformal.reach(coverage)?;
            for (class, scores) in found.per_class.iter().enumerate() {
                let share = scores.within(reach);
                if least.is_none_or(|(.., smallest)| share < smallest) {
                    least = Some((target, class, share));
                }
            }
        }
        Ok(least)
    }

    /// The classes whose scores are at most the `reach` of the class.
    fn sets_within(
        &self,
        decisions: ArrayView2<'_, f64>,
        reach: impl Fn(&Assessment, usize) -> Result<f64>,
    ) -> Result<Array2<bool>> {
        let task = self.readout.task();
        let assessments = self.assessed("prediction sets")?;
        if matches!(task, Task::Regression { .. }) {
            let (expected, found) = ("a classifier".into(), "a regression; use intervals instead".into());
            return Err(Error::BadOption { name: "prediction sets", expected, found });
        }
        let classes = task.num_classes();
        let mut sets = Array2::from_elem((decisions.nrows(), classes * task.num_targets()), false);
        for (target, assessment) in assessments.iter().enumerate() {
            let probabilities = self.of_classes(target, decisions)?;
            for class in 0..classes {
                let reach = reach(assessment, class)?;
                // Compute 1 - p exactly as for the scores, so that the row that determines the
                // reach is covered.
                // Nothing is known of a graph without vertices: no class can be ruled out.
                let found = probabilities.column(class).mapv(|p| p.is_nan() || 1.0 - p <= reach);
                sets.column_mut(target * classes + class).assign(&found);
            }
        }
        Ok(sets)
    }

    /// Prediction intervals: if new graphs are like the training graphs, an interval contains the
    /// true number with the probability `coverage`. Columns are the lower and the upper end for
    /// each target. This is approximate; see [`Conformal`](crate::readout::Conformal).
    pub fn intervals(&self, predictions: ArrayView2<'_, f64>, coverage: f64) -> Result<Array2<f64>> {
        let Task::Regression { targets } = self.readout.task() else {
            let (expected, found) =
                ("a regression".into(), "a classifier; use prediction sets instead".into());
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

    /// The decision value from which on a target counts as 1, or a graph as the second of two
    /// classes, so that the wanted precision or recall is reached on leave-one-out predictions.
    pub fn threshold(&self, target: usize, wanted: Wanted) -> Result<Threshold> {
        self.threshold_of(target, 1, wanted)
    }

    /// The decision value up to which (class 0) or from which on (class 1) a graph counts as that
    /// class, so that the class is found with the wanted precision or recall on leave-one-out
    /// predictions.
    pub fn threshold_of(&self, target: usize, class: usize, wanted: Wanted) -> Result<Threshold> {
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
        let operating = operating.ok_or_else(|| self.unknown("thresholds", target))?;
        let found = operating.threshold_of(class, wanted);
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
            let expected = "a model with leave-one-out values".into();
            let found = "one without, written by an older version; train it again".into();
            Error::BadOption { name: what, expected, found }
        })
    }

    /// The error for a target whose leave-one-out values are unknown.
    fn unknown(&self, what: &'static str, target: usize) -> Error {
        let of = if self.readout.task().num_targets() > 1 {
            format!(" of target '{}'", self.target(target))
        } else {
            String::new()
        };
        let expected = format!("leave-one-out values{of}");
        let found = "none, because some part of the readout depends on a single training graph; train on more graphs, or with a larger alpha";
        Error::BadOption { name: what, expected, found: found.into() }
    }
}
