//! Writes the pages of commands, with their provenance.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use chrono::Utc;
use stepwell_data::files;
use stepwell_lab::paper::PaperFigure;
use stepwell_lab::picture::Picture;
use stepwell_lab::report::{Machine, Provenance};

/// The running command.
static COMMAND: Mutex<String> = Mutex::new(String::new());

/// Stores the command, to be shown on pages.
pub fn remember_command(arguments: &[OsString]) {
    let program = "stepwell".to_owned();
    let words = arguments.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let line = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
    *COMMAND.lock().unwrap_or_else(PoisonError::into_inner) = line;
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The provenance of a page written now.
pub fn provenance() -> Provenance {
    Provenance {
        command: COMMAND.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: Utc::now().format("%Y-%m-%d %H:%M UTC").to_string(),
        machine: Machine::here(),
    }
}

/// Writes a page, whole or not at all.
pub fn write(path: &Path, html: &str) -> Result<()> {
    files::write_whole::<anyhow::Error>(path, |out| Ok(out.write_all(html.as_bytes())?))
}

/// Writes a run's charts into its folder of figures.
pub fn write_figures(folder: &Path, charts: &[(String, Picture)]) -> Result<()> {
    for (name, picture) in charts {
        picture.write(&folder.join("figures").join(name))?;
    }
    Ok(())
}

/// The figures drawn earlier.
pub fn drawn(folder: &Path) -> BTreeMap<PaperFigure, String> {
    PaperFigure::read(&folder.join("figures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_given_again() {
        assert_eq!(quoted("runs/paper"), "runs/paper");
        assert_eq!(quoted("my runs"), "'my runs'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
