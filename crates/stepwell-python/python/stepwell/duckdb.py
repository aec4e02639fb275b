"""Models as SQL functions of DuckDB.

Needs ``pip install 'stepwell[duckdb]'``.

    import duckdb
    import stepwell.duckdb

    con = duckdb.connect()
    stepwell.duckdb.register(con, "model.safetensors")
    con.sql("SELECT id, stepwell_predict(g) FROM read_parquet('graphs.parquet') g")
"""

import os
import re
from typing import Any

import numpy as np

try:
    import duckdb
    import pyarrow as pa

    from . import _answers
except ImportError as error:
    raise ImportError(f"stepwell.duckdb needs DuckDB and pyarrow ({error}): pip install 'stepwell[duckdb]'") from error

from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir

__all__ = ["register"]

_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.float32(): "FLOAT", pa.bool_(): "BOOLEAN", pa.string(): "VARCHAR"}


def register(
    con: duckdb.DuckDBPyConnection,
    model: str | os.PathLike[str] | PyramidalReservoir | PyramidalReservoirClassifier | PyramidalReservoirRegressor,
    *,
    name: str = "stepwell",
) -> list[str]:
    """Registers a model's SQL functions on a connection.

    Each function takes a whole row as a struct. In DuckDB, the name of a table is
    such a struct: after ``FROM read_parquet('graphs.parquet') g``, ``g`` is the row.
    Its columns are those of the schema; other columns are ignored.

    Parameters
    ----------
    con : DuckDBPyConnection
        The connection.
    model : path or fitted estimator
        A file written by ``stepwell train`` or ``save``, or a fitted estimator.
    name : str
        The prefix of the functions: ``<name>_predict`` returns predictions,
        ``<name>_scores`` the decision values of all classes, ``<name>_proba`` their
        probabilities (with several targets, the probability of 1 for each), and
        ``<name>_embed`` vectors. The functions replace those of a model that was
        registered under the same name on this connection.

    Returns
    -------
    list of str
        The names of the functions.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"name: expected letters, digits and underscores, found {name!r}")
    connection: Any = con  # its stubs do not know that parameters may have any type
    functions, made = _answers.Answers(model).functions(), []
    for what in _answers.NAMES:
        try:
            connection.remove_function(f"{name}_{what}")
        except duckdb.InvalidInputException:
            pass  # not registered on this connection
    for what, (work, kind) in functions.items():
        function = f"{name}_{what}"
        of_rows = _of_rows(function, work, kind)
        # By default, DuckDB refuses the null of a graph without vertices.
        connection.create_function(function, of_rows, None, _sql(kind), type="arrow", null_handling="special")
        made.append(function)
    return made


def _of_rows(name, work, kind):
    """A function of one column of structs; null for a row that is null."""

    def of_rows(*columns):
        if len(columns) != 1 or not pa.types.is_struct(columns[0].type):
            found = ", ".join(str(column.type) for column in columns) or "nothing"
            raise TypeError(f"{name}: expected one row, as in SELECT {name}(g) FROM graphs g, found {found}")
        rows = columns[0]
        if rows.null_count == 0:
            return work(pa.Table.from_struct_array(rows))
        if rows.null_count == len(rows):
            return pa.nulls(len(rows), kind)
        known = np.array(rows.is_valid().to_pylist())
        found = work(pa.Table.from_struct_array(rows.drop_null()))
        return found.take(pa.array(np.cumsum(known) - 1, mask=~known))

    return of_rows


def _sql(kind):
    return f"{_sql(kind.value_type)}[]" if pa.types.is_list(kind) else _TYPES[kind]
