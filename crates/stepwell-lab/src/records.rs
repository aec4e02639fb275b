//! What a run has found, line by line in append-only files.
//!
//! A line is 16 hexadecimal digits of the SHA-256 of what follows, a space, and
//! a JSON object. A line that was being written when the program was killed has
//! no end; it is dropped, and written anew by whoever goes on. Several files in
//! a folder, one for each process that shares the work, are read as one.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// A file of records that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens a file to go on writing, dropping a line without end.
    pub fn open(path: &Path) -> Result<Self> {
        let refused = |source| Error::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(refused)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refused)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(refused)?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(refused)?;
        }
        Ok(Self { path: path.to_owned(), file })
    }

    /// Adds a record. It is on its way to the disk when this returns, whole or,
    /// if the machine stops, not at all.
    pub fn write(&mut self, record: &impl Serialize) -> Result<()> {
        let refused = |source| Error::Io { path: self.path.clone(), source };
        let text = serde_json::to_string(record).map_err(|error| refused(error.into()))?;
        let line = format!("{} {text}\n", digest(&text));
        let before = self.file.metadata().map_err(refused)?.len();
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|source| {
            // A full disk may have taken half of it.
            let _ = self.file.set_len(before);
            refused(source)
        })
    }
}

/// All records of a folder of files ending in `.jsonl`, in the order of their
/// names; a last line without end is left out.
pub fn read<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>> {
    let mut records = Vec::new();
    for (path, bytes) in files(folder)? {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for (index, line) in bytes[..whole].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let broken = |problem: String| Error::Record { path: path.clone(), line: index + 1, problem };
            let line = std::str::from_utf8(line).map_err(|error| broken(error.to_string()))?;
            let (sum, text) = line.split_once(' ').unwrap_or(("", line));
            if sum != digest(text) {
                return Err(broken("its checksum differs, so it was changed".into()));
            }
            records.push(serde_json::from_str(text).map_err(|error| broken(error.to_string()))?);
        }
    }
    Ok(records)
}

/// The files and what they hold; none while there is no folder.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries.map_err(refused(folder))?,
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(refused(folder))?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let bytes = fs::read(&path).map_err(refused(&path))?;
            files.insert(path, bytes);
        }
    }
    Ok(files)
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_a_torn_line_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        assert!(read::<u32>(folder.path()).unwrap().is_empty());
        let mut journal = Journal::open(&path).unwrap();
        (1..4u32).for_each(|number| journal.write(&number).unwrap());
        let whole = fs::read(&path).unwrap();
        for cut in 1..whole.len() / 3 {
            fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            assert_eq!(read::<u32>(folder.path()).unwrap(), [1, 2], "cut {cut}");
            Journal::open(&path).unwrap().write(&3u32).unwrap();
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn a_changed_line_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        (1..4u32).for_each(|number| journal.write(&number).unwrap());
        let text = fs::read_to_string(&path).unwrap().replace(" 2\n", " 5\n");
        fs::write(&path, text).unwrap();
        let error = read::<u32>(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a.jsonl, line 2: its checksum differs"), "{error}");
    }

    #[test]
    fn several_files_are_one() {
        let folder = tempfile::tempdir().unwrap();
        for (name, number) in [("b.jsonl", 2u32), ("a.jsonl", 1), ("notes.txt", 9)] {
            Journal::open(&folder.path().join(name)).unwrap().write(&number).unwrap();
        }
        assert_eq!(read::<u32>(folder.path()).unwrap(), [1, 2]);
    }
}
