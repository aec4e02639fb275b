//! A rectangle with numbers along two of its sides, as they are or in powers
//! of ten.

use crate::picture::axes::{range, ticks};
use crate::picture::legend::short;
use crate::picture::svg::{Number, Svg, shortened};

/// From the smallest value to the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Equal steps add as much.
    Linear(f64, f64),
    /// Equal steps are as many times more.
    Log(f64, f64),
}

impl Scale {
    /// With a little room around values.
    pub fn linear(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        Self::Linear(low, high)
    }

    /// With room around values for the marks at them.
    pub fn roomy(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        Self::Linear(low - 0.06 * (high - low), high + 0.06 * (high - low))
    }

    /// With a little room around values, of which only those above 0 count.
    pub fn log(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        match low <= high {
            true => {
                let room = (high / low).powf(0.08).max(1.15);
                Self::Log(low / room, high * room)
            }
            false => Self::Log(1.0, 10.0),
        }
    }

    /// Where a value lies, from 0 to 1.
    pub fn share(self, value: f64) -> f64 {
        let (value, low, high) = match self {
            Self::Linear(low, high) => (value, low, high),
            Self::Log(low, high) => (value.max(f64::MIN_POSITIVE).ln(), low.ln(), high.ln()),
        };
        if high > low { (value - low) / (high - low) } else { 0.5 }
    }

    /// Round values, about so many, and how they are written.
    pub fn ticks(self, count: usize) -> Vec<(f64, String)> {
        let (low, high) = match self {
            Self::Linear(low, high) => return ticks(low, high, count),
            Self::Log(low, high) => (low, high),
        };
        let decades = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let within = |factors: &[f64]| -> Vec<f64> {
            (decades.0..=decades.1)
                .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
                .filter(|value| *value >= low && *value <= high)
                .collect()
        };
        // As fine as there is room for.
        let factors: [&[f64]; 5] = [
            &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 3.0],
            &[1.0],
        ];
        let apart = 0.8 / count.max(2) as f64;
        let fits = |values: &Vec<f64>| {
            values.len() <= count.max(2)
                && values.windows(2).all(|pair| self.share(pair[1]) - self.share(pair[0]) >= apart)
        };
        let mut fine = factors.iter().map(|factors| within(factors));
        let chosen = fine.find(fits).unwrap_or_else(|| {
            let all = within(&[1.0]);
            let step = all.len().div_ceil(count.max(2));
            all.into_iter().step_by(step).collect()
        });
        chosen.into_iter().map(|value| (value, short(value))).collect()
    }
}

/// Where data lie in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plot {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Scale,
    pub y: Scale,
}

impl Plot {
    /// Where a value lies, from left to right.
    pub fn to_x(self, value: f64) -> f64 {
        self.left + self.width * self.x.share(value)
    }

    /// Where a value lies, from top to bottom.
    pub fn to_y(self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.share(value))
    }

    /// Draws grid lines with their numbers, the border, and what it is above it.
    pub fn draw(&self, svg: &mut Svg, heading: &str) {
        let Self { left, top, width, height, .. } = *self;
        let line = |svg: &mut Svg, from: (f64, f64), to: (f64, f64)| {
            let (x1, y1, x2, y2) = (Number(from.0), Number(from.1), Number(to.0), Number(to.1));
            svg.leaf("line", &[("class", &"grid"), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
        };
        for (value, text) in self.x.ticks((width / 44.0) as usize) {
            let x = self.to_x(value);
            line(svg, (x, top), (x, top + height));
            svg.label((x, top + height + 15.0), "faint middle", &text);
        }
        for (value, text) in self.y.ticks((height / 32.0) as usize) {
            let y = self.to_y(value);
            line(svg, (left, y), (left + width, y));
            svg.label((left - 6.0, y + 4.0), "faint end", &text);
        }
        frame(svg, (left, top), (width, height));
        svg.label((left, top - 8.0), "heading", &shortened(heading, (width / 7.5) as usize));
    }
}

/// The border of a rectangle.
pub(super) fn frame(svg: &mut Svg, (left, top): (f64, f64), (width, height): (f64, f64)) {
    let (x, y, width, height) = (Number(left), Number(top), Number(width), Number(height));
    svg.leaf("rect", &[("class", &"frame"), ("x", &x), ("y", &y), ("width", &width), ("height", &height)]);
}

/// A line through points, not filled; in the colour of what it is inside of.
pub(super) fn stroke(svg: &mut Svg, path: &str, width: f64, dashes: &str, title: &str) {
    let width = Number(width);
    svg.titled(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_marked_as_there_is_room() {
        let texts = |low, high, count| {
            Scale::Log(low, high).ticks(count).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts(0.9, 11.0, 6), ["1", "2", "5", "10"]);
        assert_eq!(texts(0.038, 0.062, 6), ["0.04", "0.05", "0.06"]);
        assert_eq!(texts(890.0, 5600.0, 10), ["1000", "1500", "2000", "3000", "5000"]);
        assert_eq!(texts(0.9, 11.0, 3), ["1", "3", "10"]);
        assert_eq!(texts(0.05, 2000.0, 6), ["0.1", "1", "10", "100", "1000"]);
        assert_eq!(texts(1e-9, 1e9, 6).len(), 5);
        for (low, high) in [(1.0, 1.0), (1e-300, 1e300), (f64::MIN_POSITIVE, f64::MAX)] {
            assert!(Scale::Log(low, high).ticks(4).len() <= 5);
        }
    }

    #[test]
    fn a_scale_holds_what_it_was_made_of() {
        let values = [3.0, 700.0, 0.02, f64::NAN, -1.0];
        let log = Scale::log(values.into_iter());
        for value in [3.0, 700.0, 0.02] {
            assert!((0.0..=1.0).contains(&log.share(value)));
        }
        assert!((Scale::Log(1.0, 100.0).share(10.0) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::log([].into_iter()), Scale::Log(1.0, 10.0));
        assert!(Scale::Log(1.0, 10.0).share(0.0).is_finite());
    }
}
