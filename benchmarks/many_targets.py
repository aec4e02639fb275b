"""Training on very many targets with gaps: seconds and peak memory of `stepwell train`.

usage: many_targets.py [--stepwell PATH] [--graphs 8000] [--targets 600] [--missing 0.5] [-- OPTIONS OF TRAIN]

Graphs look like molecules: trees of 10 to 40 labelled vertices with a few rings. Each target is 1 where a
random mixture of label and degree counts, plus noise, is among the largest 15 %; a share of its values is
missing at random, so that no two targets are known for the same graphs.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

LABELS = 9


def generate(path, graphs, targets, missing):
    rng = np.random.default_rng(0)
    counts, rows = np.zeros((graphs, 2 * LABELS)), []
    for index in range(graphs):
        n = int(rng.integers(10, 41))
        labels = rng.choice(LABELS, size=n, p=np.array([60, 12, 12, 5, 4, 3, 2, 1, 1]) / 100)
        src = list(range(1, n))
        dst = [int(rng.integers(max(0, vertex - 3), vertex)) for vertex in src]
        for _ in range(int(rng.integers(0, 4))):
            first = int(rng.integers(0, n - 5))
            src.append(first)
            dst.append(first + 5)
        degrees = np.bincount(src, minlength=n) + np.bincount(dst, minlength=n)
        counts[index, :LABELS] = np.bincount(labels, minlength=LABELS)
        counts[index, LABELS:] = np.bincount(labels, weights=degrees, minlength=LABELS)
        rows.append({"num_nodes": n, "src": src, "dst": dst, "node_label": labels.tolist()})
    scores = (counts - counts.mean(0)) / counts.std(0) @ rng.normal(size=(2 * LABELS, targets))
    scores += 2 * rng.normal(size=scores.shape)
    values = scores > np.quantile(scores, 0.85, axis=0)
    known = rng.random(scores.shape) >= missing
    with open(path, "w") as out:
        for row, value, is_known in zip(rows, values, known):
            row["y"] = [int(v) if k else None for v, k in zip(value, is_known)]
            out.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepwell", default="target/release/stepwell")
    parser.add_argument("--graphs", type=int, default=8000)
    parser.add_argument("--targets", type=int, default=600)
    parser.add_argument("--missing", type=float, default=0.5)
    parser.add_argument("options", nargs="*", help="options of train, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder) / "graphs.jsonl", Path(folder) / "model.safetensors"
        generate(data, options.graphs, options.targets, options.missing)
        command = [options.stepwell, "train", data, "-m", model, "--quiet", "--json", *options.options]
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        report = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        if status:
            raise SystemExit(1)
        report = json.loads(report)
        print(
            f"{options.graphs} graphs, {options.targets} targets, {options.missing:.0%} missing: {seconds:.1f} s "
            f"({usage.ru_utime + usage.ru_stime:.1f} s of processor time, embedding {report['embed_seconds']:.1f} s), "
            f"peak memory {usage.ru_maxrss / 1e6:.2f} GB, model {model.stat().st_size / 1e6:.1f} MB"
        )


if __name__ == "__main__":
    main()
