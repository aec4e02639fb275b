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

mod parts;

use std::fmt::Write;

use super::svg::{escaped, shortened};
pub use crate::table::{Cell, Emphasis, Table};

/// Characters of a cell or a title: more is no name but an accident.
const LONGEST: usize = 100;

/// Characters of a sentence in a cell.
const SENTENCE: usize = 600;

/// A page that is being written.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

/// The style sheet's class of an emphasis.
fn emphasis_class(emphasis: Emphasis) -> &'static str {
    match emphasis {
        Emphasis::None => "",
        Emphasis::Above => "above",
        Emphasis::Below => "below",
        Emphasis::Missing => "missing",
    }
}

// Writing to a string cannot fail, so nothing here looks at whether it did.
impl Page {
    /// A page of that name, which is its first heading.
    pub fn new(title: &str) -> Self {
        let title = escaped(&shortened(title, LONGEST));
        Self { body: format!("<h1>{title}</h1>\n"), title }
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
        self.grouped_table(table, &[]);
    }

    /// A table whose columns belong together, so many at a time.
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

    /// The page. Its policy forbids all that would come from outside.
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

/// The attribute of those classes that there are.
fn class(names: [&str; 2]) -> String {
    match names {
        ["", ""] => String::new(),
        [one, ""] | ["", one] => format!(" class=\"{one}\""),
        [one, other] => format!(" class=\"{one} {other}\""),
    }
}
