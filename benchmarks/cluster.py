"""The overhead of Python, Ray and Spark over the Rust call, and the gain of a second worker.

    python benchmarks/cluster.py                      # both parts, real sizes
    python benchmarks/cluster.py overhead --graphs 1e5
    python benchmarks/cluster.py scale --graphs 1e6   # needs ray and pyspark
    python benchmarks/cluster.py train --graphs 1e5   # the default model, likewise

Part one compares graphs that are already inside the library with the same graphs in an Arrow table
and in a list of SciPy matrices, on one thread, by medians of alternating rounds. Part two goes from
Parquet to Parquet: by the command line (one thread), by Ray on one and two workers, and by Spark
with one and two cores, one process after the other. Times of Ray and Spark exclude their start. The
memory of a worker is its peak private memory (RssAnon). Part three, only on request, trains the
default classifier in the same ways and checks that all models are equal.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

MODEL = dict(units=50, spectral_radius=0.5)


def make_table(count, seed, first=0):
    """Small graphs that resemble molecules: a random tree of 10 to 30 vertices and some rings, with
    labels."""
    rng = np.random.default_rng([seed, first])
    sizes = rng.integers(10, 31, count)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    local = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    parent = np.maximum(local - rng.integers(1, 4, len(local)), 0)
    tree = local > 0
    chord = tree & (rng.random(len(local)) < 0.15)
    owner = np.repeat(np.arange(count), sizes)
    other = (local * rng.random(len(local))).astype(np.int64)
    src = np.concatenate([local[tree], local[chord]])
    dst = np.concatenate([parent[tree], other[chord]])
    graph = np.concatenate([owner[tree], owner[chord]])
    proper = src != dst
    order = np.lexsort((dst[proper], src[proper], graph[proper]))
    src, dst, graph = (each[proper][order].astype(np.int32) for each in (src, dst, graph))
    starts = np.searchsorted(graph, np.arange(count + 1)).astype(np.int32)
    lists = lambda values, starts: pa.ListArray.from_arrays(pa.array(starts), pa.array(values))
    features = rng.random((len(local), 4), dtype=np.float32)
    return pa.table(
        {
            "id": [str(first + at) for at in range(count)],
            "num_nodes": sizes.astype(np.int32),
            "src": lists(src, starts),
            "dst": lists(dst, starts),
            "x": lists(features.reshape(-1), (offsets * 4).astype(np.int32)),
            "x_dim": np.full(count, 4, dtype=np.int32),
            # Depends on the number of edges that close a ring, which single vertices do not show.
            "y": pa.array(np.minimum(np.bincount(graph, minlength=count) - sizes + 1, 4) > 1),
        }
    )


def as_matrices(table):
    rows = zip(*(table[name].to_numpy() for name in ("num_nodes", "src", "dst", "x")))
    for n, src, dst, x in rows:
        upper = sp.coo_array((np.ones(len(src)), (src, dst)), shape=(n, n)).tocsr()
        matrix = upper + upper.T
        matrix.data[:] = 1.0
        yield matrix, x.reshape(n, -1)


def overhead(count, rounds):
    from stepwell import PyramidalReservoir
    from stepwell._batches import as_batch

    table = make_table(count, 0)
    model = PyramidalReservoir(**MODEL).fit(table[:100])
    forms = {
        "ready in the library": as_batch(table),
        "an Arrow table": table,
        "a list of SciPy matrices": list(as_matrices(table)),
    }
    times, vectors = {name: [] for name in forms}, {}
    for _ in range(rounds):
        for name, graphs in forms.items():
            start = time.perf_counter()
            vectors[name] = model.transform(graphs)
            times[name].append(time.perf_counter() - start)
    base = statistics.median(times["ready in the library"])
    print(f"{count} graphs of {table['num_nodes'].to_numpy().mean():.1f} vertices, one thread\n")
    print(f"{'graphs are':<28}{'seconds':>9}{'graphs/s':>11}{'ratio':>8}   target")
    targets = {"an Arrow table": "1.05", "a list of SciPy matrices": "2"}
    for name, each in times.items():
        median = statistics.median(each)
        print(f"{name:<28}{median:>9.2f}{count / median:>11.0f}{median / base:>8.3f}   {targets.get(name, '')}")
    first, *others = vectors.values()
    assert all(np.array_equal(first, other) for other in others), "the same bits"


class Watch(threading.Thread):
    """Records the peak private memory and the CPU time of the processes below this one."""

    def __init__(self, named):
        super().__init__(daemon=True)
        self._named, self._peaks, self._ticks, self._ended = named, {}, {}, threading.Event()

    def run(self):
        while not self._ended.wait(0.1):
            for pid in _below(os.getpid()):
                try:
                    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                if self._named in command:
                    own = next((line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")), "0")
                    self._peaks[pid] = max(self._peaks.get(pid, 0), int(own) * 1024)
                    self._ticks[pid] = _ticks(pid) or self._ticks.get(pid, 0)

    def peak(self):
        self._ended.set()
        self.join()
        return max(self._peaks.values(), default=0)


    def seconds(self):
        """CPU seconds of all cores together."""
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")


def _ticks(pid):
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return 0


def _below(root):
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    waiting = [root]
    while waiting:
        for child in children.get(waiting.pop(), []):
            yield child
            waiting.append(child)


def started_ray(workers):
    import ray

    ray.init(num_cpus=workers, include_dashboard=False, object_store_memory=500 << 20, _node_ip_address="127.0.0.1")
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.range(workers).map_batches(lambda batch: batch).materialize()  # wait until workers have started
    watch = Watch("ray::")
    watch.start()
    return watch


def by_ray(folder, out, workers):
    import stepwell.ray
    from stepwell import PyramidalReservoir

    watch = started_ray(workers)
    start = time.perf_counter()
    stepwell.ray.embed(folder, PyramidalReservoir(**MODEL)).write_parquet(out)
    return time.perf_counter() - start, watch.peak()


def started_spark(workers):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master(f"local[{workers}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.range(workers).mapInArrow(lambda batches: batches, "id long").collect()
    watch = Watch("pyspark.daemon")
    watch.start()
    return watch


def by_spark(folder, out, workers):
    import stepwell.spark
    from stepwell import PyramidalReservoir

    watch = started_spark(workers)
    start = time.perf_counter()
    stepwell.spark.embed(folder, PyramidalReservoir(**MODEL)).write.parquet(out)
    return time.perf_counter() - start, watch.peak()


def by_command(folder, out, workers):
    options = ["--units", str(MODEL["units"]), "--spectral-radius", str(MODEL["spectral_radius"])]
    command = [sys.executable, "-c", "from stepwell._command import main; main()", "embed", f"{folder}/all.parquet"]
    watch = Watch("stepwell")
    watch.start()
    start = time.perf_counter()
    subprocess.run([*command, "-o", out + ".parquet", "--threads", str(workers), "--quiet", *options], check=True)
    return time.perf_counter() - start, watch.peak()


def train_by_ray(folder, out, workers):
    import stepwell.ray
    from stepwell import PyramidalReservoirClassifier

    watch = started_ray(workers)
    start = time.perf_counter()
    stepwell.ray.train(folder, PyramidalReservoirClassifier()).save(out)
    return time.perf_counter() - start, watch.peak(), own_peak(), watch.seconds()


def train_by_spark(folder, out, workers):
    import stepwell.spark
    from stepwell import PyramidalReservoirClassifier

    watch = started_spark(workers)
    start = time.perf_counter()
    stepwell.spark.train(folder, PyramidalReservoirClassifier()).save(out)
    return time.perf_counter() - start, watch.peak(), own_peak(), watch.seconds()


def train_by_command(folder, out, workers):
    command = [sys.executable, "-c", "from stepwell._command import main; main()", "train", f"{folder}/all.parquet"]
    watch = Watch("stepwell")
    watch.start()
    start = time.perf_counter()
    subprocess.run([*command, "-m", out, "--threads", str(workers), "--quiet"], check=True)
    return time.perf_counter() - start, watch.peak(), 0, watch.seconds()


def own_peak():
    """The peak memory of this process, the driver."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


KINDS = {
    "ray": by_ray,
    "spark": by_spark,
    "command": by_command,
    "train ray": train_by_ray,
    "train spark": train_by_spark,
    "train command": train_by_command,
}


def write(files, count):
    """Writes a file of graphs in row groups of 10,000. Returns its size in megabytes."""
    files.mkdir()
    with pq.ParquetWriter(files / "all.parquet", make_table(1, 0).schema) as writer:
        for first in range(0, count, 10_000):
            writer.write_table(make_table(min(10_000, count - first), 0, first))
    return (files / "all.parquet").stat().st_size / 1e6


def one(kind, workers, files, out):
    """Runs one variant in its own process."""
    job = [sys.executable, __file__, "one", kind, str(workers), str(files), out]
    done = subprocess.run(job, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def training(count, kinds):
    import stepwell

    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "graphs")
        size = write(files, count)
        print(f"{count} graphs, {size:.0f} MB of Parquet, row groups of 10000, the default classifier\n")
        print(f"{'':<16}{'seconds':>9}{'graphs/s':>11}{'memory of a worker':>21}{'of the driver':>16}{'ms of a core per graph':>25}", flush=True)
        models, probe = {}, make_table(2000, 1)
        for kind, workers in (("command", 1), ("ray", 1), ("ray", 2), ("spark", 1), ("spark", 2)):
            if kind not in kinds:
                continue
            out = f"{folder}/{kind}-{workers}"
            seconds, peak, driver, cores = one(f"train {kind}", workers, files, out)
            name = f"{kind}, {workers} worker"
            row = f"{name:<16}{seconds:>9.1f}{count / seconds:>11.0f}{peak / 1e6:>18.0f} MB{driver / 1e6:>13.0f} MB"
            print(f"{row}{1e3 * cores / count:>25.2f}", flush=True)
            models[name] = (Path(out).read_bytes(), stepwell.load(out))
        (first, (_, expected)), *others = models.items()
        for name, (_, model) in others:
            apart = np.abs(model.decision_function(probe) - expected.decision_function(probe)).max()
            same = all(map(np.array_equal, model.landmarks_, expected.landmarks_))
            assert same and model.alpha_ == expected.alpha_ and model._model.choices == expected._model.choices
            print(f"{name}: choices, landmarks, scales and alpha of {first}; decision values within {apart:.1e}")
        cluster = [data for name, (data, _) in models.items() if "command" not in name]
        print(f"{len(cluster)} models of clusters, {len(set(cluster))} different file")
        print(f"accuracy on other graphs: {expected.score(probe, probe['y'].to_pylist()):.3f}")


def scale(count):
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "graphs")
        size = write(files, count)
        print(f"{count} graphs, {size:.0f} MB of Parquet, row groups of 10000\n")
        print(f"{'':<16}{'seconds':>9}{'graphs/s':>11}{'memory of a worker':>21}{'over one worker':>18}")
        alone, vectors = {}, None
        for kind, workers in (("command", 1), ("ray", 1), ("ray", 2), ("spark", 1), ("spark", 2)):
            out = f"{folder}/{kind}-{workers}"
            seconds, peak = one(kind, workers, files, out)
            alone.setdefault(kind, seconds)
            gain = f"{alone[kind] / seconds:.2f}" if workers > 1 else ""
            print(f"{kind + f', {workers} worker':<16}{seconds:>9.1f}{count / seconds:>11.0f}{peak / 1e6:>18.0f} MB{gain:>18}")
            found = pq.read_table(out + ".parquet" if kind == "command" else out, columns=["id", "embedding"])
            found = found.take(np.argsort(found["id"].to_numpy().astype(np.int64)))
            found = np.asarray(found["embedding"].combine_chunks().flatten())
            assert vectors is None or np.array_equal(vectors, found), "the same bits everywhere"
            vectors = found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", nargs="?", choices=["overhead", "scale", "train", "one"])
    parser.add_argument("rest", nargs="*", help="of train: command, ray, spark")
    parser.add_argument("--graphs", type=float, help="how many; 1e5 and 1e6 unless said")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    if options.part == "one":
        kind, workers, folder, out = options.rest
        print(json.dumps(KINDS[kind](folder, out, int(workers))), flush=True)
        return
    if options.part in (None, "overhead"):
        overhead(int(options.graphs or 1e5), options.rounds)
    if options.part is None:
        print()
    if options.part == "train":
        training(int(options.graphs or 1e5), options.rest or ["command", "ray", "spark"])
    if options.part in (None, "scale"):
        scale(int(options.graphs or 1e6))


if __name__ == "__main__":
    main()
