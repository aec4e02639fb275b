//! Predicted against true numbers.

use ndarray::ArrayView2;
use stepwell::config::Metric;
use stepwell::metrics::{Judged, Truth};

use std::collections::BTreeMap;
use std::fmt::Write;

use super::GREY;
use super::key::{Entry, Glyph};
use super::marks::mark;
use super::square::{SIDE, Square, Words};
use crate::picture::Picture;
use crate::picture::axes::Scale;
use crate::picture::colour;
use crate::picture::legend::short;
use crate::picture::svg::Number;

/// True and predicted numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Against<'a> {
    /// The true numbers.
    pub expected: &'a [f64],
    /// The predicted numbers.
    pub found: &'a [f64],
    /// The lower and upper bounds of their intervals.
    pub intervals: Option<(&'a [f64], &'a [f64])>,
}

/// The most points drawn individually; more are counted in squares.
const MOST_POINTS: usize = 300;

/// The most intervals drawn for more points than that, because they cover the squares.
const MOST_INTERVALS: usize = 60;

/// Side of a square.
const CELL: f64 = 4.0;

/// Shades of squares.
const SHADES: usize = 4;

/// Draws a point for each prediction; correct ones lie on the diagonal.
pub fn against(title: &str, against: &Against<'_>) -> Picture {
    let all = against.expected.len().min(against.found.len());
    let (expected, found) = (&against.expected[..all], &against.found[..all]);
    let intervals: Vec<(f64, f64, f64)> = match against.intervals {
        Some((lower, upper)) => {
            expected.iter().zip(lower.iter().zip(upper)).map(|(&x, (&low, &high))| (x, low, high)).collect()
        }
        None => Vec::new(),
    };
    let scale = scale(expected, found, &intervals);
    let (fit, outside): (Vec<_>, Vec<_>) = expected
        .iter()
        .copied()
        .zip(found.iter().copied())
        .partition(|(x, y)| [x, y].iter().all(|value| (0.0..=1.0).contains(&scale.share(**value))));
    let mut entries = vec![Entry::series(0, Glyph::Mark(0), &format!("{all} predictions"))];
    if all > MOST_POINTS {
        entries.push(Entry::note(Glyph::Nothing, "stronger where there are more"));
    }
    if !outside.is_empty() {
        entries.push(Entry::note(Glyph::Nothing, &format!("{} outside the plot", outside.len())));
    }
    if !intervals.is_empty() {
        let inside = intervals.iter().filter(|(x, low, high)| low <= x && x <= high).count();
        let held = 100.0 * inside as f64 / intervals.len() as f64;
        entries.push(Entry::note(Glyph::Line(""), &format!("intervals; {held:.1} % hold the true value")));
    }
    entries.push(Entry::note(Glyph::Line("4 3"), "predicted = true"));
    let heading = figures(expected, found);
    let words = Words {
        title,
        description: format!("Predicted against true values of {all} predictions: {heading}"),
        heading,
        x_label: "true value",
        y_label: "predicted value",
    };
    let mut chart = Square::new(&words, (scale, scale), 0.0, entries);
    let Scale::Linear(low, high) = scale else { return chart.finish() };
    if all == 0 {
        chart.say("no predictions");
        return chart.finish();
    }
    if all <= MOST_POINTS {
        draw_intervals(&mut chart, intervals, scale);
        chart.guide((low, low), (high, high), "predicted = true");
        draw_points(&mut chart, &fit);
    } else {
        draw_squares(&mut chart, &fit);
        draw_intervals(&mut chart, intervals, scale);
        chart.guide((low, low), (high, high), "predicted = true");
    }
    chart.finish()
}

/// The error and the explained variance, in words.
fn figures(expected: &[f64], found: &[f64]) -> String {
    let judged = Judged {
        truth: Truth::Numbers(expected),
        decisions: ArrayView2::from_shape((found.len(), 1), found).expect("one column"),
        probabilities: None,
        weights: None,
    };
    let Some(error) = judged.metric(Metric::Rmse) else { return String::new() };
    let explained = judged.metric(Metric::R2).map(|share| format!(", R² {share:.3}")).unwrap_or_default();
    format!("RMSE {}{explained}", short(error))
}

/// One scale for both axes. Values farther outside the range of the true numbers than its width are
/// clipped, because they would compress the others into a spot.
fn scale(expected: &[f64], found: &[f64], intervals: &[(f64, f64, f64)]) -> Scale {
    let low = expected.iter().copied().fold(f64::INFINITY, f64::min);
    let high = expected.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let apart = high - low;
    let ends = intervals.iter().flat_map(|(_, low, high)| [*low, *high]);
    let others = found.iter().copied().chain(ends).filter(|value| value.is_finite());
    let near = others.map(|value| {
        // A single true number does not define a range.
        if apart > 0.0 && apart.is_finite() { value.clamp(low - apart, high + apart) } else { value }
    });
    Scale::linear(expected.iter().copied().chain(near))
}

fn draw_intervals(chart: &mut Square, mut intervals: Vec<(f64, f64, f64)>, scale: Scale) {
    if intervals.is_empty() {
        return;
    }
    // Intervals of all sizes.
    intervals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let step = if intervals.len() > MOST_POINTS { intervals.len().div_ceil(MOST_INTERVALS) } else { 1 };
    let mut path = String::new();
    let bottom = chart.plot.top + SIDE;
    for (x, low, high) in intervals.into_iter().step_by(step) {
        let [low, high] = [low, high].map(|end| bottom - SIDE * scale.share(end).clamp(0.0, 1.0));
        let _ = write!(
            path,
            "M{} {}V{}",
            Number(tenth(chart.plot.to_x(x))),
            Number(tenth(low)),
            Number(tenth(high))
        );
    }
    chart.svg.open("g", &[("color", &GREY), ("stroke-opacity", &0.6)]);
    chart.svg.stroke(&path, 1.0, "", "intervals");
    chart.svg.close();
}

fn draw_points(chart: &mut Square, points: &[(f64, f64)]) {
    chart.svg.marks(&format!("mark {}", colour::category(0)), 0);
    for &(x, y) in points {
        let text = format!("true {}\npredicted {}", short(x), short(y));
        let place = chart.place((x, y));
        chart.svg.titled("path", &[("d", &mark(0, (tenth(place.0), tenth(place.1)), 2.8))], &text);
    }
    chart.svg.close();
}

fn draw_squares(chart: &mut Square, points: &[(f64, f64)]) {
    let places: Vec<(f64, f64)> = points.iter().map(|&point| chart.place(point)).collect();
    chart.svg.marks(&colour::category(0), 0);
    for (shade, path) in squares(&places).iter().enumerate() {
        let dense = 0.25 + 0.75 * shade as f64 / (SHADES - 1) as f64;
        chart.svg.leaf("path", &[("d", path), ("fill-opacity", &dense)]);
    }
    chart.svg.close();
}

/// Squares with points in them, by shade: each shade holds several times as many points as the
/// previous one.
fn squares(places: &[(f64, f64)]) -> [String; SHADES] {
    let mut counts: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    for (x, y) in places {
        *counts.entry(((x / CELL) as i64, (y / CELL) as i64)).or_default() += 1;
    }
    let most = counts.values().copied().max().unwrap_or(1) as f64;
    let mut paths: [String; SHADES] = Default::default();
    for ((column, row), count) in counts {
        let share = if most > 1.0 { (count as f64).ln() / most.ln() } else { 1.0 };
        let shade = ((share * SHADES as f64) as usize).min(SHADES - 1);
        let (x, y, side) = (column as f64 * CELL, row as f64 * CELL, CELL);
        let _ = write!(paths[shade], "M{x} {y}h{side}v{side}h-{side}z");
    }
    paths
}

fn tenth(x: f64) -> f64 {
    (10.0 * x).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_hand() {
        // Errors of 1, 0 and -1; the mean is 2, the variance 2/3.
        assert_eq!(figures(&[1.0, 2.0, 3.0], &[2.0, 2.0, 2.0]), "RMSE 0.8165, R² 0.000");
        assert_eq!(figures(&[1.0, 3.0], &[1.0, 3.0]), "RMSE 0, R² 1.000");
        assert_eq!(figures(&[1.0], &[3.0]), "RMSE 2");
        assert_eq!(figures(&[], &[]), "");
    }

    #[test]
    fn what_is_far_off_does_not_count() {
        let Scale::Linear(low, high) = scale(&[0.0, 10.0], &[5.0, 1e9], &[(0.0, -1e9, 1.0)]) else {
            panic!()
        };
        assert!(low >= -12.0 && high <= 22.0 && low < -10.0 && high > 20.0);
        assert_eq!(scale(&[], &[], &[]), Scale::Linear(-1.0, 1.0));
    }

    #[test]
    fn squares_count_all_points() {
        let places = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (9.0, 9.0)];
        let [few, .., many] = squares(&places);
        assert_eq!((few.as_str(), many.as_str()), ("M8 8h4v4h-4z", "M0 0h4v4h-4z"));
        assert_eq!(squares(&[]), <[String; SHADES]>::default());
    }
}
