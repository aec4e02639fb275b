//! A plot area with numbers along two of its sides, on linear or logarithmic scales.

use super::legend::short;
use super::svg::{Svg, shortened, text_width};

/// The scale of an axis, from the smallest value to the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Equal steps add equal amounts.
    Linear(f64, f64),
    /// Equal steps multiply by equal factors.
    Log(f64, f64),
}

impl Scale {
    /// A linear scale with a small margin around the values.
    pub fn linear(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        Self::Linear(low, high)
    }

    /// A linear scale with a margin wide enough for the marks.
    pub fn roomy(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values);
        Self::Linear(low - 0.06 * (high - low), high + 0.06 * (high - low))
    }

    /// A logarithmic scale with a small margin around the values above 0; other values are ignored.
    pub fn log(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            return Self::Log(1.0, 10.0);
        }
        let room = (high / low).powf(0.08).max(1.15);
        Self::Log(low / room, high * room)
    }

    fn ends(self) -> (f64, f64) {
        let (Self::Linear(low, high) | Self::Log(low, high)) = self;
        (low, high)
    }

    /// The relative position of a value, from 0 to 1.
    pub fn share(self, value: f64) -> f64 {
        let (value, low, high) = match self {
            Self::Linear(low, high) => (value, low, high),
            Self::Log(low, high) => (value.max(f64::MIN_POSITIVE).ln(), low.ln(), high.ln()),
        };
        if high > low { (value - low) / (high - low) } else { 0.5 }
    }

    /// About `count` round values, and their labels.
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
        // As fine as space allows.
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

/// The area of the picture that shows data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plot {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
    pub x: Scale,
    pub y: Scale,
}

/// The smallest distance between grid lines in a plot that cannot be zoomed.
const APART: (f64, f64) = (44.0, 32.0);

/// The distance of the tick labels from the plot.
const OUTSIDE: (f64, f64) = (15.0, 6.0);

impl Plot {
    /// The width of the tick labels left of a plot of that height.
    pub fn room_for_numbers(y: Scale, height: f64) -> f64 {
        let numbers = y.ticks((height / APART.1) as usize);
        OUTSIDE.1 + numbers.iter().map(|(_, text)| text_width(text, 12.0)).fold(0.0, f64::max)
    }

    /// The horizontal position of a value.
    pub fn to_x(self, value: f64) -> f64 {
        self.left + self.width * self.x.share(value)
    }

    /// The vertical position of a value.
    pub fn to_y(self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.share(value))
    }

    /// Draws grid lines with tick labels, the frame, and a heading above it.
    pub fn draw(&self, svg: &mut Svg, heading: &str) {
        let Self { left, top, width, height, .. } = *self;
        self.grid(svg, APART, OUTSIDE, "");
        svg.rect("frame", (left, top), (width, height));
        svg.label((left, top - 8.0), "heading", &shortened(heading, (width / 7.5) as usize));
    }

    /// Draws the axes with their labels. The `data-` attributes hold what the page's script needs
    /// to redraw them.
    pub fn draw_labelled(&self, svg: &mut Svg, x_label: &str, y_label: &str) {
        let Self { left, top, width, height, .. } = *self;
        // Without the last digits, which may depend on the machine.
        let [x, y] = [self.x, self.y].map(Scale::ends).map(|(low, high)| format!("{low:.8e} {high:.8e}"));
        let frame = format!("{left} {top} {width} {height}");
        svg.open("g", &[("class", &"axes"), ("data-frame", &frame), ("data-x", &x), ("data-y", &y)]);
        self.grid(svg, (80.0, 60.0), (16.0, 7.0), " tick");
        svg.close();
        svg.rect("frame", (left, top), (width, height));
        svg.label((left + width / 2.0, top + height + 36.0), "middle", x_label);
        svg.upright((left - 46.0, top + height / 2.0), "middle", y_label);
    }

    /// At most `count` round values on the x axis whose labels do not touch.
    fn x_ticks(&self, count: usize) -> Vec<(f64, String)> {
        let touch = |ticks: &[(f64, String)]| {
            ticks.windows(2).any(|pair| {
                let wide = text_width(&pair[0].1, 12.0) + text_width(&pair[1].1, 12.0);
                self.to_x(pair[1].0) - self.to_x(pair[0].0) < wide / 2.0 + 4.0
            })
        };
        let mut counts = (3..=count).rev().map(|count| self.x.ticks(count));
        counts.find(|ticks| !touch(ticks)).unwrap_or_else(|| self.x.ticks(2))
    }

    /// Draws grid lines at least `apart` from each other, with tick labels `outside` the plot.
    fn grid(&self, svg: &mut Svg, apart: (f64, f64), outside: (f64, f64), class: &str) {
        let Self { left, top, width, height, .. } = *self;
        let (right, bottom) = (left + width, top + height);
        for (value, text) in self.x_ticks((width / apart.0) as usize) {
            let x = self.to_x(value);
            svg.leaf("line", &[("class", &"grid"), ("x1", &x), ("y1", &top), ("x2", &x), ("y2", &bottom)]);
            svg.label((x, bottom + outside.0), &format!("faint middle{class}"), &text);
        }
        for (value, text) in self.y.ticks((height / apart.1) as usize) {
            let y = self.to_y(value);
            svg.leaf("line", &[("class", &"grid"), ("x1", &left), ("y1", &y), ("x2", &right), ("y2", &y)]);
            svg.label((left - outside.1, y + 4.0), &format!("faint end{class}"), &text);
        }
    }
}

/// The range of values with a small margin on both sides; never empty.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        (low, high) = (low.min(value), high.max(value));
    }
    if low < high {
        (low - 0.04 * (high - low), high + 0.04 * (high - low))
    } else if low.is_finite() {
        (low - 1.0, low + 1.0)
    } else {
        (-1.0, 1.0)
    }
}

/// About `count` round values between two others, and their labels.
fn ticks(low: f64, high: f64, count: usize) -> Vec<(f64, String)> {
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
    // Adding 0 makes -0 positive.
    let written = |value: f64| {
        if (-6..=6).contains(&decimals) {
            format!("{:.*}", decimals.max(0) as usize, value + 0.0)
        } else {
            format!("{:.1e}", value + 0.0)
        }
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
