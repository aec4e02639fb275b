//! Mark shapes, which distinguish series where colours do not.

use std::fmt::Write;

use crate::picture::svg::Number;

/// The number of shapes.
pub(super) const SHAPES: usize = 6;

/// Adds a mark around a point to a path.
pub(super) fn add_mark(path: &mut String, shape: usize, (x, y): (f64, f64), radius: f64) {
    let r = radius;
    // The start of the outline, and the rest of it.
    let (dx, dy, rest) = match shape % SHAPES {
        0 => {
            let (r, d) = (Number(r), Number(2.0 * r));
            (-radius, 0.0, format!("a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z"))
        }
        1 => {
            let side = Number(1.8 * r);
            (-0.9 * r, -0.9 * r, format!("h{side}v{side}h-{side}z"))
        }
        2 => {
            let (half, high, wide) = (Number(1.12 * r), Number(2.0 * r), Number(2.24 * r));
            (0.0, -1.15 * r, format!("l{half} {high}h-{wide}z"))
        }
        3 => {
            let d = Number(1.25 * r);
            (0.0, -1.25 * r, format!("l{d} {d}l-{d} {d}l-{d} -{d}z"))
        }
        4 => {
            let (half, high, wide) = (Number(1.12 * r), Number(2.0 * r), Number(2.24 * r));
            (-1.12 * r, -0.85 * r, format!("h{wide}l-{half} {high}z"))
        }
        _ => {
            let (a, b) = (Number(0.75 * r), Number(0.7 * r));
            (-0.35 * r, -1.1 * r, format!("h{b}v{a}h{a}v{b}h-{a}v{a}h-{b}v-{a}h-{a}v-{b}h{a}z"))
        }
    };
    // Writing to a string cannot fail.
    let _ = write!(path, "M{} {}{rest}", Number(x + dx), Number(y + dy));
}

/// The outline of one mark.
pub(super) fn mark(shape: usize, at: (f64, f64), radius: f64) -> String {
    let mut path = String::new();
    add_mark(&mut path, shape, at, radius);
    path
}
