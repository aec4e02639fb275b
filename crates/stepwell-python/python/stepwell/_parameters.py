"""Types of the estimators' parameters. Written by ``python -m stepwell._options``; do not edit."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

import numpy as np


class ReservoirParameters(TypedDict, total=False):
    blocks: int
    units: int | Sequence[int]
    spectral_radius: float | Sequence[float]
    scaling: Literal["radius", "norm"]
    input_scaling: float
    hidden_scaling: float | Sequence[float]
    recurrence: Literal["dense", "sparse", "ring", "orthogonal", "diagonal"]
    input_pattern: Literal["uniform", "signs", "sparse", "one-per-unit"]
    edge_gate: Literal["none", "signs", "uniform"]
    density: float
    tied: bool
    reservoirs: int
    stacks: int
    random_state: int | np.integer[Any] | np.random.RandomState | None
    normalize: bool
    lift: bool
    precision: Literal["f32", "f64"]
    solver: Literal["gauss-seidel", "jacobi"]
    leak: float
    tol: float
    max_iter: int
    fixed_sweeps: int | None
    pool: Literal["none", "graclus", "nmf", "ndp", "kmis"]
    pool_after: int
    pool_last: bool
    pool_seed: int
    reduce: Literal["mean", "sum", "max"]
    delta: float
    sparsify: Literal["each-level", "deferred"]
    side: Literal["largest", "smaller", "larger"]
    approximate: bool
    fill_budget: int
    aggregate: Literal["sum", "mean", "max", "std"] | Sequence[Literal["sum", "mean", "max", "std"]]
    concat: bool
    by_length: bool
    raw: bool
    structure: Literal["degree", "log-degree", "clustering", "local-degree-profile"] | Sequence[Literal["degree", "log-degree", "clustering", "local-degree-profile"]] | None
    bare_structure: Literal["degree", "log-degree", "clustering", "local-degree-profile"] | Sequence[Literal["degree", "log-degree", "clustering", "local-degree-profile"]]
    n_jobs: int | None
    verbose: bool
    device: Literal["cpu", "cuda", "auto"]
    input: Literal["graphs", "smiles", "smiles:ogb"]


class RegressorParameters(ReservoirParameters, total=False):
    alpha: float | Sequence[float] | Literal["loo"]
    metric: Literal["auto", "accuracy", "balanced-accuracy", "macro-f1", "roc-auc", "average-precision", "log-loss", "brier", "rmse", "mae", "r2"]
    standardize: bool
    random_features: int
    landmarks: int
    kernel: Literal["states", "wl-oa", "both"]
    wl_rounds: int
    wl_weight: float | None
    gaussian_width: float | None
    choose: Literal["structure", "normalize", "wl-weight", "gaussian-width"] | Sequence[Literal["structure", "normalize", "wl-weight", "gaussian-width"]]


class ClassifierParameters(RegressorParameters, total=False):
    class_weight: Literal["balanced", "auto"] | Mapping[Any, float] | None


class NodeRegressorParameters(TypedDict, total=False):
    blocks: int
    units: int | Sequence[int]
    spectral_radius: float | Sequence[float]
    scaling: Literal["radius", "norm"]
    input_scaling: float
    hidden_scaling: float | Sequence[float]
    recurrence: Literal["dense", "sparse", "ring", "orthogonal", "diagonal"]
    input_pattern: Literal["uniform", "signs", "sparse", "one-per-unit"]
    edge_gate: Literal["none", "signs", "uniform"]
    density: float
    tied: bool
    reservoirs: int
    stacks: int
    random_state: int | np.integer[Any] | np.random.RandomState | None
    normalize: bool
    lift: bool
    precision: Literal["f32", "f64"]
    solver: Literal["gauss-seidel", "jacobi"]
    leak: float
    tol: float
    max_iter: int
    fixed_sweeps: int | None
    concat: bool
    concat_sweeps: bool
    own_inputs: bool
    by_length: bool
    raw: bool
    structure: Literal["degree", "log-degree", "clustering", "local-degree-profile"] | Sequence[Literal["degree", "log-degree", "clustering", "local-degree-profile"]] | None
    bare_structure: Literal["degree", "log-degree", "clustering", "local-degree-profile"] | Sequence[Literal["degree", "log-degree", "clustering", "local-degree-profile"]]
    alpha: float | Sequence[float] | Literal["loo"]
    metric: Literal["auto", "accuracy", "balanced-accuracy", "macro-f1", "roc-auc", "average-precision", "log-loss", "brier", "rmse", "mae", "r2"]
    standardize: bool
    random_features: int
    landmarks: int
    gaussian_width: float | None
    n_jobs: int | None
    verbose: bool
    device: Literal["cpu", "cuda", "auto"]
    input: Literal["graphs", "smiles", "smiles:ogb"]


class NodeClassifierParameters(NodeRegressorParameters, total=False):
    class_weight: Literal["balanced", "auto"] | Mapping[Any, float] | None
