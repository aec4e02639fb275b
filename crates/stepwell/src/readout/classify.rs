//! Classes as targets of a regression, and back.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::rows;
use crate::error::{Error, Result};

/// The targets of rows of `classes`, counted from 0: a column for each of
/// `num_classes` with 1 for its rows and -1 for the others. Of two classes the
/// second column alone says it all.
pub fn encode_classes(classes: &[usize], num_classes: usize) -> Result<Array2<f64>> {
    check_num_classes(num_classes)?;
    check_classes(classes, num_classes)?;
    let columns = num_columns(num_classes);
    let first = num_classes - columns;
    let target = |(row, column): (usize, usize)| if classes[row] == first + column { 1.0 } else { -1.0 };
    Ok(Array2::from_shape_fn((classes.len(), columns), target))
}

/// The class of every row of decision values: that of the largest value, of
/// equal ones the first; of two classes the second where the value is above 0.
pub fn decode_classes(decisions: ArrayView2<'_, f64>) -> Vec<usize> {
    let class = |row: ndarray::ArrayView1<'_, f64>| match row.len() {
        1 => usize::from(row[0] > 0.0),
        _ => {
            row.iter()
                .enumerate()
                .fold(
                    (0, f64::NEG_INFINITY),
                    |best, (class, &value)| {
                        if value > best.1 { (class, value) } else { best }
                    },
                )
                .0
        }
    };
    decisions.rows().into_iter().map(class).collect()
}

/// Columns that the targets of so many classes have.
pub(super) fn num_columns(num_classes: usize) -> usize {
    if num_classes == 2 { 1 } else { num_classes }
}

pub(super) fn check_num_classes(found: usize) -> Result<()> {
    match found >= 2 {
        true => Ok(()),
        false => {
            let (expected, found) = ("at least 2 to tell apart".into(), found.to_string());
            Err(Error::BadOption { name: "classes", expected, found })
        }
    }
}

fn check_classes(classes: &[usize], num_classes: usize) -> Result<()> {
    match classes.iter().position(|&class| class >= num_classes) {
        Some(row) => Err(Error::ClassOutOfRange { row, class: classes[row], num_classes }),
        None => Ok(()),
    }
}

/// How much the rows of a class count.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// Every row as much as any other.
    #[default]
    None,
    /// Every class that has rows as much as any other: rows / (classes · rows of
    /// the class).
    Balanced,
    /// These weights, one per class.
    #[serde(untagged)]
    Given(Vec<f64>),
}

impl ClassWeight {
    /// The weight of a row of each class, given how many rows the classes have.
    pub fn per_class(&self, counts: &[u64]) -> Result<Vec<f64>> {
        match self {
            Self::None => Ok(vec![1.0; counts.len()]),
            Self::Balanced => {
                let rows: u64 = counts.iter().sum();
                let present = counts.iter().filter(|&&count| count > 0).count();
                let weight = |&count: &u64| match count {
                    0 => 0.0,
                    _ => rows as f64 / (present as f64 * count as f64),
                };
                Ok(counts.iter().map(weight).collect())
            }
            Self::Given(weights) => {
                rows::length("class weights", counts.len(), weights.len())?;
                match weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
                    None => Ok(weights.clone()),
                    Some(weight) => Err(Error::BadOption {
                        name: "class weight",
                        expected: "finite numbers that are not negative".to_string(),
                        found: weight.to_string(),
                    }),
                }
            }
        }
    }

    /// The weight of every row: that of its class, times its own if it has one.
    /// `None` when every row has weight 1.
    pub fn per_row(
        &self,
        classes: &[usize],
        num_classes: usize,
        own: Option<&[f64]>,
    ) -> Result<Option<Vec<f64>>> {
        check_classes(classes, num_classes)?;
        if let Some(own) = own {
            rows::length("weights", classes.len(), own.len())?;
        }
        if *self == Self::None {
            return Ok(own.map(<[f64]>::to_vec));
        }
        let mut counts = vec![0; num_classes];
        classes.iter().for_each(|&class| counts[class] += 1);
        let weights = self.per_class(&counts)?;
        let of_row = |(row, &class): (usize, &usize)| weights[class] * own.map_or(1.0, |own| own[row]);
        Ok(Some(classes.iter().enumerate().map(of_row).collect()))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn classes_become_signs_and_signs_become_classes() {
        let three = encode_classes(&[2, 0, 1], 3).unwrap();
        assert_eq!(three, array![[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]]);
        assert_eq!(decode_classes(three.view()), [2, 0, 1]);
        let two = encode_classes(&[1, 0], 2).unwrap();
        assert_eq!(two, array![[1.0], [-1.0]]);
        assert_eq!(decode_classes(two.view()), [1, 0]);
        // Ties go to the first.
        assert_eq!(decode_classes(array![[0.0], [-0.0], [1e-300]].view()), [0, 0, 1]);
        assert_eq!(decode_classes(array![[0.5, 0.7, 0.7], [0.1, 0.1, 0.1]].view()), [1, 0]);
        assert!(encode_classes(&[0, 3], 3).unwrap_err().to_string().contains("row 1 has class 3"));
        assert!(encode_classes(&[0, 0], 1).is_err());
        assert_eq!(encode_classes(&[], 4).unwrap().dim(), (0, 4));
    }

    #[test]
    fn balanced_classes_have_equal_total_weight() {
        let classes = [0, 0, 0, 1, 3, 3];
        let weights = ClassWeight::Balanced.per_row(&classes, 4, None).unwrap().unwrap();
        let total = |class| -> f64 {
            classes.iter().zip(&weights).filter(|(c, _)| **c == class).map(|(_, weight)| weight).sum()
        };
        for class in [0, 1, 3] {
            assert!((total(class) - 2.0).abs() < 1e-14, "6 rows over 3 classes that have any");
        }
        let own = [1.0, 0.0, 2.0, 1.0, 1.0, 1.0];
        let both = ClassWeight::Given(vec![2.0, 1.0, 9.0, 3.0]).per_row(&classes, 4, Some(&own)).unwrap();
        assert_eq!(both.unwrap(), [2.0, 0.0, 4.0, 1.0, 3.0, 3.0]);
        assert_eq!(ClassWeight::None.per_row(&classes, 4, None).unwrap(), None);
        assert!(ClassWeight::Given(vec![1.0]).per_row(&classes, 4, None).is_err());
        assert!(ClassWeight::Given(vec![1.0, -1.0, 0.0, 0.0]).per_row(&classes, 4, None).is_err());
        assert!(ClassWeight::None.per_row(&[4], 4, None).is_err());
    }
}
