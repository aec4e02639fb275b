//! Gates multiply states, unit by unit, on their way along an edge.
//!
//! Edges with the same labels share a line of a table. If edges have attributes, nearly
//! every edge has its own line, `cos(a·U + b)`. For a small graph the lines are
//! computed once for all sweeps. For a large graph they are computed a few at a time,
//! whenever states are gathered, so that no table of edges times units is ever stored.

use super::tanh::TanhConstants;
use super::vector::Vector;
use super::{Aligned, Isa, Real};

/// Lines computed at a time if there is no room for all of them.
pub(super) const LINES: usize = 16;

/// Angles are limited to this many turns. Beyond it, neighbouring f32 numbers are at
/// least an eighth of a turn apart.
const MOST_TURNS: f64 = (1 << 20) as f64;

/// The gates of one graph's edges.
#[derive(Clone, Copy)]
pub(crate) enum Gates<'a, T> {
    /// States pass unchanged.
    Open,
    /// Line l of the table is the gate of the entries with line l.
    Table(&'a [T]),
    /// The same, with lines computed on demand.
    Waves(&'a Waves<'a, T>),
}

/// The attributes and labels from which the lines of a graph's gates are computed.
pub(crate) struct Waves<'a, T> {
    gate: &'a Gate<T>,
    /// The attributes of each line.
    attributes: &'a [T],
    /// The row of the label table that multiplies each line. Empty if edges have no
    /// labels.
    kinds: &'a [u32],
}

/// A reservoir's gates in the layout of the kernel.
#[derive(Clone)]
pub(crate) struct Gate<T> {
    isa: Isa,
    stride: usize,
    /// One line for each kind of edge.
    table: Aligned<T>,
    /// `U`, one row per attribute, then `b`, in turns.
    turns: Aligned<T>,
    width: usize,
}

impl<T: Real> Gate<T> {
    /// Takes the lines of the table, one for each kind of edge, and `U` and `b` in
    /// radians, all stored by row.
    pub fn new(
        units: usize,
        kinds: impl Iterator<Item = Vec<f64>>,
        frequencies: impl Iterator<Item = Vec<f64>>,
        phases: &[f64],
        isa: Isa,
    ) -> Self {
        let stride = super::stride::<T>(units);
        let packed = |rows: Vec<Vec<f64>>, scale: f64| {
            let mut table = Aligned::zeros(rows.len() * stride);
            for (line, row) in table.chunks_exact_mut(stride).zip(&rows) {
                line.iter_mut().zip(row).for_each(|(to, &from)| *to = T::from_f64(from * scale));
            }
            table
        };
        let mut turns: Vec<Vec<f64>> = frequencies.collect();
        let width = turns.len();
        turns.push(phases.to_vec());
        let turns = packed(turns, 1.0 / std::f64::consts::TAU);
        Self { isa, stride, table: packed(kinds.collect(), 1.0), turns, width }
    }

    /// The table of all kinds of edges, for edges with labels only.
    pub fn table(&self) -> &[T] {
        &self.table
    }

    /// The lines of edges with attributes, and perhaps labels.
    ///
    /// # Panics
    /// If attributes and kinds do not describe the same lines, or a kind is not in the
    /// table.
    pub fn waves<'a>(&'a self, attributes: &'a [T], kinds: &'a [u32]) -> Waves<'a, T> {
        assert!(self.width > 0 && attributes.len().is_multiple_of(self.width), "attributes of whole lines");
        let lines = attributes.len() / self.width;
        assert!(kinds.is_empty() || kinds.len() == lines, "a kind for every line");
        let limit = self.table.len() / self.stride;
        assert!(kinds.iter().all(|&kind| (kind as usize) < limit), "kinds of the table");
        Waves { gate: self, attributes, kinds }
    }
}

impl<T: Real> Gates<'_, T> {
    /// Whether all these lines have a gate of `stride` numbers.
    pub(super) fn covers(&self, lines: &[u32], stride: usize) -> bool {
        let limit = match self {
            Self::Open => return true,
            Self::Table(table) => table.len() / stride,
            Self::Waves(waves) => waves.len(),
        };
        lines.iter().all(|&line| (line as usize) < limit)
    }
}

impl<T: Real> Waves<'_, T> {
    /// Number of lines.
    pub fn len(&self) -> usize {
        self.attributes.len() / self.gate.width
    }

    /// Computes all lines, in order.
    pub fn fill(&self, table: &mut Aligned<T>) {
        table.reserve(self.len() * self.gate.stride);
        let lines: Vec<u32> = (0..self.len() as u32).collect();
        // SAFETY: the table has room for all lines, all lines exist, and an `Isa` exists only
        // if the processor has it.
        unsafe { T::fill_gates(self.gate.isa, self, &lines, table.as_mut_ptr()) }
    }
}

/// Computes some lines, in order.
///
/// # Safety
/// As for [`Vector`]; the lines must exist, and `to` must be valid for writing them.
#[inline(always)]
pub(super) unsafe fn fill<V: Vector>(waves: &Waves<'_, V::Scalar>, lines: &[u32], to: *mut V::Scalar) {
    let Gate { stride, width, table, turns, .. } = waves.gate;
    // SAFETY: the caller's promise; kinds are in the table, by construction, and `turns`
    // has a row per attribute and one more.
    unsafe {
        for (place, &line) in lines.iter().enumerate() {
            let line = line as usize;
            let attributes = waves.attributes.as_ptr().add(line * width);
            let label = waves.kinds.get(line).map(|&kind| table.as_ptr().add(kind as usize * stride));
            let mut column = 0;
            while column < *stride {
                let row = turns.as_ptr().add(column);
                let (label, to) = (label.map(|label| label.add(column)), to.add(place * stride + column));
                if column + V::LANES <= *stride {
                    fill_columns::<V>(attributes, *width, row, *stride, label, to);
                    column += V::LANES;
                } else {
                    fill_columns::<V::Half>(attributes, *width, row, *stride, label, to);
                    column += V::Half::LANES;
                }
            }
        }
    }
}

/// # Safety
/// As for [`fill`], for the columns of one vector.
#[inline(always)]
unsafe fn fill_columns<V: Vector>(
    attributes: *const V::Scalar,
    width: usize,
    turns: *const V::Scalar,
    stride: usize,
    label: Option<*const V::Scalar>,
    to: *mut V::Scalar,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut turn = V::load(turns.add(width * stride));
        for attribute in 0..width {
            turn = V::splat(*attributes.add(attribute)).mul_add(V::load(turns.add(attribute * stride)), turn);
        }
        let mut gate = cos_of_turns(turn);
        if let Some(label) = label {
            gate = gate.mul(V::load(label));
        }
        gate.store(to);
    }
}

/// Taylor coefficients of `sin(π w)/w`, from the highest power of `w²` down. For
/// `|w| ≤ 1/2` the first omitted term is below the rounding error of f64; without the
/// first four coefficients, of f32.
const SERIES: [f64; 11] = [
    5.392_664_662_608_128e-10,
    -2.294_842_899_726_987_3e-8,
    7.952_054_001_475_513e-7,
    -2.191_535_344_783_021_7e-5,
    4.663_028_057_676_125_5e-4,
    -7.370_430_945_714_350_4e-3,
    8.214_588_661_112_823e-2,
    -0.599_264_529_320_792_1,
    2.550_164_039_877_345_5,
    -5.167_712_780_049_97,
    std::f64::consts::PI,
];

/// `cos(2πt) = 1 - 2 sin²(πw)`, where w is t minus the nearest integer.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn cos_of_turns<V: Vector>(turns: V) -> V {
    // SAFETY: the caller's promise.
    unsafe {
        let number = |x: f64| V::Scalar::from_f64(x);
        let rounder = V::splat(V::Scalar::ROUNDER);
        let turns = turns.at_most(number(MOST_TURNS)).at_least(number(-MOST_TURNS));
        let part = turns.sub(turns.add(rounder).sub(rounder));
        let square = part.mul(part);
        let terms = if size_of::<V::Scalar>() == 4 { &SERIES[4..] } else { &SERIES[..] };
        let mut sine = V::splat(number(terms[0]));
        for &coefficient in &terms[1..] {
            sine = sine.mul_add(square, V::splat(number(coefficient)));
        }
        let sine = sine.mul(part);
        sine.mul(sine).mul_add(V::splat(number(-2.0)), V::splat(number(1.0))).at_least(number(-1.0))
    }
}
