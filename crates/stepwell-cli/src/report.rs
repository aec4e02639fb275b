//! Pages that commands write: how they were made, and where they go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use stepwell_data::files;
use stepwell_lab::paper::PaperFigure;
use stepwell_lab::picture::Picture;
use stepwell_lab::report::{Machine, Provenance};

/// The command that runs.
static COMMAND: Mutex<String> = Mutex::new(String::new());

/// Keeps the command, to be written on pages.
pub fn remember_command(arguments: &[OsString]) {
    let program = "stepwell".to_owned();
    let words = arguments.iter().skip(1).map(|word| quoted(&word.to_string_lossy()));
    let line = std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ");
    *COMMAND.lock().unwrap_or_else(PoisonError::into_inner) = line;
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// How a page that is written now is made.
pub fn provenance() -> Provenance {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    Provenance {
        command: COMMAND.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        date: date(seconds),
        machine: Machine::here(),
    }
}

/// Seconds since the beginning of 1970 as a date and a time of day.
fn date(seconds: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut days, mut year) = (seconds / 86_400, 1970);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    for length in [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{year}-{month:02}-{:02} {hour:02}:{minute:02} UTC", days + 1)
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

/// The figures that were computed before.
pub fn drawn(folder: &Path) -> BTreeMap<PaperFigure, String> {
    PaperFigure::read(&folder.join("figures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_709_164_800, "2024-02-29 00:00 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (4_102_444_800, "2100-01-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), expected);
        }
    }

    #[test]
    fn commands_can_be_given_again() {
        assert_eq!(quoted("runs/paper"), "runs/paper");
        assert_eq!(quoted("my runs"), "'my runs'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
