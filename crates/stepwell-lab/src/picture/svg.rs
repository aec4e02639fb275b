//! An SVG writer that escapes all text.
//!
//! ```
//! use stepwell_lab::picture::svg::Svg;
//! let mut svg = Svg::new((100.0, 50.0), "A dot", "One dot, called <b>");
//! svg.titled("circle", &[("cx", &50.0), ("cy", &25.0), ("r", &3.0)], "<b>");
//! let text = svg.finish();
//! assert!(text.contains(r#"<circle cx="50" cy="25" r="3"><title>&lt;b&gt;</title></circle>"#));
//! ```

use std::fmt::{self, Display, Write};

use super::colour;

/// The value of an attribute: a string, or a number; lengths are [rounded](Number).
pub trait Value {
    /// The text before it is escaped.
    fn text(&self) -> String;
}

impl Value for f64 {
    fn text(&self) -> String {
        Number(*self).to_string()
    }
}

macro_rules! values {
    ($($kind:ty),*) => {$(
        impl Value for $kind {
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

values!(&str, String, usize, fmt::Arguments<'_>);

/// An element's attributes, by name.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Value)];

/// A picture being written.
#[derive(Debug)]
pub struct Svg {
    text: String,
    open: Vec<&'static str>,
}

impl Svg {
    /// Starts a picture of that width and height, with a title and a description for readers who
    /// cannot see it.
    pub fn new((width, height): (f64, f64), title: &str, description: &str) -> Self {
        let mut svg = Self { text: String::new(), open: Vec::new() };
        let window = format!("0 0 {} {}", Number(width), Number(height));
        svg.open(
            "svg",
            &[
                ("xmlns", &"http://www.w3.org/2000/svg"),
                ("class", &"stepwell"),
                ("viewBox", &window),
                ("width", &width),
                ("height", &height),
                ("role", &"img"),
            ],
        );
        let (title, description, style) = (escaped(title), escaped(description), colour::STYLE);
        // Writing to a string cannot fail.
        let _ = write!(
            svg.text,
            "<title>{title}</title>\n<desc>{description}</desc>\n<style>\n{style}</style>\n"
        );
        svg.leaf("rect", &[("class", &"paper"), ("width", &width), ("height", &height)]);
        svg
    }

    /// Opens an element that holds others.
    pub fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name);
    }

    /// Closes the innermost open element.
    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// Adds an empty element.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// Adds an element with a tooltip.
    pub fn titled(&mut self, name: &'static str, attributes: Attributes<'_>, title: &str) {
        self.start(name, attributes);
        let _ = writeln!(self.text, "><title>{}</title></{name}>", escaped(title));
    }

    /// Adds a line of text that starts at a position, or ends or is centred there if its class says
    /// so.
    pub fn label(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        self.text_with(&[("x", &x), ("y", &y), ("class", &class)], text);
    }

    /// Adds a vertical line of text, read upwards and centred at a position.
    pub fn upright(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let turned = format!("rotate(-90 {} {})", Number(x), Number(y));
        self.text_with(&[("x", &x), ("y", &y), ("class", &class), ("transform", &turned)], text);
    }

    /// Adds a rectangle, given by its upper left corner and its size.
    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let place: Attributes<'_> = &[("x", &x), ("y", &y), ("width", &width), ("height", &height)];
        self.leaf("rect", &[&[("class", &class as &dyn Value)], place].concat());
    }

    /// Opens a window that clips whatever zooming moves outside.
    pub fn window(&mut self, (x, y): (f64, f64), (width, height): (f64, f64)) {
        let view = [x, y, width, height].map(|length| Number(length).to_string()).join(" ");
        let place: Attributes<'_> = &[("x", &x), ("y", &y), ("width", &width), ("height", &height)];
        self.open("svg", &[&[("class", &"zoom" as &dyn Value)], place, &[("viewBox", &view)]].concat());
    }

    /// Opens the marks of a series, which the legend can hide.
    pub fn marks(&mut self, class: &str, series: usize) {
        let class = format!("marks {class}");
        self.open("g", &[("class", &class), ("data-series", &series)]);
    }

    /// Adds an invisible rectangle that reacts to the pointer around a line of text and the mark
    /// before it.
    pub fn hit_area(&mut self, (x, y): (f64, f64), width: f64) {
        self.rect("hit", (x, y - 14.0), (width, 19.0));
    }

    /// Adds a line of text with these attributes.
    pub fn text_with(&mut self, attributes: Attributes<'_>, text: &str) {
        self.start("text", attributes);
        let _ = writeln!(self.text, ">{}</text>", escaped(text));
    }

    /// Adds an unfilled path in the colour of its parent.
    pub fn stroke(&mut self, path: &str, width: f64, dashes: &str, title: &str) {
        self.titled(
            "path",
            &[
                ("d", &path),
                ("fill", &"none"),
                ("stroke", &"currentColor"),
                ("stroke-width", &width),
                ("stroke-dasharray", &dashes),
                ("stroke-linejoin", &"round"),
            ],
            title,
        );
    }

    /// Adds a mark with an outline, filled or not, that reacts to the pointer everywhere inside.
    pub fn outlined(&mut self, path: &str, fill: &str, stroke: &str, width: f64, title: &str) {
        self.titled(
            "path",
            &[
                ("d", &path),
                ("fill", &fill),
                ("stroke", &stroke),
                ("stroke-width", &width),
                ("pointer-events", &"all"),
            ],
            title,
        );
    }

    /// Closes all open elements and returns the picture.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn start(&mut self, name: &'static str, attributes: Attributes<'_>) {
        let _ = write!(self.text, "<{name}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{}\"", escaped(&value.text()));
        }
    }
}

/// A length, rounded to hundredths, without trailing zeros. NaN and infinities become 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 * 100.0).round();
        if !hundredths.is_finite() || hundredths == 0.0 {
            return f.write_str("0");
        }
        let text = format!("{:.2}", hundredths / 100.0);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// Escapes text for XML and HTML. Characters that XML cannot hold, and those that would change the
/// direction of the text after them, become replacement characters.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}');
            }
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}

/// Shortens a text to at most `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Shortens a text to a width, in a font of that size. The ellipsis is in the middle: names such as
/// SMILES often differ only at the end.
pub fn fitted(text: &str, width: f64, size: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    let (mut start, mut end) = (0, characters.len());
    let mut room = width - text_width("…", size);
    while start < end {
        let first = start <= characters.len() - end;
        room -= text_width(&characters[if first { start } else { end - 1 }].to_string(), size);
        if room < 0.0 {
            break;
        }
        if first { start += 1 } else { end -= 1 }
    }
    characters[..start].iter().chain(&['…']).chain(&characters[end..]).collect()
}

/// Estimates the width of a line of text in a font of that size; there is no font to measure it
/// with.
pub fn text_width(text: &str, size: f64) -> f64 {
    let ems = |character: char| match character {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | '(' | ')' => {
            0.36
        }
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.95,
        'A'..='Z' => 0.7,
        _ if (character as u32) < 0x1100 => 0.6,
        _ => 1.05,
    };
    size * text.chars().map(ems).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (1.0, "1"),
            (-0.004, "0"),
            (12.346, "12.35"),
            (0.5, "0.5"),
            (100.0, "100"),
            (-3.1, "-3.1"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
        ] {
            assert_eq!(Number(value).to_string(), text);
        }
    }

    #[test]
    fn nothing_hostile_gets_through() {
        let name = "\"><script>alert('x')</script>\u{0}\u{202e}&";
        assert_eq!(
            escaped(name),
            "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\u{fffd}\u{fffd}&amp;"
        );
        let mut svg = Svg::new((1.0, 1.0), name, name);
        svg.label((0.0, 0.0), name, name);
        svg.titled("g", &[("id", &name)], name);
        let text = svg.finish();
        assert!(!text.contains("<script") && text.matches("&lt;script").count() == 6);
    }

    #[test]
    fn long_names_are_shortened_between_characters() {
        assert_eq!(shortened("abc", 3), "abc");
        assert_eq!(shortened("äöüß", 3), "äö…");
        assert_eq!(shortened(&"x".repeat(10_000), 40).chars().count(), 40);
    }

    #[test]
    fn names_are_fitted_to_a_width_by_their_middle() {
        assert_eq!(fitted("abc", 30.0, 10.0), "abc");
        let name = format!("C{}O", "N".repeat(10_000));
        let found = fitted(&name, 200.0, 10.0);
        assert!(found.starts_with("CNN") && found.ends_with("NNO") && found.contains("N…N"), "{found}");
        assert!((180.0..=200.0).contains(&text_width(&found, 10.0)), "{found}");
        assert_eq!(fitted(&name, 0.0, 10.0), "…");
    }

    #[test]
    fn what_is_open_is_ended() {
        let mut svg = Svg::new((1.0, 1.0), "", "");
        svg.open("g", &[]);
        svg.open("g", &[]);
        svg.close();
        assert!(svg.finish().ends_with("</g>\n</g>\n</svg>\n"));
    }
}
