"""Graphs in rows of Arrow data, compared with the same graphs as arrays, as files and on the
command line."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from stepwell import Graph, PyramidalReservoir, PyramidalReservoirClassifier, coarsen, load_dataset
from stepwell._stepwell import RawRows

MODEL = dict(units=8, spectral_radius=0.5, max_iter=200)


def random_rows(count, seed, **parts):
    """Columns of the schema, as lists."""
    rng = np.random.default_rng(seed)
    rows = {"num_nodes": [], "src": [], "dst": []}
    rows |= {name: [] for name in parts}
    for _ in range(count):
        n = int(rng.integers(1, 12))
        upper = np.argwhere(np.triu(rng.random((n, n)) < 0.3))
        rows["num_nodes"].append(n)
        rows["src"].append(upper[:, 0])
        rows["dst"].append(upper[:, 1])
        for name, make in parts.items():
            rows[name].append(make(rng, n, len(upper)))
    return rows


def with_features(width):
    return {"x": lambda rng, n, e: rng.normal(size=n * width).astype(np.float32), "x_dim": lambda rng, n, e: width}


def as_graphs(rows):
    graphs = []
    for at, n in enumerate(rows["num_nodes"]):
        optional = {"weights": rows["weight"][at]} if "weight" in rows else {}
        if "x" in rows:
            optional["features"] = rows["x"][at].reshape(n, -1).astype(float)
        for name, key in (("labels", "node_label"), ("edge_label", "edge_label")):
            if key in rows:
                optional[name] = np.array(rows[key][at], dtype=np.int64)
                optional[name] = optional[name].reshape(len(rows[key][at]), *optional[name].shape[1:])
        if "edge_attr" in rows:
            optional["edge_attr"] = np.reshape(rows["edge_attr"][at], (-1, 2))
        graphs.append(Graph(np.stack([rows["src"][at], rows["dst"][at]]), num_nodes=n, **optional))
    return graphs


EDGES = {
    "edge_label": lambda rng, n, e: rng.integers(0, 3, (e, 2)).tolist(),
    "edge_attr": lambda rng, n, e: rng.random(2 * e),
    "edge_attr_dim": lambda rng, n, e: 2,
}
SEVERAL = {"node_label": lambda rng, n, e: rng.integers(0, 3, (n, 2)).tolist()}


def test_rows_say_what_edges_carry(tmp_path):
    rows = random_rows(40, 9, **EDGES, **SEVERAL)
    table, graphs = pa.table(rows), as_graphs(rows)
    pq.write_table(table, tmp_path / "graphs.parquet", row_group_size=7)
    for found in (load_dataset(table), load_dataset(tmp_path / "graphs.parquet")):
        for mine, given in zip(found.graphs, graphs):
            assert np.array_equal(mine.adjacency.toarray(), given.adjacency.toarray())
            assert np.array_equal(mine.labels, given.labels)
            if given.num_edges:
                assert mine == given
    model = PyramidalReservoir(**MODEL, edge_gate="signs")
    expected = model.fit_transform(graphs)
    assert np.array_equal(model.fit_transform(table), expected)
    assert np.array_equal(embedded_by_the_command(table, tmp_path, "--edge-gate", "signs"), expected.astype(np.float32))
    with pytest.warns(UserWarning, match="this model ignores labels and attributes of edges"):
        assert not np.array_equal(PyramidalReservoir(**MODEL).fit_transform(table), expected)


def embedded_by_the_command(table, tmp_path, *options):
    pq.write_table(table, tmp_path / "graphs.parquet", row_group_size=7)
    command = [sys.executable, "-c", "from stepwell._command import main; main()", "embed"]
    files = [tmp_path / "graphs.parquet", "-o", tmp_path / "out.npy"]
    usual = ["--units", "8", "--spectral-radius", "0.5", "--max-iter", "200"]
    subprocess.run([*command, *files, *usual, *options], check=True, env=os.environ)
    return np.load(tmp_path / "out.npy")


LABELS = {"node_label": lambda rng, n, e: rng.integers(-1, 3, n)}
WEIGHTS = {"weight": lambda rng, n, e: rng.random(e)}


@pytest.mark.parametrize(
    "parts", [{}, with_features(3), LABELS, {**with_features(2), **LABELS}, WEIGHTS], ids=lambda parts: "+".join(parts) or "bare"
)
def test_rows_are_the_graphs_they_describe(parts, tmp_path):
    rows = random_rows(50, 1, **parts)
    table, graphs = pa.table(rows), as_graphs(rows)
    expected = PyramidalReservoir(**MODEL).fit_transform(graphs)
    assert np.array_equal(PyramidalReservoir(**MODEL).fit_transform(table), expected)
    # Bit-identical to the command line, in its precision.
    assert np.array_equal(embedded_by_the_command(table, tmp_path), expected.astype(np.float32))
    # A model accepts graphs in any form.
    fitted = PyramidalReservoir(**MODEL).fit(graphs)
    assert np.array_equal(fitted.transform(table[20:30]), expected[20:30])
    assert np.array_equal(PyramidalReservoir(**MODEL).fit(table).transform(graphs[3:9]), expected[3:9])


def test_all_that_hands_out_arrow_data(tmp_path):
    rows = random_rows(40, 2, **with_features(2))
    table = pa.table(rows)
    expected = PyramidalReservoir(**MODEL).fit_transform(as_graphs(rows))
    fitted = PyramidalReservoir(**MODEL).fit(table)
    pq.write_table(table, tmp_path / "graphs.parquet")
    wide = pa.table({name: pa.array(column, pa.large_list(pa.int64())) if name in ("src", "dst") else column for name, column in rows.items()})
    for found in (
        pa.concat_tables([table[:11], table[11:12], table[12:]]),
        wide,
        table.to_reader(max_chunksize=7),
        pyarrow.dataset.dataset(tmp_path / "graphs.parquet"),
        pyarrow.dataset.dataset(table),
        pyarrow.dataset.dataset(table).scanner(),
        pd.DataFrame(rows),
        table.combine_chunks().to_batches()[0],
    ):
        assert np.array_equal(fitted.transform(found), expected), type(found)
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(table)
    assert np.array_equal(fitted.transform(frame), expected)
    assert np.array_equal(fitted.transform(frame.lazy()), expected)


def test_structure_beside_attributes(tmp_path):
    rows = random_rows(30, 3, **with_features(2))
    table = pa.table(rows)
    model = PyramidalReservoir(**MODEL, structure=["degree", "clustering"])
    expected = model.fit_transform(as_graphs(rows))
    assert np.array_equal(model.fit_transform(table), expected)
    found = embedded_by_the_command(table, tmp_path, "--structure", "degree,clustering")
    assert np.array_equal(found, expected.astype(np.float32))


def test_a_loaded_table_is_a_dataset(tmp_path):
    rows = random_rows(20, 4, **LABELS, y=lambda rng, n, e: str(rng.choice(["ring", "path"])), id=lambda rng, n, e: f"g{n}{e}")
    table = pa.table(rows)
    pq.write_table(table, tmp_path / "graphs.parquet")
    dataset, from_file = load_dataset(table), load_dataset(tmp_path / "graphs.parquet")
    assert list(dataset.graphs) == list(from_file.graphs)
    assert dataset.ids == rows["id"] and dataset.y.tolist() == rows["y"]
    assert list(load_dataset(table[:5]).graphs) == list(from_file.graphs[:5])
    model = PyramidalReservoirClassifier.from_preset("paper", **MODEL).fit(table, table["y"])
    assert model.predict(table).tolist() == model.predict(as_graphs(rows)).tolist()


def test_attributes_are_scaled_unless_raw(tmp_path):
    table = pa.table(random_rows(30, 5, **with_features(2)))
    scaled = PyramidalReservoir(**MODEL).fit_transform(table)
    assert not np.array_equal(scaled, PyramidalReservoir(**MODEL, raw=True).fit_transform(table))
    values = np.concatenate([np.asarray(x).reshape(-1, 2) for x in table["x"].to_pylist()])
    rows = table.to_pydict()
    rows["x"] = [((np.reshape(x, (-1, 2)) - values.mean(0)) / values.std(0)).ravel() for x in rows["x"]]
    assert np.allclose(scaled, PyramidalReservoir(**MODEL, raw=True).fit_transform(pa.table(rows)), atol=1e-4)
    assert np.array_equal(embedded_by_the_command(table, tmp_path), scaled.astype(np.float32))


def bad_rows():
    good = {"num_nodes": [2, 2, 2], "src": [[0], [0], [0]], "dst": [[1], [1], [1]]}
    yield {**good, "dst": [[1], [7], [1]]}, "graph 1: edge 0 joins vertex 7, but the graph has 2 vertices, numbered from 0"
    yield {**good, "src": [[0], [0], [-4]]}, "graph 2: expected a list of integers from 0 to 4294967295 in 'src', found -4"
    yield {**good, "src": [[0], [0, 1], [0]]}, "graph 1: expected 2 numbers in 'dst', as many as in 'src', found 1"
    yield {**good, "num_nodes": [2, None, 2]}, "graph 1: expected a non-negative integer in 'num_nodes', found null"
    yield {**good, "weight": [[1.0], [1.0], [float("nan")]]}, "graph 2: edge 0 has weight NaN"
    yield {**good, "x": [[1.0, 2.0], [1.0], [1.0, 2.0]], "x_dim": [1, 1, 1]}, r"graph 1: expected 2 numbers in 'x' \(2 vertices of 1\), found 1"
    yield {**good, "node_label": [[1, 2], None, [1, 2]]}, "graph 1: expected a value in 'node_label', as in the rows before, found none"
    yield {**good, "edge_label": [[[1, 2]], [[1, 2]], [[1]]]}, "graph 2: expected lists of 2 integers in 'edge_label', as in the rows before, found integers"
    yield {**good, "node_label": [[[1, 2], [1, 2]], [[1, 2], [3]], None]}, "graph 1: expected 2 integers in each list of 'node_label', as in the first, found 1 in list 1"
    yield {**good, "edge_label": [["C"]] * 3}, "expected a list of 32-bit integers, or of lists of them, in 'edge_label', found a column of type"
    yield {"num_nodes": [1], "src": [[]]}, r"expected a column 'dst' \(where each edge ends\), found none"
    yield {**good, "src": [["a"], ["b"], ["c"]]}, "expected a list of integers from 0 to 4294967295 in 'src', found a column of type"
    yield {"a": [1]}, "expected a column 'num_nodes'"


@pytest.mark.parametrize("rows, message", list(bad_rows()))
def test_wrong_rows_are_named(rows, message):
    for table in (pa.table(rows), pa.concat_tables([pa.table(rows)[:1], pa.table(rows)[1:]])):
        with pytest.raises(ValueError, match=message):
            PyramidalReservoir(**MODEL).fit(table)


def test_pieces_leave_out_what_cannot_be_used():
    table = pa.table(random_rows(3000, 6)).to_pydict()
    table["num_nodes"][5] = -1
    table["dst"][17] = [99] * len(table["src"][17])
    table["src"][17] = [0] * len(table["dst"][17])
    table["src"][2999], table["dst"][2999] = [0], [200]
    seen, bad = [], []
    for batch, rows, wrong in RawRows(pa.table(table).to_reader(max_chunksize=500)):
        assert len(batch) == len(rows)
        seen += rows.tolist()
        bad += wrong
    expected = [5, 17, 2999] if table["src"][17] else [5, 2999]
    assert [row for row, _ in bad] == expected
    assert seen == [row for row in range(3000) if row not in expected]
    assert all("expected" in reason or "joins vertex" in reason for _, reason in bad)
    rows = RawRows(pa.table(table)[:5], expected=(3, False))
    (_, none, wrong), = rows
    assert len(none) == 0 and len(wrong) == 5
    assert "expected 3 numbers per vertex in 'x' for this model, found 0" in wrong[0][1]


def test_no_rows():
    empty = pa.table(random_rows(3, 7))[:0]
    with pytest.raises(ValueError, match="graphs: expected at least one, found none"):
        PyramidalReservoir(**MODEL).fit(empty)
    assert PyramidalReservoir(**MODEL).fit(pa.table(random_rows(3, 7))).transform(empty).shape == (0, 8)


def test_graphs_with_labels():
    graph = Graph([[0, 1], [1, 2]], labels=[5, 5, 7])
    assert graph.labels.tolist() == [5, 5, 7] and graph.num_nodes == 3
    assert graph != Graph([[0, 1], [1, 2]]) and coarsen(graph, "ndp", levels=1)[0].kept.tolist() == [1]
    one_hot = Graph([[0, 1], [1, 2]], np.eye(2)[[0, 0, 1]])
    model = PyramidalReservoir(**MODEL)
    assert np.array_equal(model.fit_transform([graph]), model.fit_transform([one_hot]))
    with pytest.raises(ValueError, match="graph 1: expected some labels per vertex, as in the graphs before it, found none"):
        model.fit([graph, Graph([[0], [1]])])
    with pytest.raises(ValueError, match="labels: expected 3 values, found 2"):
        Graph([[0, 1], [1, 2]], np.ones((3, 1)), labels=[1, 2])
    with pytest.raises(TypeError, match="labels: expected integers, found float64"):
        Graph([[0], [1]], labels=[1.5, 2.0])
