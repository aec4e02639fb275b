//! Selects and writes pictures, for all commands that draw.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use stepwell_data::{Dataset, Untargeted};
use stepwell_lab::picture::{Format, Picture};

use crate::BadUsage;
use crate::args::Input;
use crate::terminal::Terminal;

/// One graph of a dataset.
#[derive(Args, Debug)]
pub struct GraphArg {
    /// The id of the graph, or its position, from 0
    #[arg(long, short, value_name = "GRAPH", default_value = "0")]
    graph: String,
}

impl GraphArg {
    /// Loads the graph alone, under its name in the dataset.
    pub fn load(&self, input: &Input, terminal: &Terminal) -> Result<Dataset> {
        // Without ids the row is known, and converting all molecules takes long.
        let numbered = input.molecules.are_given() && !input.molecules.have_ids();
        let dataset = match self.graph.parse() {
            Ok(row) if numbered => terminal.load_row(input, row)?,
            _ => terminal.load(input, Untargeted::Keep)?,
        };
        self.choose(&dataset)
    }

    fn choose(&self, dataset: &Dataset) -> Result<Dataset> {
        ensure!(!dataset.is_empty(), "{}: the dataset has no graphs", dataset.name);
        let named = dataset.ids.as_ref().and_then(|ids| ids.iter().position(|id| *id == self.graph));
        let position = named.or_else(|| self.graph.parse().ok()).filter(|&graph| graph < dataset.len());
        let position = position.with_context(|| {
            let ids = if dataset.ids.is_some() { "an id or " } else { "" };
            let (name, last, found) = (&dataset.name, dataset.len() - 1, &self.graph);
            format!("{name}: --graph: expected {ids}a position from 0 to {last}, found '{found}'")
        })?;
        let name = dataset.id(position);
        Ok(Dataset { ids: Some(vec![name]), ..dataset.select(&[position]) })
    }
}

/// Where a picture goes.
#[derive(Args, Debug)]
pub struct PictureArgs {
    /// Where to draw: .svg, or .html for an interactive page [SVG on standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Print the numbers behind the picture as one JSON object
    #[arg(long)]
    json: bool,
}

impl PictureArgs {
    /// Refuses an unsupported extension before any work is done.
    pub fn check(&self) -> Result<()> {
        match &self.out {
            Some(path) => Format::of(path).map(drop).context(BadUsage),
            None => Ok(()),
        }
    }

    /// Whether a file or JSON was requested.
    pub fn asked(&self) -> bool {
        self.json || self.out.is_some()
    }

    /// Writes the picture, its numbers, or both.
    pub fn write<T: Serialize>(
        &self,
        picture: &Picture,
        terminal: &Terminal,
        report: impl FnOnce() -> T,
    ) -> Result<()> {
        if let Some(path) = &self.out {
            terminal.creating(path, || picture.write(path))?;
            terminal.note(&format!("wrote {}", path.display()));
        }
        match (self.json, &self.out) {
            (true, _) => terminal.json(&report()),
            (false, Some(_)) => Ok(()),
            (false, None) => terminal.print(picture.svg.trim_end()),
        }
    }
}
