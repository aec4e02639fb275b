"""Predictions for vertices, held against scikit-learn and the equations."""

import json
import subprocess
import sys
import types

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import stepwell
from stepwell import Graph, PyramidalReservoirNodeClassifier, PyramidalReservoirNodeRegressor

SMALL = {"units": 12, "blocks": 2, "fixed_sweeps": 3, "concat": True, "random_state": 0, "precision": "f64"}


def random_graph(seed, n=60):
    rng = np.random.default_rng(seed)
    matrix = sp.random(n, n, 0.06, random_state=rng, format="csr")
    matrix = ((matrix + matrix.T) != 0).astype(float)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return Graph(matrix, rng.normal(size=(n, 4)))


@pytest.fixture(scope="module")
def graph():
    return random_graph(1)


@pytest.fixture(scope="module")
def labels(graph):
    """Whether the neighbours' first feature is positive on the whole."""
    return (graph.adjacency @ graph.features[:, 0] > 0).astype(int)


def test_rows_are_those_of_the_equation(graph, labels):
    model = PyramidalReservoirNodeClassifier(**SMALL, landmarks=0).fit(graph, labels)
    rows = model.transform(graph)
    x = graph.features / np.sqrt((graph.features**2).sum(axis=1).mean())
    degree = np.maximum(np.asarray(graph.adjacency.sum(axis=1)).ravel(), 1e-300)
    spread = sp.diags(degree**-0.5) @ graph.adjacency @ sp.diags(degree**-0.5)
    columns, below = [x], x
    for w, v in model.weights_:
        h = np.zeros((len(x), len(w)))
        for _ in range(3):
            h = np.tanh(spread @ h @ w + below @ v)
            columns.append(h)
        below = h
    np.testing.assert_allclose(rows, np.hstack(columns), atol=1e-12)


def test_the_readout_is_that_of_scikit_learn(graph):
    truth = np.sin(np.arange(60.0))
    known = np.where(np.arange(60) % 3 > 0, truth, np.nan)
    model = PyramidalReservoirNodeRegressor(**SMALL, landmarks=0, alpha=0.5).fit(graph, known)
    rows, learnt = model.transform(graph), ~np.isnan(known)
    peer = Ridge(alpha=0.5).fit(rows[learnt], known[learnt])
    np.testing.assert_allclose(model.predict(graph), peer.predict(rows), atol=1e-8)
    expected = peer.score(rows[~learnt], truth[~learnt])
    assert model.score(graph, truth, mask=~learnt) == pytest.approx(expected)
    assert model.predict_interval(graph).shape == (60, 2)


def test_unknown_targets_and_masks(graph, labels):
    mask = np.arange(60) % 2 == 0
    by_mask = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, labels, mask=mask)
    expected = by_mask.decision_function(graph)
    for unknown in (
        np.where(mask, labels, -1),
        np.where(mask, labels, -1).astype(np.int8),
        np.array([label if known else None for label, known in zip(labels.tolist(), mask)], dtype=object),
    ):
        model = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, unknown)
        np.testing.assert_array_equal(model.decision_function(graph), expected)
        assert model.classes_.tolist() == [0, 1]
    # With a mask -1 is a class.
    signs = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, 2 * labels - 1, mask=mask)
    assert signs.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(signs.decision_function(graph), expected)
    proba = by_mask.predict_proba(graph)
    assert proba.shape == (60, 2) and np.allclose(proba.sum(axis=1), 1)
    assert by_mask.score(graph, labels, mask=~mask) == (by_mask.predict(graph) == labels)[~mask].mean()
    assert by_mask.score(graph, np.where(mask, -1, labels)) == by_mask.score(graph, labels, mask=~mask)


def test_one_graph_is_an_array_and_several_are_lists(graph, labels):
    other = random_graph(2, 40)
    model = PyramidalReservoirNodeClassifier(**SMALL).fit([graph, other], [labels, np.full(40, -1)])
    alone = PyramidalReservoirNodeClassifier(**SMALL).fit([graph], [labels])
    assert isinstance(alone.predict([graph]), list) and len(alone.predict([graph])) == 1
    one = model.predict(graph)
    several = model.predict([graph, other])
    assert one.shape == (60,) and [part.shape for part in several] == [(60,), (40,)]
    np.testing.assert_array_equal(model.decision_function([graph, other])[0], model.decision_function(graph))
    pair = (graph.adjacency, graph.features)
    np.testing.assert_array_equal(model.predict(pair), one)
    assert model.transform([graph, other])[1].shape[0] == 40


def test_several_targets(graph, labels):
    y = np.column_stack([labels, 1 - labels]).astype(float)
    y[::4, 0], y[1::4] = np.nan, np.nan
    model = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, y)
    assert model.predict(graph).shape == (60, 2) and model.alpha_.shape == (2,)
    numbers = PyramidalReservoirNodeRegressor(**SMALL).fit(graph, y + 0.5)
    assert numbers.predict(graph).shape == (60, 2)


def test_graphs_of_pytorch_geometric_bring_targets_and_masks(graph, labels):
    ends = np.array(graph.adjacency.nonzero())
    mask = np.arange(60) % 2 == 0
    data = types.SimpleNamespace(
        edge_index=ends, x=graph.features, num_nodes=60, y=labels, train_mask=mask, ptr=None, edge_attr=None
    )
    model = PyramidalReservoirNodeClassifier(**SMALL).fit(data)
    expected = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, labels, mask=mask)
    np.testing.assert_array_equal(model.predict(data), expected.predict(graph))


def test_models_go_to_files_and_to_the_command_line(tmp_path, graph, labels):
    model = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, labels)
    path, rows = tmp_path / "m.safetensors", tmp_path / "g.jsonl"
    model.save(path)
    again = stepwell.load(path)
    assert type(again) is PyramidalReservoirNodeClassifier and again.units == 12
    np.testing.assert_array_equal(again.decision_function(graph), model.decision_function(graph))
    split = np.where(np.arange(60) < 40, "train", "test")
    stepwell.save_dataset(rows, [graph], node_y=[labels], node_split=[split])
    loaded = stepwell.load_dataset(rows)
    assert loaded.node_y[0].tolist() == labels.tolist() and loaded.node_split[0].tolist() == split.tolist()
    command = [sys.executable, "-c", "import sys; from stepwell._command import main; sys.exit(main())"]
    done = subprocess.run(
        [*command, "predict", str(rows), "-m", str(path), "-o", str(tmp_path / "p.csv"), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["vertices"] == 60
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert lines[0].startswith("graph,vertex,prediction")
    assert [int(line.split(",")[2]) for line in lines[1:]] == model.predict(graph).tolist()


def test_a_graph_that_has_grown_is_predicted_without_training(labels, graph):
    model = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, labels)
    grown = sp.block_diag([graph.adjacency, sp.csr_matrix((5, 5))]).tolil()
    for new in range(60, 65):
        grown[new, new - 60] = grown[new - 60, new] = 1
    features = np.vstack([graph.features, graph.features[:5]])
    assert model.predict(Graph(grown.tocsr(), features)).shape == (65,)


def test_what_is_wrong_is_said(graph, labels):
    model = PyramidalReservoirNodeClassifier(**SMALL)
    for y, mask, told in (
        (labels[:5], None, "y: expected 60 values for graph 0, one per vertex, found 5"),
        (np.full(60, -1), None, "y: expected a known target of at least one vertex"),
        (None, None, "y: expected the targets of vertices, found none"),
    ):
        with pytest.raises(ValueError, match=told.split("(")[0]):
            model.fit(graph, y, mask=mask)
    with pytest.raises(TypeError, match="mask: expected an array of booleans"):
        model.fit(graph, labels, mask=labels)
    with pytest.raises(ValueError, match="mask: expected 1 arrays"):
        model.fit([graph], [labels], mask=[True, False])
    with pytest.raises(ValueError, match="at least two classes"):
        model.fit(graph, np.where(labels == 1, 1, -1))
    with pytest.raises(ValueError, match="PyramidalReservoirNodeClassifier"):
        stepwell.PyramidalReservoirClassifier.from_preset("vertices")
    with pytest.raises(TypeError, match="pool"):
        PyramidalReservoirNodeClassifier(pool="ndp")


def test_roles_in_a_club():
    club = nx.karate_club_graph()
    truth = np.array([club.nodes[v].pop("club") for v in club])
    for *_, held in club.edges(data=True):
        held.clear()
    known = np.zeros(34, bool)
    known[[0, 1, 2, 3, 7, 13, 33, 32, 31, 30, 29, 28]] = True
    model = PyramidalReservoirNodeClassifier.from_preset("vertices", random_state=0).fit(club, truth, mask=known)
    assert set(model.predict(club)) <= {"Mr. Hi", "Officer"}
