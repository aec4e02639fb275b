//! Weights in the order in which the kernel reads them.
//!
//! A dense matrix is cut into slices of rows, and slices into panels a few vectors
//! wide. The columns of a panel are stored together, row by row, so that a tile reads
//! the panel from front to back.
//!
//! If the columns end with half a vector, the rows of the last panel are stored in
//! pairs: both rows without their tails, then one vector with the two tails
//! interleaved. The kernel multiplies it by two numbers of the left side in alternating
//! lanes, so that no lane is idle. If the number of rows is odd, the last row is
//! followed by its own tail.

use ndarray::{ArrayView2, Axis, s};

use super::tile::Spread;
use super::{Aligned, Isa, Real};

/// Numbers per row of a state, so that rows are whole vectors for every instruction
/// set.
pub(crate) fn stride<T: Real>(units: usize) -> usize {
    units.next_multiple_of(T::COLUMN_STEP)
}

/// Rows of a slice. A panel of this depth stays in the innermost cache.
pub(super) const SLICE: usize = 128;

/// A slice of a dense matrix, in panels.
#[derive(Clone)]
pub(crate) struct Panels<T> {
    /// Rows of the slice.
    pub depth: usize,
    /// The panel of column c begins at `c * depth`.
    pub data: Aligned<T>,
}

impl<T: Real> Panels<T> {
    fn slices(matrix: ArrayView2<'_, f64>, isa: Isa) -> Vec<Self> {
        if matrix.is_empty() {
            return Vec::new();
        }
        matrix.axis_chunks_iter(Axis(0), SLICE).map(|slice| Self::new(slice, isa)).collect()
    }

    fn new(matrix: ArrayView2<'_, f64>, isa: Isa) -> Self {
        let (depth, units) = matrix.dim();
        let ((lanes, most), stride) = (T::shape(isa), stride::<T>(units));
        let mut data = Aligned::zeros(depth * stride);
        let panels = Spread::new(0..stride.div_ceil(lanes), most);
        for panel in 0..panels.count {
            let (first, end) = (panels.start(panel) * lanes, stride.min(panels.start(panel + 1) * lanes));
            let (width, whole) = (end - first, (end - first) / lanes * lanes);
            for ((row, column), &value) in matrix.slice(s![.., first..end.min(units)]).indexed_iter() {
                let second = row % 2;
                let place = if whole == width {
                    row * width + column
                } else if column < whole {
                    (row - second) * width + second * whole + column
                } else if row - second + 1 < depth {
                    (row - second) * width + 2 * column + second
                } else {
                    row * width + column
                };
                data[first * depth + place] = T::from_f64(value);
            }
        }
        Self { depth, data }
    }
}

/// `W`, in the cheapest form.
#[derive(Clone)]
pub(crate) struct Recurrent<T> {
    pub(super) isa: Isa,
    pub(super) units: usize,
    pub(super) stride: usize,
    pub(super) form: Form<T>,
}

#[derive(Clone)]
pub(super) enum Form<T> {
    Dense(Vec<Panels<T>>),
    /// Unit k reads only itself, weighted by entry k.
    Diagonal(Aligned<T>),
    /// Unit k reads the unit before it (the first reads the last), weighted by entry k.
    Ring(Aligned<T>),
    /// Unit k reads the units `rows[starts[k]..starts[k + 1]]`.
    Sparse {
        starts: Vec<usize>,
        rows: Vec<u32>,
        values: Vec<T>,
    },
}

/// Up to this share of nonzero entries, processing them one by one is faster than
/// processing all entries in vectors.
const SPARSE_SHARE: f64 = 1.0 / 8.0;

impl<T: Real> Recurrent<T> {
    /// Packs the square matrix `W`.
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
            Form::Dense(Panels::slices(matrix, isa))
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

/// `V` of dense inputs.
#[derive(Clone)]
pub(crate) struct Projection<T> {
    pub(super) isa: Isa,
    pub(super) stride: usize,
    pub(super) inputs: usize,
    pub(super) slices: Vec<Panels<T>>,
}

impl<T: Real> Projection<T> {
    /// Packs `V`, inputs x units.
    pub fn new(matrix: ArrayView2<'_, f64>, isa: Isa) -> Self {
        let (inputs, stride) = (matrix.nrows(), stride::<T>(matrix.ncols()));
        Self { isa, stride, inputs, slices: Panels::slices(matrix, isa) }
    }
}
