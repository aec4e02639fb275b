//! The weights of rows by class.

use crate::config::ClassWeight;
use crate::error::{Error, Result, same_length};

impl ClassWeight {
    /// The weight of a row of each class, given the numbers of rows of the classes. `auto` is 1,
    /// since leave-one-out decides later.
    pub fn per_class(&self, counts: &[u64]) -> Result<Vec<f64>> {
        match self {
            Self::None | Self::Auto => Ok(vec![1.0; counts.len()]),
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
                same_length("class weights", counts.len(), weights.len())?;
                match weights.iter().find(|weight| !(weight.is_finite() && **weight >= 0.0)) {
                    None => Ok(weights.clone()),
                    Some(weight) => Err(Error::BadOption {
                        name: "class_weight",
                        expected: "finite numbers of at least 0".to_string(),
                        found: weight.to_string(),
                    }),
                }
            }
        }
    }

    /// The weight of every row: that of its class times its own weight, if it has one. `None` if
    /// all weights are 1.
    pub fn per_row(
        &self,
        classes: &[usize],
        num_classes: usize,
        own: Option<&[f64]>,
    ) -> Result<Option<Vec<f64>>> {
        if let Some(own) = own {
            same_length("weights", classes.len(), own.len())?;
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
    use super::*;

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
    }
}
