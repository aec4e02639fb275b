"""Poolings compared with SciPy, scikit-learn and networkx."""

import warnings

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg
from conftest import real_dataset
from scipy.sparse.csgraph import connected_components
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning

from stepwell import Graph, coarsen, kron_reduce, maxcut
from stepwell._stepwell import nmf_factors


def symmetric(n, degree, rng, weighted=True, loops=False):
    """A random symmetric matrix with about ``degree`` entries per row."""
    upper = np.triu(rng.random((n, n)) < degree / n, 0 if loops else 1)
    values = np.where(upper, rng.uniform(0.1, 2, (n, n)) if weighted else 1.0, 0.0)
    return sp.csr_matrix(np.triu(values) + np.triu(values, 1).T)


def connected(n, degree, rng, **how):
    """The same on top of a random tree."""
    tree = sp.lil_matrix((n, n))
    for v in range(1, n):
        u = rng.integers(v)
        tree[u, v] = tree[v, u] = 1
    return sp.csr_matrix(symmetric(n, degree, rng, **how).maximum(tree))


def kinds_of_graphs():
    rng = np.random.default_rng(0)
    for n in (2, 7, 30, 90):
        yield f"connected {n}", connected(n, 3, rng, weighted=False)
        yield f"weighted {n}", connected(n, 3, rng)
        yield f"self loops {n}", connected(n, 3, rng, loops=True)
    yield "disconnected", sp.block_diag([connected(n, 3, rng) for n in (1, 12, 2, 25, 12)], format="csr")
    yield "scattered", symmetric(80, 1.5, rng, loops=True)
    yield "dense", symmetric(60, 40, rng)
    yield "large", connected(400, 4, rng)
    geometric = nx.random_geometric_graph(200, 0.12, seed=1)
    yield "geometric", sp.csr_matrix(nx.to_scipy_sparse_array(geometric, dtype=float))
    yield "scale-free", sp.csr_matrix(nx.to_scipy_sparse_array(nx.barabasi_albert_graph(150, 2, seed=2), dtype=float))
    yield "lattice", sp.csr_matrix(nx.to_scipy_sparse_array(nx.grid_2d_graph(9, 12), dtype=float))


GRAPHS = dict(kinds_of_graphs())
every_graph = pytest.mark.parametrize("kind", GRAPHS)


def real_graphs(name, count):
    graphs = real_dataset(name).graphs
    return [graphs[i].adjacency for i in range(0, len(graphs), max(1, len(graphs) // count))]


def laplacian(adjacency):
    dense = adjacency.toarray()
    return np.diag(dense.sum(1)) - dense


def schur(adjacency, keep):
    """-offdiag of the Schur complement of the Laplacian, densely."""
    L = laplacian(adjacency)
    inner = np.linalg.solve(L[np.ix_(~keep, ~keep)], L[np.ix_(~keep, keep)])
    reduced = L[np.ix_(keep, keep)] - L[np.ix_(keep, ~keep)] @ inner
    return -(reduced - np.diag(np.diag(reduced)))


def choice_of_kept(adjacency, seed):
    """Random vertices, at least one in every component."""
    rng = np.random.default_rng(seed)
    keep = rng.random(adjacency.shape[0]) < 0.5
    _, labels = connected_components(adjacency)
    keep[np.unique(labels, return_index=True)[1]] = True
    return keep


def resistances(adjacency, among):
    """Resistance distances; 0 between components."""
    pinv = np.linalg.pinv(laplacian(adjacency), hermitian=True)
    d = np.diag(pinv)
    r = d[:, None] + d - 2 * pinv
    _, labels = connected_components(adjacency)
    return np.where(labels[:, None] == labels, r, 0)[np.ix_(among, among)]


@every_graph
def test_kron_reduction_is_the_dense_schur_complement(kind):
    adjacency = GRAPHS[kind]
    for seed in range(3):
        keep = choice_of_kept(adjacency, seed)
        found = kron_reduce(adjacency, keep)
        np.testing.assert_allclose(found.toarray(), schur(adjacency, keep), rtol=0, atol=1e-9)
        assert abs(found - kron_reduce(adjacency, np.flatnonzero(keep)[::-1])).max() == 0, "an array of vertices"


@every_graph
def test_a_level_of_ndp_is_the_schur_complement_of_the_one_below(kind):
    below = GRAPHS[kind]
    for level in coarsen(below, "ndp", levels=3, delta=0):
        keep = np.zeros(below.shape[0], bool)
        keep[level.kept] = True
        np.testing.assert_allclose(level.A.toarray(), schur(below, keep), rtol=0, atol=1e-9)
        assert np.array_equal(level.S.toarray(), np.eye(below.shape[0])[:, level.kept])
        below = level.A


@every_graph
def test_resistance_distances_stay(kind):
    adjacency = GRAPHS[kind]
    for seed in range(2):
        keep = choice_of_kept(adjacency, seed)
        everything = np.ones(keep.sum(), bool)
        found = resistances(kron_reduce(adjacency, keep), everything)
        np.testing.assert_allclose(found, resistances(adjacency, keep), rtol=0, atol=1e-8)


@every_graph
def test_eigenvalues_interlace(kind):
    adjacency = GRAPHS[kind]
    fine = np.linalg.eigvalsh(laplacian(adjacency))
    for seed in range(2):
        keep = choice_of_kept(adjacency, seed)
        coarse = np.linalg.eigvalsh(laplacian(kron_reduce(adjacency, keep)))
        dropped = len(fine) - len(coarse)
        assert (coarse >= fine[: len(coarse)] - 1e-9).all()
        assert (coarse <= fine[dropped:] + 1e-9).all()


@every_graph
def test_components_stay(kind):
    below = GRAPHS[kind]
    for level in coarsen(below, "ndp", levels=3, delta=0):
        count, fine = connected_components(below)
        again, coarse = connected_components(level.A)
        assert again == count, "every component keeps a vertex"
        assert len(set(zip(fine[level.kept], coarse))) == count
        below = level.A


@every_graph
def test_weak_links_are_dropped(kind):
    whole, sparse = (coarsen(GRAPHS[kind], "ndp", levels=1, delta=delta)[0].A for delta in (0, 0.2))
    expected = whole.multiply(whole >= 0.2)
    assert abs(sparse - expected).max() < 1e-15 and (sparse.data >= 0.2).all()


def factors_agree(adjacency, seed):
    n = adjacency.shape[0]
    k = max(n // 2, 2)
    rng = np.random.RandomState(seed)
    size = np.sqrt(adjacency.mean() / k)
    F = size * abs(rng.standard_normal((k, n)))
    Q = size * abs(rng.standard_normal((n, k)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        q, f, iterations = non_negative_factorization(
            adjacency, W=Q.copy(), H=F.copy(), n_components=k, init="custom", solver="cd", max_iter=10, tol=1e-4
        )
    ours = nmf_factors(Graph(adjacency)._raw, Q, F, 10, 1e-4)
    assert ours[2] == iterations
    return max(abs(ours[0] - q).max(), abs(ours[1] - f).max())


@every_graph
def test_nmf_factors_are_scikit_learn_s(kind):
    adjacency = GRAPHS[kind]
    if adjacency.shape[0] > 2:
        assert factors_agree(adjacency, 0) < 1e-6


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "IMDB-BINARY"])
def test_nmf_factors_of_real_graphs(name):
    worst = [factors_agree(adjacency, 1) for adjacency in real_graphs(name, 30)]
    assert max(worst) < 1e-6


@every_graph
def test_nmf_levels_are_products(kind):
    below = GRAPHS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        levels = coarsen(below, "nmf", levels=3)
    for level in levels:
        n = below.shape[0]
        assert level.S.shape == (n, n if n <= 2 else max(n // 2, 2)) and level.kept is None
        if n > 2:
            product = (level.S.T @ below @ level.S).toarray()
            np.testing.assert_allclose(level.A.toarray(), product / product.max(), rtol=1e-12, atol=1e-15)
            assert level.A.max() == 1 and level.S.min() >= 0
            assert level.notes.get("vertices_lost", 0) == (np.diff(level.S.indptr) == 0).sum()
        below = level.A


def gains(adjacency):
    degrees = np.asarray(adjacency.sum(1)).ravel()
    entries = sp.triu(adjacency, 1).tocoo()
    return entries.row, entries.col, entries.data * (1 / degrees[entries.row] + 1 / degrees[entries.col])


def check_matching(adjacency, level):
    """Checks that the clusters are a maximal matching, and compares its weight with the optimum."""
    clusters = level.S.tocsc()
    sizes = np.diff(clusters.indptr)
    assert set(sizes) <= {1, 2} and (np.diff(level.S.indptr) == 1).all(), "a partition into singles and pairs"
    of = level.S.indices
    assert np.array_equal(level.S.data, 1 / sizes[of])
    P = sp.csr_matrix((np.ones(len(of)), level.S.indices, level.S.indptr), level.S.shape)
    assert abs(level.A - P.T @ adjacency @ P).max() < 1e-12 * adjacency.max()
    row, column, gain = gains(adjacency)
    matched = of[row] == of[column]
    assert matched.sum() == (sizes == 2).sum(), "members of a pair are joined"
    single = sizes[of] == 1
    assert not (single[row] & single[column]).any(), "no two neighbours stay single"
    graph = nx.Graph()
    graph.add_weighted_edges_from(zip(row.tolist(), column.tolist(), gain.tolist()))
    best = sum(graph[u][v]["weight"] for u, v in nx.max_weight_matching(graph))
    return gain[matched].sum() / best if best else 1.0


def small_random_graphs(count):
    rng = np.random.default_rng(7)
    for number in range(count):
        n, degree = int(rng.integers(8, 50)), rng.uniform(1, 6)
        yield symmetric(n, degree, rng, weighted=number % 2 == 0, loops=number % 3 == 0)


def mean_share_of_best(graphs):
    shares = [[], []]
    for below in graphs:
        for number, level in enumerate(coarsen(below, "graclus", levels=2)):
            shares[number].append(check_matching(below, level))
            below = level.A
    return np.mean(shares, axis=1)


def test_graclus_is_a_maximal_matching_near_the_best():
    assert (mean_share_of_best(small_random_graphs(60)) >= 0.9).all()


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "IMDB-BINARY"])
def test_graclus_of_real_graphs(name):
    assert (mean_share_of_best(real_graphs(name, 25)) >= 0.9).all()


def cut_value(adjacency, side):
    entries = sp.triu(adjacency, 1).tocoo()
    total = entries.data.sum()
    return entries.data[side[entries.row] != side[entries.col]].sum() / total if total else 1.0


def top_eigenpairs(adjacency):
    """The two largest eigenvalues of I - Ã, and the eigenvector of the first."""
    n = adjacency.shape[0]
    degrees = np.asarray(adjacency.sum(1)).ravel()
    scale = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    matrix = sp.eye(n) - sp.diags(scale) @ adjacency @ sp.diags(scale)
    if n <= 200:
        values, vectors = scipy.linalg.eigh(matrix.toarray())
    else:
        values, vectors = scipy.sparse.linalg.eigsh(matrix, k=2, which="LA", v0=np.ones(n))
    order = np.argsort(values)[::-1]
    return values[order[:2]], vectors[:, order[0]]


def cuts(adjacency):
    """The value of our cut and of the sign cut."""
    side, value = maxcut(adjacency)
    assert value == pytest.approx(cut_value(adjacency, side), abs=1e-12)
    assert value >= 0.5 - 1e-12
    _, vector = top_eigenpairs(adjacency)
    return value, cut_value(adjacency, vector >= 0)


def check_mean_cut(graphs):
    ours, theirs = np.mean([cuts(adjacency) for adjacency in graphs if adjacency.shape[0] > 2], axis=0)
    assert ours >= theirs


def test_cuts_are_not_below_the_sign_cut_on_average():
    check_mean_cut([*GRAPHS.values(), *small_random_graphs(100)])


def test_cuts_of_large_components_are_not_either():
    rng = np.random.default_rng(3)
    graphs = [connected(n, degree, rng) for n in (150, 300, 600) for degree in (2, 8)]
    for n in (150, 300, 600):
        made = [
            nx.random_geometric_graph(n, (8 / np.pi / n) ** 0.5, seed=n),
            nx.barabasi_albert_graph(n, 2, seed=n),
            nx.watts_strogatz_graph(n, 6, 0.1, seed=n),
        ]
        graphs += [sp.csr_matrix(nx.to_scipy_sparse_array(graph, dtype=float)) for graph in made]
    check_mean_cut(graphs)


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "PROTEINS", "IMDB-BINARY", "DD"])
def test_cuts_of_real_graphs(name):
    check_mean_cut(real_graphs(name, 40))


def test_sides_are_the_signs_of_the_top_eigenvector():
    rng = np.random.default_rng(5)
    compared = 0
    for n in (3, 5, 9, 20, 40, 80, 120):
        for degree in (2, 5, 12):
            adjacency = connected(n, degree, rng, loops=True)
            values, vector = top_eigenpairs(adjacency)
            clear = values[0] - values[1] > 1e-6 and abs(vector).min() > 1e-6 * abs(vector).max()
            if not clear or cut_value(adjacency, vector >= 0) < 0.5:
                continue
            side, _ = maxcut(adjacency)
            largest = abs(vector).argmax()
            assert np.array_equal(side, np.sign(vector) == np.sign(vector[largest])), (n, degree)
            compared += 1
    assert compared > 12
