"""Imports RDKit, or raises an error that says how to install it."""

try:
    from rdkit import Chem, rdBase
except ImportError:  # pragma: no cover
    raise ImportError("stepwell.molecules needs RDKit: pip install stepwell[molecules]") from None

__all__ = ["Chem", "rdBase"]
