//! Tests whether two models differ: the corrected resampled t-test of Nadeau and Bengio
//! (2003).
//!
//! Training sets of different folds overlap, so differences of accuracies are not
//! independent. With k differences d of mean d̄ and variance s², and with n₂ test
//! graphs and n₁ training graphs, `t = d̄ / √((1/k + n₂/n₁) s²)` is compared with
//! Student's distribution of k - 1 degrees of freedom.
//!
//! ```
//! use stepwell_lab::significance::paired;
//! let test = paired(&[0.02, 0.03, 0.01, 0.03, 0.02], 0.25).unwrap();
//! assert!((test.mean - 0.022).abs() < 1e-12);
//! assert!(test.p < 0.05);
//! ```

use crate::table::Cell;

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Test {
    /// The mean difference.
    pub mean: f64,
    /// The statistic. Infinite if all differences are equal.
    pub t: f64,
    /// The probability of a statistic at least as far from 0 if there is no difference.
    pub p: f64,
}

impl Test {
    /// The mean difference, as a cell of a table.
    pub(crate) fn difference(&self) -> Cell {
        Cell::sorted(format!("{:+.2}", self.mean), self.mean)
    }
}

/// Tests whether the mean of paired differences is 0. `ratio` is the number of test
/// graphs over that of training graphs. `None` for fewer than two differences.
pub fn paired(differences: &[f64], ratio: f64) -> Option<Test> {
    let count = differences.len() as f64;
    if differences.len() < 2 {
        return None;
    }
    let mean = differences.iter().sum::<f64>() / count;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = ((1.0 / count + ratio) * variance).sqrt();
    let t = if mean == 0.0 { 0.0 } else { mean / error };
    Some(Test { mean, t, p: two_sided(t, differences.len() - 1) })
}

/// The probability that Student's t with `degrees` degrees of freedom is at least this
/// far from 0, by the finite sums for integer degrees (Abramowitz and Stegun, 26.7.3
/// and 26.7.4).
fn two_sided(t: f64, degrees: usize) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let angle = (t.abs() / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    // Terms cos^k · (1·3·…)/(2·4·…), each computed from the previous one.
    let sum = |first: f64, from: usize| {
        let (mut term, mut sum) = (first, first);
        for k in (from..degrees).step_by(2) {
            term *= cosine * cosine * (k - 1) as f64 / k as f64;
            sum += term;
        }
        sum
    };
    let inside = match degrees % 2 {
        0 => sine * sum(1.0, 2),
        _ if degrees == 1 => angle * std::f64::consts::FRAC_2_PI,
        _ => std::f64::consts::FRAC_2_PI * (angle + sine * sum(cosine, 3)),
    };
    (1.0 - inside).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integrates Student's density by Simpson's rule: an independent computation of
    /// the tail.
    fn integrated(t: f64, degrees: usize) -> f64 {
        let v = degrees as f64;
        let kernel = |x: f64| (1.0 + x * x / v).powf(-(v + 1.0) / 2.0);
        let simpson = |from: f64, to: f64, steps: usize| {
            let h = (to - from) / steps as f64;
            let inner = (1..steps).map(|i| kernel(from + i as f64 * h) * if i % 2 == 1 { 4.0 } else { 2.0 });
            (kernel(from) + kernel(to) + inner.sum::<f64>()) * h / 3.0
        };
        // Substitute x = tan u to integrate the whole line; the integrand stays bounded.
        let steps = 20_000;
        let h = std::f64::consts::FRAC_PI_2 / steps as f64;
        let whole: f64 = (0..steps)
            .map(|i| {
                let u = (i as f64 + 0.5) * h;
                kernel(u.tan()) / u.cos().powi(2) * h
            })
            .sum();
        1.0 - simpson(0.0, t, 2000) / whole
    }

    #[test]
    fn tails_are_those_of_the_density() {
        for degrees in [1, 2, 3, 4, 5, 9, 14, 29] {
            for t in [0.0, 0.3, 1.0, 2.5, 6.0] {
                let (found, expected) = (two_sided(t, degrees), integrated(t, degrees));
                assert!((found - expected).abs() < 1e-6, "{degrees} {t}: {found} {expected}");
            }
        }
        // A well-known value from tables of the distribution.
        assert!((two_sided(2.776, 4) - 0.05).abs() < 1e-4);
        assert_eq!(two_sided(f64::INFINITY, 4), 0.0);
    }

    #[test]
    fn overlapping_folds_make_it_harder() {
        let differences = [0.01, 0.03, 0.02, 0.00, 0.04];
        let (naive, corrected) = (paired(&differences, 0.0).unwrap(), paired(&differences, 0.25).unwrap());
        assert!((naive.t / corrected.t - (0.45f64 / 0.2).sqrt()).abs() < 1e-12);
        assert!(corrected.p > naive.p);
        assert_eq!(paired(&[0.0, 0.0], 0.25).unwrap().p, 1.0);
        assert_eq!(paired(&[0.1, 0.1], 0.25).unwrap().p, 0.0);
        assert!(paired(&[0.1], 0.25).is_none());
    }
}
