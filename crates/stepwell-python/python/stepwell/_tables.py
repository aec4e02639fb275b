"""Tables of edges: one row per edge, of many graphs."""

from collections.abc import Sequence

import numpy as np

from ._datasets import Dataset, _Graphs
from ._graphs import as_labels, kind_of
from ._stepwell import RawBatch
from ._types import AnyTable


def from_edges(
    edges: AnyTable,
    nodes: AnyTable | None = None,
    *,
    graph: str = "graph",
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    node: str = "node",
    features: Sequence[str] = (),
    label: str | Sequence[str] | None = None,
    edge_label: str | Sequence[str] | None = None,
    edge_attr: str | Sequence[str] | None = None,
    directed: bool = False,
) -> Dataset:
    """Builds graphs from a table of edges and an optional table of vertices.

    Parameters
    ----------
    edges : pandas or Polars data frame, pyarrow table, or mapping of arrays
        A row per edge: its graph and the two vertices. Graphs and vertices may have
        any names. Without a column ``graph``, all edges belong to one graph.
    nodes : the same kinds of table, optional
        A row per vertex: its graph, its name, and its features and labels. With it,
        graphs and vertices have the order of this table, and graphs may have no
        edges. Without it, graphs have the order of their first edge, and vertices
        are those with an edge, sorted.
    graph, source, target, node : str
        The names of the columns.
    weight : str, optional
        The column of edge weights; by default ``weight`` if it exists.
    features : list of str
        Columns of ``nodes`` with numbers.
    label : str or list of str, optional
        A column of ``nodes`` with integers, or several.
    edge_label : str or list of str, optional
        A column of ``edges`` with integers, or several; by default ``edge_label``
        if it exists.
    edge_attr : str or list of str, optional
        A column of ``edges`` with numbers, or several; by default ``edge_attr`` if
        it exists.
    directed : bool
        Whether edges have a direction.

    Returns
    -------
    Dataset
        A dataset whose ``ids`` are the names of the graphs.

    Examples
    --------
    >>> from stepwell import from_edges
    >>> dataset = from_edges({"graph": ["a", "a", "b"], "source": [7, 8, 1], "target": [8, 9, 2]})
    >>> dataset.ids, [graph.num_nodes for graph in dataset.graphs]
    (['a', 'b'], [3, 2])

    With edge labels:

    >>> bonds = from_edges({"source": [0, 1], "target": [1, 2], "bond": [1, 2]}, edge_label="bond")
    >>> bonds.graphs[0].edge_label
    array([1, 1, 2, 2], dtype=int32)
    """
    table = _Table(edges, "edges")
    ends = [table.column(name) for name in (source, target)]
    weights = None
    if weight is not None or "weight" in table.names:
        weights = _numbers(table.column("weight" if weight is None else weight), f"edges: column {weight or 'weight'!r}")
    edge_labels = _named_labels(table, usual_columns(edge_label, "edge_label", table.names), "edges")
    edge_attributes = _side_by_side(table, usual_columns(edge_attr, "edge_attr", table.names), "edges")
    owners = table.column(graph) if graph in table.names else np.zeros(len(ends[0]), dtype=np.int64)
    if nodes is None:
        for what, given in (("features", len(features)), ("label", label is not None)):
            if given:
                raise ValueError(f"{what}: expected a table of vertices (nodes=), found none")
        ids, of_edge = _codes_in_order(owners, graph)
        vertices, ends = _vertices_at_edges(of_edge, ends, len(ids))
        order, rows, labels = slice(None), None, None
    else:
        table = _Table(nodes, "nodes")
        names = table.column(node)
        node_owners = table.column(graph) if graph in table.names else np.zeros(len(names), dtype=np.int64)
        ids, of_node = _codes_in_order(node_owners, graph)
        of_edge = _look_up(owners, ids, graph)
        order = np.argsort(of_node, kind="stable")
        vertices, ends = _vertices_listed(of_node[order], names[order], of_edge, ends, ids)
        rows = _ordered(_side_by_side(table, list(features), "nodes"), order)
        labels = _ordered(_named_labels(table, usual_columns(label), "nodes"), order)
    by_graph = np.argsort(of_edge, kind="stable")
    raw = RawBatch.of_arrays(
        vertices.astype(np.int64),
        np.bincount(of_edge, minlength=len(ids)).astype(np.int64),
        ends[0][by_graph].astype(np.uint32),
        ends[1][by_graph].astype(np.uint32),
        None if weights is None else weights[by_graph],
        rows,
        labels,
        bool(directed),
        [str(name) for name in features] or None,
        _ordered(edge_labels, by_graph),
        _ordered(edge_attributes, by_graph),
    )
    return Dataset(name="edges", graphs=_Graphs(raw), y=None, ids=ids.tolist(), split=None)


class _Table:
    """The columns of any kind of table."""

    def __init__(self, table, what):
        if hasattr(table, "collect") and hasattr(table, "lazy"):  # Polars, not yet collected
            table = table.collect()
        self._table, self._what = table, what
        names = getattr(table, "column_names", None)  # pyarrow's columns have no names
        if names is None:
            names = getattr(table, "columns", None)
        if names is None and hasattr(table, "keys"):
            names = table.keys()
        if names is None:
            raise TypeError(f"{what}: expected a table, found {kind_of(table)}")
        self.names = list(names)

    def column(self, name):
        if name not in self.names:
            raise ValueError(f"{self._what}: expected a column {name!r}, found {', '.join(map(str, self.names))}")
        column = self._table[name]
        if hasattr(column, "combine_chunks"):
            column = column.to_numpy()
        column = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        column = np.asarray(column)
        if column.ndim != 1:
            raise ValueError(f"{self._what}: column {name!r}: expected 1 dimension, found {column.ndim}")
        if column.dtype.kind in "fO":
            null = np.array([value is None or value != value for value in column.tolist()], dtype=bool)
            if null.any():
                raise ValueError(f"{self._what}: column {name!r}, row {null.argmax()}: expected a value, found none")
        return column


def usual_columns(names, usual=None, known=()):
    """Names of columns as a list; by default the usual one if it exists."""
    if names is None:
        return [usual] if usual in known else []
    return [names] if isinstance(names, str) else list(names)


def _named_labels(table, names, what):
    """Columns of labels side by side, or None without any."""
    columns = [as_labels(table.column(name), f"{what}: column {name!r}") for name in names]
    return np.concatenate(columns, axis=1) if columns else None


def _side_by_side(table, names, what):
    """Columns of numbers side by side, or None without any."""
    columns = [_numbers(table.column(name), f"{what}: column {name!r}") for name in names]
    return np.stack(columns, axis=1) if columns else None


def _ordered(rows, order):
    return None if rows is None else np.ascontiguousarray(rows[order])


def is_edge_table(names):
    """Whether columns of these names are a table of edges."""
    return {"source", "target"} <= set(names) and "src" not in names


def _codes_in_order(values, name):
    """The distinct values in order of first appearance, and the index of each row's value."""
    distinct, first, codes = _unique(values, name, return_index=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return distinct[order], place[codes]


def _unique(values, name, **also):
    try:
        return np.unique(values, return_inverse=True, **also)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in values.tolist()})
        raise TypeError(f"column {name!r}: expected values of one kind, found {' and '.join(kinds)}") from None


def _joined(arrays, name):
    """Concatenates arrays; numbers do not become strings."""
    kinds = {"n" if array.dtype.kind in "biuf" else "t" for array in arrays if array.size}
    if len(kinds) > 1:
        raise TypeError(f"column {name!r}: expected values of one kind, found numbers and strings")
    return np.concatenate(arrays)


def _vertices_at_edges(of_edge, ends, graphs):
    """The number of vertices with an edge, per graph, and the edges between vertex numbers."""
    names, codes = _unique(_joined(ends, "source"), "source")
    keys = np.concatenate([of_edge, of_edge]) * max(len(names), 1) + codes
    present, places = np.unique(keys, return_inverse=True)
    vertices = np.bincount(present // max(len(names), 1), minlength=graphs)
    first = np.cumsum(vertices) - vertices
    numbers = places - first[np.concatenate([of_edge, of_edge])]
    return vertices, np.split(numbers, 2)


def _vertices_listed(of_node, names, of_edge, ends, ids):
    """The same for vertices listed graph by graph."""
    distinct, codes = _unique(_joined([names, *ends], "node"), "node")
    node_codes, *end_codes = np.split(codes, [len(names), len(names) + len(ends[0])])
    keys = of_node * max(len(distinct), 1) + node_codes
    order = np.argsort(keys, kind="stable")
    twice = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    if twice.size:
        at = order[twice[0]]
        raise ValueError(f"nodes: expected every vertex once, found {names[at]!r} of graph {ids[of_node[at]]!r} twice")
    vertices = np.bincount(of_node, minlength=len(ids))
    first = np.cumsum(vertices) - vertices
    numbered = []
    for codes in end_codes:
        wanted = of_edge * max(len(distinct), 1) + codes
        at = np.minimum(np.searchsorted(keys[order], wanted), max(len(keys) - 1, 0))
        missing = np.flatnonzero(keys[order][at] != wanted) if len(keys) else np.arange(len(wanted))
        if missing.size:
            row = missing[0]
            name, owner = distinct[codes[row]], ids[of_edge[row]]
            raise ValueError(f"edges, row {row}: vertex {name!r} of graph {owner!r} is not in the table of vertices")
        numbered.append(order[at] - first[of_edge])
    return vertices, numbered


def _look_up(owners, ids, name):
    """The index of each edge's graph among those of the vertex table."""
    _joined([ids, owners], name)
    order = np.argsort(ids)
    at = np.minimum(np.searchsorted(ids[order], owners), max(len(ids) - 1, 0))
    missing = np.flatnonzero(ids[order][at] != owners) if len(ids) else np.arange(len(owners))
    if missing.size:
        row = missing[0]
        raise ValueError(f"edges, row {row}: graph {owners[row]!r} is not in the table of vertices")
    return order[at]


def _numbers(values, what):
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{what}: expected numbers, found {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.float64)
