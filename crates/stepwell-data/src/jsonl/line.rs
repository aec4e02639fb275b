//! One line of JSON into the parts of a row, without a tree in between.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::quote;
use crate::rows::{Fault, Ignored, Key, Row, Target};

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
    edge_label: Option<Vec<i32>>,
    edge_attr: Option<Vec<f64>>,
    edge_attr_dim: Option<u64>,
    node_label: Option<Vec<i32>>,
    x: Option<Vec<f64>>,
    x_dim: Option<u64>,
    pos: Option<Vec<f64>>,
    y: Option<Y>,
    split: Option<String>,
    directed: Option<bool>,
    /// Keys that are not ours.
    pub ignored: Ignored,
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
            edge_label: self.edge_label.as_deref(),
            edge_attr: self.edge_attr.as_deref(),
            edge_attr_dim: self.edge_attr_dim,
            node_label: self.node_label.as_deref(),
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
