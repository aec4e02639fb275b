use std::io::{self, Write};

use arrow_ipc::writer::StreamWriter;

use super::{Block, Shape, VectorWriter, to_record_batch};

/// Writes an Arrow stream with the columns of [`ParquetWriter`](super::ParquetWriter) and a record
/// batch for every block.
pub struct ArrowWriter<W: Write> {
    shape: Shape,
    /// The stream starts with the first block, which determines the types of the keys.
    state: State<W>,
}

enum State<W: Write> {
    New(W),
    Begun(Box<StreamWriter<W>>),
    Failed,
}

impl<W: Write> ArrowWriter<W> {
    /// Writes to `output`.
    pub fn new(output: W, shape: &Shape) -> Self {
        Self { shape: shape.clone(), state: State::New(output) }
    }
}

impl<W: Write> VectorWriter for ArrowWriter<W> {
    fn write(&mut self, block: &Block<'_>) -> io::Result<()> {
        let batch = to_record_batch(&self.shape, block)?;
        let mut writer = match std::mem::replace(&mut self.state, State::Failed) {
            State::Begun(writer) => writer,
            State::New(output) => {
                Box::new(StreamWriter::try_new(output, &batch.schema()).map_err(io::Error::other)?)
            }
            State::Failed => return Err(io::Error::other("writing failed before")),
        };
        writer.write(&batch).map_err(io::Error::other)?;
        self.state = State::Begun(writer);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if matches!(self.state, State::New(_)) {
            self.write(&Block::empty(&self.shape)?)?;
        }
        match self.state {
            State::Begun(mut writer) => writer.finish().map_err(io::Error::other),
            _ => Err(io::Error::other("writing failed before")),
        }
    }
}
