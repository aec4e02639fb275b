"""Predict the class of every vertex of one graph from some known ones."""

import networkx as nx
import numpy as np

from stepwell import PyramidalReservoirNodeClassifier

# Three communities of 100 vertices. Each vertex has five noisy features.
graph = nx.random_partition_graph([100, 100, 100], 0.1, 0.01, seed=0)
truth = np.array([graph.nodes[v].pop("block") for v in graph])
rng = np.random.default_rng(0)
centres = rng.normal(size=(3, 5))
features = centres[truth] + rng.normal(scale=2.0, size=(300, 5))
nx.set_node_attributes(graph, {v: row.tolist() for v, row in enumerate(features)}, "x")

known = rng.random(300) < 0.2  # one class in five is known
model = PyramidalReservoirNodeClassifier(random_state=0).fit(graph, truth, mask=known)
predicted = model.predict(graph)
print(f"{known.sum()} known classes, accuracy on the others {(predicted == truth)[~known].mean():.3f}")
print("probabilities of vertex 0:", model.predict_proba(graph)[0].round(2))

model.save("vertices.safetensors")  # for: stepwell predict graphs.jsonl -m vertices.safetensors
