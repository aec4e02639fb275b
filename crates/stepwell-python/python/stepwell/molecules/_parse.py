"""Converts SMILES to arrays, one chunk at a time, in worker processes."""

import operator
from dataclasses import dataclass

import numpy as np

from .._stepwell import RawBatch
from .._targets import is_gap
from ._features import feature_set
from ._rdkit import Chem, rdBase
from ._scaffolds import scaffold

#: The steps of RDKit's sanitisation that also work for invalid molecules.
_PARTLY = (
    Chem.SanitizeFlags.SANITIZE_SYMMRINGS
    | Chem.SanitizeFlags.SANITIZE_SETCONJUGATION
    | Chem.SanitizeFlags.SANITIZE_SETHYBRIDIZATION
)


@dataclass
class Chunk:
    """The molecules of a chunk as concatenated arrays."""

    #: The numbers of atoms and bonds of each molecule.
    atoms: np.ndarray
    bonds: np.ndarray
    #: The ends of the bonds, counted from 0 in each molecule.
    begins: np.ndarray
    ends: np.ndarray
    #: A row for each atom, and for each bond.
    atom_columns: np.ndarray
    bond_columns: np.ndarray
    #: Positions of invalid molecules in the chunk, and the reasons.
    wrong: list[tuple[int, str]]
    #: The scaffold of each molecule, if requested.
    scaffolds: list[str] | None

    def batch(self) -> RawBatch:
        """The molecules as graphs."""
        own, column = np.int64, np.uint32
        return RawBatch.of_arrays(
            self.atoms.astype(own),
            self.bonds.astype(own),
            self.begins.astype(column),
            self.ends.astype(column),
            None,
            None,
            np.ascontiguousarray(self.atom_columns, dtype=np.int32),
            False,
            edge_labels=np.ascontiguousarray(self.bond_columns, dtype=np.int32),
        )


def parse(texts, features, keep, scaffolds=False) -> Chunk:
    """The chunk of some SMILES. With ``keep``, invalid ones are read as far as possible;
    otherwise they are dropped."""
    with rdBase.BlockLogs():
        return chunk([_molecule(text, keep) for text in texts], features, keep, scaffolds)


def parse_scaffolds(texts, keep) -> tuple[list[str], list[tuple[int, str]]]:
    """The scaffolds of some SMILES, and positions of invalid ones."""
    with rdBase.BlockLogs():
        molecules = [_molecule(text, keep) for text in texts]
    wrong = [(position, reason) for position, (_, reason) in enumerate(molecules) if reason]
    return [scaffold(molecule) for molecule, reason in molecules if keep or not reason], wrong


def chunk(molecules, features, keep, scaffolds=False) -> Chunk:
    """The chunk of some molecules, given as pairs (molecule, reason); the reason is why a molecule
    is invalid."""
    columns = feature_set(features)
    wrong = [(position, reason) for position, (_, reason) in enumerate(molecules) if reason]
    found = [molecule for molecule, reason in molecules if keep or not reason]
    atoms: list[int] = []
    bonds: list[int] = []
    begins: list[int] = []
    ends: list[int] = []
    atom_values: list[list[int]] = [[] for _ in columns.atoms]
    bond_values: list[list[int]] = [[] for _ in columns.bonds]
    for molecule in found:
        listed = list(map(molecule.GetAtomWithIdx, range(molecule.GetNumAtoms())))
        atoms.append(len(listed))
        for column, values in zip(columns.atoms, atom_values):
            values.extend(map(column.get, listed))
        listed = list(map(molecule.GetBondWithIdx, range(molecule.GetNumBonds())))
        bonds.append(len(listed))
        begins.extend(map(Chem.Bond.GetBeginAtomIdx, listed))
        ends.extend(map(Chem.Bond.GetEndAtomIdx, listed))
        for column, values in zip(columns.bonds, bond_values):
            values.extend(map(column.get, listed))
    return Chunk(
        atoms=np.array(atoms, dtype=np.int32),
        bonds=np.array(bonds, dtype=np.int32),
        begins=np.fromiter(begins, dtype=np.int32, count=len(begins)),
        ends=np.fromiter(ends, dtype=np.int32, count=len(ends)),
        atom_columns=_table(columns.atoms, atom_values),
        bond_columns=_table(columns.bonds, bond_values),
        wrong=wrong,
        scaffolds=[scaffold(molecule) for molecule in found] if scaffolds else None,
    )


def checked(molecule):
    """A molecule of RDKit, and its fault if it is invalid."""
    if molecule is None:
        return Chem.Mol(), "None"
    if not isinstance(molecule, Chem.Mol):
        raise TypeError(f"molecules: expected RDKit molecules, found {type(molecule).__name__}")
    if molecule.GetNumAtoms() == 0:
        return molecule, "no atoms"
    if not molecule.HasProp("_StereochemDone") or molecule.NeedsUpdatePropertyCache():
        molecule = Chem.Mol(molecule)  # do not change the caller's molecule
        molecule.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(molecule)
        Chem.AssignStereochemistry(molecule)
    return molecule, ""


def _table(columns, values):
    """A row of integers for each atom or bond, as 16-bit integers if they fit."""
    table = np.empty((len(values[0]), len(columns)), dtype=np.int32)
    for position, column in enumerate(columns):
        found = np.fromiter(map(operator.index, values[position]), dtype=np.int32, count=len(table))
        table[:, position] = column.encoded(found)
    small = not table.size or np.abs(table).max() < 2**15
    return table.astype(np.int16) if small else table


def _molecule(text, keep):
    """The molecule of a SMILES, and its fault if it is invalid."""
    if not isinstance(text, str):
        return Chem.Mol(), "missing" if is_gap(text) else "not a string"
    text = text.strip()
    if not text:
        return Chem.Mol(), "empty"
    molecule = Chem.MolFromSmiles(text)
    if molecule is not None:
        return molecule, ""
    molecule = Chem.MolFromSmiles(text, sanitize=False)
    if molecule is None:
        return Chem.Mol(), "not valid SMILES"
    problems = [problem.Message() for problem in Chem.DetectChemistryProblems(molecule)]
    if keep:
        molecule.UpdatePropertyCache(strict=False)
        Chem.SanitizeMol(molecule, _PARTLY, catchErrors=True)
    return molecule, problems[0] if problems else "cannot be sanitised"
