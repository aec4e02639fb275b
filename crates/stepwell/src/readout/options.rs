//! What a readout can be asked for.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::class_weight::ClassWeight;
use super::ridge::check_alpha;
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

/// `loo`, a number, or several separated by commas.
impl FromStr for Alpha {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case("loo") {
            return Ok(Self::Loo);
        }
        let number = |part: &str| part.trim().parse::<f64>().map_err(|_| bad(text));
        let alpha = match text.contains(',') {
            true => Self::BestOf(text.split(',').map(number).collect::<Result<_>>()?),
            false => Self::Fixed(number(text)?),
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

/// Everything that defines how a readout is trained.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadoutOptions {
    /// The strength of the penalty.
    pub alpha: Alpha,
    /// How much the rows of a class count.
    pub class_weight: ClassWeight,
    /// Whether inputs are divided by their standard deviations, as far as the
    /// penalty is concerned.
    pub standardize: bool,
    /// Random tanh units between the inputs and the regression; 0 for none.
    pub random_features: usize,
    /// At most so many rows as [`Landmarks`](super::Landmarks), similarities to
    /// which are read in place of the inputs; 0 for none.
    pub landmarks: usize,
}

/// More than any machine has use for.
const MAX_EXPANSION: usize = 1 << 15;

impl ReadoutOptions {
    /// Checks every value.
    pub fn validate(&self) -> Result<()> {
        self.alpha.validate()?;
        for (name, found) in [("random features", self.random_features), ("landmarks", self.landmarks)] {
            if found > MAX_EXPANSION {
                let expected = format!("0 to {MAX_EXPANSION}");
                return Err(Error::BadOption { name, expected, found: found.to_string() });
            }
        }
        match self.random_features > 0 && self.landmarks > 0 {
            false => Ok(()),
            true => Err(Error::BadOption {
                name: "landmarks",
                expected: "0, since there are random features (some presets have landmarks)".into(),
                found: self.landmarks.to_string(),
            }),
        }
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
        assert!(options.validate().unwrap_err().to_string().starts_with("random features"));
        let options = ReadoutOptions { random_features: 1, landmarks: 1, ..ReadoutOptions::default() };
        assert!(options.validate().unwrap_err().to_string().starts_with("landmarks"));
    }
}
