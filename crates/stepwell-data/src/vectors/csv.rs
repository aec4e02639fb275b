use std::borrow::Cow;
use std::io::{self, Write};

use super::{Block, Key, Shape, VectorWriter};

/// Writes one line per row, under a line of names.
#[derive(Debug)]
pub struct CsvWriter<W> {
    output: W,
    double: bool,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the line of names.
    pub fn new(mut output: W, shape: &Shape) -> io::Result<Self> {
        let letter = shape.vector.chars().next().unwrap_or('v');
        let columns = (0..shape.width).map(|column| format!("{letter}{column}"));
        let names: Vec<String> = shape.keys.iter().map(|&key| key.to_owned()).chain(columns).collect();
        writeln!(output, "{}", names.join(","))?;
        Ok(Self { output, double: shape.double })
    }
}

impl<W: Write> VectorWriter for CsvWriter<W> {
    fn write(&mut self, block: &Block<'_>) -> io::Result<()> {
        for (index, row) in block.rows.outer_iter().enumerate() {
            let mut separator = "";
            for key in &block.keys {
                match key {
                    Key::Text(texts) => write!(self.output, "{separator}{}", quoted(&texts[index]))?,
                    Key::Whole(numbers) => write!(self.output, "{separator}{}", numbers[index])?,
                    Key::Real(numbers) => write!(self.output, "{separator}{}", numbers[index])?,
                }
                separator = ",";
            }
            for &value in row {
                match self.double {
                    true => write!(self.output, "{separator}{value}")?,
                    false => write!(self.output, "{separator}{}", value as f32)?,
                }
                separator = ",";
            }
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.output.flush()
    }
}

/// A text as a CSV field: in quotes where it would be misread without.
fn quoted(text: &str) -> Cow<'_, str> {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}
