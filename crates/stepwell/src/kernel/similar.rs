//! Similarities of rows and landmarks: `p + exp(s (p - |x|²/2 - |c|²/2))`, where `p` is
//! the inner product of a row `x` and a landmark `c`, both in f32, and `s` is the
//! sharpness.
//!
//! Products are summed in vectors of f32 over [`DEPTH`] columns, then in f64. Each pair
//! has its own sums for every tile shape, so the bits of a row depend neither on the
//! other rows nor on their number.

use rayon::prelude::*;

use super::Isa;
use super::exp::exp;
use super::vector::Vector;

/// Columns summed in f32. A stripe of rows and a block of landmarks fit the
/// second-level cache.
const DEPTH: usize = 1408;
/// Landmarks compared with all rows of a stripe while they are in the cache.
const BLOCK: usize = 48;
/// Rows that one thread processes at a time.
const STRIPE: usize = 96;

/// Lanes of the widest vector.
const WIDEST: usize = 16;

/// Landmarks to compare rows with.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a> {
    /// The landmarks, stored by row.
    pub landmarks: &'a [f32],
    /// Half the squared length of each landmark.
    pub halves: &'a [f64],
    pub width: usize,
    /// The sharpness of the exponential; 1 for a Gaussian of width 1.
    pub sharpness: f64,
}

/// A comparison: whole rows of both sides, and the place for the results.
pub(crate) struct Comparing<'a> {
    rows: &'a [f32],
    halves: &'a [f64],
    with: Compared<'a>,
    target: &'a mut [f64],
}

impl Compared<'_> {
    /// Computes the similarity of every row with every landmark: rows x landmarks.
    /// `rows` are contiguous, and `halves` holds half their squared lengths.
    ///
    /// # Panics
    /// If the lengths do not match.
    #[cfg(test)]
    pub fn similarities(self, rows: &[f32], halves: &[f64]) -> Vec<f64> {
        let mut target = Vec::new();
        self.compare(rows, halves, &mut target);
        target
    }

    /// The same into `target`, whose memory is used again.
    ///
    /// # Panics
    /// If the lengths do not match.
    pub fn compare(self, rows: &[f32], halves: &[f64], target: &mut Vec<f64>) {
        let (count, landmarks) = (halves.len(), self.halves.len());
        assert_eq!(rows.len(), count * self.width, "rows of another width");
        assert_eq!(self.landmarks.len(), landmarks * self.width, "landmarks of another width");
        target.clear();
        target.resize(count * landmarks, 0.0);
        if target.is_empty() {
            return;
        }
        let isa = Isa::in_use();
        target.par_chunks_mut(STRIPE * landmarks).enumerate().for_each(|(stripe, target)| {
            let first = stripe * STRIPE;
            let end = first + target.len() / landmarks;
            let (rows, halves) = (&rows[first * self.width..end * self.width], &halves[first..end]);
            let mut task = Comparing { rows, halves, with: self, target };
            // SAFETY: the lengths were checked above, and an `Isa` exists only where the processor has it.
            unsafe { isa.compare_rows(&mut task) }
        });
    }

    /// The same for inner products that were computed elsewhere: rows x landmarks.
    ///
    /// # Panics
    /// If the lengths do not match.
    pub fn finish_all(self, products: &[f32], halves: &[f64], target: &mut Vec<f64>) {
        let landmarks = self.halves.len();
        assert_eq!(products.len(), halves.len() * landmarks, "another number of products");
        target.clear();
        target.resize(products.len(), 0.0);
        let rows = target.par_chunks_mut(landmarks.max(1)).zip(products.par_chunks(landmarks.max(1)));
        rows.zip(halves).for_each(|((target, products), &half)| {
            target.iter_mut().zip(products).for_each(|(to, &from)| *to = from.into());
            self.finish(target, half);
        });
    }

    /// Turns the inner products of a row with landmarks into similarities, in place.
    /// `half` is half the row's squared length.
    ///
    /// # Panics
    /// If the number of products differs from that of landmarks.
    pub fn finish(self, products: &mut [f64], half: f64) {
        assert_eq!(products.len(), self.halves.len(), "another number of landmarks");
        if !products.is_empty() {
            let mut task = Comparing { rows: &[], halves: &[half], with: self, target: products };
            // SAFETY: the lengths were checked above, and an `Isa` exists only where the processor has it.
            unsafe { Isa::in_use().finish_rows(&mut task) }
        }
    }
}

/// Compares rows in tiles of `R` rows and `C` landmarks.
///
/// # Safety
/// As for [`Vector`]; the slices of the task must fit each other.
#[inline(always)]
pub(super) unsafe fn rows<V, W, const R: usize, const C: usize>(task: &mut Comparing<'_>)
where
    V: Vector<Scalar = f32>,
    W: Vector<Scalar = f64>,
{
    let (count, landmarks, width) = (task.halves.len(), task.with.halves.len(), task.with.width);
    // Tiles read contiguous memory. Copying the rows once pays off, because all
    // landmarks use the copy.
    let (tiled, mut packed, mut block) = (count - count % R, Vec::new(), Vec::new());
    for from in (0..width).step_by(DEPTH) {
        let columns = (from, DEPTH.min(width - from));
        // SAFETY: the caller's promise; `columns` lie within the rows.
        unsafe { pack::<V, R>(&mut packed, &task.rows[..tiled * width], width, columns) };
        for left in (0..landmarks).step_by(BLOCK) {
            let right = landmarks.min(left + BLOCK);
            let whole = if tiled > 0 { right - (right - left) % C } else { left };
            // SAFETY: the caller's promise; rows, landmarks and columns stay below their numbers, and
            // what was packed holds whole tiles of them.
            unsafe {
                pack::<V, C>(&mut block, &task.with.landmarks[left * width..whole * width], width, columns);
                for row in (0..tiled).step_by(R) {
                    let depth = columns.1.next_multiple_of(V::LANES);
                    for landmark in (left..whole).step_by(C) {
                        let rows = packed.as_ptr().add(row * depth);
                        let others = block.as_ptr().add((landmark - left) * depth);
                        packed_tile::<V, R, C>(task, row, landmark, depth, (rows, others));
                    }
                    (whole..right).for_each(|landmark| tile::<V, R, 1>(task, row, landmark, columns));
                }
                for row in tiled..count {
                    let mut landmark = left;
                    while landmark + C <= right {
                        tile::<V, 1, C>(task, row, landmark, columns);
                        landmark += C;
                    }
                    (landmark..right).for_each(|landmark| tile::<V, 1, 1>(task, row, landmark, columns));
                }
            }
        }
    }
    // SAFETY: the caller's promise.
    unsafe { finish_rows::<W>(task) }
}

/// Copies some columns of rows, tile by tile: one vector of each of its `N` rows, then
/// the next vectors. Zeros pad the last vectors.
///
/// # Safety
/// As for [`Vector`]; the columns must exist.
#[inline(always)]
unsafe fn pack<V: Vector<Scalar = f32>, const N: usize>(
    into: &mut Vec<f32>,
    rows: &[f32],
    width: usize,
    (from, depth): (usize, usize),
) {
    let (padded, whole) = (depth.next_multiple_of(V::LANES), depth - depth % V::LANES);
    into.resize(rows.len() / width * padded, 0.0);
    for (tile, into) in rows.chunks_exact(N * width).zip(into.chunks_exact_mut(N * padded)) {
        for (r, row) in tile.chunks_exact(width).enumerate() {
            let row = &row[from..][..depth];
            for at in (0..whole).step_by(V::LANES) {
                // SAFETY: the caller's promise; the vector ends before the row does, and the tile
                // has room.
                unsafe { V::load(row.as_ptr().add(at)).store(into.as_mut_ptr().add(at * N + r * V::LANES)) }
            }
            if whole < depth {
                let last = &mut into[whole * N + r * V::LANES..][..V::LANES];
                last.fill(0.0);
                last[..depth - whole].copy_from_slice(&row[whole..]);
            }
        }
    }
}

/// Adds the inner products of packed rows and landmarks.
///
/// # Safety
/// As for [`rows`]; the pointers are to tiles of `R` and `C` rows of `depth` columns.
#[inline(always)]
unsafe fn packed_tile<V: Vector<Scalar = f32>, const R: usize, const C: usize>(
    task: &mut Comparing<'_>,
    row: usize,
    landmark: usize,
    depth: usize,
    (rows, others): (*const f32, *const f32),
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[V::splat(0.0); C]; R];
        for at in (0..depth).step_by(V::LANES) {
            step::<V, R, C>(&mut sums, rows.add(at * R), others.add(at * C), V::LANES);
        }
        add_sums(task, row, landmark, sums);
    }
}

/// Adds the inner products over some columns.
///
/// # Safety
/// As for [`rows`]; `R` rows, `C` landmarks and the columns must exist.
#[inline(always)]
unsafe fn tile<V: Vector<Scalar = f32>, const R: usize, const C: usize>(
    task: &mut Comparing<'_>,
    row: usize,
    landmark: usize,
    (from, depth): (usize, usize),
) {
    let width = task.with.width;
    // SAFETY: the caller's promise; what is left over of the columns fits a vector's buffer.
    unsafe {
        let left = task.rows.as_ptr().add(row * width + from);
        let right = task.with.landmarks.as_ptr().add(landmark * width + from);
        let mut sums = [[V::splat(0.0); C]; R];
        let whole = depth - depth % V::LANES;
        for at in (0..whole).step_by(V::LANES) {
            step::<V, R, C>(&mut sums, left.add(at), right.add(at), width);
        }
        if whole < depth {
            let mut buffers = [[0.0f32; WIDEST]; R];
            let mut others = [[0.0f32; WIDEST]; C];
            for (r, buffer) in buffers.iter_mut().enumerate() {
                std::ptr::copy_nonoverlapping(
                    left.add(r * width + whole),
                    buffer.as_mut_ptr(),
                    depth - whole,
                );
            }
            for (c, buffer) in others.iter_mut().enumerate() {
                std::ptr::copy_nonoverlapping(
                    right.add(c * width + whole),
                    buffer.as_mut_ptr(),
                    depth - whole,
                );
            }
            step::<V, R, C>(&mut sums, buffers.as_ptr().cast(), others.as_ptr().cast(), WIDEST);
        }
        add_sums(task, row, landmark, sums);
    }
}

/// Adds the sums over all lanes to the results.
///
/// # Safety
/// As for [`tile`].
#[inline(always)]
unsafe fn add_sums<V: Vector<Scalar = f32>, const R: usize, const C: usize>(
    task: &mut Comparing<'_>,
    row: usize,
    landmark: usize,
    sums: [[V; C]; R],
) {
    // SAFETY: the caller's promise.
    unsafe {
        // Go through memory, so that the sums themselves can stay in registers.
        let mut lanes = [[[0.0f32; WIDEST]; C]; R];
        for r in 0..R {
            for c in 0..C {
                sums[r][c].store(lanes[r][c].as_mut_ptr());
            }
        }
        let landmarks = task.with.halves.len();
        for (r, lanes) in lanes.iter().enumerate() {
            for (c, lanes) in lanes.iter().enumerate() {
                let target = task.target.get_unchecked_mut((row + r) * landmarks + landmark + c);
                *target += V::load(lanes.as_ptr()).sum();
            }
        }
    }
}

/// # Safety
/// As for [`tile`], for one vector of columns of rows `stride` apart.
#[inline(always)]
unsafe fn step<V: Vector<Scalar = f32>, const R: usize, const C: usize>(
    sums: &mut [[V; C]; R],
    left: *const f32,
    right: *const f32,
    stride: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut others = [V::splat(0.0); C];
        for (c, other) in others.iter_mut().enumerate() {
            *other = V::load(right.add(c * stride));
        }
        for (r, sums) in sums.iter_mut().enumerate() {
            let own = V::load(left.add(r * stride));
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = own.mul_add(other, *sum);
            }
        }
    }
}

/// Turns inner products into similarities.
///
/// # Safety
/// As for [`Vector`]; the slices of the task must fit each other.
#[inline(always)]
pub(super) unsafe fn finish_rows<W: Vector<Scalar = f64>>(task: &mut Comparing<'_>) {
    let landmarks = task.with.halves.len();
    for (values, &half) in task.target.chunks_exact_mut(landmarks).zip(task.halves) {
        // SAFETY: the caller's promise.
        unsafe { finish::<W>(values, half, &task.with) }
    }
}

/// # Safety
/// As for [`finish_rows`], for one row.
#[inline(always)]
unsafe fn finish<W: Vector<Scalar = f64>>(values: &mut [f64], half: f64, with: &Compared<'_>) {
    let (halves, sharpness) = (with.halves, with.sharpness);
    // SAFETY: the caller's promise.
    unsafe {
        let whole = values.len() - values.len() % W::LANES;
        for at in (0..whole).step_by(W::LANES) {
            bend::<W>(values.as_mut_ptr().add(at), (half, sharpness), halves.as_ptr().add(at));
        }
        let (mut rest, mut others) = ([0.0; 8], [0.0; 8]);
        let count = values.len() - whole;
        rest[..count].copy_from_slice(&values[whole..]);
        others[..count].copy_from_slice(&halves[whole..]);
        bend::<W>(rest.as_mut_ptr(), (half, sharpness), others.as_ptr());
        values[whole..].copy_from_slice(&rest[..count]);
    }
}

/// # Safety
/// As for [`finish`], for one vector.
#[inline(always)]
unsafe fn bend<W: Vector<Scalar = f64>>(product: *mut f64, (half, sharpness): (f64, f64), other: *const f64) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = W::load(product);
        let apart = value.sub(W::load(other)).sub(W::splat(half));
        value.add(exp(apart.mul(W::splat(sharpness)))).store(product);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn halves(rows: &[f32], width: usize) -> Vec<f64> {
        let half = |row: &[f32]| row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / 2.0;
        rows.chunks(width).map(half).collect()
    }

    fn random(count: usize, width: usize, seed: u64) -> Vec<f32> {
        let mut stream = Stream::new(seed, "similar", [count as u64, width as u64]);
        (0..count * width).map(|_| (stream.normal() / (width as f64).sqrt()) as f32).collect()
    }

    #[test]
    fn similarities_are_those_of_the_formula_and_a_row_alone_has_the_same() {
        for (count, landmarks, width) in [(1, 1, 1), (3, 5, 7), (70, 50, 33), (9, 101, 1100), (5, 4, 2700)] {
            let (rows, others) = (random(count, width, 1), random(landmarks, width, 2));
            let (own, of_others) = (halves(&rows, width), halves(&others, width));
            let compared = Compared { landmarks: &others, halves: &of_others, width, sharpness: 1.0 };
            let found = compared.similarities(&rows, &own);
            for (i, row) in rows.chunks(width).enumerate() {
                let alone = compared.similarities(row, &own[i..=i]);
                assert_eq!(alone, found[i * landmarks..(i + 1) * landmarks]);
                for (j, other) in others.chunks(width).enumerate() {
                    let product: f64 =
                        row.iter().zip(other).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
                    let expected = product + (product - own[i] - of_others[j]).min(0.0).exp();
                    let error = (found[i * landmarks + j] - expected).abs();
                    assert!(
                        error < 1e-6 * (1.0 + own[i] + of_others[j]),
                        "{count} {landmarks} {width}: {error}"
                    );
                }
            }
        }
        assert!(
            Compared { landmarks: &[], halves: &[], width: 3, sharpness: 1.0 }
                .similarities(&[0.0; 6], &[0.0; 2])
                .is_empty()
        );
    }

    #[test]
    #[ignore = "times only"]
    fn time() {
        let (count, landmarks, width) = (1024, 2000, 2700);
        let (rows, others) = (random(count, width, 1), random(landmarks, width, 2));
        let (own, of_others) = (halves(&rows, width), halves(&others, width));
        let compared = Compared { landmarks: &others, halves: &of_others, width, sharpness: 1.0 };
        for _ in 0..3 {
            let start = std::time::Instant::now();
            let found = compared.similarities(&rows, &own);
            let seconds = start.elapsed().as_secs_f64();
            let flops = 2.0 * (count * landmarks * width) as f64;
            println!("{seconds:.3} s, {:.1} GFLOP/s {}", flops / seconds / 1e9, found[7]);
        }
        let start = std::time::Instant::now();
        let found = compared.similarities(&rows[..width], &own[..1]);
        println!("one row {:.3} ms {}", start.elapsed().as_secs_f64() * 1e3, found[7]);
    }
}
