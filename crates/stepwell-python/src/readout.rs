//! The readout: vectors in, classes or numbers out.

use std::sync::Arc;

use numpy::ndarray::{Array1, Array2};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stepwell::readout::{
    self, AlphaErrors, Coefficients, Expansion, Landmarks, LeaveOneOut, Moments, RandomFeatures, Readout,
    RidgePath, Targets, Task,
};

use crate::reservoir::{parse, refused};
use crate::threads;

type Matrix<'py> = Bound<'py, PyArray2<f64>>;
type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// A row of coefficients for each target, intercepts, alpha, and what stands in
/// front: random features (weights and biases), or landmarks (means, scales and
/// the landmarks themselves).
type Trained<'py> = (
    Matrix<'py>,
    Vector<'py>,
    f64,
    Option<(Matrix<'py>, Vector<'py>)>,
    Option<(Vector<'py>, Vector<'py>, Matrix<'py>)>,
);

/// Weights and biases of random features, from Python.
pub(crate) type RandomParts<'py> = (PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>);

/// Means, scales and landmarks, from Python.
pub(crate) type LandmarkParts<'py> =
    (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray2<'py, f64>);

/// Numbers that Python cannot change meanwhile.
fn rows(array: &PyReadonlyArray2<'_, f64>) -> Array2<f64> {
    array.as_array().to_owned()
}

fn list(array: &PyReadonlyArray1<'_, f64>) -> Vec<f64> {
    array.as_array().to_vec()
}

/// Trains on vectors and the classes they belong to, counted from 0.
#[pyfunction]
#[pyo3(signature = (options, x, classes, num_classes, weights, n_threads))]
pub fn fit_classes<'py>(
    py: Python<'py>,
    options: &str,
    x: PyReadonlyArray2<'_, f64>,
    classes: PyReadonlyArray1<'_, i64>,
    num_classes: usize,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    n_threads: usize,
) -> PyResult<Trained<'py>> {
    let config = parse(options)?;
    let (x, weights) = (rows(&x), weights.as_ref().map(list));
    // A class below 0 becomes one too large, and is refused as such.
    let classes: Vec<usize> = classes.as_array().iter().map(|&class| class as usize).collect();
    let readout = threads::run_owned(py, n_threads, None, move |_| {
        let targets = Targets::Classes { classes: &classes, num_classes };
        Readout::fit(x.view(), targets, weights.as_deref(), &config.readout(), config.seed)
    })?;
    Ok(trained(py, &readout.map_err(refused)?))
}

/// Trains on vectors and numbers.
#[pyfunction]
#[pyo3(signature = (options, x, y, weights, n_threads))]
pub fn fit_values<'py>(
    py: Python<'py>,
    options: &str,
    x: PyReadonlyArray2<'_, f64>,
    y: PyReadonlyArray2<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    n_threads: usize,
) -> PyResult<Trained<'py>> {
    let config = parse(options)?;
    let (x, y, weights) = (rows(&x), rows(&y), weights.as_ref().map(list));
    let readout = threads::run_owned(py, n_threads, None, move |_| {
        Readout::fit(x.view(), Targets::Values(y.view()), weights.as_deref(), &config.readout(), config.seed)
    })?;
    Ok(trained(py, &readout.map_err(refused)?))
}

fn trained<'py>(py: Python<'py>, readout: &Readout) -> Trained<'py> {
    let (weights, intercept) = arrays(py, readout.coefficients());
    let (mut random, mut landmarks) = (None, None);
    match readout.expansion() {
        None => {}
        Some(Expansion::Random(found)) => {
            random = Some((found.weights().clone().into_pyarray(py), found.bias().clone().into_pyarray(py)));
        }
        Some(Expansion::Landmarks(found)) => {
            let (mean, scale) =
                (found.mean().clone().into_pyarray(py), found.scale().clone().into_pyarray(py));
            landmarks = Some((mean, scale, found.rows().clone().into_pyarray(py)));
        }
    }
    (weights, intercept, readout.alpha(), random, landmarks)
}

/// As scikit-learn has them: a row for each target.
fn arrays<'py>(py: Python<'py>, coefficients: &Coefficients) -> (Matrix<'py>, Vector<'py>) {
    let weights = coefficients.weights.t().as_standard_layout().into_owned();
    (weights.into_pyarray(py), coefficients.intercept.clone().into_pyarray(py))
}

/// What trained coefficients make of vectors: numbers, or decision values.
#[pyfunction]
#[pyo3(signature = (x, coefficients, intercept, random_features, landmarks, n_threads))]
pub fn read_out<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'_, f64>,
    coefficients: PyReadonlyArray2<'_, f64>,
    intercept: PyReadonlyArray1<'_, f64>,
    random_features: Option<RandomParts<'_>>,
    landmarks: Option<LandmarkParts<'_>>,
    n_threads: usize,
) -> PyResult<Matrix<'py>> {
    let x = rows(&x);
    let task = Task::Regression { targets: intercept.as_array().len() };
    let readout = readout(task, &coefficients, &intercept, random_features, landmarks)?;
    let values = threads::run_owned(py, n_threads, None, move |_| readout.predict(x.view()))?;
    Ok(values.map_err(refused)?.into_pyarray(py))
}

/// A readout from the arrays that scikit-learn's kind of model has.
pub(crate) fn readout(
    task: Task,
    coefficients: &PyReadonlyArray2<'_, f64>,
    intercept: &PyReadonlyArray1<'_, f64>,
    random_features: Option<RandomParts<'_>>,
    landmarks: Option<LandmarkParts<'_>>,
) -> PyResult<Readout> {
    let weights = coefficients.as_array().t().to_owned();
    let coefficients = Coefficients { weights, intercept: Array1::from(list(intercept)) };
    let expansion = match (random_features, landmarks) {
        (None, None) => None,
        (Some((weights, bias)), _) => {
            let units = RandomFeatures::from_parts(rows(&weights), Array1::from(list(&bias)));
            Some(Expansion::Random(units.map_err(refused)?))
        }
        (None, Some((mean, scale, points))) => {
            let (mean, scale) = (Array1::from(list(&mean)), Array1::from(list(&scale)));
            Some(Expansion::Landmarks(Landmarks::from_parts(mean, scale, rows(&points)).map_err(refused)?))
        }
    };
    Readout::from_parts(task, 0.0, expansion, coefficients).map_err(refused)
}

/// The class that each row of decision values stands for.
#[pyfunction]
pub fn decode_classes<'py>(
    py: Python<'py>,
    decisions: PyReadonlyArray2<'_, f64>,
) -> Bound<'py, PyArray1<i64>> {
    let classes = readout::decode_classes(decisions.as_array());
    classes.into_iter().map(|class| class as i64).collect::<Vec<_>>().into_pyarray(py)
}

/// The alphas that options leave to choose from.
#[pyfunction]
pub fn readout_alphas(options: &str) -> PyResult<Vec<f64>> {
    Ok(parse(options)?.readout().alpha.candidates().to_vec())
}

/// The targets of rows of classes, counted from 0.
#[pyfunction]
pub fn encode_classes<'py>(
    py: Python<'py>,
    classes: PyReadonlyArray1<'_, i64>,
    num_classes: usize,
) -> PyResult<Matrix<'py>> {
    let classes: Vec<usize> = classes.as_array().iter().map(|&class| class as usize).collect();
    Ok(readout::encode_classes(&classes, num_classes).map_err(refused)?.into_pyarray(py))
}

/// What random tanh units with given weights and biases make of vectors.
#[pyfunction]
pub fn random_tanh<'py>(
    py: Python<'py>,
    x: PyReadonlyArray2<'_, f64>,
    weights: PyReadonlyArray2<'_, f64>,
    bias: PyReadonlyArray1<'_, f64>,
) -> PyResult<Matrix<'py>> {
    let units = RandomFeatures::from_parts(rows(&weights), Array1::from(list(&bias))).map_err(refused)?;
    Ok(units.apply(x.as_array()).map_err(refused)?.into_pyarray(py))
}

/// Sufficient statistics of rows, which can be gathered in pieces, sent around
/// and merged.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawMoments(Moments);

/// Rows, weight, means of inputs and targets, `Sxx`, `Sxy`, and the diagonal of `Syy`.
type RawScatter<'py> = (u64, f64, Vector<'py>, Vector<'py>, Matrix<'py>, Matrix<'py>, Vector<'py>);

#[pymethods]
impl RawMoments {
    #[new]
    fn new(inputs: usize, targets: usize) -> PyResult<Self> {
        Ok(Self(Moments::new(inputs, targets).map_err(refused)?))
    }

    /// Takes rows in.
    #[pyo3(signature = (x, y, weights=None, n_threads=1))]
    fn observe(
        &mut self,
        py: Python<'_>,
        x: PyReadonlyArray2<'_, f64>,
        y: PyReadonlyArray2<'_, f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: usize,
    ) -> PyResult<()> {
        let (x, y, weights) = (rows(&x), rows(&y), weights.as_ref().map(list));
        let moments = &mut self.0;
        threads::run(py, n_threads, |_| moments.observe(x.view(), y.view(), weights.as_deref()))?
            .map_err(refused)
    }

    /// Adds the moments of other rows.
    #[pyo3(signature = (other, n_threads=1))]
    fn merge(&mut self, py: Python<'_>, other: PyRef<'_, Self>, n_threads: usize) -> PyResult<()> {
        let (moments, other) = (&mut self.0, &other.0);
        threads::run(py, n_threads, |_| moments.merge(other))?.map_err(refused)
    }

    fn scatter<'py>(&self, py: Python<'py>) -> PyResult<RawScatter<'py>> {
        let scatter = threads::run(py, 1, |_| self.0.scatter())?;
        let (x_mean, y_mean) = (scatter.x_mean.into_pyarray(py), scatter.y_mean.into_pyarray(py));
        let (xx, xy, yy) =
            (scatter.xx.into_pyarray(py), scatter.xy.into_pyarray(py), scatter.yy.into_pyarray(py));
        Ok((scatter.rows, scatter.weight, x_mean, y_mean, xx, xy, yy))
    }

    /// Ridge regression on these rows for one alpha: coefficients and intercepts.
    #[pyo3(signature = (alpha, standardize=false))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        alpha: f64,
        standardize: bool,
    ) -> PyResult<(Matrix<'py>, Vector<'py>)> {
        let found = threads::run(py, 1, |_| Coefficients::of_moments(&self.0, alpha, standardize))?;
        Ok(arrays(py, &found.map_err(refused)?))
    }

    /// Weights and biases of random tanh units for inputs like these.
    fn draw_units<'py>(&self, py: Python<'py>, units: usize, seed: u64) -> (Matrix<'py>, Vector<'py>) {
        let drawn = RandomFeatures::draw(units, &self.0.scatter(), seed);
        (drawn.weights().clone().into_pyarray(py), drawn.bias().clone().into_pyarray(py))
    }

    /// Ridge regression on these rows, for every alpha.
    #[pyo3(signature = (standardize=false, n_threads=1))]
    fn path(&self, py: Python<'_>, standardize: bool, n_threads: usize) -> PyResult<RawRidgePath> {
        let path = threads::run(py, n_threads, |_| RidgePath::new(&self.0, standardize))?;
        Ok(RawRidgePath(Arc::new(path.map_err(refused)?)))
    }

    fn __getnewargs__(&self) -> (usize, usize) {
        (self.0.num_inputs(), self.0.num_targets())
    }

    fn __getstate__(&self) -> PyResult<String> {
        to_json(&self.0)
    }

    fn __setstate__(&mut self, state: &str) -> PyResult<()> {
        self.0 = from_json(state)?;
        Ok(())
    }
}

/// Ridge regression on some rows, for every alpha.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawRidgePath(Arc<RidgePath>);

#[pymethods]
impl RawRidgePath {
    /// Coefficients and intercepts for one alpha.
    fn solve<'py>(&self, py: Python<'py>, alpha: f64) -> PyResult<(Matrix<'py>, Vector<'py>)> {
        let coefficients = threads::run(py, 1, |_| self.0.solve(alpha))?.map_err(refused)?;
        Ok(arrays(py, &coefficients))
    }

    /// The leave-one-out errors of several alphas on rows the path was made of.
    #[pyo3(signature = (alphas, x, y, weights=None, n_threads=1))]
    fn leave_one_out(
        &self,
        py: Python<'_>,
        alphas: Vec<f64>,
        x: PyReadonlyArray2<'_, f64>,
        y: PyReadonlyArray2<'_, f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: usize,
    ) -> PyResult<RawAlphaErrors> {
        let (x, y, weights) = (rows(&x), rows(&y), weights.as_ref().map(list));
        let path = self.0.clone();
        let errors = threads::run_owned(py, n_threads, None, move |_| {
            let mut errors = LeaveOneOut::new(&path, &alphas)?;
            errors.observe(x.view(), y.view(), weights.as_deref())?;
            Ok(errors.finish())
        })?;
        Ok(RawAlphaErrors(errors.map_err(refused)?))
    }
}

/// Leave-one-out errors of several alphas; those of different rows merge.
#[pyclass(module = "stepwell._stepwell")]
pub struct RawAlphaErrors(AlphaErrors);

#[pymethods]
impl RawAlphaErrors {
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        Ok(Self(from_json(text)?))
    }

    fn merge(&mut self, other: PyRef<'_, Self>) -> PyResult<()> {
        self.0.merge(&other.0).map_err(refused)
    }

    /// Mean squared errors, one per alpha.
    fn means(&self) -> Vec<f64> {
        self.0.means()
    }

    /// The alpha of the smallest error.
    fn best(&self) -> f64 {
        self.0.best()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().getattr("from_json")?, (to_json(&self.0)?,)))
    }
}

pub(crate) fn to_json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
