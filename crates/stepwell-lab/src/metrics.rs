//! How good predictions are.

/// Accuracy, balanced accuracy and macro-averaged F1 of predicted classes.
///
/// As scikit-learn has them: balanced accuracy is the mean recall of the
/// classes that occur; F1 is averaged over classes that occur or are predicted,
/// and 0 for one that is never right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassMetrics {
    /// The share that is right.
    pub accuracy: f64,
    /// The mean over classes of the share that is right.
    pub balanced_accuracy: f64,
    /// The mean over classes of the harmonic mean of precision and recall.
    pub macro_f1: f64,
}

impl ClassMetrics {
    /// Compares what was predicted with what is so.
    pub fn of(found: &[usize], expected: &[usize], num_classes: usize) -> Self {
        let mut right = vec![0.0; num_classes];
        let (mut predicted, mut actual) = (right.clone(), right.clone());
        for (&found, &expected) in found.iter().zip(expected) {
            predicted[found] += 1.0;
            actual[expected] += 1.0;
            right[expected] += f64::from(u8::from(found == expected));
        }
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / (values.len().max(1)) as f64;
        let classes = 0..num_classes;
        Self {
            accuracy: right.iter().sum::<f64>() / found.len().max(1) as f64,
            balanced_accuracy: mean(
                classes.clone().filter(|&c| actual[c] > 0.0).map(|c| right[c] / actual[c]).collect(),
            ),
            macro_f1: mean(
                classes
                    .filter(|&c| actual[c] + predicted[c] > 0.0)
                    .map(|c| 2.0 * right[c] / (actual[c] + predicted[c]))
                    .collect(),
            ),
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
        let metrics = ClassMetrics::of(&[0, 0, 1, 0, 1], &[0, 0, 0, 1, 1], 3);
        assert!((metrics.accuracy - 0.6).abs() < 1e-15);
        assert!((metrics.balanced_accuracy - (2.0 / 3.0 + 0.5) / 2.0).abs() < 1e-15);
        assert!((metrics.macro_f1 - (4.0 / 6.0 + 2.0 / 4.0) / 2.0).abs() < 1e-15);
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
