//! Encodes targets as columns for ridge regression.

use std::cmp::Ordering;
use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::{Census, Labels, Targets};
use crate::error::{Error, Result, same_length};

/// The task of a readout.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One of `num_classes` classes.
    Classification {
        /// Number of classes, at least 2.
        #[serde(rename = "classes")]
        num_classes: usize,
    },
    /// Numbers.
    Regression {
        /// Number of targets, at least 1.
        targets: usize,
    },
    /// Several binary targets.
    Binary {
        /// Number of targets, at least 1.
        targets: usize,
    },
}

impl Task {
    /// Number of columns of the encoded targets and of the predictions. Two classes need only one
    /// column, for the second class.
    pub fn num_columns(self) -> usize {
        match self {
            Self::Classification { num_classes: 2 } => 1,
            Self::Classification { num_classes } => num_classes,
            Self::Regression { targets } | Self::Binary { targets } => targets,
        }
    }

    /// Number of targets, each with its own penalty and probabilities.
    pub fn num_targets(self) -> usize {
        match self {
            Self::Classification { .. } => 1,
            Self::Regression { targets } | Self::Binary { targets } => targets,
        }
    }

    /// Number of classes of each target; 0 for numbers.
    pub fn num_classes(self) -> usize {
        match self {
            Self::Classification { num_classes } => num_classes,
            Self::Binary { .. } => 2,
            Self::Regression { .. } => 0,
        }
    }

    /// The columns of one target.
    pub fn columns_of(self, target: usize) -> Range<usize> {
        match self {
            Self::Classification { .. } => 0..self.num_columns(),
            Self::Regression { .. } | Self::Binary { .. } => target..target + 1,
        }
    }

    /// The class that the columns of one target encode with 1 and -1.
    pub(crate) fn class_of(self, columns: ArrayView1<'_, f64>) -> usize {
        match columns.len() {
            1 => usize::from(columns[0] > 0.0),
            _ => columns.iter().position(|&value| value > 0.0).unwrap_or(0),
        }
    }
}

/// Targets encoded as columns for ridge regression.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    task: Task,
    classes: Labels,
    names: Vec<String>,
    rows: Rows,
}

#[derive(Clone, Debug, PartialEq)]
enum Rows {
    Codes(Vec<usize>),
    /// NaN where a value is unknown.
    Numbers(Array2<f64>),
}

impl Encoded {
    /// Encodes all targets. The classes are those that occur. Rejects targets that no model can
    /// learn.
    pub fn new(targets: &Targets) -> Result<Self> {
        Self::named(targets, Vec::new())
    }

    /// The same with names for the targets: one per target, or none at all.
    pub fn named(targets: &Targets, names: Vec<String>) -> Result<Self> {
        let classes = targets.labels().map_or(Labels::NONE, Labels::distinct);
        let encoded = Self { names, ..Self::with_classes(targets, classes)? };
        if !encoded.names.is_empty() {
            same_length("names of the targets", encoded.task.num_targets(), encoded.names.len())?;
        }
        encoded.census().check(encoded.task, &encoded.names)?;
        Ok(encoded)
    }

    /// Encodes some of the targets, given the classes of all of them.
    pub fn with_classes(targets: &Targets, classes: Labels) -> Result<Self> {
        let unusable = |expected: &str, found: String| {
            Err(Error::BadOption { name: "targets", expected: expected.into(), found })
        };
        let bad = |values: &Array2<f64>, good: fn(f64) -> bool| {
            values.indexed_iter().find(|(_, value)| !(value.is_nan() || good(**value))).map(
                |((row, column), value)| {
                    format!("{value} for graph {row} in column {column}, counted from 0")
                },
            )
        };
        match targets {
            Targets::Classes(Labels::Float(values)) if values.iter().any(|value| !value.is_finite()) => {
                let row = values.iter().position(|value| !value.is_finite()).unwrap_or(0);
                let found = format!("{} for graph {row}, counted from 0", values[row]);
                unusable("finite numbers as classes", found)
            }
            Targets::Classes(labels) => {
                check_num_classes(classes.len())?;
                let task = Task::Classification { num_classes: classes.len() };
                Ok(Self { task, names: Vec::new(), rows: Rows::Codes(labels.codes(&classes)?), classes })
            }
            Targets::Numbers(values) | Targets::Binary(values) => {
                let targets_of = values.ncols();
                same_length("targets", targets_of.max(1), targets_of)?;
                let (task, found, expected) = match targets {
                    Targets::Binary(_) => (
                        Task::Binary { targets: targets_of },
                        bad(values, |value| value == 0.0 || value == 1.0),
                        "0, 1, or NaN if unknown",
                    ),
                    _ => (
                        Task::Regression { targets: targets_of },
                        bad(values, f64::is_finite),
                        "finite numbers, or NaN if unknown",
                    ),
                };
                match found {
                    Some(found) => unusable(expected, found),
                    None => Ok(Self {
                        task,
                        classes: Labels::NONE,
                        names: Vec::new(),
                        rows: Rows::Numbers(values.clone()),
                    }),
                }
            }
            Targets::None => unusable("a class or numbers for every graph", "none".into()),
        }
    }

    /// The task.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The names of the classes, by code; empty for numbers and for several targets.
    pub fn classes(&self) -> &Labels {
        &self.classes
    }

    /// The names of the targets, if they have names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The statistics that training needs first.
    pub fn census(&self) -> Census {
        let mut census = Census::new(self.task);
        match &self.rows {
            Rows::Codes(codes) => codes.iter().for_each(|&code| census.count(code)),
            Rows::Numbers(values) => values.outer_iter().for_each(|row| census.observe(row)),
        }
        census
    }

    /// Compares the targets of two rows.
    pub(crate) fn order(&self, row: usize, other: usize) -> Ordering {
        match &self.rows {
            Rows::Codes(codes) => codes[row].cmp(&codes[other]),
            Rows::Numbers(values) => super::in_order(values.row(row), values.row(other)),
        }
    }

    /// The class of every row, as a position among the names. `None` without classes.
    pub fn codes(&self) -> Option<&[usize]> {
        match &self.rows {
            Rows::Codes(codes) => Some(codes),
            Rows::Numbers(_) => None,
        }
    }

    /// The original values of every row: numbers, or 0 and 1; NaN if unknown. `None` for classes.
    pub fn values(&self) -> Option<ArrayView2<'_, f64>> {
        match &self.rows {
            Rows::Codes(_) => None,
            Rows::Numbers(values) => Some(values.view()),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Codes(codes) => codes.len(),
            Rows::Numbers(values) => values.nrows(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The targets of some rows, with the same classes.
    ///
    /// # Panics
    /// If a row does not exist, as for a slice.
    pub fn select(&self, rows: &[usize]) -> Self {
        let chosen = match &self.rows {
            Rows::Codes(codes) => Rows::Codes(rows.iter().map(|&row| codes[row]).collect()),
            Rows::Numbers(values) => Rows::Numbers(values.select(Axis(0), rows)),
        };
        Self { rows: chosen, classes: self.classes.clone(), names: self.names.clone(), task: self.task }
    }

    /// The targets that vary, as far as counts show: both classes occur, or at least two numbers
    /// are known.
    pub fn varying(&self) -> Vec<usize> {
        let census = self.census();
        let varies = |target: &usize| match census.counts(*target) {
            [known] => *known > 1,
            counts => counts.iter().filter(|&&count| count > 0).count() > 1,
        };
        (0..self.task.num_targets()).filter(varies).collect()
    }

    /// The targets that are known for at least one row.
    pub fn known(&self) -> Vec<usize> {
        let census = self.census();
        let is_known = |target: &usize| census.counts(*target).iter().any(|&count| count > 0);
        (0..self.task.num_targets()).filter(is_known).collect()
    }

    /// Some of several targets, in this order. Classes are a single target and stay unchanged.
    ///
    /// # Panics
    /// If a target does not exist, as for a slice.
    pub fn of_targets(&self, targets: &[usize]) -> Self {
        let count = targets.len();
        let (task, values) = match (self.task, &self.rows) {
            (Task::Binary { .. }, Rows::Numbers(values)) => (Task::Binary { targets: count }, values),
            (Task::Regression { .. }, Rows::Numbers(values)) => (Task::Regression { targets: count }, values),
            _ => return self.clone(),
        };
        let names = targets.iter().filter_map(|&target| self.names.get(target).cloned()).collect();
        Self { task, names, classes: Labels::NONE, rows: Rows::Numbers(values.select(Axis(1), targets)) }
    }

    /// Rejects targets that are unknown for all rows with a positive weight.
    pub(crate) fn check_weights(&self, weights: Option<&[f64]>) -> Result<()> {
        let counts = |row: usize| weights.is_none_or(|weights| weights[row] > 0.0);
        if self.is_empty() {
            return Ok(());
        }
        if !(0..self.len()).any(counts) {
            let (expected, found) = ("at least one above 0".into(), "none".into());
            return Err(Error::BadOption { name: "weights", expected, found });
        }
        let Rows::Numbers(values) = &self.rows else { return Ok(()) };
        for (target, column) in values.columns().into_iter().enumerate() {
            if !column.iter().enumerate().any(|(row, value)| !value.is_nan() && counts(row)) {
                let among = if weights.is_some() { " among rows with a positive weight" } else { "" };
                let expected = format!("values to learn from{among}");
                let name = self.names.get(target).cloned().unwrap_or_else(|| target.to_string());
                return Err(Error::BadTarget { name, expected, found: "none".into() });
            }
        }
        Ok(())
    }

    /// The columns of all rows; see [`columns`](Self::columns).
    pub fn matrix(&self) -> Array2<f64> {
        self.columns(0..self.len())
    }

    /// The columns of some rows: numbers as they are; for classes, one column per class with 1 for
    /// its rows and -1 for the others. NaN for unknown targets.
    ///
    /// # Panics
    /// If a row does not exist, as for a slice.
    pub fn columns(&self, rows: Range<usize>) -> Array2<f64> {
        match (&self.rows, self.task) {
            (Rows::Numbers(values), Task::Binary { .. }) => {
                values.slice(s![rows, ..]).mapv(|value| 2.0 * value - 1.0)
            }
            (Rows::Numbers(values), _) => values.slice(s![rows, ..]).to_owned(),
            (Rows::Codes(codes), _) => signs(&codes[rows], self.task),
        }
    }
}

/// One column per class, with 1 for its rows and -1 for the others.
fn signs(codes: &[usize], task: Task) -> Array2<f64> {
    let columns = task.num_columns();
    let first = usize::from(columns == 1);
    let sign = |(row, column): (usize, usize)| if codes[row] == first + column { 1.0 } else { -1.0 };
    Array2::from_shape_fn((codes.len(), columns), sign)
}

/// Rejects fewer than two classes.
pub(crate) fn check_num_classes(found: usize) -> Result<()> {
    if found >= 2 {
        return Ok(());
    }
    let (expected, found) = ("at least 2".into(), found.to_string());
    Err(Error::BadOption { name: "classes", expected, found })
}

/// The class of every row of decision values: that of the largest value, or the first of equal
/// ones. With two classes, the second if the value is above 0.
pub fn decode_classes(decisions: ArrayView2<'_, f64>) -> Vec<usize> {
    let largest = |row: ArrayView1<'_, f64>| {
        let mut best = (0, f64::NEG_INFINITY);
        for (class, &value) in row.iter().enumerate() {
            if value > best.1 {
                best = (class, value);
            }
        }
        best.0
    };
    let class = |row: ArrayView1<'_, f64>| {
        if row.len() == 1 { usize::from(row[0] > 0.0) } else { largest(row) }
    };
    decisions.rows().into_iter().map(class).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn classes_become_signs_and_signs_become_classes() {
        let encoded = |values: Vec<i64>, of: Vec<i64>| {
            let encoded = Encoded::with_classes(&Targets::integers(values), Labels::Int(of)).unwrap();
            encoded.columns(0..encoded.len())
        };
        let three = encoded(vec![2, 0, 1], vec![0, 1, 2]);
        assert_eq!(three, array![[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]]);
        assert_eq!(decode_classes(three.view()), [2, 0, 1]);
        let two = encoded(vec![1, 0], vec![0, 1]);
        assert_eq!(two, array![[1.0], [-1.0]]);
        assert_eq!(decode_classes(two.view()), [1, 0]);
        // Ties go to the first class.
        assert_eq!(decode_classes(array![[0.0], [-0.0], [1e-300]].view()), [0, 0, 1]);
        assert_eq!(decode_classes(array![[0.5, 0.7, 0.7], [0.1, 0.1, 0.1]].view()), [1, 0]);
        assert!(Encoded::new(&Targets::integers(vec![4, 4])).is_err(), "one class");
        assert_eq!(encoded(vec![], vec![0, 1, 2, 3]).dim(), (0, 4));
    }

    #[test]
    fn what_nothing_can_be_learnt_of_is_refused_by_name() {
        let refused = |targets: Targets| {
            let names = vec!["a".to_owned(), "b".to_owned()];
            Encoded::named(&targets, names).unwrap_err().to_string()
        };
        let nan = f64::NAN;
        assert_eq!(
            refused(Targets::Numbers(array![[1.0, nan], [2.0, nan]])),
            "target 'b': expected values to learn from, found none"
        );
        assert_eq!(
            refused(Targets::Binary(array![[1.0, 0.0], [nan, 1.0]])),
            "target 'a': expected both 0 and 1 among its values, found only 1"
        );
        assert!(refused(Targets::Binary(array![[1.0, 0.5]])).contains("found 0.5 for graph 0 in column 1"));
        assert!(refused(Targets::Numbers(array![[1.0, f64::INFINITY]])).contains("found inf for graph 0"));
        assert!(Encoded::new(&Targets::None).is_err());
        assert!(Encoded::named(&Targets::numbers(vec![1.0]), vec!["a".into(), "b".into()]).is_err());
    }

    #[test]
    fn several_targets_keep_their_gaps() {
        let encoded =
            Encoded::new(&Targets::Binary(array![[0.0, 1.0], [1.0, f64::NAN], [1.0, 0.0]])).unwrap();
        let columns = encoded.matrix();
        assert_eq!(columns.column(0).to_vec(), [-1.0, 1.0, 1.0]);
        assert!(columns[(1, 1)].is_nan());
        assert_eq!(encoded.select(&[2]).matrix(), array![[1.0, -1.0]]);
        assert_eq!(encoded.task().columns_of(1), 1..2);
    }
}
