"""Conversion of many graphs, in any format, to one batch."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._datasets import Dataset, _Graphs
from ._foreign import as_array, as_graph, is_foreign, is_joined, pyg_parts
from ._graphs import Graph, as_attributes, as_labels, check_matrix, kind_of
from ._stepwell import RawBatch, RawRows
from ._tables import from_edges, is_edge_table
from ._types import AnyGraphs


def as_batch(graphs: AnyGraphs) -> RawBatch:
    """Converts a sequence of graphs, a dataset, a batch of another library, or a
    table with a graph or an edge per row."""
    if isinstance(graphs, Dataset):
        graphs = graphs.graphs
    if isinstance(graphs, RawBatch):
        return graphs
    if isinstance(graphs, _Graphs):
        return graphs._raw
    if is_joined(graphs):
        return _of_joined(graphs)
    if is_series(graphs):
        graphs = graphs.tolist()
    table = as_arrow(graphs)
    if table is not None:
        return _of_table(table)
    alone = isinstance(graphs, (Graph, str, bytes, dict)) or sp.issparse(graphs) or is_foreign(graphs)
    if alone or not hasattr(graphs, "__iter__"):
        raise TypeError(f"graphs: expected a sequence of graphs, found {kind_of(graphs)}")
    graphs = list(graphs)
    batch = _of_matrices(graphs)
    return _one_by_one(graphs) if batch is None else batch


def as_input(given: AnyGraphs, molecules: Any, n_jobs: int | None, verbose: bool) -> RawBatch:
    """Converts the input of an estimator: graphs, or SMILES and RDKit molecules if
    ``molecules`` names a feature set."""
    if molecules is None or isinstance(given, (Dataset, RawBatch, _Graphs)):
        return as_batch(given)
    if isinstance(given, (list, tuple)) and given and all(isinstance(graph, Graph) for graph in given):
        return as_batch(given)  # molecules that were pickled
    from .molecules._read import for_estimator  # needs RDKit

    return for_estimator(given, molecules, n_jobs, verbose)


def molecule_features(given: str) -> str | None:
    """The feature set that an estimator's ``input`` names; None for graphs."""
    known = {"graphs": None, "smiles": "default", "smiles:ogb": "ogb"}
    if given not in known:
        raise ValueError(f"input: expected one of {', '.join(map(repr, known))}, found {given!r}")
    return known[given]


def is_series(value):
    """Whether it is a column of a data frame, such as a column of graphs."""
    return hasattr(value, "tolist") and hasattr(value, "name") and not hasattr(value, "columns")


def as_arrow(value):
    """An object that exports Arrow data or has columns; otherwise None."""
    if isinstance(value, type):
        return None
    if hasattr(value, "collect") and hasattr(value, "lazy"):  # Polars, not yet collected
        value = value.collect()
    if hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__"):
        return value
    if hasattr(value, "scanner"):  # a pyarrow dataset: a table in many files
        value = value.scanner()
    if hasattr(value, "to_reader"):
        return value.to_reader()
    return value if hasattr(value, "columns") and hasattr(value, "iloc") else None


def _of_table(table):
    names = getattr(table, "column_names", None)
    if names is None:
        of_schema = getattr(getattr(table, "schema", None), "names", None)
        names = of_schema if isinstance(of_schema, list) else getattr(table, "columns", ())
    if is_edge_table(names):
        if "graph" not in names:
            raise ValueError("graphs: expected a column 'graph' with the graph of each edge, found none")
        _warn_of_unused_columns(names)
        return from_edges(table).graphs._raw
    if "src" not in names and hasattr(table, "iloc"):
        listed = ", ".join(map(repr, names))
        raise TypeError(f"graphs: expected columns num_nodes, src and dst, found {listed}; to pass a column of graphs, use df['name']")
    return RawRows.whole(table)


def _warn_of_unused_columns(names):
    """Warns of columns of an edge table that are not used."""
    known = ("graph", "source", "target", "weight", "edge_label", "edge_attr", "id", "index")
    unused = [name for name in map(str, names) if name not in known and not name.startswith("__")]
    if unused:
        told, listed = ", ".join(map(repr, unused)), f"[{', '.join(map(repr, unused))}]"
        ways = f"from_edges(edges, edge_attr={listed}), or edge_label=… for a category"
        warnings.warn(f"columns {told} of the edge table are not used; to use them, call {ways}", stacklevel=4)


def _one_by_one(graphs):
    converted = []
    for position, graph in enumerate(graphs):
        try:
            converted.append(as_graph(graph)._raw)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"graph {position}: {error}") from None
    return RawBatch.of_graphs(converted)


def _of_matrices(graphs):
    """A batch of SciPy matrices, with or without features, all at once.

    None if one of them has another format or needs further checks.
    """
    pairs = [graph if isinstance(graph, tuple) and len(graph) == 2 else (graph, None) for graph in graphs]
    if not pairs or not all(sp.issparse(matrix) for matrix, _ in pairs):
        return None
    for matrix, _ in pairs:
        check_matrix(matrix, "adjacency")
    matrices = [matrix if matrix.format == "csr" else matrix.tocsr() for matrix, _ in pairs]
    if any(len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1] for matrix in matrices):
        return None
    if any(matrix.dtype.kind not in "biuf" for matrix in matrices):
        return None
    vertices = np.array([matrix.shape[0] for matrix in matrices], dtype=np.int64)
    features = _stacked([rows for _, rows in pairs], vertices)
    if features is False:
        return None
    edges = np.array([matrix.indptr[-1] for matrix in matrices], dtype=np.int64)
    columns = np.concatenate([matrix.indices[:size] for matrix, size in zip(matrices, edges)])
    weights = np.concatenate([matrix.data[:size] for matrix, size in zip(matrices, edges)]).astype(np.float64)

    # The entries of every row of all matrices, counted from 0 in each.
    ends = np.concatenate([matrix.indptr[1:] for matrix in matrices]).astype(np.int64)
    first = np.cumsum(vertices) - vertices
    entries = np.diff(ends, prepend=0)
    entries[first[vertices > 0]] = ends[first[vertices > 0]]
    rows = np.repeat(np.arange(len(ends)), entries)
    repeated = (np.diff(rows) == 0) & (np.diff(columns) <= 0)
    if columns.size and (columns.min() < 0 or repeated.any()):
        return None
    sources = np.repeat(np.arange(len(ends)) - np.repeat(first, vertices), entries).astype(np.uint32)
    weights = None if (weights == 1).all() else weights
    columns = columns.astype(np.uint32)
    return RawBatch.of_arrays(vertices, edges, sources, columns, weights, features, None, False)


def _stacked(features, vertices):
    """The features of all graphs in one array; None without features, False if they need further checks."""
    if all(rows is None for rows in features):
        return None
    if any(rows is None for rows in features):
        return False
    try:
        features = [np.asarray(rows) for rows in features]
    except ValueError:
        return False
    width = features[0].shape[-1] if features[0].ndim else 0
    for rows, count in zip(features, vertices):
        if rows.ndim != 2 or rows.shape != (count, width) or rows.dtype.kind not in "biuf":
            return False
    return np.concatenate(features).astype(np.float64, order="C")


def _of_joined(batch):
    """Splits a PyTorch Geometric batch into graphs."""
    parts = pyg_parts(batch)
    Graph(as_array(batch.edge_index), **parts)  # checks everything that can be wrong with it
    first = as_array(batch.ptr).astype(np.int64)
    sources, targets = as_array(batch.edge_index).astype(np.int64)
    owner = np.searchsorted(first, sources, side="right") - 1
    across = np.flatnonzero(owner != np.searchsorted(first, targets, side="right") - 1)
    if across.size:
        raise ValueError(f"graph {owner[across[0]]}: edge {across[0]} of the batch leads to another graph")
    order = np.argsort(owner, kind="stable")
    weights, features = parts["weights"], parts["features"]
    labels, attributes = parts["edge_label"], parts["edge_attr"]
    if sp.issparse(features):
        return _of_joined_sparse(first, owner, sources, targets, {**parts, "features": features.tocsr()})
    return RawBatch.of_arrays(
        np.diff(first),
        np.bincount(owner, minlength=len(first) - 1).astype(np.int64),
        (sources - first[owner])[order].astype(np.uint32),
        (targets - first[owner])[order].astype(np.uint32),
        None if weights is None else np.ascontiguousarray(weights[order], dtype=np.float64),
        None if features is None else np.ascontiguousarray(features, dtype=np.float64),
        None,
        False,
        edge_labels=None if labels is None else np.ascontiguousarray(as_labels(labels, "edge_label")[order]),
        edge_attributes=None if attributes is None else np.ascontiguousarray(as_attributes(attributes, "edge_attr")[order]),
    )


def _of_joined_sparse(first, owner, sources, targets, parts):
    """The same, graph by graph, for sparse features."""
    graphs = []
    for graph, (start, end) in enumerate(zip(first, first[1:])):
        edges = owner == graph
        carried = {name: parts[name] for name in ("weights", "edge_label", "edge_attr") if parts[name] is not None}
        graphs.append(
            Graph(
                np.stack([sources[edges], targets[edges]]) - start,
                parts["features"][start:end],
                **{name: values[edges] for name, values in carried.items()},
            )._raw
        )
    return RawBatch.of_graphs(graphs)
