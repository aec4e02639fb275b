//! The key of a chart: the meaning of colours and shapes, in rows below it.

use super::GREY;
use super::marks::mark;
use crate::picture::colour;
use crate::picture::legend::flow;
use crate::picture::svg::{Attributes, Svg, shortened, text_width};

/// The symbol of an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Glyph {
    /// A mark of a shape.
    Mark(usize),
    /// Its outline.
    Hollow(usize),
    /// A bar.
    Bar,
    /// A line with a dash pattern.
    Line(&'static str),
    /// No symbol.
    Nothing,
}

/// An entry: its symbol, its text, and the series of the same colour that a click hides. Entries
/// without a series are grey.
pub(super) struct Entry {
    pub glyph: Glyph,
    pub words: String,
    pub series: Option<usize>,
}

impl Entry {
    /// An entry for the series with that number and colour.
    pub fn series(index: usize, glyph: Glyph, words: &str) -> Self {
        Self { glyph, words: shortened(words, 40), series: Some(index) }
    }

    /// An entry that cannot be hidden.
    pub fn note(glyph: Glyph, words: &str) -> Self {
        Self { glyph, words: words.to_owned(), series: None }
    }

    fn width(&self) -> f64 {
        let glyph = if self.glyph == Glyph::Nothing { 0.0 } else { 24.0 };
        glyph + text_width(&self.words, 12.0)
    }
}

fn places(entries: &[Entry], width: f64) -> Vec<(f64, f64)> {
    flow(entries.iter().map(Entry::width), width)
}

/// The height of the key in a picture of that width.
pub(super) fn height(entries: &[Entry], width: f64) -> f64 {
    places(entries, width).last().map_or(0.0, |(_, y)| y + 16.0)
}

/// Draws the key at `top`.
pub(super) fn draw(svg: &mut Svg, entries: &[Entry], width: f64, top: f64) {
    svg.open("g", &[("class", &"legend")]);
    for (entry, (x, y)) in entries.iter().zip(places(entries, width)) {
        let y = top + y;
        match entry.series {
            Some(series) => {
                svg.open("g", &[("class", &"entry"), ("data-series", &series)]);
                svg.hit_area((x - 3.0, y), entry.width() + 6.0);
                svg.open("g", &[("class", &colour::category(series))]);
            }
            None => {
                svg.open("g", &[]);
                svg.open("g", &[("color", &GREY), ("fill", &GREY)]);
            }
        }
        let middle = (x + 8.0, y - 4.0);
        let words = match entry.glyph {
            Glyph::Mark(shape) => {
                svg.leaf("path", &[("d", &mark(shape, middle, 4.6))]);
                x + 20.0
            }
            Glyph::Hollow(shape) => {
                let (path, paint) = (mark(shape, middle, 4.6), "currentColor");
                svg.leaf(
                    "path",
                    &[("d", &path), ("fill", &"none"), ("stroke", &paint), ("stroke-width", &1.6)],
                );
                x + 20.0
            }
            Glyph::Bar => {
                svg.leaf("rect", &[("x", &x), ("y", &(y - 10.0)), ("width", &14.0), ("height", &12.0)]);
                x + 20.0
            }
            Glyph::Line(dashes) => {
                let attributes: Attributes<'_> = &[
                    ("x1", &x),
                    ("y1", &(y - 4.0)),
                    ("x2", &(x + 18.0)),
                    ("y2", &(y - 4.0)),
                    ("stroke", &"currentColor"),
                    ("stroke-width", &2.0),
                    ("stroke-dasharray", &dashes),
                ];
                svg.leaf("line", attributes);
                x + 24.0
            }
            Glyph::Nothing => x,
        };
        svg.close();
        svg.label((words, y), if entry.series.is_some() { "" } else { "faint" }, &entry.words);
        svg.close();
    }
    svg.close();
}
