//! Converts a SciPy sparse matrix into a graph's edge list.

use super::array::{Array, shown};
use super::heap::{ATTRIBUTES, Heap, Object, Value};
use super::limits::Allowance;
use super::names::Format;
use crate::error::{Error, Result};

/// The memory of a graph and of a vertex in a batch, and while the batch is built.
const BYTES_PER_GRAPH: u64 = 64;
const BYTES_PER_VERTEX: u64 = 16;

/// A matrix in a pickle, not yet checked.
#[derive(Debug)]
pub(super) struct Matrix<'h, 'a> {
    pub(super) heap: &'h Heap<'a>,
    /// The byte offset where it was created, for messages.
    pub(super) at: u64,
    pub(super) format: Format,
    pub(super) attributes: &'h [Value<'a>; ATTRIBUTES.len()],
}

/// The entries of a square matrix.
#[derive(Debug)]
pub(super) struct Edges {
    pub(super) num_vertices: usize,
    pub(super) rows: Vec<u32>,
    pub(super) columns: Vec<u32>,
    /// `None` if every entry is 1.
    pub(super) weights: Option<Vec<f64>>,
}

/// The two ends of every entry.
type Ends = (Vec<u32>, Vec<u32>);

impl<'a> Matrix<'_, 'a> {
    /// Checks the matrix and lists its entries.
    pub(super) fn edges(&self, allowance: &mut Allowance) -> Result<Edges> {
        let num_vertices = self.num_vertices()?;
        let size = BYTES_PER_VERTEX.saturating_mul(num_vertices as u64).saturating_add(BYTES_PER_GRAPH);
        allowance.spend(size, || self.heap.place.byte(self.at))?;
        let data = self.array("data", self.attribute("data"))?;
        let mut weights = data.reals(&self.heap.place, allowance)?;
        let (rows, columns) = match self.format {
            Format::Coo => self.coordinates(num_vertices, weights.len(), allowance)?,
            Format::Csr => self.compressed(num_vertices, weights.len(), allowance)?,
            Format::Csc => {
                let (columns, rows) = self.compressed(num_vertices, weights.len(), allowance)?;
                (rows, columns)
            }
        };
        // Compressed matrices may have spare capacity after their last entry.
        weights.truncate(rows.len());
        Ok(plain(Edges { num_vertices, rows, columns, weights: Some(weights) }))
    }

    fn num_vertices(&self) -> Result<usize> {
        let shape = self.attribute("_shape");
        match self.heap.sizes(shape).as_deref() {
            Some(&[rows, columns]) if rows == columns => Ok(rows),
            Some(shape) => Err(self.malformed("a square matrix", format!("the shape {}", shown(shape)))),
            None => Err(self.malformed("the shape of a matrix", self.heap.describe(shape))),
        }
    }

    /// The rows and columns of a matrix in coordinate format.
    fn coordinates(&self, num_vertices: usize, stored: usize, allowance: &mut Allowance) -> Result<Ends> {
        // SciPy 1.13 merged `row` and `col` into `coords`.
        let (row, column) = match self.heap.object(self.attribute("coords")) {
            Some(Object::Tuple(items)) => match **items {
                [row, column] => (row, column),
                _ => return Err(self.malformed("two coordinates", items.len().to_string())),
            },
            _ => (self.attribute("row"), self.attribute("col")),
        };
        let row = self.sized("row", row, stored)?;
        let column = self.sized("col", column, stored)?;
        Ok((self.indices(row, num_vertices, allowance)?, self.indices(column, num_vertices, allowance)?))
    }

    /// The major and minor indices of a matrix in row- or column-compressed format.
    fn compressed(&self, num_vertices: usize, stored: usize, allowance: &mut Allowance) -> Result<Ends> {
        let minor = self.sized("indices", self.attribute("indices"), stored)?;
        let starts = self.sized("indptr", self.attribute("indptr"), num_vertices.saturating_add(1))?;
        let starts_at = self.heap.place.byte(starts.at);
        let starts = starts.integers(&self.heap.place, allowance)?;
        let malformed = |expected: String, found: i64| {
            Err(Error::malformed(starts_at.clone(), expected, found.to_string()))
        };
        if let Some(&first) = starts.first().filter(|&&first| first != 0) {
            return malformed("an indptr that begins with 0".into(), first);
        }
        if let Some(pair) = starts.windows(2).find(|pair| pair[1] < pair[0]) {
            return malformed(format!("an indptr that never decreases (here at least {})", pair[0]), pair[1]);
        }
        // The starts begin with 0 and never decrease, so none is negative.
        let end = starts[num_vertices];
        if end as u64 > stored as u64 {
            return malformed(format!("an indptr that ends with at most {stored}, the number of data"), end);
        }
        let mut minor = self.indices(minor, num_vertices, allowance)?;
        minor.truncate(end as usize);
        let mut major = Vec::with_capacity(end as usize);
        for (index, pair) in starts.windows(2).enumerate() {
            major.resize(pair[1] as usize, index as u32);
        }
        Ok((major, minor))
    }

    fn attribute(&self, name: &str) -> Value<'a> {
        let known = ATTRIBUTES.iter().position(|&known| known == name);
        known.and_then(|known| self.attributes.get(known)).copied().unwrap_or(Value::None)
    }

    /// An attribute as a one-dimensional array.
    fn array(&self, name: &str, value: Value<'a>) -> Result<&Array<'a>> {
        match self.heap.object(value) {
            Some(Object::Array(array)) if array.shape.len() == 1 => Ok(array),
            _ => {
                let expected = format!("a matrix whose '{name}' is an array with one index");
                Err(self.malformed(expected, self.heap.describe(value)))
            }
        }
    }

    /// Like [`array`](Self::array), with exactly `length` elements.
    fn sized(&self, name: &str, value: Value<'a>, length: usize) -> Result<&Array<'a>> {
        let array = self.array(name, value)?;
        if *array.shape == [length] {
            Ok(array)
        } else {
            let expected = format!("a matrix whose '{name}' has {length} elements");
            Err(self.malformed(expected, format!("the shape {}", shown(&array.shape))))
        }
    }

    /// Converts an array to vertex numbers.
    fn indices(&self, array: &Array<'a>, num_vertices: usize, allowance: &mut Allowance) -> Result<Vec<u32>> {
        let index = |value: i64| match u32::try_from(value) {
            Ok(index) if (index as usize) < num_vertices => Ok(index),
            _ => {
                let expected = format!("an index below {num_vertices}");
                Err(Error::malformed(self.heap.place.byte(array.at), expected, value.to_string()))
            }
        };
        array.integers(&self.heap.place, allowance)?.into_iter().map(index).collect()
    }

    fn malformed(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::malformed(self.heap.place.byte(self.at), expected, found)
    }
}

/// If all weights are 0 or 1, drops the weights and the entries that are 0.
fn plain(mut edges: Edges) -> Edges {
    let Some(weights) = edges.weights.take_if(|weights| weights.iter().all(|&w| w == 1.0 || w == 0.0)) else {
        return edges;
    };
    for list in [&mut edges.rows, &mut edges.columns] {
        let mut weight = weights.iter();
        list.retain(|_| weight.next() == Some(&1.0));
    }
    edges
}
