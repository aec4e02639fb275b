//! Similarities of rows and landmarks: `p + exp(s (p - |x|²/2 - |c|²/2))`, where `p` is
//! the inner product of a row `x` and a landmark `c`, both in f32, and `s` is the
//! sharpness.
//!
//! Products are summed in f32 over some columns, then in f64
//! ([`matmul`](super::matmul)). So the bits of a row depend neither on the other rows
//! nor on their number.

use rayon::prelude::*;

use super::exp::exp;
use super::vector::Vector;
use super::{BLOCK, Isa, Matrix, add_product};

/// Fewest rows worth a thread.
const FEWEST: usize = 24;

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

/// Inner products to turn into similarities, and half the squared length of each row.
pub(crate) struct Finishing<'a> {
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
        let (count, landmarks, width) = (halves.len(), self.halves.len(), self.width);
        assert_eq!(rows.len(), count * width, "rows of another width");
        assert_eq!(self.landmarks.len(), landmarks * width, "landmarks of another width");
        target.clear();
        target.resize(count * landmarks, 0.0);
        if target.is_empty() {
            return;
        }
        let others = Matrix::by_row(self.landmarks, (landmarks, width), width).transposed();
        let stripe = count.div_ceil(rayon::current_num_threads()).clamp(FEWEST, BLOCK);
        target.par_chunks_mut(stripe * landmarks).enumerate().for_each(|(index, target)| {
            let own = index * stripe..index * stripe + target.len() / landmarks;
            let rows = &rows[own.start * width..own.end * width];
            let rows = Matrix::by_row(rows, (own.len(), width), width);
            add_product(target, landmarks, 1.0, rows, others);
            self.finish_rows(target, &halves[own]);
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
        self.finish_rows(products, &[half]);
    }

    fn finish_rows(self, products: &mut [f64], halves: &[f64]) {
        assert_eq!(products.len(), halves.len() * self.halves.len(), "another number of landmarks");
        if !products.is_empty() {
            let mut task = Finishing { halves, with: self, target: products };
            // SAFETY: the lengths were checked above, and an `Isa` exists only where the processor has it.
            unsafe { Isa::in_use().finish_rows(&mut task) }
        }
    }
}

/// Turns inner products into similarities.
///
/// # Safety
/// As for [`Vector`]; the slices of the task must fit each other.
#[inline(always)]
pub(super) unsafe fn finish_rows<W: Vector<Scalar = f64>>(task: &mut Finishing<'_>) {
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
