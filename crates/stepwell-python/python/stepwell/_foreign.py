"""Graphs of other libraries, none of which need be installed."""

import numbers
import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ._graphs import Graph, kind_of
from ._types import AnyGraph


def as_graph(
    value: AnyGraph,
    *,
    features: str | Sequence[str] | None = None,
    label: str | None = None,
    weight: str | None = None,
) -> Graph:
    """Makes a :class:`Graph` of whatever holds one.

    Parameters
    ----------
    value : a graph
        A :class:`Graph`; a SciPy sparse adjacency matrix, alone or in a pair
        with features or None; a pair of a (2, E) integer array of edges and
        features or None; a graph of networkx, igraph, PyTorch Geometric
        (``Data``) or DGL. Vertices are numbered in the order in which the
        library lists them.
    features : str or list of str, optional
        Which attribute of the vertices is their features: a number or a list
        of numbers per vertex, or several attributes side by side. Unless said,
        ``x`` where vertices have it (DGL: ``feat``, then ``x``).
    label : str, optional
        Which attribute of the vertices is their label, a whole number.
    weight : str, optional
        Which attribute of the edges is their weight. Unless said, ``weight``
        where edges have it (PyTorch Geometric: ``edge_weight``); edges without
        it count 1, as in networkx.

    Examples
    --------
    >>> import networkx as nx
    >>> from stepwell import as_graph
    >>> graph = nx.Graph()
    >>> graph.add_edge("a", "b", cost=3.0)
    >>> graph.add_edge("b", "c", cost=4.0)
    >>> nx.set_node_attributes(graph, {"a": 0, "b": 1, "c": 0}, "kind")
    >>> made = as_graph(graph, label="kind", weight="cost")
    >>> made.adjacency.toarray()
    array([[0., 3., 0.],
           [3., 0., 4.],
           [0., 4., 0.]])
    >>> made.labels
    array([0, 1, 0], dtype=int32)
    """
    names = {"features": features, "label": label, "weight": weight}
    reader = _reader(value)
    if reader is not None:
        return reader(value, **names)
    if not isinstance(value, Graph) and not sp.issparse(value) and not (isinstance(value, tuple) and len(value) == 2):
        raise TypeError(
            "expected a stepwell.Graph, a scipy sparse matrix, a pair (scipy sparse matrix, features), a pair "
            "((2, E) integer array, features), or a graph of networkx, igraph, torch_geometric or dgl, "
            f"found {kind_of(value)}"
        )
    given = [name for name, attribute in names.items() if attribute is not None]
    if given:
        raise TypeError(f"{given[0]}: {kind_of(value)} has no attributes to choose from")
    if isinstance(value, Graph):
        return value
    return Graph(value) if sp.issparse(value) else Graph(*value)


def is_foreign(value):
    """Whether it is one graph of another library, which may look like a list."""
    return _reader(value) is not None


def is_joined(value):
    """Whether it is a batch of PyTorch Geometric: several graphs in one."""
    return hasattr(value, "edge_index") and getattr(value, "ptr", None) is not None


def _reader(value):
    # By what they can do: none of the libraries is imported for this.
    if isinstance(value, type):
        return None
    if hasattr(value, "edge_index"):  # of a whole dataset, those of all its graphs
        return None if callable(getattr(value, "indices", None)) else _from_pyg
    if hasattr(value, "adj") and hasattr(value, "nodes") and hasattr(value, "is_multigraph"):
        return _from_dgl if hasattr(value, "ndata") else _from_networkx
    if hasattr(value, "get_edgelist") and hasattr(value, "vs"):
        return _from_igraph
    if hasattr(value, "ndata") and hasattr(value, "edata"):
        return _from_dgl
    return None


def _from_networkx(graph, features, label, weight):
    position = {vertex: at for at, vertex in enumerate(graph)}
    listed = list(graph.edges(data=True))
    ends = np.array([(position[u], position[v]) for u, v, _ in listed], dtype=np.int64).reshape(-1, 2).T
    data = [(vertex, graph.nodes[vertex]) for vertex in graph]
    _warn_of_unused(data, features, label)
    weights = _weights([((u, v), held) for u, v, held in listed], weight)
    rows = _columns(data, features)
    return Graph(
        ends,
        rows,
        feature_names=_names(features, rows),
        num_nodes=len(position),
        weights=weights,
        labels=None if label is None else _whole(data, label),
        directed=graph.is_directed(),
    )


def _from_igraph(graph, features, label, weight):
    names = graph.vs.attributes()
    data = [(vertex.index, {name: vertex[name] for name in names}) for vertex in graph.vs]
    _warn_of_unused(data, features, label)
    # igraph gives every edge every attribute, None where it was not said.
    held = lambda edge: {name: value for name, value in edge.attributes().items() if value is not None}
    rows = _columns([(vertex, {k: v for k, v in held.items() if v is not None}) for vertex, held in data], features)
    return Graph(
        np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T,
        rows,
        feature_names=_names(features, rows),
        num_nodes=graph.vcount(),
        weights=_weights([(edge.tuple, held(edge)) for edge in graph.es], weight),
        labels=None if label is None else _whole(data, label),
        directed=graph.is_directed(),
    )


def _from_pyg(data, features, label, weight):
    return Graph(as_array(data.edge_index), **pyg_parts(data, features, label, weight))


def pyg_parts(data, features=None, label=None, weight=None):
    """What a ``Data`` or a batch of them carries, as parameters of :class:`Graph`."""
    held = lambda name: getattr(data, name, None)
    weights = _tensor(held, weight, "edge_weight", "weight")
    if weights is not None and weights.ndim == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    return {
        "features": _side_by_side(held, features, "x"),
        "num_nodes": int(data.num_nodes),
        "weights": weights,
        "labels": None if label is None else _tensor(held, label, None, "label"),
    }


def _from_dgl(graph, features, label, weight):
    sources, targets = (as_array(ends) for ends in graph.edges())
    of_vertices, of_edges = graph.ndata.get, graph.edata.get
    usual = "feat" if "feat" in graph.ndata else "x"
    return Graph(
        np.stack([sources, targets]),
        _side_by_side(of_vertices, features, usual),
        num_nodes=int(graph.num_nodes()),
        weights=_tensor(of_edges, weight, "weight", "weight"),
        labels=None if label is None else _tensor(of_vertices, label, None, "label"),
    )


def as_array(tensor):
    """A tensor, wherever it is, as an array."""
    for step in ("detach", "cpu", "numpy"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.asarray(tensor)


def _tensor(held, name, usual, what):
    found = held(usual if name is None else name)
    if found is None and name is not None:
        raise ValueError(f"{what}: expected an attribute {name!r}, found none")
    return None if found is None else as_array(found)


def _side_by_side(held, names, usual):
    if names is None:
        return _tensor(held, None, usual, "features")
    names = [names] if isinstance(names, str) else list(names)
    parts = [_tensor(held, name, None, "features") for name in names]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _warn_of_unused(vertices, features, label):
    """Tells once of what vertices carry under names nobody said."""
    if features is not None or label is not None or not vertices or "x" in vertices[0][1]:
        return
    held = {name: value for name, value in vertices[0][1].items() if name not in ("id", "name", "pos", "_nx_name")}
    numeric = [name for name, value in held.items() if isinstance(value, numbers.Real)]
    texts = [name for name, value in held.items() if isinstance(value, str)]
    ways = []
    if numeric:
        ways.append(f"as_graph(graph, features=[{', '.join(map(repr, numeric))}])")
    if texts or numeric:
        category = repr(texts[0]) if texts else "…"
        ways.append(f"label={category} for a category" + (", once its texts are numbered" if texts else ""))
    if ways:
        told = ", ".join(map(repr, numeric + texts))
        warnings.warn(f"vertices carry {told}, which is not used: make graphs by {', or '.join(ways)}", stacklevel=4)


def _weights(edges, name):
    """One number per edge, or None where no edge has one."""
    usual = "weight" if name is None else name
    found = [held.get(usual) for _, held in edges]
    if all(value is None for value in found):
        if name is not None and edges:
            raise ValueError(f"weight: expected an attribute {name!r} of the edges, found none")
        return None
    weights = np.ones(len(found))
    for at, value in enumerate(found):
        if value is not None:
            weights[at] = _number(value, f"edge {edges[at][0]!r}: attribute {usual!r}")
    return weights


def _columns(vertices, names):
    """One row of features per vertex, or None where vertices have none."""
    if names is None:
        if not any("x" in held for _, held in vertices):
            return None
        names = "x"
    names = [names] if isinstance(names, str) else list(names)
    rows, first = [], None
    for vertex, held in vertices:
        row = []
        for name in names:
            value, what = _held(vertex, held, name), f"vertex {vertex!r}: attribute {name!r}"
            row += [_number(each, what) for each in np.ravel(as_array(value)).tolist()]
        first = len(row) if first is None else first
        if len(row) != first:
            raise ValueError(f"vertex {vertex!r}: expected {first} features, as the vertices before it, found {len(row)}")
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), first or 0)


def _names(features, rows):
    """What columns are called, where every attribute that was named is one of them."""
    names = [features] if isinstance(features, str) else list(features or ())
    return names if rows is not None and len(rows) and 0 < len(names) == rows.shape[1] else None


def _whole(vertices, name):
    labels = []
    for vertex, held in vertices:
        value = _held(vertex, held, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            told = f"vertex {vertex!r}: attribute {name!r}: expected a whole number, found {value!r}"
            if isinstance(value, str):
                told += "; number the texts first, the same way in all graphs"
            raise TypeError(told)
        labels.append(int(value))
    return np.array(labels, dtype=np.int64)


def _held(vertex, held, name):
    if held.get(name) is None:
        raise ValueError(f"vertex {vertex!r}: expected an attribute {name!r}, found none")
    return held[name]


def _number(value, what):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what}: expected a number, found {value!r}") from None
