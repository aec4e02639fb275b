//! One HTML page that needs nothing beside itself: pictures that answer to the
//! pointer, tables that sort, in light and dark and on paper.
//!
//! ```
//! use stepwell_lab::picture::page::{Cell, Page, Table};
//! let mut page = Page::new("Two rings");
//! page.paragraph("Rings & what is known of them.");
//! page.table(&Table {
//!     caption: "Sizes".into(),
//!     header: vec!["ring".into(), "vertices".into()],
//!     rows: vec![vec![Cell::text("a"), Cell::number(5.0, 0)], vec![Cell::text("b"), Cell::number(7.0, 0)]],
//! });
//! assert!(page.finish().contains("<p>Rings &amp; what is known of them.</p>"));
//! ```

use std::fmt::Write;

use super::svg::{escaped, shortened};

/// Characters of a cell or a title: more is no name but an accident.
const LONGEST: usize = 100;

/// A page that is being written.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

/// Rows of texts and numbers under a header; a click on a column sorts by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows.
    pub caption: String,
    /// The names of its columns.
    pub header: Vec<String>,
    /// Its rows, each as long as the header.
    pub rows: Vec<Vec<Cell>>,
}

/// What stands in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What is read there.
    pub text: String,
    /// What it is sorted by, if that is a number.
    pub value: Option<f64>,
}

impl Cell {
    /// A text, sorted as one.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None }
    }

    /// A number with so many decimals.
    pub fn number(value: f64, decimals: usize) -> Self {
        // Adding 0 makes -0 positive.
        Self { text: format!("{:.decimals$}", value + 0.0), value: Some(value).filter(|v| v.is_finite()) }
    }
}

// Writing to a string cannot fail, so nothing here looks at whether it did.
impl Page {
    /// A page of that name, which is its first heading.
    pub fn new(title: &str) -> Self {
        let title = escaped(&shortened(title, LONGEST));
        Self { body: format!("<h1>{title}</h1>\n"), title }
    }

    /// Another heading.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h2>{}</h2>", escaped(&shortened(text, LONGEST)));
    }

    /// Some sentences.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// A picture, as [`Svg`](super::svg::Svg) writes them, with a line below it.
    pub fn figure(&mut self, svg: &str, caption: &str) {
        let caption = escaped(caption);
        let _ = writeln!(
            self.body,
            "<figure tabindex=\"0\">\n<div class=\"picture\">\n{svg}</div>\n<figcaption>{caption}</figcaption>\n</figure>"
        );
    }

    /// A table.
    pub fn table(&mut self, table: &Table) {
        let numeric = |column: usize| {
            table.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.value.is_some()))
        };
        let kinds: Vec<&str> = (0..table.header.len())
            .map(|column| if numeric(column) { " class=\"number\"" } else { "" })
            .collect();
        let caption = escaped(&table.caption);
        let _ =
            writeln!(self.body, "<div class=\"table\"><table>\n<caption>{caption}</caption>\n<thead><tr>");
        for (name, kind) in table.header.iter().zip(&kinds) {
            let name = escaped(&shortened(name, LONGEST));
            let _ =
                writeln!(self.body, "<th scope=\"col\"{kind}><button type=\"button\">{name}</button></th>");
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            self.body.push_str("<tr>");
            for (cell, kind) in row.iter().zip(&kinds) {
                let text = escaped(&shortened(&cell.text, LONGEST));
                let _ = match cell.value {
                    Some(value) => write!(self.body, "<td{kind} data-value=\"{value}\">{text}</td>"),
                    None => write!(self.body, "<td{kind}>{text}</td>"),
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// The page. Its policy forbids all that would come from outside.
    pub fn finish(self) -> String {
        let Self { title, body } = self;
        let (style, script) = (include_str!("page.css"), include_str!("page.js"));
        let policy =
            "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{style}</style>\n</head>\n\
             <body>\n<main>\n{body}</main>\n<div id=\"hint\" role=\"status\" hidden></div>\n\
             <script>\n{script}</script>\n</body>\n</html>\n"
        )
    }
}
