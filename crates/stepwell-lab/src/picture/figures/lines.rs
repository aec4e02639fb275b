//! Line charts of measurements.

use std::fmt::Write;

use super::key::{self, Entry, Glyph};
use super::marks::mark;
use crate::picture::Picture;
use crate::picture::axes::{Plot, Scale};
use crate::picture::colour;
use crate::picture::legend::short;
use crate::picture::svg::{Number, Svg, shortened};

/// A plot of some lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinePanel {
    /// The heading.
    pub heading: String,
    /// The label of the x axis.
    pub x_label: String,
    /// Whether the x axis is logarithmic.
    pub x_is_log: bool,
    /// The label of the y axis, which is logarithmic.
    pub y_label: String,
    /// The lines. Lines of the same name look the same in all panels.
    pub lines: Vec<Line>,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// The name.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// The dash patterns that distinguish lines besides colour and shape.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "9 3 2 3"];

const SIZE: (f64, f64) = (440.0, 260.0);

/// Draws panels side by side, two in a row.
pub fn lines(title: &str, panels: &[LinePanel]) -> Picture {
    let mut names: Vec<&str> = Vec::new();
    for line in panels.iter().flat_map(|panel| &panel.lines) {
        if !names.contains(&line.name.as_str()) {
            names.push(&line.name);
        }
    }
    let (left, head, foot, gap) = (62.0, 34.0, 52.0, 26.0);
    let columns = panels.len().clamp(1, 2);
    let rows = panels.len().div_ceil(columns).max(1);
    let (across, down) = (SIZE.0 + left + gap, SIZE.1 + head + foot);
    let width = 8.0 + columns as f64 * across;
    let top = 30.0;
    let bottom = top + rows as f64 * down;
    let entry = |(index, name): (usize, &&str)| Entry::series(index, Glyph::Line(DASHES[index % 4]), name);
    // A single line needs no name.
    let entries: Vec<Entry> = names.iter().enumerate().map(entry).filter(|_| names.len() > 1).collect();
    let description = panels.iter().map(|panel| panel.heading.as_str()).collect::<Vec<_>>().join("; ");
    let mut svg = Svg::new((width, bottom + key::height(&entries, width)), title, &description);
    svg.label((16.0, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    for (index, panel) in panels.iter().enumerate() {
        let points = || panel.lines.iter().flat_map(|line| &line.points);
        let x = points().map(|point| point.0);
        let plot = Plot {
            left: 8.0 + left + (index % columns) as f64 * across,
            top: top + head + (index / columns) as f64 * down,
            width: SIZE.0,
            height: SIZE.1,
            x: if panel.x_is_log { Scale::log(x) } else { Scale::linear(x) },
            y: Scale::log(points().map(|point| point.1)),
        };
        plot.draw(&mut svg, &panel.heading);
        svg.label((plot.left + SIZE.0 / 2.0, plot.top + SIZE.1 + 34.0), "faint middle", &panel.x_label);
        svg.label((plot.left + SIZE.0, plot.top - 8.0), "faint end", &panel.y_label);
        for line in &panel.lines {
            let series = names.iter().position(|name| *name == line.name).unwrap_or_default();
            draw_line(&mut svg, line, series, &plot);
        }
    }
    key::draw(&mut svg, &entries, width, bottom);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

fn draw_line(svg: &mut Svg, line: &Line, series: usize, plot: &Plot) {
    svg.marks(&colour::category(series), series);
    let mut path = String::new();
    for (x, y) in &line.points {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{} {}", Number(plot.to_x(*x)), Number(plot.to_y(*y)));
    }
    if line.points.len() > 1 {
        svg.stroke(&path, 1.8, DASHES[series % 4], &line.name);
    }
    for (x, y) in &line.points {
        let text = format!("{}\n{} at {}", line.name, short(*y), short(*x));
        svg.titled("path", &[("d", &mark(series, (plot.to_x(*x), plot.to_y(*y)), 4.0))], &text);
    }
    svg.close();
}
