//! The meaning of colours, in rows below a picture.

use super::colour;
use super::shade::Kind;
use super::svg::{Svg, shortened, text_width};

/// Height of a row.
const ROW: f64 = 20.0;

/// The margin on both sides.
const SIDE: f64 = 24.0;

/// The positions of entries with these widths, row after row.
pub(super) fn flow(widths: impl Iterator<Item = f64>, width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (SIDE, 14.0);
    let place = |long: f64| {
        if x > SIDE && x + long > width - SIDE {
            (x, y) = (SIDE, y + ROW);
        }
        let place = (x, y);
        x += long + 18.0;
        place
    };
    widths.map(place).collect()
}

/// Legend entries that wrap into rows.
pub(super) struct Legend {
    entries: Vec<Entry>,
}

enum Entry {
    /// Text only.
    Words(String),
    /// A series that can be hidden.
    Series(usize, String, String),
    /// A colour scale from one number to another.
    Scale(Vec<String>, String, String),
}

impl Legend {
    /// The colours of vertices.
    pub fn new(kind: &Kind) -> Self {
        let mut legend = Self { entries: Vec::new() };
        match kind {
            Kind::Categories(what, names) => {
                legend.key(&format!("{what}:"));
                for (series, name) in names.iter().enumerate() {
                    legend.entries.push(Entry::Series(series, kind.class(series), shortened(name, 24)));
                }
            }
            Kind::Amounts(what, low, high) => {
                let classes = (0..kind.count()).map(|step| kind.class(step)).collect();
                legend.scale(what, classes, (*low, *high));
            }
        }
        legend
    }

    /// Amounts below and above 0.
    pub fn of_differences(what: &str, most: f64) -> Self {
        let steps = (colour::STEPS - 1) as f64;
        let classes = (0..colour::STEPS).map(|step| colour::difference(2.0 * step as f64 / steps - 1.0));
        let mut legend = Self { entries: Vec::new() };
        legend.scale(what, classes.collect(), (-most, most));
        legend
    }

    fn scale(&mut self, what: &str, classes: Vec<String>, (low, high): (f64, f64)) {
        self.key(&format!("{what}:"));
        self.entries.push(Entry::Scale(classes, short(low), short(high)));
    }

    /// Adds text.
    pub fn key(&mut self, words: &str) {
        self.entries.push(Entry::Words(words.to_owned()));
    }

    /// The position of each entry.
    fn places(&self, width: f64) -> Vec<(f64, f64)> {
        flow(self.entries.iter().map(Entry::width), width)
    }

    /// The height in a picture of that width.
    pub fn height(&self, width: f64) -> f64 {
        self.places(width).last().map_or(0.0, |(_, y)| y + 14.0)
    }

    /// Draws the legend at `top`.
    pub fn draw(&self, svg: &mut Svg, width: f64, top: f64) {
        svg.open("g", &[("class", &"legend")]);
        for (entry, (x, y)) in self.entries.iter().zip(self.places(width)) {
            let y = top + y;
            match entry {
                Entry::Words(words) => svg.label((x, y), "faint", words),
                Entry::Series(series, class, name) => {
                    svg.open("g", &[("class", &"entry"), ("data-series", series)]);
                    svg.hit_area((x - 3.0, y), 20.0 + text_width(name, 12.0));
                    let (class, cx, cy) = (format!("vertex {class}"), x + 5.0, y - 4.0);
                    svg.leaf("circle", &[("class", &class), ("cx", &cx), ("cy", &cy), ("r", &5.0)]);
                    svg.label((x + 15.0, y), "", name);
                    svg.close();
                }
                Entry::Scale(classes, low, high) => {
                    svg.label((x, y), "", low);
                    let mut x = x + text_width(low, 12.0) + 6.0;
                    for class in classes {
                        svg.rect(class, (x, y - 10.0), (18.0, 12.0));
                        x += 18.0;
                    }
                    svg.label((x + 6.0, y), "", high);
                }
            }
        }
        svg.close();
    }
}

impl Entry {
    fn width(&self) -> f64 {
        match self {
            Self::Words(words) => text_width(words, 12.0),
            Self::Series(_, _, name) => 15.0 + text_width(name, 12.0),
            Self::Scale(classes, low, high) => {
                text_width(low, 12.0) + text_width(high, 12.0) + 12.0 + 18.0 * classes.len() as f64
            }
        }
    }
}

/// A number with few digits.
pub(super) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e6).contains(&size) => {
            let decimals = match size {
                100.0.. => return format!("{value:.0}"),
                1.0.. => 2,
                _ => 4,
            };
            format!("{value:.decimals$}").trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_entries_stay_inside() {
        let texts = [0.0, 0.12345, 3.0, 12.5, 1234.5, 1e9, -0.5, 1e-9].map(short);
        assert_eq!(texts, ["0", "0.1235", "3", "12.5", "1234", "1.0e9", "-0.5", "1.0e-9"]);
        let names = (0..30).map(|k| format!("a rather long name {k}")).collect();
        let legend = Legend::new(&Kind::Categories("label", names));
        let places = legend.places(400.0);
        for (entry, (x, _)) in legend.entries.iter().zip(&places) {
            assert!(x + entry.width() <= 400.0 - SIDE + 1e-9);
        }
        assert!(legend.height(400.0) > 10.0 * ROW);
    }
}
