"""Types for signatures."""

import os
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: One graph, in any format that ``as_graph`` accepts. The libraries need not be
#: installed, so there is no type to name.
AnyGraph: TypeAlias = Any

#: Many graphs: a sequence of them, a dataset, a batch of another library, or a
#: table with a graph, or an edge, per row.
AnyGraphs: TypeAlias = Any

#: A data frame of any library, a pyarrow table, or a mapping of arrays.
AnyTable: TypeAlias = Any

#: A path, which need not be valid UTF-8.
AnyPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

Floats: TypeAlias = NDArray[np.float64]
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

Pooling: TypeAlias = Literal["graclus", "nmf", "ndp", "kmis"]
#: Feature sets of molecules, and the treatment of invalid SMILES.
MoleculeFeatures: TypeAlias = Literal["default", "ogb"]
SmilesErrors: TypeAlias = Literal["raise", "skip", "keep"]
Preset: TypeAlias = Literal["paper", "accurate", "vertices", "reference"]
