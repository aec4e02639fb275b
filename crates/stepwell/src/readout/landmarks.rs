//! A kernel seen from some of the rows: similarities in place of coordinates.
//!
//! With inputs standardised and divided by the root of their number,
//! `k(x, c) = x·c + exp(-|x - c|²/2)` says how alike a row and a landmark `c`
//! are: a linear part, which goes on where there are no landmarks, and a
//! Gaussian one, which bends it where they are. A regression that is linear in the similarities to all rows is kernel ridge
//! regression; with some of the rows as landmarks it is its Nyström
//! approximation. For the penalty to be that of the kernel, the regression is
//! trained on `k(x, C) L⁻ᵀ`, where `L Lᵀ = k(C, C)`; what it finds is handed back
//! as weights of the similarities themselves.

use std::collections::BTreeMap;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use serde::{Deserialize, Serialize};

use super::{Columns, rows};
use crate::error::{Error, Result, same_length};
use crate::linalg;
use crate::rng::Stream;

/// Landmarks, and how inputs are scaled before they are compared with them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Landmarks {
    mean: Array1<f64>,
    /// Inputs are divided by it: standard deviation times the root of their
    /// number. Infinite for those that never change, which say nothing of what
    /// is near.
    scale: Array1<f64>,
    /// Scaled, landmarks x inputs.
    rows: Array2<f64>,
    /// Half the squared length of each.
    halves: Array1<f64>,
}

/// Added to the diagonal of `k(C, C)`, where rows may be equal.
const JITTER: f64 = 1e-7;

impl Landmarks {
    /// Takes rows for landmarks, given how inputs are distributed.
    pub fn new(rows: ArrayView2<'_, f64>, columns: &Columns) -> Result<Self> {
        let mean = columns.mean().clone();
        let mut scale = columns.deviations_or(f64::INFINITY);
        let varying = scale.iter().filter(|scale| scale.is_finite()).count();
        scale *= (varying.max(1) as f64).sqrt();
        same_length("columns of the landmarks", mean.len(), rows.ncols())?;
        let scaled = (&rows - &mean) / &scale;
        Self::from_parts(mean, scale, scaled)
    }

    /// From their parts: what is subtracted from inputs, what they are divided
    /// by, and landmarks scaled that way.
    pub fn from_parts(mean: Array1<f64>, scale: Array1<f64>, landmarks: Array2<f64>) -> Result<Self> {
        same_length("scales of the landmarks", mean.len(), scale.len())?;
        same_length("columns of the landmarks", mean.len(), landmarks.ncols())?;
        rows::finite("landmark", landmarks.view())?;
        let good = |(mean, scale): (&f64, &f64)| mean.is_finite() && *scale > 0.0;
        if let Some(index) = mean.iter().zip(&scale).position(|pair| !good(pair)) {
            let value = if mean[index].is_finite() { scale[index] } else { mean[index] };
            return Err(Error::BadValue {
                what: "mean or scale of the landmarks",
                item: "column",
                index,
                value,
            });
        }
        let halves = landmarks.outer_iter().map(|row| row.dot(&row) / 2.0).collect();
        Ok(Self { mean, scale, rows: landmarks, halves })
    }

    /// What is subtracted from inputs.
    pub fn mean(&self) -> &Array1<f64> {
        &self.mean
    }

    /// What inputs are then divided by.
    pub fn scale(&self) -> &Array1<f64> {
        &self.scale
    }

    /// The landmarks, scaled: landmarks x inputs.
    pub fn rows(&self) -> &Array2<f64> {
        &self.rows
    }

    /// How alike every row and every landmark are.
    pub fn apply(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        same_length("columns of the inputs", self.mean.len(), x.ncols())?;
        let scaled = (&x - &self.mean) / &self.scale;
        let mut near = linalg::multiply_rows(scaled.view(), self.rows.t());
        for (mut values, own) in near.outer_iter_mut().zip(scaled.outer_iter()) {
            let half = own.dot(&own) / 2.0;
            values.zip_mut_with(&self.halves, |value, other| *value = kernel(*value, half, *other));
        }
        Ok(near)
    }

    /// `L⁻ᵀ`, by which similarities become coordinates with the kernel's inner
    /// products.
    pub(super) fn whitening(&self) -> Result<Array2<f64>> {
        let size = self.rows.nrows();
        let products = linalg::multiply(self.rows.view(), self.rows.t());
        let alike = Array2::from_shape_fn((size, size), |(i, j)| match i == j {
            true => 2.0 * self.halves[i] + 1.0 + JITTER,
            false => kernel(products[(i, j)], self.halves[i], self.halves[j]),
        });
        linalg::inverse_root(alike).ok_or(Error::NoDecomposition { what: "kernel of the landmarks", size })
    }
}

/// `x·c + exp(-|x - c|²/2)`, from the product and half the squared lengths.
fn kernel(product: f64, half: f64, other: f64) -> f64 {
    product + (product - half - other).min(0.0).exp()
}

/// Rows picked for landmarks while all of them go by: those to which the lot
/// falls. It is drawn for what a row holds, so that neither order nor pieces
/// matter, and rows that are equal count once.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Picked {
    most: usize,
    seed: u64,
    by_lot: BTreeMap<u64, Vec<f64>>,
}

impl Picked {
    pub fn new(most: usize, seed: u64) -> Self {
        Self { most, seed, by_lot: BTreeMap::new() }
    }

    /// More rows go by; those of weight 0 are no candidates.
    pub fn observe(&mut self, x: ArrayView2<'_, f64>, weights: Option<&[f64]>) {
        for (index, row) in x.outer_iter().enumerate() {
            if weights.is_some_and(|weights| weights.get(index) == Some(&0.0)) {
                continue;
            }
            let lot = self.lot(row);
            let full = self.by_lot.len() >= self.most;
            if full && self.by_lot.last_key_value().is_none_or(|(&worst, _)| lot >= worst) {
                continue;
            }
            self.by_lot.insert(lot, row.to_vec());
            if self.by_lot.len() > self.most {
                self.by_lot.pop_last();
            }
        }
    }

    /// Takes in what was picked of other rows.
    pub fn merge(&mut self, other: Self) {
        self.by_lot.extend(other.by_lot);
        while self.by_lot.len() > self.most {
            self.by_lot.pop_last();
        }
    }

    fn lot(&self, row: ArrayView1<'_, f64>) -> u64 {
        // Every number is mixed in by a multiplication that can be undone and a shift.
        let mix = |sum: u64, value: &f64| {
            let mixed = (sum ^ value.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ (mixed >> 32)
        };
        Stream::new(self.seed, "landmarks", [row.iter().fold(0, mix), 0]).bits()
    }

    /// The rows picked.
    pub fn rows(self, width: usize) -> Result<Array2<f64>> {
        let count = self.by_lot.len();
        rows::shaped(self.by_lot.into_values().flatten().collect(), (count, width))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, s};

    use super::*;
    use crate::readout::{DualRidge, Moments};

    fn columns_of(x: &Array2<f64>) -> Columns {
        let mut columns = Columns::new(x.ncols());
        columns.observe(x.view(), None).unwrap();
        columns
    }

    fn formula(x: &Array2<f64>, c: &Array2<f64>, columns: &Columns) -> Array2<f64> {
        let scaled = |x: &Array2<f64>| (x - columns.mean()) / columns.deviations();
        let (x, c) = (scaled(x), scaled(c));
        Array2::from_shape_fn((x.nrows(), c.nrows()), |(i, j)| {
            let apart = (0..x.ncols()).map(|k| (x[(i, k)] - c[(j, k)]).powi(2)).sum::<f64>();
            (-apart / 2.0 / x.ncols() as f64).exp() + x.row(i).dot(&c.row(j)) / x.ncols() as f64
        })
    }

    #[test]
    fn similarities_are_those_of_the_formula_and_whitened_they_are_the_kernel() {
        let mut stream = Stream::new(1, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((90, 5), || 3.0 * stream.normal() + 7.0);
        let columns = columns_of(&x);
        let some = x.slice(s![..20, ..]).to_owned();
        let landmarks = Landmarks::new(some.view(), &columns).unwrap();
        let near = landmarks.apply(x.view()).unwrap();
        let expected = formula(&x, &some, &columns);
        assert!((&near - &expected).iter().all(|off| off.abs() < 1e-12));
        assert_eq!(
            landmarks.apply(x.slice(s![70..71, ..])).unwrap().row(0),
            near.row(70),
            "alone as in company"
        );
        let points = near.slice(s![..20, ..]).dot(&landmarks.whitening().unwrap());
        let again = points.dot(&points.t()) - expected.slice(s![..20, ..]);
        assert!(again.iter().all(|off| off.abs() < 1e-5), "up to the jitter");
    }

    #[test]
    fn with_all_rows_it_is_kernel_ridge_regression() {
        let mut stream = Stream::new(2, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((60, 3), || stream.normal());
        let y = Array2::from_shape_fn((60, 1), |(i, _)| (2.0 * x[(i, 0)]).sin() + x[(i, 1)] * x[(i, 2)]);
        let columns = columns_of(&x);
        let landmarks = Landmarks::new(x.view(), &columns).unwrap();
        let whitening = landmarks.whitening().unwrap();
        let points = landmarks.apply(x.view()).unwrap().dot(&whitening);
        let mut moments = Moments::new(60, 1).unwrap();
        moments.observe(points.view(), y.view(), None).unwrap();
        let found = crate::readout::Coefficients::of_moments(&moments, 0.1, false).unwrap();
        let weights = whitening.dot(&found.weights);
        let new = Array2::from_shape_simple_fn((9, 3), || stream.normal());
        let predicted = landmarks.apply(new.view()).unwrap().dot(&weights) + &found.intercept;
        let dual = DualRidge::new(formula(&x, &x, &columns), y).unwrap().solve(0.1).unwrap();
        let expected = formula(&new, &x, &columns).dot(&dual.weights) + &dual.intercept;
        assert!((predicted - expected).iter().all(|off| off.abs() < 1e-5));
    }

    #[test]
    fn columns_that_never_change_are_not_looked_at() {
        let mut stream = Stream::new(3, "landmarks test", [0, 0]);
        let x = Array2::from_shape_simple_fn((30, 3), || stream.normal());
        let padded =
            |filling: f64| Array2::from_shape_fn((30, 5), |(i, j)| if j < 3 { x[(i, j)] } else { filling });
        let landmarks = Landmarks::new(padded(0.1).view(), &columns_of(&padded(0.1))).unwrap();
        let expected = Landmarks::new(x.view(), &columns_of(&x)).unwrap().apply(x.view()).unwrap();
        let found = landmarks.apply(padded(7.0).view()).unwrap();
        assert!((found - expected).iter().all(|off| off.abs() < 1e-12));
    }

    #[test]
    fn picking_depends_neither_on_pieces_nor_on_order() {
        let x = Array2::from_shape_fn((200, 2), |(i, j)| (i * 2 + j) as f64);
        let picked = |x: &Array2<f64>, piece: usize, most: usize| {
            let mut picked = Picked::new(most, 5);
            x.axis_chunks_iter(Axis(0), piece).for_each(|x| picked.observe(x, None));
            picked.rows(2).unwrap()
        };
        let some = picked(&x, 7, 30);
        assert_eq!(some, picked(&x, 200, 30));
        assert_eq!(some.nrows(), 30);
        let backwards = x.slice(s![..;-1, ..]).to_owned();
        assert_eq!(some, picked(&backwards, 200, 30));
        let twice = ndarray::concatenate![Axis(0), x, x];
        assert_eq!(some, picked(&twice, 11, 30), "equal rows count once");
        assert_eq!(picked(&twice, 50, 500).nrows(), 200, "all of them");
        let (mut here, mut there) = (Picked::new(30, 5), Picked::new(30, 5));
        here.observe(x.slice(s![..90, ..]), None);
        there.observe(x.slice(s![90.., ..]), None);
        here.merge(there);
        assert_eq!(some, here.rows(2).unwrap(), "wherever they were seen");
        let spread: f64 = some.column(0).mean().unwrap();
        assert!((spread - 199.0).abs() < 60.0, "from everywhere: {spread}");
    }
}
