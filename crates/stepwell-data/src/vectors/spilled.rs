//! Vectors and colours that are read several times: in memory, and on disk if they are large.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use ndarray::Array2;
use stepwell::colours::Colours;
use stepwell::readout::Rows;
use stepwell::reservoir::Embedding;

use crate::memory::Budget;

/// The most bytes held in memory before a temporary file is used: a gigabyte, or one part in
/// `SHARE` of the memory budget if that is less.
const IN_MEMORY: u64 = 1 << 30;
const SHARE: u64 = 4;
/// Rows read back at a time.
const ROWS: usize = 512;

/// Rows of one width, in order of arrival, with the colours of their graphs, if they have any. The
/// temporary file has no name; it is removed when this value is dropped or the program ends.
#[derive(Debug)]
pub struct Spilled {
    width: usize,
    in_memory: Vec<(Array2<f64>, Option<Colours>)>,
    /// Bytes so far, and the most bytes held in memory.
    bytes: u64,
    most: u64,
    rest: Option<BufWriter<File>>,
    /// Rows on disk.
    written: usize,
    has_colours: bool,
}

impl Spilled {
    /// Creates an empty store.
    pub fn new(width: usize) -> Self {
        let most = IN_MEMORY.min(Budget::in_force().0 / SHARE);
        Self { width, in_memory: Vec::new(), bytes: 0, most, rest: None, written: 0, has_colours: false }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.in_memory.iter().map(|(rows, _)| rows.nrows()).sum::<usize>() + self.written
    }

    /// Adds the rows of more graphs. Either all graphs have colours, or none.
    pub fn append(&mut self, Embedding { vectors, colours, .. }: Embedding) -> io::Result<()> {
        let distinct = colours.as_ref().map_or(0, |colours| colours.view().num_colours());
        let colours_each = size_of::<u64>() + size_of::<u32>();
        self.bytes += (vectors.len() * size_of::<f64>() + distinct * colours_each) as u64;
        self.has_colours = colours.is_some();
        if self.bytes <= self.most {
            self.in_memory.push((vectors, colours));
            return Ok(());
        }
        let file = match &mut self.rest {
            Some(file) => file,
            None => self.rest.insert(BufWriter::with_capacity(1 << 18, tempfile::tempfile()?)),
        };
        self.written += vectors.nrows();
        for (graph, row) in vectors.outer_iter().enumerate() {
            row.iter().try_for_each(|number| file.write_all(&number.to_le_bytes()))?;
            let Some(colours) = colours.as_ref().map(Colours::view) else { continue };
            file.write_all(&(colours.colours(graph).len() as u64).to_le_bytes())?;
            for (colour, count) in colours.iter(graph) {
                file.write_all(&colour.to_le_bytes())?;
                file.write_all(&count.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Reads all rows; `take` receives a block of rows and the number of rows before it.
    pub fn pass<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(Rows<'_>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut before = 0;
        for (rows, colours) in &self.in_memory {
            take(Rows { vectors: rows.view(), colours: colours.as_ref().map(Colours::view) }, before)?;
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
            let mut numbers = Vec::with_capacity(count * self.width);
            let mut colours = self.has_colours.then(Colours::default);
            for _ in 0..count {
                bytes.resize(self.width * 8, 0);
                reader.read_exact(&mut bytes)?;
                numbers.extend(bytes.as_chunks().0.iter().copied().map(f64::from_le_bytes));
                if let Some(colours) = &mut colours {
                    read_colours(&mut reader, &mut bytes, colours)?;
                }
            }
            let rows = Array2::from_shape_vec((count, self.width), numbers).map_err(io::Error::other)?;
            take(
                Rows { vectors: rows.view(), colours: colours.as_ref().map(Colours::view) },
                before + first,
            )?;
        }
        drop(reader);
        file.seek(SeekFrom::End(0))?;
        Ok(())
    }
}

/// Reads back the colours of a graph.
fn read_colours(reader: &mut impl Read, bytes: &mut Vec<u8>, colours: &mut Colours) -> io::Result<()> {
    let mut length = [0; 8];
    reader.read_exact(&mut length)?;
    bytes.resize(usize::try_from(u64::from_le_bytes(length)).map_err(io::Error::other)? * 12, 0);
    reader.read_exact(bytes)?;
    let pairs = bytes.as_chunks::<12>().0.iter().map(|pair| {
        let (colour, count) = pair.split_at(8);
        let colour = u64::from_le_bytes(colour.try_into().expect("the first eight of twelve bytes"));
        (colour, u32::from_le_bytes(count.try_into().expect("the last four of twelve bytes")))
    });
    let (own, counts): (Vec<u64>, Vec<u32>) = pairs.unzip();
    colours.push(&own, &counts);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_often_as_asked_for_from_memory_and_from_disk() {
        for (pieces, piece, most) in [(3, 5, IN_MEMORY), (3, 800_000, IN_MEMORY), (4, 900, 500_000)] {
            let mut spilled = Spilled { most, ..Spilled::new(60) };
            let row = |index: usize| (index as f64).sqrt();
            for number in 0..pieces {
                let vectors = Array2::from_shape_fn((piece, 60), |(i, j)| row(number * piece + i) + j as f64);
                let mut colours = Colours::default();
                for i in 0..piece {
                    let own: Vec<u64> = (0..i as u64 % 3).map(|k| k + i as u64).collect();
                    colours.push(&own, &vec![i as u32; own.len()]);
                }
                let (runs, colours) = (Array2::default((piece, 1)), Some(colours));
                spilled.append(Embedding { vectors, runs, colours }).unwrap();
                let mut seen = 0;
                let check = |rows: Rows<'_>, before: usize| {
                    assert_eq!(before, seen);
                    let colours = rows.colours.unwrap();
                    for (i, found) in rows.vectors.outer_iter().enumerate() {
                        assert_eq!((found[0], found[59]), (row(seen + i), row(seen + i) + 59.0));
                        let (first, k) = (((seen + i) % piece) as u64, (seen + i) % piece % 3);
                        assert_eq!(colours.colours(i), (first..first + k as u64).collect::<Vec<_>>());
                        assert_eq!(colours.counts(i), vec![first as u32; k]);
                    }
                    seen += rows.len();
                    Ok::<(), io::Error>(())
                };
                spilled.pass(check).unwrap();
                assert_eq!(seen, (number + 1) * piece);
            }
        }
    }
}
