//! One sweep over the rows of a graph, fused: gather `Σ Ã_ij h_j` (through gates, if
//! edges carry labels or attributes), multiply by `W`, add `xV`, take the tanh, store,
//! and measure the change.
//!
//! The kernel processes rows in groups. It gathers the whole group into a small buffer
//! before it stores any of its rows. It then applies each panel of `W` to all tiles of
//! the group while the panel is in the cache. A second buffer holds the arguments of
//! the tanh in the layout of the state, so that the rest of the sweep reads both
//! buffers from front to back and handles a tail only at the end.

use std::ops::Range;

use rayon::prelude::*;

use super::gate::{self, Gates, LINES};
use super::operator::Rows;
use super::pack::{Form, Panels, Recurrent};
use super::tanh::tanh;
use super::tile::{GROUP, GROUP_ROWS, Product, SLAB, Spread, TILE};
use super::vector::Vector;
use super::{Aligned, Real};

/// If `W` is not dense, the kernel gathers complete rows. They start at this offset, so
/// that a ring can read the unit before the first.
const MARGIN: usize = 16;
/// A `W` of at most this size stays in the innermost cache without grouping.
const CACHED_BYTES: usize = 24 << 10;
/// Graphs with at least this many rows are shared between threads.
pub(crate) const SHARED_ROWS: usize = 1 << 16;
/// Rows of a graph that one thread processes at a time.
const CHUNK: usize = 256 * TILE;

/// The inputs of a graph's rows, multiplied by `V`.
#[derive(Clone, Copy)]
pub(crate) struct Drive<'a, T> {
    table: &'a [T],
    lines: Option<&'a [u32]>,
}

impl<'a, T: Real> Drive<'a, T> {
    /// Row r of the table drives row r of the graph.
    pub fn rows(table: &'a [T]) -> Self {
        Self { table, lines: None }
    }

    /// Row `lines[r]` of the table drives row r of the graph.
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

/// One block's equation on one graph, ready for any number of sweeps.
pub(crate) struct Equation<'a, T> {
    rows: Rows<'a, T>,
    drive: Drive<'a, T>,
    gates: Gates<'a, T>,
    recurrent: &'a Recurrent<T>,
    leak: T,
}

/// The state of a sweep over some rows. The pointers address whole states.
pub(crate) struct Sweeping<'a, T> {
    equation: &'a Equation<'a, T>,
    source: *const T,
    target: *mut T,
    /// In the first sweep, rows before this one gather only zeros, so they skip
    /// gathering and the product.
    quiet: usize,
}

// SAFETY: threads share a task only through `Equation::sweep_shared`, whose
// rows neither write nor read what another thread writes.
unsafe impl<T: Real> Sync for Sweeping<'_, T> {}

impl<'a, T: Real> Equation<'a, T> {
    /// # Panics
    /// When the drive has no row for some row of the graph, or the gates no line for
    /// some entry.
    pub fn new(
        rows: Rows<'a, T>,
        drive: Drive<'a, T>,
        gates: Gates<'a, T>,
        recurrent: &'a Recurrent<T>,
        leak: f64,
    ) -> Self {
        assert!(drive.covers(rows.len(), recurrent.stride), "a row has no drive");
        assert!(rows.gated() || matches!(gates, Gates::Open), "entries have no lines");
        assert!(gates.covers(rows.lines(), recurrent.stride), "an entry has no gate");
        Self { rows, drive, gates, recurrent, leak: T::from_f64(leak) }
    }

    /// The graph's rows.
    pub fn rows(&self) -> Rows<'a, T> {
        self.rows
    }

    /// Units of a state, and numbers per row including the padding.
    pub fn units_and_stride(&self) -> (usize, usize) {
        (self.recurrent.units, self.recurrent.stride)
    }

    /// Numbers in a whole state.
    pub fn state_len(&self) -> usize {
        self.rows.len() * self.recurrent.stride
    }

    /// Updates the state in place, so that each row reads the rows already updated
    /// (Gauss–Seidel). Returns the squared norm of the change. `from_zero` states that
    /// the state is all zeros.
    pub fn sweep_in_place(&self, state: &mut [T], scratch: &mut Aligned<T>, from_zero: bool) -> f64 {
        assert!(state.len() >= self.state_len(), "state too short");
        // From zero, the rows of the first colour read only rows of later colours, which are
        // still zero.
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

    /// Writes the updated state to `target` (Jacobi). Returns the squared norm of the
    /// change.
    pub fn sweep_into(
        &self,
        source: &[T],
        target: &mut [T],
        scratch: &mut Aligned<T>,
        from_zero: bool,
    ) -> f64 {
        assert!(source.len().min(target.len()) >= self.state_len(), "state too short");
        // From zero, every row reads zeros.
        let quiet = if from_zero { self.rows.len() } else { 0 };
        let task = Sweeping { equation: self, source: source.as_ptr(), target: target.as_mut_ptr(), quiet };
        if self.rows.len() < SHARED_ROWS {
            self.sweep_rows(&task, 0..self.rows.len(), scratch)
        } else {
            self.sweep_shared(&task, 0..self.rows.len())
        }
    }

    /// Sweeps rows that do not read each other, on all threads. Chunks and summation
    /// order do not depend on the number of threads, so neither do the bits.
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
        scratch.reserve(GROUP_ROWS * (stride.next_multiple_of(SLAB) + stride) + MARGIN + LINES * stride);
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
            Form::Dense(slices) => dense_rows::<V>(task, slices, range, scratch),
            form => range.map(|row| other_row::<V>(task, form, row, scratch)).sum(),
        }
    }
}

/// # Safety
/// As for [`rows`].
#[inline(always)]
unsafe fn dense_rows<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    slices: &[Panels<V::Scalar>],
    range: Range<usize>,
    scratch: *mut V::Scalar,
) -> f64 {
    let Recurrent { units, stride, .. } = *task.equation.recurrent;
    let tiles = Spread::new(range, TILE);
    // A `W` that fits the innermost cache needs no group: every tile finds it there.
    let cached = units * stride * size_of::<V::Scalar>() <= CACHED_BYTES;
    let group = if cached { 1 } else { GROUP };
    let mut total = 0.0;
    let mut tile = 0;
    while tile < tiles.count {
        let next = tiles.count.min(tile + group);
        let (first, end) = (tiles.start(tile), tiles.start(next));
        // SAFETY: the caller's promise; a group has at most GROUP_ROWS rows.
        unsafe {
            let sums = scratch.add(GROUP_ROWS * stride.next_multiple_of(SLAB));
            // The sums start with the drive, and the product is added to them.
            for row in first..end {
                let (drive, sums) = (drive_of(task, row), sums.add((row - first) * stride));
                for column in (0..stride).step_by(V::Half::LANES) {
                    V::Half::load(drive.add(column)).store(sums.add(column));
                }
            }
            if end > task.quiet {
                let spare = sums.add(GROUP_ROWS * stride);
                for row in first..end {
                    gather::<V>(task, row, scratch.add((row - first) * SLAB), GROUP_ROWS * SLAB, spare);
                }
                for (slice, panels) in slices.iter().enumerate() {
                    let left = scratch.add(slice * GROUP_ROWS * SLAB);
                    let tiles = tiles.some(tile..next);
                    V::add_product(&Product { left, panels, target: sums, stride, tiles });
                }
            }
            total += renew::<V>(task, first..end, sums);
        }
        tile = next;
    }
    total
}

/// Writes `Σ Ã_ij h_j` for one row to `left`, with slabs of columns `slab_step` apart.
///
/// # Safety
/// As for [`rows`]; `left` must be valid for writing the slabs of a row, `spare` for
/// [`LINES`] lines.
#[inline(always)]
unsafe fn gather<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    row: usize,
    left: *mut V::Scalar,
    slab_step: usize,
    spare: *mut V::Scalar,
) {
    // SAFETY: the caller's promise; row starts are in order and within the entries,
    // which have lines where there are gates.
    unsafe {
        let Rows { row_starts, columns, lines, values, .. } = task.equation.rows;
        let entries = *row_starts.get_unchecked(row)..*row_starts.get_unchecked(row + 1);
        let (columns, values) =
            (columns.get_unchecked(entries.clone()), values.get_unchecked(entries.clone()));
        let mut gathering =
            Gathering { columns, values, lines: &[], gates: std::ptr::null(), goes_on: false };
        match task.equation.gates {
            Gates::Open => gathering.all::<V, false>(task, left, slab_step),
            Gates::Table(table) => {
                gathering.lines = lines.get_unchecked(entries);
                gathering.gates = table.as_ptr();
                gathering.all::<V, true>(task, left, slab_step);
            }
            Gates::Waves(waves) => {
                const COUNTED: [u32; LINES] = {
                    let mut counted = [0; LINES];
                    let mut line = 0;
                    while line < LINES {
                        counted[line] = line as u32;
                        line += 1;
                    }
                    counted
                };
                let lines = lines.get_unchecked(entries);
                gathering.gates = spare;
                // Run at least once: a row without entries must be written as zeros.
                let mut first = 0;
                while first == 0 || first < lines.len() {
                    let some = first..lines.len().min(first + LINES);
                    gate::fill::<V>(waves, lines.get_unchecked(some.clone()), spare);
                    gathering.columns = columns.get_unchecked(some.clone());
                    gathering.values = values.get_unchecked(some.clone());
                    gathering.lines = COUNTED.get_unchecked(..some.len());
                    gathering.all::<V, true>(task, left, slab_step);
                    gathering.goes_on = true;
                    first += LINES;
                }
            }
        }
    }
}

/// The entries of one row while they are summed.
struct Gathering<'a, T> {
    columns: &'a [u32],
    values: &'a [T],
    /// The gate line of each entry; used only with gates.
    lines: &'a [u32],
    gates: *const T,
    /// Whether sums continue from the values in `left`.
    goes_on: bool,
}

impl<T: Real> Gathering<'_, T> {
    /// # Safety
    /// As for [`gather`]; columns, values and, where `GATED`, lines must be as many.
    #[inline(always)]
    unsafe fn all<V: Vector<Scalar = T>, const GATED: bool>(
        &self,
        task: &Sweeping<'_, T>,
        left: *mut T,
        slab_step: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let stride = task.equation.recurrent.stride;
            let mut column = 0;
            while column < stride {
                let source = task.source.add(column);
                let gates = if GATED { self.gates.add(column) } else { self.gates };
                let left = left.add(column / SLAB * slab_step + column % SLAB);
                // Eight vectors of sums and the factor stay in registers. The counts are
                // constants, so that the compiler unrolls the loops over vectors.
                let vectors = ((stride - column) / V::LANES).min(8);
                let tail = V::HAS_TAIL && stride - column - vectors * V::LANES == V::Half::LANES;
                macro_rules! gather {
                    ($C:literal) => {
                        if tail && $C < 8 {
                            self.some::<V, $C, true, GATED>(source, gates, stride, left)
                        } else {
                            self.some::<V, $C, false, GATED>(source, gates, stride, left)
                        }
                    };
                }
                match vectors {
                    0 => gather!(0),
                    1 => gather!(1),
                    2 => gather!(2),
                    3 => gather!(3),
                    4 => gather!(4),
                    5 => gather!(5),
                    6 => gather!(6),
                    7 => gather!(7),
                    _ => gather!(8),
                }
                let tail = if tail && vectors < 8 { V::Half::LANES } else { 0 };
                column += vectors * V::LANES + tail;
            }
        }
    }

    /// # Safety
    /// As for [`gather`]; `C` vectors, and with `TAIL` half a one, must be left of each row.
    #[inline(always)]
    unsafe fn some<V: Vector<Scalar = T>, const C: usize, const TAIL: bool, const GATED: bool>(
        &self,
        source: *const T,
        gates: *const T,
        stride: usize,
        left: *mut T,
    ) {
        let Self { mut columns, mut values, mut lines, .. } = *self;
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = Gathered::<V, C, TAIL>::zero();
            if GATED {
                if self.goes_on {
                    sums.load(left);
                }
                // As below, with gates.
                if C + usize::from(TAIL) <= 4 && columns.len() >= 8 {
                    let mut others = Gathered::<V, C, TAIL>::zero();
                    while let (
                        [column, other, rest @ ..],
                        [value, factor, factors @ ..],
                        [line, next, behind @ ..],
                    ) = (columns, values, lines)
                    {
                        let gate = gates.add(*line as usize * stride);
                        sums.add_gated(*value, gate, source.add(*column as usize * stride));
                        let gate = gates.add(*next as usize * stride);
                        others.add_gated(*factor, gate, source.add(*other as usize * stride));
                        (columns, values, lines) = (rest, factors, behind);
                    }
                    sums.add(&others);
                }
                for ((&column, &value), &line) in columns.iter().zip(values).zip(lines) {
                    let gate = gates.add(line as usize * stride);
                    sums.add_gated(value, gate, source.add(column as usize * stride));
                }
            } else {
                // With few sums, each multiply-add would wait for the previous one. Long rows
                // therefore use two independent sets of sums.
                if C + usize::from(TAIL) <= 4 && columns.len() >= 8 {
                    let mut others = Gathered::<V, C, TAIL>::zero();
                    while let ([column, other, rest @ ..], [value, factor, factors @ ..]) = (columns, values)
                    {
                        sums.add_times(*value, source.add(*column as usize * stride));
                        others.add_times(*factor, source.add(*other as usize * stride));
                        (columns, values) = (rest, factors);
                    }
                    sums.add(&others);
                }
                for (&column, &value) in columns.iter().zip(values) {
                    sums.add_times(value, source.add(column as usize * stride));
                }
            }
            for (c, sum) in sums.whole.iter().enumerate() {
                sum.store(left.add(c * V::LANES));
            }
            if TAIL {
                sums.tail.store(left.add(C * V::LANES));
            }
        }
    }
}

/// Sums over some columns.
struct Gathered<V: Vector, const C: usize, const TAIL: bool> {
    whole: [V; C],
    tail: V::Half,
}

// SAFETY of every block: the callers are functions of the vector's instruction
// set, and `states` is valid for reading as many numbers as there are columns.
impl<V: Vector, const C: usize, const TAIL: bool> Gathered<V, C, TAIL> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        let zero = V::Scalar::default();
        unsafe { Self { whole: [V::splat(zero); C], tail: V::Half::splat(zero) } }
    }

    #[inline(always)]
    unsafe fn add_times(&mut self, times: V::Scalar, states: *const V::Scalar) {
        unsafe {
            let factor = V::splat(times);
            for (c, sum) in self.whole.iter_mut().enumerate() {
                *sum = factor.mul_add(V::load(states.add(c * V::LANES)), *sum);
            }
            if TAIL {
                let states = V::Half::load(states.add(C * V::LANES));
                self.tail = V::Half::splat(times).mul_add(states, self.tail);
            }
        }
    }

    /// Adds the states multiplied by a gate.
    #[inline(always)]
    unsafe fn add_gated(&mut self, times: V::Scalar, gate: *const V::Scalar, states: *const V::Scalar) {
        unsafe {
            let factor = V::splat(times);
            for (c, sum) in self.whole.iter_mut().enumerate() {
                let gate = factor.mul(V::load(gate.add(c * V::LANES)));
                *sum = gate.mul_add(V::load(states.add(c * V::LANES)), *sum);
            }
            if TAIL {
                let gate = V::Half::splat(times).mul(V::Half::load(gate.add(C * V::LANES)));
                self.tail = gate.mul_add(V::Half::load(states.add(C * V::LANES)), self.tail);
            }
        }
    }

    /// Starts from sums gathered before.
    #[inline(always)]
    unsafe fn load(&mut self, from: *const V::Scalar) {
        unsafe {
            for (c, sum) in self.whole.iter_mut().enumerate() {
                *sum = V::load(from.add(c * V::LANES));
            }
            if TAIL {
                self.tail = V::Half::load(from.add(C * V::LANES));
            }
        }
    }

    #[inline(always)]
    unsafe fn add(&mut self, other: &Self) {
        unsafe {
            for (sum, other) in self.whole.iter_mut().zip(&other.whole) {
                *sum = sum.add(*other);
            }
            if TAIL {
                self.tail = self.tail.add(other.tail);
            }
        }
    }
}

/// Updates a row if `W` is not dense. Returns its share of the change.
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
        let sums = left.add(stride.next_multiple_of(SLAB));
        if row < task.quiet {
            left.write_bytes(0, stride)
        } else {
            gather::<V>(task, row, left, SLAB, sums.add(stride))
        }
        let drive = drive_of(task, row);
        match form {
            Form::Diagonal(weights) => weigh::<V::Half>(left, weights, drive, sums),
            Form::Ring(weights) => {
                // Unit k reads unit k - 1; the number before the row closes the ring.
                *left.sub(1) = *left.add(units - 1);
                weigh::<V::Half>(left.sub(1), weights, drive, sums)
            }
            Form::Sparse { starts, rows, values } => {
                sums.write_bytes(0, stride);
                for unit in 0..units {
                    let mut sum = *drive.add(unit);
                    for entry in *starts.get_unchecked(unit)..*starts.get_unchecked(unit + 1) {
                        let from = *left.add(*rows.get_unchecked(entry) as usize);
                        sum = sum + *values.get_unchecked(entry) * from;
                    }
                    *sums.add(unit) = sum;
                }
            }
            Form::Dense(_) => return 0.0,
        }
        renew::<V>(task, row..row + 1, sums)
    }
}

/// `sums = from ∘ weights + drive`, unit by unit.
///
/// # Safety
/// As for [`Vector`]; the pointers must be valid for as many numbers as there are weights.
#[inline(always)]
unsafe fn weigh<V: Vector>(
    from: *const V::Scalar,
    weights: &[V::Scalar],
    drive: *const V::Scalar,
    sums: *mut V::Scalar,
) {
    // SAFETY: the caller's promise.
    unsafe {
        for unit in (0..weights.len()).step_by(V::LANES) {
            let (weight, drive) = (V::load(weights.as_ptr().add(unit)), V::load(drive.add(unit)));
            V::load(from.add(unit)).mul_add(weight, drive).store(sums.add(unit));
        }
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

/// Stores the new states of some rows, the tanh of `sums`. Returns their share of the
/// change.
///
/// # Safety
/// As for [`rows`]; there must be sums of all these rows.
#[inline(always)]
unsafe fn renew<V: Vector>(
    task: &Sweeping<'_, V::Scalar>,
    rows: Range<usize>,
    sums: *const V::Scalar,
) -> f64 {
    let stride = task.equation.recurrent.stride;
    let sizes = task.equation.rows.sizes;
    // SAFETY: the caller's promise.
    unsafe {
        // Without lifting, rows have equal weight and are contiguous: treat them as one long
        // stretch.
        if sizes.is_empty() {
            return Stretch::new(task, rows.start, sums).renew::<V>(rows.len() * stride).sum();
        }
        let mut total = Change::<V>::zero();
        // A lifted row stands for several vertices, and its change counts as often.
        for row in rows.clone() {
            let sums = sums.add((row - rows.start) * stride);
            let change = Stretch::new(task, row, sums).renew::<V>(stride);
            total.add_times(V::Scalar::from_f64(f64::from(*sizes.get_unchecked(row))), change);
        }
        total.sum()
    }
}

/// Squared changes, by lane.
#[derive(Clone, Copy)]
struct Change<V: Vector> {
    whole: V,
    tail: V::Half,
}

// SAFETY of every block: the callers are functions of the vector's instruction set.
impl<V: Vector> Change<V> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        let zero = V::Scalar::default();
        unsafe { Self { whole: V::splat(zero), tail: V::Half::splat(zero) } }
    }

    #[inline(always)]
    unsafe fn add_times(&mut self, times: V::Scalar, other: Self) {
        unsafe {
            self.whole = V::splat(times).mul_add(other.whole, self.whole);
            self.tail = V::Half::splat(times).mul_add(other.tail, self.tail);
        }
    }

    #[inline(always)]
    unsafe fn sum(self) -> f64 {
        unsafe { if V::HAS_TAIL { self.whole.sum() + self.tail.sum() } else { self.whole.sum() } }
    }
}

/// Old and new states, and the sums that the new states are the tanh of.
struct Stretch<T> {
    sums: *const T,
    old: *const T,
    new: *mut T,
    leak: T,
}

impl<T: Real> Stretch<T> {
    /// # Safety
    /// The row must exist.
    #[inline(always)]
    unsafe fn new(task: &Sweeping<'_, T>, row: usize, sums: *const T) -> Self {
        let at = row * task.equation.recurrent.stride;
        // SAFETY: the caller's promise.
        let (old, new) = unsafe { (task.source.add(at), task.target.add(at)) };
        Self { sums, old, new, leak: task.equation.leak }
    }

    /// Updates `len` states.
    ///
    /// # Safety
    /// As for [`Vector`]; `len` states must exist, a multiple of [`Real::COLUMN_STEP`].
    #[inline(always)]
    unsafe fn renew<V: Vector<Scalar = T>>(&self, len: usize) -> Change<V> {
        /// Vectors processed at the same time, to hide the latency of the tanh.
        const ABREAST: usize = 4;
        // SAFETY: the caller's promise.
        unsafe {
            let mut change = Change::<V>::zero();
            let mut changes = [change.whole; ABREAST];
            let mut at = 0;
            while at + ABREAST * V::LANES <= len {
                self.renew_at(at, &mut changes);
                at += ABREAST * V::LANES;
            }
            let [a, b, c, d] = changes;
            let mut rest = [a.add(b).add(c.add(d))];
            while at + V::LANES <= len {
                self.renew_at(at, &mut rest);
                at += V::LANES;
            }
            change.whole = rest[0];
            if V::HAS_TAIL && at < len {
                let mut tail = [change.tail];
                self.renew_at(at, &mut tail);
                change.tail = tail[0];
            }
            change
        }
    }

    /// Updates `N` vectors of states and adds the squares of the changes before the
    /// leak.
    ///
    /// # Safety
    /// As for [`Vector`]; the states must exist.
    #[inline(always)]
    unsafe fn renew_at<V: Vector<Scalar = T>, const N: usize>(&self, at: usize, changes: &mut [V; N]) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut sums = [changes[0]; N];
            for (n, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(self.sums.add(at + n * V::LANES));
            }
            let one = T::from_f64(1.0);
            for (n, (mut new, change)) in tanh(sums).into_iter().zip(changes).enumerate() {
                let at = at + n * V::LANES;
                let old = V::load(self.old.add(at));
                // Measure before the leak: a small leak makes every step small, however far the
                // fixed point is.
                let difference = new.sub(old);
                *change = difference.mul_add(difference, *change);
                if self.leak != one {
                    new = V::splat(self.leak).mul_add(new, V::splat(one - self.leak).mul(old));
                }
                new.store(self.new.add(at));
            }
        }
    }
}
