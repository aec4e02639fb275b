//! Molecules for the command line, read in Python with RDKit.

use std::sync::Arc;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use stepwell::graph::GraphBatch;
use stepwell_cli::{Chemistry, MoleculeTable};
use stepwell_data::{Dataset, Known};

use crate::batch::RawBatch;
use crate::dataset::parts;
use crate::graph::RawGraph;
use crate::model::Values;

/// A table of molecules, from Python.
#[derive(FromPyObject)]
struct Found<'py> {
    name: String,
    graphs: Py<RawBatch>,
    y: Option<Values<'py>>,
    /// Whether several targets are 0 and 1.
    binary: bool,
    /// The rows whose targets `y` holds, if others have none.
    known: Option<Vec<usize>>,
    target_names: Vec<String>,
    ids: Option<Vec<String>>,
    split: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    notes: Vec<String>,
}

/// RDKit, if it is installed.
pub struct Rdkit;

impl Chemistry for Rdkit {
    fn read(&self, table: &MoleculeTable) -> Result<Dataset, String> {
        Python::attach(|py| {
            found(py, table).map_err(|error| {
                let text = error.value(py).to_string();
                if text.is_empty() { error.to_string() } else { text }
            })
        })
    }

    fn places(&self, molecules: &Dataset) -> Option<Vec<[f64; 2]>> {
        // Without RDKit, or if the labels are not those of atoms, the layout is force-directed.
        Python::attach(|py| drawn(py, molecules)).ok().flatten()
    }
}

fn drawn(py: Python<'_>, molecules: &Dataset) -> PyResult<Option<Vec<[f64; 2]>>> {
    let batch = Arc::new(molecules.graphs.clone());
    let features = molecules.molecules.as_deref().map(Arc::from);
    let module = py.import("stepwell.molecules._places")?;
    let mut places = Vec::new();
    for index in 0..batch.len() {
        let graph = RawGraph { batch: batch.clone(), index, places: None, molecules: features.clone() };
        let found = module.call_method1("places", (Py::new(py, graph)?,))?;
        let Some(found) = found.extract::<Option<PyReadonlyArray2<'_, f64>>>()? else { return Ok(None) };
        places.extend(found.as_array().outer_iter().map(|row| [row[0], row[1]]));
    }
    Ok(Some(places))
}

fn found(py: Python<'_>, table: &MoleculeTable) -> PyResult<Dataset> {
    let MoleculeTable {
        path,
        smiles,
        targets,
        groups,
        split,
        ids,
        features,
        errors,
        only,
        processes,
        verbose,
    } = table;
    let columns = (smiles, targets, groups, split, ids);
    let module = py.import("stepwell.molecules._command")?;
    let arguments = (path, columns, features, errors, processes, verbose, only);
    let found = module.call_method1("read", arguments)?;
    let found: Found<'_> = found.extract()?;
    let graphs = GraphBatch::clone(&found.graphs.get().batch);
    let targets = Values::written(found.y, found.binary);
    let (targets, some_classes) = match found.known {
        Some(rows) => Known { rows, targets }.spread(graphs.len()),
        None => (targets, None),
    };
    Ok(Dataset {
        name: found.name,
        graphs,
        targets,
        some_classes,
        target_names: found.target_names,
        ids: found.ids,
        parts: found.split.map(parts).transpose()?,
        groups: found.groups,
        group_name: groups.clone().unwrap_or_default(),
        molecules: Some(features.clone()),
        notes: found.notes,
        ..Dataset::default()
    })
}
