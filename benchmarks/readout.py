"""Training the default readout compared with the same steps in NumPy and LAPACK, in one run.

usage: readout.py [--data FOLDER] [--stepwell PATH] [--against PATH] [--repeats 3] [CASE ...]

Cases: letter (2,250 small graphs, 15 classes), rag (3,900, 100 classes), NCI1, Fingerprint, COLLAB.
The first two are generated. Our time is that of `stepwell train --threads 1 --kernel states
--choose none` without embedding and preparation; it includes starting up, reading the graphs and
writing the model. NumPy has the vectors in memory and does the same work: similarities to 2,000
landmarks, whitening, Gram matrix, eigenvectors, exact leave-one-out over 13 penalties, all in f64
on one thread. The last figure is the same time with default options, which adds the colours of
vertices and the choice of options. With --against, another stepwell binary runs as well, and the
script prints ratios of whole `train` and `predict` runs with default options.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.linalg

#: Name: graphs, classes, vertices per graph, attributes per vertex; None for named datasets.
CASES = {
    "letter": (2250, 15, 5, 2),
    "rag": (3900, 100, 3, 64),
    "NCI1": None,
    "Fingerprint": None,
    "COLLAB": None,
}
LANDMARKS, ALPHAS = 2000, 10.0 ** np.arange(-6, 7)


def generate(path, graphs, classes, vertices, attributes):
    """Rings whose attributes lie around the centre of their class."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, attributes))
    with open(path, "w") as out:
        for index in range(graphs):
            n = vertices + int(rng.integers(0, 3))
            x = centres[index % classes] + rng.normal(size=(n, attributes))
            src = list(range(n))
            row = {"num_nodes": n, "src": src, "dst": src[1:] + src[:1], "x": x.round(4).ravel().tolist(), "x_dim": attributes, "y": index % classes}
            out.write(json.dumps(row) + "\n")


def in_numpy(n, d, targets):
    """Seconds of the same readout on vectors in memory."""
    rng = np.random.default_rng(0)
    m = min(n, LANDMARKS)
    x, y = rng.normal(size=(n, d)) / np.sqrt(d), rng.normal(size=(n, targets))
    start = time.perf_counter()
    alike = x @ x[:m].T
    squares = np.einsum("ij,ij->i", x, x)
    alike += np.exp(-(squares[:, None] + squares[:m] - 2 * alike) / 2)
    root = scipy.linalg.cholesky(alike[:m] + 1e-7 * np.eye(m), lower=True)
    points = scipy.linalg.solve_triangular(root, alike.T, lower=True).T
    points -= points.mean(0)
    y = y - y.mean(0)
    values, vectors = scipy.linalg.eigh(points.T @ points)
    rotated = points @ vectors
    aligned = rotated.T @ y
    best = np.inf
    for alpha in ALPHAS:
        inverse = 1 / (values + alpha)
        free = 1 - 1 / n - (rotated * rotated) @ inverse
        missed = (y - rotated @ (inverse[:, None] * aligned)) / free[:, None]
        best = min(best, (missed**2).sum())
    return time.perf_counter() - start


def readout_seconds(report):
    """The seconds of `train` without embedding and preparation."""
    return report["wall"] - report["embed_seconds"] - report["prepare_seconds"] - report["coarsen_seconds"]


def run(binary, *arguments):
    start = time.perf_counter()
    done = subprocess.run([binary, *arguments, "--threads", "1", "--quiet", "--json"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds = time.perf_counter() - start
    return seconds, json.loads(done.stdout) | {"wall": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--stepwell", default="target/release/stepwell")
    parser.add_argument("--against")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("cases", nargs="*", default=["letter", "rag", "NCI1"])
    options = parser.parse_args()
    binaries = [options.stepwell] + ([options.against] if options.against else [])
    for case in options.cases:
        times = {"readout": [], "numpy": [], "default": [], **{(what, b): [] for what in ("train", "predict") for b in binaries}}
        with tempfile.TemporaryDirectory() as folder:
            place = ["--data-dir", str(Path(options.data) / "tud")]
            graphs = [case, *place]
            if CASES[case]:
                graphs = [str(Path(folder) / f"{case}.jsonl")]
                generate(graphs[0], *CASES[case])
            model, target = (str(Path(folder) / name) for name in ("model.safetensors", "predictions.csv"))
            for _ in range(options.repeats):
                _, report = run(options.stepwell, "train", *graphs, "-m", model, "--kernel", "states", "--choose", "none")
                times["readout"].append(readout_seconds(report))
                classes = len(report["classes"])
                shape = report["graphs"], report["columns"], 1 if classes == 2 else classes
                times["numpy"].append(in_numpy(*shape))
                for binary in binaries:
                    seconds, report = run(binary, "train", *graphs, "-m", model)
                    times["train", binary].append(seconds)
                    if binary == options.stepwell:
                        times["default"].append(readout_seconds(report))
                        size = os.path.getsize(model) / 1e6
                    if options.against:
                        seconds, _ = run(binary, "predict", "-m", model, *graphs, "-o", target)
                        times["predict", binary].append(seconds)
        middle = {key: statistics.median(values) for key, values in times.items() if values}
        print(
            f"{case}: {shape[0]} graphs, {shape[1]} columns, {shape[2]} targets, model {size:.1f} MB: readout {middle['readout']:.2f} s, "
            f"NumPy {middle['numpy']:.2f} s, {middle['numpy'] / middle['readout']:.2f} x NumPy; with colours and choices {middle['default']:.2f} s",
            flush=True,
        )
        if options.against:
            for what in ("train", "predict"):
                ours, theirs = (middle[what, binary] for binary in binaries)
                print(f"  {what} {ours:.2f} s, against {theirs:.2f} s: {ours / theirs:.2f} of its time", flush=True)


if __name__ == "__main__":
    main()
