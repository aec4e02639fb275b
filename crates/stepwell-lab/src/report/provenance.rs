//! How a page was made: command, version, machine, seeds.

use std::collections::BTreeSet;
use std::fs;

use stepwell_data::counted;

use crate::picture::page::Page;
use crate::run::{CellState, Known};

/// How a page was made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// The command that makes the page again.
    pub command: String,
    /// The program's version.
    pub version: String,
    /// The date.
    pub date: String,
    /// The machine.
    pub machine: Machine,
}

/// A computer, as far as it can be identified.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The processor's model name.
    pub processor: Option<String>,
    /// Number of usable cores.
    pub cores: usize,
    /// Its memory.
    pub memory_bytes: Option<u64>,
    /// Operating system and architecture.
    pub system: String,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self {
            processor: processor(&read("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory(&read("/proc/meminfo")),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// The value of the first line with one of these names.
fn value<'a>(text: &'a str, names: &[&str]) -> Option<&'a str> {
    let of = |line: &'a str| line.split_once(':').filter(|(name, _)| names.contains(&name.trim()));
    text.lines().find_map(of).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

fn processor(text: &str) -> Option<String> {
    value(text, &["model name", "Model", "cpu model", "cpu"]).map(str::to_owned)
}

fn memory(text: &str) -> Option<u64> {
    let kibibytes = value(text, &["MemTotal"])?.strip_suffix("kB")?;
    kibibytes.trim().parse::<u64>().ok()?.checked_mul(1024)
}

impl Provenance {
    /// Adds the section of the page, with facts from the run's records.
    pub(crate) fn section(&self, page: &mut Page, known: &Known) {
        page.paragraph("The command that wrote this page:");
        page.code(&self.command);
        let mut facts = vec![
            ("version".to_owned(), format!("stepwell {}", self.version)),
            ("written".to_owned(), self.date.clone()),
            ("processor".to_owned(), self.machine.processor.clone().unwrap_or_else(|| "unknown".to_owned())),
            ("cores".to_owned(), self.machine.cores.to_string()),
        ];
        if let Some(bytes) = self.machine.memory_bytes {
            facts.push(("memory".to_owned(), format!("{:.1} GiB", bytes as f64 / 1024f64.powi(3))));
        }
        facts.push(("system".to_owned(), self.machine.system.clone()));
        facts.extend(protocol(known));
        page.facts(&facts);
        let mut cells = known.cells.values();
        let fitted_on = if !cells.clone().any(CellState::is_searched) {
            "the graphs that each fold trains on"
        } else if cells.all(CellState::is_searched) {
            "all graphs, without labels"
        } else {
            "all graphs, without labels, for searched models, and for all other models on the graphs that each \
             fold trains on"
        };
        page.paragraph(&format!(
            "Features are fitted on {fitted_on}. Results do not depend on the number of threads."
        ));
        if !known.cells.is_empty() {
            page.paragraph("Records may come from several commands and machines; the command and machine above are the last.");
        }
    }
}

/// The search that was run, according to the records.
fn protocol(known: &Known) -> Vec<(String, String)> {
    let models = || known.cells.iter().filter(|(key, _)| key.is_model());
    let list = |values: BTreeSet<u64>| values.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let seeds: BTreeSet<u64> = known.cells.keys().map(|key| key.seed).collect();
    let folds: BTreeSet<u64> =
        models().filter(|(_, state)| state.is_done()).map(|(_, state)| state.folds.len() as u64).collect();
    let units = || models().flat_map(|(_, state)| state.units.keys());
    let configurations = units().map(|key| key.configuration + 1).max();
    let initialisations = units().map(|key| key.initialisation + 1).max();
    let mut found = Vec::new();
    if !seeds.is_empty() {
        found.push(("seeds".to_owned(), list(seeds)));
    }
    if !folds.is_empty() {
        found.push(("folds".to_owned(), list(folds)));
    }
    if let Some((configurations, initialisations)) = configurations.zip(initialisations) {
        found.push((
            "search".to_owned(),
            format!(
                "{}, {} of the weights each",
                counted(configurations, "configuration"),
                counted(initialisations, "draw")
            ),
        ));
    }
    let passes: usize = known.cells.values().map(|state| state.effort.passes).sum();
    let seconds: f64 = known.cells.values().map(|state| state.effort.seconds).sum();
    if passes > 0 {
        found.push(("passes".to_owned(), format!("{passes} in {}", duration(seconds))));
    }
    if let Some(peak) = known.cells.values().filter_map(|state| state.effort.peak_memory_bytes).max() {
        found.push(("peak memory".to_owned(), format!("{:.0} MiB", peak as f64 / 1024f64.powi(2))));
    }
    found
}

fn duration(seconds: f64) -> String {
    match seconds {
        ..120.0 => format!("{seconds:.0} seconds"),
        ..7200.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_from_what_it_tells() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nflags\t\t: a b\n\nprocessor\t: 1\n";
        assert_eq!(processor(text).as_deref(), Some("Some CPU @ 2.0GHz"));
        assert_eq!(processor("processor : 0\n"), None);
        assert_eq!(memory("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
        assert_eq!(memory("MemTotal: many kB"), None);
        assert_eq!(memory(""), None);
        assert!(Machine::here().cores >= 1);
    }
}
