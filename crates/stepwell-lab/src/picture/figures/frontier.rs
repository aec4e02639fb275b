//! Accuracy against time, and the Pareto-optimal models.

use std::fmt::Write;

use stepwell_data::counted;

use super::key::{self, Entry, Glyph};
use super::marks::mark;
use super::{GREY, architecture};
use crate::picture::Picture;
use crate::picture::axes::{Plot, Scale};
use crate::picture::colour;
use crate::picture::legend::short;
use crate::picture::svg::{Number, Svg, shortened};
use crate::results::POOLS;

/// All models on a dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    /// The dataset.
    pub name: String,
    /// Its models.
    pub spots: Vec<Spot>,
}

/// One model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spot {
    /// The pooling.
    pub pool: String,
    /// Blocks.
    pub blocks: usize,
    /// Seconds of training and testing.
    pub seconds: f64,
    /// Accuracy in percent.
    pub accuracy: f64,
    /// Whether it is the paper's result.
    pub is_papers: bool,
}

/// The Pareto-optimal points, ascending in time: no other is faster and at least as accurate, or as
/// fast and more accurate.
pub fn pareto(points: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| points[a].0.total_cmp(&points[b].0).then(points[b].1.total_cmp(&points[a].1)));
    let mut best = f64::NEG_INFINITY;
    order.retain(|&index| {
        let better = points[index].1 > best;
        best = best.max(points[index].1);
        better
    });
    order
}

/// The margins of a plot.
const ROOM: (f64, f64, f64) = (48.0, 26.0, 40.0);

/// Draws a plot for each dataset, `in_row` per row.
pub fn frontier(title: &str, fields: &[Field], in_row: usize) -> Picture {
    let (left, head, foot) = ROOM;
    let columns = fields.len().clamp(1, in_row.max(1));
    let rows = fields.len().div_ceil(columns).max(1);
    let size = if columns == 1 { (560.0, 300.0) } else { (1040.0 / columns as f64 - left - 16.0, 170.0) };
    let step = (size.0 + left + 16.0, size.1 + head + foot);
    let (width, top) = (24.0 + columns as f64 * step.0, 40.0);
    let bottom = top + rows as f64 * step.1;
    let spots = || fields.iter().flat_map(|field| &field.spots);
    let mut entries: Vec<Entry> = POOLS
        .iter()
        .enumerate()
        .filter(|(_, pool)| spots().any(|spot| spot.pool == **pool))
        .map(|(index, pool)| Entry::series(index, Glyph::Mark(index), pool))
        .collect();
    if spots().any(|spot| architecture(&spot.pool) == POOLS.len()) {
        entries.push(Entry::series(POOLS.len(), Glyph::Mark(POOLS.len()), "other poolings"));
    }
    let is_mixed = spots().any(|spot| spot.blocks > 2) && spots().any(|spot| spot.blocks <= 2);
    if is_mixed {
        entries.push(Entry::note(Glyph::Hollow(0), "hollow: 3 blocks or more"));
    }
    if spots().any(|spot| spot.is_papers) {
        entries.push(Entry::note(Glyph::Mark(0), "grey: the paper's, on its machine"));
    }
    entries.push(Entry::note(Glyph::Line("4 3"), "Pareto front"));
    let description = format!("Accuracy in percent against seconds, for {} datasets", fields.len());
    let mut svg = Svg::new((width, bottom + 14.0 + key::height(&entries, width)), title, &description);
    svg.label((16.0, 26.0), "title", &shortened(title, (width / 9.5) as usize));
    for (index, field) in fields.iter().enumerate() {
        let plot = Plot {
            left: 12.0 + left + (index % columns) as f64 * step.0,
            top: top + head + (index / columns) as f64 * step.1,
            width: size.0,
            height: size.1,
            x: Scale::log(field.spots.iter().map(|spot| spot.seconds)),
            y: Scale::roomy(field.spots.iter().map(|spot| spot.accuracy)),
        };
        draw_field(&mut svg, field, &plot, is_mixed);
    }
    let words = "across: seconds of training and testing (logarithmic); up: % right";
    svg.label((24.0, bottom + 6.0), "faint", words);
    key::draw(&mut svg, &entries, width, bottom + 14.0);
    Picture { title: title.to_owned(), svg: svg.finish(), notes: Vec::new(), table: None }
}

/// Models with more blocks have hollow marks if there are others.
fn draw_field(svg: &mut Svg, field: &Field, plot: &Plot, is_mixed: bool) {
    plot.draw(svg, &field.name);
    for is_papers in [true, false] {
        let spots: Vec<&Spot> = field.spots.iter().filter(|spot| spot.is_papers == is_papers).collect();
        let points: Vec<(f64, f64)> = spots.iter().map(|spot| (spot.seconds, spot.accuracy)).collect();
        let front = pareto(&points);
        svg.open("g", &[("color", &GREY)]);
        if front.len() > 1 {
            svg.stroke(&stairs(plot, front.iter().map(|&index| points[index])), 1.6, "4 3", "Pareto front");
        }
        svg.close();
        for (index, spot) in spots.iter().enumerate() {
            let series = architecture(&spot.pool);
            let class = if is_papers { String::new() } else { colour::category(series) };
            let path = mark(series, (plot.to_x(spot.seconds), plot.to_y(spot.accuracy)), 5.0);
            let text = format!(
                "{}: {}, {}{}\n{:.1} % right in {} s{}",
                field.name,
                spot.pool,
                counted(spot.blocks, "block"),
                if is_papers { ", the paper" } else { "" },
                spot.accuracy,
                short(spot.seconds),
                if front.contains(&index) { "\non the Pareto front" } else { "" }
            );
            let paint = if is_papers { GREY } else { "currentColor" };
            let (fill, wide) = if is_mixed && spot.blocks > 2 { ("none", 1.8) } else { (paint, 0.5) };
            svg.marks(&class, series);
            svg.outlined(&path, fill, paint, wide, &text);
            svg.close();
        }
    }
}

/// A staircase from point to point: first along the time axis, then up.
fn stairs(plot: &Plot, points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (seconds, accuracy) in points {
        let (x, y) = (Number(plot.to_x(seconds)), Number(plot.to_y(accuracy)));
        let _ = if path.is_empty() { write!(path, "M{x} {y}") } else { write!(path, "H{x}V{y}") };
    }
    path
}

#[cfg(test)]
mod tests {
    use stepwell::rng::Stream;

    use super::*;

    #[test]
    fn the_front_is_what_nothing_beats() {
        let mut stream = Stream::new(2, "front tests", [0, 0]);
        for count in [0, 1, 2, 30] {
            let points: Vec<(f64, f64)> =
                (0..count).map(|_| (stream.below(8) as f64, stream.below(8) as f64)).collect();
            let found = pareto(&points);
            let beats = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 >= b.1 && a != b;
            for (index, &point) in points.iter().enumerate() {
                let beaten = points.iter().any(|&other| beats(other, point));
                let twin = found.iter().any(|&other| points[other] == point);
                assert_eq!(!beaten, found.contains(&index) || twin, "{points:?}");
            }
            assert!(found.is_sorted_by(|&a, &b| points[a].0 < points[b].0 && points[a].1 < points[b].1));
        }
    }
}
