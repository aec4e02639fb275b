//! A square plot with a key below it, narrow enough for a phone: shared by all charts of
//! predictions against true values.

use super::GREY;
use super::key::{self, Entry};
use super::thin;
use crate::picture::Picture;
use crate::picture::axes::{Plot, Scale};
use crate::picture::colour::{self, NUM_CATEGORIES};
use crate::picture::svg::{Number, Svg, shortened};

/// Side of the plot.
pub(super) const SIDE: f64 = 290.0;

/// The top edge of the plot.
const TOP: f64 = 54.0;

/// From 0 to 1, with a margin for lines at both ends.
pub(super) const UNIT: Scale = Scale::Linear(-0.02, 1.02);

/// The dash patterns of lines with the same colour.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

/// The dashes of a series.
pub(super) fn dashes(series: usize) -> &'static str {
    DASHES[series / NUM_CATEGORIES % DASHES.len()]
}

/// The texts of a chart.
#[derive(Clone, Debug, Default)]
pub(super) struct Words<'a> {
    pub title: &'a str,
    /// For readers who cannot see it.
    pub description: String,
    /// The metrics, above the plot.
    pub heading: String,
    pub x_label: &'a str,
    pub y_label: &'a str,
}

/// A chart while it is drawn.
pub(super) struct Square {
    pub svg: Svg,
    pub plot: Plot,
    title: String,
    entries: Vec<Entry>,
    width: f64,
    bottom: f64,
}

impl Square {
    /// Starts a chart, with `room` between the plot and the label of the x axis.
    pub fn new(words: &Words<'_>, (x, y): (Scale, Scale), room: f64, entries: Vec<Entry>) -> Self {
        let numbers = Plot::room_for_numbers(y, SIDE);
        let left = numbers + 24.0;
        let width = left + SIDE + 16.0;
        let bottom = TOP + SIDE + room + 44.0;
        let size = (width, bottom + key::height(&entries, width));
        let mut svg = Svg::new(size, words.title, &words.description);
        svg.label((16.0, 26.0), "title", &shortened(words.title, (width / 9.5) as usize));
        let plot = Plot { left, top: TOP, width: SIDE, height: SIDE, x, y };
        plot.draw(&mut svg, &words.heading);
        svg.label((left + SIDE / 2.0, bottom - 9.0), "middle", words.x_label);
        svg.upright((left - numbers - 8.0, TOP + SIDE / 2.0), "middle", words.y_label);
        Self { svg, plot, title: words.title.to_owned(), entries, width, bottom }
    }

    /// The position of a point in the picture.
    pub fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.plot.to_x(x), self.plot.to_y(y))
    }

    /// A grey dashed line between two points.
    pub fn guide(&mut self, from: (f64, f64), to: (f64, f64), title: &str) {
        let (from, to) = (self.place(from), self.place(to));
        self.svg.open("g", &[("color", &GREY)]);
        let path = format!("M{} {}L{} {}", Number(from.0), Number(from.1), Number(to.0), Number(to.1));
        self.svg.stroke(&path, 1.4, "4 3", title);
        self.svg.close();
    }

    /// A curve through points, if there are any, in the colour of its series.
    pub fn curve(&mut self, points: &[(f64, f64)], series: usize, text: &str) {
        if points.is_empty() {
            return;
        }
        let places: Vec<(f64, f64)> = points.iter().map(|&point| self.place(point)).collect();
        self.svg.marks(&colour::category(series), series);
        self.svg.stroke(&thin::curve(&places), 1.8, dashes(series), text);
        self.svg.close();
    }

    /// Writes the reason for an empty plot into it.
    pub fn say(&mut self, sentence: &str) {
        let middle = (self.plot.left + SIDE / 2.0, TOP + SIDE / 2.0);
        self.svg.label(middle, "faint middle", sentence);
    }

    /// Returns the picture, with its key.
    pub fn finish(mut self) -> Picture {
        key::draw(&mut self.svg, &self.entries, self.width, self.bottom);
        Picture { title: self.title, svg: self.svg.finish(), notes: Vec::new(), table: None }
    }
}
