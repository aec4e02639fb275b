//! Factors as sparse rows. From any start, coordinate descent leaves few nonzero
//! entries per row, and the cost of everything here grows with those.

use pulp::Arch;
use rayon::prelude::*;

use super::kernel::{AddFour, Lanes, PANEL};
use crate::error::Result;
use crate::pool::{Going, still};

/// With more components than this, the Gram matrix uses several threads.
const PARALLEL: usize = 512;
/// Above this share of nonzero entries, storing zeros is cheaper than storing indices
/// (measured).
const DENSE: f64 = 0.25;
/// A column this small compared with the largest holds rounding errors. Dividing by its
/// square would turn them into numbers of any size: on trees of hubs and leaves
/// scikit-learn ends with entries of 1e15 and more, which would dominate `A'`.
const ROUNDING: f64 = 1024.0 * f64::EPSILON;

/// A factor with one row per vertex: all entries, or only the nonzero ones.
#[derive(Clone, Debug)]
pub enum Factor {
    /// Complete rows over `columns`, which are `0..K`, one after the other.
    Dense { columns: Vec<u32>, values: Vec<f64> },
    /// Rows of nonzero entries.
    Sparse(Rows),
}

/// Compressed sparse rows with ascending columns.
#[derive(Clone, Debug)]
pub struct Rows {
    pub starts: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
}

impl Default for Rows {
    fn default() -> Self {
        Self { starts: vec![0], columns: Vec::new(), values: Vec::new() }
    }
}

impl Rows {
    pub fn append(&mut self, other: &Self) {
        let entries = self.columns.len();
        self.starts.extend(other.starts[1..].iter().map(|start| start + entries));
        self.columns.extend_from_slice(&other.columns);
        self.values.extend_from_slice(&other.values);
    }

    fn to_dense(&self, num_columns: usize) -> Vec<f64> {
        let mut values = vec![0.0; (self.starts.len() - 1) * num_columns];
        for (row, entries) in values.chunks_exact_mut(num_columns).zip(self.starts.windows(2)) {
            for at in entries[0]..entries[1] {
                row[self.columns[at] as usize] = self.values[at];
            }
        }
        values
    }

    pub fn clear(&mut self) {
        self.starts.truncate(1);
        self.columns.clear();
        self.values.clear();
    }
}

impl Factor {
    pub fn dense(num_components: usize, values: Vec<f64>) -> Self {
        Self::Dense { columns: (0..num_components as u32).collect(), values }
    }

    /// Whether storing zeros is cheaper than storing indices.
    pub fn has_few_zeros(&self, num_components: usize) -> bool {
        match self {
            Self::Dense { .. } => true,
            Self::Sparse(rows) => {
                let all = (rows.starts.len() - 1) as f64 * num_components as f64;
                rows.values.len() as f64 > DENSE * all
            }
        }
    }

    #[inline]
    pub fn row(&self, index: usize) -> (&[u32], &[f64]) {
        match self {
            Self::Dense { columns, values } => {
                (columns, &values[index * columns.len()..(index + 1) * columns.len()])
            }
            Self::Sparse(rows) => {
                let range = rows.starts[index]..rows.starts[index + 1];
                (&rows.columns[range.clone()], &rows.values[range])
            }
        }
    }

    /// `sums += weight · row`.
    #[inline]
    pub fn add_row(&self, index: usize, weight: f64, sums: &mut [f64]) {
        match self {
            Self::Dense { .. } => {
                let (_, values) = self.row(index);
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
            }
            Self::Sparse(_) => {
                let (columns, values) = self.row(index);
                for (&column, value) in columns.iter().zip(values) {
                    sums[column as usize] += weight * value;
                }
            }
        }
    }

    /// The nonzero entries.
    pub fn into_rows(self) -> Rows {
        let (columns, values) = match self {
            Self::Sparse(rows) => return rows,
            Self::Dense { columns, values } => (columns, values),
        };
        let mut rows = Rows::default();
        for row in values.chunks_exact(columns.len()) {
            let kept = columns.iter().zip(row).filter(|(_, value)| **value != 0.0);
            kept.for_each(|(&column, &value)| {
                rows.columns.push(column);
                rows.values.push(value);
            });
            rows.starts.push(rows.columns.len());
        }
        rows
    }
}

/// The Gram matrix `FᵀF` of a factor in panels of [`PANEL`] columns: panel p holds the
/// columns from `p · PANEL` on of every row, one row after the other. Rows below the
/// diagonal are summed; the rest follows by symmetry.
#[derive(Debug, Default)]
pub struct Gram {
    num_components: usize,
    panels: Vec<Lanes>,
    /// A diagonal entry up to this value belongs to a column of rounding errors, which
    /// would be 0 without them.
    negligible: f64,
}

impl Gram {
    pub fn of(&mut self, factor: &Factor, num_components: usize, going: &Going<'_>) -> Result<()> {
        self.num_components = num_components;
        self.panels.clear();
        self.panels.resize(num_components.div_ceil(PANEL) * num_components, Lanes::default());
        match factor {
            Factor::Dense { values, .. } => self.add_dense(values, going),
            Factor::Sparse(rows) if factor.has_few_zeros(num_components) => {
                self.add_dense(&rows.to_dense(num_components), going);
            }
            Factor::Sparse(rows) => self.add_sparse(rows),
        }
        still(going)?;
        self.mirror();
        let largest = (0..num_components).map(|column| self.square(column)).fold(0.0, f64::max);
        self.negligible = largest * ROUNDING * ROUNDING;
        Ok(())
    }

    /// The squared norm of a column; 0 if it is negligible compared with others.
    #[inline]
    pub fn curvature(&self, column: usize) -> f64 {
        let square = self.square(column);
        if square > self.negligible { square } else { 0.0 }
    }

    #[inline]
    fn square(&self, column: usize) -> f64 {
        self.panels[column / PANEL * self.num_components + column][column % PANEL]
    }

    /// The rows of one panel.
    #[inline]
    pub fn panel(&self, panel: usize) -> &[Lanes] {
        &self.panels[panel * self.num_components..(panel + 1) * self.num_components]
    }

    /// Copies the entries below the diagonal to those above.
    fn mirror(&mut self) {
        let n = self.num_components;
        for column in 1..n {
            let (panel, lane) = (column / PANEL, column % PANEL);
            for other in 0..=panel {
                let below = self.panels[other * n + column];
                let rows =
                    &mut self.panels[panel * n + other * PANEL..panel * n + column.min((other + 1) * PANEL)];
                rows.iter_mut().zip(below.iter()).for_each(|(row, entry)| row[lane] = *entry);
            }
        }
    }

    fn add_sparse(&mut self, rows: &Rows) {
        for entries in rows.starts.windows(2) {
            let columns = &rows.columns[entries[0]..entries[1]];
            let values = &rows.values[entries[0]..entries[1]];
            for (at, (&column, value)) in columns.iter().zip(values).enumerate() {
                let (panel, lane) = (column as usize / PANEL, column as usize % PANEL);
                let sums = &mut self.panels[panel * self.num_components..(panel + 1) * self.num_components];
                for (&row, other) in columns[at..].iter().zip(&values[at..]) {
                    sums[row as usize][lane] += value * other;
                }
            }
        }
    }

    fn add_dense(&mut self, values: &[f64], going: &Going<'_>) {
        let n = self.num_components;
        let arch = Arch::new();
        let zeros = vec![0.0; n];
        let fill = |(panel, sums): (usize, &mut [Lanes])| {
            let first = panel * PANEL;
            if going().is_break() {
                return;
            }
            for four in values.chunks(4 * n) {
                let mut rows = [&zeros[first..]; 4];
                rows.iter_mut().zip(four.chunks_exact(n)).for_each(|(slot, row)| *slot = &row[first..]);
                arch.dispatch(AddFour { rows, sums: &mut sums[first..] });
            }
        };
        if n < PARALLEL {
            self.panels.chunks_exact_mut(n).enumerate().for_each(fill);
        } else {
            self.panels.par_chunks_exact_mut(n).enumerate().for_each(fill);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_the_gram_matrix_agree_with_the_definition() {
        for (rows, n) in [(1, 1), (3, 5), (6, PANEL), (9, PANEL + 1), (50, 3 * PANEL - 2)] {
            let values: Vec<f64> = (0..rows * n).map(|k| ((k * 37 % 11) as f64 - 2.0).max(0.0)).collect();
            let dense = Factor::dense(n, values.clone());
            let sparse = Factor::Sparse(dense.clone().into_rows());
            for factor in [dense, sparse] {
                let mut gram = Gram::default();
                gram.of(&factor, n, &|| std::ops::ControlFlow::Continue(())).unwrap();
                for row in 0..n {
                    for column in 0..n {
                        let expected: f64 = values.chunks(n).map(|f| f[row] * f[column]).sum();
                        let found = gram.panel(column / PANEL)[row][column % PANEL];
                        assert_eq!(found, expected, "{rows} x {n}: {row}, {column}");
                    }
                }
            }
        }
    }
}
