//! Targets and splits of vertices.

use stepwell::targets::Targets;

use super::{Known, Part};

/// Targets of vertices, and splits of the vertices. Vertices are numbered over all graphs of a
/// dataset, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertices {
    /// The vertices that have a target, and their targets.
    pub known: Known,
    /// The fixed splits: for each, the part of every vertex, or `None` for a vertex in no part.
    pub splits: Vec<Vec<Option<Part>>>,
}

impl Vertices {
    /// Appends the targets and splits of a graph or dataset with `count` vertices, after `before`
    /// vertices. Vertices without a split are in no part.
    pub(crate) fn append(&mut self, before: usize, more: Self, count: usize) -> stepwell::Result<()> {
        let Self { known, splits } = more;
        self.same_splits(splits.len())?;
        self.known.targets.append(known.targets)?;
        self.known.rows.extend(known.rows.iter().map(|vertex| before + vertex));
        if self.splits.is_empty() {
            self.splits = vec![vec![None; before]; splits.len()];
        }
        for (at, split) in self.splits.iter_mut().enumerate() {
            match splits.get(at) {
                Some(more) => split.extend_from_slice(more),
                None => split.resize(before + count, None),
            }
        }
        Ok(())
    }

    /// Whether `more` can be appended.
    pub(crate) fn check_fits(&self, more: &Self) -> stepwell::Result<()> {
        self.same_splits(more.splits.len())?;
        self.known.targets.select(&[]).append(more.known.targets.clone())
    }

    fn same_splits(&self, found: usize) -> stepwell::Result<()> {
        let expected = self.splits.len();
        if expected > 0 && found > 0 && expected != found {
            return Err(stepwell::Error::Length { what: "splits of vertices", expected, found });
        }
        Ok(())
    }

    /// Selects the vertices of some graphs; graph g starts at `offsets[g]`.
    pub(super) fn select(&self, offsets: &[usize], graphs: &[usize]) -> Self {
        let (mut rows, mut places, mut before) = (Vec::new(), Vec::new(), 0);
        let mut splits = vec![Vec::new(); self.splits.len()];
        for &graph in graphs {
            let (first, end) = (offsets[graph], offsets[graph + 1]);
            let known = &self.known.rows;
            let own = known.partition_point(|&v| v < first)..known.partition_point(|&v| v < end);
            rows.extend(known[own.clone()].iter().map(|vertex| before + vertex - first));
            places.extend(own);
            splits.iter_mut().zip(&self.splits).for_each(|(to, from)| to.extend(&from[first..end]));
            before += end - first;
        }
        let targets = if rows.is_empty() { Targets::None } else { self.known.targets.select(&places) };
        Self { known: Known { rows, targets }, splits }
    }

    /// The vertices in a part of the first split; all `count` vertices without a split or part.
    pub fn of_part_or_all(&self, part: Option<Part>, count: usize) -> Vec<usize> {
        match (part, self.splits.first()) {
            (Some(part), Some(split)) => (0..count).filter(|&vertex| split[vertex] == Some(part)).collect(),
            _ => (0..count).collect(),
        }
    }

    /// The same, keeping only the targets of vertices in `part` of the first split.
    pub fn of_part(&self, part: Part) -> Self {
        let Some(split) = self.splits.first() else { return self.clone() };
        let places: Vec<usize> =
            (0..self.known.rows.len()).filter(|&at| split[self.known.rows[at]] == Some(part)).collect();
        let rows = places.iter().map(|&at| self.known.rows[at]).collect();
        Self {
            known: Known { rows, targets: self.known.targets.select(&places) },
            splits: self.splits.clone(),
        }
    }
}
