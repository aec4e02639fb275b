//! From the columns of a record batch to rows.
//!
//! A column is converted as a whole, in one loop that knows its type, so that
//! no number is looked at through a dynamic type. Rows are slices of the
//! result.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, StringArray, StringViewArray};
use arrow_schema::DataType;

use crate::rows::{Fault, Key, Row, Target};

/// A fault, and the row of the batch it was found in where it was in one.
pub(super) struct Located {
    pub row: Option<usize>,
    pub fault: Fault,
}

impl From<Fault> for Located {
    fn from(fault: Fault) -> Self {
        Self { row: None, fault }
    }
}

impl Located {
    fn null(row: usize, key: Key) -> Self {
        Self { row: Some(row), fault: other(key, "null") }
    }
}

/// A key that holds something else than it should.
fn other(key: Key, found: impl Into<String>) -> Fault {
    Fault::new(format!("{} in '{}'", key.holds(), key.name()), found)
}

const NO_NULLS: &str = "required columns were found to have no nulls";

type Result<T, E = Located> = std::result::Result<T, E>;

/// The columns of a batch, converted and checked for their types and ranges.
pub(super) struct Columns {
    num_nodes: Scalars<u64>,
    src: Lists<u32>,
    dst: Lists<u32>,
    id: Option<Texts>,
    weight: Option<Lists<f64>>,
    edge_label: Option<Lists<i32>>,
    edge_attr: Option<Lists<f64>>,
    edge_attr_dim: Option<Scalars<u64>>,
    node_label: Option<Lists<i32>>,
    x: Option<Lists<f64>>,
    x_dim: Option<Scalars<u64>>,
    pos: Option<Lists<f64>>,
    y: Option<TargetColumn>,
    split: Option<Texts>,
    directed: Option<ArrayRef>,
}

/// A column of targets, as it is stored.
enum TargetColumn {
    Int(Scalars<i64>),
    Bool(ArrayRef),
    Real(Scalars<f64>),
    Text(Texts),
}

impl Columns {
    pub fn new(batch: &RecordBatch) -> Result<Self> {
        let column = Finder(batch);
        Ok(Self {
            num_nodes: column.required(Key::NumNodes, Scalars::new, |c| &c.present)?,
            src: column.required(Key::Src, Lists::new, |c| &c.present)?,
            dst: column.required(Key::Dst, Lists::new, |c| &c.present)?,
            id: column.optional(Key::Id, Texts::new)?,
            weight: column.optional(Key::Weight, Lists::new)?,
            edge_label: column.optional(Key::EdgeLabel, Lists::new)?,
            edge_attr: column.optional(Key::EdgeAttr, Lists::new)?,
            edge_attr_dim: column.optional(Key::EdgeAttrDim, Scalars::new)?,
            node_label: column.optional(Key::NodeLabel, Lists::new)?,
            x: column.optional(Key::X, Lists::new)?,
            x_dim: column.optional(Key::XDim, Scalars::new)?,
            pos: column.optional(Key::Pos, Lists::new)?,
            y: column.optional(Key::Y, TargetColumn::new)?,
            split: column.optional(Key::Split, Texts::new)?,
            directed: column.optional(Key::Directed, truth)?,
        })
    }

    /// One row of the batch.
    pub fn row(&self, row: usize) -> Row<'_> {
        fn list<T: Number>(column: &Option<Lists<T>>, row: usize) -> Option<&[T]> {
            column.as_ref()?.get(row)
        }
        Row {
            id: self.id.as_ref().and_then(|texts| texts.get(row)),
            num_nodes: self.num_nodes.get(row).expect(NO_NULLS),
            src: self.src.get(row).expect(NO_NULLS),
            dst: self.dst.get(row).expect(NO_NULLS),
            weight: list(&self.weight, row),
            edge_label: list(&self.edge_label, row),
            edge_attr: list(&self.edge_attr, row),
            edge_attr_dim: self.edge_attr_dim.as_ref().and_then(|c| c.get(row)),
            node_label: list(&self.node_label, row),
            x: list(&self.x, row),
            x_dim: self.x_dim.as_ref().and_then(|c| c.get(row)),
            pos: list(&self.pos, row),
            y: self.y.as_ref().and_then(|targets| match targets {
                TargetColumn::Int(values) => values.get(row).map(Target::Int),
                TargetColumn::Bool(values) => {
                    let values = values.as_boolean();
                    values.is_valid(row).then(|| Target::Bool(values.value(row)))
                }
                TargetColumn::Real(values) => values.get(row).map(Target::Real),
                TargetColumn::Text(texts) => texts.get(row).map(Target::Text),
            }),
            split: self.split.as_ref().and_then(|texts| texts.get(row)),
            directed: self.directed.as_ref().is_some_and(|column| {
                let values = column.as_boolean();
                values.is_valid(row) && values.value(row)
            }),
        }
    }
}

/// Looks columns up by key.
struct Finder<'a>(&'a RecordBatch);

impl Finder<'_> {
    /// The column of a key, converted. One without a type holds nothing but nulls and is none.
    fn optional<T>(&self, key: Key, convert: fn(Key, &ArrayRef) -> Result<T>) -> Result<Option<T>> {
        let fields = self.0.schema_ref().fields().iter();
        let mut named = fields.zip(self.0.columns()).filter(|(field, _)| field.name() == key.name());
        let first = named.next();
        if named.next().is_some() {
            return Err(Fault::new(format!("one column '{}'", key.name()), "two").into());
        }
        let typed = first.map(|(_, array)| array).filter(|array| *array.data_type() != DataType::Null);
        typed.map(|array| convert(key, array)).transpose()
    }

    /// The same for a column that must be there and without nulls.
    fn required<T>(
        &self,
        key: Key,
        convert: fn(Key, &ArrayRef) -> Result<T>,
        present: fn(&T) -> &Present,
    ) -> Result<T> {
        let column = self.optional(key, convert)?.ok_or_else(|| key.missing("column"))?;
        match present(&column).first_null() {
            Some(row) => Err(Located::null(row, key)),
            None => Ok(column),
        }
    }
}

/// Which rows are not null; nothing where none is.
struct Present(Option<Vec<bool>>);

impl Present {
    fn new(array: &ArrayRef) -> Self {
        let some = array.null_count() > 0;
        Self(some.then(|| (0..array.len()).map(|row| array.is_valid(row)).collect()))
    }

    fn get(&self, row: usize) -> bool {
        self.0.as_ref().is_none_or(|present| present[row])
    }

    fn first_null(&self) -> Option<usize> {
        self.0.as_ref()?.iter().position(|present| !present)
    }
}

/// One number per row.
struct Scalars<T> {
    present: Present,
    values: Vec<T>,
}

impl<T: Number> Scalars<T> {
    fn new(key: Key, array: &ArrayRef) -> Result<Self> {
        let present = Present::new(array);
        let converted = T::convert(array, &|row| present.get(row)).ok_or_else(|| wrong_type(key, array))?;
        let values =
            converted.map_err(|(row, found)| Located { row: Some(row), fault: other(key, found) })?;
        Ok(Self { present, values })
    }

    fn get(&self, row: usize) -> Option<T> {
        self.present.get(row).then(|| self.values[row])
    }
}

/// One list of numbers per row.
struct Lists<T> {
    present: Present,
    /// Row r has the values `starts[r]..starts[r + 1]`.
    starts: Vec<usize>,
    values: Vec<T>,
}

impl<T: Number> Lists<T> {
    fn new(key: Key, array: &ArrayRef) -> Result<Self> {
        let (mut starts, elements): (Vec<usize>, _) = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (list.offsets().iter().map(|&start| start as usize).collect(), list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (list.offsets().iter().map(|&start| start as usize).collect(), list.values())
            }
            DataType::FixedSizeList(_, size) => {
                let list = array.as_fixed_size_list();
                ((0..=list.len()).map(|row| row * *size as usize).collect(), list.values())
            }
            _ => return Err(wrong_type(key, array).into()),
        };
        let (first, end) = (starts[0], starts[array.len()]);
        starts.iter_mut().for_each(|start| *start -= first);
        let elements = elements.slice(first, end - first);

        // A null row may span values, which mean nothing.
        let present = Present::new(array);
        let row_of = |at: usize| starts.partition_point(|&start| start <= at) - 1;
        let counts = |at: usize| present.get(row_of(at));
        if elements.null_count() > 0
            && let Some(at) = (0..elements.len()).find(|&at| elements.is_null(at) && counts(at))
        {
            return Err(Located::null(row_of(at), key));
        }
        // A list that was never filled has elements of no type.
        let values = if elements.is_empty() && *elements.data_type() == DataType::Null {
            Vec::new()
        } else {
            T::convert(&elements, &counts)
                .ok_or_else(|| wrong_type(key, array))?
                .map_err(|(at, found)| Located { row: Some(row_of(at)), fault: other(key, found) })?
        };
        Ok(Self { present, starts, values })
    }

    fn get(&self, row: usize) -> Option<&[T]> {
        self.present.get(row).then(|| &self.values[self.starts[row]..self.starts[row + 1]])
    }
}

/// One text per row.
enum Texts {
    Small(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    /// Each row's position among the texts; nothing where it is null.
    Dictionary(Vec<Option<usize>>, Box<Texts>),
}

impl Texts {
    fn new(key: Key, array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Small(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Large(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            kind if key == Key::Id && kind.is_integer() => {
                let numbers = Scalars::<i64>::new(key, array)?;
                let name = |row| numbers.get(row).map(|number| number.to_string());
                Self::Small((0..array.len()).map(name).collect())
            }
            DataType::Dictionary(_, texts) if !matches!(**texts, DataType::Dictionary(..)) => {
                let dictionary = array.as_any_dictionary();
                let positions = if dictionary.values().is_empty() {
                    vec![0; array.len()]
                } else {
                    dictionary.normalized_keys()
                };
                let present = dictionary.keys();
                let rows = positions.iter().enumerate().map(|(row, &at)| present.is_valid(row).then_some(at));
                Self::Dictionary(rows.collect(), Box::new(Self::new(key, dictionary.values())?))
            }
            _ => return Err(wrong_type(key, array).into()),
        })
    }

    fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary(rows, texts) => rows[row].and_then(|at| texts.get(at)),
        }
    }
}

impl TargetColumn {
    fn new(key: Key, array: &ArrayRef) -> Result<Self> {
        use DataType::{Float16, Float32, Float64};
        Ok(match array.data_type() {
            Float16 | Float32 | Float64 => Self::Real(Scalars::new(key, array)?),
            DataType::Boolean => Self::Bool(array.clone()),
            kind if kind.is_integer() => Self::Int(Scalars::new(key, array)?),
            _ => Self::Text(Texts::new(key, array)?),
        })
    }
}

fn truth(key: Key, array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Boolean => Ok(array.clone()),
        _ => Err(wrong_type(key, array).into()),
    }
}

fn wrong_type(key: Key, array: &ArrayRef) -> Fault {
    other(key, format!("a column of type {}", array.data_type()))
}

/// Numbers, or the position and text of one that is out of range.
type Converted<T> = std::result::Result<Vec<T>, (usize, String)>;

/// A number the schema knows.
trait Number: Copy {
    /// Converts an array as a whole; nothing where its type cannot be meant.
    /// What is out of range matters only at the positions that `counts` names.
    fn convert(array: &ArrayRef, counts: &dyn Fn(usize) -> bool) -> Option<Converted<Self>>;
}

macro_rules! match_type {
    ($array:ident, $values:ident => $body:expr; $($variant:ident $type:ty),*; $($more:tt)*) => {
        match $array.data_type() {
            $(DataType::$variant => {
                let $values = $array.as_primitive::<$type>().values();
                Some($body)
            })*
            $($more)*
            _ => None,
        }
    };
    ($array:ident, whole $values:ident => $body:expr; $($more:tt)*) => {
        match_type!($array, $values => $body;
            Int8 Int8Type, Int16 Int16Type, Int32 Int32Type, Int64 Int64Type,
            UInt8 UInt8Type, UInt16 UInt16Type, UInt32 UInt32Type, UInt64 UInt64Type; $($more)*)
    };
}

macro_rules! whole_number {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn convert(array: &ArrayRef, counts: &dyn Fn(usize) -> bool) -> Option<Converted<Self>> {
                match_type!(array, whole values => narrow(values, counts);)
            }
        }
    )*};
}

whole_number!(u32, i32, u64, i64);

impl Number for f64 {
    fn convert(array: &ArrayRef, _: &dyn Fn(usize) -> bool) -> Option<Converted<Self>> {
        match_type!(array, whole values => Ok(values.iter().map(|&value| value as f64).collect());
            DataType::Float16 => Some(Ok(widen(array.as_primitive::<Float16Type>().values()))),
            DataType::Float32 => Some(Ok(widen(array.as_primitive::<Float32Type>().values()))),
            DataType::Float64 => Some(Ok(array.as_primitive::<Float64Type>().values().to_vec())),
        )
    }
}

fn widen<N: Copy + Into<f64>>(values: &[N]) -> Vec<f64> {
    values.iter().map(|&value| value.into()).collect()
}

/// Without a branch per number: whether all fit is asked once, at the end.
fn narrow<N, T>(values: &[N], counts: &dyn Fn(usize) -> bool) -> Converted<T>
where
    N: Copy + std::fmt::Display,
    T: TryFrom<N> + Default,
{
    let mut fit = true;
    let convert = |&value: &N| {
        let converted = T::try_from(value);
        fit &= converted.is_ok();
        converted.unwrap_or_default()
    };
    let converted = values.iter().map(convert).collect();
    let bad = |&at: &usize| T::try_from(values[at]).is_err() && counts(at);
    match if fit { None } else { (0..values.len()).find(bad) } {
        Some(at) => Err((at, values[at].to_string())),
        None => Ok(converted),
    }
}
