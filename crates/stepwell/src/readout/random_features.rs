//! Random tanh units in front of the regression (an extreme learning machine).

use ndarray::{Array1, Array2, ArrayView2, Axis};

use serde::{Deserialize, Serialize};

use super::Columns;
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::rng::Stream;

/// `tanh(x R + b)` with fixed random `R` and `b`: functions that are not linear in the inputs
/// become approximately linear in these features.
///
/// The paper's readout is linear. Its public code can put three times as many units as inputs in
/// front, without `b`, and with an `R` of Frobenius norm 1 applied to the raw inputs. Sums over
/// large graphs saturate such units. So here the inputs are first centred and divided by their
/// standard deviations, and `R` is scaled so that the argument of each unit has a variance near 1
/// for any number of inputs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RandomFeatures {
    weights: Array2<f64>,
    bias: Array1<f64>,
}

impl RandomFeatures {
    /// Draws `units` units for inputs with the statistics `columns`: `R` and `b` uniform in (-1,
    /// 1), `R` multiplied by `sqrt(3 / inputs)`.
    pub fn draw(units: usize, columns: &Columns, seed: u64) -> Self {
        let inputs = columns.mean().len();
        let scale = (3.0 / inputs.max(1) as f64).sqrt();
        let mut stream = Stream::new(seed, "random features", [0, 0]);
        let mut weights =
            Array2::from_shape_simple_fn((inputs, units), || scale * stream.uniform_in(-1.0, 1.0));
        let mut stream = Stream::new(seed, "random features", [1, 0]);
        let bias = Array1::from_shape_simple_fn(units, || stream.uniform_in(-1.0, 1.0));
        // Fold the standardisation of the inputs into the weights and biases.
        weights /= &columns.deviations().insert_axis(Axis(1));
        let bias = bias - columns.mean().dot(&weights);
        Self { weights, bias }
    }

    /// Units with given weights (inputs x units) and biases.
    pub fn from_parts(weights: Array2<f64>, bias: Array1<f64>) -> Result<Self> {
        same_length("biases of the random features", weights.ncols(), bias.len())?;
        for (index, &value) in weights.iter().chain(&bias).enumerate() {
            if !value.is_finite() {
                return Err(Error::BadValue { what: "random feature", item: "number", index, value });
            }
        }
        Ok(Self { weights, bias })
    }

    /// `R`, inputs x units.
    pub fn weights(&self) -> &Array2<f64> {
        &self.weights
    }

    /// `b`, one per unit.
    pub fn bias(&self) -> &Array1<f64> {
        &self.bias
    }

    /// The units' values for every row.
    pub fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        same_length("columns of the inputs", self.weights.nrows(), x.ncols())?;
        let mut features = linalg::multiply(x, self.weights.view());
        features += &self.bias;
        features.mapv_inplace(f64::tanh);
        Ok(features)
    }
}
