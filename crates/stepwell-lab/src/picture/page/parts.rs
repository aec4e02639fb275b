//! What a long page is divided by: contents, sections, parts that open.

use std::fmt::Write;

use super::{LONGEST, Page};
use crate::picture::Picture;
use crate::picture::svg::{escaped, shortened};

// Writing to a string cannot fail, so nothing here looks at whether it did.
impl Page {
    /// Links to sections: their names, and what they are called.
    pub fn contents(&mut self, sections: &[(String, String)]) {
        self.body.push_str("<nav aria-label=\"contents\"><ul>\n");
        for (name, title) in sections {
            let (name, title) = (escaped(name), escaped(&shortened(title, LONGEST)));
            let _ = writeln!(self.body, "<li><a href=\"#{name}\">{title}</a></li>");
        }
        self.body.push_str("</ul></nav>\n");
    }

    /// The heading of a section that can be linked to.
    pub fn section(&mut self, name: &str, title: &str) {
        let (name, title) = (escaped(name), escaped(&shortened(title, LONGEST)));
        let _ = writeln!(self.body, "<h2 id=\"{name}\">{title}</h2>");
    }

    /// The heading of a part of a section.
    pub fn subheading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h3>{}</h3>", escaped(&shortened(text, LONGEST)));
    }

    /// Narrow pictures side by side as there is room, each with its title above it
    /// and a line below.
    pub fn gallery(&mut self, pictures: &[(Picture, String)]) {
        self.body.push_str("<div class=\"gallery\">\n");
        for (picture, caption) in pictures {
            self.body.push_str("<div>\n");
            self.subheading(&picture.title);
            self.figure(&picture.svg, caption);
            self.body.push_str("</div>\n");
        }
        self.body.push_str("</div>\n");
    }

    /// A part that opens when its summary is clicked. A link to its name opens it too.
    pub fn details(&mut self, name: &str, summary: &str, open: bool, fill: impl FnOnce(&mut Self)) {
        let (name, summary) = (escaped(name), escaped(&shortened(summary, LONGEST)));
        let open = if open { " open" } else { "" };
        let _ = writeln!(
            self.body,
            "<details{open}>\n<summary>{summary}</summary>\n<div class=\"inside\" id=\"{name}\">"
        );
        fill(self);
        self.body.push_str("</div>\n</details>\n");
    }

    /// Figures that are seen first, each with what it is.
    pub fn tiles(&mut self, tiles: &[(String, String)]) {
        self.body.push_str("<dl class=\"tiles\">\n");
        for (figure, words) in tiles {
            let (figure, words) = (escaped(figure), escaped(words));
            let _ = writeln!(self.body, "<div><dt>{words}</dt><dd>{figure}</dd></div>");
        }
        self.body.push_str("</dl>\n");
    }

    /// Names and what they stand for.
    pub fn facts(&mut self, facts: &[(String, String)]) {
        self.body.push_str("<dl class=\"facts\">\n");
        for (name, text) in facts {
            let (name, text) = (escaped(name), escaped(text));
            let _ = writeln!(self.body, "<dt>{name}</dt><dd>{text}</dd>");
        }
        self.body.push_str("</dl>\n");
    }

    /// Text as a machine reads it.
    pub fn code(&mut self, text: &str) {
        let _ = writeln!(self.body, "<pre><code>{}</code></pre>", escaped(text));
    }
}
