//! The structure of a long page: contents, sections, collapsible parts.

use std::fmt::Write;

use super::{LONGEST, Page};
use crate::picture::Picture;
use crate::picture::svg::{escaped, shortened};

// Writing to a string cannot fail, so results of writes are ignored here.
impl Page {
    /// Adds links to sections, given as anchors and titles.
    pub fn contents(&mut self, sections: &[(String, String)]) {
        self.body.push_str("<nav aria-label=\"contents\"><ul>\n");
        for (name, title) in sections {
            let (name, title) = (escaped(name), escaped(&shortened(title, LONGEST)));
            let _ = writeln!(self.body, "<li><a href=\"#{name}\">{title}</a></li>");
        }
        self.body.push_str("</ul></nav>\n");
    }

    /// Adds the heading of a section, with an anchor.
    pub fn section(&mut self, name: &str, title: &str) {
        let (name, title) = (escaped(name), escaped(&shortened(title, LONGEST)));
        let _ = writeln!(self.body, "<h2 id=\"{name}\">{title}</h2>");
    }

    /// Adds the heading of a subsection.
    pub fn subheading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h3>{}</h3>", escaped(&shortened(text, LONGEST)));
    }

    /// Adds narrow pictures, as many per row as fit, each with its title above and a caption below.
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

    /// Adds a collapsible part, which opens on a click on its summary or a link to its anchor.
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

    /// Adds headline numbers, each with a description.
    pub fn tiles(&mut self, tiles: &[(String, String)]) {
        self.body.push_str("<dl class=\"tiles\">\n");
        for (figure, words) in tiles {
            let (figure, words) = (escaped(figure), escaped(words));
            let _ = writeln!(self.body, "<div><dt>{words}</dt><dd>{figure}</dd></div>");
        }
        self.body.push_str("</dl>\n");
    }

    /// Adds names and their values.
    pub fn facts(&mut self, facts: &[(String, String)]) {
        self.body.push_str("<dl class=\"facts\">\n");
        for (name, text) in facts {
            let (name, text) = (escaped(name), escaped(text));
            let _ = writeln!(self.body, "<dt>{name}</dt><dd>{text}</dd>");
        }
        self.body.push_str("</dl>\n");
    }

    /// Adds preformatted text.
    pub fn code(&mut self, text: &str) {
        let _ = writeln!(self.body, "<pre><code>{}</code></pre>", escaped(text));
    }
}
