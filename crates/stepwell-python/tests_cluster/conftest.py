"""Graphs in Parquet files."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rows import make_table, write_files


@pytest.fixture(scope="session", params=["bare", "x+labels", "x+bonds"])
def graphs(request, tmp_path_factory):
    """A table and the folder it was written to."""
    table = make_table(240, 1, **{part: True for part in request.param.split("+")})
    return table, write_files(tmp_path_factory.mktemp("graphs") / "files", table)


@pytest.fixture(scope="session")
def attributed(tmp_path_factory):
    table = make_table(240, 2, x=True, bonds=True)
    return table, write_files(tmp_path_factory.mktemp("attributed") / "files", table)


@pytest.fixture
def broken(tmp_path):
    """Rows 2 (row group 0) and 56 (row group 1) of the second file cannot be used."""
    table = make_table(200, 3, x=True, bonds=True)
    good, bad = table[:100], table[100:].to_pylist()
    bad[2]["dst"] = [99] * len(bad[2]["src"])
    bad[56]["x"] = bad[56]["x"][:-1]
    folder = tmp_path / "broken"
    folder.mkdir()
    pq.write_table(good, folder / "a.parquet", row_group_size=40)
    pq.write_table(pa.Table.from_pylist(bad, schema=table.schema), folder / "b.parquet", row_group_size=40)
    return table, folder, [102, 156]
