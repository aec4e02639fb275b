"""Reading a TU Dortmund dataset: Stepwell against pandas' C engine on the edge file alone.

usage: reading.py COLLAB.zip [repeats]

Every contender runs in its own process. Time is that of reading, without imports; memory
is the peak of the process minus its memory before reading. Prints
the median of the repeats. Stepwell delivers checked graphs; pandas only two columns.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

CONTENDER = """
import resource, sys, time, json
kind, path = sys.argv[1:]
if kind == "pandas":
    import pandas
    def read(): return pandas.read_csv(path, header=None, skipinitialspace=True, engine="c", dtype="int64")
else:
    from stepwell import load_dataset
    def read(): return load_dataset(path)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
start = time.perf_counter()
data = read()
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "megabytes": peak() - before, "rows": len(data)}))
"""


def run(kind, path, threads):
    command = [sys.executable, "-c", CONTENDER, kind, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"RAYON_NUM_THREADS": str(threads)})
    return json.loads(done.stdout)


def main():
    archive = Path(sys.argv[1])
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(archive).extractall(folder)
        edges = next(Path(folder).glob("**/*_A.txt"))
        contenders = [
            ("pandas, text", "pandas", edges, 1),
            ("stepwell, text, 1 thread", "stepwell", edges.parent, 1),
            ("stepwell, text, 2 threads", "stepwell", edges.parent, 2),
            ("stepwell, zip, 1 thread", "stepwell", archive, 1),
            ("stepwell, zip, 2 threads", "stepwell", archive, 2),
        ]
        results = {name: [] for name, *_ in contenders}
        for _ in range(repeats):  # alternating, so that a slow minute affects all contenders
            for name, *rest in contenders:
                results[name].append(run(*rest))
        base = statistics.median(r["seconds"] for r in results["pandas, text"])
        print(f"{archive.name}: {edges.stat().st_size / 1e6:.0f} MB of edges, median of {repeats}")
        print(f"{'':28}{'seconds':>9}{'x pandas':>10}{'peak MB':>9}")
        for name, runs in results.items():
            seconds = statistics.median(r["seconds"] for r in runs)
            memory = max(r["megabytes"] for r in runs)
            print(f"{name:28}{seconds:9.2f}{base / seconds:10.1f}{memory:9.0f}")


if __name__ == "__main__":
    main()
