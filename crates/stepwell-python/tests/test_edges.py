"""Edge data: gated reservoirs compared with the equation in NumPy, and through files and
estimators."""

import json
import pickle
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from test_models import rows_of, run

import stepwell
from stepwell import Graph, PyramidalReservoir, PyramidalReservoirClassifier, as_graph, load_dataset, save_dataset
from stepwell._stepwell import DirectionsDiffer


def random_graph(seed, *, labels=0, attributes=0, weighted=False, directed=False, n=24, m=60):
    rng = np.random.default_rng(seed)
    ends = {tuple(pair) if directed else tuple(sorted(pair)) for pair in rng.integers(0, n, (m, 2)).tolist()}
    edges = np.array(sorted(ends)).T
    count = edges.shape[1]
    return Graph(
        edges,
        rng.normal(size=(n, 3)),
        weights=rng.uniform(0.5, 2, count) if weighted else None,
        edge_label=rng.integers(0, 4, (count, labels)) if labels else None,
        edge_attr=rng.normal(3, 2, (count, attributes)) if attributes else None,
        directed=directed,
    )


def gates(graph, labels, frequencies, phases):
    """The gate of every matrix entry, by definition."""
    found = np.ones((graph.adjacency.nnz, labels.shape[1] or frequencies.shape[1]))
    if graph.edge_label is not None:
        columns, first = graph.edge_label.reshape(len(found), -1).T, 0
        for column in columns:
            known, rank = np.unique(column, return_inverse=True)
            found *= labels[first + rank]
            first += len(known)
    if graph.edge_attr is not None:
        a = graph.edge_attr.reshape(len(found), -1)
        found *= np.cos((a - a.mean(0)) / a.std(0) @ frequencies + phases)
    return found


def solution(graph, model):
    """The states of the last block, by Jacobi sweeps to convergence."""
    A = graph.adjacency.tocsr()
    row, column = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices
    out, into = np.asarray(A.sum(1)).ravel(), np.asarray(A.sum(0)).ravel()
    values = A.data / np.sqrt(out[row] * (into if graph.directed else out)[column])
    x = (graph.features - graph.features.mean(0)) / graph.features.std(0)
    for (W, V), gate in zip(model.weights_, model.gates_):
        g = gates(graph, *gate)
        H = np.zeros((len(x), W.shape[0]))
        for _ in range(2000):
            gathered = np.zeros_like(H)
            np.add.at(gathered, row, values[:, None] * g * H[column])
            before, H = H, np.tanh(gathered @ W + x @ V)
            if np.abs(H - before).max() < 1e-15:
                break
        x = H
    return x


CASES = {
    "labels": dict(labels=1),
    "several labels": dict(labels=3),
    "attributes": dict(attributes=2),
    "both": dict(labels=1, attributes=1),
    "directed": dict(labels=2, attributes=1, directed=True),
    "weighted": dict(labels=1, attributes=2, weighted=True),
    "weighted and directed": dict(labels=1, weighted=True, directed=True),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("solver", ["gauss-seidel", "jacobi"])
@pytest.mark.parametrize("precision, bound", [("f32", 2e-6), ("f64", 1e-10)])
def test_states_equal_numpy(case, solver, precision, bound):
    graph = random_graph(1, **CASES[case])
    for gate in ["signs", "uniform"]:
        model = PyramidalReservoir(
            units=20, edge_gate=gate, solver=solver, precision=precision, spectral_radius=0.5, tol=1e-13, max_iter=500
        ).fit([graph])
        found, expected = model.transform_nodes([graph])[-1], solution(graph, model)
        assert np.linalg.norm(found - expected) < bound * np.linalg.norm(expected)


def test_bonds_tell_molecules_apart():
    ring = [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]]
    molecules = [Graph(ring, labels=[6] * 6, edge_label=[bond] * 6) for bond in (12, 1)]
    molecules += [Graph([[0], [1]], labels=[6, 6], edge_label=[bond]) for bond in (1, 2, 3)]
    seeing = PyramidalReservoir.from_preset("accurate").fit_transform(molecules)
    with pytest.warns(UserWarning, match="this model ignores labels of edges"):
        blind = PyramidalReservoir().fit_transform(molecules)
    apart = lambda vectors, a, b: np.linalg.norm(vectors[a] - vectors[b])
    for a, b in [(0, 1), (2, 3), (2, 4), (3, 4)]:
        assert apart(seeing, a, b) > 1e-2 and apart(blind, a, b) == 0


def test_unknown_labels_are_counted():
    train = [Graph([[0, 1], [1, 2]], edge_label=labels) for labels in ([1, 2], [2, 2])]
    model = PyramidalReservoir(edge_gate="signs").fit(train)
    with pytest.warns(UserWarning, match="^1 edge has a label that no training graph has"):
        model.transform([Graph([[0, 1], [1, 2]], edge_label=[1, 7])])
    with pytest.raises(ValueError, match="edge labels: the model expects graphs with 1 per edge, but these have none"):
        model.transform([Graph([[0, 1], [1, 2]])])
    # Without edges, there is no edge data.
    assert model.transform([Graph(np.zeros((2, 0), int), num_nodes=2)]).shape == (1, 50)


def dataset():
    rng = np.random.default_rng(3)
    graphs, y = [], []
    for k in range(60):
        n = int(rng.integers(5, 9))
        bonds = rng.integers(1, 3, n)
        graphs.append(Graph(np.array([np.arange(n), np.roll(np.arange(n), -1)]), labels=[6] * n, edge_label=bonds))
        y.append("even" if (bonds == 2).sum() % 2 == 0 and n % 2 else "other")
    return graphs, y


def test_one_model_in_python_and_on_the_command_line(tmp_path):
    graphs, y = dataset()
    model = PyramidalReservoirClassifier(units=20, random_state=3).fit(graphs, y)
    assert model.edge_gate == "signs" and len(model.gates_) == 9
    expected = model.decision_function(graphs)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(graphs), expected)
    model.save(tmp_path / "m.st")
    np.testing.assert_array_equal(stepwell.load(tmp_path / "m.st").decision_function(graphs), expected)
    save_dataset(tmp_path / "rings.parquet", graphs, y)
    loaded = load_dataset(tmp_path / "rings.parquet")
    np.testing.assert_array_equal(model.decision_function(loaded.graphs), expected)
    found = rows_of(run("predict", tmp_path / "rings.parquet", "-m", tmp_path / "m.st"))
    assert [row["prediction"] for row in found] == model.predict(graphs).tolist()
    assert [float(row["score_other"]) for row in found] == expected.tolist()


def test_weights_and_gates_can_be_replaced():
    graph = random_graph(5, labels=1, attributes=1)
    model = PyramidalReservoir(units=10, edge_gate="uniform").fit([graph])
    vectors = model.transform([graph])
    other = PyramidalReservoir(units=10, edge_gate="uniform", random_state=9).fit([graph])
    other.set_weights(model.weights_, model.gates_)
    np.testing.assert_array_equal(other.transform([graph]), vectors)
    with pytest.raises(ValueError, match="gates of labels: expected -1 to 1"):
        other.set_weights(model.weights_, [(labels * 3, U, b) for labels, U, b in model.gates_])
    with pytest.raises(ValueError, match="gates: expected 2"):
        other.set_weights(model.weights_, model.gates_[:1])


def test_networkx_bonds_reach_the_model():
    made = []
    for bond in (1, 2):
        graph = nx.cycle_graph(6)
        nx.set_edge_attributes(graph, bond, "bond")
        made.append(as_graph(graph, edge_label="bond"))
    a, b = PyramidalReservoir(edge_gate="signs", spectral_radius=0.5).fit_transform(made)
    assert np.linalg.norm(a - b) > 1e-2


def test_rows_of_json_reach_the_model(tmp_path):
    rows = [
        {"num_nodes": 3, "src": [0, 1], "dst": [1, 2], "edge_label": [[1, 0], [2, 1]], "edge_attr": [0.5, 1.5], "edge_attr_dim": 1},
        {"num_nodes": 2, "src": [0], "dst": [1], "edge_label": [[1, 1]], "edge_attr": [2.5], "edge_attr_dim": 1},
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    graphs = load_dataset(path).graphs
    assert graphs[0].edge_label.tolist() == [[1, 0], [1, 0], [2, 1], [2, 1]]
    model = PyramidalReservoir(edge_gate="signs", units=8).fit(graphs)
    assert [part.shape for part in model.gates_[0]] == [(4, 8), (1, 8), (8,)]
    assert np.isfinite(model.transform(graphs)).all()


def test_directions_that_differ_are_read_as_directed():
    class Data:
        edge_index = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
        edge_attr = np.array([[1.0], [-1.0], [2.0], [-2.0]])
        num_nodes = 3
        x = edge_weight = None

    with pytest.warns(UserWarning, match="read as directed"):
        graph = as_graph(Data())
    assert graph.directed and graph.edge_attr.ravel().tolist() == [1, -1, 2, -2]
    with pytest.raises(ValueError, match="give both directions the same values, or make the graph directed"):
        Graph(Data.edge_index, edge_attr=Data.edge_attr)
    with pytest.raises(ValueError, match="with different labels; list the edge once"):
        Graph([[0, 0], [1, 1]], edge_label=[1, 2], directed=True)


def test_only_directions_that_differ_make_a_graph_directed():
    # The type of the exception decides, not its text.
    with pytest.raises(DirectionsDiffer):
        Graph([[0, 1], [1, 0]], edge_label=[1, 2])
    with pytest.raises(ValueError) as twice:
        Graph([[0, 0], [1, 1]], edge_label=[1, 2])
    assert type(twice.value) is ValueError
    graph = SimpleNamespace(
        edge_index=np.array([[0, 0], [1, 1]]), edge_attr=np.array([1, 2]), num_nodes=2, x=None, edge_weight=None
    )
    with pytest.raises(ValueError, match="list the edge once"):
        as_graph(graph)
