"""The class Graph, and checks of its arguments."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ._stepwell import RawGraph
from ._types import Floats


#: The largest number of vertices that is inferred from the edges.
_MOST_INFERRED = 2**28


class Graph:
    """A graph with labels and attributes of its vertices and edges.

    Parameters
    ----------
    edges : scipy sparse matrix of shape (N, N), or integer array of shape (2, E)
        The adjacency matrix, or the ends of the edges. List an undirected edge
        once or in both directions.
    features : array or scipy sparse matrix of shape (N, F), optional
        One row per vertex. Models z-score them unless ``raw``. A sparse matrix
        stays sparse; results do not depend on the form.
    num_nodes : int, optional
        The number of vertices, if neither the matrix nor the features determine it.
    weights : array of shape (E,), optional
        Edge weights, if ``edges`` is an array.
    labels : integer array of shape (N,) or (N, L), optional
        The category of each vertex, or a row of several categories. A model has a
        one-hot column for every label of its training graphs.
    edge_label : integer array of shape (E,) or (E, L), optional
        The category of each listed edge, or a row of several categories. An edge
        that is listed more than once must have the same labels each time. If
        ``edges`` is a matrix, its stored entries are the listed edges; it must then
        be a CSR matrix in canonical format.
    edge_attr : array of shape (E,) or (E, A), optional
        One number per listed edge, or several, by the same rules.
    directed : bool
        Whether edges have a direction.
    feature_names : sequence of str, optional
        The names of the columns of ``features``; by default those of a data frame.
        Models match named columns by name.

    Examples
    --------
    >>> from stepwell import Graph
    >>> path = Graph([[0, 1], [1, 2]], num_nodes=3)
    >>> path.num_edges
    2
    >>> path.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])

    Edge labels are returned in the order of the matrix's entries:

    >>> bonds = Graph([[0, 1], [1, 2]], labels=[6, 6, 8], edge_label=[1, 2], edge_attr=[1.5, 1.2])
    >>> bonds
    Graph(3 nodes, 2 edges, 0 features, labels, edge labels, 1 edge attribute)
    >>> bonds.adjacency.indices, bonds.edge_label
    (array([1, 0, 2, 1], dtype=int32), array([1, 1, 2, 2], dtype=int32))
    """

    __slots__ = ("_raw",)
    _raw: RawGraph

    def __init__(
        self,
        edges: sp.spmatrix | sp.sparray | ArrayLike,
        features: ArrayLike | sp.spmatrix | sp.sparray | None = None,
        *,
        num_nodes: int | None = None,
        weights: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        edge_label: ArrayLike | None = None,
        edge_attr: ArrayLike | None = None,
        directed: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if sp.issparse(edges):
            if weights is not None:
                raise TypeError("weights: not allowed with a sparse adjacency matrix, which contains them")
            check_matrix(edges, "adjacency")
            _check_order(edges, edge_label=edge_label, edge_attr=edge_attr)
            sources, targets, weights, size = _from_matrix(edges)
        else:
            sources, targets = _from_edge_index(edges)
            size = None
        if feature_names is None:
            feature_names = getattr(features, "columns", None)  # of a data frame
        rows: Any = features
        if sp.issparse(rows):
            size = _agree("features", rows.shape[0], "rows", size)
            rows = _from_sparse(rows)
        elif rows is not None:
            rows = _as_floats(rows, "features", 2)
            size = _agree("features", rows.shape[0], "rows", size)
        if labels is not None:
            labels = as_labels(labels, "labels", "features")
            size = _agree("labels", len(labels), "values", size)
        size = _agree("num_nodes", num_nodes, "vertices", size)
        if size is None:
            size = int(max(sources.max(), targets.max())) + 1 if sources.size else 0
            if size > _MOST_INFERRED:
                raise ValueError(f"edges: vertex {size - 1} implies {size} vertices; if that is right, pass num_nodes")
        if weights is not None:
            weights = _as_floats(weights, "weights", 1)
            if weights.size == sources.size and (weights == 1).all():
                weights = None
        if edge_label is not None:
            edge_label = as_labels(edge_label, "edge_label", "edge_attr")
            _one_per_edge("edge_label", edge_label, sources.size)
        if edge_attr is not None:
            edge_attr = as_attributes(edge_attr, "edge_attr", "edge_label")
            _one_per_edge("edge_attr", edge_attr, sources.size)
        names = None if feature_names is None else [str(name) for name in feature_names]
        self._raw = RawGraph.build(
            size, sources, targets, weights, rows, labels, edge_label, edge_attr, bool(directed), names
        )

    @classmethod
    def _wrap(cls, raw):
        graph = cls.__new__(cls)
        graph._raw = raw
        return graph

    @property
    def num_nodes(self) -> int:
        """The number of vertices."""
        return self._raw.num_nodes

    @property
    def num_edges(self) -> int:
        """The number of edges. An undirected edge counts once, a self loop does not count."""
        return self._raw.num_edges

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self._raw.directed

    @property
    def adjacency(self) -> sp.csr_matrix:
        """The adjacency matrix, as a SciPy CSR matrix."""
        data, indices, indptr = self._raw.csr()
        return sp.csr_matrix((data, indices, indptr), shape=(self.num_nodes, self.num_nodes))

    @property
    def features(self) -> Floats | sp.csr_matrix | None:
        """A copy of the features, one row per vertex: an array, a CSR matrix if they are sparse, or None."""
        sparse = self._raw.sparse_features()
        if sparse is not None:
            return sp.csr_matrix(sparse, shape=(self.num_nodes, self._raw.num_features()))
        features = self._raw.features()
        if features is not None:
            features.flags.writeable = False
        return features

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the columns of ``features``, or None."""
        return self._raw.feature_names()

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """One integer per vertex, or a row of several, or None."""
        return _flat(self._raw.labels())

    @property
    def edge_label(self) -> NDArray[np.int32] | None:
        """One integer, or a row of several, per stored entry of ``adjacency``, in their order; or None."""
        return _flat(self._raw.edge_labels())

    @property
    def edge_attr(self) -> Floats | None:
        """One row of numbers per stored entry of ``adjacency``, in their order; or None."""
        return self._raw.edge_attributes()

    def __repr__(self) -> str:
        width = self._raw.num_features()
        parts = [f"{self.num_nodes} nodes", f"{self.num_edges} edges"] + ["directed"] * self.directed
        parts.append(f"{width} features")
        for name, table in (("labels", self._raw.labels()), ("edge labels", self._raw.edge_labels())):
            if table is not None:
                parts.append(name if table.shape[1] == 1 else f"{table.shape[1]} {name}")
        attributes = self._raw.edge_attributes()
        if attributes is not None:
            count = attributes.shape[1]
            parts.append(f"{count} edge attribute{'' if count == 1 else 's'}")
        return f"Graph({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        adjacency, carried = self.adjacency, (self.edge_label, self.edge_attr)
        if not self.directed:
            rows = np.repeat(np.arange(self.num_nodes), np.diff(adjacency.indptr))
            once = adjacency.indices >= rows
            adjacency = sp.triu(adjacency, format="csr")
            carried = tuple(None if values is None else values[once] for values in carried)
        return _rebuild, (adjacency, self.features, self.directed, self.labels, self.feature_names, *carried)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return self._raw.equals(other._raw)

    __hash__ = None  # type: ignore[assignment]


def kind_of(value):
    """The type of a value, with its module."""
    modules = [name for name in type(value).__module__.split(".") if name != "builtins" and not name.startswith("_")]
    return ".".join([*modules, type(value).__qualname__])


def _rebuild(adjacency, features, directed, labels=None, feature_names=None, edge_label=None, edge_attr=None):
    edges = {"edge_label": edge_label, "edge_attr": edge_attr}
    return Graph(adjacency, features, labels=labels, directed=directed, feature_names=feature_names, **edges)


def _flat(labels):
    """Rows of one label as a one-dimensional array."""
    return labels[:, 0] if labels is not None and labels.shape[1] == 1 else labels


def _from_matrix(matrix):
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"adjacency: expected a square matrix, found shape {matrix.shape}")
    matrix = matrix.tocsr(copy=True)
    check_matrix(matrix, "adjacency")
    matrix.sum_duplicates()
    matrix = matrix.tocoo()
    weights = None if matrix.dtype == bool else _as_floats(matrix.data, "adjacency", 1)
    return _as_vertices(matrix.row), _as_vertices(matrix.col), weights, matrix.shape[0]


def _from_sparse(matrix):
    """The number of columns, and row starts, columns and values of the non-zeros."""
    if matrix.ndim != 2:
        raise ValueError(f"features: expected 2 dimensions, found {matrix.ndim}")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"features: expected real numbers, found {matrix.dtype}")
    if matrix.shape[1] >= 2**31:
        raise ValueError(f"features: expected fewer than 2147483648 columns, found {matrix.shape[1]}")
    check_matrix(matrix, "features")
    matrix = matrix.tocsr(copy=True).astype(np.float64)
    matrix.sum_duplicates()
    starts = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
    return matrix.shape[1], starts, np.ascontiguousarray(matrix.indices, dtype=np.uint32), matrix.data


def check_matrix(matrix, name):
    """Checks the arrays of a matrix, because SciPy reads out of bounds if they are wrong."""
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            coords = getattr(matrix, "coords", None) or (matrix.row, matrix.col)  # before SciPy 1.13
            if not all(len(ends) == len(matrix.data) for ends in coords):
                raise ValueError("row, column and data arrays differ in length")
            if any(len(ends) and not 0 <= ends.min() <= ends.max() < n for ends, n in zip(coords, matrix.shape)):
                raise ValueError("a row or column index is out of bounds")
        elif matrix.format == "dia" and (matrix.data.ndim != 2 or len(matrix.data) != len(matrix.offsets)):
            raise ValueError("expected a row of data for every offset")
    except (ValueError, IndexError, TypeError) as error:
        raise ValueError(f"{name}: the {matrix.format} matrix is not valid: {error}") from error


def _check_order(matrix, **carried):
    """Checks that the order of a matrix's entries is unambiguous."""
    given = [name for name, values in carried.items() if values is not None]
    if given and not (matrix.format == "csr" and matrix.has_canonical_format):
        raise ValueError(
            f"{given[0]}: expected a CSR matrix in canonical format (matrix.tocsr(), then matrix.sum_duplicates()), or "
            f"edges as an array of shape (2, E), found a matrix in format {matrix.format}, whose entries may be in "
            "another order"
        )


def _from_edge_index(edges):
    if hasattr(edges, "nodes"):  # NumPy would take it for a list of vertices
        hint = "; convert it with as_graph(graph)"
        raise TypeError(
            f"edges: expected a SciPy sparse matrix or an array of shape (2, E), found {kind_of(edges)}{hint}"
        )
    try:
        edges = np.asarray(edges)
    except ValueError:
        edges = np.zeros(())
    if edges.size == 0:
        edges = edges.reshape(2, 0).astype(np.int64)
    if edges.ndim != 2 or edges.shape[0] != 2:
        hint = "; transpose it" if edges.ndim == 2 and edges.shape[1] == 2 else ""
        expected = "expected a SciPy sparse matrix or an array of shape (2, E)"
        raise ValueError(f"edges: {expected}, found shape {edges.shape}{hint}")
    if edges.dtype.kind not in "iu":
        raise TypeError(f"edges: expected integers, found {edges.dtype}")
    return _as_vertices(edges[0]), _as_vertices(edges[1])


def _as_vertices(values):
    if values.size and (values.min() < 0 or values.max() >= 2**32 - 1):
        outside = values[(values < 0) | (values >= 2**32 - 1)][0]
        raise ValueError(f"edges: expected vertex numbers from 0 to 2**32 - 2, found {outside}")
    return np.ascontiguousarray(values, dtype=np.uint32)


def _as_floats(values, name, ndim):
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected numbers, found {values.dtype}")
    if values.ndim != ndim:
        raise ValueError(f"{name}: expected {ndim} dimensions, found {values.ndim}")
    return np.ascontiguousarray(values, dtype=np.float64)


def as_labels(values, name, reals=None):
    """Rows of 32-bit integers, one or several per row; ``reals`` names the parameter for floats."""
    values = _as_rows(values, name)
    if values.size == 0:
        values = values.astype(np.int32)
    if values.dtype.kind not in "iu":
        hint = ""
        if values.dtype.kind in "OSUT":
            hint = "; number the strings first, the same way in all graphs"
        elif values.dtype.kind == "f" and reals is not None:
            hint = f"; pass floats as {reals}="
        raise TypeError(f"{name}: expected integers, found {values.dtype}{hint}")
    outside = values[(values < -(2**31)) | (values >= 2**31)]
    if outside.size:
        raise ValueError(f"{name}: expected 32-bit integers, found {outside[0]}")
    return np.ascontiguousarray(values, dtype=np.int32)


def as_attributes(values, name, labels=None):
    """Rows of finite numbers, one or several per row; ``labels`` names the parameter for categories."""
    values = _as_rows(values, name)
    if values.size == 0:
        values = values.astype(np.float64)
    if values.dtype.kind not in "biuf":
        hint = f"; number the strings first and pass them as {labels}=" if labels and values.dtype.kind in "OSUT" else ""
        raise TypeError(f"{name}: expected numbers, found {values.dtype}{hint}")
    values = np.ascontiguousarray(values, dtype=np.float64)
    missing = np.argwhere(~np.isfinite(values))
    if len(missing):
        row, column = missing[0]
        found = f"found {values[row, column]} in row {row}; impute the value or drop the row"
        raise ValueError(f"{name}: expected finite numbers, {found}")
    return values


def _as_rows(values, name):
    """A two-dimensional array; a single number is a row of one."""
    try:
        values = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name}: expected rows of the same length, found rows of different lengths") from None
    if values.ndim not in (1, 2):
        raise ValueError(f"{name}: expected 1 or 2 dimensions, found {values.ndim}")
    return values if values.ndim == 2 else values[:, np.newaxis]


def _one_per_edge(name, rows, edges):
    if len(rows) != edges:
        raise ValueError(f"{name}: expected {edges} rows, one per listed edge, found {len(rows)}")


def _agree(name, value, unit, size):
    if value is None:
        return size
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise TypeError(f"{name}: expected an integer, found {type(value).__name__}")
    if value < 0 or value >= 2**32 or (size is not None and value != size):
        raise ValueError(f"{name}: expected {'0 to 2**32 - 1' if size is None else size} {unit}, found {value}")
    return int(value)
