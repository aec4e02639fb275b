//! Blocks of a table kept beside it while it is being made, so that work that
//! was ended goes on where it was.
//!
//! The file begins with a line that says what the table is made of. Behind it
//! stands every block as a length, a SHA-256 sum and that many bytes: a line of
//! JSON with the keys, and the numbers. What was being written when the program
//! was killed does not fit its sum, and is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Block, Key};
use crate::error::{Error, Result};

/// A table in the making.
#[derive(Debug)]
pub struct Partial {
    path: PathBuf,
    file: File,
}

#[derive(Deserialize, Serialize)]
struct Head {
    /// Rows of the source up to and with those of this block.
    seen: usize,
    rows: usize,
    columns: usize,
    keys: Vec<Keys>,
}

/// Real numbers are kept as their bits: text would round them.
#[derive(Deserialize, Serialize)]
enum Keys {
    Text(Vec<String>),
    Whole(Vec<i64>),
    Real(Vec<u64>),
    Several(Vec<u64>, usize),
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// No block is longer: pieces are far smaller.
const LONGEST: u64 = 1 << 34;
/// Bytes of a length and a sum.
const FRAME: usize = 8 + 32;

impl Partial {
    /// Where the blocks of a table are kept.
    pub fn beside(table: &Path) -> PathBuf {
        let mut name = table.as_os_str().to_owned();
        name.push(".partial");
        name.into()
    }

    /// Goes on with what is there, handing every block to `block`, or begins
    /// anew where it was made of something else. Answers with the rows of the
    /// source that are done.
    pub fn open<E: From<Error>>(
        path: &Path,
        made_of: &str,
        mut block: impl FnMut(&Block<'_>) -> Result<(), E>,
    ) -> Result<(Self, usize), E> {
        let refused = |source| Error::io(path, source);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(refused)?;
        let line = format!("{made_of}\n");
        let (mut good, mut seen) = (0, 0);
        let mut reader = BufReader::with_capacity(1 << 18, &file);
        let mut begun = vec![0; line.len()];
        if reader.read_exact(&mut begun).is_ok() && begun == line.as_bytes() {
            good = line.len() as u64;
            while let Some(bytes) = frame(&mut reader) {
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

    /// Keeps a block; `seen` rows of the source are done with it.
    pub fn append(&mut self, block: &Block<'_>, seen: usize) -> Result<()> {
        let keys = block.keys.iter().map(|key| match key {
            Key::Text(texts) => Keys::Text(texts.to_vec()),
            Key::Whole(numbers) => Keys::Whole(numbers.to_vec()),
            Key::Real(numbers) => Keys::Real(bits(numbers)),
            Key::Several(numbers, width) => Keys::Several(bits(numbers), *width),
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

    /// The table is whole: removes the blocks.
    pub fn finish(self) -> Result<()> {
        fs::remove_file(&self.path).map_err(|source| Error::io(&self.path, source))
    }
}

/// The next frame, if it is whole.
fn frame(reader: &mut impl Read) -> Option<Vec<u8>> {
    let (mut length, mut sum) = ([0; 8], [0; 32]);
    reader.read_exact(&mut length).ok()?;
    reader.read_exact(&mut sum).ok()?;
    let length = Some(u64::from_le_bytes(length)).filter(|length| *length <= LONGEST)?;
    let mut bytes = Vec::new();
    // Read as far as there is something: a length alone is no reason to allocate.
    reader.take(length).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length && Sha256::digest(&bytes)[..] == sum).then_some(bytes)
}

/// Hands on a block; nothing if it is not one of ours in spite of its sum.
fn decoded<E>(bytes: &[u8], block: &mut impl FnMut(&Block<'_>) -> Result<(), E>) -> Result<Option<usize>, E> {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
    let Ok(Head { seen, rows, columns, keys }) = serde_json::from_slice(&bytes[..end]) else {
        return Ok(None);
    };
    let numbers: Vec<f64> = bytes[end + 1..].as_chunks().0.iter().copied().map(f64::from_le_bytes).collect();
    let Ok(table) = ArrayView2::from_shape((rows, columns), &numbers) else { return Ok(None) };
    let reals: Vec<Vec<f64>> = keys
        .iter()
        .map(|key| match key {
            Keys::Real(bits) | Keys::Several(bits, _) => {
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
    });
    block(&Block { keys: keys.collect(), rows: table })?;
    Ok(Some(seen))
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::vectors::{CsvWriter, Shape, VectorWriter};

    fn rows(path: &Path, made_of: &str) -> (Vec<String>, usize) {
        let shape = Shape::numbered(vec!["id", "y"], "embedding", 2, true);
        let mut text = Vec::new();
        let mut writer = Box::new(CsvWriter::new(&mut text, &shape));
        let (_, seen) =
            Partial::open(path, made_of, |block| writer.write(block).map_err(|e| Error::io(path, e)))
                .unwrap();
        writer.finish().unwrap();
        (String::from_utf8(text).unwrap().lines().skip(1).map(String::from).collect(), seen)
    }

    fn filled(path: &Path) -> Vec<u8> {
        let (mut partial, seen) = Partial::open(path, "a", |_| Ok::<(), Error>(())).unwrap();
        assert_eq!(seen, 0);
        let (ids, y) = (["p,\n".to_owned(), "q".to_owned()], [0.1 + 0.2, f64::MIN_POSITIVE]);
        let keys = vec![Key::Text(&ids), Key::Real(&y)];
        partial.append(&Block { keys, rows: array![[1.0, 0.1], [2.0, 1e-300]].view() }, 2).unwrap();
        let keys = vec![Key::Text(&ids[..1]), Key::Real(&y[..1])];
        // Two rows of the source were bad.
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
    fn something_else_begins_anew_and_changed_bytes_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.partial");
        let bytes = filled(&path);
        let mut changed = bytes.clone();
        changed[60] ^= 1;
        fs::write(&path, changed).unwrap();
        assert_eq!(rows(&path, "a").1, 0);
        fs::write(&path, &bytes).unwrap();
        assert_eq!(rows(&path, "b"), (Vec::new(), 0));
        assert_eq!(fs::read(&path).unwrap(), b"b\n");
    }
}
