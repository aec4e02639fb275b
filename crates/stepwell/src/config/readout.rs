//! Options of the readout.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::ModelConfig;
use crate::error::{Error, Result};

/// The strength of the penalty on the coefficients, or how to find it.
///
/// Written as a number, a list of numbers, or `"loo"`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Alpha {
    /// This one; 0 is allowed.
    Fixed(f64),
    /// Of these, all above 0, the one with the smallest leave-one-out error.
    BestOf(Vec<f64>),
    /// The best of [`Alpha::LOO`].
    #[default]
    Loo,
}

impl Alpha {
    /// The powers of ten from 1e-6 to 1e6: the paper's five and four more to
    /// either side, since the vectors of large graphs, sums over their
    /// vertices, are long, and those of small ones short.
    pub const LOO: [f64; 13] = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];

    /// The alphas to choose from; of one there is nothing to choose.
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
            Self::BestOf(alphas) if alphas.is_empty() => Err(bad("no alpha at all")),
            Self::BestOf(alphas) => alphas.iter().try_for_each(|&alpha| check_alpha(alpha, false)),
            Self::Loo => Ok(()),
        }
    }
}

/// Refuses penalties that are negative or not finite, and 0 unless that is allowed.
pub(crate) fn check_alpha(alpha: f64, zero_allowed: bool) -> Result<()> {
    let (good, expected) = if zero_allowed {
        (alpha >= 0.0, "a finite number that is not negative")
    } else {
        (alpha > 0.0, "a finite number above 0")
    };
    if good && alpha.is_finite() {
        return Ok(());
    }
    Err(Error::BadOption { name: "alpha", expected: expected.to_string(), found: alpha.to_string() })
}

/// `loo`, a number, or several separated by commas.
impl FromStr for Alpha {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case("loo") {
            return Ok(Self::Loo);
        }
        let number = |part: &str| part.trim().parse::<f64>().map_err(|_| bad(text));
        let alpha = if text.contains(',') {
            Self::BestOf(text.split(',').map(number).collect::<Result<_>>()?)
        } else {
            Self::Fixed(number(text)?)
        };
        alpha.validate().map(|()| alpha)
    }
}

fn bad(found: &str) -> Error {
    Error::BadOption {
        name: "alpha",
        expected: "a number, several of them, or loo".to_string(),
        found: found.to_string(),
    }
}

/// The three ways to write an alpha.
#[derive(Clone, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a number, a list of numbers, or \"loo\"")]
enum Written {
    Number(f64),
    Numbers(Vec<f64>),
    Name(String),
}

impl TryFrom<Written> for Alpha {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        let alpha = match written {
            Written::Number(alpha) => Self::Fixed(alpha),
            Written::Numbers(alphas) => Self::BestOf(alphas),
            Written::Name(name) => name.parse()?,
        };
        alpha.validate().map(|()| alpha)
    }
}

impl From<Alpha> for Written {
    fn from(alpha: Alpha) -> Self {
        match alpha {
            Alpha::Fixed(alpha) => Self::Number(alpha),
            Alpha::BestOf(alphas) => Self::Numbers(alphas),
            Alpha::Loo => Self::Name("loo".to_string()),
        }
    }
}

/// How much the graphs of a class count.
///
/// Written as `"none"`, `"balanced"`, or a list of numbers.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// Every graph counts as much as any other.
    #[default]
    None,
    /// Every class that has graphs counts as much as any other:
    /// graphs / (classes · graphs of the class).
    Balanced,
    /// These weights, one per class.
    #[serde(untagged)]
    Given(Vec<f64>),
}

/// Everything that defines how a readout is trained: the options of
/// [`ModelConfig`] with the same names.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[allow(missing_docs)]
pub struct ReadoutOptions {
    pub alpha: Alpha,
    pub class_weight: ClassWeight,
    pub standardize: bool,
    pub random_features: usize,
    pub landmarks: usize,
}

impl ReadoutOptions {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        let Self { alpha, class_weight, standardize, random_features, landmarks } = self.clone();
        let others = ModelConfig::default();
        ModelConfig { alpha, class_weight, standardize, random_features, landmarks, ..others }.validate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alphas_are_read_as_users_write_them() {
        let read = |text: &str| text.parse::<Alpha>();
        assert_eq!(read("loo").unwrap(), Alpha::Loo);
        assert_eq!(read("0.5").unwrap(), Alpha::Fixed(0.5));
        assert_eq!(read("0").unwrap(), Alpha::Fixed(0.0));
        assert_eq!(read("1e-2, 1,100").unwrap(), Alpha::BestOf(vec![0.01, 1.0, 100.0]));
        for text in ["", "lo", "-1", "nan", "inf", "1,", "0,1", "1,-1"] {
            assert!(read(text).unwrap_err().to_string().starts_with("alpha: expected "), "{text}");
        }
        assert!(Alpha::BestOf(Vec::new()).validate().is_err());
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
