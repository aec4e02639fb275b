"""Coarsening through the public interface: results, unusual graphs, errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import stepwell
from stepwell import Graph, coarsen, kron_reduce, make_benchmark, maxcut

POOLINGS = ("graclus", "nmf", "ndp", "kmis")
every_pooling = pytest.mark.parametrize("pool", POOLINGS)


def no_edges(n):
    return Graph(np.zeros((2, 0), int), num_nodes=n)


def complete(n):
    return Graph(sp.csr_matrix(np.ones((n, n)) - np.eye(n)))


def check_levels(graph, pool, levels):
    """Checks the properties of any pooling of any graph."""
    below = graph.adjacency
    if graph.directed:
        below = (below + below.T) / 2
    for level in levels:
        fine, coarse = level.S.shape
        assert (fine, level.A.shape) == (below.shape[0], (coarse, coarse))
        assert abs(level.A - level.A.T).max() == 0 if coarse else level.A.nnz == 0
        assert level.A.nnz == 0 or level.A.min() >= 0
        per_vertex = np.diff(level.S.indptr)
        if pool == "ndp":
            assert np.array_equal(level.S.toarray(), np.eye(fine)[:, level.kept])
            assert level.A.diagonal().sum() == 0
        else:
            assert level.kept is None
            assert coarse == 0 or level.S.min() >= 0
        if pool in ("graclus", "kmis"):
            assert (per_vertex == 1).all(), "a partition"
            np.testing.assert_allclose(np.asarray(level.S.sum(0)), 1, err_msg="means")
            P = sp.csr_matrix((np.ones(fine), level.S.indices, level.S.indptr), level.S.shape)
            assert abs(level.A - P.T @ below @ P).max() < 1e-12 * max(below.max(), 1) if fine else True
        below = level.A


ODD = {
    "empty": no_edges(0),
    "one vertex": no_edges(1),
    "one vertex with a loop": Graph([[0], [0]]),
    "edgeless": no_edges(7),
    "one edge": Graph([[0], [1]]),
    "complete": complete(20),
    "star": Graph([[0] * 30, range(1, 31)]),
    "two equal components": Graph([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]]),
    "self loops": Graph([[0, 0, 1, 2, 3], [0, 1, 2, 2, 3]]),
    "only self loops": Graph([range(5), range(5)]),
    "huge weights": Graph([[0, 1, 2], [1, 2, 3]], weights=[1e300, 1e-300, 1.0]),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # levels without edges, vertices in no cluster
@every_pooling
@pytest.mark.parametrize("kind", ODD)
def test_odd_graphs(kind, pool):
    levels = coarsen(ODD[kind], pool, levels=3)
    assert len(levels) == 3
    if kind != "huge weights":
        check_levels(ODD[kind], pool, levels)
    sizes = [ODD[kind].num_nodes, *(level.A.shape[0] for level in levels)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.filterwarnings("ignore::UserWarning")
@every_pooling
def test_real_shapes(pool):
    for graph in make_benchmark("b-hard-small").graphs[::40]:
        check_levels(graph, pool, coarsen(graph, pool, levels=3))


def test_equal_components_are_treated_alike():
    half = make_benchmark("b-easy-small").graphs[0].adjacency
    twice = sp.block_diag([half, half], format="csr")
    for pool in ("ndp", "kmis"):
        (one,), (two,) = coarsen(half, pool, levels=1), coarsen(twice, pool, levels=1)
        assert abs(two.A - sp.block_diag([one.A, one.A])).max() == 0, pool


def test_a_star_with_many_leaves():
    leaves = 100_000
    star = Graph(np.array([np.zeros(leaves, int), np.arange(1, leaves + 1)]))
    assert coarsen(star, "ndp", levels=1)[0].kept.tolist() == [0], "the hub stands for all"
    (level,) = coarsen(star, "graclus", levels=1)
    assert level.A.shape[0] == leaves, "one pair, all others single"
    assert coarsen(star, "kmis", levels=2)[1].A.shape[0] == 1
    with pytest.raises(ValueError, match="bytes of the factors of NMF"):
        coarsen(star, "nmf")
    with pytest.raises(ValueError, match="pooling 1: .*more than the fill budget of 67108864"):
        coarsen(star, "ndp", side="larger")
    side, value = maxcut(star)
    assert value == 1 and side.sum() == 1


@every_pooling
def test_directed_graphs_are_symmetrised_with_a_note(pool):
    directed = Graph([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]], weights=[1.0, 2, 3, 4, 5, 6], directed=True)
    with pytest.warns(UserWarning, match="a directed graph was pooled as if undirected"):
        levels = coarsen(directed, pool, levels=1)
    assert levels[0].notes["symmetrized"] == 1
    check_levels(directed, pool, levels)
    mean = Graph((directed.adjacency + directed.adjacency.T) / 2)
    (level,) = coarsen(mean, pool, levels=1)
    assert abs(level.A - levels[0].A).max() == 0 and "symmetrized" not in level.notes


def test_options_do_what_they_say():
    graph = make_benchmark("b-hard-small").graphs[3]
    whole, weak = (coarsen(graph, "ndp", delta=delta)[0].A for delta in (0, 0.3))
    assert weak.nnz < whole.nnz and weak.data.min() >= 0.3
    smaller, larger = (coarsen(graph, "ndp", 1, side=side)[0].kept for side in ("smaller", "larger"))
    assert len(smaller) <= graph.num_nodes / 2 <= len(larger)
    sums = coarsen(graph, "graclus", 1, reduce="sum")[0]
    assert set(sums.S.data) == {1.0}
    orders = [coarsen(graph, "graclus", 1, pool_seed=seed)[0] for seed in (0, np.int64(1))]
    assert (orders[0].S != orders[1].S).nnz if orders[0].S.shape == orders[1].S.shape else True
    far, near = (coarsen(graph, "kmis", 1, k=k)[0].A.shape[0] for k in (3, 1))
    assert far < near
    assert coarsen(graph, "ndp", levels=0) == []
    # With "deferred", the second level is made from all links of the first.
    first, second = coarsen(graph, "ndp", levels=2, delta=0.3, sparsify="deferred")
    exact = coarsen(graph, "ndp", levels=2, delta=0)
    assert abs(first.A - weak).max() == 0
    assert np.array_equal(second.kept, exact[1].kept) and second.A.nnz < exact[1].A.nnz


def test_what_a_person_should_know_is_a_warning():
    path = Graph([range(8), range(1, 9)], weights=[0.1] * 8)
    with pytest.warns(UserWarning, match="level 1 has lost all its edges"):
        (level,) = coarsen(path, "ndp", levels=1)
    assert level.notes["without_edges"] == 1 and level.A.nnz == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert coarsen(path, "ndp", levels=4, delta=0)[-1].A.shape == (1, 1), "one vertex has none to lose"
    assert repr(level) == f"Level(9 to {level.A.shape[0]} nodes, 0 entries)"


def test_a_matrix_or_a_pair_is_a_graph():
    adjacency = make_benchmark("b-easy-small").graphs[0].adjacency
    expected = coarsen(Graph(adjacency), "ndp", 1)[0].A
    for given in (adjacency, sp.csr_array(adjacency), (adjacency, None), (np.array(adjacency.nonzero()), None)):
        assert abs(coarsen(given, "ndp", 1)[0].A - expected).max() == 0


PATH = Graph([[0, 1, 2], [1, 2, 3]])


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: coarsen(PATH, "none"), ValueError, "pool: expected one of graclus, nmf, ndp, kmis, found 'none'"),
        (lambda: coarsen(PATH, "ndp", dlta=0.1), TypeError, "ndp has no option 'dlta'; it has approximate, delta, fill_budget"),
        (lambda: coarsen(PATH, "kmis", delta=0.1), TypeError, "kmis has no option 'delta'; it has k, reduce"),
        (lambda: coarsen(PATH, "ndp", delta="a"), ValueError, "delta: invalid type: string"),
        (lambda: coarsen(PATH, "ndp", delta=float("nan")), ValueError, "delta: "),
        (lambda: coarsen(PATH, "ndp", delta=-0.1), ValueError, "delta: expected a finite number"),
        (lambda: coarsen(PATH, "ndp", side="left"), ValueError, "side: unknown variant `left`"),
        (lambda: coarsen(PATH, "graclus", reduce="median"), ValueError, "reduce: unknown variant"),
        (lambda: coarsen(PATH, "nmf", max_iterations=-1), ValueError, "max_iterations: "),
        (lambda: coarsen(PATH, "nmf", pool_seed=object()), TypeError, "pool_seed: "),
        (lambda: coarsen(PATH, "ndp", levels=-1), ValueError, "levels: expected a non-negative integer, found -1"),
        (lambda: coarsen(PATH, "ndp", levels=10**30), ValueError, "levels: "),
        (lambda: coarsen(PATH, "ndp", levels=1.5), TypeError, "integer"),
        (lambda: coarsen("path", "ndp"), TypeError, "found str"),
        (lambda: coarsen(sp.csr_matrix([[0, np.nan], [np.nan, 0]]), "ndp"), ValueError, "weight NaN"),
        (lambda: coarsen(sp.csr_matrix([[0, -1.0], [-1.0, 0]]), "ndp"), ValueError, "weight -1"),
        (lambda: coarsen(complete(100), "ndp", fill_budget=10), ValueError, "fill budget of 10"),
        (lambda: kron_reduce(PATH, [True]), ValueError, "expected 4, found 1"),
        (lambda: kron_reduce(PATH, [0, 4]), ValueError, "expected vertices from 0 to 3, found 4"),
        (lambda: kron_reduce(PATH, [0.5]), TypeError, "found float64"),
        (lambda: kron_reduce(PATH, np.ones((2, 2), bool)), ValueError, "expected 1 dimension, found 2"),
    ],
)
def test_what_is_wrong_is_said(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)


def test_above_the_budget_links_are_dropped_on_request():
    graph = make_benchmark("b-easy-small").graphs[0]
    budget = coarsen(graph, "ndp", 1, delta=0)[0].A.nnz // 3
    with pytest.raises(ValueError, match="fill budget"):
        coarsen(graph, "ndp", 1, delta=0, fill_budget=budget)
    (level,) = coarsen(graph, "ndp", 1, delta=0, fill_budget=budget, approximate=True)
    assert level.notes["fill_dropped"] > 0 and 0 < level.A.nnz <= 2 * budget


def test_the_names_are_exported():
    assert {"Level", "coarsen", "kron_reduce", "maxcut"} <= set(stepwell.__all__)
