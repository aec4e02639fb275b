//! Graphs made ready for any number of embeddings: normalised, lifted, put in
//! the order of a sweep, and in the precision it runs in.

use rayon::prelude::*;

use super::kernel::{Operator, Real};
use super::options::{Precision, ReservoirOptions};
use super::order::by_colour;
use crate::error::{Error, Result};
use crate::features::Inputs;
use crate::graph::{GraphBatch, GraphRef};
use crate::lift::Refiner;

/// A part has at least so many vertices, unless it is the last one. Parts are
/// what threads take in turn; they change no result.
const PART_VERTICES: usize = 2048;

/// Graphs ready to be embedded. See the [module of reservoirs](super).
pub struct Prepared {
    graphs: usize,
    vertices: usize,
    features: usize,
    pub(super) parts: Parts,
}

pub(super) enum Parts {
    F32(Vec<Part<f32>>),
    F64(Vec<Part<f64>>),
}

/// Neighbouring graphs of the batch.
pub(super) struct Part<T> {
    pub operator: Operator<T>,
    pub inputs: PartInputs<T>,
    /// Where each graph's vertices begin in the part, with their number at the end.
    pub vertex_starts: Vec<usize>,
    /// The row of its graph that computes each vertex.
    pub places: Vec<u32>,
}

/// What drives the rows of a part.
pub(super) struct PartInputs<T> {
    /// Dense columns, `dense_width` of them, row after row.
    pub dense: Vec<T>,
    pub dense_width: usize,
    /// The one-hot column of each row; the number of columns where it has none.
    /// Empty when there is no such part.
    pub one_hot: Vec<u32>,
    pub one_hot_width: usize,
}

impl Prepared {
    /// Prepares all graphs of a batch, whose vertices have the given inputs.
    pub fn new(batch: &GraphBatch, inputs: &Inputs, options: &ReservoirOptions) -> Result<Self> {
        options.validate()?;
        let vertices = batch.num_vertices();
        let length = |what, expected, found| match expected == found {
            true => Ok(()),
            false => Err(Error::Length { what, expected, found }),
        };
        length("dense inputs", vertices * inputs.dense_width(), inputs.dense().len())?;
        if inputs.one_hot_width() > 0 {
            length("one-hot inputs", vertices, inputs.one_hot().len())?;
        }
        let parts = match options.precision {
            Precision::F32 => Parts::F32(parts(batch, inputs, options)?),
            Precision::F64 => Parts::F64(parts(batch, inputs, options)?),
        };
        Ok(Self { graphs: batch.len(), vertices, features: inputs.width(), parts })
    }

    /// How many graphs there are.
    pub fn len(&self) -> usize {
        self.graphs
    }

    /// Whether there is no graph.
    pub fn is_empty(&self) -> bool {
        self.graphs == 0
    }

    /// Vertices of all graphs.
    pub fn num_vertices(&self) -> usize {
        self.vertices
    }

    /// Columns of the inputs, F.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Rows that a sweep computes: the vertices, less those that lifting spares.
    pub fn num_rows(&self) -> usize {
        match &self.parts {
            Parts::F32(parts) => parts.iter().map(|p| p.operator.num_rows()).sum(),
            Parts::F64(parts) => parts.iter().map(|p| p.operator.num_rows()).sum(),
        }
    }

    /// Entries that a sweep gathers over.
    pub fn num_entries(&self) -> usize {
        match &self.parts {
            Parts::F32(parts) => parts.iter().map(|p| p.operator.num_entries()).sum(),
            Parts::F64(parts) => parts.iter().map(|p| p.operator.num_entries()).sum(),
        }
    }
}

fn parts<T: Real>(batch: &GraphBatch, inputs: &Inputs, options: &ReservoirOptions) -> Result<Vec<Part<T>>> {
    let mut ranges = Vec::new();
    let (mut start, mut vertices) = (0, 0);
    for graph in batch.iter() {
        vertices += graph.num_vertices();
        if vertices >= PART_VERTICES || graph.index() + 1 == batch.len() {
            ranges.push(start..graph.index() + 1);
            (start, vertices) = (graph.index() + 1, 0);
        }
    }
    ranges
        .into_par_iter()
        .map(|range| {
            let (mut part, mut refiner) = (Part::new(inputs), Refiner::default());
            range.into_iter().try_for_each(|index| {
                let first = batch.vertex_offsets()[index];
                part.push(batch.graph(index), first, inputs, options, &mut refiner)
            })?;
            Ok(part)
        })
        .collect()
}

impl<T: Real> Part<T> {
    fn new(inputs: &Inputs) -> Self {
        Self {
            operator: Operator::new(),
            inputs: PartInputs {
                dense: Vec::new(),
                dense_width: inputs.dense_width(),
                one_hot: Vec::new(),
                one_hot_width: inputs.one_hot_width(),
            },
            vertex_starts: vec![0],
            places: Vec::new(),
        }
    }

    /// Appends a graph whose vertices begin at `first` in the batch.
    fn push(
        &mut self,
        graph: GraphRef<'_>,
        first: usize,
        inputs: &Inputs,
        options: &ReservoirOptions,
        refiner: &mut Refiner,
    ) -> Result<()> {
        let values = match (options.normalize, graph.weights()) {
            (true, _) => graph.normalized_weights(),
            (false, Some(weights)) => weights.to_vec(),
            (false, None) => vec![1.0; graph.num_entries()],
        };
        let precision = match options.precision {
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        };
        let graph_index = graph.index();
        let too_large =
            |what| move |value| Error::TooLargeForPrecision { precision, what, graph: graph_index, value };
        let quotient = match options.lift {
            true => refiner.quotient(graph, &identities(inputs, first, graph.num_vertices()), &values),
            false => None,
        };
        // A graph that is not lifted is its own quotient.
        let whole: Vec<usize>;
        let (row_starts, columns, values, sizes) = match &quotient {
            Some(q) => (&q.row_starts, q.columns.as_slice(), &q.values, Some(q.sizes.as_slice())),
            None => {
                whole = graph.row_starts().collect();
                (&whole, graph.all_neighbours(), &values, None)
            }
        };
        let order = by_colour(row_starts, columns, graph.is_directed());
        let places = self.operator.push(row_starts, columns, values, sizes, &order);
        let places = places.map_err(too_large("an edge weight"))?;
        match &quotient {
            Some(q) => self.places.extend(q.class_of.iter().map(|&class| places[class as usize])),
            None => self.places.extend(places),
        }
        let vertex = |row: u32| quotient.as_ref().map_or(row, |q| q.representatives[row as usize]) as usize;
        let vertices = order.rows.iter().map(|&row| first + vertex(row));
        self.inputs.push(inputs, vertices).map_err(too_large("an input"))?;
        self.vertex_starts.push(self.places.len());
        Ok(())
    }
}

impl<T: Real> PartInputs<T> {
    /// Appends the inputs of vertices of the batch; answers with the first
    /// that is not finite in `T`.
    fn push(&mut self, inputs: &Inputs, vertices: impl Iterator<Item = usize>) -> Result<(), f64> {
        for vertex in vertices {
            if self.dense_width > 0 {
                for &value in inputs.dense_row(vertex) {
                    let rounded = T::from_f64(value);
                    if !rounded.is_finite() {
                        return Err(value);
                    }
                    self.dense.push(rounded);
                }
            }
            if self.one_hot_width > 0 {
                let column = inputs.one_hot()[vertex];
                // The line behind the last column is all zeros.
                self.one_hot.push(column.min(self.one_hot_width as u32));
            }
        }
        Ok(())
    }
}

/// A number for each vertex, equal for two exactly when all bits of their
/// inputs are. Numbers are ranks of rows, so that they do not depend on whether
/// one-hot rows are held as columns or written out.
fn identities(inputs: &Inputs, first: usize, count: usize) -> Vec<u64> {
    let vertices = first..first + count;
    match (inputs.dense_width(), inputs.one_hot_width()) {
        (0, 0) => vec![0; count],
        (0, width) => {
            let keys: Vec<u64> = inputs.one_hot()[vertices].iter().map(|&c| one_hot_key(c, width)).collect();
            let mut ranks = keys.clone();
            ranks.sort_unstable();
            ranks.dedup();
            keys.iter().map(|key| ranks.partition_point(|rank| rank < key) as u64).collect()
        }
        (1, 0) => inputs.dense()[vertices].iter().map(|x| x.to_bits()).collect(),
        (_, width) => {
            let bits = |v: usize| {
                let column = inputs.one_hot().get(v).map(|&column| one_hot_key(column, width));
                inputs.dense_row(v).iter().map(|x| x.to_bits()).chain(column)
            };
            let mut sorted: Vec<usize> = vertices.collect();
            sorted.sort_unstable_by(|&a, &b| bits(a).cmp(bits(b)));
            let mut numbers = vec![0; count];
            let mut number = 0;
            for pair in sorted.windows(2) {
                number += u64::from(!bits(pair[0]).eq(bits(pair[1])));
                numbers[pair[1] - first] = number;
            }
            numbers
        }
    }
}

/// Sorts columns as the rows they stand for would be: zeros first, then those
/// whose 1 comes last.
fn one_hot_key(column: u32, width: usize) -> u64 {
    if column == Inputs::NO_COLUMN { 0 } else { (width as u64).saturating_sub(u64::from(column)) }
}
