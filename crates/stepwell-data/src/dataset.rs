//! A set of graphs with what is known about them.

use stepwell::graph::GraphBatch;
use stepwell::targets::Targets;

use crate::error::{Error, Place, Result};

fn chosen<T: Clone>(values: &[T], graphs: &[usize]) -> Vec<T> {
    graphs.iter().map(|&graph| values[graph].clone()).collect()
}

/// The part of a fixed split a graph belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// For fitting.
    Train,
    /// For choosing.
    Validation,
    /// For the final figure only.
    Test,
}

impl Part {
    /// All parts with their names in files.
    pub const NAMES: [(Self, &'static str); 3] =
        [(Self::Train, "train"), (Self::Validation, "validation"), (Self::Test, "test")];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }

    /// The part of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(_, known)| *known == name).map(|(part, _)| part)
    }
}

/// Graphs, and what is known about them beside their structure.
///
/// Also the piece that streaming readers hand out: then it holds some graphs
/// of a larger whole, and [`append`](Self::append) joins the pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// What people call it.
    pub name: String,
    /// The graphs, with the labels and attributes of their vertices and edges.
    pub graphs: GraphBatch,
    /// What is to be predicted.
    pub targets: Targets,
    /// The graphs' names; without them a graph is called by its position.
    pub ids: Option<Vec<String>>,
    /// A fixed split, where the data come with one.
    pub parts: Option<Vec<Part>>,
    /// Where each vertex lies in the plane, for drawing.
    pub coordinates: Option<Vec<[f64; 2]>>,
    /// What the reader noticed and a person should know.
    pub notes: Vec<String>,
}

impl Dataset {
    /// How many graphs there are.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Whether there is no graph.
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// The name of one graph.
    pub fn id(&self, index: usize) -> String {
        match &self.ids {
            Some(ids) => ids[index].clone(),
            None => index.to_string(),
        }
    }

    /// Adds the graphs of `other` behind the ones here. What must be alike and
    /// is not is reported at `place`.
    pub fn append(&mut self, other: Self, place: &Place) -> Result<()> {
        if other.is_empty() {
            self.notes.extend(other.notes);
            return Ok(());
        }
        if self.is_empty() {
            let notes = std::mem::take(&mut self.notes);
            *self = other;
            self.notes.splice(0..0, notes);
            return Ok(());
        }
        let mixed = |what: &str, mine: bool| {
            let (expected, found) = if mine { ("as before", "none") } else { ("none, as before", "some") };
            Error::malformed(place.clone(), format!("{what} {expected}"), found)
        };
        self.graphs.append(&other.graphs).map_err(|source| Error::Graph { place: place.clone(), source })?;
        let mine = !self.targets.is_empty();
        if mine == other.targets.is_empty() {
            return Err(mixed("targets ('y')", mine));
        }
        self.targets.append(other.targets).map_err(|source| Error::Graph { place: place.clone(), source })?;
        join(&mut self.ids, other.ids).map_err(|mine| mixed("ids", mine))?;
        join(&mut self.parts, other.parts).map_err(|mine| mixed("a split", mine))?;
        join(&mut self.coordinates, other.coordinates).map_err(|mine| mixed("coordinates", mine))?;
        self.notes.extend(other.notes);
        Ok(())
    }

    /// Some of the graphs, in the order given, with all that is known about them.
    ///
    /// # Panics
    /// When there is no such graph, as indexing a slice does.
    pub fn select(&self, graphs: &[usize]) -> Self {
        let vertices =
            |graph: usize| self.graphs.vertex_offsets()[graph]..self.graphs.vertex_offsets()[graph + 1];
        let coordinates = |all: &Vec<[f64; 2]>| {
            graphs.iter().flat_map(|&graph| all[vertices(graph)].iter().copied()).collect()
        };
        Self {
            name: self.name.clone(),
            graphs: self.graphs.select(graphs),
            targets: self.targets.select(graphs),
            ids: self.ids.as_ref().map(|ids| chosen(ids, graphs)),
            parts: self.parts.as_ref().map(|parts| chosen(parts, graphs)),
            coordinates: self.coordinates.as_ref().map(coordinates),
            notes: self.notes.clone(),
        }
    }

    /// The graphs of one part of the split; nothing where there is no split.
    pub fn part(&self, part: Part) -> Option<Vec<usize>> {
        let parts = self.parts.as_ref()?;
        Some((0..parts.len()).filter(|&graph| parts[graph] == part).collect())
    }

    /// Joins pieces into one dataset.
    pub fn collect(pieces: impl IntoIterator<Item = Result<Self>>, place: &Place) -> Result<Self> {
        let mut whole = Self::default();
        for piece in pieces {
            whole.append(piece?, place)?;
        }
        Ok(whole)
    }
}

fn join<T>(mine: &mut Option<Vec<T>>, more: Option<Vec<T>>) -> std::result::Result<(), bool> {
    match (mine, more) {
        (Some(mine), Some(more)) => mine.extend(more),
        (None, None) => {}
        (mine, _) => return Err(mine.is_some()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_names() {
        for (part, name) in Part::NAMES {
            assert_eq!((part.name(), Part::from_name(name)), (name, Some(part)));
        }
        assert_eq!(Part::from_name("dev"), None);
    }
}
