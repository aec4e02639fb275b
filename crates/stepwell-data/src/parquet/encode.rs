//! From datasets to record batches.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::Field;
use ndarray::Axis;
use stepwell::graph::Attributes;
use stepwell::targets::{Labels, Targets};

use super::layout::{Layout, TargetKind, Width};
use crate::dataset::Dataset;
use crate::error::{Error, Place, Result};
use crate::rows::{EdgeWriter, Key, check_writable, lists_once};

/// The graphs of a dataset as a record batch in the schema.
pub fn to_record_batch(dataset: &Dataset) -> Result<RecordBatch> {
    let place = Place::file("record batch");
    check_writable(dataset, &place)?;
    let once = lists_once(&dataset.graphs);
    encode(dataset, &Layout::of(dataset), 0..dataset.len(), once, &place)
}

/// Some graphs of a dataset that fits the layout.
pub(super) fn encode(
    dataset: &Dataset,
    layout: &Layout,
    range: Range<usize>,
    once: bool,
    place: &Place,
) -> Result<RecordBatch> {
    check_offsets(dataset, &range, place)?;
    let offsets = dataset.graphs.vertex_offsets();
    let (mut src, mut dst) = (lists::<Int32Type>(), lists::<Int32Type>());
    let mut weight = layout.weight.map(Reals::new);
    let mut edge_label = layout.edge_label.then(lists::<Int32Type>);
    let mut edge_attr = layout.edge_attr.map(Reals::new);
    let mut node_label = layout.node_label.then(lists::<Int32Type>);
    let mut x = layout.x.map(Reals::new);
    let mut pos = layout.pos.then(lists::<Float64Type>);
    let mut edges = EdgeWriter::default();
    for index in range.clone() {
        let graph = dataset.graphs.graph(index);
        edges.list(graph, once);
        push(&mut src, &edges.src);
        push(&mut dst, &edges.dst);
        if let Some(weight) = &mut weight {
            // Edges without weights have weight 1.
            edges.weight.resize(edges.src.len(), 1.0);
            weight.push(&edges.weight);
        }
        if let Some(edge_label) = &mut edge_label {
            push(edge_label, &edges.edge_label);
        }
        if let Some(edge_attr) = &mut edge_attr {
            edge_attr.push(&edges.edge_attr);
        }
        if let Some(node_label) = &mut node_label {
            push(node_label, graph.vertex_labels().unwrap_or_default());
        }
        if let (Some(x), Some((values, _))) = (&mut x, graph.vertex_attributes()) {
            x.push(values);
        }
        if let (Some(pos), Some(all)) = (&mut pos, &dataset.coordinates) {
            push(pos, all[offsets[index]..offsets[index + 1]].as_flattened());
        }
    }

    let rows = range.len();
    let width = |width: Option<usize>| constant(width.unwrap_or_default(), rows);
    let (vertex_width, edge_width) = (
        dataset.graphs.vertex_attributes().map(|a| a.width),
        dataset.graphs.edge_attributes().map(|a| a.width),
    );
    let ids = dataset.ids.as_deref().unwrap_or_default();
    let parts = dataset.parts.as_deref().unwrap_or_default();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for key in Key::all() {
        columns.extend(match key {
            Key::Id => layout.id.then(|| texts(ids[range.clone()].iter())),
            Key::NumNodes => {
                let sizes = range.clone().map(|g| (offsets[g + 1] - offsets[g]) as i32);
                Some(Arc::new(Int32Array::from_iter_values(sizes)) as ArrayRef)
            }
            Key::Src => Some(Arc::new(src.finish()) as ArrayRef),
            Key::Dst => Some(Arc::new(dst.finish()) as ArrayRef),
            Key::Weight => weight.take().map(Reals::finish),
            Key::EdgeLabel => edge_label.take().map(|mut c| Arc::new(c.finish()) as ArrayRef),
            Key::EdgeAttr => edge_attr.take().map(Reals::finish),
            Key::EdgeAttrDim => layout.edge_attr.map(|_| width(edge_width)),
            Key::NodeLabel => node_label.take().map(|mut c| Arc::new(c.finish()) as ArrayRef),
            Key::X => x.take().map(Reals::finish),
            Key::XDim => layout.x.map(|_| width(vertex_width)),
            Key::Pos => pos.take().map(|mut c| Arc::new(c.finish()) as ArrayRef),
            Key::Y => layout.y.and_then(|kind| targets(&dataset.targets, kind, range.clone())),
            Key::Split => layout.split.then(|| texts(parts[range.clone()].iter().map(|p| p.name()))),
            Key::Directed => layout.directed.then(|| {
                let directed = range.clone().map(|g| Some(dataset.graphs.graph(g).is_directed()));
                Arc::new(directed.collect::<BooleanArray>()) as ArrayRef
            }),
        });
    }
    RecordBatch::try_new(Arc::new(layout.schema()), columns)
        .map_err(|error| Error::Unsupported(format!("{place}: {error}")))
}

/// Where a list begins in its column is a number of 31 bits.
fn check_offsets(dataset: &Dataset, range: &Range<usize>, place: &Place) -> Result<()> {
    let (mut vertices, mut entries) = (0, 0);
    for index in range.clone() {
        vertices += dataset.graphs.graph(index).num_vertices();
        entries += dataset.graphs.graph(index).num_entries();
    }
    let width = |attributes: Option<&Attributes>| attributes.map_or(1, |a| a.width.max(1));
    let vertex_numbers = vertices as u64 * width(dataset.graphs.vertex_attributes()).max(2) as u64;
    let edge_numbers = entries as u64 * width(dataset.graphs.edge_attributes()) as u64;
    match vertex_numbers.max(edge_numbers) {
        found if found > i32::MAX as u64 => Err(Error::TooLarge {
            place: place.clone(),
            what: "the numbers in a column of one batch",
            limit: i32::MAX as u64,
            found,
        }),
        _ => Ok(()),
    }
}

fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn constant(value: usize, rows: usize) -> ArrayRef {
    Arc::new(Int32Array::from_value(value as i32, rows))
}

fn targets(targets: &Targets, kind: TargetKind, range: Range<usize>) -> Option<ArrayRef> {
    Some(match targets {
        Targets::None => return None,
        Targets::Classes(Labels::Int(values)) if kind == TargetKind::Real => {
            Arc::new(Float64Array::from_iter_values(values[range].iter().map(|&value| value as f64)))
        }
        Targets::Classes(Labels::Int(values)) => {
            Arc::new(Int64Array::from_iter_values(values[range].iter().copied()))
        }
        Targets::Classes(Labels::Text(values)) => texts(values[range].iter()),
        Targets::Classes(Labels::Bool(values)) => Arc::new(BooleanArray::from(values[range].to_vec())),
        Targets::Classes(Labels::Float(values)) => {
            Arc::new(Float64Array::from_iter_values(values[range].iter().copied()))
        }
        Targets::Numbers(values) | Targets::Binary(values) => {
            let rows = values.slice_axis(Axis(0), range.into());
            Arc::new(Float64Array::from_iter_values(rows.iter().copied()))
        }
    })
}

/// A column of lists of real numbers.
enum Reals {
    F32(ListBuilder<PrimitiveBuilder<Float32Type>>, Vec<f32>),
    F64(ListBuilder<PrimitiveBuilder<Float64Type>>),
}

impl Reals {
    fn new(width: Width) -> Self {
        match width {
            Width::F32 => Self::F32(lists(), Vec::new()),
            Width::F64 => Self::F64(lists()),
        }
    }

    fn push(&mut self, values: &[f64]) {
        match self {
            Self::F32(builder, narrow) => {
                narrow.clear();
                narrow.extend(values.iter().map(|&value| value as f32));
                push(builder, narrow);
            }
            Self::F64(builder) => push(builder, values),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::F32(mut builder, _) => Arc::new(builder.finish()),
            Self::F64(mut builder) => Arc::new(builder.finish()),
        }
    }
}

fn lists<T: ArrowPrimitiveType>() -> ListBuilder<PrimitiveBuilder<T>> {
    ListBuilder::new(PrimitiveBuilder::new()).with_field(Field::new_list_field(T::DATA_TYPE, false))
}

fn push<T: ArrowPrimitiveType>(builder: &mut ListBuilder<PrimitiveBuilder<T>>, values: &[T::Native]) {
    builder.values().append_slice(values);
    builder.append(true);
}
