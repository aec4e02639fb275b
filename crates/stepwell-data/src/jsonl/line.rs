//! Parses one line of JSON into the parts of a row, without building a tree.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::quote;
use crate::rows::{
    Fault, Ignored, Key, NodeParts, NodeTargets, ReadOptions, Row, Target, no_such_column, ragged,
    texts_among_targets,
};

/// The parsed values of a line.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// One bit for each key present.
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
    /// The JSON text of each target, if present.
    targets: Vec<Option<String>>,
    y: Option<Y>,
    group: Option<String>,
    split: Option<String>,
    node_y: Option<NodeTargets>,
    node_split: Option<NodeParts>,
    directed: Option<bool>,
    /// The state kept between lines.
    kept: Kept,
}

/// The requested keys, and the keys seen in the lines so far.
#[derive(Debug, Default)]
struct Kept {
    options: ReadOptions,
    /// The keys that hold targets, and whether each was seen.
    columns: Vec<String>,
    met: Vec<bool>,
    group_met: bool,
    /// Keys that are not part of the schema.
    ignored: Ignored,
}

/// Labels of edges or vertices: integers, or lists of integers.
#[derive(Debug, Default)]
struct LabelRows {
    values: Vec<i32>,
    /// Labels in the first list; `None` if the rows are not lists.
    width: Option<usize>,
    /// Rows so far, and those that are lists.
    rows: usize,
    lists: usize,
    /// The first list with a different length, and its length.
    ragged: Option<(usize, usize)>,
}

/// The labels, unless rows differ in length or kind.
fn labels(key: Key, found: &Option<LabelRows>) -> Result<Option<(&[i32], usize)>, Fault> {
    let Some(found) = found else { return Ok(None) };
    let width = found.width.unwrap_or(1);
    if found.lists > 0 && found.lists < found.rows {
        let expected = format!("only integers, or only lists of integers, in '{}'", key.name());
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

/// Reads one more row.
impl<'de> DeserializeSeed<'de> for &mut LabelRows {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut LabelRows {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a 32-bit integer")
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        let wrong = |_| E::invalid_value(Unexpected::Signed(value), &"a 32-bit integer");
        self.values.push(i32::try_from(value).map_err(wrong)?);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        let wrong = |_| E::invalid_value(Unexpected::Unsigned(value), &"a 32-bit integer");
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
    Several(Vec<f64>),
}

impl Line {
    pub fn new(options: &ReadOptions) -> Self {
        let columns = options.target_columns();
        let met = vec![false; columns.len()];
        let options = options.clone();
        Self { kept: Kept { options, columns, met, ..Kept::default() }, ..Self::default() }
    }

    /// Returns notes about ignored keys.
    pub fn notes(&mut self) -> Vec<String> {
        self.kept.ignored.notes("key")
    }

    /// Checks that every requested key was in some line.
    pub fn check_keys(&self) -> Result<(), Fault> {
        let Kept { options, columns, met, group_met, ignored } = &self.kept;
        let missing = columns.iter().zip(met).find(|(_, met)| !options.targets.is_empty() && !**met);
        let group = options.groups.as_ref().filter(|_| !group_met);
        match missing.map(|(name, _)| name).or(group) {
            Some(name) => Err(no_such_column("key", name, ignored.names())),
            None => Ok(()),
        }
    }

    /// Parses a line.
    pub fn parse(&mut self, text: &str) -> Result<Row<'_>, Fault> {
        let kept = std::mem::take(&mut self.kept);
        let targets = vec![None; kept.columns.len()];
        *self = Self { kept, targets, ..Self::default() };
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let parsed = deserializer.deserialize_map(&mut *self).and_then(|()| deserializer.end());
        parsed.map_err(|error| explain(text, &error))?;
        self.y = self.y()?;
        if self.kept.options.groups.as_deref() == Some(Key::Id.name()) {
            self.kept.group_met |= self.met & 1 << Key::Id as u32 != 0;
            self.group.clone_from(&self.id);
        }
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
                Y::Several(values) => Target::Several(values),
            }),
            split: self.split.as_deref(),
            node_y: self.node_y.as_ref(),
            node_split: self.node_split.as_ref(),
            directed: self.directed == Some(true),
            group: self.group.as_deref(),
        })
    }

    /// The target, or all targets if several keys are named.
    fn y(&self) -> Result<Option<Y>, Fault> {
        let Kept { options, columns, .. } = &self.kept;
        let found = |at: usize| match &self.targets[at] {
            Some(text) => target(text, &columns[at], options),
            None => Ok(None),
        };
        if columns.len() == 1 {
            return found(0);
        }
        let number = |at: usize| match found(at)? {
            None => Ok(f64::NAN),
            Some(Y::Int(value)) => Ok(value as f64),
            Some(Y::Bool(value)) => Ok(f64::from(u8::from(value))),
            Some(Y::Real(value)) => Ok(value),
            Some(Y::Text(text)) => Err(texts_among_targets(options, &columns[at], &quote(text.as_bytes()))),
            Some(Y::Several(_)) => Err(Fault::new(
                format!("one number in '{}', as one of several targets", columns[at]),
                "a list",
            )),
        };
        (0..columns.len()).map(number).collect::<Result<_, _>>().map(|values| Some(Y::Several(values)))
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
            Key::NodeY => self.node_y = node_targets(map.next_value()?).map_err(A::Error::custom)?,
            Key::NodeSplit => self.node_split = node_parts(map.next_value()?).map_err(A::Error::custom)?,
            Key::Directed => self.directed = map.next_value()?,
            // An id may be an integer; other strings may not.
            Key::Id => match map.next_value()? {
                Value::Number(number) if !number.is_f64() => self.id = Some(number.to_string()),
                other => self.id = Option::deserialize(other).map_err(A::Error::custom)?,
            },
            // Other keys were named as targets instead.
            Key::Y => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }
}

/// A target from its JSON text. Only the text distinguishes `1` from `1.0`, and an integer too
/// large for 64 bits from a float.
fn target(text: &str, column: &str, options: &ReadOptions) -> Result<Option<Y>, Fault> {
    let wrong = || Fault::new(format!("{} in '{column}'", Key::Y.holds()), quote(text.as_bytes()));
    Ok(Some(match text.as_bytes() {
        b"null" => return Ok(None),
        [b'"', ..] => Y::Text(serde_json::from_str(text).map_err(|_| wrong())?),
        b"true" => Y::Bool(true),
        b"false" => Y::Bool(false),
        [b'[', ..] => {
            let values: Vec<Value> = serde_json::from_str(text).map_err(|_| wrong())?;
            let number = |value: &Value| match value {
                Value::Null => Ok(f64::NAN),
                Value::Bool(value) => Ok(f64::from(u8::from(*value))),
                Value::Number(value) => value.as_f64().ok_or_else(wrong),
                Value::String(text) => Err(texts_among_targets(options, column, &quote(text.as_bytes()))),
                _ => Err(wrong()),
            };
            Y::Several(values.iter().map(number).collect::<Result<_, _>>()?)
        }
        _ if text.contains(['.', 'e', 'E']) => Y::Real(serde_json::from_str(text).map_err(|_| wrong())?),
        _ => Y::Int(text.parse().map_err(|_| wrong())?),
    }))
}

/// Parses the targets of vertices. Errors are worded like serde's.
fn node_targets(value: Value) -> Result<Option<NodeTargets>, String> {
    let Some(values) = listed(Key::NodeY, value)? else { return Ok(None) };
    let mut found = NodeTargets::default();
    for value in &values {
        let several: Vec<f64>;
        let target = match value {
            Value::Null => None,
            Value::Bool(value) => Some(Target::Bool(*value)),
            Value::String(text) => Some(Target::Text(text)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(value), _) => Some(Target::Int(value)),
                (None, Some(value)) if number.is_f64() => Some(Target::Real(value)),
                _ => return Err(misfit(format!("{} in 'node_y'", Key::NodeY.holds()), number)),
            },
            Value::Array(values) => {
                let number = |value: &Value| match value {
                    Value::Null => Some(f64::NAN),
                    Value::Bool(value) => Some(f64::from(u8::from(*value))),
                    value => value.as_f64(),
                };
                let numbers: Option<Vec<f64>> = values.iter().map(number).collect();
                several = numbers.ok_or_else(|| misfit("numbers in the lists of 'node_y'".into(), value))?;
                Some(Target::Several(&several))
            }
            Value::Object(_) => return Err(misfit(format!("{} in 'node_y'", Key::NodeY.holds()), value)),
        };
        found.push(target).map_err(|fault| said(&fault))?;
    }
    Ok(Some(found))
}

/// Parses the parts of vertices, in one split or several.
fn node_parts(value: Value) -> Result<Option<NodeParts>, String> {
    let Some(values) = listed(Key::NodeSplit, value)? else { return Ok(None) };
    let mut found = NodeParts::default();
    let name = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(misfit(format!("{} in 'node_split'", Key::NodeSplit.holds()), other)),
    };
    for value in &values {
        let names: Vec<Option<String>> = match value {
            Value::Array(names) => names.iter().map(name).collect::<Result<_, _>>()?,
            one => vec![name(one)?],
        };
        found.push(names.iter().map(Option::as_deref)).map_err(|fault| said(&fault))?;
    }
    Ok(Some(found))
}

/// The elements of a list; `None` for null.
fn listed(key: Key, value: Value) -> Result<Option<Vec<Value>>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Array(values) => Ok(Some(values)),
        other => Err(misfit(format!("{} in '{}'", key.holds(), key.name()), other)),
    }
}

fn misfit(expected: String, found: impl fmt::Display) -> String {
    format!("invalid value: {}, expected {expected}", quote(found.to_string().as_bytes()))
}

fn said(fault: &Fault) -> String {
    match fault {
        Fault::Malformed { expected, found } => format!("invalid value: {found}, expected {expected}"),
        other => other.to_string(),
    }
}

/// Parses a group.
fn group(text: &str) -> Option<Option<String>> {
    match serde_json::from_str(text).ok()? {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text)),
        Value::Number(number) if !number.is_f64() => Some(Some(number.to_string())),
        _ => None,
    }
}

impl<'de> Visitor<'de> for &mut Line {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let twice = |name: &str| {
            A::Error::custom(format_args!("invalid value: a second '{name}', expected each key once"))
        };
        while let Some(name) = map.next_key::<String>()? {
            if let Some(at) = self.kept.columns.iter().position(|column| *column == name) {
                self.kept.met[at] = true;
                let text = map.next_value::<&RawValue>()?.get().to_owned();
                if self.targets[at].replace(text).is_some() {
                    return Err(twice(&name));
                }
                continue;
            }
            let Some(key) = Key::from_name(&name) else {
                if self.kept.options.groups.as_ref() == Some(&name) {
                    if self.group.is_some() {
                        return Err(twice(&name));
                    }
                    self.kept.group_met = true;
                    let text = map.next_value::<&RawValue>()?.get();
                    let found = quote(text.as_bytes());
                    let wrong =
                        format_args!("invalid value: {found}, expected a string or an integer in '{name}'");
                    self.group = group(text).ok_or_else(|| A::Error::custom(wrong))?;
                    continue;
                }
                self.kept.ignored.add(&name);
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if self.met & 1 << key as u32 != 0 {
                return Err(twice(&name));
            }
            self.met |= 1 << key as u32;
            self.value(key, &mut map).map_err(|error| match parts(&error.to_string()) {
                // Errors about vertices already describe the values in full.
                _ if matches!(key, Key::NodeY | Key::NodeSplit) => error,
                // The parser knows neither the key nor everything it may hold.
                Some((found, _)) => A::Error::custom(Wrong(key, found)),
                None => error,
            })?;
        }
        Ok(())
    }
}

/// A value of the wrong kind for a key, worded like serde's errors.
struct Wrong<'a>(Key, &'a str);

impl fmt::Display for Wrong<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid value: {}, expected {} in '{}'", self.1, self.0.holds(), self.0.name())
    }
}

/// Splits a message about a value of the wrong kind into FOUND and EXPECTED: "invalid type: FOUND,
/// expected EXPECTED".
fn parts(message: &str) -> Option<(&str, &str)> {
    let tail = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    tail?.rsplit_once(", expected ")
}

/// Rewords the parser's error; text that is not JSON at all is shown with its surroundings.
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
    let expected = if error.is_eof() { "one graph per line, as valid JSON" } else { "valid JSON" };
    Fault::new(expected, format!("{} around column {} ({message})", quote(around), error.column()))
}
