"""Use your own pooling: leaves join the vertex they hang on.

Python has no hook for poolings, so this program runs two blocks by hand. The crate
accepts any function as a pooling: pooling.rs.
"""

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import cross_val_score

from stepwell import Graph, PyramidalReservoir, PyramidalReservoirClassifier, as_graph


def leaves(adjacency):
    """The matrix S: a row per vertex, a column per cluster, one entry per row."""
    degree = np.diff(adjacency.indptr)
    joins = np.arange(len(degree))
    for v in np.flatnonzero(degree == 1):
        joins[v] = adjacency.indices[adjacency.indptr[v]]
    _, clusters = np.unique(joins, return_inverse=True)
    return sp.csr_matrix((np.ones(len(degree)), (np.arange(len(degree)), clusters)))


sizes = range(20, 120)
trees = [nx.random_labeled_tree(n, seed=n) for n in sizes] + [nx.barabasi_albert_graph(n, 1, seed=n) for n in sizes]
y = np.repeat(["uniform", "preferential"], len(sizes))
graphs = [as_graph(tree) for tree in trees]
(states,) = PyramidalReservoir(blocks=1, spectral_radius=0.5).fit(graphs).transform_nodes(graphs)
coarse = []
for graph, h in zip(graphs, np.split(states, np.cumsum([graph.num_nodes for graph in graphs])[:-1])):
    s = leaves(graph.adjacency)
    pooled = sp.coo_matrix(s.T @ graph.adjacency @ s)  # weights between clusters add up
    edges = np.array([pooled.row, pooled.col])
    coarse.append(Graph(edges, features=s.T @ h, weights=pooled.data, num_nodes=s.shape[1]))
print(sum(graph.num_nodes for graph in graphs), "vertices, then", sum(graph.num_nodes for graph in coarse))
print(f"accuracy {cross_val_score(PyramidalReservoirClassifier(n_jobs=-1), coarse, y, cv=5).mean():.3f}")
