//! Weights in the order in which the kernel reads them.
//!
//! A dense matrix becomes panels, each two vectors wide: the columns of a
//! panel lie together row after row, so that a tile reads it from front to
//! back. What is left of the columns becomes a panel one vector wide.

use ndarray::ArrayView2;

use super::{Aligned, Isa, Real};

/// Numbers per row of a state, so that rows are whole vectors on every path.
pub(crate) fn stride<T: Real>(units: usize) -> usize {
    units.next_multiple_of(T::COLUMN_STEP)
}

/// A dense matrix in panels.
#[derive(Clone)]
pub(super) struct Panels<T> {
    /// Rows of the matrix.
    pub depth: usize,
    pub data: Aligned<T>,
}

impl<T: Real> Panels<T> {
    fn new(matrix: ArrayView2<'_, f64>, isa: Isa) -> Self {
        let (depth, units) = matrix.dim();
        let (lanes, stride) = (T::lanes(isa), stride::<T>(units));
        let mut data = Aligned::zeros(depth * stride);
        for (column, values) in matrix.columns().into_iter().enumerate() {
            let start = column / (2 * lanes) * (2 * lanes);
            let width = (2 * lanes).min(stride - start);
            for (row, &value) in values.iter().enumerate() {
                data[start * depth + row * width + column - start] = T::from_f64(value);
            }
        }
        Self { depth, data }
    }
}

/// `W`, in the form that costs least.
#[derive(Clone)]
pub(crate) struct Recurrent<T> {
    pub(super) isa: Isa,
    pub(super) units: usize,
    pub(super) stride: usize,
    pub(super) form: Form<T>,
}

#[derive(Clone)]
pub(super) enum Form<T> {
    Dense(Panels<T>),
    /// Unit k sees itself alone, weighted by entry k.
    Diagonal(Aligned<T>),
    /// Unit k sees the unit before it (the first sees the last), weighted by entry k.
    Ring(Aligned<T>),
    /// Unit k sees the units `rows[starts[k]..starts[k + 1]]`.
    Sparse {
        starts: Vec<usize>,
        rows: Vec<u32>,
        values: Vec<T>,
    },
}

/// Up to this share of entries that are not zero, taking them one by one is
/// faster than taking all by vectors.
const SPARSE_SHARE: f64 = 1.0 / 8.0;

impl<T: Real> Recurrent<T> {
    /// Packs `W`, square.
    pub fn new(matrix: ArrayView2<'_, f64>, isa: Isa) -> Self {
        let units = matrix.nrows();
        let stride = stride::<T>(units);
        let entries = || matrix.indexed_iter().filter(|(_, w)| **w != 0.0);
        let line = |row_of: &dyn Fn(usize) -> usize| {
            let mut line = Aligned::zeros(stride);
            (0..units).for_each(|column| line[column] = T::from_f64(matrix[(row_of(column), column)]));
            line
        };
        let before = |column: usize| (column + units - 1) % units;
        let form = if entries().all(|((row, column), _)| row == column) {
            Form::Diagonal(line(&|column| column))
        } else if entries().all(|((row, column), _)| row == before(column)) {
            Form::Ring(line(&before))
        } else if entries().count() as f64 <= SPARSE_SHARE * (units * units) as f64 {
            let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
            for column in matrix.columns() {
                for (row, &value) in column.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                    rows.push(row as u32);
                    values.push(T::from_f64(value));
                }
                starts.push(rows.len());
            }
            Form::Sparse { starts, rows, values }
        } else {
            Form::Dense(Panels::new(matrix, isa))
        };
        Self { isa, units, stride, form }
    }

    /// Numbers per row of a state.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Units, H.
    pub fn units(&self) -> usize {
        self.units
    }
}

/// `V` of dense inputs, cut into slices of rows that a cache can hold.
#[derive(Clone)]
pub(crate) struct Projection<T> {
    pub(super) isa: Isa,
    pub(super) stride: usize,
    pub(super) inputs: usize,
    pub(super) slices: Vec<Panels<T>>,
}

const SLICE: usize = 256;

impl<T: Real> Projection<T> {
    /// Packs `V`, inputs x units.
    pub fn new(matrix: ArrayView2<'_, f64>, isa: Isa) -> Self {
        let slices = matrix.axis_chunks_iter(ndarray::Axis(0), SLICE).map(|slice| Panels::new(slice, isa));
        let slices = if matrix.nrows() == 0 { Vec::new() } else { slices.collect() };
        Self { isa, stride: stride::<T>(matrix.ncols()), inputs: matrix.nrows(), slices }
    }
}
