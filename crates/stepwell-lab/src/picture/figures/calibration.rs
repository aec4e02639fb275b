//! Calibration: of the graphs predicted with 70 %, about 70 % should be positive.

use super::GREY;
use super::key::{Entry, Glyph};
use super::marks::mark;
use super::scored::Curve;
use super::square::{SIDE, Square, UNIT, Words};
use crate::picture::Picture;
use crate::picture::colour;
use crate::picture::svg::{Attributes, Number};

/// The most bins.
const BINS: usize = 10;

/// The bars of the histogram below the plot, their height, and the margin above them.
const BARS: usize = 25;
const TALL: f64 = 34.0;
const ABOVE: f64 = 24.0;

/// A range of probabilities, and the outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// The lowest and the highest probability.
    pub range: (f64, f64),
    /// Their mean.
    pub predicted: f64,
    /// The number of probabilities.
    pub count: usize,
    /// The number of positives.
    pub positive: usize,
}

impl Bin {
    /// The share of positives.
    pub fn observed(&self) -> f64 {
        self.positive as f64 / self.count.max(1) as f64
    }

    /// Wilson's interval, which holds the true share in 95 of 100 cases.
    pub fn interval(&self) -> (f64, f64) {
        const Z: f64 = 1.959_963_984_540_054;
        if self.count == 0 {
            return (0.0, 1.0);
        }
        let (n, p) = (self.count as f64, self.observed());
        let middle = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + Z * Z / n;
        (((middle - half) / whole).max(0.0), ((middle + half) / whole).min(1.0))
    }
}

/// Ten bins with about equally many probabilities each, ascending. Equal probabilities share a bin,
/// so there may be fewer bins.
pub fn calibration_bins(curve: &Curve<'_>) -> Vec<Bin> {
    let all = curve.len();
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by(|&a, &b| curve.scores[a].total_cmp(&curve.scores[b]));
    let mut bins: Vec<Bin> = Vec::new();
    let mut taken = 0;
    for cut in (1..=BINS).map(|bin| (bin * all).div_ceil(BINS)) {
        let mut end = cut;
        while end > taken && end < all && curve.scores[order[end]] == curve.scores[order[end - 1]] {
            end += 1;
        }
        if end <= taken {
            continue;
        }
        let rows = &order[taken..end];
        taken = end;
        bins.push(Bin {
            range: (curve.scores[rows[0]], curve.scores[rows[rows.len() - 1]]),
            predicted: rows.iter().map(|&row| curve.scores[row]).sum::<f64>() / rows.len() as f64,
            count: rows.len(),
            positive: rows.iter().filter(|&&row| curve.positive[row]).count(),
        });
    }
    bins
}

/// The mean distance between predicted and observed shares, weighted by the size of the bins;
/// `None` without bins.
pub fn expected_calibration_error(bins: &[Bin]) -> Option<f64> {
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    let sum: f64 = bins.iter().map(|bin| bin.count as f64 * (bin.observed() - bin.predicted).abs()).sum();
    (all > 0).then(|| sum / all as f64)
}

/// Draws predicted probabilities (the scores) against observed shares.
pub fn calibration(title: &str, curve: &Curve<'_>) -> Picture {
    let bins = calibration_bins(curve);
    let error = expected_calibration_error(&bins);
    let entries = vec![
        Entry::series(0, Glyph::Mark(0), "share of positives"),
        Entry::note(Glyph::Line(""), "its 95 % interval (Wilson)"),
        Entry::note(Glyph::Line("4 3"), "perfectly calibrated"),
        Entry::note(Glyph::Bar, &format!("{} probabilities", curve.len())),
    ];
    let heading = error.map(|error| format!("expected calibration error {error:.3}")).unwrap_or_default();
    let told: Vec<String> =
        bins.iter().map(|bin| format!("{:.2} and {:.2}", bin.predicted, bin.observed())).collect();
    let words = Words {
        title,
        description: format!(
            "Predicted probabilities and observed shares of {} predictions, {} positive: {}",
            curve.len(),
            curve.num_positive(),
            told.join("; ")
        ),
        heading,
        x_label: "predicted probability",
        y_label: "observed share",
    };
    let mut chart = Square::new(&words, (UNIT, UNIT), ABOVE + TALL - 12.0, entries);
    if bins.is_empty() {
        chart.say("no predictions");
        return chart.finish();
    }
    chart.guide((0.0, 0.0), (1.0, 1.0), "perfectly calibrated");
    draw_bins(&mut chart, &bins);
    draw_histogram(&mut chart, &curve.scores[..curve.len()]);
    chart.finish()
}

fn draw_bins(chart: &mut Square, bins: &[Bin]) {
    chart.svg.marks(&colour::category(0), 0);
    let mut path = String::new();
    for bin in bins {
        let (low, high) = bin.interval();
        let ((x, bottom), (_, top)) = (chart.place((bin.predicted, low)), chart.place((bin.predicted, high)));
        let text = format!("95 % interval: {low:.3} to {high:.3}");
        let line = format!("M{} {}V{}", Number(x), Number(bottom), Number(top));
        chart.svg.open("g", &[("class", &"marks"), ("color", &GREY)]);
        chart.svg.stroke(&line, 2.0, "", &text);
        chart.svg.close();
        let (x, y) = chart.place((bin.predicted, bin.observed()));
        let letter = if path.is_empty() { 'M' } else { 'L' };
        path.push_str(&format!("{letter}{} {}", Number(x), Number(y)));
    }
    if bins.len() > 1 {
        chart.svg.stroke(&path, 1.2, "", "share of positives");
    }
    for bin in bins {
        let text = format!(
            "predicted {:.3} (from {:.3} to {:.3})\nobserved {:.3}: {} of {} positive",
            bin.predicted,
            bin.range.0,
            bin.range.1,
            bin.observed(),
            bin.positive,
            bin.count
        );
        let place = chart.place((bin.predicted, bin.observed()));
        chart.svg.titled("path", &[("d", &mark(0, place, 4.2))], &text);
    }
    chart.svg.close();
}

/// Draws the histogram of the probabilities below the plot.
fn draw_histogram(chart: &mut Square, probabilities: &[f64]) {
    let mut counts = [0usize; BARS];
    for probability in probabilities {
        counts[((probability * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    let floor = chart.plot.top + SIDE + ABOVE + TALL;
    chart.svg.open("g", &[("class", &"marks")]);
    for (bar, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
        let [low, high] = [bar, bar + 1].map(|edge| edge as f64 / BARS as f64);
        let (x, end) = (chart.plot.to_x(low), chart.plot.to_x(high));
        // A single probability among many stays visible.
        let tall = (TALL * count as f64 / most).max(1.0);
        let place: Attributes<'_> = &[
            ("x", &x),
            ("y", &(floor - tall)),
            ("width", &(end - x - 1.0)),
            ("height", &tall),
            ("fill", &GREY),
        ];
        chart.svg.titled("rect", place, &format!("{count} from {low:.2} to {high:.2}"));
    }
    chart.svg.close();
    let (left, right) = (chart.plot.left, chart.plot.left + SIDE);
    chart
        .svg
        .leaf("line", &[("class", &"frame"), ("x1", &left), ("y1", &floor), ("x2", &right), ("y2", &floor)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_by_hand() {
        let scores: Vec<f64> = (0..20).map(|k| f64::from(k) / 20.0).collect();
        let positive: Vec<bool> = (0..20).map(|k| k % 2 == 0).collect();
        let bins = calibration_bins(&Curve { name: "", scores: &scores, positive: &positive });
        assert_eq!(bins.len(), 10);
        assert!(bins.iter().all(|bin| bin.count == 2 && bin.positive == 1));
        assert!((bins[3].predicted - 0.325).abs() < 1e-15);
        assert_eq!(bins[3].range, (0.3, 0.35));
        // Distances from one half: 0.475, 0.375, …, 0.025, twice each.
        let error = expected_calibration_error(&bins).unwrap();
        assert!(
            (error - (0.475 + 0.375 + 0.275 + 0.175 + 0.075 + 0.025 + 0.125 + 0.225 + 0.325 + 0.425) / 10.0)
                .abs()
                < 1e-12
        );
    }

    #[test]
    fn equal_probabilities_are_in_one_bin() {
        let scores = [0.7, 0.2, 0.2, 0.2, 0.7, 0.2];
        let positive = [true, false, true, false, true, false];
        let bins = calibration_bins(&Curve { name: "", scores: &scores, positive: &positive });
        let counts: Vec<(usize, usize)> = bins.iter().map(|bin| (bin.count, bin.positive)).collect();
        assert_eq!(counts, [(4, 1), (2, 2)]);
        // 4 of 6 are 0.05 too low, 2 of 6 are 0.3 too low.
        let error = expected_calibration_error(&bins).unwrap();
        assert!((error - (4.0 * 0.05 + 2.0 * 0.3) / 6.0).abs() < 1e-12);
        let one = Curve { name: "", scores: &[0.5], positive: &[true] };
        assert_eq!(calibration_bins(&one).len(), 1);
        assert_eq!(calibration_bins(&Curve::default()), []);
        assert_eq!(expected_calibration_error(&[]), None);
    }

    #[test]
    fn all_are_in_a_bin_and_no_value_in_two() {
        for count in [1, 3, 9, 10, 11, 57, 200] {
            let scores: Vec<f64> = (0..count).map(|k| f64::from(k * k % 23) / 23.0).collect();
            let positive = vec![false; scores.len()];
            let bins = calibration_bins(&Curve { name: "", scores: &scores, positive: &positive });
            assert_eq!(bins.iter().map(|bin| bin.count).sum::<usize>(), scores.len());
            assert!(bins.len() <= BINS && bins.windows(2).all(|pair| pair[0].range.1 < pair[1].range.0));
        }
    }

    #[test]
    fn intervals_by_hand() {
        let near = |found: (f64, f64), expected: (f64, f64)| {
            assert!((found.0 - expected.0).abs() < 5e-5 && (found.1 - expected.1).abs() < 5e-5, "{found:?}");
        };
        let bin = |positive, count| Bin { positive, count, ..Bin::default() };
        // Newcombe (1998), Table I, method 3.
        near(bin(81, 263).interval(), (0.2553, 0.3662));
        near(bin(15, 148).interval(), (0.0624, 0.1605));
        near(bin(0, 20).interval(), (0.0, 0.1611));
        near(bin(1, 29).interval(), (0.0061, 0.1718));
        assert_eq!(bin(0, 0).interval(), (0.0, 1.0));
    }
}
