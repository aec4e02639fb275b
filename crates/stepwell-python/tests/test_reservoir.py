"""Reservoirs compared with the paper's equations in NumPy."""

import pickle

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import real_dataset
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from stepwell import Graph, PyramidalReservoir, make_benchmark


def normalized(adjacency, directed=False):
    out, into = (np.asarray(adjacency.sum(axis)).ravel() for axis in (1, 0))
    scale = lambda d: sp.diags(np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0))
    return scale(out) @ adjacency @ scale(into if directed else out)


def fixed_point(operator, drive, W, tol=1e-12, max_iter=10_000, leak=1.0):
    """Jacobi sweeps until the Frobenius norm of the change, before the leak, is below tol, and
    their number."""
    state = np.zeros_like(drive)
    for sweep in range(1, max_iter + 1):
        new = np.tanh(operator @ state @ W + drive)
        change = np.linalg.norm(new - state)
        state = (1 - leak) * state + leak * new
        if change < tol:
            break
    return state, sweep


def stack(graph, weights, **how):
    """The states of every block, and the sweeps."""
    operator, x, states, sweeps = normalized(graph.adjacency, graph.directed), graph.features, [], []
    for W, V in weights:
        x, count = fixed_point(operator, x @ V, W, **how)
        states.append(x)
        sweeps.append(count)
    return states, sweeps


def kinds_of_graphs():
    rng = np.random.default_rng(0)
    x = lambda n, f=4: rng.normal(size=(n, f))
    edges = lambda g: np.array(g.edges).T
    yield "random", Graph(edges(nx.gnp_random_graph(30, 0.2, seed=1)), x(30))
    weighted = sp.random(25, 25, 0.2, random_state=2)
    yield "weighted", Graph(weighted + weighted.T, x(25))
    yield "directed", Graph(edges(nx.gnp_random_graph(25, 0.15, seed=3, directed=True)), x(25), directed=True)
    yield "disconnected", Graph(edges(nx.disjoint_union(nx.cycle_graph(6), nx.path_graph(9))), x(15))
    yield "isolated vertices", Graph([[0, 1], [1, 2]], x(8))
    yield "no edges", Graph(np.zeros((2, 0), int), x(5))
    yield "self loops", Graph([[0, 0, 1, 2], [0, 1, 2, 2]], x(3))
    yield "alike vertices", Graph(edges(nx.star_graph(12)), np.ones((13, 4)))
    yield "one-hot", Graph(edges(nx.cycle_graph(12)), np.eye(4)[rng.integers(4, size=12)])


GRAPHS = dict(kinds_of_graphs())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # tolerance 0 is never met
@pytest.mark.parametrize("solver", ["gauss-seidel", "jacobi"])
@pytest.mark.parametrize(("precision", "error"), [("f32", 2e-6), ("f64", 1e-10)])
@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("units", [7, 50])
def test_states_are_the_fixed_point(kind, precision, error, solver, units):
    graph = GRAPHS[kind]
    model = PyramidalReservoir(
        units=units, spectral_radius=0.5, tol=0, max_iter=200, precision=precision, solver=solver, concat=True, raw=True
    ).fit([graph])
    expected, _ = stack(graph, model.weights_)
    for found, right in zip(model.transform_nodes([graph]), expected):
        assert np.linalg.norm(found - right) <= error * np.linalg.norm(right)
    vector = model.transform([graph])[0]
    right = np.concatenate([state.sum(0) for state in expected])
    assert np.linalg.norm(vector - right) <= 10 * error * np.linalg.norm(right)


@pytest.mark.parametrize("leak", [1.0, 0.5])
@pytest.mark.parametrize("lift", [True, False])
def test_jacobi_counts_the_paper_s_sweeps(lift, leak):
    graphs = list(GRAPHS.values())
    model = PyramidalReservoir(
        units=20, spectral_radius=0.6, solver="jacobi", precision="f64", lift=lift, leak=leak, max_iter=500, raw=True
    ).fit(graphs)
    model.transform(graphs)
    expected = [stack(graph, model.weights_, tol=1e-5, leak=leak)[1] for graph in graphs]
    assert model.iterations_.tolist() == expected
    assert model.converged_.all()


def test_unconverged_states_are_jacobi_s_and_flagged():
    graphs = list(GRAPHS.values())
    model = PyramidalReservoir(units=10, solver="jacobi", precision="f64", max_iter=3, tol=0, raw=True).fit(graphs)
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 sweeps"):
        found = model.transform(graphs)
    for graph, vector in zip(graphs, found):
        states, _ = stack(graph, model.weights_, tol=0, max_iter=3)
        np.testing.assert_allclose(vector, states[-1].sum(0), rtol=1e-12, atol=1e-12)
    assert not model.converged_.all()


def test_the_spectral_radius_is_the_true_one():
    graph = GRAPHS["random"]
    for recurrence in ("dense", "sparse", "ring", "orthogonal", "diagonal"):
        model = PyramidalReservoir(units=40, spectral_radius=[0.7, 0.3], recurrence=recurrence).fit([graph])
        for (W, _), radius in zip(model.weights_, (0.7, 0.3)):
            assert np.abs(np.linalg.eigvals(W)).max() == pytest.approx(radius, rel=1e-6)
    model = PyramidalReservoir(units=40, spectral_radius=0.7, scaling="norm").fit([graph])
    assert np.linalg.norm(model.weights_[0][0], 2) == pytest.approx(0.7, rel=1e-6)


def test_aggregates_and_their_order():
    graphs = list(GRAPHS.values())
    model = PyramidalReservoir(
        units=6, stacks=2, aggregate=["sum", "mean", "max", "std"], concat=True, precision="f64",
        spectral_radius=0.5, tol=1e-13, max_iter=500, raw=True,
    ).fit(graphs)  # fmt: skip
    found = model.transform(graphs)
    assert found.shape == (len(graphs), 2 * 2 * 4 * 6)
    for graph, vector in zip(graphs, found):
        parts = []
        for first in (0, 2):
            for state in stack(graph, model.weights_[first : first + 2])[0]:
                parts += [state.sum(0), state.mean(0), state.max(0), state.std(0)]
        np.testing.assert_allclose(vector, np.concatenate(parts), rtol=1e-9, atol=1e-9)


def test_a_vector_does_not_depend_on_company_threads_or_renaming():
    graphs = list(GRAPHS.values())
    model = PyramidalReservoir(units=16, max_iter=500).fit(graphs)
    together, sweeps = model.transform(graphs), model.iterations_
    for position, graph in enumerate(graphs):
        # Alone; beside an unweighted star that is lifted; beside one-hot, dense and weighted
        # graphs.
        for mates in ([], ["alike vertices"], ["one-hot"], ["random", "weighted"]):
            vector = model.transform([GRAPHS[mate] for mate in mates] + [graph])[-1]
            assert np.array_equal(vector, together[position])
            assert np.array_equal(model.iterations_[-1], sweeps[position])
    assert np.array_equal(together, model.set_params(n_jobs=2).transform(graphs))
    rng = np.random.default_rng(5)
    model = PyramidalReservoir(units=16, spectral_radius=0.5, tol=1e-7, max_iter=300).fit(graphs)
    for graph in graphs:
        order = rng.permutation(graph.num_nodes)
        moved = Graph(graph.adjacency[order][:, order], graph.features[order], directed=graph.directed)
        before, after = model.transform([graph, moved])
        assert np.linalg.norm(before - after) <= 1e-5 * np.linalg.norm(before)


def test_weights_can_be_brought_along():
    graph = GRAPHS["random"]
    rng = np.random.default_rng(3)
    weights = [(rng.uniform(-0.1, 0.1, (5, 5)), rng.normal(size=(4, 5))), (np.zeros((5, 5)), np.eye(5))]
    model = PyramidalReservoir(units=5, precision="f64").set_weights(weights)
    expected, _ = stack(graph, weights, tol=1e-5)
    np.testing.assert_allclose(model.transform([graph])[0], expected[-1].sum(0), rtol=1e-6)
    with pytest.raises(ValueError, match="expected 2 pairs"):
        model.set_weights(weights[:1])
    with pytest.raises(ValueError):
        model.set_weights([weights[0], (np.eye(5), np.eye(3))]).transform([graph])


def test_graphs_without_features_get_their_degrees():
    graphs = [Graph(np.array(nx.gnp_random_graph(20, 0.3, seed=s).edges).T, num_nodes=20) for s in range(4)]
    model = PyramidalReservoir(units=8, spectral_radius=0.5, precision="f64", tol=1e-12, max_iter=200).fit(graphs)
    degrees = np.concatenate([np.asarray(g.adjacency.sum(1)).ravel() for g in graphs])
    scaled = ((degrees - degrees.mean()) / degrees.std()).reshape(4, 20, 1)
    for graph, x, vector in zip(graphs, scaled, model.transform(graphs)):
        state = x
        for W, V in model.weights_:
            state, _ = fixed_point(normalized(graph.adjacency), state @ V, W)
        np.testing.assert_allclose(vector, state.sum(0), rtol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one graph is slow
def test_scikit_learn_manners():
    dataset = make_benchmark("b-easy-small")
    model = PyramidalReservoir(units=30, random_state=1)
    assert clone(model).get_params() == model.get_params()
    again = pickle.loads(pickle.dumps(model.fit(dataset.graphs)))
    vectors = model.transform(dataset.graphs)
    assert np.array_equal(again.transform(dataset.graphs), vectors)
    assert np.array_equal(model.transform(list(dataset.graphs)), vectors), "a list is the same graphs"
    assert list(model.get_feature_names_out()[:2]) == ["pyramidalreservoir0", "pyramidalreservoir1"]
    assert len(model.get_feature_names_out()) == 30
    train, test = dataset.split == "train", dataset.split == "test"
    graphs = list(dataset.graphs)
    pick = lambda mask: [graph for graph, wanted in zip(graphs, mask) if wanted]
    pipeline = make_pipeline(PyramidalReservoir(random_state=0), RidgeClassifier())
    accuracy = pipeline.fit(pick(train), dataset.y[train]).score(pick(test), dataset.y[test])
    assert accuracy > 0.8, "structure and colours together tell the classes apart"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_grid_search_over_processes():
    dataset = make_benchmark("b-easy-small", graphs_per_class=20)
    pipeline = make_pipeline(PyramidalReservoir(units=10, random_state=0), RidgeClassifier())
    grid = {"pyramidalreservoir__spectral_radius": [0.3, 0.6]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2).fit(dataset.graphs, dataset.y)
    assert search.best_score_ > 0.5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # tolerance 0 is never met
@pytest.mark.filterwarnings("ignore:this model ignores labels")
def test_real_molecules_when_they_are_there():
    graphs = real_dataset("MUTAG").graphs[:40]
    model = PyramidalReservoir(spectral_radius=0.5, tol=0, max_iter=200).fit(graphs)
    found = model.transform(graphs)
    labels = np.unique(np.concatenate([graph.labels for graph in graphs]))
    for graph, vector in zip(graphs, found):
        one_hot = Graph(graph.adjacency, (graph.labels[:, None] == labels).astype(float))
        expected = stack(one_hot, model.weights_)[0][-1].sum(0)
        assert np.linalg.norm(vector - expected) <= 1e-5 * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: PyramidalReservoir(units="ten").fit([GRAPHS["random"]]), ValueError, "units"),
        (lambda: PyramidalReservoir(max_iter=1e3).fit([GRAPHS["random"]]), ValueError, "max_iter"),
        (lambda: PyramidalReservoir(units=0).fit([GRAPHS["random"]]), ValueError, "units"),
        (lambda: PyramidalReservoir(pool="star").fit([GRAPHS["random"]]), ValueError, "pool"),
        (lambda: PyramidalReservoir(solver="newton").fit([GRAPHS["random"]]), ValueError, "newton"),
        (lambda: PyramidalReservoir(spectral_radius=[0.1] * 3).fit([GRAPHS["random"]]), ValueError, "a list of 2, one per block"),
        (
            lambda: PyramidalReservoir(blocks=3, hidden_scaling=[0.1, 0.2, 0.3], leak=0).fit([GRAPHS["random"]]),
            ValueError,
            "leak: expected more than 0 and at most 1, found 0",
        ),
        (
            lambda: PyramidalReservoir(blocks=3, hidden_scaling=[0.1, 0.2, 0.3], leak="x").fit([GRAPHS["random"]]),
            ValueError,
            'leak: expected a number, more than 0 and at most 1, found "x"',
        ),
        (lambda: PyramidalReservoir(aggregate=[]).fit([GRAPHS["random"]]), ValueError, "aggregate: expected 1 to 4"),
        (
            lambda: PyramidalReservoir().fit(nx.path_graph(3)),
            TypeError,
            "graphs: expected a sequence of graphs, found networkx.classes.graph.Graph",
        ),
        (lambda: PyramidalReservoir().fit([]), ValueError, "at least one"),
        (lambda: PyramidalReservoir().fit([GRAPHS["random"], "x"]), TypeError, "graph 1: "),
        (
            lambda: PyramidalReservoir().fit([GRAPHS["random"], Graph([[0], [1]], np.ones((2, 3)))]),
            ValueError,
            "graph 1: expected 4 features",
        ),
        (
            lambda: PyramidalReservoir().fit([GRAPHS["random"], Graph([[0], [1]])]),
            ValueError,
            "graph 1: expected 4 features per vertex, as in the graphs before it, found none",
        ),
        (
            lambda: PyramidalReservoir().fit([GRAPHS["random"]]).transform([Graph([[0], [1]], np.ones((2, 3)))]),
            ValueError,
            "the model expects graphs with 4, but these have 3",
        ),
    ],
)
def test_what_is_wrong_is_said(make, kind, words):
    with pytest.raises(kind) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["max_iter", "fixed_sweeps", "spectral_radius", "hidden_scaling", "input_scaling"])
def test_parameters_are_named_once_and_as_they_are_spelled(name):
    for value in (-1, 0.5j, "x"):
        with pytest.raises(ValueError) as caught:
            PyramidalReservoir(**{name: value}).fit([GRAPHS["random"]])
        said = str(caught.value)
        assert said.startswith(f"{name}: ") and name not in said[len(name) :], said
        assert name.replace("_", " ") not in said
