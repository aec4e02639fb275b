//! Matrices in the order in which lanes of a warp read them.
//!
//! Tensor cores multiply 16 x 8 by 8 x 8 numbers. Of the matrix on the right, lane
//! `4g + t` holds column g of rows t and t + 4. Which rows these are is free, as long as
//! the factor on the left has its columns in the same order; `tile.cuh` gathers four
//! neighbouring ones at a time, so lane t takes rows `16q + 4t` to `16q + 4t + 3`.

use ndarray::Array2;

/// The row that lane t reads first (`second` = 0) or second (1) of the k-th eight rows.
fn row(width: usize, k: usize, t: usize, second: usize) -> usize {
    let quads = width / 16;
    if k < 2 * quads { 16 * (k / 2) + 4 * t + 2 * (k % 2) + second } else { 16 * quads + 2 * t + second }
}

/// Appends a matrix, padded with zeros to `width` x `width`: for every eight rows, eight
/// columns and lane two numbers.
pub fn push(fragments: &mut Vec<f32>, matrix: &Array2<f64>, width: usize) {
    let value = |row, column| matrix.get((row, column)).map_or(0.0, |&value| value as f32);
    for k in 0..width / 8 {
        for n in 0..width / 8 {
            for lane in 0..32 {
                let (g, t) = (lane / 4, lane % 4);
                fragments.extend([0, 1].map(|second| value(row(width, k, t, second), 8 * n + g)));
            }
        }
    }
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
    fn every_number_of_a_matrix_is_there_once() {
        for width in [8, 16, 24, 56, 104] {
            let units = width - 5;
            let matrix = Array2::from_shape_fn((units, units), |(r, c)| (1 + r * units + c) as f64);
            let mut fragments = Vec::new();
            push(&mut fragments, &matrix, width);
            assert_eq!(fragments.len(), width * width);
            let mut found: Vec<usize> = fragments.iter().map(|&x| x as usize).filter(|&x| x > 0).collect();
            found.sort_unstable();
            assert_eq!(found, (1..=units * units).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_lane_reads_neighbouring_rows() {
        let rows = |k| [0, 1].map(|second| row(56, k, 1, second));
        assert_eq!((rows(0), rows(1), rows(2), rows(6)), ([4, 5], [6, 7], [20, 21], [50, 51]));
    }
}
