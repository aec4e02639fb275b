"""What is to be predicted, as people have it."""

import math


def refuse_gaps(y):
    """Raises where a target is None, NaN or NA."""
    if y.dtype.kind != "O":
        return
    for at, value in enumerate(y):
        if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"y: expected a value for each graph, found none for graph {at}")
