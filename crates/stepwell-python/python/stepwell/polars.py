"""Models as expressions of Polars.

Needs ``pip install 'stepwell[polars]'``.

    import polars as pl
    import stepwell.polars

    graphs = pl.scan_parquet("graphs.parquet")
    graphs.select("id", stepwell.polars.predict("model.safetensors")).collect()
"""

import os
from typing import TypeAlias

try:
    import polars as pl

    from . import _answers
except ImportError as error:
    raise ImportError(f"stepwell.polars needs Polars and pyarrow ({error}): pip install 'stepwell[polars]'") from error

from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir

__all__ = ["embed", "predict", "proba", "scores"]

_Model: TypeAlias = str | os.PathLike[str] | PyramidalReservoir | PyramidalReservoirClassifier | PyramidalReservoirRegressor


def predict(model: _Model, rows: pl.Expr | None = None) -> pl.Expr:
    """Returns the prediction for every row, as a column ``prediction``.

    Parameters
    ----------
    model : path or fitted estimator
        A file written by ``stepwell train`` or ``save``, or a fitted estimator.
    rows : polars.Expr, optional
        Structs with the columns of the schema; by default all columns of the frame.
        Other columns are ignored.
    """
    return _expression(model, "predict", rows, "prediction")


def scores(model: _Model, rows: pl.Expr | None = None) -> pl.Expr:
    """Returns the decision values of all classes, as a column ``scores`` of lists.

    Parameters are those of :func:`predict`.
    """
    return _expression(model, "scores", rows, "scores")


def proba(model: _Model, rows: pl.Expr | None = None) -> pl.Expr:
    """Returns the probabilities of all classes, as a column ``proba`` of lists.

    With several targets, the list has the probability of 1 for each. Parameters are
    those of :func:`predict`.
    """
    return _expression(model, "proba", rows, "proba")


def embed(model: _Model, rows: pl.Expr | None = None) -> pl.Expr:
    """Returns the vector of every row, as a column ``embedding`` of lists.

    Parameters are those of :func:`predict`.
    """
    return _expression(model, "embed", rows, "embedding")


def _expression(model, what, rows, name):
    functions = _answers.Answers(model).functions()
    if what not in functions:
        raise ValueError(f"{what}: not available for this model; expected {', '.join(functions)}")
    work, kind = functions[what]

    def of_rows(series):
        return pl.from_arrow(work(series.struct.unnest().to_arrow()))

    rows = pl.struct(pl.all()) if rows is None else rows
    return rows.map_batches(of_rows, return_dtype=_dtype(kind), is_elementwise=True).alias(name)


def _dtype(kind):
    import pyarrow as pa

    return pl.from_arrow(pa.array([], kind)).dtype
