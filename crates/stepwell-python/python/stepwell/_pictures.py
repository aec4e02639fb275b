"""Pictures that a notebook shows: embeddings, pyramids, explanations."""

import html
import operator
import os
from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from . import _stepwell
from ._coarsen import _pooling
from ._foreign import as_graph
from ._graphs import _as_floats
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
        """What it is, in a line."""
        return self._raw.title

    @property
    def svg(self) -> str:
        """The picture as SVG, which stands alone."""
        return self._raw.svg

    @property
    def html(self) -> str:
        """A page around it that answers to the pointer and needs no network."""
        return self._raw.html

    def save(self, path: AnyPath) -> None:
        """Writes the picture (``.svg``) or the page (``.html``), whole or not at all."""
        self._raw.write(os.fsdecode(path))

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        # A frame keeps the page's style and script from those of the notebook.
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:720px;border:0"></iframe>'

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"


class EmbeddingPicture(Picture):
    """What :func:`plot_embedding` draws."""

    #: Where each row of the vectors lies: an array of shape (rows, 2).
    points: Floats
    #: The share that each axis shows: discriminants of the variance between
    #: classes, principal components of all variance.
    explained: list[float]


class PyramidPicture(Picture):
    """What :func:`plot_pyramid` draws."""

    #: For every level, a dict of its ``vertices`` and ``edges``; where the next
    #: level selects vertices, how many are ``kept`` and the value of that ``cut``;
    #: where it merges them, the share of the weight that is ``merged``.
    levels: list[dict[str, Any]]


class ExplanationPicture(Picture):
    """What :func:`plot_explanation` draws."""

    #: What every graph gets.
    intercept: float
    #: Intercept and contributions together: the decision value.
    decision: float
    #: For each level that is read, what its vertices add, by the level's number.
    contributions: dict[int, Floats]
    #: All of it on the vertices of the graph itself.
    vertices: Floats


class PredictionsPicture(Picture):
    """What :func:`plot_predictions` draws."""

    #: Vertices with a known target.
    known: int
    #: The share of these that is predicted as it is; None for numbers.
    accuracy: float | None
    #: The root mean squared error on these; None for classes.
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
        What :class:`PyramidalReservoir` makes of graphs.
    y : array, optional
        What colours the points: whole numbers and texts are classes, real
        numbers amounts.
    method : {"lda", "pca"}, optional
        The plane: where classes lie farthest apart, or where vectors vary most.
        By default the first where there are classes.
    ids : sequence of str, optional
        What the graphs are called.
    name : str
        What they are called together.

    Returns
    -------
    EmbeddingPicture
        With the ``points`` themselves.

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

    Any labels will do, those of a clustering for instance:

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
            raise TypeError(f"y: expected whole numbers, texts or real numbers, found {y.dtype}")
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

    Colours are labels, attributes or degrees; a graph of
    :mod:`stepwell.molecules` is drawn as chemists do. Where a pooling selects vertices,
    those it drops are hollow; where it merges them, those that become one lie in
    one patch.

    Parameters
    ----------
    graph : Graph, sparse matrix, or pair of edges and features
        Whatever :func:`as_graph` takes.
    pool : {"graclus", "nmf", "ndp", "kmis"}, optional
        The pooling.
    levels : int
        How many poolings on top of each other.
    coordinates : array of shape (vertices, 2), optional
        Where vertices lie. By default where the dataset says, or where edges
        pull them.
    name : str
        What the graph is called.
    **options
        As in :func:`coarsen`.

    Returns
    -------
    PyramidPicture
        With the sizes of the ``levels``.

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
        raise ValueError(f"levels: expected a whole number from 0, found {levels}")
    if pool is None and options:
        raise TypeError(f"without a pool there are no options, found {', '.join(options)}")
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
    """Draws which vertices a prediction is made of.

    A decision value is its intercept plus what each vertex of the levels read
    adds. The intercept of a model with landmarks is what the model says of a
    graph with the mean vector of the training graphs; vertices share the
    difference by integrated gradients, and share equally what each
    Weisfeiler–Lehman colour adds. Of a maximum, each unit's part belongs to the
    vertex that has it.

    For a model of vertices, the decision value is that of one ``vertex``: the
    intercept is what the model says if no vertex has any input, and each vertex
    adds what its inputs do (:meth:`PyramidalReservoirNodeClassifier.explain`). Of a
    large graph the 250 nearest vertices are drawn.

    Parameters
    ----------
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor, or one of vertices
        A fitted model.
    graph : Graph, sparse matrix, or pair of edges and features
        The graph to explain; for a model that reads SMILES, a SMILES too. A
        molecule is drawn as chemists do.
    label : optional
        The class whose decision value is explained, by default the one
        predicted; for a regression with several targets, which of them.
    vertex : int, optional
        The vertex to explain, for a model of vertices.
    coordinates : array of shape (vertices, 2), optional
        Where vertices lie.
    name : str
        What the graph is called.

    Returns
    -------
    ExplanationPicture
        With ``intercept``, ``contributions``, ``decision`` and ``vertices``.

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
        raise TypeError(f"model: expected a classifier or regressor of Stepwell, found {type(model).__name__}")
    check_is_fitted(model)
    of_vertices = isinstance(model, _OfVertices)
    if of_vertices and vertex is None:
        raise TypeError("vertex: expected the vertex to explain, since the model predicts vertices")
    if not of_vertices and vertex is not None:
        raise TypeError("vertex: the model predicts graphs, not vertices")
    if isinstance(graph, str) and model._model.molecules is not None:
        from .molecules import from_smiles

        name = graph if name == "graph" else name
        features = cast(Literal["default", "ogb"], model._model.molecules)
        graph = from_smiles([graph], features=features)[0]
    graph = as_graph(graph)
    if vertex is not None:
        vertex = vertex_of(graph, vertex)
        name = f"vertex {vertex} of {name}"
    if isinstance(model, PyramidalReservoirClassifier):
        if label is None:
            label = model.predict(RawBatch.of_graphs([graph._raw]) if vertex is None else graph)[vertex or 0]
        found = np.flatnonzero(model.classes_ == label)
        if not len(found):
            known = ", ".join(map(str, model.classes_))
            raise ValueError(f"label: expected one of {known}, found {label!r}")
        column, what = int(found[0]), f"class {label}"
    else:
        targets = np.size(model.intercept_)
        column = 0 if label is None else operator.index(label)
        if not 0 <= column < targets:
            raise ValueError(f"label: expected a target from 0 to {targets - 1}, found {label!r}")
        what = "the prediction" if targets == 1 else f"target {column}"
    raw, intercept, decision, levels, vertices = _stepwell.plot_explanation(
        model._model, graph._raw, column, _places(graph, coordinates), (name, what), vertex
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
    """Draws a graph whose vertices have the colour of what a model predicts for them.

    Where ``y`` is given, the same graph stands beside it with what is known of its
    vertices; wrong predictions are larger.

    Parameters
    ----------
    model : PyramidalReservoirNodeClassifier or PyramidalReservoirNodeRegressor
        A fitted model.
    graph : a graph
        Whatever :func:`as_graph` takes, with at most 20,000 vertices.
    y : array, optional
        One label or number per vertex; not known are NaN, None and, without a mask,
        the integer -1.
    mask : array of bool, optional
        Which of them are shown, those of a test part for instance.
    coordinates : array of shape (vertices, 2), optional
        Where vertices lie. By default where edges pull them.
    name : str
        What the graph is called.

    Returns
    -------
    PredictionsPicture
        With the number of ``known`` targets and the ``accuracy`` or ``rmse`` on these.

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
    """Where vertices lie: as given; where chemists would draw atoms; else nobody knows yet."""
    if coordinates is not None:
        return _as_floats(coordinates, "coordinates", 2)
    if graph._raw.molecules is None or not graph.num_nodes:
        return None
    try:
        from .molecules._places import places
    except ImportError:  # without RDKit, edges pull atoms to their places
        return None
    return places(graph._raw)
