"""Writes the fixtures beside this script: graphs in Parquet and JSON lines whose
columns have the types other tools choose. Needs pyarrow and numpy.

Every value follows a formula of the graph g, the vertex v and the edge e, which
the Rust tests know too. Graph g is a path of g vertices (fixed.parquet: of 4).
"""

import json
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
SPLITS = ["train", "validation", "test"]


def rows(sizes):
    for g, n in enumerate(sizes):
        edges = range(max(n - 1, 0))
        yield {
            "id": f'g{g} "é\\',
            "num_nodes": n,
            "src": list(edges),
            "dst": [e + 1 for e in edges],
            "weight": [(e + 1) / 4 for e in edges],
            "edge_label": [e % 3 for e in edges],
            "edge_attr": [value for e in edges for value in (e / 2, g)],
            "edge_attr_dim": 2,
            "node_label": [(7 * v + g) % 5 for v in range(n)],
            "x": [value for v in range(n) for value in (v, 2 * g, 1)],
            "x_dim": 3,
            "pos": [value for v in range(n) for value in (v, v / 2)],
            "split": SPLITS[g % 3],
            "directed": g % 2 == 1,
        }


def table(rows, types):
    rows = list(rows)
    return pa.table({key: pa.array([row.get(key) for row in rows], type=kind) for key, kind in types.items()})


def write(name, table, **options):
    pq.write_table(table, HERE / name, **options)


def f16_lists(lists):
    values = pa.array(np.array([v for one in lists for v in one], dtype=np.float16))
    offsets = np.cumsum([0] + [len(one) for one in lists]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


ints, floats = pa.list_(pa.int32()), pa.list_(pa.float32())
PLAIN = {
    "id": pa.string(), "num_nodes": pa.int32(), "src": ints, "dst": ints, "weight": floats,
    "edge_label": ints, "edge_attr": floats, "edge_attr_dim": pa.int32(), "node_label": ints,
    "x": floats, "x_dim": pa.int32(), "pos": pa.list_(pa.float64()), "y": pa.int32(),
    "split": pa.string(), "directed": pa.bool_(),
}

graphs = list(rows(range(12)))

# The schema as documented.
plain = [row | {"y": g % 3 - 1} for g, row in enumerate(graphs)]
write("plain.parquet", table(plain, PLAIN), compression="snappy", row_group_size=5)

# Everything as large as it gets, real targets, and the order of the columns reversed.
large_ints, large_floats = pa.large_list(pa.int64()), pa.large_list(pa.float64())
wide = {
    "id": pa.large_string(), "num_nodes": pa.int64(), "src": large_ints, "dst": pa.large_list(pa.uint64()),
    "weight": large_floats, "edge_label": large_ints, "edge_attr": large_floats,
    "edge_attr_dim": pa.uint64(), "node_label": large_ints, "x": large_floats, "x_dim": pa.int64(),
    "pos": large_floats, "y": pa.float64(), "split": pa.large_string(), "directed": pa.bool_(),
}
wide = table((row | {"y": g / 8} for g, row in enumerate(graphs)), dict(reversed(wide.items())))
write("wide.parquet", wide, compression="zstd", data_page_version="2.0")

# Everything as small as it gets, half floats, whole numbers for real ones, texts in dictionaries.
small, bytes_ = pa.list_(pa.int8()), pa.list_(pa.uint8())
narrow = PLAIN | {
    "num_nodes": pa.uint8(), "src": bytes_, "dst": pa.list_(pa.uint16()), "edge_label": small,
    "edge_attr_dim": pa.int8(), "node_label": bytes_, "x": pa.list_(pa.int16()), "x_dim": pa.uint16(),
    "id": pa.string_view(), "pos": floats,
    "y": pa.dictionary(pa.int8(), pa.string()), "split": pa.dictionary(pa.uint32(), pa.large_string()),
}
narrow = table((row | {"y": "even" if g % 2 == 0 else "odd"} for g, row in enumerate(graphs)), narrow)
narrow = narrow.set_column(narrow.schema.get_field_index("weight"), "weight", f16_lists([r["weight"] for r in graphs]))
write("narrow.parquet", narrow, compression="gzip")

# Lists of one size, no targets, columns of nulls and columns of others.
fixed = {
    "num_nodes": pa.int32(), "src": pa.list_(pa.int32(), 3), "dst": pa.list_(pa.int32(), 3),
    "x": pa.list_(pa.float32(), 12), "x_dim": pa.int32(), "pos": pa.list_(pa.float64(), 8),
    "y": pa.null(), "weight": pa.null(), "id": pa.string(), "smiles": pa.string(),
}
fixed = table((row | {"id": None, "weight": None, "smiles": "C"} for row in rows([4] * 7)), fixed)
write("fixed.parquet", fixed, compression="none", row_group_size=3)

# JSON as Python writes it, with the mark, line ends and blank lines of another system.
lines = [json.dumps(row | {"y": g / 8 if g % 2 else g // 8, "smiles": {"any": ["thing", None]}}) for g, row in enumerate(graphs)]
(HERE / "plain.jsonl").write_bytes("\r\n".join(["\ufeff" + lines[0], "", *lines[1:], "  "]).encode())

# What must be refused.
bad = [
    {"num_nodes": 2, "src": [0], "dst": [1], "weight": [1.0]},
    {"num_nodes": 2, "src": [0, None], "dst": [1, 0], "weight": [1.0, 2.0]},
]
base = {"num_nodes": pa.int32(), "src": ints, "dst": ints, "weight": floats}
write("null_in_list.parquet", table(bad, base))
write("null_list.parquet", table([bad[0], bad[0] | {"dst": None}], base))
write("negative.parquet", table([bad[0], bad[0] | {"num_nodes": -1}], base))
write("nan.parquet", table([bad[0], bad[0] | {"weight": [float("nan")]}], base))
write("no_num_nodes.parquet", table(bad[:1], {"src": ints, "dst": ints}))
write("wrong_type.parquet", table([bad[0] | {"src": ["0"]}], base | {"src": pa.list_(pa.string())}))
write("delta.parquet", table([bad[0] | {"id": "a"}], base | {"id": pa.string()}),
      use_dictionary=False, column_encoding={"id": "DELTA_BYTE_ARRAY"})
