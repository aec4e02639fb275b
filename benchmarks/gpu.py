"""Embedding on an NVIDIA GPU, compared with PyTorch on the same GPU.

    cargo build --release -p stepwell-cuda --example gpu
    python benchmarks/gpu.py target/release/examples/gpu [--quick]

Uses graphs that resemble those of B-hard, NCI1 and REDDIT-BINARY, and one large graph, with two
blocks of H = 50 and of 100 units, to the fixed point. The program generates the graphs, embeds them
and writes them to files. PyTorch reads them as one block-diagonal sparse matrix (CSR, fp32) and
iterates H <- tanh(A (H W) + X V) as often as the slowest graph needs; it does not check for
convergence. Both are timed with their data on the GPU; the time that the program spends on layout
and copies is reported separately.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

KINDS = [("nci1", 100_000), ("b-hard", 100_000), ("reddit", 10_000), ("one", 10_000_000)]


def read(folder, name, kind):
    return np.fromfile(os.path.join(folder, name), dtype=kind)


def in_pytorch(folder, units):
    """Returns seconds, sweeps of both blocks, vertices, and the vectors."""
    gpu = torch.device("cuda")
    starts = torch.from_numpy(read(folder, "starts.i32", np.int32)).to(gpu)
    columns = torch.from_numpy(read(folder, "columns.i32", np.int32)).to(gpu)
    values = torch.from_numpy(read(folder, "values.f32", np.float32)).to(gpu)
    labels = torch.from_numpy(read(folder, "labels.i32", np.int32)).long().to(gpu)
    offsets = torch.from_numpy(read(folder, "offsets.i64", np.int64)).to(gpu)
    sweeps = [int(number) for number in open(os.path.join(folder, "times.txt")).read().split()[:2]]
    matrix = lambda name: torch.from_numpy(read(folder, name, np.float32).reshape(-1, units)).to(gpu)
    w, v = [matrix("w0.f32"), matrix("w1.f32")], [matrix("v0.f32"), matrix("v1.f32")]
    n = len(labels)
    adjacency = torch.sparse_csr_tensor(starts, columns, values, (n, n))
    torch.backends.cuda.matmul.allow_tf32 = False

    def run():
        below = None
        for block in range(2):
            drive = v[0][labels] if block == 0 else below @ v[1]
            state = torch.tanh(drive)
            for _ in range(sweeps[block] - 1):
                state = torch.addmm(drive, adjacency @ state, w[block]).tanh_()
            below = state
        return torch.segment_reduce(below.double(), "sum", offsets=offsets, axis=0)

    vectors = run()
    seconds = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        vectors = run()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds), sum(sweeps), n, vectors.cpu().numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--quick", action="store_true", help="a tenth of the graphs")
    parser.add_argument("--kinds", default="nci1,b-hard,reddit,one")
    parser.add_argument("--units", default="50,100")
    given = parser.parse_args()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    for kind, count in KINDS:
        if kind not in given.kinds.split(","):
            continue
        count = count // 10 if given.quick else count
        for units in [int(number) for number in given.units.split(",")]:
            if kind == "one" and units > 50:
                continue
            with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
                command = [given.program, "time", kind, str(count), str(units), folder]
                told = subprocess.run(command, stdout=subprocess.PIPE, text=True)
                print(told.stdout, end="", flush=True)
                if told.returncode or not os.path.exists(os.path.join(folder, "times.txt")):
                    print(f"  ended with {told.returncode}")
                    continue
                ours = float(open(os.path.join(folder, "times.txt")).read().split()[2])
                vectors = read(folder, "vectors.f64", np.float64).reshape(-1, units)
                try:
                    seconds, sweeps, vertices, theirs = in_pytorch(folder, units)
                except torch.cuda.OutOfMemoryError as error:
                    print(f"  PyTorch: {error}")
                    continue
                sizes = np.diff(read(folder, "offsets.i64", np.int64))[:, None]
                error = np.max(np.abs(vectors - theirs) / sizes)
                print(f"  PyTorch {1e3 * seconds:.1f} ms, {sweeps} sweeps, {1e12 * seconds / vertices / sweeps:.0f} ps "
                      f"per vertex and sweep; means of states differ by {error:.1e}")
                print(f"  => {seconds / ours:.1f} x PyTorch", flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
