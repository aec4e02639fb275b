//! The Python binding: a thin layer without logic.
//!
//! The package that users import is written in Python (`python/stepwell/`). This crate
//! passes arrays between Python and Rust and turns errors into exceptions.

mod arrow;
mod batch;
mod cluster;
mod dataset;
mod graph;
mod model;
mod molecules;
mod options;
mod picture;
mod pool;
mod readout;
mod threads;

use std::ffi::OsString;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymodule]
mod _stepwell {
    use super::*;

    #[pymodule_export]
    use super::arrow::{RawRows, arrow_dataset};
    #[pymodule_export]
    use super::batch::RawBatch;
    #[pymodule_export]
    use super::cluster::{RawCensus, RawDraw, RawFeatureFit, RawGathered, RawReadoutFit};
    #[pymodule_export]
    use super::dataset::{RawDataset, load_dataset, make_benchmark, save_dataset};
    #[pymodule_export]
    use super::graph::RawGraph;
    #[pymodule_export]
    use super::model::{RawModel, RawPrepared, decoded};
    #[pymodule_export]
    use super::options::{DirectionsDiffer, check_options, option_table, preset_options};
    #[pymodule_export]
    use super::picture::{RawPicture, plot_embedding, plot_explanation, plot_predictions, plot_pyramid};
    #[pymodule_export]
    use super::pool::{check_pooling, coarsen, kron_reduce, maxcut, nmf_factors, pooling_names};

    #[pymodule_export]
    use super::readout::RawReadout;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let chosen = stepwell_cli::use_chosen_instructions();
        let chosen = chosen.and_then(|()| stepwell_cli::use_memory(None));
        chosen.map_err(|error| PyValueError::new_err(format!("{error:#}")))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Returns the instruction set that computes reservoirs.
    ///
    /// It is the fastest one of the processor, unless the environment variable
    /// ``STEPWELL_ISA`` named another one when the package was imported.
    ///
    /// Returns
    /// -------
    /// str
    ///     ``"avx512"``, ``"avx2"`` or ``"portable"``.
    #[pyfunction]
    fn instruction_set() -> &'static str {
        stepwell::instruction_set()
    }

    /// Returns the memory budget of this process, in bytes.
    ///
    /// Work that needs more raises a ``MemoryError`` that reports how much it needs. The
    /// budget is four fifths of the memory that was free when the package was imported,
    /// unless the environment variable ``STEPWELL_MEMORY`` named a size (``"4G"``,
    /// ``"512M"``).
    ///
    /// Returns
    /// -------
    /// int
    #[pyfunction]
    fn memory_budget() -> u64 {
        stepwell_data::memory::Budget::in_force().0
    }

    /// Runs the command line and returns its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| stepwell_cli::run_with_molecules(arguments, Box::new(molecules::Rdkit)))
    }
}
