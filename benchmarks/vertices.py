"""The preset `vertices` on the official masks of six graphs, next to published results.

usage: vertices.py --data FOLDER [--only NAME,...] [--masks 10] [--on validation|test] [--with-validation] [--against-graphesn]

FOLDER holds the plain `.npz` files of the heterophilous graph datasets (node_features, node_labels,
edges, train_masks, val_masks, test_masks). All of them use one configuration, which was chosen on
validation masks (docs/vertices.md says to what extent). A model is trained on the training vertices
of a mask and scored on its test vertices (with `--on validation`, on its validation vertices). The
script prints the mean and the standard deviation over the masks, and the seconds of one core per
mask. `--with-validation` trains on the validation vertices too, which published results do not.
With `--against-graphesn`, graphesn also computes the states of one block, in both of its ways, with
a list of edges and with a sparse matrix, and the script prints the ratio of the seconds of one core
(needs torch, torch_sparse and graphesn). `--masks 0` measures only that.
"""

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.metrics import roc_auc_score

from stepwell import Graph, PyramidalReservoir, PyramidalReservoirNodeClassifier

# The metric; published results of untrained GESN (tuned on each graph's validation vertices) and of
# strong trained networks: Tortorella, Gallicchio, Micheli (Geom-GCN splits), Platonov et al. and
# Luo et al.
KNOWN = {
    "cora": ("accuracy", "86.0", "88.6"),
    "texas": ("accuracy", "84.3", "88.4"),
    "chameleon_filtered": ("accuracy", "-", "-"),
    "squirrel_filtered": ("accuracy", "-", "-"),
    "minesweeper": ("roc-auc", "-", "97.4"),
    "tolokers": ("roc-auc", "-", "85.7"),
}


def scored(model, graph, truth, rows, metric):
    if metric == "roc-auc":
        return 100 * roc_auc_score(truth[rows], model.decision_function(graph)[rows])
    return 100 * (model.predict(graph)[rows] == truth[rows]).mean()


def against_graphesn(data, edges, units=100, sweeps=10):
    """Seconds of one core for the states of one block, here and in graphesn, by the same
    equation."""
    import torch
    from graphesn import StaticGraphReservoir, initializer
    from torch_sparse import SparseTensor

    torch.set_num_threads(1)
    features = np.ascontiguousarray(data["node_features"], dtype=np.float32)
    options = {"solver": "jacobi", "raw": True, "lift": False, "n_jobs": 1}
    here = PyramidalReservoir(blocks=1, units=units, fixed_sweeps=sweeps, **options)
    graph = Graph(edges.T, features)
    here.fit([graph])
    times = [timed(lambda: here.transform_nodes([graph])) for _ in range(5)]
    there = StaticGraphReservoir(num_layers=1, in_features=features.shape[1], hidden_features=units, max_iterations=sweeps, epsilon=0.0)
    there.initialize_parameters(recurrent=initializer("uniform", rho=0.9), input=initializer("uniform", scale=0.5))
    both = torch.tensor(np.concatenate([edges, edges[:, ::-1]]).T.copy(), dtype=torch.long)
    x, n = torch.tensor(features), len(features)
    matrix = SparseTensor.from_edge_index(both, sparse_sizes=(n, n))
    with torch.no_grad():
        ways = [min(timed(lambda: there(adjacency, x)) for _ in range(3)) for adjacency in (both, matrix)]
    return min(times), *ways


def timed(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of the .npz files")
    parser.add_argument("--only", default=",".join(KNOWN))
    parser.add_argument("--masks", type=int, default=10)
    parser.add_argument("--on", choices=["validation", "test"], default="test")
    parser.add_argument("--with-validation", action="store_true")
    parser.add_argument("--against-graphesn", action="store_true")
    parser.add_argument("--set", default="", help="options of the model: name=value,...")
    arguments = parser.parse_args()
    changes = dict(pair.split("=") for pair in arguments.set.split(",") if pair)
    changes = {name: value if value.isalpha() else float(value) if "." in value else int(value) for name, value in changes.items()}
    print(f"| graph | metric | stepwell, {arguments.on} | untrained GESN, tuned | trained networks | seconds per mask |")
    print("|---|---|--:|--:|--:|--:|")
    for name in arguments.only.split(","):
        metric, gesn, trained = KNOWN[name]
        data = np.load(os.path.join(arguments.data, f"{name}.npz"))
        truth, edges = data["node_labels"].astype(int), data["edges"].astype(int)
        graph = Graph(edges.T, data["node_features"])
        if arguments.masks == 0:
            break
        scores, start = [], time.process_time()
        for mask in range(min(arguments.masks, len(data["train_masks"]))):
            learnt = data["train_masks"][mask]
            if arguments.with_validation:
                learnt = learnt | data["val_masks"][mask]
            judged = data["val_masks" if arguments.on == "validation" else "test_masks"][mask]
            model = PyramidalReservoirNodeClassifier(metric=metric, random_state=mask, **changes)
            scores.append(scored(model.fit(graph, truth, mask=learnt), graph, truth, judged, metric))
        seconds = (time.process_time() - start) / len(scores)
        print(f"| {name} | {metric} | {np.mean(scores):.1f} ± {np.std(scores):.1f} | {gesn} | {trained} | {seconds:.1f} |", flush=True)
    if arguments.against_graphesn:
        print("\n| graph | stepwell, s | graphesn, edges, s | ratio | graphesn, matrix, s | ratio |\n|---|--:|--:|--:|--:|--:|")
        for name in arguments.only.split(","):
            data = np.load(os.path.join(arguments.data, f"{name}.npz"))
            here, edges, matrix = against_graphesn(data, data["edges"].astype(int))
            ratios = f"{edges:.3f} | {edges / here:.1f} | {matrix:.3f} | {matrix / here:.1f}"
            print(f"| {name} | {here:.3f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
