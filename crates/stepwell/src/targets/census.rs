//! The statistics of targets that a readout needs before training.

use std::collections::HashMap;

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::Task;
use crate::error::{Error, Result, same_length};

/// The groups of targets that are known for the same rows, and the number of rows of each class.
/// [`merge`](Self::merge) combines the counts of different rows.
///
/// ```
/// use ndarray::array;
/// use stepwell::targets::{Encoded, Targets};
/// let nan = f64::NAN;
/// let y = Targets::Binary(array![[1.0, nan, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]);
/// let census = Encoded::new(&y)?.census();
/// assert_eq!(census.groups(), [vec![0, 2], vec![1]]);
/// assert_eq!((census.counts(0), census.rows()), (&[2, 1][..], 3));
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Census {
    /// Targets with equal values here are known for the same rows.
    alike: Vec<usize>,
    /// For every target, the number of rows of each class; for numbers, the number of known rows.
    counts: Vec<Vec<u64>>,
    /// The number of rows with a known target.
    rows: u64,
}

impl Census {
    /// A census without rows.
    pub fn new(task: Task) -> Self {
        let targets = task.num_targets();
        Self { alike: vec![0; targets], counts: vec![vec![0; task.num_classes().max(1)]; targets], rows: 0 }
    }

    /// A census of one target, from the number of rows of each class.
    pub fn of_classes(counts: Vec<u64>) -> Self {
        Self { alike: vec![0], rows: counts.iter().sum(), counts: vec![counts] }
    }

    /// Counts a row of a class. There must be a single target.
    pub(super) fn count(&mut self, class: usize) {
        self.counts[0][class] += 1;
        self.rows += 1;
    }

    /// Adds a row of values: numbers, or 0 and 1; NaN if unknown.
    pub(super) fn observe(&mut self, row: ArrayView1<'_, f64>) {
        for (counts, value) in self.counts.iter_mut().zip(row) {
            let class = if counts.len() == 1 { 0 } else { usize::from(*value > 0.0) };
            counts[class] += u64::from(!value.is_nan());
        }
        self.rows += u64::from(row.iter().any(|value| !value.is_nan()));
        let first = row.first().is_some_and(|value| value.is_nan());
        if row.iter().any(|value| value.is_nan() != first) {
            let gaps: Vec<usize> = row.iter().map(|value| usize::from(value.is_nan())).collect();
            self.split(&gaps);
        }
    }

    /// Separates targets that have different values in `by`.
    fn split(&mut self, by: &[usize]) {
        let mut numbers = HashMap::new();
        for (mine, theirs) in self.alike.iter_mut().zip(by) {
            let next = numbers.len();
            *mine = *numbers.entry((*mine, *theirs)).or_insert(next);
        }
    }

    /// Adds the census of other rows.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same_length("targets", self.counts.len(), other.counts.len())?;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            same_length("classes", mine.len(), theirs.len())?;
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.rows += other.rows;
        self.split(&other.alike);
        Ok(())
    }

    /// Number of rows with a known target.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The positions of the targets, grouped by the rows for which they are known.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (target, &group) in self.alike.iter().enumerate() {
            groups.resize(groups.len().max(group + 1), Vec::new());
            groups[group].push(target);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Number of rows of each class of a target; for numbers, the number of known rows.
    ///
    /// # Panics
    /// If the target does not exist, as for a slice.
    pub fn counts(&self, target: usize) -> &[u64] {
        &self.counts[target]
    }

    /// Rejects a task with other numbers of targets or classes.
    pub(crate) fn check_shape(&self, task: Task) -> Result<()> {
        same_length("targets", task.num_targets(), self.counts.len())?;
        let classes = task.num_classes().max(1);
        self.counts.iter().try_for_each(|counts| same_length("classes", classes, counts.len()))
    }

    /// Rejects targets that no model can learn.
    pub fn check(&self, task: Task, names: &[String]) -> Result<()> {
        for (target, counts) in self.counts.iter().enumerate() {
            let name = || names.get(target).cloned().unwrap_or_else(|| target.to_string());
            if counts.iter().all(|&count| count == 0) {
                let expected = "values to learn from".into();
                return Err(Error::BadTarget { name: name(), expected, found: "none".into() });
            }
            if let (Task::Binary { .. }, Some(missing)) = (task, counts.iter().position(|&count| count == 0))
            {
                let (expected, found) =
                    ("both 0 and 1 among its values".into(), format!("only {}", 1 - missing));
                return Err(Error::BadTarget { name: name(), expected, found });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn parts_of_the_rows_are_merged_in_any_order() {
        let nan = f64::NAN;
        let rows = array![
            [1.0, nan, 0.0, 1.0],
            [0.0, nan, 1.0, nan],
            [0.0, 1.0, 1.0, 1.0],
            [nan, 0.0, nan, nan],
            [1.0, 1.0, 0.0, 0.0]
        ];
        let of = |chosen: &[usize]| {
            let mut census = Census::new(Task::Binary { targets: 4 });
            chosen.iter().for_each(|&row| census.observe(rows.row(row)));
            census
        };
        let whole = of(&[0, 1, 2, 3, 4]);
        assert_eq!(whole.groups(), [vec![0, 2], vec![1], vec![3]]);
        assert_eq!(whole.counts(3), [1, 2]);
        for parts in [[&[0, 1][..], &[2, 3, 4]], [&[3, 4, 1], &[2, 0]]] {
            let mut merged = of(parts[0]);
            merged.merge(&of(parts[1])).unwrap();
            assert_eq!((merged.groups(), merged.counts), (whole.groups(), whole.counts.clone()));
        }
    }
}
