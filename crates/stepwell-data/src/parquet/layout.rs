//! The columns of a file.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use stepwell::graph;
use stepwell::targets::{Labels, Targets};

use super::{FACTS, Facts};
use crate::dataset::Dataset;
use crate::error::{Error, Place, Result};
use crate::rows::Key;

/// The columns of a file and their types.
#[derive(Clone, Debug)]
pub struct Layout {
    facts: Facts,
    pub(super) columns: Vec<(Key, DataType)>,
}

impl Layout {
    /// The smallest layout that holds a dataset.
    pub fn of(dataset: &Dataset) -> Self {
        let x = dataset.graphs.attribute_names().unwrap_or_default().to_vec();
        let columns = Key::all().filter_map(|key| Some((key, kind(dataset, key)?))).collect();
        let (name, y, molecules) =
            (dataset.name.clone(), dataset.target_names.clone(), dataset.molecules.clone());
        let groups = dataset.group_column().map(|(name, _)| name.to_owned());
        Self { facts: Facts { name, x, y, molecules, groups }, columns }
    }

    /// The layout that holds everything either of two layouts holds, under the name of the first.
    pub fn join(self, other: &Self) -> Self {
        let joined = |key| match (self.kind(key), other.kind(key)) {
            (Some(mine), Some(theirs)) if widens(mine, theirs) || nests(mine, theirs) => Some(theirs),
            (mine, theirs) => mine.or(theirs),
        };
        let columns = Key::all().filter_map(|key| Some((key, joined(key)?.clone()))).collect();
        Self { columns, ..self }
    }

    /// Whether the file has a column of groups.
    pub(super) fn has_groups(&self) -> bool {
        self.facts.groups.is_some()
    }

    fn kind(&self, key: Key) -> Option<&DataType> {
        self.columns.iter().find(|(known, _)| *known == key).map(|(_, kind)| kind)
    }

    /// The metadata of the dataset as a whole.
    pub(super) fn facts(&self) -> String {
        serde_json::to_string(&self.facts).expect("a string is JSON")
    }

    /// Refuses a piece whose columns do not fit this layout.
    pub(super) fn check_admits(&self, dataset: &Dataset, place: &Place) -> Result<()> {
        let piece = Self::of(dataset);
        let fits = |key: Key| match (self.kind(key), piece.kind(key)) {
            (Some(mine), Some(theirs)) => mine == theirs || widens(theirs, mine),
            (None, None) => true,
            // Missing weights are 1, missing directions mean undirected, and missing vertex columns
            // mean that no targets or parts are known.
            (_, theirs) => {
                let optional = [Key::Weight, Key::Directed, Key::NodeY, Key::NodeSplit];
                theirs.is_none() && optional.contains(&key)
            }
        };
        // Columns that hold no values fit any layout.
        let carried = |key: Key| match key {
            Key::EdgeLabel | Key::EdgeAttr | Key::EdgeAttrDim => dataset.graphs.num_entries() > 0,
            Key::NodeLabel | Key::X | Key::XDim | Key::Pos => dataset.graphs.num_vertices() > 0,
            _ => !dataset.is_empty(),
        };
        let groups = !dataset.is_empty() && self.facts.groups != piece.facts.groups;
        let wrong = Key::all().find(|&key| carried(key) && !fits(key)).map(Key::name);
        match wrong.or(groups.then_some("groups")) {
            None => Ok(()),
            Some(name) => Err(Error::Unsupported(format!(
                "{place}: '{name}' of some graphs differs in kind from the graphs before; all rows must fill the same columns with the same types"
            ))),
        }
    }

    pub(super) fn schema(&self) -> Schema {
        // A class may be unknown. Other targets are lists or floats, which have NaN for that.
        let field = |(key, kind): &(Key, DataType)| Field::new(key.name(), kind.clone(), *key == Key::Y);
        let groups = self.facts.groups.iter().map(|name| Field::new(name, DataType::Utf8, false));
        let fields: Vec<Field> = self.columns.iter().map(field).chain(groups).collect();
        Schema::new_with_metadata(fields, [(FACTS.to_string(), self.facts())].into())
    }
}

/// The type of the column that holds `key`, if the dataset has such values.
fn kind(dataset: &Dataset, key: Key) -> Option<DataType> {
    let graphs = &dataset.graphs;
    match key {
        Key::Id => dataset.ids.as_ref().map(|_| DataType::Utf8),
        Key::NumNodes => Some(DataType::Int32),
        Key::Src | Key::Dst => Some(list(DataType::Int32)),
        Key::Weight => graphs.weights().map(reals),
        Key::EdgeLabel => graphs.edge_labels().map(labels),
        Key::EdgeAttr => graphs.edge_attributes().map(|rows| reals(&rows.values)),
        Key::EdgeAttrDim => graphs.edge_attributes().map(|_| DataType::Int32),
        Key::NodeLabel => graphs.vertex_labels().map(labels),
        Key::X => graphs.vertex_attributes().map(|rows| reals(rows.kept())),
        Key::XDim => graphs.vertex_attributes().map(|_| DataType::Int32),
        Key::Pos => dataset.coordinates.as_ref().map(|_| list(DataType::Float64)),
        Key::Y => match dataset.known_targets() {
            Targets::None => None,
            Targets::Classes(Labels::Int(_)) => Some(DataType::Int64),
            Targets::Classes(Labels::Text(_)) => Some(DataType::Utf8),
            Targets::Classes(Labels::Bool(_)) => Some(DataType::Boolean),
            Targets::Binary(_) => Some(several(DataType::Int8)),
            Targets::Numbers(values) if values.ncols() != 1 => Some(several(DataType::Float64)),
            _ => Some(DataType::Float64),
        },
        Key::Split => dataset.parts.as_ref().map(|_| DataType::Utf8),
        Key::NodeY => match &dataset.vertices.as_ref()?.known.targets {
            Targets::None => None,
            Targets::Classes(Labels::Int(_)) => Some(several(DataType::Int64)),
            Targets::Classes(Labels::Text(_)) => Some(several(DataType::Utf8)),
            Targets::Classes(Labels::Bool(_)) => Some(several(DataType::Boolean)),
            Targets::Binary(_) => Some(several(several(DataType::Int8))),
            Targets::Numbers(values) if values.ncols() != 1 => Some(several(several(DataType::Float64))),
            _ => Some(several(DataType::Float64)),
        },
        Key::NodeSplit => match dataset.vertices.as_ref()?.splits.len() {
            0 => None,
            1 => Some(several(DataType::Utf8)),
            _ => Some(several(several(DataType::Utf8))),
        },
        Key::Directed => graphs.any_directed().then_some(DataType::Boolean),
    }
}

fn list(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(kind, false)))
}

/// Lists of targets, of which some may be unknown.
fn several(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(kind, true)))
}

/// Lists of integers, or lists of lists.
fn labels(labels: &graph::Labels) -> DataType {
    let single = list(DataType::Int32);
    if labels.width == 1 { single } else { list(single) }
}

/// Lists of floats: 32 bits if that is exact.
fn reals(values: &[f64]) -> DataType {
    let narrow = values.iter().all(|&value| f64::from(value as f32) == value);
    list(if narrow { DataType::Float32 } else { DataType::Float64 })
}

/// Whether lists can be written as lists of lists, as the labels of graphs without edges can
/// because they are empty.
fn nests(from: &DataType, to: &DataType) -> bool {
    *from == list(DataType::Int32) && *to == list(list(DataType::Int32))
}

/// Whether every value of one type can be written as another.
fn widens(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Int8 | DataType::Int64 | DataType::Float32, DataType::Float64) => true,
        (DataType::List(from), DataType::List(to)) => widens(from.data_type(), to.data_type()),
        _ => false,
    }
}
