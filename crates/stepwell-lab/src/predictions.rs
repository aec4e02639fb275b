//! A model's predictions for the test graphs of a fold, as far as pictures need them.

use serde::{Deserialize, Serialize};
use stepwell::rng::Stream;
use stepwell::targets::{Encoded, Task, decode_classes};

use crate::metrics::{Known, Said};

/// Maximum number of test graphs of a cell whose predictions are kept.
pub const MOST_GRAPHS: usize = 4000;

/// Maximum number of targets whose predictions are kept. More would not be drawn.
pub const MOST_TARGETS: usize = 12;

/// Predictions for the test graphs of a fold, or for a random sample of them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Predictions {
    /// The task.
    pub task: Task,
    /// The names of the classes, if each graph has one class.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<String>,
    /// Number of test graphs.
    pub tested: usize,
    /// Number of test graphs whose predictions are kept.
    pub kept: usize,
    /// The predictions of each target. If there are too many targets of 0 and 1, those
    /// with the most positives.
    pub targets: Vec<Pairs>,
}

/// Predictions and true values of one target, for the graphs with a known value.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Pairs {
    /// The name of the target, if there are several.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub name: String,
    /// The true class, or number.
    pub truth: Vec<f32>,
    /// The decision value; for more than two classes the predicted class; or the
    /// predicted number.
    pub found: Vec<f32>,
    /// The probability of the second class; for more than two classes, of the predicted
    /// class.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub probability: Vec<f32>,
}

impl Predictions {
    /// Keeps the share of a cell's predictions that belongs to one of `folds` folds.
    pub(crate) fn keep(
        targets: &Encoded,
        said: impl Fn(usize) -> Said,
        tested: usize,
        mut stream: Stream,
        folds: usize,
    ) -> Self {
        let mut kept: Vec<usize> = (0..tested).collect();
        let most = (MOST_GRAPHS / folds.max(1)).max(1);
        if tested > most {
            stream.shuffle(&mut kept);
            kept.truncate(most);
            kept.sort_unstable();
        }
        let task = targets.task();
        let census = targets.census();
        let mut chosen: Vec<usize> = (0..task.num_targets()).collect();
        if chosen.len() > MOST_TARGETS {
            chosen.sort_by_key(|&target| std::cmp::Reverse(census.counts(target).last().copied()));
            chosen.truncate(MOST_TARGETS);
            chosen.sort_unstable();
        }
        let name = |target: usize| match task.num_targets() {
            1 => String::new(),
            _ => targets.names().get(target).cloned().unwrap_or_else(|| target.to_string()),
        };
        let of = |&target: &usize| Pairs { name: name(target), ..Pairs::of(&said(target), &kept) };
        let (classes, targets) = (targets.classes().names(), chosen.iter().map(of).collect());
        Self { task, classes, tested, kept: kept.len(), targets }
    }

    /// Combines the predictions of all folds. `None` without folds.
    pub fn pooled<'p>(folds: impl IntoIterator<Item = &'p Self>) -> Option<Self> {
        folds.into_iter().cloned().reduce(|mut all, fold| {
            all.tested += fold.tested;
            all.kept += fold.kept;
            for (mine, more) in all.targets.iter_mut().zip(fold.targets) {
                // Keep probabilities only if every fold has them; otherwise they would not
                // align with the true values.
                if mine.probability.len() == mine.truth.len() && more.probability.len() == more.truth.len() {
                    mine.probability.extend(more.probability);
                } else {
                    mine.probability.clear();
                }
                mine.truth.extend(more.truth);
                mine.found.extend(more.found);
            }
            all
        })
    }
}

impl Pairs {
    fn of(said: &Said, kept: &[usize]) -> Self {
        let places: Vec<usize> =
            (0..said.rows.len()).filter(|&place| kept.binary_search(&said.rows[place]).is_ok()).collect();
        let truth = |place: usize| match &said.truth {
            Known::Classes(codes, _) => codes[place] as f32,
            Known::Numbers(values) => values[place] as f32,
        };
        let codes =
            if said.decisions.ncols() > 1 { decode_classes(said.decisions.view()) } else { Vec::new() };
        let found = |place: usize| match codes.get(place) {
            Some(&code) => code as f32,
            None => said.decisions[(place, 0)] as f32,
        };
        let probability = said.probabilities.iter().flat_map(|all| {
            let codes = &codes;
            places.iter().map(move |&place| all[(place, codes.get(place).copied().unwrap_or(1))] as f32)
        });
        Self {
            name: String::new(),
            truth: places.iter().map(|&place| truth(place)).collect(),
            found: places.iter().map(|&place| found(place)).collect(),
            probability: probability.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};
    use stepwell::targets::Targets;

    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_known() {
        let rows = 10_000;
        let y = Array2::from_shape_fn((rows, 20), |(row, target)| match (row / 100 + target) % 5 {
            0 => f64::NAN,
            _ => f64::from(u8::from(row % (target + 2) == 0)),
        });
        let targets = Encoded::new(&Targets::Binary(y.clone())).unwrap();
        let judged: Vec<usize> = (0..rows).collect();
        let said = |target| Said::new(&targets, &judged, y.view(), Some(y.view()), target);
        let stream = || Stream::new(1, "predictions", [0, 0]);
        let kept = Predictions::keep(&targets, said, rows, stream(), 2);
        assert_eq!((kept.targets.len(), kept.tested, kept.kept), (MOST_TARGETS, rows, MOST_GRAPHS / 2));
        assert_eq!(kept, Predictions::keep(&targets, said, rows, stream(), 2));
        for (target, pairs) in kept.targets.iter().enumerate() {
            assert_eq!(pairs.name, target.to_string(), "the first have most positives");
            assert!(pairs.truth.len() <= MOST_GRAPHS / 2 && pairs.truth.len() > MOST_GRAPHS / 3);
            assert_eq!((&pairs.truth, &pairs.truth), (&pairs.found, &pairs.probability));
        }
        let both = Predictions::pooled([&kept, &kept]).unwrap();
        assert_eq!(both.targets[0].probability.len(), 2 * kept.targets[0].truth.len());
    }

    #[test]
    fn of_several_classes_the_predicted_one_is_kept() {
        let targets = Encoded::new(&Targets::integers(vec![0, 1, 2])).unwrap();
        let decisions = array![[0.1, 0.3, 0.2], [0.5, 0.4, 0.3], [0.0, 0.1, 0.2]];
        let said = |target| Said::new(&targets, &[0, 1, 2], decisions.view(), Some(decisions.view()), target);
        let kept = Predictions::keep(&targets, said, 3, Stream::new(1, "predictions", [0, 0]), 1);
        assert_eq!(kept.classes, ["0", "1", "2"]);
        let expected = Pairs {
            name: String::new(),
            truth: vec![0.0, 1.0, 2.0],
            found: vec![1.0, 0.0, 2.0],
            probability: vec![0.3, 0.5, 0.2],
        };
        assert_eq!(kept.targets, [expected]);
    }
}
