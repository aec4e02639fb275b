"""Graphs of the real libraries, which the quick tests only imitate."""

import pathlib
import re

import numpy as np
import pytest
from rows import expected_by_id, make_table, write_files

from stepwell import Graph, PyramidalReservoir, as_graph

MODEL = dict(units=8, spectral_radius=0.5, max_iter=200)


def random_graphs(count):
    rng = np.random.default_rng(0)
    for _ in range(count):
        n = int(rng.integers(2, 9))
        upper = np.argwhere(np.triu(rng.random((n, n)) < 0.4, 1)).T
        yield upper, rng.random((n, 3))


def test_pytorch_geometric():
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric")
    from torch_geometric.data import Batch, Data, InMemoryDataset

    data = [
        Data(x=torch.tensor(x), edge_index=pyg.utils.to_undirected(torch.tensor(ends), num_nodes=len(x)))
        for ends, x in random_graphs(20)
    ]
    graphs = [Graph(ends, x) for ends, x in random_graphs(20)]
    assert [as_graph(each) for each in data] == graphs
    model = PyramidalReservoir(**MODEL).fit(data)
    expected = model.transform(graphs)

    class Few(InMemoryDataset):
        def __init__(self):
            super().__init__()
            self.data, self.slices = self.collate(data)

    for found in (data, Batch.from_data_list(data), Few(), Few()[:20]):
        assert np.array_equal(model.transform(found), expected), type(found)
    with pytest.raises(TypeError, match="expected a sequence of graphs, found torch_geometric.data.data.Data"):
        model.transform(data[0])


@pytest.mark.parametrize("kind", ["labels", "attributes"])
def test_edge_attr_of_pytorch_geometric(kind):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Batch, Data

    data, graphs = [], []
    for ends, x in random_graphs(20):
        ends = np.asarray(ends)
        bonds = (ends.sum(axis=0) % 3)[:, None] if kind == "labels" else np.abs(ends[0] - ends[1])[:, None] / 3
        both, twice = np.concatenate([ends, ends[::-1]], axis=1), np.concatenate([bonds, bonds])
        data.append(Data(x=torch.tensor(x), edge_index=torch.tensor(both), edge_attr=torch.tensor(twice)))
        carried = {"edge_label": bonds} if kind == "labels" else {"edge_attr": bonds}
        graphs.append(Graph(ends, x, **carried))
    assert [as_graph(each) for each in data] == graphs
    model = PyramidalReservoir(**MODEL, edge_gate="signs").fit(graphs)
    assert model.gates_ is not None
    expected = model.transform(graphs)
    for found in (data, Batch.from_data_list(data)):
        assert np.array_equal(model.transform(found), expected)


def test_polars():
    polars = pytest.importorskip("polars")
    rows = [(at, int(u), int(v)) for at, (ends, _) in enumerate(random_graphs(20)) for u, v in ends.T]
    frame = polars.DataFrame(rows, schema=["graph", "source", "target"], orient="row")
    model = PyramidalReservoir(**MODEL).fit(frame)
    assert np.array_equal(model.transform(frame), model.transform(frame.to_pandas()))
    assert np.array_equal(model.transform(frame.lazy()), model.transform(frame.to_arrow()))


def test_igraph():
    igraph = pytest.importorskip("igraph")
    for ends, x in random_graphs(10):
        graph = igraph.Graph(n=len(x), edges=ends.T.tolist())
        graph.vs["x"] = x.tolist()
        assert as_graph(graph) == Graph(ends, x)


def test_the_recipe_for_dask(tmp_path, monkeypatch):
    pytest.importorskip("dask.dataframe")
    table = make_table(200, 4, x=True)
    write_files(tmp_path / "graphs", table)
    monkeypatch.chdir(tmp_path)
    page = pathlib.Path(__file__).parents[3] / "docs" / "cluster.md"
    recipe = re.search(r"```python\n(import dask.*?)```", page.read_text(), re.DOTALL)[1]
    names = {}
    exec(recipe, names)
    found = names["vectors"].compute(scheduler="processes", num_workers=2).sort_values("id")
    ids, vectors = expected_by_id(table, names["model"].transform(table))  # fitted on a sample
    assert found["id"].tolist() == ids and np.array_equal(np.stack(found["embedding"]), vectors)
