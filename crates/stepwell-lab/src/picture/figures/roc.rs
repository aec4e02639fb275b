//! Receiver operating characteristics: the true positive rate against the false positive rate.

use super::key::{Entry, Glyph};
use super::scored::{Curve, chosen, heading, left_out};
use super::square::{Square, UNIT, Words};
use crate::picture::Picture;

/// The shares of negatives and of positives with at least a score, from the highest score down;
/// empty unless there are both. Equal scores form one step, so that the area below equals
/// [`Ranked::roc_auc`](stepwell::metrics::Ranked::roc_auc).
pub fn roc_points(curve: &Curve<'_>) -> Vec<(f64, f64)> {
    let above = curve.above();
    match above.last() {
        Some(&(positives, negatives)) if positives > 0 && negatives > 0 => {
            let share = |&(high, low): &(usize, usize)| {
                (low as f64 / negatives as f64, high as f64 / positives as f64)
            };
            [(0.0, 0.0)].into_iter().chain(above.iter().map(share)).collect()
        }
        _ => Vec::new(),
    }
}

/// Draws the curves of some targets or classes.
pub fn roc(title: &str, curves: &[Curve<'_>]) -> Picture {
    let areas: Vec<Option<f64>> = curves.iter().map(|curve| curve.ranked().roc_auc()).collect();
    // The drawn curves, each with its metrics in words.
    let mut drawn = Vec::new();
    for index in chosen(curves) {
        let (curve, positives) = (&curves[index], curves[index].num_positive());
        let figures = match areas[index] {
            Some(area) => format!("{area:.3}, {positives} positive"),
            None => format!("none, {positives} of {} positive", curve.len()),
        };
        drawn.push((curve, figures));
    }
    let mut entries: Vec<Entry> =
        drawn.iter().enumerate().map(|(series, (curve, figures))| curve.entry(series, figures)).collect();
    entries.push(Entry::note(Glyph::Line("4 3"), "chance"));
    entries.extend(left_out(curves));
    let told: Vec<String> = drawn.iter().map(|(curve, figures)| curve.told(figures)).collect();
    let words = Words {
        title,
        description: format!("ROC curves with the areas below them: {}", told.join("; ")),
        heading: heading("area under the curve", &areas),
        x_label: "false positive rate",
        y_label: "true positive rate",
    };
    let mut chart = Square::new(&words, (UNIT, UNIT), 0.0, entries);
    if areas.iter().all(Option::is_none) {
        chart.say("no curve without positives and negatives");
    } else {
        chart.guide((0.0, 0.0), (1.0, 1.0), "chance");
    }
    for (series, (curve, figures)) in drawn.iter().enumerate() {
        chart.curve(&roc_points(curve), series, &format!("area under the curve\n{}", curve.told(figures)));
    }
    chart.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_by_hand() {
        let scores = [0.9, 0.8, 0.8, 0.3, 0.1];
        let curve = Curve { name: "", scores: &scores, positive: &[true, true, false, false, true] };
        let third = 1.0 / 3.0;
        let expected = [(0.0, 0.0), (0.0, third), (0.5, 2.0 * third), (1.0, 2.0 * third), (1.0, 1.0)];
        assert_eq!(roc_points(&curve), expected);
        let points = roc_points(&curve);
        let below = points.windows(2).map(|pair| (pair[1].0 - pair[0].0) * (pair[1].1 + pair[0].1) / 2.0);
        assert!((below.sum::<f64>() - curve.ranked().roc_auc().unwrap()).abs() < 1e-15);
    }

    #[test]
    fn equal_scores_are_chance_and_one_kind_is_nothing() {
        let equal = Curve { name: "", scores: &[0.5; 4], positive: &[true, false, true, false] };
        assert_eq!(roc_points(&equal), [(0.0, 0.0), (1.0, 1.0)]);
        assert_eq!(roc_points(&Curve { positive: &[true; 4], ..equal }), []);
        assert_eq!(roc_points(&Curve { positive: &[false; 4], ..equal }), []);
        assert_eq!(roc_points(&Curve::default()), []);
    }
}
