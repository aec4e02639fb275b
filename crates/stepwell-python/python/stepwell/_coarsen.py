"""Poolings of single graphs, and the two steps of NDP."""

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
    #: or with ``reduce="max"`` the maximum of each cluster.
    S: sp.csr_matrix
    #: For poolings that select vertices, the fine vertex of each coarse one; otherwise None.
    kept: NDArray[np.int64] | None
    #: Counts of events: cuts_improved, vertices_lost, without_edges, fill_dropped,
    #: symmetrized. Zero counts are omitted.
    notes: dict[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        fine, coarse = self.S.shape
        return f"Level({fine} to {coarse} nodes, {self.A.nnz} entries)"


def coarsen(graph: AnyGraph, pool: Pooling, levels: int = 2, **options: Any) -> list[Level]:
    """Coarsens a graph repeatedly.

    Parameters
    ----------
    graph : Graph, or any other kind of graph
        Any format that :func:`as_graph` accepts. A directed graph is pooled as ``(A + A.T) / 2``.
    pool : {"graclus", "nmf", "ndp", "kmis"}
        The pooling.
    levels : int
        The number of successive poolings.
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
        The levels from fine to coarse, each with ``A``, ``S``, ``kept`` and ``notes``.

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
        raise ValueError(f"levels: expected a non-negative integer, found {levels}")
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
    for level in made:
        warn_of_directions(level.notes, stacklevel=3)
    return made


def maxcut(graph: AnyGraph) -> tuple[NDArray[np.bool_], float]:
    """Finds a large cut of a graph, from the signs of the top eigenvector of ``I - Ã``.

    Returns
    -------
    side : bool array
        True for vertices on the side that NDP keeps, in every component.
    value : float
        Weight of the edges between the sides divided by the weight of all edges;
        at least one half. Self loops do not count.
    """
    return _stepwell.maxcut(as_graph(graph)._raw)


def kron_reduce(graph: AnyGraph, keep: ArrayLike) -> sp.csr_matrix:
    """Reduces a graph to some of its vertices and keeps their resistance distances.

    Parameters
    ----------
    graph : Graph, or any other kind of graph
    keep : bool array with an entry per vertex, or array of vertices
        The vertices to keep; their order does not matter.

    Returns
    -------
    csr_matrix
        ``-offdiag(L_kk - L_kd inv(L_dd) L_dk)`` of the Laplacian. A component
        without a kept vertex disappears.
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
    """The pooling as a dictionary, or an exception that names the error."""
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


def warn_of_directions(notes, stacklevel):
    """Warns of directed graphs, which poolings treat as undirected."""
    count = notes.get("symmetrized", 0)
    if count:
        who = "a directed graph was" if count == 1 else f"{count} directed graphs were"
        warnings.warn(f"{who} pooled as if undirected", stacklevel=stacklevel)


def warn_of_losses(levels, graphs, stacklevel):
    """Warns, per level, of graphs that lost all edges and of vertices without a cluster."""
    for number, (bare, lost, vertices) in enumerate(levels, 1):
        if bare:
            who = " has lost all its edges" if graphs == 1 else f": {bare} of {graphs} graphs have lost all their edges"
            warnings.warn(f"level {number}{who}", stacklevel=stacklevel)
        if lost:
            warnings.warn(f"level {number}: {lost} of {vertices} vertices are in no cluster", stacklevel=stacklevel)
