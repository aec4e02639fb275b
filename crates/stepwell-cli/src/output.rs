//! Output tables that are written row by row and can be resumed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde_json::{Value, json};
use stepwell_data::identity::{Identity, checksum};
use stepwell_data::vectors::{Block, Partial, VectorWriter};
use stepwell_data::{Source, counted};

use crate::BadUsage;
use crate::args::Input;
use crate::terminal::Terminal;

/// What every command that writes long tables takes.
#[derive(Args, Debug)]
pub struct ResumeArg {
    /// Keep finished rows in FILE.partial while working, and resume from them if an earlier run of
    /// the same command was interrupted. Fails if data or options have changed
    #[arg(long, requires = "out")]
    pub resume: bool,

    /// With --resume: discard the rows of an earlier run and start over
    #[arg(long, requires = "resume")]
    restart: bool,
}

impl ResumeArg {
    /// Refuses input that can be read only once.
    pub fn check(&self, input: &Input) -> Result<()> {
        if self.resume && input.dataset == "-" {
            let refusal = "--resume: standard input cannot be resumed; save it to a file first";
            return Err(anyhow!(refusal).context(BadUsage));
        }
        Ok(())
    }

    /// Where to keep blocks, and the identity of their inputs; `None` without --resume. `settings`
    /// are the command's own options; the model's bytes cover its options and weights.
    pub fn kept(
        &self,
        out: Option<&Path>,
        (input, source): (&Input, &Source),
        (config, model): (&impl serde::Serialize, &[u8]),
        settings: Value,
    ) -> Result<Option<Kept>> {
        let Some(table) = out.filter(|_| self.resume) else { return Ok(None) };
        let settings = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "instruction_set": stepwell::instruction_set(),
            "part": source.part.map(|part| part.name()),
            "target": input.target,
            "options": settings,
            "model": config,
        });
        let checksums = [("dataset", source.checksum()?), ("model", checksum(model))];
        let checksums = checksums.map(|(name, sum)| (name.to_owned(), sum)).into();
        let made_of = Identity { settings, checksums };
        Ok(Some(Kept { path: Partial::beside(table), made_of, restart: self.restart }))
    }
}

/// The location and identity of kept blocks.
pub struct Kept {
    path: PathBuf,
    made_of: Identity,
    restart: bool,
}

/// A growing table, and its kept blocks.
pub struct Output<'a> {
    writer: Option<Box<dyn VectorWriter + 'a>>,
    partial: Option<Partial>,
    /// Rows of the source that an earlier run has finished.
    pub done: usize,
}

impl<'a> Output<'a> {
    /// Starts with the blocks of an earlier run.
    pub fn new(
        mut writer: Option<Box<dyn VectorWriter + 'a>>,
        kept: Option<&Kept>,
        terminal: &Terminal,
    ) -> Result<Self> {
        let Some(kept) = kept else { return Ok(Self { writer, partial: None, done: 0 }) };
        let (partial, done) =
            Partial::open(&kept.path, &kept.made_of, kept.restart, |block| match &mut writer {
                Some(writer) => writer.write(block).context("writing vectors"),
                None => Ok(()),
            })?;
        if done > 0 {
            terminal.note(&format!(
                "resuming after {} saved in {}",
                counted(done, "graph"),
                kept.path.display()
            ));
        }
        Ok(Self { writer, partial: Some(partial), done })
    }

    /// Writes a block; `seen` rows of the source are then done.
    pub fn write(&mut self, block: &Block<'_>, seen: usize) -> Result<()> {
        if let Some(partial) = &mut self.partial {
            partial.append(block, seen)?;
        }
        match &mut self.writer {
            Some(writer) => writer.write(block).context("writing vectors"),
            None => Ok(()),
        }
    }

    /// Flushes the output, because a reader may wait for it.
    pub fn flush(&mut self) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.flush().context("writing vectors"),
            None => Ok(()),
        }
    }

    /// Writes the end of the table. Returns the kept blocks, to be removed once the table is in
    /// place.
    pub fn finish(self) -> Result<Option<Partial>> {
        self.writer.map_or(Ok(()), |writer| writer.finish()).context("writing vectors")?;
        Ok(self.partial)
    }
}
