"""The work of a cluster's workers, run serially in this process."""

import importlib
import importlib.util
import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import stepwell
from stepwell import PyramidalReservoir, PyramidalReservoirClassifier, PyramidalReservoirRegressor
from stepwell import _cluster as cluster
from stepwell._batches import as_batch
from stepwell._stepwell import RawDraw, RawFeatureFit, RawRows

MODEL = dict(units=8, spectral_radius=0.5, max_iter=200)


class Serial:
    """A serial cluster: pieces of a table, each with a worker of its own."""

    def __init__(self, table, cut=7):
        self._table, self._cut = table, cut
        self.first = table[:1].to_pylist()[0] if len(table) else None

    def pieces(self):
        # In reverse, because no order is guaranteed.
        starts = range(0, len(self._table), self._cut)
        return [self._table[start : start + self._cut] for start in reversed(starts)]

    def reduce(self, job):
        job = pickle.loads(pickle.dumps(job))
        states = [job(iter([piece])) for piece in self.pieces()]
        return cluster.reduced(reversed(states), job.merged)

    def embed(self, plan):
        plan = pickle.loads(pickle.dumps(plan))
        return pa.concat_tables([table for piece in self.pieces() for table in cluster.embed(plan, iter([piece]))])


def make_table(count, seed, *parts):
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(count):
        n = int(rng.integers(3, 12))
        upper = np.argwhere(np.triu(rng.random((n, n)) < 0.35, 1))
        row = {"id": f"{at:03}", "num_nodes": n, "src": upper[:, 0], "dst": upper[:, 1]}
        row |= {"y": "many" if len(upper) > n else "few", "size": float(len(upper))}
        if "x" in parts:
            row |= {"x": rng.normal(size=2 * n) * 7 + 1e3, "x_dim": 2}
        if "labels" in parts:
            row["node_label"] = rng.integers(0, 1 + at % 4, n)
        if "bonds" in parts:
            row["edge_label"] = rng.integers(0, 1 + at % 3, (len(upper), 2)).tolist()
            row |= {"edge_attr": rng.normal(size=len(upper)) * 7 + 1e3, "edge_attr_dim": 1}
        rows.append(row)
    return pa.Table.from_pylist(rows)


def vectors_of(table):
    table = table.sort_by("id")
    return np.array(table["embedding"].to_pylist(), dtype=np.float32)


@pytest.mark.parametrize("structure", [(), ("degree", "clustering")], ids=["plain", "structure"])
@pytest.mark.parametrize("parts", [(), ("x",), ("labels",), ("x", "labels"), ("x", "bonds")], ids="+".join)
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "scaled"])
def test_maps_and_vectors_are_those_of_one_machine(parts, structure, raw):
    table = make_table(60, 1, *parts)
    options = MODEL | dict(structure=structure, raw=raw, edge_gate="signs")
    local = PyramidalReservoir(**options).fit(table)
    assert (local.gates_ is not None) == ("bonds" in parts)
    serial = Serial(table)
    fitted = cluster.fit(serial, PyramidalReservoir(**options))
    assert fitted.feature_map_ == local.feature_map_
    expected = local.transform(table).astype(np.float32)
    for model in (fitted, local, pickle.loads(pickle.dumps(local))):
        plan = cluster.fitted_plan(serial, model, False, ["id", "y", "nothing"])
        found = serial.embed(plan)
        assert found.column_names == ["id", "y", "embedding"]
        assert np.array_equal(vectors_of(found), expected)


def test_weights_that_were_set_are_sent():
    table = make_table(20, 2, "x")
    model = PyramidalReservoir(**MODEL, precision="f64").fit(table)
    model.set_weights([(W / 2, V) for W, V in model.weights_])
    found = Serial(table).embed(cluster.fitted_plan(Serial(table), model, False, ["id"])).sort_by("id")
    assert found["embedding"].type.value_type == pa.float64()
    assert np.array_equal(np.array(found["embedding"].to_pylist()), model.transform(table))


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.5},
        {"alpha": "loo"},
        {"alpha": [0.01, 1.0, 100.0], "class_weight": "balanced"},
        {"alpha": 1.0, "class_weight": {"few": 1.0, "many": 3.0}, "standardize": True},
        {"alpha": [0.1, 10.0], "random_features": 15},
    ],
    ids=str,
)
def test_classifiers_are_those_of_one_machine(options):
    table = make_table(90, 3, "labels")
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, **options).fit(table, table["y"])
    found = cluster.train(Serial(table), PyramidalReservoirClassifier.from_preset("paper", **MODEL, **options))
    assert found.classes_.tolist() == local.classes_.tolist() and found.alpha_ == local.alpha_
    assert np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.intercept_, local.intercept_, rtol=1e-8, atol=1e-8)
    assert found.predict(table).tolist() == local.predict(table).tolist() and found.skipped_ == 0


def test_regressors_are_those_of_one_machine():
    table = make_table(80, 4, "x")
    local = PyramidalReservoirRegressor.from_preset("paper", **MODEL).fit(table, table["size"])
    found = cluster.train(Serial(table), PyramidalReservoirRegressor.from_preset("paper", **MODEL), y="size")
    assert found.alpha_ == local.alpha_ and np.allclose(found.coef_, local.coef_, rtol=1e-8, atol=1e-8)
    assert np.allclose(found.predict(table), local.predict(table))


def broken_table():
    rows = make_table(40, 5, "x").to_pylist()
    rows[11]["src"][0] = -1
    rows[23]["x_dim"] = 3
    return pa.Table.from_pylist(rows), [11, 23]


def test_rows_that_cannot_be_used():
    table, bad = broken_table()
    model = PyramidalReservoir(**MODEL)
    with pytest.raises(ValueError, match="row '(011|023)': expected "):
        Serial(table).embed(cluster.fitted_plan(Serial(table), model, False, ["id"]))
    found = Serial(table).embed(cluster.fitted_plan(Serial(table), model, True, ["id"])).sort_by("id")
    assert [at for at, error in enumerate(found["error"].to_pylist()) if error is not None] == bad
    assert [at for at, vector in enumerate(found["embedding"].to_pylist()) if vector is None] == bad
    good = table.filter([at not in bad for at in range(len(table))])
    expected = model.fit_transform(good).astype(np.float32)
    assert np.array_equal(vectors_of(found.filter(pa.compute.is_null(found["error"]))), expected)
    trained = cluster.train(Serial(table), PyramidalReservoirClassifier.from_preset("paper", **MODEL, alpha=1.0), skip_bad=True)
    local = PyramidalReservoirClassifier.from_preset("paper", **MODEL, alpha=1.0).fit(good, good["y"])
    assert trained.skipped_ == 2 and np.allclose(trained.coef_, local.coef_, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
def test_graphs_that_cannot_be_pooled_are_rows_that_cannot_be_used():
    table = make_table(40, 6)
    model = PyramidalReservoir(**MODEL, pool="ndp", fill_budget=3).fit(table)

    def refused(at):
        try:
            model.transform(table[at : at + 1])
        except ValueError as error:
            return "fill budget" in str(error)
        return False

    expected = [at for at in range(len(table)) if refused(at)]
    assert 0 < len(expected) < len(table)
    found = Serial(table).embed(cluster.fitted_plan(Serial(table), model, True, ["id"])).sort_by("id")
    errors = found["error"].to_pylist()
    assert [at for at, error in enumerate(errors) if error is not None] == expected
    assert all(errors[at].startswith(f"row '{at:03}': ") and "fill budget" in errors[at] for at in expected)


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: cluster.fit(Serial(make_table(3, 0)), "ndp"), TypeError, "model: expected a PyramidalReservoir, found str"),
        (lambda: cluster.fit(Serial(make_table(3, 0)[:0]), PyramidalReservoir()), ValueError, "expected at least one graph"),
        (lambda: cluster.fit(Serial(make_table(3, 0)), PyramidalReservoir(leak=0)), ValueError, "leak: expected more than 0"),
        (
            lambda: cluster.train(Serial(make_table(9, 0)), PyramidalReservoirClassifier(input="smiles")),
            ValueError,
            "input: expected graphs on a cluster, found 'smiles'",
        ),
        (
            lambda: cluster.train(Serial(make_table(9, 0)), PyramidalReservoirClassifier(device="cuda")),
            ValueError,
            "device: expected 'cpu' or 'auto', found 'cuda'",
        ),
        (
            lambda: cluster.train(Serial(make_table(9, 0)), PyramidalReservoirClassifier(landmarks=0), y="none"),
            ValueError,
            "y: expected a column 'none', found id, num_nodes",
        ),
        (
            lambda: cluster.train(Serial(make_table(9, 0).set_column(0, "id", [["a"] * 9])), PyramidalReservoirClassifier(landmarks=0), y="id"),
            ValueError,
            "y: expected labels of at least two classes, found 1 class",
        ),
        (
            lambda: cluster.train(Serial(make_table(9, 0).append_column("z", pa.array([None] * 9, pa.float64()))), PyramidalReservoirRegressor(landmarks=0), y="z"),
            ValueError,
            "target 'z': expected values to learn from, found none",
        ),
    ],
)
def test_what_is_asked_for_wrongly(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_what_is_gathered_travels():
    table = make_table(30, 7)
    whole = RawFeatureFit({"blocks": 2})
    whole.observe(RawRows.whole(table))
    merged = RawFeatureFit({"blocks": 2})
    for start in (20, 0, 10):
        part = RawFeatureFit({"blocks": 2})
        part.observe(RawRows.whole(table[start : start + 10]))
        merged.merge(pickle.loads(pickle.dumps(part)))
    assert merged.finish() == whole.finish()
    with pytest.raises(ValueError):
        RawFeatureFit.from_bytes(b"junk")


@pytest.mark.parametrize("name, needs", [("ray", "ray"), ("spark", "pyspark")])
def test_what_is_not_installed_is_said(name, needs):
    if importlib.util.find_spec(needs) is not None:
        pytest.skip(f"{needs} is installed")
    with pytest.raises(ImportError, match=rf"pip install 'stepwell\[{name}\]'"):
        importlib.import_module(f"stepwell.{name}")


#: The default model in a smaller size: fewer landmarks than graphs, so that they are sampled.
ACCURATE = dict(units=8, stacks=2, landmarks=40)


def bytes_of(model):
    return pickle.dumps(model._model)


def written(table, path, *options):
    """The model that the command line trains on the same rows."""
    pq.write_table(table, path / "graphs.parquet")
    arguments = ["train", path / "graphs.parquet", "-m", path / "model", "--units", 8, "--stacks", 2, "--landmarks", 40]
    code = "import sys; from stepwell._command import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *map(str, [*arguments, *options])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return stepwell.load(path / "model")


def assert_same(found, expected, table):
    """Checks for the same choices, landmarks, scales and penalties, and for decision values equal
    up to rounding."""
    assert found._model.choices == expected._model.choices and len(found._model.choices) == 3
    assert found._model.options == expected._model.options
    assert found.feature_map_ == expected.feature_map_
    for mine, other in zip(found.landmarks_, expected.landmarks_):
        assert np.array_equal(mine, other)
    assert len(found.landmarks_[2]) == 40 < len(table)
    assert np.array_equal(found.alpha_, expected.alpha_)
    values = lambda model: model._model.decide(as_batch(table), 1)[0]
    assert np.abs(values(found) - values(expected)).max() < 1e-8
    assert np.allclose(found.loo_score_, expected.loo_score_, rtol=1e-6)


TARGETS = {
    "strings": (PyramidalReservoirClassifier, "y", lambda table: table["y"].to_pylist(), ["--target", "y"]),
    "booleans": (PyramidalReservoirClassifier, "odd", lambda table: table["odd"].to_pylist(), ["--target", "odd"]),
    "integers": (PyramidalReservoirClassifier, "rest", lambda table: table["rest"].to_pylist(), ["--target", "rest"]),
    "numbers": (PyramidalReservoirRegressor, "size", lambda table: table["size"].to_pylist(), ["--target", "size"]),
    "several": (PyramidalReservoirClassifier, ["large", "odder"], None, ["--target", "large,odder"]),
}


@pytest.mark.filterwarnings("ignore:.*without a target")
@pytest.mark.parametrize("parts", [("labels", "bonds"), ("x",)], ids="+".join)
@pytest.mark.parametrize("kind", TARGETS)
def test_the_default_model_is_that_of_one_machine(kind, parts, tmp_path):
    estimator, y, local_targets, flags = TARGETS[kind]
    table = make_table(130, 8, *parts)
    sizes = table["num_nodes"].to_pylist()
    table = table.append_column("odd", pa.array([n % 2 == 1 for n in sizes])).append_column("rest", pa.array([n % 3 for n in sizes]))
    if kind == "several":
        table = several(table.drop_columns(["odd", "rest"])).rename_columns({"odd": "odder"})
        known = [pair != [None, None] for pair in table["both"].to_pylist()]
        assert not all(known)
    serial = Serial(table, cut=13)
    found = cluster.train(serial, estimator(**ACCURATE), y=y)
    assert_same(found, written(table, tmp_path, *flags), table)
    if local_targets is not None:
        assert_same(found, estimator(**ACCURATE).fit(table, local_targets(table)), table)
    # The same rows on other workers, in another order, and then in other pieces.
    assert bytes_of(cluster.train(serial, estimator(**ACCURATE), y=y)) == bytes_of(found)
    order = np.random.default_rng(3).permutation(len(table))
    assert_same(cluster.train(Serial(table.take(order), cut=50), estimator(**ACCURATE), y=y), found, table)
    found.save(tmp_path / "saved")
    again = stepwell.load(tmp_path / "saved")
    assert bytes_of(again) == bytes_of(found)


def test_chosen_columns_of_structure_are_surveyed_again():
    # The classes differ in triangles, which the default model sees only if it is given them.
    rng = np.random.default_rng(0)
    rows = []
    for at in range(240):
        n = int(rng.integers(12, 20))
        ring = np.arange(n)
        chords = rng.integers(0, n, 3)
        src, dst = np.concatenate([ring, chords]), np.concatenate([ring + 1, chords + (2 if at % 2 else 4)]) % n
        rows.append({"num_nodes": n, "src": src, "dst": dst, "y": at % 2, "node_label": rng.integers(0, 3, n)})
    table = pa.Table.from_pylist(rows)
    local = PyramidalReservoirClassifier(**ACCURATE).fit(table, table["y"])
    assert "clustering" in local._model.options["structure"]
    assert_same(cluster.train(Serial(table, cut=31), PyramidalReservoirClassifier(**ACCURATE)), local, table)


@pytest.mark.filterwarnings("ignore:level")
def test_landmarks_are_drawn_again_where_graphs_cannot_be_embedded():
    table = make_table(120, 6, "labels")  # its feature map does not depend on the number of graphs
    # Classes are counted before graphs are embedded, and would determine metric and weights.
    options = dict(units=8, landmarks=40, pool="ndp", fill_budget=3, choose=(), metric="accuracy", class_weight=None)
    probe = PyramidalReservoir(units=8, pool="ndp", fill_budget=3).fit(table)
    _, bad = probe._model.embed_possible(as_batch(table))
    bad = [at for at, _ in bad]
    assert 0 < len(bad) < 60
    good = table.filter([at not in bad for at in range(len(table))])
    found = cluster.train(Serial(table, cut=17), PyramidalReservoirClassifier(**options), skip_bad=True)
    assert found.skipped_ == len(bad)
    with pytest.raises(ValueError, match="row '[0-9]+': .*fill budget"):
        cluster.train(Serial(table, cut=17), PyramidalReservoirClassifier(**options))
    local = PyramidalReservoirClassifier(**options).fit(good, good["y"])
    for mine, other in zip(found.landmarks_, local.landmarks_, strict=True):
        assert np.array_equal(mine, other)
    assert len(local.landmarks_[2]) == 40 and found.alpha_ == local.alpha_
    assert np.abs(found.decision_function(good) - local.decision_function(good)).max() < 1e-8


def test_what_is_drawn_travels():
    table = make_table(80, 9, "x", "labels", "bonds")
    batch, y = as_batch(table), table["y"].to_pylist()
    options = PyramidalReservoirClassifier(**ACCURATE)._checked()
    whole = RawDraw(options, False)
    whole.observe(batch, y)
    merged = RawDraw(options, False)
    for start in (60, 0, 20, 40):
        part = RawDraw(options, False)
        part.observe(batch.select(list(range(start, start + 20))), y[start : start + 20])
        merged.merge(pickle.loads(pickle.dumps(part)))
    assert pickle.dumps(merged) == pickle.dumps(whole) == pickle.dumps(pickle.loads(pickle.dumps(whole)))
    assert merged.choose(options) == whole.choose(options)
    with pytest.raises(ValueError, match="expected 80 targets, found 3"):
        whole.observe(batch, y[:3])


def several(table, seed=5):
    """The same rows with two targets of 0 and 1 with missing values, also as one column of
    lists."""
    rng = np.random.default_rng(seed)
    size = np.array(table["size"].to_pylist())
    gap = lambda values, share: [None if lot < share else value for value, lot in zip(values, rng.random(len(size)))]
    large = gap((size > np.median(size)).astype(int).tolist(), 0.3)
    odd = gap((np.array(table["num_nodes"].to_pylist()) % 2).tolist(), 0.2)
    table = table.append_column("large", pa.array(large)).append_column("odd", pa.array(odd))
    return table.append_column("both", pa.array([list(pair) for pair in zip(large, odd)]))


@pytest.mark.parametrize("weight", [None, "balanced", "auto"])
def test_several_targets_with_gaps_are_those_of_one_machine(weight):
    table = several(make_table(90, 4, "x"))
    y = np.array([[np.nan if value is None else value for value in row] for row in table["both"].to_pylist()])
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL, class_weight=weight)
    unknown = int(np.isnan(y).all(axis=1).sum())
    assert unknown > 0
    known = ~np.isnan(y).all(axis=1)
    local = clone(model).fit(table.filter(known), y[known])
    for columns in (["large", "odd"], "both"):
        with pytest.warns(UserWarning, match=f"skipped {unknown} graphs without a target"):
            found = cluster.train(Serial(table), model, y=columns)
        np.testing.assert_allclose(found.decision_function(table), local.decision_function(table), atol=1e-8)
        np.testing.assert_allclose(found.predict_proba(table), local.predict_proba(table), atol=1e-6)
        assert found.target_names_ == (columns if isinstance(columns, list) else [])
        np.testing.assert_array_equal(found.alpha_, local.alpha_)
    plan = cluster.trained_plan(found, keep=("id",))
    tables = [answer for piece in Serial(table).pieces() for answer in cluster.predict(plan, iter([piece]))]
    answers = pa.concat_tables(tables).sort_by("id")
    np.testing.assert_array_equal(np.array(answers["scores"].to_pylist()), found.decision_function(table))
    np.testing.assert_array_equal(np.array(answers["prediction"].to_pylist()), found.predict(table))


@pytest.mark.filterwarnings("ignore:.*without a target")
def test_the_first_row_need_not_have_a_target():
    table = several(make_table(90, 4, "x"))
    rest, place = table[1:], table.column_names.index("both")
    rows, kind_of_both = [None, *rest["both"].to_pylist()], table["both"].type
    table = table.set_column(place, "both", pa.array(rows, kind_of_both))
    for kind in (PyramidalReservoirClassifier, PyramidalReservoirRegressor):
        model = kind.from_preset("paper", **MODEL)
        found = cluster.train(Serial(table), model, y="both")
        expected = cluster.train(Serial(rest), model, y="both")
        assert found.predict(rest).shape == (len(rest), 2)
        np.testing.assert_allclose(found.predict(rest), expected.predict(rest), atol=1e-8)
    # An empty list is an error in its own row.
    broken = table.set_column(place, "both", pa.array([[], *rows[1:]], kind_of_both))
    with pytest.raises(ValueError, match="both: expected 2 targets in every row, found 0"):
        cluster.train(Serial(broken), model, y="both")


def test_the_first_graph_need_not_have_vertices():
    for parts in (("x",), ("labels",), ("x", "labels")):
        rows = make_table(40, 5, *parts).to_pylist()
        empty = {**rows[0], "id": "none", "num_nodes": 0, "src": [], "dst": []}
        empty |= {name: None for name in ("x", "x_dim", "node_label") if name in empty}
        table = pa.Table.from_pylist([empty, *rows])
        local = PyramidalReservoir(**MODEL).fit(table)
        found = cluster.fit(Serial(table), PyramidalReservoir(**MODEL))
        assert found.feature_map_ == local.feature_map_ and found.skipped_ == 0


@pytest.mark.parametrize(
    "kind, values, message",
    [
        (PyramidalReservoirClassifier, [["a", "b"]] * 9, r"z: expected a column of lists of numbers \(0 and 1 for classes\), found list<"),
        (PyramidalReservoirRegressor, [["a", "b"]] * 9, r"z: expected a column of lists of numbers .* found list<"),
        (PyramidalReservoirRegressor, ["a"] * 9, r"z: expected a column of numbers .* found string"),
        (PyramidalReservoirClassifier, [{"a": 1}] * 9, r"z: expected a column of integers, floats, booleans or strings, found struct<"),
        (PyramidalReservoirClassifier, [b"a", b"b", b"c"] * 3, r"z: expected a column of integers, floats, booleans or strings, found binary"),
    ],
    ids=["lists for classes", "lists for numbers", "strings", "structs", "bytes"],
)
def test_columns_that_are_no_targets(kind, values, message):
    table = make_table(9, 0).append_column("z", pa.array(values))
    with pytest.raises(ValueError, match=message):
        cluster.train(Serial(table), kind.from_preset("paper", **MODEL), y="z")


@pytest.mark.filterwarnings("ignore:.*without a target")
def test_classes_that_are_nan_are_unknown():
    table = make_table(40, 6)
    y = [float(n % 2) for n in table["num_nodes"].to_pylist()]
    table = table.append_column("z", pa.array([np.nan, None, *y[2:]], pa.float64()))
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL)
    found = cluster.train(Serial(table), model, y="z")
    assert found.classes_.tolist() == [0, 1]
    expected = clone(model).fit(table[2:], y[2:])
    np.testing.assert_allclose(found.decision_function(table), expected.decision_function(table), atol=1e-8)
