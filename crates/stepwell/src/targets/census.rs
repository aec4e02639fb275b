//! What must be known of targets before a readout can be trained.

use std::collections::HashMap;

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::Task;
use crate::error::{Error, Result, same_length};

/// Which targets are known for the same rows, and how many rows each class has.
/// Counts of different rows [`merge`](Self::merge).
///
/// ```
/// use ndarray::array;
/// use stepwell::targets::{Encoded, Targets};
/// let nan = f64::NAN;
/// let y = Targets::Binary(array![[1.0, nan, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]);
/// let census = Encoded::new(&y)?.census();
/// assert_eq!(census.groups(), [vec![0, 2], vec![1]]);
/// assert_eq!(census.counts(0), [2, 1]);
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Census {
    /// Targets with equal numbers are known for the same rows.
    alike: Vec<usize>,
    /// Of every target, the rows of each class; of numbers, all rows that are known.
    counts: Vec<Vec<u64>>,
}

impl Census {
    /// Before any row.
    pub fn new(task: Task) -> Self {
        let targets = task.num_targets();
        Self { alike: vec![0; targets], counts: vec![vec![0; task.num_classes().max(1)]; targets] }
    }

    /// Of one target, from the number of rows of each class.
    pub fn of_classes(counts: Vec<u64>) -> Self {
        Self { alike: vec![0], counts: vec![counts] }
    }

    /// Counts a row of a class, of the only target.
    pub(super) fn count(&mut self, class: usize) {
        self.counts[0][class] += 1;
    }

    /// Takes a row of values: numbers, or 0 and 1; NaN if unknown.
    pub(super) fn observe(&mut self, row: ArrayView1<'_, f64>) {
        for (counts, value) in self.counts.iter_mut().zip(row) {
            let class = if counts.len() == 1 { 0 } else { usize::from(*value > 0.0) };
            counts[class] += u64::from(!value.is_nan());
        }
        let first = row.first().is_some_and(|value| value.is_nan());
        if row.iter().any(|value| value.is_nan() != first) {
            let gaps: Vec<usize> = row.iter().map(|value| usize::from(value.is_nan())).collect();
            self.split(&gaps);
        }
    }

    /// Separates targets that have different numbers in `by`.
    fn split(&mut self, by: &[usize]) {
        let mut numbers = HashMap::new();
        for (mine, theirs) in self.alike.iter_mut().zip(by) {
            let next = numbers.len();
            *mine = *numbers.entry((*mine, *theirs)).or_insert(next);
        }
    }

    /// Adds what is known of other rows.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same_length("targets", self.counts.len(), other.counts.len())?;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            same_length("classes", mine.len(), theirs.len())?;
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.split(&other.alike);
        Ok(())
    }

    /// Targets that are known for the same rows, by their positions.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (target, &group) in self.alike.iter().enumerate() {
            groups.resize(groups.len().max(group + 1), Vec::new());
            groups[group].push(target);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }

    /// Rows of each class of a target; of numbers, all rows that are known.
    ///
    /// # Panics
    /// When there is no such target, as indexing a slice does.
    pub fn counts(&self, target: usize) -> &[u64] {
        &self.counts[target]
    }

    /// Refuses a task of another shape.
    pub(crate) fn check_shape(&self, task: Task) -> Result<()> {
        same_length("targets", task.num_targets(), self.counts.len())?;
        let classes = task.num_classes().max(1);
        self.counts.iter().try_for_each(|counts| same_length("classes", classes, counts.len()))
    }

    /// Refuses targets that nothing can be learnt of.
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
