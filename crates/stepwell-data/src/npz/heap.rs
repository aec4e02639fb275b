//! The objects of a pickle.
//!
//! Objects lie in a [`Heap`] and refer to each other by number. However deep or circular a pickle
//! is, nothing is nested, so nothing recurses, and sharing an object costs one number.

use super::array::{Array, Data, Dtype, shown};
use super::limits::Allowance;
use super::names::{Format, Global};
use crate::error::{Error, Place, Result, quote};

/// The attributes that define a matrix, over all versions of SciPy.
pub(super) const ATTRIBUTES: [&str; 7] = ["_shape", "data", "indices", "indptr", "row", "col", "coords"];

/// A value that fits in a few bytes, or the number of an object in the heap.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    None,
    Boolean(bool),
    Integer(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Bytes written as a string, one character each.
    Latin1(&'a str),
    Global(Global),
    Object(usize),
}

impl<'a> Value<'a> {
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            // Python 2 did not distinguish strings from bytes. Names are short, and checking long
            // bytes repeatedly would be slow.
            Self::Bytes(bytes) if bytes.len() <= 32 => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(super) fn size(self) -> Option<usize> {
        match self {
            Self::Integer(n) => usize::try_from(n).ok(),
            _ => None,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Boolean(_) | Self::Integer(_))
    }

    pub(super) fn truth(self) -> Option<bool> {
        match self {
            Self::Boolean(truth) => Some(truth),
            Self::Integer(n) => Some(n != 0),
            _ => None,
        }
    }

    pub(super) fn data(self) -> Option<Data<'a>> {
        match self {
            Self::Bytes(bytes) => Some(Data::Bytes(bytes)),
            Self::Latin1(text) => Some(Data::Latin1(text)),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Object<'a> {
    Tuple(Box<[Value<'a>]>),
    List(Vec<Value<'a>>),
    Dict(Vec<(Value<'a>, Value<'a>)>),
    Dtype(Dtype),
    /// An array before its state is set.
    NewArray,
    Array(Box<Array<'a>>),
    /// An array of objects: its shape and its list.
    ArrayOfObjects(Box<[usize]>, usize),
    /// A matrix before its state is set.
    NewMatrix(Format),
    /// A matrix and its [`ATTRIBUTES`].
    Matrix(Format, Box<[Value<'a>; ATTRIBUTES.len()]>),
}

/// All objects of one pickle.
#[derive(Debug)]
pub(super) struct Heap<'a> {
    /// Each with the byte offset where it was created.
    objects: Vec<(u64, Object<'a>)>,
    allowance: Allowance,
    pub(super) place: Place,
}

impl<'a> Heap<'a> {
    pub(super) fn new(allowance: Allowance, place: Place) -> Self {
        Self { objects: Vec::new(), allowance, place }
    }

    /// Charges the memory of `count` items.
    pub(super) fn spend<T>(&mut self, at: usize, count: usize) -> Result<()> {
        self.allowance.spend((count * size_of::<T>()) as u64, || self.place.byte(at as u64))
    }

    /// Adds an object.
    pub(super) fn add(&mut self, at: usize, object: Object<'a>) -> Result<Value<'a>> {
        self.spend::<(u64, Object<'_>)>(at, 1)?;
        self.spend_inside(at, &object)?;
        self.objects.push((at as u64, object));
        Ok(Value::Object(self.objects.len() - 1))
    }

    /// Charges the memory an object holds beyond its own size.
    pub(super) fn spend_inside(&mut self, at: usize, object: &Object<'_>) -> Result<()> {
        match object {
            Object::Tuple(items) => self.spend::<Value<'_>>(at, items.len()),
            Object::Array(array) => {
                self.spend::<Array<'_>>(at, 1)?;
                self.spend::<usize>(at, array.shape.len())
            }
            Object::ArrayOfObjects(shape, _) => self.spend::<usize>(at, shape.len()),
            Object::Matrix(..) => self.spend::<Value<'_>>(at, ATTRIBUTES.len()),
            _ => Ok(()),
        }
    }

    /// Appends values to a list.
    pub(super) fn append(&mut self, at: usize, list: Value<'a>, values: &[Value<'a>]) -> Result<()> {
        self.spend::<Value<'_>>(at, values.len())?;
        match self.object_mut(list) {
            Some(Object::List(items)) => items.extend_from_slice(values),
            _ => return self.malformed(at, "a list to append to", list),
        }
        Ok(())
    }

    /// Adds alternating keys and values to a dict.
    pub(super) fn insert(&mut self, at: usize, dict: Value<'a>, pairs: &[Value<'a>]) -> Result<()> {
        self.spend::<Value<'_>>(at, pairs.len())?;
        let (pairs, []) = pairs.as_chunks() else {
            return Err(Error::malformed(self.place.byte(at as u64), "a value for every key", "a key alone"));
        };
        match self.object_mut(dict) {
            Some(Object::Dict(items)) => items.extend(pairs.iter().map(|&[key, value]| (key, value))),
            _ => return self.malformed(at, "a dict to add to", dict),
        }
        Ok(())
    }

    pub(super) fn object(&self, value: Value<'a>) -> Option<&Object<'a>> {
        match value {
            Value::Object(number) => self.objects.get(number).map(|(_, object)| object),
            _ => None,
        }
    }

    /// The byte offset where an object was created.
    pub(super) fn made_at(&self, value: Value<'a>) -> Option<u64> {
        match value {
            Value::Object(number) => self.objects.get(number).map(|&(at, _)| at),
            _ => None,
        }
    }

    pub(super) fn object_mut(&mut self, value: Value<'a>) -> Option<&mut Object<'a>> {
        match value {
            Value::Object(number) => self.objects.get_mut(number).map(|(_, object)| object),
            _ => None,
        }
    }

    pub(super) fn malformed<T>(&self, at: usize, expected: impl Into<String>, found: Value<'a>) -> Result<T> {
        Err(Error::malformed(self.place.byte(at as u64), expected, self.describe(found)))
    }

    /// Describes a value for an error message.
    pub(super) fn describe(&self, value: Value<'a>) -> String {
        match (value, self.object(value)) {
            (Value::Boolean(truth), _) => if truth { "True" } else { "False" }.into(),
            (Value::Integer(n), _) => n.to_string(),
            (Value::Text(text) | Value::Latin1(text), _) => quote(text.as_bytes()),
            (Value::Bytes(bytes), _) => format!("{} bytes", bytes.len()),
            (Value::Global(global), _) => format!("'{global}'"),
            (_, Some(Object::Tuple(items)))
                if items.iter().all(|item| item.is_number()) && items.len() < 5 =>
            {
                format!("({})", items.iter().map(|&item| self.describe(item)).collect::<Vec<_>>().join(", "))
            }
            (_, Some(Object::Tuple(items))) => format!("a tuple of {}", items.len()),
            (_, Some(Object::List(items))) => format!("a list of {}", items.len()),
            (_, Some(Object::Dict(items))) => format!("a dict of {}", items.len()),
            (_, Some(Object::Dtype(_))) => "a dtype".into(),
            (_, Some(Object::NewArray | Object::NewMatrix(_))) => "an object without state".into(),
            (_, Some(Object::Array(array))) => format!("an array of shape {}", shown(&array.shape)),
            (_, Some(Object::ArrayOfObjects(shape, _))) => format!("an array of objects {}", shown(shape)),
            (_, Some(Object::Matrix(..))) => "a sparse matrix".into(),
            (Value::None | Value::Object(_), None) => "None".into(),
        }
    }
}
