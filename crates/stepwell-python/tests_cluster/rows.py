"""Rows of graphs for the tests, and comparisons."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stepwell import PyramidalReservoirClassifier, PyramidalReservoirRegressor, _cluster, _files

#: The default model in a smaller size: fewer landmarks than graphs, so that they are sampled.
ACCURATE = dict(units=8, stacks=2, landmarks=50)


def make_table(count, seed, **parts):
    """Rings with chords, of two classes by the number of chords."""
    rng = np.random.default_rng(seed)
    rows = []
    for at in range(count):
        n, y = int(rng.integers(5, 15)), int(rng.integers(0, 3))
        src = np.arange(n)
        dst = (src + 1) % n
        chords = rng.integers(0, n, (2, 2 * y + 1))
        row = {
            "id": f"graph-{seed}-{at}",
            "num_nodes": n,
            "src": np.concatenate([src, chords[0]]),
            "dst": np.concatenate([dst, chords[1]]),
            "y": ["low", "middle", "high"][y],
            "size": float(y + rng.random()),
        }
        if "x" in parts:
            row["x"] = rng.normal(y, 1.0, n * 3).astype(np.float32)
            row["x_dim"] = 3
        if "labels" in parts:
            row["node_label"] = rng.integers(0, 4, n)
        if "bonds" in parts:
            # Determined by the ends, so that an edge drawn twice has the same data.
            low, high = np.minimum(row["src"], row["dst"]), np.maximum(row["src"], row["dst"])
            row["edge_label"] = np.stack([(low + high) % 3, low % 2], axis=1).tolist()
            row |= {"edge_attr": (high - low).astype(float), "edge_attr_dim": 1}
        rows.append(row)
    return pa.Table.from_pylist(rows)


def write_files(folder, table, files=3, rows=40):
    folder.mkdir()
    size = -(-len(table) // files)
    for at in range(files):
        pq.write_table(table[at * size : (at + 1) * size], folder / f"part-{at}.parquet", row_group_size=rows)
    return folder


def by_id(table):
    """The embeddings of a table in the order of ids, and the ids."""
    table = table.sort_by("id")
    return table["id"].to_pylist(), np.array(table["embedding"].to_pylist(), dtype=np.float32)


def expected_by_id(table, vectors):
    order = np.argsort(np.array(table["id"].to_pylist()))
    return [table["id"][int(at)].as_py() for at in order], vectors[order].astype(np.float32)


def with_several(table):
    """The same rows with two target columns of 0 and 1, null for some rows."""
    rng = np.random.default_rng(6)
    gaps = lambda values: [None if lot < 0.2 else int(value) for value, lot in zip(values, rng.random(len(table)))]
    size = np.array(table["size"].to_pylist())
    high = gaps(value == "high" for value in table["y"].to_pylist())
    return table.append_column("high", pa.array(high)).append_column("large", pa.array(gaps(size > np.median(size))))


#: The tasks: an estimator, its targets, and the flags of the command line.
TARGETS = {
    "strings": (PyramidalReservoirClassifier, "y", []),
    "numbers": (PyramidalReservoirRegressor, "size", ["--target", "size"]),
    "several": (PyramidalReservoirClassifier, ["high", "large"], ["--target", "high,large"]),
}


class OneWorker:
    """A cluster of one worker in this process, which sums row groups in the same order as
    others."""

    def __init__(self, folder):
        groups = _files.RowGroups([str(folder)])
        self.first, self._sums = groups.first, groups.sums()

    def reduce(self, job):
        return _cluster.reduced([job(_files.read_all(tasks)) for tasks in self._sums], job.merged)


def bytes_of(model):
    return pickle.dumps(model._model)


def assert_same(found, expected, table):
    """Checks for the same choices, landmarks, scales and penalties, and for decision values equal
    up to rounding."""
    assert found._model.choices == expected._model.choices and len(found._model.choices) == 3
    assert found._model.options == expected._model.options
    assert found.feature_map_ == expected.feature_map_
    for mine, other in zip(found.landmarks_, expected.landmarks_, strict=True):
        assert np.array_equal(mine, other)
    assert len(found.landmarks_[2]) == ACCURATE["landmarks"] < len(table)
    assert np.array_equal(found.alpha_, expected.alpha_)
    classes = isinstance(found, PyramidalReservoirClassifier)
    values = lambda model: model.decision_function(table) if classes else model.predict(table)
    assert np.abs(values(found) - values(expected)).max() < 1e-8


def command(*arguments):
    code = "import sys; from stepwell._command import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def trained_by_command(table, path, *flags):
    """The model file that the command line trains on all rows."""
    pq.write_table(table, path / "all.parquet")
    size = [text for name, value in ACCURATE.items() for text in (f"--{name}", value)]
    command("train", path / "all.parquet", "-m", path / "by-command", *size, *flags)
    return path / "by-command"


class Killer(threading.Thread):
    """Kills one process whose command line begins with the given text, as soon as there is one."""

    def __init__(self, title):
        super().__init__(daemon=True)
        self._title, self._ended, self.killed = title.encode(), threading.Event(), None

    def run(self):
        while self.killed is None and not self._ended.wait(0.002):
            for entry in Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(self._title):
                        os.kill(int(entry.name), signal.SIGKILL)
                        self.killed = int(entry.name)
                        break
                except OSError:
                    continue

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()
