"""The ``stepwell`` command that comes with the wheel."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from stepwell import Graph, PyramidalReservoirClassifier, load_dataset

COMMAND = Path(sys.executable).with_name("stepwell")


def stepwell(*arguments):
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=120)


def test_it_is_the_same_program():
    done = stepwell("stats", "b-easy-small", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["graphs"] == 300


def test_exit_codes():
    assert stepwell("--help").returncode == 0
    assert stepwell("no-such-command").returncode == 2
    failed = stepwell("stats", "./nowhere.jsonl")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "error: ./nowhere.jsonl: no such file or folder\n"


def test_the_classifier_is_what_train_trains(tmp_path):
    rng = np.random.default_rng(0)
    with open(tmp_path / "graphs.jsonl", "w") as out:
        for number in range(60):
            size = int(rng.integers(4, 12))
            ends = rng.integers(0, size, (2, 3 * size)).tolist()
            row = {"num_nodes": size, "src": ends[0], "dst": ends[1], "x": rng.normal(9, 4, 2 * size).tolist()}
            row |= {"x_dim": 2, "node_label": rng.integers(0, 3, size).tolist(), "y": number % 3}
            print(json.dumps(row), file=out)
    model, predictions = str(tmp_path / "model.safetensors"), tmp_path / "scores.csv"
    name = str(tmp_path / "graphs.jsonl")
    done = stepwell("train", name, "-m", model, "--json")
    assert done.returncode == 0, done.stderr
    done = stepwell("predict", name, "-m", model, "-o", str(predictions))
    assert done.returncode == 0, done.stderr
    scores = np.genfromtxt(predictions, delimiter=",", names=True)
    dataset = load_dataset(name)
    expected = np.column_stack([scores[column] for column in scores.dtype.names if column.startswith("score")])
    elsewhere = pickle.loads(pickle.dumps(list(dataset.graphs)))
    for graphs in (dataset.graphs, list(dataset.graphs), elsewhere):
        found = PyramidalReservoirClassifier().fit(graphs, dataset.y)
        np.testing.assert_allclose(found.decision_function(graphs), expected, rtol=1e-9, atol=1e-12)


def test_features_are_scaled_on_the_graphs_fitted_on():
    rng = np.random.default_rng(1)
    graphs = [Graph(rng.integers(0, 8, (2, 20)), rng.normal(5, 3, (8, 2))) for _ in range(30)]
    settings = dict(raw=False, units=6, aggregate="sum")
    found = PyramidalReservoirClassifier(**settings).fit(graphs[:20], np.arange(20) % 2).transform(graphs)
    rows = np.vstack([graph.features for graph in graphs[:20]])
    scaled = [Graph(graph.adjacency, (graph.features - rows.mean(0)) / rows.std(0)) for graph in graphs]
    settings["raw"] = None
    expected = PyramidalReservoirClassifier(**settings).fit(scaled[:20], np.arange(20) % 2).transform(scaled)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
