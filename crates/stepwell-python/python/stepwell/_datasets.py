"""Datasets of graphs, loaded or generated."""

import operator
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from . import _stepwell
from ._graphs import Graph
from ._types import AnyPath, AnyTable, RandomState


class _Graphs(Sequence[Graph]):
    """The graphs of a dataset, converted to Python one by one on access.

    A slice, a list of positions or a mask selects graphs without converting
    them.
    """

    def __init__(self, raw):
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Graph: ...
    @overload
    def __getitem__(self, key: slice | list[int] | list[bool] | NDArray[Any]) -> "_Graphs": ...
    def __getitem__(self, key: Any) -> "Graph | _Graphs":
        if isinstance(key, slice):
            return _Graphs(self._raw.select(list(range(*key.indices(len(self))))))
        if hasattr(key, "__iter__"):
            return _Graphs(self._raw.select(_positions(key, len(self))))
        index = operator.index(key)
        if not -len(self) <= index < len(self):
            raise IndexError(f"graph {index}: expected a position from 0 to {len(self) - 1}")
        return Graph._wrap(self._raw.graph(index % len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (_Graphs, list)):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "Sequence[Graph]") -> list[Graph]:
        return list(self) + list(other)

    def __reduce__(self):
        # A copy in another process is an ordinary list of graphs.
        return list, (list(self),)

    def __repr__(self):
        return f"<{len(self)} graphs>"


def _positions(key, count):
    """The positions that a list of positions, or a mask, selects."""
    key = np.asarray(key)
    if key.dtype == bool:
        if key.shape != (count,):
            raise IndexError(f"graphs: expected a mask of {count} values, found shape {key.shape}")
        return np.flatnonzero(key).tolist()
    if key.size == 0:
        return []
    if key.dtype.kind not in "iu" or key.ndim != 1:
        raise IndexError(f"graphs: expected positions or a mask, found {key.dtype} of shape {key.shape}")
    outside = key[(key < -count) | (key >= count)]
    if outside.size:
        raise IndexError(f"graph {outside[0]}: expected a position from 0 to {count - 1}")
    return (key % count).tolist()


@dataclass(frozen=True, repr=False)
class Dataset:
    """Graphs with targets, ids, groups and splits."""

    #: The name of the dataset.
    name: str
    #: The graphs, as a sequence of :class:`Graph`, with vertex and edge data.
    graphs: _Graphs
    #: The targets: integers, strings, booleans or floats; None if unknown. Several
    #: targets are a float array with a row per graph and NaN for unknown values.
    y: NDArray[Any] | Any  # type checkers must not ask whether it is None
    #: The ids of the graphs, or None.
    ids: list[Any] | None
    #: "train", "validation" or "test" for each graph, if the data have a fixed split.
    split: NDArray[np.str_] | Any
    #: The names of the target columns, if they have names.
    target_names: list[str] = field(default_factory=list)
    #: The group of each graph, if ``groups`` named a column.
    groups: NDArray[np.str_] | Any = None
    #: The targets of vertices: an array per graph, with -1 (integers), NaN (floats) or None
    #: (others) for unknown values; None if no target is known.
    node_y: list[NDArray[Any]] | None = None
    #: "train", "validation", "test" or "" for every vertex, an array per graph, if vertices
    #: are split. For several splits, arrays of shape (splits, vertices).
    node_split: list[NDArray[np.str_]] | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {len(self)} graphs)"


def _wrap(raw):
    split, groups = raw.split(), raw.groups()
    for note in raw.notes():
        warnings.warn(note, stacklevel=3)
    graphs = raw.graphs()
    node_y, node_split = _of_vertices(raw, np.cumsum(graphs.sizes())[:-1], sum(graphs.sizes()))
    return Dataset(
        name=raw.name,
        graphs=_Graphs(graphs),
        y=raw.y(),
        ids=raw.ids(),
        split=None if split is None else np.array(split),
        target_names=raw.target_names(),
        groups=None if groups is None else np.array(groups, dtype=np.str_),
        node_y=node_y,
        node_split=node_split,
    )


def _of_vertices(raw, ends, count):
    """Targets and splits of vertices, an array per graph."""
    known, splits = raw.node_y(), raw.node_split()
    targets = None
    if known is not None:
        rows, values = known
        whole = values
        if len(rows) < count:
            kind = values.dtype.kind
            unknown = -1 if kind == "i" and not (values == -1).any() else np.nan if kind == "f" else None
            whole = np.full((count, *values.shape[1:]), unknown, dtype=object if unknown is None else values.dtype)
            whole[rows] = values
        targets = np.split(whole, ends)
    parts = None
    if splits:
        names = np.array([[name or "" for name in split] for split in splits])
        parts = [part[0] if len(splits) == 1 else part for part in np.split(names, ends, axis=1)]
    return targets, parts


def seed_of(random_state: RandomState) -> int:
    """An integer seed from any ``random_state`` that scikit-learn accepts."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state: expected an integer from 0 to 2**64 - 1, found {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def load_dataset(
    name: AnyPath | AnyTable,
    data_dir: AnyPath | None = None,
    download: bool = True,
    target: str | Sequence[str] | None = None,
    groups: str | None = None,
) -> Dataset:
    """Loads a dataset by path or name, or from Arrow data.

    Graphs keep the data of their source: ``features`` and ``labels`` of vertices,
    ``edge_attr`` and ``edge_label`` of edges. Models turn these into inputs when
    they are fitted.

    Parameters
    ----------
    name : str, path or table
        A pyarrow table, or any object that exports Arrow data, with a graph per
        row; a path (``.zip``, a folder, ``.npz``, ``.jsonl``, ``.parquet``); or a
        name. Stepwell looks for a name in ``data_dir``, in the folders of
        ``STEPWELL_DATA`` and in the cache, and then downloads it.
    data_dir : path, optional
        The folder to search first.
    download : bool
        Whether to download a dataset that is not on this machine.
    target : str or list of str, optional
        The target columns of Arrow data, ``.parquet`` or ``.jsonl`` files, in place
        of ``y``. A single name is read like ``y``. Several names give a float array
        with a column each, and NaN for null.
    groups : str, optional
        The column of groups: strings or integers.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from stepwell import load_dataset
    >>> load_dataset("b-easy-small")
    Dataset('b-easy-small', 300 graphs)
    """
    data_dir = None if data_dir is None else os.fsdecode(data_dir)
    targets = [] if target is None else [target] if isinstance(target, str) else list(target)
    if isinstance(name, (os.PathLike, bytes)):
        name = os.path.join(os.curdir, os.fsdecode(name))  # always a path, whatever it looks like
    if hasattr(name, "__arrow_c_stream__") or hasattr(name, "__arrow_c_array__"):
        return _wrap(_stepwell.arrow_dataset(name, targets, groups))
    return _wrap(_stepwell.load_dataset(name, data_dir, bool(download), targets, groups))


def make_benchmark(
    name: Literal["b-easy", "b-hard", "b-easy-small", "b-hard-small"],
    graphs_per_class: int | None = None,
    random_state: RandomState = 0,
) -> Dataset:
    """Generates one of the paper's benchmarks.

    Parameters
    ----------
    name : {"b-easy", "b-hard", "b-easy-small", "b-hard-small"}
    graphs_per_class : int, optional
        The default is 600, or 100 for the small benchmarks.
    random_state : int, RandomState instance or None
        The seed.

    Returns
    -------
    Dataset
        A dataset with a fixed split in ``split``.
    """
    return _wrap(_stepwell.make_benchmark(name, graphs_per_class, seed_of(random_state)))
