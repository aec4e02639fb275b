"""Embeddings on a Ray cluster: rows of graphs in, rows of vectors out.

Needs ``pip install 'stepwell[ray]'`` on the driver and on the workers. Every
task computes with one thread; give Ray as many CPUs as there are.

    import stepwell.ray
    from stepwell import PyramidalReservoir

    vectors = stepwell.ray.embed("graphs/", PyramidalReservoir(units=100))
    vectors.write_parquet("vectors/")
"""

import glob
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias, TypeVar

try:
    import pyarrow as pa
    import pyarrow.fs
    import pyarrow.parquet as pq
    import ray.data
except ImportError as error:
    raise ImportError(f"stepwell.ray needs Ray and pyarrow ({error}): pip install 'stepwell[ray]'") from error

from . import _cluster
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir

__all__ = ["embed", "fit", "fit_ridge"]

_Data: TypeAlias = ray.data.Dataset | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_Model = TypeVar("_Model", PyramidalReservoirClassifier, PyramidalReservoirRegressor)

#: Bytes of a row group, as it lies in memory, that are looked at together.
_PIECE_BYTES = 32 << 20

#: Row groups become at most so many tasks.
_MOST_TASKS = 10_000


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
        A graph per row, in the columns of the schema. Of Parquet files every
        row group becomes a task; a path may name a file, a folder, a pattern
        or an object store's address.
    model : PyramidalReservoir, optional
        What embeds. If it is not fitted, it is fitted on ``data`` first, which
        takes a pass over the graphs where their features must be.
    skip_bad : bool
        Whether a row that cannot be used comes out without an embedding, and
        with what is wrong with it in a column ``error``, instead of ending the
        work. Filtering by that column counts such rows, or leaves them out.
    keep : list of str
        Columns that stay, beside ``id`` and ``y``.
    **ray_options
        For ``Dataset.map_batches``: ``concurrency``, ``num_cpus``, ``memory``, …

    Returns
    -------
    ray.data.Dataset
        Not computed yet, with the columns ``id``, ``y`` and ``keep`` as far as
        there are any, and ``embedding``. Rows of files that have no ``id`` are
        called by their position among all.
    """
    source = _source(data, ray_options)
    model = PyramidalReservoir() if model is None else model
    plan = _cluster.fitted_plan(source, model, skip_bad, dict.fromkeys(["id", "y", *keep]))
    return source.map(partial(_embed, plan))


def fit(
    data: _Data, model: PyramidalReservoir | None = None, *, skip_bad: bool = False, **ray_options: Any
) -> PyramidalReservoir:
    """A fitted copy of a model: features as all graphs ask for, then weights.

    Where features are taken as they are, no graph is looked at but the first.
    The result is the model that ``model.fit`` makes of the same graphs on one
    machine, to the bit.
    """
    source = _source(data, ray_options)
    fitted, _ = _cluster.fit(source, PyramidalReservoir() if model is None else model, skip_bad)
    return fitted


def fit_ridge(data: _Data, model: _Model, *, y: str = "y", skip_bad: bool = False, **ray_options: Any) -> _Model:
    """A trained copy of a classifier or regressor.

    Vectors are computed on the workers, which send the moments of theirs. That
    takes one pass for one ``alpha``, one more to choose among several, one more
    with ``random_features``, and one at the beginning where features are fitted
    or classes counted. The result is that of ``model.fit`` up to rounding.

    Parameters
    ----------
    data : ray.data.Dataset, or path or list of paths
        As for :func:`embed`.
    model : PyramidalReservoirClassifier or PyramidalReservoirRegressor
    y : str
        The column to predict.
    skip_bad : bool
        Whether rows that cannot be used are left out; ``skipped_`` counts them.
    **ray_options
        For ``Dataset.map_batches``.
    """
    return _cluster.fit_ridge(_source(data, ray_options), model, y, skip_bad)


def _embed(plan, tables):
    yield from _cluster.embed(plan, tables)


def _state(job, tables):
    yield pa.table({"state": [job(tables)]}, schema=_cluster.STATE)


def _source(data, ray_options):
    if isinstance(data, ray.data.Dataset):
        return _Rows(data, ray_options)
    paths = [data] if isinstance(data, (str, os.PathLike)) else data
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise TypeError(f"data: expected a ray.data.Dataset or paths, found {type(data).__name__}")
    return _Files([os.fspath(path) for path in paths], ray_options)


class _Rows:
    """A dataset whose blocks go to the workers."""

    #: What a file said about its features, Ray does not tell.
    raw = True

    def __init__(self, dataset, ray_options):
        self._dataset, self._options = dataset, ray_options
        taken = dataset.take(1)
        self.first = taken[0] if taken else None

    def map(self, work):
        return self._dataset.map_batches(
            partial(_on_block, work), batch_size=None, batch_format="pyarrow", **self._options
        )

    def gather(self, job):
        for row in self.map(partial(_state, job)).iter_rows():
            yield row["state"]


def _on_block(work, table):
    yield from work(iter([table]))


class _Files(_Rows):
    """Files whose row groups the workers read."""

    def __init__(self, paths, ray_options):
        self._options = ray_options
        tasks, self.first, self.raw = [], None, True
        position = 0
        files = list(_files(paths))
        with ThreadPoolExecutor(16) as pool:  # most of it is waiting for footers
            footers = list(pool.map(_footer, files))
        for path, (groups, raw) in zip(files, footers):
            self.raw = raw if not tasks else self.raw
            row = 0
            for group, rows in enumerate(groups):
                tasks.append({"path": path, "group": group, "row": row, "position": position})
                row, position = row + rows, position + rows
                if self.first is None and rows:
                    self.first = next(_read(tasks[-1], limit=1)).to_pylist()[0]
        blocks = min(max(len(tasks), 1), _MOST_TASKS)
        self._dataset = ray.data.from_items(tasks, override_num_blocks=blocks)

    def map(self, work):
        return self._dataset.map_batches(
            partial(_on_groups, work), batch_size=1, batch_format="pyarrow", **self._options
        )


def _on_groups(work, tasks):
    for task in tasks.to_pylist():
        yield from work(_read(task))


def _read(task, limit=None):
    """The rows of a row group, some at a time, and where each of them was found."""
    file = _open(task["path"])
    group = file.metadata.row_group(task["group"])
    size = limit or max(1, _PIECE_BYTES * group.num_rows // max(group.total_byte_size, 1))
    row, position = task["row"], task["position"]
    for batch in file.iter_batches(batch_size=min(size, 1 << 16), row_groups=[task["group"]]):
        table, rows = pa.Table.from_batches([batch]), batch.num_rows
        if "id" not in table.column_names:
            table = table.append_column("id", pa.array([str(position + at) for at in range(rows)]))
        table = table.append_column(_cluster.FILE, pa.array([task["path"]] * rows, pa.string()))
        table = table.append_column(_cluster.ROW, pa.array(range(row, row + rows), pa.int64()))
        yield table.append_column(_cluster.GROUP, pa.array([task["group"]] * rows, pa.int64()))
        row, position = row + rows, position + rows


def _footer(path):
    """How many rows the row groups of a file have, and whether its attributes are taken as they are."""
    file = _open(path)
    facts = (file.schema_arrow.metadata or {}).get(b"stepwell")
    features = {} if facts is None else json.loads(facts).get("features", {})
    groups = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    return groups, bool(features.get("raw", not features))


def _open(path):
    if "://" in path:
        system, path = pyarrow.fs.FileSystem.from_uri(path)
        return pq.ParquetFile(system.open_input_file(path))
    return pq.ParquetFile(path)


def _files(paths):
    """All files of paths, those of a folder by name."""
    for path in paths:
        if "://" in path:
            system, inner = pyarrow.fs.FileSystem.from_uri(path)
            scheme = path.partition("://")[0]
            info = system.get_file_info(inner)
            if info.type == pyarrow.fs.FileType.File:
                yield path
                continue
            inside = system.get_file_info(pyarrow.fs.FileSelector(inner, recursive=True))
            found = [f"{scheme}://{each.path}" for each in inside if each.path.endswith(".parquet")]
        elif os.path.isdir(path):
            found = glob.glob(os.path.join(glob.escape(path), "**", "*.parquet"), recursive=True)
        else:
            found = [path] if os.path.exists(path) else glob.glob(path, recursive=True)
        if not found:
            raise FileNotFoundError(f"{path}: expected Parquet files, found none")
        yield from sorted(found)
