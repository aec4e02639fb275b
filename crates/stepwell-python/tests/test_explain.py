"""Contributions of vertices: they add up, and they point at the vertices that make the
difference."""

import networkx as nx
import numpy as np
import pytest
from conftest import real_dataset
from sklearn.metrics import roc_auc_score
from stepwell import Graph, PyramidalReservoirClassifier, PyramidalReservoirRegressor, make_benchmark

DS = make_benchmark("b-easy-small", random_state=0)
TRAIN, TEST = slice(0, None, 2), slice(1, 60, 3)


def added(model, graphs):
    """The sum of intercept and contributions of each graph."""
    intercepts, contributions = model.explain(graphs)
    assert [len(each) for each in contributions] == [graph.num_nodes for graph in graphs]
    assert np.ptp(intercepts, axis=0).max() == 0
    return intercepts + np.array([each.sum(axis=0) for each in contributions])


@pytest.mark.parametrize("options", [{}, {"pool": "graclus"}, {"kernel": "wl-oa"}, {"landmarks": 0}])
def test_contributions_add_up_to_decisions(options):
    model = PyramidalReservoirClassifier(units=20, **options).fit(DS.graphs[TRAIN], DS.y[TRAIN])
    found = added(model, DS.graphs[TEST])
    np.testing.assert_allclose(found, model.decision_function(DS.graphs[TEST]), atol=1e-6)


def test_two_classes_have_two_columns_and_targets_one_each():
    sizes = np.array([graph.num_nodes for graph in DS.graphs], dtype=float)
    classes = np.where(sizes > np.median(sizes), "large", "small")
    model = PyramidalReservoirClassifier(units=20).fit(DS.graphs[TRAIN], classes[TRAIN])
    found = added(model, DS.graphs[TEST])
    decisions = model.decision_function(DS.graphs[TEST])
    np.testing.assert_allclose(found, np.stack([-decisions, decisions], axis=1), atol=1e-6)
    several = PyramidalReservoirRegressor(units=20).fit(DS.graphs[TRAIN], np.stack([sizes, -sizes], axis=1)[TRAIN])
    found = added(several, DS.graphs[TEST])
    np.testing.assert_allclose(found, several.predict(DS.graphs[TEST]), atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "PROTEINS", "IMDB-BINARY"])
def test_contributions_add_up_on_real_graphs(name):
    ds = real_dataset(name)
    order = np.random.default_rng(0).permutation(len(ds.y))
    train, explained = order[:400], order[-200:]
    model = PyramidalReservoirClassifier().fit(ds.graphs[train], ds.y[train])
    found, decisions = added(model, ds.graphs[explained]), model.decision_function(ds.graphs[explained])
    if decisions.ndim == 1:
        decisions = np.stack([-decisions, decisions], axis=1)
    np.testing.assert_allclose(found, decisions, atol=1e-6)


def planted(rng, with_motif):
    """A random tree with a wheel attached, or with another random tree of the same size."""
    tree = nx.random_labeled_tree(14, seed=int(rng.integers(2**31)))
    other = nx.wheel_graph(6) if with_motif else nx.random_labeled_tree(6, seed=int(rng.integers(2**31)))
    both = nx.disjoint_union(tree, other)
    both.add_edge(int(rng.integers(14)), 14 + int(rng.integers(6)))
    order = rng.permutation(20)
    edges = order[np.array(both.edges).T]
    return Graph(edges, labels=rng.integers(0, 3, 20)), np.isin(np.arange(20), order[14:])


def test_vertices_of_a_planted_motif_come_first():
    rng = np.random.default_rng(1)
    graphs, motifs = zip(*(planted(rng, index % 2 == 1) for index in range(300)))
    y = np.arange(300) % 2
    model = PyramidalReservoirClassifier().fit(graphs[:240], y[:240])
    assert model.score(graphs[240:], y[240:]) > 0.95
    _, contributions = model.explain(graphs[240:])
    ranks = [
        roc_auc_score(motif, values[:, 1])
        for motif, values, has in zip(motifs[240:], contributions, y[240:])
        if has
    ]
    assert np.mean(ranks) > 0.9, np.mean(ranks)
