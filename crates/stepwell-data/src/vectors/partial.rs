//! Finished blocks of an unfinished table, kept in a file next to it, so that an interrupted
//! run can be resumed.
//! The file begins with a line of JSON that identifies the inputs of the table ([`Identity`]);
//! blocks made from other inputs are refused with an error that names the difference. Each block
//! follows as a length, a SHA-256 sum and that many bytes: a line of JSON with the keys, then the
//! numbers. A block that was being written when the program was killed does not match its sum and
//! is dropped. One process at a time holds the file, by a lock that ends with the process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Block, Key};
use crate::error::{Error, Result};
use crate::files;
use crate::identity::Identity;

/// A table being written.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    file: File,
}

#[derive(Deserialize, Serialize)]
struct Head {
    /// Rows of the source, up to and including those of this block.
    seen: usize,
    rows: usize,
    columns: usize,
    keys: Vec<Keys>,
}

/// Floats are stored as bits, because text would round them.
#[derive(Deserialize, Serialize)]
enum Keys {
    Text(Vec<String>),
    Whole(Vec<i64>),
    Real(Vec<u64>),
    Several(Vec<u64>, usize),
    SomeText(Vec<Option<String>>),
    SomeWhole(Vec<Option<i64>>),
    SomeReal(Vec<u64>),
}

impl Keys {
    /// Whether there is one key for each of `rows` rows.
    fn fits(&self, rows: usize) -> bool {
        match self {
            Self::Text(texts) => texts.len() == rows,
            Self::Whole(numbers) => numbers.len() == rows,
            Self::Real(bits) | Self::SomeReal(bits) => bits.len() == rows,
            Self::SomeText(texts) => texts.len() == rows,
            Self::SomeWhole(numbers) => numbers.len() == rows,
            Self::Several(bits, width) => rows.checked_mul(*width) == Some(bits.len()),
        }
    }
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// The longest accepted block; pieces are far smaller.
const LONGEST: u64 = 1 << 34;
/// The longest accepted first line.
const LONGEST_LINE: u64 = 1 << 20;
/// Bytes of a length and a checksum.
const FRAME: usize = 8 + 32;

impl Partial {
    /// The path of the blocks of a table.
    pub fn beside(table: &Path) -> PathBuf {
        let mut name = table.as_os_str().to_owned();
        name.push(".partial");
        name.into()
    }

    /// Resumes the work of an earlier run, passing every stored block to `block`. If that run had
    /// other inputs, returns an error that names the difference, unless `restart` discards the
    /// blocks. Returns the number of rows of the source that are done.
    pub fn open<E: From<Error>>(
        path: &Path,
        made_of: &Identity,
        restart: bool,
        mut block: impl FnMut(&Block<'_>) -> Result<(), E>,
    ) -> Result<(Self, usize), E> {
        let refused = |source| Error::io(path, source);
        let mut file = locked(path)?;
        let line = serde_json::to_string(made_of).map_err(io::Error::from).map_err(refused)? + "\n";
        let (mut good, mut seen) = (0, 0);
        let mut reader = BufReader::with_capacity(1 << 18, &file);
        if !restart && begins_alike(&mut reader, path, made_of, line.as_bytes())? {
            good = line.len() as u64;
            while let Some(bytes) = frame(&mut reader, path)? {
                let Some(next) = decoded(&bytes, &mut block)? else { break };
                good += (FRAME + bytes.len()) as u64;
                seen = next;
            }
        }
        drop(reader);
        file.set_len(good).and_then(|()| file.seek(SeekFrom::End(0))).map_err(refused)?;
        if good == 0 {
            file.write_all(line.as_bytes()).map_err(refused)?;
        }
        Ok((Self { path: path.to_owned(), file }, seen))
    }

    /// Stores a block; `seen` rows of the source are then done.
    pub fn append(&mut self, block: &Block<'_>, seen: usize) -> Result<()> {
        let keys = block.keys.iter().map(|key| match key {
            Key::Text(texts) => Keys::Text(texts.to_vec()),
            Key::Whole(numbers) => Keys::Whole(numbers.to_vec()),
            Key::Real(numbers) => Keys::Real(bits(numbers)),
            Key::Several(numbers, width) => Keys::Several(bits(numbers), *width),
            Key::SomeText(texts) => Keys::SomeText(texts.to_vec()),
            Key::SomeWhole(numbers) => Keys::SomeWhole(numbers.to_vec()),
            Key::SomeReal(numbers) => Keys::SomeReal(bits(numbers)),
        });
        let (rows, columns) = block.rows.dim();
        let head = Head { seen, rows, columns, keys: keys.collect() };
        let written = serde_json::to_vec(&head).map_err(io::Error::from).and_then(|mut bytes| {
            bytes.push(b'\n');
            block.rows.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            let mut framed = Vec::with_capacity(FRAME + bytes.len());
            framed.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            framed.extend_from_slice(&Sha256::digest(&bytes));
            framed.append(&mut bytes);
            self.file.write_all(&framed)
        });
        written.map_err(|source| Error::io(&self.path, source))
    }

    /// Removes the blocks once the table is complete.
    pub fn finish(self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|source| Error::io(&self.path, source))
    }
}

/// Opens or creates the file and locks it for this process.
fn locked(path: &Path) -> Result<File> {
    let refused = |source| Error::io(path, source);
    loop {
        // A link could lead anywhere. A link that appears later is detected below: the file at the
        // path must be the file that was opened.
        let file = match fs::symlink_metadata(path) {
            Ok(known) if !known.is_file() => {
                let what = "expected a file, found a link, a folder or a device; remove it";
                return Err(refused(io::Error::new(io::ErrorKind::AlreadyExists, what)));
            }
            Ok(_) => OpenOptions::new().read(true).write(true).open(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                OpenOptions::new().read(true).write(true).create_new(true).open(path)
            }
            Err(error) => Err(error),
        };
        let file = match file {
            // Another process created or removed the file in between.
            Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists].contains(&error.kind()) => {
                continue;
            }
            file => file.map_err(refused)?,
        };
        match file.try_lock() {
            Ok(()) if files::is_at(&file, path) => return Ok(file),
            // The process that held the lock has finished and removed the file.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(refused(source)),
        }
    }
}

/// Whether the file has a first line; it must then equal `line`.
fn begins_alike(reader: &mut impl BufRead, path: &Path, now: &Identity, line: &[u8]) -> Result<bool> {
    let mut found = Vec::new();
    let read = reader.take(LONGEST_LINE).read_until(b'\n', &mut found);
    read.map_err(|source| Error::io(path, source))?;
    if found == line {
        return Ok(true);
    }
    // The writer was killed before the line was complete.
    if line.starts_with(&found) {
        return Ok(false);
    }
    let before = serde_json::from_slice::<Identity>(&found);
    let what = before.map_or(None, |before| before.difference(now));
    let what = what.unwrap_or_else(|| "another version of Stepwell, or by another program".into());
    Err(Error::Changed { path: path.to_owned(), what })
}

/// The next frame, if it is complete.
fn frame(reader: &mut impl Read, path: &Path) -> Result<Option<Vec<u8>>> {
    let (mut length, mut sum) = ([0; 8], [0; 32]);
    if reader.read_exact(&mut length).and_then(|()| reader.read_exact(&mut sum)).is_err() {
        return Ok(None);
    }
    let length = u64::from_le_bytes(length);
    if length > LONGEST {
        return Ok(None);
    }
    // Reads only the bytes that exist: a declared length is no reason to allocate.
    let bytes = files::read_all(reader.take(length), path, 2, LONGEST)?;
    Ok((bytes.len() as u64 == length && Sha256::digest(&bytes)[..] == sum).then_some(bytes))
}

/// Passes a block on. Returns `None` if the bytes are not a block although the checksum matches.
fn decoded<E>(bytes: &[u8], block: &mut impl FnMut(&Block<'_>) -> Result<(), E>) -> Result<Option<usize>, E> {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
    let Ok(Head { seen, rows, columns, keys }) = serde_json::from_slice(&bytes[..end]) else {
        return Ok(None);
    };
    let numbers: Vec<f64> = bytes[end + 1..].as_chunks().0.iter().copied().map(f64::from_le_bytes).collect();
    let Ok(table) = ArrayView2::from_shape((rows, columns), &numbers) else { return Ok(None) };
    if !keys.iter().all(|key| key.fits(rows)) {
        return Ok(None);
    }
    let reals: Vec<Vec<f64>> = keys
        .iter()
        .map(|key| match key {
            Keys::Real(bits) | Keys::SomeReal(bits) | Keys::Several(bits, _) => {
                bits.iter().map(|&bits| f64::from_bits(bits)).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    let keys = keys.iter().zip(&reals).map(|(key, reals)| match key {
        Keys::Text(texts) => Key::Text(texts),
        Keys::Whole(numbers) => Key::Whole(numbers),
        Keys::Real(_) => Key::Real(reals),
        Keys::Several(_, width) => Key::Several(reals, *width),
        Keys::SomeText(texts) => Key::SomeText(texts),
        Keys::SomeWhole(numbers) => Key::SomeWhole(numbers),
        Keys::SomeReal(_) => Key::SomeReal(reals),
    });
    block(&Block { keys: keys.collect(), rows: table })?;
    Ok(Some(seen))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::vectors::{CsvWriter, Shape, VectorWriter};

    fn made_of(units: &str) -> Identity {
        Identity { settings: serde_json::json!({ "units": units }), checksums: [].into() }
    }

    fn rows(path: &Path, units: &str) -> (Vec<String>, usize) {
        let shape = Shape::numbered(vec!["id", "y"], "embedding", 2, true);
        let mut text = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut text, &shape));
        let (_, seen) = Partial::open(path, &made_of(units), false, |block| {
            writer.write(block).map_err(|e| Error::io(path, e))
        })
        .unwrap();
        writer.finish().unwrap();
        (String::from_utf8(text).unwrap().lines().skip(1).map(String::from).collect(), seen)
    }

    fn filled(path: &Path) -> Vec<u8> {
        let (mut partial, seen) = Partial::open(path, &made_of("a"), false, |_| Ok::<(), Error>(())).unwrap();
        assert_eq!(seen, 0);
        let (ids, y) = (["p,\n".to_owned(), "q".to_owned()], [0.1 + 0.2, f64::MIN_POSITIVE]);
        let keys = vec![Key::Text(&ids), Key::Real(&y)];
        partial.append(&Block { keys, rows: array![[1.0, 0.1], [2.0, 1e-300]].view() }, 2).unwrap();
        let keys = vec![Key::Text(&ids[..1]), Key::Real(&y[..1])];
        // Two rows of the source were invalid.
        partial.append(&Block { keys, rows: array![[3.0, -0.0]].view() }, 5).unwrap();
        fs::read(path).unwrap()
    }

    #[test]
    fn blocks_come_back_and_what_is_torn_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.partial");
        let bytes = filled(&path);
        let (whole, seen) = rows(&path, "a");
        assert_eq!((whole.len(), seen), (5, 5), "three rows, and an id with a line break twice: {whole:?}");
        assert_eq!(whole[1], "\",0.30000000000000004,1,0.1");
        for cut in 1..bytes.len() - 2 {
            fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
            let (_, seen) = rows(&path, "a");
            assert!(seen == 2 || seen == 0, "{cut}");
            let left = fs::read(&path).unwrap();
            assert!(bytes.starts_with(&left), "what is left is good");
        }
    }

    #[test]
    fn something_else_is_refused_and_changed_bytes_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.partial");
        let bytes = filled(&path);
        let first = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        let mut changed = bytes.clone();
        changed[first + 45] ^= 1;
        fs::write(&path, changed).unwrap();
        assert_eq!(rows(&path, "a").1, 0);
        fs::write(&path, &bytes).unwrap();
        let nothing = |_: &Block<'_>| Ok::<(), Error>(());
        let error = Partial::open(&path, &made_of("b"), false, nothing).unwrap_err().to_string();
        assert!(
            error.contains("left by an interrupted run with units = \"a\", not \"b\"; repeat"),
            "{error}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes, "nothing is lost");
        assert_eq!(Partial::open(&path, &made_of("b"), true, nothing).unwrap().1, 0);
        assert_eq!(
            fs::read(&path).unwrap(),
            serde_json::to_vec(&made_of("b")).unwrap().into_iter().chain([b'\n']).collect::<Vec<u8>>()
        );
        fs::write(&path, "0123\nanything").unwrap();
        let error = Partial::open(&path, &made_of("b"), false, nothing).unwrap_err().to_string();
        assert!(error.contains("another version of Stepwell"), "{error}");
    }

    #[test]
    fn one_process_at_a_time_holds_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.partial");
        let open = || Partial::open(&path, &made_of("a"), false, |_| Ok::<(), Error>(()));
        let (first, _) = open().unwrap();
        let error = open().unwrap_err().to_string();
        assert!(
            error.ends_with(
                "another process is writing this file; wait until it ends, or write to another file"
            ),
            "{error}"
        );
        first.finish().unwrap();
        assert!(open().is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_never_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, file) = (folder.path().join("t.partial"), folder.path().join("precious"));
        let open = || Partial::open(&path, &made_of("a"), true, |_| Ok::<(), Error>(()));
        for there in [false, true] {
            if there {
                fs::write(&file, "kept").unwrap();
            }
            std::os::unix::fs::symlink(&file, &path).unwrap();
            let error = open().unwrap_err().to_string();
            assert!(error.contains("expected a file, found a link"), "{error}");
            fs::remove_file(&path).unwrap();
            assert_eq!(fs::read(&file).ok(), there.then(|| b"kept".to_vec()));
        }
    }
}
