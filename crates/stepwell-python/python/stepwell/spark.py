"""Embeddings on a Spark cluster: rows of graphs in, rows of vectors out.

Needs ``pip install 'stepwell[spark]'`` on the driver and on the executors
(Spark itself needs Java 17 or later). Every task computes with one thread;
give executors all cores.

    import stepwell.spark
    from stepwell import PyramidalReservoir

    vectors = stepwell.spark.embed("graphs/", PyramidalReservoir(units=100))
    vectors.write.parquet("vectors/")

Workers read Parquet files themselves, one row group at a time. Spark passes the rows
of a data frame to them, which costs extra time. There,
``spark.sql.execution.arrow.maxRecordsPerBatch`` is the number of rows that a worker
holds; lower it for large graphs.
"""

import json
import logging
import os
from collections.abc import Sequence
from functools import partial
from typing import TypeAlias, TypeVar

try:
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F
    from pyspark.sql import types as T
    from pyspark.sql.pandas.types import from_arrow_type

    from . import _cluster, _files
except ImportError as error:
    raise ImportError(f"stepwell.spark needs PySpark and pyarrow ({error}): pip install 'stepwell[spark]'") from error

from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir

__all__ = ["embed", "fit", "predict", "train"]

_Data: TypeAlias = DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_Model = TypeVar("_Model", PyramidalReservoirClassifier, PyramidalReservoirRegressor)


def embed(
    data: _Data, model: PyramidalReservoir | None = None, *, skip_bad: bool = False, keep: Sequence[str] = ()
) -> DataFrame:
    """Turns every graph into a vector, on all workers.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path or list of paths
        A graph per row, in the columns of the schema. Every row group of a
        Parquet file becomes a task on the active session. A path may name a file,
        a folder, a pattern or an object store's address.
    model : PyramidalReservoir, optional
        The model. An unfitted model is fitted on ``data`` first, which takes
        another pass over the graphs if features must be fitted.
    skip_bad : bool
        Whether to return a bad row without an embedding and with the reason in a
        column ``error``. By default a bad row is an error.
    keep : list of str
        Columns to keep in addition to ``id`` and ``y``.

    Returns
    -------
    pyspark.sql.DataFrame
        A lazy result with the column ``embedding`` and those of the columns ``id``,
        ``y`` and ``keep`` that exist. Rows of files without an ``id`` get their
        position as id.
    """
    source = _source(data)
    kept = _kept(source, keep)
    model = PyramidalReservoir() if model is None else model
    plan = _cluster.fitted_plan(source, model, skip_bad, kept)
    number = T.DoubleType() if plan.value_type == pa.float64() else T.FloatType()
    made = {"embedding": T.ArrayType(number, containsNull=False)}
    return source.map(partial(_cluster.embed, plan), _schema(kept, made, skip_bad))


def _kept(source, keep):
    """The columns to keep, and their types."""
    kept = {name: source.type_of(name) for name in dict.fromkeys(["id", "y", *keep])}
    return {name: kind for name, kind in kept.items() if kind is not None}


def _schema(kept, made, skip_bad):
    errors = {"error": T.StringType()} if skip_bad else {}
    return T.StructType([T.StructField(name, kind) for name, kind in (kept | made | errors).items()])


def fit(data: _Data, model: PyramidalReservoir | None = None, *, skip_bad: bool = False) -> PyramidalReservoir:
    """Returns a copy of a model, fitted on all graphs: features, then weights.

    The result is bit-identical to ``model.fit`` on the same graphs on one machine.
    With ``raw=True`` and vertices that have only features, it reads the first graph
    only.
    """
    return _cluster.fit(_source(data), PyramidalReservoir() if model is None else model, skip_bad)


def train(data: _Data, model: _Model, *, y: str | Sequence[str] = "y", skip_bad: bool = False) -> _Model:
    """Returns a trained copy of a classifier or regressor.

    The result equals that of ``stepwell train`` on the same rows on one machine: the same
    choices, landmarks, scales and penalty; decision values differ by rounding. The same
    row groups give the same bytes, whatever the number of workers. With landmarks, workers
    read the graphs four times: once to survey and sample them, and three times to embed
    them, for landmarks, for moments and for leave-one-out errors. They read the graphs once
    more if structure columns are chosen. Workers send sums, which other workers merge.
    The last sums pass through the driver, whose ``spark.driver.memory`` must hold them
    twice.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path or list of paths
        As for :func:`embed`. A data frame must have the same rows each time it is
        computed. Their order and partitions, which Spark does not fix, change the result
        only by rounding.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
    y : str or list of str
        The target column, or several. Several columns, or a column of lists, are
        several targets: 0 and 1 for a classifier, numbers for a regressor, null for
        unknown. Rows without any target are skipped.
    skip_bad : bool
        Whether to skip bad rows; ``skipped_`` counts them.
    """
    return _cluster.train(_source(data), model, y, skip_bad)


def predict(
    data: _Data,
    model: PyramidalReservoirClassifier | PyramidalReservoirRegressor,
    *,
    skip_bad: bool = False,
    keep: Sequence[str] = (),
) -> DataFrame:
    """Predicts with a trained model, on all workers.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path or list of paths
        As for :func:`embed`; targets are optional.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
        A model trained by :func:`train` or by its own ``fit``.
    skip_bad, keep
        As for :func:`embed`.

    Returns
    -------
    pyspark.sql.DataFrame
        A lazy result with the column ``prediction``, for a classifier ``scores``
        (decision values of all classes), and those of the columns ``id``, ``y`` and
        ``keep`` that exist.
    """
    source = _source(data)
    kept = _kept(source, keep)
    plan = _cluster.trained_plan(model, skip_bad=skip_bad, keep=tuple(kept))
    made = {name: from_arrow_type(kind) for name, kind in plan.answers.items()}
    return source.map(partial(_cluster.predict, plan), _schema(kept, made, skip_bad))


def _source(data):
    return _Rows(data) if isinstance(data, DataFrame) else _Files(_files.paths_of(data, "a pyspark.sql.DataFrame"))


class _Rows:
    """A data frame whose partitions go to the workers."""

    def __init__(self, df):
        self._located = _located(df)
        self._schema = df.schema
        row = df.first()
        self.first = None if row is None else row.asDict()

    def type_of(self, name):
        return self._schema[name].dataType if name in self._schema.names else None

    def map(self, work, schema):
        return self._located.mapInArrow(partial(_on_batches, work), schema)

    def states(self, job):
        """A state for each partition, with its position."""
        return self._located.mapInArrow(partial(_partition_state, job), _STATES)

    def reduce(self, job):
        states = self.states(job).persist()
        try:
            end = 1 + (states.agg(F.max("position")).first()[0] or 0)
            return _reduced(states, end, job)
        finally:
            states.unpersist()


class _Files(_Rows):
    """Files whose row groups the workers read."""

    def __init__(self, paths):
        session = SparkSession.getActiveSession()
        if session is None:
            raise RuntimeError("data: paths need an active Spark session, found none; call SparkSession.builder.getOrCreate() first")
        groups = _files.RowGroups(paths)
        self.first, self._schema = groups.first, groups.schema
        rows = [(task["path"], task["group"], task["row"], task["position"]) for task in groups.tasks]
        tasks = session.createDataFrame(rows, "path string, group long, row long, position long")
        self._session, self._groups = session, groups
        # A worker receives only its own row groups; neighbours in a file stay together.
        self._tasks = tasks.repartitionByRange(groups.partitions, "position", "group")

    def type_of(self, name):
        if name in self._schema.names:
            return from_arrow_type(self._schema.field(name).type)
        return T.StringType() if name == "id" else None

    def map(self, work, schema):
        return self._tasks.mapInArrow(partial(_on_groups, work), schema)

    def reduce(self, job):
        sums = [(position, json.dumps(tasks)) for position, tasks in enumerate(self._groups.sums())]
        tasks = self._session.createDataFrame(sums, "position long, tasks string")
        tasks = tasks.repartitionByRange(len(sums), "position")
        return _reduced(tasks.mapInArrow(partial(_states_of_groups, job), _STATES), len(sums), job)


def _located(df):
    """Adds the file and the row that each row was read from, if Spark knows them."""
    known = {_cluster.FILE: "_metadata.file_path", _cluster.ROW: "_metadata.row_index"}
    log = logging.getLogger("DataFrameQueryContextLogger")  # a failed attempt is not an error
    before, log.disabled = log.disabled, True
    try:
        for names in ([_cluster.FILE, _cluster.ROW], [_cluster.FILE]):
            try:
                located = df.select("*", *(F.col(known[name]).alias(name) for name in names))
                located.schema  # missing columns are detected here
                return located
            except AnalysisException:
                continue
    finally:
        log.disabled = before
    return df


def _on_batches(work, batches):
    for table in work(pa.Table.from_batches([batch]) for batch in batches):
        yield from table.combine_chunks().to_batches()


def _on_groups(work, batches):
    tasks = (task for batch in batches for task in batch.to_pylist())
    for table in work(table for task in tasks for table in _files.read(task)):
        yield from table.combine_chunks().to_batches()


#: The schema of the states that workers return.
_STATES = "position long, state binary"


def _reduced(states, end, job):
    """Merges the states with positions below ``end`` into one, on the workers."""
    while end > 1:
        parent = F.expr(f"position div {_cluster.FAN}").alias("parent")
        states = states.groupBy(parent).applyInArrow(partial(_merged, job.merged), _STATES)
        end = -(-end // _cluster.FAN)
    return bytes(states.first().state)


def _merged(merged, key, table):
    states = table.sort_by("position")["state"]
    return _state(key[0].as_py(), merged([state.as_py() for state in states]))


def _state(position, state):
    return pa.table({"position": pa.array([position], pa.int64()), "state": pa.array([state], pa.binary())})


def _partition_state(job, batches):
    state = job(pa.Table.from_batches([batch]) for batch in batches)
    yield from _state(TaskContext.get().partitionId(), state).to_batches()


def _states_of_groups(job, batches):
    for batch in batches:
        for row in batch.to_pylist():
            yield from _state(row["position"], job(_files.read_all(json.loads(row["tasks"])))).to_batches()
