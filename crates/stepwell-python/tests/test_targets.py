"""Several targets with missing values, probabilities and metrics, compared with scikit-learn."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import KFold, cross_val_score, cross_validate

import stepwell
from stepwell import PyramidalReservoirClassifier, PyramidalReservoirRegressor

#: The program installed beside this interpreter.
COMMAND = str(Path(sys.executable).with_name("stepwell"))

SMALL = {"units": 12, "stacks": 1, "blocks": 2, "random_state": 3}


@pytest.fixture(scope="module")
def graphs():
    return stepwell.make_benchmark("b-easy-small", random_state=1).graphs[:240]


@pytest.fixture(scope="module")
def numbers(graphs):
    """Three targets of numbers with missing values; the last two are known for the same graphs."""
    rng = np.random.default_rng(0)
    edges = np.array([graph.num_edges for graph in graphs], dtype=float)
    vertices = np.array([graph.num_nodes for graph in graphs], dtype=float)
    y = np.column_stack([edges / vertices, np.log(edges), vertices]) + 0.1 * rng.normal(size=(len(graphs), 3))
    lot = rng.random(len(graphs))
    y[lot < 0.2, 0] = np.nan
    y[lot > 0.7, 1:] = np.nan
    return y


@pytest.fixture(scope="module")
def labels(numbers):
    middle = np.nanquantile(numbers, [0.5, 0.7, 0.9], axis=0).diagonal()
    return np.where(np.isnan(numbers), np.nan, numbers > middle)


@pytest.mark.parametrize("weight", [None, "balanced", {0: 1.0, 1: 3.0}])
def test_targets_are_those_of_scikit_learn_on_the_rows_they_are_known_for(graphs, numbers, labels, weight):
    sample_weight = np.random.default_rng(1).uniform(0.5, 2, len(graphs))
    shared = {**SMALL, "landmarks": 0, "alpha": 0.7}
    model = PyramidalReservoirClassifier(class_weight=weight, **shared).fit(graphs, labels, sample_weight)
    x = model.transform(graphs)
    for target in range(3):
        known = ~np.isnan(labels[:, target])
        peer = RidgeClassifier(alpha=0.7, class_weight=weight).fit(x[known], labels[known, target], sample_weight[known])
        np.testing.assert_allclose(model.decision_function(graphs)[:, target], peer.decision_function(x), atol=1e-8)
        np.testing.assert_array_equal(model.predict(graphs)[:, target], peer.predict(x))
    if weight is None:
        model = PyramidalReservoirRegressor(**shared).fit(graphs, numbers, sample_weight)
        for target in range(3):
            known = ~np.isnan(numbers[:, target])
            peer = Ridge(alpha=0.7).fit(x[known], numbers[known, target], sample_weight[known])
            np.testing.assert_allclose(model.predict(graphs)[:, target], peer.predict(x), atol=1e-8)
            np.testing.assert_allclose(model.coef_[target], peer.coef_, atol=1e-8)


def test_metrics_of_the_command_are_those_of_scikit_learn(graphs, labels, numbers, tmp_path):
    model, data = tmp_path / "m.safetensors", tmp_path / "d.jsonl"
    run = lambda *arguments: subprocess.run(
        [COMMAND, *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout
    classes = np.array(["a", "b", "c"])[(np.arange(len(graphs)) % 7) // 3]
    for y, kind in ((labels, "binary"), (numbers[:, 2:], "numbers"), (classes, "classes")):
        stepwell.save_dataset(data, graphs, y)
        cls = PyramidalReservoirRegressor if kind == "numbers" else PyramidalReservoirClassifier
        some = np.flatnonzero((np.arange(len(graphs)) % 2 == 0) & (y == y if y.ndim == 1 else (y == y).any(axis=1)))
        fitted = cls(**SMALL, landmarks=0).fit(graphs[some], y[some])
        fitted.save(model)
        told = json.loads(run("predict", data, "-m", model, "--json"))
        decisions = fitted._values(graphs)
        for target in range(y.shape[1] if y.ndim == 2 else 1):
            truth = y[:, target] if y.ndim == 2 else y
            known = truth == truth
            truth, values = truth[known], decisions[known]
            found = told["targets"][str(target)] if kind == "binary" else told["metrics"]
            if kind == "numbers":
                expected = {
                    "rmse": metrics.root_mean_squared_error(truth, values[:, 0]),
                    "mae": metrics.mean_absolute_error(truth, values[:, 0]),
                    "r2": metrics.r2_score(truth, values[:, 0]),
                }
            else:
                proba = fitted.predict_proba(graphs)[known]
                if kind == "binary":
                    scores, guess = values[:, target], (values[:, target] > 0).astype(float)
                    proba = proba[:, target]
                    areas = metrics.roc_auc_score(truth, scores), metrics.average_precision_score(truth, scores)
                    brier = metrics.brier_score_loss(truth, proba)
                else:
                    guess = fitted.predict(graphs)[known]
                    one = lambda metric: np.mean([metric(truth == name, values[:, at]) for at, name in enumerate("abc")])
                    areas = one(metrics.roc_auc_score), one(metrics.average_precision_score)
                    brier = (((truth[:, None] == fitted.classes_) - proba) ** 2).sum(axis=1).mean()
                expected = {
                    "accuracy": metrics.accuracy_score(truth, guess),
                    "balanced_accuracy": metrics.balanced_accuracy_score(truth, guess),
                    "macro_f1": metrics.f1_score(truth, guess, average="macro"),
                    "roc_auc": areas[0],
                    "average_precision": areas[1],
                    "log_loss": metrics.log_loss(truth, proba),
                    "brier": brier,
                }
            assert set(found) == set(expected)
            for name, value in expected.items():
                assert found[name] == pytest.approx(value, abs=1e-12), name


def test_score_skips_unknown_values(graphs, labels, numbers):
    weights = np.random.default_rng(2).uniform(0.5, 2, len(graphs))
    known = ~np.isnan(labels)
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, labels)
    predicted = model.predict(graphs)
    right = [all(p == t for p, t in zip(row, truth) if t == t) for row, truth in zip(predicted, labels)]
    rows = known.any(axis=1)
    assert model.score(graphs, labels, weights) == pytest.approx(np.average(np.array(right)[rows], weights=weights[rows]))
    complete = np.nan_to_num(labels)
    assert model.score(graphs, complete) == metrics.accuracy_score(complete, predicted)
    one = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, complete[:, 0])
    expected = metrics.accuracy_score(labels[known[:, 0], 0], one.predict(graphs)[known[:, 0]])
    assert one.score(graphs, labels[:, 0]) == expected

    model = PyramidalReservoirRegressor(**SMALL, landmarks=0).fit(graphs, numbers)
    predicted, known = model.predict(graphs), ~np.isnan(numbers)
    each = [metrics.r2_score(numbers[k, t], predicted[k, t], sample_weight=weights[k]) for t, k in enumerate(known.T)]
    assert model.score(graphs, numbers, weights) == pytest.approx(np.mean(each))
    assert model.score(graphs, np.where(np.arange(3) == 1, np.nan, numbers)) == pytest.approx(
        np.mean([metrics.r2_score(numbers[known[:, t], t], predicted[known[:, t], t]) for t in (0, 2)])
    )
    complete = np.nan_to_num(numbers)
    assert model.score(graphs, complete) == metrics.r2_score(complete, predicted)
    assert np.isfinite(cross_val_score(model, graphs, numbers, cv=KFold(3))).all()
    with pytest.raises(ValueError, match="y: expected at least one known value, found none"):
        model.score(graphs, np.full_like(numbers, np.nan))


def test_names_of_options_may_have_underscores(graphs, labels):
    y = np.nan_to_num(labels)[:, 2]
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0, metric="roc_auc", structure=["log_degree"]).fit(graphs, y)
    assert model.metric_ == "roc-auc" and model.metric == "roc_auc"
    with pytest.raises(ValueError, match="metric: expected one of .*, found .*auc_roc"):
        PyramidalReservoirClassifier(metric="auc_roc").fit(graphs, y)


def test_scorers_of_scikit_learn_work(graphs, labels):
    complete = np.nan_to_num(labels).astype(int)
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0)
    scorings = ["roc_auc", "average_precision", "neg_log_loss", "accuracy"]
    two = cross_validate(model, graphs, complete[:, 0], scoring=[*scorings, "balanced_accuracy", "neg_brier_score"], cv=3)
    assert all(np.isfinite(two[f"test_{name}"]).all() for name in scorings)
    several = cross_validate(model, graphs, complete, scoring=["roc_auc", "average_precision", "accuracy"], cv=3)
    assert several["test_roc_auc"].mean() > 0.7
    # Two targets are not two classes.
    model.fit(graphs[::2], complete[::2, :2])
    expected = metrics.roc_auc_score(complete[1::2, :2], model.decision_function(graphs[1::2]))
    assert metrics.get_scorer("roc_auc")(model, graphs[1::2], complete[1::2, :2]) == expected
    three = complete[:, 0] + complete[:, 1]
    assert np.isfinite(cross_val_score(model, graphs, three, scoring="roc_auc_ovr", cv=3)).all()


@pytest.mark.filterwarnings("ignore:sets contain the truth")
def test_several_targets_go_through_files_and_the_command(graphs, labels, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(labels, columns=["one", "two", "three"])
    model = PyramidalReservoirClassifier(**SMALL).fit(graphs, frame)
    assert model.target_names_ == ["one", "two", "three"]
    assert model.alpha_.shape == model.loo_score_.shape == (3,) and model.metric_ == "roc-auc"
    path, data = tmp_path / "m", tmp_path / "d.parquet"
    model.save(path)
    again = stepwell.load(path)
    for method in ("decision_function", "predict", "predict_proba", "predict_set"):
        np.testing.assert_array_equal(getattr(again, method)(graphs), getattr(model, method)(graphs))
    np.testing.assert_array_equal(again.threshold(recall=0.8), model.threshold(recall=0.8))
    stepwell.save_dataset(data, graphs)
    out = subprocess.run(
        [COMMAND, "predict", data, "-m", path, "--proba"], check=True, capture_output=True, text=True
    ).stdout
    rows = list(csv.DictReader(io.StringIO(out)))
    for at, name in enumerate(model.target_names_):
        column = lambda what: np.array([float(row[f"{what}_{name}"]) for row in rows])
        np.testing.assert_array_equal(column("score"), model.decision_function(graphs)[:, at])
        np.testing.assert_array_equal(column("probability"), model.predict_proba(graphs)[:, at])


@pytest.mark.filterwarnings("ignore:sets contain the truth")
def test_probabilities_sets_and_intervals(graphs, labels, numbers):
    classes = np.array(["a", "b", "c"])[np.nan_to_num(labels[:, :2]).sum(axis=1).astype(int)]
    model = PyramidalReservoirClassifier(**SMALL).fit(graphs, classes)
    proba = model.predict_proba(graphs)
    assert proba.shape == (len(graphs), 3)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    wide, narrow = model.predict_set(graphs, 0.95), model.predict_set(graphs, 0.5)
    assert (narrow <= wide).all() and wide.sum() > narrow.sum()
    new, truth = graphs[1::2], numbers[1::2]
    model = PyramidalReservoirRegressor(**SMALL).fit(graphs[::2], numbers[::2])
    ends = model.predict_interval(new, 0.8)
    assert ends.shape == (len(new), 3, 2)
    held = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
    # 260 known values give a standard error of 0.025, and the training graphs are random too.
    assert 0.7 < held[~np.isnan(truth)].mean() < 0.9
    with pytest.raises(ValueError, match="coverage: expected a number above 0 and below 1, found 1.5"):
        model.predict_interval(graphs, 1.5)


def test_what_cannot_be_trained_on_is_said(graphs, labels):
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0)
    y = labels.copy()
    y[:, 1] = np.nan
    with pytest.raises(ValueError, match="target '1': expected values to learn from, found none"):
        model.fit(graphs, y)
    y[:, 1] = 1
    with pytest.raises(ValueError, match="target '1': expected both 0 and 1 among its values, found only 1"):
        model.fit(graphs, y)
    y[0, 1] = 2
    with pytest.raises(ValueError, match="y: with several targets, expected 0, 1 or NaN, found 2"):
        model.fit(graphs, y)
    with pytest.raises(ValueError, match="train one model per target if targets are named classes"):
        model.fit(graphs, np.full((len(graphs), 2), "a"))
    with pytest.raises(ValueError, match="metric: expected one of"):
        model.set_params(metric="rmse").fit(graphs, labels)
    y = labels.copy()
    y[:5] = np.nan
    with pytest.warns(UserWarning, match="skipped 5 graphs without a target"):
        PyramidalReservoirClassifier(**SMALL).fit(graphs, y)


def test_sparse_targets_are_read(graphs, labels):
    from scipy.sparse import csr_matrix

    y = np.nan_to_num(labels)
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0)
    dense = model.fit(graphs, y).decision_function(graphs)
    np.testing.assert_array_equal(model.fit(graphs, csr_matrix(y)).decision_function(graphs), dense)


def test_class_weights_of_other_classes_are_refused(graphs, labels):
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0, class_weight={"toxic": 5.0})
    with pytest.raises(ValueError, match="class_weight: with several targets, expected weights for the labels 0 and 1, found one for 'toxic'"):
        model.fit(graphs, labels)


def test_a_column_of_numbers_has_one_shape(graphs, numbers, tmp_path):
    y = numbers[:, [2]]
    known = np.flatnonzero(~np.isnan(y[:, 0]))
    model = PyramidalReservoirRegressor(**SMALL, landmarks=0).fit(graphs[known], y[known])
    model.save(tmp_path / "m")
    again = stepwell.load(tmp_path / "m")
    for found in (model, again):
        assert found.predict(graphs).shape == (len(graphs),)
        assert found.predict_interval(graphs).shape == (len(graphs), 2)
        assert np.ndim(found.alpha_) == 0


def test_explanations_of_several_targets(graphs, labels):
    import pandas as pd

    names = [f"t{target}" for target in range(labels.shape[1])]
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, pd.DataFrame(labels, columns=names))
    decisions = model.decision_function(graphs[:1])[0]
    for label, column in [(None, 0), (1, 1), (names[1], 1)]:
        picture = stepwell.plot_explanation(model, graphs[0], label)
        assert picture.decision == pytest.approx(decisions[column], abs=1e-6)
        assert f"toward {names[column]} = 1" in picture.svg
    with pytest.raises(ValueError, match="label: expected one of t0"):
        stepwell.plot_explanation(model, graphs[0], "other")


def test_a_threshold_out_of_reach_names_the_target(graphs):
    rng = np.random.default_rng(3)
    edges = np.array([graph.num_edges for graph in graphs])
    y = np.column_stack([edges > np.median(edges), rng.random(len(graphs)) < 0.3]).astype(float)
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, y)
    with pytest.raises(ValueError, match="target '1': expected precision of at most 0"):
        model.threshold(precision=0.999)
    with pytest.raises(ValueError, match="^precision: expected more than 0 and at most 1, found 2"):
        model.threshold(precision=2)


def test_a_rare_target_hides_no_choice(tmp_path):
    """The command line makes the same choices as Python."""
    rng = np.random.default_rng(0)
    edges = lambda n: np.array([[v for v in range(n)] + [0], [(v + 1) % n for v in range(n)] + [2 + n % 2]])
    sizes = rng.integers(5, 14, 1300)
    lines, graphs = [], []
    sizes[17] = sizes[16]
    for at, n in enumerate(sizes):
        ends = edges(int(n))
        label = label if at == 17 else rng.integers(0, 4, n)  # graph 16 again: the sample takes that one
        graphs.append(stepwell.Graph(ends, num_nodes=int(n), labels=label))
        lines.append({"num_nodes": int(n), "src": ends[0].tolist(), "dst": ends[1].tolist(), "node_label": label.tolist()})
    y = np.column_stack([sizes > 8, np.arange(len(sizes)) == 17]).astype(float)
    data = tmp_path / "d.jsonl"
    rows = [line | {"a": int(a), "b": int(b)} for line, (a, b) in zip(lines, y)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["--target", "a,b", "--units", "5", "--landmarks", "40", "--choose", "wl-weight", "--json"]
    done = subprocess.run([COMMAND, "train", data, "-m", tmp_path / "m", *arguments], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)["choices"]
    model = PyramidalReservoirClassifier(units=5, landmarks=40, choose="wl-weight").fit(graphs, y)
    assert len(told[0]["candidates"]) > 1
    assert model._model.choices == told


@pytest.mark.parametrize("kind", ["floats", "objects", "strings", "pandas", "Int64"])
def test_graphs_without_a_label_are_skipped(graphs, kind):
    import pandas as pd

    labels = np.arange(len(graphs)) % 2
    names = np.array(["a", "b"])[labels]
    y = {
        "floats": lambda: np.where(np.arange(len(graphs)) < 5, np.nan, labels),
        "objects": lambda: np.array([None] * 5 + labels[5:].tolist(), dtype=object),
        "strings": lambda: np.array([None] * 5 + names[5:].tolist(), dtype=object),
        "pandas": lambda: pd.Series(labels).where(np.arange(len(graphs)) >= 5),
        "Int64": lambda: pd.Series(labels, dtype="Int64").where(np.arange(len(graphs)) >= 5),
    }[kind]()
    truth = names if kind == "strings" else labels
    weights = np.random.default_rng(2).uniform(0.5, 2, len(graphs))
    with pytest.warns(UserWarning, match="^skipped 5 graphs without a target$"):
        model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, y, weights)
    known = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs[5:], truth[5:], weights[5:])
    np.testing.assert_array_equal(model.decision_function(graphs), known.decision_function(graphs))
    assert model.classes_.tolist() == known.classes_.tolist() and model.classes_.dtype == known.classes_.dtype


def test_graphs_without_a_number_are_skipped(graphs, numbers):
    y = numbers[:, 0]
    known = np.flatnonzero(~np.isnan(y))
    expected = PyramidalReservoirRegressor(**SMALL, landmarks=0).fit(graphs[known], y[known]).predict(graphs)
    for values in (y, np.array([None if np.isnan(value) else value for value in y], dtype=object)):
        with pytest.warns(UserWarning, match=f"^skipped {len(y) - len(known)} graphs without a target$"):
            model = PyramidalReservoirRegressor(**SMALL, landmarks=0).fit(graphs, values)
        np.testing.assert_allclose(model.predict(graphs), expected, atol=1e-9)
    with pytest.raises(ValueError, match="infinity"):
        PyramidalReservoirRegressor(**SMALL, landmarks=0).fit(graphs, np.full(len(graphs), np.inf))


def test_a_graph_without_vertices_has_no_prediction(graphs, labels):
    some = [*graphs[:3], stepwell.Graph([[], []], num_nodes=0)]
    classes = np.array(["path", "ring"])[np.arange(len(graphs)) % 2]
    warned = lambda: pytest.warns(UserWarning, match="^one graph has no vertices and therefore no prediction$")
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, classes)
    with warned():
        found = model.predict(some)
    assert found[3] is None and found[:3].tolist() == model.predict(graphs[:3]).tolist()
    with warned():
        assert np.isnan(model.predict_proba(some)[3]).all()
    with warned():
        assert np.isnan(model.decision_function(some)[3])
    with warned():
        assert model.predict_set(some, 0.5)[3].all()
    with warned():
        assert model.score(some, classes[:4]) == model.score(graphs[:3], classes[:3])
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, labels)
    with warned():
        found = model.predict(some)
    assert np.isnan(found[3]).all() and found[:3].tolist() == model.predict(graphs[:3]).tolist()
    model = PyramidalReservoirRegressor(**SMALL, landmarks=0).fit(graphs, np.arange(len(graphs)))
    with warned():
        found = model.predict(some)
    assert np.isnan(found).tolist() == [False] * 3 + [True]
    with warned():
        assert np.isnan(model.predict_interval(some)[3]).all()


def test_sets_cover_a_rare_class():
    """Numbers of vertices that hint at a class of 4 % of the graphs."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.04, "active", "inactive")
    sizes = np.where(y == "active", 52, 40) + rng.integers(-20, 21, len(y))
    ring = lambda n: stepwell.Graph([np.arange(n), (np.arange(n) + 1) % n], num_nodes=n)
    graphs = [ring(int(n)) for n in sizes]
    new = np.arange(len(y)) % 2 == 1
    test, truth = [graph for graph, is_new in zip(graphs, new) if is_new], y[new]
    train = [graph for graph, is_new in zip(graphs, new) if not is_new]
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0, aggregate="sum").fit(train, y[~new])
    with pytest.warns(UserWarning, match="but for only .* % of the graphs of class active .*; per_class=True covers"):
        pooled = model.predict_set(test, 0.9)
    sets = model.predict_set(test, 0.9, per_class=True)
    share = lambda sets, name: sets[truth == name, model.classes_.tolist().index(name)].mean()
    assert share(pooled, "active") < 0.5 and share(pooled, "inactive") > 0.9
    # About 60 graphs of the class on either side: a standard error of 0.055.
    assert share(sets, "active") > 0.72 and abs(share(sets, "inactive") - 0.9) < 0.06


def test_thresholds_find_either_class(graphs):
    edges = np.array([graph.num_edges for graph in graphs])
    rng = np.random.default_rng(3)
    y = np.where(edges + rng.normal(size=len(graphs)) * edges.std() > np.median(edges), "large", "small")
    model = PyramidalReservoirClassifier(**SMALL, landmarks=0).fit(graphs, y)
    values = model.decision_function(graphs)
    for label, found in (("large", values <= model.threshold(recall=0.9, label="large")), ("small", values >= model.threshold(recall=0.9))):
        assert 0.85 < found[y == label].mean() <= 1
    assert model.threshold(recall=0.9, label="small") == model.threshold(recall=0.9)
    with pytest.raises(ValueError, match="label: expected one of large, small, found 'tiny'"):
        model.threshold(recall=0.9, label="tiny")
