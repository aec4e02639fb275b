//! A self-contained HTML page: interactive pictures and sortable tables, in light and dark mode and
//! in print.
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

mod parts;

use std::fmt::Write;

use super::svg::{escaped, shortened};
pub use crate::table::{Cell, Emphasis, Table};

/// The most characters of a cell or a title; a longer text is hardly a name.
const LONGEST: usize = 100;

/// The most characters of a sentence in a cell.
const SENTENCE: usize = 600;

/// A page being written.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

/// The style sheet class of an emphasis.
fn emphasis_class(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::None => "",
        Emphasis::Above => "above",
        Emphasis::Below => "below",
        Emphasis::Missing => "missing",
    }
}

// Writing to a string cannot fail, so results of writes are ignored here.
impl Page {
    /// Starts a page with that title, which is its first heading.
    pub fn new(title: &str) -> Self {
        let title = escaped(&shortened(title, LONGEST));
        Self { body: format!("<h1>{title}</h1>\n"), title }
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escaped(text));
    }

    /// Adds a picture written by [`Svg`](super::svg::Svg), with a caption below it.
    pub fn figure(&mut self, svg: &str, caption: &str) {
        let caption = escaped(caption);
        let _ = writeln!(
            self.body,
            "<figure tabindex=\"0\">\n<div class=\"picture\">\n{svg}</div>\n<figcaption>{caption}</figcaption>\n</figure>"
        );
    }

    /// Adds a table.
    pub fn table(&mut self, table: &Table) {
        self.grouped_table(table, &[]);
    }

    /// Adds a table whose columns form groups of the given sizes.
    pub fn grouped_table(&mut self, table: &Table, groups: &[(&str, usize)]) {
        let kind = |column| if table.is_numeric(column) { "number" } else { "" };
        let kinds: Vec<&str> = (0..table.header.len()).map(kind).collect();
        let caption = escaped(&table.caption);
        let kind = class([if groups.is_empty() { "" } else { "grouped" }, ""]);
        let _ = writeln!(
            self.body,
            "<div class=\"table\"><table{kind}>\n<caption><span>{caption}</span></caption>\n<thead>"
        );
        if !groups.is_empty() {
            self.body.push_str("<tr class=\"groups\">");
            for (name, columns) in groups {
                let name = escaped(&shortened(name, LONGEST));
                let _ = if name.is_empty() {
                    write!(self.body, "<td colspan=\"{columns}\"></td>")
                } else {
                    write!(self.body, "<th scope=\"colgroup\" colspan=\"{columns}\">{name}</th>")
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("<tr class=\"columns\">\n");
        for (name, kind) in table.header.iter().zip(&kinds) {
            let name = escaped(&shortened(name, LONGEST));
            let class = class([*kind, ""]);
            let _ =
                writeln!(self.body, "<th scope=\"col\"{class}><button type=\"button\">{name}</button></th>");
        }
        self.body.push_str("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            self.body.push_str("<tr>");
            for (cell, kind) in row.iter().zip(&kinds) {
                let most = if cell.is_sentence { SENTENCE } else { LONGEST };
                let text = escaped(&shortened(&cell.text, most));
                let class = class([*kind, emphasis_class(cell.emphasis)]);
                let _ = match cell.value {
                    Some(value) => write!(self.body, "<td{class} data-value=\"{value}\">{text}</td>"),
                    None => write!(self.body, "<td{class}>{text}</td>"),
                };
            }
            self.body.push_str("</tr>\n");
        }
        self.body.push_str("</tbody></table></div>\n");
    }

    /// Returns the page. Its content security policy forbids all external resources.
    pub fn finish(self) -> String {
        let Self { title, body } = self;
        let style = concat!(include_str!("page.css"), include_str!("page/parts.css"));
        let script = include_str!("page.js");
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

/// The class attribute of the non-empty names.
fn class(names: [&str; 2]) -> String {
    match names {
        ["", ""] => String::new(),
        [one, ""] | ["", one] => format!(" class=\"{one}\""),
        [one, other] => format!(" class=\"{one} {other}\""),
    }
}
