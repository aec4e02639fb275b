use std::io::{self, Seek, SeekFrom, Write};

use super::{Block, Shape, VectorWriter};

/// The length of the header. The number of rows is filled in at the end, so there must be room for
/// any.
const HEADER: usize = 128;

/// Writes only the vectors, as a two-dimensional array that NumPy can load or memory-map.
#[derive(Debug)]
pub struct NpyWriter<W> {
    output: W,
    width: usize,
    double: bool,
    rows: u64,
}

impl<W: Write + Seek> NpyWriter<W> {
    /// Starts a file at the beginning of `output`.
    pub fn new(mut output: W, shape: &Shape) -> io::Result<Self> {
        output.write_all(&[b' '; HEADER])?;
        Ok(Self { output, width: shape.columns.len(), double: shape.double, rows: 0 })
    }
}

impl<W: Write + Seek> VectorWriter for NpyWriter<W> {
    fn write(&mut self, block: &Block<'_>) -> io::Result<()> {
        self.rows += block.rows.nrows() as u64;
        for &value in block.rows {
            if self.double {
                self.output.write_all(&value.to_le_bytes())?
            } else {
                self.output.write_all(&(value as f32).to_le_bytes())?
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let kind = if self.double { "<f8" } else { "<f4" };
        let text = format!(
            "{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}, {}), }}",
            self.rows, self.width
        );
        let mut header = b"\x93NUMPY\x01\x00".to_vec();
        header.extend((HEADER as u16 - 10).to_le_bytes());
        header.extend(text.as_bytes());
        header.resize(HEADER - 1, b' ');
        header.push(b'\n');
        self.output.seek(SeekFrom::Start(0))?;
        self.output.write_all(&header)?;
        self.output.seek(SeekFrom::End(0))?;
        self.output.flush()
    }
}
