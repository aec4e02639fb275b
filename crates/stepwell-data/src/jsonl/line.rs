//! One line of JSON into the buffers of a row, without a tree in between.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;

use crate::error::quote;
use crate::rows::{Fault, Ignored, Key, Row, Target};

/// What a line said; its buffers are used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// One bit for each key that was there, and one for each that was not null.
    met: u32,
    present: u32,
    num_nodes: u64,
    x_dim: u64,
    edge_attr_dim: u64,
    src: Vec<u32>,
    dst: Vec<u32>,
    weight: Vec<f64>,
    edge_label: Vec<i32>,
    edge_attr: Vec<f64>,
    node_label: Vec<i32>,
    x: Vec<f64>,
    pos: Vec<f64>,
    id: String,
    split: String,
    directed: bool,
    y: Y,
    /// Keys that are not ours.
    pub ignored: Ignored,
}

#[derive(Debug, Default)]
enum Y {
    #[default]
    Null,
    Int(i64),
    Bool(bool),
    Text(String),
    Real(f64),
}

impl Line {
    /// Reads a line.
    pub fn parse(&mut self, text: &str) -> Result<Row<'_>, Fault> {
        (self.met, self.present, self.y) = (0, 0, Y::Null);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let parsed = (&mut *self).deserialize(&mut deserializer).and_then(|()| deserializer.end());
        parsed.map_err(|error| explain(text, &error))?;
        for key in [Key::NumNodes, Key::Src, Key::Dst] {
            if !self.has(key) {
                return Err(key.missing("key"));
            }
        }
        Ok(self.row())
    }

    fn has(&self, key: Key) -> bool {
        self.present & 1 << key as u32 != 0
    }

    fn row(&self) -> Row<'_> {
        fn some<T>(present: bool, value: T) -> Option<T> {
            present.then_some(value)
        }
        Row {
            id: some(self.has(Key::Id), &self.id),
            num_nodes: self.num_nodes,
            src: &self.src,
            dst: &self.dst,
            weight: some(self.has(Key::Weight), &self.weight),
            edge_label: some(self.has(Key::EdgeLabel), &self.edge_label),
            edge_attr: some(self.has(Key::EdgeAttr), &self.edge_attr),
            edge_attr_dim: some(self.has(Key::EdgeAttrDim), self.edge_attr_dim),
            node_label: some(self.has(Key::NodeLabel), &self.node_label),
            x: some(self.has(Key::X), &self.x),
            x_dim: some(self.has(Key::XDim), self.x_dim),
            pos: some(self.has(Key::Pos), &self.pos),
            y: match &self.y {
                Y::Null => None,
                Y::Int(value) => Some(Target::Int(*value)),
                Y::Bool(value) => Some(Target::Bool(*value)),
                Y::Text(value) => Some(Target::Text(value)),
                Y::Real(value) => Some(Target::Real(*value)),
            },
            split: some(self.has(Key::Split), &self.split),
            directed: self.has(Key::Directed) && self.directed,
        }
    }

    fn value<'de, A: MapAccess<'de>>(&mut self, key: Key, map: &mut A) -> Result<bool, A::Error> {
        match key {
            Key::NumNodes => map.next_value_seed(Value(key, &mut self.num_nodes)),
            Key::XDim => map.next_value_seed(Value(key, &mut self.x_dim)),
            Key::EdgeAttrDim => map.next_value_seed(Value(key, &mut self.edge_attr_dim)),
            Key::Src => map.next_value_seed(Value(key, &mut self.src)),
            Key::Dst => map.next_value_seed(Value(key, &mut self.dst)),
            Key::Weight => map.next_value_seed(Value(key, &mut self.weight)),
            Key::EdgeLabel => map.next_value_seed(Value(key, &mut self.edge_label)),
            Key::EdgeAttr => map.next_value_seed(Value(key, &mut self.edge_attr)),
            Key::NodeLabel => map.next_value_seed(Value(key, &mut self.node_label)),
            Key::X => map.next_value_seed(Value(key, &mut self.x)),
            Key::Pos => map.next_value_seed(Value(key, &mut self.pos)),
            Key::Id => map.next_value_seed(Value(key, &mut self.id)),
            Key::Split => map.next_value_seed(Value(key, &mut self.split)),
            Key::Directed => map.next_value_seed(Value(key, &mut self.directed)),
            Key::Y => {
                self.y = target(map.next_value::<&RawValue>()?.get())?;
                Ok(!matches!(self.y, Y::Null))
            }
        }
    }
}

/// A target from its text: only the text tells `1` from `1.0`, and a whole
/// number too large for 64 bits from a real one.
fn target<E: serde::de::Error>(text: &str) -> Result<Y, E> {
    let wrong = || E::custom(Wrong(Key::Y, quote(text.as_bytes())));
    let y = match text.as_bytes() {
        b"null" => Y::Null,
        [b'"', ..] => Y::Text(serde_json::from_str(text).map_err(|_| wrong())?),
        b"true" => Y::Bool(true),
        b"false" => Y::Bool(false),
        _ if text.contains(['.', 'e', 'E']) => Y::Real(serde_json::from_str(text).map_err(|_| wrong())?),
        _ => Y::Int(text.parse().map_err(|_| wrong())?),
    };
    Ok(y)
}

impl<'de> DeserializeSeed<'de> for &mut Line {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Line {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(KeyName(&mut self.ignored))? {
            let Some(key) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let bit = 1 << key as u32;
            if self.met & bit != 0 {
                let found = format!("a second '{}'", key.name());
                return Err(A::Error::custom(format_args!(
                    "invalid value: {found}, expected every key once"
                )));
            }
            self.met |= bit;
            if self.value(key, &mut map)? {
                self.present |= bit;
            }
        }
        Ok(())
    }
}

/// A key, or nothing for one that is not ours.
struct KeyName<'a>(&'a mut Ignored);

impl<'de> DeserializeSeed<'de> for KeyName<'_> {
    type Value = Option<Key>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Key>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyName<'_> {
    type Value = Option<Key>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Option<Key>, E> {
        let key = Key::from_name(name);
        if key.is_none() {
            self.0.add(name);
        }
        Ok(key)
    }
}

/// A place to put a key's value. Gives back whether there was one, since null is none.
struct Value<'a, T>(Key, &'a mut T);

/// The same for the elements of a list.
struct Element<T>(Key, std::marker::PhantomData<T>);

/// A number the schema knows.
trait Number: Copy {
    fn from_unsigned(value: u64) -> Option<Self>;
    fn from_signed(value: i64) -> Option<Self>;
    fn from_real(_value: f64) -> Option<Self> {
        None
    }
}

macro_rules! whole_number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn from_unsigned(value: u64) -> Option<Self> {
                value.try_into().ok()
            }

            fn from_signed(value: i64) -> Option<Self> {
                value.try_into().ok()
            }
        }
    )*};
}

whole_number!(u32, i32, u64);

impl Number for f64 {
    fn from_unsigned(value: u64) -> Option<Self> {
        Some(value as f64)
    }

    fn from_signed(value: i64) -> Option<Self> {
        Some(value as f64)
    }

    fn from_real(value: f64) -> Option<Self> {
        Some(value)
    }
}

impl<'de, T: Number> DeserializeSeed<'de> for Element<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_f64(self)
    }
}

impl<T: Number> Visitor<'_> for Element<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in '{}'", self.0.holds(), self.0.name())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<T, E> {
        T::from_unsigned(value).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<T, E> {
        T::from_signed(value).ok_or_else(|| E::invalid_value(Unexpected::Signed(value), &self))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<T, E> {
        T::from_real(value).ok_or_else(|| E::invalid_value(Unexpected::Float(value), &self))
    }
}

impl<'de, T> DeserializeSeed<'de> for Value<'_, T>
where
    Self: Visitor<'de, Value = bool>,
{
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! expecting_and_null {
    () => {
        type Value = bool;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} in '{}'", self.0.holds(), self.0.name())
        }

        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }
    };
}

impl<'de, T: Number> Visitor<'de> for Value<'_, Vec<T>> {
    expecting_and_null!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        self.1.clear();
        while let Some(number) = list.next_element_seed(Element(self.0, std::marker::PhantomData))? {
            self.1.push(number);
        }
        Ok(true)
    }
}

impl<'de> Visitor<'de> for Value<'_, u64> {
    expecting_and_null!();

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<bool, E> {
        *self.1 = value;
        Ok(true)
    }
}

impl<'de> Visitor<'de> for Value<'_, bool> {
    expecting_and_null!();

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<bool, E> {
        *self.1 = value;
        Ok(true)
    }
}

impl<'de> Visitor<'de> for Value<'_, String> {
    expecting_and_null!();

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<bool, E> {
        self.1.clear();
        self.1.push_str(value);
        Ok(true)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<bool, E> {
        self.number(value, Unexpected::Unsigned(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<bool, E> {
        self.number(value, Unexpected::Signed(value))
    }
}

impl Value<'_, String> {
    /// A graph may be called by a number; nothing else that is a text may be one.
    fn number<E: serde::de::Error>(self, value: impl fmt::Display, found: Unexpected<'_>) -> Result<bool, E> {
        if self.0 != Key::Id {
            return Err(E::invalid_type(found, &self));
        }
        *self.1 = value.to_string();
        Ok(true)
    }
}

/// Something else than the key holds, said as serde says it.
struct Wrong(Key, String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid value: {}, expected {} in '{}'", self.1, self.0.holds(), self.0.name())
    }
}

/// The parser's complaint in our words. Values of the wrong kind arrive as
/// "invalid type: FOUND, expected EXPECTED at line 1 column 5"; what is not
/// JSON at all is shown with its surroundings.
fn explain(text: &str, error: &serde_json::Error) -> Fault {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head);
    let tail = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = tail.and_then(|tail| tail.rsplit_once(", expected ")) {
        let cut: String = found.chars().take(80).collect();
        let dots = if cut.len() < found.len() { "…" } else { "" };
        return Fault::new(expected, format!("{cut}{dots}"));
    }
    // A column counts bytes and may lie inside a character.
    let at = error.column().saturating_sub(1).min(text.len());
    let around = &text.as_bytes()[at.saturating_sub(10)..text.len().min(at + 10)];
    Fault::new("valid JSON", format!("{} around column {} ({message})", quote(around), error.column()))
}
