//! The names a pickle may refer to; any other is an error.

use std::fmt;

/// A name a pickle may refer to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Global {
    /// `numpy.core.multiarray._reconstruct`: an array to fill.
    Reconstruct,
    /// `numpy.core.multiarray.scalar`: one number.
    Scalar,
    /// `numpy.core.numeric._frombuffer`: an array, in protocol 5.
    FromBuffer,
    /// `numpy.ndarray`.
    Ndarray,
    /// `numpy.dtype`.
    Dtype,
    /// `_codecs.encode`: bytes written as a string, in protocol 2.
    Encode,
    /// `bytes`: empty bytes, in protocol 2.
    Bytes,
    /// A class of sparse matrices.
    Matrix(Format),
}

/// The order in which a sparse matrix stores its entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    /// Row by row.
    Csr,
    /// Column by column.
    Csc,
    /// One by one.
    Coo,
}

const CSR: Global = Global::Matrix(Format::Csr);
const CSC: Global = Global::Matrix(Format::Csc);
const COO: Global = Global::Matrix(Format::Coo);

/// Every name with its modules and spellings: NumPy 2 renamed `core` to `_core`; SciPy 1.8 made its
/// modules private and kept its first array classes in `_arrays`.
const GLOBALS: [(Global, &str, &str); 10] = [
    (Global::Reconstruct, "numpy.core.multiarray numpy._core.multiarray", "_reconstruct"),
    (Global::Scalar, "numpy.core.multiarray numpy._core.multiarray", "scalar"),
    (Global::FromBuffer, "numpy.core.numeric numpy._core.numeric", "_frombuffer"),
    (Global::Ndarray, "numpy", "ndarray"),
    (Global::Dtype, "numpy", "dtype"),
    (Global::Encode, "_codecs", "encode"),
    (Global::Bytes, "builtins __builtin__", "bytes"),
    (CSR, "scipy.sparse._csr scipy.sparse.csr scipy.sparse._arrays", "csr_matrix csr_array"),
    (CSC, "scipy.sparse._csc scipy.sparse.csc scipy.sparse._arrays", "csc_matrix csc_array"),
    (COO, "scipy.sparse._coo scipy.sparse.coo scipy.sparse._arrays", "coo_matrix coo_array"),
];

impl Global {
    pub(super) fn find(module: &str, name: &str) -> Option<Self> {
        let among = |known: &str, one: &str| known.split(' ').any(|known| known == one);
        let known = |(_, modules, names): &&(_, &str, &str)| among(modules, module) && among(names, name);
        GLOBALS.iter().find(known).map(|&(global, ..)| global)
    }
}

impl fmt::Display for Global {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, modules, names) = GLOBALS.iter().find(|(global, ..)| global == self).ok_or(fmt::Error)?;
        let first = |known: &'static str| known.split(' ').next().unwrap_or(known);
        write!(f, "{}.{}", first(modules), first(names))
    }
}
