"""Long work can be interrupted, leaves other threads alone, and survives a fork."""

import multiprocessing
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from stepwell import PyramidalReservoirClassifier, make_benchmark

# Each would take very long. Another thread counts meanwhile, which needs the interpreter's lock,
# and then presses Ctrl-C.
ENDLESS = """
import os, signal, tempfile, threading, time
import networkx as nx
import numpy as np
import pyarrow as pa
import stepwell
from stepwell._stepwell import RawReadout

# A shell that starts something in the background has it ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

random = nx.gnp_random_graph(400, 0.1, seed=0)
graphs = 50 * [stepwell.Graph(np.array(random.edges).T, np.eye(400, 2), num_nodes=400)]
mesh = nx.convert_node_labels_to_integers(nx.grid_2d_graph(200, 200))
meshes = 50 * [stepwell.Graph(np.array(mesh.edges).T)]
y = np.arange(50)
endless = dict(fixed_sweeps=4_000_000_000)
reservoir = stepwell.PyramidalReservoir(**endless).fit(graphs)
x = np.random.default_rng(0).normal(size=(3000, 3000))
large = stepwell.Graph(np.array(nx.gnp_random_graph(3000, 0.01, seed=0).edges).T)

# Some seconds to read, and before that to write.
many = tempfile.NamedTemporaryFile(suffix=".jsonl")
line = b'{"num_nodes": 400, "src": %s, "dst": %s}\\n' % tuple(
    str(ends.tolist()).encode() for ends in np.array(random.edges).T
)
many.write(line * 4000)
many.flush()

# Some seconds to read as well: the same row again and again, held once.
edges = np.array(random.edges, dtype=np.int32).T
row = pa.table({"num_nodes": [400], "src": [edges[0]], "dst": [edges[1]]})
table = pa.concat_tables(6000 * [row])

def press():
    for _ in range(20):
        time.sleep(0.01)
    pressed.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

for name, work in {
    "embedding": lambda: reservoir.transform(graphs),
    "states": lambda: reservoir.transform_nodes(graphs),
    "classifier": lambda: stepwell.PyramidalReservoirClassifier(n_jobs=2, **endless).fit(graphs, y % 3),
    "pooling": lambda: stepwell.PyramidalReservoirRegressor(pool="ndp", blocks=5).fit(meshes, y),
    "coarsening": lambda: [stepwell.coarsen(meshes[0], "kmis", levels=1024, k=0) for _ in iter(int, 1)],
    "one step of a pooling": lambda: stepwell.coarsen(large, "nmf", levels=1),
    "loading": lambda: stepwell.load_dataset(many.name),
    "taking a table": lambda: stepwell.load_dataset(table),
    "making": lambda: [stepwell.make_benchmark("b-hard", random_state=seed) for seed in range(10**9)],
    "reading out": lambda: RawReadout.fit({}, x, x[:, :1].copy()),
}.items():
    pressed = []
    threading.Thread(target=press).start()
    try:
        work()
    except KeyboardInterrupt:
        print(f"{name} ended {time.monotonic() - pressed[0]:.2f} s after Ctrl-C", flush=True)

# The last one cannot be stopped where it is: it has its only thread for seconds to come.
start = time.monotonic()
RawReadout.fit({}, x[:9, :2].copy(), x[:9, :1].copy())
print(f"{time.monotonic() - start:.2f} s for the next work", flush=True)
"""


def test_ctrl_c_ends_it_and_threads_go_on():
    done = subprocess.run([sys.executable, "-c", ENDLESS], capture_output=True, text=True, timeout=120)
    print(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    waits = [float(wait) for wait in re.findall(r"ended (.*) s after Ctrl-C", done.stdout)]
    assert len(waits) == 10 and max(waits) < 4, "half a second, and a busy machine"
    assert float(re.search("(.*) s for the next work", done.stdout)[1]) < 2


THREADS = """
import os
import numpy as np
import stepwell

graphs = [stepwell.Graph([[0], [1]], np.ones((2, 1)))]
for n_jobs in (-1, 3, 20_000, 2**64, -(2**64), np.int64(5)):
    stepwell.PyramidalReservoir(units=2, n_jobs=n_jobs).fit_transform(graphs)
for n_threads in range(1, 33):
    stepwell._stepwell.RawReadout.fit({"alpha": 1.0}, np.eye(3), np.ones((3, 1)), None, n_threads)
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads cannot be counted")
def test_threads_do_not_add_up():
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=60, env={**os.environ, **one}
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 29 + 30 + 31 + 32 + 64, "of 528, those of four pools, and some that are about to end"


def fit_in_a_child(graphs, y):
    model = PyramidalReservoirClassifier(n_jobs=2, pool="ndp", units=10, spectral_radius=0.5)
    return model.fit(graphs, y).decision_function(graphs)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
def test_a_forked_child_has_threads_of_its_own():
    dataset = make_benchmark("b-easy-small", graphs_per_class=8)
    graphs = list(dataset.graphs)
    here = fit_in_a_child(graphs, dataset.y)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        waiting = [pool.apply_async(fit_in_a_child, (graphs, dataset.y)) for _ in range(3)]
        assert all(np.array_equal(answer.get(timeout=60), here) for answer in waiting)
