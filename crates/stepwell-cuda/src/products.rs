//! Inner products of rows with landmarks.
//!
//! A readout compares every row with the same landmarks, so landmarks stay on the GPU for the
//! next rows. A copy in main memory shows whether the landmarks are the same.

use rayon::prelude::*;

use crate::machine::{Buffer, Launch, Machine, Trouble};
use crate::params::Params;
use crate::source::{PRODUCTS_SHARED, PRODUCTS_SIDE, Part, Shape};

/// Rows that are copied and multiplied at a time.
const ROWS: usize = 1 << 13;
/// The number of readouts whose landmarks stay on the GPU: evaluations train several at a time.
const MOST_KEPT: usize = 8;
/// Numbers that a thread compares at a time.
const COMPARED: usize = 1 << 18;

/// Landmarks on a GPU, those used last at the end. They are released by [`clear`](Self::clear).
#[derive(Debug, Default)]
pub struct Kept(Vec<Landmarks>);

#[derive(Debug)]
struct Landmarks {
    numbers: Vec<f32>,
    address: u64,
}

impl Landmarks {
    fn bytes(&self) -> usize {
        size_of_val(&*self.numbers).max(16)
    }

    fn are(&self, numbers: &[f32]) -> bool {
        let same = |(a, b): (&[f32], &[f32])| {
            a.iter().zip(b).fold(true, |same, (a, b)| same & (a.to_bits() == b.to_bits()))
        };
        self.numbers.len() == numbers.len()
            && self.numbers.par_chunks(COMPARED).zip(numbers.par_chunks(COMPARED)).all(same)
    }
}

impl Kept {
    /// Where landmarks are on the GPU; copies them if necessary.
    fn find(&mut self, machine: &dyn Machine, numbers: &[f32]) -> Result<u64, Trouble> {
        if let Some(at) = self.0.iter().rposition(|kept| kept.are(numbers)) {
            let found = self.0.remove(at);
            let address = found.address;
            self.0.push(found);
            return Ok(address);
        }
        if self.0.len() >= MOST_KEPT {
            let oldest = self.0.remove(0);
            machine.release(oldest.address, oldest.bytes());
        }
        let (address, bytes) = Buffer::copy(machine, numbers)?.keep();
        self.0.push(Landmarks { numbers: numbers.to_vec(), address });
        debug_assert_eq!(self.0.last().map(Landmarks::bytes), Some(bytes));
        Ok(address)
    }

    /// Releases all memory.
    pub fn clear(&mut self, machine: &dyn Machine) {
        self.0.drain(..).for_each(|kept| machine.release(kept.address, kept.bytes()));
    }

    /// The products of rows and landmarks, both stored by row: rows x landmarks.
    pub fn multiply(
        &mut self,
        machine: &dyn Machine,
        rows: &[f32],
        landmarks: &[f32],
        width: usize,
    ) -> Result<Vec<f32>, Trouble> {
        let others = landmarks.len() / width;
        let right = self.find(machine, landmarks)?;
        let mut found = vec![0.0f32; rows.len() / width * others];
        for (rows, found) in rows.chunks(ROWS * width).zip(found.chunks_mut(ROWS * others)) {
            let count = rows.len() / width;
            let left = Buffer::copy(machine, rows)?;
            let products = Buffer::room(machine, size_of_val(found))?;
            let params = Params {
                left: left.address(),
                num_left: count as i64,
                right,
                num_right: others as i64,
                depth: width as i64,
                products: products.address(),
                ..Params::default()
            };
            let tiles = count.div_ceil(PRODUCTS_SIDE) * others.div_ceil(PRODUCTS_SIDE);
            let launch = Launch {
                shape: Shape::default(),
                part: Part::Products,
                kernel: "multiply_rows",
                blocks: tiles.min(1 << 16),
                threads: 256,
                shared: PRODUCTS_SHARED,
            };
            machine.launch(launch, &params)?;
            products.read(found)?;
        }
        Ok(found)
    }
}
