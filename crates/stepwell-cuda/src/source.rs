//! The source code of the kernels, specialised for one model.

use crate::params::Params;

const DEVICE: &str = include_str!("../kernels/device.cuh");
const TILE: &str = include_str!("../kernels/tile.cuh");
const PACKS: &str = include_str!("../kernels/packs.cu");
const LARGE: &str = include_str!("../kernels/large.cu");
const GATES: &str = include_str!("../kernels/gates.cu");
const PRODUCTS: &str = include_str!("../kernels/products.cu");

/// The most graphs of a pack.
pub const MOST_GRAPHS: usize = 64;
/// Bytes of shared memory for that many graphs of a pack: `graphs_in` in `packs.cu`.
pub fn graphs_bytes(graphs: usize) -> usize {
    20 * graphs + 16
}
/// The widest rows that fit into the registers of a warp.
pub const MOST_UNITS: usize = 256;

/// Rows, and landmarks, of the products of a thread block: `SIDE` of `products.cu`.
pub const PRODUCTS_SIDE: usize = 128;
/// Bytes of shared memory for them: `DEEP` columns of both sides.
pub const PRODUCTS_SHARED: usize = 2 * 16 * (PRODUCTS_SIDE + 4) * size_of::<f32>();

/// The code that kernels write for how a run ended.
pub const BY_TOLERANCE: u32 = 1;
/// See [`BY_TOLERANCE`].
pub const BY_ROUNDING: u32 = 2;

/// A set of kernels that are compiled together.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Part {
    /// Packs of graphs.
    Packs,
    /// One large graph.
    Large,
    /// Gates of attributes.
    Gates,
    /// Products of rows with landmarks. They do not depend on the shape.
    Products,
}

/// The options that kernels are compiled for.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Shape {
    /// Columns of a row: the units, padded.
    pub width: usize,
    /// Whether entries have gates.
    pub gated: bool,
    /// Whether all rows are updated at once.
    pub jacobi: bool,
    /// Whether states keep a part of their previous value.
    pub leaky: bool,
    /// Whether states are in shared memory.
    pub shared: bool,
    /// Whether recurrent matrices are in shared memory.
    pub kept: bool,
}

impl Shape {
    /// The number of columns for that many units.
    pub fn padded(units: usize) -> usize {
        units.next_multiple_of(8)
    }

    /// The number of elements from one row of states to the next, chosen so that stores of eight
    /// rows use all banks.
    pub fn stride(&self) -> usize {
        if self.width % 16 == 8 { self.width } else { self.width + 8 }
    }

    /// The number of warps per thread block: as many as the registers allow.
    pub fn warps(&self) -> usize {
        if self.width <= 72 { 12 } else { 8 }
    }

    /// The groups of eight columns that a warp computes at a time. Small groups leave registers for
    /// loads from shared memory; loads from global memory take so long that a warp needs many at a time.
    fn at_once(&self, part: Part) -> usize {
        match (part, self.width) {
            (Part::Large, 0..105) => self.width / 8,
            (_, 0..73) => 4,
            (_, 73..105) => 5,
            _ => 8,
        }
    }

    /// The source code.
    pub fn source(&self, part: Part) -> String {
        let Self { width, gated, jacobi, leaky, shared, kept } = *self;
        let defined = [
            ("HP", width),
            ("STRIDE", self.stride()),
            ("WARPS", self.warps()),
            ("AT_ONCE", self.at_once(part)),
            ("AHEAD", (self.warps() < 12).into()),
            ("GATED", gated.into()),
            ("JACOBI", jacobi.into()),
            ("LEAKY", leaky.into()),
            ("SHARED", shared.into()),
            ("KEPT_MATRIX", kept.into()),
            ("NOT_CONVERGED", 0),
            ("BY_TOLERANCE", BY_TOLERANCE as usize),
            ("BY_ROUNDING", BY_ROUNDING as usize),
            ("SUM", 0),
            ("MEAN", 1),
            ("MAX", 2),
        ];
        let mut text: String =
            defined.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect();
        text += &Params::declaration();
        text += "#ifndef EMULATED\n";
        text += DEVICE;
        text += "#endif\n";
        if part != Part::Products {
            text += TILE;
        }
        text + match part {
            Part::Packs => PACKS,
            Part::Large => LARGE,
            Part::Gates => GATES,
            Part::Products => PRODUCTS,
        }
    }
}
