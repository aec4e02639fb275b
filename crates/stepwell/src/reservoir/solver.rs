//! Sweeps one block over one graph until its states converge.
//!
//! The stopping rule is `‖ΔH‖_F < max(tol, 4·2⁻²⁴·‖H‖_F)`. The second term, in f32 only, is the
//! size of rounding errors. With a leak `a`, `ΔH` is the change without the leak, `tanh(…) - H`,
//! not the step `a·ΔH`, which a small `a` makes small everywhere.

use crate::config::{ModelConfig, Solver};
use crate::error::{Error, Result};
use crate::kernel::{Aligned, Equation, Real, Rows, SHARED_ROWS};

/// Whether, and by which criterion, states converged.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Convergence {
    /// The last sweep changed the states by less than the tolerance.
    Tolerance,
    /// The last sweep changed the states by no more than rounding errors.
    Rounding,
    /// The states did not converge. Unless the solver is Jacobi, those after the last sweep depend
    /// on the order of the vertices.
    #[default]
    No,
}

/// The record of one graph in one reservoir.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Number of sweeps.
    pub sweeps: u32,
    /// The change in the first sweep without the leak, `‖H₁‖_F`; [`theory`](crate::theory) needs
    /// that of Jacobi.
    pub first_change: f64,
    /// The change in the last sweep without the leak, `‖ΔH‖_F`.
    pub change: f64,
    /// Whether that change is small enough.
    pub converged: Convergence,
}

/// The options of the iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    solver: Solver,
    tol: f64,
    max_iter: usize,
    fixed_sweeps: Option<usize>,
}

impl Rule {
    /// The same rule for a single sweep.
    pub fn one_sweep(self) -> Self {
        Self { fixed_sweeps: Some(1), ..self }
    }
}

impl From<&ModelConfig> for Rule {
    fn from(options: &ModelConfig) -> Self {
        let &ModelConfig { solver, tol, max_iter, fixed_sweeps, .. } = options;
        Self { solver, tol, max_iter, fixed_sweeps }
    }
}

/// Buffers that grow to the largest graph so far and are reused.
#[derive(Default)]
pub(super) struct Buffers<T> {
    /// The current states.
    pub state: Aligned<T>,
    /// The next states of a Jacobi sweep.
    next: Aligned<T>,
    scratch: Aligned<T>,
}

impl<T: Real> Buffers<T> {
    /// Sets the first `len` numbers of the state to zero.
    pub fn clear(&mut self, len: usize) {
        self.state.reserve(len);
        self.state[..len].fill(T::default());
    }
}

/// Iterates from the state in the buffers. `from_zero` states that it is zero. Calls `cancelled`
/// before every sweep of a large graph, and before every 64th sweep of a small one.
pub(super) fn solve<T: Real>(
    equation: &Equation<'_, T>,
    rule: Rule,
    buffers: &mut Buffers<T>,
    from_zero: bool,
    cancelled: impl Fn() -> bool,
) -> Result<Run> {
    let rows = equation.rows();
    let len = equation.state_len();
    if rule.solver == Solver::Jacobi {
        buffers.next.reserve(len);
    }
    let limit = rule.fixed_sweeps.unwrap_or(rule.max_iter);
    let mut run = Run::default();
    while (run.sweeps as usize) < limit {
        // The call is cheap compared with one sweep of a large graph or 64 sweeps of a small one.
        if (rows.len() >= SHARED_ROWS || run.sweeps % 64 == 63) && cancelled() {
            return Err(Error::Cancelled);
        }
        let from_zero = from_zero && run.sweeps == 0;
        let Buffers { state, next, scratch } = buffers;
        let squares = match rule.solver {
            Solver::GaussSeidel => equation.sweep_in_place(state, scratch, from_zero),
            Solver::Jacobi => {
                let squares = equation.sweep_into(state, next, scratch, from_zero);
                std::mem::swap(state, next);
                squares
            }
        };
        run.sweeps += 1;
        run.change = squares.sqrt();
        if run.sweeps == 1 {
            run.first_change = run.change;
        }
        run.converged = judge(rule.tol, run.change, equation, &buffers.state[..len]);
        // A change that is NaN stays NaN.
        if run.change.is_nan() || rule.fixed_sweeps.is_none() && run.converged != Convergence::No {
            break;
        }
    }
    Ok(run)
}

fn judge<T: Real>(tol: f64, change: f64, equation: &Equation<'_, T>, state: &[T]) -> Convergence {
    // States that did not change at all have converged, even with a tolerance of 0.
    if change < tol || change == 0.0 {
        return if change < tol { Convergence::Tolerance } else { Convergence::Rounding };
    }
    // No state exceeds 1 in modulus (unless it is NaN). This bound saves most sweeps the exact
    // norm.
    let rows = equation.rows();
    let (units, stride) = equation.units_and_stride();
    let largest = (rows.num_vertices() * units as f64).sqrt();
    if change < T::ROUNDING * largest && change < T::ROUNDING * norm(rows, state, stride) {
        return Convergence::Rounding;
    }
    Convergence::No
}

/// `‖H‖_F`, where every row counts as many times as it stands for vertices.
pub(super) fn norm<T: Real>(rows: Rows<'_, T>, state: &[T], stride: usize) -> f64 {
    let square = |x: &T| x.to_f64() * x.to_f64();
    let lines = state.chunks_exact(stride).enumerate();
    lines.map(|(row, line)| rows.size(row) * line.iter().map(square).sum::<f64>()).sum::<f64>().sqrt()
}
