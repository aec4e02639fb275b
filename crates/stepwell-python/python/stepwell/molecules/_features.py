"""The feature sets of atoms and bonds.

A feature set is a list of columns for atoms and one for bonds. A column is a
category: RDKit's value of every atom or bond, mapped to an integer by a table of
codes, or used unchanged. Models have a one-hot column for every integer of their
training graphs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._rdkit import Chem


@dataclass(frozen=True)
class Column:
    """A category of atoms or bonds."""

    #: The name.
    name: str
    #: RDKit's value for an atom or bond: an integer, or a boolean.
    get: Callable[[Any], int]
    #: The integer for each of RDKit's values; None uses the values themselves.
    codes: Mapping[int, int] | None = None
    #: The integer for all values that ``codes`` does not list.
    other: int = 0

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """The integers for RDKit's values."""
        if self.codes is None:
            return values
        found, places = np.unique(values, return_inverse=True)
        return np.array([self.codes.get(int(value), self.other) for value in found], dtype=np.int32)[places]


@dataclass(frozen=True)
class FeatureSet:
    """The columns of atoms and of bonds."""

    atoms: tuple[Column, ...]
    bonds: tuple[Column, ...]


def _numbered(names, of, first=0):
    """Codes for values of an RDKit enumeration, in this order."""
    return {int(of.names[name]): code for code, name in enumerate(names, first)}


def _ranged(low, high):
    """Codes from 0 for a range of integers."""
    return {value: value - low for value in range(low, high + 1)}


def _cip(atom):
    """1 for R, 2 for S, 3 for a centre whose neighbours have no order, 0 elsewhere.

    The chiral tag itself depends on the order of the atoms, and this does not."""
    if not atom.GetChiralTag():
        return 0
    if not atom.HasProp("_CIPCode"):
        return 3
    return {"R": 1, "S": 2}.get(atom.GetProp("_CIPCode"), 3)


#: Feature sets that were already built.
_MADE: dict[str, FeatureSet] = {}


def feature_set(name: str) -> FeatureSet:
    """The feature set of that name."""
    sets = {"default": _default, "ogb": _ogb}
    if name not in sets:
        known = " or ".join(map(repr, sets))
        raise ValueError(f"features: expected {known}, found {name!r}")
    if name not in _MADE:
        _MADE[name] = sets[name]()
    return _MADE[name]


def _default():
    atom, bond = Chem.Atom, Chem.Bond
    kinds, stereo = Chem.BondType, Chem.BondStereo
    orbitals = _numbered(["S", "SP", "SP2", "SP3", "SP2D", "SP3D", "SP3D2"], Chem.HybridizationType, 1)
    return FeatureSet(
        atoms=(
            Column("element", atom.GetAtomicNum),
            Column("degree", atom.GetDegree),
            Column("charge", atom.GetFormalCharge),
            Column("hydrogens", atom.GetTotalNumHs),
            Column("hybridisation", atom.GetHybridization, orbitals),
            Column("aromatic", atom.GetIsAromatic),
            Column("ring", atom.IsInRing),
            Column("chirality", _cip),
        ),
        bonds=(
            Column("type", bond.GetBondType, _numbered(["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC"], kinds, 1)),
            Column("stereo", bond.GetStereo, _numbered(["STEREONONE", "STEREOZ", "STEREOE"], stereo), 3),
            Column("ring", bond.IsInRing),
            Column("conjugated", bond.GetIsConjugated),
        ),
    )


def _ogb():
    """OGB's ``atom_to_feature_vector`` and ``bond_to_feature_vector``."""
    atom, bond = Chem.Atom, Chem.Bond
    tags = ["CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER"]
    orbitals = ["SP", "SP2", "SP3", "SP3D", "SP3D2"]
    kinds = ["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC"]
    stereo = ["STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY"]
    return FeatureSet(
        atoms=(
            Column("element", atom.GetAtomicNum, _ranged(1, 118), 118),
            Column("chirality", atom.GetChiralTag, _numbered(tags, Chem.ChiralType), 4),
            Column("degree", atom.GetTotalDegree, _ranged(0, 10), 11),
            Column("charge", atom.GetFormalCharge, _ranged(-5, 5), 11),
            Column("hydrogens", atom.GetTotalNumHs, _ranged(0, 8), 9),
            Column("radicals", atom.GetNumRadicalElectrons, _ranged(0, 4), 5),
            Column("hybridisation", atom.GetHybridization, _numbered(orbitals, Chem.HybridizationType), 5),
            Column("aromatic", atom.GetIsAromatic),
            Column("ring", atom.IsInRing),
        ),
        bonds=(
            Column("type", bond.GetBondType, _numbered(kinds, Chem.BondType), 4),
            Column("stereo", bond.GetStereo, _numbered(stereo, Chem.BondStereo), 5),
            Column("conjugated", bond.GetIsConjugated),
        ),
    )
