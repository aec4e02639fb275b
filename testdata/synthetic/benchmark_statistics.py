"""Statistics of the benchmark's graphs, drawn with scikit-learn.

Writes benchmark_statistics.json beside this file: for both difficulties and
the three classes, the mean of some statistics over many graphs of 60 points
and the standard error of that mean. The Rust generator must agree with them.

    python benchmark_statistics.py        (needs numpy, scipy, scikit-learn)
"""

import json
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs, make_gaussian_quantiles, make_moons
from sklearn.neighbors import kneighbors_graph

GRAPHS, POINTS = 4000, 60
CENTRES = [
    [(4, 0), (0, 0), (2, -2)],
    [(2, -2), (4, 0), (0, 0)],
    [(0, 0), (2, -2), (4, 0)],
]


def draw(rng, centres, spread, neighbours):
    count = POINTS // 3
    seed = lambda: int(rng.integers(2**31))
    moons, halves = make_moons(count, noise=0.1, random_state=seed())
    gaussian, shells = make_gaussian_quantiles(
        mean=centres[1], cov=spread, n_samples=count, n_classes=2, random_state=seed()
    )
    blob, _ = make_blobs(count, centers=[centres[2]], cluster_std=2 * spread, random_state=seed())
    places = np.concatenate([moons + np.array(centres[0]), gaussian, blob])
    colours = np.concatenate([halves, shells + 2, np.full(count, 4)])
    near = kneighbors_graph(places / places.max(axis=0), neighbours, mode="connectivity")
    return near.maximum(near.T).tocsr(), colours


def statistics(adjacency, colours):
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    rows, columns = adjacency.nonzero()
    between = np.zeros((5, 5))
    np.add.at(between, (colours[rows], colours[columns]), 1)
    values = {
        "entries": adjacency.nnz,
        "squared_degrees": float((degrees**2).sum()),
        "triangles": float((adjacency @ adjacency).multiply(adjacency).sum() / 6),
        "components": int(connected_components(adjacency)[0]),
    }
    for i in range(5):
        for j in range(i, 5):
            values[f"entries_{i}_{j}"] = float(between[i, j])
    return values


def main():
    rng = np.random.default_rng(0)
    table = {"points": POINTS, "graphs": GRAPHS}
    for name, spread, neighbours in [("easy", 0.4, 5), ("hard", 0.2, 3)]:
        table[name] = []
        for centres in CENTRES:
            found = [statistics(*draw(rng, centres, spread, neighbours)) for _ in range(GRAPHS)]
            columns = {key: np.array([values[key] for values in found]) for key in found[0]}
            table[name].append(
                {
                    key: [round(float(v.mean()), 6), round(float(v.std(ddof=1) / GRAPHS**0.5), 6)]
                    for key, v in columns.items()
                }
            )
    # One class per line.
    text = json.dumps(table).replace("[{", "[\n{").replace("}, {", "},\n{")
    Path(__file__).with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
