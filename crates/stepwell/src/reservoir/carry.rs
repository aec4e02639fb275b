//! Carries states from one level of a pyramid to the next, `X' = SᵀH`, between the rows that are
//! computed on either level.

use super::pieces::Carried;
use crate::kernel::Real;
use crate::pool::AssignmentRef;

/// For every row of the upper level of some graphs, the entries it gathers from the rows of the
/// level below.
pub(super) struct Carry<T> {
    starts: Vec<usize>,
    /// Rows of the level below, counted from 0 in every graph.
    from: Vec<u32>,
    values: Vec<T>,
    /// Whether to take the maximum instead of the sum.
    by_max: bool,
}

impl<T: Real> Carry<T> {
    /// No rows yet.
    pub fn new(by_max: bool) -> Self {
        Self { starts: vec![0], from: Vec::new(), values: Vec::new(), by_max }
    }

    /// Frees memory reserved for more rows.
    pub fn shrink(&mut self) {
        self.from.shrink_to_fit();
        self.values.shrink_to_fit();
    }

    /// Appends rows that gather like the `chosen` columns of a graph's `S`. Returns the first value
    /// that is not finite in `T` as the error.
    pub fn push(&mut self, columns: &Columns, chosen: &[u32]) -> Result<(), f64> {
        for &coarse in chosen {
            for &(row, value) in columns.of(coarse as usize) {
                let rounded = T::from_f64(value);
                if !rounded.is_finite() {
                    return Err(value);
                }
                self.from.push(row);
                self.values.push(rounded);
            }
            self.starts.push(self.from.len());
        }
        Ok(())
    }

    /// Fills the rows `rows` of `target` from the states below, both `stride`
    /// numbers apart. A row that gathers nothing is zero.
    pub fn apply(&self, rows: std::ops::Range<usize>, below: &[T], stride: usize, target: &mut [T]) {
        for (row, out) in rows.zip(target.chunks_exact_mut(stride)) {
            let entries = self.starts[row]..self.starts[row + 1];
            let mut gathered = self.from[entries.clone()].iter().zip(&self.values[entries]);
            let line = |from: u32| &below[from as usize * stride..][..stride];
            match gathered.next() {
                None => out.fill(T::default()),
                Some((&from, &value)) => {
                    out.iter_mut().zip(line(from)).for_each(|(out, &state)| *out = value * state);
                }
            }
            for (&from, &value) in gathered {
                let states = out.iter_mut().zip(line(from));
                if self.by_max {
                    states.for_each(|(out, &state)| {
                        let state = value * state;
                        if state > *out {
                            *out = state;
                        }
                    })
                } else {
                    states.for_each(|(out, &state)| *out = *out + value * state)
                }
            }
        }
    }
}

impl Carry<f32> {
    /// A view of some rows.
    pub fn view(&self, rows: std::ops::Range<usize>) -> Carried<'_> {
        let Self { starts, from, values, by_max } = self;
        Carried { starts: &starts[rows.start..=rows.end], from, values, by_max: *by_max }
    }
}

/// The columns of one graph's `S`, in terms of the rows that are computed. A row that stands for
/// several vertices has one entry, the sum of theirs (with maxima, one entry per distinct value).
#[derive(Default)]
pub(super) struct Columns {
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Columns {
    /// `places` holds the row that computes each vertex of the level below.
    pub fn new(assignment: AssignmentRef<'_>, places: &[u32], by_max: bool) -> Self {
        let mut lists: Vec<Vec<(u32, f64)>> = vec![Vec::new(); assignment.num_coarse()];
        for (fine, &place) in places.iter().enumerate() {
            let (columns, values) = assignment.row(fine);
            columns.iter().zip(values).for_each(|(&c, &value)| lists[c as usize].push((place, value)));
        }
        let mut columns = Self { starts: vec![0], entries: Vec::new() };
        for list in &mut lists {
            list.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let first = columns.entries.len();
            for &(row, value) in list.iter() {
                match columns.entries[first..].last_mut() {
                    Some(last) if last.0 == row && !by_max => last.1 += value,
                    Some(last) if *last == (row, value) => {}
                    _ => columns.entries.push((row, value)),
                }
            }
            columns.starts.push(columns.entries.len());
        }
        columns
    }

    fn of(&self, coarse: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[coarse]..self.starts[coarse + 1]]
    }

    /// A number for each coarse vertex, equal for two exactly if they gather the same. It
    /// identifies rows of the level below, never their states, so it is valid for any weights.
    pub fn identities(&self) -> Vec<u64> {
        let bits = |&coarse: &u32| self.of(coarse as usize).iter().map(|&(row, v)| (row, v.to_bits()));
        let mut sorted: Vec<u32> = (0..self.starts.len() as u32 - 1).collect();
        sorted.sort_unstable_by(|a, b| bits(a).cmp(bits(b)));
        let mut numbers = vec![0; sorted.len()];
        let mut number = 0;
        for pair in sorted.windows(2) {
            number += u64::from(!bits(&pair[0]).eq(bits(&pair[1])));
            numbers[pair[1] as usize] = number;
        }
        numbers
    }
}
