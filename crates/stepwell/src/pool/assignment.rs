//! The pooling matrix `S`.

use crate::error::{Error, Result};

/// A sparse matrix of fine vertices by coarse vertices, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assignment {
    num_coarse: usize,
    row_starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Assignment {
    /// Checks the rows of a compressed sparse matrix: starts ascend from 0 to
    /// the number of entries, columns are below `num_coarse`, values are finite.
    pub fn new(
        num_coarse: usize,
        row_starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self> {
        let bad = |what, expected, found| Err(Error::Length { what, expected, found });
        if row_starts.first() != Some(&0) || !row_starts.is_sorted() {
            return bad("ascending row starts", 0, row_starts.first().copied().unwrap_or(0));
        }
        let entries = row_starts.last().copied().unwrap_or(0);
        if entries != columns.len() {
            return bad("columns", entries, columns.len());
        }
        if entries != values.len() {
            return bad("values", entries, values.len());
        }
        if let Some(at) = columns.iter().position(|&column| column as usize >= num_coarse) {
            let vertex = u64::from(columns[at]);
            return Err(Error::VertexOutOfRange { edge: at, vertex, num_vertices: num_coarse });
        }
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::BadValue { what: "weight", item: "entry", index, value: values[index] });
        }
        Ok(Self { num_coarse, row_starts, columns, values })
    }

    /// Rows: vertices of the fine graph.
    pub fn num_fine(&self) -> usize {
        self.row_starts.len().saturating_sub(1)
    }

    /// Columns: vertices of the coarse graph.
    pub fn num_coarse(&self) -> usize {
        self.num_coarse
    }

    /// Coarse vertices and weights of one fine vertex.
    pub fn row(&self, fine: usize) -> (&[u32], &[f64]) {
        let range = self.row_starts[fine]..self.row_starts[fine + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Where each row's entries begin, with the number of entries at the end.
    pub fn row_starts(&self) -> &[usize] {
        &self.row_starts
    }

    /// Columns of all entries.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Values of all entries.
    pub fn values(&self) -> &[f64] {
        &self.values
    }
}
