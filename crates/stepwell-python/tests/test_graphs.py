"""Graphs from SciPy matrices and edge arrays, against SciPy and networkx."""

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Graph, as_graph


def symmetric(n, density, seed):
    upper = sp.random(n, n, density, random_state=seed, format="csr")
    return sp.csr_matrix(upper + upper.T)


@pytest.mark.parametrize("layout", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "lil_matrix"])
def test_a_matrix_comes_back_as_it_was(layout):
    matrix = symmetric(20, 0.1, 0)
    graph = Graph(getattr(sp, layout)(matrix), np.arange(60.0).reshape(20, 3))
    assert isinstance(graph.adjacency, sp.csr_matrix)
    assert abs(graph.adjacency - matrix).max() == 0
    assert np.array_equal(graph.features, np.arange(60.0).reshape(20, 3))


def test_edges_once_twice_and_repeated_are_the_same_graph():
    once = Graph(np.array([[0, 1], [1, 2]]), num_nodes=4)
    twice = Graph(np.array([[0, 1, 1, 2, 1], [1, 0, 2, 1, 2]]), num_nodes=4)
    assert once == twice
    assert (once.num_nodes, once.num_edges, once.features) == (4, 2, None)


@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.booleans())
@settings(max_examples=50, deadline=None)
def test_structure_equals_networkx(seed, n, directed):
    made = nx.gnp_random_graph(n, 0.3, seed=seed, directed=directed)
    edges = np.array(list(made.edges), dtype=np.int64).reshape(-1, 2).T
    graph = Graph(edges, num_nodes=n, directed=directed)
    assert graph.num_edges == made.number_of_edges()
    expected = nx.to_numpy_array(made, nodelist=range(n))
    assert np.array_equal(graph.adjacency.toarray(), expected)


def test_one_hot_features_come_back_dense():
    features = np.eye(4)[[0, 2, 2]]
    assert np.array_equal(Graph([[0], [1]], features).features, features)


def test_what_scipy_adds_up_is_added_up():
    twice = sp.coo_matrix(([1.0, 1.0, 2.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    assert Graph(twice).adjacency.toarray().tolist() == [[0, 2], [2, 0]]
    assert Graph([[0], [1]], weights=[1.0]) == Graph([[0], [1]])


def test_pickles():
    weighted = Graph(symmetric(10, 0.3, 1), np.ones((10, 2)))
    directed = Graph([[0, 1], [1, 2]], num_nodes=3, directed=True)
    for graph in (weighted, directed):
        assert pickle.loads(pickle.dumps(graph)) == graph


def test_odd_graphs():
    assert Graph(np.zeros((2, 0), int)).num_nodes == 0
    assert Graph([[], []], np.zeros((1, 2))).num_edges == 0
    assert Graph([[0], [0]]).adjacency.toarray() == [[1.0]]
    assert as_graph(as_graph((sp.eye(3), None))).num_edges == 0


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Graph(np.zeros((3, 2), int)), ValueError, "shape (2, E), found shape (3, 2); transpose it"),
        (lambda: Graph([[0], [4_000_000_000]]), ValueError, "give num_nodes"),
        (lambda: Graph(nx.path_graph(3)), TypeError, "found networkx.classes.graph.Graph; as_graph(graph)"),
        (lambda: as_graph(np.zeros(3)), TypeError, "found numpy.ndarray"),
        (lambda: Graph([[0.5], [1.0]]), TypeError, "expected integers"),
        (lambda: Graph([[0], [-1]]), ValueError, "found -1"),
        (lambda: Graph([[0], [5]], num_nodes=2), ValueError, "vertex 5"),
        (lambda: Graph(sp.csr_matrix((2, 3))), ValueError, "square"),
        (lambda: Graph([[0], [1]], [[1.0], [2.0], [3.0]], num_nodes=2), ValueError, "num_nodes: expected 3"),
        (lambda: Graph([[0], [1]], [["a"], ["b"]]), TypeError, "features"),
        (lambda: Graph([[0], [1]], [[1.0], [np.nan]]), ValueError, "attribute of vertex 1 is NaN"),
        (lambda: Graph([[0], [1]], weights=[-1.0]), ValueError, "weight -1"),
        (lambda: Graph([[0, 1], [1, 0]], weights=[1.0, 2.0]), ValueError, "weight 1 in one direction and 2"),
        (lambda: Graph([[0], [1]], weights=[1.0, 1.0]), ValueError, "expected 1, found 2"),
        (lambda: Graph([[0], [1]], num_nodes=2.0), TypeError, "num_nodes"),
        (lambda: Graph(sp.eye(2), weights=[1.0]), TypeError, "weights"),
        (lambda: as_graph("graph"), TypeError, "found str"),
        (lambda: as_graph((1, 2, 3)), TypeError, "found tuple"),
    ],
)
def test_what_is_wrong_is_said(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)
