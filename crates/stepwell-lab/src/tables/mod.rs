//! A run's records as tables: Markdown for people, CSV and JSON for programs.

mod claims;
mod comparison;
mod results;
mod sheet;
mod statistics;
mod times;

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use stepwell_data::files;

pub use claims::{Claim, Verdict, claims};
pub use comparison::{Comparison, comparisons};
pub use results::{POOLS, ResultRow, find, mean_and_std, rows as results, wide};
pub use sheet::Sheet;
pub use statistics::Statistics;
pub use times::{TimeRow, rows as times};

pub(crate) use comparison::sheet as comparisons_sheet;
pub(crate) use results::{baselines as baselines_sheet, order};
pub(crate) use statistics::{datasets as datasets_sheet, pooled as pooled_sheet};
pub(crate) use times::sheet as times_sheet;

use crate::error::{Error, Result};
use crate::run::Known;

/// A table as it is written to a folder.
pub struct File {
    /// Its name, with its ending.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// All tables there is something to say in. Only those named `times` and
/// `claims` depend on how long things took.
pub fn all(known: &Known) -> Vec<File> {
    let results = results::rows(&known.cells);
    let comparisons = comparisons(&results);
    let times = times::rows(&known.cells);
    let claims = claims(&results, &times, known);
    let mut made = Files::default();
    let reservoirs: Vec<&ResultRow> = results.iter().filter(|row| row.model == "reservoir").collect();
    for (number, blocks) in [(2, 2), (3, 3)] {
        let rows: Vec<ResultRow> =
            reservoirs.iter().filter(|row| row.blocks == blocks).map(|row| (*row).clone()).collect();
        made.add(&format!("table{number}"), &wide(&rows, blocks), &results::long(&rows), &rows);
    }
    let simple: Vec<&ResultRow> = results.iter().filter(|row| row.model != "reservoir").collect();
    if !simple.is_empty() {
        let simple: Vec<ResultRow> = simple.into_iter().cloned().collect();
        made.add("baselines", &results::baselines(&results), &results::long(&simple), &simple);
    }
    let sheet = comparison::sheet(&comparisons);
    made.add("tests", &sheet, &sheet, &comparisons);
    let sheet = times::sheet(&times);
    made.add("times", &sheet, &sheet, &times);
    let sheet = statistics::datasets(&known.statistics);
    made.add("table1", &sheet, &sheet, &known.statistics);
    let sheet = statistics::pooled(&known.statistics);
    made.add("table4", &sheet, &sheet, &known.statistics);
    let sheet = claims::sheet(&claims);
    made.add("claims", &sheet, &sheet, &claims);
    made.0
}

#[derive(Default)]
struct Files(Vec<File>);

impl Files {
    /// One table in three forms, unless it is empty.
    fn add(&mut self, name: &str, markdown: &Sheet, csv: &Sheet, rows: &impl Serialize) {
        if markdown.rows.is_empty() {
            return;
        }
        let json = serde_json::to_string_pretty(rows).unwrap_or_default() + "\n";
        for (ending, text) in [("md", markdown.markdown()), ("csv", csv.csv()), ("json", json)] {
            self.0.push(File { name: format!("{name}.{ending}"), text });
        }
    }
}

/// Writes all tables of a run's folder into its folder `tables`.
pub fn write(folder: &Path, known: &Known) -> Result<()> {
    let tables = folder.join("tables");
    for File { name, text } in all(known) {
        let path = tables.join(name);
        files::write_whole::<Error>(&path, |out| {
            out.write_all(text.as_bytes()).map_err(|source| Error::Io { path: path.clone(), source })
        })?;
    }
    Ok(())
}
