//! Vertex attributes as dense or sparse rows.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::{Attributes, check_offsets};
use crate::error::{Error, Result, out_of_range, same_length};

/// Sparse rows: the non-zeros of each row, by ascending column.
///
/// ```
/// use stepwell::graph::SparseRows;
/// let rows = SparseRows::new(1000, vec![0, 2, 3], vec![7, 999, 0], vec![1.0, 2.5, 1.0])?;
/// assert_eq!(rows.row(0), (&[7, 999][..], &[1.0, 2.5][..]));
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseRows {
    width: usize,
    /// Row r has the entries `starts[r]..starts[r + 1]`.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    names: Option<Arc<[String]>>,
}

impl Default for SparseRows {
    fn default() -> Self {
        Self::empty(0)
    }
}

impl SparseRows {
    /// Builds rows of `width` columns from the start of each row's entries (followed by their
    /// number), the columns and the values. Checks everything and drops zeros.
    pub fn new(width: usize, starts: Vec<usize>, columns: Vec<u32>, values: Vec<f64>) -> Result<Self> {
        check_offsets("row offsets of sparse attributes", &starts, columns.len())?;
        same_length("values of sparse attributes", columns.len(), values.len())?;
        if width > u32::MAX as usize {
            let (what, limit) = ("columns of sparse attributes", u64::from(u32::MAX));
            return Err(Error::TooLarge { what, limit, found: width as u64 });
        }
        for (row, pair) in starts.windows(2).enumerate() {
            let of_row = &columns[pair[0]..pair[1]];
            if let Some(at) = of_row.windows(2).position(|pair| pair[0] >= pair[1]) {
                let what = "columns of a row of sparse attributes";
                return Err(Error::NotAscending { what, position: pair[0] + at + 1 });
            }
            if let Some(&last) = of_row.last().filter(|&&last| last as usize >= width) {
                return Err(out_of_range("column of sparse attributes", width, last as usize));
            }
            if let Some(&value) = values[pair[0]..pair[1]].iter().find(|value| !value.is_finite()) {
                return Err(Error::BadValue { what: "attribute", item: "vertex", index: row, value });
            }
        }
        if !values.contains(&0.0) {
            return Ok(Self { width, starts, columns, values, names: None });
        }
        let mut rows = Self::empty(width);
        for pair in starts.windows(2) {
            let entries = columns[pair[0]..pair[1]].iter().zip(&values[pair[0]..pair[1]]);
            rows.push(entries.map(|(&column, &value)| (column, value)));
        }
        Ok(rows)
    }

    /// The non-zeros of dense rows.
    pub fn of_dense(width: usize, values: &[f64]) -> Self {
        let mut rows = Self::empty(width);
        rows.extend_dense(values);
        rows
    }

    pub(crate) fn empty(width: usize) -> Self {
        Self { width, starts: vec![0], columns: Vec::new(), values: Vec::new(), names: None }
    }

    /// Appends a row given by ascending columns below the width. Skips zeros.
    pub(crate) fn push(&mut self, entries: impl Iterator<Item = (u32, f64)>) {
        for (column, value) in entries.filter(|(_, value)| *value != 0.0) {
            self.columns.push(column);
            self.values.push(value);
        }
        self.starts.push(self.columns.len());
    }

    fn extend_dense(&mut self, values: &[f64]) {
        for row in values.chunks_exact(self.width.max(1)) {
            self.push(row.iter().enumerate().map(|(column, &value)| (column as u32, value)));
        }
    }

    fn extend(&mut self, other: &Self, rows: Range<usize>) {
        let entries = other.starts[rows.start]..other.starts[rows.end];
        let shift = self.columns.len();
        self.columns.extend_from_slice(&other.columns[entries.clone()]);
        self.values.extend_from_slice(&other.values[entries.clone()]);
        let ends = &other.starts[rows.start + 1..=rows.end];
        self.starts.extend(ends.iter().map(|end| end - entries.start + shift));
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of non-zeros.
    pub fn num_entries(&self) -> usize {
        self.columns.len()
    }

    /// Columns and values of the non-zeros of a row.
    pub fn row(&self, index: usize) -> (&[u32], &[f64]) {
        let entries = self.starts[index]..self.starts[index + 1];
        (&self.columns[entries.clone()], &self.values[entries])
    }

    /// The arrays: where the entries of each row begin (followed by their number), their columns,
    /// and their values.
    pub fn arrays(&self) -> (&[usize], &[u32], &[f64]) {
        (&self.starts, &self.columns, &self.values)
    }

    /// Some consecutive rows.
    pub(super) fn part(&self, rows: Range<usize>) -> Self {
        let mut part = Self { names: self.names.clone(), ..Self::empty(self.width) };
        part.extend(self, rows);
        part
    }

    /// Some consecutive rows, as dense rows.
    fn dense(&self, rows: Range<usize>) -> Vec<f64> {
        let mut dense = vec![0.0; rows.len() * self.width];
        for (row, out) in rows.zip(dense.chunks_exact_mut(self.width.max(1))) {
            let (columns, values) = self.row(row);
            columns.iter().zip(values).for_each(|(&column, &value)| out[column as usize] = value);
        }
        dense
    }
}

/// Vertex attributes, one row per vertex. The form does not change any result.
#[derive(Clone, Debug)]
pub enum VertexAttributes {
    /// Dense rows.
    Dense(Attributes),
    /// Sparse rows.
    Sparse(SparseRows),
}

impl From<Attributes> for VertexAttributes {
    fn from(rows: Attributes) -> Self {
        Self::Dense(rows)
    }
}

impl From<SparseRows> for VertexAttributes {
    fn from(rows: SparseRows) -> Self {
        Self::Sparse(rows)
    }
}

impl PartialEq for VertexAttributes {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dense(mine), Self::Dense(theirs)) => mine == theirs,
            (Self::Sparse(mine), Self::Sparse(theirs)) => mine == theirs,
            _ => {
                let alike = self.width() == other.width() && self.names() == other.names();
                alike
                    && self.len() == other.len()
                    && (0..self.len()).all(|row| self.row(row) == other.row(row))
            }
        }
    }
}

impl VertexAttributes {
    pub(super) fn empty_like(&self) -> Self {
        match self {
            Self::Dense(rows) => Self::Dense(Attributes::empty_like(rows)),
            Self::Sparse(rows) => {
                Self::Sparse(SparseRows { names: rows.names.clone(), ..SparseRows::empty(rows.width) })
            }
        }
    }

    /// Appends rows of the same width. If either side is sparse, the result is sparse.
    pub(super) fn extend(&mut self, other: &Self, rows: Range<usize>) {
        if let (Self::Dense(mine), Self::Sparse(_)) = (&*self, other) {
            let names = mine.names.clone();
            *self = Self::Sparse(SparseRows { names, ..SparseRows::of_dense(mine.width, &mine.values) });
        }
        match (self, other) {
            (Self::Dense(mine), Self::Dense(theirs)) => mine.extend(theirs, rows),
            (Self::Sparse(mine), Self::Sparse(theirs)) => mine.extend(theirs, rows),
            (Self::Sparse(mine), Self::Dense(theirs)) => mine.extend_dense(theirs.rows(rows)),
            (Self::Dense(_), Self::Sparse(_)) => unreachable!("made sparse above"),
        }
    }

    /// Appends dense rows of the same width.
    pub(super) fn extend_dense(&mut self, values: &[f64]) {
        match self {
            Self::Dense(mine) => mine.values.extend_from_slice(values),
            Self::Sparse(mine) => mine.extend_dense(values),
        }
    }

    pub(super) fn check(&self, vertices: usize) -> Result<()> {
        match self {
            Self::Dense(rows) => {
                same_length("vertex attributes", vertices * rows.width, rows.values.len())?;
                match rows.values.iter().position(|value| !value.is_finite()) {
                    None => Ok(()),
                    Some(at) => {
                        let (index, value) = (at / rows.width, rows.values[at]);
                        Err(Error::BadValue { what: "attribute", item: "vertex", index, value })
                    }
                }
            }
            Self::Sparse(rows) => same_length("rows of vertex attributes", vertices, rows.len()),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Dense(rows) => 8 * rows.values.len(),
            Self::Sparse(rows) => 8 * rows.starts.len() + 12 * rows.columns.len(),
        }
    }

    pub(super) fn set_names(&mut self, found: Option<Arc<[String]>>) {
        match self {
            Self::Dense(Attributes { names, .. }) | Self::Sparse(SparseRows { names, .. }) => *names = found,
        }
    }

    pub(super) fn shared_names(&self) -> Option<&Arc<[String]>> {
        match self {
            Self::Dense(Attributes { names, .. }) | Self::Sparse(SparseRows { names, .. }) => names.as_ref(),
        }
    }

    /// The names of the columns, if they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.shared_names().map(|names| &names[..])
    }

    /// Number of values per row.
    pub fn width(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.width,
            Self::Sparse(rows) => rows.width,
        }
    }

    /// Number of rows; 0 if rows have no values.
    pub fn len(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.len(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One row, zeros included.
    pub fn row(&self, index: usize) -> Cow<'_, [f64]> {
        self.rows(index..index + 1)
    }

    /// Some consecutive rows, zeros included.
    pub fn rows(&self, range: Range<usize>) -> Cow<'_, [f64]> {
        match self {
            Self::Dense(rows) => Cow::Borrowed(rows.rows(range)),
            Self::Sparse(rows) => Cow::Owned(rows.dense(range)),
        }
    }

    /// The non-zeros of a row, by ascending column.
    pub fn non_zeros(&self, index: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (dense, sparse) = match self {
            Self::Dense(rows) => (Some(rows.row(index)), None),
            Self::Sparse(rows) => (None, Some(rows.row(index))),
        };
        let dense = dense.into_iter().flatten().copied().enumerate().filter(|(_, value)| *value != 0.0);
        let sparse = sparse.into_iter().flat_map(|(columns, values)| columns.iter().zip(values));
        dense.chain(sparse.map(|(&column, &value)| (column as usize, value)))
    }

    /// All stored values. Values that are not stored are 0.
    pub fn kept(&self) -> &[f64] {
        match self {
            Self::Dense(rows) => &rows.values,
            Self::Sparse(rows) => &rows.values,
        }
    }

    /// Number of non-zeros.
    pub fn num_non_zeros(&self) -> usize {
        match self {
            Self::Dense(rows) => rows.values.iter().filter(|value| **value != 0.0).count(),
            Self::Sparse(rows) => rows.num_entries(),
        }
    }
}
