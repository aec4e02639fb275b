//! Random starts. Seed and level identify their stream, not the graph. So every graph
//! starts with the same numbers, and these are cached.

use std::cell::RefCell;

use crate::rng::Stream;

/// Cached numbers of one stream, and streams per thread: at most 8 MiB.
const KEPT_NUMBERS: usize = 1 << 16;
const KEPT_STREAMS: usize = 16;

/// Indices of a stream, the stream, and the numbers drawn from it so far.
type Drawn = ((u64, [u64; 2]), Stream, Vec<f64>);

thread_local! {
    static DRAWN: RefCell<Vec<Drawn>> = const { RefCell::new(Vec::new()) };
}

/// The first `count` absolute values of standard normal numbers of a stream, times
/// `scale`. `which` selects the stream of one of the two factors.
pub fn half_normals(seed: u64, level: u64, which: u64, count: usize, scale: f64) -> Vec<f64> {
    let key = (seed, [level, which]);
    DRAWN.with_borrow_mut(|drawn| {
        let at = drawn.iter().position(|(of, ..)| *of == key).unwrap_or_else(|| {
            drawn.truncate(KEPT_STREAMS - 1);
            drawn.insert(0, (key, Stream::new(seed, "nmf start", key.1), Vec::new()));
            0
        });
        let (_, stream, kept) = &mut drawn[at];
        while kept.len() < count.min(KEPT_NUMBERS) {
            kept.push(stream.normal().abs());
        }
        let mut values = Vec::with_capacity(count);
        values.extend(kept.iter().take(count).map(|value| scale * value));
        if count > KEPT_NUMBERS {
            let mut stream = stream.clone();
            values.extend((KEPT_NUMBERS..count).map(|_| scale * stream.normal().abs()));
        }
        values
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_before_does_not_matter() {
        let fresh = |count: usize| {
            let mut stream = Stream::new(5, "nmf start", [1, 0]);
            (0..count).map(|_| 0.5 * stream.normal().abs()).collect::<Vec<f64>>()
        };
        for count in [3, 40, 7, KEPT_NUMBERS + 9, KEPT_NUMBERS - 1, KEPT_NUMBERS + 5] {
            assert_eq!(half_normals(5, 1, 0, count, 0.5), fresh(count), "{count}");
            (0..20).for_each(|level| assert!(half_normals(count as u64, level, 1, 2, 1.0) != fresh(2)));
        }
    }
}
