"""Pyramids compared with the paper's equations, in dense NumPy matrices."""

import pickle
import warnings

import networkx as nx
import numpy as np
import pytest

from equations import fixed_point, normalized
from stepwell import Graph, PyramidalReservoir, PyramidalReservoirClassifier, coarsen

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),  # tolerance 0 is never met
    pytest.mark.filterwarnings("ignore:.*(no cluster|lost all|pooled as if undirected)"),
]

#: The options of each pooling, for the model and for ``coarsen``.
POOLINGS = {
    "none": {},
    "graclus": {},
    "graclus max": {"reduce": "max"},
    "graclus sum": {"reduce": "sum", "pool_seed": 3},
    "nmf": {},
    "nmf seeded": {"pool_seed": 5},
    "ndp": {},
    "ndp deferred": {"sparsify": "deferred", "delta": 0.01, "side": "smaller"},
    "kmis": {},
    "kmis max": {"reduce": "max"},
    "kmis sum": {"reduce": "sum"},
}


def some_graphs():
    rng = np.random.default_rng(0)
    make = lambda graph, **more: Graph(
        np.array(graph.edges).T, rng.normal(size=(graph.number_of_nodes(), 3)), num_nodes=len(graph), **more
    )
    return {
        "random": make(nx.gnp_random_graph(25, 0.2, seed=1)),
        "mesh": make(nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 6))),
        "two parts": make(nx.disjoint_union(nx.complete_graph(6), nx.path_graph(9))),
        "directed": make(nx.gnp_random_graph(20, 0.15, seed=3, directed=True), directed=True),
        "star": Graph(np.array(nx.star_graph(9).edges).T, np.ones((10, 3))),
        "lonely": Graph([[0, 1], [1, 2]], rng.normal(size=(6, 3))),
        "one vertex": Graph(np.zeros((2, 0), int), rng.normal(size=(1, 3))),
    }


GRAPHS = some_graphs()


def carried(S, H, by_max):
    """``S^T H``, or the maximum of each cluster."""
    if not by_max:
        return S.T @ H
    return np.array([H[S[:, cluster] > 0].max(0) for cluster in range(S.shape[1])])


AGGREGATES = {
    "sum": lambda H: H.sum(0),
    "mean": lambda H: H.mean(0),
    "max": lambda H: H.max(0),
    "std": lambda H: H.std(0),
}


def embedded(
    graph, pool, how, weights, blocks, reservoirs=1, aggregate=("sum",), concat=False, pool_after=1, pool_last=False
):
    """The graph's vector: by stack, block, aggregate and unit."""
    levels = coarsen(graph, pool, levels=blocks, **how) if pool != "none" else []
    by_max = how.get("reduce") == "max"
    weights, parts = iter(weights), []
    while True:
        A, X, rows = graph.adjacency.toarray(), graph.features, []
        for block in range(blocks):
            H = 0
            for _ in range(reservoirs):
                pair = next(weights, None)
                if pair is None:
                    return np.concatenate(parts)
                W, V = pair
                H = H + fixed_point(normalized(A), X @ V, W)
            last = block == blocks - 1
            if levels and (block + 1 >= pool_after and not last or last and pool_last):
                level = levels[block + 1 - pool_after]
                X = carried(level.S.toarray(), H, by_max)
                A = level.A.toarray()
            else:
                X = H
            rows.append(X if last else H)
        for H in rows if concat else rows[-1:]:
            parts += [AGGREGATES[name](H) for name in aggregate]


def check(pool, how, **model):
    graphs = list(GRAPHS.values())
    for precision, error in (("f32", 1e-5), ("f64", 1e-10)):
        reservoir = PyramidalReservoir(
            pool=pool, units=9, raw=True, spectral_radius=0.5, tol=0, max_iter=200, precision=precision, random_state=4,
            **how, **model,
        ).fit(graphs)  # fmt: skip
        vectors = reservoir.transform(graphs)
        told = {name: value for name, value in model.items() if name != "stacks"}
        for name, graph, vector in zip(GRAPHS, graphs, vectors):
            right = embedded(graph, pool, how, reservoir.weights_, **told)
            assert vector.shape == right.shape == (len(reservoir.get_feature_names_out()),)
            assert np.linalg.norm(vector - right) <= error * np.linalg.norm(right), (name, precision)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.filterwarnings("ignore:pool has no effect")
def test_every_pooling(pooling, blocks):
    check(pooling.split()[0], POOLINGS[pooling], blocks=blocks)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_aggregate_of_every_block(pooling):
    check(pooling.split()[0], POOLINGS[pooling], blocks=3, aggregate=["max", "sum", "std", "mean"], concat=True)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("pool_last", [False, True])
@pytest.mark.filterwarnings("ignore:pool_.* has no effect")
def test_blocks_before_the_first_pooling(pooling, pool_last):
    check(pooling.split()[0], POOLINGS[pooling], blocks=3, pool_after=2, pool_last=pool_last, concat=True)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("concat", [False, True])
def test_one_more_pooling_behind_the_last_block(pooling, concat):
    more = {"aggregate": ["sum", "mean"], "concat": concat}
    check(pooling.split()[0], POOLINGS[pooling], blocks=2, pool_last=True, **more)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_stacks_and_reservoirs_side_by_side(pooling):
    how = POOLINGS[pooling]
    check(pooling.split()[0], how, blocks=3, stacks=2, reservoirs=3, concat=True, aggregate=["sum", "max"])


@pytest.mark.parametrize("pooling", POOLINGS)
def test_a_vector_does_not_depend_on_company_order_or_threads(pooling):
    graphs = list(GRAPHS.values())
    model = PyramidalReservoir(
        pool=pooling.split()[0], blocks=3, aggregate=["sum", "std"], max_iter=300, **POOLINGS[pooling]
    ).fit(graphs)
    together, sweeps = model.transform(graphs), model.iterations_
    for position, graph in enumerate(graphs):
        assert np.array_equal(model.transform([graph])[0], together[position])
        assert np.array_equal(model.iterations_[0], sweeps[position])
    order = np.random.default_rng(1).permutation(3 * len(graphs)) % len(graphs)
    assert np.array_equal(model.transform([graphs[i] for i in order]), together[order])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.set_params(n_jobs=2).transform(graphs * 40)[-len(graphs) :], together)


@pytest.mark.parametrize("random_features", [0, 15])
def test_a_prediction_does_not_depend_on_company_order_or_threads(random_features):
    graphs = list(GRAPHS.values()) * 30
    y = np.arange(len(graphs)) % 3
    make = lambda **more: PyramidalReservoirClassifier.from_preset(
        "paper",
        pool="ndp", max_iter=300, alpha=0.1, random_features=random_features, **more
    )
    model = make().fit(graphs, y)
    together = model.decision_function(graphs)
    for position in range(len(GRAPHS)):
        assert np.array_equal(model.decision_function([graphs[position]])[0], together[position])
    order = np.random.default_rng(2).permutation(len(graphs))
    assert np.array_equal(model.decision_function([graphs[i] for i in order]), together[order])
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(graphs), together)
    assert np.array_equal(make(n_jobs=2).fit(graphs, y).decision_function(graphs), together)


@pytest.mark.filterwarnings("ignore:all 1 vertex features are constant")
def test_what_a_person_should_know_is_a_warning():
    weak = Graph([range(8), range(1, 9)], np.ones((9, 1)), weights=[0.1] * 8)
    pair = Graph([[0], [1]], np.ones((2, 1)))
    model = PyramidalReservoir(pool="ndp", units=3, spectral_radius=0.1).fit([pair])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform([pair])
    assert model.pooling_notes_ == {"without_edges": 1}, "one vertex has none to lose"
    with pytest.warns(UserWarning, match="^level 1: 2 of 3 graphs have lost all their edges$"):
        model.transform([weak, pair, weak])
    with pytest.warns(UserWarning, match="^level 1 has lost all its edges$"):
        model.transform([weak])
