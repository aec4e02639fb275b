//! Converts the columns of a record batch to rows.
//!
//! A column is converted as a whole, in one loop that knows its type, so that no number is accessed
//! through a dynamic type. Rows are slices of the result.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, LargeStringArray, PrimitiveArray, RecordBatch};
use arrow_cast::cast;
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Schema};

use super::{Facts, expanded};
use crate::rows::{
    Fault, Key, NodeParts, NodeTargets, ReadOptions, Row, Target, no_such_column, ragged, texts_among_targets,
};

/// A fault, and the row of the batch that it belongs to, if any.
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

/// The fault of a key with an unexpected value.
fn other(key: Key, found: impl Into<String>) -> Fault {
    Fault::new(format!("{} in '{}'", key.holds(), key.name()), found)
}

const NO_NULLS: &str = "required columns were found to have no nulls";

type Result<T, E = Located> = std::result::Result<T, E>;

/// The columns of a batch, converted and checked for their types and ranges.
pub(super) struct Columns {
    num_nodes: PrimitiveArray<UInt64Type>,
    src: Lists<UInt32Type>,
    dst: Lists<UInt32Type>,
    id: Option<LargeStringArray>,
    weight: Option<Lists<Float64Type>>,
    edge_label: Option<LabelLists>,
    edge_attr: Option<Lists<Float64Type>>,
    edge_attr_dim: Option<PrimitiveArray<UInt64Type>>,
    node_label: Option<LabelLists>,
    x: Option<Lists<Float64Type>>,
    x_dim: Option<PrimitiveArray<UInt64Type>>,
    pos: Option<Lists<Float64Type>>,
    y: Option<TargetColumn>,
    split: Option<LargeStringArray>,
    node_y: Option<Vec<Option<NodeTargets>>>,
    node_split: Option<Vec<Option<NodeParts>>>,
    directed: Option<BooleanArray>,
    group: Option<LargeStringArray>,
}

/// The columns to read: those of the schema, and those named in the options.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub options: ReadOptions,
    /// The columns that hold targets.
    targets: Vec<String>,
    /// The positions of the targets in the list `y`, if their names are not columns but names in
    /// the metadata.
    pub picks: Vec<usize>,
    /// The column of groups that the metadata names. It deserves no note.
    groups: Option<String>,
}

impl Wanted {
    /// Refuses names of missing columns. A target is a column, or a name of the targets in `y`.
    pub fn new(options: &ReadOptions, schema: &Schema, facts: &Facts) -> Result<Self, Fault> {
        options.check()?;
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        let missing = |name: &&String| !names.contains(name);
        let place = |name: &String| facts.y.iter().position(|known| known == name);
        let picks = match options.targets.iter().any(|name| missing(&name)) {
            true => options.targets.iter().map(place).collect::<Option<Vec<usize>>>().unwrap_or_default(),
            false => Vec::new(),
        };
        let columns = if picks.is_empty() { &options.targets[..] } else { &[] };
        // A name that is neither a column nor the name of a target comes first.
        let unknown = columns.iter().find(|name| missing(name) && place(name).is_none());
        if let Some(name) = unknown.or_else(|| columns.iter().chain(&options.groups).find(missing)) {
            let other = |name: &&&String| Key::from_name(name).is_none_or(|key| key == Key::Y);
            let others = names.iter().copied().filter(|name| other(&name)).chain(&facts.y).cloned();
            return Err(no_such_column("column", name, &others.collect::<Vec<_>>()));
        }
        let targets =
            if picks.is_empty() { options.target_columns() } else { vec![Key::Y.name().to_owned()] };
        Ok(Self { options: options.clone(), targets, picks, groups: facts.groups.clone() })
    }

    /// Whether a column is read.
    pub fn has(&self, name: &String) -> bool {
        self.targets.contains(name)
            || self.options.groups.as_ref() == Some(name)
            || Key::from_name(name).is_some_and(|key| key != Key::Y)
    }

    /// Whether a column deserves a note, because it is not part of the schema.
    pub fn ignores(&self, name: &String) -> bool {
        !self.has(name) && Key::from_name(name).is_none() && self.groups.as_ref() != Some(name)
    }
}

/// A column of targets in its stored type.
enum TargetColumn {
    Int(PrimitiveArray<Int64Type>),
    Bool(BooleanArray),
    Real(PrimitiveArray<Float64Type>),
    Text(LargeStringArray),
    /// Row r has the targets `starts[r]..starts[r + 1]`, NaN if unknown, or none if its list is
    /// null.
    Several {
        lists: Option<ArrayRef>,
        starts: Vec<usize>,
        values: Vec<f64>,
    },
}

impl Columns {
    pub fn new(batch: &RecordBatch, wanted: &Wanted) -> Result<Self> {
        let column = Finder(batch);
        Ok(Self {
            num_nodes: column.required(Key::NumNodes, scalars)?,
            src: column.required(Key::Src, Lists::new)?,
            dst: column.required(Key::Dst, Lists::new)?,
            id: column.optional(Key::Id, texts)?,
            weight: column.optional(Key::Weight, Lists::new)?,
            edge_label: column.optional(Key::EdgeLabel, LabelLists::new)?,
            edge_attr: column.optional(Key::EdgeAttr, Lists::new)?,
            edge_attr_dim: column.optional(Key::EdgeAttrDim, scalars)?,
            node_label: column.optional(Key::NodeLabel, LabelLists::new)?,
            x: column.optional(Key::X, Lists::new)?,
            x_dim: column.optional(Key::XDim, scalars)?,
            pos: column.optional(Key::Pos, Lists::new)?,
            y: TargetColumn::find(&column, wanted)?,
            split: column.optional(Key::Split, texts)?,
            node_y: match column.named(Key::NodeY.name())? {
                Some(array) => Some(node_targets(&array, &wanted.options)?),
                None => None,
            },
            node_split: column.optional(Key::NodeSplit, |_, array| node_parts(array))?,
            directed: column.optional(Key::Directed, truths)?,
            group: match &wanted.options.groups {
                Some(name) => column.named(name)?.map(|array| groups(name, &array)).transpose()?,
                None => None,
            },
        })
    }

    /// One row of the batch.
    pub fn row(&self, row: usize) -> Row<'_> {
        fn list<T: ArrowPrimitiveType>(column: &Option<Lists<T>>, row: usize) -> Option<&[T::Native]> {
            column.as_ref()?.get(row)
        }
        Row {
            id: self.id.as_ref().and_then(|column| text(column, row)),
            num_nodes: self.num_nodes.value(row),
            src: self.src.get(row).expect(NO_NULLS),
            dst: self.dst.get(row).expect(NO_NULLS),
            weight: list(&self.weight, row),
            edge_label: self.edge_label.as_ref().and_then(|labels| labels.get(row)),
            edge_attr: list(&self.edge_attr, row),
            edge_attr_dim: self.edge_attr_dim.as_ref().and_then(|column| number(column, row)),
            node_label: self.node_label.as_ref().and_then(|labels| labels.get(row)),
            x: list(&self.x, row),
            x_dim: self.x_dim.as_ref().and_then(|column| number(column, row)),
            pos: list(&self.pos, row),
            y: self.y.as_ref().and_then(|targets| targets.get(row)),
            split: self.split.as_ref().and_then(|column| text(column, row)),
            node_y: self.node_y.as_ref().and_then(|rows| rows[row].as_ref()),
            node_split: self.node_split.as_ref().and_then(|rows| rows[row].as_ref()),
            directed: self.directed.as_ref().and_then(|column| truth(column, row)) == Some(true),
            group: self.group.as_ref().and_then(|column| text(column, row)),
        }
    }
}

fn number<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

fn text(column: &LargeStringArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

fn truth(column: &BooleanArray, row: usize) -> Option<bool> {
    column.is_valid(row).then(|| column.value(row))
}

/// One list of targets per row, with an element for every vertex.
fn node_targets(array: &ArrayRef, options: &ReadOptions) -> Result<Vec<Option<NodeTargets>>> {
    let (starts, elements) = taken_apart(array).ok_or_else(|| wrong_type(Key::NodeY, array))?;
    let nothing = *elements.data_type() == DataType::Null;
    let targets =
        if nothing { None } else { Some(TargetColumn::new(Key::NodeY.name(), &elements, options)?) };
    let of_row = |row: usize| {
        if array.is_null(row) {
            return Ok(None);
        }
        let mut found = NodeTargets::default();
        for at in starts[row]..starts[row + 1] {
            let target = targets.as_ref().and_then(|targets| targets.get(at));
            found.push(target).map_err(|fault| Located { row: Some(row), fault })?;
        }
        Ok(Some(found))
    };
    (0..array.len()).map(of_row).collect()
}

/// One list of names per row, with one or several names for every vertex.
fn node_parts(array: &ArrayRef) -> Result<Vec<Option<NodeParts>>> {
    let wrong = || wrong_type(Key::NodeSplit, array);
    let (starts, elements) = taken_apart(array).ok_or_else(wrong)?;
    let (inner, names) = match taken_apart(&elements) {
        Some((inner, names)) => (Some(inner), names),
        None => (None, elements.clone()),
    };
    let names = if *names.data_type() == DataType::Null {
        LargeStringArray::new_null(names.len())
    } else {
        as_texts(&names, false).ok_or_else(wrong)?
    };
    let of_row = |row: usize| {
        if array.is_null(row) {
            return Ok(None);
        }
        let mut found = NodeParts::default();
        for at in starts[row]..starts[row + 1] {
            let these = inner.as_ref().map_or(at..at + 1, |inner| inner[at]..inner[at + 1]);
            let pushed = found.push(these.map(|at| text(&names, at)));
            pushed.map_err(|fault| Located { row: Some(row), fault })?;
        }
        Ok(Some(found))
    };
    (0..array.len()).map(of_row).collect()
}

/// Looks columns up by key.
struct Finder<'a>(&'a RecordBatch);

impl Finder<'_> {
    /// The column with that name, or `None` if it has Arrow's null type.
    fn named(&self, name: &str) -> Result<Option<ArrayRef>> {
        let fields = self.0.schema_ref().fields().iter();
        let mut named = fields.zip(self.0.columns()).filter(|(field, _)| field.name() == name);
        let first = named.next();
        if named.next().is_some() {
            return Err(Fault::new(format!("one column '{name}'"), "two").into());
        }
        let array = first.map(|(_, array)| array).filter(|array| *array.data_type() != DataType::Null);
        array.map_or(Ok(()), expanded::ask)?;
        Ok(array.map(plain))
    }

    /// The converted column of a key.
    fn optional<T>(&self, key: Key, convert: fn(Key, &ArrayRef) -> Result<T>) -> Result<Option<T>> {
        self.named(key.name())?.map(|array| convert(key, &array)).transpose()
    }

    /// Like [`optional`](Self::optional), for a column that must exist and hold no nulls.
    fn required<T>(&self, key: Key, convert: fn(Key, &ArrayRef) -> Result<T>) -> Result<T> {
        let column = self.optional(key, convert)?.ok_or_else(|| key.missing("column"))?;
        let array = self.0.column_by_name(key.name()).filter(|array| array.null_count() > 0);
        match array.and_then(|array| (0..array.len()).find(|&row| array.is_null(row))) {
            Some(row) => Err(Located::null(row, key)),
            None => Ok(column),
        }
    }
}

/// Converts values to the simplest type: list views become lists, and dictionary values are looked
/// up. A value that cannot be converted is kept, so that it is refused by its type later.
fn plain(array: &ArrayRef) -> ArrayRef {
    let plainer = match array.data_type() {
        DataType::ListView(element) => DataType::List(element.clone()),
        DataType::LargeListView(element) => DataType::LargeList(element.clone()),
        DataType::Dictionary(_, values) => (**values).clone(),
        _ => return array.clone(),
    };
    cast(array, &plainer).map_or_else(|_| array.clone(), |array| plain(&array))
}

/// One number per row.
fn scalars<T: ArrowPrimitiveType>(key: Key, array: &ArrayRef) -> Result<PrimitiveArray<T>> {
    numbers(key, array, array, Some)
}

/// Converts all or part of a column to numbers of the schema's type. A value out of range is an
/// error only if it belongs to a row.
fn numbers<T: ArrowPrimitiveType>(
    key: Key,
    column: &ArrayRef,
    part: &ArrayRef,
    row_of: impl Fn(usize) -> Option<usize>,
) -> Result<PrimitiveArray<T>> {
    let kind = part.data_type();
    if !(kind.is_integer() || T::DATA_TYPE.is_floating() && kind.is_floating()) {
        return Err(wrong_type(key, column).into());
    }
    let converted = cast(part, &T::DATA_TYPE).map_err(|_| wrong_type(key, column))?;
    // Values that do not fit have become null.
    if converted.null_count() > part.null_count() {
        let lost = (0..part.len()).filter(|&at| converted.is_null(at) && part.is_valid(at));
        if let Some((at, row)) = lost.filter_map(|at| Some((at, row_of(at)?))).next() {
            let found = array_value_to_string(part, at).unwrap_or_default();
            return Err(Located { row: Some(row), fault: other(key, found) });
        }
    }
    Ok(converted.as_primitive().clone())
}

/// One list of numbers per row.
struct Lists<T: ArrowPrimitiveType> {
    lists: ArrayRef,
    /// Row r has the values `starts[r]..starts[r + 1]`.
    starts: Vec<usize>,
    values: PrimitiveArray<T>,
}

/// The start of each list of an array, followed by the number of elements; and the elements.
fn taken_apart(lists: &ArrayRef) -> Option<(Vec<usize>, ArrayRef)> {
    let (mut starts, elements): (Vec<usize>, _) = match lists.data_type() {
        DataType::List(_) => {
            let list = lists.as_list::<i32>();
            (list.offsets().iter().map(|&start| start as usize).collect(), list.values())
        }
        DataType::LargeList(_) => {
            let list = lists.as_list::<i64>();
            (list.offsets().iter().map(|&start| start as usize).collect(), list.values())
        }
        DataType::FixedSizeList(_, size) => {
            let list = lists.as_fixed_size_list();
            ((0..=list.len()).map(|row| row * *size as usize).collect(), list.values())
        }
        _ => return None,
    };
    let (first, end) = (starts[0], starts[lists.len()]);
    starts.iter_mut().for_each(|start| *start -= first);
    Some((starts, elements.slice(first, end - first)))
}

/// The list that an element belongs to; `None` if that list is null, because the elements under a
/// null list have no meaning.
fn list_of(lists: &ArrayRef, starts: &[usize], at: usize) -> Option<usize> {
    let list = starts.partition_point(|&start| start <= at) - 1;
    lists.is_valid(list).then_some(list)
}

/// Refuses null elements of a list.
fn check_nulls(key: Key, elements: &ArrayRef, row_of: impl Fn(usize) -> Option<usize>) -> Result<()> {
    let nulls = (0..elements.len()).filter(|&at| elements.null_count() > 0 && elements.is_null(at));
    match nulls.filter_map(row_of).next() {
        Some(row) => Err(Located::null(row, key)),
        None => Ok(()),
    }
}

impl<T: ArrowPrimitiveType> Lists<T> {
    fn new(key: Key, array: &ArrayRef) -> Result<Self> {
        Self::of_column(key, array, array, Some)
    }

    /// Lists that are all or part of a column.
    fn of_column(
        key: Key,
        column: &ArrayRef,
        lists: &ArrayRef,
        row_of: impl Fn(usize) -> Option<usize>,
    ) -> Result<Self> {
        let (starts, elements) = taken_apart(lists).ok_or_else(|| wrong_type(key, column))?;
        let row_of = |at: usize| list_of(lists, &starts, at).and_then(&row_of);
        check_nulls(key, &elements, row_of)?;
        // A list that was never filled has elements of the null type.
        let values = if elements.is_empty() && *elements.data_type() == DataType::Null {
            PrimitiveArray::from_iter_values([])
        } else {
            numbers(key, column, &elements, row_of)?
        };
        Ok(Self { lists: lists.clone(), starts, values })
    }

    fn length(&self, list: usize) -> usize {
        self.starts[list + 1] - self.starts[list]
    }

    fn get(&self, row: usize) -> Option<&[T::Native]> {
        self.lists.is_valid(row).then(|| &self.values.values()[self.starts[row]..self.starts[row + 1]])
    }
}

/// One list of labels per row: integers, or lists of integers that have equal lengths within a row.
enum LabelLists {
    Single(Lists<Int32Type>),
    Several {
        rows: ArrayRef,
        /// Row r has the lists `starts[r]..starts[r + 1]`.
        starts: Vec<usize>,
        lists: Lists<Int32Type>,
    },
}

impl LabelLists {
    fn new(key: Key, rows: &ArrayRef) -> Result<Self> {
        let (starts, elements) = taken_apart(rows).ok_or_else(|| wrong_type(key, rows))?;
        if taken_apart(&elements).is_none() {
            return Lists::new(key, rows).map(Self::Single);
        }
        let row_of = |at: usize| list_of(rows, &starts, at);
        check_nulls(key, &elements, row_of)?;
        let lists = Lists::of_column(key, rows, &elements, row_of)?;
        for row in (0..rows.len()).filter(|&row| rows.is_valid(row)) {
            let mut lengths = (starts[row]..starts[row + 1]).map(|list| lists.length(list));
            let Some(expected) = lengths.next() else { continue };
            if let Some((at, found)) = lengths.enumerate().find(|(_, length)| *length != expected) {
                return Err(Located { row: Some(row), fault: ragged(key, at + 1, expected, found) });
            }
        }
        Ok(Self::Several { rows: rows.clone(), starts, lists })
    }

    /// The labels of a row, and the number of labels per edge or vertex.
    fn get(&self, row: usize) -> Option<(&[i32], usize)> {
        match self {
            Self::Single(lists) => Some((lists.get(row)?, 1)),
            Self::Several { rows, starts, lists } => rows.is_valid(row).then(|| {
                let (first, end) = (starts[row], starts[row + 1]);
                let values = &lists.values.values()[lists.starts[first]..lists.starts[end]];
                (values, if first < end { lists.length(first) } else { 1 })
            }),
        }
    }
}

/// One string per row; ids may be integers.
fn texts(key: Key, array: &ArrayRef) -> Result<LargeStringArray> {
    as_texts(array, key == Key::Id).ok_or_else(|| wrong_type(key, array).into())
}

/// One group per row.
fn groups(name: &str, array: &ArrayRef) -> Result<LargeStringArray> {
    let wrong = || {
        let found = format!("a column of type {}", array.data_type());
        Fault::new(format!("strings or integers in '{name}'"), found)
    };
    as_texts(array, true).ok_or_else(|| wrong().into())
}

fn as_texts(array: &ArrayRef, numbers: bool) -> Option<LargeStringArray> {
    let is_text = |kind: &DataType| kind.is_string() || numbers && kind.is_integer();
    let known = match array.data_type() {
        DataType::Dictionary(_, kind) => is_text(kind),
        kind => is_text(kind),
    };
    let converted = Some(array).filter(|_| known).and_then(|array| cast(array, &DataType::LargeUtf8).ok());
    Some(converted?.as_string().clone())
}

impl TargetColumn {
    /// Finds the targets, in one column or several.
    fn find(column: &Finder<'_>, wanted: &Wanted) -> Result<Option<Self>> {
        let names = &wanted.targets;
        if let [name] = &names[..] {
            let found = column.named(name)?;
            return found.map(|array| Self::new(name, &array, &wanted.options)).transpose();
        }
        let (width, rows) = (names.len(), column.0.num_rows());
        let mut values = vec![f64::NAN; width * rows];
        for (at, name) in names.iter().enumerate() {
            let Some(array) = column.named(name)? else { continue };
            let numbers = known_numbers(name, &array, &wanted.options)?;
            values.iter_mut().skip(at).step_by(width).zip(numbers).for_each(|(to, value)| *to = value);
        }
        let starts = (0..=rows).map(|row| row * width).collect();
        Ok(Some(Self::Several { lists: None, starts, values }))
    }

    /// The target of a row, if it has one.
    fn get(&self, row: usize) -> Option<Target<'_>> {
        match self {
            Self::Int(values) => number(values, row).map(Target::Int),
            Self::Bool(values) => truth(values, row).map(Target::Bool),
            Self::Real(values) => number(values, row).filter(|value| !value.is_nan()).map(Target::Real),
            Self::Text(values) => text(values, row).map(Target::Text),
            Self::Several { lists, starts, values } => {
                let listed = lists.as_ref().is_none_or(|lists| lists.is_valid(row));
                listed.then(|| Target::Several(&values[starts[row]..starts[row + 1]]))
            }
        }
    }

    fn new(name: &str, array: &ArrayRef, options: &ReadOptions) -> Result<Self> {
        // Errors name the requested column.
        let named = |located: Located| {
            let Located { row, fault } = located;
            match fault {
                Fault::Malformed { found, .. } => {
                    let expected = format!("{} in '{name}'", Key::Y.holds());
                    Located { row, fault: Fault::new(expected, found) }
                }
                fault => Located { row, fault },
            }
        };
        if let Some((starts, elements)) = taken_apart(array) {
            let values = known_numbers(name, &elements, options)?;
            return Ok(Self::Several { lists: Some(array.clone()), starts, values });
        }
        match array.data_type() {
            DataType::Boolean => truths(Key::Y, array).map(Self::Bool),
            kind if kind.is_floating() => scalars(Key::Y, array).map(Self::Real),
            kind if kind.is_integer() => scalars(Key::Y, array).map(Self::Int),
            _ => texts(Key::Y, array).map(Self::Text),
        }
        .map_err(named)
    }
}

/// The numbers and booleans of one of several target columns; nulls become NaN.
fn known_numbers(name: &str, array: &ArrayRef, options: &ReadOptions) -> Result<Vec<f64>> {
    let kind = array.data_type();
    let found = || format!("a column of type {kind}");
    if *kind == DataType::Null {
        return Ok(vec![f64::NAN; array.len()]);
    }
    if as_texts(&array.slice(0, 0), false).is_some() {
        return Err(texts_among_targets(options, name, "strings").into());
    }
    let known = *kind == DataType::Boolean || kind.is_integer() || kind.is_floating();
    let numbers = Some(array).filter(|_| known).and_then(|array| cast(array, &DataType::Float64).ok());
    let wrong = || Fault::new(format!("numbers or booleans in '{name}'"), found());
    let numbers = numbers.ok_or_else(wrong)?;
    let numbers = numbers.as_primitive::<Float64Type>();
    Ok(numbers.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

fn truths(key: Key, array: &ArrayRef) -> Result<BooleanArray> {
    array.as_boolean_opt().cloned().ok_or_else(|| wrong_type(key, array).into())
}

fn wrong_type(key: Key, array: &ArrayRef) -> Fault {
    other(key, format!("a column of type {}", array.data_type()))
}
