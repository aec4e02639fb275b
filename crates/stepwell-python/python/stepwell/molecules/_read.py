"""Converts SMILES or RDKit molecules to a sequence of graphs."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, overload

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .._datasets import _Graphs, _positions
from .._graphs import Graph, kind_of
from .._progress import Progress
from .._reservoir import _threads
from .._stepwell import RawBatch
from .._types import MoleculeFeatures, SmilesErrors
from ._features import feature_set
from ._parse import Chunk, checked, chunk, parse, parse_scaffolds
from ._rdkit import Chem

#: The number of molecules that a process takes at a time.
_CHUNK = 512

#: The number of molecules for which it pays to start a process. A process needs seconds to
#: import RDKit, in which it could convert about this many.
_PER_PROCESS = 20_000

#: How to treat invalid molecules, in functions with a parameter ``errors``.
ADVICE = "errors='skip' drops them, errors='keep' keeps what RDKit can read"


class Molecules(_Graphs):
    """A sequence of molecules as graphs. Index it by a position, a slice, a list of
    positions or a mask.

    Attributes
    ----------
    rows : array of int
        The position of each molecule in the input; with ``errors="skip"``, some
        positions are missing.
    features : str
        The feature set.
    """

    def __init__(self, raw: RawBatch, rows: NDArray[np.int64], features: str) -> None:
        super().__init__(raw.of_molecules(features))
        self.rows = rows
        self.features = features

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Graph: ...
    @overload
    def __getitem__(self, key: slice | list[int] | list[bool] | NDArray[Any]) -> "Molecules": ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            key = np.arange(len(self))[key]
        if not hasattr(key, "__iter__"):
            return super().__getitem__(key)
        chosen = _positions(key, len(self))
        return Molecules(self._raw.select(chosen), self.rows[chosen], self.features)

    def __repr__(self) -> str:
        return f"<{len(self)} molecules>"


def from_smiles(
    smiles: Iterable[str],
    *,
    features: MoleculeFeatures = "default",
    errors: SmilesErrors = "raise",
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Molecules:
    """Converts SMILES to graphs: a vertex for each heavy atom, an edge for each bond.

    Parameters
    ----------
    smiles : sequence of str
        A list, an array or a column of a data frame.
    features : {"default", "ogb"}
        The features of atoms and bonds: Stepwell's, or those of the Open Graph Benchmark.
    errors : {"raise", "skip", "keep"}
        The treatment of invalid SMILES. "raise" raises an error that names them.
        "skip" drops them; ``rows`` lists the others. "keep" keeps atoms and bonds as
        written, and makes a graph without vertices of a string that is not a SMILES.
    n_jobs : int, optional
        Number of processes, at most one per 20,000 molecules, because a process needs
        seconds to start. None means 1, -1 one per core.
    verbose : bool
        Report progress on stderr.

    Returns
    -------
    Molecules

    Examples
    --------
    >>> from stepwell.molecules import from_smiles
    >>> molecules = from_smiles(["CCO", "c1ccccc1", "[Na+].[Cl-]"])
    >>> molecules
    <3 molecules>
    >>> molecules[0]
    Graph(3 nodes, 2 edges, 0 features, 8 labels, 4 edge labels)
    >>> len(molecules[1:])
    2
    """
    texts = as_texts(smiles)
    if any(isinstance(text, Chem.Mol) for text in texts):
        raise TypeError("smiles: expected SMILES, found RDKit molecules; use from_mols")
    check(features, errors)
    batch, wrong, _ = read(texts, features, errors, n_jobs, verbose)
    return Molecules(batch, rows_read(wrong, texts, errors), features)


def for_estimator(given: Any, features: str, n_jobs: int | None = None, verbose: bool = False) -> RawBatch:
    """Converts the SMILES or the RDKit molecules given to an estimator."""
    listed = as_texts(given)
    converter = "from_smiles"
    if any(isinstance(each, Chem.Mol) for each in listed):
        converter = "from_mols"
        batch, wrong = _of_mols(listed, features, "raise")
    else:
        batch, wrong, _ = read(listed, features, "raise", n_jobs, verbose)
    chosen = "" if features == "default" else f"features={features!r}, "
    call = f"stepwell.molecules.{converter}(…, {chosen}errors='skip')"
    advice = f"convert them first: {call} drops invalid ones, and its .rows lists the positions of the others"
    place = "smiles" if converter == "from_smiles" else "molecules"
    rows_read(wrong, listed, "raise", place, advice=advice)
    return batch.of_molecules(features)


def from_mols(
    molecules: Iterable[Any], *, features: MoleculeFeatures = "default", errors: SmilesErrors = "raise"
) -> Molecules:
    """Converts RDKit molecules to graphs, as :func:`from_smiles` does for SMILES.

    An explicit hydrogen atom becomes a vertex; ``Chem.RemoveHs`` removes them.

    Parameters
    ----------
    molecules : sequence of rdkit.Chem.Mol
    features : {"default", "ogb"}
        The features of atoms and bonds.
    errors : {"raise", "skip", "keep"}
        The treatment of None and of molecules without atoms: an error that names
        them, skip them, or make graphs without vertices.

    Returns
    -------
    Molecules

    Examples
    --------
    >>> from rdkit import Chem
    >>> from stepwell.molecules import from_mols
    >>> from_mols([Chem.MolFromSmiles("CCO")])[0].num_nodes
    3
    """
    check(features, errors)
    listed = list(molecules)
    batch, wrong = _of_mols(listed, features, errors)
    return Molecules(batch, rows_read(wrong, listed, errors, place="molecules"), features)


def _of_mols(molecules, features, errors):
    """RDKit's molecules as one batch, and the invalid ones with reasons."""
    listed = [checked(molecule) for molecule in molecules]
    parts = (listed[first : first + _CHUNK] for first in range(0, len(listed), _CHUNK))
    pieces = (chunk(part, features, errors == "keep") for part in parts)
    batch, wrong, _ = _joined(pieces, len(listed))
    return batch, wrong


def scaffolds(smiles: Iterable[str], *, errors: SmilesErrors = "raise", n_jobs: int | None = None) -> list[str]:
    """Returns the Bemis–Murcko scaffold of each molecule as SMILES, with chirality.

    Molecules with the same scaffold are similar, so a test score is too optimistic if
    they are in both training and test part. Pass the scaffolds as groups to
    ``GroupKFold``, or split by them with :func:`scaffold_split`. Molecules without rings
    have the scaffold ``""``.

    Parameters
    ----------
    smiles : sequence of str
    errors : {"raise", "skip", "keep"}
        As in :func:`from_smiles`.
    n_jobs : int, optional
        Number of processes, as in :func:`from_smiles`.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from stepwell.molecules import scaffolds
    >>> scaffolds(["CCO", "Cc1ccccc1", "OC1CC1"])
    ['', 'c1ccccc1', 'C1CC1']
    """
    texts = as_texts(smiles)
    check("default", errors)
    found: list[str] = []
    wrong: list[tuple[int, str]] = []
    for first, (names, bad) in enumerate(_in_chunks(parse_scaffolds, texts, n_jobs, errors == "keep")):
        found += names
        wrong += [(first * _CHUNK + position, reason) for position, reason in bad]
    rows_read(wrong, texts, errors)
    return found


def as_texts(smiles) -> list[Any]:
    """The SMILES of a sequence, of a data frame's column, or of a table with one column."""
    if hasattr(smiles, "collect") and hasattr(smiles, "lazy"):  # Polars, not yet collected
        smiles = smiles.collect()
    names = getattr(smiles, "column_names", None)  # pyarrow's columns have no names
    names = getattr(smiles, "columns", None) if names is None else names
    if names is not None:
        if len(names) != 1:  # iterating would return the names of the columns
            listed = ", ".join(map(repr, names)) or "no columns"
            hint = next((name for name in names if "smiles" in str(name).lower()), names[0] if len(names) else "smiles")
            raise TypeError(f"smiles: expected a column of SMILES, found a table of {listed}; pass df[{hint!r}]")
        smiles = smiles[names[0]]
    elif getattr(smiles, "ndim", 1) == 2 and smiles.shape[1] == 1:
        smiles = smiles[:, 0]
    if isinstance(smiles, (str, bytes, Mapping)) or not hasattr(smiles, "__iter__") or getattr(smiles, "ndim", 1) != 1:
        raise TypeError(f"smiles: expected a sequence of SMILES, found {kind_of(smiles)}")
    for convert in ("tolist", "to_list", "to_pylist"):  # NumPy and pandas, Polars, pyarrow
        if hasattr(smiles, convert):
            return getattr(smiles, convert)()
    return list(smiles)


def read(texts, features, errors, n_jobs, verbose, scaffolds=False):
    """The molecules as one batch, the invalid ones with reasons, and the scaffolds if
    requested."""
    with Progress(verbose, "reading molecules", len(texts)) as report:
        pieces = _in_chunks(parse, texts, n_jobs, features, errors == "keep", scaffolds)
        return _joined(pieces, len(texts), report)


def _in_chunks(work, texts, n_jobs, *arguments) -> Iterator[Any]:
    """The results of all chunks, in order; other processes compute some ahead."""
    parts = (texts[first : first + _CHUNK] for first in range(0, len(texts), _CHUNK))
    processes = min(_threads(n_jobs), len(texts) // _PER_PROCESS)
    if processes < 2:
        return (work(part, *arguments) for part in parts)
    workers = Parallel(n_jobs=processes, return_as="generator", pre_dispatch="3*n_jobs", batch_size=1)
    return workers(delayed(work)(part, *arguments) for part in parts)


def _joined(pieces: Iterable[Chunk], count, report=None):
    """The molecules of all chunks, the invalid ones, and the scaffolds."""
    batches: list[RawBatch] = []
    wrong: list[tuple[int, str]] = []
    scaffolds: list[str] = []
    for number, piece in enumerate(pieces):
        wrong += [(number * _CHUNK + position, reason) for position, reason in piece.wrong]
        batches.append(piece.batch())
        scaffolds += piece.scaffolds or []
        if report:
            report(min((number + 1) * _CHUNK, count))
    return RawBatch.joined(batches), wrong, scaffolds


def rows_read(wrong, told, errors, place="smiles", first_row=0, advice=ADVICE, stacklevel=3):
    """The positions of the remaining molecules. Reports the invalid ones."""
    rows = np.arange(len(told))
    if not wrong:
        return rows
    listed = "; ".join(_named(position, reason, told, first_row) for position, reason in wrong[:5])
    more = f"; and {len(wrong) - 5} more" if len(wrong) > 5 else ""
    found = f"{place}: {len(wrong)} of {len(told)} molecules cannot be read: {listed}{more}"
    if errors == "raise":
        raise ValueError(f"{found}; {advice}")
    done = "skipped" if errors == "skip" else "kept as far as RDKit can read them"
    warnings.warn(f"{found}; they are {done}", stacklevel=stacklevel)
    return np.delete(rows, [position for position, _ in wrong]) if errors == "skip" else rows


def _named(position, reason, told, first_row):
    text = told[position]
    shown = f" '{text[:40]}{'…' if len(text) > 40 else ''}'" if isinstance(text, str) and text.strip() else ""
    return f"row {position + first_row}{shown} ({reason})"


def check(features, errors):
    """Checks the names of options."""
    feature_set(features)
    if errors not in ("raise", "skip", "keep"):
        raise ValueError(f"errors: expected 'raise', 'skip' or 'keep', found {errors!r}")
