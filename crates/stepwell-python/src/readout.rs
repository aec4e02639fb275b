//! The readout alone: vectors in, decision values or numbers out.

use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stepwell::readout::{Expansion, Readout, Sample};
use stepwell::targets::{Encoded, Labels};

use crate::model::Values;
use crate::options::{config, refused};
use crate::threads;

pub(crate) type Matrix<'py> = Bound<'py, PyArray2<f64>>;
pub(crate) type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// A trained readout.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawReadout {
    pub(crate) readout: Arc<Readout>,
    pub(crate) classes: Labels,
}

#[pymethods]
impl RawReadout {
    /// Trains on vectors.
    #[staticmethod]
    #[pyo3(signature = (options, x, targets, sample_weight=None, n_threads=1, binary=false))]
    fn fit(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        x: PyReadonlyArray2<'_, f64>,
        targets: Values<'_>,
        sample_weight: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: usize,
        binary: bool,
    ) -> PyResult<Self> {
        let (config, x, targets) = (config(options)?, x.as_array().to_owned(), targets.targets(binary));
        let weights = sample_weight.map(|weights| weights.as_array().to_vec());
        let fitted = threads::run_owned(py, n_threads, None, move |_| {
            let encoded = Encoded::new(&targets)?;
            let sample = Sample { weights: weights.as_deref(), keys: None };
            let readout = Readout::fit(x.view(), &encoded, sample, &config.readout(), config.seed)?;
            Ok((readout, encoded.classes().clone()))
        })?;
        let (readout, classes) = fitted.map_err(refused)?;
        Ok(Self { readout: Arc::new(readout), classes })
    }

    /// Predicted numbers, or decision values.
    #[pyo3(signature = (x, n_threads=1))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        n_threads: usize,
    ) -> PyResult<Matrix<'py>> {
        let (readout, x) = (self.readout.clone(), x.as_array().to_owned());
        let values = threads::run_owned(py, n_threads, None, move |_| readout.predict(x.view()))?;
        Ok(values.map_err(refused)?.into_pyarray(py))
    }

    /// The penalty of every target.
    #[getter]
    fn alphas(&self) -> Vec<f64> {
        self.readout.alphas().to_vec()
    }

    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> (Matrix<'py>, Vector<'py>) {
        coefficients(py, &self.readout)
    }

    #[getter]
    fn random_features<'py>(&self, py: Python<'py>) -> Option<(Matrix<'py>, Vector<'py>)> {
        random_features(py, &self.readout)
    }

    #[getter]
    fn landmarks<'py>(&self, py: Python<'py>) -> Option<(Vector<'py>, Vector<'py>, Matrix<'py>)> {
        landmarks(py, &self.readout)
    }
}

/// In scikit-learn's layout: a row for each target, and intercepts.
pub(crate) fn coefficients<'py>(py: Python<'py>, readout: &Readout) -> (Matrix<'py>, Vector<'py>) {
    let found = readout.coefficients();
    let weights = found.weights.t().as_standard_layout().into_owned();
    (weights.into_pyarray(py), found.intercept.clone().into_pyarray(py))
}

/// Weights and biases of random tanh units, if there are any.
pub(crate) fn random_features<'py>(py: Python<'py>, readout: &Readout) -> Option<(Matrix<'py>, Vector<'py>)> {
    let Some(Expansion::Random(found)) = readout.expansion() else { return None };
    Some((found.weights().clone().into_pyarray(py), found.bias().clone().into_pyarray(py)))
}

/// Means and scales of the vectors, and the landmarks, scaled, if there are any.
pub(crate) fn landmarks<'py>(
    py: Python<'py>,
    readout: &Readout,
) -> Option<(Vector<'py>, Vector<'py>, Matrix<'py>)> {
    let Some(Expansion::Landmarks(found)) = readout.expansion() else { return None };
    let (mean, scale) = (found.mean().clone().into_pyarray(py), found.scale().clone().into_pyarray(py));
    Some((mean, scale, found.rows().mapv(f64::from).into_pyarray(py)))
}
