"""How well do colours alone, or structure alone, predict the class of a graph?

Reads a dataset in the TU Dortmund layout (for example the output of `stepwell convert b-easy OUT`)
and reports the accuracy of a ridge classifier, by 5-fold stratified cross-validation repeated 3
times, on

- colours alone: the sums of the vertices' attributes;
- structure alone: degrees, triangles and components;
- both, side by side but not combined vertex by vertex.

    python benchmarks/structure_alone.py FOLDER [FOLDER ...]

Needs numpy, scipy and scikit-learn.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def read(folder):
    """Yields (adjacency, attributes, class) of each graph."""
    folder = Path(folder)
    (edges_file,) = folder.glob("*_A.txt")
    prefix = edges_file.name.removesuffix("_A.txt")
    table = lambda part, **kw: np.loadtxt(folder / f"{prefix}_{part}.txt", delimiter=",", **kw)
    edges = table("A", dtype=int, ndmin=2) - 1
    indicator = table("graph_indicator", dtype=int, ndmin=1) - 1
    classes = table("graph_labels", dtype=int, ndmin=1)
    attributes = table("node_attributes", ndmin=2)
    starts = np.searchsorted(indicator, np.arange(len(classes) + 1))
    by_graph = np.argsort(indicator[edges[:, 0]], kind="stable")
    edges = edges[by_graph]
    edge_starts = np.searchsorted(indicator[edges[:, 0]], np.arange(len(classes) + 1))
    for g, label in enumerate(classes):
        rows, columns = (edges[edge_starts[g] : edge_starts[g + 1]] - starts[g]).T
        n = starts[g + 1] - starts[g]
        adjacency = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
        adjacency = adjacency.maximum(adjacency.T)
        adjacency.data[:] = 1
        yield adjacency, attributes[starts[g] : starts[g + 1]], label


def structure(adjacency, bins=16):
    """Degree histogram and moments, triangles, clustering, components."""
    n = adjacency.shape[0]
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    triangles = np.asarray((adjacency @ adjacency).multiply(adjacency).sum(axis=1)).ravel() / 2
    pairs = degrees * (degrees - 1) / 2
    clustering = np.divide(triangles, pairs, out=np.zeros(n), where=pairs > 0)
    count, component = connected_components(adjacency, directed=False)
    sizes = np.sort(np.bincount(component))[::-1] / n
    histogram = np.bincount(np.minimum(degrees, bins - 1).astype(int), minlength=bins) / n
    moments = lambda v: [v.mean(), v.std(), ((v - v.mean()) ** 3).mean(), v.max()]
    return np.concatenate(
        [
            [n, adjacency.nnz / n, triangles.sum() / n, count, *np.append(sizes, [0, 0])[:3]],
            histogram,
            moments(degrees),
            moments(triangles),
            moments(clustering),
        ]
    )


def main():
    for folder in sys.argv[1:]:
        graphs = list(read(folder))
        classes = np.array([label for _, _, label in graphs])
        colours = np.array([attributes.sum(axis=0) for _, attributes, _ in graphs])
        shapes = np.array([structure(adjacency) for adjacency, _, _ in graphs])
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
        chance = np.unique(classes, return_counts=True)[1].max() / len(classes)
        print(f"{Path(folder).name}: {len(classes)} graphs, chance {100 * chance:.1f} %")
        both = np.hstack([colours, shapes])
        for name, inputs in [("colours", colours), ("structure", shapes), ("both", both)]:
            model = make_pipeline(StandardScaler(), RidgeClassifier(alpha=1.0))
            scores = 100 * cross_val_score(model, inputs, classes, cv=folds)
            print(f"  {name:<10} {scores.mean():5.1f} ± {scores.std():.1f} %")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main()
