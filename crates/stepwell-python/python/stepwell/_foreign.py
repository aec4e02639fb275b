"""Conversion of graphs from other libraries, none of which need be installed."""

import numbers
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp

from ._graphs import Graph, kind_of
from ._stepwell import DirectionsDiffer
from ._types import AnyGraph


def as_graph(
    value: AnyGraph,
    *,
    features: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    weight: str | None = None,
    edge_label: str | Sequence[str] | None = None,
    edge_attr: str | Sequence[str] | None = None,
) -> Graph:
    """Converts a graph of another library to a :class:`Graph`.

    Parameters
    ----------
    value : a graph
        A :class:`Graph`; a SciPy sparse adjacency matrix, alone or in a pair
        with features or None; a pair of a (2, E) integer array of edges and
        features or None; a graph of networkx, igraph, PyTorch Geometric
        (``Data``) or DGL. Vertices are numbered in the library's order.
    features : str or list of str, optional
        The vertex attribute, or several, to use as features: a number or a list
        of numbers per vertex. By default ``x`` if it exists (DGL: ``feat``, then
        ``x``).
    label : str or list of str, optional
        The vertex attribute, or several, to use as labels: integers.
    weight : str, optional
        The edge attribute to use as weight. By default ``weight`` if it exists
        (PyTorch Geometric: ``edge_weight``). An edge without it has weight 1, as
        in networkx.
    edge_label : str or list of str, optional
        The edge attribute, or several, to use as edge labels: integers.
    edge_attr : str or list of str, optional
        The edge attribute, or several, to use as edge attributes: a number or a
        list of numbers per edge. By default ``edge_attr`` of PyTorch Geometric if
        it exists, as labels if it holds integers; an empty list ignores it.

    Notes
    -----
    If the two directions of an edge of PyTorch Geometric or DGL have different
    labels or attributes, the graph becomes directed, with a warning.

    Examples
    --------
    >>> import networkx as nx
    >>> from stepwell import as_graph
    >>> graph = nx.Graph()
    >>> graph.add_edge("a", "b", cost=3.0, bond=1, length=1.5)
    >>> graph.add_edge("b", "c", cost=4.0, bond=2, length=1.2)
    >>> nx.set_node_attributes(graph, {"a": 0, "b": 1, "c": 0}, "kind")
    >>> made = as_graph(graph, label="kind", weight="cost", edge_label="bond", edge_attr=["length"])
    >>> made.adjacency.toarray()
    array([[0., 3., 0.],
           [3., 0., 4.],
           [0., 4., 0.]])
    >>> made.labels, made.edge_label
    (array([0, 1, 0], dtype=int32), array([1, 1, 2, 2], dtype=int32))
    """
    names = {
        "features": features,
        "label": label,
        "weight": weight,
        "edge_label": edge_label,
        "edge_attr": edge_attr,
    }
    reader = _reader(value)
    if reader is not None:
        return reader(value, **names)
    if not isinstance(value, Graph) and not sp.issparse(value) and not (isinstance(value, tuple) and len(value) == 2):
        hint = "; convert SMILES with stepwell.molecules.from_smiles" if isinstance(value, str) else ""
        raise TypeError(
            "expected a stepwell.Graph, a scipy sparse matrix, a pair (scipy sparse matrix, features), a pair "
            "((2, E) integer array, features), or a graph of networkx, igraph, torch_geometric or dgl, "
            f"found {kind_of(value)}{hint}"
        )
    given = [name for name, attribute in names.items() if attribute is not None]
    if given:
        raise TypeError(f"{given[0]}: {kind_of(value)} has no named attributes")
    if isinstance(value, Graph):
        return value
    return Graph(value) if sp.issparse(value) else Graph(*value)


def is_foreign(value):
    """Whether it is one graph of another library, even if it looks like a list."""
    return _reader(value) is not None


def is_joined(value):
    """Whether it is a batch of PyTorch Geometric: several graphs in one."""
    return hasattr(value, "edge_index") and getattr(value, "ptr", None) is not None


def _reader(value):
    # Duck typing: no library is imported.
    if isinstance(value, type):
        return None
    if hasattr(value, "edge_index"):  # of a whole dataset, those of all its graphs
        return None if callable(getattr(value, "indices", None)) else _from_pyg
    if hasattr(value, "adj") and hasattr(value, "nodes") and hasattr(value, "is_multigraph"):
        return _from_dgl if hasattr(value, "ndata") else partial(_from_listed, _networkx)
    if hasattr(value, "get_edgelist") and hasattr(value, "vs"):
        return partial(_from_listed, _igraph)
    if hasattr(value, "ndata") and hasattr(value, "edata"):
        return _from_dgl
    return None


def _networkx(graph):
    position = {vertex: at for at, vertex in enumerate(graph)}
    listed = list(graph.edges(data=True))
    ends = np.array([(position[u], position[v]) for u, v, _ in listed], dtype=np.int64).reshape(-1, 2).T
    data = [(vertex, graph.nodes[vertex]) for vertex in graph]
    return ends, data, [((u, v), held) for u, v, held in listed]


def _igraph(graph):
    # igraph stores every attribute for every vertex and edge, with None for missing values.
    held = lambda item: {name: value for name, value in item.attributes().items() if value is not None}
    data = [(vertex.index, held(vertex)) for vertex in graph.vs]
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2).T
    return ends, data, [(edge.tuple, held(edge)) for edge in graph.es]


def _from_listed(listed, graph, features, label, weight, edge_label, edge_attr):
    """A graph of a library that stores attributes per vertex and edge; ``listed`` returns them and the edges."""
    ends, data, edges = listed(graph)
    _warn_of_unused_vertices(data, features, label)
    _warn_of_unused_edges(edges, weight, edge_label, edge_attr)
    rows = _columns(data, "x" if features is None and any("x" in held for _, held in data) else features)
    return Graph(
        ends,
        rows,
        feature_names=_names(features, rows),
        num_nodes=len(data),
        weights=_weights(edges, weight),
        labels=_whole(data, label),
        edge_label=_whole(edges, edge_label, "edge"),
        edge_attr=_columns(edges, edge_attr, "edge"),
        directed=graph.is_directed(),
    )


def _from_pyg(data, features, label, weight, edge_label, edge_attr):
    return _either_way(as_array(data.edge_index), **pyg_parts(data, features, label, weight, edge_label, edge_attr))


def _either_way(edges, **parts):
    """A graph of a library that lists both directions of edges; directed if their data differ."""
    try:
        return Graph(edges, **parts)
    except DirectionsDiffer:
        warnings.warn(
            "the two directions of an edge have different labels or attributes; the graph is read as directed",
            stacklevel=5,
        )
    return Graph(edges, **parts, directed=True)


def pyg_parts(data, features=None, label=None, weight=None, edge_label=None, edge_attr=None):
    """The tensors of a ``Data`` object or batch, as parameters of :class:`Graph`."""
    held = lambda name: getattr(data, name, None)
    weights = _tensor(held, weight, "edge_weight", "weight")
    if weights is not None and weights.ndim == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    parts = {
        "features": _side_by_side(held, ["x"] if features is None and held("x") is not None else features, "features"),
        "num_nodes": int(data.num_nodes),
        "weights": weights,
        "labels": _side_by_side(held, label, "label"),
        "edge_label": _side_by_side(held, edge_label, "edge_label"),
        "edge_attr": _side_by_side(held, edge_attr, "edge_attr"),
    }
    usual = _tensor(held, None, "edge_attr", "edge_attr")
    if usual is not None and edge_attr is None and "edge_attr" not in [weight, *_listed(edge_label)]:
        whole = usual.dtype.kind in "biu"
        if whole and edge_label is None:
            parts["edge_label"] = usual.astype(np.int64)
        else:
            parts["edge_attr"] = usual
    return parts


def _from_dgl(graph, features, label, weight, edge_label, edge_attr):
    sources, targets = (as_array(ends) for ends in graph.edges())
    of_vertices, of_edges = graph.ndata.get, graph.edata.get
    usual = [name for name in ("feat", "x") if name in graph.ndata][:1]
    _warn_of_unused_edges([(None, dict.fromkeys(graph.edata, 0))], weight, edge_label, edge_attr)
    return _either_way(
        np.stack([sources, targets]),
        features=_side_by_side(of_vertices, usual if features is None else features, "features"),
        num_nodes=int(graph.num_nodes()),
        weights=_tensor(of_edges, weight, "weight", "weight"),
        labels=_side_by_side(of_vertices, label, "label"),
        edge_label=_side_by_side(of_edges, edge_label, "edge_label"),
        edge_attr=_side_by_side(of_edges, edge_attr, "edge_attr"),
    )


def as_array(tensor):
    """A tensor on any device, as an array."""
    for step in ("detach", "cpu", "numpy"):
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return np.asarray(tensor)


def as_matrix(tensor):
    """A tensor as an array, or as a SciPy matrix if it is sparse."""
    if sp.issparse(tensor):
        return tensor
    if hasattr(tensor, "to_scipy"):  # of torch_sparse
        return tensor.to_scipy(layout="csr")
    if "sparse" in str(getattr(tensor, "layout", "")):
        tensor = tensor.detach().cpu().to_sparse_csr()
        parts = (tensor.values(), tensor.col_indices(), tensor.crow_indices())
        return sp.csr_matrix(tuple(as_array(part) for part in parts), shape=tuple(tensor.shape))
    return as_array(tensor)


def _tensor(held, name, usual, what):
    found = held(usual if name is None else name)
    if found is None and name is not None:
        raise ValueError(f"{what}: expected an attribute {name!r}, found none")
    return None if found is None else as_matrix(found)


def _listed(names):
    """One name or several, as a list."""
    return [names] if isinstance(names, str) else list(names or ())


def _side_by_side(held, names, what):
    """The named tensors, concatenated; None without names."""
    parts = [_tensor(held, name, None, what) for name in _listed(names)]
    parts = [part[:, np.newaxis] if part.ndim == 1 else part for part in parts]
    if len(parts) < 2:
        return parts[0] if parts else None
    if any(sp.issparse(part) for part in parts):
        return sp.hstack([sp.csr_matrix(part) for part in parts], format="csr")
    return np.concatenate([part.reshape(len(part), int(np.prod(part.shape[1:]))) for part in parts], axis=1)


def _warn_of_unused_vertices(vertices, features, label):
    """Warns once of vertex attributes that are not used."""
    if features is None and label is None and vertices and "x" not in vertices[0][1]:
        _warn_of_unused("vertices", vertices[0][1], ("id", "name", "pos", "_nx_name"), "features", "label")


def _warn_of_unused_edges(edges, weight, edge_label, edge_attr):
    """Warns once of edge attributes that are not used."""
    if edge_label is None and edge_attr is None and edges:
        known = ("weight" if weight is None else weight, "id", "key", "_ID", "_TYPE", "_nx_name")
        _warn_of_unused("edges", edges[0][1], known, "edge_attr", "edge_label")


def _warn_of_unused(what, held, known, real, category):
    numeric = [name for name, value in held.items() if isinstance(value, numbers.Real) and name not in known]
    texts = [name for name, value in held.items() if isinstance(value, str) and name not in known]
    ways = []
    if numeric:
        ways.append(f"{real}=[{', '.join(map(repr, numeric))}]")
    if texts or numeric:
        named = repr(texts[0]) if texts else "…"
        ways.append(f"{category}={named} for a category" + (", after numbering its strings" if texts else ""))
    if ways:
        unused = ", ".join(map(repr, numeric + texts))
        warnings.warn(f"{what} have unused attributes {unused}; to use them, pass {' or '.join(ways)} to as_graph", stacklevel=5)


def _weights(edges, name):
    """One number per edge; None if no edge has one."""
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


def _columns(items, names, item="vertex"):
    """One row of numbers per vertex or edge; None without names."""
    if names is None:
        return None
    rows, first = [], None
    for name_of, held in items:
        row = []
        for name in _listed(names):
            value, what = _held(item, name_of, held, name), f"{item} {name_of!r}: attribute {name!r}"
            row += [_number(each, what) for each in np.ravel(as_array(value)).tolist()]
        first = len(row) if first is None else first
        if len(row) != first:
            what = "features, like the vertices" if item == "vertex" else "numbers, like the edges"
            raise ValueError(f"{item} {name_of!r}: expected {first} {what} before it, found {len(row)}")
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(len(rows), first or 0)


def _names(features, rows):
    """The names of columns, if every named attribute is one column."""
    names = _listed(features)
    return names if rows is not None and len(rows) and 0 < len(names) == rows.shape[1] else None


def _whole(items, names, item="vertex"):
    """One row of labels per vertex or edge; None without names."""
    if not _listed(names):
        return None
    labels = []
    for name_of, held in items:
        for name in _listed(names):
            value = _held(item, name_of, held, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
                told = f"{item} {name_of!r}: attribute {name!r}: expected an integer, found {value!r}"
                if isinstance(value, str):
                    told += "; number the strings first, the same way in all graphs"
                raise TypeError(told)
            labels.append(int(value))
    return np.array(labels, dtype=np.int64).reshape(len(items), -1 if items else len(_listed(names)))


def _held(item, name_of, held, name):
    if held.get(name) is None:
        raise ValueError(f"{item} {name_of!r}: expected an attribute {name!r}, found none")
    return held[name]


def _number(value, what):
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what}: expected a number, found {value!r}") from None
