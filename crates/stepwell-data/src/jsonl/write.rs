//! From datasets to JSON lines.

use std::io::{self, Write};

use serde::{Serialize, Serializer};

use stepwell::targets::{Labels, Targets};

use crate::dataset::Dataset;
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
    /// Writes to `output`, which errors call `place`.
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

    /// Flushes and hands back what was written to.
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
            object.put(Key::X, values)?;
            object.put(Key::XDim, &width)?;
        }
        if let Some(all) = &dataset.coordinates {
            let offsets = dataset.graphs.vertex_offsets();
            object.put(Key::Pos, all[offsets[index]..offsets[index + 1]].as_flattened())?;
        }
        match &dataset.targets {
            Targets::None => {}
            Targets::Classes(Labels::Int(values)) => object.put(Key::Y, &values[index])?,
            Targets::Classes(Labels::Bool(values)) => object.put(Key::Y, &values[index])?,
            Targets::Classes(Labels::Float(values)) => object.put(Key::Y, &values[index])?,
            Targets::Classes(Labels::Text(values)) => object.put(Key::Y, &values[index])?,
            Targets::Binary(values) => {
                let label = |&value: &f64| (!value.is_nan()).then_some(u8::from(value != 0.0));
                object.put(Key::Y, &values.row(index).iter().map(label).collect::<Vec<_>>())?;
            }
            // NaN is written as null.
            Targets::Numbers(values) if values.ncols() == 1 => object.put(Key::Y, &values[(index, 0)])?,
            Targets::Numbers(values) => object.put(Key::Y, &values.row(index).to_vec())?,
        }
        if let Some(parts) = &dataset.parts {
            object.put(Key::Split, parts[index].name())?;
        }
        if graph.is_directed() {
            object.put(Key::Directed, &true)?;
        }
        self.line.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// Integers, or lists of several.
struct LabelRows<'a>(&'a [i32], usize);

impl Serialize for LabelRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self(values, 1) => values.serialize(serializer),
            Self(values, width) => serializer.collect_seq(values.chunks(*width)),
        }
    }
}

/// A line that grows key by key.
struct Object<'a>(&'a mut Vec<u8>);

impl Object<'_> {
    fn put<T: Serialize + ?Sized>(&mut self, key: Key, value: &T) -> serde_json::Result<()> {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        self.0.push(b'"');
        self.0.extend_from_slice(key.name().as_bytes());
        self.0.extend_from_slice(b"\":");
        serde_json::to_writer(&mut *self.0, value)
    }
}
