//! Graphs with their targets, names, groups and splits.

mod vertices;

pub use vertices::Vertices;

use ndarray::Array2;
use sha2::{Digest, Sha256};
use stepwell::graph::GraphBatch;
use stepwell::targets::Targets;

use crate::error::{Error, Place, Result};
use crate::identity::hexadecimal;
use crate::memory;

fn chosen<T: Clone>(values: &[T], graphs: &[usize]) -> Vec<T> {
    graphs.iter().map(|&graph| values[graph].clone()).collect()
}

/// The part of a fixed split that a graph belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Part {
    /// For training.
    Train,
    /// For model selection.
    Validation,
    /// For the final score only.
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

/// Targets of some graphs or vertices, where others have none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// The graphs or vertices that have a target, ascending.
    pub rows: Vec<usize>,
    /// The target of each of them.
    pub targets: Targets,
}

impl Known {
    /// Expands the targets to all `len` graphs. Unknown numbers become NaN; classes have no such
    /// value and stay as targets of some graphs.
    pub fn spread(self, len: usize) -> (Targets, Option<Self>) {
        let Self { rows: graphs, targets } = self;
        if len == 0 {
            return (Targets::None, None);
        }
        if graphs.len() == len {
            return (targets, None);
        }
        let all = |values: Array2<f64>| {
            let mut rows = Array2::from_elem((len, values.ncols()), f64::NAN);
            for (row, &graph) in values.rows().into_iter().zip(&graphs) {
                rows.row_mut(graph).assign(&row);
            }
            rows
        };
        match targets {
            Targets::None => (Targets::None, None),
            Targets::Numbers(values) => (Targets::Numbers(all(values)), None),
            Targets::Binary(values) => (Targets::Binary(all(values)), None),
            targets if graphs.is_empty() => (targets.select(&[]), None),
            targets => (Targets::None, Some(Self { rows: graphs, targets })),
        }
    }

    /// The known targets among `graphs`, with rows renumbered by position in `graphs`.
    pub fn among(&self, graphs: &[usize]) -> Self {
        let place = |graph: &usize| self.rows.binary_search(graph).ok();
        let (rows, places): (Vec<usize>, Vec<usize>) =
            graphs.iter().enumerate().filter_map(|(at, graph)| Some((at, place(graph)?))).unzip();
        Self { rows, targets: self.targets.select(&places) }
    }
}

/// Graphs with their targets and other metadata.
///
/// Streaming readers also return this type for a piece, which holds some graphs of a larger
/// dataset; [`append`](Self::append) joins the pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dataset {
    /// The name of the dataset, for display.
    pub name: String,
    /// The graphs, with the labels and attributes of their vertices and edges.
    pub graphs: GraphBatch,
    /// The targets to predict.
    pub targets: Targets,
    /// The names of the target columns, if they have names.
    pub target_names: Vec<String>,
    /// The classes of some graphs, if others have none; `targets` is then empty.
    pub some_classes: Option<Known>,
    /// The vertex targets to predict, and the splits of the vertices.
    pub vertices: Option<Vertices>,
    /// The group of each graph. Graphs of one group stay together: no group is split between
    /// training and testing. Read only if a column is named for it.
    pub groups: Option<Vec<String>>,
    /// The name of the column that holds the groups; `group` if empty.
    pub group_name: String,
    /// How many graphs the reader skipped because they have no target.
    pub left_out: usize,
    /// The names of the graphs; without them, a graph is named by its position.
    pub ids: Option<Vec<String>>,
    /// A fixed split, if the data include one.
    pub parts: Option<Vec<Part>>,
    /// The position of each vertex in the plane, for drawing.
    pub coordinates: Option<Vec<[f64; 2]>>,
    /// The feature set that defines the meaning of the labels, if the graphs were made from
    /// molecules.
    pub molecules: Option<String>,
    /// Remarks of the reader, for the user.
    pub notes: Vec<String>,
}

impl Dataset {
    /// A checksum of everything that determines results: graphs, names, targets, groups and parts.
    pub(crate) fn checksum(&self) -> String {
        let mut sum = Sha256::new();
        let mut add = |what: &str, text: String| sum.update(format!("{what} {} {text}\n", text.len()));
        add("graphs", format!("{:?}", self.graphs.keys()));
        add("attributes", format!("{:?}", self.graphs.attribute_names()));
        let known = self.some_classes.as_ref();
        add("known", format!("{:?}", known.map(|known| &known.rows)));
        let of_vertices = self.vertices.as_ref();
        if let Some(Vertices { known, splits }) = of_vertices {
            add("vertices", format!("{:?} {splits:?}", known.rows));
        }
        let known = [Some(&self.targets), known.map(|known| &known.targets)];
        for targets in known.into_iter().chain([of_vertices.map(|all| &all.known.targets)]).flatten() {
            // ndarray abbreviates long arrays when it prints them.
            let (kind, classes, values) = match targets {
                Targets::None => ("none", None, None),
                Targets::Classes(labels) => ("classes", Some(labels), None),
                Targets::Numbers(values) => ("numbers", None, Some(values)),
                Targets::Binary(values) => ("binary", None, Some(values)),
            };
            let bits = values.map(|all| (all.dim(), all.iter().map(|x| x.to_bits()).collect::<Vec<_>>()));
            add(kind, format!("{classes:?} {bits:?}"));
        }
        add("names", format!("{:?}", (&self.target_names, &self.ids)));
        add("parts", format!("{:?}", (&self.groups, &self.parts)));
        hexadecimal(sum.finalize().as_slice())
    }

    /// The number of graphs.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Whether there are no graphs.
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

    /// Appends the graphs of `other`. A mismatch between properties that must agree is reported at
    /// `place`.
    pub fn append(&mut self, other: Self, place: &Place) -> Result<()> {
        self.left_out += other.left_out;
        if other.is_empty() {
            self.notes.extend(other.notes);
            return Ok(());
        }
        if self.is_empty() {
            let (notes, left_out) = (std::mem::take(&mut self.notes), self.left_out);
            *self = Self { left_out, ..other };
            self.notes.splice(0..0, notes);
            return Ok(());
        }
        if self.target_names.is_empty() {
            self.target_names.clone_from(&other.target_names);
        } else if !other.target_names.is_empty() && self.target_names != other.target_names {
            let (mine, theirs) = (self.target_names.join(", "), other.target_names.join(", "));
            return Err(Error::malformed(place.clone(), format!("the targets {mine}, as before"), theirs));
        }
        let graphs = self.len();
        let mixed = |what: &str, mine: bool| {
            let (expected, found) = if mine { ("with", "without") } else { ("without", "with") };
            let expected = format!("graphs {expected} {what}, as before");
            Error::malformed(place.clone(), expected, format!("graphs {found}"))
        };
        let refused = |source| Error::Graph { place: place.clone(), source };
        let before = self.graphs.num_vertices();
        self.graphs.append(&other.graphs).map_err(refused)?;
        if self.vertices.is_some() || other.vertices.is_some() {
            let more = other.vertices.unwrap_or_default();
            let mine = self.vertices.get_or_insert_default();
            mine.append(before, more, other.graphs.num_vertices()).map_err(refused)?;
        }
        if self.targets.len() == graphs && other.targets.len() == other.graphs.len() {
            self.targets.append(other.targets).map_err(refused)?;
        } else {
            let mut known = known_of(std::mem::take(&mut self.targets), self.some_classes.take(), graphs);
            let count = other.graphs.len();
            let more = known_of(other.targets, other.some_classes, count);
            known.rows.extend(more.rows.iter().map(|graph| graphs + graph));
            known.targets.append(more.targets).map_err(refused)?;
            (self.targets, self.some_classes) = known.spread(self.len());
        }
        join(&mut self.ids, other.ids).map_err(|mine| mixed("ids", mine))?;
        join(&mut self.parts, other.parts).map_err(|mine| mixed("a split", mine))?;
        join(&mut self.groups, other.groups).map_err(|mine| mixed("groups", mine))?;
        join(&mut self.coordinates, other.coordinates).map_err(|mine| mixed("coordinates", mine))?;
        if self.molecules != other.molecules {
            self.molecules = None;
        }
        self.notes.extend(other.notes);
        Ok(())
    }

    /// Selects graphs, in the given order, with all their metadata.
    ///
    /// # Panics
    /// If an index is out of range, as when indexing a slice.
    pub fn select(&self, graphs: &[usize]) -> Self {
        let vertices =
            |graph: usize| self.graphs.vertex_offsets()[graph]..self.graphs.vertex_offsets()[graph + 1];
        let coordinates = |all: &Vec<[f64; 2]>| {
            graphs.iter().flat_map(|&graph| all[vertices(graph)].iter().copied()).collect()
        };
        let (targets, some_classes) = match &self.some_classes {
            Some(known) => known.among(graphs).spread(graphs.len()),
            None => (self.targets.select(graphs), None),
        };
        Self {
            name: self.name.clone(),
            graphs: self.graphs.select(graphs),
            targets,
            target_names: self.target_names.clone(),
            some_classes,
            vertices: self.vertices.as_ref().map(|all| all.select(self.graphs.vertex_offsets(), graphs)),
            groups: self.groups.as_ref().map(|groups| chosen(groups, graphs)),
            group_name: self.group_name.clone(),
            left_out: self.left_out,
            ids: self.ids.as_ref().map(|ids| chosen(ids, graphs)),
            parts: self.parts.as_ref().map(|parts| chosen(parts, graphs)),
            coordinates: self.coordinates.as_ref().map(coordinates),
            molecules: self.molecules.clone(),
            notes: self.notes.clone(),
        }
    }

    /// The graphs that have a target (with several targets, at least one); all graphs if nothing is
    /// to be predicted.
    pub fn targeted(&self) -> Vec<usize> {
        match (&self.targets, &self.some_classes) {
            (Targets::Numbers(values) | Targets::Binary(values), _) => {
                let is_known = |row: &usize| values.row(*row).iter().any(|value| !value.is_nan());
                (0..values.nrows()).filter(is_known).collect()
            }
            (_, Some(known)) => known.rows.clone(),
            _ => (0..self.len()).collect(),
        }
    }

    /// The number of graphs without a target, if others have one.
    pub fn untargeted(&self) -> usize {
        self.len() - self.targeted().len()
    }

    /// The graphs that have a target, under their present names. The others are counted as left
    /// out.
    pub fn without_untargeted(&self) -> Self {
        let graphs = self.targeted();
        let mut chosen = self.select(&graphs);
        chosen.ids.get_or_insert_with(|| graphs.iter().map(usize::to_string).collect());
        chosen.left_out += self.len() - graphs.len();
        chosen
    }

    /// The name of the column that files hold groups in, and the groups. `None` if there are no
    /// groups, or if they are the ids.
    pub(crate) fn group_column(&self) -> Option<(&str, &[String])> {
        let groups = self.groups.as_deref()?;
        match self.group_name.as_str() {
            "" => Some(("group", groups)),
            "id" if self.ids.as_deref() == Some(groups) => None,
            name => Some((name, groups)),
        }
    }

    /// The known targets, of all graphs or of some.
    pub fn known_targets(&self) -> &Targets {
        self.some_classes.as_ref().map_or(&self.targets, |known| &known.targets)
    }

    /// The name of a target column: its own, or its position.
    pub fn target_name(&self, column: usize) -> String {
        self.target_names.get(column).cloned().unwrap_or_else(|| column.to_string())
    }

    /// The graphs of one part of the split; `None` without a split.
    pub fn part(&self, part: Part) -> Option<Vec<usize>> {
        let parts = self.parts.as_ref()?;
        Some((0..parts.len()).filter(|&graph| parts[graph] == part).collect())
    }

    /// Joins pieces into one dataset.
    pub fn collect(pieces: impl IntoIterator<Item = Result<Self>>, place: &Place) -> Result<Self> {
        let mut whole = Self::default();
        for piece in pieces {
            let piece = piece?;
            // Names and targets add to this; there may be many small pieces.
            memory::ask(place, "the dataset", piece.graphs.bytes().saturating_mul(2).max(2 << 20))?;
            whole.append(piece, place)?;
        }
        Ok(whole)
    }
}

fn known_of(targets: Targets, some: Option<Known>, graphs: usize) -> Known {
    match some {
        Some(known) => known,
        None if targets.is_empty() => Known::default(),
        None => Known { rows: (0..graphs).collect(), targets },
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

    /// Graphs of one vertex each, with these targets.
    fn bare(targets: Targets, graphs: usize) -> Dataset {
        let mut builder = stepwell::graph::BatchBuilder::default();
        for _ in 0..graphs {
            builder.push(&stepwell::graph::EdgeList::new(1, &[], &[])).unwrap();
        }
        Dataset { graphs: builder.finish(), targets, ..Dataset::default() }
    }

    fn joined(pieces: Vec<Dataset>) -> Dataset {
        Dataset::collect(pieces.into_iter().map(Ok), &Place::file("pieces")).unwrap()
    }

    #[test]
    fn classes_of_some_graphs_stay_with_them() {
        let classes = |values: Vec<i64>| Targets::integers(values);
        let whole =
            joined(vec![bare(Targets::None, 1), bare(classes(vec![7, 8]), 2), bare(Targets::None, 1)]);
        assert_eq!(whole.targets, Targets::None);
        let known = Known { rows: vec![1, 2], targets: classes(vec![7, 8]) };
        assert_eq!((whole.some_classes.as_ref(), whole.untargeted()), (Some(&known), 2));
        assert_eq!(whole.select(&[2, 1]).targets, classes(vec![8, 7]), "all of them are known");
        let some = whole.select(&[0, 2]);
        assert_eq!((some.targeted(), some.known_targets()), (vec![1], &classes(vec![8])));
        // Integers become floats if other pieces hold floats.
        let numbers = joined(vec![whole, bare(Targets::numbers(vec![0.5]), 1)]);
        let column = numbers.targets.column().unwrap();
        assert_eq!((column[1], column[2], column[4]), (7.0, 8.0, 0.5));
        assert!(column[0].is_nan() && column[3].is_nan() && numbers.untargeted() == 2);
    }

    #[test]
    fn names_and_groups_are_kept() {
        let named = |groups: &[&str], name: &str| Dataset {
            target_names: vec![name.into()],
            groups: Some(groups.iter().map(|&group| group.to_owned()).collect()),
            left_out: 2,
            ..bare(Targets::numbers(vec![1.0; groups.len()]), groups.len())
        };
        let whole = joined(vec![named(&["a", "b"], "y1"), named(&["a"], "y1")]).select(&[2, 1]);
        assert_eq!(whole.groups.unwrap(), ["a", "b"]);
        assert_eq!((whole.target_names, whole.left_out), (vec!["y1".to_owned()], 4));
        let mut mixed = named(&["a"], "y1");
        let refused = mixed.append(named(&["b"], "y2"), &Place::file("f")).unwrap_err().to_string();
        assert_eq!(refused, "f: expected the targets y1, as before, found y2");
    }

    #[test]
    fn parts_have_names() {
        for (part, name) in Part::NAMES {
            assert_eq!((part.name(), Part::from_name(name)), (name, Some(part)));
        }
        assert_eq!(Part::from_name("dev"), None);
    }
}
