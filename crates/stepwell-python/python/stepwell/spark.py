"""Embeddings on a Spark cluster: rows of graphs in, rows of vectors out.

Needs ``pip install 'stepwell[spark]'`` on the driver and on the executors
(Spark itself needs Java 17 or later). Every task computes with one thread;
give executors as many cores as there are.

    import stepwell.spark
    from stepwell import PyramidalReservoir

    graphs = spark.read.parquet("graphs/")
    vectors = stepwell.spark.embed(graphs, PyramidalReservoir(units=100))
    vectors.write.parquet("vectors/")

How many rows a worker holds at a time is Spark's
``spark.sql.execution.arrow.maxRecordsPerBatch``; lower it for large graphs.
"""

import logging
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

try:
    import pyarrow as pa
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
except ImportError as error:
    raise ImportError(f"stepwell.spark needs PySpark and pyarrow ({error}): pip install 'stepwell[spark]'") from error

from . import _cluster
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir

__all__ = ["embed", "fit", "fit_ridge"]

_Model = TypeVar("_Model", PyramidalReservoirClassifier, PyramidalReservoirRegressor)


def embed(
    df: DataFrame, model: PyramidalReservoir | None = None, *, skip_bad: bool = False, keep: Sequence[str] = ()
) -> DataFrame:
    """Turns every graph into a vector, on all workers.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        A graph per row, in the columns of the schema. Attributes are taken as
        they are.
    model : PyramidalReservoir, optional
        What embeds. If it is not fitted, it is fitted on ``df`` first, which
        takes a pass over the graphs where their features must be.
    skip_bad : bool
        Whether a row that cannot be used comes out without an embedding, and
        with what is wrong with it in a column ``error``, instead of ending the
        work. Filtering by that column counts such rows, or leaves them out.
    keep : list of str
        Columns that stay, beside ``id`` and ``y``.

    Returns
    -------
    pyspark.sql.DataFrame
        Not computed yet, with the columns ``id``, ``y`` and ``keep`` as far as
        there are any, and ``embedding``.
    """
    source = _Rows(df)
    keep = [name for name in dict.fromkeys(["id", "y", *keep]) if name in df.columns]
    model = PyramidalReservoir() if model is None else model
    plan = _cluster.fitted_plan(source, model, skip_bad, keep)
    number = T.DoubleType() if plan.value_type == pa.float64() else T.FloatType()
    fields = [df.schema[name] for name in keep]
    fields.append(T.StructField("embedding", T.ArrayType(number, containsNull=False)))
    if skip_bad:
        fields.append(T.StructField("error", T.StringType()))
    return source.located.mapInArrow(partial(_embed, plan), T.StructType(fields))


def fit(df: DataFrame, model: PyramidalReservoir | None = None, *, skip_bad: bool = False) -> PyramidalReservoir:
    """A fitted copy of a model: features as all graphs ask for, then weights.

    Where features are taken as they are, no graph is looked at but the first.
    The result is the model that ``model.fit`` makes of the same graphs on one
    machine, to the bit.
    """
    fitted, _ = _cluster.fit(_Rows(df), PyramidalReservoir() if model is None else model, skip_bad)
    return fitted


def fit_ridge(df: DataFrame, model: _Model, *, y: str = "y", skip_bad: bool = False) -> _Model:
    """A trained copy of a classifier or regressor.

    Vectors are computed on the workers, which send the moments of theirs. That
    takes one pass for one ``alpha``, one more to choose among several, one more
    with ``random_features``, and one at the beginning where features are fitted
    or classes counted. The result is that of ``model.fit`` up to rounding.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        As for :func:`embed`.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
    y : str
        The column to predict.
    skip_bad : bool
        Whether rows that cannot be used are left out; ``skipped_`` counts them.
    """
    return _cluster.fit_ridge(_Rows(df), model, y, skip_bad)


class _Rows:
    """A data frame whose partitions go to the workers."""

    #: What a file said about its features, Spark does not tell.
    raw = True

    def __init__(self, df):
        self.located = _located(df)
        row = df.first()
        self.first = None if row is None else row.asDict()

    def gather(self, job):
        states = self.located.mapInArrow(partial(_state, job), "state binary")
        return [bytes(row.state) for row in states.collect()]


def _located(df):
    """With the file and the row that each row was read from, where Spark knows them."""
    known = {_cluster.FILE: "_metadata.file_path", _cluster.ROW: "_metadata.row_index"}
    log = logging.getLogger("DataFrameQueryContextLogger")  # trying is no error
    before, log.disabled = log.disabled, True
    try:
        for names in ([_cluster.FILE, _cluster.ROW], [_cluster.FILE]):
            try:
                located = df.select("*", *(F.col(known[name]).alias(name) for name in names))
                located.schema  # what is not there is found out here
                return located
            except AnalysisException:
                continue
    finally:
        log.disabled = before
    return df


def _embed(plan, batches):
    for table in _cluster.embed(plan, map(_table, batches)):
        yield from table.combine_chunks().to_batches()


def _state(job, batches):
    yield pa.record_batch({"state": [job(map(_table, batches))]}, schema=_cluster.STATE)


def _table(batch):
    return pa.Table.from_batches([batch])
