//! How good predictions are.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use stepwell::targets::{Encoded, decode_classes};

/// All measures of some predictions; those that the kind of target has.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Quality {
    /// Share of the graphs that are classified correctly.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accuracy: Option<f64>,
    /// The mean of that over classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balanced_accuracy: Option<f64>,
    /// The mean F1 over classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub macro_f1: Option<f64>,
    /// Area under the ROC curve; of several classes, the mean of each against the rest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub auroc: Option<f64>,
    /// Mean absolute error, for regression.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mae: Option<f64>,
    /// Share of the variance explained, for regression.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub r2: Option<f64>,
}

impl Quality {
    /// All measures for decisions about some graphs.
    pub fn of(targets: &Encoded, judged: &[usize], decisions: &Array2<f64>) -> Self {
        let mut quality = Self::default();
        match targets.codes() {
            Some(codes) => {
                let names = targets.classes();
                let expected: Vec<usize> = judged.iter().map(|&graph| codes[graph]).collect();
                quality = Self::of_classes(&decode_classes(decisions.view()), &expected, names.len());
                let area = |column: usize, class: usize| {
                    let is: Vec<bool> = expected.iter().map(|&found| found == class).collect();
                    auroc(&decisions.column(column).to_vec(), &is)
                };
                let areas: Vec<f64> = match names.len() {
                    2 => area(0, 1).into_iter().collect(),
                    classes => (0..classes).filter_map(|class| area(class, class)).collect(),
                };
                quality.auroc = (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64);
            }
            None => {
                let values = targets.numbers().expect("checked: one number for every graph");
                let expected: Vec<f64> = judged.iter().map(|&graph| values[graph]).collect();
                let found = decisions.column(0).to_vec();
                quality.mae = Some(mean_absolute_error(&found, &expected));
                quality.r2 = r2(&found, &expected);
            }
        }
        quality
    }

    /// Accuracy, balanced accuracy and macro-averaged F1 of predicted classes.
    ///
    /// As scikit-learn has them: balanced accuracy is the mean recall of the
    /// classes that occur; F1 is averaged over classes that occur or are predicted,
    /// and 0 for one that is never right.
    pub fn of_classes(found: &[usize], expected: &[usize], num_classes: usize) -> Self {
        let mut right = vec![0.0; num_classes];
        let (mut predicted, mut actual) = (right.clone(), right.clone());
        for (&found, &expected) in found.iter().zip(expected) {
            predicted[found] += 1.0;
            actual[expected] += 1.0;
            right[expected] += f64::from(u8::from(found == expected));
        }
        let mean = |times: f64, of: &dyn Fn(usize) -> f64| {
            let occurring: Vec<usize> = (0..num_classes).filter(|&class| of(class) > 0.0).collect();
            let sum = occurring.iter().map(|&class| times * right[class] / of(class)).sum::<f64>();
            Some(sum / occurring.len().max(1) as f64)
        };
        Self {
            accuracy: Some(right.iter().sum::<f64>() / found.len().max(1) as f64),
            balanced_accuracy: mean(1.0, &|class| actual[class]),
            macro_f1: mean(2.0, &|class| actual[class] + predicted[class]),
            ..Self::default()
        }
    }

    /// The mean of every measure that all have.
    pub fn mean(all: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> Option<f64>| {
            let sum = all.iter().map(value).sum::<Option<f64>>();
            sum.filter(|_| !all.is_empty()).map(|sum| sum / all.len() as f64)
        };
        Self {
            accuracy: mean(|quality| quality.accuracy),
            balanced_accuracy: mean(|quality| quality.balanced_accuracy),
            macro_f1: mean(|quality| quality.macro_f1),
            auroc: mean(|quality| quality.auroc),
            mae: mean(|quality| quality.mae),
            r2: mean(|quality| quality.r2),
        }
    }
}

/// The area under the receiver operating characteristic: the share of pairs of
/// a positive and a negative in which the positive has the higher score, ties
/// counting half. Nothing unless there are both.
pub fn auroc(scores: &[f64], positive: &[bool]) -> Option<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut below, mut area) = (0.0, 0.0);
    for ties in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let high = ties.iter().filter(|&&row| positive[row]).count() as f64;
        let low = ties.len() as f64 - high;
        area += high * (below + low / 2.0);
        below += low;
    }
    let high = positive.iter().filter(|&&positive| positive).count() as f64;
    (high > 0.0 && below > 0.0).then(|| area / (high * below))
}

/// Mean and standard deviation (of the values themselves, not of a sample).
pub fn mean_and_std(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt())
}

/// The mean absolute error.
pub fn mean_absolute_error(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(a, b)| (a - b).abs()).sum::<f64>() / found.len().max(1) as f64
}

/// The share of the variance that is explained; nothing where there is none.
pub fn r2(found: &[f64], expected: &[f64]) -> Option<f64> {
    let mean = expected.iter().sum::<f64>() / expected.len().max(1) as f64;
    let variance: f64 = expected.iter().map(|value| (value - mean).powi(2)).sum();
    let rest: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    (variance > 0.0).then(|| 1.0 - rest / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_hand() {
        // Class 0: 2 of 3 right, predicted 3 times; class 1: 1 of 2, predicted twice; class 2 nowhere.
        let metrics = Quality::of_classes(&[0, 0, 1, 0, 1], &[0, 0, 0, 1, 1], 3);
        assert!((metrics.accuracy.unwrap() - 0.6).abs() < 1e-15);
        assert!((metrics.balanced_accuracy.unwrap() - (2.0 / 3.0 + 0.5) / 2.0).abs() < 1e-15);
        assert!((metrics.macro_f1.unwrap() - (4.0 / 6.0 + 2.0 / 4.0) / 2.0).abs() < 1e-15);
    }

    #[test]
    fn areas_count_pairs() {
        let (scores, positive) = ([0.1, 0.4, 0.4, 0.8], [false, true, false, true]);
        assert_eq!(auroc(&scores, &positive), Some(3.5 / 4.0));
        assert_eq!(auroc(&scores, &[true; 4]), None);
    }

    #[test]
    fn numbers_by_hand() {
        assert_eq!(mean_absolute_error(&[1.0, 2.0], &[2.0, 4.0]), 1.5);
        assert_eq!(r2(&[1.0, 3.0], &[1.0, 3.0]), Some(1.0));
        assert_eq!(r2(&[2.0, 2.0], &[1.0, 3.0]), Some(0.0));
        assert_eq!(r2(&[2.0], &[1.0]), None);
    }
}
