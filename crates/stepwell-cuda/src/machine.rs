//! The operations that the engine needs from a GPU: memory, copies and launches.

use std::fmt::Debug;

use bytemuck::Pod;

use crate::params::Params;
use crate::source::{Part, Shape};

/// An error message.
pub type Trouble = String;

/// The resources of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub processors: usize,
    /// Bytes of shared memory per thread block.
    pub shared: usize,
    /// A graph with more rows that does not fit into shared memory is shared by all
    /// multiprocessors.
    pub large_rows: usize,
    /// The number of parts into which its rows are divided for sums, a multiple of 8.
    pub shares: usize,
    /// Landmarks of fewer numbers are compared on the processor.
    pub fewest_products: usize,
}

/// A kernel and its number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub shape: Shape,
    pub part: Part,
    pub kernel: &'static str,
    pub blocks: usize,
    pub threads: usize,
    /// Bytes of shared memory.
    pub shared: usize,
}

/// A GPU, or its replacement in tests. Addresses come from [`reserve`](Self::reserve); kernels run
/// in launch order, and copies wait for them.
pub trait Machine: Debug + Send + Sync {
    fn name(&self) -> String;
    fn limits(&self) -> Limits;
    fn reserve(&self, bytes: usize) -> Result<u64, Trouble>;
    fn release(&self, address: u64, bytes: usize);
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Trouble>;
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Trouble>;
    fn clear(&self, address: u64, bytes: usize) -> Result<(), Trouble>;
    fn launch(&self, launch: Launch, params: &Params) -> Result<(), Trouble>;
    /// Waits for all launches.
    fn finish(&self) -> Result<(), Trouble>;
}

/// Memory of a machine, freed when dropped.
#[derive(Debug)]
pub struct Buffer<'m> {
    machine: &'m dyn Machine,
    address: u64,
    bytes: usize,
}

impl<'m> Buffer<'m> {
    /// Uninitialised memory of that many bytes.
    pub fn room(machine: &'m dyn Machine, bytes: usize) -> Result<Self, Trouble> {
        let bytes = bytes.max(16);
        Ok(Self { machine, address: machine.reserve(bytes)?, bytes })
    }

    /// Memory of that many zero bytes.
    pub fn zeros(machine: &'m dyn Machine, bytes: usize) -> Result<Self, Trouble> {
        let buffer = Self::room(machine, bytes)?;
        buffer.clear()?;
        Ok(buffer)
    }

    /// A copy of a list.
    pub fn copy<T: Pod>(machine: &'m dyn Machine, list: &[T]) -> Result<Self, Trouble> {
        let bytes: &[u8] = bytemuck::cast_slice(list);
        let buffer = Self::room(machine, bytes.len())?;
        machine.write(buffer.address, bytes)?;
        Ok(buffer)
    }

    /// Sets all bytes to zero.
    pub fn clear(&self) -> Result<(), Trouble> {
        self.machine.clear(self.address, self.bytes)
    }

    /// Copies the start of the buffer.
    pub fn read<T: Pod>(&self, list: &mut [T]) -> Result<(), Trouble> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(list);
        assert!(bytes.len() <= self.bytes, "more than was reserved");
        self.machine.read(self.address, bytes)
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address and the number of bytes. The memory stays reserved until someone else releases it.
    pub fn keep(self) -> (u64, usize) {
        let kept = (self.address, self.bytes);
        std::mem::forget(self);
        kept
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        self.machine.release(self.address, self.bytes);
    }
}
