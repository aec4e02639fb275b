//! A rectangle of the picture with numbers along two of its sides.

use super::svg::{Number, Svg};

/// Where data lie in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Left edge in the picture.
    pub left: f64,
    /// Upper edge in the picture.
    pub top: f64,
    /// Width in the picture.
    pub width: f64,
    /// Height in the picture.
    pub height: f64,
    /// The smallest and the largest value from left to right.
    pub x: (f64, f64),
    /// The smallest and the largest value from bottom to top.
    pub y: (f64, f64),
}

impl Frame {
    /// Where a value lies, from left to right.
    pub fn to_x(&self, value: f64) -> f64 {
        self.left + self.width * share(value, self.x)
    }

    /// Where a value lies, from top to bottom.
    pub fn to_y(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - share(value, self.y))
    }

    /// Draws grid lines, the numbers beside them, the border, and what the axes
    /// show. The page's script finds what it needs to draw them anew in `data-`
    /// attributes.
    pub fn draw(&self, svg: &mut Svg, x_label: &str, y_label: &str) {
        let Self { left, top, width, height, .. } = *self;
        let (right, bottom) = (left + width, top + height);
        svg.open(
            "g",
            &[
                ("class", &"axes"),
                ("data-frame", &format_args!("{left} {top} {width} {height}")),
                // Without the last digits, which may depend on the machine.
                ("data-x", &format_args!("{:.8e} {:.8e}", self.x.0, self.x.1)),
                ("data-y", &format_args!("{:.8e} {:.8e}", self.y.0, self.y.1)),
            ],
        );
        let line = |svg: &mut Svg, from: (f64, f64), to: (f64, f64)| {
            let (x1, y1, x2, y2) = (Number(from.0), Number(from.1), Number(to.0), Number(to.1));
            svg.leaf("line", &[("class", &"grid"), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
        };
        for (value, text) in ticks(self.x.0, self.x.1, (width / 80.0) as usize) {
            let x = self.to_x(value);
            line(svg, (x, top), (x, bottom));
            svg.label((x, bottom + 16.0), "faint middle tick", &text);
        }
        for (value, text) in ticks(self.y.0, self.y.1, (height / 60.0) as usize) {
            let y = self.to_y(value);
            line(svg, (left, y), (right, y));
            svg.label((left - 7.0, y + 4.0), "faint end tick", &text);
        }
        svg.close();
        let (x, y) = (Number(left), Number(top));
        let (w, h) = (Number(width), Number(height));
        svg.leaf("rect", &[("class", &"frame"), ("x", &x), ("y", &y), ("width", &w), ("height", &h)]);
        svg.label((left + width / 2.0, bottom + 36.0), "middle", x_label);
        let (x, y) = (Number(left - 46.0), Number(top + height / 2.0));
        let turned = format!("rotate(-90 {x} {y})");
        svg.text_with(&[("x", &x), ("y", &y), ("class", &"middle"), ("transform", &turned)], y_label);
    }
}

fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    if high > low { (value - low) / (high - low) } else { 0.5 }
}

/// The range of values with a little room on both sides; never empty.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    match low < high {
        true => (low - 0.04 * (high - low), high + 0.04 * (high - low)),
        false if low.is_finite() => (low - 1.0, low + 1.0),
        false => (-1.0, 1.0),
    }
}

/// Round values between two others, about so many, and how they are written.
pub fn ticks(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / count.max(2) as f64;
    if !(rough.is_finite() && rough > 0.0) {
        return Vec::new();
    }
    let mut power = 1.0;
    let mut decimals = 0i32;
    while power > rough {
        (power, decimals) = (power / 10.0, decimals + 1);
    }
    while power * 10.0 <= rough {
        (power, decimals) = (power * 10.0, decimals - 1);
    }
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    let decimals = if step >= 10.0 * power { decimals - 1 } else { decimals };
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    let steps = (last - first).clamp(-1.0, 50.0) as i64 + 1;
    let written = |value: f64| match (-6..=6).contains(&decimals) {
        // Adding 0 makes -0 positive.
        true => format!("{:.*}", decimals.max(0) as usize, value + 0.0),
        false => format!("{:.1e}", value + 0.0),
    };
    (0..steps).map(|k| (first + k as f64) * step).map(|value| (value, written(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let texts =
            |low, high, count| ticks(low, high, count).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(texts(-0.3, 1.1, 5), ["0.0", "0.5", "1.0"]);
        assert_eq!(texts(0.0, 10.0, 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(texts(-1234.0, 3000.0, 4), ["0", "2000"]);
        assert_eq!(texts(0.00012, 0.00031, 2), ["0.0002", "0.0003"]);
        assert_eq!(texts(1.0, 1.0, 5), [""; 0]);
        assert_eq!(texts(f64::NAN, 1.0, 5), [""; 0]);
        assert!(texts(1e-12, 3e-12, 3)[0].contains('e'));
        for (low, high) in [(-1e9, 1e9), (1e-9, 2e-9), (-3.3, -3.2), (1e300, 2e300)] {
            let found = ticks(low, high, 6);
            assert!((2..=14).contains(&found.len()), "{found:?}");
            let room = 1e-9 * (low.abs() + high.abs());
            assert!(found.iter().all(|(value, _)| *value >= low - room && *value <= high + room));
        }
    }

    #[test]
    fn a_range_is_never_empty() {
        assert_eq!(range([].into_iter()), (-1.0, 1.0));
        assert_eq!(range([5.0, f64::NAN].into_iter()), (4.0, 6.0));
        assert_eq!(range([0.0, 100.0].into_iter()), (-4.0, 104.0));
    }
}
