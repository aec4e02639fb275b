"""The memory budget, and file names that are not valid UTF-8."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stepwell
from stepwell import Graph, PyramidalReservoir, PyramidalReservoirClassifier, load, load_dataset, save_dataset

LITTLE = """
import sys
import numpy as np
import scipy.sparse as sp
import stepwell

assert stepwell.memory_budget() == 400 << 20
path, line, row, out = sys.argv[1:]
rows, columns = np.triu_indices(4, 1)
graphs = [stepwell.Graph([rows, columns]) for _ in range(4)]
wide = stepwell.Graph([rows, columns], sp.csr_matrix(([1.0], ([0], [5])), shape=(4, 1 << 30)))
for work in (
    lambda: stepwell.load_dataset(line),
    lambda: stepwell.load_dataset(row),
    lambda: stepwell.load(path),
    lambda: stepwell.PyramidalReservoir(units=9000).fit(graphs),
    lambda: stepwell.save_dataset(out + ".jsonl", [wide]),
    lambda: stepwell.save_dataset(out + ".parquet", [wide]),
):
    try:
        work()
    except MemoryError as error:
        print(error)
"""


def test_what_exceeds_the_budget_is_a_memory_error(tmp_path):
    model, line, row = (tmp_path / name for name in ("model.safetensors", "line.jsonl", "row.parquet"))
    with open(model, "wb") as file:
        file.truncate(1 << 38)
    zeros = ",0" * (24 << 20)
    line.write_text(f'{{"num_nodes": 2, "src": [0{zeros}], "dst": [1{zeros}]}}\n')
    # One row of equal edges: run lengths of a few bytes, half a gigabyte of graph.
    ends = pa.array([np.zeros(12 << 20, dtype=np.int8)])
    pq.write_table(pa.table({"num_nodes": [2], "src": ends, "dst": ends}), row)
    assert row.stat().st_size < 1 << 20
    environment = {**os.environ, "STEPWELL_MEMORY": "400M"}
    done = subprocess.run(
        [sys.executable, "-c", LITTLE, *map(str, (model, line, row, tmp_path / "out"))],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    starts = (
        f"{line}, line 1: a line: ",
        f"{row}: one row: ",
        f"{model}: the file: needs 768.0 GB",
        "the weights of the reservoirs: ",
        f"{tmp_path}/out.jsonl, row 0: its attributes, zeros included: needs 64.0 GB",
        f"{tmp_path}/out.parquet, row 0: its attributes, zeros included: needs 64.0 GB",
    )
    assert len(said) == len(starts), said
    for message, start in zip(said, starts, strict=True):
        assert message.startswith(start), message
        assert " of memory, but only " in message and "left; raise the budget with --memory or STEPWELL_MEMORY" in message


def test_a_budget_that_is_none_is_refused():
    environment = {**os.environ, "STEPWELL_MEMORY": "a lot"}
    done = subprocess.run([sys.executable, "-c", "import stepwell"], capture_output=True, text=True, env=environment)
    assert "STEPWELL_MEMORY: expected a size such as 4G" in done.stderr
    assert stepwell.memory_budget() > 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
@pytest.mark.parametrize("kind", ["bytes", "surrogates", "path"])
def test_names_that_are_not_text(tmp_path, kind):
    from pathlib import Path

    def named(name):
        path = os.path.join(os.fsencode(tmp_path), name)
        return {"bytes": path, "surrogates": os.fsdecode(path), "path": Path(os.fsdecode(path))}[kind]

    graphs = [Graph([[0, 1], [1, 2]], np.full((3, 1), float(n))) for n in range(8)]
    y = np.arange(8) % 2
    for name in (b"gr\xffphs.jsonl", b"gr\xffphs.parquet", b"gr\xffphs.zip"):
        save_dataset(named(name), graphs, y)
        assert os.path.exists(os.path.join(os.fsencode(tmp_path), name))
        found = load_dataset(named(name))
        assert len(found.graphs) == 8 and found.y.tolist() == y.tolist()
    model = PyramidalReservoirClassifier.from_preset("paper", units=4, spectral_radius=0.3).fit(graphs, y)
    model.save(named(b"m\xfedel.safetensors"))
    again = load(named(b"m\xfedel.safetensors"))
    assert np.array_equal(again.decision_function(graphs), model.decision_function(graphs))
    with pytest.raises(FileNotFoundError):
        load_dataset(named(b"n\xffne.jsonl"))
    assert PyramidalReservoir(units=3, spectral_radius=0.3).fit_transform(found.graphs).shape == (8, 3)
