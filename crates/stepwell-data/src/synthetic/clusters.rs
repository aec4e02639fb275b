//! The three shapes of the benchmark: two moons, a split Gaussian, a blob.
//!
//! The shapes follow scikit-learn's `make_moons`, `make_gaussian_quantiles` and `make_blobs`, from
//! which the published sets were drawn. Together they have five colours. The number of points of
//! each colour depends only on the number of points, so colours alone say nothing about a graph's
//! class.

use std::f64::consts::PI;

use stepwell::rng::Stream;

/// The number of colours of the three shapes together.
pub(super) const COLOURS: usize = 5;

/// Standard deviation of the points around the two arcs.
const MOON_NOISE: f64 = 0.1;

/// A point of the plane and its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub at: [f64; 2],
    pub colour: u8,
}

/// Two interleaved half circles, colours 0 and 1; `centre` is the centre of the first.
pub(super) fn moons(count: usize, centre: [f64; 2], stream: &mut Stream) -> Vec<Point> {
    let outer = count / 2;
    let angle = |position: usize, of: usize| PI * position as f64 / (of.max(2) - 1) as f64;
    let upper = (0..outer).map(|i| {
        let angle = angle(i, outer);
        Point { at: [angle.cos(), angle.sin()], colour: 0 }
    });
    let lower = (0..count - outer).map(|i| {
        let angle = angle(i, count - outer);
        Point { at: [1.0 - angle.cos(), 0.5 - angle.sin()], colour: 1 }
    });
    let mut points: Vec<Point> = upper.chain(lower).collect();
    stream.shuffle(&mut points);
    for point in &mut points {
        let [x, y] = around(centre, MOON_NOISE, stream);
        point.at = [point.at[0] + x, point.at[1] + y];
    }
    points
}

/// A Gaussian of variance `variance`: the half of its points nearest to the
/// centre has colour 2, the rest colour 3.
pub(super) fn gaussian_quantiles(
    count: usize,
    centre: [f64; 2],
    variance: f64,
    stream: &mut Stream,
) -> Vec<Point> {
    let deviation = variance.sqrt();
    let mut points: Vec<Point> =
        (0..count).map(|_| Point { at: around(centre, deviation, stream), colour: 2 }).collect();
    points.sort_by(|a, b| squared_distance(a.at, centre).total_cmp(&squared_distance(b.at, centre)));
    points.iter_mut().skip(count / 2).for_each(|point| point.colour = 3);
    stream.shuffle(&mut points);
    points
}

/// A Gaussian of one colour, 4.
pub(super) fn blob(count: usize, centre: [f64; 2], deviation: f64, stream: &mut Stream) -> Vec<Point> {
    (0..count).map(|_| Point { at: around(centre, deviation, stream), colour: 4 }).collect()
}

pub(super) fn squared_distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    let [dx, dy] = [a[0] - b[0], a[1] - b[1]];
    dx * dx + dy * dy
}

fn around(centre: [f64; 2], deviation: f64, stream: &mut Stream) -> [f64; 2] {
    centre.map(|c| c + deviation * stream.normal())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 40_001;

    fn stream() -> Stream {
        Stream::new(0, "clusters", [0, 0])
    }

    /// Mean and variance of each coordinate over the points of one colour.
    fn moments(points: &[Point], colour: u8) -> ([f64; 2], [f64; 2]) {
        let chosen: Vec<[f64; 2]> = points.iter().filter(|p| p.colour == colour).map(|p| p.at).collect();
        let mean =
            |f: &dyn Fn([f64; 2]) -> f64| chosen.iter().map(|&p| f(p)).sum::<f64>() / chosen.len() as f64;
        let means = [mean(&|p| p[0]), mean(&|p| p[1])];
        (means, [0, 1].map(|axis| mean(&|p| (p[axis] - means[axis]).powi(2))))
    }

    fn close(found: [f64; 2], expected: [f64; 2]) {
        assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 0.02), "{found:?} {expected:?}");
    }

    #[test]
    fn moons_are_two_noisy_half_circles() {
        let points = moons(COUNT, [4.0, -1.0], &mut stream());
        // For a half circle: E cos = 0, E cos² = 1/2, E sin = 2/π, E sin² = 1/2.
        let variances = [0.5 + 0.01, 0.5 - 4.0 / (PI * PI) + 0.01];
        let (means, spread) = moments(&points, 0);
        close(means, [4.0, -1.0 + 2.0 / PI]);
        close(spread, variances);
        let (means, spread) = moments(&points, 1);
        close(means, [5.0, -0.5 - 2.0 / PI]);
        close(spread, variances);
        // To first order the noise across the arc is the distance from the unit circle.
        let across = points.iter().map(|p| {
            let centre = if p.colour == 0 { [4.0, -1.0] } else { [5.0, -0.5] };
            (squared_distance(p.at, centre).sqrt() - 1.0).powi(2)
        });
        let variance = across.sum::<f64>() / COUNT as f64;
        assert!((variance / 0.01 - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn quantiles_split_a_gaussian_at_its_median_radius() {
        let centre = [2.0, -2.0];
        let points = gaussian_quantiles(COUNT, centre, 0.4, &mut stream());
        let radii = |colour: u8| {
            points.iter().filter(move |p| p.colour == colour).map(|p| squared_distance(p.at, centre))
        };
        let (inner, outer) = (radii(2).fold(0.0, f64::max), radii(3).fold(f64::INFINITY, f64::min));
        assert!(inner <= outer);
        // The squared radius over the variance is exponential with mean 2: median 2 ln 2, mean 2.
        assert!((inner / 0.4 - 2.0 * 2f64.ln()).abs() < 0.05, "{inner}");
        let mean = (radii(2).sum::<f64>() + radii(3).sum::<f64>()) / COUNT as f64;
        assert!((mean / 0.4 - 2.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn a_blob_has_its_deviation() {
        let points = blob(COUNT, [0.0, 3.0], 0.4, &mut stream());
        let (means, spread) = moments(&points, 4);
        close(means, [0.0, 3.0]);
        close(spread, [0.16, 0.16]);
    }

    #[test]
    fn colours_are_halves_the_second_one_the_larger() {
        for count in [2, 3, 13, 66] {
            let mut points = moons(count, [0.0; 2], &mut stream());
            points.extend(gaussian_quantiles(count, [0.0; 2], 1.0, &mut stream()));
            points.extend(blob(count, [0.0; 2], 1.0, &mut stream()));
            let counts = [0, 1, 2, 3, 4].map(|colour| points.iter().filter(|p| p.colour == colour).count());
            let half = count / 2;
            assert_eq!(counts, [half, count - half, half, count - half, count]);
            assert!(points.iter().all(|p| p.at.iter().all(|c| c.is_finite())));
        }
    }
}
