"""One model: the same object, file and bits in Python and on the command line."""

import csv
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stepwell
from stepwell import (
    Graph,
    PyramidalReservoir,
    PyramidalReservoirClassifier,
    PyramidalReservoirRegressor,
    load_dataset,
    make_benchmark,
    save_dataset,
)

SMALL = make_benchmark("b-easy-small", graphs_per_class=20)
#: Models of earlier versions, and their predictions.
OLD = Path(__file__).parents[3] / "testdata" / "models"


def run(*arguments):
    """Runs the command and returns its standard output."""
    code = "import sys; from stepwell._command import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


def carrying(seed=0, count=40):
    """Graphs whose vertices have attributes and labels."""
    rng = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(rng.integers(4, 12))
        ends = np.array([[a, b] for a in range(n) for b in range(a) if rng.random() < 0.4] or [[1, 0]])
        graphs.append(Graph(ends.T, rng.normal(size=(n, 2)) * 5 + 3, labels=rng.integers(0, 3, n), num_nodes=n))
    return graphs


NAMES = {
    "integers": lambda at: at % 3 * 10 - 4,
    "strings": lambda at: ["ring", "path", "2"][at % 3],
    "booleans": lambda at: at % 2 == 0,
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("preset", ["paper", "accurate"])
def test_files_cross_both_ways_with_the_same_bits(tmp_path, kind, preset):
    graphs = carrying()
    y = np.array([NAMES[kind](at) for at in range(len(graphs))])
    data, mine, its = tmp_path / "graphs.parquet", tmp_path / "mine", tmp_path / "its.bin"
    save_dataset(data, graphs, y)
    model = PyramidalReservoirClassifier.from_preset(preset, units=8).fit(graphs, y)
    model.save(mine)
    run("train", data, "-m", its, "--preset", preset, "--units", "8")
    assert mine.read_bytes() == its.read_bytes(), "the same model, however it was trained"
    loaded = stepwell.load(its)
    assert type(loaded) is PyramidalReservoirClassifier and loaded.get_params() == model.get_params()
    assert loaded.classes_.dtype == y.dtype and loaded.classes_.tolist() == sorted(set(y.tolist()))
    assert np.array_equal(loaded.decision_function(graphs), model.decision_function(graphs))
    assert loaded.predict(graphs).tolist() == model.predict(graphs).tolist()
    found = rows_of(run("predict", data, "-m", mine))
    assert [row["prediction"] for row in found] == [str(name).lower() if kind == "booleans" else str(name) for name in model.predict(graphs)]
    last = f"score_{str(model.classes_[-1]).lower() if kind == 'booleans' else model.classes_[-1]}"
    decisions = np.atleast_2d(model.decision_function(graphs).T)[-1]
    assert [float(row[last]) for row in found] == decisions.tolist(), "every digit"


def test_classes_named_by_floats_keep_their_type(tmp_path):
    graphs = carrying()
    y = np.array([0.5, 2.0] * 20)
    with pytest.raises(ValueError, match="continuous"):
        PyramidalReservoirClassifier(units=4).fit(graphs, y)
    y = np.array([1.0, 2.0] * 20)
    model = PyramidalReservoirClassifier(units=4).fit(graphs, y)
    model.save(tmp_path / "m")
    again = stepwell.load(tmp_path / "m")
    assert again.classes_.dtype == np.float64 and again.predict(graphs).tolist() == model.predict(graphs).tolist()


def test_regressions_and_models_without_a_readout_cross_too(tmp_path):
    graphs, data = carrying(), tmp_path / "graphs.jsonl"
    y = np.array([graph.num_edges / 3 for graph in graphs])
    save_dataset(data, graphs, y)
    model = PyramidalReservoirRegressor(units=8, pool="graclus").fit(graphs, y)
    model.save(tmp_path / "m.safetensors")
    again = stepwell.load(tmp_path / "m.safetensors")
    assert type(again) is PyramidalReservoirRegressor
    assert np.array_equal(again.predict(graphs), model.predict(graphs)) and again.intercept_ == model.intercept_
    found = rows_of(run("predict", data, "-m", tmp_path / "m.safetensors"))
    assert [float(row["prediction"]) for row in found] == model.predict(graphs).tolist()
    run("train", data, "-m", tmp_path / "its", "--units", "8", "--pool", "graclus")
    assert (tmp_path / "its").read_bytes() == (tmp_path / "m.safetensors").read_bytes()

    reservoir = PyramidalReservoir(units=8, precision="f64", max_iter=300).fit(graphs)
    reservoir.save(tmp_path / "r")
    assert np.array_equal(stepwell.load(tmp_path / "r").transform(graphs), reservoir.transform(graphs))
    found = rows_of(run("embed", data, "-m", tmp_path / "r"))
    assert [[float(row[f"e{k}"]) for k in range(8)] for row in found] == reservoir.transform(graphs).tolist()
    several = PyramidalReservoirRegressor(units=8).fit(graphs, np.column_stack([y, -y]))
    several.save(tmp_path / "s")
    assert stepwell.load(tmp_path / "s").predict(graphs).shape == (40, 2)


def test_explanations_of_files_that_python_wrote(tmp_path):
    graphs, data = carrying(), tmp_path / "graphs.jsonl"
    save_dataset(data, graphs, np.arange(40) % 2)
    PyramidalReservoirClassifier.from_preset("paper", units=8).fit(graphs, np.arange(40) % 2).save(tmp_path / "m")
    assert "decision value for" in run("explain", data, "-m", tmp_path / "m", "--graph", "3")


def test_pickles_are_the_file_and_are_checked():
    model = PyramidalReservoirClassifier(units=6).fit(SMALL.graphs, SMALL.y)
    pickled = pickle.dumps(model)
    again = pickle.loads(pickled)
    assert np.array_equal(again.decision_function(SMALL.graphs), model.decision_function(SMALL.graphs))
    rng, refused = np.random.default_rng(0), 0
    start = pickled.index(b"header_sha256")  # inside the model's own bytes
    for _ in range(60):
        changed = bytearray(pickled)
        changed[int(rng.integers(start, start + 50_000))] ^= 1 << int(rng.integers(8))
        with pytest.raises((ValueError, pickle.UnpicklingError)):
            pickle.loads(bytes(changed))
        refused += 1
    assert refused == 60


@pytest.mark.parametrize("name", ["numbers", "classes"])
def test_files_of_version_0_1_0_predict_what_they_did(name):
    model, data = stepwell.load(OLD / f"{name}-0.1.0.safetensors"), load_dataset(OLD / f"{name}.jsonl")
    said = rows_of((OLD / f"{name}-0.1.0.csv").read_text())
    if name == "numbers":
        expected = [float(row["prediction"]) for row in said]
        np.testing.assert_allclose(model.predict(data.graphs), expected, rtol=1e-5, atol=1e-5)
    else:
        assert model.classes_.tolist() == [-2, 8], "integers, though the file has texts"
        assert model.predict(data.graphs).tolist() == [int(row["prediction"]) for row in said]
    found = rows_of(run("predict", OLD / f"{name}.jsonl", "-m", OLD / f"{name}-0.1.0.safetensors"))
    assert [row["id"] for row in found] == [row["id"] for row in said]


def test_files_that_are_no_model(tmp_path):
    (tmp_path / "no").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    with pytest.raises(ValueError, match="not a model of Stepwell"):
        stepwell.load(tmp_path / "no")
    with pytest.raises(FileNotFoundError):
        stepwell.load(tmp_path / "none")
    model = PyramidalReservoir(units=3).fit(SMALL.graphs)
    model.save(tmp_path / "m")
    newer = (tmp_path / "m").read_bytes().replace(rb'\"format\":3', rb'\"format\":9')
    (tmp_path / "newer").write_bytes(newer)
    with pytest.raises(ValueError, match="in format 9; the installed version reads formats up to 3: upgrade to read it"):
        stepwell.load(tmp_path / "newer")
    with pytest.raises(ValueError, match="a model without a readout"):
        stepwell._stepwell.RawModel.load(str(tmp_path / "m")).classes
    with pytest.raises(sys.modules["sklearn.exceptions"].NotFittedError):
        PyramidalReservoirClassifier().save(tmp_path / "x")


@pytest.mark.filterwarnings("ignore:.*label that no training graph has")
def test_test_graphs_never_change_a_fitted_model(tmp_path):
    graphs, y = carrying(), np.arange(40) % 2
    others = [Graph(graph.adjacency, graph.features * 100, labels=graph.labels + 7) for graph in carrying(1)]
    fitted = lambda rest: PyramidalReservoirClassifier(units=5).fit((graphs[:30] + rest)[:30], y[:30])
    expected = fitted(graphs[30:])
    for rest in (graphs[:29:-1], others[30:]):
        model = fitted(rest)
        assert pickle.dumps(model._model) == pickle.dumps(expected._model)
        model.predict(rest)
        assert pickle.dumps(model._model) == pickle.dumps(expected._model)
        save_dataset(tmp_path / "g.parquet", graphs[:30] + rest, y, split=["train"] * 30 + ["test"] * 10)
        run("train", tmp_path / "g.parquet", "-m", tmp_path / "m", "--units", "5", "--part", "train")
        expected.save(tmp_path / "e")
        assert (tmp_path / "m").read_bytes() == (tmp_path / "e").read_bytes()


def test_constant_features_carry_nothing():
    shapes = [stepwell.as_graph(g) for g in [__import__("networkx").cycle_graph(n) for n in range(4, 24)]]
    paths = [stepwell.as_graph(g) for g in [__import__("networkx").path_graph(n) for n in range(4, 24)]]
    y = np.array([0] * 20 + [1] * 20)
    constant = [Graph(g.adjacency, np.tile([1.0, 4.0], (g.num_nodes, 1))) for g in shapes + paths]
    bare = PyramidalReservoirClassifier(units=10).fit(shapes + paths, y)
    with pytest.warns(UserWarning, match="all 2 vertex features are constant and were ignored"):
        model = PyramidalReservoirClassifier(units=10).fit(constant, y)
    assert model.score(constant, y) == bare.score(shapes + paths, y) == 1.0
    # The same landmarks, but sampled in another order: graphs with attributes are different graphs.
    np.testing.assert_allclose(model.decision_function(constant), bare.decision_function(shapes + paths), atol=1e-12)


def test_equal_vectors_are_told_of():
    ring = stepwell.as_graph(__import__("networkx").cycle_graph(5))
    with pytest.warns(UserWarning, match="all training graphs have the same vector"):
        PyramidalReservoirClassifier(units=5).fit([ring] * 6, [0, 1] * 3)


def test_columns_of_a_data_frame():
    graphs = list(SMALL.graphs)
    frame = pd.DataFrame({"graph": graphs, "y": pd.array(SMALL.y, dtype="Int64")})
    model = PyramidalReservoirClassifier(units=5).fit(frame["graph"], frame["y"])
    assert model.classes_.dtype == np.int64
    assert np.array_equal(model.predict(frame["graph"]), model.predict(SMALL.graphs))
    with pytest.raises(TypeError, match="graph 0: expected a stepwell.Graph"):
        model.predict(pd.Series(["a", "b"]))


def test_selected_graphs_stay_in_the_library():
    mask = SMALL.split == "train"
    chosen = SMALL.graphs[mask]
    assert type(chosen) is type(SMALL.graphs) and len(chosen) == mask.sum()
    assert chosen == [graph for graph, taken in zip(SMALL.graphs, mask) if taken]
    with pytest.raises(IndexError, match="expected a mask of 60 values"):
        SMALL.graphs[mask[:5]]


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 2.0, 2: 0.5}], ids=str)
def test_what_is_loaded_can_be_fitted_again(tmp_path, class_weight):
    model = PyramidalReservoirClassifier(units=5, class_weight=class_weight).fit(SMALL.graphs, SMALL.y)
    model.save(tmp_path / "m")
    again = stepwell.load(tmp_path / "m")
    assert again.get_params() == model.get_params()
    decisions = model.decision_function(SMALL.graphs)
    assert np.array_equal(again.fit(SMALL.graphs, SMALL.y).decision_function(SMALL.graphs), decisions)


def test_several_numbers_are_predicted_by_the_command_too(tmp_path):
    graphs = carrying()
    y = np.column_stack([[graph.num_edges for graph in graphs], [graph.num_nodes for graph in graphs]]).astype(float)
    model = PyramidalReservoirRegressor(units=5).fit(graphs, y)
    model.save(tmp_path / "m")
    save_dataset(tmp_path / "g.jsonl", graphs)
    found = rows_of(run("predict", tmp_path / "g.jsonl", "-m", tmp_path / "m"))
    assert [[float(row["prediction_0"]), float(row["prediction_1"])] for row in found] == model.predict(graphs).tolist()


def test_a_constant_beside_other_features_says_nothing_later_either():
    graphs = carrying()
    with_constant = lambda value: [
        Graph(g.adjacency, np.column_stack([g.features, np.full(g.num_nodes, value)]), labels=g.labels) for g in graphs
    ]
    model = PyramidalReservoirClassifier(units=5).fit(with_constant(1.0), np.arange(40) % 2)
    expected = model.decision_function(with_constant(1.0))
    assert np.array_equal(model.decision_function(with_constant(100.0)), expected)


def test_unknown_labels_are_told_of():
    graphs = carrying()
    model = PyramidalReservoirClassifier(units=5).fit(graphs, np.arange(40) % 2)
    strange = [Graph(g.adjacency, g.features, labels=g.labels + 50) for g in graphs[:3]]
    count = sum(g.num_nodes for g in strange)
    with pytest.warns(UserWarning, match=f"^{count} vertices have a label that no training graph has"):
        model.predict(strange)


def test_targets_of_several_kinds_are_refused():
    for y, kind, words in [
        ([1, "a"] * 20, TypeError, "numbers and strings"),
        (np.array([2**63, 1] * 20, dtype=np.uint64), ValueError, "below 2\\*\\*63"),
        ([1.0, float("nan")] * 20, ValueError, "at least two classes, found 1 class"),
    ]:
        with pytest.raises(kind, match=words):
            PyramidalReservoirClassifier(units=3).fit(carrying(), np.array(y, dtype=object) if "a" in y else y)


def test_random_features_take_the_place_of_landmarks():
    model = PyramidalReservoirClassifier(units=4, random_features=7).fit(SMALL.graphs, SMALL.y)
    assert model.landmarks_ is None and model.random_features_[0].shape == (36 * 3, 7)
    with pytest.raises(ValueError, match="landmarks: expected 0"):
        PyramidalReservoirClassifier(units=4, random_features=7, landmarks=5).fit(SMALL.graphs, SMALL.y)


def _decisions(path):
    return stepwell.load(path).decision_function(SMALL.graphs)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_loads_and_unpickles(tmp_path):
    import copy
    import multiprocessing

    model = PyramidalReservoirClassifier(units=5).fit(SMALL.graphs, SMALL.y)
    model.save(tmp_path / "m")
    expected = _decisions(tmp_path / "m")
    copy.deepcopy(model)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(pool.apply_async(_decisions, (tmp_path / "m",)).get(timeout=60), expected)
        assert pool.apply_async(len, (pickle.dumps(model),)).get(timeout=60) > 1000


def test_named_columns_are_matched_by_name(tmp_path):
    graphs, names = carrying(), ["mass", "charge"]
    named = lambda columns: [
        Graph(g.adjacency, pd.DataFrame(g.features, columns=names)[columns], labels=g.labels) for g in graphs
    ]
    y = np.arange(40) % 2
    model = PyramidalReservoirClassifier(units=5).fit(named(names), y)
    assert named(names)[0].feature_names == names and pickle.loads(pickle.dumps(named(names)[0])).feature_names == names
    expected = model.decision_function(named(names))
    assert np.array_equal(model.decision_function(named(names[::-1])), expected)
    with pytest.raises(ValueError, match="expects graphs with 2, but these have 1"):
        model.predict(named(["charge"]))
    other = [Graph(g.adjacency, g.features, labels=g.labels, feature_names=["mass", "size"]) for g in graphs]
    with pytest.raises(ValueError, match="expects graphs with mass, charge, but these have mass, size"):
        model.predict(other)
    model.save(tmp_path / "m")
    save_dataset(tmp_path / "g.parquet", named(names[::-1]), y)
    found = rows_of(run("predict", tmp_path / "g.parquet", "-m", tmp_path / "m"))
    assert [float(row["score_1"]) for row in found] == expected.tolist()
    assert load_dataset(tmp_path / "g.parquet").graphs[0].feature_names == names[::-1]
