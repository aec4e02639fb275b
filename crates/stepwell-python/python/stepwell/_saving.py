"""Writes datasets to files."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _stepwell
from ._batches import as_batch
from ._datasets import Dataset
from ._targets import as_array, as_labels, as_matrix, known_vertices
from ._types import AnyGraphs, AnyPath


def save_dataset(
    path: AnyPath,
    graphs: AnyGraphs,
    y: ArrayLike | None = None,
    *,
    ids: Iterable[Any] | None = None,
    split: Iterable[str] | None = None,
    node_y: ArrayLike | list[Any] | None = None,
    node_split: ArrayLike | list[Any] | None = None,
) -> None:
    """Writes graphs to a file that the command line and :func:`load_dataset` read.

    The file appears completely or not at all.

    Parameters
    ----------
    path : path
        ``.parquet`` or ``.jsonl``. ``.zip``, or a folder, selects the TU Dortmund
        layout; data that it cannot represent are an error.
    graphs : sequence of graphs
        Any graphs that models accept. Features become ``x``, labels become
        ``node_label``; ``edge_label`` and ``edge_attr`` keep their names. From a
        :class:`Dataset`, ``y``, ``ids``, ``split``, ``node_y`` and ``node_split`` are
        written as well, unless given.
    y : array, optional
        The targets, one per graph: integers, strings or booleans for classes,
        floats for numbers. With two dimensions, several targets: numbers, or 0 and
        1, with NaN for unknown values.
    ids : sequence, optional
        The ids of the graphs.
    split : sequence of str, optional
        "train", "validation" or "test" for each graph.
    node_y : list of arrays, optional
        The targets of vertices, an array per graph; -1, NaN or None means unknown.
    node_split : list of arrays, optional
        "train", "validation", "test" or "" for each vertex, an array per graph. For
        several splits, arrays of shape (splits, vertices).

    Examples
    --------
    >>> import networkx as nx
    >>> from stepwell import load_dataset, save_dataset
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "both.parquet")
    ...     save_dataset(path, [nx.cycle_graph(5), nx.path_graph(4)], ["ring", "path"])
    ...     load_dataset(path).y
    array(['ring', 'path'], dtype='<U4')
    """
    if isinstance(graphs, Dataset):
        y = graphs.y if y is None else y
        ids = graphs.ids if ids is None else ids
        split = graphs.split if split is None else split
        node_y = graphs.node_y if node_y is None else node_y
        node_split = graphs.node_split if node_split is None else node_split
    batch = as_batch(graphs)
    targets = None if y is None else _as_targets(y)
    names = None if ids is None else [str(name) for name in ids]
    parts = None if split is None else [str(part) for part in split]
    for what, values in (("y", targets), ("ids", names), ("split", parts)):
        if values is not None and len(values) != len(batch):
            raise ValueError(f"{what}: expected {len(batch)} values, one per graph, found {len(values)}")
    of_vertices = None
    if node_y is not None:
        rows, values, _ = known_vertices(batch.sizes(), node_y)
        of_vertices = rows, _as_targets(values)
    splits = [] if node_split is None else _as_splits(node_split, batch.sizes())
    _stepwell.save_dataset(os.fsdecode(path), batch, targets, names, parts, of_vertices, splits)


def _as_splits(given, sizes):
    """The part of each vertex, a list for every split; None for vertices in no part."""
    if len(given) != len(sizes):
        raise ValueError(f"node_split: expected {len(sizes)} arrays, one per graph, found {len(given)}")
    rows = [np.atleast_2d(np.asarray(part, dtype=np.str_)) for part in given]
    for graph, (row, size) in enumerate(zip(rows, sizes)):
        if row.shape[1] != size or len(row) != len(rows[0]):
            expected = f"({len(rows[0])}, {size})"
            raise ValueError(f"node_split: expected an array of shape {expected} for graph {graph}, found {row.shape}")
    return [[name or None for name in split] for split in np.concatenate(rows, axis=1).tolist()]


def _as_targets(y):
    """A list of integers, floats, booleans or strings, or a matrix of numbers."""
    if np.ndim(y) == 2:
        return as_matrix(y)[0]
    y = as_array(y)
    if y.ndim != 1:
        raise ValueError(f"y: expected 1 or 2 dimensions, found {y.ndim}")
    return as_labels(y)
