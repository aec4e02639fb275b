"""Embeddings on a Ray cluster: rows of graphs in, rows of vectors out.

Needs ``pip install 'stepwell[ray]'`` on the driver and on the workers. Every
task computes with one thread; give Ray all CPUs.

    import stepwell.ray
    from stepwell import PyramidalReservoir

    vectors = stepwell.ray.embed("graphs/", PyramidalReservoir(units=100))
    vectors.write_parquet("vectors/")
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

try:
    import pyarrow as pa
    import ray.data

    from . import _cluster, _files
except ImportError as error:
    raise ImportError(f"stepwell.ray needs Ray and pyarrow ({error}): pip install 'stepwell[ray]'") from error

from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir

__all__ = ["embed", "fit", "predict", "train"]

_Data: TypeAlias = ray.data.Dataset | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_Model = TypeVar("_Model", PyramidalReservoirClassifier, PyramidalReservoirRegressor)


def embed(
    data: _Data,
    model: PyramidalReservoir | None = None,
    *,
    skip_bad: bool = False,
    keep: Sequence[str] = (),
    **ray_options: Any,
) -> ray.data.Dataset:
    """Turns every graph into a vector, on all workers.

    Parameters
    ----------
    data : ray.data.Dataset, or path or list of paths
        A graph per row, in the columns of the schema. Every row group of a
        Parquet file becomes a task. A path may name a file, a folder, a pattern or
        an object store's address.
    model : PyramidalReservoir, optional
        The model. An unfitted model is fitted on ``data`` first, which takes
        another pass over the graphs if features must be fitted.
    skip_bad : bool
        Whether to return a bad row without an embedding and with the reason in a
        column ``error``. By default a bad row is an error.
    keep : list of str
        Columns to keep in addition to ``id`` and ``y``.
    **ray_options
        Options of ``Dataset.map_batches``: ``concurrency``, ``num_cpus``, ``memory``, …

    Returns
    -------
    ray.data.Dataset
        A lazy result with the column ``embedding`` and those of the columns ``id``,
        ``y`` and ``keep`` that exist. Rows of files without an ``id`` get their
        position as id.
    """
    source = _source(data, ray_options)
    model = PyramidalReservoir() if model is None else model
    plan = _cluster.fitted_plan(source, model, skip_bad, dict.fromkeys(["id", "y", *keep]))
    return source.map(partial(_cluster.embed, plan))


def fit(
    data: _Data, model: PyramidalReservoir | None = None, *, skip_bad: bool = False, **ray_options: Any
) -> PyramidalReservoir:
    """Returns a copy of a model, fitted on all graphs: features, then weights.

    The result is bit-identical to ``model.fit`` on the same graphs on one machine.
    With ``raw=True`` and vertices that have only features, it reads the first graph
    only.
    """
    source = _source(data, ray_options)
    return _cluster.fit(source, PyramidalReservoir() if model is None else model, skip_bad)


def train(data: _Data, model: _Model, *, y: str | Sequence[str] = "y", skip_bad: bool = False, **ray_options: Any) -> _Model:
    """Returns a trained copy of a classifier or regressor.

    The result equals that of ``stepwell train`` on the same rows on one machine: the same
    choices, landmarks, scales and penalty; decision values differ by rounding. The same
    row groups give the same bytes, whatever the number of workers. With landmarks, workers
    read the graphs four times: once to survey and sample them, and three times to embed
    them, for landmarks, for moments and for leave-one-out errors. They read the graphs once
    more if structure columns are chosen. Workers send sums, which other workers merge.

    Parameters
    ----------
    data : ray.data.Dataset, or path or list of paths
        As for :func:`embed`. Ray's object store keeps a dataset during training.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
    y : str or list of str
        The target column, or several. Several columns, or a column of lists, are
        several targets: 0 and 1 for a classifier, numbers for a regressor, null for
        unknown. Rows without any target are skipped.
    skip_bad : bool
        Whether to skip bad rows; ``skipped_`` counts them.
    **ray_options
        Options of ``ray.remote`` for the tasks (``num_cpus``, ``memory``, …);
        ``concurrency`` limits the number of concurrent tasks.
    """
    return _cluster.train(_source(data, ray_options), model, y, skip_bad)


def predict(
    data: _Data,
    model: PyramidalReservoirClassifier | PyramidalReservoirRegressor,
    *,
    skip_bad: bool = False,
    keep: Sequence[str] = (),
    **ray_options: Any,
) -> ray.data.Dataset:
    """Predicts with a trained model, on all workers.

    Parameters
    ----------
    data : ray.data.Dataset, or path or list of paths
        As for :func:`embed`; targets are optional.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
        A model trained by :func:`train` or by its own ``fit``.
    skip_bad, keep, **ray_options
        As for :func:`embed`.

    Returns
    -------
    ray.data.Dataset
        A lazy result with the column ``prediction``, for a classifier ``scores``
        (decision values of all classes), and those of the columns ``id``, ``y`` and
        ``keep`` that exist.
    """
    plan = _cluster.trained_plan(model, skip_bad=skip_bad, keep=tuple(dict.fromkeys(["id", "y", *keep])))
    return _source(data, ray_options).map(partial(_cluster.predict, plan))


def _source(data, ray_options):
    if isinstance(data, ray.data.Dataset):
        return _Rows(data, ray_options)
    return _Files(_files.paths_of(data, "a ray.data.Dataset"), ray_options)


def _iter_of_one(table):
    return iter([table])


class _Rows:
    """A dataset whose blocks go to the workers."""

    def __init__(self, dataset, ray_options):
        self._dataset, self._options, self._blocks = dataset, ray_options, None
        taken = dataset.take(1)
        self.first = taken[0] if taken else None

    def map(self, work):
        return self._dataset.map_batches(
            partial(_on_block, work), batch_size=None, batch_format="pyarrow", **self._options
        )

    def parts(self):
        """The parts that are summed together, always in the same order."""
        if self._blocks is None:
            execution = self._dataset.context.execution_options
            before, execution.preserve_order = execution.preserve_order, True
            try:
                self._blocks = self._dataset.to_arrow_refs()
            finally:
                execution.preserve_order = before
        return self._blocks

    #: Reads a part as tables.
    tables: Callable[[Any], Iterator[Any]] = staticmethod(_iter_of_one)

    def reduce(self, job):
        options = dict(self._options)
        most = options.pop("concurrency", None)
        most = most[-1] if isinstance(most, (list, tuple)) else most
        job, tables = ray.put(job), self.tables
        gather, merge = ray.remote(_gather).options(**options), ray.remote(_merge).options(**options)
        # Children before their parents, so that sums are merged as soon as possible.
        levels, busy = [[]], []

        def add(level, state):
            if level == len(levels):
                levels.append([])
            levels[level].append(state)
            if len(levels[level]) == _cluster.FAN:
                close(level)

        def close(level):
            states, levels[level] = levels[level], []
            add(level + 1, merge.remote(job, *states) if len(states) > 1 else states[0])

        for part in self.parts():
            if most is not None and len(busy) >= most:
                _, busy = ray.wait(busy, num_returns=1, fetch_local=False)
            state = gather.remote(job, tables, part)
            busy = [*busy, state] if most is not None else busy
            add(0, state)
            del state
        level = 0
        while sum(map(len, levels)) > 1 or level < len(levels) - 1:
            if levels[level]:
                close(level)
            level += 1
        return ray.get(levels[-1][0])


def _gather(job, tables, part):
    return job(tables(part))


def _merge(job, *states):
    return job.merged(states)


def _on_block(work, table):
    yield from work(iter([table]))


class _Files(_Rows):
    """Files whose row groups the workers read."""

    def __init__(self, paths, ray_options):
        groups = _files.RowGroups(paths)
        self._options, self.first, self.parts = ray_options, groups.first, groups.sums
        self._dataset = ray.data.from_items(groups.tasks, override_num_blocks=groups.partitions)

    tables = staticmethod(_files.read_all)

    def map(self, work):
        return self._dataset.map_batches(
            partial(_on_groups, work), batch_size=1, batch_format="pyarrow", **self._options
        )


def _on_groups(work, tasks):
    for task in tasks.to_pylist():
        yield from work(_files.read(task))
