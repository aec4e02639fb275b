//! Options of the readout.

use serde::{Deserialize, Serialize};

use super::{Kernel, Metric, ModelConfig};
use crate::error::{Error, Result};

/// The strength of the penalty on the coefficients, or how to choose it.
///
/// Written as a number, a list of numbers, or `"loo"`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub enum Alpha {
    /// The best value of [`Alpha::LOO`].
    #[default]
    #[serde(rename = "loo", alias = "LOO")]
    Loo,
    /// A fixed value; 0 is allowed.
    #[serde(untagged)]
    Fixed(f64),
    /// The value with the smallest leave-one-out error; all must be above 0.
    #[serde(untagged)]
    BestOf(Vec<f64>),
}

impl Alpha {
    /// The powers of ten from 1e-6 to 1e6: the paper's five values and four more on either side.
    /// Vectors are sums over vertices, so those of large graphs are long and those of small graphs
    /// short.
    pub const LOO: [f64; 13] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];

    /// The alphas to choose from; a single one leaves no choice.
    pub fn candidates(&self) -> &[f64] {
        match self {
            Self::Fixed(alpha) => std::slice::from_ref(alpha),
            Self::BestOf(alphas) => alphas,
            Self::Loo => &Self::LOO,
        }
    }

    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Fixed(alpha) => check_alpha(*alpha, true),
            Self::BestOf(alphas) if alphas.is_empty() => {
                let expected = "at least one number".to_string();
                Err(Error::BadOption { name: "alpha", expected, found: "none".to_string() })
            }
            Self::BestOf(alphas) => alphas.iter().try_for_each(|&alpha| check_alpha(alpha, false)),
            Self::Loo => Ok(()),
        }
    }
}

/// Rejects penalties that are negative or not finite, and 0 unless `zero_allowed`.
pub(crate) fn check_alpha(alpha: f64, zero_allowed: bool) -> Result<()> {
    let (good, expected) = if zero_allowed {
        (alpha >= 0.0, "a finite number of at least 0")
    } else {
        (alpha > 0.0, "a finite number above 0")
    };
    if good && alpha.is_finite() {
        return Ok(());
    }
    Err(Error::BadOption { name: "alpha", expected: expected.to_string(), found: alpha.to_string() })
}

/// The weight of the graphs of each class.
///
/// Written as `"none"`, `"balanced"`, `"auto"`, or a list of numbers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// All graphs have the same weight.
    #[default]
    None,
    /// All classes that occur have the same total weight: a graph weighs graphs / (classes · graphs
    /// of its class).
    Balanced,
    /// None, balanced, or a blend of the two readouts, whichever has the best leave-one-out value
    /// of the metric. None if the metric is accuracy or there are more than three targets.
    Auto,
    /// These weights, one per class.
    #[serde(untagged)]
    Given(Vec<f64>),
}

/// The options of readout training: those of [`ModelConfig`] with the same names.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ReadoutOptions {
    pub alpha: Alpha,
    pub metric: Metric,
    pub class_weight: ClassWeight,
    pub standardize: bool,
    pub random_features: usize,
    pub landmarks: usize,
    pub kernel: Kernel,
    pub wl_weight: f64,
    pub gaussian_width: f64,
}

impl Default for ReadoutOptions {
    fn default() -> Self {
        ModelConfig::default().readout()
    }
}

impl ReadoutOptions {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        let Self {
            alpha,
            metric,
            class_weight,
            standardize,
            random_features,
            landmarks,
            kernel,
            wl_weight,
            gaussian_width,
        } = self.clone();
        let config = ModelConfig {
            alpha,
            metric,
            class_weight,
            standardize,
            random_features,
            landmarks,
            kernel,
            wl_weight,
            gaussian_width,
            ..ModelConfig::default()
        };
        config.validate()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;

    #[test]
    fn alphas_are_read_as_users_write_them() {
        let read = |value: Value| serde_json::from_value::<Alpha>(value).unwrap();
        for (value, alpha) in [
            (json!("loo"), Alpha::Loo),
            (json!(0.5), Alpha::Fixed(0.5)),
            (json!(0), Alpha::Fixed(0.0)),
            (json!([0.01, 1, 100]), Alpha::BestOf(vec![0.01, 1.0, 100.0])),
        ] {
            assert_eq!(read(value), alpha);
            assert_eq!(read(serde_json::to_value(&alpha).unwrap()), alpha);
            alpha.validate().unwrap();
        }
        for value in
            [json!(""), json!("lo"), json!(-1), json!([]), json!([0, 1]), json!([1, -1]), json!(null)]
        {
            let given = Map::from_iter([("alpha".to_owned(), value.clone())]);
            let refusal = ModelConfig::default().overlay(&given).unwrap_err().to_string();
            assert!(refusal.starts_with("alpha: expected "), "{value}: {refusal}");
        }
        assert!(Alpha::Fixed(f64::NAN).validate().is_err());
        assert!(Alpha::LOO.windows(2).all(|pair| (pair[1] / pair[0] - 10.0).abs() < 1e-12));
    }

    #[test]
    fn the_defaults_are_valid() {
        ReadoutOptions::default().validate().unwrap();
        let options = ReadoutOptions { random_features: 1 << 20, ..ReadoutOptions::default() };
        assert!(
            options.validate().unwrap_err().to_string().starts_with("random_features: expected 0 to 32768")
        );
        let options = ReadoutOptions { random_features: 1, landmarks: 1, ..ReadoutOptions::default() };
        assert!(options.validate().unwrap_err().to_string().starts_with("landmarks"));
    }
}
