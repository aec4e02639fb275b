//! Finds the files of the dataset in a folder or archive.

use std::io::{Read, Seek};

use crate::archive::{Files, Opened};
use crate::error::{Error, Place, Result};

/// The files of one dataset.
pub(super) struct Source<R> {
    files: Files<R>,
    /// All file names, and those that were opened.
    names: Vec<String>,
    asked: Vec<String>,
    /// NAME, with its path inside the archive: the part before `_A.txt`.
    prefix: String,
}

impl<R: Read + Seek + Send> Source<R> {
    pub(super) fn new(files: Files<R>) -> Result<Self> {
        let names = files.paths()?;
        let prefix = find_prefix(&names, files.place())?;
        Ok(Self { files, names, asked: Vec::new(), prefix })
    }

    /// NAME without folders.
    pub(super) fn name(&self) -> &str {
        self.prefix.rsplit('/').next().unwrap_or_default()
    }

    /// Opens `NAME_suffix.txt`, if it exists.
    pub(super) fn open(&mut self, suffix: &str) -> Result<Option<Opened<'_>>> {
        let name = format!("{}_{suffix}.txt", self.prefix);
        self.asked.push(name.clone());
        self.files.open(&name)
    }

    /// Opens `NAME_suffix.txt`, which must exist.
    pub(super) fn require(&mut self, suffix: &str) -> Result<Opened<'_>> {
        let (name, place) = (format!("{}_{suffix}.txt", self.prefix), self.files.place());
        self.open(suffix)?.ok_or_else(|| Error::malformed(place, format!("a file {name}"), "none"))
    }

    /// Files that were never opened, except hidden files and readme files.
    pub(super) fn ignored(&self) -> Vec<&str> {
        let for_people = |name: &str| {
            let base = name.rsplit('/').next().unwrap_or_default();
            let hidden = base.is_empty() || base.starts_with('.') || name.starts_with("__MACOSX/");
            hidden || base.to_ascii_lowercase().contains("readme")
        };
        let names = self.names.iter().map(String::as_str);
        names.filter(|name| !for_people(name) && !self.asked.iter().any(|asked| asked == name)).collect()
    }
}

fn find_prefix(names: &[String], place: Place) -> Result<String> {
    // Archives made on a Mac contain a shadow file `._NAME` of every file.
    let shadow = |name: &str| name.rsplit('/').next().is_some_and(|base| base.starts_with("._"));
    let prefixes = names.iter().filter(|name| !shadow(name)).filter_map(|name| name.strip_suffix("_A.txt"));
    let found: Vec<&str> = prefixes.collect();
    match found[..] {
        [prefix] => Ok(prefix.to_owned()),
        [] => Err(Error::malformed(place, "a file ending in _A.txt", "none")),
        [first, second, ..] => Err(Error::malformed(
            place,
            "one file ending in _A.txt",
            format!("several, such as {first}_A.txt and {second}_A.txt"),
        )),
    }
}
