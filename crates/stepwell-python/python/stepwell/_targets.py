"""What is to be predicted, as people have it."""

import math

import numpy as np


def refuse_gaps(y):
    """Raises where a target is None, NaN or NA."""
    if y.dtype.kind != "O":
        return
    for at, value in enumerate(y):
        if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"y: expected a value for each graph, found none for graph {at}")


def as_array(y):
    """Targets as an array of integers, floats, booleans or strings.

    pandas' own types for columns with gaps become NumPy's, if there are no gaps.
    """
    dtype = getattr(y, "dtype", None)
    if hasattr(y, "to_numpy") and not isinstance(dtype, np.dtype):  # Int64, boolean, string, category
        y = y.to_numpy()
    y = np.asarray(y)
    refuse_gaps(y)
    return np.array(y.tolist()) if y.dtype.kind == "O" else y


def as_labels(y):
    """A list of integers, floats, booleans or strings."""
    if y.dtype.kind == "O":
        kinds = {type(value) for value in y.tolist()}
        if not (kinds <= {str} or len(kinds) == 1):
            y = np.array(y.tolist())
    if y.dtype.kind not in "biufUO":
        raise TypeError(f"y: expected integers, floats, booleans or strings, found {y.dtype}")
    return y.tolist()
