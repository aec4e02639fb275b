//! Converts datasets to record batches.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int8Array, Int32Array, Int64Array, ListArray, PrimitiveArray,
    RecordBatch, StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use ndarray::{Array2, Axis};
use stepwell::graph::{Table, VertexAttributes};
use stepwell::targets::{Labels, Targets};

use super::layout::Layout;
use crate::dataset::{Dataset, Known, Part};
use crate::error::{Error, Place, Result};
use crate::rows::{EdgeWriter, Key, check_writable, lists_once};

/// Converts the graphs of a dataset to a record batch in the schema.
pub fn to_record_batch(dataset: &Dataset) -> Result<RecordBatch> {
    let place = Place::file("record batch");
    check_writable(dataset, &place)?;
    let once = lists_once(&dataset.graphs);
    encode(dataset, &Layout::of(dataset), 0..dataset.len(), once, &place)
}

/// Converts some graphs of a dataset that fits the layout.
pub(super) fn encode(
    dataset: &Dataset,
    layout: &Layout,
    range: Range<usize>,
    once: bool,
    place: &Place,
) -> Result<RecordBatch> {
    check_offsets(dataset, &range, place)?;
    let graphs = &dataset.graphs;
    let (mut edges, mut ends) = (EdgeWriter::default(), vec![0]);
    for index in range.clone() {
        edges.list(graphs.graph(index), once);
        ends.push(edges.src.len());
    }
    // Edges without weights have weight 1.
    edges.weight.resize(edges.src.len(), 1.0);
    let starts = &graphs.vertex_offsets()[range.start..=range.end];
    let vertices = starts[0]..starts[range.len()];
    let attributes = graphs.vertex_attributes();
    let node_label = graphs.vertex_labels().map_or(&[][..], |labels| labels.rows(vertices.clone()));
    let x = attributes.map_or_else(Default::default, |attributes| attributes.rows(vertices.clone()));
    let pos = dataset.coordinates.as_ref().map_or(&[][..], |all| all[vertices.clone()].as_flattened());
    let width =
        |width: Option<usize>| Arc::new(Int32Array::from_value(width.unwrap_or(0) as i32, range.len()));
    let column = |(key, kind): &(Key, DataType)| -> ArrayRef {
        match key {
            Key::Id => texts(dataset.ids.as_deref().unwrap_or_default()[range.clone()].iter()),
            Key::NumNodes => {
                let sizes = starts.windows(2).map(|pair| (pair[1] - pair[0]) as i32);
                Arc::new(Int32Array::from_iter_values(sizes))
            }
            Key::Src => list::<Int32Type>(edges.src.iter().copied(), &ends),
            Key::Dst => list::<Int32Type>(edges.dst.iter().copied(), &ends),
            Key::Weight => reals(&edges.weight, kind, &ends),
            Key::EdgeLabel => labels(&edges.edge_label, kind, &ends),
            Key::EdgeAttr => reals(&edges.edge_attr, kind, &ends),
            Key::EdgeAttrDim => width(graphs.edge_attributes().map(|table| table.width)),
            Key::NodeLabel => labels(node_label, kind, starts),
            Key::X => reals(&x, kind, starts),
            Key::XDim => width(attributes.map(VertexAttributes::width)),
            Key::Pos => list::<Float64Type>(pos.iter().copied(), starts),
            Key::Y => match &dataset.some_classes {
                Some(known) => some_classes(known, kind, range.clone()),
                None => targets(&dataset.targets, kind, range.clone()),
            },
            Key::Split => {
                let parts = &dataset.parts.as_deref().unwrap_or_default()[range.clone()];
                texts(parts.iter().map(|part| part.name()))
            }
            Key::NodeY => node_y(dataset.vertices.as_ref().map(|all| &all.known), kind, starts),
            Key::NodeSplit => {
                let splits = dataset.vertices.as_ref().map_or(&[][..], |all| &all.splits);
                node_split(splits, kind, starts)
            }
            Key::Directed => Arc::new(BooleanArray::from(graphs.directed()[range.clone()].to_vec())),
        }
    };
    let groups = dataset.group_column().filter(|_| layout.has_groups());
    let groups = groups.map(|(_, groups)| texts(groups[range.clone()].iter()));
    let columns = layout.columns.iter().map(column).chain(groups).collect();
    RecordBatch::try_new(Arc::new(layout.schema()), columns)
        .map_err(|error| Error::Unsupported(format!("{place}: {error}")))
}

/// The start of a list in its column must fit into 31 bits.
fn check_offsets(dataset: &Dataset, range: &Range<usize>, place: &Place) -> Result<()> {
    let (mut vertices, mut entries) = (0, 0);
    for index in range.clone() {
        vertices += dataset.graphs.graph(index).num_vertices();
        entries += dataset.graphs.graph(index).num_entries();
    }
    fn width<T>(table: Option<&Table<T>>) -> u64 {
        table.map_or(1, |table| table.width.max(1) as u64)
    }
    let graphs = &dataset.graphs;
    let attributes = graphs.vertex_attributes().map_or(1, |all| all.width().max(1) as u64);
    let of_vertex = attributes.max(width(graphs.vertex_labels())).max(2);
    let of_edge = width(graphs.edge_attributes()).max(width(graphs.edge_labels()));
    let (vertex_numbers, edge_numbers) = (vertices as u64 * of_vertex, entries as u64 * of_edge);
    let targets = range.len() as u64 * dataset.targets.width() as u64;
    match vertex_numbers.max(edge_numbers).max(targets) {
        found if found > i32::MAX as u64 => Err(Error::TooLarge {
            place: place.clone(),
            what: "the number of values in a column of one batch",
            limit: i32::MAX as u64,
            found,
        }),
        _ => Ok(()),
    }
}

fn texts(values: impl Iterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// Classes, with null for graphs whose class is unknown.
fn some_classes(known: &Known, kind: &DataType, range: Range<usize>) -> ArrayRef {
    let place = |graph: usize| known.rows.binary_search(&graph).ok();
    let places = range.map(place);
    match &known.targets {
        Targets::Classes(Labels::Int(values)) if *kind == DataType::Float64 => {
            Arc::new(places.map(|at| at.map(|at| values[at] as f64)).collect::<Float64Array>())
        }
        Targets::Classes(Labels::Int(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at])).collect::<Int64Array>())
        }
        Targets::Classes(Labels::Text(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at].as_str())).collect::<StringArray>())
        }
        Targets::Classes(Labels::Bool(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at])).collect::<BooleanArray>())
        }
        Targets::Classes(Labels::Float(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at])).collect::<Float64Array>())
        }
        _ => arrow_array::new_null_array(kind, places.len()),
    }
}

fn targets(targets: &Targets, kind: &DataType, range: Range<usize>) -> ArrayRef {
    match targets {
        Targets::None => arrow_array::new_empty_array(kind),
        Targets::Classes(Labels::Int(values)) if *kind == DataType::Float64 => {
            Arc::new(Float64Array::from_iter_values(values[range].iter().map(|&value| value as f64)))
        }
        Targets::Classes(Labels::Int(values)) => Arc::new(Int64Array::from(values[range].to_vec())),
        Targets::Classes(Labels::Text(values)) => texts(values[range].iter()),
        Targets::Classes(Labels::Bool(values)) => Arc::new(BooleanArray::from(values[range].to_vec())),
        Targets::Classes(Labels::Float(values)) => Arc::new(Float64Array::from(values[range].to_vec())),
        Targets::Numbers(values) | Targets::Binary(values) => {
            let rows = values.slice_axis(Axis(0), range.into());
            let DataType::List(field) = kind else {
                return Arc::new(Float64Array::from_iter_values(rows.iter().copied()));
            };
            let known = rows.iter().map(|&value| (!value.is_nan()).then_some(value));
            let numbers: ArrayRef = match field.data_type() {
                DataType::Int8 => {
                    Arc::new(known.map(|value| value.map(|value| value as i8)).collect::<Int8Array>())
                }
                _ => Arc::new(known.collect::<Float64Array>()),
            };
            let lengths = std::iter::repeat_n(rows.ncols(), rows.nrows());
            Arc::new(ListArray::new(field.clone(), OffsetBuffer::from_lengths(lengths), numbers, None))
        }
    }
}

/// The targets of vertices, null if unknown; graph g starts at `starts[g]`.
fn node_y(known: Option<&Known>, kind: &DataType, starts: &[usize]) -> ArrayRef {
    let DataType::List(field) = kind else { return arrow_array::new_empty_array(kind) };
    let nothing = Known::default();
    let known = known.unwrap_or(&nothing);
    let vertices = starts[0]..starts[starts.len() - 1];
    let mut place = known.rows.partition_point(|&vertex| vertex < vertices.start);
    let places: Vec<Option<usize>> = vertices
        .map(|vertex| {
            let is_known = known.rows.get(place) == Some(&vertex);
            place += usize::from(is_known);
            is_known.then(|| place - 1)
        })
        .collect();
    let count = places.len();
    let mut places = places.into_iter();
    let elements: ArrayRef = match &known.targets {
        Targets::None => arrow_array::new_null_array(field.data_type(), count),
        Targets::Classes(Labels::Int(values)) if *field.data_type() == DataType::Float64 => {
            Arc::new(places.map(|at| at.map(|at| values[at] as f64)).collect::<Float64Array>())
        }
        Targets::Classes(Labels::Int(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at])).collect::<Int64Array>())
        }
        Targets::Classes(Labels::Text(values)) => {
            Arc::new(places.map(|at| at.map(|at| &values[at])).collect::<StringArray>())
        }
        Targets::Classes(Labels::Bool(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at])).collect::<BooleanArray>())
        }
        Targets::Classes(Labels::Float(values)) => {
            Arc::new(places.map(|at| at.map(|at| values[at])).collect::<Float64Array>())
        }
        Targets::Numbers(values) | Targets::Binary(values) => match field.data_type() {
            DataType::List(_) => {
                let all: Vec<usize> = places.by_ref().map(|at| at.unwrap_or(usize::MAX)).collect();
                let mut rows = Array2::from_elem((count, values.ncols()), f64::NAN);
                for (mut row, at) in rows.rows_mut().into_iter().zip(all) {
                    if at < values.nrows() {
                        row.assign(&values.row(at));
                    }
                }
                let rows = match &known.targets {
                    Targets::Binary(_) => Targets::Binary(rows),
                    _ => Targets::Numbers(rows),
                };
                targets(&rows, field.data_type(), 0..count)
            }
            _ => Arc::new(places.map(|at| at.map(|at| values[(at, 0)])).collect::<Float64Array>()),
        },
    };
    let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
    Arc::new(ListArray::new(field.clone(), OffsetBuffer::from_lengths(lengths), elements, None))
}

/// The part names of vertices, in one split or several.
fn node_split(splits: &[Vec<Option<Part>>], kind: &DataType, starts: &[usize]) -> ArrayRef {
    let DataType::List(field) = kind else { return arrow_array::new_empty_array(kind) };
    let vertices = starts[0]..starts[starts.len() - 1];
    let name = |vertex: usize, split: &Vec<Option<Part>>| split[vertex].map(Part::name);
    let names = vertices.clone().flat_map(|vertex| splits.iter().map(move |split| name(vertex, split)));
    let elements: ArrayRef = match field.data_type() {
        _ if splits.is_empty() => arrow_array::new_null_array(field.data_type(), vertices.len()),
        DataType::List(inner) => {
            let names = Arc::new(names.collect::<StringArray>());
            let lengths = std::iter::repeat_n(splits.len(), vertices.len());
            Arc::new(ListArray::new(inner.clone(), OffsetBuffer::from_lengths(lengths), names, None))
        }
        _ => Arc::new(names.collect::<StringArray>()),
    };
    let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
    Arc::new(ListArray::new(field.clone(), OffsetBuffer::from_lengths(lengths), elements, None))
}

/// Lists with the same number of values for each item; `starts` counts the items before each list.
fn list<T: ArrowPrimitiveType>(
    values: impl ExactSizeIterator<Item = T::Native>,
    starts: &[usize],
) -> ArrayRef {
    let items = starts[starts.len() - 1] - starts[0];
    let width = values.len().checked_div(items).unwrap_or(0);
    let lengths = starts.windows(2).map(|pair| (pair[1] - pair[0]) * width);
    let field = Arc::new(Field::new_list_field(T::DATA_TYPE, false));
    let values = Arc::new(PrimitiveArray::<T>::from_iter_values(values));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, None))
}

/// Lists of integers, or lists of lists if items have several labels.
fn labels(values: &[i32], kind: &DataType, starts: &[usize]) -> ArrayRef {
    let inner = match kind {
        DataType::List(inner) if inner.data_type().is_nested() => inner.clone(),
        _ => return list::<Int32Type>(values.iter().copied(), starts),
    };
    let items: Vec<usize> = (0..=starts[starts.len() - 1] - starts[0]).collect();
    let lists = list::<Int32Type>(values.iter().copied(), &items);
    let lengths = starts.windows(2).map(|pair| pair[1] - pair[0]);
    Arc::new(ListArray::new(inner, OffsetBuffer::from_lengths(lengths), lists, None))
}

fn reals(values: &[f64], kind: &DataType, starts: &[usize]) -> ArrayRef {
    match kind {
        DataType::List(field) if *field.data_type() == DataType::Float32 => {
            list::<Float32Type>(values.iter().map(|&value| value as f32), starts)
        }
        _ => list::<Float64Type>(values.iter().copied(), starts),
    }
}
