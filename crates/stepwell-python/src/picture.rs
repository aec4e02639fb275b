//! Pictures, and the numbers behind them.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use stepwell::Unreadable;
use stepwell::model::Saved;
use stepwell::pyramid::Pyramid;
use stepwell::targets::{Labels, Targets};
use stepwell_data::Known;
use stepwell_lab::Error;
use stepwell_lab::picture::embedding::{self, Method, Vectors};
use stepwell_lab::picture::explanation::{self, Shares};
use stepwell_lab::picture::predicted::{self, Predicted};
use stepwell_lab::picture::{Picture, Subject, pyramid};

use crate::graph::RawGraph;
use crate::model::{RawModel, Values};
use crate::options::refused;
use crate::{pool, threads};

/// A picture.
#[pyclass(frozen, module = "stepwell._stepwell")]
pub struct RawPicture(Picture);

#[pymethods]
impl RawPicture {
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn svg(&self) -> &str {
        &self.0.svg
    }

    #[getter]
    fn html(&self) -> String {
        self.0.html()
    }

    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.0.write(&path)).map_err(exception)
    }
}

fn exception(error: Error) -> PyErr {
    match error {
        Error::Model(error) => refused(error),
        Error::Io { .. } | Error::Data(_) => PyOSError::new_err(error.to_string()),
        error => PyValueError::new_err(error.to_string()),
    }
}

/// The picture, the point of each row, and the share of variance on each axis.
type Plotted<'py> = (RawPicture, Bound<'py, PyArray2<f64>>, Vec<f64>);

/// Vectors as points; by default, by linear discriminants if there are classes.
#[pyfunction]
pub fn plot_embedding<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'_, f64>,
    labels: Option<Values<'_>>,
    ids: Vec<String>,
    method: Option<&str>,
    name: &str,
) -> PyResult<Plotted<'py>> {
    let targets = match labels.map(|values| values.targets(false)) {
        None => Targets::None,
        Some(Targets::Classes(Labels::Float(values))) => Targets::numbers(values),
        Some(targets) => targets,
    };
    let method = match (method, &targets) {
        (Some("lda"), _) | (None, Targets::Classes(_)) => Method::Lda,
        (Some("pca") | None, _) => Method::Pca,
        (Some(other), _) => {
            return Err(PyValueError::new_err(format!("method: expected 'lda' or 'pca', found '{other}'")));
        }
    };
    let (rows, name) = (rows.as_array().to_owned(), name.to_owned());
    let plotted = threads::run_owned(py, 0, None, move |_| {
        let vectors = Vectors { name: &name, rows: rows.view(), targets: &targets, ids: &ids, sizes: None };
        embedding::plot(&vectors, method)
    })?;
    let (picture, projection, points) = plotted.map_err(exception)?;
    Ok((RawPicture(picture), points.into_pyarray(py), projection.explained))
}

/// A graph and its levels side by side; the numbers of vertices, edges and kept vertices of
/// each level, the value of its cut, and the merged weight.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a row of figures per level")]
pub fn plot_pyramid(
    py: Python<'_>,
    graph: &RawGraph,
    pooling: Option<&Bound<'_, PyDict>>,
    levels: usize,
    coordinates: Option<PyReadonlyArray2<'_, f64>>,
    name: &str,
) -> PyResult<(RawPicture, Vec<(usize, usize, Option<usize>, Option<f64>, Option<f64>)>)> {
    let pooling = pooling.map(pool::parse).transpose()?;
    let alone = graph.batch.select(&[graph.index]);
    let (coordinates, name) = (places(graph, coordinates)?, name.to_owned());
    let molecules = graph.molecules.clone();
    let drawn = threads::run_owned(py, 0, None, move |watch| {
        let pyramid = match pooling {
            Some(pooling) => pooling.coarsen(&alone, levels, |done| watch.at(done))?,
            None => Pyramid::default(),
        };
        let (graph, coordinates) = (alone.graph(0), coordinates.as_deref());
        let molecules = molecules.as_deref();
        pyramid::draw(&Subject { name: &name, graph, coordinates, molecules, pyramid: &pyramid, index: 0 })
    })?;
    let (picture, figures) = drawn.map_err(exception)?;
    let figures =
        figures.into_iter().map(|level| (level.vertices, level.edges, level.kept, level.cut, level.merged));
    Ok((RawPicture(picture), figures.collect()))
}

/// The positions of vertices: as given, or those of the dataset.
fn places(graph: &RawGraph, given: Option<PyReadonlyArray2<'_, f64>>) -> PyResult<Option<Vec<[f64; 2]>>> {
    let Some(given) = given else { return Ok(graph.coordinates().map(<[_]>::to_vec)) };
    let given = given.as_array();
    if given.dim() != (graph.view().num_vertices(), 2) {
        let (rows, columns) = given.dim();
        let expected = graph.view().num_vertices();
        return Err(PyValueError::new_err(format!(
            "coordinates: expected shape ({expected}, 2), found ({rows}, {columns})"
        )));
    }
    Ok(Some(given.rows().into_iter().map(|row| [row[0], row[1]]).collect()))
}

/// The picture, intercept and decision value, the contributions of the vertices of each
/// level, and all contributions on the vertices of the original graph.
type Explained<'py> =
    (RawPicture, f64, f64, Vec<(usize, Bound<'py, PyArray1<f64>>)>, Bound<'py, PyArray1<f64>>);

/// The contributions of the vertices of one graph to the decision value of `column`, of the
/// graph or of one vertex.
#[pyfunction]
#[pyo3(signature = (model, graph, column, coordinates, name, vertex=None))]
pub fn plot_explanation<'py>(
    py: Python<'py>,
    model: &RawModel,
    graph: &RawGraph,
    column: usize,
    coordinates: Option<PyReadonlyArray2<'_, f64>>,
    name: String,
    vertex: Option<usize>,
) -> PyResult<Explained<'py>> {
    model.trained()?;
    let saved = model.0.clone();
    let graphs = graph.batch.select(&[graph.index]);
    let coordinates = places(graph, coordinates)?;
    let molecules = graph.molecules.clone();
    let explained = threads::run_owned(py, 0, None, move |watch| -> Result<_, Error> {
        let Saved::Trained(trained) = &*saved else {
            return Err(stepwell::Error::from(Unreadable::Untrained).into());
        };
        let pyramid = trained.model.coarsen(&graphs, |done| watch.at(done))?;
        let explanation = match vertex {
            Some(vertex) => trained.explain_vertex(&graphs, 0, vertex, |done| watch.at(done))?,
            None => trained.explain(&graphs, &pyramid, |done| watch.at(done))?.swap_remove(0),
        };
        let what = explanation::question(trained, column);
        let subject = Subject {
            name: &name,
            graph: graphs.graph(0),
            coordinates: coordinates.as_deref(),
            molecules: molecules.as_deref().or(trained.model.molecules.as_deref()),
            pyramid: &pyramid,
            index: 0,
        };
        let shares = Shares::of(&subject, &explanation, column)?;
        let picture = match vertex {
            Some(vertex) => explanation::draw_vertex(&subject, &shares, vertex, &what)?,
            None => explanation::draw(&subject, &shares, &what)?,
        };
        Ok((picture, shares))
    })?;
    let (picture, shares) = explained.map_err(exception)?;
    let levels = shares.levels.into_iter().map(|(level, values)| (level, values.into_pyarray(py))).collect();
    let vertices = shares.vertices.into_pyarray(py);
    Ok((RawPicture(picture), shares.intercept, shares.decision, levels, vertices))
}

/// The picture, the number of known targets, and accuracy and RMSE on them.
type Drawn = (RawPicture, usize, Option<f64>, Option<f64>);

/// Draws a graph with its vertices coloured by prediction, beside the known targets of some
/// vertices.
#[pyfunction]
pub fn plot_predictions(
    py: Python<'_>,
    model: &RawModel,
    graph: &RawGraph,
    known: Option<(Vec<usize>, Values<'_>)>,
    coordinates: Option<PyReadonlyArray2<'_, f64>>,
    name: &str,
) -> PyResult<Drawn> {
    model.trained()?;
    let saved = model.0.clone();
    let graphs = graph.batch.select(&[graph.index]);
    let (coordinates, name) = (places(graph, coordinates)?, name.to_owned());
    let known =
        known.map_or_else(Known::default, |(rows, values)| Known { rows, targets: values.targets(false) });
    let drawn = threads::run_owned(py, 0, None, move |watch| -> Result<_, Error> {
        let Saved::Trained(trained) = &*saved else {
            return Err(stepwell::Error::from(Unreadable::Untrained).into());
        };
        let predictions = trained.predict(&graphs, |done| watch.at(done))?;
        let said = Predicted::of(trained, &predictions, &known);
        let subject = Subject {
            name: &name,
            graph: graphs.graph(0),
            coordinates: coordinates.as_deref(),
            molecules: None,
            pyramid: &Pyramid::default(),
            index: 0,
        };
        Ok((predicted::draw(&subject, &said)?, said.compared()))
    })?;
    let (picture, compared) = drawn.map_err(exception)?;
    Ok((RawPicture(picture), compared.known, compared.accuracy, compared.rmse))
}
