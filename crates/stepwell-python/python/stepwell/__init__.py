"""Graphs in, vectors out: pyramidal reservoir graph neural networks."""

from ._coarsen import Level, coarsen, kron_reduce, maxcut
from ._datasets import Dataset, load_dataset, make_benchmark
from ._foreign import as_graph
from ._graphs import Graph
from ._pictures import Picture, plot_embedding, plot_explanation, plot_pyramid
from ._readout import PyramidalReservoirClassifier, PyramidalReservoirRegressor
from ._reservoir import PyramidalReservoir
from ._stepwell import __version__
from ._tables import from_edges

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
    "from_edges",
    "kron_reduce",
    "load_dataset",
    "make_benchmark",
    "maxcut",
    "plot_embedding",
    "plot_explanation",
    "plot_pyramid",
]
