//! Feature maps fitted in pieces, wherever the pieces are.

use pyo3::prelude::*;
use stepwell::features::{FeatureFit, FeatureOptions};

use crate::batch::RawBatch;
use crate::readout::{from_json, to_json};
use crate::reservoir::{parse, refused};

/// A feature map in the making, which can be sent around and merged.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawFeatureFit(FeatureFit);

#[pymethods]
impl RawFeatureFit {
    /// `raw`: whether attributes are meant to be taken as they are.
    #[new]
    fn new(options: &str, raw: bool) -> PyResult<Self> {
        let usual = FeatureOptions { raw, ..FeatureOptions::default() };
        Ok(Self(FeatureFit::new(&parse(options)?.features(&usual))))
    }

    /// Takes graphs into account, as [`RawBatch::fit_features`] does.
    fn observe(&mut self, graphs: &RawBatch) -> PyResult<()> {
        self.0.observe(&graphs.rest().0).map_err(refused)
    }

    /// Adds what was seen of other graphs.
    fn merge(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        self.0.merge(&other.0).map_err(refused)
    }

    /// The map, as JSON.
    fn finish(&self) -> PyResult<String> {
        to_json(&self.0.clone().finish())
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(from_json(text)?))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (to_json(&self.0)?,)))
    }
}
