"""Poolings against SciPy and scikit-learn, on one thread, in one run; their memory; their growth.

usage: pooling.py [--data FOLDER] [--graphs N] [--repeats 3] [NAME ...]   speed; all graphs of b-hard and NCI1
       pooling.py memory [--data FOLDER] [NAME ...]                       COLLAB, DD, REDDIT-BINARY
       pooling.py growth                                                  one graph of 1e4 to 1e6 vertices

speed: three levels of every graph. The contenders are what a Python user would use: for NDP,
SciPy's `eigsh` and sparse LU; for Graclus, plain loops over SciPy's arrays for the matching and
SciPy's products for the rest; for NMF, scikit-learn's coordinate descent. NDP drops no link
(`--delta 0`), like its contender. Times are those of pooling alone, without reading and writing,
the best of the repeats. The contenders' times are CPU seconds and Stepwell's are wall-clock
seconds, so a busy machine can only hurt Stepwell. The script also prints the mean size of the
coarsest graphs, so that no contender wins by doing less.

memory: the peak of the whole command `stepwell coarsen NAME --pool P --levels 3`, including reading
and writing; a peak below that of this script (about 190 MB) cannot be measured.

growth: NDP, one level, of a grid and of a random geometric graph with eight neighbours on average;
the exponent is that of time against vertices between the smallest and the largest graph. A
Barabasi-Albert graph is reduced exactly at 1e4 vertices; at 1e5 its fill exceeds the budget, which
must be an error, or a note with `--approximate`.

Without --stepwell the script runs the program in target/release of the checkout (`cargo build --release`).
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from sklearn.decomposition import non_negative_factorization

PROGRAM = Path(__file__).parents[1] / "target/release/stepwell"
LEVELS = 3


def scipy_ndp(adjacency, rng):
    """One level: the sign cut of I - Ã, then the Schur complement of the Laplacian."""
    size = adjacency.shape[0]
    if size <= 2:
        kept = np.arange(size) == 0
    else:
        degrees = adjacency.sum(axis=1).A1
        scale = sp.diags(np.divide(1, np.sqrt(degrees), out=np.zeros(size), where=degrees > 0))
        operator = sp.identity(size) - scale @ adjacency @ scale
        try:
            _, vectors = spla.eigsh(operator, k=1, which="LM", v0=np.ones(size))
            kept = vectors[:, 0] >= 0
        except spla.ArpackError:
            kept = rng.random(size) < 0.5
        if crossing_share(adjacency, kept) < 0.5:
            kept = rng.random(size) < 0.5
        if not kept.any():
            kept[0] = True
    inside, outside = np.flatnonzero(kept), np.flatnonzero(~kept)
    laplacian = sp.csr_matrix(sp.diags(adjacency.sum(axis=1).A1) - adjacency)
    reduced = laplacian[inside][:, inside]
    if len(outside):
        across = laplacian[outside][:, inside].tocsc()
        pivot = laplacian[outside][:, outside].tocsc() + 1e-9 * sp.identity(len(outside), format="csc")
        solved = sp.csc_matrix(spla.spsolve(pivot, across)).reshape(across.shape)
        reduced = reduced - across.T @ solved
    coarse = sp.csr_matrix(-reduced)
    coarse.setdiag(0)
    coarse.eliminate_zeros()
    return coarse


def crossing_share(adjacency, kept):
    total = adjacency.sum()
    return 1.0 if total == 0 else 1 - (adjacency[kept][:, kept].sum() + adjacency[~kept][:, ~kept].sum()) / total


def scipy_graclus(adjacency, order):
    """One level: greedy matching in that order, then P.T A P. Also returns the order of the next
    level."""
    size = adjacency.shape[0]
    starts, columns, weights = adjacency.indptr, adjacency.indices, adjacency.data
    degrees = adjacency.sum(axis=0).A1
    inverse = np.divide(1, degrees, out=np.zeros(size), where=degrees > 0)
    cluster = np.full(size, -1)
    count = 0
    for vertex in order:
        if cluster[vertex] >= 0:
            continue
        partner, highest = vertex, 0.0
        for at in range(starts[vertex], starts[vertex + 1]):
            other = columns[at]
            if cluster[other] < 0 and other != vertex:
                gain = weights[at] * (inverse[vertex] + inverse[other])
                if gain > highest:
                    partner, highest = other, gain
        cluster[vertex] = cluster[partner] = count
        count += 1
    members = sp.csr_matrix((np.ones(size), cluster, np.arange(size + 1)), shape=(size, count))
    coarse = (members.T @ adjacency @ members).tocsr()
    return coarse, coarse.sum(axis=0).A1.argsort()


def sklearn_nmf(adjacency):
    """One level: A ~ Q F by ten iterations of coordinate descent, then F A F.T, scaled."""
    size = adjacency.shape[0]
    if size <= 2 or adjacency.nnz == 0:
        return adjacency
    _, factor, _ = non_negative_factorization(
        adjacency, n_components=max(size // 2, 2), init="random", max_iter=10, random_state=0
    )
    factor = sp.csr_matrix(factor)
    coarse = (factor @ adjacency @ factor.T).tocsr()
    largest = coarse.max()
    return coarse / largest if largest > 0 else coarse


def contender(pool, adjacency):
    """Computes all levels of one graph and returns the last."""
    rng = np.random.default_rng(0)
    order = rng.permutation(adjacency.shape[0])
    for _ in range(LEVELS):
        if pool == "ndp":
            adjacency = scipy_ndp(adjacency, rng)
        elif pool == "graclus":
            adjacency, order = scipy_graclus(adjacency, order)
        else:
            adjacency = sklearn_nmf(adjacency)
    return adjacency


def coarsen(program, dataset, pool, *arguments, levels=LEVELS, check=True):
    """Returns the report of `stepwell coarsen`, its messages and its peak memory in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "coarsen", dataset, "--pool", pool, "--levels", str(levels), "--no-cache", "--json"]
        command += ["--offline", "-o", f"{folder}/out", *arguments]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as messages:
            child = subprocess.Popen(command, stdout=out, stderr=messages)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            messages.seek(0)
            said = messages.read().strip()
            if child.returncode and check:
                sys.exit(f"{' '.join(command)}: {said}")
            return json.loads(out.read() or "null"), said, usage.ru_maxrss * 1024


def write_graphs(path, graphs):
    with open(path, "w") as out:
        for adjacency in graphs:
            edges = sp.triu(adjacency).tocoo()
            row = {"num_nodes": adjacency.shape[0], "src": edges.row.tolist(), "dst": edges.col.tolist()}
            out.write(json.dumps(row) + "\n")


def speed(arguments):
    from stepwell import load_dataset

    warnings.simplefilter("ignore")  # SciPy and scikit-learn print many warnings
    print(f"{'set':15}{'graphs':>7}{'pool':>9}{'contender':>11}{'stepwell':>10}{'ratio':>8}   mean N of the last level")
    for name in arguments.names or ["b-hard", "NCI1"]:
        graphs = load_dataset(name, data_dir=arguments.data, download=False).graphs
        chosen = np.random.default_rng(0).permutation(len(graphs))[: arguments.graphs]
        graphs = [graphs[i].adjacency for i in sorted(chosen)]
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/graphs.jsonl"
            write_graphs(path, graphs)
            for pool in ("ndp", "graclus", "nmf"):
                options = ["--threads", "1", *(["--delta", "0"] if pool == "ndp" else [])]
                theirs = ours = math.inf
                for _ in range(arguments.repeats):
                    start = time.process_time()
                    coarse = [contender(pool, adjacency) for adjacency in graphs]
                    theirs = min(theirs, time.process_time() - start)
                    for _ in range(3):  # it is short
                        report, _, _ = coarsen(arguments.stepwell, path, pool, *options)
                        ours = min(ours, report["seconds"])
                sizes = np.mean([c.shape[0] for c in coarse]), report["levels"][-1]["avg_vertices"]
                print(f"{name:15}{len(graphs):7}{pool:>9}{theirs:10.2f}s{ours:9.3f}s{theirs / ours:8.1f}"
                      f"   {sizes[0]:.1f}, {sizes[1]:.1f}", flush=True)  # fmt: skip


def memory(arguments):
    print(f"{'set':15}{'pool':>9}{'seconds':>9}{'peak MB':>9}")
    data = ["--data-dir", arguments.data] if arguments.data else []
    for name in arguments.names or ["COLLAB", "DD", "REDDIT-BINARY"]:
        for pool in ("graclus", "nmf"):
            report, _, peak = coarsen(arguments.stepwell, name, pool, *data)
            print(f"{name:15}{pool:>9}{report['seconds']:9.1f}{peak / 1e6:9.0f}", flush=True)


def growth(arguments):
    print(f"{'graph':34}{'vertices':>9}{'seconds':>9}{'peak MB':>9}")
    radius = lambda n: math.sqrt(8 / (math.pi * n))
    families = {
        "grid": lambda side: (f"grid:{side}x{side}", side * side),
        "geometric": lambda side: (f"geometric:{side * side}:{radius(side * side):.6f}", side * side),
    }
    for family, of in families.items():
        points = []
        for side in (100, 316, 1000):
            name, size = of(side)
            report, _, peak = coarsen(arguments.stepwell, name, "ndp", levels=1)
            points.append((size, report["seconds"]))
            print(f"{name:34}{size:9}{report['seconds']:9.2f}{peak / 1e6:9.0f}", flush=True)
        (n0, t0), (n1, t1) = points[0], points[-1]
        print(f"{family}: time grows as N^{math.log(t1 / t0) / math.log(n1 / n0):.2f}")
    for size, extra in ((10_000, []), (100_000, []), (100_000, ["--approximate"])):
        name = f"barabasi-albert:{size}:3"
        report, said, peak = coarsen(arguments.stepwell, name, "ndp", *extra, levels=1, check=False)
        seconds = f"{report['seconds']:9.2f}" if report else f"{'-':>9}"
        said = "; ".join(report["notes"]) if report else said
        print(f"{' '.join([name, *extra]):34}{size:9}{seconds}{peak / 1e6:9.0f}  {said}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="what to measure (speed, memory, growth) and on which sets")
    parser.add_argument("--data", help="folder of the datasets")
    parser.add_argument("--graphs", type=int, help="graphs of each set, drawn at random (default: all)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stepwell", default=str(PROGRAM), help="the program")
    arguments = parser.parse_args()
    parts = {"speed": speed, "memory": memory, "growth": growth}
    part = arguments.names.pop(0) if arguments.names and arguments.names[0] in parts else "speed"
    parts[part](arguments)


if __name__ == "__main__":
    main()
