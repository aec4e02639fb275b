"""What signatures call the things people have."""

import os
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: One graph, of whatever library: all that ``as_graph`` takes. None of the
#: libraries need be installed, so that there is no type to name.
AnyGraph: TypeAlias = Any

#: Many graphs: a sequence of them, a dataset, a batch of another library, or a
#: table with a graph, or an edge, per row.
AnyGraphs: TypeAlias = Any

#: A data frame of any library, a pyarrow table, or a mapping of arrays.
AnyTable: TypeAlias = Any

#: The name of a file, which need not be text.
AnyPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

Floats: TypeAlias = NDArray[np.float64]
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

Pooling: TypeAlias = Literal["graclus", "nmf", "ndp", "kmis"]
#: What atoms and bonds carry, and what becomes of SMILES that cannot be read.
MoleculeFeatures: TypeAlias = Literal["default", "ogb"]
SmilesErrors: TypeAlias = Literal["raise", "skip", "keep"]
Preset: TypeAlias = Literal["paper", "accurate", "vertices", "reference"]
