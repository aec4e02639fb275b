//! Molecules for the command line: Python reads them, by RDKit.

use pyo3::prelude::*;
use stepwell::graph::GraphBatch;
use stepwell_cli::MoleculeTable;
use stepwell_data::Dataset;

use crate::batch::RawBatch;
use crate::dataset::parts;
use crate::model::Values;

/// What Python says of a table of molecules.
#[derive(FromPyObject)]
struct Found<'py> {
    name: String,
    graphs: Py<RawBatch>,
    y: Option<Values<'py>>,
    /// Whether several targets are 0 and 1.
    binary: bool,
    target_names: Vec<String>,
    ids: Option<Vec<String>>,
    split: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    notes: Vec<String>,
}

/// The graphs of a table of molecules.
pub fn read(table: &MoleculeTable) -> Result<Dataset, String> {
    Python::attach(|py| {
        found(py, table).map_err(|error| {
            let text = error.value(py).to_string();
            if text.is_empty() { error.to_string() } else { text }
        })
    })
}

fn found(py: Python<'_>, table: &MoleculeTable) -> PyResult<Dataset> {
    let MoleculeTable { path, smiles, targets, groups, split, features, errors, processes, verbose } = table;
    let columns = (smiles, targets, groups, split);
    let module = py.import("stepwell.molecules._command")?;
    let found = module.call_method1("read", (path, columns, features, errors, processes, verbose))?;
    let found: Found<'_> = found.extract()?;
    Ok(Dataset {
        name: found.name,
        graphs: GraphBatch::clone(&found.graphs.get().batch),
        targets: Values::written(found.y, found.binary),
        target_names: found.target_names,
        ids: found.ids,
        parts: found.split.map(parts).transpose()?,
        groups: found.groups,
        notes: found.notes,
        ..Dataset::default()
    })
}
