//! How a model is evaluated: the folds, the draws of the weights and, for a hyperparameter search
//! (the paper's protocol, §6.3), the candidate configurations and the choice among them.

use serde::{Deserialize, Serialize};
use stepwell::config::{Metric, ModelConfig};
use stepwell::rng::Stream;
use stepwell::targets::Encoded;

use crate::error::{Error, Result};
use crate::splits::{self, Fold};
use crate::targets::strata;

/// The evaluation protocol.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Protocol {
    /// The number of outer folds; given splits have their own number.
    pub folds: usize,
    /// The share of an outer training fold that is held out to compare configurations.
    pub held_out: f64,
    /// The number of random configurations; 0 evaluates the model as it is.
    pub configurations: usize,
    /// The number of draws of the weights for each configuration; scores are averaged over them.
    pub initialisations: usize,
    /// Search: candidate penalties of a linear readout.
    pub alphas: Vec<f64>,
    /// Search: whether the penalty is chosen by leave-one-out on the training
    /// graphs, instead of on the validation graphs.
    pub leave_one_out: bool,
    /// The seed of folds, configurations and weights.
    pub seed: u64,
    /// Search: the searched options; the others keep the model's values.
    pub searched: Searched,
    /// Whether the model is trained on the training graphs and scored on the
    /// validation graphs, to compare models without touching the test graphs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_validation: bool,
    /// The metric to report and to compare configurations by; the model's own metric takes
    /// precedence.
    #[serde(skip_serializing_if = "is_auto")]
    pub metric: Metric,
}

fn is_auto(metric: &Metric) -> bool {
    *metric == Metric::Auto
}

/// The searched options, each drawn uniformly from the paper's range.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Searched {
    /// rho, in [0.1, 0.9].
    pub spectral_radius: bool,
    /// omega_in, in [0.1, 0.8].
    pub input_scaling: bool,
    /// omega_hid, in [0.1, 0.8].
    pub hidden_scaling: bool,
}

impl Default for Searched {
    fn default() -> Self {
        Self { spectral_radius: true, input_scaling: true, hidden_scaling: true }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        Self {
            folds: 5,
            held_out: 0.1,
            configurations: 100,
            initialisations: 3,
            alphas: vec![1e2, 1e1, 1e0, 1e-1, 1e-2],
            leave_one_out: false,
            seed: 0,
            searched: Searched::default(),
            on_validation: false,
            metric: Metric::Auto,
        }
    }
}

/// More passes than anyone can wait for.
const MOST_PASSES: usize = 1 << 30;

impl Protocol {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        let bad = |name, expected: &str, found: String| {
            Err(Error::BadOption { name, expected: expected.into(), found })
        };
        if self.initialisations == 0 {
            return bad("initialisations", "at least 1", "0".into());
        }
        let passes = self.configurations.max(1).checked_mul(self.initialisations);
        if passes.is_none_or(|passes| passes > MOST_PASSES) {
            let found = format!("{} x {}", self.configurations, self.initialisations);
            let expected = format!("at most {MOST_PASSES} configurations x initialisations");
            return bad("configurations", &expected, found);
        }
        if self.alphas.is_empty() {
            return bad("alphas", "at least 1", "0".into());
        }
        if !(self.held_out > 0.0 && self.held_out < 1.0) {
            return bad("held_out", "a share above 0 and below 1", self.held_out.to_string());
        }
        match self.alphas.iter().find(|alpha| !(alpha.is_finite() && **alpha > 0.0)) {
            None => Ok(()),
            Some(alpha) => bad("alphas", "finite numbers above 0", alpha.to_string()),
        }
    }

    /// The options that a search draws; empty without a search.
    pub fn searched_options(&self) -> Vec<&'static str> {
        let Searched { spectral_radius, input_scaling, hidden_scaling } = self.searched;
        let all = [
            ("spectral_radius", spectral_radius),
            ("input_scaling", input_scaling),
            ("hidden_scaling", hidden_scaling),
        ];
        all.into_iter().filter(|(_, drawn)| *drawn && self.searches()).map(|(name, _)| name).collect()
    }

    /// Whether configurations are compared on validation graphs.
    pub fn searches(&self) -> bool {
        self.configurations > 0
    }

    /// Checks every value. Unless folds are given, draws them for these targets: by group if graphs
    /// have groups, otherwise by class. If given folds have no validation graphs, a search holds
    /// out some of their training graphs.
    pub fn split(
        &self,
        targets: &Encoded,
        groups: Option<&[String]>,
        given: Option<Vec<Fold>>,
    ) -> Result<Vec<Fold>> {
        self.validate()?;
        let strata = strata(targets);
        let groups = groups.map(splits::numbered);
        let mut folds = match (given, &groups) {
            (Some(folds), _) => folds,
            (None, Some(groups)) => splits::grouped(groups, self.folds, self.held_out, self.seed)?,
            (None, None) => splits::stratified(&strata, self.folds, self.held_out, self.seed)?,
        };
        for (number, fold) in folds.iter_mut().enumerate() {
            if self.searches() && fold.validation.is_empty() {
                let stream = Stream::new(self.seed, "held out", [number as u64, 0]);
                match &groups {
                    Some(groups) => fold.hold_out_groups(groups, self.held_out, stream),
                    None => fold.hold_out(&strata, self.held_out, stream),
                }
            }
            let by_validation = self.searches() || self.on_validation;
            for (part, graphs, needed) in [
                ("training", &fold.train, true),
                ("validation", &fold.validation, by_validation),
                ("test", &fold.test, !self.on_validation),
            ] {
                if needed && graphs.is_empty() {
                    let expected = format!("{part} graphs in every fold");
                    return Err(Error::Split { expected, found: format!("none in fold {}", number + 1) });
                }
            }
        }
        Ok(folds)
    }

    /// The model with the options of one configuration and the weight seed of one initialisation.
    pub fn configure(&self, model: &ModelConfig, configuration: usize, initialisation: usize) -> ModelConfig {
        let mut config = model.clone();
        let mut stream = Stream::new(self.seed, "configuration", [configuration as u64, 0]);
        // All three are always drawn, so that fixing one does not change the others.
        let (radius, input, hidden) =
            (stream.uniform_in(0.1, 0.9), stream.uniform_in(0.1, 0.8), stream.uniform_in(0.1, 0.8));
        if self.searches() && self.searched.spectral_radius {
            config.spectral_radius = radius.into();
        }
        if self.searches() && self.searched.input_scaling {
            config.input_scaling = input;
        }
        if self.searches() && self.searched.hidden_scaling {
            config.hidden_scaling = hidden.into();
        }
        let indices = [configuration as u64, initialisation as u64];
        config.seed = Stream::new(self.seed, "initialisation", indices).bits();
        // The fold has already made its choices; a search chooses nothing else.
        config.choose.clear();
        config
    }

    /// All units of work: a configuration with an initialisation.
    pub fn units(&self) -> impl Iterator<Item = UnitKey> + Clone {
        let initialisations = self.initialisations;
        (0..self.configurations * initialisations).map(move |index| UnitKey {
            configuration: index / initialisations,
            initialisation: index % initialisations,
        })
    }
}

/// Identifies a unit of work.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub struct UnitKey {
    /// The configuration, from 0.
    pub configuration: usize,
    /// The draw of its weights, from 0.
    pub initialisation: usize,
}

/// The scores of one pass over all graphs: in every fold, for every alpha (or for the one that
/// leave-one-out chose). A score is the value of the metric that configurations are compared by
/// (accuracy or RMSE if it has no value), negated if less is better. With one target, the number of
/// correctly classified graphs replaces accuracy, and minus the sum of squared errors replaces
/// RMSE.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Unit {
    /// The unit.
    #[serde(flatten)]
    pub key: UnitKey,
    /// On the validation graphs, trained on the training graphs.
    pub validation: Vec<Vec<f64>>,
    /// On the test graphs, trained on training and validation graphs; 0 if the metric has no value.
    /// No choice depends on it.
    pub test: Vec<Vec<f64>>,
}

/// The choice of one fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Winner {
    /// The best configuration.
    pub configuration: usize,
    /// The index of its best alpha; 0 if leave-one-out chooses.
    pub alpha: usize,
    /// Its validation score, averaged over initialisations.
    pub validation: f64,
}

/// The best configuration and alpha of every fold, by validation scores averaged over
/// initialisations; the first among equals. `None` until all units are finished.
pub fn winners(protocol: &Protocol, units: &[Unit]) -> Option<Vec<Winner>> {
    let mut sorted: Vec<&Unit> = units.iter().collect();
    sorted.sort_by_key(|unit| unit.key);
    if !sorted.iter().map(|unit| unit.key).eq(protocol.units()) {
        return None;
    }
    let folds = sorted.first()?.validation.len();
    let mean = |configuration: &[&Unit], fold: usize, alpha: usize| {
        let scores = configuration.iter().map(|unit| unit.validation[fold][alpha]);
        scores.sum::<f64>() / configuration.len() as f64
    };
    let mut best: Vec<Option<Winner>> = vec![None; folds];
    for (configuration, group) in sorted.chunks(protocol.initialisations).enumerate() {
        for (fold, best) in best.iter_mut().enumerate() {
            for alpha in 0..group[0].validation[fold].len() {
                let validation = mean(group, fold, alpha);
                if best.is_none_or(|best| validation > best.validation) {
                    *best = Some(Winner { configuration, alpha, validation });
                }
            }
        }
    }
    best.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fixed_does_not_change_what_is_drawn() {
        let protocol = Protocol::default();
        let model = ModelConfig::default();
        let free = protocol.configure(&model, 3, 1);
        let searched = Searched { input_scaling: false, ..Default::default() };
        let fixed = Protocol { searched, ..protocol.clone() }.configure(&model, 3, 1);
        assert_eq!(fixed, ModelConfig { input_scaling: model.input_scaling, ..free.clone() });
        let other = protocol.configure(&model, 3, 2);
        assert_eq!(ModelConfig { seed: free.seed, ..other.clone() }, free);
        assert_ne!(other.seed, free.seed);
    }

    #[test]
    fn parts_of_a_fold_are_asked_for_where_they_are_needed() {
        let targets = Encoded::new(&stepwell::targets::Targets::numbers(vec![0.0; 40])).unwrap();
        let given = |validation: &[usize]| {
            vec![Fold { train: (0..30).collect(), validation: validation.to_vec(), test: (35..40).collect() }]
        };
        let plain = Protocol { configurations: 0, ..Protocol::default() };
        assert_eq!(plain.split(&targets, None, Some(given(&[]))).unwrap(), given(&[]));
        // Without a validation part, a search holds out some of the training graphs.
        let searched = Protocol::default().split(&targets, None, Some(given(&[]))).unwrap();
        assert_eq!((searched[0].train.len(), searched[0].validation.len()), (27, 3));
        assert_eq!(Protocol::default().split(&targets, None, Some(given(&[31]))).unwrap(), given(&[31]));
        let early = Protocol { on_validation: true, ..plain };
        let refused = early.split(&targets, None, Some(given(&[]))).unwrap_err().to_string();
        assert!(
            refused.contains("expected validation graphs in every fold, found none in fold 1"),
            "{refused}"
        );
    }

    #[test]
    fn the_best_mean_wins_and_ties_go_to_the_first() {
        let protocol =
            Protocol { configurations: 3, initialisations: 2, alphas: vec![1.0, 2.0], ..Default::default() };
        let unit = |index: usize, validation: [f64; 2]| Unit {
            key: UnitKey { configuration: index / 2, initialisation: index % 2 },
            validation: vec![validation.to_vec()],
            test: vec![vec![10.0 * index as f64, 10.0 * index as f64 + 1.0]],
        };
        let units = [
            unit(0, [5.0, 1.0]),
            unit(1, [1.0, 1.0]),
            unit(2, [3.0, 4.0]),
            unit(3, [3.0, 4.0]),
            unit(4, [4.0, 4.0]),
            unit(5, [4.0, 4.0]),
        ];
        let winner = winners(&protocol, &units).unwrap()[0];
        assert_eq!((winner.configuration, winner.alpha), (1, 1), "the largest single score is no mean");
        assert_eq!(winner.validation, 4.0);
        assert!(winners(&protocol, &units[1..]).is_none());
    }
}
