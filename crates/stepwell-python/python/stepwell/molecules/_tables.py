"""Tables of molecules in CSV files."""

import csv
import gzip
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._datasets import Dataset
from .._types import AnyPath, MoleculeFeatures, SmilesErrors
from ._read import ADVICE, Molecules, check, read, rows_read
from ._scaffolds import scaffold_split


def read_csv(
    path: AnyPath,
    smiles: str = "smiles",
    targets: str | Sequence[str] = (),
    *,
    ids: str | None = None,
    groups: str | None = None,
    split: Literal["scaffold"] | str | None = None,
    features: MoleculeFeatures = "default",
    errors: SmilesErrors = "raise",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Dataset:
    """Reads molecules from a CSV file with a header: SMILES, targets, ids and groups.

    Parameters
    ----------
    path : path
        ``.csv``, or ``.tsv`` with tabs in place of commas; both may be gzipped (``.gz``).
    smiles : str
        The column of SMILES.
    targets : str or list of str
        The target columns. A single name gives an array of integers, floats or
        strings; a list gives a float array with a column for each. Missing values
        (empty, "NA", "N/A", "NaN", "null", "None") of numbers are NaN, those of strings
        are None.
    ids : str, optional
        The column of ids.
    groups : str, optional
        "scaffold" for the Bemis–Murcko scaffold, or a column.
    split : str, optional
        "scaffold" for OGB's split by scaffold, 80 : 10 : 10, or a column of "train",
        "validation" and "test".
    features, errors, n_jobs, verbose
        As in :func:`from_smiles`. Skipped rows are also dropped from ``y``.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stepwell.molecules import read_csv
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "mols.csv")
    ...     _ = path.write_text("smiles,logS\\nCCO,1.1\\nc1ccccc1,-1.6\\n")
    ...     ds = read_csv(path, targets="logS")
    >>> ds, ds.y
    (Dataset('mols', 2 graphs), array([ 1.1, -1.6]))
    """
    read_as = {"features": features, "errors": errors, "n_jobs": n_jobs, "verbose": verbose}
    return read_table(path, smiles, targets, ids, groups, split, **read_as)


def read_table(
    path, smiles, targets, ids, groups, split, features, errors, n_jobs, verbose, advice=ADVICE, only=None
) -> Dataset:
    """:func:`read_csv`, with other ``advice`` about invalid SMILES.

    With ``only``, it converts the molecule of a single row. ``y`` still has a value for every
    row, because all of them determine its type.
    """
    path = Path(os.fsdecode(path))
    several = not isinstance(targets, str)
    names = list(targets) if several else [str(targets)]
    plain = [name for name in (groups, split) if name not in (None, "scaffold")]
    columns = _columns(path, [smiles, *names, *([ids] if ids else []), *plain])
    check(features, errors)
    by_scaffold = "scaffold" in (groups, split)
    place, texts, first = os.fspath(path), columns[smiles], 0
    if only is not None:
        if not 0 <= only < len(texts):
            raise ValueError(f"{place}: expected a row from 0 to {len(texts) - 1}, found {only}")
        texts, first = texts[only : only + 1], only
    batch, wrong, scaffolds = read(texts, features, errors, n_jobs, verbose, by_scaffold)
    kept_rows = first + rows_read(wrong, texts, errors, place, first, advice, stacklevel=4)
    molecules = Molecules(batch, kept_rows, features)
    rows = molecules.rows if only is None else np.arange(len(columns[smiles]))
    kept = {name: [values[row] for row in rows] for name, values in columns.items() if name != smiles}
    y: Any = None
    if several and names:
        y = np.column_stack([_numbers(kept[name], name, place, rows) for name in names])
    elif names:
        y = _values(kept[names[0]], names[0], place, rows)
    parts: Any = None
    if split == "scaffold":
        parts = scaffold_split(scaffolds)
    elif split is not None:
        parts = np.array(kept[split])
    return Dataset(
        name=os.fsencode(path.name).decode(errors="replace").partition(".")[0],
        graphs=molecules,
        y=y,
        ids=kept[ids] if ids else None,
        split=parts,
        target_names=names,
        groups=None if groups is None else np.array(scaffolds if groups == "scaffold" else kept[groups], dtype=np.str_),
    )


def _columns(path, names):
    """The strings of some columns."""
    packed = path.suffix == ".gz"
    plain = path.with_suffix("") if packed else path
    columns = {name: [] for name in names}
    # Bytes that are not UTF-8 become surrogates, which are errors where a cell is used.
    opened = gzip.open if packed else open
    try:
        with opened(path, "rt", newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            rows = csv.reader(file, delimiter="\t" if plain.suffix == ".tsv" else ",")
            header = next(rows, [])
            for name in header:
                _check_text(name, f"{path}: expected column names in UTF-8")
            places = {name: _place(path, header, name) for name in names}
            for row in rows:
                if not row:
                    continue
                number = len(columns[names[0]])  # counted from 0, like ids
                if len(row) != len(header):
                    expected = f"{len(header)} values, as in the header"
                    raise ValueError(f"{path}, row {number}: expected {expected}, found {len(row)}")
                for name, position in places.items():
                    _check_text(row[position], f"{path}, row {number}: expected UTF-8 in column {name!r}")
                    columns[name].append(row[position])
    except csv.Error as error:
        number = len(columns[names[0]])
        raise ValueError(f"{path}, row {number}: expected a row of the table, found: {error}; is a quote missing?") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: expected a complete gzip file, found: {error}") from None
    return columns


def _place(path, header, name):
    """The position of a column."""
    count = header.count(name)
    if count == 0:
        found = ", ".join(map(repr, header)) or "an empty file"
        raise ValueError(f"{path}: expected a column {name!r}, found {found}")
    if count > 1:
        raise ValueError(f"{path}: expected one column {name!r}, found {count}; rename all but one")
    return header.index(name)


def _check_text(text, expected):
    """Raises an error if bytes of a text were not UTF-8."""
    if not text.isascii() and any("\udc80" <= letter <= "\udcff" for letter in text):
        found = text[:40].encode("utf-8", "surrogateescape")
        raise ValueError(f"{expected}, found {found!r}; save the table as UTF-8")


#: Cells without a value, in lower case.
_MISSING = frozenset(["", "na", "n/a", "nan", "null", "none"])


def _is_missing(text):
    return text.strip().lower() in _MISSING


def texts_of(path, name):
    """The known values of a column, as written."""
    return [text for text in _columns(Path(os.fsdecode(path)), [name])[name] if not _is_missing(text)]


def is_integer(text):
    try:
        int(text)
    except ValueError:
        return False
    return True


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def _values(texts, name, place, rows):
    """Integers, or floats with NaN for missing values, or class names with None for missing ones."""
    known = [text for text in texts if not _is_missing(text)]
    # A column of numbers with a typing error is not a column of class names.
    if 2 * sum(map(_is_number, known)) > len(known):
        numbers = _numbers(texts, name, place, rows)
        try:
            return np.array([int(text) for text in texts])
        except ValueError:
            return numbers
    if len(known) == len(texts):
        return np.array([text.strip() for text in texts])
    return np.array([None if _is_missing(text) else text.strip() for text in texts], dtype=object)


def _numbers(texts, name, place, rows):
    """Numbers, with NaN for missing values."""
    numbers = np.full(len(texts), np.nan)
    for position, text in enumerate(texts):
        if not _is_missing(text):
            try:
                numbers[position] = float(text)
            except ValueError:
                where = f"{place}, row {rows[position]}"
                raise ValueError(f"{where}: expected a number in column {name!r}, found {text!r}") from None
    return numbers
