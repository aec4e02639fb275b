//! Local explanations: a linear map that gives the same value as the readout for one graph.
//!
//! With an expansion, a decision value is not linear in a graph's vector `x`. Along the
//! straight line from a reference `x0` to `x`, it changes by `Σ_i (x_i - x0_i) g_i`, where `g` is
//! the mean of its gradient on that line: integrated gradients (Sundararajan, Taly
//! and Yan). For a linear readout, `g` are its coefficients.

use ndarray::{Array1, Array2, ArrayView1, Axis};

use super::landmarks::Landmarks;
use super::ridge::Coefficients;
use super::rows::Rows;
use super::trained::{Expansion, Readout};
use crate::error::{Result, same_length};

/// A linear map that replaces a readout for one graph: `y = y0 + (x - x0) g`, plus the contribution
/// of colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// `x0`: zeros for linear readouts and random features; for landmarks, the mean of the training
    /// graphs, unless zeros were requested.
    pub reference: Array1<f64>,
    /// `y0`: the output for a graph with this vector and without colours.
    pub intercept: Array1<f64>,
    /// `g`, one row per component of the vector.
    pub coefficients: Array2<f64>,
    /// The contribution of one occurrence of each of the graph's colours, in the order of the
    /// colours.
    pub of_colours: Array2<f64>,
}

impl Readout {
    /// The linear map that replaces the readout for one graph.
    pub fn local<'a>(&self, graph: impl Into<Rows<'a>>) -> Result<Local> {
        self.local_from(graph.into(), false)
    }

    /// The same with zeros as the reference for every readout.
    pub fn local_from_zero<'a>(&self, row: impl Into<Rows<'a>>) -> Result<Local> {
        self.local_from(row.into(), true)
    }

    fn local_from(&self, graph: Rows<'_>, from_zero: bool) -> Result<Local> {
        same_length("rows", 1, graph.len())?;
        same_length("columns of the inputs", self.num_inputs(), graph.vectors.ncols())?;
        let Coefficients { weights, intercept } = self.coefficients();
        let x = graph.vectors.row(0);
        let reference = Array1::zeros(x.len());
        let none = || Array2::zeros((0, intercept.len()));
        Ok(match self.expansion() {
            None => Local {
                reference,
                intercept: intercept.clone(),
                coefficients: weights.clone(),
                of_colours: none(),
            },
            Some(Expansion::Random(random)) => {
                // The mean slope of tanh between two points is the slope of the secant.
                let (from, to) = (random.bias().clone(), x.dot(random.weights()) + random.bias());
                let slope = |(&from, &to): (&f64, &f64)| match to - from {
                    apart if apart.abs() < 1e-6 => 1.0 - from.tanh().powi(2),
                    apart => (to.tanh() - from.tanh()) / apart,
                };
                let slopes: Array1<f64> = from.iter().zip(&to).map(slope).collect();
                let coefficients = random.weights().dot(&(weights * &slopes.insert_axis(Axis(1))));
                let intercept = from.mapv(f64::tanh).dot(weights) + intercept;
                Local { reference, intercept, coefficients, of_colours: none() }
            }
            Some(Expansion::Landmarks(landmarks)) => {
                let reference = if from_zero { reference } else { landmarks.mean().clone() };
                landmarks.local(graph, reference, weights, intercept)
            }
        })
    }
}

/// Nodes and weights of Gauss–Legendre quadrature on (0, 1).
fn quadrature(points: usize) -> Vec<(f64, f64)> {
    let node = |index: usize| {
        // Newton's method from an accurate initial guess.
        let mut x = (std::f64::consts::PI * (index as f64 + 0.75) / (points as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..6 {
            let (mut before, mut value) = (1.0, x);
            for k in 2..=points {
                let k = k as f64;
                (before, value) = (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
            }
            slope = points as f64 * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        (0.5 - x / 2.0, 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..points).map(node).collect()
}

/// Bounds on the number of quadrature points between a reference and a graph: more for distant
/// graphs.
const FEWEST_POINTS: usize = 24;
const MOST_POINTS: usize = 1000;

impl Landmarks {
    fn local(
        &self,
        graph: Rows<'_>,
        reference: Array1<f64>,
        weights: &Array2<f64>,
        intercept: &Array1<f64>,
    ) -> Local {
        let outputs = intercept.len();
        let mut y0 = intercept.clone();
        let mut coefficients = Array2::zeros((reference.len(), outputs));
        if let Some(sharpness) = self.sharpness() {
            let z0 = self.scaled_row(reference.view());
            let way = self.scaled_row(graph.vectors.row(0)) - &z0;
            let half = way.dot(&way) / 2.0;
            // On the line, the integrand is a Gaussian of width 1 / root.
            let root = (2.0 * sharpness * half).sqrt();
            let nodes = quadrature((FEWEST_POINTS as f64 + 6.0 * root).min(MOST_POINTS as f64) as usize);
            // The factor of every landmark in the gradient, and the factors of the reference and of
            // the path from it, summed over all landmarks.
            let mut of_landmarks = weights.clone();
            let (mut of_reference, mut of_way) =
                (Array1::<f64>::zeros(outputs), Array1::<f64>::zeros(outputs));
            for (index, (row, mut share)) in
                self.rows().outer_iter().zip(of_landmarks.outer_iter_mut()).enumerate()
            {
                let from_here = |(&c, z0): (&f32, &f64)| f64::from(c) - z0;
                let apart: Array1<f64> = row.iter().zip(&z0).map(from_here).collect();
                let product = apart.dot(&way);
                let other = apart.dot(&apart) / 2.0;
                let bend = |t: f64| (-sharpness * (t * t * half - t * product + other)).exp();
                let (mut a, mut b) = (0.0, 0.0);
                for &(t, weight) in &nodes {
                    let value = sharpness * weight * bend(t);
                    a += value;
                    b += t * value;
                }
                let linear: f64 = row.iter().zip(&z0).map(|(&c, z0)| f64::from(c) * z0).sum();
                y0.scaled_add(linear + bend(0.0), &weights.row(index));
                of_reference.scaled_add(-a, &weights.row(index));
                of_way.scaled_add(-b, &weights.row(index));
                share *= 1.0 + a;
            }
            for (column, mut row) in coefficients.outer_iter_mut().enumerate() {
                let scale = self.scale()[column];
                for (landmark, share) in self.rows().column(column).iter().zip(of_landmarks.outer_iter()) {
                    row.scaled_add(f64::from(*landmark) / scale, &share);
                }
                row.scaled_add(z0[column] / scale, &of_reference);
                row.scaled_add(way[column] / scale, &of_way);
            }
        }
        let of_colours = match (self.assignment(), graph.colours) {
            (Some(assignment), Some(colours)) => assignment.of_colours(colours, weights.view()),
            _ => Array2::zeros((0, outputs)),
        };
        Local { reference, intercept: y0, coefficients, of_colours }
    }

    fn scaled_row(&self, x: ArrayView1<'_, f64>) -> Array1<f64> {
        let scaled = x.iter().zip(self.mean()).zip(self.scale()).map(|((x, mean), scale)| (x - mean) / scale);
        scaled.map(|value| f64::from(value as f32)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quadrature_is_exact_for_polynomials() {
        let nodes = quadrature(8);
        for power in 0..16 {
            let found: f64 = nodes.iter().map(|(t, weight)| weight * t.powi(power)).sum();
            assert!((found - 1.0 / (f64::from(power) + 1.0)).abs() < 1e-13, "{power}: {found}");
        }
    }
}
