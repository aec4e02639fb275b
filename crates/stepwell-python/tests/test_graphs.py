"""Graphs from SciPy matrices and edge arrays, compared with SciPy and networkx."""

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Graph, as_graph
from stepwell._batches import as_batch


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


def carrying(seed, n=12, directed=False, columns=1):
    """A networkx graph whose edges have bonds and lengths, and the same graph as ours."""
    made = nx.gnp_random_graph(n, 0.4, seed=seed, directed=directed)
    rng = np.random.default_rng(seed)
    for _, _, held in made.edges(data=True):
        held.update(bond=rng.integers(-1, 3, columns), length=rng.random(2))
    ends = np.array(made.edges, dtype=np.int64).reshape(-1, 2).T
    bonds = np.array([bond for _, _, bond in made.edges(data="bond")]).reshape(-1, columns)
    lengths = np.array([length for _, _, length in made.edges(data="length")]).reshape(-1, 2)
    flip = (rng.random(ends.shape[1]) < 0.5) & (not directed)  # an undirected edge may be listed from either end
    ends = np.where(flip, ends[::-1], ends)
    return made, Graph(ends, num_nodes=n, edge_label=bonds, edge_attr=lengths, directed=directed)


@given(st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_what_edges_carry_stays_with_them(seed, directed, columns):
    made, graph = carrying(seed, directed=directed, columns=columns)
    entries = graph.adjacency.tocoo()
    assert graph.edge_label.shape == ((entries.nnz,) if columns == 1 else (entries.nnz, columns))
    assert graph.edge_attr.shape == (entries.nnz, 2)
    for row, column, bond, length in zip(entries.row, entries.col, graph.edge_label, graph.edge_attr):
        held = made.edges[row, column]
        assert np.array_equal(np.ravel(bond), held["bond"]) and np.array_equal(length, held["length"])
    assert pickle.loads(pickle.dumps(graph)) == graph
    again = Graph(graph.adjacency, edge_label=graph.edge_label, edge_attr=graph.edge_attr, directed=directed)
    assert again == graph, "a matrix lists its entries"
    if entries.nnz:
        plain = Graph(graph.adjacency, directed=directed)
        assert plain != graph and plain.edge_label is None and plain.edge_attr is None


def test_labels_may_be_several():
    graph = Graph([[0], [1]], labels=[[1, 5], [2, 5]], edge_label=[[3, 4]])
    assert graph.labels.tolist() == [[1, 5], [2, 5]] and graph.edge_label.tolist() == [[3, 4], [3, 4]]
    assert graph.labels.dtype == graph.edge_label.dtype == np.int32
    assert repr(graph) == "Graph(2 nodes, 1 edges, 0 features, 2 labels, 2 edge labels)"
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert Graph([[0], [1]], labels=[[1], [2]]) == Graph([[0], [1]], labels=[1, 2])
    assert repr(Graph([[0], [1]], edge_attr=[0.5], directed=True)) == (
        "Graph(2 nodes, 1 edges, directed, 0 features, 1 edge attribute)"
    )


def test_graphs_without_edges_carry_what_the_others_do():
    bare = Graph([[], []], num_nodes=2, edge_label=[], edge_attr=[])
    assert bare.edge_label.shape == (0,) and bare.edge_attr.shape == (0, 1)
    three = Graph([[], []], num_nodes=2, edge_label=np.zeros((0, 3), int))
    assert pickle.loads(pickle.dumps(three)) == three
    graphs = [Graph([[], []], num_nodes=1), Graph([[0], [1]], edge_label=[[1, 2]]), bare]
    assert len(as_batch(graphs)) == 3


def test_odd_graphs():
    assert Graph(np.zeros((2, 0), int)).num_nodes == 0
    assert Graph([[], []], np.zeros((1, 2))).num_edges == 0
    assert Graph([[0], [0]]).adjacency.toarray() == [[1.0]]
    assert as_graph(as_graph((sp.eye(3), None))).num_edges == 0


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Graph(np.zeros((3, 2), int)), ValueError, "shape (2, E), found shape (3, 2); transpose it"),
        (lambda: Graph([[0], [4_000_000_000]]), ValueError, "pass num_nodes"),
        (lambda: Graph(nx.path_graph(3)), TypeError, "found networkx.classes.graph.Graph; convert it with as_graph(graph)"),
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
        (lambda: Graph([[0], [1]], edge_label=[1, 2]), ValueError, "edge_label: expected 1 rows, one per listed edge, found 2"),
        (lambda: Graph([[0], [1]], edge_attr=[]), ValueError, "edge_attr: expected 1 rows, one per listed edge, found 0"),
        (lambda: Graph([[0], [1]], edge_label=["C"]), TypeError, "found <U1; number the strings first, the same way in all graphs"),
        (lambda: Graph([[0], [1]], edge_label=[0.5]), TypeError, "edge_label: expected integers, found float64; pass floats as edge_attr="),
        (lambda: Graph([[0], [1]], edge_label=[2**40]), ValueError, "edge_label: expected 32-bit integers, found 1099511627776"),
        (lambda: Graph([[0], [1]], edge_label=[[[1]]]), ValueError, "edge_label: expected 1 or 2 dimensions, found 3"),
        (lambda: Graph([[0, 1], [1, 2]], edge_label=[[1], [1, 2]]), ValueError, "edge_label: expected rows of the same length"),
        (lambda: Graph([[0, 1], [1, 2]], edge_attr=[1, np.nan]), ValueError, "edge_attr: expected finite numbers, found nan in row 1; impute the value"),
        (lambda: Graph([[0], [1]], edge_attr=["long"]), TypeError, "found <U4; number the strings first and pass them as edge_label="),
        (lambda: Graph([[0, 1], [1, 0]], edge_label=[1, 2]), ValueError, "edges 0 and 1 of the list both join 0 and 1, with different labels"),
        (lambda: Graph([[0, 0], [1, 1]], edge_attr=[1, 2], directed=True), ValueError, "with different attributes"),
        (lambda: Graph(sp.coo_matrix(np.ones((2, 2))), edge_label=[1] * 4), ValueError, "edge_label: expected a CSR matrix in canonical format"),
        (lambda: as_batch([Graph([[0], [1]], edge_label=[1]), Graph([[0], [1]])]), ValueError, "graph 1: expected some labels per edge (edge_label), as in the graphs before it, found none"),
        (lambda: as_batch([Graph([[0], [1]], edge_attr=[1]), Graph([[0], [1]], edge_attr=[[1, 2]])]), ValueError, "graph 1: expected 1 attributes per edge (edge_attr), as in the graphs before it, found 2"),
        (lambda: as_batch([Graph([[0], [1]], labels=[[1, 2], [1, 2]]), Graph([[0], [1]], labels=[1, 2])]), ValueError, "graph 1: expected 2 labels per vertex, as in the graphs before it, found 1"),
        (lambda: as_graph("graph"), TypeError, "found str"),
        (lambda: as_graph((1, 2, 3)), TypeError, "found tuple"),
    ],
)
def test_what_is_wrong_is_said(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)
