"""Graphs of other libraries and tables of edges, compared with networkx and SciPy."""

import pickle
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from stepwell import Graph, PyramidalReservoir, as_graph, coarsen, from_edges, maxcut
from stepwell._batches import _of_matrices, _one_by_one, as_batch

MODEL = dict(units=8, spectral_radius=0.5, max_iter=200)


def weighted(seed, directed=False, n=12):
    """A networkx graph whose vertices have names of all types."""
    graph = nx.gnp_random_graph(n, 0.3, seed=seed, directed=directed)
    rng = np.random.default_rng(seed)
    nx.set_edge_attributes(graph, {edge: float(rng.random()) for edge in graph.edges}, "weight")
    nx.set_node_attributes(graph, {v: [float(v), 1.0] for v in graph}, "x")
    nx.set_node_attributes(graph, {v: int(v) % 3 for v in graph}, "kind")
    names = ["a", ("b", 1), 2**70, frozenset(), 7, -1.5, b"z", "seven", True, (), "k", "l"]
    return nx.relabel_nodes(graph, dict(zip(range(n), names)))


def same_batch(found, expected):
    assert len(found) == len(expected)
    for at in range(len(found)):
        assert Graph._wrap(found.graph(at)) == Graph._wrap(expected.graph(at)), at


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=25, deadline=None)
def test_networkx(seed, directed):
    graph = weighted(seed, directed)
    made = as_graph(graph, label="kind")
    assert made.directed == directed
    assert np.array_equal(made.adjacency.toarray(), nx.to_numpy_array(graph))
    assert made.features.tolist() == [graph.nodes[v]["x"] for v in graph]
    assert made.labels.tolist() == [graph.nodes[v]["kind"] for v in graph]


def test_networkx_attributes_by_name():
    graph = nx.path_graph(3)
    graph.edges[0, 1]["cost"] = 2
    nx.set_node_attributes(graph, {0: 5, 1: 6, 2: 7}, "a")
    nx.set_node_attributes(graph, {v: np.array([v, 2.0 * v]) for v in graph}, "b")
    made = as_graph(graph, features=["a", "b"], weight="cost")
    assert made.features.tolist() == [[5, 0, 0], [6, 1, 2], [7, 2, 4]]
    assert made.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]], "an edge without counts 1"
    with pytest.warns(UserWarning, match=r"vertices have unused attributes 'a'.*; to use them, pass features="):
        assert as_graph(graph, weight="cost").features is None
    with pytest.warns(UserWarning, match=r"edges have unused attributes 'cost'; to use them, pass edge_attr=\['cost'\]"):
        assert as_graph(graph, features="a").features.shape == (3, 1)


def bonded(seed, directed=False, n=12):
    """A networkx graph whose edges have two categories and three numbers."""
    graph = weighted(seed, directed, n)
    rng = np.random.default_rng(seed)
    for _, _, held in graph.edges(data=True):
        held.update(bond=int(rng.integers(4)), ring=int(rng.integers(2)), length=float(rng.random()), axis=rng.random(2))
    return graph


def check_edges(made, graph):
    """Checks that the data of our entries equal the data of networkx's edges."""
    vertices, entries = list(graph), made.adjacency.tocoo()
    assert entries.nnz == nx.to_scipy_sparse_array(graph).nnz
    for row, column, label, numbers in zip(entries.row, entries.col, made.edge_label, made.edge_attr):
        held = graph.edges[vertices[row], vertices[column]]
        assert label.tolist() == [held["bond"], held["ring"]]
        assert numbers.tolist() == [held["length"], *held["axis"]]


EDGES = {"edge_label": ["bond", "ring"], "edge_attr": ["length", "axis"]}


@pytest.mark.parametrize("directed", [False, True])
def test_what_edges_of_networkx_carry(directed):
    graph = bonded(1, directed)
    made = as_graph(graph, label=["kind", "kind"], **EDGES)
    check_edges(made, graph)
    assert made.labels.tolist() == [[graph.nodes[v]["kind"]] * 2 for v in graph]
    single = as_graph(graph, edge_label="bond")
    assert np.array_equal(single.edge_label, made.edge_label[:, 0]) and single.edge_attr is None
    assert as_graph(graph, edge_attr="length").edge_label is None
    bare = as_graph(nx.empty_graph(3), **EDGES)
    assert bare.edge_label.shape == (0, 2) and len(as_batch([as_graph(bonded(2), **EDGES, features=[]), bare])) == 2
    with pytest.warns(UserWarning, match="edges have unused attributes 'bond', 'ring', 'length'; .*edge_label=… for a category"):
        assert as_graph(graph).edge_label is None


def test_unused_strings_of_edges_are_reported():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, "single", "bond")
    with pytest.warns(UserWarning, match="edges have unused attributes 'bond'; to use them, pass edge_label='bond' for a category, after numbering its strings"):
        as_graph(graph)
    with pytest.raises(TypeError, match=r"edge \(0, 1\): attribute 'bond': expected an integer, found 'single'; number the strings first"):
        as_graph(graph, edge_label="bond")
    with pytest.raises(ValueError, match=r"edge \(0, 1\): expected an attribute 'length', found none"):
        as_graph(graph, edge_attr=["length"])
    nx.set_edge_attributes(graph, {(0, 1): [1.0], (1, 2): [1.0, 2.0]}, "length")
    with pytest.raises(ValueError, match=r"edge \(1, 2\): expected 1 numbers, like the edges before it, found 2"):
        as_graph(graph, edge_attr="length")
    parallel = nx.MultiGraph([(0, 1, {"bond": 1}), (0, 1, {"bond": 2})])
    with pytest.raises(ValueError, match="edges 0 and 1 of the list both join 0 and 1, with different labels"):
        as_graph(parallel, edge_label="bond")


def test_parallel_edges_of_networkx():
    graph = nx.MultiGraph([("u", "v", {"weight": 2.0}), ("v", "u", {"weight": 3.0}), ("v", "w", {"weight": 1.0})])
    assert np.array_equal(as_graph(graph).adjacency.toarray(), nx.to_numpy_array(graph))


def test_lists_of_networkx_graphs():
    graphs = [weighted(seed) for seed in range(8)]
    matrices = [(nx.to_scipy_sparse_array(graph), [graph.nodes[v]["x"] for v in graph]) for graph in graphs]
    model = PyramidalReservoir(**MODEL).fit(graphs)
    assert np.array_equal(model.transform(graphs), model.transform(matrices))
    levels = coarsen(graphs[0], "graclus"), coarsen(nx.to_scipy_sparse_array(graphs[0]), "graclus")
    assert abs(levels[0][1].A - levels[1][1].A).max() == 0
    assert np.array_equal(maxcut(graphs[1])[0], maxcut(nx.to_scipy_sparse_array(graphs[1]))[0])


class Tensor:
    """The part of a tensor's interface that is used."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return SimpleNamespace(cpu=lambda: SimpleNamespace(numpy=lambda: self.values))


def pyg_data(edge_index, **rest):
    return SimpleNamespace(edge_index=Tensor(edge_index), **rest)


def test_pytorch_geometric_by_its_looks():
    ends = [[0, 1, 1, 2], [1, 0, 2, 1]]
    data = pyg_data(ends, num_nodes=4, x=Tensor(np.arange(8.0).reshape(4, 2)), z=Tensor([6, 1, 1, 8]))
    assert as_graph(data) == Graph(ends, np.arange(8.0).reshape(4, 2))
    assert as_graph(data, label="z").labels.tolist() == [6, 1, 1, 8]
    heavy = pyg_data(ends, num_nodes=4, x=None, edge_attr=Tensor([[2.0], [2.0], [3.0], [3.0]]))
    assert as_graph(heavy, weight="edge_attr") == Graph(ends, num_nodes=4, weights=[2, 2, 3, 3])
    assert as_graph(heavy) == Graph(ends, num_nodes=4, edge_attr=[2, 2, 3, 3])
    assert as_graph(heavy, edge_attr=[]) == Graph(ends, num_nodes=4)
    bonds = [[1, 0], [1, 0], [2, 1], [2, 1]]
    whole = pyg_data(ends, num_nodes=4, x=None, edge_attr=Tensor(bonds), distance=Tensor([0.5, 0.5, 1.5, 1.5]))
    assert as_graph(whole) == Graph(ends, num_nodes=4, edge_label=bonds)
    both = as_graph(whole, edge_attr="distance", edge_label="edge_attr")
    assert both == Graph(ends, num_nodes=4, edge_label=bonds, edge_attr=[0.5, 0.5, 1.5, 1.5])
    assert as_graph(whole, edge_label=["edge_attr", "edge_attr"]).edge_label.shape == (4, 4)
    with pytest.raises(ValueError, match="edge_label: expected an attribute 'bond', found none"):
        as_graph(whole, edge_label="bond")
    uneven = pyg_data(ends, num_nodes=4, x=None, edge_attr=Tensor([1, 2, 3, 3]))
    with pytest.warns(UserWarning, match="the two directions of an edge have different .* read as directed"):
        assert len(as_batch([uneven])) == 1
    with pytest.raises(ValueError, match="graph 0: features: expected 5 rows|num_nodes: expected 4"):
        as_batch([pyg_data(ends, num_nodes=5, x=Tensor(np.ones((4, 2))))])


def test_a_pytorch_geometric_batch_is_taken_apart():
    rng = np.random.default_rng(0)
    sizes, graphs, ends, weights, bonds = [3, 0, 5, 1], [], [], [], []
    first = np.concatenate([[0], np.cumsum(sizes)])
    rows = rng.random((first[-1], 2))
    for n, start in zip(sizes, first):
        upper = np.argwhere(np.triu(rng.random((n, n)) < 0.5)).T
        w = rng.random(upper.shape[1])
        bond = rng.integers(0, 3, (upper.shape[1], 2))
        graphs.append(Graph(upper, rows[start : start + n], weights=w, edge_label=bond))
        ends.append(upper + start)
        weights.append(w)
        bonds.append(bond)
    order = rng.permutation(sum(part.shape[1] for part in ends))
    joined, weights = np.concatenate(ends, axis=1)[:, order], np.concatenate(weights)[order]
    batch = pyg_data(joined, num_nodes=first[-1], x=Tensor(rows), edge_weight=Tensor(weights), ptr=Tensor(first))
    batch.edge_attr = Tensor(np.concatenate(bonds)[order])
    same_batch(as_batch(batch), as_batch(graphs))
    batch.edge_index = Tensor([[0], [4]])
    batch.edge_weight = batch.edge_attr = None
    with pytest.raises(ValueError, match="graph 0: edge 0 of the batch leads to another graph"):
        as_batch(batch)


def test_dgl_by_its_looks():
    graph = SimpleNamespace(
        ndata={"feat": Tensor(np.eye(3)), "kind": Tensor([1, 2, 3])},
        edata={"weight": Tensor([2.0, 3.0])},
        edges=lambda: (Tensor([0, 1]), Tensor([1, 2])),
        num_nodes=lambda: 3,
    )
    assert as_graph(graph) == Graph([[0, 1], [1, 2]], np.eye(3), weights=[2, 3])
    assert as_graph(graph, features=["kind", "feat"]).features.shape == (3, 4)
    same_batch(as_batch([graph, graph]), as_batch([as_graph(graph)] * 2))
    graph.edata |= {"bond": Tensor([1, 2]), "feat": Tensor([[0.5, 1.0], [1.5, 2.0]])}
    named = as_graph(graph, edge_label="bond", edge_attr="feat")
    assert named == Graph([[0, 1], [1, 2]], np.eye(3), weights=[2, 3], edge_label=[1, 2], edge_attr=[[0.5, 1], [1.5, 2]])
    with pytest.warns(UserWarning, match="edges have unused attributes 'bond', 'feat'"):
        as_graph(graph)


@pytest.mark.parametrize("directed", [False, True])
def test_igraph(directed):
    igraph = pytest.importorskip("igraph")
    graph = weighted(3, directed)
    numbers = {v: at for at, v in enumerate(graph)}
    made = igraph.Graph(n=len(numbers), edges=[(numbers[u], numbers[v]) for u, v in graph.edges], directed=directed)
    assert as_graph(made).adjacency.nnz == nx.to_scipy_sparse_array(graph).nnz
    made.es["weight"] = [held for _, _, held in graph.edges(data="weight")]
    made.vs["x"] = [graph.nodes[v]["x"] for v in graph]
    made.vs["kind"] = [graph.nodes[v]["kind"] for v in graph]
    assert as_graph(made, label="kind") == as_graph(graph, label="kind")
    assert as_graph(made, features="kind").features.shape == (12, 1)
    graph = bonded(3, directed)
    for name in ("bond", "ring", "length", "axis"):
        made.es[name] = [held for _, _, held in graph.edges(data=name)]
    assert as_graph(made, label="kind", **EDGES) == as_graph(graph, label="kind", **EDGES)
    with pytest.warns(UserWarning, match="edges have unused attributes 'bond', 'ring', 'length'"):
        as_graph(made)


def edge_rows(graphs):
    rows = [(name, u, v, w) for name, graph in graphs.items() for u, v, w in graph.edges(data="weight")]
    return pd.DataFrame(rows, columns=["graph", "source", "target", "weight"])


def named_graphs():
    plain = {name: nx.gnp_random_graph(n, 0.4, seed=n) for name, n in (("beta", 6), ("alpha", 9), ("gamma", 4))}
    for graph in plain.values():
        nx.set_edge_attributes(graph, {edge: 1.0 + sum(edge) for edge in graph.edges}, "weight")
        nx.set_node_attributes(graph, {v: v % 2 for v in graph}, "kind")
        nx.set_node_attributes(graph, {v: [v / 2, -1.0 * v] for v in graph}, "x")
        graph.remove_nodes_from(list(nx.isolates(graph)))
    return {name: nx.relabel_nodes(graph, lambda v: f"v{v:02}") for name, graph in plain.items()}


def test_tables_of_edges():
    graphs = named_graphs()
    frame = edge_rows(graphs).sample(frac=1, random_state=0)
    found = from_edges(frame)
    assert found.ids == list(dict.fromkeys(frame["graph"]))
    for name, graph in zip(found.ids, found.graphs):
        expected = nx.to_numpy_array(graphs[name], nodelist=sorted(graphs[name]))
        assert np.array_equal(graph.adjacency.toarray(), expected)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    mapping = {name: frame[name].to_numpy() for name in frame}
    for table in (arrow, mapping):
        assert list(from_edges(table).graphs) == list(found.graphs)
    model = PyramidalReservoir(**MODEL).fit(frame)
    assert np.array_equal(model.transform(frame), model.transform(found))
    assert np.array_equal(model.transform(arrow), model.transform(list(found.graphs)))
    polars = pytest.importorskip("polars")
    assert np.array_equal(model.transform(polars.from_arrow(arrow)), model.transform(found))


def test_a_table_of_vertices_says_what_they_carry():
    graphs = named_graphs()
    listed = [(name, v, held["x"][0], held["x"][1], held["kind"]) for name, g in graphs.items() for v, held in g.nodes(data=True)]
    nodes = pd.DataFrame(listed, columns=["g", "name", "p", "q", "kind"])
    nodes.loc[len(nodes)] = ["lonely", "only", 0.5, 0.25, 1]
    frame = edge_rows(graphs).rename(columns={"graph": "g", "source": "from", "target": "to"}).sample(frac=1, random_state=1)
    names = dict(graph="g", source="from", target="to", node="name")
    found = from_edges(frame, nodes, **names, features=["p", "q"], label="kind")
    assert found.ids == [*graphs, "lonely"] and found.graphs[3].num_nodes == 1
    for graph, made in zip(graphs.values(), found.graphs):
        assert made == as_graph(graph, label="kind")
    with pytest.raises(ValueError, match="edges, row 0: vertex '.*' of graph '.*' is not in the table of vertices"):
        from_edges(frame, nodes[nodes["name"] != frame["from"].iloc[0]], **names)
    with pytest.raises(ValueError, match="nodes: expected every vertex once, found 'only' of graph 'lonely' twice"):
        from_edges(frame, pd.concat([nodes, nodes.tail(1)]), **names)
    with pytest.raises(ValueError, match="edges, row .*: graph 'alpha' is not in the table of vertices"):
        from_edges(frame, nodes[nodes["g"] != "alpha"], **names)


def test_tables_say_what_edges_carry():
    rows = []
    for name, graph in named_graphs().items():
        for at, (u, v) in enumerate(graph.edges):
            rows.append((name, u, v, at % 3, at % 2, at / 2))
    frame = pd.DataFrame(rows, columns=["graph", "source", "target", "bond", "ring", "length"]).sample(frac=1, random_state=2)
    found = from_edges(frame, edge_label=["bond", "ring"], edge_attr="length")
    for name, made in zip(found.ids, found.graphs):
        graph = nx.from_pandas_edgelist(frame[frame["graph"] == name], edge_attr=True)
        ordered = nx.Graph()
        ordered.add_nodes_from(sorted(graph))
        ordered.add_edges_from(graph.edges(data=True))
        assert made == as_graph(ordered, edge_label=["bond", "ring"], edge_attr="length")
    usual = frame[["graph", "source", "target"]].assign(edge_label=frame["bond"], edge_attr=frame["length"])
    assert list(from_edges(usual).graphs) == list(from_edges(frame, edge_label="bond", edge_attr=["length"]).graphs)
    same_batch(as_batch(usual), from_edges(usual).graphs._raw)
    with pytest.warns(UserWarning, match=r"columns 'bond', 'ring', 'length' of the edge table are not used; .*from_edges\("):
        as_batch(frame)
    with pytest.raises(ValueError, match="edges: expected a column 'kind', found graph, source"):
        from_edges(frame, edge_label="kind")
    with pytest.raises(TypeError, match="edges: column 'length': expected integers, found float64"):
        from_edges(frame, edge_label="length")
    nodes = {"node": [0, 1], "a": [1, 2], "b": [3, 4]}
    assert from_edges({"source": [0], "target": [1]}, nodes, label=["a", "b"]).graphs[0].labels.tolist() == [[1, 3], [2, 4]]


def test_one_graph_needs_no_name():
    found = from_edges({"source": [3, 1], "target": [1, 2]})
    assert found.ids == [0] and found.graphs[0] == Graph([[2, 0], [0, 1]])
    with pytest.raises(ValueError, match="expected a column 'graph' with the graph of each edge"):
        PyramidalReservoir().fit(pd.DataFrame({"source": [3, 1], "target": [1, 2]}))


def wrong_things():
    path = nx.path_graph(3)
    half = nx.Graph(path)
    half.nodes[0]["x"] = 1.0
    text = nx.Graph(path)
    text.edges[0, 1]["weight"] = "heavy"
    ragged = nx.Graph(path)
    nx.set_node_attributes(ragged, {0: [1.0], 1: [1.0, 2.0], 2: [1.0]}, "x")
    kinds = nx.Graph(path)
    nx.set_node_attributes(kinds, "C", "kind")
    yield lambda: PyramidalReservoir().fit([path, half]), ValueError, "graph 1: vertex 1: expected an attribute 'x', found none"
    yield lambda: PyramidalReservoir().fit([text]), TypeError, r"graph 0: edge \(0, 1\): attribute 'weight': expected a number, found 'heavy'"
    yield lambda: as_graph(ragged), ValueError, "vertex 1: expected 1 features, like the vertices before it, found 2"
    yield lambda: as_graph(kinds, label="kind"), TypeError, "vertex 0: attribute 'kind': expected an integer, found 'C'"
    yield lambda: as_graph(path, weight="cost"), ValueError, "weight: expected an attribute 'cost' of the edges, found none"
    yield lambda: as_graph(sp.eye_array(2), label="a"), TypeError, "label: .* has no named attributes"
    yield lambda: PyramidalReservoir().fit(path), TypeError, "expected a sequence of graphs, found networkx.classes.graph.Graph"
    yield lambda: from_edges(3), TypeError, "edges: expected a table, found int"
    yield lambda: from_edges({"source": [1]}), ValueError, "edges: expected a column 'target', found source"
    yield lambda: from_edges({"source": [1, None], "target": [1, 2]}), ValueError, "edges: column 'source', row 1: expected a value, found none"
    yield lambda: from_edges({"source": [1, "a"], "target": [1, 2]}), TypeError, "column 'source': expected values of one kind"
    yield lambda: from_edges({"source": [1], "target": [2], "weight": ["a"]}), TypeError, "edges: column 'weight': expected numbers"
    yield lambda: from_edges({"source": [1], "target": [2], "weight": [-1.0]}), ValueError, "graph 0: edge 0 has weight -1"
    yield lambda: from_edges({"source": [1], "target": [2]}, label="a"), ValueError, "label: expected a table of vertices"


@pytest.mark.parametrize("make, kind, message", list(wrong_things()))
def test_what_is_wrong_is_said(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def matrices(seed, layout, features):
    rng = np.random.default_rng(seed)
    for n in rng.integers(0, 9, 30):
        dense = np.triu(rng.random((n, n)) < 0.4)
        dense = (dense | dense.T) * (1.0 if seed % 2 else rng.integers(1, 4))
        matrix = getattr(sp, layout)(dense)
        yield (matrix, rng.random((n, 2))) if features else matrix


@pytest.mark.parametrize("layout", ["csr_matrix", "csr_array", "coo_array", "csc_matrix"])
@pytest.mark.parametrize("features", [False, True])
def test_many_matrices_at_once_are_each_alone(layout, features):
    for seed in range(4):
        graphs = list(matrices(seed, layout, features))
        same_batch(_of_matrices(graphs), _one_by_one(graphs))


def test_matrices_that_need_a_closer_look():
    twice = sp.csr_array((np.ones(4), np.array([1, 1, 0, 0]), np.array([0, 2, 4])), shape=(2, 2))
    assert _of_matrices([twice]) is None
    assert Graph._wrap(as_batch([twice]).graph(0)).adjacency.toarray().tolist() == [[0, 2], [2, 0]]
    loose = sp.csr_array((np.ones(9), np.arange(9) % 2, np.array([0, 2, 4])), shape=(2, 2))
    same_batch(as_batch([loose]), as_batch([sp.csr_array(np.ones((2, 2)))]))
    path = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    for bad, message in (
        (sp.csr_array((2, 3)), "graph 1: adjacency: expected a square matrix"),
        (path * 1j, "graph 1: adjacency: expected numbers"),
        ((path, np.ones((3, 1))), r"graph 1: features: expected 2 rows, found 3"),
        (path * -1, "graph 1: edge 0 has weight -1"),
    ):
        good = (path, np.ones((2, 1))) if isinstance(bad, tuple) else path
        with pytest.raises((TypeError, ValueError), match=message):
            as_batch([good, bad])


def test_datasets_of_tables_pickle():
    found = from_edges({"graph": [0, 0, 1], "source": [3, 1, 0], "target": [1, 2, 5]})
    again = pickle.loads(pickle.dumps(found))
    assert again.ids == [0, 1] and list(again.graphs) == list(found.graphs)


@pytest.mark.filterwarnings("ignore:all 1 vertex features are constant")
def test_graphs_without_vertices_fit_beside_all_others():
    path = nx.path_graph(3)
    nx.set_node_attributes(path, 2.0, "size")
    nx.set_node_attributes(path, 1, "kind")
    for names in ({"features": "size"}, {"features": "size", "label": "kind"}, {"label": "kind"}):
        whole, empty = as_graph(path, **names), as_graph(nx.Graph(), **names)
        vectors = PyramidalReservoir(**MODEL).fit_transform([empty, whole, empty])
        assert not vectors[0].any() and not vectors[2].any() and vectors[1].any(), names
        assert np.array_equal(vectors[1:2], PyramidalReservoir(**MODEL).fit_transform([whole])), names
    one, two = Graph(np.eye(2, dtype=int), features=np.ones((2, 1))), Graph(np.eye(2, dtype=int), features=np.ones((2, 2)))
    with pytest.raises(ValueError, match="graph 2: expected 1 features per vertex, as in the graphs before it, found 2"):
        PyramidalReservoir(**MODEL).fit([Graph(np.zeros((2, 0), dtype=int), features=np.zeros((0, 3))), one, two])


def test_unused_string_attributes_are_reported():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {v: "tank" for v in graph}, "sort")
    with pytest.warns(UserWarning, match="vertices have unused attributes 'sort'; .*label='sort' for a category"):
        as_graph(graph)


def test_batches_of_graphs_without_vertices():
    graphs = [Graph([[0], [1]], features=np.eye(2)), Graph([[0, 1], [1, 2]], features=np.ones((3, 2)))]
    for options in ({}, {"raw": False}):
        model = PyramidalReservoir(**MODEL, **options).fit(graphs)
        assert not model.transform([nx.Graph(), nx.Graph()]).any(), options
        odd = Graph(np.zeros((2, 0), dtype=int), features=np.zeros((0, 5)))
        assert not model.transform([odd]).any(), options
