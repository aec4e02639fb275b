//! The Python binding: thin, and without logic of its own.
//!
//! What a user imports is written in Python (`python/stepwell/`); this crate
//! hands arrays back and forth and turns errors into exceptions.

mod arrow;
mod batch;
mod cluster;
mod dataset;
mod graph;
mod model;
mod options;
mod picture;
mod pool;
mod readout;
mod threads;

use std::ffi::OsString;

use pyo3::prelude::*;

#[pymodule]
mod _stepwell {
    use super::*;

    #[pymodule_export]
    use super::arrow::{RawRows, arrow_dataset};
    #[pymodule_export]
    use super::batch::RawBatch;
    #[pymodule_export]
    use super::cluster::{RawFeatureFit, RawGathered, RawReadoutFit};
    #[pymodule_export]
    use super::dataset::{RawDataset, load_dataset, make_benchmark, save_dataset};
    #[pymodule_export]
    use super::graph::RawGraph;
    #[pymodule_export]
    use super::model::{RawModel, decoded};
    #[pymodule_export]
    use super::options::{check_options, option_table, preset_options};
    #[pymodule_export]
    use super::picture::{RawPicture, plot_embedding, plot_explanation, plot_pyramid};
    #[pymodule_export]
    use super::pool::{check_pooling, coarsen, kron_reduce, maxcut, nmf_factors, pooling_names};

    #[pymodule_export]
    use super::readout::RawReadout;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Runs the command line and returns its exit code.
    #[pyfunction]
    fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| stepwell_cli::run(arguments))
    }
}
