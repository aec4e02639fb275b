//! Where the text files lie: a folder or a zip archive.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::error::{Error, Place, Result};

/// The files of one dataset.
pub(super) struct Source<R> {
    files: Files<R>,
    /// All names there are, and those that were asked for.
    names: Vec<String>,
    asked: Vec<String>,
    /// NAME, or the path to it inside the archive: what comes before `_A.txt`.
    prefix: String,
}

enum Files<R> {
    Folder(PathBuf),
    Zip(Archive<R>),
}

impl Source<File> {
    pub(super) fn folder(path: &Path) -> Result<Self> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(|error| Error::io(path, error))? {
            let entry = entry.map_err(|error| Error::io(path, error))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        let prefix = find_prefix(&names, &path.display().to_string())?;
        Ok(Self { files: Files::Folder(path.to_owned()), names, asked: Vec::new(), prefix })
    }
}

impl<R: Read + Seek + Send> Source<R> {
    pub(super) fn zip(reader: R, name: &str) -> Result<Self> {
        let archive = Archive::open(reader, name)?;
        let names = archive.parts();
        let prefix = find_prefix(&names, name)?;
        Ok(Self { files: Files::Zip(archive), names, asked: Vec::new(), prefix })
    }

    /// NAME without folders.
    pub(super) fn name(&self) -> &str {
        self.prefix.rsplit('/').next().unwrap_or_default()
    }

    /// Opens `NAME_suffix.txt`, if it is there.
    pub(super) fn open(&mut self, suffix: &str) -> Result<Option<(Box<dyn Read + Send + '_>, Place)>> {
        let name = format!("{}_{suffix}.txt", self.prefix);
        self.asked.push(name.clone());
        match &mut self.files {
            Files::Folder(folder) => {
                let path = folder.join(name);
                // What is there but cannot be read is no reason to go on without it.
                match fs::metadata(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                        return Ok(None);
                    }
                    Ok(known) if !known.is_file() => {
                        let found = if known.is_dir() { "a folder" } else { "a pipe or a device" };
                        return Err(Error::malformed(
                            Place::file(path.display().to_string()),
                            "a file",
                            found,
                        ));
                    }
                    known => known.map_err(|error| Error::io(&path, error))?,
                };
                let file = File::open(&path).map_err(|error| Error::io(&path, error))?;
                Ok(Some((Box::new(file), Place::file(path.display().to_string()))))
            }
            Files::Zip(archive) => {
                if !archive.parts().contains(&name) {
                    return Ok(None);
                }
                let place = archive.place(&name);
                Ok(Some((Box::new(archive.part(&name)?), place)))
            }
        }
    }

    /// Opens `NAME_suffix.txt`, which must be there.
    pub(super) fn require(&mut self, suffix: &str) -> Result<(Box<dyn Read + Send + '_>, Place)> {
        let (name, place) = (format!("{}_{suffix}.txt", self.prefix), self.place());
        self.open(suffix)?.ok_or_else(|| Error::malformed(place, format!("a file {name}"), "none"))
    }

    /// Files whose names are none of the layout's, and which nobody asked for; those that
    /// are for people aside.
    pub(super) fn ignored(&self) -> Vec<&str> {
        let for_people = |name: &str| {
            let base = name.rsplit('/').next().unwrap_or_default();
            let hidden = base.is_empty() || base.starts_with('.') || name.starts_with("__MACOSX/");
            hidden || base.to_ascii_lowercase().contains("readme")
        };
        let names = self.names.iter().map(String::as_str);
        names.filter(|name| !for_people(name) && !self.asked.iter().any(|asked| asked == name)).collect()
    }

    /// The folder or archive as a whole.
    pub(super) fn place(&self) -> Place {
        match &self.files {
            Files::Folder(folder) => Place::file(folder.display().to_string()),
            Files::Zip(archive) => archive.whole(),
        }
    }
}

fn find_prefix(names: &[String], place: &str) -> Result<String> {
    // Archives made on a Mac carry a shadow `._NAME` of every file.
    let shadow = |name: &str| name.rsplit('/').next().is_some_and(|base| base.starts_with("._"));
    let prefixes = names.iter().filter(|name| !shadow(name)).filter_map(|name| name.strip_suffix("_A.txt"));
    let found: Vec<&str> = prefixes.collect();
    match found[..] {
        [prefix] => Ok(prefix.to_owned()),
        [] => Err(Error::malformed(Place::file(place), "a file ending in _A.txt", "none")),
        [first, second, ..] => Err(Error::malformed(
            Place::file(place),
            "one file ending in _A.txt",
            format!("several, such as {first}_A.txt and {second}_A.txt"),
        )),
    }
}
