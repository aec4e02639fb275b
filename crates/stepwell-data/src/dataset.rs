//! A set of graphs with what is known about them.

use stepwell::features::FeatureOptions;
use stepwell::graph::GraphBatch;

use crate::error::{Error, Place, Result};

/// What is to be predicted of each graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Targets {
    /// Nothing is known.
    #[default]
    None,
    /// Classes named by whole numbers.
    Classes(Vec<i64>),
    /// Classes named by text.
    Text(Vec<String>),
    /// Real numbers, for regression.
    Real(Vec<f64>),
}

impl Targets {
    /// How many there are; 0 when nothing is known.
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Classes(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Each graph's class as a position in the list of class names, which is
    /// ascending. Nothing for real targets or none.
    pub fn classes(&self) -> Option<(Vec<usize>, Vec<String>)> {
        fn encode<T: Ord + Clone + ToString>(values: &[T]) -> (Vec<usize>, Vec<String>) {
            let mut names: Vec<T> = values.to_vec();
            names.sort();
            names.dedup();
            let code = |v: &T| names.binary_search(v).unwrap_or_default();
            (values.iter().map(code).collect(), names.iter().map(T::to_string).collect())
        }
        match self {
            Self::Classes(values) => Some(encode(values)),
            Self::Text(values) => Some(encode(values)),
            Self::None | Self::Real(_) => None,
        }
    }

    /// How many different numbers there are, where they are real ones that look
    /// like the names of classes: few, and all of them whole.
    pub fn look_like_classes(&self) -> Option<usize> {
        const FEW: usize = 20;
        let Self::Real(values) = self else { return None };
        let mut met = Vec::new();
        for &value in values {
            if value.fract() != 0.0 || met.len() > FEW {
                return None;
            }
            if !met.contains(&value) {
                met.push(value);
            }
        }
        (2..=FEW).contains(&met.len()).then_some(met.len())
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::None => "no value",
            Self::Classes(_) => "a whole number",
            Self::Text(_) => "a text",
            Self::Real(_) => "a real number",
        }
    }

    /// Adds `other` behind. Whole numbers become real where either is real.
    /// Targets of another kind are reported at `place`.
    pub fn append(&mut self, other: Self, place: &Place) -> Result<()> {
        let real = |values: Vec<i64>| values.into_iter().map(|v| v as f64);
        match (&mut *self, other) {
            (Self::Classes(mine), Self::Classes(more)) => mine.extend(more),
            (Self::Text(mine), Self::Text(more)) => mine.extend(more),
            (Self::Real(mine), Self::Real(more)) => mine.extend(more),
            (Self::Real(mine), Self::Classes(more)) => mine.extend(real(more)),
            (Self::Classes(mine), Self::Real(more)) => {
                *self = Self::Real(real(std::mem::take(mine)).chain(more).collect());
            }
            (Self::None, Self::None) => {}
            (mine, other) => {
                let expected = format!("{} as 'y' as before", mine.kind());
                return Err(Error::malformed(place.clone(), expected, other.kind()));
            }
        }
        Ok(())
    }

    /// Those of some graphs.
    fn select(&self, graphs: &[usize]) -> Self {
        match self {
            Self::None => Self::None,
            Self::Classes(values) => Self::Classes(chosen(values, graphs)),
            Self::Text(values) => Self::Text(chosen(values, graphs)),
            Self::Real(values) => Self::Real(chosen(values, graphs)),
        }
    }
}

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
    /// How the vertices' attributes are meant to become the model's input.
    pub features: FeatureOptions,
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
        self.targets.append(other.targets, place)?;
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
            features: self.features.clone(),
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
    fn classes_are_sorted_as_their_kind_sorts() {
        let (codes, names) = Targets::Classes(vec![10, -1, 10, 2]).classes().unwrap();
        assert_eq!((codes, names), (vec![2, 0, 2, 1], vec!["-1".into(), "2".into(), "10".into()]));
        let (codes, names) = Targets::Text(vec!["b".into(), "a".into()]).classes().unwrap();
        assert_eq!((codes, names), (vec![1, 0], vec!["a".into(), "b".into()]));
        assert!(Targets::Real(vec![1.5]).classes().is_none());
    }

    #[test]
    fn whole_numbers_give_way_to_real_ones() {
        let mut targets = Targets::Classes(vec![1]);
        targets.append(Targets::Real(vec![0.5]), &Place::file("a")).unwrap();
        assert_eq!(targets, Targets::Real(vec![1.0, 0.5]));
        assert!(targets.append(Targets::Text(vec!["x".into()]), &Place::file("a")).is_err());
    }

    #[test]
    fn parts_have_names() {
        for (part, name) in Part::NAMES {
            assert_eq!((part.name(), Part::from_name(name)), (name, Some(part)));
        }
        assert_eq!(Part::from_name("dev"), None);
    }
}
