//! Mean and standard deviation that do not depend on the order of the numbers, to the bit.
//!
//! A double is an integer times a power of two. So the sum of doubles, and the sum of their
//! squares, are each stored as one long integer, without rounding. Sums of the same numbers are
//! therefore the same, however the numbers are split into pieces and machines, and in whatever
//! order the pieces are merged. Rounding happens once, at the end.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Limbs of 32 bits below the binary point: the square of the smallest double is 2⁻²¹⁴⁸.
const FRACTION: usize = 68;

/// Limbs above the binary point: 2⁶⁴ squares of the largest double sum to less than 2²¹¹².
const WHOLE: usize = 67;

const LIMBS: usize = FRACTION + WHOLE;

/// Number of additions after which carries are propagated. Each adds less than 2³³ to a limb.
const PATIENCE: u32 = 1 << 28;

/// An exact sum of integer multiples of powers of two.
#[derive(Clone, Debug)]
struct Total {
    /// Signed limbs in base 2³²; the first one has the unit 2^(-32·FRACTION). A limb may exceed 32
    /// bits until [`settle`](Self::settle) propagates the carries.
    limbs: Vec<i64>,
    unsettled: u32,
}

impl Default for Total {
    fn default() -> Self {
        Self { limbs: vec![0; LIMBS], unsettled: 0 }
    }
}

impl Total {
    /// Adds `±mantissa·2^exponent`, a double or a square of one.
    fn add(&mut self, negative: bool, mantissa: u128, exponent: i32) {
        let shift = (exponent + 32 * FRACTION as i32).max(0) as usize;
        let (first, bit) = (shift / 32, shift % 32);
        self.add_half(negative, (mantissa as u64, bit), first);
        let high = (mantissa >> 64) as u64;
        if high > 0 {
            self.add_half(negative, (high, bit), first + 2);
        }
        self.unsettled += 1;
        if self.unsettled >= PATIENCE {
            self.settle();
        }
    }

    /// Adds `±half·2^bit` to the limbs from `first` on. Does not branch on the sign, which a
    /// processor cannot predict.
    #[inline]
    fn add_half(&mut self, negative: bool, (half, bit): (u64, usize), first: usize) {
        let parts = u128::from(half) << bit;
        let sign = -i64::from(negative);
        if let Some([low, middle, high]) = self.limbs.get_mut(first..first + 3) {
            *low += (i64::from(parts as u32) ^ sign) - sign;
            *middle += (i64::from((parts >> 32) as u32) ^ sign) - sign;
            *high += ((parts >> 64) as i64 ^ sign) - sign;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.settle();
        let mut other = other.clone();
        other.settle();
        self.limbs.iter_mut().zip(&other.limbs).for_each(|(mine, theirs)| *mine += theirs);
        self.settle();
    }

    /// Propagates carries, so that all limbs but the last have 32 bits. Equal sums then have equal
    /// limbs.
    fn settle(&mut self) {
        let mut carry = 0;
        let last = self.limbs.len() - 1;
        for (at, limb) in self.limbs.iter_mut().enumerate() {
            let full = *limb + carry;
            carry = full >> 32;
            *limb = if at == last { full } else { full & 0xffff_ffff };
        }
        self.unsettled = 0;
    }

    /// The sign (true if negative) and the modulus as an integer multiple of 2^(-32·FRACTION).
    fn magnitude(&self) -> (bool, Vec<u32>) {
        let mut settled = self.clone();
        settled.settle();
        let negative = settled.limbs.last().is_some_and(|&limb| limb < 0);
        if negative {
            settled.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            settled.settle();
        }
        (negative, trimmed(settled.limbs.iter().map(|&limb| limb as u32).collect()))
    }
}

/// The count, the sum and the sum of squares of some numbers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(try_from = "Packed", into = "Packed")]
pub(crate) struct Spread {
    count: u64,
    sum: Total,
    squares: Total,
    /// Whether some number was infinite or NaN; then there is no mean.
    unbounded: bool,
}

impl Spread {
    pub fn add(&mut self, x: f64) {
        self.count += 1;
        if !x.is_finite() {
            self.unbounded = true;
            return;
        }
        let bits = x.to_bits();
        let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let mantissa = u128::from(if biased == 0 { fraction } else { fraction | 1 << 52 });
        if mantissa > 0 {
            let exponent = biased.max(1) - 1075;
            self.sum.add(x < 0.0, mantissa, exponent);
            self.squares.add(false, mantissa * mantissa, 2 * exponent);
        }
    }

    /// Adds `times` zeros.
    pub fn add_zeros(&mut self, times: u64) {
        self.count = self.count.saturating_add(times);
    }

    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
        self.unbounded |= other.unbounded;
    }

    /// The mean and the divisor of a column. The divisor is `f64::MAX` for a constant column, so
    /// that the scaled column vanishes. `None` if the standard deviation overflows.
    pub fn mean_and_scale(&self) -> Option<(f64, f64)> {
        let (mean, deviation) = self.mean_and_deviation();
        // A deviation this small is the rounding error of a constant column.
        let constant = deviation <= 10.0 * f64::EPSILON * mean.abs();
        let scale = if constant { f64::MAX } else { deviation };
        (mean.is_finite() && deviation.is_finite()).then_some((mean, scale))
    }

    /// The number of values added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean and standard deviation (ddof 0); NaN if there are no numbers or some are not finite.
    pub fn mean_and_deviation(&self) -> (f64, f64) {
        if self.unbounded || self.count == 0 {
            return (f64::NAN, f64::NAN);
        }
        let count = self.count as f64;
        let (negative, sum) = self.sum.magnitude();
        let (leading, exponent) = leading(&sum);
        let mean = scaled(leading / count, exponent - 32 * FRACTION as i32);
        // n Σx² - (Σx)², which is never negative.
        let (_, squares) = self.squares.magnitude();
        let mut apart = vec![0; FRACTION];
        apart.extend(product(&squares, &[self.count as u32, (self.count >> 32) as u32]));
        subtract(&mut apart, &product(&sum, &sum));
        let (leading, exponent) = self::leading(&apart);
        let odd = exponent.rem_euclid(2);
        let root = (leading * f64::from(1 + odd)).sqrt() / count;
        let deviation = scaled(root, (exponent - odd) / 2 - 32 * FRACTION as i32);
        (if negative { -mean } else { mean }, deviation)
    }
}

fn trimmed(mut limbs: Vec<u32>) -> Vec<u32> {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

/// The product. Sums of doubles end with many zero limbs, which it skips.
fn product(a: &[u32], b: &[u32]) -> Vec<u32> {
    let zeros = |limbs: &[u32]| limbs.iter().take_while(|&&limb| limb == 0).count();
    let (below_a, below_b) = (zeros(a), zeros(b));
    let mut result = vec![0u32; a.len() + b.len()];
    for (i, &x) in a[below_a..].iter().enumerate() {
        let mut carry = 0;
        let limbs = &mut result[below_a + below_b + i..];
        for (limb, &y) in limbs.iter_mut().zip(b[below_b..].iter().chain([&0])) {
            let full = u64::from(*limb) + u64::from(x) * u64::from(y) + carry;
            *limb = full as u32;
            carry = full >> 32;
        }
    }
    trimmed(result)
}

/// Subtracts `b` from `a`, which must not be smaller.
fn subtract(a: &mut [u32], b: &[u32]) {
    let mut borrow = 0;
    for (limb, &less) in a.iter_mut().zip(b.iter().chain(std::iter::repeat(&0))) {
        let full = i64::from(*limb) - i64::from(less) - borrow;
        *limb = full as u32;
        borrow = i64::from(full < 0);
    }
}

/// The number formed by the leading limbs, rounded to a double, and the power of two to multiply it
/// by.
fn leading(limbs: &[u32]) -> (f64, i32) {
    let Some(top) = limbs.iter().rposition(|&limb| limb != 0) else { return (0.0, 0) };
    let at = |back: usize| top.checked_sub(back).map_or(0, |at| limbs[at]);
    let wide = u128::from(at(0)) << 64 | u128::from(at(1)) << 32 | u128::from(at(2));
    // A nonzero remainder sets the lowest bit, so that rounding to a double is correct.
    let below = limbs[..top.saturating_sub(2)].iter().any(|&limb| limb != 0);
    ((wide | u128::from(below)) as f64, 32 * (top as i32 - 2))
}

/// `x·2^exponent`, in steps that neither overflow nor underflow before the result does.
fn scaled(mut x: f64, mut exponent: i32) -> f64 {
    while exponent != 0 {
        let step = exponent.clamp(-1000, 1000);
        x *= 2f64.powi(step);
        exponent -= step;
    }
    x
}

/// The serialised form: without zero limbs.
#[derive(Deserialize, Serialize)]
struct Packed {
    count: u64,
    unbounded: bool,
    sum: (usize, Vec<i64>),
    squares: (usize, Vec<i64>),
}

impl From<Spread> for Packed {
    fn from(spread: Spread) -> Self {
        let pack = |mut total: Total| {
            total.settle();
            let first = total.limbs.iter().position(|&limb| limb != 0).unwrap_or(0);
            let end = total.limbs.iter().rposition(|&limb| limb != 0).map_or(first, |last| last + 1);
            (first, total.limbs[first..end].to_vec())
        };
        let Spread { count, sum, squares, unbounded } = spread;
        Self { count, unbounded, sum: pack(sum), squares: pack(squares) }
    }
}

impl TryFrom<Packed> for Spread {
    type Error = Error;

    fn try_from(packed: Packed) -> Result<Self> {
        let unpack = |(first, limbs): (usize, Vec<i64>)| {
            let mut total = Total::default();
            let room = total.limbs.len().saturating_sub(first);
            if limbs.len() > room || limbs.iter().any(|limb| limb.unsigned_abs() >> 32 > 1) {
                return Err(Error::Length { what: "limbs of a sum", expected: room, found: limbs.len() });
            }
            total.limbs.iter_mut().skip(first).zip(limbs).for_each(|(limb, value)| *limb = value);
            Ok(total)
        };
        let Packed { count, unbounded, sum, squares } = packed;
        Ok(Self { count, unbounded, sum: unpack(sum)?, squares: unpack(squares)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn spread(numbers: &[f64]) -> Spread {
        let mut spread = Spread::default();
        numbers.iter().for_each(|&x| spread.add(x));
        spread
    }

    /// Mean and deviation of integer multiples of `unit`, computed with integers.
    fn by_definition(numbers: &[i64], unit: f64) -> (f64, f64) {
        let n = numbers.len() as i128;
        let sum: i128 = numbers.iter().map(|&x| i128::from(x)).sum();
        let squares: i128 = numbers.iter().map(|&x| i128::from(x) * i128::from(x)).sum();
        let count = numbers.len() as f64;
        (sum as f64 / count * unit, ((n * squares - sum * sum) as f64).sqrt() / count * unit)
    }

    #[test]
    fn moments_are_those_of_whole_numbers() {
        let mut stream = Stream::new(1, "exact sums", [0, 0]);
        for exponent in [-1074, -1022, -300, -40, 0, 40, 960] {
            let unit = scaled(1.0, exponent);
            let numbers: Vec<i64> = (0..200).map(|_| (stream.uniform() * 2e9 - 1e9) as i64).collect();
            let floats: Vec<f64> = numbers.iter().map(|&x| x as f64 * unit).collect();
            let found = spread(&floats).mean_and_deviation();
            let expected = by_definition(&numbers, unit);
            for (found, expected) in [(found.0, expected.0), (found.1, expected.1)] {
                let error = (found - expected).abs();
                assert!(error <= 4.0 * f64::EPSILON * expected.abs() || error <= unit, "{found} {expected}");
            }
        }
    }

    #[test]
    fn order_and_pieces_change_no_bit() {
        let mut stream = Stream::new(2, "exact sums", [0, 0]);
        let mut numbers: Vec<f64> = (0..300)
            .map(|_| (stream.uniform() - 0.4) * scaled(1.0, (stream.uniform() * 600.0) as i32 - 300))
            .collect();
        let whole = spread(&numbers).mean_and_deviation();
        numbers.reverse();
        numbers.rotate_left(100);
        let mut merged = Spread::default();
        for piece in numbers.chunks(37) {
            let text = serde_json::to_string(&spread(piece)).unwrap();
            merged.merge(&serde_json::from_str(&text).unwrap());
        }
        assert_eq!(merged.mean_and_deviation(), whole);
    }

    #[test]
    fn edges_of_the_range() {
        assert_eq!(spread(&[0.1; 77]).mean_and_deviation(), (0.1, 0.0), "nothing is lost on the way");
        assert_eq!(spread(&[f64::MAX, -f64::MAX]).mean_and_deviation(), (0.0, f64::MAX));
        assert_eq!(spread(&[5e-324, -5e-324]).mean_and_deviation(), (0.0, 5e-324));
        assert_eq!(spread(&[-3.0, -5.0, 0.0, 0.0]).mean_and_deviation(), (-2.0, 4.5f64.sqrt()));
        assert!(spread(&[]).mean_and_deviation().0.is_nan());
        assert!(spread(&[1.0, f64::INFINITY]).mean_and_deviation().1.is_nan());
        let far = "{\"count\":1,\"unbounded\":false,\"sum\":[140,[1]],\"squares\":[0,[]]}";
        assert!(serde_json::from_str::<Spread>(far).is_err());
    }
}
