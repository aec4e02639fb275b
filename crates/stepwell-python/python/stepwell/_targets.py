"""Conversion of targets."""

import math

import numpy as np
from sklearn.metrics import accuracy_score, r2_score


def refuse_gaps(y):
    """Raises an error if a target is None, NaN or NA."""
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"y: expected a value for each graph, found NaN for graph {np.argwhere(np.isnan(y))[0][0]}")
    if y.dtype.kind != "O":
        return
    for at, value in enumerate(y):
        if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"y: expected a value for each graph, found none for graph {at}")


def without_gaps(y):
    """Labels without those that are None, NaN or NA, and the rows of the others; None if there
    are no gaps. Integers that pandas stores as floats because of gaps become integers again."""
    if np.ndim(y) != 1:
        return y, None
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.dtype.kind not in "fO":
        return y, None
    rows = np.flatnonzero([not is_gap(value) for value in values.tolist()])
    if len(rows) == len(values):
        return y, None
    known = np.array(values[rows].tolist())
    if known.dtype.kind == "f" and np.isfinite(known).all() and (known == known.round()).all():
        known = known.astype(np.int64)
    return known, rows


def numbers_with_gaps(y):
    """Numbers, with NaN for None and NA."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else y
    if np.asarray(values).dtype.kind != "O" or np.ndim(values) != 1:
        return values
    return np.array([math.nan if is_gap(value) else value for value in values], dtype=object)


def as_matrix(y):
    """Several targets as a matrix of floats, with NaN for unknown values, and their names."""
    names = [str(name) for name in y.columns] if hasattr(y, "columns") else []
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    y = np.asarray(y)
    if y.dtype.kind == "O":
        gap = lambda value: value is None or type(value).__name__ == "NAType"
        y = np.array([[math.nan if gap(value) else value for value in row] for row in y], dtype=np.float64)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y: expected columns of numbers (0 and 1 for classes), found {y.dtype}; "
            "train one model per target if targets are named classes"
        )
    return np.ascontiguousarray(y, dtype=np.float64), names


def binary_weights(weights):
    """The weights of 0 and 1 in several targets, from a mapping."""
    for label in weights:
        if label not in (0, 1):
            raise ValueError(f"class_weight: with several targets, expected weights for the labels 0 and 1, found one for {label!r}")
    return [float(weights.get(label, 1.0)) for label in (0, 1)]


def is_matrix(y):
    """Whether there are several targets, or a column of one target with missing values."""
    if np.ndim(y) != 2:
        return False
    values = np.asarray(y)
    return values.shape[1] != 1 or (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def as_array(y):
    """Targets as an array of integers, floats, booleans or strings.

    pandas' types for columns with missing values become NumPy types, if no value is missing.
    """
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "to_numpy") and not isinstance(dtype, np.dtype):  # Int64, boolean, string, category
        y = y.to_numpy()
    y = np.asarray(y)
    refuse_gaps(y)
    if y.dtype.kind != "O":
        return y
    kinds = {"string" if isinstance(value, str) else "number" for value in y.ravel().tolist()}
    if len(kinds) > 1:
        raise TypeError("y: expected values of one kind, found numbers and strings")
    return np.array(y.tolist())


def as_labels(y):
    """A list of integers, floats, booleans or strings."""
    if y.dtype.kind not in "biufU":
        raise TypeError(f"y: expected integers, floats, booleans or strings, found {y.dtype}")
    if y.dtype.kind == "u" and y.size and y.max() >= 2**63:
        raise ValueError(f"y: expected integers below 2**63, found {y.max()}")
    return y.tolist()


def accuracy_of_known(y, predicted, sample_weight=None):
    """The share of rows whose known targets are all predicted correctly. Rows without a known
    target do not count."""
    if np.ndim(predicted) == 1:
        known = np.array([not is_gap(value) for value in np.asarray(y).ravel().tolist()], dtype=bool)
        if known.all():
            return float(accuracy_score(y, predicted, sample_weight=sample_weight))
        y = as_array(np.asarray(y).ravel()[_some(known)])
        return float(accuracy_score(y, predicted[known], sample_weight=_of(sample_weight, known)))
    y = _as_columns(y, predicted)
    known = ~np.isnan(y)
    rows = _some(known.any(axis=1))
    right = ((y == predicted) | ~known).all(axis=1)
    return float(np.average(right[rows], weights=_of(sample_weight, rows)))


def r2_of_known(y, predicted, sample_weight=None):
    """The mean R² over targets, each on the rows where it is known. A target that is known for
    fewer than two rows does not count if another one does."""
    predicted = np.asarray(predicted).reshape(len(predicted), -1)
    y = _as_columns(y, predicted)
    known = ~np.isnan(y)
    if known.all():
        return float(r2_score(y, predicted, sample_weight=sample_weight))
    _some(known)
    counted = [column for column in range(y.shape[1]) if known[:, column].sum() > 1] or [int(known.any(axis=0).argmax())]
    scores = []
    for column in counted:
        rows = known[:, column]
        scores.append(r2_score(y[rows, column], predicted[rows, column], sample_weight=_of(sample_weight, rows)))
    return float(np.mean(scores))


def _as_columns(y, predicted):
    """Known targets as a matrix with the shape of the predictions."""
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    y, _ = as_matrix(y[:, np.newaxis] if y.ndim == 1 else y)
    if y.shape != predicted.shape:
        raise ValueError(f"y: expected shape {predicted.shape}, found {y.shape}")
    return y


def _some(known):
    if not known.any():
        raise ValueError("y: expected at least one known value, found none")
    return known


def _of(sample_weight, rows):
    return None if sample_weight is None else np.asarray(sample_weight)[rows]


def known_vertices(sizes, y, mask=None, alone=False):
    """The vertices with a known target, numbered over all graphs, their targets, and the
    names of the targets.

    ``y`` and ``mask`` are lists with an array per graph, or arrays if a graph is ``alone``.
    NaN, None and, without a mask, the integer -1 mean unknown. With several targets, a
    vertex is unknown if all its targets are.
    """
    names = [str(name) for name in y.columns] if hasattr(y, "columns") else []
    y, mask = _per_graph("y", y, sizes, alone), _per_graph("mask", mask, sizes, alone)
    values = np.concatenate(y) if y else np.zeros(0)
    if values.dtype.kind == "u":
        values = values.astype(np.int64)
    if mask is not None:
        known = np.concatenate(mask) if mask else np.zeros(0, bool)
        if known.dtype != bool or known.ndim != 1:
            raise TypeError(f"mask: expected an array of booleans with one dimension, found one of {known.dtype} with {known.ndim} dimensions")
    else:
        known = np.ones(len(values), bool)
    if values.ndim == 2:
        numbers, _ = as_matrix(values)
        if mask is None and values.dtype.kind == "i":
            numbers[values == -1] = math.nan
        values = numbers
        known &= ~np.isnan(values).all(axis=1)
    elif values.dtype.kind == "f":
        known &= ~np.isnan(values)
    elif values.dtype.kind == "i" and mask is None:
        known &= values != -1
    elif values.dtype.kind == "O":
        known &= np.array([not is_gap(value) for value in values], dtype=bool)
    if not known.any():
        raise ValueError("y: expected a known target for at least one vertex, found none")
    values = values[known]
    if values.dtype.kind == "O":
        values = as_array(values)
        if mask is None and values.dtype.kind == "i":  # -1 among None
            kept = values != -1
            known[np.flatnonzero(known)[~kept]] = False
            values = values[kept]
    return np.flatnonzero(known).tolist(), values, names


def vertex_weights(sizes, weights, alone=False):
    """The weights of all vertices, given as a list with an array per graph, or as an array if a
    graph is ``alone`` or the only one."""
    flat = weights.ndim == 1 if hasattr(weights, "ndim") else all(np.ndim(part) == 0 for part in weights)
    alone = alone or (len(sizes) == 1 and flat)
    parts = _per_graph("sample_weight", weights, sizes, alone)
    for graph, (part, size) in enumerate(zip(parts, sizes)):
        if part.size != size:
            raise ValueError(f"sample_weight: expected one number per vertex for graph {graph}, found an array of shape {part.shape}")
    return np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts] or [np.zeros(0)])


def is_gap(value):
    """Whether it stands for a missing value: None, NaN or NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))


def _per_graph(what, values, sizes, alone):
    """An array for each graph, one value per vertex."""
    if values is None:
        return None
    parts = [values] if alone else list(values)
    if len(parts) != len(sizes):
        raise ValueError(f"{what}: expected {len(sizes)} arrays, one per graph, found {len(parts)}")
    found = []
    for graph, (part, size) in enumerate(zip(parts, sizes)):
        for step in ("detach", "cpu", "numpy", "to_numpy"):  # of tensors and of columns
            part = getattr(part, step)() if hasattr(part, step) else part
        part = np.asarray(part)
        if part.ndim == 0 or len(part) != size:
            count = "a single value" if part.ndim == 0 else len(part)
            raise ValueError(f"{what}: expected {size} values for graph {graph}, one per vertex, found {count}")
        found.append(part)
    return found
