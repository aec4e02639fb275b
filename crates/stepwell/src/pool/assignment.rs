//! The pooling matrix `S`, of one graph and of many.

use crate::error::{Error, Result, same_length};
use crate::graph::{check_offsets, reserve, truncate};

/// A sparse matrix of fine vertices by coarse vertices, stored by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment(Assignments);

impl Assignment {
    /// Checks the rows of a compressed sparse matrix: starts must ascend from 0 to the
    /// number of entries, columns must be below `num_coarse`, values must be finite.
    pub fn new(
        num_coarse: usize,
        row_starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
    ) -> Result<Self> {
        let fine_offsets = vec![0, row_starts.len().saturating_sub(1)];
        let coarse_offsets = vec![0, num_coarse];
        Assignments::from_arrays(fine_offsets, coarse_offsets, row_starts, columns, values, false).map(Self)
    }

    /// The identity: every vertex stays as it is.
    pub fn identity(num_vertices: usize) -> Self {
        Self(Assignments {
            fine_offsets: vec![0, num_vertices],
            coarse_offsets: vec![0, num_vertices],
            row_starts: (0..=num_vertices).collect(),
            columns: (0..num_vertices as u32).collect(),
            values: vec![1.0; num_vertices],
            by_max: false,
        })
    }

    /// The same entries, applied by taking the largest state instead of the weighted
    /// sum: column c of `X'` is the largest of `S_ic H_i`. That is not linear, so
    /// entries alone cannot express it.
    pub fn taking_max(self) -> Self {
        Self(Assignments { by_max: true, ..self.0 })
    }

    /// Whether it takes the largest state; otherwise `X' = SᵀH`.
    pub fn takes_max(&self) -> bool {
        self.0.by_max
    }

    /// A view of it.
    pub fn view(&self) -> AssignmentRef<'_> {
        self.0.graph(0)
    }
}

/// The pooling matrices of many graphs in flat arrays, in the layout of a
/// [`GraphBatch`](crate::graph::GraphBatch).
#[derive(Clone, Debug, PartialEq)]
pub struct Assignments {
    /// Graph g has the rows `fine_offsets[g]..fine_offsets[g + 1]`.
    fine_offsets: Vec<usize>,
    coarse_offsets: Vec<usize>,
    row_starts: Vec<usize>,
    /// Counted from 0 in every graph.
    columns: Vec<u32>,
    values: Vec<f64>,
    by_max: bool,
}

impl Default for Assignments {
    fn default() -> Self {
        Self {
            fine_offsets: vec![0],
            coarse_offsets: vec![0],
            row_starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
            by_max: false,
        }
    }
}

impl Assignments {
    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.fine_offsets.len() - 1
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Builds the matrices from the arrays that the accessors return, with the checks
    /// of [`Assignment::new`].
    pub fn from_arrays(
        fine_offsets: Vec<usize>,
        coarse_offsets: Vec<usize>,
        row_starts: Vec<usize>,
        columns: Vec<u32>,
        values: Vec<f64>,
        by_max: bool,
    ) -> Result<Self> {
        check_offsets("fine offsets", &fine_offsets, row_starts.len().saturating_sub(1))?;
        check_offsets("coarse offsets", &coarse_offsets, coarse_offsets.last().copied().unwrap_or(0))?;
        check_offsets("row starts", &row_starts, columns.len())?;
        same_length("coarse offsets", fine_offsets.len(), coarse_offsets.len())?;
        same_length("values", columns.len(), values.len())?;
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::BadValue { what: "weight", item: "entry", index, value: values[index] });
        }
        for (fine, coarse) in fine_offsets.windows(2).zip(coarse_offsets.windows(2)) {
            let (first, end, num_vertices) =
                (row_starts[fine[0]], row_starts[fine[1]], coarse[1] - coarse[0]);
            let outside = |&column: &u32| column as usize >= num_vertices;
            if let Some(at) = columns[first..end].iter().position(outside) {
                let vertex = u64::from(columns[first + at]);
                return Err(Error::VertexOutOfRange { edge: first + at, vertex, num_vertices });
            }
        }
        Ok(Self { fine_offsets, coarse_offsets, row_starts, columns, values, by_max })
    }

    /// Where each graph's fine vertices begin, followed by their number.
    pub fn fine_offsets(&self) -> &[usize] {
        &self.fine_offsets
    }

    /// Where each graph's coarse vertices begin, followed by their number.
    pub fn coarse_offsets(&self) -> &[usize] {
        &self.coarse_offsets
    }

    /// Where each row's entries begin, followed by the number of entries.
    pub fn row_starts(&self) -> &[usize] {
        &self.row_starts
    }

    /// Columns of all entries, counted from 0 in every graph.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Values of all entries.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Appends a matrix. All must be applied in the same way.
    pub fn push(&mut self, Assignment(one): &Assignment) -> Result<()> {
        if self.is_empty() {
            self.by_max = one.by_max;
        } else if self.by_max != one.by_max {
            let word = |by_max| if by_max { "the largest state" } else { "a weighted sum" }.to_string();
            let (expected, found) = (word(self.by_max), word(one.by_max));
            return Err(Error::Mixed { what: "reduction", expected, found });
        }
        let entries = self.columns.len();
        self.row_starts.extend(one.row_starts[1..].iter().map(|start| start + entries));
        self.columns.extend_from_slice(&one.columns);
        self.values.extend_from_slice(&one.values);
        self.fine_offsets.push(self.row_starts.len() - 1);
        self.coarse_offsets.push(self.coarse_offsets[self.len() - 1] + one.coarse_offsets[1]);
        Ok(())
    }

    /// A view of the matrix of one graph.
    ///
    /// # Panics
    /// If `index` is not below [`len`](Self::len), as for a slice.
    pub fn graph(&self, index: usize) -> AssignmentRef<'_> {
        let row_starts = &self.row_starts[self.fine_offsets[index]..=self.fine_offsets[index + 1]];
        let entries = row_starts[0]..row_starts[row_starts.len() - 1];
        AssignmentRef {
            num_coarse: self.coarse_offsets[index + 1] - self.coarse_offsets[index],
            row_starts,
            columns: &self.columns[entries.clone()],
            values: &self.values[entries],
        }
    }

    /// Reserves room for `times` as many more.
    pub(crate) fn reserve(&mut self, times: f64) {
        reserve(&mut self.fine_offsets, times);
        reserve(&mut self.coarse_offsets, times);
        reserve(&mut self.row_starts, times);
        reserve(&mut self.columns, times);
        reserve(&mut self.values, times);
    }

    /// Keeps the first `graphs` matrices and frees the memory of the others.
    pub(crate) fn truncate(&mut self, graphs: usize) {
        let Some(&rows) = self.fine_offsets.get(graphs) else { return };
        let entries = self.row_starts[rows];
        truncate(&mut self.fine_offsets, graphs + 1);
        truncate(&mut self.coarse_offsets, graphs + 1);
        truncate(&mut self.row_starts, rows + 1);
        truncate(&mut self.columns, entries);
        truncate(&mut self.values, entries);
    }

    /// Whether they take the largest state; otherwise `X' = SᵀH`.
    pub fn takes_max(&self) -> bool {
        self.by_max
    }

    /// Number of stored entries of all matrices.
    pub fn num_entries(&self) -> usize {
        self.columns.len()
    }
}

/// The pooling matrix of one graph.
#[derive(Clone, Copy, Debug)]
pub struct AssignmentRef<'a> {
    num_coarse: usize,
    /// Relative to the first start.
    row_starts: &'a [usize],
    columns: &'a [u32],
    values: &'a [f64],
}

impl<'a> AssignmentRef<'a> {
    /// Number of rows: vertices of the fine graph.
    pub fn num_fine(&self) -> usize {
        self.row_starts.len().saturating_sub(1)
    }

    /// Number of columns: vertices of the coarse graph.
    pub fn num_coarse(&self) -> usize {
        self.num_coarse
    }

    /// Coarse vertices and weights of one fine vertex.
    pub fn row(&self, fine: usize) -> (&'a [u32], &'a [f64]) {
        let first = self.row_starts[0];
        let range = self.row_starts[fine] - first..self.row_starts[fine + 1] - first;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Columns of all entries, by row.
    pub fn columns(&self) -> &'a [u32] {
        self.columns
    }

    /// Values of all entries, by row.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Carries rows of `width` numbers from the coarse vertices back: a fine vertex
    /// gets the mean over its coarse vertices, weighted by its row of `S`. A vertex
    /// without any (dropped by a selection) gets zeros.
    pub fn lift(&self, coarse: &[f64], width: usize) -> Result<Vec<f64>> {
        let expected = self.num_coarse.saturating_mul(width);
        same_length("coarse states", expected, coarse.len())?;
        let mut fine = vec![0.0; self.num_fine() * width];
        for (vertex, states) in fine.chunks_exact_mut(width.max(1)).enumerate() {
            let (columns, values) = self.row(vertex);
            let total: f64 = values.iter().sum();
            for (&column, value) in columns.iter().zip(values).filter(|_| total > 0.0) {
                let row = &coarse[column as usize * width..][..width];
                states.iter_mut().zip(row).for_each(|(state, coarse)| *state += value / total * coarse);
            }
        }
        Ok(fine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifting_takes_the_weighted_mean() {
        let s = Assignment::new(2, vec![0, 1, 3, 3], vec![1, 0, 1], vec![0.5, 3.0, 1.0]).unwrap();
        let lifted = s.view().lift(&[1.0, 10.0, 5.0, 20.0], 2).unwrap();
        assert_eq!(lifted, [5.0, 20.0, 2.0, 12.5, 0.0, 0.0]);
        assert!(matches!(s.view().lift(&[1.0], 2), Err(Error::Length { expected: 4, found: 1, .. })));
        assert_eq!(s.view().lift(&[], 0).unwrap(), [0.0; 0]);
    }

    #[test]
    fn many_are_the_same_as_each() {
        let first = Assignment::new(1, vec![0, 1, 2], vec![0, 0], vec![0.5, 0.5]).unwrap();
        let parts = [first, Assignment::identity(0), Assignment::identity(2)];
        let mut all = Assignments::default();
        parts.iter().for_each(|part| all.push(part).unwrap());
        for (index, part) in parts.iter().enumerate() {
            let (view, part) = (all.graph(index), part.view());
            assert_eq!((view.num_fine(), view.num_coarse()), (part.num_fine(), part.num_coarse()));
            assert_eq!((view.columns(), view.values()), (part.columns(), part.values()));
            (0..view.num_fine()).for_each(|fine| assert_eq!(view.row(fine), part.row(fine)));
        }
        let error = all.push(&Assignment::identity(1).taking_max()).unwrap_err();
        assert!(matches!(error, Error::Mixed { what: "reduction", .. }));
    }

    #[test]
    fn arrays_are_put_together_again_or_refused() {
        let mut all = Assignments::default();
        all.push(&Assignment::new(1, vec![0, 1, 2], vec![0, 0], vec![0.5, 0.5]).unwrap().taking_max())
            .unwrap();
        all.push(&Assignment::identity(2).taking_max()).unwrap();
        let from = |fine: &[usize], coarse: &[usize], starts: &[usize], columns: &[u32], values: &[f64]| {
            let (columns, values) = (columns.to_vec(), values.to_vec());
            Assignments::from_arrays(fine.to_vec(), coarse.to_vec(), starts.to_vec(), columns, values, true)
        };
        let (fine, coarse, starts) = (all.fine_offsets(), all.coarse_offsets(), all.row_starts());
        let (columns, values) = (all.columns(), all.values());
        assert_eq!(from(fine, coarse, starts, columns, values).unwrap(), all);
        assert_eq!(from(&[0], &[0], &[0], &[], &[]).unwrap().len(), 0);
        for broken in [
            from(&[], coarse, starts, columns, values),
            from(&[0, 2, 5], coarse, starts, columns, values),
            from(fine, &[0, 1], starts, columns, values),
            from(fine, &[0, 4, 3], starts, columns, values),
            from(fine, coarse, &[0, 1, 3, 2, 4], columns, values),
            from(fine, coarse, &[0, 1, 2, 3, 5], columns, values),
            from(fine, coarse, starts, &[0, 1, 0, 1], values),
            from(fine, coarse, starts, columns, &values[1..]),
            from(fine, coarse, starts, columns, &[0.5, f64::NAN, 1.0, 1.0]),
        ] {
            broken.unwrap_err();
        }
    }
}
