//! Writes datasets as JSON lines.

use std::io::{self, Write};
use std::ops::Range;

use serde::{Serialize, Serializer};

use stepwell::targets::{Labels, Targets};

use crate::dataset::{Dataset, Known, Part};
use crate::error::{Error, Place, Result};
use crate::rows::{EdgeWriter, Key, check_writable, lists_once};

/// Writes datasets, or pieces of one, as JSON lines.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    place: Place,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes to `output`; errors call it `place`.
    pub fn new(output: W, place: Place) -> Self {
        Self { output, place, line: Vec::new() }
    }

    /// Writes one line per graph.
    pub fn write(&mut self, dataset: &Dataset) -> Result<()> {
        check_writable(dataset, &self.place)?;
        let once = lists_once(&dataset.graphs);
        for index in 0..dataset.len() {
            self.line.clear();
            self.fill(dataset, index, once)
                .map_err(io::Error::from)
                .and_then(|()| self.output.write_all(&self.line))
                .map_err(|source| Error::io(self.place.to_string(), source))?;
        }
        Ok(())
    }

    /// Flushes and returns the output.
    pub fn finish(mut self) -> Result<W> {
        self.output.flush().map_err(|source| Error::io(self.place.to_string(), source))?;
        Ok(self.output)
    }

    fn fill(&mut self, dataset: &Dataset, index: usize, once: bool) -> serde_json::Result<()> {
        let graph = dataset.graphs.graph(index);
        let mut edges = EdgeWriter::default();
        edges.list(graph, once);
        let EdgeWriter { src, dst, weight, edge_label, edge_attr } = &edges;
        let mut object = Object(&mut self.line);
        if let Some(ids) = &dataset.ids {
            object.put(Key::Id, &ids[index])?;
        }
        object.put(Key::NumNodes, &graph.num_vertices())?;
        object.put(Key::Src, src)?;
        object.put(Key::Dst, dst)?;
        if graph.weights().is_some() {
            object.put(Key::Weight, weight)?;
        }
        if let Some((_, width)) = graph.edge_labels() {
            object.put(Key::EdgeLabel, &LabelRows(edge_label, width))?;
        }
        if let Some((_, width)) = graph.edge_attributes() {
            object.put(Key::EdgeAttr, edge_attr)?;
            object.put(Key::EdgeAttrDim, &width)?;
        }
        if let Some((labels, width)) = graph.vertex_labels() {
            object.put(Key::NodeLabel, &LabelRows(labels, width))?;
        }
        if let Some((values, width)) = graph.vertex_attributes() {
            object.put(Key::X, &values[..])?;
            object.put(Key::XDim, &width)?;
        }
        if let Some(all) = &dataset.coordinates {
            let offsets = dataset.graphs.vertex_offsets();
            object.put(Key::Pos, all[offsets[index]..offsets[index + 1]].as_flattened())?;
        }
        if let Some(known) = &dataset.some_classes {
            let place = known.rows.binary_search(&index).ok();
            object.put(Key::Y, &place.map(|place| OneTarget(&known.targets, place)))?;
        } else if dataset.targets != Targets::None {
            object.put(Key::Y, &OneTarget(&dataset.targets, index))?;
        }
        if let Some(parts) = &dataset.parts {
            object.put(Key::Split, parts[index].name())?;
        }
        if let Some(all) = &dataset.vertices {
            let offsets = dataset.graphs.vertex_offsets();
            let vertices = offsets[index]..offsets[index + 1];
            if !all.known.rows.is_empty() {
                object.put(Key::NodeY, &NodeY(&all.known, vertices.clone()))?;
            }
            match &all.splits[..] {
                [] => {}
                [split] => object.put(Key::NodeSplit, &names(&split[vertices]))?,
                splits => {
                    let of = |vertex: usize| splits.iter().map(|split| name(split[vertex])).collect();
                    object.put(Key::NodeSplit, &vertices.map(of).collect::<Vec<Vec<_>>>())?;
                }
            }
        }
        if graph.is_directed() {
            object.put(Key::Directed, &true)?;
        }
        if let Some((name, groups)) = dataset.group_column() {
            object.put_named(name, &groups[index])?;
        }
        self.line.extend_from_slice(b"}\n");
        Ok(())
    }
}

fn name(part: Option<Part>) -> Option<&'static str> {
    part.map(Part::name)
}

fn names(parts: &[Option<Part>]) -> Vec<Option<&'static str>> {
    parts.iter().map(|&part| name(part)).collect()
}

/// The targets of a graph's vertices, null if unknown.
struct NodeY<'a>(&'a Known, Range<usize>);

impl Serialize for NodeY<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(known, vertices) = self;
        let mut place = known.rows.partition_point(|&vertex| vertex < vertices.start);
        let places = vertices.clone().map(|vertex| {
            let is_known = known.rows.get(place) == Some(&vertex);
            place += usize::from(is_known);
            is_known.then(|| place - 1)
        });
        serializer.collect_seq(places.map(|place| place.map(|place| OneTarget(&known.targets, place))))
    }
}

/// The targets of one row.
struct OneTarget<'a>(&'a Targets, usize);

impl Serialize for OneTarget<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Self(targets, index) = *self;
        match targets {
            Targets::None => serializer.serialize_none(),
            Targets::Classes(Labels::Int(values)) => values[index].serialize(serializer),
            Targets::Classes(Labels::Bool(values)) => values[index].serialize(serializer),
            Targets::Classes(Labels::Float(values)) => values[index].serialize(serializer),
            Targets::Classes(Labels::Text(values)) => values[index].serialize(serializer),
            Targets::Binary(values) => {
                let label = |&value: &f64| (!value.is_nan()).then_some(u8::from(value != 0.0));
                serializer.collect_seq(values.row(index).iter().map(label))
            }
            // NaN is written as null.
            Targets::Numbers(values) if values.ncols() == 1 => values[(index, 0)].serialize(serializer),
            Targets::Numbers(values) => serializer.collect_seq(values.row(index)),
        }
    }
}

/// Integers, or lists of integers.
struct LabelRows<'a>(&'a [i32], usize);

impl Serialize for LabelRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self(values, 1) => values.serialize(serializer),
            Self(values, width) => serializer.collect_seq(values.chunks(*width)),
        }
    }
}

/// A JSON object written key by key.
struct Object<'a>(&'a mut Vec<u8>);

impl Object<'_> {
    fn put<T: Serialize + ?Sized>(&mut self, key: Key, value: &T) -> serde_json::Result<()> {
        self.put_named(key.name(), value)
    }

    fn put_named<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> serde_json::Result<()> {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        serde_json::to_writer(&mut *self.0, name)?;
        self.0.push(b':');
        serde_json::to_writer(&mut *self.0, value)
    }
}
