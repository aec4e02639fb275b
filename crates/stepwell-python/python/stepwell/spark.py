"""Embeddings on a Spark cluster: rows of graphs in, rows of vectors out.

Needs ``pip install 'stepwell[spark]'`` on the driver and on the executors
(Spark itself needs Java 17 or later). Every task computes with one thread;
give executors as many cores as there are.

    import stepwell.spark
    from stepwell import PyramidalReservoir

    vectors = stepwell.spark.embed("graphs/", PyramidalReservoir(units=100))
    vectors.write.parquet("vectors/")

Parquet files that are named are read by the workers themselves, a row group at
a time. The rows of a data frame are handed to them by Spark, which takes time of
its own; how many of them a worker holds at a time is then Spark's
``spark.sql.execution.arrow.maxRecordsPerBatch``, to be lowered for large graphs.
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

#: Row groups become at most so many tasks.
_MOST_TASKS = 10_000

_Data: TypeAlias = DataFrame | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_Model = TypeVar("_Model", PyramidalReservoirClassifier, PyramidalReservoirRegressor)


def embed(
    data: _Data, model: PyramidalReservoir | None = None, *, skip_bad: bool = False, keep: Sequence[str] = ()
) -> DataFrame:
    """Turns every graph into a vector, on all workers.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path or list of paths
        A graph per row, in the columns of the schema. Of Parquet files every
        row group becomes a task, on the active session; a path may name a file,
        a folder, a pattern or an object store's address. Attributes of a data
        frame are taken as they are.
    model : PyramidalReservoir, optional
        What embeds. If it is not fitted, it is fitted on ``data`` first, which
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
        there are any, and ``embedding``. Rows of files that have no ``id`` are
        called by their position among all.
    """
    source = _source(data)
    kept = _kept(source, keep)
    model = PyramidalReservoir() if model is None else model
    plan = _cluster.fitted_plan(source, model, skip_bad, kept)
    number = T.DoubleType() if plan.value_type == pa.float64() else T.FloatType()
    made = {"embedding": T.ArrayType(number, containsNull=False)}
    return source.map(partial(_embed, plan), _schema(kept, made, skip_bad))


def _kept(source, keep):
    """The columns that stay, and their types."""
    kept = {name: source.type_of(name) for name in dict.fromkeys(["id", "y", *keep])}
    return {name: kind for name, kind in kept.items() if kind is not None}


def _schema(kept, made, skip_bad):
    errors = {"error": T.StringType()} if skip_bad else {}
    return T.StructType([T.StructField(name, kind) for name, kind in (kept | made | errors).items()])


def fit(data: _Data, model: PyramidalReservoir | None = None, *, skip_bad: bool = False) -> PyramidalReservoir:
    """A fitted copy of a model: features as all graphs ask for, then weights.

    With ``raw=True`` and vertices that carry features alone, no graph is looked at
    but the first.
    The result is the model that ``model.fit`` makes of the same graphs on one
    machine, to the bit.
    """
    return _cluster.fit(_source(data), PyramidalReservoir() if model is None else model, skip_bad)


def train(data: _Data, model: _Model, *, y: str | Sequence[str] = "y", skip_bad: bool = False) -> _Model:
    """A trained copy of a classifier or regressor.

    The result is what ``stepwell train`` makes of the same rows on one machine: the same
    choices, landmarks, scales and penalty, and decision values that differ by
    rounding. Of the same row groups it has the same bytes, however many workers there
    are. Graphs are gone through four times with landmarks, once more where columns of
    structure are chosen: to see what they carry and to draw some, then to embed them for
    landmarks, for moments, and for leave-one-out errors. Workers send sums, which other workers
    add up; the last of them go through the driver, whose ``spark.driver.memory`` must hold
    them twice.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, or path or list of paths
        As for :func:`embed`. A data frame must have the same rows each time it is computed; their
        order and partitions, which Spark does not fix, change the result by rounding alone.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
    y : str or list of str
        The column to predict, or several. Several columns, or one of lists, are
        targets of their own: 0 and 1 for a classifier, numbers for a regressor,
        null where they are not known. Rows without any target are not used.
    skip_bad : bool
        Whether rows that cannot be used are left out; ``skipped_`` counts them.
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
        As for :func:`embed`; targets need not be there.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
        A trained one: by :func:`train`, or by its own ``fit``.
    skip_bad, keep
        As for :func:`embed`.

    Returns
    -------
    pyspark.sql.DataFrame
        Not computed yet, with the columns ``id``, ``y`` and ``keep`` as far as
        there are any, ``prediction`` and, of a classifier, ``scores``: what
        ``decision_function`` tells.
    """
    source = _source(data)
    kept = _kept(source, keep)
    plan = _cluster.trained_plan(model, skip_bad=skip_bad, keep=tuple(kept))
    made = {name: from_arrow_type(kind) for name, kind in plan.answers.items()}
    return source.map(partial(_predict, plan), _schema(kept, made, skip_bad))


def _predict(plan, tables):
    yield from _cluster.predict(plan, tables)


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
            raise RuntimeError("paths are read on the active Spark session, and there is none: make one first")
        groups = _files.RowGroups(paths)
        self.first, self._schema = groups.first, groups.schema
        rows = [(task["path"], task["group"], task["row"], task["position"]) for task in groups.tasks]
        tasks = session.createDataFrame(rows, "path string, group long, row long, position long")
        self._session, self._groups = session, groups
        # A worker is told of its own row groups alone, neighbours in a file together.
        self._tasks = tasks.repartitionByRange(min(max(len(rows), 1), _MOST_TASKS), "position", "group")

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


def _on_batches(work, batches):
    for table in work(pa.Table.from_batches([batch]) for batch in batches):
        yield from table.combine_chunks().to_batches()


def _on_groups(work, batches):
    tasks = (task for batch in batches for task in batch.to_pylist())
    for table in work(table for task in tasks for table in _files.read(task)):
        yield from table.combine_chunks().to_batches()


def _embed(plan, tables):
    yield from _cluster.embed(plan, tables)


#: What comes back from workers that gather something.
_STATES = "position long, state binary"


def _reduced(states, end, job):
    """One state of those with positions below an end, merged by workers."""
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
