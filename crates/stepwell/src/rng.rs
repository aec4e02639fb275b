//! Named streams of random numbers: the only source of randomness.
//!
//! A seed, a purpose and two indices identify a stream, and nothing else does. So the
//! draws of one stream never shift those of another, however the work is batched,
//! ordered or spread over threads.
//!
//! ```
//! use stepwell::rng::Stream;
//! let mut a = Stream::new(7, "example", [0, 1]);
//! let mut b = Stream::new(7, "example", [0, 1]);
//! assert_eq!(a.uniform(), b.uniform());
//! assert!(Stream::new(7, "example", [0, 2]).uniform() != b.uniform());
//! ```

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// One stream: ChaCha with eight rounds, keyed by seed, purpose and indices.
#[derive(Clone, Debug)]
pub struct Stream {
    generator: Generator,
    spare_normal: Option<f64>,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "the small one is rare")]
enum Generator {
    ChaCha(ChaCha8Rng),
    /// Knuth's linear congruence modulo 2⁶⁴.
    Congruence(u64),
}

impl Stream {
    /// The stream of `seed` for a `purpose`, for instance
    /// `("weights", [stack, block])`.
    pub fn new(seed: u64, purpose: &str, indices: [u64; 2]) -> Self {
        let mut key = [0u8; 32];
        let words = [seed, fnv1a(purpose), indices[0], indices[1]];
        for (slot, word) in key.chunks_exact_mut(8).zip(words) {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        Self { generator: Generator::ChaCha(ChaCha8Rng::from_seed(key)), spare_normal: None }
    }

    /// The stream that chooses between eigenvectors of the same eigenvalue. It is
    /// always the same. On symmetric graphs, its numbers determine which vertices NDP
    /// keeps, and so every published result of NDP: they must not change.
    pub(crate) fn of_ties() -> Self {
        Self { generator: Generator::Congruence(0), spare_normal: None }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        match &mut self.generator {
            Generator::ChaCha(generator) => generator.next_u64(),
            Generator::Congruence(state) => {
                *state =
                    state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *state
            }
        }
    }

    /// Uniform in `[0, 1)`, 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `[low, high)`.
    pub fn uniform_in(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Standard normal, by the polar method.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let u = self.uniform_in(-1.0, 1.0);
            let v = self.uniform_in(-1.0, 1.0);
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                let factor = (-2.0 * s.ln() / s).sqrt();
                self.spare_normal = Some(v * factor);
                return u * factor;
            }
        }
    }

    /// Uniform among `0..bound`, without bias. 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        if bound == 0 {
            return 0;
        }
        // Lemire's multiplication: reject the few low halves that would favour some values.
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as usize;
            }
        }
    }

    /// Shuffles `items` (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A random order of `0..n`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }
}

fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_distribution() {
        let mut stream = Stream::new(1, "moments", [0, 0]);
        let n = 200_000;
        let (mut sum, mut squares, mut uniform) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let z = stream.normal();
            sum += z;
            squares += z * z;
            uniform += stream.uniform();
        }
        let n = f64::from(n);
        assert!((sum / n).abs() < 0.01, "mean {}", sum / n);
        assert!((squares / n - 1.0).abs() < 0.02, "variance {}", squares / n);
        assert!((uniform / n - 0.5).abs() < 0.01);
    }

    #[test]
    fn below_reaches_every_value_about_equally() {
        let mut stream = Stream::new(2, "below", [0, 0]);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7)] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
        assert_eq!(stream.below(0), 0);
    }

    #[test]
    fn a_permutation_holds_every_position_once() {
        let mut order = Stream::new(3, "order", [0, 0]).permutation(50);
        assert_ne!(order, (0..50).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn every_part_of_the_name_matters() {
        let first = |seed, purpose: &str, indices| Stream::new(seed, purpose, indices).bits();
        let base = first(0, "a", [0, 0]);
        for other in
            [first(1, "a", [0, 0]), first(0, "b", [0, 0]), first(0, "a", [1, 0]), first(0, "a", [0, 1])]
        {
            assert_ne!(base, other);
        }
    }
}
