//! Matrices in the order in which the lanes of a warp read them, as 16-bit numbers.
//!
//! Tensor cores multiply 16 x 16 by 16 x 8 matrices. Of the right matrix, lane `4g + t` holds
//! column g of rows 2t, 2t + 1, 2t + 8 and 2t + 9. The assignment of rows is arbitrary, as long as
//! the columns of the left factor have the same order. `tile.cuh` gathers four adjacent columns at
//! a time, so lane t takes rows `16q + 4t` to `16q + 4t + 3`; of the last eight rows, if the width
//! is not a multiple of 16, it takes two.
//!
//! A single-precision number is the sum of two such numbers, except for its last bit or two. A
//! power of two scales the largest element of a matrix to about 2^12, so that the smaller part is
//! in range, too.

use ndarray::Array2;

/// The 16-bit float (1, 5 and 10 bits) nearest to a number below 65,520.
fn half(x: f32) -> u16 {
    debug_assert!(x.abs() < 65_520.0, "{x} is beyond the range of 16-bit floats");
    let sign = (x.to_bits() >> 16 & 0x8000) as u16;
    let bits = x.abs().to_bits();
    if x.abs() < 6.103_515_6e-5 {
        // Multiples of 2^-24.
        return sign | (x.abs() * (1u32 << 24) as f32).round_ties_even() as u16;
    }
    let rounded = bits + 0xfff + (bits >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

/// The value of a 16-bit float.
fn value(half: u16) -> f32 {
    let size = match half & 0x7fff {
        small @ ..0x400 => f32::from(small) / (1u32 << 24) as f32,
        bits => f32::from_bits((u32::from(bits) << 13) + (112 << 23)),
    };
    if half & 0x8000 == 0 { size } else { -size }
}

/// Splits a number into two 16-bit floats.
fn split(x: f64) -> [u16; 2] {
    let high = half(x as f32);
    [high, half((x - f64::from(value(high))) as f32)]
}

/// The largest element of a matrix that [`push`] accepts, and the smallest such element.
pub const LARGEST: f64 = (1u64 << 24) as f64;
pub const SMALLEST: f64 = 1.0 / (1u64 << 48) as f64;

/// The largest element of a matrix, by modulus.
pub fn size(matrix: &Array2<f64>) -> f64 {
    matrix.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// The power of two that scales a size to at most 2^`exponent`, but above half of that. It is
/// limited to 2^-115 and 2^60. The scale of a matrix is between 2^-12 and 2^60, because its size is
/// between [`SMALLEST`] and [`LARGEST`]. So the product of the inverses of both stays in the range
/// of f32.
pub fn scale(size: f64, exponent: i32) -> f64 {
    if size > 0.0 && size.is_finite() {
        2f64.powi((exponent - size.log2().ceil() as i32).clamp(-115, 60))
    } else {
        1.0
    }
}

/// Appends a matrix, padded with zeros to `width` x `width`: for every sixteen rows, eight columns
/// and lane, four pairs of numbers, of which two are the larger parts; half of that for the last
/// eight rows. Returns the factor for products with the matrix, whose size must be 0 or between
/// [`SMALLEST`] and [`LARGEST`].
pub fn push(fragments: &mut Vec<u32>, matrix: &Array2<f64>, width: usize) -> f32 {
    let scale = scale(size(matrix), 12);
    let at = |row, column| split(matrix.get((row, column)).map_or(0.0, |x| x * scale));
    let quads = width / 16;
    for k in 0..width.div_ceil(16) {
        for n in 0..width / 8 {
            for lane in 0..32 {
                let (column, t) = (8 * n + lane / 4, lane % 4);
                let rows: &[usize] =
                    if k < quads { &[16 * k + 4 * t, 16 * k + 4 * t + 2] } else { &[16 * k + 2 * t] };
                for part in 0..2 {
                    let pair = |&row: &usize| [0, 1].map(|next| u32::from(at(row + next, column)[part]));
                    fragments.extend(rows.iter().map(pair).map(|[first, second]| first | second << 16));
                }
            }
        }
    }
    (1.0 / scale) as f32
}

/// Appends the rows of a matrix, padded with zeros to `width` columns.
pub fn push_rows<'a>(
    rows: &mut Vec<f32>,
    matrix: impl IntoIterator<Item = ndarray::ArrayView1<'a, f64>>,
    width: usize,
) {
    for row in matrix {
        rows.extend(row.iter().map(|&value| value as f32));
        rows.extend(std::iter::repeat_n(0.0, width - row.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_16_bits_are_those_of_the_standard() {
        let known = [
            (0.0, 0),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (6.103_515_6e-5, 0x400),
            (5.960_464_5e-8, 1),
            (1.000_976_6, 0x3c01),
            (1.0 / 3.0, 0x3555),
            // Halfway: rounded to even.
            (1.000_488_3, 0x3c00),
            (1.001_464_8, 0x3c02),
        ];
        for (x, bits) in known {
            assert_eq!(half(x), bits, "{x}");
        }
        for bits in (0..0x7c00).chain(0x8000..0xfc00) {
            assert_eq!(half(value(bits)), bits);
        }
    }

    #[test]
    fn the_two_parts_of_every_number_of_a_matrix_are_there_once() {
        for width in [8, 16, 24, 56, 104] {
            let units = width - 5;
            let matrix = Array2::from_shape_fn((units, units), |(r, c)| (1 + r * units + c) as f64 / 7e3);
            let mut fragments = Vec::new();
            let unit = push(&mut fragments, &matrix, width);
            assert_eq!(fragments.len(), width * width);
            let mut found = vec![0.0; units * units];
            let quads = width / 16;
            for (at, &pair) in fragments.iter().enumerate() {
                let tail = at >= quads * (width / 8) * 128;
                let at = if tail { at - quads * (width / 8) * 128 } else { at };
                let per_lane = if tail { 2 } else { 4 };
                let (lane, n, k) =
                    (at / per_lane % 32, at / per_lane / 32 % (width / 8), at / per_lane / 32 / (width / 8));
                let which = at % per_lane % (per_lane / 2);
                let row =
                    if tail { 16 * quads + 2 * (lane % 4) } else { 16 * k + 4 * (lane % 4) + 2 * which };
                let column = 8 * n + lane / 4;
                for (next, half) in [pair as u16, (pair >> 16) as u16].into_iter().enumerate() {
                    match row + next < units && column < units {
                        true => found[(row + next) * units + column] += f64::from(value(half) * unit),
                        false => assert_eq!(half, 0),
                    }
                }
            }
            for (x, y) in matrix.iter().zip(&found) {
                assert!((x - y).abs() <= x * 2f64.powi(-22), "{x} {y}");
            }
        }
    }

    #[test]
    fn a_scale_is_a_power_of_two() {
        assert_eq!((scale(1.0, 12), scale(0.9, 12), scale(1.1, 12)), (4096.0, 4096.0, 2048.0));
        assert_eq!((scale(0.0, 12), scale(f64::INFINITY, 12)), (1.0, 1.0));
    }

    #[test]
    fn factors_of_products_stay_in_the_range_of_f32() {
        let factor = |matrix: f64, row: f64| (1.0 / scale(matrix, 12)) as f32 * (1.0 / scale(row, 11) as f32);
        for matrix in [SMALLEST, 1.0, LARGEST] {
            for row in [f64::from(f32::MIN_POSITIVE), 1e-20, 1.0, 1e20, f64::from(f32::MAX)] {
                assert!(factor(matrix, row).is_normal(), "{matrix} {row}");
            }
        }
        for size in [SMALLEST, LARGEST] {
            let scaled = size * scale(size, 12);
            assert!(scaled > 2048.0 && scaled <= 4096.0, "{size} {scaled}");
        }
    }
}
