//! Pictures: what was computed, to be looked at.
//!
//! Each is an SVG that stands alone, with its text as text, and can become one
//! HTML page that needs nothing beside itself. The same input gives the same
//! bytes, on any number of threads. [`svg`], [`axes`], [`scatter`], [`colour`]
//! and [`page`] are the pieces they are made of; [`figures`] are charts of what
//! was measured.

pub mod axes;
pub mod colour;
mod crowd;
pub mod embedding;
pub mod explanation;
pub mod figures;
pub mod layout;
mod legend;
pub mod molecule;
pub mod page;
mod panel;
pub mod predicted;
pub mod pyramid;
pub mod scatter;
mod scene;
mod shade;
pub mod svg;

pub use scene::Subject;

use std::io::Write;
use std::path::Path;

use stepwell_data::files::write_whole;

use self::page::{Page, Table};
use crate::error::{Error, Result};

/// How to move around in a page, in words below its picture.
const HOW_TO: &str = "Point at a mark to see what it is. Click the picture and scroll to zoom, drag to move.";

/// A picture and what belongs beside it on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// What it is, in a line.
    pub title: String,
    /// The picture itself.
    pub svg: String,
    /// What a reader of the page should know.
    pub notes: Vec<String>,
    /// Its figures.
    pub table: Option<Table>,
}

/// How a picture is written to a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// The picture alone.
    Svg,
    /// A page around it.
    Html,
}

impl Format {
    /// What the ending of a file's name asks for.
    pub fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html") => Ok(Self::Html),
            _ => Err(Error::BadOption {
                name: "out",
                expected: "a file that ends in .svg or .html".to_owned(),
                found: path.display().to_string(),
            }),
        }
    }
}

impl Picture {
    /// A page around the picture.
    pub fn html(&self) -> String {
        let mut page = Page::new(&self.title);
        self.notes.iter().for_each(|note| page.paragraph(note));
        page.figure(&self.svg, HOW_TO);
        if let Some(table) = &self.table {
            page.table(table);
        }
        page.finish()
    }

    /// Writes it to a file, as its ending says, whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let format = Format::of(path)?;
        write_whole(path, |out| {
            let written = match format {
                Format::Svg => out.write_all(self.svg.as_bytes()),
                Format::Html => out.write_all(self.html().as_bytes()),
            };
            written.map_err(|source| Error::Io { path: path.to_owned(), source })
        })
    }
}
