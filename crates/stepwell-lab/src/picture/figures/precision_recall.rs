//! Precision against recall: the share of true positives among predicted positives, against the
//! share of positives found.

use super::key::{Entry, Glyph};
use super::scored::{Curve, chosen, heading, left_out};
use super::square::{Square, UNIT, Words};
use crate::picture::Picture;

/// Recall and precision at the scores of the positives, from the highest score down; empty without
/// positives.
pub fn precision_recall_points(curve: &Curve<'_>) -> Vec<(f64, f64)> {
    let above = curve.above();
    let all = above.last().map_or(0, |last| last.0);
    let mut before = 0;
    let mut points = Vec::new();
    for (positives, negatives) in above {
        if positives > before {
            points.push((positives as f64 / all as f64, positives as f64 / (positives + negatives) as f64));
        }
        before = positives;
    }
    points
}

/// The corners of the steps: the precision at a recall holds back to the previous recall.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut before = 0.0;
    let corners = points.iter().flat_map(|&(recall, precision)| {
        let from = std::mem::replace(&mut before, recall);
        [(from, precision), (recall, precision)]
    });
    corners.collect()
}

/// Draws the curves of some targets or classes.
pub fn precision_recall(title: &str, curves: &[Curve<'_>]) -> Picture {
    let precisions: Vec<Option<f64>> =
        curves.iter().map(|curve| curve.ranked().average_precision()).collect();
    // The drawn curves, each with its metrics in words.
    let mut drawn = Vec::new();
    let mut base_rates = Vec::new();
    for index in chosen(curves) {
        let curve = &curves[index];
        let figures = match precisions[index] {
            Some(precision) => {
                let base_rate = curve.num_positive() as f64 / curve.len() as f64;
                base_rates.push(base_rate);
                format!("{precision:.3}, base rate {base_rate:.3}")
            }
            None => format!("none, 0 of {} positive", curve.len()),
        };
        drawn.push((curve, figures));
    }
    let mut entries: Vec<Entry> =
        drawn.iter().enumerate().map(|(series, (curve, figures))| curve.entry(series, figures)).collect();
    entries.push(Entry::note(Glyph::Line("4 3"), "base rate: share of positives"));
    entries.extend(left_out(curves));
    let told: Vec<String> = drawn.iter().map(|(curve, figures)| curve.told(figures)).collect();
    let words = Words {
        title,
        description: format!("Precision-recall curves with average precision: {}", told.join("; ")),
        heading: heading("average precision", &precisions),
        x_label: "recall",
        y_label: "precision",
    };
    let mut chart = Square::new(&words, (UNIT, UNIT), 0.0, entries);
    base_rates.sort_by(f64::total_cmp);
    base_rates.dedup_by(|a, b| (*a - *b).abs() < 0.002);
    for rate in base_rates {
        chart.guide((0.0, rate), (1.0, rate), &format!("base rate {rate:.3}"));
    }
    for (series, (curve, figures)) in drawn.iter().enumerate() {
        let corners = steps(&precision_recall_points(curve));
        chart.curve(&corners, series, &format!("average precision\n{}", curve.told(figures)));
    }
    if precisions.iter().all(Option::is_none) {
        chart.say("no curve without positives");
    }
    chart.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_by_hand() {
        let curve = Curve {
            name: "",
            scores: &[0.9, 0.8, 0.7, 0.6, 0.5],
            positive: &[true, false, true, false, false],
        };
        let two_thirds = 2.0 / 3.0;
        assert_eq!(precision_recall_points(&curve), [(0.5, 1.0), (1.0, two_thirds)]);
        assert_eq!(curve.ranked().average_precision(), Some(0.5 + 0.5 * two_thirds));
        let corners = steps(&precision_recall_points(&curve));
        assert_eq!(corners, [(0.0, 1.0), (0.5, 1.0), (0.5, two_thirds), (1.0, two_thirds)]);
    }

    #[test]
    fn equal_scores_have_the_base_rate() {
        let equal = Curve { name: "", scores: &[0.5; 4], positive: &[true, false, false, false] };
        assert_eq!(precision_recall_points(&equal), [(1.0, 0.25)]);
        assert_eq!(equal.ranked().average_precision(), Some(0.25));
        assert_eq!(Curve { positive: &[true; 4], ..equal }.ranked().average_precision(), Some(1.0));
        assert_eq!(Curve { positive: &[false; 4], ..equal }.ranked().average_precision(), None);
        assert_eq!(Curve::default().ranked().average_precision(), None);
    }
}
