//! npz.
