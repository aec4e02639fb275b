"""Datasets written to files, for the command line and for other machines."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _stepwell
from ._batches import as_batch
from ._datasets import Dataset
from ._targets import refuse_gaps
from ._types import AnyGraphs


def save_dataset(
    path: str | os.PathLike[str],
    graphs: AnyGraphs,
    y: ArrayLike | None = None,
    *,
    ids: Iterable[Any] | None = None,
    split: Iterable[str] | None = None,
) -> None:
    """Writes graphs to a file that the command line and :func:`load_dataset` read.

    The file appears whole or not at all.

    Parameters
    ----------
    path : path
        ``.parquet`` or ``.jsonl``; ``.zip``, or a folder, is the TU Dortmund
        layout, which is refused where it has no place for something.
    graphs : sequence of graphs
        As models take them. Their features become attributes (``x``), labels
        ``node_label``; graphs of a loaded dataset are written with what they
        came with, unscaled. Of a whole :class:`Dataset`, ``y``, ``ids`` and
        ``split`` are written too, unless given, and Parquet says whether
        attributes are to be scaled again.
    y : array, optional
        What is to be predicted, one per graph: whole numbers or texts for
        classes, real numbers for numbers.
    ids : sequence, optional
        The graphs' names.
    split : sequence of str, optional
        "train", "validation" or "test" for each graph.

    Examples
    --------
    >>> import networkx as nx
    >>> from stepwell import load_dataset, save_dataset
    >>> save_dataset("both.parquet", [nx.cycle_graph(5), nx.path_graph(4)], ["ring", "path"])
    >>> load_dataset("both.parquet").y
    array(['ring', 'path'], dtype='<U4')
    """
    if isinstance(graphs, Dataset):
        y = graphs.y if y is None else y
        ids = graphs.ids if ids is None else ids
        split = graphs.split if split is None else split
    batch = as_batch(graphs)
    targets = None if y is None else _as_targets(y)
    names = None if ids is None else [str(name) for name in ids]
    parts = None if split is None else [str(part) for part in split]
    for what, values in (("y", targets), ("ids", names), ("split", parts)):
        if values is not None and len(values) != len(batch):
            raise ValueError(f"{what}: expected {len(batch)} values, one per graph, found {len(values)}")
    _stepwell.save_dataset(os.fspath(path), batch, targets, names, parts)


def _as_targets(y):
    """A list of whole numbers, of real ones, or of texts."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y: expected 1 dimension, found {y.ndim}")
    refuse_gaps(y)
    if y.dtype.kind == "O":
        if not all(isinstance(value, str) for value in y):
            y = np.array(y.tolist())
    if y.dtype.kind not in "biufUO" or (y.dtype.kind == "O" and not all(isinstance(value, str) for value in y)):
        raise TypeError(f"y: expected whole numbers, real numbers or texts, found {y.dtype}")
    return y.astype(np.int64).tolist() if y.dtype.kind == "b" else y.tolist()
