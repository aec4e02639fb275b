//! Locates the tables, in a folder or in a zip archive of it.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::archive::{Archive, Files, Opened, gunzip};
use crate::error::{Error, Place, Result};

/// The file that only this layout has.
const SIGN: &str = "raw/num-node-list.csv.gz";

/// Whether a folder or archive has this layout; false if it cannot be read.
pub(crate) fn is_one(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(SIGN).is_file();
    }
    let Ok(file) = File::open(path) else { return false };
    Archive::open(file, "").is_ok_and(|archive| archive.parts().iter().any(|part| root(part).is_some()))
}

/// The path before `raw/`, if `part` is the file that identifies the layout.
fn root(part: &str) -> Option<&str> {
    part.strip_suffix(SIGN).filter(|root| root.is_empty() || root.ends_with('/'))
}

/// The tables of one dataset.
pub(super) struct Source<R> {
    files: Files<R>,
    /// The path before `raw/`: empty, or ending in a slash.
    root: String,
    pub(super) name: String,
}

impl<R: Read + Seek + Send> Source<R> {
    pub(super) fn new(files: Files<R>, path: &Path) -> Result<Self> {
        let roots: Vec<String> = match &files {
            Files::Folder(_) => vec![String::new()],
            Files::Zip(archive) => {
                archive.parts().iter().filter_map(|part| root(part)).map(str::to_owned).collect()
            }
        };
        let [root] = &roots[..] else {
            let found = if roots.is_empty() { "none" } else { "several" };
            return Err(Error::malformed(files.place(), format!("one file {SIGN}"), found));
        };
        let folder = root.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = if folder.is_empty() { stem() } else { folder.to_owned() };
        Ok(Self { root: root.clone(), files, name })
    }

    /// Opens the table at `path`.csv.gz, if it exists.
    pub(super) fn open(&mut self, path: &str) -> Result<Option<Opened<'_>>> {
        let opened = self.files.open(&format!("{}{path}.csv.gz", self.root))?;
        Ok(opened.map(|(packed, place)| -> Opened<'_> { (Box::new(gunzip(packed)), place) }))
    }

    /// Opens the table at `path`.csv.gz, which must exist.
    pub(super) fn require(&mut self, path: &str) -> Result<Opened<'_>> {
        let (name, place) = (format!("{}{path}.csv.gz", self.root), self.place());
        self.open(path)?.ok_or_else(|| Error::malformed(place, format!("a file {name}"), "none"))
    }

    /// The names of the entries in a folder of the dataset.
    pub(super) fn inside(&self, folder: &str) -> Result<Vec<String>> {
        self.files.inside(&format!("{}{folder}", self.root))
    }

    /// The folder or archive as a whole.
    pub(super) fn place(&self) -> Place {
        self.files.place()
    }
}
