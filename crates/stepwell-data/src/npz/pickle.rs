//! The pickle reader: supports what pickles of arrays and sparse matrices need, and executes
//! nothing.
//!
//! A pickle is a program for a stack machine whose instructions may import any name and call it.
//! This reader knows the instructions below and the names in [`names`](super::names); everything
//! else is an error. It reads protocols 2 to 5.
//!
//! It reads every byte once, and compares every size with the remaining bytes before using it.
//! Bytes and strings are borrowed; the stack and the memory for objects are limited.

use super::heap::{Heap, Object, Value};
use super::limits::Allowance;
use super::names::Global;
use super::objects::Objects;
use crate::error::{Error, Place, Result, quote};

/// The most values and marks on the stack. Python writes lists and dicts in chunks of 1000, so real
/// pickles stay far below.
const MAX_STACK: usize = 10_000;

/// Reads the pickle from byte `start` to the end.
pub(super) fn load<'a>(bytes: &'a [u8], start: usize, place: &Place, limit: u64) -> Result<Objects<'a>> {
    let heap = Heap::new(Allowance::for_objects(bytes.len().saturating_sub(start), limit), place.clone());
    Machine {
        bytes,
        place,
        opcode_at: start,
        next: start,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        heap,
    }
    .run()
}

struct Machine<'a, 'p> {
    bytes: &'a [u8],
    place: &'p Place,
    /// The offset of the current instruction.
    opcode_at: usize,
    /// The next byte to read.
    next: usize,
    stack: Vec<Value<'a>>,
    /// The stack heights at the open marks.
    marks: Vec<usize>,
    memo: Vec<Value<'a>>,
    heap: Heap<'a>,
}

impl<'a> Machine<'a, '_> {
    fn run(mut self) -> Result<Objects<'a>> {
        loop {
            self.opcode_at = self.next;
            match self.byte()? {
                b'.' => return self.stop(),
                opcode => self.execute(opcode)?,
            }
        }
    }

    fn execute(&mut self, opcode: u8) -> Result<()> {
        let at = self.opcode_at;
        match opcode {
            0x80 => self.protocol(),
            0x95 => self.frame(),
            b'(' => self.mark(),
            // Constants.
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Boolean(true)),
            0x89 => self.push(Value::Boolean(false)),
            b'J' => {
                let number = self.number(4)? as u32 as i32;
                self.push(Value::Integer(number.into()))
            }
            b'K' => self.unsigned(1),
            b'M' => self.unsigned(2),
            0x8a => self.long(),
            // Strings and bytes.
            0x8c => self.text(1),
            b'X' => self.text(4),
            0x8d => self.text(8),
            b'C' | b'U' => self.binary(1),
            b'B' | b'T' => self.binary(4),
            0x8e | 0x96 => self.binary(8),
            // Containers.
            b')' => self.tuple(0),
            0x85..=0x87 => self.tuple(usize::from(opcode - 0x84)),
            b't' => {
                let items = self.pop_to_mark()?;
                let tuple = self.heap.add(at, Object::Tuple(items.into()))?;
                self.push(tuple)
            }
            b']' => self.push_object(Object::List(Vec::new())),
            b'}' => self.push_object(Object::Dict(Vec::new())),
            b'a' => {
                let item = self.pop()?;
                self.heap.append(at, self.top()?, &[item])
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.heap.append(at, self.top()?, &items)
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.heap.insert(at, self.top()?, &[key, value])
            }
            b'u' => {
                let pairs = self.pop_to_mark()?;
                self.heap.insert(at, self.top()?, &pairs)
            }
            // The memo.
            0x94 => self.put(self.memo.len()),
            b'q' => self.number(1).and_then(|index| self.put(index as usize)),
            b'r' => self.number(4).and_then(|index| self.put(index as usize)),
            b'h' => self.number(1).and_then(|index| self.get(index as usize)),
            b'j' => self.number(4).and_then(|index| self.get(index as usize)),
            // Names, and objects created from them.
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(module, name)
            }
            0x93 => match (self.pop()?, self.pop()?) {
                (Value::Text(name), Value::Text(module)) => self.global(module.as_bytes(), name.as_bytes()),
                (name, _) => self.heap.malformed(at, "the name of a module and a name in it", name),
            },
            b'R' => {
                let (arguments, name) = (self.pop()?, self.pop()?);
                let made = self.heap.call(at, name, arguments)?;
                self.push(made)
            }
            0x81 => {
                let (arguments, class) = (self.pop()?, self.pop()?);
                let made = self.heap.make(at, class, arguments)?;
                self.push(made)
            }
            b'b' => {
                let state = self.pop()?;
                self.heap.build(at, self.top()?, state)
            }
            unknown => {
                let shown = format!("{:#04x} {} (nothing was executed)", unknown, quote(&[unknown]));
                self.malformed("an instruction that pickled arrays and matrices use", shown)
            }
        }
    }

    fn stop(mut self) -> Result<Objects<'a>> {
        let root = self.pop()?;
        let left = self.bytes.len() - self.next;
        if left > 0 {
            return self
                .malformed("the end of the pickle to be the end of the file", format!("{left} more bytes"));
        }
        Objects::new(self.heap, self.opcode_at, root)
    }

    fn protocol(&mut self) -> Result<()> {
        match self.byte()? {
            2..=5 => Ok(()),
            other => self.malformed("protocol 2, 3, 4 or 5", other.to_string()),
        }
    }

    /// Frames group instructions for buffered readers; here they are only checked.
    fn frame(&mut self) -> Result<()> {
        let (length, left) = (self.number(8)?, self.left());
        if length <= left as u64 {
            Ok(())
        } else {
            self.malformed(format!("a frame within the {left} bytes left"), length.to_string())
        }
    }

    fn unsigned(&mut self, width: usize) -> Result<()> {
        let number = self.number(width)?;
        self.push(Value::Integer(number as i64))
    }

    fn long(&mut self) -> Result<()> {
        let length = self.number(1)? as usize;
        let bytes = self.take(length as u64)?;
        if length > 8 {
            return self.malformed("an integer of at most 8 bytes", length.to_string());
        }
        let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        let mut word = [if negative { 0xff } else { 0 }; 8];
        word[..length].copy_from_slice(bytes);
        self.push(Value::Integer(i64::from_le_bytes(word)))
    }

    fn text(&mut self, width: usize) -> Result<()> {
        let length = self.number(width)?;
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => self.push(Value::Text(text)),
            Err(_) => self.malformed("a string in UTF-8", quote(bytes)),
        }
    }

    fn binary(&mut self, width: usize) -> Result<()> {
        let length = self.number(width)?;
        let bytes = self.take(length)?;
        self.push(Value::Bytes(bytes))
    }

    fn tuple(&mut self, length: usize) -> Result<()> {
        let mut items = vec![Value::None; length];
        for item in items.iter_mut().rev() {
            *item = self.pop()?;
        }
        self.push_object(Object::Tuple(items.into()))
    }

    fn put(&mut self, index: usize) -> Result<()> {
        let value = self.top()?;
        // Picklers number the memo from 0; one of them from 1.
        if index > self.memo.len() + 1 {
            let expected = format!("a memo index up to {}", self.memo.len());
            return self.malformed(expected, index.to_string());
        }
        if index >= self.memo.len() {
            let more = index + 1 - self.memo.len();
            self.heap.spend::<Value<'_>>(self.opcode_at, more)?;
            self.memo.resize(index + 1, Value::None);
        }
        self.memo[index] = value;
        Ok(())
    }

    fn get(&mut self, index: usize) -> Result<()> {
        match self.memo.get(index) {
            Some(&value) => self.push(value),
            None => {
                let expected = format!("one of the {} values noted so far", self.memo.len());
                self.malformed(expected, format!("number {index}"))
            }
        }
    }

    fn global(&mut self, module: &[u8], name: &[u8]) -> Result<()> {
        let known = match (std::str::from_utf8(module), std::str::from_utf8(name)) {
            (Ok(module), Ok(name)) => Global::find(module, name),
            _ => None,
        };
        match known {
            Some(global) => self.push(Value::Global(global)),
            None => {
                let shown = quote(&[module, b".", name].concat());
                self.malformed(
                    "a name that pickled arrays and matrices use",
                    format!("{shown} (nothing was executed)"),
                )
            }
        }
    }

    fn mark(&mut self) -> Result<()> {
        self.check_room()?;
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn push_object(&mut self, object: Object<'a>) -> Result<()> {
        let value = self.heap.add(self.opcode_at, object)?;
        self.push(value)
    }

    fn push(&mut self, value: Value<'a>) -> Result<()> {
        self.check_room()?;
        self.stack.push(value);
        Ok(())
    }

    fn check_room(&self) -> Result<()> {
        if self.stack.len() + self.marks.len() < MAX_STACK {
            Ok(())
        } else {
            self.malformed(format!("at most {MAX_STACK} values and marks nested"), "more")
        }
    }

    /// The top value, unless a mark is on top.
    fn top(&self) -> Result<Value<'a>> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.last() {
            Some(&value) if self.stack.len() > floor => Ok(value),
            _ => self.malformed("a value on the stack", "none"),
        }
    }

    fn pop(&mut self) -> Result<Value<'a>> {
        let value = self.top()?;
        self.stack.pop();
        Ok(value)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value<'a>>> {
        match self.marks.pop() {
            Some(height) => Ok(self.stack.split_off(height)),
            None => self.malformed("a mark on the stack", "none"),
        }
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.next
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let left = self.left();
        if length > left as u64 {
            return self.malformed(format!("{length} more bytes"), left.to_string());
        }
        let bytes = &self.bytes[self.next..self.next + length as usize];
        self.next += bytes.len();
        Ok(bytes)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.number(1)? as u8)
    }

    /// A little-endian number of `width` bytes.
    fn number(&mut self, width: usize) -> Result<u64> {
        let bytes = self.take(width as u64)?;
        Ok(bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
    }

    fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.next..];
        match memchr::memchr(b'\n', rest) {
            Some(length) => {
                self.next += length + 1;
                Ok(&rest[..length])
            }
            None => self.malformed("a name that ends with its line", quote(rest)),
        }
    }

    fn malformed<T>(&self, expected: impl Into<String>, found: impl Into<String>) -> Result<T> {
        Err(Error::malformed(self.place.byte(self.opcode_at as u64), expected, found))
    }
}
