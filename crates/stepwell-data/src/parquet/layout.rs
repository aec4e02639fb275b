//! Which columns a file has.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use super::{FACTS, Facts};
use stepwell::targets::{Labels, Targets};

use crate::dataset::Dataset;
use crate::error::{Error, Place, Result};
use crate::rows::Key;

/// How wide the numbers of a list are: what 32 bits hold exactly stays in 32 bits.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Width {
    F32,
    F64,
}

impl Width {
    fn of(values: &[f64]) -> Self {
        let narrow = values.iter().all(|&value| f64::from(value as f32) == value);
        if narrow { Self::F32 } else { Self::F64 }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TargetKind {
    Classes,
    Text,
    Bool,
    Real,
}

/// Which columns a file has and of what types.
#[derive(Clone, Debug)]
pub struct Layout {
    facts: Facts,
    pub(super) id: bool,
    pub(super) weight: Option<Width>,
    pub(super) edge_label: bool,
    pub(super) edge_attr: Option<Width>,
    pub(super) node_label: bool,
    pub(super) x: Option<Width>,
    pub(super) pos: bool,
    pub(super) y: Option<TargetKind>,
    pub(super) split: bool,
    pub(super) directed: bool,
}

impl Layout {
    /// The layout that holds a dataset, and no more.
    pub fn of(dataset: &Dataset) -> Self {
        let graphs = &dataset.graphs;
        Self {
            facts: Facts {
                name: dataset.name.clone(),
                x: graphs.attribute_names().unwrap_or_default().to_vec(),
            },
            id: dataset.ids.is_some(),
            weight: graphs.weights().map(Width::of),
            edge_label: graphs.edge_labels().is_some(),
            edge_attr: graphs.edge_attributes().map(|a| Width::of(&a.values)),
            node_label: graphs.vertex_labels().is_some(),
            x: graphs.vertex_attributes().map(|a| Width::of(&a.values)),
            pos: dataset.coordinates.is_some(),
            y: match &dataset.targets {
                Targets::None => None,
                Targets::Classes(Labels::Int(_)) => Some(TargetKind::Classes),
                Targets::Classes(Labels::Text(_)) => Some(TargetKind::Text),
                Targets::Classes(Labels::Bool(_)) => Some(TargetKind::Bool),
                Targets::Classes(Labels::Float(_)) | Targets::Numbers(_) | Targets::Binary(_) => {
                    Some(TargetKind::Real)
                }
            },
            split: dataset.parts.is_some(),
            directed: graphs.any_directed(),
        }
    }

    /// The layout that holds both where one can; the name is the first one's.
    pub fn join(self, other: &Self) -> Self {
        let y = match (self.y, other.y) {
            (Some(TargetKind::Classes), Some(TargetKind::Real)) => other.y,
            _ => self.y.or(other.y),
        };
        Self {
            id: self.id || other.id,
            weight: self.weight.max(other.weight),
            edge_label: self.edge_label || other.edge_label,
            edge_attr: self.edge_attr.max(other.edge_attr),
            node_label: self.node_label || other.node_label,
            x: self.x.max(other.x),
            pos: self.pos || other.pos,
            y,
            split: self.split || other.split,
            directed: self.directed || other.directed,
            facts: self.facts,
        }
    }

    /// The facts as JSON; there is nothing in them that could not be.
    pub(super) fn facts(&self) -> String {
        serde_json::to_string(&self.facts).expect("a string is JSON")
    }

    /// Whether a piece fits in; columns have no holes.
    pub(super) fn check_admits(&self, dataset: &Dataset, place: &Place) -> Result<()> {
        let piece = Self::of(dataset);
        let targets = match (self.y, piece.y) {
            (Some(TargetKind::Real), Some(TargetKind::Classes)) => true,
            (mine, theirs) => mine == theirs,
        };
        let fits = [
            (Key::Id, self.id == piece.id),
            (Key::Weight, self.weight >= piece.weight),
            (Key::EdgeLabel, self.edge_label == piece.edge_label),
            (Key::EdgeAttr, self.edge_attr.is_some() == piece.edge_attr.is_some()),
            (Key::EdgeAttr, self.edge_attr >= piece.edge_attr),
            (Key::NodeLabel, self.node_label == piece.node_label),
            (Key::X, self.x.is_some() == piece.x.is_some()),
            (Key::X, self.x >= piece.x),
            (Key::Pos, self.pos == piece.pos),
            (Key::Y, targets),
            (Key::Split, self.split == piece.split),
            (Key::Directed, self.directed || !piece.directed),
        ];
        match fits.into_iter().find(|(_, fits)| !dataset.is_empty() && !fits) {
            None => Ok(()),
            Some((key, _)) => Err(Error::Unsupported(format!(
                "{place}: '{}' of some graphs does not fit into the columns the file was begun with",
                key.name()
            ))),
        }
    }

    pub(super) fn schema(&self) -> Schema {
        let list = |kind: DataType| DataType::List(Arc::new(Field::new_list_field(kind, false)));
        let reals = |width: Width| match width {
            Width::F32 => list(DataType::Float32),
            Width::F64 => list(DataType::Float64),
        };
        let kind = |key: Key| match key {
            Key::Id => self.id.then_some(DataType::Utf8),
            Key::NumNodes => Some(DataType::Int32),
            Key::Src | Key::Dst => Some(list(DataType::Int32)),
            Key::Weight => self.weight.map(reals),
            Key::EdgeLabel => self.edge_label.then(|| list(DataType::Int32)),
            Key::EdgeAttr => self.edge_attr.map(reals),
            Key::EdgeAttrDim => self.edge_attr.map(|_| DataType::Int32),
            Key::NodeLabel => self.node_label.then(|| list(DataType::Int32)),
            Key::X => self.x.map(reals),
            Key::XDim => self.x.map(|_| DataType::Int32),
            Key::Pos => self.pos.then(|| list(DataType::Float64)),
            Key::Y => self.y.map(|kind| match kind {
                TargetKind::Classes => DataType::Int64,
                TargetKind::Text => DataType::Utf8,
                TargetKind::Bool => DataType::Boolean,
                TargetKind::Real => DataType::Float64,
            }),
            Key::Split => self.split.then_some(DataType::Utf8),
            Key::Directed => self.directed.then_some(DataType::Boolean),
        };
        let field = |key: Key| Some(Field::new(key.name(), kind(key)?, false));
        let fields: Vec<Field> = Key::all().filter_map(field).collect();
        Schema::new_with_metadata(fields, [(FACTS.to_string(), self.facts())].into())
    }
}
