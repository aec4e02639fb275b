"""Graphs in, vectors out: pyramidal reservoir graph neural networks."""

import importlib
from typing import TYPE_CHECKING

from ._stepwell import __version__, instruction_set, memory_budget

if TYPE_CHECKING:
    from ._coarsen import Level, coarsen, kron_reduce, maxcut
    from ._datasets import Dataset, load_dataset, make_benchmark
    from ._foreign import as_graph
    from ._graphs import Graph
    from ._pictures import Picture, plot_embedding, plot_explanation, plot_predictions, plot_pyramid
    from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor, load
    from ._reservoir import PyramidalReservoir
    from ._saving import save_dataset
    from ._tables import from_edges
    from ._vertices import PyramidalReservoirNodeClassifier, PyramidalReservoirNodeRegressor

__all__ = [
    "Dataset",
    "Graph",
    "Level",
    "Picture",
    "PyramidalReservoir",
    "PyramidalReservoirClassifier",
    "PyramidalReservoirNodeClassifier",
    "PyramidalReservoirNodeRegressor",
    "PyramidalReservoirRegressor",
    "__version__",
    "as_graph",
    "coarsen",
    "from_edges",
    "instruction_set",
    "memory_budget",
    "kron_reduce",
    "load",
    "load_dataset",
    "make_benchmark",
    "maxcut",
    "plot_embedding",
    "plot_explanation",
    "plot_predictions",
    "plot_pyramid",
    "save_dataset",
]

# Imported when they are first used: the command needs none of them, and
# SciPy and scikit-learn take a second to load.
_HOMES = {
    "_coarsen": ["Level", "coarsen", "kron_reduce", "maxcut"],
    "_datasets": ["Dataset", "load_dataset", "make_benchmark"],
    "_foreign": ["as_graph"],
    "_graphs": ["Graph"],
    "_pictures": ["Picture", "plot_embedding", "plot_explanation", "plot_predictions", "plot_pyramid"],
    "_readout": ["PyramidalReservoirClassifier", "PyramidalReservoirRegressor", "load"],
    "_reservoir": ["PyramidalReservoir"],
    "_saving": ["save_dataset"],
    "_tables": ["from_edges"],
    "_vertices": ["PyramidalReservoirNodeClassifier", "PyramidalReservoirNodeRegressor"],
}


def __getattr__(name):
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | set(__all__))
