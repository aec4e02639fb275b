//! Means and standard deviations of columns, for scaling inputs.

use ndarray::{Array1, ArrayView2, Axis};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::moments::varying;
use super::rows;
use crate::error::{Result, same_length};
use crate::features::Spread;

/// Mean and standard deviation of every column of weighted rows.
///
/// Rows of weight 1 are summed without rounding. So scales are bit-identical for any order of rows
/// and any number of machines, and so are landmarks, which are rounded after scaling.
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
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Columns {
    /// Number of rows, including those of weight 0.
    rows: u64,
    /// The statistics of rows of weight 1.
    once: Vec<Spread>,
    /// The statistics of rows of other weights.
    others: Weighted,
}

/// Weight, means and `Σ w (x - x̄)²` of columns, with rounding.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Weighted {
    weight: f64,
    mean: Array1<f64>,
    squares: Array1<f64>,
}

/// Number of columns summed together. More of them read longer runs of a row, but their sums must
/// stay in the first-level cache.
const ABREAST: usize = 128;

/// From this size on, several threads are worthwhile.
const MANY: usize = 1 << 14;

impl Columns {
    /// Statistics of `width` columns without rows.
    pub fn new(width: usize) -> Self {
        let others = Weighted { weight: 0.0, mean: Array1::zeros(width), squares: Array1::zeros(width) };
        Self { rows: 0, once: vec![Spread::default(); width], others }
    }

    /// Adds rows. How they are split into pieces does not change a bit.
    pub fn observe(&mut self, x: ArrayView2<'_, f64>, weights: Option<&[f64]>) -> Result<()> {
        same_length("columns of the inputs", self.once.len(), x.ncols())?;
        rows::finite("input", x)?;
        rows::weights(weights, x.nrows())?;
        self.rows += x.nrows() as u64;
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let add = |(spreads, x): (&mut [Spread], ArrayView2<'_, f64>)| {
            for (_, row) in x.outer_iter().enumerate().filter(|(row, _)| weight(*row) == 1.0) {
                spreads.iter_mut().zip(row).for_each(|(spread, &value)| spread.add(value));
            }
        };
        let blocks = x.axis_chunks_iter(Axis(1), ABREAST);
        if x.len() < MANY {
            self.once.chunks_mut(ABREAST).zip(blocks).for_each(add);
        } else {
            let blocks: Vec<_> = blocks.collect();
            self.once.par_chunks_mut(ABREAST).zip(blocks).for_each(add);
        }
        for (index, row) in x.outer_iter().enumerate() {
            let weight = weight(index);
            if weight != 0.0 && weight != 1.0 {
                self.others.add(weight, row.iter().copied());
            }
        }
        Ok(())
    }

    /// Adds the statistics of other rows.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        same_length("columns of the inputs", self.once.len(), other.once.len())?;
        same_length("columns of the inputs", self.once.len(), other.others.mean.len())?;
        self.rows += other.rows;
        self.once.iter_mut().zip(&other.once).for_each(|(mine, theirs)| mine.merge(theirs));
        self.others.merge(&other.others);
        Ok(())
    }

    /// The mean of every column.
    pub fn mean(&self) -> Array1<f64> {
        self.mean_and_deviations(1.0).0
    }

    /// The standard deviation (ddof 0) of every column; 1 if the column is constant.
    pub fn deviations(&self) -> Array1<f64> {
        self.mean_and_deviations(1.0).1
    }

    /// Both, with `constant` as the deviation of constant columns.
    pub(super) fn mean_and_deviations(&self, constant: f64) -> (Array1<f64>, Array1<f64>) {
        let count = self.once.first().map_or(0, Spread::count);
        let exact = self.once.par_iter().map(Spread::mean_and_deviation);
        let (mut means, mut deviations): (Vec<f64>, Vec<f64>) = exact.unzip();
        if count == 0 || self.others.weight > 0.0 {
            let mut all = self.others.clone();
            if count > 0 {
                let weight = count as f64;
                let squares = deviations.iter().map(|deviation| weight * deviation * deviation);
                let squares = squares.collect();
                all.merge(&Weighted { weight, mean: means.into(), squares });
            }
            deviations = all.squares.iter().map(|squares| (squares / all.weight).sqrt()).collect();
            means = all.mean.to_vec();
        }
        let rows = self.rows as f64;
        deviations
            .iter_mut()
            .zip(&means)
            .for_each(|(deviation, &mean)| *deviation = varying(*deviation, mean, rows, constant));
        (means.into(), deviations.into())
    }
}

impl Weighted {
    fn add(&mut self, weight: f64, row: impl Iterator<Item = f64>) {
        self.weight += weight;
        let share = weight / self.weight;
        for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(row) {
            let apart = value - *mean;
            *mean += share * apart;
            *squares += weight * apart * (value - *mean);
        }
    }

    /// Merges by Chan's rule.
    fn merge(&mut self, other: &Self) {
        if other.weight > 0.0 {
            let total = self.weight + other.weight;
            let share = other.weight / total;
            let apart = &other.mean - &self.mean;
            self.squares = &self.squares + &other.squares + &apart * &apart * (self.weight * share);
            self.mean = &self.mean + &apart * share;
            self.weight = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use super::*;
    use crate::readout::Moments;
    use crate::rng::Stream;

    fn columns_of<'a>(pieces: impl IntoIterator<Item = (ArrayView2<'a, f64>, Option<&'a [f64]>)>) -> Columns {
        let mut columns = Columns::new(3);
        pieces.into_iter().for_each(|(x, weights)| columns.observe(x, weights).unwrap());
        columns
    }

    #[test]
    fn they_are_those_of_the_moments_in_any_pieces() {
        let mut stream = Stream::new(1, "columns test", [0, 0]);
        let x = Array2::from_shape_fn((70, 3), |(_, j)| 1e3 * j as f64 + stream.normal());
        for most in [2, 3, 4] {
            // Weights of 0 and 1 only, and other weights.
            let weights: Vec<f64> = (0..70).map(|row| f64::from(row % most)).collect();
            let mut moments = Moments::new(3, 0).unwrap();
            moments.observe(x.view(), Array2::zeros((70, 0)).view(), Some(&weights)).unwrap();
            let expected = moments.scatter();
            let whole = columns_of([(x.view(), Some(&weights[..]))]);
            let close = |a: &Array1<f64>, b: &Array1<f64>| (a - b).iter().all(|off| off.abs() < 1e-9);
            assert!(close(&whole.mean(), &expected.x_mean));
            assert!(close(&whole.deviations(), &expected.deviations()));
            let pieces = x.axis_chunks_iter(Axis(0), 11).zip(weights.chunks(11).map(Some));
            assert_eq!(columns_of(pieces).mean_and_deviations(1.0), whole.mean_and_deviations(1.0));
            let mut merged = Columns::new(3);
            for rows in [0..20, 20..20, 20..70] {
                let part = [(x.slice(s![rows.clone(), ..]), Some(&weights[rows]))];
                merged.merge(&columns_of(part)).unwrap();
            }
            assert!(close(&merged.mean(), &whole.mean()) && close(&merged.deviations(), &whole.deviations()));
        }
    }

    #[test]
    fn of_rows_that_count_alike_neither_order_nor_pieces_change_a_bit() {
        let mut stream = Stream::new(2, "columns test", [0, 0]);
        let x = Array2::from_shape_fn((500, 3), |(i, j)| (i * j) as f64 + stream.normal() * 1e-3);
        let whole = columns_of([(x.view(), None)]).mean_and_deviations(1.0);
        let mut merged = Columns::new(3);
        for first in (0..500).step_by(37).rev() {
            let rows = first..500.min(first + 37);
            merged.merge(&columns_of([(x.slice(s![rows; -1, ..]), None)])).unwrap();
        }
        assert_eq!(merged.mean_and_deviations(1.0), whole);
        assert_eq!(Columns::new(2).mean_and_deviations(7.0), (Array1::zeros(2), Array1::from_elem(2, 7.0)));
    }
}
