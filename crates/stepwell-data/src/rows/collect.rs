//! Collects rows into datasets, under the rules of the schema.

use stepwell::graph::{BatchBuilder, EdgeList, GraphBatch};
use stepwell::model::Model;
use stepwell::targets::{Labels, Targets};

use ndarray::Array2;

use super::vertices::{NodeParts, NodeTargets, vertices};
use super::{Fault, Key, MAX_TARGETS, MAX_VERTICES, MAX_WIDTH, ReadOptions, Untargeted, quoted};
use crate::dataset::{Dataset, Known, Part, Vertices};

/// A piece is returned after this many vertices.
const PIECE_VERTICES: usize = 1 << 16;

/// A piece is returned after this many entries and graphs, however few vertices it has.
const PIECE_ENTRIES: usize = 1 << 20;

/// A piece is returned after this many targets.
const PIECE_TARGETS: usize = 1 << 22;

/// A piece is returned after this many bytes of names.
const PIECE_TEXTS: usize = 1 << 24;

/// A graph may have this many vertices without any listed number, and [`VERTICES_PER_NUMBER`] more
/// for each listed number, so that a short row cannot request gigabytes.
const UNLISTED_VERTICES: u64 = 1 << 20;

/// See [`UNLISTED_VERTICES`].
const VERTICES_PER_NUMBER: u64 = 64;

/// The target of one graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target<'a> {
    Int(i64),
    Bool(bool),
    Real(f64),
    Text(&'a str),
    /// NaN if unknown.
    Several(&'a [f64]),
}

impl Target<'_> {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Int(_) | Self::Real(_) => Kind::Number,
            Self::Bool(_) => Kind::Boolean,
            Self::Text(_) => Kind::Text,
            Self::Several(values) => Kind::Several(values.len()),
        }
    }

    /// Whether the target is unknown.
    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Self::Several(values) if values.iter().all(|value| value.is_nan()))
    }
}

/// The kind of a target, which all rows must share; integers and floats are one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Number,
    Boolean,
    Text,
    Several(usize),
}

impl Kind {
    pub(super) fn words(self) -> String {
        match self {
            Self::Number => "a number".into(),
            Self::Boolean => "a boolean".into(),
            Self::Text => "a string".into(),
            Self::Several(1) => "a list of one target".into(),
            Self::Several(width) => format!("a list of {width} targets"),
        }
    }
}

/// One row, as the formats deliver it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Row<'a> {
    pub id: Option<&'a str>,
    pub num_nodes: u64,
    pub src: &'a [u32],
    pub dst: &'a [u32],
    pub weight: Option<&'a [f64]>,
    /// The labels, row after row, and the number per edge.
    pub edge_label: Option<(&'a [i32], usize)>,
    pub edge_attr: Option<&'a [f64]>,
    pub edge_attr_dim: Option<u64>,
    /// The labels, row after row, and the number per vertex.
    pub node_label: Option<(&'a [i32], usize)>,
    pub x: Option<&'a [f64]>,
    pub x_dim: Option<u64>,
    pub pos: Option<&'a [f64]>,
    pub y: Option<Target<'a>>,
    pub split: Option<&'a str>,
    pub node_y: Option<&'a NodeTargets>,
    pub node_split: Option<&'a NodeParts>,
    pub directed: bool,
    /// Read only if groups are requested.
    pub group: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// Makes the checks that the graph builder does not, with the schema's names in messages.
    fn edges(&self) -> Result<EdgeList<'a>, Fault> {
        let vertices = self.num_vertices()?;
        let edges = self.src.len();
        length(Key::Dst, Some(self.dst.len()), edges, "as many as in 'src'")?;
        length(Key::Weight, self.weight.map(<[f64]>::len), edges, "as many as in 'src'")?;
        labels(Key::EdgeLabel, self.edge_label, edges, "as many as in 'src'")?;
        labels(Key::NodeLabel, self.node_label, vertices, "one per vertex")?;
        length(Key::Pos, self.pos.map(<[f64]>::len), vertices * 2, "two per vertex")?;
        Ok(EdgeList {
            num_vertices: vertices,
            sources: self.src,
            targets: self.dst,
            weights: self.weight,
            edge_labels: self.edge_label,
            edge_attributes: attributes(
                (Key::EdgeAttr, self.edge_attr),
                (Key::EdgeAttrDim, self.edge_attr_dim),
                edges,
                "edges",
            )?,
            vertex_labels: self.node_label,
            vertex_attributes: attributes((Key::X, self.x), (Key::XDim, self.x_dim), vertices, "vertices")?,
            sparse_attributes: None,
            directed: self.directed,
        })
    }

    fn num_vertices(&self) -> Result<usize, Fault> {
        let lists = [self.weight, self.edge_attr, self.x, self.pos];
        let labels = [self.edge_label, self.node_label];
        let numbers = self.src.len()
            + lists.iter().flatten().map(|list| list.len()).sum::<usize>()
            + labels.iter().flatten().map(|(list, _)| list.len()).sum::<usize>()
            + self.node_split.map_or(0, NodeParts::len)
            + self.node_y.map_or(0, NodeTargets::len);
        vertices_within_reason(self.num_nodes, numbers as u64)
    }
}

/// The number of vertices, unless it is implausible for the `numbers` listed.
pub(super) fn vertices_within_reason(num_nodes: u64, numbers: u64) -> Result<usize, Fault> {
    let listed = numbers.saturating_mul(VERTICES_PER_NUMBER).saturating_add(UNLISTED_VERTICES);
    if num_nodes > MAX_VERTICES {
        return Err(Fault::TooLarge { what: "'num_nodes'", limit: MAX_VERTICES, found: num_nodes });
    }
    if num_nodes > listed {
        let what = "'num_nodes', for the few numbers that the row lists,";
        return Err(Fault::TooLarge { what, limit: listed, found: num_nodes });
    }
    Ok(num_nodes as usize)
}

fn length(key: Key, found: Option<usize>, expected: usize, like: &str) -> Result<(), Fault> {
    match found {
        Some(found) if found != expected => {
            let expected = format!("{expected} numbers in '{}', {like}", key.name());
            Err(Fault::new(expected, found.to_string()))
        }
        _ => Ok(()),
    }
}

/// Checks the number of label rows.
fn labels(key: Key, found: Option<(&[i32], usize)>, expected: usize, like: &str) -> Result<(), Fault> {
    let Some((values, width)) = found else { return Ok(()) };
    if width as u64 > MAX_WIDTH {
        return Err(Fault::TooLarge { what: "labels in a list", limit: MAX_WIDTH, found: width as u64 });
    }
    match width {
        // Lists without labels carry no information, however many there are.
        0 => Ok(()),
        1 => length(key, Some(values.len()), expected, like),
        _ if values.len() / width == expected => Ok(()),
        _ => {
            let expected = format!("{expected} lists in '{}', {like}", key.name());
            Err(Fault::new(expected, (values.len() / width).to_string()))
        }
    }
}

/// The fault of label lists of different lengths.
pub(crate) fn ragged(key: Key, at: usize, expected: usize, found: usize) -> Fault {
    let lists = format!("{expected} integers in each list of '{}', as in the first", key.name());
    Fault::new(lists, format!("{found} in list {at}, counted from 0"))
}

fn attributes<'a>(
    (key, values): (Key, Option<&'a [f64]>),
    (width_key, width): (Key, Option<u64>),
    rows: usize,
    items: &str,
) -> Result<Option<(&'a [f64], usize)>, Fault> {
    let beside = |one: Key, other: Key| {
        Fault::new(format!("'{}' together with '{}'", one.name(), other.name()), "none")
    };
    let (values, width) = match (values, width) {
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(beside(width_key, key)),
        (None, Some(_)) => return Err(beside(key, width_key)),
        (Some(values), Some(width)) => (values, width),
    };
    if width > MAX_WIDTH {
        return Err(Fault::TooLarge { what: width_key.name(), limit: MAX_WIDTH, found: width });
    }
    let expected = rows as u64 * width;
    if expected != values.len() as u64 {
        let expected = format!("{expected} numbers in '{}' ({rows} {items} of {width})", key.name());
        return Err(Fault::new(expected, values.len().to_string()));
    }
    Ok(Some((values, width as usize)))
}

/// The properties of a row that every row must share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    id: bool,
    edge_label: Option<usize>,
    edge_attr: Option<usize>,
    node_label: Option<usize>,
    x: Option<usize>,
    pos: bool,
    /// The kind of the target, if there is one.
    y: Option<Kind>,
    split: bool,
}

impl Shape {
    fn of(row: &Row<'_>, edges: &EdgeList<'_>) -> Self {
        let labels = |labels: Option<(&[i32], usize)>| labels.map(|(_, width)| width).filter(|&w| w > 0);
        Self {
            id: row.id.is_some(),
            edge_label: labels(row.edge_label),
            edge_attr: edges.edge_attributes.map(|(_, width)| width),
            node_label: labels(row.node_label),
            x: edges.vertex_attributes.map(|(_, width)| width),
            pos: row.pos.is_some(),
            y: row.y.map(Target::kind),
            split: row.split.is_some(),
        }
    }

    /// The number of targets of a row.
    fn width(&self) -> usize {
        match self.y {
            None => 0,
            Some(Kind::Several(width)) => width,
            Some(_) => 1,
        }
    }

    /// The same shape with the vertex features of another. A graph without vertices fits any
    /// dataset.
    fn with_vertices_of(self, other: &Self) -> Self {
        let &Self { node_label, x, pos, .. } = other;
        Self { node_label, x, pos, ..self }
    }

    /// The same shape with the edge features of another, for a graph without edges.
    fn with_edges_of(self, other: &Self) -> Self {
        let &Self { edge_label, edge_attr, .. } = other;
        Self { edge_label, edge_attr, ..self }
    }

    fn words(&self, other: &Self) -> [(Key, String); 8] {
        let some = |present: bool| if present { "a value" } else { "none" }.to_string();
        let width = |width: Option<usize>, item: &str| {
            width.map_or("none".into(), |w| format!("{w} number{} per {item}", if w == 1 { "" } else { "s" }))
        };
        let labels = |mine: Option<usize>, theirs: Option<usize>| match (mine, theirs) {
            (Some(1), None) | (None, _) => some(mine.is_some()),
            (Some(1), Some(_)) => "integers".to_string(),
            (Some(width), _) => format!("lists of {width} integers"),
        };
        [
            (Key::Id, some(self.id)),
            (Key::EdgeLabel, labels(self.edge_label, other.edge_label)),
            (Key::EdgeAttr, width(self.edge_attr, "edge")),
            (Key::NodeLabel, labels(self.node_label, other.node_label)),
            (Key::X, width(self.x, "vertex")),
            (Key::Pos, some(self.pos)),
            (Key::Y, self.y.map_or("none".into(), Kind::words)),
            (Key::Split, some(self.split)),
        ]
    }

    fn differs(&self, found: &Self, target: &str) -> Fault {
        let pairs = self.words(found).into_iter().zip(found.words(self));
        let (key, mine, theirs) = pairs
            .map(|((key, mine), (_, theirs))| (key, mine, theirs))
            .find(|(_, mine, theirs)| mine != theirs)
            .unwrap_or((Key::NumNodes, String::new(), String::new()));
        let (name, advice) = match key {
            Key::Y if self.y.is_none() || found.y.is_none() => (target.to_owned(), LACKS),
            Key::Y => (target.to_owned(), ""),
            _ => (format!("'{}'", key.name()), ""),
        };
        Fault::new(format!("{mine} in {name}, as in the rows before"), theirs + advice)
    }
}

/// Advice about rows without a class.
const LACKS: &str = "; give every row a class, or remove the class of every row (the commands 'train' and 'evaluate' skip rows without a class, 'embed', 'predict' and 'convert' keep them; in Rust: Untargeted::Skip, Untargeted::Keep)";

/// The vertex features that a trained model expects of all graphs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Expected {
    /// Attributes of a vertex; 0 for none.
    pub attributes: usize,
    /// Whether vertices have labels; if false, labels are ignored.
    pub labels: bool,
}

impl From<&Model> for Expected {
    fn from(Model { features, .. }: &Model) -> Self {
        Self { attributes: features.attributes(), labels: !features.labels().is_empty() }
    }
}

impl Expected {
    fn check(self, shape: &Shape) -> Result<(), Fault> {
        let found = shape.x.unwrap_or(0);
        if found != self.attributes {
            let expected = format!("{} numbers per vertex in 'x' for this model", self.attributes);
            return Err(Fault::new(expected, found.to_string()));
        }
        if self.labels && shape.node_label.is_none() {
            return Err(Fault::new("'node_label', which the model needs", "none"));
        }
        Ok(())
    }
}

/// Collects rows into pieces of a dataset.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    name: String,
    attribute_names: Vec<String>,
    builder: BatchBuilder,
    entries: usize,
    /// Bytes of the names of graphs, groups and classes.
    texts: usize,
    /// The shape of the rows so far.
    shape: Option<Shape>,
    /// Whether any graph so far had vertices, and whether any had edges.
    any_vertices: bool,
    any_edges: bool,
    expected: Option<Expected>,
    /// Rows added, and rows that could not be added.
    taken: usize,
    passed: usize,
    options: ReadOptions,
    /// The part of a split whose rows without a target are counted.
    part: Option<Part>,
    /// The names of the targets in the file, if no columns are named.
    target_names: Vec<String>,
    /// The positions of the targets to keep in a list; empty for all.
    picks: Vec<usize>,
    /// The collected graphs that have a target, and their targets: one each, or several, row after
    /// row.
    known: Vec<usize>,
    targets: Targets,
    several: Vec<f64>,
    /// Whether any row so far had no target, a target, or a float target.
    any_untargeted: bool,
    any_targeted: bool,
    any_real: bool,
    /// Rows without a target that were skipped in the current piece.
    left_out: usize,
    groups: Vec<String>,
    ids: Vec<String>,
    parts: Vec<Part>,
    /// Targets and splits of the collected vertices; `None` until a row has any.
    vertices: Option<Vertices>,
    coordinates: Vec<[f64; 2]>,
    molecules: Option<String>,
    notes: Vec<String>,
}

/// What only files with a schema can say.
#[cfg(feature = "parquet")]
impl Collector {
    /// Records the feature set if the graphs were made from molecules.
    pub fn of_molecules(self, molecules: Option<String>) -> Self {
        Self { molecules, ..self }
    }

    /// Sets the names of the targets, used if their number matches and no columns are named.
    pub fn naming_targets(self, target_names: Vec<String>) -> Self {
        Self { target_names, ..self }
    }

    /// Keeps the targets at these positions of a list.
    pub fn picking(self, picks: Vec<usize>) -> Self {
        Self { picks, ..self }
    }

    /// Sets the names of the columns of 'x', if they are distinct.
    pub fn naming(self, mut attribute_names: Vec<String>) -> Self {
        if (1..attribute_names.len()).any(|at| attribute_names[..at].contains(&attribute_names[at])) {
            attribute_names.clear();
        }
        Self { attribute_names, ..self }
    }
}

impl Collector {
    pub fn new(name: String, options: &ReadOptions) -> Self {
        Self { name, options: options.clone(), ..Self::default() }
    }

    /// Whether nothing has been collected.
    pub fn is_empty(&self) -> bool {
        self.builder.is_empty() && self.left_out == 0
    }

    /// Whether the collected rows make a piece.
    pub fn is_full(&self) -> bool {
        let width = self.shape.map_or(0, |shape| shape.width());
        self.builder.num_vertices() >= PIECE_VERTICES
            || self.entries + self.builder.len() >= PIECE_ENTRIES
            || width * self.builder.len() >= PIECE_TARGETS
            || self.texts >= PIECE_TEXTS
    }

    /// Refuses rows whose vertices do not carry the expected features.
    pub fn expect(&mut self, expected: Expected) {
        self.expected = Some(expected);
    }

    /// Sets how rows without a target are treated; such rows in a part of the split other than
    /// `part` are not counted.
    pub fn treat_untargeted(&mut self, untargeted: Untargeted, part: Option<Part>) {
        self.options.untargeted = untargeted;
        self.part = part;
    }

    /// Counts a row that cannot be used. From then on, rows without ids are named by their position
    /// among all rows.
    pub fn pass(&mut self) {
        let (named, rows) = (self.ids.len(), self.builder.len());
        if named == 0 {
            let first = self.taken + self.passed - rows;
            self.ids.extend((first..first + rows).map(|position| position.to_string()));
        }
        self.passed += 1;
    }

    /// Checks a row and adds it; a faulty row is counted and its error returned.
    pub fn push(&mut self, row: Result<Row<'_>, Fault>) -> Result<(), Fault> {
        row.and_then(|row| self.add(&row)).inspect_err(|_| self.pass())
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        let mut picked = Vec::new();
        let row = &match row.y {
            Some(Target::Several(values)) if !self.picks.is_empty() => {
                self.check_picks(values)?;
                picked.extend(self.picks.iter().map(|&at| values[at]));
                Row { y: self.picked(&picked), ..*row }
            }
            _ => *row,
        };
        if let Some(limit) = self.options.max_vertices.filter(|limit| row.num_nodes > *limit) {
            return Err(Fault::TooLarge { what: ReadOptions::VERTICES, limit, found: row.num_nodes });
        }
        let edges = row.edges()?;
        if let Some(Target::Several(values)) = row.y {
            self.check_several(values)?;
        }
        let untargeted = row.y.is_none_or(Target::is_unknown);
        if untargeted && self.options.untargeted == Untargeted::Skip {
            self.pass();
            self.left_out += usize::from(self.part.is_none_or(|part| row.split == Some(part.name())));
            return Ok(());
        }
        let mut shape = Shape::of(row, &edges);
        let (any_vertices, any_edges) = (edges.num_vertices > 0, !edges.sources.is_empty());
        if let (true, Some(expected)) = (any_vertices, self.expected) {
            expected.check(&shape)?;
        }
        if let Some(mut before) = self.shape {
            if !any_vertices {
                shape = shape.with_vertices_of(&before);
            } else if !self.any_vertices {
                before = before.with_vertices_of(&shape);
            }
            if !any_edges {
                shape = shape.with_edges_of(&before);
            } else if !self.any_edges {
                before = before.with_edges_of(&shape);
            }
            if self.may_differ(&before, row, untargeted) {
                shape.y = shape.y.or(before.y);
                before.y = shape.y;
            }
            if before != shape {
                return Err(before.differs(&shape, &self.options.target()));
            }
        }
        let part = row.split.map(part).transpose()?;
        let group = self.options.groups.as_ref().map(|column| {
            row.group.ok_or_else(|| Fault::new(format!("a group in {}", quoted(column)), "none"))
        });
        let group = group.transpose()?;
        check_finite(row, &self.options)?;
        let of_vertices = vertices(row.node_y, row.node_split, edges.num_vertices)?;
        if let (Some(all), Some(more)) = (&self.vertices, &of_vertices) {
            all.check_fits(more).map_err(Fault::Graph)?;
        }
        let before = self.builder.num_vertices();
        self.builder.push(&edges).map_err(Fault::Graph)?;
        if of_vertices.is_some() || self.vertices.is_some() {
            let (all, more) = (self.vertices.get_or_insert_default(), of_vertices.unwrap_or_default());
            all.append(before, more, edges.num_vertices).map_err(Fault::Graph)?;
        }
        self.groups.extend(group.map(str::to_owned));
        self.any_vertices |= any_vertices;
        self.any_edges |= any_edges;
        self.shape = Some(shape);
        self.entries += row.src.len();
        self.texts += row.id.map_or(0, str::len) + group.map_or(0, str::len);
        if let Some(Target::Text(class)) = row.y {
            self.texts += class.len();
        }
        match row.id {
            Some(id) => self.ids.push(id.to_owned()),
            None if self.passed > 0 => self.ids.push((self.taken + self.passed).to_string()),
            None => {}
        }
        self.taken += 1;
        self.parts.extend(part);
        self.coordinates.extend(row.pos.unwrap_or_default().chunks_exact(2).map(|p| [p[0], p[1]]));
        self.any_untargeted |= untargeted;
        if let Some(target) = row.y.filter(|_| !untargeted) {
            self.any_targeted = true;
            self.any_real |= matches!(target, Target::Real(_));
            self.known.push(self.builder.len() - 1);
            match target {
                Target::Several(values) => self.several.extend(values),
                target => push_target(&mut self.targets, target),
            }
        }
        Ok(())
    }

    fn check_picks(&self, values: &[f64]) -> Result<(), Fault> {
        let width = self.target_names.len();
        if values.len() == width {
            return Ok(());
        }
        let expected = format!("{width} targets in 'y', one for each name in the metadata");
        Err(Fault::new(expected, values.len().to_string()))
    }

    /// The targets picked from a list. A single one is a target like any other: 0 and 1 are
    /// classes unless there are other numbers. It stays a list only where classes may not be
    /// unknown.
    fn picked<'a>(&self, values: &'a [f64]) -> Option<Target<'a>> {
        match values {
            [_] if self.options.untargeted == Untargeted::Refuse => Some(Target::Several(values)),
            [value] if value.is_nan() => None,
            [value] if *value == 0.0 || *value == 1.0 => Some(Target::Int(*value as i64)),
            [value] => Some(Target::Real(*value)),
            values => Some(Target::Several(values)),
        }
    }

    /// A list of targets must be neither empty nor too long.
    fn check_several(&self, values: &[f64]) -> Result<(), Fault> {
        if values.is_empty() {
            let expected = format!("at least one target in {}", self.options.target());
            return Err(Fault::new(expected, "an empty list"));
        }
        match values.len() as u64 {
            found if found > MAX_TARGETS => {
                Err(Fault::TooLarge { what: "the number of targets", limit: MAX_TARGETS, found })
            }
            _ => Ok(()),
        }
    }

    /// Whether one of the previous rows and this row may have a target and the other none: always,
    /// unless the targets are classes and the options refuse rows without a target.
    fn may_differ(&self, before: &Shape, row: &Row<'_>, untargeted: bool) -> bool {
        let as_classes = match row.y.map(Target::kind).or(before.y) {
            None | Some(Kind::Several(_)) => false,
            Some(Kind::Number) => !self.any_real && !matches!(row.y, Some(Target::Real(_))),
            Some(Kind::Boolean | Kind::Text) => true,
        };
        let differs = if untargeted { self.any_targeted } else { self.any_untargeted };
        let refused = self.options.untargeted == Untargeted::Refuse && as_classes && differs;
        (before.y.is_none() || row.y.is_none()) && !refused
    }

    /// The targets of all collected graphs, or of some if others have none.
    fn take_targets(&mut self) -> (Targets, Option<Known>) {
        let graphs = std::mem::take(&mut self.known);
        let targets = match self.shape.and_then(|shape| shape.y) {
            Some(Kind::Several(width)) => {
                let values = std::mem::take(&mut self.several);
                let binary = values.iter().all(|&value| value.is_nan() || value == 0.0 || value == 1.0);
                let rows = Array2::from_shape_vec((graphs.len(), width), values);
                let rows = rows.expect("all lists have the length of the shape");
                if binary { Targets::Binary(rows) } else { Targets::Numbers(rows) }
            }
            _ if self.any_real && graphs.is_empty() => Targets::numbers(Vec::new()),
            _ => std::mem::take(&mut self.targets),
        };
        Known { rows: graphs, targets }.spread(self.builder.len())
    }

    pub fn note(&mut self, notes: impl IntoIterator<Item = String>) {
        self.notes.extend(notes);
    }

    /// The collected graphs. Attribute names are dropped if their number does not match the
    /// columns.
    fn named(&mut self) -> GraphBatch {
        let graphs = self.builder.take();
        let width = graphs.vertex_attributes().map_or(0, |attributes| attributes.width());
        if self.attribute_names.is_empty() || self.attribute_names.len() != width {
            return graphs;
        }
        graphs.with_attribute_names(self.attribute_names.clone()).expect("names that differ, one per column")
    }

    /// Returns the collected rows and starts a new piece.
    pub fn take(&mut self) -> Dataset {
        (self.entries, self.texts) = (0, 0);
        let shape = self.shape;
        let named = shape.is_some_and(|s| s.id) || self.passed > 0;
        let (targets, some_classes) = self.take_targets();
        let target_names = match shape.map_or(0, |shape| shape.width()) {
            _ if !self.options.targets.is_empty() => self.options.targets.clone(),
            width if width == self.target_names.len() => self.target_names.clone(),
            _ => Vec::new(),
        };
        Dataset {
            name: self.name.clone(),
            graphs: self.named(),
            targets,
            target_names,
            some_classes,
            vertices: self.vertices.as_mut().map(std::mem::take),
            groups: self.options.groups.as_ref().map(|_| std::mem::take(&mut self.groups)),
            group_name: self.options.groups.clone().unwrap_or_default(),
            left_out: std::mem::take(&mut self.left_out),
            ids: named.then(|| std::mem::take(&mut self.ids)),
            parts: shape.filter(|s| s.split).map(|_| std::mem::take(&mut self.parts)),
            coordinates: shape.filter(|s| s.pos).map(|_| std::mem::take(&mut self.coordinates)),
            molecules: self.molecules.clone(),
            notes: std::mem::take(&mut self.notes),
        }
    }
}

fn part(name: &str) -> Result<Part, Fault> {
    let unknown = || {
        let names = Part::NAMES.map(|(_, name)| format!("'{name}'")).join(", ");
        Fault::new(format!("one of {names} in 'split'"), quoted(name))
    };
    Part::from_name(name).ok_or_else(unknown)
}

/// Checks targets and positions; the graph builder checks weights and attributes.
fn check_finite(row: &Row<'_>, options: &ReadOptions) -> Result<(), Fault> {
    let infinite =
        |name: &str, value: f64| Err(Fault::new(format!("a finite number in {name}"), value.to_string()));
    let targets = match &row.y {
        Some(Target::Real(value)) => std::slice::from_ref(value),
        Some(Target::Several(values)) => values,
        _ => &[],
    };
    if let Some(&value) = targets.iter().find(|value| value.is_infinite()) {
        return infinite(&options.target(), value);
    }
    match row.pos.unwrap_or_default().iter().find(|value| !value.is_finite()) {
        Some(&value) => infinite("'pos'", value),
        None => Ok(()),
    }
}

/// Adds a target of the kind that the shape allows. Integers become floats if necessary.
pub(super) fn push_target(targets: &mut Targets, target: Target<'_>) {
    match (&mut *targets, target) {
        (Targets::Classes(Labels::Int(values)), Target::Int(value)) => values.push(value),
        (Targets::Classes(Labels::Bool(values)), Target::Bool(value)) => values.push(value),
        (Targets::Classes(Labels::Text(values)), Target::Text(value)) => values.push(value.into()),
        (mine, target) => {
            let one = match target {
                Target::Int(value) => Targets::integers(vec![value]),
                Target::Bool(value) => Targets::Classes(Labels::Bool(vec![value])),
                Target::Real(value) => Targets::numbers(vec![value]),
                Target::Text(value) => Targets::Classes([value].into_iter().collect()),
                Target::Several(_) => return,
            };
            if mine.is_empty() {
                *targets = one;
            } else {
                mine.append(one).expect("kinds that differ were refused with the shape");
            }
        }
    }
}
