"""Predictions for the rows of a table, as one column, for query engines."""

import os

import numpy as np
import pyarrow as pa

from . import _cluster
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor, load


#: The names of the functions that a model may provide.
NAMES = ("embed", "predict", "scores", "proba")


class Answers:
    """The functions that a model provides, with the types of their results."""

    def __init__(self, model):
        if isinstance(model, (str, bytes, os.PathLike)):
            model = load(model)
        if isinstance(model, (PyramidalReservoirClassifier, PyramidalReservoirRegressor)):
            self._plan = _cluster.trained_plan(model)
        else:
            self._plan = _cluster.Plan(model._model)

    def functions(self):
        """Returns the name, the function and the Arrow type of each."""
        found = {"embed": (self.embed, pa.list_(self._plan.value_type))}
        if self._plan.model.task is not None:
            answers = self._plan.answers
            found["predict"] = (self.predict, answers["prediction"])
            if "scores" in answers:
                found["scores"] = (self.scores, pa.list_(pa.float64()))
                if self._plan.model.assessments:
                    found["proba"] = (self.proba, pa.list_(pa.float64()))
        return found

    def predict(self, table):
        return _joined([found["prediction"] for found in _cluster.predict(self._plan, [table])])

    def scores(self, table):
        """Decision values of all classes, including the first of two, as the command line writes them."""
        if self._plan.model.task != "classification" or len(self._plan.model.classes) != 2:
            return self._decisions(table)
        return self._turned(table, lambda values: np.concatenate([-values, values], axis=1))

    def proba(self, table):
        """Probabilities of all classes; with several targets, the probability of 1 for each."""
        return self._turned(table, self._plan.model.probabilities)

    def _decisions(self, table):
        return _joined([found["scores"] for found in _cluster.predict(self._plan, [table])])

    def _turned(self, table, turn):
        """Lists computed from the decision values of rows that have any."""
        column = self._decisions(table).combine_chunks()
        known, values = column.is_valid().to_numpy(zero_copy_only=False), column.flatten().to_numpy()
        if not known.any():
            return column
        lists = _cluster._lists(turn(values.reshape(known.sum(), -1)), pa.float64())
        return lists if known.all() else lists.take(pa.array(np.cumsum(known) - 1, mask=~known))

    def embed(self, table):
        return _joined([found["embedding"] for found in _cluster.embed(self._plan, [table])])


def _joined(columns):
    """Concatenates the columns of pieces."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.chunked_array(chunks, columns[0].type if columns else pa.null())
