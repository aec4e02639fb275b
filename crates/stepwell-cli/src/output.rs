//! Tables that are written while they are made, and can be gone on with.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use sha2::{Digest, Sha256};
use stepwell_data::vectors::{Block, Partial, VectorWriter};

use crate::terminal::Terminal;

/// What every command that writes long tables takes.
#[derive(Args, Debug)]
pub struct ResumeArg {
    /// Keep what is done beside the output (FILE.partial) while working, and go on from it if an
    /// earlier run of the same command was ended
    #[arg(long, requires = "out")]
    pub resume: bool,
}

impl ResumeArg {
    /// Where to keep blocks, and what they are made of; nothing unless asked for.
    pub fn kept(&self, out: Option<&Path>, made_of: &[&str]) -> Option<Kept> {
        let table = out.filter(|_| self.resume)?;
        let sum = Sha256::digest(made_of.join("\n"));
        let made_of = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Kept { path: Partial::beside(table), made_of })
    }
}

/// Where blocks are kept.
pub struct Kept {
    path: PathBuf,
    made_of: String,
}

/// A table that grows, and what is kept of it.
pub struct Output<'a> {
    writer: Option<Box<dyn VectorWriter + 'a>>,
    partial: Option<Partial>,
    /// Rows of the source that an earlier run has done.
    pub done: usize,
}

impl<'a> Output<'a> {
    /// Begins with what an earlier run has kept.
    pub fn new(
        mut writer: Option<Box<dyn VectorWriter + 'a>>,
        kept: Option<&Kept>,
        terminal: &Terminal,
    ) -> Result<Self> {
        let Some(kept) = kept else { return Ok(Self { writer, partial: None, done: 0 }) };
        let (partial, done) = Partial::open(&kept.path, &kept.made_of, |block| match &mut writer {
            Some(writer) => writer.write(block).context("writing vectors"),
            None => Ok(()),
        })?;
        if done > 0 {
            terminal.note(&format!("going on after {done} graphs that {} holds", kept.path.display()));
        }
        Ok(Self { writer, partial: Some(partial), done })
    }

    /// Writes a block; `seen` rows of the source are done with it.
    pub fn write(&mut self, block: &Block<'_>, seen: usize) -> Result<()> {
        if let Some(partial) = &mut self.partial {
            partial.append(block, seen)?;
        }
        match &mut self.writer {
            Some(writer) => writer.write(block).context("writing vectors"),
            None => Ok(()),
        }
    }

    /// Writes what comes last. What was kept is handed back: it goes once the
    /// table is in its place.
    pub fn finish(self) -> Result<Option<Partial>> {
        self.writer.map_or(Ok(()), |writer| writer.finish()).context("writing vectors")?;
        Ok(self.partial)
    }
}
