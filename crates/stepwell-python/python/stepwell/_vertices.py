"""Models that predict vertices: reservoirs with a readout for every vertex."""

import operator
from typing import Any, Self, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._foreign import as_array as as_numpy
from ._foreign import as_graph
from ._foreign import is_foreign, is_joined
from ._graphs import Graph
from ._options import OF_GRAPHS, with_parameters
from ._parameters import NodeClassifierParameters, NodeRegressorParameters
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor, _WithReadout
from ._reservoir import _threads
from ._targets import accuracy_of_known, known_vertices, r2_of_known, vertex_weights
from ._types import AnyGraph, AnyGraphs, Floats


class _OfVertices(_WithReadout):
    """A reservoir with a linear readout for every vertex."""

    _fixed = {"level": "vertex"}

    def _known(self, batch, y, mask, sample_weight, given, alone):
        """The vertices with a target, their targets, the names of the targets, and their weights."""
        if sample_weight is not None:
            sample_weight = vertex_weights(batch.sizes(), sample_weight, alone)
        if y is None:
            y, mask = _carried(given, "y", mask)
            alone = False
        rows, values, names = known_vertices(batch.sizes(), y, mask, alone)
        return rows, values, names, None if sample_weight is None else np.ascontiguousarray(sample_weight[rows])

    def _each(self, graphs, method):
        """The result of a method for all vertices: an array for one graph, a list of arrays for several."""
        given, alone = _as_list(graphs)
        batch = self._seen(given)
        found = np.split(method(batch), np.cumsum(batch.sizes())[:-1])
        return found[0] if alone else found

    def fit(  # type: ignore[override]
        self,
        graphs: AnyGraph | AnyGraphs,
        y: ArrayLike | list[Any] | None = None,
        mask: ArrayLike | list[Any] | None = None,
        sample_weight: ArrayLike | list[Any] | None = None,
    ) -> Self:
        """Fits the feature map, draws the weights of the reservoirs and trains the readout.

        Parameters
        ----------
        graphs : a graph, or a sequence of graphs
        y : array of labels or numbers, or list of arrays
            One target, or a row of targets, per vertex. Classifiers take integers,
            strings, booleans or floats, or rows of 0 and 1. NaN, None and, for
            classifiers without a mask, the integer -1 mean unknown. If omitted,
            ``data.y`` of PyTorch Geometric graphs.
        mask : array of bool, or list of arrays, optional
            The training vertices. With a mask, -1 is an ordinary label. If y is
            omitted, ``data.train_mask`` if it exists.
        sample_weight : array of float, or list of arrays, optional
            The weight of each vertex, in the form of y.
        """
        given, alone = _as_list(graphs)
        batch = self._given(given)
        rows, values, names, weights = self._known(batch, y, mask, sample_weight, given, alone)
        self._fit(batch, values, weights, names=names, vertices=rows)
        return self

    def predict(self, graphs: AnyGraph | AnyGraphs) -> Any:  # type: ignore[override]
        """Returns the prediction for each vertex: an array for one graph, a list of arrays for several."""
        return self._each(graphs, super().predict)

    def score(  # type: ignore[override]
        self,
        graphs: AnyGraph | AnyGraphs,
        y: ArrayLike | list[Any] | None = None,
        sample_weight: ArrayLike | list[Any] | None = None,
        mask: ArrayLike | list[Any] | None = None,
    ) -> float:
        """Returns the accuracy of a classifier, or R² of a regressor, on vertices with a known target, or on
        those of the mask."""
        given, alone = _as_list(graphs)
        batch = self._seen(given)
        rows, values, _, weights = self._known(batch, y, mask, sample_weight, given, alone)
        found = super().predict(batch)[rows]
        score = accuracy_of_known if isinstance(self, PyramidalReservoirClassifier) else r2_of_known
        return float(score(values, found, sample_weight=weights))

    def explain(self, graph: AnyGraph, vertex: int) -> tuple[Floats, Floats]:  # type: ignore[override]
        """Splits the decision values or predictions of one vertex into contributions.

        The intercept is the model's output for the vertex if no vertex has any input. The
        contribution of a vertex is that of its inputs. Intercept and contributions add up
        to the decision values. For this, the explanation replaces each tanh, and a readout
        that is not linear, by its secant between the states without and with inputs.
        :func:`plot_explanation` draws them. Needs the solver "jacobi", the default here.

        Parameters
        ----------
        graph : a graph
            Any format that :func:`as_graph` accepts.
        vertex : int
            The vertex to explain, from 0.

        Returns
        -------
        intercept : array of shape (columns,)
            A column is a class (with two classes, both have one) or a target.
        contributions : array of shape (vertices, columns)
            The contribution of the inputs of each vertex; 0 beyond the reach of the sweeps.
        """
        check_is_fitted(self)
        graph = as_graph(graph)
        batch = self._seen([graph])
        return self._model.explain_vertex(batch, vertex_of(graph, vertex), _threads(self.n_jobs))

    def transform(self, graphs: AnyGraph | AnyGraphs) -> Any:  # type: ignore[override]
        """Returns the readout's inputs, one row per vertex: an array for one graph, a list of arrays for several."""
        return self._each(graphs, super().transform)

    def fit_transform(self, graphs: AnyGraph | AnyGraphs, y: Any = None, **fit_params: Any) -> Any:  # type: ignore[override]
        """Fits on the graphs and transforms them."""
        return self.fit(graphs, y, **fit_params).transform(graphs)


@with_parameters(("Model", "Readout"), "vertices", without=OF_GRAPHS)
class PyramidalReservoirNodeClassifier(_OfVertices, PyramidalReservoirClassifier):  # type: ignore[misc]
    """Classifies vertices: random reservoirs, then a ridge classifier.

    The readout sees the states of one vertex, which depend on its surroundings. It
    is a linear map, as in :class:`PyramidalReservoirClassifier`, with vertices in
    place of graphs. The defaults are those of the preset "vertices".

    For one graph, pass one array of labels; for several graphs, pass a list of
    arrays. Methods return the same form. Vertices without a known label pass states
    on, but the readout is not trained on them. The model also predicts vertices of
    new graphs.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    classes_, coef_, intercept_, alpha_, metric_, loo_score_, landmarks_, random_features_
        As in :class:`PyramidalReservoirClassifier`.
    weights_, feature_map_, iterations_, converged_
        As in :class:`PyramidalReservoir`.

    Examples
    --------
    >>> import networkx as nx, numpy as np
    >>> from stepwell import PyramidalReservoirNodeClassifier
    >>> club = nx.karate_club_graph()
    >>> truth = np.array([club.nodes[v].pop("club") for v in club])
    >>> known = np.zeros(34, bool)
    >>> known[[0, 1, 2, 3, 7, 13, 33, 32, 31, 30, 29, 28]] = True
    >>> model = PyramidalReservoirNodeClassifier(units=50, random_state=0)
    >>> model = model.fit(club, truth, mask=known)
    >>> model.predict(club).shape, model.predict_proba(club).shape
    ((34,), (34, 2))
    """

    def __init__(self, **parameters: Unpack[NodeClassifierParameters]) -> None: ...  # made by the decorator

    def decision_function(self, graphs: AnyGraph | AnyGraphs) -> Any:  # type: ignore[override]
        """Returns the decision value of each class; for two classes, that of the second one."""
        return self._each(graphs, super().decision_function)

    def predict_proba(self, graphs: AnyGraph | AnyGraphs) -> Any:  # type: ignore[override]
        """Returns the probability of every class, one row per vertex, calibrated on
        leave-one-out decision values of the training vertices."""
        return self._each(graphs, super().predict_proba)

    def predict_set(  # type: ignore[override]
        self, graphs: AnyGraph | AnyGraphs, coverage: float = 0.9, *, per_class: bool = False
    ) -> Any:
        """Returns the classes that cannot be ruled out, one row per vertex. With
        ``per_class=True``, the probability ``coverage`` holds for the vertices of every class."""
        of_graphs = super().predict_set
        return self._each(graphs, lambda batch: of_graphs(batch, coverage, per_class=per_class))


@with_parameters(("Model", "Readout"), "vertices", without=(*OF_GRAPHS, "class_weight"))
class PyramidalReservoirNodeRegressor(_OfVertices, PyramidalReservoirRegressor):  # type: ignore[misc]
    """Predicts numbers for vertices: random reservoirs, then ridge regression.

    Like :class:`PyramidalReservoirNodeClassifier`, with numbers in place of labels.

    Parameters
    ----------
    **parameters

    Attributes
    ----------
    coef_, intercept_, alpha_, metric_, loo_score_, landmarks_, random_features_
        As in :class:`PyramidalReservoirRegressor`.
    weights_, feature_map_, iterations_, converged_
        As in :class:`PyramidalReservoir`.

    Examples
    --------
    >>> import networkx as nx, numpy as np
    >>> from stepwell import PyramidalReservoirNodeRegressor
    >>> graph = nx.barabasi_albert_graph(300, 2, seed=0)
    >>> rank = np.array(list(nx.pagerank(graph).values()))
    >>> known = np.where(np.arange(300) < 200, rank, np.nan)
    >>> model = PyramidalReservoirNodeRegressor(units=50, random_state=0).fit(graph, known)
    >>> model.score(graph, rank, mask=np.isnan(known)) > 0.8
    True
    """

    def __init__(self, **parameters: Unpack[NodeRegressorParameters]) -> None: ...  # made by the decorator

    def predict_interval(self, graphs: AnyGraph | AnyGraphs, coverage: float = 0.9) -> Any:  # type: ignore[override]
        """Returns the lower and upper ends of intervals, one row per vertex."""
        return self._each(
            graphs, lambda batch: super(PyramidalReservoirNodeRegressor, self).predict_interval(batch, coverage)
        )


def vertex_of(graph, vertex):
    """A vertex of a graph, as an integer that is in range."""
    found = operator.index(vertex)
    if not 0 <= found < graph.num_nodes:
        raise IndexError(f"vertex: expected 0 to {graph.num_nodes - 1}, found {found}")
    return found


def _as_list(graphs):
    """Graphs as a sequence, and whether the argument was a single graph."""
    pair = isinstance(graphs, tuple) and len(graphs) == 2 and _is_features(graphs[1])
    alone = not is_joined(graphs) and (_is_graph(graphs) or pair)
    return ([graphs], True) if alone else (graphs, False)


def _is_features(value):
    """Whether it can be the features of a pair: a square sparse matrix is another graph."""
    if sp.issparse(value):
        return value.ndim == 2 and value.shape[0] != value.shape[1]
    return not _is_graph(value)


def _is_graph(value):
    return isinstance(value, Graph) or sp.issparse(value) or is_foreign(value)


def _carried(graphs, name, mask):
    """The targets, and masks unless given, of PyTorch Geometric graphs."""
    graphs = list(graphs) if isinstance(graphs, (list, tuple)) else [graphs]
    missing = [position for position, graph in enumerate(graphs) if getattr(graph, name, None) is None]
    if missing:
        expected = f"the targets of vertices, as y= or as an attribute '{name}' of every graph"
        raise ValueError(f"y: expected {expected}; graph {missing[0]} has none")
    if mask is None and all(getattr(graph, "train_mask", None) is not None for graph in graphs):
        mask = [as_numpy(graph.train_mask) for graph in graphs]
    elif mask is not None and np.ndim(mask) == 1 and len(graphs) == 1:
        mask = [mask]
    return [as_numpy(getattr(graph, name)) for graph in graphs], mask

