"""Tables of molecules for the command line."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._saving import _as_targets
from .._stepwell import RawBatch
from ._tables import read_csv


@dataclass
class Found:
    """The molecules of a table, with targets, groups and splits."""

    name: str
    graphs: RawBatch
    y: Any
    binary: bool
    target_names: list[str]
    ids: list[str] | None
    split: list[str] | None
    groups: list[str] | None
    notes: list[str]


def read(path, columns, features, errors, processes, verbose) -> Found:
    """Reads a table. Columns are those of SMILES, of targets, of groups and of parts."""
    smiles, targets, groups, split = columns
    targets = targets[0] if len(targets) == 1 else targets
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        ds = read_csv(
            path, smiles, targets, groups=groups, split=split, features=features, errors=errors, n_jobs=processes,
            verbose=verbose,
        )
    y = ds.y
    if y is not None and y.dtype.kind == "f" and np.isnan(y).any():
        y = y.reshape(len(y), -1)  # a list of targets may have gaps, even of one
    several = y is not None and y.ndim == 2
    molecules: Any = ds.graphs
    rows = molecules.rows
    return Found(
        name=ds.name,
        graphs=molecules._raw,
        y=None if y is None else _as_targets(y),
        binary=several and bool(np.isin(y[~np.isnan(y)], (0, 1)).all()),
        target_names=ds.target_names,
        # Where rows are missing, the others keep their numbers.
        ids=None if len(rows) == 0 or rows[-1] + 1 == len(rows) else [str(row) for row in rows],
        split=None if ds.split is None else ds.split.tolist(),
        groups=None if ds.groups is None else ds.groups.tolist(),
        notes=[str(warning.message) for warning in told],
    )
