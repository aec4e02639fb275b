//! Scatter plots of named series.

use super::axes::{Plot, Scale};
use super::svg::{Svg, shortened, text_width};

/// A scatter plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// The title, in one line.
    pub title: String,
    /// A description for readers who cannot see it.
    pub description: String,
    /// The label of the x axis.
    pub x_label: String,
    /// The label of the y axis.
    pub y_label: String,
    /// The heading of the legend.
    pub legend: String,
    /// The points; later series lie on top of earlier ones.
    pub series: Vec<Series>,
}

/// A series of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The class of their colour; see [`colour`](super::colour).
    pub class: String,
    /// The points.
    pub points: Vec<Point>,
}

/// One point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// The x coordinate.
    pub x: f64,
    /// The y coordinate.
    pub y: f64,
    /// The tooltip.
    pub text: String,
}

/// The most entries of a legend; further series are drawn but not listed.
const MOST_NAMED: usize = 20;

/// Characters of a name in a legend.
const NAME: usize = 22;

/// The outlines of marks around the origin. Series are distinguished by shape as well as by colour;
/// the number of shapes and the number of colours have no common divisor.
const SHAPES: [&str; 7] = [
    "M-3.4 0a3.4 3.4 0 1 0 6.8 0a3.4 3.4 0 1 0 -6.8 0z",
    "M-3.1 -3.1h6.2v6.2h-6.2z",
    "M0 -4.2L3.9 3H-3.9z",
    "M0 -4.4L4.4 0L0 4.4L-4.4 0z",
    "M0 4.2L3.9 -3H-3.9z",
    "M-1.3 -4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    "M-4.1 -2.2L-2.2 -4.1L0 -1.9L2.2 -4.1L4.1 -2.2L1.9 0L4.1 2.2L2.2 4.1L0 1.9L-2.2 4.1L-4.1 2.2L-1.9 0z",
];

impl Scatter {
    /// Draws the picture.
    pub fn svg(&self) -> String {
        let named = self.series.len().min(MOST_NAMED);
        let names: Vec<String> = self.series[..named]
            .iter()
            .map(|series| format!("{} ({})", shortened(&series.name, NAME), series.points.len()))
            .collect();
        let heading = shortened(&self.legend, NAME);
        let lines = names.iter().chain([&heading]);
        let widest = lines.map(|line| text_width(line, 12.0)).fold(0.0, f64::max);
        let (plot_width, height) = (600.0, 520.0);
        let (left, top) = (70.0, 48.0);
        let width = (left + plot_width + 46.0 + widest).ceil();
        let points = || self.series.iter().flat_map(|series| &series.points);
        let plot = Plot {
            left,
            top,
            width: plot_width,
            height: height - top - 52.0,
            x: Scale::linear(points().map(|point| point.x)),
            y: Scale::linear(points().map(|point| point.y)),
        };

        let mut svg = Svg::new((width, height), &self.title, &self.description);
        svg.open("defs", &[]);
        for (index, outline) in SHAPES.iter().enumerate() {
            svg.leaf("path", &[("id", &format_args!("m{index}")), ("d", outline)]);
        }
        svg.close();
        svg.label((16.0, 28.0), "title", &shortened(&self.title, (width / 9.5) as usize));
        plot.draw_labelled(&mut svg, &shortened(&self.x_label, 80), &shortened(&self.y_label, 70));

        svg.window((left, top), (plot.width, plot.height));
        for (index, series) in self.series.iter().enumerate() {
            svg.marks(&format!("mark {}", series.class), index);
            let shape = format!("#m{}", index % SHAPES.len());
            for point in &series.points {
                let (x, y) = (plot.to_x(point.x), plot.to_y(point.y));
                svg.titled("use", &[("href", &shape), ("x", &x), ("y", &y)], &point.text);
            }
            svg.close();
        }
        svg.close();

        svg.open("g", &[("class", &"legend")]);
        let legend_left = left + plot_width + 22.0;
        svg.label((legend_left - 5.0, top + 8.0), "faint", &heading);
        for (index, (series, name)) in self.series.iter().zip(&names).enumerate() {
            let y = top + 30.0 + 19.0 * index as f64;
            svg.open("g", &[("class", &"entry"), ("data-series", &index)]);
            svg.hit_area((legend_left - 7.0, y), 20.0 + text_width(name, 12.0));
            let shape = format!("#m{}", index % SHAPES.len());
            let (x, mark) = (legend_left, y - 4.0);
            svg.leaf("use", &[("href", &shape), ("class", &series.class), ("x", &x), ("y", &mark)]);
            svg.label((legend_left + 11.0, y), "", name);
            svg.close();
        }
        svg.close();
        if self.series.len() > named {
            let y = top + 30.0 + 19.0 * named as f64;
            svg.label((legend_left, y), "faint", &format!("and {} more", self.series.len() - named));
        }
        svg.finish()
    }
}
