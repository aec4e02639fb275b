//! Means and deviations of columns, for what is scaled before it is read.

use ndarray::{Array1, ArrayView2};

use serde::{Deserialize, Serialize};

use super::moments::deviations;
use super::rows;
use crate::error::{Result, same_length};

/// Mean and spread of every column of weighted rows.
///
/// ```
/// use ndarray::array;
/// use stepwell::readout::Columns;
/// let mut columns = Columns::new(2);
/// columns.observe(array![[1.0, 5.0], [3.0, 5.0]].view(), None)?;
/// assert_eq!(columns.mean().to_vec(), [2.0, 5.0]);
/// assert_eq!(columns.deviations().to_vec(), [1.0, 1.0]); // a constant is left as it is
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Columns {
    rows: u64,
    weight: f64,
    mean: Array1<f64>,
    /// `Σ w (x - x̄)²`.
    squares: Array1<f64>,
}

impl Columns {
    /// Of no rows yet.
    pub fn new(width: usize) -> Self {
        Self { rows: 0, weight: 0.0, mean: Array1::zeros(width), squares: Array1::zeros(width) }
    }

    /// Takes rows in. They are added up one by one: how they are cut into pieces
    /// changes no bit.
    pub fn observe(&mut self, x: ArrayView2<'_, f64>, weights: Option<&[f64]>) -> Result<()> {
        same_length("columns of the inputs", self.mean.len(), x.ncols())?;
        rows::finite("input", x)?;
        rows::weights(weights, x.nrows())?;
        for (index, row) in x.outer_iter().enumerate() {
            self.rows += 1;
            let weight = weights.map_or(1.0, |weights| weights[index]);
            if weight == 0.0 {
                continue;
            }
            self.weight += weight;
            let share = weight / self.weight;
            for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(row) {
                let apart = value - *mean;
                *mean += share * apart;
                *squares += weight * apart * (value - *mean);
            }
        }
        Ok(())
    }

    /// Adds those of other rows (Chan's rule).
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same_length("columns of the inputs", self.mean.len(), other.mean.len())?;
        self.rows += other.rows;
        if other.weight > 0.0 {
            let total = self.weight + other.weight;
            let share = other.weight / total;
            let apart = &other.mean - &self.mean;
            self.squares = &self.squares + &other.squares + &apart * &apart * (self.weight * share);
            self.mean = &self.mean + &apart * share;
            self.weight = total;
        }
        Ok(())
    }

    /// The mean of every column.
    pub fn mean(&self) -> &Array1<f64> {
        &self.mean
    }

    /// The standard deviation (ddof 0) of every column; 1 where it is constant.
    pub fn deviations(&self) -> Array1<f64> {
        self.deviations_or(1.0)
    }

    /// The same, with another number where a column is constant.
    pub(super) fn deviations_or(&self, constant: f64) -> Array1<f64> {
        deviations(self.squares.iter().copied(), &self.mean, self.weight, self.rows as f64, constant)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis, s};

    use super::*;
    use crate::readout::Moments;
    use crate::rng::Stream;

    #[test]
    fn they_are_those_of_the_moments_in_any_pieces() {
        let mut stream = Stream::new(1, "columns test", [0, 0]);
        let x = Array2::from_shape_fn((70, 3), |(_, j)| 1e3 * j as f64 + stream.normal());
        let weights: Vec<f64> = (0..70).map(|row| f64::from(row % 3)).collect();
        let mut moments = Moments::new(3, 0).unwrap();
        moments.observe(x.view(), Array2::zeros((70, 0)).view(), Some(&weights)).unwrap();
        let expected = moments.scatter();
        let mut whole = Columns::new(3);
        whole.observe(x.view(), Some(&weights)).unwrap();
        let close = |a: &Array1<f64>, b: &Array1<f64>| (a - b).iter().all(|off| off.abs() < 1e-9);
        assert!(close(whole.mean(), &expected.x_mean));
        assert!(close(&whole.deviations(), &expected.deviations()));
        let mut pieces = Columns::new(3);
        for (piece, x) in x.axis_chunks_iter(Axis(0), 11).enumerate() {
            let weights = &weights[piece * 11..][..x.nrows()];
            pieces.observe(x.slice(s![.., ..]), Some(weights)).unwrap();
        }
        assert_eq!(pieces, whole);
        let mut merged = Columns::new(3);
        for rows in [0..20, 20..20, 20..70] {
            let mut part = Columns::new(3);
            part.observe(x.slice(s![rows.clone(), ..]), Some(&weights[rows])).unwrap();
            merged.merge(&part).unwrap();
        }
        assert!(close(merged.mean(), whole.mean()) && close(&merged.deviations(), &whole.deviations()));
    }
}
