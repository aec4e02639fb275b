//! Simplifies curves without a visible difference (Douglas and Peucker).

use std::fmt::Write;

use crate::picture::svg::Number;

/// The most vertices of a curve.
const MOST: usize = 400;

/// The largest displacement of a curve, in units of the picture: too small to see.
const UNSEEN: f64 = 0.2;

/// A path through points of the picture, without the points that make no visible difference.
pub(super) fn curve(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (x, y) in thinned(points) {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(path, "{letter}{} {}", Number(x), Number(y));
    }
    path
}

fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    // First merge points at the same position: of a million points, few remain for the next step.
    let mut apart: Vec<(f64, f64)> = Vec::new();
    for (index, &point) in points.iter().enumerate() {
        let is_end = index + 1 == points.len();
        if is_end || apart.last().is_none_or(|&last| distance(last, point) >= UNSEEN) {
            apart.push(point);
        }
    }
    let mut moved = UNSEEN;
    let mut kept = simplified(&apart, moved);
    while kept.len() > MOST {
        moved *= 1.5;
        kept = simplified(&apart, moved);
    }
    kept
}

/// Drops points whose distance from the line through the others is at most `most`.
fn simplified(points: &[(f64, f64)], most: f64) -> Vec<(f64, f64)> {
    let mut keep = vec![false; points.len()];
    let mut pieces = Vec::new();
    if let Some(last) = points.len().checked_sub(1) {
        (keep[0], keep[last]) = (true, true);
        pieces.push((0, last));
    }
    while let Some((first, last)) = pieces.pop() {
        let mut far = (most, None);
        for index in first + 1..last {
            let away = to_segment(points[index], points[first], points[last]);
            if away > far.0 {
                far = (away, Some(index));
            }
        }
        if let Some(index) = far.1 {
            keep[index] = true;
            pieces.extend([(first, index), (index, last)]);
        }
    }
    points.iter().zip(keep).filter_map(|(&point, keep)| keep.then_some(point)).collect()
}

fn distance(a: (f64, f64), b: (f64, f64)) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// The distance of a point from a segment, not from the infinite line, because curves turn back.
fn to_segment(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let square = dx * dx + dy * dy;
    let along = if square > 0.0 { ((point.0 - from.0) * dx + (point.1 - from.1) * dy) / square } else { 0.0 };
    let along = along.clamp(0.0, 1.0);
    distance(point, (from.0 + along * dx, from.1 + along * dy))
}

#[cfg(test)]
mod tests {
    use stepwell::rng::Stream;

    use super::*;

    #[test]
    fn only_corners_remain() {
        let stairs = [(0.0, 0.0), (0.0, 5.0), (0.0, 9.0), (3.0, 9.0), (6.0, 9.0)];
        assert_eq!(thinned(&stairs), [(0.0, 0.0), (0.0, 9.0), (6.0, 9.0)]);
        // There and back on one line.
        let spike = [(0.0, 0.0), (0.0, 9.0), (0.0, 4.0)];
        assert_eq!(thinned(&spike), spike);
        assert_eq!(thinned(&[]), []);
        assert_eq!(thinned(&[(1.0, 2.0)]), [(1.0, 2.0)]);
        assert_eq!(curve(&[(1.0, 2.0), (1.0, 2.0)]), "M1 2L1 2");
    }

    #[test]
    fn long_curves_become_short_and_stay_where_they_were() {
        let mut stream = Stream::new(4, "thin tests", [0, 0]);
        let mut at = (0.0, 0.0);
        let points: Vec<(f64, f64)> = (0..100_000)
            .map(|_| {
                if stream.uniform_in(0.0, 1.0) < 0.5 {
                    at.0 += 0.005
                } else {
                    at.1 += 0.005
                }
                at
            })
            .collect();
        let short = thinned(&points);
        assert!(short.len() <= MOST && short.len() > 2);
        for point in points.iter().step_by(97) {
            let near = short.windows(2).map(|pair| to_segment(*point, pair[0], pair[1]));
            assert!(near.fold(f64::INFINITY, f64::min) <= 2.0 * UNSEEN);
        }
    }

    #[test]
    fn wild_curves_are_short_too() {
        let points: Vec<(f64, f64)> =
            (0..5000).map(|k| (f64::from(k) * 0.05, f64::from(k % 7 * 40))).collect();
        assert!(thinned(&points).len() <= MOST);
    }
}
