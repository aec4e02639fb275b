//! What came of a fold: how good its winner is, and how long it took.

use ndarray::Array2;
use serde::{Deserialize, Serialize};
use stepwell::config::ModelConfig;
use stepwell::targets::{Encoded, decode_classes};

use crate::metrics::{ClassMetrics, auroc, mean_absolute_error, r2};

/// How good the winner of a fold is on its test graphs, a mean over initialisations.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct FoldOutcome {
    /// The settings that were searched, and the rest of the model.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub config: Option<ModelConfig>,
    /// The setting of a baseline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub setting: Option<String>,
    /// The penalty that was chosen, for the first initialisation.
    pub alpha: f64,
    /// Share of the validation graphs that were right, or minus their mean
    /// squared error; nothing where there was nothing to choose.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<f64>,
    /// How good it is.
    #[serde(flatten)]
    pub quality: Quality,
}

/// Measures of predictions; those that the kind of target has.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Quality {
    /// Share of the graphs that are right.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accuracy: Option<f64>,
    /// The mean of that over classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub balanced_accuracy: Option<f64>,
    /// The mean F1 over classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub macro_f1: Option<f64>,
    /// Area under the curve; several classes: each against the rest, averaged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub auroc: Option<f64>,
    /// Mean absolute error, where numbers are predicted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mae: Option<f64>,
    /// Share of the variance explained, where numbers are predicted.
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
                let metrics = ClassMetrics::of(&decode_classes(decisions.view()), &expected, names.len());
                let area = |column: usize, class: usize| {
                    let is: Vec<bool> = expected.iter().map(|&found| found == class).collect();
                    auroc(&decisions.column(column).to_vec(), &is)
                };
                let areas: Vec<f64> = match names.len() {
                    2 => area(0, 1).into_iter().collect(),
                    classes => (0..classes).filter_map(|class| area(class, class)).collect(),
                };
                quality.accuracy = Some(metrics.accuracy);
                quality.balanced_accuracy = Some(metrics.balanced_accuracy);
                quality.macro_f1 = Some(metrics.macro_f1);
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

/// Times of one run of a winner on one thread, in seconds.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Times {
    /// Embedding the graphs to learn from, and training the readout.
    pub train_seconds: f64,
    /// Embedding the test graphs, and reading them.
    pub test_seconds: f64,
}
