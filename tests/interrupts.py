"""Interrupts every long-running command at many moments, and measures how long it takes to end.

    python tests/interrupts.py target/release/stepwell [moments]

Runs embed, train, evaluate and coarsen on a graph of a million vertices and on a file of 100,000
graphs, on the command line and in Python (if the package is installed). SIGINT arrives at moments
spread over the duration of the command. The program must end with exit code 130, and Python with
KeyboardInterrupt, within half a second. On a busy machine, allow more with the environment variable
PATIENCE, in seconds.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = sys.argv[1]
MOMENTS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
PATIENCE = float(os.environ.get("PATIENCE", "0.5"))
#: The longest wait before the first signal, in seconds.
LONGEST = 10.0


def make(folder):
    rng = random.Random(7)
    many = folder / "many.jsonl"
    with open(many, "w") as file:
        for number in range(100_000):
            n = rng.randint(8, 24)
            src = list(range(n - 1)) + [rng.randrange(n) for _ in range(n // 2)]
            dst = list(range(1, n)) + [rng.randrange(n) for _ in range(n // 2)]
            row = {"num_nodes": n, "src": src, "dst": dst, "node_label": [rng.randrange(4) for _ in range(n)], "y": number % 2}
            file.write(json.dumps(row) + "\n")
    n = 1_000_000
    src = [rng.randrange(n) for _ in range(3 * n)]
    dst = [rng.randrange(n) for _ in range(3 * n)]
    one = folder / "one.jsonl"
    with open(one, "w") as file:
        for y in range(2):
            small = {"num_nodes": 4, "src": [0, 1, 2], "dst": [1, 2, 3], "y": y}
            file.write((json.dumps(small) + "\n") * 20)
        file.write(json.dumps({"num_nodes": n, "src": src, "dst": dst, "y": 0}) + "\n")
    return one, many


def commands(folder, one, many):
    for name, data in (("10^6 vertices", one), ("10^5 graphs", many)):
        yield f"embed, {name}", ["embed", data, "--pool", "graclus", "--no-cache", "-o", folder / "v.npy"]
        yield f"train, {name}", ["train", data, "-m", folder / "m.safetensors"]
        yield f"evaluate, {name}", ["evaluate", data, "--folds", "2"]
        for pool in ("graclus", "ndp"):
            yield f"coarsen {pool}, {name}", ["coarsen", data, "--pool", pool, "--no-cache", "--out", folder / "levels"]
    nmf = ["coarsen", "complete:3000", "--pool", "nmf", "--no-cache", "--out", folder / "levels"]
    yield "coarsen nmf, complete graph of 3,000", nmf
    yield "embed, 4,000 units", ["embed", "MUTAG" if os.environ.get("STEPWELL_DATA") else "ring:9", "--units", "4000"]


PYTHON = """
import sys, time
import numpy as np
import stepwell as s
from sklearn.model_selection import cross_val_score
s.PyramidalReservoirClassifier  # what is imported at first use is imported now
one, many = sys.argv[1:]
{before}
print("go", flush=True)
try:
    {body}
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted at", time.monotonic(), flush=True)
"""

ONE, MANY = "ds = s.load_dataset(one)", "ds = s.load_dataset(many)"
#: What is there before the first signal may come, and what is interrupted.
BODIES = {
    "load_dataset, 10^6 vertices": ("", "s.load_dataset(one)"),
    "load_dataset, 10^5 graphs": ("", "s.load_dataset(many)"),
    "load_dataset, an Arrow table": (
        "import pyarrow as pa; ends = np.zeros(10, np.int32); row = {'num_nodes': [9], 'src': [ends], 'dst': [ends]};"
        " table = pa.concat_tables(100_000 * [pa.table(row)])",
        "s.load_dataset(table)",
    ),
    "fit_transform, 10^6 vertices": (ONE, "s.PyramidalReservoir(pool='graclus').fit_transform(ds.graphs)"),
    "transform_nodes, 10^6 vertices": (ONE, "s.PyramidalReservoir().fit(ds.graphs).transform_nodes(ds.graphs)"),
    "fit_transform, 10^5 graphs": (MANY, "s.PyramidalReservoir(pool='ndp').fit_transform(ds.graphs)"),
    "classifier.fit, 10^6 vertices": (ONE, "s.PyramidalReservoirClassifier().fit(ds.graphs, ds.y)"),
    "classifier.fit, 10^5 graphs": (MANY, "s.PyramidalReservoirClassifier().fit(ds.graphs, ds.y)"),
    "cross_val_score, 10^6 vertices": (
        ONE,
        "cross_val_score(s.PyramidalReservoirClassifier.from_preset('paper'), ds.graphs, ds.y, cv=2)",
    ),
    "cross_val_score, 10^5 graphs": (MANY, "cross_val_score(s.PyramidalReservoirClassifier(), ds.graphs, ds.y, cv=2)"),
    "node classifier, 10^6 vertices": (
        f"{ONE}; graph = ds.graphs[40]; y = np.arange(graph.num_nodes) % 3",
        "s.PyramidalReservoirNodeClassifier(units=50).fit([graph], [y])",
    ),
    "coarsen graclus, 10^6 vertices": (ONE, "s.coarsen(ds.graphs[40], 'graclus', levels=3)"),
    "coarsen ndp, 10^6 vertices": (ONE, "s.coarsen(ds.graphs[40], 'ndp', levels=2)"),
    "coarsen nmf, 10^5 graphs": (MANY, "[s.coarsen(graph, 'nmf', levels=2) for graph in ds.graphs]"),
    "coarsen nmf, complete graph of 3,000": (
        "graph = s.load_dataset('complete:3000').graphs[0]",
        "s.coarsen(graph, 'nmf', levels=1)",
    ),
    "save_dataset, 10^5 graphs": (MANY, "s.save_dataset(many + '.parquet', ds.graphs, ds.y)"),
    "4,000 units": ("", "s.PyramidalReservoir(units=4000).fit(s.load_dataset('ring:9').graphs)"),
}


def hear():
    """Restores SIGINT, because a shell makes background processes ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def spawn(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=hear)


def measure(command, wait_for=None):
    """Runs the command once to its end, or for the longest time; then again with a signal at each
    moment."""
    def begin():
        process = spawn(command)
        for word in wait_for or ():
            for line in process.stdout:
                if line.strip() == word:
                    break
        return process

    process = begin()
    start = time.monotonic()
    try:
        process.wait(LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    whole = min(LONGEST, time.monotonic() - start)
    taken, late = [], 0
    # Without a signal it works.
    wrong = [process.returncode] if process.returncode not in (0, -signal.SIGKILL) else []
    for moment in range(MOMENTS):
        process = begin()
        time.sleep(0.02 + whole * (moment + 0.5) / MOMENTS)
        if process.poll() is not None:
            process.communicate()
            late += 1
            continue
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        # Python tells when the exception came; after that it frees what it has loaded.
        told = re.search(rb"interrupted at ([\d.]+)", out)
        taken.append((float(told[1]) if told else time.monotonic()) - sent)
        ended = process.returncode == 130 if wait_for is None else b"interrupted" in out or process.returncode == -signal.SIGINT
        if not ended and process.returncode != 0 and b"done" not in out:
            wrong.append(process.returncode)
    return whole, taken, wrong, late


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, many = make(folder)
        environment = folder / "cache"
        os.environ["STEPWELL_CACHE"] = str(environment)
        work = [(what, [PROGRAM, "--quiet", *map(str, arguments)], None) for what, arguments in commands(folder, one, many)]
        try:
            import stepwell  # noqa: F401

            for what, (before, body) in BODIES.items():
                code = PYTHON.replace("{before}", before).replace("{body}", body)
                work.append((f"Python, {what}", [sys.executable, "-W", "ignore", "-c", code, str(one), str(many)], [b"go"]))
        except ImportError:
            print("no stepwell package here: Python is left out")
        for what, command, words in work:
            whole, taken, wrong, late = measure(command, words)
            slowest = max(taken, default=0.0)
            good = slowest <= PATIENCE and not wrong
            failed += not good
            mean = sum(taken) / max(len(taken), 1)
            print(
                f"{'ok  ' if good else 'FAIL'} {what}: {len(taken)} signals in {whole:.1f} s, ended after {mean:.2f} s"
                f" in the mean, {slowest:.2f} s at most{f', exit codes {wrong}' if wrong else ''}",
                flush=True,
            )
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
