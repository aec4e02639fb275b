//! A parsed pickle: an array of objects, and access to its values.

use super::array::{Array, product, shown};
use super::heap::{Heap, Object, Value};
use super::matrix::Matrix;
use crate::error::{Error, Result};

/// The array of objects that a pickle holds.
#[derive(Debug)]
pub(super) struct Objects<'a> {
    heap: Heap<'a>,
    root: Value<'a>,
    list: Value<'a>,
}

impl<'a> Objects<'a> {
    /// Checks that the final value of a pickle is an array of objects.
    pub(super) fn new(heap: Heap<'a>, at: usize, root: Value<'a>) -> Result<Self> {
        let Some(&Object::ArrayOfObjects(ref shape, list)) = heap.object(root) else {
            return heap.malformed(at, "an array of objects", root);
        };
        let list = Value::Object(list);
        match heap.object(list) {
            Some(Object::List(items)) if Some(items.len()) == product(shape) => Ok(Self { heap, root, list }),
            _ => heap.malformed(at, format!("as many objects as the shape {} says", shown(shape)), list),
        }
    }

    pub(super) fn values(&self) -> &[Value<'a>] {
        match self.heap.object(self.list) {
            Some(Object::List(items)) => items,
            _ => &[],
        }
    }

    /// A value as an array of numbers.
    pub(super) fn array(&self, value: Value<'a>) -> Result<&Array<'a>> {
        match self.heap.object(value) {
            Some(Object::Array(array)) => Ok(array),
            _ => Err(self.unexpected(value, "an array of numbers")),
        }
    }

    /// A value as a sparse matrix.
    pub(super) fn matrix(&self, value: Value<'a>) -> Result<Matrix<'_, 'a>> {
        match self.heap.object(value) {
            Some(Object::Matrix(format, attributes)) => {
                Ok(Matrix { heap: &self.heap, at: self.at(value), format: *format, attributes })
            }
            _ => Err(self.unexpected(value, "a sparse matrix")),
        }
    }

    fn unexpected(&self, value: Value<'a>, expected: &str) -> Error {
        Error::malformed(self.heap.place.byte(self.at(value)), expected, self.heap.describe(value))
    }

    /// The byte offset where a value was created or, for plain values, where the array around it
    /// was.
    pub(super) fn at(&self, value: Value<'a>) -> u64 {
        self.heap.made_at(value).or(self.heap.made_at(self.root)).unwrap_or_default()
    }
}
