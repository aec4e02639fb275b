"""Scaffolds, and splits by them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ._rdkit import Chem, rdBase


def scaffold(molecule: Chem.Mol) -> str:
    """The Bemis–Murcko scaffold of a molecule as SMILES, with chirality: its rings and
    the chains between them. A molecule without rings has the scaffold ``""``."""
    with rdBase.BlockLogs():
        # Like RDKit's MurckoScaffoldSmiles, but also for molecules that fail its checks.
        found = Chem.MurckoDecompose(molecule)
        found.ClearComputedProps()
        found.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(found)
        return Chem.MolToSmiles(found)


def scaffold_split(
    scaffolds: Sequence[str], fractions: tuple[float, float, float] = (0.8, 0.1, 0.1)
) -> NDArray[np.str_]:
    """Splits molecules by scaffold, by the rule of OGB.

    Scaffolds are sorted by their number of molecules, largest first; among equals, the
    one whose first molecule comes last goes first. Each scaffold goes to the training
    part while there is room, then to validation, then to test. So the test part has the
    rare scaffolds.

    Parameters
    ----------
    scaffolds : sequence of str
        The scaffold of every molecule, as returned by :func:`scaffolds`.
    fractions : (float, float, float)
        The shares of training, validation and test molecules.

    Returns
    -------
    array of str
        "train", "validation" or "test" for each molecule.

    Examples
    --------
    >>> from stepwell.molecules import scaffold_split, scaffolds
    >>> smiles = ["CCO", "CCN", "CCC", "c1ccccc1O", "c1ccccc1N", "C1CC1"]
    >>> scaffold_split(scaffolds(smiles), (0.5, 0.3, 0.2)).tolist()
    ['train', 'train', 'train', 'test', 'test', 'validation']
    """
    if len(fractions) != 3 or min(fractions) < 0 or abs(sum(fractions) - 1) > 1e-9:
        raise ValueError(f"fractions: expected three shares that sum to 1, found {fractions}")
    members: dict[str, list[int]] = {}
    for position, name in enumerate(scaffolds):
        members.setdefault(name, []).append(position)
    count = len(scaffolds)
    train_limit, valid_limit = fractions[0] * count, (fractions[0] + fractions[1]) * count
    parts = np.full(count, "test", dtype="<U10")
    train = valid = 0
    for rows in sorted(members.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if train + len(rows) <= train_limit:
            parts[rows] = "train"
            train += len(rows)
        elif train + valid + len(rows) <= valid_limit:
            parts[rows] = "validation"
            valid += len(rows)
    return parts
