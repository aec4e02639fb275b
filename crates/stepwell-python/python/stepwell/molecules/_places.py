"""RDKit's positions of the atoms of a molecule, for drawing."""

import numpy as np
from numpy.typing import NDArray

from .._stepwell import RawGraph
from ._features import feature_set
from ._rdkit import Chem, rdBase

#: The types of bonds by name; others are drawn as single bonds.
_KINDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")


def places(graph: RawGraph) -> NDArray[np.float64] | None:
    """RDKit's coordinates for the atoms of a graph made from a molecule."""
    from rdkit.Chem import rdDepictor

    labels = graph.labels()
    if graph.molecules is None or labels is None:
        return None
    columns = feature_set(graph.molecules)
    if labels.shape[1] != len(columns.atoms):
        return None
    element, kind = columns.atoms[0], columns.bonds[0]
    assert kind.codes is not None  # bonds have no numbers of their own
    numbers = {code: number for number, code in (element.codes or {}).items()}
    kinds = {kind.codes[int(Chem.BondType.names[name])]: Chem.BondType.names[name] for name in _KINDS}
    molecule = Chem.RWMol()
    for label in labels[:, 0]:
        number = int(numbers.get(label, 0) if numbers else label)
        molecule.AddAtom(Chem.Atom(number if 0 < number <= 118 else 0))
    _, ends, starts = graph.csr()
    bonds = graph.edge_labels()
    for begin in range(len(labels)):
        for entry in range(starts[begin], starts[begin + 1]):
            if begin < ends[entry]:
                order = Chem.BondType.SINGLE if bonds is None else kinds.get(bonds[entry, 0], Chem.BondType.SINGLE)
                molecule.AddBond(begin, int(ends[entry]), order)
    with rdBase.BlockLogs():
        molecule.UpdatePropertyCache(strict=False)
        Chem.GetSymmSSSR(molecule)
        rdDepictor.Compute2DCoords(molecule)
    return molecule.GetConformer().GetPositions()[:, :2].copy()
