//! The results of a run, line by line in append-only files.
//!
//! A line consists of 16 hexadecimal digits, the beginning of the SHA-256 of the rest,
//! then a space and a JSON object. If the program is killed while it writes, the last
//! line has no end; after a power cut the last lines may hold anything. So everything
//! after the last good line is dropped, and the next process repeats that work. A bad
//! line before a good one means that the file was edited, and is an error. So is a file
//! without any good line, unless it is the beginning of a first line: dropping it might
//! destroy a file that is not ours.
//! Several files in a folder, one for each process that shares the work, are read as
//! one. Files that end in `.jsonl.gz` are read as well, but never written.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flate2::read::MultiGzDecoder;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use stepwell_data::files;

use crate::error::{Error, Result};

/// A file of records, open for writing.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    synced: Instant,
}

/// Limits how much work a power cut can undo. Syncing after every record would take
/// longer than many passes do.
const SYNC_EVERY: Duration = Duration::from_secs(5);

impl Journal {
    /// Opens a file to append to it, and drops an incomplete end.
    pub fn open(path: &Path) -> Result<Self> {
        let refused = |source| Error::Io { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(refused)?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(refused)?;
        let bytes = files::read_open(&file, path, 1)?;
        let whole = whole(&bytes, path)?;
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(refused)?;
        }
        Ok(Self { path: path.to_owned(), file, synced: Instant::now() })
    }

    /// Appends a record. The record survives the end of the program; if the machine
    /// itself stops, the records of the last seconds may be lost.
    pub fn write(&mut self, record: &impl Serialize) -> Result<()> {
        let refused = |source| Error::Io { path: self.path.clone(), source };
        let text = serde_json::to_string(record).map_err(|error| refused(error.into()))?;
        let line = format!("{} {text}\n", digest(&text));
        let before = self.file.metadata().map_err(refused)?.len();
        let mut written = self.file.write_all(line.as_bytes());
        if self.synced.elapsed() > SYNC_EVERY {
            written = written.and_then(|()| self.file.sync_data());
            self.synced = Instant::now();
        }
        written.map_err(|source| {
            // A full disk may have taken half of the record.
            let _ = self.file.set_len(before);
            refused(source)
        })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // If the disk has failed, writing the next record reports it.
        let _ = self.file.sync_data();
    }
}

/// The length of the good part of a file: up to the end of the last good line. A file without a
/// good line is an error, unless it holds no more than a beginning of its first record.
fn whole(bytes: &[u8], path: &Path) -> Result<usize> {
    match good(bytes) {
        0 if !is_torn(bytes) => Err(Error::NoRecords { path: path.to_owned() }),
        good => Ok(good),
    }
}

/// Whether bytes are a beginning of one line, or what a power cut leaves of it: zeros from
/// somewhere on.
fn is_torn(bytes: &[u8]) -> bool {
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let mut line = bytes[..end].iter();
    line.by_ref().take(2 * DIGEST).all(is_digit)
        && line.next().is_none_or(|&byte| byte == b' ')
        && line.all(|&byte| byte != b'\n')
}

/// The end of the last good line.
fn good(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    while let Some(last) = bytes[..end].iter().rposition(|&byte| byte == b'\n') {
        let begin = bytes[..last].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if text(&bytes[begin..last]).is_ok() {
            return last + 1;
        }
        end = begin;
        if begin == 0 {
            break;
        }
    }
    0
}

/// The JSON text of a line, if its checksum matches.
fn text(line: &[u8]) -> Result<&str, String> {
    let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let (sum, text) = line.split_once(' ').unwrap_or(("", line));
    if sum == digest(text) { Ok(text) } else { Err("its checksum differs: the line was edited".into()) }
}

/// More than the records of any run unpack to.
const MOST_UNPACKED: u64 = 1 << 32;

/// The number of copies of the records' bytes held while they are read, including parsed values.
const COPIES: u64 = 4;

/// Reads all records of a folder of files ending in `.jsonl` or `.jsonl.gz`, in the
/// order of their names, without incomplete ends.
pub fn read<T: DeserializeOwned>(folder: &Path) -> Result<Vec<T>> {
    let mut records = Vec::new();
    for (path, bytes) in contents(folder)? {
        for (index, line) in bytes[..whole(&bytes, &path)?].split(|&byte| byte == b'\n').enumerate() {
            if line.is_empty() {
                continue;
            }
            let broken = |problem: String| Error::Record { path: path.clone(), line: index + 1, problem };
            let text = text(line).map_err(broken)?;
            records.push(serde_json::from_str(text).map_err(|error| broken(error.to_string()))?);
        }
    }
    Ok(records)
}

/// The files and their contents. Empty if the folder does not exist.
fn contents(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let refused = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries.map_err(refused(folder))?,
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(refused(folder))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let packed = name.ends_with(".jsonl.gz");
        if !packed && !name.ends_with(".jsonl") {
            continue;
        }
        let file = File::open(&path).map_err(refused(&path))?;
        let bytes = if packed {
            files::read_all(MultiGzDecoder::new(&file), &path, COPIES, MOST_UNPACKED)?
        } else {
            files::read_open(&file, &path, COPIES)?
        };
        found.insert(path, bytes);
    }
    Ok(found)
}

/// The number of bytes of a checksum, each written as two digits.
const DIGEST: usize = 8;

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().take(DIGEST).map(|byte| format!("{byte:02x}")).collect()
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
    fn what_a_power_cut_leaves_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        (1..4u32).for_each(|number| journal.write(&number).unwrap());
        let good = fs::read(&path).unwrap();
        for rest in [&b"\0\0\0\0\n\0\0"[..], b"0123 4\n5\n", b"\n\n", b"\xff\xfe\n"] {
            fs::write(&path, [&good[..], rest].concat()).unwrap();
            assert_eq!(read::<u32>(folder.path()).unwrap(), [1, 2, 3]);
            drop(Journal::open(&path).unwrap());
            assert_eq!(fs::read(&path).unwrap(), good);
        }
    }

    #[test]
    fn a_torn_first_line_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        Journal::open(&path).unwrap().write(&"a b\0c").unwrap();
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            for zeros in [0, 1, 50] {
                fs::write(&path, [&whole[..cut], &vec![0; zeros]].concat()).unwrap();
                assert!(read::<String>(folder.path()).unwrap().is_empty(), "cut {cut}");
                Journal::open(&path).unwrap().write(&"a b\0c").unwrap();
                assert_eq!(fs::read(&path).unwrap(), whole, "cut {cut}");
            }
        }
    }

    #[test]
    fn a_file_without_a_record_is_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let mut journal = Journal::open(&path).unwrap();
        (1..4u32).for_each(|number| journal.write(&number).unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let edited = text.replace(" 1\n", " 4\n").replace(" 2\n", " 5\n").replace(" 3\n", " 6\n");
        let first = edited.split_inclusive('\n').next().unwrap();
        let cases = ["{\"id\": 1}\n", "{\"id\": 1}", "nothing good\n", "\n", "0123 4", &edited, first];
        for content in cases {
            fs::write(&path, content).unwrap();
            for error in [Journal::open(&path).unwrap_err(), read::<u32>(folder.path()).unwrap_err()] {
                let error = error.to_string();
                assert!(error.contains("a.jsonl: expected records of a run"), "{error}");
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
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
    fn packed_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        Journal::open(&path).unwrap().write(&7u32).unwrap();
        let packed = File::create(folder.path().join("a.jsonl.gz")).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(packed, flate2::Compression::best());
        encoder.write_all(&fs::read(&path).unwrap()).unwrap();
        encoder.finish().unwrap();
        fs::remove_file(&path).unwrap();
        assert_eq!(read::<u32>(folder.path()).unwrap(), [7]);
        fs::write(folder.path().join("b.jsonl.gz"), "no gzip").unwrap();
        assert!(read::<u32>(folder.path()).unwrap_err().to_string().contains("b.jsonl.gz"));
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
