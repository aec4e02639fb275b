//! A run's records as the paper's tables: Markdown for people, CSV and JSON for
//! programs.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use stepwell_data::files;

use super::{accuracies, claims, comparisons, statistics, times};
use crate::error::{Error, Result};
use crate::run::Known;
use crate::table::Table;

/// Writes all tables that have rows into the folder `tables` of a run. Only `times` and
/// `claims` depend on measured times.
pub fn write(folder: &Path, known: &Known) -> Result<()> {
    let folder = Folder(folder.join("tables"));
    let results = accuracies::rows(&known.cells);
    let times = times::rows(&known.cells, &results);
    let (papers, baselines): (Vec<_>, Vec<_>) = results.iter().cloned().partition(|row| row.is_papers());
    for blocks in [2, 3] {
        let rows: Vec<_> = papers.iter().filter(|row| row.ours.blocks == blocks).cloned().collect();
        let (wide, long) = (accuracies::wide(&rows, blocks), accuracies::long(&rows));
        folder.write(&format!("table{blocks}"), &wide, &long, &rows)?;
    }
    if !baselines.is_empty() {
        let (wide, long) = (accuracies::baselines(&results), accuracies::long(&baselines));
        folder.write("baselines", &wide, &long, &baselines)?;
    }
    let rows = comparisons(&results);
    folder.write_one("tests", &comparisons::table(&rows), &rows)?;
    folder.write_one("times", &times::table(&times), &times)?;
    let rows = statistics::datasets(&known.paper.statistics);
    folder.write_one("table1", &statistics::datasets_table(&rows), &rows)?;
    let rows = statistics::pooled(&known.paper.statistics);
    folder.write_one("table4", &statistics::pooled_table(&rows), &rows)?;
    let rows = claims(&results, &times, known);
    folder.write_one("claims", &claims::table(&rows), &rows)
}

struct Folder(std::path::PathBuf);

impl Folder {
    /// Writes one table in three formats, unless it is empty.
    fn write(&self, name: &str, markdown: &Table, csv: &Table, rows: &impl Serialize) -> Result<()> {
        if markdown.rows.is_empty() {
            return Ok(());
        }
        let json = serde_json::to_string_pretty(rows).expect("rows are structs of plain values") + "\n";
        for (ending, text) in [("md", markdown.markdown()), ("csv", csv.csv()), ("json", json)] {
            let path = self.0.join(format!("{name}.{ending}"));
            files::write_whole::<Error>(&path, |out| {
                out.write_all(text.as_bytes()).map_err(|source| Error::Io { path: path.clone(), source })
            })?;
        }
        Ok(())
    }

    fn write_one(&self, name: &str, table: &Table, rows: &impl Serialize) -> Result<()> {
        self.write(name, table, table, rows)
    }
}
