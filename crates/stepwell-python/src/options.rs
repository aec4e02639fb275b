//! Options as dictionaries, and conversion of values between serde and Python.

use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use stepwell::Error;
use stepwell::config::{ModelConfig, Preset, options};

/// The JSON value of a Python object. NumPy's numbers and arrays are converted by `tolist`.
pub(crate) fn json(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if value.cast::<PyInt>().is_ok() {
        return match value.extract::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => Ok(value.extract::<u64>().map_or_else(|_| value.to_string().into(), Value::from)),
        };
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let finite = Number::from_f64(number.value());
        return Ok(finite.map_or_else(|| number.value().to_string().into(), Value::Number));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_cow()?.into_owned().into());
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        return value.try_iter()?.map(|item| json(&item?)).collect::<PyResult<Vec<_>>>().map(Value::Array);
    }
    if let Ok(entries) = value.cast::<PyDict>() {
        return Ok(Value::Object(object(entries)?));
    }
    if let Ok(plain) = value.call_method0("tolist") {
        return json(&plain);
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("expected a number, a string, or a list of them, found {kind}")))
}

fn object(entries: &Bound<'_, PyDict>) -> PyResult<Map<String, Value>> {
    entries
        .iter()
        .map(|(name, value)| {
            let name: String = name.extract()?;
            let value = json(&value)
                .map_err(|error| PyTypeError::new_err(format!("{name}: {}", error.value(value.py()))))?;
            Ok((name, value))
        })
        .collect()
}

/// The Python object of a value.
pub(crate) fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (_, Some(number)) => number.into_pyobject(py)?.into_any(),
            _ => number.as_f64().into_pyobject(py)?,
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(entries) => {
            let found = PyDict::new(py);
            for (name, value) in entries {
                found.set_item(name, python(py, value)?)?;
            }
            found.into_any()
        }
    })
}

/// Anything that serde can write, as a Python object.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    python(py, &serde_json::to_value(value).map_err(|error| PyValueError::new_err(error.to_string()))?)
}

/// Anything that serde can read, from a Python object.
pub(crate) fn from_python<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    serde_json::from_value(json(value)?).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A configuration from the given options, and defaults for the others.
pub(crate) fn config(given: &Bound<'_, PyDict>) -> PyResult<ModelConfig> {
    let given = object(given).map_err(|error| PyValueError::new_err(error.value(given.py()).to_string()))?;
    ModelConfig::default().overlay(&given).map_err(refused)
}

/// All options of a configuration.
pub(crate) fn all<'py>(py: Python<'py>, config: &ModelConfig) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    for option in options() {
        found.set_item(option.name, python(py, &option.value(config))?)?;
    }
    Ok(found)
}

/// A preset's options.
#[pyfunction]
pub fn preset_options<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyDict>> {
    let refusal = |error: serde_json::Error| PyValueError::new_err(format!("preset: {error}"));
    let preset: Preset = serde_json::from_value(name.into()).map_err(refusal)?;
    all(py, &ModelConfig::preset(preset))
}

/// The options with their defaults, checked.
#[pyfunction]
pub fn check_options<'py>(given: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    all(given.py(), &config(given)?)
}

/// Every option: its name, group, Python type and documentation.
#[pyfunction]
pub fn option_table() -> Vec<(&'static str, &'static str, String, String)> {
    let row = |option: &stepwell::config::OptionInfo| {
        (option.name, option.group.name(), option.annotation(), option.doc.clone())
    };
    options().iter().map(row).collect()
}

/// Whether the error is an exceeded memory budget, in the pooling of a graph or elsewhere.
pub(crate) fn out_of_memory(error: &Error) -> bool {
    match error {
        Error::Memory { .. } => true,
        Error::Pooling { source, .. } => out_of_memory(source),
        _ => false,
    }
}

pyo3::create_exception!(
    stepwell._stepwell,
    DirectionsDiffer,
    PyValueError,
    "The two directions of an undirected edge have different labels or attributes."
);

/// The exception for an error. If a single graph caused it, the attribute `graph` is its
/// position.
pub(crate) fn refused(error: Error) -> PyErr {
    let blamed = error.graph();
    let exception = match error {
        Error::Cancelled => PyKeyboardInterrupt::new_err(()),
        error if out_of_memory(&error) => PyMemoryError::new_err(error.to_string()),
        Error::Device { .. } => PyRuntimeError::new_err(error.to_string()),
        Error::EdgesDiffer { opposite: true, .. } => DirectionsDiffer::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    };
    if let Some(graph) = blamed {
        // If the attribute cannot be set, the exception is still raised.
        let _ = Python::attach(|py| exception.value(py).setattr("graph", graph));
    }
    exception
}
