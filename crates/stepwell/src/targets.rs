//! Targets of graphs: one class per graph, or one row of numbers.
//!
//! ```
//! use stepwell::targets::{Labels, Targets};
//! let targets = Targets::Classes(Labels::Int(vec![7, -1, 7]));
//! let Targets::Classes(labels) = &targets else { unreachable!() };
//! let names = labels.distinct();
//! assert_eq!(names, Labels::Int(vec![-1, 7]));
//! assert_eq!(labels.codes(&names)?, [1, 0, 1]);
//! # Ok::<(), stepwell::Error>(())
//! ```

use std::cmp::Ordering;
use std::collections::HashMap;

use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod census;
mod encoded;

pub use census::Census;
pub(crate) use encoded::check_num_classes;
pub use encoded::{Encoded, Task, decode_classes};

/// Names of classes, all of one type.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Labels {
    /// Integers.
    Int(Vec<i64>),
    /// Booleans.
    Bool(Vec<bool>),
    /// Floats, none of them NaN.
    Float(Vec<f64>),
    /// Strings.
    Text(Vec<String>),
}

/// Evaluates the same expression for the list of any type.
macro_rules! each {
    ($labels:expr, $values:ident => $work:expr) => {
        match $labels {
            Labels::Int($values) => $work,
            Labels::Bool($values) => $work,
            Labels::Float($values) => $work,
            Labels::Text($values) => $work,
        }
    };
}

impl Labels {
    /// No classes, as in a regression.
    pub const NONE: Self = Self::Int(Vec::new());

    /// Number of names.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One name as a string.
    ///
    /// # Panics
    /// If the position does not exist, as for a slice.
    pub fn name(&self, index: usize) -> String {
        each!(self, values => values[index].to_string())
    }

    /// All names as strings.
    pub fn names(&self) -> Vec<String> {
        (0..self.len()).map(|index| self.name(index)).collect()
    }

    /// The distinct names, in the ascending order of their type.
    pub fn distinct(&self) -> Self {
        fn sorted<T: Clone>(values: &[T], order: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
            let mut names = values.to_vec();
            names.sort_by(&order);
            names.dedup_by(|a, b| order(a, b) == Ordering::Equal);
            names
        }
        match self {
            Self::Int(values) => Self::Int(sorted(values, Ord::cmp)),
            Self::Bool(values) => Self::Bool(sorted(values, Ord::cmp)),
            Self::Float(values) => Self::Float(sorted(values, compare)),
            Self::Text(values) => Self::Text(sorted(values, Ord::cmp)),
        }
    }

    /// The position of each name in `classes`, which must ascend. Names of another type are
    /// compared as strings. A name that is not in `classes` is an error.
    pub fn codes(&self, classes: &Self) -> Result<Vec<usize>> {
        let unknown = |row: usize| Error::UnknownClass { row, name: self.name(row) };
        let found: Vec<Option<usize>> = match (self, classes) {
            (Self::Int(values), Self::Int(names)) => search(values, names, Ord::cmp),
            (Self::Bool(values), Self::Bool(names)) => search(values, names, Ord::cmp),
            (Self::Float(values), Self::Float(names)) => search(values, names, compare),
            (Self::Text(values), Self::Text(names)) => search(values, names, Ord::cmp),
            _ => {
                let known: HashMap<String, usize> = classes.names().into_iter().zip(0..).collect();
                (0..self.len()).map(|row| known.get(&self.name(row)).copied()).collect()
            }
        };
        found.into_iter().enumerate().map(|(row, code)| code.ok_or_else(|| unknown(row))).collect()
    }

    /// The names at these positions.
    ///
    /// # Panics
    /// If a position does not exist, as for a slice.
    pub fn select(&self, positions: &[usize]) -> Self {
        fn chosen<T: Clone>(values: &[T], positions: &[usize]) -> Vec<T> {
            positions.iter().map(|&position| values[position].clone()).collect()
        }
        match self {
            Self::Int(values) => Self::Int(chosen(values, positions)),
            Self::Bool(values) => Self::Bool(chosen(values, positions)),
            Self::Float(values) => Self::Float(chosen(values, positions)),
            Self::Text(values) => Self::Text(chosen(values, positions)),
        }
    }

    /// Appends names of the same type. Returns names of another type unchanged.
    fn append(&mut self, more: Self) -> Option<Self> {
        match (self, more) {
            (Self::Int(mine), Self::Int(more)) => mine.extend(more),
            (Self::Bool(mine), Self::Bool(more)) => mine.extend(more),
            (Self::Float(mine), Self::Float(more)) => mine.extend(more),
            (Self::Text(mine), Self::Text(more)) => mine.extend(more),
            (_, more) => return Some(more),
        }
        None
    }

    /// Whether the list can name classes by position: distinct and ascending.
    pub(crate) fn are_classes(&self) -> bool {
        *self == self.distinct()
    }

    /// The names as floats, if they are numbers.
    fn numbers(&self) -> Option<Vec<f64>> {
        match self {
            Self::Int(values) => Some(values.iter().map(|&value| value as f64).collect()),
            Self::Bool(values) => Some(values.iter().map(|&value| f64::from(u8::from(value))).collect()),
            Self::Float(values) => Some(values.clone()),
            Self::Text(_) => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Int(_) => "integers",
            Self::Bool(_) => "booleans",
            Self::Float(_) => "floats as classes",
            Self::Text(_) => "strings",
        }
    }
}

impl<'a> FromIterator<&'a str> for Labels {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Self {
        Self::Text(names.into_iter().map(str::to_owned).collect())
    }
}

/// The order of floats, in which 0 and -0 are equal.
fn compare(a: &f64, b: &f64) -> Ordering {
    if a == b { Ordering::Equal } else { a.total_cmp(b) }
}

/// Compares rows by the first values that differ.
fn in_order(mine: ArrayView1<'_, f64>, theirs: ArrayView1<'_, f64>) -> Ordering {
    let orders = mine.iter().zip(theirs).map(|(a, b)| compare(a, b));
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn search<T>(values: &[T], names: &[T], order: impl Fn(&T, &T) -> Ordering) -> Vec<Option<usize>> {
    values.iter().map(|value| names.binary_search_by(|name| order(name, value)).ok()).collect()
}

/// The known targets of graphs.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub enum Targets {
    /// No targets.
    #[default]
    None,
    /// The class of every graph.
    Classes(Labels),
    /// Numbers, one row per graph and one column per target. NaN means unknown.
    Numbers(Array2<f64>),
    /// The same for binary targets, 0 or 1.
    Binary(Array2<f64>),
}

impl Targets {
    /// One number per graph.
    pub fn numbers(values: Vec<f64>) -> Self {
        let rows = values.len();
        Self::Numbers(Array2::from_shape_vec((rows, 1), values).expect("one column"))
    }

    /// Classes named by integers.
    pub fn integers(values: Vec<i64>) -> Self {
        Self::Classes(Labels::Int(values))
    }

    /// Number of graphs with a row of targets; 0 without targets.
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Classes(labels) => labels.len(),
            Self::Numbers(values) | Self::Binary(values) => values.nrows(),
        }
    }

    /// Whether there are no targets.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The class of each graph, if the targets are classes.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            Self::Classes(labels) => Some(labels),
            _ => None,
        }
    }

    /// Each graph's class as a position in the list of class names, which ascend as their type
    /// does. `None` if the targets are not classes.
    pub fn classes(&self) -> Option<(Vec<usize>, Vec<String>)> {
        let labels = self.labels()?;
        let names = labels.distinct();
        Some((labels.codes(&names).expect("every label is among the distinct ones"), names.names()))
    }

    /// The column of numbers, if there is exactly one.
    pub fn column(&self) -> Option<Vec<f64>> {
        match self {
            Self::Numbers(values) if values.ncols() == 1 => Some(values.iter().copied().collect()),
            _ => None,
        }
    }

    /// Compares the target of a graph with that of another graph in `others`, which must be of the
    /// same kind. Unknown targets come last.
    pub(crate) fn order(&self, graph: usize, others: &Self, other: usize) -> Ordering {
        match (self, others) {
            (Self::Classes(Labels::Int(mine)), Self::Classes(Labels::Int(theirs))) => {
                mine[graph].cmp(&theirs[other])
            }
            (Self::Classes(Labels::Bool(mine)), Self::Classes(Labels::Bool(theirs))) => {
                mine[graph].cmp(&theirs[other])
            }
            (Self::Classes(Labels::Float(mine)), Self::Classes(Labels::Float(theirs))) => {
                compare(&mine[graph], &theirs[other])
            }
            (Self::Classes(Labels::Text(mine)), Self::Classes(Labels::Text(theirs))) => {
                mine[graph].cmp(&theirs[other])
            }
            (Self::Numbers(mine) | Self::Binary(mine), Self::Numbers(theirs) | Self::Binary(theirs)) => {
                in_order(mine.row(graph), theirs.row(other))
            }
            _ => Ordering::Equal,
        }
    }

    /// Whether at least one target of a graph is known.
    pub(crate) fn is_known(&self, graph: usize) -> bool {
        match self {
            Self::None => false,
            Self::Classes(_) => true,
            Self::Numbers(values) | Self::Binary(values) => {
                values.row(graph).iter().any(|value| !value.is_nan())
            }
        }
    }

    /// A summary of all targets in few rows: each class once, or one row of numbers. Appended to
    /// the summaries of other graphs, it gives the classes of all graphs.
    pub fn kinds(&self) -> Self {
        match self {
            Self::Classes(labels) => Self::Classes(labels.distinct()),
            Self::Numbers(_) | Self::Binary(_) if !self.is_empty() => self.select(&[0]),
            other => other.clone(),
        }
    }

    /// The targets of some graphs.
    ///
    /// # Panics
    /// If a graph does not exist, as for a slice.
    pub fn select(&self, graphs: &[usize]) -> Self {
        match self {
            Self::None => Self::None,
            Self::Classes(labels) => Self::Classes(labels.select(graphs)),
            Self::Numbers(values) => Self::Numbers(values.select(Axis(0), graphs)),
            Self::Binary(values) => Self::Binary(values.select(Axis(0), graphs)),
        }
    }

    /// Number of targets per graph: 1 for classes, 0 without targets.
    pub fn width(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Classes(_) => 1,
            Self::Numbers(values) | Self::Binary(values) => values.ncols(),
        }
    }

    /// Appends the targets of more graphs. If one side has floats, integers and binary labels
    /// become floats; other mixtures are errors. The caller must keep track of graphs without
    /// targets.
    pub fn append(&mut self, more: Self) -> Result<()> {
        match (&mut *self, more) {
            (Self::None, more) => {
                *self = more;
                Ok(())
            }
            (_, Self::None) => Ok(()),
            (Self::Classes(mine), Self::Classes(more)) => match mine.append(more) {
                None => Ok(()),
                Some(more) => {
                    let (expected, found) = (mine.kind().into(), more.kind().into());
                    Err(Error::Mixed { what: "targets", expected, found })
                }
            },
            (Self::Binary(mine), more @ Self::Numbers(_)) => {
                *self = Self::Numbers(std::mem::take(mine));
                self.append(more)
            }
            (Self::Numbers(mine), Self::Numbers(more) | Self::Binary(more))
            | (Self::Binary(mine), Self::Binary(more)) => {
                let (expected, found) = (mine.ncols(), more.ncols());
                let differs = |_| Error::Length { what: "targets", expected, found };
                mine.append(Axis(0), more.view()).map_err(differs)
            }
            (Self::Numbers(_), more @ Self::Classes(Labels::Int(_))) => self.append(more.into_numbers()?),
            (Self::Classes(Labels::Int(mine)), more @ Self::Numbers(_)) => {
                *self = Self::integers(std::mem::take(mine)).into_numbers()?;
                self.append(more)
            }
            (mine, more) => {
                let (expected, found) = (mine.kind().into(), more.kind().into());
                Err(Error::Mixed { what: "targets", expected, found })
            }
        }
    }

    /// Converts to numbers, for a regression. Rejects strings.
    pub fn into_numbers(self) -> Result<Self> {
        match self {
            Self::Classes(labels) => match labels.numbers() {
                Some(values) => Ok(Self::numbers(values)),
                None => {
                    let (expected, found) = ("numbers, for a regression".into(), "strings".into());
                    Err(Error::BadOption { name: "targets", expected, found })
                }
            },
            Self::Binary(values) => Ok(Self::Numbers(values)),
            other => Ok(other),
        }
    }

    /// The number of distinct values, if floats look like class names: few values, all of them
    /// integers.
    pub fn look_like_classes(&self) -> Option<usize> {
        const FEW: usize = 20;
        let mut met = Vec::new();
        for value in self.column()? {
            if value.fract() != 0.0 || met.len() > FEW {
                return None;
            }
            if !met.contains(&value) {
                met.push(value);
            }
        }
        (2..=FEW).contains(&met.len()).then_some(met.len())
    }

    /// The name of the kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::None => "no targets",
            Self::Classes(labels) => labels.kind(),
            Self::Numbers(_) => "numbers",
            Self::Binary(_) => "binary labels",
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn classes_ascend_as_their_type_does_and_keep_it() {
        let check = |labels: Labels, names: Labels, codes: &[usize]| {
            assert_eq!(labels.distinct(), names);
            assert_eq!(labels.codes(&names).unwrap(), codes);
            let text = serde_json::to_string(&names).unwrap();
            assert_eq!(serde_json::from_str::<Labels>(&text).unwrap(), names, "{text}");
        };
        check(Labels::Int(vec![10, -1, 10, 2]), Labels::Int(vec![-1, 2, 10]), &[2, 0, 2, 1]);
        check(["b", "a"].into_iter().collect(), ["a", "b"].into_iter().collect(), &[1, 0]);
        check(Labels::Bool(vec![true, false]), Labels::Bool(vec![false, true]), &[1, 0]);
        check(Labels::Float(vec![2.0, 0.0, -0.0, 0.5]), Labels::Float(vec![0.0, 0.5, 2.0]), &[2, 0, 0, 1]);
        let texts: Labels = ["2", "10"].into_iter().collect();
        assert_eq!(texts.codes(&Labels::Int(vec![2, 10])).unwrap(), [0, 1], "compared as text");
        let unknown = Labels::Int(vec![3]).codes(&Labels::Int(vec![1, 2])).unwrap_err();
        assert_eq!(unknown.to_string(), "row 0 has class 3, which is not among the known classes");
    }

    #[test]
    fn integers_give_way_to_real_numbers() {
        let mut targets = Targets::integers(vec![1]);
        targets.append(Targets::numbers(vec![0.5])).unwrap();
        targets.append(Targets::integers(vec![2])).unwrap();
        assert_eq!(targets, Targets::numbers(vec![1.0, 0.5, 2.0]));
        assert!(targets.append(Targets::Classes(["x"].into_iter().collect())).is_err());
    }

    #[test]
    fn binary_labels_give_way_to_real_numbers() {
        let mut targets = Targets::Binary(array![[0.0, 1.0]]);
        targets.append(Targets::Binary(array![[1.0, 1.0]])).unwrap();
        targets.append(Targets::Numbers(array![[0.5, 2.0]])).unwrap();
        targets.append(Targets::Binary(array![[0.0, 0.0]])).unwrap();
        assert_eq!(targets, Targets::Numbers(array![[0.0, 1.0], [1.0, 1.0], [0.5, 2.0], [0.0, 0.0]]));
        assert_eq!(targets.width(), 2);
        assert!(targets.append(Targets::Binary(array![[1.0]])).is_err());
    }
}
