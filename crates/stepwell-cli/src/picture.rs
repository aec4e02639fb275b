//! Where pictures go, the same in every command that draws.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use stepwell_lab::picture::{Format, Picture};

use crate::BadUsage;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub struct PictureArgs {
    /// Where to draw: .svg, or .html for a page that answers to the pointer; without it, the
    /// picture goes to standard output as SVG
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// One JSON object on standard output: the figures behind the picture
    #[arg(long)]
    json: bool,
}

impl PictureArgs {
    /// Refuses a file of another kind before any work is done.
    pub fn check(&self) -> Result<()> {
        match &self.out {
            Some(path) => Format::of(path).map(drop).context(BadUsage),
            None => Ok(()),
        }
    }

    /// Whether a file or JSON was asked for.
    pub fn asked(&self) -> bool {
        self.json || self.out.is_some()
    }

    /// Writes the picture, the figures, or both.
    pub fn write<T: Serialize>(
        &self,
        picture: &Picture,
        terminal: &Terminal,
        report: impl FnOnce() -> T,
    ) -> Result<()> {
        if let Some(path) = &self.out {
            picture.write(path)?;
            terminal.note(&format!("wrote {}", path.display()));
        }
        match (self.json, &self.out) {
            (true, _) => terminal.json(&report()),
            (false, Some(_)) => Ok(()),
            (false, None) => terminal.print(picture.svg.trim_end()),
        }
    }
}
