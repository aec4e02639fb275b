//! One line of JSON into the parts of a row, without a tree in between.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::quote;
use crate::rows::{Fault, Ignored, Key, Row, Target, ragged};

/// What a line said.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// One bit for each key that was there.
    met: u32,
    id: Option<String>,
    num_nodes: Option<u64>,
    src: Option<Vec<u32>>,
    dst: Option<Vec<u32>>,
    weight: Option<Vec<f64>>,
    edge_label: Option<LabelRows>,
    edge_attr: Option<Vec<f64>>,
    edge_attr_dim: Option<u64>,
    node_label: Option<LabelRows>,
    x: Option<Vec<f64>>,
    x_dim: Option<u64>,
    pos: Option<Vec<f64>>,
    y: Option<Y>,
    split: Option<String>,
    directed: Option<bool>,
    /// Keys that are not ours.
    pub ignored: Ignored,
}

/// Labels of edges or vertices: integers, or lists of integers.
#[derive(Debug, Default)]
struct LabelRows {
    values: Vec<i32>,
    /// Labels in the first list; nothing where there are no lists.
    width: Option<usize>,
    /// Rows so far, and those that are lists.
    rows: usize,
    lists: usize,
    /// The first list of another length, and its length.
    ragged: Option<(usize, usize)>,
}

/// The labels, unless rows of them differ.
fn labels(key: Key, found: &Option<LabelRows>) -> Result<Option<(&[i32], usize)>, Fault> {
    let Some(found) = found else { return Ok(None) };
    let width = found.width.unwrap_or(1);
    if found.lists > 0 && found.lists < found.rows {
        let expected = format!("integers alone, or lists of integers alone, in '{}'", key.name());
        return Err(Fault::new(expected, "both"));
    }
    match found.ragged {
        Some((at, length)) => Err(ragged(key, at, width, length)),
        None => Ok(Some((&found.values, width))),
    }
}

impl<'de> Deserialize<'de> for LabelRows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = LabelRows;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<LabelRows, A::Error> {
                let mut found = LabelRows::default();
                while rows.next_element_seed(&mut found)?.is_some() {
                    found.rows += 1;
                }
                Ok(found)
            }
        }
        deserializer.deserialize_seq(Rows)
    }
}

/// Takes one row more.
impl<'de> DeserializeSeed<'de> for &mut LabelRows {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut LabelRows {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer of 32 bits")
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(value), &"an integer of 32 bits");
        self.values.push(i32::try_from(value).map_err(wrong)?);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        let wrong = |_| E::invalid_value(Unexpected::Unsigned(value), &"an integer of 32 bits");
        self.values.push(i32::try_from(value).map_err(wrong)?);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let before = self.values.len();
        while let Some(label) = list.next_element()? {
            self.values.push(label);
        }
        let length = self.values.len() - before;
        if *self.width.get_or_insert(length) != length {
            self.ragged = self.ragged.or(Some((self.rows, length)));
        }
        self.lists += 1;
        Ok(())
    }
}

#[derive(Debug)]
enum Y {
    Int(i64),
    Bool(bool),
    Text(String),
    Real(f64),
}

impl Line {
    /// Reads a line.
    pub fn parse(&mut self, text: &str) -> Result<Row<'_>, Fault> {
        *self = Self { ignored: std::mem::take(&mut self.ignored), ..Self::default() };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let parsed = deserializer.deserialize_map(&mut *self).and_then(|()| deserializer.end());
        parsed.map_err(|error| explain(text, &error))?;
        Ok(Row {
            id: self.id.as_deref(),
            num_nodes: self.num_nodes.ok_or_else(|| Key::NumNodes.missing("key"))?,
            src: self.src.as_deref().ok_or_else(|| Key::Src.missing("key"))?,
            dst: self.dst.as_deref().ok_or_else(|| Key::Dst.missing("key"))?,
            weight: self.weight.as_deref(),
            edge_label: labels(Key::EdgeLabel, &self.edge_label)?,
            edge_attr: self.edge_attr.as_deref(),
            edge_attr_dim: self.edge_attr_dim,
            node_label: labels(Key::NodeLabel, &self.node_label)?,
            x: self.x.as_deref(),
            x_dim: self.x_dim,
            pos: self.pos.as_deref(),
            y: self.y.as_ref().map(|y| match y {
                Y::Int(value) => Target::Int(*value),
                Y::Bool(value) => Target::Bool(*value),
                Y::Text(value) => Target::Text(value),
                Y::Real(value) => Target::Real(*value),
            }),
            split: self.split.as_deref(),
            directed: self.directed == Some(true),
        })
    }

    fn value<'de, A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<(), A::Error> {
        match key {
            Key::NumNodes => self.num_nodes = map.next_value()?,
            Key::XDim => self.x_dim = map.next_value()?,
            Key::EdgeAttrDim => self.edge_attr_dim = map.next_value()?,
            Key::Src => self.src = map.next_value()?,
            Key::Dst => self.dst = map.next_value()?,
            Key::Weight => self.weight = map.next_value()?,
            Key::EdgeLabel => self.edge_label = map.next_value()?,
            Key::EdgeAttr => self.edge_attr = map.next_value()?,
            Key::NodeLabel => self.node_label = map.next_value()?,
            Key::X => self.x = map.next_value()?,
            Key::Pos => self.pos = map.next_value()?,
            Key::Split => self.split = map.next_value()?,
            Key::Directed => self.directed = map.next_value()?,
            // A graph may be called by a number; nothing else that is a text may be one.
            Key::Id => match map.next_value()? {
                Value::Number(number) if !number.is_f64() => self.id = Some(number.to_string()),
                other => self.id = Option::deserialize(other).map_err(A::Error::custom)?,
            },
            Key::Y => {
                let text = map.next_value::<&RawValue>()?.get();
                let wrong = |()| A::Error::custom(Wrong(key, &quote(text.as_bytes())));
                self.y = target(text).map_err(wrong)?;
            }
        }
        Ok(())
    }
}

/// A target from its text: only the text tells `1` from `1.0`, and a whole
/// number too large for 64 bits from a real one.
fn target(text: &str) -> Result<Option<Y>, ()> {
    Ok(Some(match text.as_bytes() {
        b"null" => return Ok(None),
        [b'"', ..] => Y::Text(serde_json::from_str(text).map_err(drop)?),
        b"true" => Y::Bool(true),
        b"false" => Y::Bool(false),
        _ if text.contains(['.', 'e', 'E']) => Y::Real(serde_json::from_str(text).map_err(drop)?),
        _ => Y::Int(text.parse().map_err(drop)?),
    }))
}

impl<'de> Visitor<'de> for &mut Line {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let Some(key) = Key::from_name(&name) else {
                self.ignored.add(&name);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if self.met & 1 << key as u32 != 0 {
                let twice = format_args!("invalid value: a second '{name}', expected every key once");
                return Err(A::Error::custom(twice));
            }
            self.met |= 1 << key as u32;
            self.value(key, &mut map).map_err(|error| match parts(&error.to_string()) {
                // Which key it was, and all that it may hold, the parser does not know.
                Some((found, _)) => A::Error::custom(Wrong(key, found)),
                None => error,
            })?;
        }
        Ok(())
    }
}

/// Something else than the key holds, said as serde says it.
struct Wrong<'a>(Key, &'a str);

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid value: {}, expected {} in '{}'", self.1, self.0.holds(), self.0.name())
    }
}

/// What was found and expected: values of the wrong kind arrive as
/// "invalid type: FOUND, expected EXPECTED".
fn parts(message: &str) -> Option<(&str, &str)> {
    let tail = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    tail?.rsplit_once(", expected ")
}

/// The parser's complaint in our words; what is not JSON at all is shown with
/// its surroundings.
fn explain(text: &str, error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head);
    if let Some((found, expected)) = parts(message) {
        let cut: String = found.chars().take(80).collect();
        let dots = if cut.len() < found.len() { "…" } else { "" };
        return Fault::new(expected, format!("{cut}{dots}"));
    }
    // A column counts bytes and may lie inside a character.
    let at = error.column().saturating_sub(1).min(text.len());
    let around = &text.as_bytes()[at.saturating_sub(10)..text.len().min(at + 10)];
    Fault::new("valid JSON", format!("{} around column {} ({message})", quote(around), error.column()))
}
