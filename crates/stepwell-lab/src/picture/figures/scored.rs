//! Scored items that are positive or negative, in order of score.

use stepwell::metrics::Ranked;

use super::key::{Entry, Glyph};
use super::square::dashes;
use crate::picture::svg::shortened;

/// The scores of one target or class, and which of them are positive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Curve<'a> {
    /// The target or class.
    pub name: &'a str,
    /// The scores; higher means more likely positive.
    pub scores: &'a [f64],
    /// Whether each scored item is positive.
    pub positive: &'a [bool],
}

/// The most curves in one picture.
const MOST: usize = 12;

impl Curve<'_> {
    /// Positives and negatives by descending score.
    pub(super) fn ranked(&self) -> Ranked {
        Ranked::new(self.scores[..self.len()].iter().copied(), |row| self.positive[row], |_| 1.0)
    }

    /// The number of scored items.
    pub(super) fn len(&self) -> usize {
        self.scores.len().min(self.positive.len())
    }

    /// The number of positives.
    pub(super) fn num_positive(&self) -> usize {
        self.positive[..self.len()].iter().filter(|positive| **positive).count()
    }

    /// From the highest score down: the numbers of positives and negatives with at least that
    /// score, for every distinct score.
    pub(super) fn above(&self) -> Vec<(usize, usize)> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|&a, &b| self.scores[b].total_cmp(&self.scores[a]));
        let (mut positives, mut negatives) = (0, 0);
        let mut found = Vec::new();
        for ties in order.chunk_by(|&a, &b| self.scores[a] == self.scores[b]) {
            let high = ties.iter().filter(|&&row| self.positive[row]).count();
            (positives, negatives) = (positives + high, negatives + ties.len() - high);
            found.push((positives, negatives));
        }
        found
    }

    /// An entry of the key: the name, shortened so that the metrics fit after it.
    pub(super) fn entry(&self, series: usize, figures: &str) -> Entry {
        let words = self.named(figures, 42usize.saturating_sub(figures.chars().count() + 2).max(6));
        Entry { glyph: Glyph::Line(dashes(series)), words, series: Some(series) }
    }

    /// A longer version of the same text, for tooltips.
    pub(super) fn told(&self, figures: &str) -> String {
        self.named(figures, 60)
    }

    fn named(&self, figures: &str, most: usize) -> String {
        match self.name {
            "" => figures.to_owned(),
            name => format!("{}: {figures}", shortened(name, most)),
        }
    }
}

/// The curves to draw, in order: if there are too many, those with the most positives.
pub(super) fn chosen(curves: &[Curve<'_>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..curves.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(curves[index].num_positive()));
    order.truncate(MOST);
    order.sort_unstable();
    order
}

/// An entry about the curves left out, if any.
pub(super) fn left_out(curves: &[Curve<'_>]) -> Option<Entry> {
    let words = || format!("the {MOST} of {} with most positives", curves.len());
    (curves.len() > MOST).then(|| Entry::note(Glyph::Nothing, &words()))
}

/// The metric above the plot: the only value, or the mean of the known ones.
pub(super) fn heading(what: &str, figures: &[Option<f64>]) -> String {
    let known: Vec<f64> = figures.iter().flatten().copied().collect();
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    match (known.len(), figures.len()) {
        (0, _) => String::new(),
        (_, 1) => format!("{what} {mean:.3}"),
        _ => format!("mean {what} {mean:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_counted_from_the_highest() {
        let curve = Curve {
            name: "",
            scores: &[0.4, 0.8, 0.1, 0.4, 0.6],
            positive: &[true, true, false, false, false],
        };
        assert_eq!(curve.above(), [(1, 0), (1, 1), (2, 2), (2, 3)]);
        assert_eq!((curve.len(), curve.num_positive()), (5, 2));
        // Items without a counterpart are ignored.
        let short = Curve { positive: &[true, true], ..curve };
        assert_eq!((short.len(), short.num_positive()), (2, 2));
        assert_eq!(Curve::default().above(), []);
    }

    #[test]
    fn of_many_curves_those_with_most_positives_are_drawn() {
        let positive: Vec<bool> = (0..20).map(|_| true).collect();
        let scores = [0.5; 20];
        let curves: Vec<Curve<'_>> = (0..20)
            .map(|count| Curve { name: "", scores: &scores[..count], positive: &positive[..count] })
            .collect();
        assert_eq!(chosen(&curves), (8..20).collect::<Vec<_>>());
        assert_eq!(left_out(&curves).unwrap().words, "the 12 of 20 with most positives");
        assert!(left_out(&curves[..12]).is_none());
    }
}
