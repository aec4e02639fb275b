"""Graphs in, vectors out: pyramidal reservoir graph neural networks."""

from ._coarsen import Level, coarsen, kron_reduce, maxcut
from ._datasets import Dataset, load_dataset, make_benchmark
from ._graphs import Graph, as_graph
from ._pictures import Picture, plot_embedding, plot_explanation, plot_pyramid
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir
from ._stepwell import __version__

__all__ = [
    "Dataset",
    "Graph",
    "Level",
    "Picture",
    "PyramidalReservoir",
    "PyramidalReservoirClassifier",
    "PyramidalReservoirRegressor",
    "__version__",
    "as_graph",
    "coarsen",
    "kron_reduce",
    "load_dataset",
    "make_benchmark",
    "maxcut",
    "plot_embedding",
    "plot_explanation",
    "plot_pyramid",
]
