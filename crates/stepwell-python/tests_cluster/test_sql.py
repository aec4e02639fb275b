"""Models in queries of DuckDB and Polars, compared with the command line."""

import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from rows import make_table

from stepwell import PyramidalReservoir, PyramidalReservoirClassifier, PyramidalReservoirRegressor

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")

import stepwell.duckdb  # noqa: E402
import stepwell.polars  # noqa: E402


@pytest.fixture(scope="module", params=["three classes", "two classes", "integers", "numbers"])
def case(request, tmp_path_factory):
    """A file of graphs, a model file, and the output of the command line for them."""
    folder = tmp_path_factory.mktemp("sql")
    table = make_table(3000, 4, x=True, bonds=True)
    names = table["y"].to_pylist()
    targets = {
        "three classes": names,
        "two classes": [name == "low" for name in names],
        "integers": [len(name) for name in names],
        "numbers": table["size"].to_pylist(),
    }[request.param]
    kind = PyramidalReservoirRegressor if request.param == "numbers" else PyramidalReservoirClassifier
    model = kind(units=8, landmarks=50).fit(table, np.array(targets))
    data, saved, out = folder / "graphs.parquet", folder / "model.safetensors", folder / "predictions.parquet"
    pq.write_table(table, data)
    model.save(saved)
    program = [sys.executable, "-c", "from stepwell._command import main; main()"]
    subprocess.run([*program, "predict", data, "-m", saved, "-o", out, "-q"], check=True)
    return data, saved, pq.read_table(out)


def values(column):
    """Converts booleans, which are text in the command's files."""
    return [str(value).lower() if isinstance(value, bool) else value for value in column]


def test_duckdb_says_what_the_command_says(case):
    data, saved, expected = case
    con = duckdb.connect()
    made = stepwell.duckdb.register(con, saved)
    assert made[:2] == ["stepwell_embed", "stepwell_predict"]
    found = con.sql(f"SELECT id, stepwell_predict(g) AS p FROM read_parquet('{data}') g").fetchall()
    assert [row[0] for row in found] == expected["id"].to_pylist()
    assert values(row[1] for row in found) == expected["prediction"].to_pylist(), "to the last bit"
    if "scores" in expected.column_names:
        found = con.sql(f"SELECT stepwell_scores(g) FROM read_parquet('{data}') g").fetchall()
        assert [row[0] for row in found] == expected["scores"].to_pylist()
    # A second model, and rows created in the query.
    stepwell.duckdb.register(con, saved, name="other")
    query = f"SELECT other_predict(g) FROM (SELECT * EXCLUDE (y, size) FROM read_parquet('{data}')) g LIMIT 5"
    assert values(row[0] for row in con.sql(query).fetchall()) == expected["prediction"].to_pylist()[:5]


def test_duckdb_replaces_a_model_of_the_same_name(case):
    data, saved, expected = case
    con = duckdb.connect()
    first = stepwell.duckdb.register(con, saved)
    assert stepwell.duckdb.register(con, saved) == first
    found = con.sql(f"SELECT stepwell_predict(g) FROM read_parquet('{data}') g LIMIT 5").fetchall()
    assert values(row[0] for row in found) == expected["prediction"].to_pylist()[:5]
    # A model that only embeds leaves no function of the one before.
    table = pq.read_table(data)
    bare = PyramidalReservoir(units=4).fit(table)
    assert stepwell.duckdb.register(con, bare) == ["stepwell_embed"]
    with pytest.raises(duckdb.Error, match="stepwell_predict"):
        con.sql(f"SELECT stepwell_predict(g) FROM read_parquet('{data}') g").fetchall()


def test_probabilities_are_those_of_the_estimator(case):
    data, saved, expected = case
    con = duckdb.connect()
    made = stepwell.duckdb.register(con, saved)
    assert ("stepwell_proba" in made) == ("scores" in expected.column_names)
    if "stepwell_proba" not in made:
        return
    proba = stepwell.load(saved).predict_proba(pq.read_table(data)).tolist()
    found = con.sql(f"SELECT stepwell_proba(g) FROM read_parquet('{data}') g").fetchall()
    assert [row[0] for row in found] == proba
    assert pl.read_parquet(data).select(stepwell.polars.proba(saved))["proba"].to_list() == proba


def test_duckdb_refuses_what_is_no_row(case):
    data, saved, _ = case
    con = duckdb.connect()
    stepwell.duckdb.register(con, saved)
    with pytest.raises(duckdb.Error, match="expected one row"):
        con.sql(f"SELECT stepwell_predict(src) FROM read_parquet('{data}')").fetchall()
    with pytest.raises(duckdb.Error, match="graph-4-7"):
        broken = f"SELECT * REPLACE (CASE WHEN id = 'graph-4-7' THEN [99] ELSE dst END AS dst) FROM read_parquet('{data}')"
        con.sql(f"SELECT stepwell_predict(g) FROM ({broken}) g").fetchall()
    with pytest.raises(ValueError, match="letters"):
        stepwell.duckdb.register(con, saved, name="a b")


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_polars_says_what_the_command_says(case, engine):
    data, saved, expected = case
    asked = [pl.col("id"), stepwell.polars.predict(saved)]
    if "scores" in expected.column_names:
        asked.append(stepwell.polars.scores(saved))
    found = pl.scan_parquet(data).select(asked).collect(engine=engine)
    assert found["id"].to_list() == expected["id"].to_pylist()
    assert values(found["prediction"].to_list()) == expected["prediction"].to_pylist()
    if "scores" in found.columns:
        assert found["scores"].to_list() == expected["scores"].to_pylist()
    else:
        with pytest.raises(ValueError, match="not available for this model; expected embed, predict"):
            stepwell.polars.scores(saved)
    vectors = pl.read_parquet(data).select(stepwell.polars.embed(saved))["embedding"]
    assert vectors.dtype == pl.List(pl.Float32)
