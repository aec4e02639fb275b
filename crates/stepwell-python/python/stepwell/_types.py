"""What signatures call the things people have."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: One graph, of whatever library: all that ``as_graph`` takes. None of the
#: libraries need be installed, so that there is no type to name.
AnyGraph: TypeAlias = Any

#: Many graphs: a sequence of them, a dataset, a batch of another library, or a
#: table with a graph, or an edge, per row.
AnyGraphs: TypeAlias = Any

#: A data frame of any library, a pyarrow table, or a mapping of arrays.
AnyTable: TypeAlias = Any

Floats: TypeAlias = NDArray[np.float64]
RandomState: TypeAlias = int | np.integer[Any] | np.random.RandomState | None

Pooling: TypeAlias = Literal["graclus", "nmf", "ndp", "kmis"]
Aggregate: TypeAlias = Literal["sum", "mean", "max", "std"]
Structure: TypeAlias = Literal["degree", "log-degree", "clustering", "local-degree-profile"]
Preset: TypeAlias = Literal["paper", "accurate", "reference"]
#: One penalty, several to choose from, or the powers of ten.
Alpha: TypeAlias = float | Sequence[float] | Literal["loo"]


class ReservoirOptions(TypedDict, total=False):
    """The parameters of :class:`stepwell.PyramidalReservoir`, for estimators that pass them on."""

    pool: Literal["none"] | Pooling
    blocks: int
    units: int | Sequence[int]
    spectral_radius: float | Sequence[float]
    scaling: Literal["radius", "norm"]
    input_scaling: float
    hidden_scaling: float | Sequence[float]
    recurrence: Literal["dense", "sparse", "ring", "orthogonal", "diagonal"]
    input_pattern: Literal["uniform", "signs", "sparse", "one-per-unit"]
    density: float
    tied: bool
    reservoirs: int
    stacks: int
    normalize: bool
    lift: bool
    precision: Literal["f32", "f64"]
    solver: Literal["gauss-seidel", "jacobi"]
    leak: float
    tol: float
    max_iter: int
    fixed_sweeps: int | None
    aggregate: Aggregate | Sequence[Aggregate]
    concat: bool
    pool_after: int
    pool_last: bool
    pool_seed: int
    reduce: Literal["mean", "sum", "max"]
    delta: float
    sparsify: Literal["each-level", "deferred"]
    side: Literal["largest", "smaller", "larger"]
    approximate: bool
    fill_budget: int
    raw: bool | None
    structure: Structure | Sequence[Structure]
    bare_structure: Structure | Sequence[Structure]
    random_state: RandomState
    n_jobs: int | None
    verbose: bool
