"""Parquet files of graphs, on this machine or in an object store, by row group."""

import glob
import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from ._cluster import FILE, GROUP, ROW

#: The number of rows per sum: consecutive row groups of a file are summed together until
#: they have this many rows. The last bits of the sums depend on it.
SUMMED_ROWS = 10_000

#: The largest number of sums; with more rows, each sum has more rows.
MOST_SUMS = 4096

#: The largest number of tasks that a cluster is given.
_MOST_TASKS = 10_000

#: The size in memory of the pieces in which a row group is processed, in bytes.
_PIECE_BYTES = 32 << 20


def paths_of(data, wanted):
    """One path or several, as a list; ``wanted`` names the other accepted type."""
    kinds = (str, bytes, os.PathLike)
    paths = [data] if isinstance(data, kinds) else data
    if not isinstance(paths, (list, tuple)) or not all(isinstance(path, kinds) for path in paths):
        raise TypeError(f"data: expected {wanted} or paths, found {type(data).__name__}")
    return [os.fsdecode(path) for path in paths]


class RowGroups:
    """The row groups of files, each a task for a worker."""

    def __init__(self, paths):
        #: The argument of :func:`read` for each row group.
        self.tasks = []
        #: The first row, as a mapping.
        self.first = None
        #: The columns of the first file.
        self.schema = None
        #: The number of rows of each row group.
        self._rows = []
        files, position = list(_files(paths)), 0
        with ThreadPoolExecutor(16) as pool:  # most of the time is spent waiting for footers
            footers = list(pool.map(_footer, files))
        for path, (groups, schema) in zip(files, footers):
            self.schema = schema if self.schema is None else self.schema
            row = 0
            for group, rows in enumerate(groups):
                self.tasks.append({"path": path, "group": group, "row": row, "position": position})
                self._rows.append(rows)
                row, position = row + rows, position + rows
                if self.first is None and rows:
                    self.first = next(read(self.tasks[-1], limit=1)).to_pylist()[0]
        #: The number of rows.
        self.rows = position
        #: The number of partitions that the row groups are distributed in.
        self.partitions = min(max(len(self.tasks), 1), _MOST_TASKS)

    def sums(self):
        """The row groups that are summed together: lists of tasks, in order."""
        rows = max(SUMMED_ROWS, -(-self.rows // MOST_SUMS))
        together, count = [[]], 0
        for task, found in zip(self.tasks, self._rows):
            if count >= rows:
                together.append([])
                count = 0
            together[-1].append(task)
            count += found
        return together


def read(task, limit=None):
    """The rows of a row group in pieces, with the origin of each row."""
    file = _open(task["path"])
    group = file.metadata.row_group(task["group"])
    size = limit or max(1, _PIECE_BYTES * group.num_rows // max(group.total_byte_size, 1))
    row, position = task["row"], task["position"]
    for batch in file.iter_batches(batch_size=min(size, 1 << 16), row_groups=[task["group"]]):
        table, rows = pa.Table.from_batches([batch]), batch.num_rows
        if "id" not in table.column_names:
            table = table.append_column("id", pa.array([str(position + at) for at in range(rows)]))
        table = table.append_column(FILE, pa.array([task["path"]] * rows, pa.string()))
        table = table.append_column(ROW, pa.array(range(row, row + rows), pa.int64()))
        yield table.append_column(GROUP, pa.array([task["group"]] * rows, pa.int64()))
        row, position = row + rows, position + rows


def read_all(tasks):
    """The rows of several row groups, in order."""
    for task in tasks:
        yield from read(task)


def _footer(path):
    """The number of rows of each row group of a file, and its columns."""
    file = _open(path)
    groups = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
    return groups, file.schema_arrow


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
