"""RDKit, or what to do where it is missing."""

try:
    from rdkit import Chem, rdBase
except ImportError:  # pragma: no cover
    raise ImportError("stepwell.molecules needs RDKit: pip install stepwell[molecules]") from None

__all__ = ["Chem", "rdBase"]
