"""Every Parquet file that common writers make from one dataset is read as the same dataset.

Combines writers (pyarrow, pandas, Polars, DuckDB) with encodings, compressions and types. The
program embeds each file, and the vectors must equal those of the plainest file. Run by `./test
parquet`:

    python tests/legal_parquet.py target/release/stepwell
"""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 40
PROGRAM = sys.argv[1]


def rows():
    """Paths and rings with every value that a row can hold."""
    for at in range(ROWS):
        n = 3 + at % 4
        ends = n if at % 2 else n - 1
        yield {
            "id": f"graph {at}",
            "num_nodes": n,
            "src": list(range(ends)),
            "dst": [(v + 1) % n for v in range(ends)],
            "weight": [1.0 + v / 4 for v in range(ends)],
            "node_label": [(at + v) % 3 for v in range(n)],
            "x": [v * 0.5 - at for v in range(n)],
            "x_dim": 1,
            "y": at % 2,
            "split": ["train", "test"][at % 2],
        }


TABLE = pa.Table.from_pylist(list(rows()))


def cast(**types):
    """The table with some columns of another type."""
    columns = {name: TABLE[name] for name in TABLE.column_names}
    for name, kind in types.items():
        values = TABLE[name].to_pylist()
        columns[name] = pa.array([bool(y) for y in values] if kind == pa.bool_() else values, kind)
    return pa.table(columns)


def dictionary(name):
    values = pa.concat_arrays(TABLE[name].chunks)
    return TABLE.set_column(TABLE.column_names.index(name), name, values.dictionary_encode())


def types():
    """Tables with the same content in other types."""
    yield "plain", TABLE
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        yield f"num_nodes {kind}", cast(num_nodes=kind, x_dim=kind, y=kind)
        yield f"lists of {kind}", cast(src=pa.list_(kind), dst=pa.list_(kind), node_label=pa.list_(kind))
    yield "float32", cast(weight=pa.list_(pa.float32()), x=pa.list_(pa.float32()))
    yield "float16", cast(weight=pa.list_(pa.float16()), x=pa.list_(pa.float16()))
    yield "large lists", cast(src=pa.large_list(pa.int64()), dst=pa.large_list(pa.int64()), x=pa.large_list(pa.float64()))
    yield "list views", cast(src=pa.list_view(pa.int64()), x=pa.large_list_view(pa.float64()))
    yield "large strings", cast(id=pa.large_string(), split=pa.large_string())
    yield "string views", cast(id=pa.string_view(), split=pa.string_view())
    yield "boolean y", cast(y=pa.bool_())
    for name in ("id", "split", "y", "num_nodes"):
        yield f"dictionary of {name}", dictionary(name)
    nulls = TABLE.append_column("edge_label", pa.nulls(ROWS, pa.list_(pa.int64())))
    yield "null lists", nulls
    yield "a column of nulls", TABLE.append_column("edge_label", pa.nulls(ROWS))


def files(folder):
    """Every file, and the writer that made it."""
    number = itertools.count()

    def path():
        return folder / f"{next(number)}.parquet"

    for name, table in types():
        to = path()
        pq.write_table(table, to)
        yield f"pyarrow, {name}", to
        to = path()
        pq.write_table(table, to, store_schema=False)
        yield f"pyarrow without its schema, {name}", to
    for compression in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        for version, page, dictionaries in itertools.product(("1.0", "2.4", "2.6"), ("1.0", "2.0"), (True, False)):
            to = path()
            pq.write_table(
                TABLE, to, compression=compression, version=version, data_page_version=page, use_dictionary=dictionaries
            )
            yield f"pyarrow, {compression}, format {version}, pages {page}, dictionaries {dictionaries}", to
    whole = ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT")
    for encodings in (
        {name: encoding for name in ("num_nodes", "src.list.element", "dst.list.element", "y")} for encoding in whole
    ):
        to = path()
        pq.write_table(TABLE, to, use_dictionary=False, column_encoding=encodings)
        yield f"pyarrow, {encodings}", to
    for encoding in ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"):
        for compression in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
            to = path()
            encodings = {"id": encoding, "split": encoding}
            pq.write_table(TABLE, to, use_dictionary=False, column_encoding=encodings, compression=compression)
            yield f"pyarrow, texts by {encoding}, {compression}", to
    for option in (
        {"row_group_size": 7},
        {"data_page_size": 64},
        {"write_page_index": True},
        {"write_page_checksum": True},
        {"use_compliant_nested_type": False},
        {"write_statistics": False},
    ):
        to = path()
        pq.write_table(TABLE, to, **option)
        yield f"pyarrow, {option}", to
    frame = TABLE.to_pandas()
    for compression in (None, "snappy", "gzip", "brotli", "lz4", "zstd"):
        to = path()
        frame.to_parquet(to, compression=compression)
        yield f"pandas, {compression}", to
    to = path()
    frame.convert_dtypes(dtype_backend="pyarrow").to_parquet(to)
    yield "pandas with Arrow types", to
    polars = pl.from_arrow(TABLE)
    for compression in ("uncompressed", "snappy", "gzip", "brotli", "lz4", "zstd"):
        to = path()
        polars.write_parquet(to, compression=compression)
        yield f"Polars, {compression}", to
    to = path()
    polars.with_columns(pl.col("split").cast(pl.Categorical), pl.col("num_nodes").cast(pl.UInt64)).write_parquet(to)
    yield "Polars, categories", to
    connection = duckdb.connect()
    connection.register("graphs", TABLE)
    for compression, version in itertools.product(
        ("uncompressed", "snappy", "gzip", "brotli", "lz4", "lz4_raw", "zstd"), ("V1", "V2")
    ):
        to = path()
        connection.sql(f"COPY graphs TO '{to}' (FORMAT parquet, COMPRESSION {compression}, PARQUET_VERSION {version})")
        yield f"DuckDB, {compression}, {version}", to


def vectors(path):
    command = [PROGRAM, "embed", str(path), "--units", "4", "--precision", "f64", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None, done.stderr.strip()


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        made = list(files(Path(folder)))
        expected, said = vectors(made[0][1])
        assert expected and expected.count("\n") == ROWS + 1, said
        for name, path in made:
            found, said = vectors(path)
            if found != expected:
                failures += 1
                print(f"{name}: {said or 'other vectors'}")
    print(f"{len(made)} files, {failures} not read as they should be")
    sys.exit(failures > 0)


main()
