"""Reservoirs compared with the alternatives a user could pick, on real graphs, in one run.

usage: engine.py [--data FOLDER] [--graphs 400] [--repeats 3] [NAME ...]

Contenders, each on one thread, with the same graphs, weights and tolerance:
  numpy     one graph at a time, SciPy CSR times dense, f64 (as the paper's public code does)
  torch     block-diagonal batches of 64 graphs, f32, stopping when a batch has converged
  stepwell  f32, Gauss-Seidel, lifted
Times exclude preparation (normalising, batching, lifting); Stepwell's preparation is reported in
sweeps over the unlifted graphs. The error is the largest relative error over a sample of graphs
against a solution at 1e-12, so that no contender wins by stopping early. Prints the vector
instructions of each contender first, then ratios of median times (STEPWELL_ISA=avx512|avx2|portable
selects Stepwell's). `cargo run --release -p stepwell --example kernel_speed`, which ./test peers
also runs, prints the kernel's share of the peak.

The inputs of the vertices are their attributes, else their one-hot labels, else their degrees.
"""

import argparse
import os
import statistics
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.sparse as sp
import torch

from stepwell import Graph, PyramidalReservoir, instruction_set, load_dataset
from stepwell._batches import as_batch

SETS = [
    "b-hard", "b-easy", "DD", "NCI1", "PROTEINS", "Mutagenicity", "ENZYMES",
    "IMDB-BINARY", "IMDB-MULTI", "COLLAB", "REDDIT-BINARY",
]  # fmt: skip
UNITS, BLOCKS, RADIUS, TOL, MAX_ITER, BATCH = 50, 2, 0.5, 1e-5, 50, 64


def normalized(adjacency):
    degrees = np.asarray(adjacency.sum(1)).ravel()
    scale = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return (sp.diags(scale) @ adjacency @ sp.diags(scale)).tocsr()


class Numpy:
    def __init__(self, graphs, weights):
        self.graphs = [(normalized(graph.adjacency), graph.features) for graph in graphs]
        self.weights = weights

    def embed(self, tol=TOL, max_iter=MAX_ITER):
        vectors = []
        for operator, state in self.graphs:
            for W, V in self.weights:
                drive = state @ V
                state = np.tanh(drive)
                for _ in range(max_iter - 1):
                    renewed = np.tanh((operator @ state) @ W + drive)
                    change = np.linalg.norm(renewed - state)
                    state = renewed
                    if change < tol:
                        break
            vectors.append(state.sum(0))
        return np.array(vectors)


class Torch:
    def __init__(self, graphs, weights):
        torch.set_num_threads(1)
        as_csr = lambda m: torch.sparse_csr_tensor(
            torch.from_numpy(m.indptr.astype(np.int64)), torch.from_numpy(m.indices.astype(np.int64)),
            torch.from_numpy(m.data.astype(np.float32)), m.shape,
        )  # fmt: skip
        self.batches = []
        for start in range(0, len(graphs), BATCH):
            part = graphs[start : start + BATCH]
            sizes = [graph.num_nodes for graph in part]
            owner = np.repeat(np.arange(len(part)), sizes)
            members = sp.csr_matrix((np.ones(len(owner)), (owner, np.arange(len(owner)))))
            operator = sp.block_diag([normalized(graph.adjacency) for graph in part], format="csr")
            features = torch.from_numpy(np.vstack([graph.features for graph in part])).float()
            self.batches.append((as_csr(operator), as_csr(members), features))
        self.weights = [tuple(torch.from_numpy(m).float() for m in pair) for pair in weights]

    @torch.no_grad()
    def embed(self):
        vectors = []
        for operator, members, state in self.batches:
            for W, V in self.weights:
                drive = state @ V
                state = torch.tanh(drive)
                for _ in range(MAX_ITER - 1):
                    renewed = torch.addmm(drive, operator @ state, W).tanh_()
                    change = torch.linalg.vector_norm(renewed - state).item()
                    state = renewed
                    if change < TOL:
                        break
            vectors.append(members @ state)
        return torch.cat(vectors).numpy()


class Stepwell:
    def __init__(self, graphs, weights, lift=True):
        model = PyramidalReservoir(units=UNITS, blocks=BLOCKS, tol=TOL, max_iter=MAX_ITER, lift=lift)
        if graphs[0].labels is not None:
            # Labels are passed as labels, as users do; sorted, they are the columns of the other
            # contenders.
            graphs = [Graph(graph.adjacency, labels=graph.labels) for graph in graphs]
            model.fit(graphs)
        self.model = model.set_weights(weights)._model
        batch = as_batch(graphs)
        self.preparation, self.prepared = best_of_three(lambda: self.model.prepare(batch, 1))

    def embed(self):
        vectors, (self.sweeps, *_) = self.model.embed_prepared(self.prepared, 1)
        return vectors


def with_inputs(graphs):
    """The graphs with the inputs of their vertices as features, and with labels if the inputs are
    one-hot labels."""
    labels = [graph.labels for graph in graphs]
    known = np.unique(np.concatenate(labels)) if labels[0] is not None else None
    made = []
    for graph in graphs:
        features, labels = graph.features, None
        if features is None or not features.shape[1]:
            labels = graph.labels
            features = np.asarray(graph.adjacency.sum(1)).reshape(-1, 1) if known is None else labels[:, None] == known
        made.append(Graph(graph.adjacency, np.asarray(features, dtype=float), labels=labels))
    return made


def instruction_sets():
    """The vector instructions of each contender, as it reports them."""
    config = np.show_config(mode="dicts")
    loops = config.get("SIMD Extensions", {}).get("found", [])
    numpy = loops[-1] if loops else "baseline"
    try:
        from threadpoolctl import threadpool_info

        blas = [library for library in threadpool_info() if library["user_api"] == "blas"]
        numpy += ", BLAS for " + ", ".join(sorted({library.get("architecture", "?") for library in blas}))
    except ImportError:
        pass
    return f"numpy {numpy}; torch {torch.backends.cpu.get_cpu_capability()}; stepwell {instruction_set()}"


def sweep_seconds(graphs, weights):
    """The seconds of one sweep over all graphs without lifting."""
    plain = Stepwell(graphs, weights, lift=False)
    sizes = np.array([graph.num_nodes for graph in graphs])
    seconds, _ = best_of_three(plain.embed)
    return seconds * sizes.sum() / (plain.sweeps.sum(1) * sizes).sum()


def best_of_three(work):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def draw_weights(features):
    rng = np.random.default_rng(0)
    weights = []
    for block in range(BLOCKS):
        W = rng.uniform(-1, 1, (UNITS, UNITS))
        W *= RADIUS / np.abs(np.linalg.eigvals(W)).max()
        rows, scale = (features, 0.5) if block == 0 else (UNITS, 0.8)
        weights.append((W, rng.uniform(-1, 1, (rows, UNITS)) * scale))
    return weights


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--data", help="folder of the datasets")
    parser.add_argument("--graphs", type=int, default=400, help="graphs of each set, drawn at random")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    print(f"instructions: {instruction_sets()}")
    print(f"{'set':15}{'graphs/s':>10}{'x numpy':>9}{'x torch':>9}   {'error: numpy':>12}{'torch':>9}{'stepwell':>9}"
          f"{'preparation':>13}")  # fmt: skip
    for name in arguments.names:
        graphs = list(load_dataset(name, data_dir=arguments.data).graphs)
        chosen = np.random.default_rng(0).permutation(len(graphs))[: arguments.graphs]
        graphs = with_inputs([graphs[i] for i in chosen])
        weights = draw_weights(graphs[0].features.shape[1])
        contenders = {kind.__name__: kind(graphs, weights) for kind in (Numpy, Torch, Stepwell)}
        times = {name: [] for name in contenders}
        vectors = {}
        for _ in range(arguments.repeats):
            for kind, contender in contenders.items():
                start = time.perf_counter()
                vectors[kind] = contender.embed()
                times[kind].append(time.perf_counter() - start)
        seconds = {kind: statistics.median(values) for kind, values in times.items()}
        sample = slice(0, 40)
        exact = Numpy(graphs[sample], weights).embed(tol=1e-12, max_iter=10_000)
        error = {
            kind: (np.linalg.norm(v[sample] - exact, axis=1) / np.linalg.norm(exact, axis=1)).max()
            for kind, v in vectors.items()
        }
        ours = contenders["Stepwell"]
        sweep = sweep_seconds(graphs, weights)
        print(f"{name:15}{len(graphs) / seconds['Stepwell']:10.0f}{seconds['Numpy'] / seconds['Stepwell']:9.1f}"
              f"{seconds['Torch'] / seconds['Stepwell']:9.1f}   {error['Numpy']:12.1e}{error['Torch']:9.1e}"
              f"{error['Stepwell']:9.1e}{ours.preparation / sweep:7.1f} sweeps", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
