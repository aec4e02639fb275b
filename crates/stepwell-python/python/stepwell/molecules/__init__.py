"""Molecules as graphs: SMILES in, atoms and bonds with features out.

Needs RDKit: ``pip install stepwell[molecules]``.
"""

from ._read import Molecules, from_mols, from_smiles, scaffolds
from ._scaffolds import scaffold_split
from ._tables import read_csv

__all__ = ["Molecules", "from_mols", "from_smiles", "read_csv", "scaffold_split", "scaffolds"]
