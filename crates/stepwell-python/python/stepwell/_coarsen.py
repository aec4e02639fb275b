"""Poolings of single graphs, and the two steps NDP is made of."""

import operator
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _stepwell
from ._foreign import as_graph
from ._graphs import Graph
from ._types import AnyGraph, Pooling


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """A coarse graph and how it was made from the finer one."""

    #: The adjacency matrix, symmetric, with weights.
    A: sp.csr_matrix
    #: The pooling matrix, fine vertices by coarse ones: states become ``S.T @ H``,
    #: or with ``reduce="max"`` the largest of each cluster.
    S: sp.csr_matrix
    #: The fine vertex that each coarse one was, for poolings that select vertices; else None.
    kept: NDArray[np.int64] | None
    #: What happened, in numbers: cuts_improved, vertices_lost, without_edges,
    #: fill_dropped, symmetrized; without those that are 0.
    notes: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        fine, coarse = self.S.shape
        return f"Level({fine} to {coarse} nodes, {self.A.nnz} entries)"


def coarsen(graph: AnyGraph, pool: Pooling, levels: int = 2, **options: Any) -> list[Level]:
    """Makes a graph smaller, again and again.

    Parameters
    ----------
    graph : Graph, or any other kind of graph
        Whatever :func:`as_graph` takes. A directed one is pooled as ``(A + A.T) / 2``.
    pool : {"graclus", "nmf", "ndp", "kmis"}
        The pooling.
    levels : int
        How many poolings on top of each other.
    **options
        graclus: ``reduce`` ("mean", "sum", "max"), ``pool_seed``.
        nmf: ``max_iterations``, ``tolerance``, ``pool_seed``.
        ndp: ``delta`` (weaker links are dropped), ``sparsify`` ("each-level",
        "deferred"), ``side`` ("largest", "smaller", "larger"), ``fill_budget``,
        ``approximate``, ``pool_seed``.
        kmis: ``k``, ``reduce``.

    Returns
    -------
    list of Level
        With ``A``, ``S``, ``kept`` and ``notes``, from fine to coarse.

    Examples
    --------
    >>> from stepwell import Graph, coarsen
    >>> path = Graph([[0, 1, 2, 3], [1, 2, 3, 4]])
    >>> level, = coarsen(path, "ndp", levels=1)
    >>> level.kept
    array([1, 3])
    >>> level.A.toarray()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    graph = as_graph(graph)
    pooling = _pooling(pool, options)
    levels = operator.index(levels)
    if levels < 0:
        raise ValueError(f"levels: expected a whole number from 0, found {levels}")
    made, fine = [], graph.num_nodes
    for raw, matrix, kept, notes in _stepwell.coarsen(graph._raw, pooling, min(levels, 2**32)):
        adjacency = Graph._wrap(raw).adjacency
        made.append(Level(adjacency, sp.csr_matrix(matrix, shape=(fine, raw.num_nodes)), kept, dict(notes)))
        fine = raw.num_nodes
    lost = lambda level: (
        bool(level.notes.get("without_edges")) and level.A.shape[0] > 1,
        level.notes.get("vertices_lost", 0),
        level.S.shape[0],
    )
    warn_of_losses(map(lost, made), 1, stacklevel=3)
    return made


def maxcut(graph: AnyGraph) -> tuple[NDArray[np.bool_], float]:
    """A large cut of a graph, by the signs of the top eigenvector of ``I - Ã``.

    Returns
    -------
    side : bool array
        In every component, True is the side that NDP keeps.
    value : float
        Weight of the edges between the sides over the weight of all edges, at
        least one half; self loops do not count.
    """
    return _stepwell.maxcut(as_graph(graph)._raw)


def kron_reduce(graph: AnyGraph, keep: ArrayLike) -> sp.csr_matrix:
    """The graph between some of the vertices that keeps their resistance distances.

    Parameters
    ----------
    graph : Graph, or any other kind of graph
    keep : bool array with an entry per vertex, or array of vertices
        Which vertices stay; the order of an array of vertices does not matter.

    Returns
    -------
    csr_matrix
        ``-offdiag(L_kk - L_kd inv(L_dd) L_dk)`` of the Laplacian. A component
        without a vertex to keep vanishes.
    """
    graph = as_graph(graph)
    keep = np.asarray(keep)
    if keep.dtype != bool:
        if keep.size and keep.dtype.kind not in "iu":
            raise TypeError(f"keep: expected booleans or vertices, found {keep.dtype}")
        outside = keep[(keep < 0) | (keep >= graph.num_nodes)]
        if outside.size:
            raise ValueError(f"keep: expected vertices from 0 to {graph.num_nodes - 1}, found {outside.flat[0]}")
        mask = np.zeros(graph.num_nodes, bool)
        mask[keep.astype(np.int64)] = True
        keep = mask
    if keep.ndim != 1:
        raise ValueError(f"keep: expected 1 dimension, found {keep.ndim}")
    return Graph._wrap(_stepwell.kron_reduce(graph._raw, np.ascontiguousarray(keep))).adjacency


def _pooling(pool, options):
    """The pooling as a dictionary, or an exception that says what is wrong with it."""
    names = _stepwell.pooling_names()
    if pool not in names:
        raise ValueError(f"pool: expected one of {', '.join(names)}, found {pool!r}")
    check = lambda given: _stepwell.check_pooling({"method": pool, **given})
    known = [name for name in check({}) if name != "method"]
    filled = {}
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"{pool} has no option {name!r}; it has {', '.join(known)}")
        try:
            check({name: value})
        except (TypeError, ValueError) as error:
            raise type(error)(str(error) if str(error).startswith(f"{name}: ") else f"{name}: {error}") from None
        filled[name] = value
    return check(filled)


def warn_of_losses(levels, graphs, stacklevel):
    """Warns of what graphs have lost, told by level: how many of them all their
    edges, and how many of how many vertices are in no cluster."""
    for number, (bare, lost, vertices) in enumerate(levels, 1):
        if bare:
            who = " has lost all its edges" if graphs == 1 else f": {bare} of {graphs} graphs have lost all their edges"
            warnings.warn(f"level {number}{who}", stacklevel=stacklevel)
        if lost:
            warnings.warn(f"level {number}: {lost} of {vertices} vertices are in no cluster", stacklevel=stacklevel)
