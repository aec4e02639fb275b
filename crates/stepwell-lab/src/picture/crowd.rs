//! Points that repel each other, with distant points treated as one (Barnes and Hut).

/// A square of the plane with the points in it.
#[derive(Clone, Copy, Debug)]
struct Square {
    /// The mean of its points.
    centre: [f64; 2],
    count: f64,
    width: f64,
    /// The range of its points.
    points: (u32, u32),
    /// The square after all that lie inside this one.
    next: u32,
    is_leaf: bool,
}

/// Nested squares in depth-first order.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    squares: Vec<Square>,
    /// The points, with those of a square adjacent.
    points: Vec<[f64; 2]>,
}

/// A square with at most this many points is not divided.
const FEW: usize = 8;

/// The deepest nesting of squares; points at the same position cannot be separated.
const DEPTH: usize = 32;

/// A square is treated as one point if its width is below this fraction of its distance.
const FAR: f64 = 0.9;

impl Crowds {
    /// Replaces the points.
    pub fn gather(&mut self, points: &[[f64; 2]]) {
        self.squares.clear();
        self.points.clear();
        self.points.extend_from_slice(points);
        let (low, high) = super::layout::bounds(points);
        let width = (high[0] - low[0]).max(high[1] - low[1]);
        self.divide(0, points.len(), low, width, 0);
    }

    fn divide(&mut self, first: usize, end: usize, low: [f64; 2], width: f64, depth: usize) {
        if first == end {
            return;
        }
        let count = (end - first) as f64;
        let points = &mut self.points[first..end];
        let mean = |axis: usize| points.iter().map(|point| point[axis]).sum::<f64>() / count;
        let is_leaf = end - first <= FEW || depth == DEPTH;
        let place = self.squares.len();
        self.squares.push(Square {
            centre: [mean(0), mean(1)],
            count,
            width,
            points: (first as u32, end as u32),
            next: 0,
            is_leaf,
        });
        if !is_leaf {
            let half = width / 2.0;
            let middle = [low[0] + half, low[1] + half];
            let below = parted(points, |point| point[1] < middle[1]);
            let left_below = parted(&mut points[..below], |point| point[0] < middle[0]);
            let left_above = below + parted(&mut points[below..], |point| point[0] < middle[0]);
            let cuts = [0, left_below, below, left_above, end - first].map(|cut| first + cut);
            for quarter in 0..4 {
                let corner = [
                    if quarter % 2 == 0 { low[0] } else { middle[0] },
                    if quarter < 2 { low[1] } else { middle[1] },
                ];
                self.divide(cuts[quarter], cuts[quarter + 1], corner, half, depth + 1);
            }
        }
        self.squares[place].next = self.squares.len() as u32;
    }

    /// The force on a point: each other point contributes 1 over its distance.
    pub fn push(&self, point: [f64; 2]) -> [f64; 2] {
        let mut sum = [0.0; 2];
        let mut add = |from: [f64; 2], count: f64| {
            let (dx, dy) = (point[0] - from[0], point[1] - from[1]);
            let square = dx * dx + dy * dy;
            // A point does not repel itself or points at exactly the same position.
            if square > 0.0 {
                let push = count / square.max(1e-4);
                sum = [sum[0] + push * dx, sum[1] + push * dy];
            }
        };
        let mut at = 0;
        while let Some(square) = self.squares.get(at) {
            let (dx, dy) = (point[0] - square.centre[0], point[1] - square.centre[1]);
            if square.is_leaf {
                let (first, end) = square.points;
                self.points[first as usize..end as usize].iter().for_each(|&other| add(other, 1.0));
            } else if square.width * square.width < FAR * FAR * (dx * dx + dy * dy) {
                add(square.centre, square.count);
            } else {
                at += 1;
                continue;
            }
            at = square.next as usize;
        }
        sum
    }
}

/// Moves the points that pass to the front, in their order. Returns how many there are.
fn parted(points: &mut [[f64; 2]], pass: impl Fn(&[f64; 2]) -> bool) -> usize {
    let mut front = 0;
    for index in 0..points.len() {
        if pass(&points[index]) {
            points.swap(front, index);
            front += 1;
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use stepwell::rng::Stream;

    use super::*;

    #[test]
    fn crowds_push_about_as_all_points_do() {
        let mut stream = Stream::new(3, "crowd tests", [0, 0]);
        let points: Vec<[f64; 2]> = (0..700).map(|_| [stream.normal() * 9.0, stream.normal()]).collect();
        let mut crowds = Crowds::default();
        crowds.gather(&points);
        for &point in &points[..60] {
            let mut exact = [0.0; 2];
            for other in points.iter().filter(|other| **other != point) {
                let (dx, dy) = (point[0] - other[0], point[1] - other[1]);
                let square = (dx * dx + dy * dy).max(1e-4);
                exact = [exact[0] + dx / square, exact[1] + dy / square];
            }
            let found = crowds.push(point);
            let size = |v: [f64; 2]| (v[0] * v[0] + v[1] * v[1]).sqrt();
            assert!(size([found[0] - exact[0], found[1] - exact[1]]) < 0.05 * size(exact) + 2.0);
        }
    }

    #[test]
    fn points_at_one_place_or_none_are_no_trouble() {
        let mut crowds = Crowds::default();
        crowds.gather(&[]);
        assert_eq!(crowds.push([0.0, 0.0]), [0.0, 0.0]);
        crowds.gather(&[[1.0, 2.0]; 50]);
        assert_eq!(crowds.push([1.0, 2.0]), [0.0, 0.0]);
        assert!(crowds.push([2.0, 2.0])[0] > 0.0);
    }
}
