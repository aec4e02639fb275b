//! The table of all options: it defines the flags, the keys of configuration files, the
//! parameters in Python and the range checks.
//!
//! ```
//! use stepwell::config::{Kind, ModelConfig, option, options};
//! let units = option("units")?;
//! assert_eq!((units.kind, units.default()), (Kind::IntegerPerBlock, 50.into()));
//! let mut config = ModelConfig::default();
//! let refusal = units.set(&mut config, 0.into()).unwrap_err();
//! assert_eq!(refusal.to_string(), "units: expected 1 to 32768, found 0");
//! assert!(options().iter().all(|option| !option.doc.is_empty()));
//! # Ok::<(), stepwell::Error>(())
//! ```

use std::fmt;

use serde::de::value::Error as Nothing;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

use super::{
    Aggregate, Alpha, Choose, ClassWeight, EdgeGate, InputPattern, Kernel, Level, Metric, ModelConfig,
    PerBlock, Pool, Precision, Recurrence, Scaling, Solver, options,
};
use crate::error::{Error, Result};
use crate::features::StructuralFeature;
use crate::pool::Reduce;
use crate::pool::ndp::{Side, Sparsify};

/// Generates the struct, its defaults and the option table from one list: doc, group, name, type,
/// default, and the range if not every value is allowed.
macro_rules! define_options {
    ($(#[$meta:meta])* pub struct $config:ident { $(
        $(#[doc = $doc:literal])+
        $(#[serde($($serde:tt)+)])?
        $group:ident $name:ident: $type:ty = $default:expr $(, $range:expr)?;
    )+ }) => {
        $(#[$meta])*
        pub struct $config { $(
            $(#[doc = $doc])+
            $(#[serde($($serde)+)])?
            pub $name: $type,
        )+ }

        impl Default for $config {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        static OPTIONS: LazyLock<Vec<OptionInfo>> = LazyLock::new(|| vec![$(OptionInfo {
            name: stringify!($name),
            doc: [$($doc.trim()),+].join(" "),
            group: Group::$group,
            kind: <$type>::kind(),
            range: [$($range,)? Range::Any][0],
            get: |config| serde_json::to_value(&config.$name).expect("an option is a number, a name, or several"),
            copy: |from, to| to.$name.clone_from(&from.$name),
            numbers: |config| config.$name.numbers(),
            per_block: |config| config.$name.per_block(),
        }),+]);
    };
}

/// One option of a [`ModelConfig`].
#[derive(Debug)]
pub struct OptionInfo {
    /// The field name. It is also the key in files, the parameter in Python and, with dashes, the
    /// flag.
    pub name: &'static str,
    /// The description, in one paragraph. Names in backticks are symbols or other options.
    pub doc: String,
    /// The group of options it belongs to.
    pub group: Group,
    /// The type of its values.
    pub kind: Kind,
    /// The values that are allowed.
    pub range: Range,
    pub(super) get: fn(&ModelConfig) -> Value,
    pub(super) copy: fn(&ModelConfig, &mut ModelConfig),
    pub(super) numbers: fn(&ModelConfig) -> Vec<f64>,
    pub(super) per_block: fn(&ModelConfig) -> Option<usize>,
}

/// A group of options.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Group {
    /// Inputs, reservoirs and the embedding.
    Model,
    /// The pooling.
    Pooling,
    /// The regression.
    Readout,
}

impl Group {
    /// The heading of the group.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "Model",
            Self::Pooling => "Pooling",
            Self::Readout => "Readout",
        }
    }
}

/// The type of an option.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// On or off.
    Bool,
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// An integer, or none.
    OptionalInteger,
    /// An integer for all blocks, or one per block.
    IntegerPerBlock,
    /// A float for all blocks, or one per block.
    FloatPerBlock,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A list of these names.
    Choices(&'static [&'static str]),
    /// An [`Alpha`].
    Alpha,
    /// A [`ClassWeight`].
    ClassWeight,
}

/// The range of values that an option allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// All values of the type.
    Any,
    /// From the first to the second value, inclusive.
    Between(usize, usize),
    /// A list whose length lies between these two numbers.
    Count(usize, usize),
    /// Finite, at least 0.
    NotNegative,
    /// Above 0, at most 1.
    Share,
}

impl Range {
    fn contains(self, number: f64) -> bool {
        match self {
            Self::Any => true,
            Self::Between(low, high) | Self::Count(low, high) => (low as f64..=high as f64).contains(&number),
            Self::NotNegative => number.is_finite() && number >= 0.0,
            Self::Share => number > 0.0 && number <= 1.0,
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any value"),
            Self::Between(low, high) => write!(f, "{low} to {high}"),
            Self::Count(low, high) => write!(f, "{low} to {high} values"),
            Self::NotNegative => f.write_str("a finite number of at least 0"),
            Self::Share => f.write_str("more than 0 and at most 1"),
        }
    }
}

/// Looks up an option by name.
pub fn option(name: &str) -> Result<&'static OptionInfo> {
    let found = options().iter().find(|option| option.name == name);
    found.ok_or_else(|| Error::UnknownOption { name: name.to_owned() })
}

/// The value of an option as users type it on the command line.
pub fn typed(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::Bool(on) => if *on { "yes" } else { "no" }.into(),
        Value::String(name) => name.clone(),
        Value::Array(values) if values.is_empty() => "none".into(),
        Value::Array(values) => values.iter().map(typed).collect::<Vec<_>>().join(","),
        Value::Number(number) => match number.as_u64() {
            Some(number) => number.to_string(),
            None => format!("{:?}", number.as_f64().unwrap_or(f64::NAN)).trim_end_matches(".0").to_owned(),
        },
        Value::Object(_) => value.to_string(),
    }
}

impl OptionInfo {
    /// The value of this option in a configuration.
    pub fn value(&self, config: &ModelConfig) -> Value {
        (self.get)(config)
    }

    /// The default value.
    pub fn default(&self) -> Value {
        self.value(&ModelConfig::default())
    }

    /// Sets the option in a configuration if the value has the right type and is in range. Does not
    /// check conditions between options; see [`ModelConfig::validate`]. Names of values may have
    /// underscores in place of hyphens, as in Python: `roc_auc`.
    pub fn set(&self, config: &mut ModelConfig, value: Value) -> Result<()> {
        let found = value.to_string();
        let given = Map::from_iter([(self.name.to_owned(), self.hyphenated(value))]);
        let given = ModelConfig::deserialize(Value::Object(given)).map_err(|_| {
            let range = if self.range == Range::Any { String::new() } else { format!(", {}", self.range) };
            self.refused(format!("{}{range}", self.kind), &found)
        })?;
        self.check(&given)?;
        (self.copy)(&given, config);
        Ok(())
    }

    /// The value with hyphens in the names of choices.
    fn hyphenated(&self, value: Value) -> Value {
        match (self.kind, value) {
            (Kind::Choice(_) | Kind::Choices(_), Value::String(name)) => name.replace('_', "-").into(),
            (Kind::Choices(_), Value::Array(names)) => {
                names.into_iter().map(|name| self.hyphenated(name)).collect()
            }
            (_, value) => value,
        }
    }

    /// Checks that the value in a configuration is in range.
    pub(super) fn check(&self, config: &ModelConfig) -> Result<()> {
        match (self.numbers)(config).into_iter().find(|&number| !self.range.contains(number)) {
            Some(number) => Err(self.refused(self.range, number)),
            None => Ok(()),
        }
    }

    /// Checks that a list of values per block has one value for each block.
    pub(super) fn check_blocks(&self, config: &ModelConfig) -> Result<()> {
        let blocks = config.blocks;
        match (self.per_block)(config) {
            Some(values) if values != blocks => {
                let expected = format!("one value, or a list of {blocks}, one per block");
                Err(self.refused(expected, format!("{values} values")))
            }
            _ => Ok(()),
        }
    }

    fn refused(&self, expected: impl ToString, found: impl ToString) -> Error {
        Error::BadOption { name: self.name, expected: expected.to_string(), found: found.to_string() }
    }

    /// The Python type annotation, such as `int | Sequence[int]`.
    pub fn annotation(&self) -> String {
        let literal = |names: &[&str]| format!("Literal[\"{}\"]", names.join("\", \""));
        match self.kind {
            Kind::Bool => "bool".into(),
            Kind::Integer => "int".into(),
            Kind::Float => "float".into(),
            Kind::OptionalInteger => "int | None".into(),
            Kind::IntegerPerBlock => "int | Sequence[int]".into(),
            Kind::FloatPerBlock => "float | Sequence[float]".into(),
            Kind::Choice(names) => literal(names),
            Kind::Choices(names) => format!("{0} | Sequence[{0}]", literal(names)),
            Kind::Alpha => "float | Sequence[float] | Literal[\"loo\"]".into(),
            Kind::ClassWeight => "Literal[\"none\", \"balanced\", \"auto\"] | Sequence[float]".into(),
        }
    }
}

/// Describes the values that an option of this type expects.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "true or false",
            Self::Integer => "an integer",
            Self::Float => "a number",
            Self::OptionalInteger => "an integer, or none",
            Self::IntegerPerBlock => "an integer, or one per block",
            Self::FloatPerBlock => "a number, or one per block",
            Self::Choice(names) => return write!(f, "one of {}", names.join(", ")),
            Self::Choices(names) => return write!(f, "any of {}", names.join(", ")),
            Self::Alpha => "a number, a list to choose from, or loo",
            Self::ClassWeight => "none, balanced, auto, or one number per class",
        })
    }
}

/// A type that option values can have.
pub(super) trait OptionValue {
    fn kind() -> Kind;

    /// The numbers that must be in range: the values themselves, or the length of a list.
    fn numbers(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The length of a list that must have one value per block.
    fn per_block(&self) -> Option<usize> {
        None
    }
}

macro_rules! option_values {
    ($($type:ty => $kind:expr $(, $numbers:expr)?;)+) => {
        $(impl OptionValue for $type {
            fn kind() -> Kind {
                $kind
            }

            $(fn numbers(&self) -> Vec<f64> {
                $numbers(self)
            })?
        })+
    };
}

option_values! {
    bool => Kind::Bool;
    usize => Kind::Integer, |&number| vec![number as f64];
    u64 => Kind::Integer, |&number| vec![number as f64];
    f64 => Kind::Float, |&number| vec![number];
    Option<usize> => Kind::OptionalInteger, |number: &Self| number.iter().map(|&number| number as f64).collect();
    Scaling => Kind::Choice(variants::<Self>());
    Recurrence => Kind::Choice(variants::<Self>());
    EdgeGate => Kind::Choice(variants::<Self>());
    Metric => Kind::Choice(variants::<Self>());
    Kernel => Kind::Choice(variants::<Self>());
    Level => Kind::Choice(variants::<Self>());
    InputPattern => Kind::Choice(variants::<Self>());
    Precision => Kind::Choice(variants::<Self>());
    Solver => Kind::Choice(variants::<Self>());
    Pool => Kind::Choice(variants::<Self>());
    Reduce => Kind::Choice(variants::<Self>());
    Sparsify => Kind::Choice(variants::<Self>());
    Side => Kind::Choice(variants::<Self>());
    Vec<Aggregate> => Kind::Choices(variants::<Aggregate>()), |names: &Self| vec![names.len() as f64];
    Vec<Choose> => Kind::Choices(variants::<Choose>());
    Vec<StructuralFeature> => Kind::Choices(variants::<StructuralFeature>());
    Alpha => Kind::Alpha, |alpha: &Self| alpha.candidates().to_vec();
    ClassWeight => Kind::ClassWeight, |weight: &Self| match weight {
        Self::Given(weights) => weights.clone(),
        _ => Vec::new(),
    };
}

impl<T: Copy + OptionValue> OptionValue for PerBlock<T> {
    fn kind() -> Kind {
        if T::kind() == Kind::Integer { Kind::IntegerPerBlock } else { Kind::FloatPerBlock }
    }

    fn numbers(&self) -> Vec<f64> {
        self.as_slice().iter().flat_map(T::numbers).collect()
    }

    fn per_block(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Each(values) => Some(values.len()),
        }
    }
}

/// The names of an enum's variants in files, as its `Deserialize` knows them.
///
/// ```
/// use stepwell::config::{Preset, variants};
/// assert_eq!(variants::<Preset>(), ["paper", "accurate", "vertices", "reference"]);
/// ```
pub fn variants<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &[&str] = &[];
    // There is no input to read. The deserializer only records the names it is asked for.
    let _ = T::deserialize(Listening(&mut names));
    names
}

struct Listening<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Listening<'_> {
    type Error = Nothing;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> std::result::Result<V::Value, Nothing> {
        *self.0 = variants;
        Err(Nothing::custom(""))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> std::result::Result<V::Value, Nothing> {
        Err(Nothing::custom(""))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
