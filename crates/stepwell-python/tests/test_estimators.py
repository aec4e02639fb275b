"""Classifier and regressor: scikit-learn's conventions and scikit-learn's numbers."""

import inspect
import io
import pickle
import pydoc
import warnings
from collections.abc import Sequence

import joblib
import numpy as np
import pandas
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, RidgeClassifier, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_checks

from stepwell import (
    Graph,
    PyramidalReservoir,
    PyramidalReservoirClassifier,
    PyramidalReservoirRegressor,
    coarsen,
    make_benchmark,
)

ALL = [PyramidalReservoir, PyramidalReservoirClassifier, PyramidalReservoirRegressor]
QUICK = {"units": 12, "spectral_radius": 0.5, "max_iter": 200}
DATASET = make_benchmark("b-easy-small", graphs_per_class=20)
GRAPHS, Y = list(DATASET.graphs), DATASET.y
SIZES = np.array([[graph.num_nodes, graph.num_edges] for graph in GRAPHS], dtype=float)
WORDS = np.array(["round", "flat", "long"])[Y]


def target(kind):
    return {PyramidalReservoir: None, PyramidalReservoirClassifier: WORDS}.get(kind, SIZES)


# Numbers


@pytest.mark.parametrize("y", [WORDS, Y, Y == 1, WORDS.astype(object)], ids=["text", "int", "bool", "object"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_classifier_is_a_ridge_classifier_on_embeddings(y, class_weight):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = PyramidalReservoirClassifier.from_preset("paper", alpha=2.0, class_weight=class_weight, **QUICK)
    model.fit(GRAPHS, y, weights)
    vectors = PyramidalReservoir(**QUICK).fit_transform(GRAPHS)
    assert np.array_equal(model.transform(GRAPHS), vectors)
    peer = RidgeClassifier(alpha=2.0, class_weight=class_weight, solver="svd").fit(vectors, y, weights)
    assert np.array_equal(model.classes_, peer.classes_)
    assert model.coef_.shape == (1 if len(model.classes_) == 2 else len(model.classes_), 12)
    np.testing.assert_allclose(model.coef_, peer.coef_.reshape(-1, 12), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, peer.intercept_, rtol=1e-6)
    np.testing.assert_allclose(model.decision_function(GRAPHS), peer.decision_function(vectors), rtol=1e-6, atol=1e-9)
    assert np.array_equal(model.predict(GRAPHS), peer.predict(vectors))
    assert model.score(GRAPHS, y, weights) == peer.score(vectors, y, weights)


def test_class_weights_by_label():
    given = {"round": 2.0, "flat": 0.5, "long": 1.0}
    model = PyramidalReservoirClassifier.from_preset("paper", alpha=1.0, class_weight=given, **QUICK).fit(GRAPHS, WORDS)
    by_row = np.array([given[word] for word in WORDS])
    same = PyramidalReservoirClassifier.from_preset("paper", alpha=1.0, **QUICK).fit(GRAPHS, WORDS, by_row)
    np.testing.assert_allclose(model.coef_, same.coef_, rtol=1e-10)


@pytest.mark.parametrize("y", [SIZES[:, 0], SIZES[:, :1], SIZES], ids=["one", "column", "two"])
def test_the_regressor_is_a_ridge_regression_on_embeddings(y):
    model = PyramidalReservoirRegressor.from_preset("paper", alpha=0.5, **QUICK).fit(GRAPHS, y)
    vectors = model.transform(GRAPHS)
    peer = Ridge(alpha=0.5, solver="svd").fit(vectors, y)
    # One column has the shape of one target, because a saved model does not record the shape of y.
    shape = np.squeeze(y).shape
    assert model.coef_.shape == (*shape[1:], 12)
    assert np.shape(model.intercept_) == shape[1:]
    assert model.predict(GRAPHS).shape == shape
    np.testing.assert_allclose(model.coef_.ravel(), peer.coef_.ravel(), rtol=1e-6)
    np.testing.assert_allclose(model.predict(GRAPHS).ravel(), peer.predict(vectors).ravel(), rtol=1e-8)
    assert model.score(GRAPHS, y) == pytest.approx(peer.score(vectors, y))


def test_alpha_by_leave_one_out():
    vectors = PyramidalReservoir(**QUICK).fit_transform(GRAPHS)
    for alphas in ([0.1, 1.0, 10.0], np.logspace(-2, 3, 6), (1.0, 100.0)):
        model = PyramidalReservoirClassifier.from_preset("paper", alpha=alphas, **QUICK).fit(GRAPHS, WORDS)
        assert model.alpha_ == RidgeClassifierCV(alphas=np.array(alphas)).fit(vectors, WORDS).alpha_
    powers = 10.0 ** np.arange(-6, 7)
    model = PyramidalReservoirClassifier.from_preset("paper", **QUICK).fit(GRAPHS, WORDS)
    assert model.alpha_ == RidgeClassifierCV(alphas=powers).fit(vectors, WORDS).alpha_


def test_random_features_help_where_lines_do_not():
    square = (SIZES[:, 0] - SIZES[:, 0].mean()) ** 2
    fitted = lambda **more: PyramidalReservoirRegressor.from_preset("paper", **QUICK, **more).fit(GRAPHS[:45], square[:45])
    plain, more = fitted(), fitted(random_features=60)
    assert more.random_features_[0].shape == (12, 60)
    assert more.coef_.shape == (60,)
    assert more.score(GRAPHS[:45], square[:45]) > plain.score(GRAPHS[:45], square[:45])


# Conventions


@pytest.mark.parametrize("kind", ALL)
def test_parameters_are_real_ones(kind):
    shown = inspect.signature(kind).parameters
    assert not [name for name, each in shown.items() if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    assert {name: each.default for name, each in shown.items()} == kind().get_params()
    assert set(inspect.signature(PyramidalReservoir).parameters) <= set(shown)
    described = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    for name in shown:
        assert f" {name} : " in described, f"{name} is not described"
    assert shown["units"].annotation == int | Sequence[int]
    assert not [name for name, each in shown.items() if each.annotation is each.empty]
    with pytest.raises(TypeError, match="no_such_thing"):
        kind.from_preset("paper", no_such_thing=1)
    with pytest.raises(TypeError, match=r"keyword argument 'unit'. Did you mean 'units'\?"):
        kind(unit=1)


@pytest.mark.parametrize("kind", ALL)
def test_parameters_round_trip(kind):
    model = kind(units=7, pool="ndp", aggregate=["sum", "max"], n_jobs=2, random_state=5)
    assert clone(model).get_params() == model.get_params()
    assert kind(**model.get_params()).get_params() == model.get_params()
    other = kind().set_params(**model.get_params())
    assert other.get_params() == model.get_params()
    assert "units=7" in repr(model) and "blocks" not in repr(model)
    with pytest.raises(ValueError, match="no_such_thing"):
        model.set_params(no_such_thing=1)
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert "units" in model._repr_html_()


#: scikit-learn's own checks that do not depend on X being an array.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_valid_tag_types",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_estimator_tags_renamed",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", ALL)
def test_scikit_learn_s_own_checks(kind, check):
    check = getattr(estimator_checks, check, None)
    if check is None:
        pytest.skip("this scikit-learn does not have it")
    check(kind.__name__, kind())


@pytest.mark.parametrize("kind", ALL)
def test_fitting_leaves_parameters_alone_and_can_be_repeated(kind):
    model = kind.from_preset("paper", **QUICK, structure=("degree",))
    before = clone(model).get_params()
    assert model.fit(GRAPHS, target(kind)) is model
    first = model.transform(GRAPHS)
    assert model.get_params() == before
    assert np.array_equal(model.fit(GRAPHS, target(kind)).transform(GRAPHS), first)
    assert np.array_equal(clone(model).fit(GRAPHS, target(kind)).transform(GRAPHS), first)


#: A change of every parameter that a fitted model could wrongly react to.
CHANGES = {
    "aggregate": ["sum", "max"],
    "blocks": 3,
    "concat": True,
    "fixed_sweeps": 1,
    "leak": 0.5,
    "max_iter": 1,
    "normalize": False,
    "pool": "kmis",
    "pool_after": 2,
    "pool_last": True,
    "precision": "f64",
    "reservoirs": 2,
    "solver": "jacobi",
    "stacks": 2,
    "structure": "clustering",
    "tol": 1.0,
    "units": 0,
}


@pytest.mark.parametrize("kind", ALL)
def test_a_fitted_model_stays_what_it_is(kind):
    model = kind.from_preset("paper", **QUICK, pool="ndp").fit(GRAPHS, target(kind))
    vectors, names = model.transform(GRAPHS), model.get_feature_names_out()
    states = model.transform_nodes(GRAPHS)
    for name, value in CHANGES.items():
        before = model.get_params()[name]
        model.set_params(**{name: value}, n_jobs=2)
        assert np.array_equal(model.transform(GRAPHS), vectors), name
        model.set_params(**{name: before})
    model.set_params(aggregate=["sum", "max"], concat=True)
    assert np.array_equal(model.transform_nodes(GRAPHS), states)
    assert list(model.get_feature_names_out()) == list(names)
    if kind is PyramidalReservoir:
        model.set_weights(model.weights_)
    else:
        model.fit(GRAPHS, target(kind))
    assert len(model.get_feature_names_out()) == 4 * len(names) == model.transform(GRAPHS).shape[1]


@pytest.mark.parametrize("kind", ALL)
def test_a_failed_fit_changes_nothing(kind):
    model = kind.from_preset("paper", **QUICK).fit(GRAPHS, target(kind))
    before = pickle.dumps(model)
    others = [Graph([[0], [1]], np.ones((2, 3)))] * 3
    bad = -np.ones(3)
    with pytest.raises(ValueError, match="weight -1|leak"):
        if kind is PyramidalReservoir:
            model.set_params(leak=0).fit(others)
        else:
            model.fit(others, ["a", "b", "c"] if kind is PyramidalReservoirClassifier else [1, 2, 3], bad)
    assert pickle.dumps(model.set_params(leak=1.0)) == before
    if kind is not PyramidalReservoir:
        assert len(model.predict(GRAPHS)) == len(GRAPHS)


@pytest.mark.parametrize("kind", ALL)
def test_before_fit(kind):
    calls = {"transform", "predict", "decision_function", "transform_nodes"} & set(dir(kind))
    for call in calls:
        with pytest.raises(NotFittedError):
            getattr(kind(), call)(GRAPHS)
    with pytest.raises(NotFittedError):
        kind().get_feature_names_out()


def test_what_they_are():
    assert is_classifier(PyramidalReservoirClassifier()) and not is_regressor(PyramidalReservoirClassifier())
    assert is_regressor(PyramidalReservoirRegressor()) and not is_classifier(PyramidalReservoirRegressor())
    assert not is_classifier(PyramidalReservoir()) and not is_regressor(PyramidalReservoir())


@pytest.mark.parametrize("kind", ALL)
def test_output_as_a_table(kind):
    model = kind.from_preset("paper", **QUICK, aggregate=["sum", "max"]).set_output(transform="pandas").fit(GRAPHS, target(kind))
    table = model.transform(GRAPHS)
    assert isinstance(table, pandas.DataFrame)
    names = [f"{kind.__name__.lower()}{column}" for column in range(24)]
    assert list(table.columns) == list(model.get_feature_names_out()) == names
    if kind is not PyramidalReservoir:
        assert len(model.predict(GRAPHS)) == len(GRAPHS)


@pytest.mark.parametrize("kind", ALL)
def test_fitted_models_travel(kind, tmp_path):
    model = kind.from_preset("paper", pool="graclus", **QUICK).fit(GRAPHS, target(kind))
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert np.array_equal(again.transform(GRAPHS), model.transform(GRAPHS))
        if kind is not PyramidalReservoir:
            assert np.array_equal(again.predict(GRAPHS), model.predict(GRAPHS))


def test_presets():
    for kind in ALL:
        model = kind.from_preset("reference", units=10)
        assert (model.pool_last, model.tied, model.scaling, model.units) == (True, True, "norm", 10)
    for kind in ALL[1:]:
        assert kind.from_preset("accurate").get_params() == kind().get_params()
    paper = PyramidalReservoirClassifier.from_preset("paper").get_params()
    assert paper.items() >= PyramidalReservoir().get_params().items()
    assert (paper["landmarks"], paper["random_features"], paper["alpha"]) == (0, 0, "loo")


def test_the_random_state():
    fitted = lambda state: PyramidalReservoirClassifier.from_preset("paper", random_state=state, **QUICK).fit(GRAPHS, Y).transform(GRAPHS)
    assert np.array_equal(fitted(3), fitted(np.int64(3)))
    assert np.array_equal(fitted(np.random.RandomState(3)), fitted(np.random.RandomState(3)))
    assert not np.array_equal(fitted(3), fitted(4))


# Graphs in scikit-learn's tools


def as_array(graphs):
    array = np.empty(len(graphs), dtype=object)
    array[:] = graphs
    return array


CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "array": as_array,
    "dataset": lambda _: DATASET.graphs,
    "pairs": lambda graphs: [(graph.adjacency, graph.features) for graph in graphs],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_cross_validation_of_any_container(container):
    graphs = CONTAINERS[container](GRAPHS)
    model = PyramidalReservoirClassifier.from_preset("paper", **QUICK)
    folds = list(StratifiedKFold(3).split(GRAPHS, WORDS))
    pick = lambda rows: [GRAPHS[row] for row in rows]
    right = [model.fit(pick(train), WORDS[train]).score(pick(test), WORDS[test]) for train, test in folds]
    assert cross_val_score(model, graphs, WORDS, cv=3).tolist() == right
    assert cross_val_predict(model, graphs, WORDS, cv=3).shape == WORDS.shape


@pytest.mark.parametrize("kind", ALL)
def test_graphs_that_come_one_by_one(kind):
    model = kind.from_preset("paper", **QUICK)
    vectors = model.fit_transform((graph for graph in GRAPHS), target(kind))
    assert np.array_equal(vectors, clone(model).fit(GRAPHS, target(kind)).transform(iter(GRAPHS)))
    assert kind is PyramidalReservoir or model.predict(iter(GRAPHS)).shape == target(kind).shape


def test_pipelines():
    first = make_pipeline(PyramidalReservoir(**QUICK), StandardScaler(), SVC()).fit(GRAPHS, WORDS)
    last = make_pipeline(FunctionTransformer(), PyramidalReservoirClassifier.from_preset("paper", **QUICK)).fit(GRAPHS, WORDS)
    middle = make_pipeline(PyramidalReservoirRegressor.from_preset("paper", **QUICK), Ridge()).fit(GRAPHS, SIZES)
    assert first.predict(GRAPHS).shape == last.predict(GRAPHS).shape == WORDS.shape
    assert middle.predict(GRAPHS).shape == SIZES.shape
    weighted = last.fit(GRAPHS, WORDS, pyramidalreservoirclassifier__sample_weight=np.ones(len(Y)))
    assert weighted.score(GRAPHS, WORDS) > 0.5


def test_a_search_over_processes():
    grid = {"alpha": [1.0, "loo"], "pool": ["none", "ndp"]}
    model = PyramidalReservoirClassifier(n_jobs=2, units=12).fit(GRAPHS, WORDS)
    alone = GridSearchCV(model, grid, cv=2).fit(DATASET.graphs, WORDS)
    search = GridSearchCV(model, grid, cv=2, n_jobs=2).fit(DATASET.graphs, WORDS)
    assert np.array_equal(search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])
    assert np.array_equal(search.predict(GRAPHS), alone.predict(GRAPHS))


# Messages


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("kind", ALL)
def test_progress(kind, monkeypatch):
    told = io.StringIO()
    monkeypatch.setattr("sys.stderr", told)
    kind.from_preset("paper", **QUICK).fit(GRAPHS, target(kind)).transform(GRAPHS)
    assert told.getvalue() == "", "silent unless asked"
    kind.from_preset("paper", pool="ndp", verbose=True, **QUICK).fit(GRAPHS, target(kind)).transform(GRAPHS)
    lines = told.getvalue().splitlines()
    assert f"pooling and embedding: {len(GRAPHS)} graphs" in lines[0]
    assert "\r" not in told.getvalue(), "a log is not a terminal"


def test_progress_on_a_terminal(monkeypatch):
    for doublings in range(20):  # on any machine, the work eventually takes long enough to observe
        terminal = Terminal()
        monkeypatch.setattr("sys.stderr", terminal)
        slow = PyramidalReservoir(units=100, blocks=1, fixed_sweeps=250 << doublings, verbose=1).fit(GRAPHS)
        slow.transform(GRAPHS)
        told = terminal.getvalue()
        assert told.endswith("\n")
        if "\rembedding: [#" in told and f"/{len(GRAPHS)}, " in told:
            return
    pytest.fail("there is no bar")


GOOD = Graph([[0], [1]], np.ones((2, 5)))


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda fit: fit(alpha=-1), ValueError, "alpha"),
        (lambda fit: fit(alpha="best"), ValueError, "alpha"),
        (lambda fit: fit(alpha=[]), ValueError, "alpha"),
        (lambda fit: fit(alpha=float("nan")), ValueError, "alpha"),
        (lambda fit: fit(alpha=object()), ValueError, "alpha"),
        (lambda fit: fit(standardize="yes"), ValueError, "standardize"),
        (lambda fit: fit(random_features=-1), ValueError, "random_features"),
        (lambda fit: fit(class_weight="equal"), ValueError, "class_weight"),
        (lambda fit: fit(class_weight={"round": -1.0}), ValueError, "class"),
        (lambda fit: fit(y=None), ValueError, "requires y"),
        (lambda fit: fit(y=WORDS[:-1]), ValueError, "y: expected 60 values, one per graph, found 59"),
        (lambda fit: fit(y=np.zeros(60)), ValueError, "at least two classes, found 1"),
        (lambda fit: fit(y=np.linspace(0, 1, 60)), ValueError, "continuous"),
        (lambda fit: fit(y=SIZES), ValueError, "y: with several targets, expected 0, 1 or NaN"),
        (lambda fit: fit(sample_weight=np.ones(3)), ValueError, "sample_weight: expected 60 values"),
        (lambda fit: fit(sample_weight=-np.ones(60)), ValueError, "weight -1"),
        (lambda fit: fit(sample_weight=np.full(60, np.nan)), ValueError, "sample_weight"),
        (lambda fit: fit(sample_weight=np.zeros(60)), ValueError, "weights: expected at least one above 0, found none"),
        (lambda fit: fit(n_jobs=0), ValueError, "n_jobs"),
        (lambda fit: fit(random_state=-1), ValueError, "random_state"),
        (lambda fit: fit().predict([GOOD, None]), TypeError, "graph 1: expected a stepwell.Graph"),
        (lambda fit: fit().predict(GOOD), TypeError, "graphs: expected a sequence of graphs, found stepwell.Graph"),
        (lambda fit: fit().predict([GRAPHS[0], Graph([[0], [1]], np.ones((2, 3)))]), ValueError, "graph 1: "),
        (lambda fit: fit().predict([Graph([[0], [1]], np.ones((2, 3)))]), ValueError, "the model expects graphs with 5, but these have 3"),
        (lambda fit: fit().predict([Graph([[0], [1]])]), ValueError, "the model expects graphs with 5, but these have none"),
    ],
)
def test_what_is_wrong_is_said(make, kind, words):
    def fit(y=WORDS, sample_weight=None, **more):
        return PyramidalReservoirClassifier.from_preset("paper", **{**QUICK, **more}).fit(GRAPHS, y, sample_weight)

    with pytest.raises(kind) as caught:
        make(fit)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y"),
        (SIZES[:-1], "one per graph, found 59"),
        (np.full(60, np.nan), "NaN"),
        (np.zeros((60, 2, 2)), "dim"),
        (WORDS, "expected numbers, found 'round'"),
        (np.zeros((60, 0)), "targets: expected 1, found 0"),
    ],
)
def test_what_is_wrong_with_numbers_is_said(y, words):
    with pytest.raises(ValueError) as caught:
        PyramidalReservoirRegressor.from_preset("paper", **QUICK).fit(GRAPHS, y)
    assert words in str(caught.value)


def test_an_option_that_is_set_is_not_chosen():
    ds = make_benchmark("b-easy-small")
    graphs, y = ds.graphs[:120], ds.y[:120]
    small = dict(units=8, landmarks=40)
    free = PyramidalReservoirClassifier(**small).fit(graphs, y)
    assert sorted(free.chosen_) == ["gaussian_width", "structure", "wl_weight"]
    assert free.gaussian_width is None
    # A value that equals the preset's is a value, too.
    held = PyramidalReservoirClassifier(**small, gaussian_width=1.0, structure=()).fit(graphs, y)
    assert sorted(held.chosen_) == ["wl_weight"]
    assert held._model.options["gaussian_width"] == 1.0 and held._model.options["structure"] == []
    both = PyramidalReservoirClassifier(**small, gaussian_width=1.0, choose="gaussian-width").fit(graphs, y)
    assert sorted(both.chosen_) == ["gaussian_width"]
    preset = PyramidalReservoirClassifier.from_preset("accurate", **small)
    assert preset.get_params() == PyramidalReservoirClassifier(**small).get_params()
    again = pickle.loads(pickle.dumps(free))
    assert again.chosen_ == free.chosen_ and again.get_params() == free.get_params()


def test_ignored_edges_are_reported_once_by_fit():
    ring = [[0, 1, 2, 3], [1, 2, 3, 0]]
    graphs = [Graph(ring, labels=[0, 0, i % 2, 0], edge_label=[0, 1, 0, 1]) for i in range(20)]
    y = np.arange(20) % 2
    model = PyramidalReservoirClassifier.from_preset("paper", units=5, spectral_radius=0.5)
    with pytest.warns(UserWarning, match="ignores labels of edges; pass edge_gate='signs'") as seen:
        model.fit(graphs, y)
    assert len(seen) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(graphs)


def test_options_without_effect_are_warnings():
    ds = make_benchmark("b-easy-small", graphs_per_class=8, random_state=0)
    graphs, y = ds.graphs, ds.y
    with pytest.warns(UserWarning, match="tol has no effect unless fixed_sweeps is none"):
        PyramidalReservoirClassifier(units=4, tol=1e-3).fit(graphs, y)
    with pytest.warns(UserWarning, match="delta has no effect unless pool is ndp"):
        PyramidalReservoir(units=4, pool="graclus", delta=0.5).fit(graphs)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PyramidalReservoirClassifier(units=4, landmarks=0).fit(graphs, y)
        PyramidalReservoirClassifier.from_preset("paper", units=4, spectral_radius=0.4).fit(graphs, y)
        PyramidalReservoir(units=4, spectral_radius=0.4, pool="ndp", delta=0.5, tol=1e-3).fit(graphs)


def test_directed_graphs_are_pooled_with_a_warning():
    graphs = [Graph([[0, 1, 2, 3], [1, 2, 3, 0]], directed=True)]
    with pytest.warns(UserWarning, match="a directed graph was pooled as if undirected"):
        coarsen(graphs[0], "graclus", levels=1)
    with pytest.warns(UserWarning, match="a directed graph was pooled as if undirected"):
        PyramidalReservoir(pool="graclus", units=5, spectral_radius=0.5).fit_transform(graphs)


def test_wrong_targets_and_poolings_are_named():
    graphs = make_benchmark("b-easy-small").graphs[:20]
    with pytest.raises(ValueError, match="y: expected 20 values, one per graph, found 5"):
        PyramidalReservoirClassifier().fit(graphs, [1] * 5)
    with pytest.raises(ValueError, match="graphs: expected at least one, found none"):
        PyramidalReservoirClassifier().fit([], [])
    with pytest.raises(ValueError, match="y: expected numbers, found 'a'; use a classifier"):
        PyramidalReservoirRegressor().fit(graphs, ["a"] * 20)
    with pytest.raises(TypeError, match="pool: expected the name of a pooling, found a function"):
        PyramidalReservoir(pool=lambda graph: graph).fit(graphs)
