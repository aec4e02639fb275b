"""What is to be predicted, as people have it."""

import math

import numpy as np


def refuse_gaps(y):
    """Raises where a target is None, NaN or NA."""
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"y: expected a value for each graph, found NaN for graph {np.argwhere(np.isnan(y))[0][0]}")
    if y.dtype.kind != "O":
        return
    for at, value in enumerate(y):
        if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"y: expected a value for each graph, found none for graph {at}")


def as_matrix(y):
    """Several targets as a matrix of floats, NaN where they are not known, and their names."""
    names = [str(name) for name in y.columns] if hasattr(y, "columns") else []
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    y = np.asarray(y)
    if y.dtype.kind == "O":
        gap = lambda value: value is None or type(value).__name__ == "NAType"
        y = np.array([[math.nan if gap(value) else value for value in row] for row in y], dtype=np.float64)
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y: expected numbers, or 0 and 1, in {y.shape[1]} columns, found {y.dtype}; "
            "several targets that are classes by name need a model each"
        )
    return np.ascontiguousarray(y, dtype=np.float64), names


def is_matrix(y):
    """Whether there are several targets, or one in a column of its own that has gaps."""
    if np.ndim(y) != 2:
        return False
    values = np.asarray(y)
    return values.shape[1] != 1 or (values.dtype.kind == "f" and bool(np.isnan(values).any()))


def as_array(y):
    """Targets as an array of integers, floats, booleans or strings.

    pandas' own types for columns with gaps become NumPy's, if there are no gaps.
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
