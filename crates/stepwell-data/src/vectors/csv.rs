use std::borrow::Cow;
use std::io::{self, Write};

use super::{Block, Key, Shape, VectorWriter};

/// Writes a header line, and one line per row.
#[derive(Debug)]
pub struct CsvWriter<W> {
    output: W,
    double: bool,
    gaps: bool,
    /// The header, until it is written together with the first rows, so that an earlier failure
    /// leaves no output.
    names: Option<String>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes to `output`.
    pub fn new(output: W, shape: &Shape) -> Self {
        let columns = shape.columns.iter().map(String::as_str);
        let names: Vec<Cow<'_, str>> =
            shape.keys.iter().map(String::as_str).chain(columns).map(quoted).collect();
        let (double, gaps) = (shape.double, shape.gaps);
        Self { output, double, gaps, names: Some(names.join(",")) }
    }
}

impl<W: Write> VectorWriter for CsvWriter<W> {
    fn write(&mut self, block: &Block<'_>) -> io::Result<()> {
        if let Some(names) = self.names.take() {
            writeln!(self.output, "{names}")?;
        }
        for (index, row) in block.rows.outer_iter().enumerate() {
            let mut separator = "";
            for key in &block.keys {
                match key {
                    Key::Text(texts) => write!(self.output, "{separator}{}", quoted(&texts[index]))?,
                    Key::Whole(numbers) => write!(self.output, "{separator}{}", numbers[index])?,
                    Key::Real(numbers) => write!(self.output, "{separator}{}", numbers[index])?,
                    Key::Several(numbers, width) => {
                        let row = &numbers[index * width..(index + 1) * width];
                        let words = row.iter().map(|number| number.to_string()).collect::<Vec<_>>();
                        write!(self.output, "{separator}{}", words.join(" "))?;
                    }
                    Key::SomeText(texts) => {
                        let text = texts[index].as_deref().unwrap_or_default();
                        write!(self.output, "{separator}{}", quoted(text))?;
                    }
                    Key::SomeWhole(numbers) => match numbers[index] {
                        Some(number) => write!(self.output, "{separator}{number}")?,
                        None => write!(self.output, "{separator}")?,
                    },
                    Key::SomeReal(numbers) if numbers[index].is_nan() => {
                        write!(self.output, "{separator}")?;
                    }
                    Key::SomeReal(numbers) => write!(self.output, "{separator}{}", numbers[index])?,
                }
                separator = ",";
            }
            for &value in row {
                if self.gaps && value.is_nan() {
                    write!(self.output, "{separator}")?
                } else if self.double {
                    write!(self.output, "{separator}{value}")?
                } else {
                    write!(self.output, "{separator}{}", value as f32)?
                }
                separator = ",";
            }
            self.output.write_all(b"\n")?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if let Some(names) = self.names.take() {
            writeln!(self.output, "{names}")?;
        }
        self.output.flush()
    }
}

/// A string as a CSV field, quoted if necessary.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
