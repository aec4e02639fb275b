//! The vertex targets and vertex splits of a row.

use ndarray::Array2;
use stepwell::targets::Targets;

use super::collect::{Kind, Target, push_target};
use super::{Fault, Key, MAX_TARGETS, quoted};
use crate::dataset::{Known, Part, Vertices};

/// The targets of one row's vertices, vertex after vertex.
#[derive(Debug, Default)]
pub(crate) struct NodeTargets {
    len: usize,
    kind: Option<Kind>,
    known: Vec<usize>,
    targets: Targets,
    several: Vec<f64>,
}

impl NodeTargets {
    /// Adds the next vertex; `None` if its target is unknown.
    pub fn push(&mut self, target: Option<Target<'_>>) -> Result<(), Fault> {
        let vertex = self.len;
        self.len += 1;
        let Some(target) = target else { return Ok(()) };
        let kind = target.kind();
        let before = *self.kind.get_or_insert(kind);
        if before != kind {
            let expected = format!("{} for every vertex in 'node_y', as for those before", before.words());
            return Err(Fault::new(expected, format!("{} for vertex {vertex}", kind.words())));
        }
        let numbers = match &target {
            Target::Real(value) => std::slice::from_ref(value),
            Target::Several(values) => values,
            _ => &[],
        };
        if let Some(value) = numbers.iter().find(|value| value.is_infinite()) {
            return Err(Fault::new("finite numbers in 'node_y'", value.to_string()));
        }
        match target {
            Target::Several([]) => {
                return Err(Fault::new("at least one target in every list of 'node_y'", "an empty list"));
            }
            Target::Several(values) if values.len() as u64 > MAX_TARGETS => {
                let (what, found) = ("the number of targets", values.len() as u64);
                return Err(Fault::TooLarge { what, limit: MAX_TARGETS, found });
            }
            target if target.is_unknown() => return Ok(()),
            Target::Several(values) => self.several.extend(values),
            target => push_target(&mut self.targets, target),
        }
        self.known.push(vertex);
        Ok(())
    }

    /// The number of vertices added.
    pub fn len(&self) -> usize {
        self.len
    }

    fn known(&self) -> Known {
        let rows = self.known.clone();
        let targets = match self.kind {
            _ if rows.is_empty() => Targets::None,
            Some(Kind::Several(width)) => {
                let values = Array2::from_shape_vec((rows.len(), width), self.several.clone());
                let values = values.expect("all lists have one length");
                let binary = values.iter().all(|&value| value.is_nan() || value == 0.0 || value == 1.0);
                if binary { Targets::Binary(values) } else { Targets::Numbers(values) }
            }
            _ => self.targets.clone(),
        };
        Known { rows, targets }
    }
}

/// The parts of one row's vertices, in one split or several.
#[derive(Debug, Default)]
pub(crate) struct NodeParts {
    len: usize,
    splits: Vec<Vec<Option<Part>>>,
}

impl NodeParts {
    /// The number of vertices added.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds the next vertex: the name of its part in every split, or `None`.
    pub fn push<'a>(&mut self, names: impl Iterator<Item = Option<&'a str>>) -> Result<(), Fault> {
        let vertex = self.len;
        let mut found = 0;
        for name in names {
            let part = name.map(part_of_vertex).transpose()?;
            if self.splits.len() == found && vertex == 0 {
                self.splits.push(Vec::new());
            }
            if let Some(split) = self.splits.get_mut(found) {
                split.push(part);
            }
            found += 1;
        }
        if found != self.splits.len() || found == 0 {
            let expected = format!("{} names in every list of 'node_split'", self.splits.len().max(1));
            return Err(Fault::new(expected, format!("{found} for vertex {vertex}")));
        }
        self.len += 1;
        Ok(())
    }
}

fn part_of_vertex(name: &str) -> Result<Part, Fault> {
    let unknown = || {
        let names = Part::NAMES.map(|(_, name)| format!("'{name}'")).join(", ");
        Fault::new(format!("one of {names} or null in 'node_split'"), quoted(name))
    };
    Part::from_name(name).ok_or_else(unknown)
}

/// The targets and parts of a row's `count` vertices; `None` if the row has neither.
pub(super) fn vertices(
    targets: Option<&NodeTargets>,
    parts: Option<&NodeParts>,
    count: usize,
) -> Result<Option<Vertices>, Fault> {
    let lengths = [(Key::NodeY, targets.map(|all| all.len)), (Key::NodeSplit, parts.map(|all| all.len))];
    for (key, found) in lengths {
        if let Some(found) = found.filter(|&found| found != count) {
            let expected = format!("{count} values in '{}', one per vertex", key.name());
            return Err(Fault::new(expected, found.to_string()));
        }
    }
    if targets.is_none() && parts.is_none() {
        return Ok(None);
    }
    let splits = parts.map_or(Vec::new(), |parts| parts.splits.clone());
    Ok(Some(Vertices { known: targets.map(NodeTargets::known).unwrap_or_default(), splits }))
}
