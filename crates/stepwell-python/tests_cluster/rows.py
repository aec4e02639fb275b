"""Rows of graphs for the tests, and what is compared."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


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
            # By the ends, so that an edge drawn twice carries the same.
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
    """The same rows with two targets of 0 and 1 in columns of their own, null for some rows."""
    rng = np.random.default_rng(6)
    gaps = lambda values: [None if lot < 0.2 else int(value) for value, lot in zip(values, rng.random(len(table)))]
    size = np.array(table["size"].to_pylist())
    high = gaps(value == "high" for value in table["y"].to_pylist())
    return table.append_column("high", pa.array(high)).append_column("large", pa.array(gaps(size > np.median(size))))
