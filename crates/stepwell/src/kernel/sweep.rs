//! One sweep over the rows of a graph, fused: gather `Σ Ã_ij h_j`, multiply by
//! `W`, add `xV`, take the tanh, store, and measure the change.
//!
//! Rows are taken a group at a time. The whole group is gathered into a small
//! buffer before any of its rows is stored; then each panel of `W`, once it is
//! in the cache, meets all tiles of the group.

use std::ops::Range;

use rayon::prelude::*;

use super::operator::Rows;
use super::pack::{Form, Panels, Recurrent};
use super::tanh::tanh;
use super::tile::{TILE, Tiles, multiply, with_rows};
use super::vector::Vector;
use super::{Aligned, Real};

/// Most tiles, and rows, of a group.
const MAX_GROUP: usize = 4;
const GROUP_ROWS: usize = MAX_GROUP * TILE;
/// What a group gathers lies in slabs of so many columns, so that the rows of
/// a slab are a fixed distance apart, known to the compiler.
const SLAB: usize = 128;
/// For a `W` that is not dense, gathered rows are whole. They start this far
/// in, so that a ring can look one unit back.
const MARGIN: usize = 16;
/// A `W` up to this size stays in the innermost cache by itself.
const CACHED_BYTES: usize = 24 << 10;
/// From this many rows on, one graph is shared between threads.
pub(crate) const SHARED_ROWS: usize = 1 << 16;
/// Rows of a graph that one thread takes at a time.
const CHUNK: usize = 256 * TILE;

/// The inputs of a graph's rows, times `V`.
#[derive(Clone, Copy)]
pub(crate) struct Drive<'a, T> {
    table: &'a [T],
    lines: Option<&'a [u32]>,
}

impl<'a, T: Real> Drive<'a, T> {
    /// Row r of the graph is driven by row r of the table.
    pub fn rows(table: &'a [T]) -> Self {
        Self { table, lines: None }
    }

    /// Row r of the graph is driven by row `lines[r]` of the table.
    pub fn look_up(table: &'a [T], lines: &'a [u32]) -> Self {
        Self { table, lines: Some(lines) }
    }

    fn covers(&self, count: usize, stride: usize) -> bool {
        match self.lines {
            None => self.table.len() >= count * stride,
            Some(lines) => {
                let limit = self.table.len() / stride;
                lines.len() >= count && lines.iter().all(|&line| (line as usize) < limit)
            }
        }
    }
}

/// One block's equation on one graph, ready to be swept any number of times.
pub(crate) struct Equation<'a, T> {
    rows: Rows<'a, T>,
    drive: Drive<'a, T>,
    recurrent: &'a Recurrent<T>,
    leak: T,
}

/// What a sweep of some rows needs; the pointers are to whole states.
pub(crate) struct Sweeping<'a, T> {
    equation: &'a Equation<'a, T>,
    source: *const T,
    target: *mut T,
    /// Rows before this one gather nothing but zeros.
    quiet: usize,
}

// SAFETY: threads share a task only through `Equation::sweep_shared`, whose
// rows neither write nor read what another thread writes.
unsafe impl<T: Real> Sync for Sweeping<'_, T> {}

impl<'a, T: Real> Equation<'a, T> {
    /// # Panics
    /// When the drive has no row for some row of the graph.
    pub fn new(rows: Rows<'a, T>, drive: Drive<'a, T>, recurrent: &'a Recurrent<T>, leak: f64) -> Self {
        assert!(drive.covers(rows.len(), recurrent.stride), "a row has no drive");
        Self { rows, drive, recurrent, leak: T::from_f64(leak) }
    }

    /// The graph's rows.
    pub fn rows(&self) -> Rows<'a, T> {
        self.rows
    }

    /// Numbers of a whole state.
    pub fn state_len(&self) -> usize {
        self.rows.len() * self.recurrent.stride
    }

    /// Renews the state in place, each row seeing the ones already renewed
    /// (Gauss–Seidel). Answers with the squared norm of the change.
    /// `from_zero` says that the state is all zeros.
    pub fn sweep_in_place(&self, state: &mut [T], scratch: &mut Aligned<T>, from_zero: bool) -> f64 {
        assert!(state.len() >= self.state_len(), "state too short");
        let quiet = if from_zero { self.rows.colour_starts.get(1).copied().unwrap_or(0) } else { 0 };
        let target = state.as_mut_ptr();
        let task = Sweeping { equation: self, source: target, target, quiet };
        if self.rows.len() < SHARED_ROWS {
            self.sweep_rows(&task, 0..self.rows.len(), scratch)
        } else {
            let colours = self.rows.colour_starts.windows(2);
            colours.map(|colour| self.sweep_shared(&task, colour[0]..colour[1])).sum()
        }
    }

    /// Writes the renewed state to `target` (Jacobi). Answers with the squared
    /// norm of the change.
    pub fn sweep_into(
        &self,
        source: &[T],
        target: &mut [T],
        scratch: &mut Aligned<T>,
        from_zero: bool,
    ) -> f64 {
        assert!(source.len().min(target.len()) >= self.state_len(), "state too short");
        let quiet = if from_zero { self.rows.len() } else { 0 };
        let task = Sweeping { equation: self, source: source.as_ptr(), target: target.as_mut_ptr(), quiet };
        if self.rows.len() < SHARED_ROWS {
            self.sweep_rows(&task, 0..self.rows.len(), scratch)
        } else {
            self.sweep_shared(&task, 0..self.rows.len())
        }
    }

    /// Sweeps rows that do not read each other, on all threads. The chunks and
    /// the order of the sum are the same for any number of threads.
    fn sweep_shared(&self, task: &Sweeping<'_, T>, rows: Range<usize>) -> f64 {
        let chunks = rows.len().div_ceil(CHUNK);
        let sums: Vec<f64> = (0..chunks)
            .into_par_iter()
            .map_init(Aligned::default, |scratch, chunk| {
                let start = rows.start + chunk * CHUNK;
                self.sweep_rows(task, start..rows.end.min(start + CHUNK), scratch)
            })
            .collect();
        sums.iter().sum()
    }

    fn sweep_rows(&self, task: &Sweeping<'_, T>, rows: Range<usize>, scratch: &mut Aligned<T>) -> f64 {
        let stride = self.recurrent.stride;
        scratch.reserve((GROUP_ROWS * stride.next_multiple_of(SLAB)).max(2 * (stride + MARGIN)));
        // SAFETY: source and target hold `state_len` numbers; columns stay
        // within the graph, by construction of `Rows`; the drive covers the
        // rows; the scratch was made large enough; an `Isa` exists only where
        // the processor has it. Rows swept at the same time on other threads
        // are of one colour (or write to another buffer than they read).
        unsafe { T::sweep_rows(self.recurrent.isa, task, rows, scratch) }
    }
}

/// # Safety
/// As for [`Vector`]; see `Equation::sweep_rows` for what must hold of the task.
#[inline(always)]
pub(super) unsafe fn rows<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    range: Range<usize>,
    scratch: &mut [V::Scalar],
) -> f64 {
    let scratch = scratch.as_mut_ptr();
    // SAFETY: the caller's promise.
    unsafe {
        match &task.equation.recurrent.form {
            Form::Dense(panels) => dense_rows::<V>(task, panels, range, scratch),
            form => range.map(|row| other_row::<V>(task, form, row, scratch)).sum(),
        }
    }
}

/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn dense_rows<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    panels: &Panels<V::Scalar>,
    range: Range<usize>,
    slabs: *mut V::Scalar,
) -> f64 {
    let tiles = Tiles::new(range);
    let cached = panels.data.len() * size_of::<V::Scalar>() <= CACHED_BYTES;
    let (group, stride) = (if cached { 1 } else { MAX_GROUP }, task.equation.recurrent.stride);
    let mut total = 0.0;
    let mut tile = 0;
    while tile < tiles.count {
        let next = tiles.count.min(tile + group);
        let (first, end) = (tiles.start(tile), tiles.start(next));
        let quiet = end <= task.quiet;
        let depth = if quiet { 0 } else { panels.depth };
        // SAFETY: the caller's promise; a group has at most GROUP_ROWS rows.
        unsafe {
            let mut changes = [V::splat(V::Scalar::default()); GROUP_ROWS];
            if !quiet {
                for row in first..end {
                    gather::<V>(task, row, slabs.add((row - first) * SLAB), GROUP_ROWS * SLAB);
                }
            }
            let mut column = 0;
            while column < stride {
                let panel = panels.data.as_ptr().add(column * panels.depth);
                let narrow = column + 2 * V::LANES > stride;
                for t in tile..next {
                    let (row, rows) = (tiles.start(t), tiles.start(t + 1) - tiles.start(t));
                    let left = slabs.add((row - first) * SLAB);
                    let changes = changes.as_mut_ptr().add(row - first);
                    if narrow {
                        with_rows!(rows, R =>
                            renew_tile::<V, R, 1>(task, row, column, left, depth, panel, changes))
                    } else {
                        with_rows!(rows, R =>
                            renew_tile::<V, R, 2>(task, row, column, left, depth, panel, changes))
                    }
                }
                column += 2 * V::LANES;
            }
            let sizes = task.equation.rows.sizes;
            if sizes.is_empty() {
                let mut sum = changes[0];
                for change in &changes[1..end - first] {
                    sum = sum.add(*change);
                }
                total += sum.sum();
            } else {
                for (change, size) in changes.iter().zip(&sizes[first..end]) {
                    total += f64::from(*size) * change.sum();
                }
            }
        }
        tile = next;
    }
    total
}

/// Writes `Σ Ã_ij h_j` of one row to `left`, slabs of columns `slab_step` apart.
///
/// # Safety
/// As for [`rows`]; `left` must be valid for writing the slabs of a row.
#[inline(always)]
unsafe fn gather<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    row: usize,
    left: *mut V::Scalar,
    slab_step: usize,
) {
    // SAFETY: the caller's promise; row starts are in order and within the entries.
    unsafe {
        let Rows { row_starts, columns, values, .. } = task.equation.rows;
        let entries = *row_starts.get_unchecked(row)..*row_starts.get_unchecked(row + 1);
        let (columns, values) = (columns.get_unchecked(entries.clone()), values.get_unchecked(entries));
        let stride = task.equation.recurrent.stride;
        let mut column = 0;
        while column < stride {
            let source = task.source.add(column);
            let left = left.add(column / SLAB * slab_step + column % SLAB);
            let vectors = (stride - column) / V::LANES;
            match vectors {
                1 => gather_columns::<V, 1>(columns, values, source, stride, left),
                2 => gather_columns::<V, 2>(columns, values, source, stride, left),
                3 => gather_columns::<V, 3>(columns, values, source, stride, left),
                4 => gather_columns::<V, 4>(columns, values, source, stride, left),
                5 => gather_columns::<V, 5>(columns, values, source, stride, left),
                6 => gather_columns::<V, 6>(columns, values, source, stride, left),
                7 => gather_columns::<V, 7>(columns, values, source, stride, left),
                _ => gather_columns::<V, 8>(columns, values, source, stride, left),
            }
            column += vectors.min(8) * V::LANES;
        }
    }
}

/// # Safety
/// As for [`gather`]; `C` vectors must be left of each row.
#[inline(always)]
unsafe fn gather_columns<V: Vector, const C: usize>(
    columns: &[u32],
    values: &[V::Scalar],
    source: *const V::Scalar,
    stride: usize,
    left: *mut V::Scalar,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [V::splat(V::Scalar::default()); C];
        for (&column, &value) in columns.iter().zip(values) {
            let (neighbour, value) = (source.add(column as usize * stride), V::splat(value));
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = value.mul_add(V::load(neighbour.add(c * V::LANES)), *sum);
            }
        }
        for (c, sum) in sums.iter().enumerate() {
            sum.store(left.add(c * V::LANES));
        }
    }
}

/// # Safety
/// As for [`rows`]; `R` rows from `row` and `P` vectors from `column` on must exist.
#[inline(always)]
unsafe fn renew_tile<V: Vector, const R: usize, const P: usize>(
    task: &Sweeping<'_, V::Scalar>,
    row: usize,
    column: usize,
    left: *const V::Scalar,
    depth: usize,
    panel: *const V::Scalar,
    changes: *mut V,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::splat(V::Scalar::default()); P]; R];
        for (r, line) in sums.iter_mut().enumerate() {
            let drive = drive_of(task, row + r).add(column);
            for (p, sum) in line.iter_mut().enumerate() {
                *sum = V::load(drive.add(p * V::LANES));
            }
        }
        let mut done = 0;
        while done < depth {
            let (left, panel) = (left.add(done * GROUP_ROWS), panel.add(done * P * V::LANES));
            multiply(&mut sums, left, SLAB, SLAB.min(depth - done), panel);
            done += SLAB;
        }
        let state = State::new(task, row, column);
        for p in 0..P {
            let mut lines = [sums[0][p]; R];
            for (line, sum) in lines.iter_mut().zip(&sums) {
                *line = sum[p];
            }
            state.renew(p * V::LANES, lines, changes);
        }
    }
}

/// A row whose `W` is not dense; answers with its share of the change.
///
/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn other_row<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    form: &Form<V::Scalar>,
    row: usize,
    scratch: *mut V::Scalar,
) -> f64 {
    let Recurrent { units, stride, .. } = *task.equation.recurrent;
    // SAFETY: the caller's promise; weights of a line are `stride` long, rows
    // and starts of a sparse `W` are those of its units.
    unsafe {
        let left = scratch.add(MARGIN);
        if row < task.quiet {
            left.write_bytes(0, stride)
        } else {
            gather::<V>(task, row, left, SLAB)
        }
        let mut change = V::splat(V::Scalar::default());
        let state = State::new(task, row, 0);
        let drive = drive_of(task, row);
        let (weights, from) = match form {
            Form::Diagonal(weights) => (weights, left),
            Form::Ring(weights) => {
                *left.sub(1) = *left.add(units - 1);
                (weights, left.sub(1))
            }
            Form::Sparse { starts, rows, values } => {
                let sums = left.add(stride + MARGIN);
                sums.write_bytes(0, stride);
                for unit in 0..units {
                    let mut sum = *drive.add(unit);
                    for entry in *starts.get_unchecked(unit)..*starts.get_unchecked(unit + 1) {
                        let from = *left.add(*rows.get_unchecked(entry) as usize);
                        sum = sum + *values.get_unchecked(entry) * from;
                    }
                    *sums.add(unit) = sum;
                }
                for column in (0..stride).step_by(V::LANES) {
                    state.renew(column, [V::load(sums.add(column))], &mut change);
                }
                return task.equation.rows.size(row) * change.sum();
            }
            Form::Dense(_) => return 0.0,
        };
        for column in (0..stride).step_by(V::LANES) {
            let weight = V::load(weights.as_ptr().add(column));
            let sum = V::load(from.add(column)).mul_add(weight, V::load(drive.add(column)));
            state.renew(column, [sum], &mut change);
        }
        task.equation.rows.size(row) * change.sum()
    }
}

/// # Safety
/// The row must exist.
#[inline(always)]
unsafe fn drive_of<T: Real>(task: &Sweeping<'_, T>, row: usize) -> *const T {
    let Drive { table, lines } = task.equation.drive;
    // SAFETY: the drive covers the rows.
    unsafe {
        let line = lines.map_or(row, |lines| *lines.get_unchecked(row) as usize);
        table.as_ptr().add(line * task.equation.recurrent.stride)
    }
}

/// States before and after, from some row and column on.
struct State<V: Vector> {
    old: *const V::Scalar,
    new: *mut V::Scalar,
    stride: usize,
    leak: V::Scalar,
}

impl<V: Vector> State<V> {
    /// # Safety
    /// The row and the column must exist.
    #[inline(always)]
    unsafe fn new(task: &Sweeping<'_, V::Scalar>, row: usize, column: usize) -> Self {
        let stride = task.equation.recurrent.stride;
        let at = row * stride + column;
        // SAFETY: the caller's promise.
        let (old, new) = unsafe { (task.source.add(at), task.target.add(at)) };
        Self { old, new, stride, leak: task.equation.leak }
    }

    /// Stores the new states that belong to `sums`, one vector of each row;
    /// adds the squares of what changed.
    ///
    /// # Safety
    /// As for [`Vector`]; vectors at `column` of `R` rows must exist, and as many `changes`.
    #[inline(always)]
    unsafe fn renew<const R: usize>(&self, column: usize, sums: [V; R], changes: *mut V) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut new = tanh(sums);
            let one = V::Scalar::from_f64(1.0);
            if self.leak != one {
                for (r, new) in new.iter_mut().enumerate() {
                    let old = V::load(self.old.add(r * self.stride + column));
                    *new = V::splat(self.leak).mul_add(*new, V::splat(one - self.leak).mul(old));
                }
            }
            for (r, new) in new.into_iter().enumerate() {
                let at = r * self.stride + column;
                let difference = new.sub(V::load(self.old.add(at)));
                new.store(self.new.add(at));
                let change = changes.add(r);
                *change = difference.mul_add(difference, *change);
            }
        }
    }
}
