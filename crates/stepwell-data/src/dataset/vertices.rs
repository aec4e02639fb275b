//! What is known about the vertices of graphs.

use stepwell::targets::Targets;

use super::{Known, Part};

/// Targets of vertices, and how vertices are split. Vertices are counted over all graphs of
/// a dataset, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertices {
    /// The vertices that have a target, and those targets.
    pub known: Known,
    /// Fixed splits, one after the other: the part of every vertex, where it is in one.
    pub splits: Vec<Vec<Option<Part>>>,
}

impl Vertices {
    /// Adds those of a graph or dataset with `count` vertices, behind `before` vertices.
    /// Vertices without parts are in none.
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

    /// Whether more of them could be added.
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

    /// Those of some graphs, whose vertices begin at these offsets.
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

    /// The vertices of a part of the first split; all of `count` where nothing is split.
    pub fn of_part_or_all(&self, part: Option<Part>, count: usize) -> Vec<usize> {
        match (part, self.splits.first()) {
            (Some(part), Some(split)) => (0..count).filter(|&vertex| split[vertex] == Some(part)).collect(),
            _ => (0..count).collect(),
        }
    }

    /// The same without the targets of vertices that are not in a part of the first split.
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
