"""Pictures that a notebook shows: embeddings, pyramids, explanations."""

import html
import operator
import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from . import _stepwell
from ._coarsen import _pooling
from ._foreign import as_graph
from ._graphs import Graph, _as_floats
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._stepwell import RawBatch, RawPicture
from ._targets import known_vertices
from ._types import AnyGraph, AnyPath, Floats, Pooling
from ._vertices import PyramidalReservoirNodeClassifier, PyramidalReservoirNodeRegressor, _OfVertices, vertex_of


class Picture:
    """A picture. A notebook shows it; ``save`` writes it to a file."""

    def __init__(self, raw: RawPicture, **figures: Any) -> None:
        self._raw = raw
        vars(self).update(figures)

    @property
    def title(self) -> str:
        """A one-line title."""
        return self._raw.title

    @property
    def svg(self) -> str:
        """The picture as a self-contained SVG."""
        return self._raw.svg

    @property
    def html(self) -> str:
        """An interactive page with the picture; it needs no network."""
        return self._raw.html

    def save(self, path: AnyPath) -> None:
        """Writes the picture (``.svg``) or the page (``.html``), completely or not at all."""
        self._raw.write(os.fsdecode(path))

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        # A frame separates the style and script of the page from those of the notebook.
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:720px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"


class EmbeddingPicture(Picture):
    """The picture of :func:`plot_embedding`."""

    #: The point of each vector: an array of shape (rows, 2).
    points: Floats
    #: The share of variance on each axis: between classes for discriminants, in
    #: total for principal components.
    explained: list[float]


class PyramidPicture(Picture):
    """The picture of :func:`plot_pyramid`."""

    #: For every level, a dict with the numbers of ``vertices`` and ``edges``. If the
    #: next level selects vertices, also the number ``kept`` and the value of the
    #: ``cut``; if it merges them, the share of the weight that is ``merged``.
    levels: list[dict[str, Any]]


class ExplanationPicture(Picture):
    """The picture of :func:`plot_explanation`."""

    #: The decision value before any contribution.
    intercept: float
    #: The decision value: the sum of intercept and contributions.
    decision: float
    #: The contributions of vertices, by the number of each level that is read.
    contributions: dict[int, Floats]
    #: All contributions, on the vertices of the original graph.
    vertices: Floats


class PredictionsPicture(Picture):
    """The picture of :func:`plot_predictions`."""

    #: The number of vertices with a known target.
    known: int
    #: The accuracy on these vertices; None for numbers.
    accuracy: float | None
    #: The root mean squared error on these vertices; None for classes.
    rmse: float | None


def plot_embedding(
    vectors: ArrayLike,
    y: ArrayLike | None = None,
    *,
    method: Literal["lda", "pca"] | None = None,
    ids: Sequence[object] | None = None,
    name: str = "embedding",
) -> EmbeddingPicture:
    """Draws vectors as points in a plane.

    Parameters
    ----------
    vectors : array of shape (graphs, columns)
        Vectors, for example from :class:`PyramidalReservoir`.
    y : array, optional
        The colours of the points: integers and strings are classes, floats a
        continuous scale.
    method : {"lda", "pca"}, optional
        The projection: "lda" separates classes, "pca" shows the largest variance.
        The default is "lda" if there are classes.
    ids : sequence of str, optional
        The names of the graphs.
    name : str
        The name of the dataset.

    Returns
    -------
    EmbeddingPicture
        A picture that also has the ``points``.

    Examples
    --------
    >>> from stepwell import PyramidalReservoir, make_benchmark, plot_embedding
    >>> ds = make_benchmark("b-easy-small")
    >>> vectors = PyramidalReservoir(spectral_radius=0.5).fit_transform(ds.graphs)
    >>> picture = plot_embedding(vectors, ds.y, name=ds.name)
    >>> picture
    <EmbeddingPicture: b-easy-small: linear discriminants>
    >>> picture.points.shape
    (300, 2)

    Labels can come from anywhere, for example from a clustering:

    >>> from sklearn.cluster import KMeans
    >>> groups = KMeans(3, n_init=4, random_state=0).fit_predict(vectors)
    >>> plot_embedding(vectors, groups, method="pca", name="three groups")
    <EmbeddingPicture: three groups: principal components>
    """
    vectors = check_array(vectors, dtype=np.float64, order="C", input_name="vectors")
    labels = None
    if y is not None:
        y = np.asarray(y)
        if y.shape != (len(vectors),):
            raise ValueError(f"y: expected shape ({len(vectors)},), found {y.shape}")
        if y.dtype.kind not in "biufUO":
            raise TypeError(f"y: expected integers, strings or floats, found {y.dtype}")
        labels = [str(label) for label in y] if y.dtype.kind == "O" else y.tolist()
    names = [str(each) for each in (range(len(vectors)) if ids is None else ids)]
    raw, points, explained = _stepwell.plot_embedding(vectors, labels, names, method, name)
    return EmbeddingPicture(raw, points=points, explained=explained)


def plot_pyramid(
    graph: AnyGraph,
    pool: Pooling | None = None,
    levels: int = 2,
    *,
    coordinates: ArrayLike | None = None,
    name: str = "graph",
    **options: Any,
) -> PyramidPicture:
    """Draws a graph and its coarse levels side by side.

    Colours show labels, attributes or degrees. A graph of
    ``stepwell.molecules`` is drawn as a structural formula. If a pooling selects
    vertices, the dropped ones are hollow; if it merges vertices, a patch surrounds
    those that become one.

    Parameters
    ----------
    graph : Graph, sparse matrix, or pair of edges and features
        Any format that :func:`as_graph` accepts.
    pool : {"graclus", "nmf", "ndp", "kmis"}, optional
        The pooling.
    levels : int
        The number of successive poolings.
    coordinates : array of shape (vertices, 2), optional
        The positions of the vertices. By default those of the dataset, or a
        force-directed layout.
    name : str
        The name of the graph.
    **options
        As in :func:`coarsen`.

    Returns
    -------
    PyramidPicture
        A picture that also has the sizes of the ``levels``.

    Examples
    --------
    >>> from stepwell import Graph, plot_pyramid
    >>> ring = Graph([range(8), [1, 2, 3, 4, 5, 6, 7, 0]])
    >>> plot_pyramid(ring, "ndp", levels=1).levels
    [{'vertices': 8, 'edges': 8, 'kept': 4, 'cut': 1.0}, {'vertices': 4, 'edges': 4}]
    """
    graph = as_graph(graph)
    levels = operator.index(levels)
    if levels < 0:
        raise ValueError(f"levels: expected a non-negative integer, found {levels}")
    if pool is None and options:
        raise TypeError(f"expected no options without pool=, found {', '.join(options)}")
    pooling = None if pool is None else _pooling(pool, options)
    raw, found = _stepwell.plot_pyramid(graph._raw, pooling, min(levels, 2**32), _places(graph, coordinates), name)
    names = ("vertices", "edges", "kept", "cut", "merged")
    figures = [{key: value for key, value in zip(names, level) if value is not None} for level in found]
    return PyramidPicture(raw, levels=figures)


def plot_explanation(
    model: PyramidalReservoirClassifier | PyramidalReservoirRegressor,
    graph: AnyGraph | str,
    label: Any = None,
    *,
    vertex: int | None = None,
    coordinates: ArrayLike | None = None,
    name: str = "graph",
) -> ExplanationPicture:
    """Draws the contribution of each vertex to a prediction.

    A decision value is an intercept plus the contributions of the vertices. For a
    model with landmarks, the intercept is the decision value of a graph with the
    mean vector of the training graphs. Integrated gradients distribute the
    difference over the vertices. The vertices that have a Weisfeiler–Lehman colour
    share its contribution equally. With the aggregate "max", the contribution of a
    unit belongs to the vertex where the unit has its maximum.

    For a model of vertices, the decision value is that of one ``vertex``. The
    intercept is its decision value if no vertex has any input, and the contribution
    of a vertex is that of its inputs
    (:meth:`PyramidalReservoirNodeClassifier.explain`). If the graph is large, the
    picture shows the 250 nearest vertices.

    Parameters
    ----------
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor, or one of vertices
        A fitted model.
    graph : Graph, sparse matrix, or pair of edges and features
        The graph to explain; a SMILES or an RDKit molecule if the model accepts
        SMILES. A molecule is drawn as a structural formula.
    label : optional
        The class to explain. The default is the second of two classes (1, True,
        "yes"), or the predicted one of more classes. For several targets, the name or
        index of the target, by default the first.
    vertex : int, optional
        The vertex to explain, for a model of vertices.
    coordinates : array of shape (vertices, 2), optional
        The positions of the vertices.
    name : str
        The name of the graph.

    Returns
    -------
    ExplanationPicture
        A picture that also has ``intercept``, ``contributions``, ``decision`` and
        ``vertices``.

    Examples
    --------
    >>> from stepwell import PyramidalReservoirClassifier, make_benchmark, plot_explanation
    >>> ds = make_benchmark("b-easy-small")
    >>> model = PyramidalReservoirClassifier.from_preset("paper", spectral_radius=0.5).fit(ds.graphs, ds.y)
    >>> picture = plot_explanation(model, ds.graphs[0])
    >>> added = picture.intercept + picture.contributions[0].sum()
    >>> bool(abs(picture.decision - added) < 1e-9)
    True
    """
    if not isinstance(model, (PyramidalReservoirClassifier, PyramidalReservoirRegressor)):
        raise TypeError(f"model: expected a Stepwell classifier or regressor, found {type(model).__name__}")
    check_is_fitted(model)
    of_vertices = isinstance(model, _OfVertices)
    if of_vertices and vertex is None:
        raise TypeError("vertex: the model predicts vertices; expected the vertex to explain, found none")
    if not of_vertices and vertex is not None:
        raise TypeError("vertex: the model predicts graphs, not vertices; remove vertex=")
    features = model._model.molecules
    if features is not None and (isinstance(graph, str) or type(graph).__module__.startswith("rdkit.")):
        from .molecules._read import for_estimator

        name = graph if name == "graph" and isinstance(graph, str) else name
        graph = Graph._wrap(for_estimator([graph], features).graph(0))
    graph = as_graph(graph)
    if vertex is not None:
        vertex = vertex_of(graph, vertex)
        name = f"vertex {vertex} of {name}"
    fitted = model._model
    if fitted.task == "classification":
        if label is None and len(model.classes_) == 2:
            label = model.classes_[1]
        elif label is None:
            label = model.predict(RawBatch.of_graphs([graph._raw]) if vertex is None else graph)[vertex or 0]
        found = np.flatnonzero(model.classes_ == label)
        if not len(found):
            known = ", ".join(map(str, model.classes_))
            raise ValueError(f"label: expected one of {known}, found {label!r}")
        column = int(found[0])
    else:
        targets, names = len(fitted.alphas), fitted.target_names
        if label is None:
            column = 0
        elif isinstance(label, str):
            if label not in names:
                known = f"one of {', '.join(names)}" if names else "a position, because the targets have no names"
                raise ValueError(f"label: expected {known}, found {label!r}")
            column = names.index(label)
        else:
            column = operator.index(label)
        if not 0 <= column < targets:
            raise ValueError(f"label: expected a target from 0 to {targets - 1}, found {label!r}")
    raw, intercept, decision, levels, vertices = _stepwell.plot_explanation(
        model._model, graph._raw, column, _places(graph, coordinates), name, vertex
    )
    figures = {"intercept": intercept, "decision": decision, "contributions": dict(levels), "vertices": vertices}
    return ExplanationPicture(raw, **figures)


def plot_predictions(
    model: PyramidalReservoirNodeClassifier | PyramidalReservoirNodeRegressor,
    graph: AnyGraph,
    y: ArrayLike | None = None,
    *,
    mask: ArrayLike | None = None,
    coordinates: ArrayLike | None = None,
    name: str = "graph",
) -> PredictionsPicture:
    """Draws a graph with its vertices coloured by prediction.

    With ``y``, it draws the graph a second time, coloured by known target. Vertices
    with a wrong prediction are larger.

    Parameters
    ----------
    model : PyramidalReservoirNodeClassifier or PyramidalReservoirNodeRegressor
        A fitted model.
    graph : a graph
        Any format that :func:`as_graph` accepts, with at most 20,000 vertices.
    y : array, optional
        One label or number per vertex; NaN, None and, without a mask, the integer -1
        mean unknown.
    mask : array of bool, optional
        The vertices whose target to show, for example those of a test part.
    coordinates : array of shape (vertices, 2), optional
        The positions of the vertices. By default a force-directed layout.
    name : str
        The name of the graph.

    Returns
    -------
    PredictionsPicture
        A picture that also has the number of ``known`` targets and the ``accuracy`` or
        ``rmse`` on them.

    Examples
    --------
    >>> import networkx as nx, numpy as np
    >>> from stepwell import PyramidalReservoirNodeClassifier, plot_predictions
    >>> club = nx.karate_club_graph()
    >>> truth = np.array([club.nodes[v].pop("club") for v in club])
    >>> model = PyramidalReservoirNodeClassifier(units=50).fit(club, truth, mask=np.arange(34) % 2 == 0)
    >>> plot_predictions(model, club, truth, name="the club").known
    34
    """
    if not isinstance(model, _OfVertices):
        raise TypeError(f"model: expected a model of vertices, found {type(model).__name__}")
    check_is_fitted(model)
    graph = as_graph(graph)
    known = None
    if y is not None:
        rows, values, _ = known_vertices([graph.num_nodes], y, mask, True)
        values = np.asarray(values)
        if isinstance(model, PyramidalReservoirNodeRegressor):
            values = np.ascontiguousarray(values.reshape(len(values), -1), dtype=np.float64)
        known = (rows, values if values.ndim == 2 else values.tolist())
    raw, count, accuracy, rmse = _stepwell.plot_predictions(
        model._model, graph._raw, known, _places(graph, coordinates), name
    )
    return PredictionsPicture(raw, known=count, accuracy=accuracy, rmse=rmse)


def _places(graph, coordinates):
    """The positions of vertices: as given, or RDKit's for a molecule; otherwise None."""
    if coordinates is not None:
        return _as_floats(coordinates, "coordinates", 2)
    if graph._raw.molecules is None or not graph.num_nodes:
        return None
    try:
        from .molecules._places import places
    except ImportError:  # without RDKit, the layout is force-directed
        return None
    return places(graph._raw)
