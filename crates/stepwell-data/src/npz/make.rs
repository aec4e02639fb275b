//! The objects that the names of a pickle create.
//!
//! Calling a name only inspects its arguments and records the resulting object: an array, a type,
//! some bytes. Nothing is ever executed.

use super::array::{Array, Dtype, KNOWN_TYPES, MAX_RANK};
use super::heap::{ATTRIBUTES, Heap, Object, Value};
use super::limits::Allowance;
use super::names::Global;
use crate::error::{Error, Result, quote};

/// The most attributes of a matrix; SciPy writes about eight.
const MAX_ATTRIBUTES: usize = 64;

impl<'a> Heap<'a> {
    /// The result of calling a name with a tuple of arguments.
    pub(super) fn call(&mut self, at: usize, name: Value<'a>, arguments: Value<'a>) -> Result<Value<'a>> {
        let Some(Object::Tuple(items)) = self.object(arguments) else {
            return self.malformed(at, "a tuple of arguments", arguments);
        };
        let object = match (name, &**items) {
            (Value::Global(Global::Reconstruct), [Value::Global(Global::Ndarray), ..]) => Object::NewArray,
            (Value::Global(Global::Dtype), [name, ..]) => {
                match name.text().map(|text| (text, Dtype::parse(text))) {
                    Some((_, Some(dtype))) => Object::Dtype(dtype),
                    Some((text, None)) => {
                        let place = self.place.byte(at as u64);
                        return Err(Error::malformed(place, KNOWN_TYPES, quote(text.as_bytes())));
                    }
                    None => return self.malformed(at, KNOWN_TYPES, *name),
                }
            }
            (Value::Global(Global::FromBuffer), &[data, dtype, shape, order, ..]) => {
                let fortran = match order.text() {
                    Some("C") => false,
                    Some("F") => true,
                    _ => return self.malformed(at, "the order 'C' or 'F'", order),
                };
                self.array(at, shape, dtype, fortran, data)?
            }
            (Value::Global(Global::Scalar), &[dtype, data]) => return self.scalar(at, dtype, data),
            (Value::Global(Global::Encode), [Value::Text(text), Value::Text("latin1")]) => {
                return Ok(Value::Latin1(text));
            }
            (Value::Global(Global::Bytes), []) => return Ok(Value::Bytes(&[])),
            (Value::Global(global), _) => {
                return self.malformed(at, format!("the arguments of {global}"), arguments);
            }
            _ => return self.malformed(at, "a function of NumPy", name),
        };
        self.add(at, object)
    }

    /// A new object of a class, whose state is set later.
    pub(super) fn make(&mut self, at: usize, class: Value<'a>, arguments: Value<'a>) -> Result<Value<'a>> {
        match (class, self.object(arguments)) {
            (Value::Global(Global::Matrix(format)), Some(Object::Tuple(items))) if items.is_empty() => {
                self.add(at, Object::NewMatrix(format))
            }
            (Value::Global(Global::Matrix(_)), _) => self.malformed(at, "no arguments", arguments),
            _ => self.malformed(at, "a class of sparse matrices", class),
        }
    }

    /// Sets the state of an object.
    pub(super) fn build(&mut self, at: usize, value: Value<'a>, state: Value<'a>) -> Result<()> {
        let built = match (self.object(value), self.object(state)) {
            (Some(Object::Dtype(dtype)), Some(Object::Tuple(items))) => {
                let order = items.get(1).and_then(|order| order.text());
                match order.and_then(|order| dtype.with_order(order)) {
                    Some(dtype) => Object::Dtype(dtype),
                    None => return self.malformed(at, "the state of a dtype", state),
                }
            }
            (Some(Object::NewArray), Some(Object::Tuple(items))) => match **items {
                [_, shape, dtype, fortran, data] => match fortran.truth() {
                    Some(fortran) => self.array(at, shape, dtype, fortran, data)?,
                    None => return self.malformed(at, "True or False", fortran),
                },
                _ => return self.malformed(at, "the five parts of an array", state),
            },
            (Some(Object::NewMatrix(format)), Some(Object::Dict(items))) => {
                if items.len() > MAX_ATTRIBUTES {
                    return self.malformed(at, "the attributes of a matrix", state);
                }
                let mut attributes = Box::new([Value::None; ATTRIBUTES.len()]);
                for (key, value) in items {
                    let known = ATTRIBUTES.iter().position(|&known| key.text() == Some(known));
                    if let Some(slot) = known.and_then(|known| attributes.get_mut(known)) {
                        *slot = *value;
                    }
                }
                Object::Matrix(*format, attributes)
            }
            (Some(Object::Dtype(_) | Object::NewArray | Object::NewMatrix(_)), _) => {
                return self.malformed(at, "the state of an array or a matrix", state);
            }
            _ => return self.malformed(at, "an array or a matrix to be filled", value),
        };
        self.spend_inside(at, &built)?;
        if let Some(object) = self.object_mut(value) {
            *object = built;
        }
        Ok(())
    }

    fn array(
        &self,
        at: usize,
        shape: Value<'a>,
        dtype: Value<'a>,
        fortran: bool,
        data: Value<'a>,
    ) -> Result<Object<'a>> {
        let sizes = self.sizes(shape).map_or_else(|| self.malformed(at, "a shape", shape), Ok)?;
        let Some(&Object::Dtype(dtype)) = self.object(dtype) else {
            return self.malformed(at, "a dtype", dtype);
        };
        match (data, self.object(data)) {
            (Value::Object(list), Some(Object::List(_))) if dtype.is_object() => {
                Ok(Object::ArrayOfObjects(sizes, list))
            }
            _ => match data.data() {
                Some(data) if !dtype.is_object() => {
                    Ok(Object::Array(Box::new(Array { at: at as u64, dtype, shape: sizes, fortran, data })))
                }
                _ => self.malformed(at, "the data of an array", data),
            },
        }
    }

    fn scalar(&self, at: usize, dtype: Value<'a>, data: Value<'a>) -> Result<Value<'a>> {
        match (self.object(dtype), data.data()) {
            (Some(&Object::Dtype(dtype)), Some(data)) => {
                let array = Array { at: at as u64, dtype, shape: [].into(), fortran: false, data };
                let number = array.integers(&self.place, &mut Allowance::new("one number", 8))?;
                Ok(number.first().map_or(Value::None, |&n| Value::Integer(n)))
            }
            _ => self.malformed(at, "a dtype and bytes", data),
        }
    }

    /// A tuple of lengths.
    pub(super) fn sizes(&self, value: Value<'a>) -> Option<Box<[usize]>> {
        match self.object(value) {
            Some(Object::Tuple(items)) if items.len() <= MAX_RANK => {
                items.iter().map(|item| item.size()).collect()
            }
            _ => None,
        }
    }
}
