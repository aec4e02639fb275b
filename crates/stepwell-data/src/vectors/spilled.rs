//! Vectors to be gone through again: in memory, and on disk where they are many.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use ndarray::{Array2, ArrayView2};

/// Numbers that are held in memory before a temporary file is begun: a gigabyte.
const IN_MEMORY: usize = 1 << 27;
/// Rows that are read back at a time.
const ROWS: usize = 512;

/// Rows of one width, in the order they came. What is on disk has no name, and
/// goes when this does or the program ends.
#[derive(Debug)]
pub struct Spilled {
    width: usize,
    in_memory: Vec<Array2<f64>>,
    numbers: usize,
    rest: Option<BufWriter<File>>,
    /// Rows on disk.
    written: usize,
}

impl Spilled {
    /// Nothing yet.
    pub fn new(width: usize) -> Self {
        Self { width, in_memory: Vec::new(), numbers: 0, rest: None, written: 0 }
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.in_memory.iter().map(|rows| rows.nrows()).sum::<usize>() + self.written
    }

    /// Adds rows.
    pub fn append(&mut self, rows: Array2<f64>) -> io::Result<()> {
        self.numbers += rows.len();
        if self.numbers <= IN_MEMORY {
            self.in_memory.push(rows);
            return Ok(());
        }
        let file = match &mut self.rest {
            Some(file) => file,
            None => self.rest.insert(BufWriter::with_capacity(1 << 18, tempfile::tempfile()?)),
        };
        self.written += rows.nrows();
        rows.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))
    }

    /// Goes through all of them; `take` gets some rows, and how many came before.
    pub fn pass<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(ArrayView2<'_, f64>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut before = 0;
        for rows in &self.in_memory {
            take(rows.view(), before)?;
            before += rows.nrows();
        }
        let Some(file) = &mut self.rest else { return Ok(()) };
        file.flush()?;
        let file = file.get_mut();
        file.seek(SeekFrom::Start(0))?;
        let mut reader = BufReader::with_capacity(1 << 18, &mut *file);
        let mut bytes = Vec::new();
        for first in (0..self.written).step_by(ROWS) {
            let count = ROWS.min(self.written - first);
            bytes.resize(count * self.width * 8, 0);
            reader.read_exact(&mut bytes)?;
            let numbers = bytes.as_chunks().0.iter().copied().map(f64::from_le_bytes);
            let rows =
                Array2::from_shape_vec((count, self.width), numbers.collect()).map_err(io::Error::other)?;
            take(rows.view(), before + first)?;
        }
        drop(reader);
        file.seek(SeekFrom::End(0))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_often_as_asked_for_from_memory_and_from_disk() {
        for (pieces, piece) in [(3, 5), (3, 800_000)] {
            let mut spilled = Spilled::new(60);
            let row = |index: usize| (index as f64).sqrt();
            for number in 0..pieces {
                let rows = Array2::from_shape_fn((piece, 60), |(i, j)| row(number * piece + i) + j as f64);
                spilled.append(rows).unwrap();
                let mut seen = 0;
                let check = |rows: ArrayView2<'_, f64>, before: usize| {
                    assert_eq!(before, seen);
                    for (i, found) in rows.outer_iter().enumerate() {
                        assert_eq!((found[0], found[59]), (row(seen + i), row(seen + i) + 59.0));
                    }
                    seen += rows.nrows();
                    Ok::<(), io::Error>(())
                };
                spilled.pass(check).unwrap();
                assert_eq!(seen, (number + 1) * piece);
            }
        }
    }
}
