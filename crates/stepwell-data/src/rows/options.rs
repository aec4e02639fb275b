//! Options for target columns, group columns and rows without a target.

use super::{Fault, Key, quoted};
use crate::error::likeness;

/// The treatment of graphs without any target when others have one. With several targets, some of
/// them may always be unknown.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Untargeted {
    /// Refuses them if targets are classes. Number targets become NaN.
    #[default]
    Refuse,
    /// Skips and counts them.
    Skip,
    /// Keeps them: number targets become NaN; classes become [those of some
    /// graphs](crate::Dataset::some_classes).
    Keep,
}

/// Options for reading rows of JSON lines, Parquet files and Arrow data.
///
/// ```
/// use stepwell::targets::Targets;
/// use stepwell_data::{Dataset, Place, ReadOptions, jsonl};
/// let text = "{\"num_nodes\":1,\"src\":[],\"dst\":[],\"soluble\":true,\"toxic\":null}\n";
/// let options = ReadOptions { targets: vec!["soluble".into(), "toxic".into()], ..ReadOptions::default() };
/// let place = Place::file("molecules.jsonl");
/// let reader = jsonl::Reader::with_options(text.as_bytes(), place.clone(), &options)?;
/// let dataset = Dataset::collect(reader, &place)?;
/// assert_eq!(dataset.target_names, ["soluble", "toxic"]);
/// let Targets::Binary(rows) = dataset.targets else { unreachable!() };
/// assert!(rows[(0, 0)] == 1.0 && rows[(0, 1)].is_nan());
/// # Ok::<(), stepwell_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ReadOptions {
    /// The columns that hold targets; `y` if none is named. A single column is read like `y`; each
    /// of several must hold numbers, booleans or nulls.
    pub targets: Vec<String>,
    /// The column that holds the groups of the graphs: strings or integers.
    pub groups: Option<String>,
    /// The treatment of graphs without a target.
    pub untargeted: Untargeted,
    /// The most vertices of a graph, if fewer than the schema allows.
    pub max_vertices: Option<u64>,
}

impl ReadOptions {
    /// The quantity that [`max_vertices`](Self::max_vertices) limits, in an
    /// [`Error::TooLarge`](crate::Error::TooLarge).
    pub const VERTICES: &'static str = "'num_nodes'";

    /// Whether columns are named, which only files of rows support.
    pub fn name_columns(&self) -> bool {
        !self.targets.is_empty() || self.groups.is_some()
    }

    /// The columns that hold targets.
    pub(crate) fn target_columns(&self) -> Vec<String> {
        if self.targets.is_empty() { vec![Key::Y.name().to_owned()] } else { self.targets.clone() }
    }

    /// The name of the targets in errors.
    pub(crate) fn target(&self) -> String {
        match &self.targets[..] {
            [] => "'y'".to_owned(),
            names => names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "),
        }
    }

    /// Refuses names that cannot be target or group columns.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let graph = |name: &String| Key::from_name(name).is_some_and(|key| key != Key::Y);
        if let Some(name) = self.targets.iter().find(|name| graph(name)) {
            let found = format!("{}, which describes the graph", quoted(name));
            return Err(Fault::new("a target column", found));
        }
        if let Some(at) = (1..self.targets.len()).find(|&at| self.targets[..at].contains(&self.targets[at])) {
            return Err(Fault::new("each target once", format!("{} twice", quoted(&self.targets[at]))));
        }
        match &self.groups {
            Some(name) if graph(name) && name != Key::Id.name() => {
                let found = format!("{}, which describes the graph", quoted(name));
                Err(Fault::new("a group column", found))
            }
            Some(name) if self.target_columns().contains(name) => {
                Err(Fault::new("separate columns for targets and groups", format!("{} twice", quoted(name))))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a requested column that does not exist; similar names are listed first.
pub(crate) fn no_such_column(word: &str, name: &str, others: &[String]) -> Fault {
    let mut others: Vec<&String> = others.iter().collect();
    others.sort_by_key(|other| likeness(name, other) <= 0.8);
    let found = others.iter().map(|other| quoted(other)).collect::<Vec<_>>().join(", ");
    let found = if found.is_empty() { format!("only {word}s of the schema") } else { found };
    Fault::new(format!("a {word} {}", quoted(name)), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_meant_are_refused() {
        let check = |targets: &[&str], groups: Option<&str>, expected: &str| {
            let targets = targets.iter().map(|&name| name.to_owned()).collect();
            let options =
                ReadOptions { targets, groups: groups.map(str::to_owned), ..ReadOptions::default() };
            assert_eq!(options.check().map_or_else(|fault| fault.to_string(), |()| String::new()), expected);
        };
        check(&["a", "y"], Some("id"), "");
        check(&["src"], None, "expected a target column, found 'src', which describes the graph");
        check(&["a", "b", "a"], None, "expected each target once, found 'a' twice");
        check(&[], Some("x"), "expected a group column, found 'x', which describes the graph");
        check(&["a"], Some("a"), "expected separate columns for targets and groups, found 'a' twice");
        check(&[], Some("y"), "expected separate columns for targets and groups, found 'y' twice");
    }

    #[test]
    fn columns_that_look_alike_come_first() {
        let others = ["mass", "smiles", "LogP"].map(str::to_owned);
        let said = no_such_column("column", "logp", &others).to_string();
        assert_eq!(said, "expected a column 'logp', found 'LogP', 'mass', 'smiles'");
        let said = no_such_column("key", "logp", &[]).to_string();
        assert_eq!(said, "expected a key 'logp', found only keys of the schema");
    }
}
