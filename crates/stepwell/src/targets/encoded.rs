//! Targets as the columns a ridge regression is trained on.

use std::cmp::Ordering;
use std::ops::Range;

use ndarray::{Array2, ArrayView1, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use super::{Census, Labels, Targets};
use crate::error::{Error, Result, same_length};

/// What a readout is to predict.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// One of `num_classes` classes.
    Classification {
        /// How many, at least 2.
        #[serde(rename = "classes")]
        num_classes: usize,
    },
    /// Numbers.
    Regression {
        /// How many for a row, at least 1.
        targets: usize,
    },
    /// Several things that are or are not so.
    Binary {
        /// How many for a row, at least 1.
        targets: usize,
    },
}

impl Task {
    /// Columns of what is regressed on, and of what comes out. Of two classes
    /// the second column alone says it all.
    pub fn num_columns(self) -> usize {
        match self {
            Self::Classification { num_classes: 2 } => 1,
            Self::Classification { num_classes } => num_classes,
            Self::Regression { targets } | Self::Binary { targets } => targets,
        }
    }

    /// How many things are predicted, each with a penalty and probabilities of its own.
    pub fn num_targets(self) -> usize {
        match self {
            Self::Classification { .. } => 1,
            Self::Regression { targets } | Self::Binary { targets } => targets,
        }
    }

    /// Classes of each target; 0 for numbers.
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

    /// The class that the columns of one target stand for, where they hold 1 and -1.
    pub(crate) fn class_of(self, columns: ArrayView1<'_, f64>) -> usize {
        match columns.len() {
            1 => usize::from(columns[0] > 0.0),
            _ => columns.iter().position(|&value| value > 0.0).unwrap_or(0),
        }
    }
}

/// Targets as the columns a ridge regression is trained on.
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
    /// Of all targets there are: the classes are those that occur. A target that
    /// nothing can be learnt of is refused.
    pub fn new(targets: &Targets) -> Result<Self> {
        Self::named(targets, Vec::new())
    }

    /// The same for targets that have names: all of them, or none.
    pub fn named(targets: &Targets, names: Vec<String>) -> Result<Self> {
        let classes = targets.labels().map_or(Labels::NONE, Labels::distinct);
        let encoded = Self { names, ..Self::with_classes(targets, classes)? };
        if !encoded.names.is_empty() {
            same_length("names of the targets", encoded.task.num_targets(), encoded.names.len())?;
        }
        encoded.census().check(encoded.task, &encoded.names)?;
        Ok(encoded)
    }

    /// Of some targets, where the classes of all of them are known.
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
                unusable("a class or numbers for every graph", "a class that is not a finite number".into())
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

    /// What is to be predicted.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The names of the classes, by code; none for numbers, and for several targets.
    pub fn classes(&self) -> &Labels {
        &self.classes
    }

    /// The names of the targets, where they have some.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What is known before any graph is looked at.
    pub fn census(&self) -> Census {
        let mut census = Census::new(self.task);
        match &self.rows {
            Rows::Codes(codes) => codes.iter().for_each(|&code| census.count(code)),
            Rows::Numbers(values) => values.outer_iter().for_each(|row| census.observe(row)),
        }
        census
    }

    /// The order of the targets of two rows.
    pub(crate) fn order(&self, row: usize, other: usize) -> Ordering {
        match &self.rows {
            Rows::Codes(codes) => codes[row].cmp(&codes[other]),
            Rows::Numbers(values) => super::in_order(values.row(row), values.row(other)),
        }
    }

    /// The class of every row, by its position among the names.
    pub fn codes(&self) -> Option<&[usize]> {
        match &self.rows {
            Rows::Codes(codes) => Some(codes),
            Rows::Numbers(_) => None,
        }
    }

    /// The values of every row as they were given, where there are no classes: numbers, or
    /// 0 and 1; NaN if unknown.
    pub fn values(&self) -> Option<ArrayView2<'_, f64>> {
        match &self.rows {
            Rows::Codes(_) => None,
            Rows::Numbers(values) => Some(values.view()),
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Codes(codes) => codes.len(),
            Rows::Numbers(values) => values.nrows(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those of some rows, whose classes are the same.
    ///
    /// # Panics
    /// When there is no such row, as indexing a slice does.
    pub fn select(&self, rows: &[usize]) -> Self {
        let chosen = match &self.rows {
            Rows::Codes(codes) => Rows::Codes(rows.iter().map(|&row| codes[row]).collect()),
            Rows::Numbers(values) => Rows::Numbers(values.select(Axis(0), rows)),
        };
        Self { rows: chosen, classes: self.classes.clone(), names: self.names.clone(), task: self.task }
    }

    /// The targets that vary as far as counts can tell: both classes occur, or at least two
    /// numbers are known.
    pub fn varying(&self) -> Vec<usize> {
        let census = self.census();
        let varies = |target: &usize| match census.counts(*target) {
            [known] => *known > 1,
            counts => counts.iter().filter(|&&count| count > 0).count() > 1,
        };
        (0..self.task.num_targets()).filter(varies).collect()
    }

    /// The targets that at least one row is known of.
    pub fn known(&self) -> Vec<usize> {
        let census = self.census();
        let is_known = |target: &usize| census.counts(*target).iter().any(|&count| count > 0);
        (0..self.task.num_targets()).filter(is_known).collect()
    }

    /// Some of several targets, in this order. Classes are a single target and stay as they are.
    ///
    /// # Panics
    /// When there is no such target, as indexing a slice does.
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

    /// Refuses targets that no row with a positive weight is known of.
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

    /// The columns of all rows: see [`columns`](Self::columns).
    pub fn matrix(&self) -> Array2<f64> {
        self.columns(0..self.len())
    }

    /// The columns of some rows: numbers as they are; for classes a column each
    /// with 1 for its rows and -1 for the others; NaN for what is unknown.
    ///
    /// # Panics
    /// When there are no such rows, as indexing a slice does.
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

/// A column for each class with 1 for its rows and -1 for the others.
fn signs(codes: &[usize], task: Task) -> Array2<f64> {
    let columns = task.num_columns();
    let first = usize::from(columns == 1);
    let sign = |(row, column): (usize, usize)| if codes[row] == first + column { 1.0 } else { -1.0 };
    Array2::from_shape_fn((codes.len(), columns), sign)
}

/// Refuses fewer than two classes.
pub(crate) fn check_num_classes(found: usize) -> Result<()> {
    if found >= 2 {
        return Ok(());
    }
    let (expected, found) = ("at least 2".into(), found.to_string());
    Err(Error::BadOption { name: "classes", expected, found })
}

/// The class of every row of decision values: that of the largest value, of
/// equal ones the first; of two classes the second where the value is above 0.
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
        // Ties go to the first.
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
