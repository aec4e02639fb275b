"""Tables of molecules for the command line."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._saving import _as_targets
from .._stepwell import RawBatch
from ._tables import is_integer, read_table, texts_of

#: How to treat invalid molecules.
_ADVICE = "--smiles-errors skip drops them, --smiles-errors keep keeps what RDKit can read"


@dataclass
class Found:
    """The molecules of a table, with targets, groups and splits."""

    name: str
    graphs: RawBatch
    y: Any
    binary: bool
    #: The rows whose classes ``y`` holds, if others have none.
    known: list[int] | None
    target_names: list[str]
    ids: list[str] | None
    split: list[str] | None
    groups: list[str] | None
    notes: list[str]


def read(path, columns, features, errors, processes, verbose, only=None) -> Found:
    """Reads a table, or ``only`` one row of it. ``columns`` names the columns of SMILES,
    targets, groups, parts and ids."""
    smiles, targets, groups, split, ids = columns if only is None else (*columns[:2], None, None, None)
    targets = targets[0] if len(targets) == 1 else targets
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        ds = read_table(
            path, smiles, targets, ids, groups, split, features, errors, processes, verbose, _ADVICE, only
        )
    y, known = ds.y, None
    if y is not None and y.dtype.kind == "f" and np.isnan(y).any():
        if y.ndim == 1 and _are_classes(path, targets, y):
            y = np.array([None if np.isnan(value) else int(value) for value in y], dtype=object)
        else:
            y = y.reshape(len(y), -1)  # a list of targets may have missing values, even a list of one
    several = y is not None and y.ndim == 2
    binary = several and bool(np.isin(y[~np.isnan(y)], (0, 1)).all())
    molecules: Any = ds.graphs
    rows = molecules.rows
    if y is not None and only is not None:
        y = y[rows]
    if y is not None and y.dtype.kind == "O":  # some molecules have no class
        known = [row for row, value in enumerate(y) if value is not None]
        y = y[known] if known else None
    return Found(
        name=ds.name,
        graphs=molecules._raw,
        y=None if y is None else _as_targets(y),
        binary=binary,
        known=known,
        target_names=ds.target_names,
        # If rows are missing, the others keep their numbers.
        ids=ds.ids if ids else None if len(rows) == 0 or rows[-1] + 1 == len(rows) else [str(row) for row in rows],
        split=None if ds.split is None else ds.split.tolist(),
        groups=None if ds.groups is None else ds.groups.tolist(),
        notes=[str(warning.message) for warning in told],
    )


def _are_classes(path, target, y):
    """Whether numbers with gaps are classes: 0 and 1, or integers in the file."""
    known = y[~np.isnan(y)]
    return np.isin(known, (0, 1)).all() or all(map(is_integer, texts_of(path, target)))
