//! Pictures of results.
//!
//! Each picture is a self-contained SVG, with text kept as text, and can be wrapped into a
//! self-contained HTML page. The same input gives the same bytes, on any number of threads.
//! [`svg`], [`axes`], [`scatter`], [`colour`] and [`page`] are the building blocks; [`figures`] are
//! charts of measurements.

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

/// Instructions below the picture of a page.
const HOW_TO: &str =
    "Hover over a mark for details. Click the picture, then scroll to zoom and drag to move.";

/// A picture and its texts on a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The title, in one line.
    pub title: String,
    /// The picture itself.
    pub svg: String,
    /// Notes for the reader of the page.
    pub notes: Vec<String>,
    /// The numbers of the picture.
    pub table: Option<Table>,
}

/// The file format of a picture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// The picture alone.
    Svg,
    /// A page around it.
    Html,
}

impl Format {
    /// The format given by a file's extension.
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
    /// The picture as an HTML page.
    pub fn html(&self) -> String {
        let mut page = Page::new(&self.title);
        self.notes.iter().for_each(|note| page.paragraph(note));
        page.figure(&self.svg, HOW_TO);
        if let Some(table) = &self.table {
            page.table(table);
        }
        page.finish()
    }

    /// Writes the picture to a file, in the format of its extension, whole or not at all.
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
