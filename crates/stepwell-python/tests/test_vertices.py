"""Predictions for vertices, compared with scikit-learn and the equations."""

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
    """Whether the sum of the neighbours' first feature is positive."""
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
    # With a mask, -1 is a class.
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


def test_weights_belong_to_the_vertices_of_each_graph(graph, labels):
    graphs, y = [graph, random_graph(2, 40)], [labels, np.arange(40) % 2]
    weights = [np.linspace(1, 2, 60), np.linspace(3, 4, 40)]
    options = {**SMALL, "alpha": 0.5, "landmarks": 0}
    model = PyramidalReservoirNodeRegressor(**options).fit(graphs, y, sample_weight=weights)
    rows = np.concatenate(model.transform(graphs))
    peer = Ridge(alpha=0.5).fit(rows, np.concatenate(y), np.concatenate(weights))
    np.testing.assert_allclose(np.concatenate(model.predict(graphs)), peer.predict(rows), atol=1e-8)
    expected = peer.score(rows, np.concatenate(y), np.concatenate(weights))
    assert model.score(graphs, y, sample_weight=weights) == pytest.approx(expected)
    # The total length is right, but the weights would belong to other vertices.
    for wrong, message in (
        ([weights[0][:50], np.ones(50)], "expected 60 values for graph 0, one per vertex, found 50"),
        ([np.ones(100)], "expected 2 arrays, one per graph, found 1"),
        (np.ones(100), "expected 2 arrays, one per graph, found 100"),
        ([np.ones(60), np.ones((40, 2))], r"expected one number per vertex for graph 1, found an array of shape \(40, 2\)"),
    ):
        for call in (model.fit, model.score):
            with pytest.raises(ValueError, match=f"sample_weight: {message}"):
                call(graphs, y, sample_weight=wrong)
    # One graph, in any form.
    data = types.SimpleNamespace(
        edge_index=np.array(graph.adjacency.nonzero()), x=graph.features, num_nodes=60, y=labels, ptr=None, edge_attr=None
    )
    fit = lambda *given, **more: PyramidalReservoirNodeRegressor(**options).fit(*given, **more).predict(graph)
    one = fit(graph, labels, sample_weight=weights[0])
    assert not np.array_equal(one, fit(graph, labels))
    for found in (
        fit([graph], [labels], sample_weight=[weights[0]]),
        fit([graph], [labels], sample_weight=weights[0].tolist()),
        fit(data, sample_weight=weights[0]),
        fit([data], sample_weight=[weights[0]]),
    ):
        np.testing.assert_array_equal(found, one)


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


def test_a_graph_that_has_grown_is_predicted_without_training():
    """New vertices after the end of a path, whose neighbours determine their classes."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2))
    path = lambda n: Graph([range(n - 1), range(1, n)], x[:n])
    around = np.convolve(x[:, 0], [1, 0, 1], mode="same")
    model = PyramidalReservoirNodeClassifier(units=50, random_state=0).fit(path(300), (around[:300] > 0).astype(int))
    before, after = model.decision_function(path(300)), model.decision_function(path(400))
    # Six sweeps reach five steps, and the larger degree of the last vertex adds one.
    np.testing.assert_allclose(after[:293], before[:293], atol=1e-4)
    assert abs(after[293:300] - before[293:]).max() > 1e-3
    assert ((after > 0) == (around > 0))[300:].mean() > 0.85


def test_what_is_wrong_is_said(graph, labels):
    model = PyramidalReservoirNodeClassifier(**SMALL)
    for y, mask, told in (
        (labels[:5], None, "y: expected 60 values for graph 0, one per vertex, found 5"),
        (np.full(60, -1), None, "y: expected a known target for at least one vertex"),
        (None, None, "y: expected the targets of vertices, as y="),
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


def wordy(n=80, width=60):
    """A graph whose vertices have words, a few of many, and a class that their neighbours
    determine."""
    rng = np.random.default_rng(5)
    words = (sp.random(n, width, 0.05, random_state=rng) + sp.eye(n, width)).tocsr()
    words.data[:] = 1 + rng.random(len(words.data))
    matrix = sp.random(n, n, 0.06, random_state=rng, format="csr")
    matrix = ((matrix + matrix.T) != 0).astype(float)
    first, second = (np.asarray(matrix @ part.sum(axis=1)).ravel() for part in (words[:, :30], words[:, 30:]))
    return matrix, words, (first > second).astype(int)


@pytest.mark.parametrize("options", [{}, {"by_length": False}, {"by_length": False, "raw": True}])
def test_sparse_features_are_the_same_features(options):
    matrix, words, y = wordy()
    sparse, dense = Graph(matrix, words), Graph(matrix, words.toarray())
    assert sparse == dense and sp.issparse(sparse.features) and (sparse.features != words).nnz == 0
    assert repr(sparse) == repr(dense)
    settings = {**SMALL, "random_state": 3, **options}
    model = PyramidalReservoirNodeClassifier(**settings).fit(sparse, y)
    assert model.feature_map_["sparse"]
    other = PyramidalReservoirNodeClassifier(**settings).fit(dense, y)
    np.testing.assert_array_equal(model.decision_function(sparse), other.decision_function(sparse))
    np.testing.assert_array_equal(model.decision_function(sparse), model.decision_function(dense))
    # By the equation, with dense matrices.
    x = words.toarray()
    if not options:
        x = x / np.sqrt((x**2).sum(axis=1).mean())
    elif "raw" not in options:
        x = (x - x.mean(axis=0)) / x.std(axis=0)
    degree = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), 1e-300)
    spread = sp.diags(degree**-0.5) @ matrix @ sp.diags(degree**-0.5)
    w, v = model.weights_[0]
    h = np.tanh(x @ v)
    rows = model.transform(sparse)
    np.testing.assert_allclose(rows[:, :60], x, atol=1e-12)
    np.testing.assert_allclose(rows[:, 60:72], h, atol=1e-12)
    np.testing.assert_allclose(rows[:, 72:84], np.tanh(spread @ h @ w + x @ v), atol=1e-12)


def test_sparse_features_come_from_many_sides(tmp_path):
    import pickle

    matrix, words, y = wordy()
    graph = Graph(matrix, words)
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph and sp.issparse(again.features)
    model = PyramidalReservoirNodeClassifier(units=10, random_state=0).fit((matrix, words.tocoo()), y)
    expected = model.decision_function(graph)
    np.testing.assert_array_equal(model.decision_function((matrix, words.tocsc())), expected)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(stepwell.load(tmp_path / "m.safetensors").decision_function(graph), expected)
    edges = np.stack(matrix.nonzero())
    data = types.SimpleNamespace(edge_index=edges, x=words, num_nodes=80, y=y, edge_attr=None)
    np.testing.assert_array_equal(model.decision_function(data), expected)
    # An object with the interface of a sparse tensor.
    part = lambda values: lambda: values
    tensor = types.SimpleNamespace(
        layout="torch.sparse_csr",
        shape=words.shape,
        values=part(words.data),
        col_indices=part(words.indices),
        crow_indices=part(words.indptr),
    )
    tensor.detach = tensor.cpu = tensor.to_sparse_csr = lambda: tensor
    data.x = tensor
    np.testing.assert_array_equal(model.decision_function(data), expected)
    # One-hot rows give the same result as labels in an array.
    hot = sp.csr_matrix((np.ones(80), (np.arange(80), np.arange(80) % 40)), shape=(80, 40))
    rows = [PyramidalReservoirNodeClassifier(units=10, random_state=0).fit((matrix, x), y).transform((matrix, x))
            for x in (hot, hot.toarray())]
    np.testing.assert_array_equal(*rows)


def test_sparse_features_that_are_wrong_are_named():
    matrix, words, _ = wordy()
    bad = words.copy()
    bad.data[7] = np.nan
    with pytest.raises(ValueError, match="expected a finite number"):
        Graph(matrix, bad)
    with pytest.raises(ValueError, match="features: expected 80 rows, found 79"):
        Graph(matrix, words[:79])
    bad = words.copy()
    bad.indices = bad.indices.copy()
    bad.indices[3] = 99
    with pytest.raises(ValueError, match="features: the csr matrix is not valid"):
        Graph(matrix, bad)
    with pytest.raises(TypeError, match="features: expected real numbers, found complex"):
        Graph(matrix, words.astype(complex))


@pytest.mark.parametrize("landmarks", [0, 30])
def test_explanations_are_those_of_lines_in_place_of_tanh(graph, labels, landmarks):
    settings = {**SMALL, "blocks": 1, "landmarks": landmarks}
    model = PyramidalReservoirNodeClassifier(**settings).fit(graph, np.where(labels == 1, "yes", "no"))
    vertex = 11
    intercept, added = model.explain(graph, vertex)
    assert intercept.shape == (2,) and added.shape == (60, 2)
    decision = model.decision_function(graph)[vertex]
    np.testing.assert_allclose(intercept + added.sum(axis=0), [-decision, decision], atol=1e-9)
    # With fixed slopes, every row is linear in the inputs: one vertex at a time, for a linear
    # readout.
    x = graph.features / np.sqrt((graph.features**2).sum(axis=1).mean())
    degree = np.maximum(np.asarray(graph.adjacency.sum(axis=1)).ravel(), 1e-300)
    spread = sp.diags(degree**-0.5) @ graph.adjacency @ sp.diags(degree**-0.5)
    (w, v), slopes = model.weights_[0], []
    h = np.zeros((60, len(w)))
    for _ in range(3):
        z = spread @ h @ w + x @ v
        slopes.append(np.tanh(z) / z)
        h = np.tanh(z)
    if landmarks:
        return
    for other in range(60):
        alone = np.zeros_like(x)
        alone[other] = x[other]
        columns, h = [alone[vertex]], np.zeros((60, len(w)))
        for slope in slopes:
            h = slope * (spread @ h @ w + alone @ v)
            columns.append(h[vertex])
        np.testing.assert_allclose(added[other, 1], model.coef_[0] @ np.concatenate(columns), atol=1e-9)
    with pytest.raises(IndexError, match="vertex: expected 0 to 59, found 60"):
        model.explain(graph, 60)


def test_pictures_of_vertices(graph, labels):
    model = PyramidalReservoirNodeClassifier(**SMALL).fit(graph, labels)
    picture = stepwell.plot_explanation(model, graph, vertex=4, name="a graph")
    assert picture.title == "vertex 4 of a graph: toward class 1"  # the second of two classes
    intercept, added = model.explain(graph, 4)
    np.testing.assert_allclose(picture.vertices, added[:, 1])
    assert abs(picture.decision - picture.intercept - picture.vertices.sum()) < 1e-9
    with pytest.raises(TypeError, match="vertex: the model predicts vertices; expected the vertex to explain"):
        stepwell.plot_explanation(model, graph)
    said = stepwell.plot_predictions(model, graph, labels, mask=np.arange(60) < 20)
    assert said.known == 20 and said.accuracy == (model.predict(graph) == labels)[:20].mean()
    assert said.svg.count("<circle") >= 120 and "target unknown" in said.html
    assert stepwell.plot_predictions(model, graph).known == 0
    numbers = PyramidalReservoirNodeRegressor(**SMALL).fit(graph, graph.features[:, 1])
    said = stepwell.plot_predictions(numbers, graph, graph.features[:, 1])
    error = numbers.predict(graph) - graph.features[:, 1]
    assert said.accuracy is None and abs(said.rmse - np.sqrt((error**2).mean())) < 1e-9
    with pytest.raises(TypeError, match="model: expected a model of vertices"):
        stepwell.plot_predictions(stepwell.PyramidalReservoirClassifier(), graph)


def test_large_graphs_are_drawn_around_the_vertex():
    ring = nx.cycle_graph(600)
    values = np.arange(600) % 7 / 7
    nx.set_node_attributes(ring, {v: {"x": [values[v], 1 - values[v] ** 2]} for v in ring})
    model = PyramidalReservoirNodeRegressor(units=8, random_state=0).fit(ring, np.roll(values, 1))
    picture = stepwell.plot_explanation(model, ring, vertex=300)
    assert picture.svg.count("<circle") == 250 and "vertex 300, which is explained" in picture.svg
    assert "Of 600 vertices the 250 nearest are drawn" in picture.html
    assert len(picture.vertices) == 600 and np.flatnonzero(picture.vertices).tolist() == list(range(295, 306))
