"""Datasets, loaded and generated."""

import json
import multiprocessing
import pickle
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from stepwell import Graph, PyramidalReservoir, as_graph, load_dataset, make_benchmark, save_dataset


@pytest.fixture
def toy(tmp_path):
    folder = tmp_path / "TOY"
    folder.mkdir()
    for suffix, text in {
        "A": "1, 2\n2, 1\n4, 5\n5, 4\n",
        "graph_indicator": "1\n1\n1\n2\n2\n",
        "graph_labels": "-1\n1\n",
        "node_labels": "7\n7\n9\n9\n7\n",
        "node_attributes": "1.0\n2.0\n3.0\n4.0\n5.0\n",
    }.items():
        (folder / f"TOY_{suffix}.txt").write_text(text)
    return folder


def test_graphs_carry_what_was_read_and_models_make_inputs_of_it(toy):
    dataset = load_dataset(toy)
    assert (dataset.name, len(dataset), dataset.split, dataset.ids) == ("TOY", 2, None, None)
    assert np.array_equal(dataset.y, [-1, 1])
    attributes = np.arange(1.0, 6.0)
    assert np.array_equal(np.vstack([graph.features for graph in dataset.graphs])[:, 0], attributes)
    assert np.concatenate([graph.labels for graph in dataset.graphs]).tolist() == [7, 7, 9, 9, 7]
    scaled = (attributes - attributes.mean()) / attributes.std()
    one_hot = np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0]])
    inputs = np.split(np.column_stack([scaled, one_hot]), [3])
    ready = [Graph(graph.adjacency, rows) for graph, rows in zip(dataset.graphs, inputs)]
    found = PyramidalReservoir(precision="f64", tol=1e-12, max_iter=500).fit_transform(dataset.graphs)
    expected = PyramidalReservoir(precision="f64", tol=1e-12, max_iter=500, raw=True).fit_transform(ready)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_same_graphs_give_the_same_vectors_through_every_format(toy, tmp_path):
    dataset = load_dataset(toy)
    expected = PyramidalReservoir(max_iter=300).fit_transform(dataset.graphs)
    for ending in (".parquet", ".jsonl", ".zip"):
        path = tmp_path / f"toy{ending}"
        save_dataset(path, dataset)
        assert np.array_equal(PyramidalReservoir(max_iter=300).fit_transform(load_dataset(path).graphs), expected)


def test_a_name_is_looked_up_and_never_downloaded_when_forbidden(toy):
    assert len(load_dataset("TOY", data_dir=toy.parent)) == 2
    with pytest.raises(FileNotFoundError, match="NOWHERE is not on this machine"):
        load_dataset("NOWHERE", download=False)


def test_a_path_is_a_path_whatever_it_looks_like(toy, monkeypatch):
    monkeypatch.chdir(toy.parent)
    assert load_dataset(Path("TOY")).name == load_dataset("TOY").name == "TOY"


def test_notes_are_warnings(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"num_nodes": 2, "src": [0], "dst": [1], "wieght": [2.0]}\n')
    with pytest.warns(UserWarning, match="wieght"):
        load_dataset(path)


def test_rows_are_read_as_they_are(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"id": "a", "num_nodes": 2, "src": [0], "dst": [1], "x": [1.5, 2.5], "x_dim": 1, "y": "ring"}
    path.write_text(json.dumps(row) + "\n")
    dataset = load_dataset(path)
    assert dataset.ids == ["a"] and dataset.y.tolist() == ["ring"]
    assert dataset.graphs[0].features.tolist() == [[1.5], [2.5]]


def test_the_graphs_are_a_sequence():
    dataset = make_benchmark("b-easy-small", graphs_per_class=4)
    assert len(dataset.graphs) == 12
    assert isinstance(dataset.graphs[-1], Graph)
    assert dataset.graphs[-1] == dataset.graphs[11]
    assert [g.num_nodes for g in dataset.graphs[2:4]] == [dataset.graphs[i].num_nodes for i in (2, 3)]
    assert dataset.graphs[np.array([1, 3])] == [dataset.graphs[1], dataset.graphs[3]]
    assert len(dataset.graphs[dataset.split == "train"]) == (dataset.split == "train").sum()
    assert pickle.loads(pickle.dumps(dataset)).graphs == list(dataset.graphs)
    with pytest.raises(IndexError, match="graph 12: expected a position from 0 to 11"):
        dataset.graphs[12]


def test_the_benchmark_is_what_the_paper_describes():
    dataset = make_benchmark("b-hard-small", random_state=3)
    assert sorted(np.unique(dataset.y, return_counts=True)[1]) == [100, 100, 100]
    assert set(dataset.split) == {"train", "validation", "test"}
    for graph in dataset.graphs[:20]:
        adjacency = graph.adjacency
        assert (adjacency != adjacency.T).nnz == 0 and adjacency.diagonal().sum() == 0
        assert np.diff(adjacency.indptr).min() >= 3, "every vertex has its 3 nearest neighbours"
        assert graph.features.shape == (graph.num_nodes, 5)
        assert np.array_equal(graph.features.sum(1), np.ones(graph.num_nodes))


def test_a_seed_is_a_dataset():
    first, again, other = (make_benchmark("b-easy-small", 5, seed) for seed in (1, 1, 2))
    assert all(a == b for a, b in zip(first.graphs, again.graphs))
    assert any(a != b for a, b in zip(first.graphs, other.graphs))


def test_wrong_names_and_files_are_explained(tmp_path):
    with pytest.raises(ValueError, match="expected one of b-easy, b-hard"):
        make_benchmark("b-medium")
    broken = tmp_path / "x.jsonl"
    broken.write_text("{}\n")
    with pytest.raises(ValueError, match="line 1"):
        load_dataset(broken)


def _count(queue):
    queue.put(len(make_benchmark("b-easy-small", 5)))


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_it_does_not_have():
    make_benchmark("b-easy-small", 5)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_count, args=(queue,), daemon=True)
    child.start()
    assert queue.get(timeout=60) == 15
    child.join(60)
    assert child.exitcode == 0


def test_what_is_saved_is_what_is_loaded(tmp_path):
    directed = nx.DiGraph([(0, 1), (2, 1), (2, 0)])
    weighted = nx.Graph()
    weighted.add_edge("a", "b", weight=2.5)
    weighted.add_edge("b", "b", weight=1.5)
    for graph in (directed, weighted):
        nx.set_node_attributes(graph, {vertex: float(at) for at, vertex in enumerate(graph)}, "size")
    graphs = [as_graph(graph, features="size") for graph in (directed, weighted, nx.Graph())]
    for ending in ("parquet", "jsonl"):
        path = tmp_path / f"mine.{ending}"
        save_dataset(path, graphs, [1.5, 2, 3], ids=[10, "b", "c"], split=["train", "test", "train"])
        found = load_dataset(path)
        assert found.y.tolist() == [1.5, 2, 3] and found.ids == ["10", "b", "c"]
        assert found.split.tolist() == ["train", "test", "train"]
        for made, given in zip(found.graphs, graphs):
            assert made.directed == given.directed
            assert np.array_equal(made.adjacency.toarray(), given.adjacency.toarray())
            assert made.num_nodes == 0 or np.array_equal(made.features, given.features.reshape(-1, 1))
        again = tmp_path / "again" / path.name
        save_dataset(again, found)
        assert again.read_bytes() == path.read_bytes()


def test_what_edges_carry_is_saved(tmp_path):
    rng = np.random.default_rng(5)
    graphs = [Graph([[], []], num_nodes=2, labels=[[1, 2], [1, 3]])]
    for seed in range(6):
        made = nx.gnp_random_graph(8, 0.5, seed=seed)
        size = made.number_of_edges()
        carried = {"edge_label": rng.integers(0, 4, (size, 3)), "edge_attr": rng.random((size, 2))}
        graphs.append(Graph(np.array(made.edges).T, num_nodes=8, labels=rng.integers(0, 3, (8, 2)), **carried))
    expected = PyramidalReservoir(units=8, max_iter=300, edge_gate="signs").fit_transform(graphs)
    for name in ("mine.parquet", "mine.jsonl", "mine.zip", "mine"):
        path = tmp_path / name
        save_dataset(path, graphs, [1, 2] * 3 + [1])
        found = load_dataset(path).graphs
        assert found[1:] == graphs[1:], name
        assert found[0].num_edges == 0 and np.array_equal(found[0].labels, graphs[0].labels)
        assert np.array_equal(PyramidalReservoir(units=8, max_iter=300, edge_gate="signs").fit_transform(found), expected)
        assert pickle.loads(pickle.dumps(found))[1:] == graphs[1:]


def test_directions_with_different_labels_are_told_of(toy):
    (toy / "TOY_edge_labels.txt").write_text("1\n1\n2\n2\n")
    assert [graph.edge_label.tolist() for graph in load_dataset(toy).graphs] == [[1, 1], [2, 2]]
    (toy / "TOY_edge_labels.txt").write_text("1, 5\n2, 5\n3, 5\n3, 5\n")
    with pytest.warns(UserWarning, match="two directions of an edge carry different labels: reading the graphs as directed"):
        dataset = load_dataset(toy)
    assert dataset.graphs[0].directed and dataset.graphs[0].edge_label.tolist() == [[1, 5], [2, 5]]


def test_what_cannot_be_saved_is_said(tmp_path):
    graphs, path = [nx.path_graph(3), nx.cycle_graph(4)], tmp_path / "mine.parquet"
    for options, kind, message in [
        ({"y": [1]}, ValueError, "y: expected 2 values, one per graph, found 1"),
        ({"y": ["a", None]}, ValueError, "y: expected a value for each graph, found none for graph 1"),
        ({"y": [1j, 2]}, TypeError, "y: expected integers, floats, booleans or strings, found complex128"),
        ({"split": ["train", "tests"]}, ValueError, 'split: expected train, validation or test, found "tests"'),
    ]:
        with pytest.raises(kind, match=re.escape(message)):
            save_dataset(path, graphs, **options)
    with pytest.raises(ValueError, match="unknown file extension"):
        save_dataset(tmp_path / "mine.csv", graphs)
    assert not list(tmp_path.iterdir())


def test_classes_that_are_saved_stay_classes(tmp_path):
    path = tmp_path / "mine.parquet"
    for y in ([3, 4], [True, False], ["a", "b"]):
        save_dataset(path, [nx.path_graph(3), nx.cycle_graph(4)], y)
        assert load_dataset(path).y.tolist() == y


def _rows(*more):
    return "\n".join(f'{{"num_nodes": 2, "src": [0], "dst": [1], {keys}}}' for keys in more)


def test_several_targets_are_an_array_with_nan(tmp_path):
    path = tmp_path / "several.jsonl"
    path.write_text(_rows('"y": [0, null]', '"y": [true, 1]', '"y": null'))
    found = load_dataset(path)
    assert np.array_equal(found.y, [[0, np.nan], [1, 1], [np.nan, np.nan]], equal_nan=True)
    assert found.target_names == [] and found.groups is None
    again = tmp_path / "several.parquet"
    save_dataset(again, found.graphs, found.y)
    assert np.array_equal(load_dataset(again).y, found.y, equal_nan=True)


def test_columns_are_named(tmp_path):
    path = tmp_path / "named.jsonl"
    path.write_text(_rows('"a": 1.5, "b": "x", "g": 1', '"a": null, "b": "z", "g": "h"'))
    with pytest.warns(UserWarning, match="key 'b'"):
        found = load_dataset(path, target="a", groups="g")
    assert np.array_equal(found.y, [1.5, np.nan], equal_nan=True)
    assert found.target_names == ["a"] and found.groups.tolist() == ["1", "h"]
    with pytest.warns(UserWarning, match="are not part of the schema"):
        assert load_dataset(path, target=["b"]).y.tolist() == ["x", "z"]
    with pytest.raises(ValueError, match="several targets must be numbers or 0/1, but 'b' holds 'x'; pass one target"):
        load_dataset(path, target=["a", "b"])
    with pytest.raises(ValueError, match="expected a key 'A', found 'a', 'b', 'g'"):
        load_dataset(path, target="A")
    with pytest.raises(ValueError, match="a generated dataset has no named columns"):
        load_dataset("b-easy-small", target="a")
